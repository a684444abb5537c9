"""`seatrial derive`: a check that replays the I/O of an application, from its Darshan log."""

import re
from pathlib import Path

import click

from seatrial.check.darshan import LogError, read_logs
from seatrial.check.derived import Underivable, check_text, shape_of, trial_text
from seatrial.cli.options import site_option
from seatrial.site.load import answering
from seatrial.workload.access import OPERATIONS

_NAME = re.compile(r'[A-Z][A-Za-z0-9]{0,39}\Z', re.ASCII)


@click.command()
@click.argument('log', type=click.Path(path_type=Path))
@click.option('--name', default='ReplayedApplication', show_default=True, help='Name of the check.')
@click.option('--operation', type=click.Choice(OPERATIONS), help='Replay this operation alone.')
@click.option('--output', type=click.Path(path_type=Path), help='Write the check into this new file.')
@site_option
def derive(log: Path, name: str, operation: str | None, output: Path | None, site_folder: Path) -> int:
    """Write a check that replays what an application did to its files, and its entry for trial.yaml.

    LOG is a Darshan log. Of it pattern, sizes and the number of tasks are kept; names of users, files and programs
    are not.
    """
    if not _NAME.match(name):
        raise click.UsageError(
            f"'{name}' is no name of a check; write a capital, then letters and digits: NightlyRun"
        )
    site = answering(site_folder)
    try:
        (read,) = read_logs([log])
        shape = shape_of(read, operation)
        text, entry = check_text(shape, name), trial_text(shape, name, site)
    except (LogError, Underivable) as error:
        raise Underivable(f'{log}: {error}') from None
    if output is None:
        click.echo(f'# a check file, such as checks/derived/{name.lower()}.py\n{text}')
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open('x') as stream:
            stream.write(text)
        click.echo(f'# written: {output}')
    click.echo(f'# under `trials` in {site_folder}/trial.yaml\n{entry}', nl=False)
    return 0
