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


def show_comparison(compared: BeforeAfter, screen: Console) -> None:
    """Prints tables: differences in circumstances, families, metrics, what is not compared, and the counts."""
    for name, side in (('before', compared.before), ('after', compared.after)):
        screen.print(f'{name:<7} {side.words}', soft_wrap=True)
    if compared.differing:
        screen.print(Text('Not measured with the same:', 'yellow'))
        for line in compared.differing:
            screen.print(Text(f'  {line}', 'yellow'), soft_wrap=True)
    else:
        screen.print('Measured with the same, as far as it is recorded')
    for line in compared.circumstances:
        screen.print(f'  {line}', soft_wrap=True)
    if compared.notice and compared.metrics:
        screen.print(Text(compared.notice, 'yellow'), soft_wrap=True)
    screen.print(_families(compared))
    if any(compared.counts[verdict] for verdict in compared.counts if verdict != SAME):
        screen.print(_metrics(compared))
    for line in cut(compared.left_out, SHOWN, ', in --json and --html'):
        screen.print(f'not compared: {line}', soft_wrap=True)
    counts = ', '.join(f'{number} {verdict}' for verdict, number in compared.counts.items() if number)
    screen.print(f'{counted(len(compared.metrics), "metric")}: {counts or "nothing to compare"}')


def _families(compared: BeforeAfter) -> Table:
    table = table_of('verdict', 'family', 'after / before', '95 % interval', 'sessions', 'metrics')
    for row in compared.families:
        counts = ', '.join(f'{number} {verdict}' for verdict, number in row.metrics.items() if number)
        change = row.change
        table.add_row(
            _marked(change.verdict) if change else '',
            f'{row.file_system}: {row.family}',
            *change_words(change),
            counts,
        )
    return table


def _metrics(compared: BeforeAfter) -> Table:
    """The metrics that are not the same."""
    table = table_of('verdict', 'case', 'metric', '#before', '#after', 'after / before', '95 % interval', 'sessions')
    for verdict in compared.counts:
        rows = [row for row in compared.metrics if row.change.verdict == verdict and verdict != SAME]
        for row in rows[:SHOWN]:
            table.add_row(
                _marked(verdict),
                row.case,
                row.metric,
                *means_words(row, compared.units),
                *change_words(row.change),
            )
        if len(rows) > SHOWN:
            table.add_row('', f'and {len(rows) - SHOWN} more {verdict}, in --json and --html')
    return table


def _marked(verdict: str) -> Text:
    return Text(f'{MARKS.get(verdict, "?")} {verdict}', STYLES.get(verdict, 'cyan'))
