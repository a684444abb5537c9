"""The job on the node: it carries a trial plan out and writes down what it saw. It decides no verdict."""

import itertools
import os
import platform
import random
import signal
import time
import traceback
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import Command, EngineError
from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.catalogue import by_type
from seatrial.job import lock, rundir
from seatrial.job.launch import LaunchGivenUp, argvs_of, carry_out
from seatrial.job.orphans import beat
from seatrial.job.recorder import Recorder
from seatrial.job.survey import Chosen, Survey, least_bytes_per_client, round_up, survey
from seatrial.model.plan import Sizing, TrialPlan, digest
from seatrial.model.quoting import shell_line
from seatrial.model.record import End, Finding, Measurement, Sample, Sized, Start
from seatrial.model.units import MIB, approximate_size
from seatrial.model.workload import AccessPattern, FileSpec, Point, files_of, preparation, resized
from seatrial.rules.before import peak
from seatrial.rules.launch import Launched, cache_label, files_fault
from seatrial.rules.registry import BEFORE, LAUNCH, WARMUP, finding, findings
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
MEASURED_ONLY = ('T19',)  # a warm-up may be short: it finds out how long a launch lasts
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
    run: 'rundir.RunDirectory'
    seen: Survey
    driver: FileSystem
    counted: bool  # whether the kernel counts reads from storage on this target
    deadline: float  # of the time budget, in monotonic seconds
    counter: Iterator[int]  # of the launches, for the names of their raw output
    rates: List[float]  # bytes a second of each launch, its start-up included


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
        driver = by_type(plan.target.type)
        counted = driver.reads_are_counted(plan.target.path)
        deadline = time.monotonic() + plan.stopping.budget_s
        trial = _Trial(
            plan,
            recorder,
            signals,
            held,
            seen.chosen,
            run_directory,
            seen,
            driver,
            counted,
            deadline,
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
    """Warm up on files that are never measured (T14), decide the bytes a client, check the data (P4)."""
    plan, sizing = trial.plan, trial.plan.sizing
    point = _calibration_point(plan)
    least, most = least_bytes_per_client(plan, trial.seen.memory_bytes), _most_bytes_per_client(trial)
    size = min(sizing.first_bytes, round_up(WARM_BYTES, sizing.granule)) if _fixed(sizing) else sizing.first_bytes
    trial.run.make(WARM)
    for round_ in range(SIZING_ROUNDS):
        trial.run.empty(WARM)
        warm = resized(point, plan.axis, size)
        shortest = min(_warm_up(trial, warm, round_))
        wanted = round_up(int(size * sizing.target_s / shortest), sizing.granule)
        if _fixed(sizing) or shortest >= SIZING_ENOUGH * sizing.target_s or size >= most:
            break
        size = min(wanted, most, size * SIZING_GROWTH)
    found = findings(WARMUP, Warmed(plan, _blocks(trial, files_of(plan.workload, warm))))
    trial.run.empty(WARM)
    if _fixed(sizing):
        return Sized(1, sizing.first_bytes, 'fixed by the site or the profile', tuple(found))
    reason = f'{approximate_size(size)} a client took {shortest:.2f} s; {sizing.target_s:g} s are meant'
    if wanted > most:
        reason += '; limits or free space allow no more'
    return Sized(1, min(max(wanted, least), most), reason, tuple(found))


def _enlarged(trial: _Trial, sized: Sized, seconds: float) -> Optional[Sized]:
    """The next size after a launch that was too short, or None where there can be none."""
    sizing = trial.plan.sizing
    wanted = round_up(int(ENLARGEMENT * sized.bytes_per_client * sizing.target_s / seconds), sizing.granule)
    size = min(wanted, _most_bytes_per_client(trial))
    if _fixed(sizing) or sized.number >= SIZES_MOST or size <= sized.bytes_per_client:
        return None
    reason = f'a launch lasted only {seconds:.3f} s; the samples before do not count'
    return Sized(sized.number + 1, size, reason, sized.findings)


def _fixed(sizing: Sizing) -> bool:
    return sizing.pinned_bytes is not None or sizing.target_s == 0


def _calibration_point(plan: TrialPlan) -> Point:
    """The point whose timed region will be the shortest: fewest clients, else the largest transfers."""
    return min(plan.points, key=lambda point: (point.tasks, -point.transfer_size))


def _most_bytes_per_client(trial: _Trial) -> int:
    """What limits and free space allow, in whole granules; P9 has made sure that it is not nothing."""
    plan = trial.plan
    allowed = plan.target.limits.bytes
    if trial.seen.capacity.bytes is not None:
        allowed = min(allowed, int(FREE_SHARE * trial.seen.capacity.bytes))
    overhead = peak(plan, 0)['bytes']
    clients = (peak(plan, 1)['bytes'] - overhead) or 1
    return max(plan.sizing.granule, (allowed - overhead) // clients // plan.sizing.granule * plan.sizing.granule)


def _warm_up(trial: _Trial, point: Point, round_: int) -> List[float]:
    """One discarded repetition; the seconds of each operation. A launch that cannot be believed ends the case."""
    seconds = []
    if 'write' not in trial.plan.workload.operations:
        _must(_prepare(trial, point, WARM))
    for operation in trial.plan.workload.operations:
        sample = _launch(trial, 'warmup', trial.plan.workload, operation, point, round_, WARM)
        measurement = _must(sample)
        seconds.append(measurement.seconds)
    return seconds


def _must(sample: Sample) -> Measurement:
    wrong = [each for each in sample.findings if each.effect != 'label']
    if wrong or sample.measurement is None:
        raise Refused(f'the {sample.stage} failed: {wrong[0].rule}: {wrong[0].sentence}')
    return sample.measurement


def _prepare(trial: _Trial, point: Point, directory: str) -> Sample:
    pattern, writers = preparation(trial.plan.workload, point)
    return _launch(trial, 'prepare', pattern, 'write', writers, 0, directory)


def _blocks(trial: _Trial, files: List[FileSpec]) -> Tuple[bytes, ...]:
    """The first bytes of two files, or the first and the middle bytes of one."""
    places = [(files[0], 0), (files[-1], 0 if len(files) > 1 else files[0].size // 2)]
    blocks = []
    for file, offset in places:
        with open(os.path.join(trial.run.path_of(WARM), file.name), 'rb') as stream:
            stream.seek(offset)
            blocks.append(stream.read(SAMPLE_BLOCK))
    return tuple(blocks)


def _measure(trial: _Trial, sized: Sized, stopped: Dict[str, str]) -> None:
    """Measure all points; begin again with more bytes where a launch was too short to be believed."""
    dice = random.Random(trial.plan.seed)
    trial.run.make(DATA)
    current: Optional[Sized] = sized
    while current is not None:
        trial.recorder.write(current)
        points = [resized(each, trial.plan.axis, current.bytes_per_client) for each in trial.plan.points]
        current = _measure_sized(trial, current, points, dice, stopped)
        trial.run.empty(DATA)


def _measure_sized(
    trial: _Trial, sized: Sized, points: List[Point], dice: random.Random, stopped: Dict[str, str]
) -> Optional[Sized]:
    """Randomised blocks: every point that is not done yet once, in random order, until all are done.

    Returns the next size if this one proves too small.
    """
    plan = trial.plan
    stopped.clear()
    reads_only = 'write' not in plan.workload.operations
    if reads_only:
        _must(_prepare(trial, max(points, key=lambda point: point.tasks), DATA))
    values: Dict[str, Dict[str, List[float]]] = {
        point.label: {operation: [] for operation in plan.workload.operations} for point in points
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
            reason, shortest = _repeat(trial, point, sized, block, values[point.label])
            if shortest < plan.sizing.min_s:
                larger = _enlarged(trial, sized, shortest)
                if larger is not None:
                    return larger
            if reason:
                stopped[point.label] = reason
            if not reads_only:
                trial.run.empty(DATA)
        trial.recorder.sync()
    return None


def _repeat(
    trial: _Trial, point: Point, sized: Sized, block: int, values: Dict[str, List[float]]
) -> Tuple[str, float]:
    """One repetition of a point: why it is done, if it is, and the seconds of its shortest launch.

    Of a launch that is invalid for another reason the seconds do not count: no size would mend it.
    """
    shortest = float('inf')
    for operation, earlier in values.items():
        sample = _launch(
            trial, 'measured', trial.plan.workload, operation, point, len(earlier), DATA, block, sized.number
        )
        if sample.measurement is not None and all(f.effect == 'label' or f.rule == 'T19' for f in sample.findings):
            shortest = min(shortest, sample.measurement.seconds)
        if not sample.valid or sample.measurement is None:
            return 'invalid', shortest
        earlier.append(sample.measurement.bandwidth)
    progress = state(values, trial.plan.stopping)
    return progress.reason if progress.action == 'done' else '', shortest


def _launch(
    trial: _Trial,
    stage: str,
    pattern: AccessPattern,
    operation: str,
    point: Point,
    repetition: int,
    directory: str,
    block: int = 0,
    sizing: int = 0,
) -> Sample:
    """Launch one operation, record what came of it and what the rules find."""
    if trial.signals.stopping():
        raise Interrupted(trial.signals.sentence())
    plan, engine = trial.plan, trial.chosen.engine
    trial.run.verify()
    raw = os.path.join(trial.recorder.raw, f'{next(trial.counter):04d}-{stage}-{operation}@{point.label}')
    expected = tuple(files_of(pattern, point))
    before = trial.run.census(directory)
    argvs: List[List[str]] = []
    found: List[Finding] = []
    measurement: Optional[Measurement] = None
    storage_read_bytes: Optional[int] = None
    exit_status, cache = 0, ''
    started, clock = time.time(), time.monotonic()
    try:
        command = engine.command(trial.chosen.program, pattern, operation, point, raw, plan.seed + block)
        argvs = argvs_of(command, plan.launcher, point)
        _make_links(trial, directory, command)
        if operation == 'read':
            _ready_for_read(trial, directory, point, expected, before)
        finished = carry_out(
            command, argvs, raw, trial.run.path_of(directory), _limit_s(trial, point), trial.signals.stopping
        )
        trial.rates.append(point.bytes_moved / max(time.monotonic() - clock, CLOCK_STEP_S))
        exit_status = finished.outcome.exit_status
        storage_read_bytes = finished.read_bytes if _counts_reads(trial, command, point) else None
        measurement = engine.measure(pattern, operation, point, command, finished.outcome)
        launched = Launched(
            plan, point, operation, measurement, expected, before, trial.run.census(directory), storage_read_bytes
        )
        cache = cache_label(launched)
        found = [each for each in findings(LAUNCH, launched) if stage == 'measured' or each.rule not in MEASURED_ONLY]
    except EngineError as error:
        found = [finding(error.rule, error.sentence)]
    except LaunchGivenUp as error:
        if trial.signals.stopping():
            raise
        found = [finding('E2', str(error))]
    sample = Sample(
        stage=stage,
        point=point.label,
        operation=operation,
        repetition=repetition,
        block=block,
        sizing=sizing,
        started=started,
        elapsed_s=time.monotonic() - clock,
        bytes_per_client=point.bytes_per_client,
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


def _limit_s(trial: _Trial, point: Point) -> float:
    """How long a launch may last: what a failover may block, and many times what the slowest rate gives."""
    slowest = min(trial.rates) if trial.rates else float('inf')
    return trial.plan.launch_limit_s + LIMIT_FACTOR * point.bytes_moved / slowest


def _counts_reads(trial: _Trial, command: Command, point: Point) -> bool:
    """Whether the reads of a launch's processes are counted here: those of srun's tasks are not its descendants'."""
    started_here = command.scope != 'mpi' or trial.plan.launcher.kind != 'srun'
    return trial.counted and started_here and point.nodes == 1


def _ready_for_read(
    trial: _Trial, directory: str, point: Point, expected: Tuple[FileSpec, ...], before: Dict[str, int]
) -> None:
    """Nothing is read that is not there in full: fio unlinks a file that is too short (T17). Drop what is cached."""
    fault = files_fault(expected, before)
    if fault is not None:
        raise EngineError('T17', f'before the read {fault}')
    if point.nodes == 1:
        for file in expected:
            trial.driver.forget(os.path.join(trial.run.path_of(directory), file.name))


def _make_links(trial: _Trial, directory: str, command: Command) -> None:
    """The links that an engine needs beside the files; they go when the directory is emptied."""
    for name, leads_to in command.links:
        path = os.path.join(trial.run.path_of(directory), name)
        if not os.path.lexists(path):
            os.symlink(leads_to, path)
