"""`seatrial run --ab`: two sites measured in turn, in rounds of both in random order, and compared round by round."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from seatrial.check.declared import Declared
from seatrial.check.session import Session
from seatrial.history.store import folder_of, read
from seatrial.judge.verdict import Verdict, worst
from seatrial.model.plan import Case
from seatrial.report.comparison.before_after import comparison
from seatrial.report.terminal import console
from seatrial.session.chosen_sessions import LABEL_FORM, is_label
from seatrial.session.comparison_table import show_comparison
from seatrial.site.load import load

Opened = tuple[Session, Sequence[tuple[Declared, Case]]]


def sides_of(written: Sequence[str]) -> dict[str, Path]:
    """The folder of each side by name, from texts such as 'striped=site-config/striped'. Raises UsageError."""
    sides = {}
    for text in written:
        name, equals, folder = text.partition('=')
        if not (is_label(name) and equals and folder):
            raise click.UsageError(f"'{text}' is not NAME=FOLDER of a site; for the name, {LABEL_FORM}")
        sides[name] = Path(folder)
    if len(sides) < len(written):
        raise click.UsageError('both sides have the same name; give each its own, even if the folder is the same')
    states = {name: load(folder).state for name, folder in sides.items()}
    if len(set(states.values())) > 1:
        shown = ', '.join(f'{state} of {name}' for name, state in states.items())
        raise click.UsageError(f'the state directories differ ({shown}); set the same state in both trial.yaml')
    return sides


def in_turn(
    sides: dict[str, Path],
    rounds: int,
    effect: float,
    opened: Callable[[Path], Opened],
    carry_out: Callable[[Session, Sequence[tuple[Declared, Case]]], tuple[Verdict, bool]],
) -> Verdict:
    """Measures and compares; the worst verdict, INCOMPLETE after a stop or with an empty side. opened: opens the
    session of a folder; carry_out: its verdict, and whether a stop was requested; effect: smallest relative change"""
    screen, order = console(), list(sides)
    sessions: dict[str, dict[str, str]] = {name: {} for name in sides}
    verdicts = []
    for number in range(1, rounds + 1):
        random.shuffle(order)
        for name in order:
            screen.print(f'Round {number} of {rounds}: {name}')
            session, cases = opened(sides[name])
            verdict, stop = carry_out(replace(session, label=name), cases)
            verdicts.append(verdict)
            sessions[name][session.id] = str(number)
            if stop:
                screen.print('stopped before the last round: the sides are not compared')
                return worst([*verdicts, Verdict.INCOMPLETE])
    site = load(next(iter(sides.values())))
    one, other = (read(folder_of(site.state), named=of_side).rows for of_side in sessions.values())
    if not (one.height and other.height):
        screen.print('not compared: a side has no session in the history')
        return worst([*verdicts, Verdict.INCOMPLETE])
    before, after = sides
    round_of = {**sessions[before], **sessions[after]}
    show_comparison(comparison(one, other, (before, after), effect, site.units, round_of), screen)
    return worst(verdicts)
