"""The command `seatrial`."""

import builtins
import contextlib
import gc
import os
import signal
import sys
import tempfile
import traceback
from importlib import import_module

import click

import seatrial
from seatrial.report.terminal import drop_unwritten
from seatrial.report.words import clean
from seatrial.scheduler.queue import ANSWERS
from seatrial.site.error import SiteError

USAGE, INTERNAL, INTERRUPTED = 64, 70, 130

SEARCHED_AFTER = 50_000
"""New objects until Python searches for cycles: after 700 it would search a command's imports again and again."""

COMMANDS = {  # commands in the order in which a site needs them, as --help shows them. Each is a file of this folder
    'init': 'Write a first site for this machine.',
    'doctor': 'Show what this host has: engines, file systems, free space.',
    'list': 'Show which checks would run where, and with which engine.',
    'plan': 'Show what the cases will write, hold and take.',
    'run': 'Run a session: the checks of a profile.',
    'adopt': 'Make sessions of what plain ReFrame has run.',
    'report': 'Write the report of a session.',
    'explain': 'Explain a validity rule: what follows, and the remedy.',
    'history': 'List, show and export what earlier sessions measured.',
    'compare': 'Compare sessions before and after a change.',
    'trend': 'Show when metrics have changed their level.',
    'annotate': 'Write down what happened on a date.',
    'baseline': 'Make references from sessions.',
    'schedule': 'Have Slurm run a profile at a time of day.',
    'status': 'Show how the last run of a profile went, and what changed.',
    'clean': 'List and remove what sessions have left behind.',
    'accept': 'Measure what a contract asks for.',
    'bundle': 'Pack the evidence of an acceptance into one file.',
    'verify': 'Compare figures and verdicts with the raw output.',
    'derive': 'Write a check that replays an application from its log.',
    'lfsck': 'Judge the saved output of LFSCK runs.',
}


class _OnDemand(click.Group):
    """Imports only the command that is called: importing all takes longer than most commands run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section('Commands'):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f'seatrial.cli.{cmd_name}')
        command: click.Command = getattr(module, f'{cmd_name}_' if hasattr(builtins, cmd_name) else cmd_name)
        return command


def _say_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from seatrial.check.staging import commit_of

        commit = commit_of()
        click.echo(f'seatrial, version {seatrial.__version__}{", commit " if commit else ""}{commit}')
        context.exit()


@click.group(cls=_OnDemand, context_settings={'help_option_names': ['-h', '--help']})
@click.option(
    '--version',
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_say_version,
    help='Show version and commit.',
)
def main() -> None:
    """Acceptance and regression trials for HPC file systems.

    Exit codes: 0 PASS or MEASURED, 10 FAIL, 11 INVALID, 12 INCONCLUSIVE, 13 INCOMPLETE, 64 wrong usage or
    configuration, 70 an error of Seatrial's own, 130 interrupted before anything was begun.
    """


def entry() -> None:
    """Runs the command line; errors that a person can correct are one or two lines and exit code 64. Only its user
    may write to the files that it makes: the next command would refuse others."""
    gc.set_threshold(SEARCHED_AFTER)
    os.umask(os.umask(0o077) | 0o022)
    for name in [name for name in os.environ if name.startswith(ANSWERS)]:
        del os.environ[name]
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)  # like Ctrl-C, so that no temporary file is left
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
    except click.UsageError as error:
        _say(error.format_message(), f'see `{error.ctx.command_path if error.ctx else "seatrial"} --help`')
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:
        _say(f'{error.filename or "a file of the session"}: {error.strerror or error}')
    except Exception as error:
        if isinstance(error, _refusals()):
            _say(str(error))
            return USAGE
        with tempfile.NamedTemporaryFile(
            'w', prefix='seatrial-error-', suffix='.txt', delete=False, errors='backslashreplace'
        ) as file:
            traceback.print_exc(file=file)
        _say(f'an error of Seatrial itself: {error!r}', f'please report it with {file.name}')
        return INTERNAL
    return USAGE


def _refusals() -> tuple[type[Exception], ...]:
    """The exceptions for errors that a person can correct; imported only after an error, since that is slow."""
    from seatrial.check.darshan.part import Underivable
    from seatrial.check.declared import CheckError
    from seatrial.check.planning import Unplannable
    from seatrial.job.directory.lock import LockError
    from seatrial.model.foreign import NotReadable

    return CheckError, LockError, NotReadable, Underivable, Unplannable


def _say(*lines: str) -> None:
    with contextlib.suppress(OSError):
        for line in lines:
            click.echo(f'seatrial: {clean(line)}', err=True)
