"""What an ageing has filled in: how much lies in each class, beside the share that was meant."""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.model.metric import Histogram
from seatrial.model.units import approximate_size
from seatrial.report.evidence import CaseEvidence
from seatrial.workload.words import grouped


@dataclass(frozen=True)
class HistogramBin:
    """One class. ends: from where to where, in words; share, target: as fractions."""

    ends: str
    found: int
    share: float
    target: float


@dataclass(frozen=True)
class HistogramView:
    """One histogram at one point."""

    point: str
    name: str
    rows: Sequence[HistogramBin]


def histograms(evidence: CaseEvidence) -> list[HistogramView]:
    """Those of the last valid launch at each point, in the order of the plan: every launch fills in the same."""
    last = {
        sample.point.label: sample.measurement.histograms
        for own in evidence.samples.values()
        for sample in own
        if sample.valid and sample.measurement and sample.measurement.histograms
    }
    return [_view(point.label, each) for point in evidence.plan.points for each in last.get(point.label, ())]


def _view(point: str, histogram: Histogram) -> HistogramView:
    said = approximate_size if histogram.unit == 'B' else grouped
    below = (0, *histogram.ends)
    whole = sum(histogram.found) or 1
    rows = [
        HistogramBin(
            said(end) if end == before + 1 else f'to {said(end)}',
            found,
            found / whole,
            target,
        )
        for before, end, found, target in zip(below, histogram.ends, histogram.found, histogram.targets, strict=False)
    ]
    return HistogramView(point, histogram.name, rows)
