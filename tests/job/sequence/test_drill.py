"""The start of a drill-down, and the bytes that it moves; test_targets.py has whole drill-downs by the runner."""

import random
from unittest.mock import Mock

import pytest

from builders import FLAT, FLAT_TREE, SIZE, plan_of, records_of
from seatrial.filesystem import base
from seatrial.filesystem.glusterfs import GlusterFS
from seatrial.filesystem.lustre.driver import Lustre
from seatrial.filesystem.lustre.layout import asked, striped
from seatrial.job.sequence.drill import LAUNCH_S, begun, carry_out
from seatrial.model.layout import Layout
from seatrial.model.record import TargetRow
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.sweep import AXES, Sweep

FLOORS = {'write@16MiB': 200.0 * MIB}
STEADY = [value * MIB for value in (100.0, 101.0, 99.0, 100.0, 101.0, 99.0)]


class Targets(Lustre):
    """One with these targets."""

    def __init__(self, *rows):
        self.rows = rows

    def targets(self, path):
        return base.Targets(self.rows, {'ost0000': 'a', 'ost0001': 'b'})

    def reach(self, path, layout, size):
        self.asked = layout, size
        return asked(layout).osts or {'flash': (0, 1), 'gone': ()}.get(asked(layout).pool)


def row(number, **changes):
    return TargetRow(**{'kind': 'OST', 'number': number, 'name': 'x', 'active': True, **changes})


TWO = Targets(row(0), row(1), row(7, kind='MDT'))


def start(driver=TWO, figures=STEADY, floors=None, **changes):
    plan = plan_of(floors=FLOORS if floors is None else floors, **changes)
    return begun(plan, records_of(plan, figures), driver)


def test_it_starts_from_the_metric_below_its_bound_and_the_targets_that_take_files():
    search = start(Targets(row(0), row(1), row(2, active=False), row(3, takes_objects=False), row(4, fault='silent')))
    assert search is not None
    assert (search.breach.metric, search.breach.point, search.breach.bound) == ('write', '16MiB', 200.0 * MIB)
    assert search.numbers == {'ost0000': 0, 'ost0001': 1}
    assert search.servers == {'ost0000': 'a', 'ost0001': 'b'}
    assert search.point.data.bytes_per_task == SIZE, 'a task moves no more than in the case'
    plan = plan_of(floors=FLOORS)
    assert begun(plan, records_of(plan, STEADY)._replace(sized=None), TWO) is None


FOUR = [row(n) for n in range(4)]


@pytest.mark.parametrize(
    ('layout', 'reached'),
    [(striped('f', pool='flash'), {0, 1}), (striped('o', osts=(1, 3)), {1, 3}), (Layout(), {0, 1, 2, 3})],
)
def test_it_searches_only_where_the_files_of_the_case_may_lie(layout, reached):
    driver = Targets(*FOUR)
    search = start(driver, target={'layout': layout})
    assert set(search.numbers.values()) == reached
    assert driver.asked == (layout, SIZE)


def test_the_layout_of_the_point_counts_before_that_of_the_case():
    plan = plan_of(floors=FLOORS, target={'layout': striped('f', pool='flash')})
    of_point = striped('own', stripe_size=MIB, osts=(2, 3))
    plan = plan._replace(points=tuple(point._replace(layout=of_point) for point in plan.points))
    search = begun(plan, records_of(plan, STEADY), Targets(*FOUR))
    assert set(search.numbers.values()) == {2, 3}
    drill = carry_out(search, lambda point, _: 100.0, lambda: 1e6, random.Random(1))
    assert {name for group in drill.rounds[0] for name in group.targets} == {'ost0002', 'ost0003'}


def test_flash_and_disks_are_not_compared():
    search = start(Targets(row(0, flags=('flash',)), row(1), row(2)))
    drill = carry_out(search, lambda point, _: 1 / 0, lambda: 1e6, random.Random(1))
    assert (drill.metric, drill.bound, drill.rounds) == ('write@16MiB', 200.0 * MIB, ())
    assert drill.sentence.startswith('undecided: its files lie on flash and on other targets')


@pytest.mark.parametrize(
    'changes',
    [
        {'floors': {}},
        {'floors': {'write@16MiB': 50.0 * MIB}},
        {'driver': Targets()},
        {'driver': Targets(*FOUR), 'target': {'layout': striped('g', pool='gone')}},
        {'driver': Targets(row(0))},
        {'driver': Targets(row(0), row(1, kind='MDT'))},
        {'driver': Targets(row(0), row(1, bytes_free=MIB))},
        {'axis': AXES['layout']},
        {'workload': FLAT, 'sweep': FLAT_TREE, 'floors': {'file_create@flat': 1e12}},
    ],
)
def test_it_does_not_start_where_nothing_is_low_or_nothing_can_be_compared(changes):
    assert start(**changes) is None


def test_of_a_case_of_long_launches_only_a_part_is_moved():
    # 2 tasks with 64 MiB each at 0.2 MiB/s are 640 s.
    plan = plan_of(sweep=Sweep('transfer_size', (64 * KIB,)), floors={'write@64KiB': MIB})
    plan = plan._replace(sizing=plan.sizing._replace(granule=64 * KIB))
    search = begun(plan, records_of(plan, [value / 500 for value in STEADY]), TWO)
    share = search.point.data.bytes_per_task
    seconds = share / (0.1 * MIB)
    assert share % (64 * KIB) == 0 and 0.8 * LAUNCH_S < seconds < 1.1 * LAUNCH_S
    assert search.point.label == '64KiB'


def test_all_tasks_together_leave_room_on_the_fullest_target():
    roomy = Targets(row(0, bytes_free=GIB), row(1, bytes_free=100 * MIB))
    search = start(roomy, sizing=plan_of().sizing._replace(granule=16 * MIB))
    assert search.point.data.bytes_per_task == 32 * MIB  # 2 of 45 MiB are 90 %


def test_groups_are_pinned_in_the_stripes_of_the_case():
    search = start(target={'layout': striped('wide', stripe_count=-1, stripe_size=4 * MIB, pool='disk')})
    measure = Mock(return_value=100.0)
    drill = carry_out(search, measure, lambda: 1e6, random.Random(1))
    asked = [call.args[0] for call in measure.mock_calls]
    assert {point.layout.canonical for point in asked} == {'S4M.o0', 'S4M.o1'}
    assert {point.label for point in asked} == {'drill1a', 'drill1b'}
    assert len(asked) == 8 and drill.rounds[0][0].figures == (100.0,) * 4


class Bricks(GlusterFS):
    """Four, of two hosts."""

    def targets(self, path):
        rows = tuple(row(n, kind='brick') for n in range(4))
        return base.Targets(rows, {f'brick{n:04d}': f'node{n // 2}' for n in range(4)})


def test_bricks_are_searched_in_groups_that_the_files_of_a_launch_fill():
    search = start(Bricks())
    tasks, asked = search.point.tasks, []
    assert (search.numbers['brick0003'], search.whole, tasks) == (3, 2, 2)

    def measure(point, repetition):
        asked.append(point.layout.asks)
        return 60.0 if '3' in point.layout.asks[0] else 100.0

    drill = carry_out(search, measure, lambda: 1e6, random.Random(1))
    assert set(asked) == {('brick0_1',), ('brick2_3',), ('brick0',), ('brick2',), ('brick3',)}
    assert drill.sentence == 'brick0003 of node1 is 40 % slower'


def test_groups_are_measured_in_random_order_and_as_often_as_each_other():
    orders = []
    for seed in (1, 2, 3):
        asked = []
        carry_out(start(), lambda point, _, to=asked: to.append(point.label) or 1.0, lambda: 1e6, random.Random(seed))
        assert asked.count('drill1a') == asked.count('drill1b') == 4
        orders.append(tuple(asked))
    assert len(set(orders)) > 1
    drill = carry_out(start(), lambda point, repetition: None, lambda: 1e6, random.Random(1))
    assert drill.sentence.startswith('the groups of targets could not be compared')
    assert drill.rounds[0][0].figures == ()


def test_a_round_that_the_time_does_not_suffice_for_is_not_begun_in_vain():
    clock = iter(range(1000, -1000, -300))
    asked = []
    drill = carry_out(start(), lambda point, _: asked.append(1) or 1.0, lambda: next(clock), random.Random(1))
    assert (drill.rounds, drill.sentence) == ((), 'time budget exhausted before the search was done')
    assert len(asked) < 8
