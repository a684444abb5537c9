"""The blocks of a run: in which order points are measured, how often, and with how many bytes a task, fixed or found
out by the warm-up and enlarged where they were too few; and what the time budget leaves of them."""

import itertools
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import ONCE, SMALL, plan_of
from seatrial.engine.fio.access import Fio
from seatrial.filesystem.base import Capacity
from seatrial.filesystem.lustre.layout import striped
from seatrial.job.sequence import start
from seatrial.job.sequence.layouts import FREE_SHARE
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sizing import MAX_SIZES, calibration_points, max_per_task
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Limits, Sizing, StoppingRule
from seatrial.model.units import KIB, MIB
from seatrial.rules import launch
from seatrial.rules.before import peak
from seatrial.rules.case import measured
from seatrial.workload.access import data_access
from seatrial.workload.sweep import AXES, Sweep
from stand_in import Altered

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]

WRITES = data_access('multiple', operations=('write',))
UNTIL_SHORT = StoppingRule(0.10, minimum=2, maximum=4, extra=1, budget_s=600.0)
NOISY = {'seconds': 0.04, 'runtime_ms': [10, 40, 20, 35, 15, 30, 12]}


def blocks_of(ran):
    """The points of each block in the order in which they were measured."""
    blocks = {}
    for sample in ran.measured:
        labels = blocks.setdefault((sample.sizing, sample.block), [])
        if sample.point.label not in labels:
            labels.append(sample.point.label)
    return list(blocks.values())


def test_a_block_holds_every_unfinished_point_once(lab, stub_fio):
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-write@16KiB', NOISY))
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(32, 16, 8), stopping=UNTIL_SHORT))
    assert [sorted(block) for block in blocks_of(ran)] == 3 * [['16KiB', '32KiB', '8KiB']] + [['16KiB']]
    assert ran.counts == {'write@32KiB': 3, 'write@16KiB': 4, 'write@8KiB': 3}
    assert ran.end.stopped == {'32KiB': 'converged', '16KiB': 'exhausted', '8KiB': 'converged'}


def test_the_order_of_the_points_comes_from_the_seed_of_the_plan(lab, stub_fio):
    orders = []
    for check, seed in (('A', 1), ('B', 1), ('C', 2)):
        plan = lab.plan(stub_fio(), check=check, workload=WRITES, values=(64, 32, 16), seed=seed)
        orders.append(blocks_of(lab.run(plan)))
    assert orders[0] == orders[1] != orders[2]
    first, second = orders[0]
    assert first != second, 'it differs between blocks'
    assert records_in(plan.records).start.seed == seed


def test_a_point_is_repeated_until_both_of_its_operations_are_known(lab, stub_fio):
    # Launches 3, 5, 7, ... are the measured writes: their figures are constant, those of the reads are not.
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'runtime_ms': [10, 10, 40, 40]}))
    ran = lab.run(lab.plan(fio, values=(32,), stopping=UNTIL_SHORT))
    assert ran.counts == {'write@32KiB': 4, 'read@32KiB': 4}
    assert ran.end.stopped == {'32KiB': 'exhausted'}


def test_a_read_that_fails_is_not_repeated_and_the_write_of_its_point_is(lab, stub_fio):
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'fault': 'error-lines'}))
    ran = lab.run(lab.plan(fio, values=(32,), stopping=UNTIL_SHORT))
    assert (ran.counts, ran.end.stopped) == ({'write@32KiB': 3, 'read@32KiB': 1}, {'32KiB': 'converged'})
    assert [metric.verdict for metric in ran.result.metrics] == [Verdict.MEASURED, Verdict.INVALID]


def test_a_write_that_is_too_short_is_made_for_its_read_until_that_is_known(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(launch, 'CLOCK_MIN_S', 0.5)
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'seconds': 0.2}))
    ran = lab.run(lab.plan(fio, values=(32,), stopping=UNTIL_SHORT))
    assert (ran.counts, ran.end.stopped) == ({'write@32KiB': 3, 'read@32KiB': 3}, {'32KiB': 'converged'})
    assert [metric.verdict for metric in ran.result.metrics] == [Verdict.INVALID, Verdict.MEASURED]
    assert [reason[:29] for reason in ran.result.reasons] == ['write@32KiB: INVALID: T19: th']


def test_no_launch_begins_after_the_budget(lab, stub_fio, monkeypatch):
    fio = stub_fio(('', NOISY))
    log = Path(f'{fio}.log')

    def monotonic():
        """It jumps by an hour once four launches have begun."""
        return time.monotonic() + (3600.0 if log.exists() and len(log.read_text().splitlines()) >= 4 else 0.0)

    monkeypatch.setattr(start, 'time', Altered(time, monotonic=monotonic))
    rule = UNTIL_SHORT._replace(minimum=4, maximum=8)
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(32, 16), stopping=rule))
    assert (len(ran.records.samples), ran.end.stopped) == (4, {'32KiB': 'budget', '16KiB': 'budget'})
    assert [metric.verdict for metric in ran.result.metrics] == [Verdict.INCONCLUSIVE] * 2
    assert 'budget' in ran.result.reasons[0]


def test_a_profile_without_precision_measures_every_point_once_whatever_the_budget(lab, stub_fio):
    plan = lab.plan(stub_fio())
    ran = lab.run(plan._replace(stopping=plan.stopping._replace(budget_s=0.0)))
    assert set(ran.counts.values()) == {1}
    assert (ran.end.stopped, ran.result.verdict) == ({'32KiB': 'budget', '16KiB': 'budget'}, Verdict.MEASURED)


SIZE = 64 * KIB
SLOW = SIZE / 0.01  # B/s: 64 KiB take 10 ms
# Bytes a task are found out: 50 ms are meant, and 30 ms are the least.
ADAPTED = Sizing(SIZE, SIZE, target_s=0.05, min_s=0.03)


@pytest.mark.parametrize('shortest', ['', '-read@', pytest.param('-write@', marks=pytest.mark.long)])
def test_bytes_are_enlarged_in_the_warm_up_until_the_shortest_launch_lasts_as_is_meant(lab, stub_fio, shortest):
    fio = stub_fio(('', {'seconds': 0.05}), (shortest, {'rate': SLOW}))
    ran = lab.run(lab.plan(fio, **SMALL, sizing=ADAPTED))
    assert (ran.records.sized.per_task, ran.records.sized.number) == (5 * SIZE, 1)
    assert {sample.point.data.bytes_per_task for sample in ran.measured} == {5 * SIZE}


def test_the_warm_up_grows_by_no_more_than_sixteen_times_a_round(lab, stub_fio):
    fio = stub_fio(('', {'rate': SIZE / 0.001}))
    ran = lab.run(lab.plan(fio, values=(64,), workload=WRITES, stopping=ONCE, sizing=ADAPTED))
    sizes = [sample.point.data.bytes_per_task for sample in ran.records.samples if sample.stage == 'warmup']
    assert sizes[:2] == [SIZE, 16 * SIZE]


def test_too_short_a_launch_leads_to_a_second_size_and_samples_of_the_first_do_not_count(lab, stub_fio):
    fio = stub_fio(('warmup', {'seconds': 0.05}), ('measured', {'rate': SLOW}))
    ran = lab.run(lab.plan(fio, workload=WRITES, sizing=ADAPTED))
    # 1.25 x 64 KiB x 50 ms / 10 ms, in whole granules of 64 KiB
    assert (ran.records.sized.number, ran.records.sized.per_task) == (2, 7 * SIZE)
    assert [sample.sizing for sample in ran.measured] == [1, 2, 2, 2, 2]
    assert ran.counts == {'write@32KiB': 2, 'write@16KiB': 2}
    counted = itertools.chain(*measured(ran.plan, ran.records).values())
    assert {sample.point.data.bytes_per_task for sample in counted} == {7 * SIZE}


def test_a_short_budget_bounds_the_warm_up_which_is_labelled_and_so_the_measured_launches(lab, stub_fio):
    plan = lab.plan(stub_fio(('', {'rate': 64 * MIB})), values=(64,), workload=WRITES)
    sizing = Sizing(128 * MIB, 16 * MIB, target_s=0.8, min_s=0.5)
    ran = lab.run(plan._replace(sizing=sizing, stopping=plan.stopping._replace(budget_s=0.2)))
    assert [made.point.data.bytes_per_task for made in ran.records.samples if made.stage == 'warmup'] == [8 * MIB]
    assert 0.7 * 64 * MIB < ran.records.sized.per_task < 64 * MIB
    (label,) = [label for label in ran.result.labels if label.startswith('T14a')]
    assert 'the time budget of 0.2 s allowed no more than 8 MiB a task' in label
    assert ran.counts == {'write@64KiB': 1}


def test_a_short_budget_bounds_the_warm_up_of_a_share_that_the_site_has_fixed_too(lab, stub_fio):
    plan = lab.plan(stub_fio(('', {'rate': 1024 * MIB})), values=(64,), workload=WRITES)
    sizing = Sizing(128 * MIB, 64 * KIB, target_s=0.8, min_s=0.0, pinned=128 * MIB)
    ran = lab.run(plan._replace(sizing=sizing, stopping=plan.stopping._replace(budget_s=1.0)))
    warm_up, *measured_ = [sample.point.data.bytes_per_task for sample in ran.records.samples]
    assert (warm_up, set(measured_)) == (8 * MIB, {128 * MIB})


def test_there_are_at_most_three_sizes(lab, stub_fio):
    fio = stub_fio(('warmup', {'seconds': 0.05}), ('measured', {'seconds': 0.02}))
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(64,), sizing=ADAPTED))
    assert ran.records.sized.number == MAX_SIZES
    assert ran.end.reason == 'finished'


def test_no_size_goes_beyond_the_limits_of_the_site(lab, stub_fio):
    limits = Limits(2 * 3 * SIZE + 1024 * KIB, 1000)
    fio = stub_fio(('', {'rate': SLOW}))
    ran = lab.run(lab.plan(fio, **SMALL, sizing=ADAPTED, target={'limits': limits}))
    assert ran.records.sized.per_task == 3 * SIZE
    assert 'limits or free space allow no more' in ran.records.sized.reason


def with_points(*values):
    """A plan whose points have so many tasks and transfers of such a size."""
    plan = plan_of()
    points = [plan.points[0].changed(tasks=tasks, transfer_size=transfer_size) for tasks, transfer_size in values]
    return plan._replace(points=tuple(point._replace(label=str(number)) for number, point in enumerate(points)))


@pytest.mark.parametrize(
    ('values', 'label'),
    [(((4, MIB), (2, KIB), (3, MIB)), '1'), (((2, KIB), (2, MIB), (4, 4 * MIB)), '1')],
    ids=['fewest tasks', 'largest transfers'],
)
def test_the_warm_up_is_made_where_a_launch_is_the_shortest(values, label):
    assert [point.label for point in calibration_points(with_points(*values))] == [label]


def placed(axis, number):
    plan = plan_of()
    layouts = (striped(f'ost{ost}', osts=(ost,)) for ost in range(number))
    points = tuple(plan.points[0]._replace(label=layout.name, layout=layout) for layout in layouts)
    return plan._replace(axis=AXES[axis], points=points)


def test_the_warm_up_of_a_sweep_over_targets_is_made_on_the_first_that_works():
    points = calibration_points(placed('ost', 9))
    assert [point.layout and point.layout.name for point in points] == ['ost0', 'ost1', 'ost2', 'ost3', None]
    assert [point.layout.name for point in calibration_points(placed('layout', 9))] == ['ost0']
    plan = placed('node', 3)
    plan = plan._replace(points=tuple(point._replace(layout=None) for point in plan.points))
    assert [point.layout for point in calibration_points(plan)] == [None]


@given(
    st.sampled_from([data_access('multiple'), data_access('single', operations=('read',)), WRITES]),
    st.integers(1, 64),
    st.integers(64 * MIB, 1 << 50),
    st.none() | st.integers(64 * MIB, 1 << 50),
)
def test_the_largest_share_is_the_last_that_limits_and_free_space_hold(workload, tasks, limit, free):
    plan = plan_of(workload, Sweep('tasks', (tasks,)), tasks, target={'limits': Limits(limit, 10**6)})
    allowed = limit if free is None else min(limit, int(FREE_SHARE * free))
    highest, granule = max_per_task(plan, Capacity(free, None)), plan.sizing.granule
    assert highest % granule == 0 and peak(plan, highest + granule)['bytes'] > allowed
    assert peak(plan, highest)['bytes'] <= allowed or highest == granule


def test_data_that_repeat_beyond_the_warm_up_are_found_at_the_size_that_was_decided(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(Fio, 'repeats', lambda _, point: 'twice' if point.data.bytes_per_task > SIZE else '')
    fio = stub_fio(('warmup', {'seconds': 0.05}), ('measured', {'rate': SLOW}))
    samples = lab.run(lab.plan(fio, workload=WRITES, sizing=ADAPTED)).records.samples
    assert {made.stage for made in samples if 'P4b' in {finding.rule for finding in made.findings}} == {'measured'}
    once = lab.plan(fio, workload=WRITES, check='Once', target={'deduplicates': True}, sizing=ADAPTED)
    assert lab.run(once).result.verdict is Verdict.INVALID
