"""One launch of a phase as one sample of the record: made, limited in time, and checked by the rules."""

import contextlib
import functools
import os
import socket
import time
from typing import Any, List, Optional, Tuple

from seatrial.engine.base import Command, EngineError, Outcome, first_of_mpi, measured
from seatrial.engine.failed_call import failed_calls
from seatrial.filesystem.base import Lost, mounted_from
from seatrial.filesystem.mounts import mount_of
from seatrial.job.directory.rundir import explained
from seatrial.job.launch import blocked
from seatrial.job.launch.placement import bound
from seatrial.job.launch.processes import ENVIRONMENT, LaunchGivenUp, Processes, carry_out, left_by_mpi, processes_of
from seatrial.job.sequence.darshan import under_darshan
from seatrial.job.sequence.evidence import Evidence, Seen, of_failed_call
from seatrial.job.sequence.recorder import RawLaunch
from seatrial.job.sequence.start import Refused, Trial
from seatrial.job.sequence.survey import capacity_for
from seatrial.model.ask import free_room
from seatrial.model.metric import Measurement
from seatrial.model.point import Point
from seatrial.model.quoted_value import shell_line
from seatrial.model.record import BoundTasks, Finding, Sample, Sized
from seatrial.model.units import approximate_size
from seatrial.rules import places
from seatrial.rules.contents import PROOF
from seatrial.rules.issued import DARSHAN
from seatrial.rules.launch import NO_ROOM, rule_of_errno
from seatrial.rules.registry import finding
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of, phase_of
from seatrial.workload.words import counted

OF_TIME = ('T24',)  # measured launches are compared with the warm-up's
TOO_SHORT = ('T12', 'T19', 'T19a', 'T19b', 'T20', 'T21')  # a warm-up may be: it finds out how long a launch lasts
LIMIT_FACTOR = 10  # a launch may last so many times what it would at the slowest rate seen
CLOCK_STEP_S = 1e-6
STEP_AWAITED = 'step creation temporarily disabled'  # says srun (22.05), and waits as long as Slurm needs


class NotValid(Refused):
    """A launch that the case needs failed, or is invalid."""


def take(
    trial: Trial, stage: str, launch: Launch, repetition: int, block: int = 0, current: Optional[Sized] = None
) -> Sample:
    """Launch one phase; record its result and the findings. Raises Interrupted, Refused if the file system does not
    answer or others fill it, RunDirectoryError, and LaunchGivenUp, with the sample written."""
    stalled_s = _stalled_s(trial)
    _check_room(trial)
    trial.setup.run.verify()
    attempt = _Attempt(trial, stage, launch)
    started, clock = time.time(), time.monotonic()
    attempt.make(trial.plan.seed + block)
    stalled_s += trial.blocked.since()
    if stalled_s:
        silent = f'{_place(trial)} did not answer for {stalled_s:.0f} s before or after this launch'
        attempt.findings.append(finding('P17b', silent))
    if attempt.measurement is None:
        trial.signals.check()  # Slurm ends the engine and the runner together
    command, processes, raw = attempt.command, attempt.processes, os.path.basename(attempt.raw)
    sample = Sample(
        stage=stage,
        phase=launch.phase,
        point=launch.point,
        repetition=repetition,
        block=block,
        sizing=current.number if current else 0,
        started=started,
        elapsed_s=time.monotonic() - clock,
        command=tuple(shell_line(argv) for argv in processes.argvs),
        exit_status=attempt.outcome.exit_status,
        raw=raw,
        measurement=attempt.measurement,
        cache=attempt.seen.cache,
        storage_read_bytes=attempt.seen.storage_read_bytes,
        findings=tuple(attempt.findings),
        environment=tuple(f'{name}={value}' for name, value in ENVIRONMENT.items()),
        directory=attempt.place,
        barrier=processes.barrier,
        inputs=tuple(map(os.path.basename, processes.inputs)),
        links=command.links,
        directories=command.directories,
        raw_digest=trial.recorder.keep(raw, RawLaunch(command, attempt.outcome)) if attempt.measurement else '',
        directory_bytes=attempt.seen.directory_bytes,
        bound=attempt.bound,
    )
    trial.recorder.write(sample)
    if any(breach.rule == 'E2' for breach in sample.findings):
        raise LaunchGivenUp(sample.findings[0].sentence)
    return sample


def prepare(trial: Trial, points: List[Point]) -> bool:
    """Make the files that the phases need; returns False if they need none. Refused if that fails."""
    launches = kind_of(trial.plan.kind).preparations(points)
    for launch in launches:
        valid(take(trial, 'prepare', launch, 0))
    return bool(launches)


def valid(sample: Sample) -> Measurement:
    """The measurement of a sample. Raises NotValid."""
    wrong = [breach for breach in sample.findings if breach.effect != 'label']
    if wrong or sample.measurement is None:
        # An engine that fails says what it could not do, and a lost connection beside it says why.
        raise NotValid(f'the {sample.stage} failed: ' + '; '.join(f'{flaw.rule}: {flaw.sentence}' for flaw in wrong))
    return sample.measurement


def seconds_of(sample: Sample) -> float:
    """Seconds of its timed region; infinite if unknown or if the launch is invalid for more than being too short."""
    if sample.measurement is None or any(f.effect != 'label' and f.rule not in TOO_SHORT for f in sample.findings):
        return float('inf')
    return sample.measurement.seconds or float('inf')


class _Attempt:
    """One launch and its results so far; missing ones are empty."""

    def __init__(self, trial: Trial, stage: str, launch: Launch) -> None:
        self.trial, self.stage, self.launch, self.directory = trial, stage, launch, trial.directory
        # Now, because a file system that has died in the launch cannot be asked.
        self.place = os.path.realpath(trial.setup.run.path_of(self.directory))
        name = f'{next(trial.counter):04d}-{stage}-{launch.phase}@{launch.point.label}'
        self.raw = os.path.join(trial.recorder.raw, name)
        self.named = trial.nodes[launch.point.first_node : launch.point.first_node + launch.point.nodes]
        self.evidence = Evidence(trial.setup, launch, self.directory, self.named)
        self.command = Command('', (), {}, ())
        self.processes = Processes([], {})
        self.outcome = Outcome((), (), (), ())
        self.measurement: Optional[Measurement] = None
        self.seen = Seen((), '', None)
        self.bound: Tuple[BoundTasks, ...] = ()
        self.findings: List[Finding] = []
        self.connections: Any = None
        self.began = time.monotonic()

    def make(self, seed: int) -> None:
        """Launch it. Failures to make or measure it become findings."""
        try:
            self._carry_out(seed)
        except EngineError as error:
            self.findings = self._of_engine(error)
        except LaunchGivenUp as error:
            if self.trial.signals.stopping():
                raise
            lost = self._lost().lost
            why = self._where(str(error)) + self._whole()
            mount = mount_of(self.place)
            if mount is not None and 'ro' in mount.options.split(','):  # dirty data then stay, and writers wait
                why += '; its file system has become read-only, as after an error of its device'
            why += ''.join(f'; {clause}' for clause in (lost, self.trial.waited(self.began)) if clause)
            self.findings = [finding('E2', why)]

    def _of_engine(self, error: EngineError) -> List[Finding]:
        """The findings of an engine's error; a lost connection or a failed call of the storage comes before it."""
        calls = failed_calls(error.sentence)
        blamed = (call for call in calls if rule_of_errno(call.errno, call.on_descriptor, call.sync))
        failed, lost = next(blamed, None), self._lost().lost
        if failed is None:
            before = [self._of_lost(lost)] if lost else []
            return [*before, finding(error.rule, self._where(error.sentence), error.evidence)]
        phase, point = self.launch
        room = self._room() if failed.errno in NO_ROOM else ''
        failed = failed._replace(node=failed.node or self._node())
        why = (f'{lost}; ' if lost else '') + error.sentence + room
        file = os.path.join(self.place, failed.file) if failed.file else ''
        target = self.trial.setup.driver.behind(self.trial.plan.target.path, file, failed.offset)
        return [of_failed_call(failed, why, target, f'{phase}@{point.label}: ')]

    def _whole(self) -> str:
        """A clause if a launch that was given up had done all its work: it can hang in MPI_Finalize."""
        if self.command.scope != 'mpi':
            return ''
        left = left_by_mpi(self.command, self.raw, _limit_s(self.trial, self.launch.point))
        try:
            measured(self.trial.setup.engine, *self.launch, self.command, left)
        except EngineError:
            return ''
        return '; all its work was done, and its results are whole: only its end did not come, as in MPI_Finalize'

    def _room(self) -> str:
        """The room of a file system that is full in spite of the checks: the short resource, or all known values."""
        plan, point = self.trial.plan, self.launch.point
        driver, path, before = self.trial.setup.driver, plan.target.path, self.trial.seen.environment
        free, quota = capacity_for(plan, driver), driver.quota(path)
        room = None if point.layout is None else driver.capacity(path, point.layout, point.tasks).bytes
        elsewhere = ''
        if room is not None and free.bytes is not None and room < free.bytes:  # room on other targets is of no use
            elsewhere, free = f'; {approximate_size(room)} are left where its files lie', free._replace(bytes=None)
        inodes = functools.partial(counted, one='inode')
        rows = (
            (approximate_size, before.needed_bytes, 'free', free.bytes, before.free_bytes),
            (approximate_size, before.needed_bytes, 'in the quota', quota.bytes, before.quota_bytes),
            (inodes, before.needed_inodes, 'free', free.inodes, before.free_inodes),
            (inodes, before.needed_inodes, 'in the quota', quota.inodes, before.quota_inodes),
        )
        known = [
            (
                left < needed,
                f'; the case needs {text(needed)}, {text(left)} are left {whose}, {text(first)} were before it began',
            )
            for text, needed, whose, left, first in rows
            if left is not None and first is not None
        ]
        is_short = any(short for short, _ in known)
        return elsewhere + ''.join(sentence for short, sentence in known if short or not is_short)

    def _carry_out(self, seed: int) -> None:
        trial, (phase, point) = self.trial, self.launch
        plan, setup = trial.plan, trial.setup
        trial.layouts.give(self.directory, point)
        self.connections = setup.driver.connections(plan.target.path)
        where = setup.run.open(self.directory)
        with contextlib.ExitStack() as opened:
            opened.callback(os.close, where)
            self.command = command = self._command(seed, where)
            self.processes = processes = processes_of(command, plan.launcher, point, self.raw, self.named)
            self.evidence.make_ready(command)
            trial.layouts.place(self.directory, self.launch)
            began, limit_s = time.monotonic(), _limit_s(trial, point)
            try:
                finished = carry_out(command, processes, self.raw, where, limit_s, trial.signals.stopping)
            except LaunchGivenUp:
                opened.pop_all()  # close(2) waits for a server that is away (seen on Lustre): the run ends without it
                raise
        amount = kind_of(point.kind).amount(point)
        if amount:
            trial.rates.append(amount / max(time.monotonic() - began, CLOCK_STEP_S))
        self.outcome, self.bound = finished.outcome, bound(finished.places, point.tasks)
        self.measurement = measured(setup.engine, phase, point, command, finished.outcome)
        setup.run.verify()  # after the engine's own check, because failing storage fails this one too
        times = finished.outcome.processes
        lived_s = max(process.end_s for process in times) - min(process.start_s for process in times)
        if self.stage == 'warmup':
            timed_s = phase_of(point, phase).timed_s(self.measurement)
            trial.beside_s.setdefault(command.scope, []).append(max(lived_s - timed_s, 0.0))
        if any(STEP_AWAITED in text for text in finished.outcome.stderrs):
            lived_s = 0.0  # how much of it was the engine's is not known
        beside_s = min(trial.beside_s.get(command.scope, ()), default=0.0)
        self.seen = self.evidence.seen(self.measurement, finished.read_bytes, lived_s, beside_s, self.bound)
        after = self._after()
        left_out = set() if self.stage in ('measured', places.CONFIRM) else {*TOO_SHORT, *OF_TIME}
        if any(breach.rule == 'P20' for breach in after):
            left_out.update(OF_TIME)  # the time beside the engine's region may be that of the outage
        # What the storage did comes before what may follow from it: a verdict names its first reason.
        self.findings = after + [breach for breach in self.seen.findings if breach.rule not in left_out]
        of_mpi = first_of_mpi(finished.outcome) if command.scope == 'mpi' else ''
        if of_mpi:
            self.findings.append(finding('P24', f"the MPI library says: '{of_mpi}'"))
        if self.named and self.stage != PROOF:  # its read asks what each task has written
            self.measurement = places.by_node(self.measurement)

    def _node(self) -> str:
        point, nodes = self.launch.point, self.trial.plan.case.nodes
        if point.nodes > 1 or (self.command.scope == 'mpi' and nodes > 1 and not self.named):
            return ''
        return self.named[0] if self.named else socket.gethostname()

    def _where(self, sentence: str) -> str:
        """The sentence, with the node that it is about if the sentence does not name it."""
        node = self._node()
        return sentence if not node or f' on {node}' in sentence else f'{sentence} (on {node})'

    def _command(self, seed: int, where: int) -> Command:
        """The engine's command, its links made, and under Darshan in the repetition that is traced."""
        setup = self.trial.setup
        command = setup.engine.command(self.trial.program, *self.launch, self.raw, seed)
        path = setup.run.path_of(self.directory)
        for name, leads_to in command.links:  # they go when the directory is emptied
            with explained(path), contextlib.suppress(FileExistsError):
                os.symlink(leads_to, name, dir_fd=where)
        if self.stage != DARSHAN:
            return command
        return under_darshan(setup.engine.under_darshan(command), self.trial.plan.darshan, self.raw, path)

    def _lost(self) -> Lost:
        """The connections that were lost since the launch began; none if it did not begin."""
        if self.connections is None:
            return Lost()
        driver = self.trial.setup.driver
        return driver.lost(self.connections, driver.connections(self.trial.plan.target.path))

    def _of_lost(self, lost: str) -> Finding:
        """The finding of lost connections; an action that stops a server also ends its connections."""
        return finding('A3' if self.launch.point.actions else 'P20', lost)

    def _after(self) -> List[Finding]:
        """The findings on file system and layout after a launch. A warm-up's layout decides nothing."""
        lost, unseen, worse = self._lost()
        breaches = [self._of_lost(lost)] if lost else []
        if worse:
            breaches.append(finding('P22a', f'meanwhile {worse}'))
        if unseen and not self.trial.seen.environment.unseen:  # the start record has what was never seen
            breaches.append(finding('P20a', f'not seen whether a connection to a server was lost: {unseen}'))
        waited = self.trial.waited(self.began)
        if waited:
            breaches.append(finding('P17b', waited))
        if self.stage == 'warmup':
            return breaches
        return breaches + self.trial.layouts.findings(self.directory, self.launch)


def _place(trial: Trial) -> str:
    """The path of the target, and where it is mounted from."""
    path = trial.plan.target.path
    return path + mounted_from(trial.setup.driver, path)


def _stalled_s(trial: Trial) -> float:
    """Seconds of waiting until the file system answers, in the target and in the run's own directory."""
    trial.signals.check()
    target, run = trial.plan.target, trial.setup.run
    below = run.path, run.path_of(trial.directory)
    seconds, answers = blocked.wait(target.path, target.recovery_limit_s, trial.signals.stopping, below)
    trial.signals.check()
    if not answers:
        raise Refused(finding('P17a', f'{_place(trial)} has not answered for {seconds:.0f} s').sentence)
    return seconds


def _check_room(trial: Trial) -> None:
    """Raises Refused if less is free than the site keeps for others."""
    target, before = trial.plan.target, trial.seen.environment
    keep = (target.limits.keep_bytes, target.limits.keep_inodes)
    free = free_room(target.path) if any(keep) else None
    first = (before.free_bytes, before.free_inodes)
    for unit, left, least, then in zip(('B', 'inodes'), free or (), keep, first):
        if left < least:
            why = f'{left} {unit} are free on {target.path}, fewer than the {least} to be kept; {then} were before'
            raise Refused(finding('P9a', why).sentence)


def _limit_s(trial: Trial, point: Point) -> float:
    """A failover's blocking, the launch's own time and pauses, and many times its time at the slowest rate."""
    slowest = min(trial.rates) if trial.rates else float('inf')
    own_s = point.duration_s + sum(point.pauses_s)
    return trial.plan.launch_limit_s + own_s + LIMIT_FACTOR * kind_of(point.kind).amount(point) / slowest
