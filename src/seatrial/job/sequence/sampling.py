"""One launch of an operation as one sample of the record: made, limited in time, and looked at by the rules."""

import os
import time
from typing import Any, List, Optional, Tuple, Union

from seatrial.engine.base import Command, EngineError
from seatrial.job.launch import stall
from seatrial.job.launch.processes import LaunchGivenUp, carry_out, processes_of
from seatrial.job.sequence.darshan import WITNESS, under_darshan
from seatrial.job.sequence.trial import Refused, Trial
from seatrial.job.sequence.witness import Seen, witness
from seatrial.model.quoting import shell_line
from seatrial.model.record import Finding, Measurement, Sample, Sized
from seatrial.model.tree import TreeMeasurement
from seatrial.model.work import Launch, Place, amount, preparations
from seatrial.model.workload import Point
from seatrial.rules import places
from seatrial.rules.registry import finding

TOO_SHORT = ('T19', 'T19a', 'T20', 'T21')  # a warm-up may be: it finds out how long a launch lasts
LIMIT_FACTOR = 10  # a launch may last so many times what it would at the slowest rate seen
CLOCK_STEP_S = 1e-6


class NotBelieved(Refused):
    """A launch without which nothing can go on failed, or cannot be believed."""


def take(
    trial: Trial,
    stage: str,
    launch: Launch,
    repetition: int,
    directory: str,
    block: int = 0,
    current: Optional[Sized] = None,
) -> Sample:
    """Launch one operation in a directory of the run; record what came of it and what the rules find.

    Raises Interrupted, Refused if the file system does not answer, RunDirectoryError, and LaunchGivenUp when the
    sample of a launch that would not end is written.
    """
    stalled_s = _stalled_s(trial)
    trial.ground.run.verify()
    attempt = _Attempt(trial, stage, launch, directory)
    started, clock = time.time(), time.monotonic()
    attempt.make(trial.plan.seed + block)
    if stalled_s:
        attempt.findings.append(finding('P17b', f'it was waited for {stalled_s:.0f} s before this launch'))
    if attempt.measurement is None:
        trial.signals.check()  # Slurm ends the engine and the runner together
    sample = Sample(
        stage=stage,
        point=launch.point.label,
        operation=launch.operation,
        repetition=repetition,
        block=block,
        sizing=current.number if current else 0,
        started=started,
        elapsed_s=time.monotonic() - clock,
        per_client=current.per_client if current else _own_share(launch.point),
        command=tuple(shell_line(argv) for argv in attempt.argvs),
        exit_status=attempt.exit_status,
        raw=os.path.basename(attempt.raw),
        measurement=attempt.measurement,
        cache=attempt.seen.cache,
        storage_read_bytes=attempt.seen.storage_read_bytes,
        findings=tuple(attempt.findings),
    )
    trial.recorder.write(sample)
    if any(each.rule == 'E2' for each in sample.findings):
        raise LaunchGivenUp(sample.findings[0].sentence)
    return sample


def prepare(trial: Trial, points: List[Place], directory: str) -> bool:
    """Make the files that the operations need to be there, if any; whether there are. Refused if that fails."""
    launches = preparations(trial.plan.workload, points)
    for launch in launches:
        believed(take(trial, 'prepare', launch, 0, directory))
    return bool(launches)


def believed(sample: Sample) -> Union[Measurement, TreeMeasurement]:
    """What it measured; NotBelieved if it cannot be believed, where nothing can go on without it."""
    wrong = [each for each in sample.findings if each.effect != 'label']
    if wrong or sample.measurement is None:
        raise NotBelieved(f'the {sample.stage} failed: {wrong[0].rule}: {wrong[0].sentence}')
    return sample.measurement


class _Attempt:
    """One launch and what has come of it so far; what it did not come to stays empty."""

    def __init__(self, trial: Trial, stage: str, launch: Launch, directory: str) -> None:
        self.trial, self.stage, self.launch, self.directory = trial, stage, launch, directory
        name = f'{next(trial.counter):04d}-{stage}-{launch.operation}@{launch.point.label}'
        self.raw = os.path.join(trial.recorder.raw, name)
        self.pinned = _pinned(trial, launch.point)
        self.watched = witness(trial.ground, launch, directory, self.pinned)
        self.argvs: List[List[str]] = []
        self.exit_status = 0
        self.measurement: Union[Measurement, TreeMeasurement, None] = None
        self.seen = Seen((), '', None)
        self.findings: List[Finding] = []

    def make(self, seed: int) -> None:
        """Launch it. What keeps it from being made, or from being measured, is a finding."""
        try:
            self._carry_out(seed)
        except EngineError as error:
            self.findings = [finding(error.rule, error.sentence)]
        except LaunchGivenUp as error:
            if self.trial.signals.stopping():
                raise
            self.findings = [finding('E2', str(error))]

    def _carry_out(self, seed: int) -> None:
        trial, (workload, operation, point) = self.trial, self.launch
        plan, ground = trial.plan, trial.ground
        trial.layouts.give(self.directory, point)
        connections = ground.driver.connections(plan.target.path)
        command = self._command(seed)
        processes = processes_of(command, plan.launcher, point, self.raw, self.pinned)
        self.argvs = processes.argvs
        self.watched.make_ready(command)
        where, began = ground.run.path_of(self.directory), time.monotonic()
        finished = carry_out(command, processes, self.raw, where, _limit_s(trial, point), trial.signals.stopping)
        trial.rates.append(amount(point) / max(time.monotonic() - began, CLOCK_STEP_S))
        self.exit_status = finished.outcome.exit_status
        self.measurement = ground.engine.measure(workload, operation, point, command, finished.outcome)
        self.seen = self.watched.seen(self.measurement, finished.read_bytes)
        counts = self.stage in ('measured', places.CONFIRM)
        self.findings = [each for each in self.seen.findings if counts or each.rule not in TOO_SHORT]
        self.findings += self._after(connections)
        if self.pinned and isinstance(self.measurement, Measurement):
            self.measurement = places.by_node(self.measurement)

    def _command(self, seed: int) -> Command:
        """The engine's own, its links made, and under Darshan where it is to be witnessed."""
        trial, (workload, operation, point) = self.trial, self.launch
        engine, where = trial.ground.engine, trial.ground.run.path_of(self.directory)
        command = engine.command(trial.program, workload, operation, point, self.raw, seed)
        _make_links(command, where)
        if self.stage != WITNESS:
            return command
        return under_darshan(engine.witnessed(command), trial.plan.darshan, self.raw, where)

    def _after(self, connections: Any) -> List[Finding]:
        """What file system and layout say after a launch. A warm-up's layout decides nothing."""
        driver, path = self.trial.ground.driver, self.trial.plan.target.path
        now = driver.connections(path)
        lost, unseen = driver.lost(connections, now), driver.unseen(connections, now)
        found = [finding('P20', lost)] if lost else []
        if unseen and not self.trial.seen.ground.unseen:  # of what was never seen the start record tells
            found.append(finding('P20a', f'not seen whether a connection to a server was lost: {unseen}'))
        if self.stage == 'warmup':
            return found
        return found + self.trial.layouts.findings(self.directory, self.launch.point, self.launch.operation)


def _stalled_s(trial: Trial) -> float:
    """Wait for a file system that does not answer; the seconds that it took."""
    trial.signals.check()
    target = trial.plan.target
    stalled = stall.wait(target.path, target.recovery_limit_s, trial.signals.stopping)
    trial.signals.check()
    if not stalled.answers:
        raise Refused(finding('P17a', f'{target.path} has not answered for {stalled.seconds:.0f} s').sentence)
    return stalled.seconds


def _pinned(trial: Trial, point: Place) -> Tuple[str, ...]:
    """The nodes on which the launch is to run, where they are named."""
    return trial.nodes[point.first_node : point.first_node + point.nodes] if isinstance(point, Point) else ()


def _own_share(point: Place) -> int:
    """What a client does in a launch that no decided size governs."""
    return point.bytes_per_client if isinstance(point, Point) else point.tree.files_per_directory


def _limit_s(trial: Trial, point: Place) -> float:
    """How long a launch may last: what a failover may block, pauses, and many times what the slowest rate gives."""
    slowest = min(trial.rates) if trial.rates else float('inf')
    pauses_s = 0.0 if isinstance(point, Point) else sum(point.pauses_s)
    return trial.plan.launch_limit_s + pauses_s + LIMIT_FACTOR * amount(point) / slowest


def _make_links(command: Command, directory: str) -> None:
    """The links that an engine needs beside the files; they go when the directory is emptied."""
    for name, leads_to in command.links:
        path = os.path.join(directory, name)
        if not os.path.lexists(path):
            os.symlink(leads_to, path)
