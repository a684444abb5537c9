"""Groups of nodes that worked at once: what a task of each had, and the ratio to the first, as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.groups import GroupRate
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit
from seatrial.workload.registry import kind_of


@dataclass(frozen=True)
class GroupRow:
    """One group at one point; label: of metric and point, on the row of its first group alone."""

    label: str
    rate: GroupRate


@dataclass(frozen=True)
class GroupsView:
    """All groups of a case. first: what the others are compared with."""

    first: str
    unit: Unit
    rows: Sequence[GroupRow]


def view(evidence: CaseEvidence, system: str) -> GroupsView | None:
    """What the template needs; None where not several groups worked at once."""
    named = kind_of(evidence.plan.kind).metric_words
    rows = [
        GroupRow('' if number else f'{named(each.name)} at {each.point}', rate)
        for each in evidence.result.metrics
        for number, rate in enumerate(each.groups)
    ]
    if not rows:
        return None
    return GroupsView(rows[0].rate.name, common_unit([row.rate.rate.mean for row in rows], 'B/s', system), rows)
