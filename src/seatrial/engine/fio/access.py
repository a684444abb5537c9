"""fio: the engine of a machine without MPI. One node runs a process with a job a task, many nodes a process a task.

Offsets are those of LANL's mpi_io_test and of IOR, as seen with fio 3.33. The client/server mode of fio is never
used: its server listens without authentication, and a job file can name commands to execute.

On many nodes process accounting gives the start and end of each process on one clock, and its report the runtime of
its job. Before the job fio sets itself up and sleeps for LEAD_S; it checks for the job's end every 10 ms
(run_threads in backend.c; strace, 3.33). Both take 0.2 to 0.5 s of a process's life. The start of the job is not
known (3.36 and later give it on the node's wall clock), so a task's window is taken to begin with its process. A
delay that all nodes share changes no figure; Measurement.clock_s is the most by which their delays can differ.
"""

import os
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from seatrial.engine import base
from seatrial.engine.base import EngineError
from seatrial.engine.failed_call import failed_calls
from seatrial.engine.fio import process as fio
from seatrial.model.metric import Measurement, Metric, TaskTime, bandwidth
from seatrial.model.point import Point
from seatrial.workload.access import file_name, shared_whole, writer_of
from seatrial.workload.base import READ, WRITE
from seatrial.workload.devices import DEVICE, part_of
from seatrial.workload.registry import exact_bytes, phase_of

QUIET = '100ms'  # start delay of fio's jobs; at its end fio's helper thread sleeps
READ_ONLY = '--readonly'
LEAD_S = 0.1  # seconds that fio sleeps before it starts its jobs (run_threads of backend.c)


class Moved(NamedTuple):
    bytes: int
    seconds: float


def region(point: Point, rank: int) -> Tuple[int, int, int]:
    """Offset, size and skip of a task's data, by LANL's and IOR's rule. A job skips `skip` bytes after every transfer
    and starts again at its offset after `size` bytes; if `size` is too small, bytes move twice unnoticed (T18)."""
    data, share = point.data, point.data.bytes_per_task
    if data.files == 'multiple' or data.extent == 'whole':
        return 0, share, 0
    if data.order == 'strided':
        offset = rank * data.transfer_size
        return offset, point.tasks * share - offset, (point.tasks - 1) * data.transfer_size
    return rank * share, share, 0


class Fio(fio.FioProcess):
    kinds: Tuple[str, ...] = ('access', 'checkpoint')
    form = 'json'
    rereads = True  # a job that reaches its size before its io_size starts again at its offset
    reads_next_node = True

    def cannot(self, point: Point) -> Optional[str]:
        """Random order is exact: by its random map fio accesses every block of a job's region once."""
        return base.beyond_calls(point) or base.immovable(point)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        return super().reads_elsewhere(point, phase) and not shared_whole(point)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> base.Command:
        """One node runs one process with a job a task: job file raw + '.fio', report raw + '.json'. Many nodes run a
        process a task: raw + '.RANK.fio' and '.RANK.json'; each reads data of a task of the next node (writer_of).
        The data depend on `seed` and on the last part of `raw` alone (rule P4)."""
        if point.nodes == 1:
            text = self._job_file(phase, point, range(point.tasks), fio.randseed_of(seed, raw))
            argv = fio.fio_argv(program, raw, self.form)
            return base.Command('node', (argv,), {raw + '.fio': text}, (raw + '.json',))
        inputs = {}
        prefixes = [f'{raw}.{rank}' for rank in range(point.tasks)]
        for rank, prefix in enumerate(prefixes):
            # Each task is the first job of its process, so only the seed can make its data differ from the others'.
            inputs[prefix + '.fio'] = self._job_file(phase, point, [rank], fio.randseed_of(seed, prefix))
        argvs = tuple(fio.fio_argv(program, prefix, self.form) for prefix in prefixes)
        return base.Command('task', argvs, inputs, tuple(prefix + '.json' for prefix in prefixes))

    def under_darshan(self, command: base.Command) -> base.Command:
        """fio starts a helper thread and then forks its jobs; the delay lets them wait until that thread sleeps (for
        250 ms at a time). The thread's first read(2) holds Darshan's lock, and a job forked meanwhile waits for the
        lock for ever (3.4.6: 6 of 27 launches on two busy cores, 0 of 111 with this delay)."""
        delayed = f'[global]\nstartdelay={QUIET}\n'
        inputs = {path: text.replace('[global]\n', delayed, 1) for path, text in command.inputs.items()}
        return command._replace(inputs=inputs)

    def measure(self, phase: str, point: Point, command: base.Command, outcome: base.Outcome) -> Measurement:
        """Raises EngineError: E1 fio failed, or its report is cut short or impossible, T9 wrong number of jobs, P15
        options differ from the plan, T18 a job moved a wrong number of bytes, T12 a job without a runtime.

        The figure: fio's bw_bytes (B/s) of every job. They must not be added up, because each job has another
        runtime; the bandwidth here is all bytes by the longest runtime, as in fio's readable summary. fsync, direct:
        from the options that fio echoes. The runtime includes the final fsync; if it fails, the job has an error.

        On many nodes clock_s is the longest time, beyond LEAD_S, from the start of a process to that of its job: the
        longest part of a process's life that its fio did not time. The seconds can be too long or too short by it.
        """
        texts = list(command.inputs.values())
        if point.nodes == 1:
            jobs = fio.jobs_of(fio.report_of(outcome), texts[0])
            process = outcome.processes[0]
            moved = self._moved_by(jobs, phase, point)
            # If fio does not report the start of each job, all jobs are taken to have started together.
            times = tuple(
                TaskTime(rank, process.host, amount.bytes, start_s, start_s + amount.seconds)
                for rank, (amount, start_s) in enumerate(zip(moved, fio.starts_of(jobs) or [0.0] * len(moved)))
            )
            fio.check_clock(max(t.end_s for t in times), process)
            clock_s = fio.CLOCK_S
        else:
            if len(outcome.processes) != point.tasks:
                raise EngineError('T9', f'{len(outcome.processes)} processes of fio ran instead of {point.tasks}')
            reports = base.of_all(
                outcome.processes,
                lambda rank: fio.report_of(outcome.of(rank)),
                # A failed call is the cause. srun then ends the other tasks, and reports that in their output.
                lambda sentence: (
                    not any(failed_calls(sentence)),
                    'fio: terminating on signal' in sentence,
                    "'" not in sentence,
                ),
            )
            jobs = [fio.jobs_of(report, text)[0] for report, text in zip(reports, texts)]
            times = _windows(self._moved_by(jobs, phase, point), outcome.processes)
            untimed_s = [process.lived_s - time.seconds for time, process in zip(times, outcome.processes)]
            clock_s = fio.CLOCK_S + max(max(untimed_s) - (LEAD_S if min(untimed_s) >= LEAD_S else 0.0), 0.0)
        metrics = self._metrics(jobs, phase, point, max(t.end_s for t in times))
        writes, direct = phase_of(point, phase).writes, point.data.direct
        return base.of_tasks(metrics, times, clock_s=clock_s, fsync=writes, direct=direct)

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        does = phase_of(point, phase)
        common = common_options(point, randseed)
        common.update({'create_on_open': 1, 'end_fsync': 1} if does.writes else {'allow_file_create': 0})
        common.update({'invalidate': 1} if does.reads else {})
        jobs = {}
        for rank in ranks:
            share = writer_of(point, rank) if does.reads else rank
            offset, size, skip = region(point, share)
            mode = 'rand' + phase if point.data.order == 'random' else phase
            jobs[rank] = {
                'filename': file_name(point, share),
                'offset': offset,
                'size': size,
                'io_size': point.data.bytes_per_task * point.data.passes,
                'rw': f'{mode}:{skip}' if skip else mode,
            }
        return fio.job_file(common, jobs)

    def _directions(self, phase: str, point: Point) -> List[str]:
        """The directions in which a job moves all of its bytes; the first is that of the figure. Devices are read."""
        return [act for act in phase_of(point, phase).does if act in (READ, WRITE)] or [READ]

    def _moved_by(self, jobs: List[Any], phase: str, point: Point) -> List[Moved]:
        """The data that each job moved, by rank; a transfer in two directions counts once."""
        exact, size = exact_bytes(point), point.data.transfer_size
        by_rank = []
        for rank, job in enumerate(jobs):
            done = [fio.field(job, direction, dict) for direction in self._directions(phase, point)]
            moved = [moved_of(report, job, rank, exact) for report in done]
            for report in done:
                transfers = fio.field(report, 'total_ios', int)
                if exact is not None and transfers * size != exact:
                    how = f'in {transfers} transfers of {size}'
                    raise EngineError('T1', f'fio reports that task {rank} moved {exact} bytes {how}')
            by_rank.append(max(moved, key=lambda amount: amount.seconds))
        return by_rank

    def _metrics(self, jobs: List[Any], phase: str, point: Point, seconds: float) -> Tuple[Metric, ...]:
        done = [fio.field(job, self._directions(phase, point)[0], dict) for job in jobs]
        moved = sum(fio.field(report, 'io_bytes', int) for report in done)
        return (bandwidth(phase, moved, seconds, figure_of(done)),)


class FioDevices(Fio):
    """Raw devices, which fio opens only for reading (strace, fio 3.33), and files as in data access. The devices'
    caches are not invalidated, because the ioctl(2) BLKFLSBUF would write dirty pages first."""

    kinds = ('device',)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> base.Command:
        """As in Fio. With READ_ONLY fio ends if any job could write."""
        command = super().command(program, phase, point, raw, seed)
        if DEVICE not in phase_of(point, phase).does:
            return command
        return command._replace(argvs=tuple((argv[0], READ_ONLY, *argv[1:]) for argv in command.argvs))

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        if DEVICE not in phase_of(point, phase).does:
            return super()._job_file(phase, point, ranks, randseed)
        common: Dict[str, Any] = {'ioengine': 'psync', 'bs': point.data.transfer_size, 'randseed': randseed}
        common.update({'direct': 1, 'allow_file_create': 0, 'invalidate': 0, 'rw': 'read'})
        jobs = {}
        for rank in ranks:
            device, offset = part_of(point, rank)
            share = point.data.bytes_per_task
            jobs[rank] = {'filename': device, 'offset': offset, 'size': share, 'io_size': share}
        return fio.job_file(common, jobs)


def common_options(point: Point, randseed: int) -> Dict[str, Any]:
    options: Dict[str, Any] = {'ioengine': 'psync', 'bs': point.data.transfer_size, 'randseed': randseed}
    options.update({'direct': 1} if point.data.direct else {})
    if point.nodes > 1:
        options['disk_util'] = 0  # else fio examines the node's block devices before it starts
    return options


def moved_of(done: Any, job: Any, rank: int, exact: Optional[int]) -> Moved:
    """Bytes and runtime of a job in one direction. Raises EngineError: E1 failed, T12 no runtime, T18 not `exact`."""
    error, moved = fio.field(job, 'error', int) or fio.error_of(job), fio.field(done, 'io_bytes', int)
    if error:
        raise EngineError('E1', f'fio reports an error of task {rank}: {os.strerror(error)}')
    if exact is not None and moved != exact:
        # fio 3.33 exits with 0 after a write that a quota has cut short.
        cut = '; a transfer was cut short by the storage: is it full, or a quota?' if done.get('short_ios') else ''
        raise EngineError('T18', f'task {rank} moved {moved} bytes instead of {exact}{cut}')
    seconds = fio.runtime_of(done, rank)
    _check_figures(done, rank, seconds)
    return Moved(moved, seconds)


def _check_figures(done: Any, rank: int, seconds: float) -> None:
    """Raises EngineError T1 for contradictory figures. fio divides integers (show_ddir_status in stat.c)."""
    moved, transfers = fio.field(done, 'io_bytes', int), fio.field(done, 'total_ios', int)
    for key, kind, meant, slack in (
        ('bw_bytes', int, moved / seconds, 1.0),
        ('bw', int, moved / seconds / 1024, 1.0),
        ('iops', float, transfers / seconds, 1e-6 * (1.0 + transfers / seconds)),  # printed with six decimals
    ):
        figure = fio.field(done, key, kind)
        if abs(figure - meant) > slack:
            amounts = f'{moved} bytes in {transfers} transfers in {seconds} s'
            raise EngineError('T1', f'task {rank} has {key} {figure}, but {amounts} give {meant:.6g}')


def figure_of(done: List[Any]) -> str:
    """fio's own figures of each job in one direction, in B/s."""
    return ' '.join(['bw_bytes', *(str(fio.field(report, 'bw_bytes', int)) for report in done)])


def _windows(moved: List[Moved], processes: Tuple[base.ProcessTime, ...]) -> Tuple[TaskTime, ...]:
    first_s = min(process.start_s for process in processes)

    def window(rank: int) -> TaskTime:
        process, seconds = processes[rank], moved[rank].seconds
        fio.check_clock(seconds, process)
        start_s = process.start_s - first_s
        return TaskTime(rank, process.host, moved[rank].bytes, start_s, start_s + seconds)

    return tuple(base.of_all(processes, window, lambda sentence: 0))
