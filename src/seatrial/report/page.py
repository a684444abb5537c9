"""The page: one HTML file that needs no script, no network and no other file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.statistics import Summary
from seatrial.judge.verdict import MetricResult, Verdict, worst
from seatrial.model.plan import TrialPlan, metric
from seatrial.model.units import approximate_size
from seatrial.report import words
from seatrial.report.curve import NARROW, WIDE, Curve, curve
from seatrial.report.evidence import CaseEvidence, SessionEvidence, Step
from seatrial.report.lanes import OPERATIONS, believed, lanes
from seatrial.report.recipe import recipe


def page(evidence: SessionEvidence) -> str:
    """The page of a session. Every text in it is escaped, whatever it holds."""
    template = _environment().get_template('page.html')
    shared = words.shared_labels(evidence.result)
    cases = [_case(each, f'case-{number}', shared) for number, each in enumerate(evidence.cases, 1)]
    places = {each.evidence.result.case.name.partition('/')[2] for each in cases}
    return template.render(
        evidence=evidence,
        result=evidence.result,
        cases=cases,
        one_place=places.pop() if len(places) == 1 else '',
        shared=shared,
        lanes=lanes([case.result for case in evidence.cases]),
        operations=[
            operation
            for operation in OPERATIONS
            if any(operation in case.plan.workload.operations for case in evidence.cases)
        ],
    )


@dataclass(frozen=True)
class Row:
    """One metric in the table. stopped: why its repetitions ended."""

    metric: MetricResult
    point: str
    stopped: str


@dataclass(frozen=True)
class Repeat:
    """One point to be repeated. lines: for a shell; steps: what was run."""

    point: str
    lines: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class Case:
    """One case as the template needs it.

    rows: by operation; ranges: least and greatest mean by operation; rank: 0 for the worst verdict there is
    """

    evidence: CaseEvidence
    anchor: str
    curves: Mapping[str, Curve]
    rows: Mapping[str, Sequence[Row]]
    ranges: Mapping[str, str]
    repeats: Sequence[Repeat]
    labels: Sequence[str]
    summaries: Mapping[str, Summary]
    rank: int


def _case(evidence: CaseEvidence, anchor: str, shared: Sequence[str]) -> Case:
    plan, result = evidence.plan, evidence.result
    drawn = {'wide': curve(plan, result, WIDE), 'narrow': curve(plan, result, NARROW)}
    rows = {operation: _rows(evidence, operation) for operation in plan.workload.operations}
    return Case(
        evidence=evidence,
        anchor=anchor,
        curves={name: each for name, each in drawn.items() if each is not None},
        rows=rows,
        ranges={operation: _range(believed(result, operation)) for operation in rows},
        repeats=[
            Repeat(_axis_value(plan, label), recipe(plan, steps, evidence.raw), steps)
            for label, steps in evidence.steps.items()
        ],
        labels=[label for label in result.labels if label not in shared],
        summaries={each.metric: each.summary for each in result.metrics if each.summary},
        rank=_worse_verdicts(result.verdict),
    )


def _rows(evidence: CaseEvidence, operation: str) -> list[Row]:
    end = evidence.records.end
    metrics = {each.metric: each for each in evidence.result.metrics}
    return [
        Row(
            metric=metrics[metric(operation, point.label)],
            point=words.point_value(evidence.plan, point),
            stopped=words.STOPPED.get(end.stopped.get(point.label, ''), '') if end else '',
        )
        for point in evidence.plan.points
    ]


def _range(means: Sequence[float]) -> str:
    if not means:
        return ''
    low, high = words.figure(min(means)), words.figure(max(means))
    return low if low == high else f'{low} \u2013 {high}'


def _worse_verdicts(verdict: Verdict) -> int:
    """How many verdicts outrank this one."""
    return sum(worst([verdict, other]) is not verdict for other in Verdict)


def _axis_value(plan: TrialPlan, label: str) -> str:
    point = next(point for point in plan.points if point.label == label)
    unit = {'transfer_size': 'transfers of {}', 'objects': '{} objects a client', 'clients': '{} clients'}[plan.axis]
    return unit.format(words.point_value(plan, point))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader('seatrial.report'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters.update(
        figure=words.figure,
        percent=words.percent,
        seconds=words.seconds,
        size=approximate_size,
        listed=words.listed,
        px=lambda value: f'{value:.1f}'.removesuffix('.0'),
        rule=lambda label: label.partition(': ') if label.partition(':')[0].isalnum() else ('', '', label),
    )
    environment.globals.update(words=words, HERE=_HERE)
    return environment


_HERE = {HOLDS: 'it holds here', FAILS: 'it does not hold here', UNDECIDED: 'these samples cannot tell'}


def _finalize(value: Any) -> Any:
    return words.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
