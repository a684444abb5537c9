"""The headline of a session: the best write, read, random read, create and stat, each with where it was measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import MetricResult
from seatrial.model.plan import Case
from seatrial.report.figures import brief, cache_words, is_valid, percent
from seatrial.workload.base import COLD, UNKNOWN
from seatrial.workload.words import counted


class HeadlineFigure(NamedTuple):
    """name: as results.json has it; words: as people read it.

    metric, unit: of all metrics of this name in this base unit the best one is meant
    beside: the metric of the same point that is shown with it, with the words for it; empty: none
    """

    name: str
    words: str
    metric: str
    unit: str
    beside: tuple[str, str] = ('', '')


HEADLINE = (
    HeadlineFigure('write', 'best write', 'write', 'B/s'),
    HeadlineFigure('read', 'best read', 'read', 'B/s'),
    HeadlineFigure('random_read', 'random reads', 'randread_iops', 'op/s', ('randread_p99', 'p99')),
    HeadlineFigure('create', 'file creates', 'file_create', 'op/s'),
    HeadlineFigure('stat', 'file stats', 'file_stat', 'op/s'),
)

_RANKS = {'': 0, COLD: 0, UNKNOWN: 1}
"""By what answered: a figure of the servers stands before one that a cache may have given, however fast that is."""

Figures = Mapping[tuple[Case, str], float]
"""Means in the base unit, by case and metric."""


@dataclass(frozen=True)
class Headline:
    """A figure with the one beside it, and its reference in the base unit; why: there is none, as a clause."""

    figure: HeadlineFigure
    case: Case | None = None
    metric: MetricResult | None = None
    beside: MetricResult | None = None
    reference: float | None = None
    why: str = ''

    @property
    def value(self) -> float | None:
        """Of its mean, in the base unit."""
        return self.metric.summary.mean if self.metric and self.metric.summary else None

    def words(self, system: str) -> str:
        """'1.23 GiB/s', 'p99 1.20 ms' behind it where there is one; a dash without a figure."""
        if self.value is None:
            return '-'
        said = brief(self.value, self.figure.unit, system)
        summary = self.beside.summary if self.beside else None
        return f'{said}, {self.figure.beside[1]} {brief(summary.mean)}' if summary else said

    def where(self, tasks: Mapping[tuple[Case, str], int]) -> str:
        """'1 node, 2 tasks, scratch/default, cold'; without a figure why there is none."""
        if self.case is None or self.metric is None:
            return self.why
        number = tasks.get((self.case, self.metric.point), 0)
        of_tasks = [counted(number, 'task')] if number else []
        answered = COLD if self.metric.cache == COLD else cache_words([self.metric])
        place = f'{self.case.file_system}/{self.case.layout}'
        return ', '.join(filter(None, [counted(self.case.nodes, 'node'), *of_tasks, place, answered]))

    def changes(self, before: Figures) -> str:
        """'+3.1 % on the last session, -2.0 % on the reference'; empty where there is neither."""
        if self.case is None or self.metric is None or self.value is None:
            return ''
        last = before.get((self.case, self.metric.metric))
        compared = [(last, 'the last session'), (self.reference, 'the reference')]
        return ', '.join(f'{_signed(self.value / base - 1)} on {name}' for base, name in compared if base)


def headline_of(result: SessionResult) -> tuple[Headline, ...]:
    """Of every figure of HEADLINE the best valid one, or why there is none; nothing where none was measured."""
    lines = tuple(_best(figure, result) for figure in HEADLINE)
    return lines if any(each.metric for each in lines) else ()


def _best(figure: HeadlineFigure, result: SessionResult) -> Headline:
    # Of equal figures the first by name: a session that is read again has its cases in another order.
    measured = [
        (case, each)
        for case in sorted(result.cases, key=lambda one: one.case.name)
        for each in case.metrics
        if (each.name, each.unit) == (figure.metric, figure.unit)
    ]
    valid = [(case, each) for case, each in measured if is_valid(each)]
    if not valid:
        return Headline(figure, why=measured[0][1].why if measured else 'not measured')
    case, best = max(valid, key=lambda found: _worth(found[1]))
    name, _ = figure.beside
    beside = [each for each in case.metrics if (each.name, each.point) == (name, best.point) and is_valid(each)]
    references = [each.reference for each in case.references if each.metric == best.metric]
    return Headline(figure, case.case, best, beside[0] if beside else None, references[0] if references else None)


def _worth(metric: MetricResult) -> tuple[int, float]:
    return -_RANKS.get(metric.cache, len(_RANKS)), metric.summary.mean if metric.summary else 0.0


def plain(lines: tuple[Headline, ...]) -> dict[str, Any]:
    """For JSON: by the name of the figure its case, metric, value in the base unit, and what stands beside it."""
    return {each.figure.name: _plain(each) for each in lines}


def _plain(line: Headline) -> dict[str, Any]:
    if line.case is None or line.metric is None:
        return {'why': line.why}
    beside = line.beside.summary.mean if line.beside and line.beside.summary else None
    return {
        'case': line.case.name,
        'metric': line.metric.metric,
        'value': line.value,
        'unit': line.metric.unit,
        'cache': line.metric.cache,
        **({line.beside.metric: beside} if line.beside else {}),
    }


def _signed(share: float) -> str:
    return f'{"+" if share >= 0 else "-"}{percent(abs(share))}'
