"""Maps over file sizes and transfer sizes: their fields, their shades, and where larger transfers are slower."""

import pytest

from seatrial.model.units import BINARY, MIB
from seatrial.report.drawing.maps import SHADES, surfaces
from seatrial.report.session.page import page
from seatrial.workload.access import data_access
from seatrial.workload.reuse import file_reuse
from seatrial.workload.sweep import surface, tasks_by_sizes

SURFACE = surface(('16MiB', '64MiB'), ('64KiB', '1MiB'))
MEANS = {'16MiB-64KiB': 100.0, '16MiB-1MiB': 200.0, '64MiB-64KiB': 400.0, '64MiB-1MiB': 300.0}


ONE_TASK = file_reuse(('write',), tasks=1, scales=False)


def case(make, means, sweep=SURFACE, workload=ONE_TASK, **changes):
    plan = make.plan('Surface', workload, sweep, **changes)
    rates = {
        f'write@{label}': [mean * MIB * (1 + 0.001 * each) for each in range(6)] for label, mean in means.items()
    }
    return make.case(plan, make.records(plan, rates))


def test_rows_are_file_sizes_and_columns_transfer_sizes_and_the_largest_mean_is_the_darkest(make):
    (found,) = surfaces([case(make, MEANS)], BINARY)
    (drawn,) = found['maps']
    assert (drawn.name, drawn.columns) == ('write', ('64KiB', '1MiB'))
    assert [(row, [(round(each.summary.mean / MIB), each.shade) for each in own]) for row, own in drawn.rows] == [
        ('16MiB', [(100, 1), (200, 2)]),
        ('64MiB', [(401, SHADES - 1), (301, 3)]),
    ]


@pytest.mark.parametrize(
    ('last', 'note'),
    [
        (300.0, 'files of 64MiB: slower with 1MiB than with 64KiB (301 MiB/s and 401 MiB/s)'),
        (400.0, 'larger transfers are nowhere slower'),
    ],
)
def test_it_says_where_larger_transfers_are_slower(make, last, note):
    (found,) = surfaces([case(make, {**MEANS, '64MiB-1MiB': last})], BINARY)
    assert found['maps'][0].notes == (note,)


def test_what_was_not_measured_is_an_empty_field_and_a_smoke_test_says_nothing(make):
    known = {label: mean for label, mean in MEANS.items() if label != '16MiB-1MiB'}
    one = case(make, known, fixed=True)
    (found,) = surfaces([one], BINARY)
    assert [each.summary is None for _, own in found['maps'][0].rows for each in own] == [False, True, False, False]
    assert found['maps'][0].notes == ()
    assert 'by file size and transfer size' in page(make.session(one))


@pytest.mark.parametrize('sizes', [(('16MiB',), ('64KiB', '1MiB')), (('16MiB', '64MiB'), ('64KiB',))])
def test_where_one_of_them_does_not_vary_there_is_no_map(make, sizes):
    means = {label: 100.0 for label, _ in surface(*sizes).values}
    assert surfaces([case(make, means, surface(*sizes))], BINARY) == []


def test_numbers_of_tasks_are_columns_too(make):
    means = {'1task-16MiB': 100.0, '1task-64MiB': 200.0, '2tasks-16MiB': 150.0, '2tasks-64MiB': 120.0}
    sweep, workload = tasks_by_sizes((1, 2), ('16MiB', '64MiB')), data_access('multiple', operations=('write',))
    (found,) = surfaces([case(make, means, sweep, workload)], BINARY)
    drawn = found['maps'][0]
    assert drawn.columns == ('1 task', '2 tasks') and [row for row, _ in drawn.rows] == ['16MiB', '64MiB']
    assert drawn.by == 'by file size and number of tasks'
    assert drawn.notes == ('files of 64MiB: slower with 2 tasks than with 1 task (120 MiB/s and 200 MiB/s)',)
