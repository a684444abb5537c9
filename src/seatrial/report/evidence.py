"""What a report is made from."""

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
class LaunchEvidence:
    """One launch. inputs: the text of each of sample.inputs that is still there, by its name in the raw output."""

    sample: Sample
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class CaseEvidence:
    """One planned case. samples: the measured launches that count, by metric. steps: one repetition of each point
    that was measured, by the point's label, in the order of its launches; telemetry: what was counted meanwhile;
    None where the job kept none"""

    plan: TrialPlan
    records: Records
    result: CaseResult
    samples: Mapping[str, Sequence[Sample]]
    steps: Mapping[str, Sequence[LaunchEvidence]]
    raw: str  # the folder of the engine's raw output, as the commands name it
    telemetry: Telemetry | None = None

    @property
    def points(self) -> list[Point]:
        """Those of the plan, each as it was launched where it was."""
        launched = {sample.point.label: sample.point for own in self.samples.values() for sample in own}
        return [launched.get(point.label, point) for point in self.plan.points]


@dataclass(frozen=True)
class SessionEvidence:
    """One session. label: what its profile says its figures are good for; seatrial: the version that judges.

    notices: what the reader must know before the verdict, such as that it was another one on the day
    not_applicable: cases that were asked for and cannot be there, by the reason
    before: what the headline's figures were in the last session that had them, by case and metric, in the base unit
    """

    result: SessionResult
    site: str
    label: str
    began: datetime
    seatrial: str
    cases: Sequence[CaseEvidence]
    notices: Sequence[str] = ()
    not_applicable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    units: str = BINARY  # 'binary' or 'decimal', as the site has chosen (model/units.py)
    before: Mapping[tuple[Case, str], float] = field(default_factory=dict)

    @property
    def tasks(self) -> dict[tuple[Case, str], int]:
        """Of each point, by its case and label."""
        return {(each.plan.case, point.label): point.tasks for each in self.cases for point in each.plan.points}
