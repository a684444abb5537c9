"""The command `seatrial`."""

import contextlib
import os
import sys
import tempfile
import traceback

import click

import seatrial
from seatrial.check.declared import CheckError
from seatrial.check.derived import Underivable
from seatrial.check.planning import Unplannable
from seatrial.cli.accept import accept
from seatrial.cli.annotate import annotate
from seatrial.cli.baseline import baseline
from seatrial.cli.bundle import bundle
from seatrial.cli.clean import clean
from seatrial.cli.compare import compare
from seatrial.cli.derive import derive
from seatrial.cli.doctor import doctor
from seatrial.cli.explain import explain
from seatrial.cli.history import history
from seatrial.cli.init import init
from seatrial.cli.lfsck import lfsck
from seatrial.cli.list import list_
from seatrial.cli.plan import plan
from seatrial.cli.report import report
from seatrial.cli.run import run
from seatrial.cli.schedule import schedule
from seatrial.cli.status import status
from seatrial.cli.terminal import drop_unwritten
from seatrial.cli.trend import trend
from seatrial.cli.verify import verify
from seatrial.job.directory.lock import LockError
from seatrial.scheduler.queue import ANSWERS
from seatrial.site.error import SiteError

USAGE, INTERNAL, INTERRUPTED = 64, 70, 130


class _InOrder(click.Group):
    """Shows its commands in the order in which a site comes to need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={'help_option_names': ['-h', '--help']})
@click.version_option(seatrial.__version__, prog_name='seatrial')
def main() -> None:
    """Acceptance and regression trials for HPC file systems.

    Exit codes: 0 PASS or MEASURED, 10 FAIL, 11 INVALID, 12 INCONCLUSIVE, 13 INCOMPLETE, 64 wrong usage or
    configuration, 70 an error of Seatrial's own, 130 interrupted before anything was begun.
    """


for command in (
    init,
    doctor,
    list_,
    plan,
    run,
    report,
    explain,
    history,
    compare,
    trend,
    annotate,
    baseline,
    schedule,
    status,
    clean,
    accept,
    bundle,
    verify,
    derive,
    lfsck,
):
    main.add_command(command)


def entry() -> None:
    """Run the command line; every error that a person can correct is one or two lines and exit code 64."""
    for name in [name for name in os.environ if name.startswith(ANSWERS)]:
        del os.environ[name]
    try:
        sys.exit(_carried_out())
    finally:
        drop_unwritten()


def _carried_out() -> int:
    try:
        code = main.main(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SiteError as error:
        _say(*error.problems)
    except (CheckError, LockError, Underivable, Unplannable) as error:
        _say(str(error))
    except click.UsageError as error:
        _say(error.format_message(), f'see `{error.ctx.command_path if error.ctx else "seatrial"} --help`')
    except click.Abort:
        return INTERRUPTED
    except OSError as error:
        _say(f'{error.filename or "a file of the session"}: {error.strerror or error}')
    except Exception as error:
        with tempfile.NamedTemporaryFile('w', prefix='seatrial-error-', suffix='.txt', delete=False) as file:
            traceback.print_exc(file=file)
        _say(f'an error of Seatrial itself: {error!r}', f'please report it with {file.name}')
        return INTERNAL
    return USAGE


def _say(*lines: str) -> None:
    with contextlib.suppress(OSError):
        for line in lines:
            click.echo(f'seatrial: {line}', err=True)
