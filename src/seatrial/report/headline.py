"""The headline of a session: the best write, read, random read, create and stat, and where each was measured."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.plan import Case
from seatrial.report.figures import brief, cache_words, is_valid, percent
from seatrial.workload.base import COLD, UNKNOWN
from seatrial.workload.words import counted


class HeadlineFigure(NamedTuple):
    name: str  # its name in results.json
    words: str  # its name for people
    metric: str  # the best of all metrics of this name and base unit is shown
    unit: str
    beside: tuple[str, str] = ('', '')  # second metric, of the same point, with its words; empty: none


HEADLINE = (
    HeadlineFigure('write', 'best write', 'write', 'B/s'),
    HeadlineFigure('read', 'best read', 'read', 'B/s'),
    HeadlineFigure('random_read', 'random reads', 'randread_iops', 'op/s', ('randread_p99', 'p99')),
    HeadlineFigure('create', 'file creates', 'file_create', 'op/s'),
    HeadlineFigure('stat', 'file stats', 'file_stat', 'op/s'),
)

# A figure of the servers ranks before one that may come from a cache, even if the latter is faster.
_RANKS = {'': 0, COLD: 0, UNKNOWN: 1}

Figures = Mapping[tuple[Case, str], float]  # means in the base unit, by case and metric


class Headline(NamedTuple):
    figure: HeadlineFigure
    case: Case | None = None
    metric: MetricResult | None = None
    beside: MetricResult | None = None
    reference: float | None = None  # figure of its reference, in the base unit
    why: str = ''  # the reason if there is no figure, as a clause

    @property
    def value(self) -> float | None:
        return self.metric.summary.mean if self.metric and self.metric.summary else None

    def words(self, system: str) -> str:
        """'1.23 GiB/s', followed by 'p99 1.20 ms' if there is one; a dash without a figure."""
        if self.value is None:
            return '-'
        text = brief(self.value, self.figure.unit, system)
        summary = self.beside.summary if self.beside else None
        return f'{text}, {self.figure.beside[1]} {brief(summary.mean)}' if summary else text

    def where(self, tasks: Mapping[tuple[Case, str], int]) -> str:
        """'1 node, 2 tasks, scratch/default, cold'; the reason if there is no figure."""
        if self.case is None or self.metric is None:
            return self.why
        number = tasks.get((self.case, self.metric.point), 0)
        of_tasks = [counted(number, 'task')] if number else []
        answered = COLD if self.metric.cache == COLD else cache_words([self.metric])
        place = f'{self.case.file_system}/{self.case.layout}'
        return ', '.join(filter(None, [counted(self.case.nodes, 'node'), *of_tasks, place, answered]))

    def changes(self, before: Figures) -> str:
        """'+3.1 % on the last session, -2.0 % on the reference'; empty if there is neither."""
        if self.case is None or self.metric is None or self.value is None:
            return ''
        last = before.get((self.case, self.metric.metric))
        compared = [(last, 'the last session'), (self.reference, 'the reference')]
        changes = [(self.value / base - 1, name) for base, name in compared if base]
        return ', '.join(f'{"+" if change >= 0 else "-"}{percent(abs(change))} on {name}' for change, name in changes)


def headline_of(result: SessionResult) -> tuple[Headline, ...]:
    """The best valid figure for each of HEADLINE, or the reason for its lack; empty if all are lacking."""
    lines = tuple(_best(figure, result) for figure in HEADLINE)
    return lines if any(line.metric for line in lines) else ()


def _best(figure: HeadlineFigure, result: SessionResult) -> Headline:
    # Of equal figures the first by case name wins, as the order of cases changes if a session is read again.
    measured = [
        (case, metric)
        for case in sorted(result.cases, key=lambda judged: judged.case.name)
        for metric in case.metrics
        if (metric.name, metric.unit) == (figure.metric, figure.unit)
    ]
    valid = [(case, metric) for case, metric in measured if is_valid(metric)]
    if not valid:
        return Headline(figure, why=measured[0][1].why if measured else 'not measured')

    def rank(pair: tuple[CaseResult, MetricResult]) -> tuple[int, float]:
        metric = pair[1]
        return -_RANKS.get(metric.cache, len(_RANKS)), metric.summary.mean if metric.summary else 0.0

    case, best = max(valid, key=rank)
    second = (figure.beside[0], best.point)
    beside = [metric for metric in case.metrics if (metric.name, metric.point) == second and is_valid(metric)]
    references = [reference.reference for reference in case.references if reference.metric == best.metric]
    return Headline(figure, case.case, best, beside[0] if beside else None, references[0] if references else None)


def plain(lines: tuple[Headline, ...]) -> dict[str, Any]:
    """The headline for JSON: case, metric, value in the base unit, and the metric beside it, by name."""
    figures: dict[str, Any] = {}
    for line in lines:
        figures[line.figure.name] = {'why': line.why}
        if line.case and line.metric:
            figures[line.figure.name] = {
                'case': line.case.name,
                'metric': line.metric.metric,
                'value': line.value,
                'unit': line.metric.unit,
                'cache': line.metric.cache,
            }
            if line.beside and line.beside.summary:
                figures[line.figure.name][line.beside.metric] = line.beside.summary.mean
    return figures
