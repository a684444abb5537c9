"""The job on the node: it carries a trial plan out and writes down what it saw. It decides no verdict."""

import itertools
import os
import platform
import random
import signal
import time
import traceback
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from seatrial.engine.base import Command, EngineError
from seatrial.filesystem.catalogue import by_type
from seatrial.job import lock, rundir
from seatrial.job.launch import LaunchGivenUp, carry_out, processes_of
from seatrial.job.orphans import beat
from seatrial.job.recorder import Recorder
from seatrial.job.survey import Chosen, Survey, least_per_client, round_up, survey
from seatrial.job.witness import Ground, witness
from seatrial.model.namespace import Namespace
from seatrial.model.plan import Sizing, TrialPlan, digest
from seatrial.model.quoting import shell_line
from seatrial.model.record import End, Finding, Measurement, Sample, Sized, Start
from seatrial.model.tree import TreeMeasurement
from seatrial.model.units import MIB, approximate_size
from seatrial.model.work import Launch, Place, amount, preparations, sized
from seatrial.model.workload import Point
from seatrial.rules.before import peak
from seatrial.rules.registry import BEFORE, WARMUP, finding, findings
from seatrial.rules.stopping import state
from seatrial.rules.warmup import Warmed

DATA, WARM = 'data', 'warmup'
ENTRIES = (DATA, WARM)
WARM_BYTES = 128 * MIB  # a client, for a warm-up that decides no size
SIZING_ROUNDS = 5
SIZING_ENOUGH = 0.6  # of the target: the warm-up was long enough to extrapolate from
SIZING_GROWTH = 16  # at most, from one warm-up to the next
SIZES_MOST = 3
ENLARGEMENT = 1.25  # beyond the target, after a launch that was too short
FREE_SHARE = 0.9  # of the free space, at most, for what the sizing chooses
TOO_SHORT = ('T19', 'T19a', 'T20', 'T21')  # a warm-up may be: it finds out how long a launch lasts
LIMIT_FACTOR = 10  # a launch may last so many times what it would at the slowest rate seen
CLOCK_STEP_S = 1e-6
SAMPLE_BLOCK = 65536  # bytes looked at by P4

FINISHED, REFUSED, INTERRUPTED, FAILED = 'finished', 'refused', 'interrupted', 'failed'


class Interrupted(Exception):
    """A signal told the job to stop."""


class Refused(Exception):
    """A rule forbids the run, or the run cannot go on; the finding says why."""


def run(plan: TrialPlan) -> End:
    """Carry the plan out. Always leaves an end record; raises AlreadyRecorded if there is one already."""
    recorder = Recorder(plan.records)
    signals = _Signals()
    stopped: Dict[str, str] = {}
    try:
        reason, why = _guarded(plan, recorder, signals, stopped)
    except Interrupted as error:
        reason, why = INTERRUPTED, str(error)
    except Refused as error:
        reason, why = REFUSED, str(error)
    except LaunchGivenUp as error:
        reason, why = (
            (INTERRUPTED, signals.sentence()) if signals.caught else (FAILED, f'a launch was given up: {error}')
        )
    except OSError as error:
        reason, why = FAILED, f'the job could not go on: {error}'
    except Exception as error:
        with open(os.path.join(recorder.raw, 'runner-error.txt'), 'w') as stream:
            traceback.print_exc(file=stream)
        reason, why = FAILED, f'an error of Seatrial itself: {error!r}; see raw/runner-error.txt and report it'
    end = End(reason, why, time.time(), stopped)
    recorder.write(end)
    recorder.sync()
    recorder.close()
    signals.restore()
    return end


class _Signals:
    """SIGTERM and SIGINT ask for an end; nothing is launched after them."""

    def __init__(self) -> None:
        self.caught: Optional[int] = None
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}

    def _note(self, number: int, frame: Any) -> None:
        self.caught = number

    def stopping(self) -> bool:
        return self.caught is not None

    def sentence(self) -> str:
        return f'interrupted by {signal.Signals(self.caught or 0).name}; `seatrial clean` removes what it left'

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class _Trial(NamedTuple):
    """What every step needs."""

    plan: TrialPlan
    recorder: Recorder
    signals: _Signals
    held: lock.Lock
    chosen: Chosen
    seen: Survey
    ground: Ground
    deadline: float  # of the time budget, in monotonic seconds
    counter: Iterator[int]  # of the launches, for the names of their raw output
    rates: List[float]  # bytes or entries a second of each launch, its start-up included


def _guarded(plan: TrialPlan, recorder: Recorder, signals: _Signals, stopped: Dict[str, str]) -> Tuple[str, str]:
    try:
        held = lock.acquire(plan.state, plan.target.storage_system, plan.session)
    except lock.LockHeld as error:
        _begin(plan, recorder, _look(plan, str(error)), '')
        raise AssertionError('a held lock refuses the run') from error
    except lock.LockError as error:
        raise Refused(str(error)) from error
    beating: Optional[lock.Heartbeat] = None
    try:
        beating = beat(plan.state, plan.session)
        seen = _look(plan, None)
        _begin(plan, recorder, seen, rundir.path_of(plan.target.path, plan.session, plan.case.name))
        run_directory = rundir.create(plan.target.path, plan.session, plan.case.name, ENTRIES)
        assert seen.chosen is not None
        trial = _Trial(
            plan,
            recorder,
            signals,
            held,
            seen.chosen,
            seen,
            _ground(plan, seen.chosen, run_directory),
            time.monotonic() + plan.stopping.budget_s,
            itertools.count(1),
            [],
        )
        _measure(trial, _sized(trial), stopped)
    except rundir.RunDirectoryError as error:
        raise Refused(str(error)) from error
    finally:
        if beating is not None:
            beating.stop()
        held.release()
    return FINISHED, 'every launch that the plan asks for was made'


def _ground(plan: TrialPlan, chosen: Chosen, run_directory: rundir.RunDirectory) -> Ground:
    driver, path = by_type(plan.target.type), plan.target.path
    cold = driver.cold(path)
    counted = driver.reads_are_counted(path)
    allowed = plan.target.drop_caches
    kept = (cold.kept or cold.why_not) if allowed else ''
    return Ground(plan, chosen.engine, run_directory, driver, counted, allowed and cold.possible, kept)


def _look(plan: TrialPlan, lock_held: Optional[str]) -> Survey:
    try:
        return survey(plan, lock_held)
    except OSError as error:
        where = error.filename or plan.target.path
        raise Refused(f'{where}: {error.strerror} on {platform.node()}; is the file system mounted?') from error


def _begin(plan: TrialPlan, recorder: Recorder, seen: Survey, run_directory: str) -> None:
    """Write the start record; raise Refused with the first rule that forbids the run."""
    found = findings(BEFORE, seen.ground)
    chosen = seen.chosen
    capacity = {'bytes': seen.capacity.bytes, 'inodes': seen.capacity.inodes}
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
            passed_over=seen.passed_over,
            seed=plan.seed,
            run_directory=run_directory,
            memory_bytes=seen.memory_bytes,
            capacity={name: size for name, size in capacity.items() if size is not None},
            findings=tuple(found),
        )
    )
    for each in found:
        if each.effect == 'refuse':
            raise Refused(f'{each.rule}: {each.sentence}')


def _sized(trial: _Trial) -> Sized:
    """Warm up on files that are never measured (T14), decide the share of each client, check the data (P4)."""
    plan, sizing = trial.plan, trial.plan.sizing
    point = _calibration_point(plan)
    least, most = least_per_client(plan, trial.seen.memory_bytes), _most_per_client(trial)
    size = min(sizing.first, round_up(WARM_BYTES, sizing.granule)) if _fixed(sizing) else sizing.first
    trial.ground.run.make(WARM)
    for round_ in range(SIZING_ROUNDS):
        trial.ground.run.empty(WARM)
        shortest, blocks = _warm_up(trial, sized(point, plan.axis, size), round_)
        wanted = round_up(int(size * sizing.target_s / shortest), sizing.granule) if shortest else size
        if _fixed(sizing) or shortest >= SIZING_ENOUGH * sizing.target_s or size >= most:
            break
        size = min(wanted, most, size * SIZING_GROWTH)
    found = findings(WARMUP, Warmed(plan, blocks))
    trial.ground.run.empty(WARM)
    if _fixed(sizing):
        return Sized(1, sizing.first, 'fixed by the site or the profile', tuple(found))
    reason = f'{_share(plan, size)} a client took {shortest:.2f} s; {sizing.target_s:g} s are meant'
    if wanted > most:
        reason += '; limits or free space allow no more'
    return Sized(1, min(max(wanted, least), most), reason, tuple(found))


def _enlarged(trial: _Trial, current: Sized, seconds: float) -> Optional[Sized]:
    """The next size after a launch that was too short, or None where there can be none."""
    sizing = trial.plan.sizing
    wanted = round_up(int(ENLARGEMENT * current.per_client * sizing.target_s / seconds), sizing.granule)
    size = min(wanted, _most_per_client(trial))
    if _fixed(sizing) or current.number >= SIZES_MOST or size <= current.per_client:
        return None
    reason = f'a launch lasted only {seconds:.3f} s; the samples before do not count'
    return Sized(current.number + 1, size, reason, current.findings)


def _fixed(sizing: Sizing) -> bool:
    return sizing.pinned is not None or sizing.target_s == 0


def _share(plan: TrialPlan, per_client: int) -> str:
    return f'{per_client} files' if isinstance(plan.workload, Namespace) else approximate_size(per_client)


def _calibration_point(plan: TrialPlan) -> Place:
    """The point whose timed region will be the shortest: fewest clients, else the largest transfers or least data."""

    def weight(point: Place) -> Tuple[int, int]:
        return point.tasks, -point.transfer_size if isinstance(point, Point) else point.tree.bytes_per_file

    return min(plan.points, key=weight)


def _most_per_client(trial: _Trial) -> int:
    """What limits and free space allow, in whole granules; P9 has made sure that it is not nothing."""
    plan, granule = trial.plan, trial.plan.sizing.granule
    allowed = plan.target.limits._asdict()
    for what, free in trial.seen.capacity._asdict().items():
        if free is not None:
            allowed[what] = min(allowed[what], int(FREE_SHARE * free))
    one, two = peak(plan, 1), peak(plan, 2)
    shares = [
        (allowed[what] - (one[what] - (two[what] - one[what]))) // (two[what] - one[what])
        for what in one
        if two[what] > one[what]
    ]
    return max(granule, min(shares, default=granule) // granule * granule)


def _warm_up(trial: _Trial, point: Place, round_: int) -> Tuple[float, Tuple[bytes, ...]]:
    """One discarded repetition: seconds of the shortest timed region, and bytes of what was written, if anything was.

    A launch that cannot be believed ends the case.
    """
    workload = trial.plan.workload
    for launch in preparations(workload, [point]):
        _must(_launch(trial, 'prepare', launch, 0, WARM))
    seconds, blocks = [], None
    for operation in workload.operations:
        measurement = _must(_launch(trial, 'warmup', Launch(workload, operation, point), round_, WARM))
        seconds.append(measurement.seconds)
        blocks = _blocks(trial) if blocks is None else blocks
    return min(seconds), blocks or ()


def _must(sample: Sample) -> Union[Measurement, TreeMeasurement]:
    wrong = [each for each in sample.findings if each.effect != 'label']
    if wrong or sample.measurement is None:
        raise Refused(f'the {sample.stage} failed: {wrong[0].rule}: {wrong[0].sentence}')
    return sample.measurement


def _blocks(trial: _Trial) -> Tuple[bytes, ...]:
    """The first bytes of two of the files that are there, or the first and the middle bytes of one."""
    written = sorted(item for item in trial.ground.run.census(WARM).items() if item[1])
    if not written:
        return ()
    (first, size), (last, _) = written[0], written[-1]
    blocks = []
    for name, offset in ((first, 0), (last, 0 if len(written) > 1 else size // 2)):
        with open(os.path.join(trial.ground.run.path_of(WARM), name), 'rb') as stream:
            stream.seek(offset)
            blocks.append(stream.read(SAMPLE_BLOCK))
    return tuple(blocks)


def _measure(trial: _Trial, first: Sized, stopped: Dict[str, str]) -> None:
    """Measure all points; begin again with a larger share where a launch was too short to be believed."""
    dice = random.Random(trial.plan.seed)
    trial.ground.run.make(DATA)
    current: Optional[Sized] = first
    while current is not None:
        trial.recorder.write(current)
        points = [sized(each, trial.plan.axis, current.per_client) for each in trial.plan.points]
        current = _measure_sized(trial, current, points, dice, stopped)
        trial.ground.run.empty(DATA)


def _measure_sized(
    trial: _Trial, current: Sized, points: List[Place], dice: random.Random, stopped: Dict[str, str]
) -> Optional[Sized]:
    """Randomised blocks: every point that is not done yet once, in random order, until all are done.

    Returns the next size if this one proves too small.
    """
    plan = trial.plan
    stopped.clear()
    prepared = preparations(plan.workload, points)
    for launch in prepared:
        _must(_launch(trial, 'prepare', launch, 0, DATA))
    values: Dict[str, Dict[str, List[float]]] = {
        point.label: {name: [] for each in plan.workload.operations for name in plan.measures(each, point)}
        for point in points
    }
    for block in itertools.count():
        order = [point for point in points if point.label not in stopped]
        if not order:
            return None
        lost = trial.held.lost()
        if lost:
            raise Refused(lost)
        dice.shuffle(order)
        for point in order:
            # A profile that asks for no precision has every point measured once, however slow the system.
            if time.monotonic() > trial.deadline and not (plan.stopping.fixed and block == 0):
                stopped[point.label] = 'budget'
                continue
            reason, shortest = _repeat(trial, point, current, block, values[point.label])
            if shortest < plan.sizing.min_s:
                larger = _enlarged(trial, current, shortest)
                if larger is not None:
                    return larger
            if reason:
                stopped[point.label] = reason
            if not prepared:
                trial.ground.run.empty(DATA)
        trial.recorder.sync()
    return None


def _repeat(
    trial: _Trial, point: Place, current: Sized, block: int, values: Dict[str, List[float]]
) -> Tuple[str, float]:
    """One repetition of a point: why it is done, if it is, and the seconds of its shortest timed region.

    Of a launch that is invalid for another reason the seconds do not count: no size would mend it.
    """
    shortest = float('inf')
    workload = trial.plan.workload
    repetition = len(next(iter(values.values())))
    for operation in workload.operations:
        sample = _launch(trial, 'measured', Launch(workload, operation, point), repetition, DATA, block, current)
        if sample.measurement is not None and all(
            f.effect == 'label' or f.rule in TOO_SHORT for f in sample.findings
        ):
            shortest = min(shortest, sample.measurement.seconds or shortest)
        if not sample.valid:
            return 'invalid', shortest
        for name, figure in sample.figures.items():
            values[name].append(figure)
    progress = state(values, trial.plan.stopping)
    return progress.reason if progress.action == 'done' else '', shortest


def _launch(
    trial: _Trial,
    stage: str,
    launch: Launch,
    repetition: int,
    directory: str,
    block: int = 0,
    current: Optional[Sized] = None,
) -> Sample:
    """Launch one operation, record what came of it and what the rules find."""
    if trial.signals.stopping():
        raise Interrupted(trial.signals.sentence())
    plan, engine, run_directory = trial.plan, trial.ground.engine, trial.ground.run
    workload, operation, point = launch
    run_directory.verify()
    raw = os.path.join(trial.recorder.raw, f'{next(trial.counter):04d}-{stage}-{operation}@{point.label}')
    watched = witness(trial.ground, launch, directory)
    argvs: List[List[str]] = []
    found: List[Finding] = []
    measurement: Union[Measurement, TreeMeasurement, None] = None
    storage_read_bytes: Optional[int] = None
    exit_status, cache = 0, ''
    started, clock = time.time(), time.monotonic()
    try:
        command = engine.command(trial.chosen.program, workload, operation, point, raw, plan.seed + block)
        processes = processes_of(command, plan.launcher, point, raw)
        argvs = processes.argvs
        _make_links(trial, directory, command)
        watched.make_ready(command)
        began = time.monotonic()
        finished = carry_out(
            command, processes, raw, run_directory.path_of(directory), _limit_s(trial, point), trial.signals.stopping
        )
        trial.rates.append(amount(point) / max(time.monotonic() - began, CLOCK_STEP_S))
        exit_status = finished.outcome.exit_status
        measurement = engine.measure(workload, operation, point, command, finished.outcome)
        seen = watched.seen(measurement, finished.read_bytes)
        cache, storage_read_bytes = seen.cache, seen.storage_read_bytes
        found = [each for each in seen.findings if stage == 'measured' or each.rule not in TOO_SHORT]
    except EngineError as error:
        found = [finding(error.rule, error.sentence)]
    except LaunchGivenUp as error:
        if trial.signals.stopping():
            raise
        found = [finding('E2', str(error))]
    if measurement is None and trial.signals.stopping():
        raise Interrupted(trial.signals.sentence())  # Slurm ends the engine and the runner together
    sample = Sample(
        stage=stage,
        point=point.label,
        operation=operation,
        repetition=repetition,
        block=block,
        sizing=current.number if current else 0,
        started=started,
        elapsed_s=time.monotonic() - clock,
        per_client=current.per_client if current else _own_share(point),
        command=tuple(shell_line(argv) for argv in argvs),
        exit_status=exit_status,
        raw=os.path.basename(raw),
        measurement=measurement,
        cache=cache,
        storage_read_bytes=storage_read_bytes,
        findings=tuple(found),
    )
    trial.recorder.write(sample)
    if any(each.rule == 'E2' for each in found):
        raise LaunchGivenUp(found[0].sentence)
    return sample


def _own_share(point: Place) -> int:
    """What a client does in a launch that no decided size governs."""
    return point.bytes_per_client if isinstance(point, Point) else point.tree.files_per_directory


def _limit_s(trial: _Trial, point: Place) -> float:
    """How long a launch may last: what a failover may block, pauses, and many times what the slowest rate gives."""
    slowest = min(trial.rates) if trial.rates else float('inf')
    pauses_s = 0.0 if isinstance(point, Point) else sum(point.pauses_s)
    return trial.plan.launch_limit_s + pauses_s + LIMIT_FACTOR * amount(point) / slowest


def _make_links(trial: _Trial, directory: str, command: Command) -> None:
    """The links that an engine needs beside the files; they go when the directory is emptied."""
    for name, leads_to in command.links:
        path = os.path.join(trial.ground.run.path_of(directory), name)
        if not os.path.lexists(path):
            os.symlink(leads_to, path)
