"""`seatrial schedule`: lets Slurm run a profile regularly, by scrontab or by a script that resubmits itself.

The job is small if ReFrame submits jobs: it runs `seatrial run`, which does. If ReFrame runs everything in place (its
local scheduler), the job is the allocation that the cases run in.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from seatrial.check.declared import load as load_checks
from seatrial.check.forecast import refuse
from seatrial.check.planning import plan_of
from seatrial.check.session import SessionOptions
from seatrial.cli.options import PATH, checks_option, profile_option, site_option
from seatrial.nights.scheduled_job import night
from seatrial.report.terminal import console
from seatrial.scheduler.order import FORMS, beyond_schedule, install, order_of, remove
from seatrial.scheduler.queue import QueueError
from seatrial.scheduler.series import Successors, see_to_successors
from seatrial.session.from_options import installed, no_more_systems, open_session
from seatrial.site.load import answering, check_folders
from seatrial.site.model import parse_duration


@click.command()
@click.option(
    '--install', 'mode', flag_value='install', help='Enable the schedule; one that is enabled already stays as it is.'
)
@click.option('--remove', 'mode', flag_value='remove', help='Disable it; a session that runs goes on.')
@click.option('--now', 'mode', flag_value='now', help='Do what the job does, now: run, export, and notify.')
@click.option('--at', metavar='HH:MM', help="Time of day, where it is not trial.yaml's.")
@click.option('--as', 'form', type=click.Choice(FORMS), help='Without it scrontab if this Slurm has it, else sbatch.')
@click.option('--due', hidden=True, help='Of a job of the script: when it was due.')
@click.option('--series', type=PATH, hidden=True, help='Of a job of the script: its files.')
@click.option('--deadline', hidden=True, help='With --now: after this duration the session is asked to end.')
@profile_option('nightly', 'How much is measured.')
@checks_option
@site_option
def schedule(
    site_folder: Path,
    checks: Sequence[Path],
    profile: str,
    form: str | None,
    at: str | None,
    mode: str | None,
    due: str | None,
    series: Path | None,
    deadline: str | None,
) -> int:
    """Print what makes Slurm run a profile at a time of day, or enable that.

    It is a scrontab entry, or where Slurm has no scrontab a batch script that keeps itself in the queue.
    """
    successors = see_to_successors(series, due) if series and due else Successors()
    screen = console()
    site = answering(site_folder)
    if mode != 'remove':
        no_more_systems(site, profile)
    # Seatrial's own check folders are not named, because an upgrade may move them.
    other = checks if list(map(str, checks)) != check_folders(site.folder) else ()
    choices = [f'--site={site.folder}', *(f'--checks={folder.resolve()}' for folder in other), f'--profile={profile}']
    try:
        if mode == 'remove':
            remove(screen, site, profile)
        elif mode == 'now':
            command = [installed('seatrial'), 'run', *choices]
            limit_s = parse_duration(deadline) if deadline else None
            return night(screen, site, profile, command, due, limit_s, successors)
        else:
            command = [installed('seatrial'), 'schedule', *choices, '--now']
            session, cases = open_session(SessionOptions(site.folder, profile, checks), load_checks(*checks))
            plans = [plan_of(session, declared, case) for declared, case in cases]
            notes = refuse(site, plans, beyond_schedule(site, profile, plans))
            order = order_of(site, profile, plans, command, form, at)
            for note in [*order.notes, *notes]:
                click.echo(f'note: {note}', err=True)
            if mode == 'install':
                install(screen, site, profile, order)
            else:
                click.echo(order.text, nl=False)
    except (ValueError, QueueError) as error:
        raise click.UsageError(str(error)) from None
    return 0
