"""The proof of contents as an engine: it measures nothing, and is no site's. One python3 process a task (task.py)."""

import json
from typing import Tuple

from seatrial.engine.base import Command, Engine, EngineError, Outcome, ending, reads_of_next_node
from seatrial.engine.node_program import module_argv
from seatrial.engine.proof.task import ProofReport, ProofSpec, damage
from seatrial.model.codec import from_json, to_json
from seatrial.model.metric import Measurement, TaskTime
from seatrial.model.point import Point
from seatrial.workload.access import writer_of
from seatrial.workload.registry import phase_of

TASK = 'seatrial.engine.proof.task'


class Proof(Engine):
    """Of one case. key, transfers, limit_s: as in Spec; written, hosts: of the launch that wrote, how many transfers
    each task has written, and on which node; empty before it."""

    name = 'proof'
    verifies = True

    def __init__(
        self, key: str, transfers: int, limit_s: float, written: Tuple[int, ...] = (), hosts: Tuple[str, ...] = ()
    ) -> None:
        self._key, self._transfers, self._limit_s = key, transfers, limit_s
        self._written, self._hosts = written, hosts

    def reads_back(self, written: Measurement, point: Point) -> 'Proof':
        """The same once its data are written."""
        counts = tuple(task.bytes_moved // point.data.transfer_size for task in written.tasks)
        hosts = tuple(task.host for task in written.tasks)
        return Proof(self._key, self._transfers, self._limit_s, counts, hosts)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        path = f'{raw}.spec.json'
        spec = ProofSpec(phase, point, self._key, self._transfers, self._limit_s, self._written)
        argvs = tuple(module_argv(program, TASK, (path, str(rank))) for rank in range(point.tasks))
        return Command('task', argvs, {path: json.dumps(to_json(spec)) + '\n'}, ())

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        return reads_of_next_node(point, phase)

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """What the tasks have written or compared. Raises EngineError: F2 where a file is not as it was written, E1
        where a task failed, T9 where not all have reported."""
        try:
            said = [from_json(ProofReport, json.loads(text)) for text in outcome.stdouts if text.strip()]
        except (ValueError, RecursionError) as error:
            raise EngineError('T8', f"a task's report is damaged: {error}") from error
        reports = sorted(said, key=lambda report: report.rank)
        for report in reports:
            if report.failed:
                raise EngineError('E1', f'task {report.rank} on {report.host}: {report.failed}')
        for rank, process in enumerate(outcome.processes):
            if process.exit_status:
                last = outcome.stderrs[rank].strip().split('\n')[-1]
                raise EngineError('E1', f'task {rank} on {process.host} {ending(process.exit_status)}: {last}')
        if [report.rank for report in reports] != list(range(point.tasks)):
            raise EngineError('T9', f'{len(reports)} tasks reported, not {point.tasks}')
        for report in reports:
            if report.differs is not None:
                sentence, evidence = damage(report.differs, self._hosts[writer_of(point, report.rank)], report.host)
                raise EngineError('F2', sentence, evidence)
        tasks = tuple(
            TaskTime(each.rank, each.host, each.transfers * point.data.transfer_size, 0.0, 0.0) for each in reports
        )
        return Measurement(
            metrics=(),
            world_size=len(reports),
            hosts=tuple(sorted({report.host for report in reports})),
            bytes_moved=sum(task.bytes_moved for task in tasks),
            tasks=tasks,
            fsync=phase_of(point, phase).writes,
            direct=all(report.direct for report in reports),
        )
