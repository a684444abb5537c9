"""Two sides compared on a terminal, and `seatrial run --ab`: two sites measured in turn, in rounds of both."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatrial.check.session import Session
from seatrial.history.store import folder_of, read
from seatrial.judge.compare import BETTER, ORDER, SAME, WORSE
from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import Verdict, worst
from seatrial.report.comparison import before_after
from seatrial.report.comparison.before_after import BeforeAfter, ComparedMetric, FamilyRow, change_words, means_words
from seatrial.report.terminal import LINES, console, fitting, rows_of, say, table_of
from seatrial.report.words import cut
from seatrial.session.chosen_sessions import LABEL_FORM, is_label
from seatrial.session.from_options import DeclaredCases
from seatrial.site.load import load
from seatrial.workload.words import counted

STYLES = {WORSE: 'bold red', BETTER: 'green', SAME: ''}
MARKS = {WORSE: 'x', BETTER: '+', SAME: '='}
SHOWN = 3  # differences in circumstances, and reasons why something is not compared
FAMILIES_SHOWN = 8
REST = ', in --json and --html'


def show_comparison(compared: BeforeAfter, screen: Console) -> None:
    """Prints what else differs, the families, and as many changed metrics as fit a terminal, the worst first."""
    sides = [f'{name:<7} {side.words}' for name, side in (('before', compared.before), ('after', compared.after))]
    # Both sides of a difference have to be seen: with its paths one takes two rows.
    differing = fitting([f'  {line}' for line in cut(compared.differing, SHOWN, REST)], 2 * SHOWN)
    heading = 'Not measured with the same:' if differing else 'No recorded difference in software or settings'
    beside = fitting([f'  {line}' for line in cut(compared.circumstances, SHOWN, REST)], SHOWN)
    notice = [compared.notice] if compared.notice and compared.metrics else []
    counts = ', '.join(f'{number} {verdict}' for verdict, number in compared.counts.items() if number)
    last = fitting([f'not compared: {line}' for line in cut(compared.left_out, SHOWN, REST)], SHOWN)
    last.append(f'{counted(len(compared.metrics), "metric")}: {counts or "nothing to compare"}')
    families = sorted(
        compared.families, key=lambda row: ORDER.index(row.change.verdict) if row.change else len(ORDER)
    )[:FAMILIES_SHOWN]
    taken = rows_of([*sides, heading, *differing, *beside, *notice, *last]) + 1 + len(families)
    changed = [row for row in compared.metrics if row.change.verdict != SAME]
    room = max(SHOWN, LINES - 1 - taken)
    words = [_metric(row, compared.units) for row in changed[: room + 1]]  # only those for which there may be room
    lines = cut([*words, *[''] * (len(changed) - len(words))], room, REST)
    say(screen, *sides)
    screen.print(Text(heading, 'yellow' if differing else ''))
    for style, block in (('yellow', differing), ('', beside), ('yellow', notice)):
        say(screen, *(Text(line, style) for line in block))
    screen.print(_families(families))
    say(screen, *fitting(lines, len(lines)), *last)


def _families(rows: Sequence[FamilyRow]) -> Table:
    table = table_of('verdict', 'family', 'after / before', '95 % interval', 'sessions', 'metrics')
    for row in rows:
        counts = ', '.join(f'{number} {verdict}' for verdict, number in row.metrics.items() if number)
        verdict = row.change.verdict if row.change else ''
        marked = Text(f'{MARKS.get(verdict, "?")} {verdict}' if verdict else '', STYLES.get(verdict, 'cyan'))
        table.add_row(marked, f'{row.file_system}: {row.family}', *change_words(row.change), counts)
    return table


def _metric(row: ComparedMetric, units: str) -> str:
    verdict, (before, after) = row.change.verdict, means_words(row, units)
    ratio, interval, _ = change_words(row.change)
    return f'{MARKS.get(verdict, "?")} {verdict}  {ratio} ({interval})  {row.case} {row.metric}: {before} to {after}'


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
    opened: Callable[[Path], tuple[Session, DeclaredCases]],
    carry_out: Callable[[Session, DeclaredCases], tuple[SessionResult, bool]],
) -> Verdict:
    """Measures and compares; the worst verdict, INCOMPLETE after a stop or with an empty side. opened: opens the
    session of a folder; carry_out: its result, and whether a stop was requested; effect: smallest relative change"""
    screen, order = console(), list(sides)
    sessions: dict[str, dict[str, str]] = {name: {} for name in sides}
    verdicts = []
    for number in range(1, rounds + 1):
        random.shuffle(order)
        for name in order:
            screen.print(f'Round {number} of {rounds}: {name}')
            session, cases = opened(sides[name])
            result, stop = carry_out(replace(session, label=name), cases)
            verdicts.append(result.verdict)
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
    show_comparison(before_after.comparison(one, other, (before, after), effect, site.units, round_of), screen)
    return worst(verdicts)
