"""A trial plan that is being carried out: its start, in which the node's evidence is judged and recorded and launches
are prepared; the values that every further step needs, and the ways to refuse to go on."""

import errno
import os
import platform
import signal
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.filesystem.registry import by_type
from seatrial.job.directory.lock import Lock
from seatrial.job.directory.rundir import RunDirectory
from seatrial.job.launch.blocked import Blocked
from seatrial.job.launch.placement import allocated, misplaced, not_tested, numa, oversubscribe
from seatrial.job.sequence.evidence import Setup
from seatrial.job.sequence.layouts import Layouts
from seatrial.job.sequence.provenance import disagreement, provenance
from seatrial.job.sequence.recorder import Recorder
from seatrial.job.sequence.survey import Chosen, Survey, survey
from seatrial.model.plan import TrialPlan, digest
from seatrial.model.record import Provenance, Start
from seatrial.rules.registry import BEFORE, finding, findings

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
    blocked: Blocked  # the seconds of the run in calls of the file system that did not return at once
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
    waited: Callable[[float], str] = lambda since_s: ''  # telemetry.waited

    def left_s(self) -> float:
        return self.deadline - time.monotonic()


def examined(plan: TrialPlan, lock_held: Optional[str]) -> Survey:
    """The survey of the node before anything is written; Refused if the target cannot be examined."""
    try:
        return survey(plan, lock_held)
    except OSError as error:
        where = error.filename or plan.target.path
        question = 'is a server down?' if error.errno == errno.ETIMEDOUT else 'is the file system mounted?'
        raise Refused(f'{where}: {error.strerror} on {platform.node()}; {question}') from error


def begin(plan: TrialPlan, recorder: Recorder, seen: Survey, run_directory: str) -> Chosen:
    """Write the start record; returns the engine. Raises Refused with the first rule that forbids the run."""
    breaches = findings(BEFORE, seen.environment)
    chosen = seen.chosen
    free, inodes = seen.capacity.bytes, seen.capacity.inodes
    capacity = {'bytes': free, 'inodes': inodes, 'used_percent': seen.environment.used_percent}
    starter = plan.launcher if chosen and (chosen.engine.mpi or plan.case.nodes > 1) else None
    driver = by_type(plan.target.type)
    recorder.write(
        Start(
            session=plan.session,
            case=plan.case.name,
            plan=digest(plan),
            mount=seen.mount,
            host=platform.node(),
            pid=os.getpid(),
            job=os.environ.get('SLURM_JOB_ID', ''),
            started=time.time(),
            kernel=platform.release(),
            python=platform.python_version(),
            engine=chosen.engine.name if chosen else '',
            program=chosen.program if chosen else '',
            version=chosen.version if chosen else '',
            skipped=seen.skipped,
            seed=plan.seed,
            run_directory=run_directory,
            memory_bytes=seen.environment.memory_bytes,
            capacity={name: size for name, size in capacity.items() if size is not None},
            findings=tuple(breaches),
            state=driver.state(plan.target.path),
            targets=seen.targets.rows,
            not_tested=not_tested(named_nodes(plan)) if plan.axis.equals == 'node' else (),
            servers=seen.targets.servers,
            provenance=(
                provenance(chosen.program, chosen.engine.mpi, starter, plan.darshan) if chosen else Provenance()
            ),
            oversubscribe=oversubscribe() if plan.contract else '',
            numa=numa(),
            load_percent=round(100 * os.getloadavg()[0] / (os.cpu_count() or 1)),
        )
    )
    for breach in breaches:
        if breach.effect == 'refuse':
            raise Refused(f'{breach.rule}: {breach.sentence}')
    assert chosen is not None, 'a run without an engine is refused'
    return chosen


def prove_launcher(plan: TrialPlan, chosen: Chosen) -> None:
    """Raises Refused if the launcher misplaces the tasks of a point (P17), or if a node of the case has another build
    of the program, or another MPI, than this one (P21)."""
    points = [point for point in plan.points if point.nodes > 1 or chosen.engine.mpi]
    fault = misplaced(plan.launcher, points)
    if fault is not None:
        raise Refused(finding('P17', fault).sentence)
    if plan.case.nodes == 1 or plan.launcher.kind == 'local' or not points:
        return
    here = provenance(chosen.program, chosen.engine.mpi, None)
    breach = disagreement(plan.launcher, plan.case.nodes, chosen.program, chosen.engine.mpi, here)
    if breach is not None:
        raise Refused(breach.sentence)


def setup_of(plan: TrialPlan, chosen: Chosen, run_directory: RunDirectory) -> Setup:
    """The environment of the launches, and how their reads can be observed there."""
    driver, path, allowed = by_type(plan.target.type), plan.target.path, plan.target.drop_caches
    cold, behaviour = driver.cold(path), driver.behaviour(path)
    if plan.target.server_cache_bytes is not None:  # then rule P16 covers the caches below by the working set
        behaviour = behaviour._replace(below='')
    can_empty, kept = allowed and cold.possible, (cold.kept or cold.why_not) if allowed else ''
    return Setup(plan, chosen.engine, run_directory, driver, behaviour, can_empty, kept, cold.forgets)


def named_nodes(plan: TrialPlan) -> Tuple[str, ...]:
    """The nodes of a node sweep; empty for other cases, whose launches may take any. Raises Refused."""
    if plan.axis.equals != 'node':
        return ()
    try:
        nodes = allocated()
    except ValueError as error:
        raise Refused(f'SLURM_JOB_NODELIST: {error}') from error
    if len(nodes) < plan.case.nodes:
        why = f'a node sweep names its nodes, and SLURM_JOB_NODELIST has {len(nodes)} of {plan.case.nodes}'
        raise Refused(f'{why}; submit it to a Slurm partition')
    return nodes
