"""`seatrial run`: one session: many cases through ReFrame, one verdict, one folder of evidence."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from seatrial.check.contract import wrong_contract
from seatrial.check.declared import load as load_checks
from seatrial.check.session import Session, SessionOptions
from seatrial.cli.options import effect_option, session_options
from seatrial.judge.verdict import EXIT_CODES
from seatrial.model.quoted_value import show as shown
from seatrial.report.terminal import console, say
from seatrial.session.carry_out import carried_out
from seatrial.session.chosen_sessions import LABEL_FORM, is_label
from seatrial.session.comparison import in_turn, sides_of
from seatrial.session.from_options import DeclaredCases, open_session
from seatrial.site.load import check_folders


def _as_label(context: click.Context, parameter: click.Parameter, label: str) -> str:
    if label and not is_label(label):
        raise click.BadParameter(f'{shown(label)} is no label; {LABEL_FORM}')
    return label


@click.command()
@session_options
@click.option('--label', default='', callback=_as_label, help='A name of the session, for `seatrial compare`.')
@click.option(
    '--ab',
    nargs=2,
    metavar='NAME=FOLDER NAME=FOLDER',
    help='Measure two sites in turn and compare them, each round in random order; the names become labels.',
)
@click.option('--rounds', type=click.IntRange(2, 100), default=6, show_default=True, help='Of --ab.')
@click.option('--verbose', is_flag=True, help='At the end show the table of all cases too.')
@effect_option
def run(
    asked: SessionOptions, label: str, ab: tuple[str, str] | None, rounds: int, verbose: bool, effect: float
) -> int:
    """Run a session: all checks of the site's trial.yaml for this profile, or those that are named."""
    if ab:
        source_of = click.get_current_context().get_parameter_source
        if label or asked.destructive or source_of('site_folder') is ParameterSource.COMMANDLINE:
            why = '--ab names the folders and the labels itself, and starts no actions on servers'
            raise click.UsageError(f'{why}; leave out --site, --label and --destructive')
        is_given = source_of('checks') is not ParameterSource.DEFAULT

        def opened(folder: Path) -> tuple[Session, DeclaredCases]:
            checks = asked.checks if is_given else [Path(path) for path in check_folders(folder)]
            return open_session(asked._replace(site_folder=folder, checks=checks), load_checks(*checks))

        measured = partial(carried_out, destructive='', verbose=verbose)
        return EXIT_CODES[in_turn(sides_of(ab), rounds, effect / 100, opened, measured)]
    checks = load_checks(*asked.checks)
    session, cases = open_session(asked, checks)
    say(console(), *(f'note: {note}' for note in wrong_contract(session.site, checks)))
    result, _ = carried_out(replace(session, label=label), cases, asked.destructive, verbose)
    return EXIT_CODES[result.verdict]
