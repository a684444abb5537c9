"""fio as an engine of random I/O: jobs that read and write at random until their time is over, at a queue depth.

One transfer in flight is pread(2) or pwrite(2), or a copy from or to a mapping that msync(2) ends (strace, 3.33).
More are libaio, which needs O_DIRECT, or each transfer is waited for (io_submit(2)). A latency is fio's lat, from
before submission to completion, in the bins of its report: clat leaves out the time in io_submit(2).
"""

from typing import Any, Dict, Iterable, List, Optional, Tuple

from seatrial.engine.base import EngineError, immovable, percentiles_of
from seatrial.engine.fio.access import Fio, Moved, common_options, figure_of, moved_of
from seatrial.engine.fio.process import CLOCK_S, field, job_file, latencies_of
from seatrial.model.metric import LOWER, Metric, bandwidth, rate
from seatrial.model.point import Point
from seatrial.workload.random import DIRECTIONS, PERCENTILES, files_of, names_of
from seatrial.workload.registry import phase_of

LATENCY = 'lat_ns'
ENDED_EARLY = 0.99  # share of its time that a job must run; it stops with the transfer in flight


class FioRandom(Fio):
    """Reads and writes files that the engine of data access has written before."""

    kinds = ('random',)
    form = 'json+'
    reads_next_node = False  # every task works on files of its own, which were written long before

    def cannot(self, point: Point) -> Optional[str]:
        if point.data.queue_depth > 1 and not point.data.direct:
            return f'cannot keep {point.data.queue_depth} transfers in flight without O_DIRECT'
        if point.data.read_share not in {percent / 100 for percent in range(100)}:
            return f'cannot mix {100 * point.data.read_share:g} % reads: only whole percents'
        if point.time.duration_s < CLOCK_S:
            return f'cannot end after {point.time.duration_s:g} s: it counts milliseconds'
        return immovable(point)

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        data = point.data
        if phase_of(point, phase).makes:
            return super()._job_file(phase, point, ranks, randseed)
        common: Dict[str, Any] = {
            **common_options(point, randseed),
            'ioengine': data.interface or ('libaio' if data.queue_depth > 1 else 'psync'),
            'iodepth': data.queue_depth,
            'rw': phase,
            'size': data.working_set if data.files == 'single' else len(files_of(point, 0)) * data.bytes_per_task,
            'time_based': 1,
            'runtime': f'{round(point.time.duration_s * 1000)}ms',
            'norandommap': 1,  # every transfer anywhere: a map of what was touched would end the job
            'random_generator': 'tausworthe64',
            'allow_file_create': 0,
            'invalidate': 1,
            'lat_percentiles': 1,
            'clat_percentiles': 0,
        }
        common.update({'end_fsync': 1} if 'write' in DIRECTIONS[phase] else {})
        common.update({'rwmixread': round(100 * data.read_share)} if data.read_share else {})
        common.update({'thinktime': f'{round(1e6 * point.time.think_s)}us'} if point.time.think_s else {})
        common.update({'file_service_type': 'random'} if data.files == 'several' else {})
        return job_file(common, {rank: {'filename': ':'.join(files_of(point, rank))} for rank in ranks})

    def _moved_by(self, jobs: List[Any], phase: str, point: Point) -> List[Moved]:
        """The sum over directions. Raises EngineError T1, too, for a job that ended early; T18 for other bytes."""
        if phase_of(point, phase).makes:
            return super()._moved_by(jobs, phase, point)
        by_rank = []
        for rank, job in enumerate(jobs):
            amounts = []
            for direction in DIRECTIONS[phase]:
                done = field(job, direction, dict)
                transfers = field(done, 'total_ios', int)
                amounts.append(moved_of(done, job, rank, transfers * point.data.transfer_size))
            seconds = max(amount.seconds for amount in amounts)
            if seconds < ENDED_EARLY * point.time.duration_s - CLOCK_S:
                raise EngineError('T1', f'task {rank} ended after {seconds} s of {point.time.duration_s} s')
            by_rank.append(Moved(sum(amount.bytes for amount in amounts), seconds))
        return by_rank

    def _metrics(self, jobs: List[Any], phase: str, point: Point, seconds: float) -> Tuple[Metric, ...]:
        if phase_of(point, phase).makes:
            return super()._metrics(jobs, phase, point, seconds)
        return tuple(
            metric
            for direction, name in names_of(phase).items()
            for metric in _of_direction(name, [field(job, direction, dict) for job in jobs], seconds)
        )


def _of_direction(name: str, done: List[Any], seconds: float) -> List[Metric]:
    moved, operations = (sum(field(report, key, int) for report in done) for key in ('io_bytes', 'total_ios'))
    counts = latencies_of(done, LATENCY)
    if sum(counts.values()) != operations:
        raise EngineError('T1', f'{name}: {sum(counts.values())} latencies of {operations} transfers')
    total_ns = sum(field(field(report, LATENCY, dict), 'mean', float) * report['total_ios'] for report in done)
    percentiles_s = percentiles_of(counts, PERCENTILES)
    latencies = {'latency': total_ns / 1e9 / operations, **percentiles_s}
    figure = ' '.join(['iops', *(f'{field(report, "iops", float):.6f}' for report in done)])
    return [
        bandwidth(name, moved, seconds, figure_of(done)),
        rate(f'{name}_iops', operations, seconds, figure, (), percentiles_s),
        *(Metric(f'{name}_{which}', value, 's', LOWER, seconds, operations) for which, value in latencies.items()),
    ]
