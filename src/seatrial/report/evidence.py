"""The input of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import Records, Sample
from seatrial.model.telemetry import Telemetry
from seatrial.model.units import BINARY


@dataclass(frozen=True)
class CaseEvidence:
    plan: TrialPlan
    records: Records
    result: CaseResult
    samples: Mapping[str, Sequence[Sample]]  # measured launches that count, by metric
    launches: Mapping[str, Sequence[Sample]]  # launches of one repetition, in order, by label of the point
    raw: str  # the folder of the engine's raw output, as the commands name it
    telemetry: Telemetry | None = None  # None if the job kept none

    @property
    def points(self) -> list[Point]:
        """The points of the plan; a launched point replaces the planned one."""
        launched = {sample.point.label: sample.point for samples in self.samples.values() for sample in samples}
        return [launched.get(point.label, point) for point in self.plan.points]


@dataclass(frozen=True)
class SessionEvidence:
    result: SessionResult
    site: str
    label: str  # sentence of its profile: what its figures may be used for
    began: datetime
    seatrial: str  # version that judges
    cases: Sequence[CaseEvidence]
    notices: Sequence[str] = ()  # shown above the verdict: for example that the session ended with another verdict
    not_applicable: Mapping[str, Sequence[str]] = field(default_factory=dict)  # impossible cases, by the reason
    units: str = BINARY  # 'binary' or 'decimal', as the site has chosen (model/units.py)
    # the headline's figures in the last session that has them, by case and metric, in the base unit
    before: Mapping[tuple[Case, str], float] = field(default_factory=dict)

    @property
    def tasks(self) -> dict[tuple[Case, str], int]:
        """Number of tasks by case and label of the point."""
        return {(case.plan.case, point.label): point.tasks for case in self.cases for point in case.plan.points}
