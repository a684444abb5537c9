"""A trial plan that is being carried out: the values that every step needs, and the ways to refuse to go on."""

import signal
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.job.directory.lock import Lock
from seatrial.job.launch.blocked import Blocked
from seatrial.job.sequence.evidence import Setup
from seatrial.job.sequence.layouts import Layouts
from seatrial.job.sequence.recorder import Recorder
from seatrial.job.sequence.survey import Survey
from seatrial.model.plan import TrialPlan

DATA, WARM = 'data', 'warmup'
ENTRIES = (DATA, WARM)  # directories of a run: of measured files, and of the warm-up's, which never are (rule T14)


class Refused(Exception):
    """A rule forbids the run, or the run cannot go on; the finding says why."""


class Interrupted(Exception):
    """A signal has asked the job to stop."""


class Signals:
    """Notes SIGTERM and SIGINT until their former handlers are restored: then no further launch is started."""

    def __init__(self) -> None:
        self.caught: Optional[int] = None
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}

    def _note(self, number: int, frame: Any) -> None:
        self.caught = number

    def stopping(self) -> bool:
        return self.caught is not None

    def check(self) -> None:
        if self.stopping():
            raise Interrupted(self.sentence())

    def sentence(self) -> str:
        return f'interrupted by {signal.Signals(self.caught or 0).name}; `seatrial clean` removes what it left'

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class Trial(NamedTuple):
    plan: TrialPlan
    recorder: Recorder
    signals: Signals
    held: Lock
    blocked: Blocked  # how long the run was in calls of the file system that did not return at once
    program: str  # path by which the chosen engine is started
    seen: Survey
    setup: Setup
    layouts: Layouts
    deadline: float  # end of the time budget, in monotonic seconds
    counter: Iterator[int]  # numbers of launches, for the names of their raw output
    rates: List[float]  # bytes or entries a second of each launch, its start-up included; each launch adds its own
    # seconds that each launch of the warm-up lived beside its timed region, by Command.scope: an engine may leave
    # phases of another scope to another program. Not by phase: a launch that is always slow would hide itself
    beside_s: Dict[str, List[float]]
    nodes: Tuple[str, ...] = ()  # that Point.first_node counts in; empty where launches are not pinned to nodes
    directory: str = DATA  # entry of the run directory in which launches work
    waited: Callable[[float], str] = lambda since_s: ''  # telemetry.Watching.waited

    def left_s(self) -> float:
        return self.deadline - time.monotonic()
