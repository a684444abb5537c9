"""A comparison of sessions on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatrial.judge.compare import BETTER, ORDER, SAME, WORSE
from seatrial.report.comparison.before_after import BeforeAfter, ComparedMetric, FamilyRow, change_words, means_words
from seatrial.report.terminal import LINES, fitting, rows_of, say, table_of
from seatrial.report.words import cut
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
