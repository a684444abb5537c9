"""What a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records, Sample
from seatrial.model.telemetry import Telemetry


@dataclass(frozen=True)
class Step:
    """One launch, as it was made and with what it takes to make it again.

    inputs: files that the engine was given, by their name in the folder of the raw output, with their text
    links:  symbolic links beside the data: (name, what it points to)
    directories: beside the data, that are there before the launch
    """

    sample: Sample
    inputs: Mapping[str, str]
    links: Sequence[tuple[str, str]]
    directories: Sequence[str] = ()


@dataclass(frozen=True)
class CaseEvidence:
    """One planned case. samples: the measured launches that count, by metric.

    steps: one repetition of each point that was measured, by the point's label, in the order of its launches
    raw:   the folder of the engine's raw output, as the commands name it
    data:  the directory that the launches ran in; empty where none was made
    telemetry: what was counted meanwhile; None where the job kept none
    """

    plan: TrialPlan
    records: Records
    result: CaseResult
    samples: Mapping[str, Sequence[Sample]]
    steps: Mapping[str, Sequence[Step]]
    raw: str
    data: str
    telemetry: Telemetry | None = None


@dataclass(frozen=True)
class SessionEvidence:
    """One session. label: what its profile says its figures are good for; seatrial: the version that judges.

    notices: what the reader must know before the verdict, such as that it was another one on the day
    not_applicable: cases that were asked for and cannot be there, by the reason
    """

    result: SessionResult
    site: str
    label: str
    began: datetime
    seatrial: str
    cases: Sequence[CaseEvidence]
    notices: Sequence[str] = ()
    not_applicable: Mapping[str, Sequence[str]] = field(default_factory=dict)
