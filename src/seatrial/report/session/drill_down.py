"""The drill-down of a case as a table: what each group of targets gave in each round."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatrial.model.record import Drill, DrillGroup
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit
from seatrial.report.words import listed


@dataclass(frozen=True)
class DrillRow:
    """One group of one round. figures: empty where none is valid.

    share: of the fastest in the round; servers: of its targets, as far as they are known
    """

    number: int
    group: str
    targets: str
    servers: str
    figures: Sequence[float]
    mean: float
    share: float


@dataclass(frozen=True)
class DrillView:
    """The drill-down, its rows in the order of the rounds."""

    drill: Drill
    unit: Unit
    rows: Sequence[DrillRow]


def view(evidence: CaseEvidence, system: str) -> DrillView | None:
    """What the template needs; None where there was no drill-down."""
    drill, start = evidence.records.drill, evidence.records.start
    if drill is None:
        return None
    servers = start.servers if start else {}
    rows = []
    for number, groups in enumerate(drill.rounds, 1):
        fastest = max((statistics.fmean(each.figures) for each in groups if each.figures), default=0.0)
        rows += [_row(number, group, fastest, servers) for group in groups]
    base = next((each.unit for each in evidence.result.metrics if each.metric == drill.metric), '')
    return DrillView(drill, common_unit([drill.bound, *(row.mean for row in rows)], base, system), rows)


def _row(number: int, group: DrillGroup, fastest: float, servers: Mapping[str, str]) -> DrillRow:
    mean = statistics.fmean(group.figures) if group.figures else 0.0
    return DrillRow(
        number=number,
        group=group.label,
        targets=listed(group.targets, 8),
        servers=listed(list(dict.fromkeys(servers[name] for name in group.targets if name in servers)), 8),
        figures=group.figures,
        mean=mean,
        share=mean / fastest if fastest else 0.0,
    )
