"""The figures of every node or target in a record, and the places that are suspected."""

import random

import pytest

from builders import FLAT, FLAT_TREE, MFWA, moved, names, night, node_plan, plan_of, records_of
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.lustre.targets import FLAGS
from seatrial.model.metric import NodeTime, TaskTime
from seatrial.model.point import Allocation
from seatrial.model.record import FLASH, Finding, TargetRow
from seatrial.model.units import MIB
from seatrial.rules import places
from seatrial.workload.sweep import AXES, Sweep, SweepSite, expand


def steady(node, phase):
    return 100.0


def slow(factors):
    """Noise of 1 %; factors: by node and phase."""
    dice = random.Random(1)
    return lambda host, phase: factors.get((host, phase), 1.0) * dice.gauss(100.0, 1.0)


def test_tasks_are_reduced_to_one_row_a_node():
    times = [('a', 1.0), ('a', 2.0), ('a', 4.0), ('b', 1.0), ('b', 2.0)]
    tasks = tuple(TaskTime(rank, f'{host}.cluster', MIB, 0.5, 0.5 + s) for rank, (host, s) in enumerate(times))
    reduced = places.by_node(moved(node_plan(2, 3).points[0], 100.0)._replace(tasks=tasks))
    assert reduced.tasks == ()
    assert reduced.nodes == (NodeTime('a', 3, 3 * MIB, 2.0, 4.0), NodeTime('b', 2, 2 * MIB, 1.5, 2.0))
    assert reduced.nodes[0].bandwidth == 0.75 * MIB


def test_a_node_sweep_compares_each_phase_together_and_in_groups():
    plan = node_plan(3, workload=MFWA)
    compared = places.first(plan, night(plan, steady))
    assert {(comparison.metric, comparison.how) for comparison in compared} == {
        (phase, how) for phase in ('write', 'read') for how in (places.TOGETHER_WORDS, places.ALONE_WORDS)
    }
    for comparison in compared:
        assert {name: len(values) for name, values in comparison.figures.items()} == {'n1': 6, 'n2': 6, 'n3': 6}
        assert all(abs(value - 100.0) < 1e-6 for values in comparison.figures.values() for value in values)


def of_osts(count=4, figures=6 * [100.0], **start):
    pinned = tuple(striped(f'ost{n:04d}', osts=(n,)) for n in range(count))
    points = tuple(expand(Sweep('ost'), MFWA, Allocation(1, 2), SweepSite(pinned)))
    plan = plan_of(axis=AXES['ost'], points=points)
    return plan, records_of(plan, figures, **start)


def test_reads_are_compared_with_those_of_the_same_state_of_the_cache_only():
    plan, records = of_osts()

    def cache(sample):
        return 'cached' if sample.phase == 'read' and sample.point.label in ('ost0000', 'ost0001') else sample.cache

    mixed = records._replace(samples=[s._replace(cache=cache(s)) for s in records.samples])
    compared = {comparison.metric: sorted(comparison.figures) for comparison in places.first(plan, mixed)}
    assert compared == {
        'write': ['ost0000', 'ost0001', 'ost0002', 'ost0003'],
        'read (cached)': ['ost0000', 'ost0001'],
        'read': ['ost0002', 'ost0003'],
    }
    assert places.alone(plan, places.first(plan, mixed)) == {}
    alike = records._replace(samples=[s._replace(cache='cached') for s in records.samples])
    assert [comparison.metric for comparison in places.first(plan, alike)] == ['write', 'read']


def test_one_read_that_was_cached_leaves_its_target_beside_the_others():
    plan, records = of_osts()
    at = next(n for n, s in enumerate(records.samples) if s.stage == 'measured' and s.phase == 'read')
    records.samples[at] = records.samples[at]._replace(cache='cached')
    assert places.alone(plan, places.first(plan, records)) == {}


def test_targets_have_kinds_where_some_are_flash_and_some_are_not():
    def kinds_of(*flash):
        rows = [TargetRow('OST', n, f'o{n}', True, flags=(FLASH,) if n in flash else ()) for n in range(4)]
        return places.kinds(*of_osts(targets=(*rows, TargetRow('MDT', 0, 'm', True, flags=(FLASH,)))))

    assert kinds_of(0, 1) == {'ost0000': 'flash', 'ost0001': 'flash', 'ost0002': 'not flash', 'ost0003': 'not flash'}
    assert kinds_of() == kinds_of(0, 1, 2, 3) == places.kinds(*of_osts()) == places.NO_KINDS
    assert FLAGS['f'] == FLASH  # as the driver tells it


def test_invalid_samples_and_those_of_an_earlier_size_compare_nothing():
    plan = node_plan(2)
    records = night(plan, steady)
    wrong = (Finding('T10', 'invalid', 'the tasks ran on n2 and not on n1'),)
    for changes in ({'findings': wrong}, {'sizing': 2}):
        samples = [sample._replace(**changes) for sample in records.samples]
        assert places.first(plan, records._replace(samples=samples)) == ()


def test_suspects_are_those_of_any_way_in_which_a_metric_was_measured():
    plan = node_plan(4, workload=MFWA)
    mixed = night(plan, slow({('n1', 'write'): 0.8, ('n2', 'read'): 0.7}))
    assert places.suspected(plan, mixed) == {'write': ('n1',), 'read': ('n2',)}
    assert places.all_of(places.suspected(plan, mixed)) == ('n1', 'n2')


def test_what_is_slow_in_another_metric_is_no_control():
    plan = node_plan(4)
    rates = slow({('n3', 'write'): 0.7})
    (comparison,) = places.second(plan, night(plan, rates, rates))
    assert comparison.how == ''
    assert set(comparison.figures) == set(names(4))
    assert set(places.controlled(comparison, ['n3'], ['n3', 'n1'])) == {'n2', 'n3', 'n4'}


@pytest.mark.parametrize(
    ('plan', 'suspicious', 'expected'),
    [
        (node_plan(2, workload=MFWA), ['write'], ('write',)),
        (node_plan(2, workload=MFWA), ['read (cached)', 'write'], ('write', 'read')),
        (plan_of(FLAT, FLAT_TREE), ['file_create'], ('create',)),
    ],
)
def test_it_is_measured_again_up_to_the_last_operation_that_is_suspicious(plan, suspicious, expected):
    assert places.phases_again(plan, suspicious) == expected
