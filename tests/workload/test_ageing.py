"""Ageing: trees that follow from their seed, with the intended distributions, predicted exactly."""

import pytest

from seatrial.model.units import KIB, MIB
from seatrial.workload import ageing
from seatrial.workload.base import Effort, Entries
from seatrial.workload.registry import entries_after, fault_of, kind_of, metrics_at
from seatrial.workload.tree import BLOCK

KIND = kind_of('ageing')
POINT = ageing.ageing(20_000)._replace(label='aged', tasks=4, tasks_per_node=4)


def drawn(point, rank=0):
    return list(ageing.batches(ageing.of_task(point, rank)))


def test_a_tree_follows_from_seed_and_task_alone():
    assert drawn(POINT) == drawn(POINT._replace(label='other', nodes=2, tasks_per_node=2))
    assert drawn(POINT) != drawn(POINT, rank=1)
    assert drawn(POINT) != drawn(POINT.changed(seed=2))


def test_a_tree_is_the_same_on_every_version_of_python():
    batches = drawn(ageing.ageing(40, sizes=(1, 2, 3), files_per_directory=5)._replace(tasks=1))
    assert batches == [(10, (2,)), (1, (2, 3, 2, 2)), (9, (3,)), (8, (2, 1, 2, 2))]


def test_depth_files_and_sizes_stay_within_those_of_the_source():
    every = [batch for rank in range(4) for batch in drawn(POINT, rank)]
    assert {batch.depth for batch in every} == set(range(1, 11))
    assert {1, 100} <= {len(batch.sizes) for batch in every} <= set(range(1, 101))
    sizes = {size for batch in every for size in batch.sizes}
    assert sizes <= set(POINT.fill.sizes) and min(sizes) >= KIB and max(sizes) <= ageing.LARGEST == 8 * MIB


@pytest.mark.parametrize('inodes', [4, 5, 7, 8, 9, 100, 1001, 20_000])
def test_the_inodes_are_those_that_were_asked_for_less_one_a_task(inodes):
    entries, _ = ageing.total(POINT.changed(inodes=inodes))
    assert inodes - POINT.tasks <= entries.inodes <= inodes


def test_the_plan_foretells_entries_bytes_and_whole_blocks():
    point = ageing.ageing(18, sizes=(5000,), depth=2, files_per_directory=3)._replace(tasks=2)
    every = [drawn(point, rank) for rank in range(2)]
    files = sum(len(batch.sizes) for tree in every for batch in tree)
    directories = 2 + sum(batch.depth for tree in every for batch in tree)
    assert entries_after(point, ageing.FILL) == Entries(directories, files, 0)
    assert entries_after(point, ageing.REMOVE) == Entries(0, 0, 0)
    assert KIND.footprint([point]) == (files * 8192, directories + files)
    assert KIND.moved(point, ageing.FILL) == (files * 5000, 0)


def test_a_histogram_has_every_value_once_beside_its_share_of_the_distribution():
    counts = [ageing.counted_in(POINT, iter(drawn(POINT, rank))) for rank in range(4)]
    by_name = {histogram.name: histogram for histogram in ageing.histograms(POINT, counts)}
    assert list(by_name) == [ageing.DEPTH, ageing.IN_DIRECTORY, ageing.SIZE]
    for histogram in by_name.values():
        assert sum(histogram.targets) == pytest.approx(1)
        for number, target in zip(histogram.counts, histogram.targets, strict=True):
            assert number / sum(histogram.counts) == pytest.approx(target, abs=0.06)
    assert sum(by_name[ageing.SIZE].counts) == ageing.total(POINT)[0].files
    two = ageing.counted_in(POINT, iter([ageing.Batch(1, (KIB, KIB + 1)), ageing.Batch(10, (0,))]))
    assert list(two.values()) == [{'1': 1, '10': 1}, {'10': 2}, {'1024': 2, '4096': 1}]


def test_a_distribution_without_logs_is_a_pareto_cut_as_the_source_cuts_it():
    sizes = ageing.pareto()
    assert list(sizes) == sorted(sizes) and sizes[0] == 1032 and sizes[-1] == 7_004_061
    assert max(ageing.pareto(shape=0.3)) == ageing.LARGEST


def test_a_profile_makes_fewer_inodes_and_the_paper_has_its_own():
    smoke = KIND.sizing([POINT], Effort(files=500, tree_bytes=128 * MIB), None)
    assert smoke.fixed and KIND.resized(POINT, smoke.first).fill.inodes == 4 * 500
    assert KIND.resized(POINT, KIND.sizing([POINT], Effort(), None).first) == POINT
    assert KIND.sizing([POINT], Effort(files=500), 70).pinned == 70
    assert KIND.sizing([POINT], Effort(files=10**9), None).first == 5000
    assert KIND.sizing([POINT], Effort(files=500, tree_bytes=sum(POINT.fill.sizes)), None).first == 100


def test_bytes_a_second_are_a_figure_only_where_files_are_synced():
    assert [metric.name for metric in metrics_at(POINT)] == ['fill_files', 'fill', 'remove']
    assert [metric.name for metric in metrics_at(POINT.changed(fsync=False))] == ['fill_files', 'remove']


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'inodes': 0}, 'inodes: 0 cannot be'),
        ({'depth': 101}, 'depth: 101 cannot be'),
        ({'files_per_directory': 0}, 'files_per_directory: 0 cannot be'),
        ({'fullness': 0.95}, 'fullness: 0.95 cannot be'),
        ({'sizes': ()}, 'sizes: '),
        ({'sizes': (1, -1)}, 'sizes: '),
        ({'phases': (ageing.REMOVE,)}, 'phases: '),
    ],
)
def test_what_is_impossible_is_a_sentence_with_its_field(changes, fault):
    assert fault_of(POINT.changed(**changes)).startswith(fault)


def test_trees_that_are_kept_are_filled_alone():
    kept = ageing.ageing(400, keep=True)._replace(label='aged', tasks=4, tasks_per_node=4)
    assert fault_of(kept) is None and KIND.phase(kept.phases[-1]).stays and not KIND.phase(POINT.phases[-1]).stays
    assert [metric.name for metric in metrics_at(kept)] == ['fill_files', 'fill']
    assert 'keeps them' in KIND.sentence([kept])


@pytest.mark.parametrize('room', [10**6, 10**8])
@pytest.mark.parametrize('tasks', [1, 3])
def test_trees_take_the_room_that_is_meant_and_no_more(room, tasks):
    def taken(share):
        point = KIND.resized(POINT.changed(tasks=tasks, fullness=0.7), share)
        return KIND.footprint([point]).bytes + BLOCK * ageing.total(point)[0].directories

    share = ageing.share_within(POINT._replace(tasks=tasks), room)
    assert taken(share) <= room + tasks * ageing.LARGEST and room < taken(share + 1) + tasks * ageing.LARGEST


def test_trees_of_one_size_take_exactly_the_room_that_is_meant():
    point = ageing.ageing(0, sizes=(BLOCK,))._replace(tasks=2)
    assert [ageing.share_within(point, blocks * BLOCK) for blocks in (0, 8, 9, 2000)] == [ageing.LEAST, 4, 4, 1000]


def test_a_fullness_has_a_warm_up_of_the_profile_and_no_share_of_the_site():
    full = POINT.changed(fullness=0.7)
    assert KIND.sizing([full], Effort(files=100), 70) == KIND.sizing([POINT], Effort(files=100), None)
    assert KIND.sizing([full], Effort(), None).first == ageing.FIRST
    assert 'to 70% of the file system, and' in KIND.sentence([full])
