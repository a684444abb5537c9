"""fio's file engines: the files of a flat tree, made, looked at, read and removed by the jobs of one node.

Read in the source of fio 3.33 and seen with strace and timed system calls (3.28, 3.33, 3.42). Timed are, for each of
a job's own files in turn and nothing else, but for the close of the last one:

create   open(O_CREAT|O_RDWR) and close (filecreate); with bytes one pwrite of the whole file between (psync)
stat     stat (filestat)
read     open, one pread of the whole file, close (psync)
remove   unlink (filedelete)

Rule T17: a job whose files are shorter than its filesize lays them out anew, but not with create_on_open=1, which
every job here has: a file that is missing or short is an error. What remains are mkdirs, before the clock. Also
before it fio looks every name up, so that names and attributes are always in the client's cache.

A job's clock runs from its first operation to its last, rounded up to milliseconds. Up to 3.35, which do not tell
when a job started, all are taken to have started together: the phase comes out shorter, with a job a core by up to 6
ms, with 4 by 18 ms, with 16 by 38 ms. A latency is that of the stat or the unlink alone, within 0.3 us; of 'create'
and 'read' it is none of the operation. The data are random, and made in the timed region; fio takes 0.5 KB a file.
"""

import errno
import os
from typing import Any, Dict, Optional

from seatrial.engine import base
from seatrial.engine.base import MAX_BYTES_PER_CALL, Command, EngineError, Outcome, percentiles_of
from seatrial.engine.fio import process as fio
from seatrial.model.metric import Measurement, rate
from seatrial.model.point import Point
from seatrial.workload.base import CREATE, FIND, READ, REMOVE, STAT, Phase
from seatrial.workload.registry import does, phase_of
from seatrial.workload.tree import levels_total, operations

TOGETHER_S = 0.005  # error of a phase if the starts of its jobs are not reported, with a job a core
MAX_JOBS = 4096  # REAL_MAX_JOBS
POOLS, MIN_POOL_KIB = 8, 16384  # fio's memory for the files of psync, which takes less than 1 KiB for each


class FioFiles(fio.FioProcess):
    kinds = ('tree',)
    oldest = (3, 27)
    too_old = 'fio {} has no engine filedelete; 3.27 is the first that has'
    makes = (r'tree(\.\d+)?', r'file\.\d+\.\d+')
    coarse = True
    flat = True
    checks_close = False  # 3.33 exits with 0 and reports no error when every close(2) fails with ENOSPC

    def cannot(self, point: Point) -> Optional[str]:
        """fsync=1 leaves out each job's last file; fsync_on_close syncs all a second time at the end (both seen)."""
        tree, directories = point.tree, levels_total(point, point.tasks).directories
        return base.first_reason(
            (tree.depth, f'cannot make a tree of {directories} directories: its files lie flat'),
            (does(point, FIND), 'cannot find files'),
            (tree.empties_per_directory, 'cannot work on directories'),
            (tree.fsync, 'cannot sync every file once before it is closed'),
            (does(point, READ) and not tree.bytes_per_file, 'cannot open a file of which nothing is to be read'),
            (tree.bytes_per_file > MAX_BYTES_PER_CALL, f'cannot write {tree.bytes_per_file} bytes in one call'),
            (point.nodes > 1, f'cannot start tasks on {point.nodes} nodes at once'),
            (point.tasks > MAX_JOBS, f'cannot run {point.tasks} jobs at once'),
        )

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """One process with a job a task: raw + '.fio' and '.json'; files in 'tree', or in 'tree.RANK' of a task."""
        pool_kib = max(MIN_POOL_KIB, levels_total(point, point.tasks).files // POOLS)
        more = [f'--alloc-size={pool_kib}'] if _moved_in_each(phase, point) else []
        directories = sorted({_directory(point, rank) for rank in range(point.tasks)})
        inputs = {raw + '.fio': _job_file(phase, point, fio.randseed_of(seed, raw))}
        command = Command('node', (fio.fio_argv(program, raw, 'json+', *more),), inputs, (raw + '.json',))
        return command._replace(directories=tuple(directories)) if phase_of(point, phase).makes else command

    def warms(self, point: Point, phase: str) -> str:
        """Names and attributes; of a read the data can be cold all the same (seen with strace)."""
        return 'fio looks every name up before its clock starts'

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 it failed, or its report is not whole or not possible; T17 a file was not there; T9
        other jobs than planned; P15 other options; T1 other operations than those on its files, or figures that
        contradict each other; T12 a job has no runtime.

        The figure: fio's iops of every job, each over its own runtime. The seconds: first start, as far as it is
        reported, to last end. Percentiles: of all stats or removals together, to the 0.8 % of fio's bins.
        """
        ((_, text),) = command.inputs.items()
        jobs = fio.jobs_of(_report(phase_of(point, phase), outcome), text)
        done = [_done(job, rank, phase, point) for rank, job in enumerate(jobs)]
        task_seconds = tuple(fio.runtime_of(report, rank) for rank, report in enumerate(done))
        starts_s = fio.starts_of(jobs)
        seconds = max(start + task_s for start, task_s in zip(starts_s or [0.0] * len(jobs), task_seconds))
        fio.check_clock(seconds, outcome.processes[0])
        figures = [f'{fio.field(report, "iops", float):.6f}' for report in done]
        ((name, number),) = operations(point, phase).items()
        percentiles_s = percentiles_of(fio.latencies_of(done)) if not phase_of(point, phase).moves else {}
        metric = rate(name, number, seconds, ' '.join(['iops', *figures]), task_seconds, percentiles_s)
        clock_s = fio.CLOCK_S if starts_s is not None or len(jobs) == 1 else TOGETHER_S
        return Measurement((metric,), world_size=len(jobs), hosts=(outcome.processes[0].host,), clock_s=clock_s)


_FILE_ENGINES = {CREATE: 'filecreate', STAT: 'filestat', REMOVE: 'filedelete'}


def _moved_in_each(phase: str, point: Point) -> int:
    """Bytes of a job's only transfer in each file; 0 of fio's file engines, which want a size of 1 all the same."""
    return point.tree.bytes_per_file if phase_of(point, phase).moves else 0


def _directory(point: Point, rank: int) -> str:
    return 'tree' if point.tree.subtrees == 'shared' else f'tree.{rank}'


def _job_file(phase: str, point: Point, randseed: int) -> str:
    moved, act = _moved_in_each(phase, point), phase_of(point, phase)
    common = {
        'ioengine': 'psync' if moved else _FILE_ENGINES[phase],
        'rw': 'write' if act.makes else 'read',
        'bs': moved or 1,
        'filesize': moved or 1,
        'nrfiles': point.tree.files_per_directory,
        'openfiles': 1,
        'file_service_type': 'sequential',
        'create_on_open': 1,  # else files are laid out before, and short ones removed
        'disk_util': 0,  # else every name is looked up once more
        'invalidate': 0,  # a call a file, and no proof of a cold read
        'randseed': randseed,
    }
    common.update({} if act.makes else {'allow_file_create': 0})
    names = {rank: f'{_directory(point, rank)}/file.{rank}.$filenum' for rank in range(point.tasks)}
    return fio.job_file(common, {rank: {'filename_format': name} for rank, name in names.items()})


def _report(phase: Phase, outcome: Outcome) -> Any:
    """The report of a launch that ended well. fio prints no error of its file engines: only the report has it."""
    failed = fio.first_error(fio.decoded(outcome.outputs[0] or ''))
    if failed is None:
        return fio.report_of(outcome)
    sentence = 'fio exited with 0 after an error'
    try:
        fio.report_of(outcome)
    except EngineError as error:
        sentence = error.sentence
    rank, number = failed
    absent, message = number == errno.ENOENT and phase.needs, os.strerror(number)
    sentence += '' if message in sentence else f'; task {rank}: {message}'
    of_data = number == errno.EIO and READ in phase.does
    sentence += ', which fio also says of a file that is too short' if of_data else ''
    raise EngineError('T17' if absent else 'E1', sentence)


def _done(job: Any, rank: int, phase: str, point: Point) -> Dict[str, Any]:
    """The report of a task's operations, if they are those of all its files."""
    done: Dict[str, Any] = fio.field(job, 'write' if phase_of(point, phase).makes else 'read', dict)
    latency, files = fio.field(done, 'clat_ns', dict), point.tree.files_per_directory
    for number in (fio.field(done, 'total_ios', int), fio.field(latency, 'N', int)):
        if number != files:
            raise EngineError('T1', f'task {rank} did {number} operations on its {files} files')
    moved, planned = fio.field(done, 'io_bytes', int), files * (_moved_in_each(phase, point) or 1)
    if moved != planned:
        raise EngineError('T1', f'task {rank} has {moved} bytes in its report, not {planned}')
    runtime_s, iops = fio.runtime_of(done, rank), fio.field(done, 'iops', float)
    if abs(iops * runtime_s - files) > 1e-5 * files:
        raise EngineError('T1', f'task {rank}: {iops} a second for {files} in {runtime_s} s')
    in_calls_s = fio.field(latency, 'mean', float) * files / 1e9
    if in_calls_s > 1.01 * runtime_s + fio.CLOCK_S:
        raise EngineError('T1', f'task {rank}: its calls took {in_calls_s:.3f} s of {runtime_s} s in all')
    return done
