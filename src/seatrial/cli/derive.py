"""`seatrial derive`: a check that replays the I/O of an application, or ages a file system as its files do."""

import re
from pathlib import Path

import click

from seatrial.check.darshan.logs import LogError, read_logs
from seatrial.check.darshan.part import Underivable
from seatrial.check.derived import ageing_text, check_text, compared, file_sizes, replayed_in, shape_of, trial_text
from seatrial.cli.options import PATH, THERE, site_option
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.site.load import answering
from seatrial.workload.access import OPERATIONS

REPLAYED, AGED = 'ReplayedApplication', 'AgedAsLogs'

_NAME = re.compile(r'[A-Z][A-Za-z0-9]{0,39}\Z', re.ASCII)


@click.command()
@click.argument('logs', metavar='LOG...', nargs=-1, required=True, type=PATH)
@click.option('--name', help=f'Name of the check; {REPLAYED} or {AGED} without it.')
@click.option('--operation', type=click.Choice(OPERATIONS), help='Replay this operation alone.')
@click.option('--mount', help='Replay what lay on this mount of the log, where several file systems were used.')
@click.option(
    '--check',
    'case',
    type=THERE,
    help='Compare the log with the replay: the folder of its case, run on a partition with darshan.',
)
@click.option('--ageing', is_flag=True, help='Fill trees with files of the sizes in the logs instead.')
@click.option('--output', type=PATH, help='Write the check into this new file.')
@site_option
def derive(
    logs: tuple[Path, ...],
    name: str | None,
    operation: str | None,
    mount: str | None,
    case: Path | None,
    ageing: bool,
    output: Path | None,
    site_folder: Path,
) -> int:
    """Write a check that replays what an application did to its files, and its entry for trial.yaml.

    LOG is a Darshan log. The check has its pattern, sizes and number of tasks, but no names of users, files or
    programs. Several logs, of a whole machine perhaps, are for --ageing.
    """
    if name is None:
        name = AGED if ageing else REPLAYED
    if not _NAME.match(name):
        remedy = 'write a capital, then letters and digits: NightlyRun'
        raise click.UsageError(f"'{name}' is no name of a check; {remedy}")
    if ageing and (operation or mount or case):
        of_replay = '--operation, --mount and --check belong to a replay'
        raise click.UsageError(f'{of_replay}; leave out either these or --ageing')
    if len(logs) > 1 and not ageing:
        raise click.UsageError(f'a replay takes one log, and {len(logs)} are given; name one, or add --ageing')
    site = answering(site_folder)
    try:
        if ageing:  # a tree is for any number of tasks, so trial.yaml needs no entry of its own
            text, entry = ageing_text(file_sizes(read_logs(logs)), name), ''
        else:
            (log,) = read_logs(logs)
            folders = [str(entry.path) for entry in site.trial_file.file_systems.values()]
            shape = shape_of(log, operation, mount, folders)
            if case is not None:
                rows = compared(shape.part, replayed_in(case))
                for what, of_application, of_replay, word in (('', 'application', 'replay', ''), *rows):
                    click.echo(f'{what:32}{of_application:>20}{of_replay:>20}  {word}'.rstrip())
                return EXIT_CODES[Verdict.FAIL if any(row[3] == 'differs' for row in rows) else Verdict.PASS]
            text, entry = check_text(shape, name), trial_text(shape, name, site)
    except (LogError, Underivable) as error:
        raise Underivable(f'{", ".join(map(str, logs))}: {error}') from None
    if output is None:
        click.echo(f'# a check file, such as checks/derived/{name.lower()}.py\n{text}')
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open('x') as stream:
            stream.write(text)
        click.echo(f'# written: {output}')
    if entry:
        click.echo(f'# under `trials` in {site_folder}/trial.yaml\n{entry}', nl=False)
    return 0
