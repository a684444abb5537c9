"""Random I/O: what contradicts itself, what is written before, how large its working set is, and what it measures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import plan_of, records_of
from seatrial.job.sequence.survey import min_per_task
from seatrial.model.metric import HIGHER, LOWER, Measurement, Metric
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, KIB, MIB
from seatrial.rules.case import CaseSeen, storage_figure
from seatrial.site.profile import ACCEPTANCE, FIRST, NIGHTLY, PAPER, SMOKE
from seatrial.workload.access import FILES
from seatrial.workload.random import PHASES, files_of, random_access
from seatrial.workload.registry import exact_bytes, fault_of, kind_of, metrics_at
from seatrial.workload.sweep import Sweep, expand, powers_of_two

RANDOM = kind_of('random')


READ = random_access(('randread',), '1GiB')
MIXED = random_access(('randrw',), '1GiB', read_share=0.7, queue_depth=16)
SIZES = Sweep('transfer_size', powers_of_two('4KiB', '1MiB'))
DEPTHS = Sweep('queue_depth', (1, 8, 64))


def expanded(template=READ, sweep=SIZES, tasks=4, effort=None, pinned=None):
    """The points as they are launched, with the sizing that they have, under a profile's effort."""
    effort = effort or PAPER.effort
    points = [RANDOM.adapted(point, effort) for point in expand(sweep, template, Allocation(1, tasks))]
    sizing = RANDOM.sizing(points, effort, pinned)
    return [RANDOM.resized(point, sizing.first) for point in points], sizing


@st.composite
def templates(draw):
    """A workload that contradicts nothing, direct transfers being of whole blocks, cached ones of any size."""
    phases = tuple(draw(st.lists(st.sampled_from(PHASES), min_size=1, max_size=3, unique=True)))
    direct = draw(st.booleans())
    template = random_access(
        phases,
        MIB * draw(st.integers(8, 4096)),
        4096 * draw(st.integers(1, 256)) if direct else draw(st.integers(1, MIB)),
        draw(st.floats(0.001, 1e6)),
        queue_depth=draw(st.integers(1, 128)),
        direct=direct,
        read_share=draw(st.floats(0.01, 0.99)) if 'randrw' in phases else 0.0,
        files=draw(st.sampled_from((*FILES, 'several'))),
    )
    assert fault_of(template) is None
    return template


MIX = {'phases': ('randrw',)}


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'files': 'many'}, "files: 'many' is not valid"),
        ({'transfer_size': 0}, 'working_set: '),
        ({'tasks': 1024, 'transfer_size': 2 * MIB}, 'working_set: '),
        ({'working_set': 0}, 'working_set: 0 B'),
        ({'transfer_size': 6000}, 'transfer_size: O_DIRECT'),
        ({'interface': 'posix'}, "interface: 'posix' is not valid"),
        ({'interface': 'mmap'}, 'interface: '),
        ({'interface': 'mmap', 'direct': False, 'queue_depth': 2}, 'interface: '),
        ({'queue_depth': 0}, 'queue_depth: 0'),
        *[({'duration_s': time_s}, 'duration_s: ') for time_s in (0.0, float('inf'), float('nan'))],
        *[({'think_s': time_s}, 'think_s: ') for time_s in (-1.0, float('inf'))],
        ({'think_s': 0.001, 'queue_depth': 2}, 'think_s: 0.001 s'),
        ({'read_share': 0.5}, 'read_share: '),  # of no mixed phase
        *[({**MIX, 'read_share': share}, 'read_share: ') for share in (0.0, 1.0, -0.1, 1.5, float('nan'))],
    ],
)
def test_what_contradicts_itself_is_a_sentence_with_its_field(changes, fault):
    assert (fault_of(READ.changed(**changes)) or '').startswith(fault)


@given(templates(), st.integers(1, 5))
def test_every_task_has_its_whole_share_of_the_working_set_on_disk(template, tasks):
    points, _ = expanded(template, Sweep('queue_depth', (1, 2)), tasks)
    for point in points:
        files = RANDOM.files(point)
        assert len(files) == (1 if point.data.files == 'single' else tasks)
        assert sum(file.size for file in files) == point.data.working_set == tasks * point.data.bytes_per_task
        assert point.data.bytes_per_task % point.data.transfer_size == 0
        assert fault_of(point) is None


@given(templates(), st.integers(1, 5))
def test_the_files_are_written_in_full_and_in_order_before_by_as_many_tasks(template, tasks):
    """P10: a hole is read at no cost."""
    points, _ = expanded(template, Sweep('queue_depth', (1, 2)), tasks)
    (launch,) = RANDOM.preparations(points)
    assert (launch.phase, launch.point.data.order, launch.point.tasks) == ('write', 'contiguous', tasks)
    assert kind_of(launch.point.kind).files(launch.point) == RANDOM.files(points[0])
    assert fault_of(launch.point) is None


def test_one_set_of_files_serves_every_point():
    points, _ = expanded()
    assert len({RANDOM.files(point) for point in points}) == 1
    footprint = RANDOM.footprint(points)
    assert (footprint.bytes, footprint.inodes) == (GIB, 4)
    assert (RANDOM.amount(points[0]), exact_bytes(points[0])) == (0, None)  # its time is given, and not what it moves


@pytest.mark.parametrize(
    ('profile', 'share_mib', 'duration_s'),
    [(FIRST, 64, 0.7), (SMOKE, 128, 0.14), (NIGHTLY, 128, 5.0), (ACCEPTANCE, 256, 330.0), (PAPER, 256, 30.0)],
)
def test_a_profile_sets_the_duration_and_a_working_set_that_it_has_time_to_write(profile, share_mib, duration_s):
    share, (points, sizing) = share_mib * MIB, expanded(effort=profile.effort)
    assert {(point.data.bytes_per_task, point.duration_s) for point in points} == {(share, duration_s)}
    assert sizing.first == share and duration_s > sizing.min_s


@pytest.mark.parametrize('files', FILES)
def test_in_an_acceptance_it_is_what_no_cache_holds(files):
    """P16 decides on the node, where the memory is known."""
    template = random_access(('randread',), '1GiB', files=files)
    points, sizing = expanded(template, DEPTHS, effort=ACCEPTANCE.effort)
    declared = {'server_cache_bytes': 3 * GIB, 'fast_tier_bytes': 0}
    plan = plan_of(template, DEPTHS, profile='acceptance', points=tuple(points), sizing=sizing, target=declared)
    share = min_per_task(plan, 8 * GIB)
    assert share * 4 == 2 * 8 * GIB + 3 * GIB

    def fault(first):
        """Of launches of 330 s on a node with 8 GiB."""
        sized = plan._replace(sizing=sizing._replace(first=first))
        return storage_figure(CaseSeen(sized, records_of(sized, [1e6] * 6, memory_bytes=8 * GIB)))

    assert fault(share) is None and 'the working set of qd' in fault(share - sizing.granule)


def test_a_share_that_the_site_fixes_is_taken_as_it_is_or_refused_with_both_sizes():
    points, sizing = expanded(effort=ACCEPTANCE.effort, pinned=96 * MIB)
    assert {point.data.bytes_per_task for point in points} == {96 * MIB}
    assert (sizing.pinned, sizing.fixed) == (96 * MIB, True)
    with pytest.raises(ValueError, match='100 KiB a task is not a multiple of 1 MiB'):
        expanded(pinned=100 * KIB)


@given(st.lists(st.integers(1, 512), min_size=1, max_size=4, unique=True))
def test_a_share_is_a_multiple_of_every_transfer(blocks):
    points, sizing = expanded(sweep=Sweep('transfer_size', tuple(4096 * number for number in sorted(blocks))))
    assert all(sizing.granule % point.data.transfer_size == 0 for point in points)


def test_each_direction_has_its_bandwidth_its_rate_and_its_latencies():
    names = [metric.name for metric in metrics_at(random_access(PHASES, '1GiB', read_share=0.5))]
    measured = ('', '_iops', '_latency', '_p50', '_p95', '_p99', '_p99.9')
    ways = ('randread', 'randwrite', 'randrw_read', 'randrw_write')
    assert names == [way + suffix for way in ways for suffix in measured]


def test_a_latency_is_better_the_lower_and_stops_no_repetition():
    for metric in metrics_at(MIXED):
        wanted = (LOWER, False) if metric.unit == 's' else (HIGHER, True)
        assert (metric.better, metric.steers) == wanted
    of_reads = [metric.unit for metric in metrics_at(MIXED) if metric.name.startswith('randrw_read')]
    assert of_reads == ['B/s', 'op/s', *['s'] * 5]
    # What a mixture writes was in no cache.
    assert RANDOM.cache_of('randrw_write_p99', 'cached') == ''
    assert RANDOM.cache_of('randrw_read_p99', 'cached') == RANDOM.cache_of('randread', 'cached') == 'cached'


def test_a_task_with_several_files_has_its_own_and_those_of_the_next_nine():
    skim = random_access(('randread',), '40MiB', direct=False, files='several', think_s=0.005)
    (point,) = expand(Sweep('tasks', (20,)), skim, Allocation(1, 20))
    of_tasks = [files_of(point, rank) for rank in range(20)]
    assert of_tasks[15] == [f'data.{number % 20:08d}' for number in range(15, 25)]
    assert {sum(name in files for files in of_tasks) for name in of_tasks[0]} == {10}
    assert files_of(point._replace(tasks=3), 2) == ['data.00000002', 'data.00000000', 'data.00000001']


def test_the_share_of_its_time_that_a_task_waits_for_storage_is_what_it_does_not_think():
    skim = random_access(('randread',), '8MiB', tasks=4, think_s=0.009)
    operations = 4 * 1000  # of 1 ms each, in 10 s by 4 tasks
    latency = Metric('randread_latency', 0.001, 's', LOWER, 10.0, operations)
    measurement = Measurement((latency,), 1, ('node1',))
    (waiting,) = RANDOM.derived(skim, 'randread', measurement)
    assert (waiting.name, waiting.value, waiting.seconds) == ('randread_waiting', pytest.approx(0.1), 10.0)
    assert RANDOM.derived(skim.changed(think_s=0.0), 'randread', measurement) == ()
    assert RANDOM.metrics(skim, 'randread')[-1].name == 'randread_waiting'


def test_the_sentence_on_a_skim_has_its_think_time():
    sentence = RANDOM.sentence([READ.changed(direct=False, files='several', think_s=0.005)])
    assert ' of its file and of those of 9 others, for 30 s, through the page cache, with 5 ms of think' in sentence
