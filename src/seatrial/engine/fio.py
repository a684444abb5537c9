"""fio: the engine of a machine without MPI. On one node a process whose jobs are the clients; on many one each.

The job file's forms give the offsets of LANL's mpi_io_test and of IOR; fio 3.33 was watched doing so. The
options come from fio's HOWTO.

On many nodes every client is an ordinary fio process, with a job file and a report of its own, that the site's
launcher starts. fio's client/server mode is never used: its server listens on a port without authentication, and a
job file can name commands to execute (exec_prerun, exec_postrun), so that everybody who reaches the port can execute
them as the user of the job.

What is known then: when each process began and ended, on one clock, from process accounting; and how long its job
ran, from its report. Before a job starts, fio sets itself up and sleeps for LEAD_S; after it, fio looks every 10 ms
whether it has ended (run_threads in fio's backend.c; 3.33 was seen doing so with strace). Both take 0.2 to 0.3 s of a
process's life, on a busy node 0.5 s, and where in it the job lay is not told: 3.36 and later say when a job started,
but by their node's own wall clock. So a client's window is taken to begin with its process. A start-up that is alike
on all nodes does not change the figure; how unlike they can have been stands in Measurement.clock_s.
"""

import hashlib
import json
import os
import re
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple, Type, TypeVar

from seatrial.engine.base import AccessEngine, Command, EngineError, Outcome, ProcessTime
from seatrial.model.record import JobTime, Measurement
from seatrial.model.workload import AccessPattern, Point, file_name, writer_of

T = TypeVar('T')

MOST_BYTES_A_CALL = 0x7FFFF000  # pwrite(2): "at most 2,147,479,552 bytes"
CLOCK_S = 0.001  # fio reports whole milliseconds, rounded up
QUIET = '100ms'  # fio's helper thread has gone to sleep by then, and has not woken up yet
LEAD_S = 0.1  # fio sleeps so long before it lets its jobs go (run_threads of backend.c)


class Region(NamedTuple):
    """What one job touches, in bytes: it moves io_size from offset on, leaving out skip after every transfer.

    size: how far from the offset the job goes before it begins again at its start. Where that is too short fio
    reports no error (seen with 3.33): the client's own bytes as the size of a strided job fill half of the file,
    some of it twice, with the right bytes counted if io_size is given and with too few if not (rule T18).
    """

    offset: int
    size: int
    io_size: int
    skip: int


def region(pattern: AccessPattern, point: Point, rank: int) -> Region:
    """The region that a client writes: LANL's and IOR's offset rule in fio's words."""
    own = point.bytes_per_client
    if pattern.files == 'multiple' or pattern.extent == 'whole':
        return Region(0, own, own, 0)
    if pattern.order == 'strided':
        offset = rank * point.transfer_size
        return Region(offset, point.bytes_moved - offset, own, (point.tasks - 1) * point.transfer_size)
    return Region(rank * own, own, own, 0)


class Fio(AccessEngine):
    """fio as an engine of data access."""

    name = 'fio'
    programs = ('fio',)

    def cannot(self, pattern: AccessPattern, point: Point) -> Optional[str]:
        """Why fio cannot carry the point out exactly, as half a sentence, or None if it can.

        Random order can be exact: fio's random map gives every block of a job's region once.
        """
        if pattern.collective or pattern.interface == 'mpiio':
            return 'cannot do MPI-IO'
        if point.transfer_size > MOST_BYTES_A_CALL:
            return f'cannot move {point.transfer_size} bytes in one call'
        return None

    def reads_elsewhere(self, pattern: AccessPattern, point: Point) -> bool:
        """By writer_of, where the clients fill node after node."""
        return point.nodes > 1

    def version_argv(self, program: str) -> List[str]:
        """The command that makes fio say its version."""
        return [program, '--version']

    def parse_version(self, text: str) -> str:
        """'3.33' from 'fio-3.33'; raises EngineError if the text is not fio's."""
        return version_in(text)

    def command(
        self, program: str, pattern: AccessPattern, operation: str, point: Point, raw: str, seed: int
    ) -> Command:
        """On one node a process with a job a client: its job file is raw + '.fio', its report raw + '.json'.

        On many a process a client, with raw + '.RANK.fio' and raw + '.RANK.json', and a client reads what one of the
        next node has written (writer_of), as with IOR's -C: its own node has that in memory.

        What is written is a function of `seed` and of the last part of `raw`: other data for every launch and
        every client, and the same again for the same plan (rule P4).
        """
        if point.nodes == 1:
            text = _job_file(pattern, operation, point, range(point.tasks), randseed_of(seed, raw))
            return Command('node', (_argv(program, raw),), {raw + '.fio': text}, (raw + '.json',))
        raws = [f'{raw}.{rank}' for rank in range(point.tasks)]
        return Command(
            scope='task',
            argvs=tuple(_argv(program, own) for own in raws),
            # Each client is the first job of its process, so that only the seed can make its data its own.
            inputs={
                own + '.fio': _job_file(pattern, operation, point, [rank], randseed_of(seed, own))
                for rank, own in enumerate(raws)
            },
            outputs=tuple(own + '.json' for own in raws),
        )

    def witnessed(self, command: Command) -> Command:
        """fio begins a helper thread and then forks its jobs; here they wait until that thread sleeps.

        Its first read(2) is Darshan's too, whose lock it holds meanwhile; a job that is forked then waits for it for
        ever (darshan_core_fork_child_cb of 3.4.6: 6 of 27 launches on two busy cores, 0 of 111 with this delay). The
        thread sleeps for 250 ms at a time (wait_for_action of fio's helper_thread.c).
        """
        inputs = {
            path: text.replace('[global]\n', f'[global]\nstartdelay={QUIET}\n', 1)
            for path, text in command.inputs.items()
        }
        return command._replace(inputs=inputs)

    def measure(
        self, pattern: AccessPattern, operation: str, point: Point, command: Command, outcome: Outcome
    ) -> Measurement:
        """What fio said of its jobs. Raises EngineError: E1 fio failed or its report is not whole or not
        possible, T9 wrong number of jobs, T18 wrong bytes of a job, T12 a job without a runtime.

        tool_figure: fio's bw_bytes (B/s) of every job in the order of ranks. The JSON has no figure of the
        group, and these must not be added up: each is over its own job's runtime, so that the sum is too
        good where jobs end at different times. fio's own summary for people divides the sum of the bytes by
        the longest runtime, as Measurement.bandwidth does.
        fsync: fio counts no final fsync in its report; that it was in effect is read from the options that
        fio echoes, and a failing one is the job's error. fio takes the runtime after it.

        On many nodes a client's window begins with its process, and has the length of fio's runtime. clock_s is then
        how much later than that a job can have begun, beyond LEAD_S, which all have: the longest part of a process's
        life that its fio did not time. By that much `seconds` can be wrong to either side, and no two jobs began
        further apart than the first and the last window and clock_s together.
        """
        if point.nodes == 1:
            reports = [report_of(outcome)]
            jobs = jobs_of(reports[0], point.tasks)
            process = outcome.processes[0]
            times = _job_times(jobs, operation, point, process.host)
            check_clock(max(t.end_s for t in times), process)
            clock_s = CLOCK_S
        else:
            reports = _reports_of_each(outcome, point)
            jobs = [_jobs_named(report, [f'rank{rank}'])[0] for rank, report in enumerate(reports)]
            times = _windows(jobs, operation, point, outcome.processes)
            clock_s = CLOCK_S + _unknown_s(times, outcome.processes)
        figures = [field(field(job, operation, dict), 'bw_bytes', int) for job in jobs]
        return Measurement(
            tool_figure='bw_bytes ' + ' '.join(map(str, figures)),
            bytes_moved=sum(t.bytes_moved for t in times),
            seconds=max(t.end_s for t in times),
            world_size=len(times),
            hosts=tuple(sorted({t.host for t in times})),
            jobs=times,
            fsync=operation == 'write' and _every_job_had(reports, jobs, 'end_fsync'),
            direct=_every_job_had(reports, jobs, 'direct'),
            clock_s=clock_s,
        )


def version_in(text: str) -> str:
    """'3.33' from 'fio-3.33'; raises EngineError if the text is not fio's."""
    match = re.match(r'fio-(\d\S*)\s*\Z', text)
    if match is None:
        raise EngineError('E1', f"'{text.strip()}' is not the version of fio")
    return match.group(1)


def randseed_of(seed: int, raw: str) -> int:
    """Other data for every launch and every client, and the same again for the same plan (rule P4).

    fio multiplies its randseed by the number of the job. So 0 gives every file the same data, 3 gives the first job
    what 1 gave to the third, and an even number loses bits.
    """
    launch = os.path.basename(raw)
    return int(hashlib.sha256(f'{seed} {launch}'.encode()).hexdigest()[:15], 16) | 1


def report_of(outcome: Outcome) -> Any:
    """fio's JSON. What fio says beside it stands on stderr and before the JSON; its errors begin with 'fio: '.

    A client that is killed leaves exit status 0 and error 0 (seen with 3.33), so an error line is a failure.
    Raises EngineError: T9 not one process; E1 fio failed, or its JSON is not whole.
    """
    if len(outcome.processes) != 1:
        raise EngineError('T9', f'fio is one process, and the launch has {len(outcome.processes)}')
    text = outcome.outputs[0] or ''
    start = text.find('{\n')
    said = outcome.stderrs[0].splitlines() + (text[:start] if start >= 0 else text).splitlines()
    if outcome.exit_status:
        status = outcome.exit_status
        how = f'exited with {status}' if status > 0 else f'died of signal {-status}'
        raise EngineError('E1', f'fio {how}{_quoted(said)}')
    errors = [line for line in said if line.startswith('fio: ')]
    if errors:
        raise EngineError('E1', f'fio exited with 0 after an error{_quoted(errors)}')
    if start < 0:
        raise EngineError('E1', f'fio left no JSON{_quoted(said)}')
    try:
        report, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError as error:
        raise EngineError('E1', f"fio's JSON is cut short or damaged: {error}") from error
    if text[end:].strip():
        raise EngineError('E1', f"fio wrote '{text[end:].strip().splitlines()[0]}' after its JSON")
    return report


def jobs_of(report: Any, tasks: int) -> List[Any]:
    """What the report says of each client, in the order of their ranks. Raises EngineError T9 for other jobs."""
    return _jobs_named(report, [f'rank{rank}' for rank in range(tasks)])


def starts_of(jobs: List[Any]) -> Optional[List[float]]:
    """When each job started, in seconds since the first one; None where fio does not tell: it does from 3.36 on."""
    starts_ms = [job.get('job_start') for job in jobs]
    if any(type(start) is not int for start in starts_ms):
        return None
    return [(start - min(starts_ms)) / 1000.0 for start in starts_ms]


def check_clock(seconds: float, process: ProcessTime) -> None:
    """Raises EngineError E1 if fio claims more seconds than its process lived."""
    lived_s = process.end_s - process.start_s
    if seconds > lived_s * 1.01 + 2 * CLOCK_S:
        raise EngineError('E1', f'fio claims {seconds:.3f} s in a process of {lived_s:.3f} s; its clock is wrong')


def field(data: Any, key: str, kind: Type[T]) -> T:
    """What the report has under the key; raises EngineError E1 if it is not of this kind."""
    value = data.get(key) if isinstance(data, dict) else None
    if type(value) is not kind:
        raise EngineError('E1', f"fio's JSON has no '{key}' where {kind.__name__} is expected")
    return value


def _argv(program: str, raw: str) -> Tuple[str, ...]:
    return (program, '--eta=never', '--output-format=json', f'--output={raw}.json', raw + '.fio')


def _job_file(pattern: AccessPattern, operation: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
    lines = [
        '[global]',
        'ioengine=psync',
        'thread=0',
        'fallocate=none',  # else blocks are allocated before the clock starts
        'clocksource=clock_gettime',  # the cycle counter can run at another pace than time
        'fadvise_hint=0',  # IOR, dd and most applications give the kernel no hints either
        f'bs={point.transfer_size}',
        'refill_buffers=1',
        f'randseed={randseed}',
        'group_reporting=0',
        'unlink=0',
        'exitall_on_error=1',
    ]
    lines += ['create_on_open=1', 'end_fsync=1'] if operation == 'write' else ['allow_file_create=0', 'invalidate=1']
    if point.nodes > 1:
        lines.append('disk_util=0')  # else fio goes through the node's block devices before it starts
    for rank in ranks:
        share = writer_of(point, rank) if operation == 'read' else rank
        offset, size, io_size, skip = region(pattern, point, share)
        mode = 'rand' + operation if pattern.order == 'random' else operation
        lines += [
            f'[rank{rank}]',
            f'filename={file_name(pattern, share)}',
            f'offset={offset}',
            f'size={size}',
            f'io_size={io_size}',
            f'rw={mode}:{skip}' if skip else f'rw={mode}',
        ]
    return '\n'.join(lines) + '\n'


def _jobs_named(report: Any, planned: List[str]) -> List[Any]:
    jobs = field(report, 'jobs', list)
    if len(jobs) != len(planned):
        raise EngineError('T9', f'fio ran {len(jobs)} jobs instead of {len(planned)}')
    names = [field(job, 'jobname', str) for job in jobs]
    if names != planned:
        whole = ' to '.join(sorted({planned[0], planned[-1]}))
        raise EngineError('T9', f'fio ran the jobs {", ".join(names)} instead of {whole}')
    return jobs


def _job_times(jobs: List[Any], operation: str, point: Point, host: str) -> Tuple[JobTime, ...]:
    """Where fio does not say when each job started, all are taken to have started together."""
    starts_s = starts_of(jobs) or [0.0] * len(jobs)
    times = []
    for rank, (job, start_s) in enumerate(zip(jobs, starts_s)):
        runtime_s = _runtime_s(job, rank, operation, point)
        times.append(JobTime(rank, host, point.bytes_per_client, start_s, start_s + runtime_s))
    return tuple(times)


def _runtime_s(job: Any, rank: int, operation: str, point: Point) -> float:
    """How long a client ran that has moved its bytes."""
    error, done = field(job, 'error', int), field(job, operation, dict)
    moved, runtime_ms = field(done, 'io_bytes', int), field(done, 'runtime', int)
    if error:
        raise EngineError('E1', f'fio reports error {error} of client {rank}')
    if moved != point.bytes_per_client:
        raise EngineError('T18', f'client {rank} moved {moved} bytes instead of {point.bytes_per_client}')
    if runtime_ms <= 0:
        raise EngineError('T12', f'client {rank} is too short to measure: fio gives it no runtime')
    return runtime_ms / 1000.0


def _reports_of_each(outcome: Outcome, point: Point) -> List[Any]:
    """Those of all processes, in the order of ranks; of several that failed, the error that explains most is raised.

    A launcher ends the others when one fails: they say so, or nothing.
    """
    count = len(outcome.processes)
    if count != point.tasks:
        raise EngineError('T9', f'{count} processes of fio ran instead of {point.tasks}')
    reports: List[Any] = []
    failed: List[EngineError] = []
    each = zip(outcome.processes, outcome.stdouts, outcome.stderrs, outcome.outputs)
    for rank, (process, stdout, stderr, output) in enumerate(each):
        try:
            reports.append(report_of(Outcome((process,), (stdout,), (stderr,), (output,))))
        except EngineError as error:
            failed.append(EngineError(error.rule, f'client {rank} on {process.host}: {error.sentence}'))
    if failed:
        raise min(failed, key=lambda error: (_TERMINATED in error.sentence, "'" not in error.sentence))
    return reports


_TERMINATED = 'fio: terminating on signal'


def _windows(
    jobs: List[Any], operation: str, point: Point, processes: Tuple[ProcessTime, ...]
) -> Tuple[JobTime, ...]:
    first_s = min(process.start_s for process in processes)
    times = []
    for rank, (job, process) in enumerate(zip(jobs, processes)):
        runtime_s, start_s = _runtime_s(job, rank, operation, point), process.start_s - first_s
        try:
            check_clock(runtime_s, process)
        except EngineError as error:
            raise EngineError(error.rule, f'client {rank} on {process.host}: {error.sentence}') from error
        times.append(JobTime(rank, process.host, point.bytes_per_client, start_s, start_s + runtime_s))
    return tuple(times)


def _unknown_s(times: Tuple[JobTime, ...], processes: Tuple[ProcessTime, ...]) -> float:
    """The longest time that a process lived beside its job's runtime, without LEAD_S where all have slept so long."""
    untimed_s = [process.end_s - process.start_s - time.seconds for time, process in zip(times, processes)]
    return max(max(untimed_s) - (LEAD_S if min(untimed_s) >= LEAD_S else 0.0), 0.0)


def _every_job_had(reports: List[Any], jobs: List[Any], option: str) -> bool:
    """Whether it was in effect: in the job's own options or else in the global ones of its report.

    There is one report of all jobs, or one of each.
    """
    everywhere = [field(report, 'global options', dict).get(option) for report in reports]
    if len(everywhere) == 1:
        everywhere *= len(jobs)
    return all(field(job, 'job options', dict).get(option, own) == '1' for job, own in zip(jobs, everywhere))


def _quoted(said: List[str]) -> str:
    lines = [line for i, line in enumerate(said) if line.strip() and line not in said[:i]]
    return f": '{' / '.join(lines[:3])}'" if lines else ''
