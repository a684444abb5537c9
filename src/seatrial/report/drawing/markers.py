"""How one metric is drawn: its marker, its interval, its samples and the bounds of its reference.

Colour is never the only difference: each style has its own marker and dash pattern, and what is invalid or cannot
decide has its own form.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seatrial.judge.references import ReferenceResult
from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.metric import LOWER
from seatrial.report.drawing.scale import Scale, scale_of
from seatrial.report.figures import Unit

FULL, OPEN, STRUCK = 'full', 'open', 'struck'

STYLES = ('read', 'write', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth')
"""Of lines and markers, in the order in which they are given; style.css has the colour and the dashes of each."""

SHAPES = dict(
    zip(STYLES, ('circle', 'square', 'triangle', 'diamond', 'square', 'triangle', 'diamond', 'circle'), strict=True)
)


@dataclass(frozen=True)
class Mark:
    """One metric at `at` on the axis of points, its mean at `mean` on that of figures, as are the others.

    low, high: the ends of its interval, None where it has none; cut: those ends lie outside
    form:   'full', 'open' (it cannot decide) or 'struck' (it is invalid)
    dots:   its samples, each with its place on both axes
    bounds: the places of its reference's bounds, each with the side that is allowed: 1 above, -1 below
    """

    at: float
    mean: float
    form: str
    low: float | None
    high: float | None
    low_cut: bool
    high_cut: bool
    dots: tuple[tuple[float, float], ...]
    bounds: tuple[tuple[float, int], ...]
    words: str


def styles(names: Iterable[str]) -> dict[str, str]:
    """A style for each: reads and writes have the same everywhere, anything else is given one in turn."""
    given = list(dict.fromkeys(names))
    if set(given) <= set(STYLES[:2]):
        return {name: name for name in given}
    return {name: STYLES[i % len(STYLES)] for i, name in enumerate(given)}


def is_valid(metric: MetricResult) -> bool:
    """Whether it has a mean that may be used."""
    return metric.summary is not None and metric.verdict is not Verdict.INVALID


def figures_scale(case: CaseResult, metrics: Sequence[MetricResult], unit: Unit, start: float, end: float) -> Scale:
    """The axis of the figures. It need not hold all of an interval of three samples, nor a reference far above."""
    references = {each.metric: each for each in case.references}
    summaries = [metric.summary for metric in metrics if metric.summary]
    greatest = max(each.maximum for each in summaries)
    ends = [min(each.interval.high, 1.25 * greatest) for each in summaries if math.isfinite(each.interval.half_width)]
    bounds = [bound for metric in metrics for bound, _ in _bounds(references.get(metric.metric))]
    others = [
        *(each.minimum for each in summaries),
        *(each.maximum for each in summaries),
        *ends,
        *(bound for bound in bounds if bound <= 3 * greatest),
    ]
    return scale_of([each.mean for each in summaries], others, start, end, unit)


def axis_label(metrics: Sequence[MetricResult], scale: Scale) -> str:
    """Of the axis of the figures: 'GiB/s (log scale)'."""
    said = ['log scale'] * scale.logarithmic + ['lower is better'] * all(each.better == LOWER for each in metrics)
    return f'{scale.unit.name} ({", ".join(said)})' if said else scale.unit.name


def mark_of(
    metric: MetricResult, summary: SampleSummary, at: float, up: Scale, references: Mapping[str, ReferenceResult]
) -> Mark:
    """The metric at this place, its figures on the scale `up`."""
    form = {Verdict.INVALID: STRUCK, Verdict.INCONCLUSIVE: OPEN, Verdict.INCOMPLETE: OPEN}.get(metric.verdict, FULL)
    interval, unit = summary.interval, up.unit
    has_interval = form != STRUCK and math.isfinite(interval.half_width)
    invalid = 'invalid, ' if form == STRUCK else ''
    span = f', {100 * interval.confidence:g} % interval {unit.figure(interval.low)} to {unit.figure(interval.high)}'
    return Mark(
        at=at,
        mean=up(summary.mean),
        form=form,
        low=up(interval.low) if has_interval else None,
        high=up(interval.high) if has_interval else None,
        low_cut=interval.low < up.low,
        high_cut=interval.high > up.high,
        dots=() if form == STRUCK else _dots(metric.values, at, up),
        bounds=tuple(
            (up(bound), side) for bound, side in _bounds(references.get(metric.metric)) if up.low <= bound <= up.high
        ),
        words=f'{metric.metric}: {invalid}mean {unit.words(summary.mean)}{span if has_interval else ""}'
        f'{", one sample: no interval" if summary.n == 1 else ""}, '
        f'n = {summary.n}, {metric.verdict.value}',
    )


def _dots(values: Sequence[float], at: float, up: Scale) -> tuple[tuple[float, float], ...]:
    """The samples beside each other in the order in which they were taken, so that a drift is seen."""
    if len(values) < 2:
        return ()
    step = min(1.6, 10.0 / len(values))
    return tuple((at + step * (i - (len(values) - 1) / 2), up(value)) for i, value in enumerate(values))


def _bounds(reference: ReferenceResult | None) -> list[tuple[float, int]]:
    if reference is None:
        return []
    return [(bound, side) for bound, side in ((reference.low, 1), (reference.high, -1)) if bound is not None]
