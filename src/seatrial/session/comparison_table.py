"""A comparison of sessions on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatrial.judge.compare import BETTER, SAME, WORSE
from seatrial.report.comparison.before_after import BeforeAfter, change_words, means_words
from seatrial.report.terminal import table_of
from seatrial.report.words import cut
from seatrial.workload.words import counted

STYLES = {WORSE: 'bold red', BETTER: 'green', SAME: ''}

MARKS = {WORSE: 'x', BETTER: '+', SAME: '='}

SHOWN = 20
"""Metrics of each verdict, and what is left out."""


def show_comparison(found: BeforeAfter, screen: Console) -> None:
    """Prints tables: differences in circumstances, families, metrics, what is not compared, and the counts."""
    for name, side in (('before', found.before), ('after', found.after)):
        screen.print(f'{name:<7} {side.words}', soft_wrap=True)
    if found.differing:
        screen.print(Text('Not measured with the same:', 'yellow'))
        for said in found.differing:
            screen.print(Text(f'  {said}', 'yellow'), soft_wrap=True)
    else:
        screen.print('Measured with the same, as far as it is recorded')
    for said in found.circumstances:
        screen.print(f'  {said}', soft_wrap=True)
    if found.notice and found.metrics:
        screen.print(Text(found.notice, 'yellow'), soft_wrap=True)
    screen.print(_families(found))
    if any(found.counts[verdict] for verdict in found.counts if verdict != SAME):
        screen.print(_metrics(found))
    for said in cut(found.left_out, SHOWN, ', in --json and --html'):
        screen.print(f'not compared: {said}', soft_wrap=True)
    counts = ', '.join(f'{number} {verdict}' for verdict, number in found.counts.items() if number)
    screen.print(f'{counted(len(found.metrics), "metric")}: {counts or "nothing to compare"}')


def _families(found: BeforeAfter) -> Table:
    table = table_of('verdict', 'family', 'after / before', '95 % interval', 'sessions', 'metrics')
    for row in found.families:
        counts = ', '.join(f'{number} {verdict}' for verdict, number in row.metrics.items() if number)
        own = row.change
        table.add_row(
            _marked(own.verdict) if own else '',
            f'{row.file_system}: {row.family}',
            *change_words(own),
            counts,
        )
    return table


def _metrics(found: BeforeAfter) -> Table:
    """The metrics that are not the same."""
    table = table_of('verdict', 'case', 'metric', '#before', '#after', 'after / before', '95 % interval', 'sessions')
    for verdict in found.counts:
        own = [row for row in found.metrics if row.change.verdict == verdict and verdict != SAME]
        for row in own[:SHOWN]:
            table.add_row(
                _marked(verdict),
                row.case,
                row.metric,
                *means_words(row, found.units),
                *change_words(row.change),
            )
        if len(own) > SHOWN:
            table.add_row('', f'and {len(own) - SHOWN} more {verdict}, in --json and --html')
    return table


def _marked(verdict: str) -> Text:
    return Text(f'{MARKS.get(verdict, "?")} {verdict}', STYLES.get(verdict, 'cyan'))
