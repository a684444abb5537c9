"""fio as an engine of random I/O: its job files, genuine outputs of fio 3.33, and what the kernel sees of it."""

import json
import re
from math import sqrt
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fio_runs import changed, inputs_of_two, jobs_in, outcome, outcome_on_two, report_of, text
from measuring import assert_refused, launched, refused_by
from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.fio.process import CLOCK_S
from seatrial.engine.fio.random import LATENCY, FioRandom
from seatrial.model.metric import LOWER, percentile_name
from seatrial.model.units import KIB, MIB
from seatrial.workload.random import DIRECTIONS, PERCENTILES, PHASES, names_of, random_access
from seatrial.workload.registry import kind_of

RANDOM = kind_of('random')


def point(phase='randread', tasks=2, share=8 * MIB, nodes=1, duration_s=0.5, **how):
    template = random_access((phase,), share * tasks, duration_s=duration_s, tasks=tasks, **how)
    return RANDOM.resized(template._replace(label='here', nodes=nodes, tasks_per_node=tasks // nodes), share)


MIXED = point('randrw', files='single', read_share=0.7, queue_depth=4)
GOOD = {
    'random-read': point(),
    'random-deep-read': point(tasks=1, queue_depth=8),
    'random-write': point('randwrite', transfer_size=64 * KIB),
    'random-mixed': MIXED,
    'random-cached-write': point('randwrite', share=48 * MIB, direct=False, transfer_size=100_000),
}
LONG, LONG_MIXED = point(duration_s=30.0), point('randrw', duration_s=30.0, read_share=0.7)
MIXED_ON_TWO = point('randrw', nodes=2, read_share=0.7, queue_depth=4, transfer_size=64 * KIB)


def measure(name, report=None, at=None, seen=None):
    at = at or GOOD[name]
    command = FioRandom().command('fio', at.phases[0], at, '/raw/1', 7)
    command = command._replace(inputs={'/raw/1.fio': text(name, 'fio')})
    return FioRandom().measure(at.phases[0], at, command, seen or outcome(name, report))


refusal = refused_by(measure)


def done_by(name):
    """The report of fio on each direction of the phase: by direction, one entry a job."""
    jobs = report_of(name)['jobs']
    return {direction: [job[direction] for job in jobs] for direction in DIRECTIONS[GOOD[name].phases[0]]}


def jobs_of(at, phase=None, seed=7, raw='/raw/1'):
    return jobs_in(FioRandom().command('fio', phase or at.phases[0], at, raw, seed))


@st.composite
def points(draw):
    """A point that contradicts nothing and that fio can carry out."""
    phase, nodes = draw(st.sampled_from(PHASES)), draw(st.integers(1, 3))
    direct = draw(st.booleans())
    at = point(
        phase,
        tasks=nodes * draw(st.integers(1, 4)),
        share=MIB * draw(st.integers(1, 9)),
        nodes=nodes,
        files=draw(st.sampled_from(['single', 'multiple', 'several'])),
        transfer_size=4096 * draw(st.integers(1, 99)) if direct else draw(st.integers(1, 99999)),
        queue_depth=draw(st.integers(1, 256)) if direct else 1,
        direct=direct,
        duration_s=draw(st.integers(1, 600_000)) / 1000,
        read_share=draw(st.integers(1, 99)) / 100 if phase == 'randrw' else 0.0,
    )
    assert (RANDOM.fault(at), FioRandom().cannot(at)) == (None, None)
    return at


class TestJobFile:
    @given(points())
    def test_every_task_works_all_over_the_files_that_were_written_before(self, at):
        sizes = {spec.name: spec.size for spec in RANDOM.files(at)}
        jobs = jobs_of(at)
        assert len(jobs) == at.tasks
        names = [job['filename'].split(':') for job in jobs]
        assert {name for files in names for name in files} == set(sizes)
        for job, files in zip(jobs, names, strict=True):
            assert len(files) == len(set(files)) == (min(10, at.tasks) if at.data.files == 'several' else 1)
            assert int(job['size']) == sum(sizes[name] for name in files) and 'offset' not in job
            assert (job.get('file_service_type') == 'random') == (at.data.files == 'several')

    @given(points(), st.integers(1, 10**6))
    def test_after_each_transfer_it_thinks_for_whole_microseconds_where_it_does(self, at, microseconds):
        assert not any('thinktime' in job for job in jobs_of(at))
        thinking = at.changed(queue_depth=1, think_s=microseconds / 1e6)
        assert {job['thinktime'] for job in jobs_of(thinking)} == {f'{microseconds}us'}

    @given(points())
    def test_it_has_the_options_of_the_point_and_only_its_time_ends_it(self, at):
        (phase,) = at.phases
        for job in jobs_of(at):
            meant = (phase, at.data.transfer_size, at.data.queue_depth)
            assert (job['rw'], int(job['bs']), int(job['iodepth'])) == meant
            assert job.get('direct', '0') == str(int(at.data.direct))
            assert float(job.get('rwmixread', '0')) == pytest.approx(100 * at.data.read_share)
            assert (job['time_based'], job['norandommap'], job.get('io_size')) == ('1', '1', None)
            assert float(job['runtime'].removesuffix('ms')) == pytest.approx(1000 * at.time.duration_s)
            assert job['ioengine'] == ('psync' if at.data.queue_depth == 1 else 'libaio')
            assert job.get('end_fsync') == ('1' if 'write' in DIRECTIONS[phase] else None)
            assert (job['allow_file_create'], job['unlink']) == ('0', '0')
        mapped = jobs_of(at.changed(interface='mmap', direct=False, queue_depth=1))
        assert {(job['ioengine'], job.get('direct')) for job in mapped} == {('mmap', None)}


@pytest.mark.parametrize(
    ('at', 'why'),
    [
        (point(direct=False, queue_depth=2), 'cannot keep 2 transfers in flight without O_DIRECT'),
        (point(transfer_size=6 * KIB), 'cannot move 6144 bytes at a time with O_DIRECT: only multiples of 4096'),
        (point('randrw', read_share=0.705), 'cannot mix 70.5 % reads: only whole percents'),
        (point('randrw', read_share=0.001), 'cannot mix 0.1 % reads: only whole percents'),
        (point(duration_s=0.0004), 'cannot end after 0.0004 s: it counts milliseconds'),
        (point(direct=False, transfer_size=6000), None),
    ],
)
def test_what_fio_cannot_do_is_refused_with_its_reason(at, why):
    assert FioRandom().cannot(at) == why


@pytest.mark.parametrize('name', GOOD)
class TestEveryGoodRun:
    def test_it_gives_the_metrics_of_its_phase(self, name):
        at = GOOD[name]
        planned = [(metric.name, metric.unit, metric.better) for metric in RANDOM.metrics(at, at.phases[0])]
        assert [(metric.name, metric.unit, metric.better) for metric in measure(name).metrics] == planned
        assert set(measure(name).figures) == {metric for metric, _, _ in planned}

    def test_the_bytes_are_those_of_all_directions_and_tasks(self, name):
        moved = {direction: sum(report['io_bytes'] for report in done) for direction, done in done_by(name).items()}
        measurement, at = measure(name), GOOD[name]
        assert measurement.bytes_moved == sum(task.bytes_moved for task in measurement.tasks) == sum(moved.values())
        assert (measurement.world_size, measurement.hosts) == (at.tasks, ('node1',))
        assert (measurement.direct, measurement.fsync) == (at.data.direct, 'write' in DIRECTIONS[at.phases[0]])
        for direction, metric in names_of(at.phases[0]).items():
            assert measurement.metric(metric).value * measurement.seconds == pytest.approx(moved[direction])
            rate = measurement.metric(f'{metric}_iops')
            assert rate.value * at.data.transfer_size == pytest.approx(measurement.metric(metric).value)
            assert rate.operations == pytest.approx(rate.value * measurement.seconds)

    def test_it_took_its_time_and_no_longer_than_its_last_transfers_and_its_sync(self, name):
        at, measurement = GOOD[name], measure(name)
        runtimes = [report['runtime'] / 1000 for done in done_by(name).values() for report in done]
        assert measurement.seconds == max(runtimes)
        assert measurement.clock_s == CLOCK_S
        assert at.time.duration_s <= measurement.seconds <= float(text(name, 'seconds'))
        assert {metric.seconds for metric in measurement.metrics} == {measurement.seconds}

    def test_the_mean_is_of_all_transfers_and_percentiles_ascend_from_the_fastest_to_the_slowest(self, name):
        measurement = measure(name)
        for direction, metric in names_of(GOOD[name].phases[0]).items():
            latencies = [report[LATENCY] for report in done_by(name)[direction]]
            values = [measurement.metric(f'{metric}_{percentile_name(share)}').value for share in PERCENTILES]
            assert values == sorted(values)
            assert values == list(measurement.metric(f'{metric}_iops').percentiles_s.values())
            assert 0.99 * min(latency['min'] for latency in latencies) <= 1e9 * values[0]
            assert 1e9 * values[-1] <= 1.01 * max(latency['max'] for latency in latencies)
            mean = sum(task['mean'] * task['N'] for task in latencies) / sum(task['N'] for task in latencies) / 1e9
            latency = measurement.metric(f'{metric}_latency')
            assert (latency.value, latency.unit, latency.better) == (pytest.approx(mean), 's', LOWER)

    def test_what_was_in_flight_explains_the_rate(self, name):
        """Little's law: tasks x depth transfers are in flight, but for the time between two of them."""
        measurement, at = measure(name), GOOD[name]
        in_flight = sum(
            measurement.metric(f'{metric}_iops').value * measurement.metric(f'{metric}_latency').value
            for metric in names_of(at.phases[0]).values()
        )
        assert 0.5 * at.data.queue_depth * at.tasks < in_flight <= at.data.queue_depth * at.tasks

    def test_transfers_of_another_size_and_a_time_that_was_not_reached_are_refused(self, name):
        assert refusal(name, at=GOOD[name].changed(transfer_size=512)).rule == 'T18'
        assert_refused(refusal(name, at=GOOD[name].changed(duration_s=9.0)), 'T1', 'task 0 ended after 0.')


def test_the_latencies_of_all_tasks_are_counted_together():
    """The largest of the tasks' own percentiles would be none of all."""
    tasks = done_by('random-read')['read']
    together = sorted(int(bin) for task in tasks for bin, n in task[LATENCY]['bins'].items() for _ in range(n))
    nearest = together[-(-99 * len(together) // 100) - 1]
    assert measure('random-read').metric('randread_p99').value == nearest / 1e9


@pytest.mark.parametrize(
    ('name', 'at', 'sentence'),
    [
        ('random-missing-file', point(), "exited with 1: 'fio: file creation disallowed by allow_file_create=0'"),
        ('random-terminated', LONG_MIXED, "exited with 128: 'fio: terminating on signal 15'"),
        ('random-client-killed', LONG, 'got signal=9'),
    ],
)
def test_a_failed_run_is_refused_in_the_words_of_fio(name, at, sentence):
    assert_refused(refusal(name, at=at), 'E1', sentence)


@pytest.mark.parametrize(
    ('name', 'at', 'rule'), [('random-terminated', LONG_MIXED, 'T1'), ('random-client-killed', LONG, 'T18')]
)
def test_a_run_that_ended_early_is_noticed_by_its_time_or_bytes_even_if_fio_prints_nothing(name, at, rule):
    """fio's own error is 0 in both."""
    silent = Outcome((ProcessTime('node1', 0.0, 60.0, 0),), ('',), ('',), (json.dumps(report_of(name), indent=2),))
    assert refusal(name, at=at, seen=silent).rule == rule


def _lose_a_latency(done):
    bins = done[LATENCY]['bins']
    bins[next(iter(bins))] -= 1
    done[LATENCY]['N'] -= 1


@pytest.mark.parametrize(
    ('change', 'rule', 'sentence'),
    [
        (lambda done: done.update(total_ios=done['total_ios'] - 1), 'T18', 'task 1 moved'),
        (lambda done: done.update(io_bytes=done['io_bytes'] - 4096), 'T18', 'task 1 moved'),
        (_lose_a_latency, 'T1', 'latencies of'),
        (lambda done: done.update(runtime=0), 'T12', 'too short to measure'),
        (lambda done: done[LATENCY].pop('bins'), 'E1', "no 'bins'"),
    ],
)
@pytest.mark.parametrize('direction', ['read', 'write'])
def test_figures_that_contradict_each_other_are_refused(change, rule, sentence, direction):
    report = changed('random-mixed', lambda data: change(data['jobs'][1][direction]))
    assert_refused(refusal('random-mixed', report), rule, sentence)


NODES = 'nodes-random-mixed'


def test_on_two_nodes_the_metrics_are_of_the_tasks_of_both():
    command = FioRandom().command('fio', 'randrw', MIXED_ON_TWO, '/raw/1', 7)._replace(inputs=inputs_of_two(NODES))
    measurement = FioRandom().measure('randrw', MIXED_ON_TWO, command, outcome_on_two(NODES))
    planned = [metric.name for metric in RANDOM.metrics(MIXED_ON_TWO, 'randrw')]
    assert [metric.name for metric in measurement.metrics] == planned
    assert (measurement.hosts, measurement.world_size) == (('node1', 'node2'), 2)
    for direction in ('read', 'write'):
        reports = [report_of(NODES, f'{rank}.json')['jobs'][0][direction] for rank in range(2)]
        rate = measurement.metric(f'randrw_{direction}_iops')
        assert rate.operations == sum(report['total_ios'] for report in reports)
        assert rate.value == rate.operations / measurement.seconds


CALLS = 'trace=openat,pread64,pwrite64,io_submit,io_getevents,fsync,msync'


class Traced:
    """One job as strace saw it: its open of the data file, transfers as (phase, offset, length), and its end."""

    def __init__(self, trace):
        *_, self.open = re.findall(r'openat\([^)]*"data[^)]*\)', trace)  # one that was interrupted is made again
        single = re.findall(r'p(read|write)64\(.*, (\d+), (\d+)\) += \2$', trace, re.MULTILINE)
        queued = re.findall(r'CMD_P(READ|WRITE), .*?aio_nbytes=(\d+), aio_offset=(\d+)', trace)
        self.transfers = [(how.lower(), int(offset), int(size)) for how, size, offset in single + queued]
        self.last = trace.splitlines()[-2]
        flight, self.deepest = 0, 0
        for call, number in re.findall(r'^(io_submit|io_getevents)\(.* = (\d+)$', trace, re.MULTILINE):
            flight += int(number) if call == 'io_submit' else -int(number)
            self.deepest = max(self.deepest, flight)


def run(at, folder, *wrapper):
    """Prepare the files with the real fio and carry the point's phase out: what it measured."""
    (launch,) = RANDOM.preparations([at])
    (folder / 'data').mkdir()
    for phase, of, prefix in ((*launch, ()), (at.phases[0], at, wrapper)):
        command = FioRandom().command('fio', phase, of, str(folder / f'{phase}.raw'), 7)
        measurement = FioRandom().measure(phase, of, command, launched(command, folder / 'data', *prefix))
    return measurement


def traced(at, folder):
    """As run, under strace: what it measured, and what every job did."""
    # Beside other work a job under strace begins tens of milliseconds of its half second late.
    with mock.patch('seatrial.engine.fio.random.ENDED_EARLY', 0.5):
        measurement = run(at, folder, 'strace', '-ff', '-s', '32', '-e', CALLS, '-o', str(folder / 'trace'))
    texts = (path.read_text() for path in sorted(folder.glob('trace.*')))
    return measurement, [Traced(text) for text in texts if '"data' in text]


@pytest.mark.needs('fio', 'strace')
@pytest.mark.slow
@pytest.mark.usefixtures('o_direct')
class TestTheRealOne:
    def test_a_read_goes_by_o_direct_to_places_all_over_its_file(self, tmp_path):
        measurement, jobs = traced(point(), tmp_path)
        assert len(jobs) == 2
        assert measurement.metric('randread_iops').operations == sum(len(job.transfers) for job in jobs)
        for job in jobs:
            assert 'O_DIRECT' in job.open
            assert {(how, size) for how, _, size in job.transfers} == {('read', 4 * KIB)}
            assert spread(job.transfers, 8 * MIB)
        assert jobs[0].transfers != jobs[1].transfers

    def test_a_queue_is_as_deep_as_asked_for_and_never_deeper(self, tmp_path):
        _, (job,) = traced(point(tasks=1, queue_depth=8), tmp_path)
        assert job.deepest == 8
        assert spread(job.transfers, 8 * MIB)

    def test_a_mixture_on_one_shared_file_reads_and_writes_everywhere_and_ends_with_its_sync(self, tmp_path):
        measurement, jobs = traced(MIXED, tmp_path)
        transfers = [transfer for job in jobs for transfer in job.transfers]
        for direction in ('read', 'write'):
            one_way = [transfer for transfer in transfers if transfer[0] == direction]
            assert len(one_way) == measurement.metric(f'randrw_{direction}_iops').operations
            assert spread(one_way, MIXED.data.working_set)
        assert all(re.match(r'fsync\(\d+\) += 0', job.last) for job in jobs)

    def test_a_mapped_file_is_written_without_a_call_and_ends_with_its_sync(self, tmp_path):
        measurement, jobs = traced(point('randwrite', direct=False, interface='mmap'), tmp_path)
        assert len(jobs) == 2 and measurement.metric('randwrite_iops').operations > 0
        for job in jobs:
            assert job.transfers == []
            assert re.match(r'msync\(0x[0-9a-f]+, 8388608, MS_SYNC\) += 0', job.last)

    def test_its_time_ends_it_and_not_the_size_of_its_files(self, tmp_path):
        at = point(share=MIB, transfer_size=256 * KIB, duration_s=0.7)
        measurement = run(at, tmp_path)
        assert measurement.seconds >= 0.7
        assert measurement.bytes_moved > at.data.working_set


def spread(transfers, size, parts=4):
    """True if every quarter of the file has its share of the transfers, as far as chance allows; none is beyond."""
    number = len(transfers)
    counts = [0] * parts
    for _, offset, length in transfers:
        assert 0 <= offset <= size - length
        counts[offset * parts // size] += 1
    allowed = 5 * sqrt(number / parts) + 1
    return number > 10 * parts and all(abs(count - number / parts) <= allowed for count in counts)
