"""How one metric is drawn: its marker, its interval, its samples and the bounds of its reference.

Colour is never the only difference: each style has its own marker and dash pattern, and what cannot be believed or
cannot decide has its own form.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seatrial.judge.references import ReferenceResult
from seatrial.judge.statistics import Summary
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.report import words
from seatrial.report.scale import Scale, scale_of

FULL, OPEN, STRUCK = 'full', 'open', 'struck'

STYLES = ('read', 'write', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth')
"""Of lines and markers, in the order in which they are given; style.css has the colour and the dashes of each."""

SHAPES = dict(
    zip(STYLES, ('circle', 'square', 'triangle', 'diamond', 'square', 'triangle', 'diamond', 'circle'), strict=True)
)


@dataclass(frozen=True)
class Mark:
    """One metric above its place x on a lying axis. low, high: the ends of its interval, None where it has none;
    cut: those ends lie outside.

    form:   'full', 'open' (it cannot decide) or 'struck' (it cannot be believed)
    dots:   its samples
    bounds: the places of its reference's bounds, each with the side that is allowed: 1 above, -1 below
    """

    x: float
    y: float
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


def figures_scale(case: CaseResult, metrics: Sequence[MetricResult], start: float, end: float) -> Scale:
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
    return scale_of([each.mean for each in summaries], others, start, end)


def mark_of(
    metric: MetricResult, summary: Summary, x: float, up: Scale, references: Mapping[str, ReferenceResult]
) -> Mark:
    """The metric at this place, its figures on the scale `up`."""
    form = {Verdict.INVALID: STRUCK, Verdict.INCONCLUSIVE: OPEN, Verdict.INCOMPLETE: OPEN}.get(metric.verdict, FULL)
    interval = summary.interval
    has_interval = form != STRUCK and math.isfinite(interval.half_width)
    believed = 'cannot be believed, ' if form == STRUCK else ''
    span = f', {100 * interval.confidence:g} % interval {words.figure(interval.low)} to {words.figure(interval.high)}'
    return Mark(
        x=x,
        y=up(summary.mean),
        form=form,
        low=up(interval.low) if has_interval else None,
        high=up(interval.high) if has_interval else None,
        low_cut=interval.low < up.least,
        high_cut=interval.high > up.most,
        dots=() if form == STRUCK else _dots(metric.values, x, up),
        bounds=tuple(
            (up(bound), side)
            for bound, side in _bounds(references.get(metric.metric))
            if up.least <= bound <= up.most
        ),
        words=f'{metric.metric}: {believed}mean {words.figure(summary.mean)} {metric.unit}'
        f'{span if has_interval else ""}, n = {summary.n}, {metric.verdict.value}',
    )


def _dots(values: Sequence[float], x: float, up: Scale) -> tuple[tuple[float, float], ...]:
    """The samples from left to right in the order in which they were taken, so that a drift is seen."""
    if len(values) < 2:
        return ()
    step = min(1.6, 10.0 / len(values))
    return tuple((x + step * (i - (len(values) - 1) / 2), up(value)) for i, value in enumerate(values))


def _bounds(reference: ReferenceResult | None) -> list[tuple[float, int]]:
    if reference is None:
        return []
    return [(bound, side) for bound, side in ((reference.low, 1), (reference.high, -1)) if bound is not None]
