"""The tables of all cases: which stand together, in which columns, and the lanes beside them."""

from dataclasses import replace

import pytest

from seatrial.model.record import Finding
from seatrial.model.units import BINARY, MIB
from seatrial.report.session.overview import overviews


def data_of(cases, system=BINARY):
    (result,) = overviews(cases, system)
    return result


def role_of(overview, name):
    return next(role for role in overview.roles if role.name == name)


def test_all_checks_share_one_scale_and_one_unit(make):
    rates = (make.even_rates(make.plan(), base) for base in (100.0, 400.0))
    result = data_of([make.measured(rates=even) for even in rates])
    slow, fast = result.lanes['rows']
    # 100, 200, 400 and 800 MiB/s on an axis from zero: writes, then reads.
    zero = 2 * slow[0]['low'] - slow[1]['low']
    assert [lane['low'] - zero for lane in fast] == pytest.approx([n * (slow[0]['low'] - zero) for n in (4, 8)])
    roles = [(role.name, role.unit.name, role.style) for role in result.roles]
    assert roles == [('write', 'MiB/s', 'write'), ('read', 'MiB/s', 'read')]


def test_a_lane_reaches_from_the_smallest_to_the_largest_mean(make):
    rates = make.even_rates(make.plan())
    rates['write@32MiB'] = [2 * rate for rate in rates['write@32MiB']]
    result = data_of([make.measured(rates=rates)])
    write = result.lanes['rows'][0][0]
    assert write['high'] > write['low']
    assert role_of(result, 'write').range(result.cases[0].result) == '500 \u2013 1000'


def test_what_is_invalid_takes_no_part(make):
    wrong = {'read@8MiB': [Finding('T18', 'invalid', 'too little')]}
    rates = make.even_rates(make.plan()) | {'read@8MiB': [9999.0 * MIB] * 6}
    result = data_of([make.measured(rates=rates, findings=wrong)])
    means = role_of(result, 'read').means(result.cases[0].result)
    assert len(means) == 2 and max(means) < 1100 * MIB


def test_without_a_figure_there_are_columns_and_no_lanes(make):
    result = data_of([make.measured(rates=[])])
    assert result.lanes is None
    assert [role.range(result.cases[0].result) for role in result.roles] == ['', '']


@pytest.fixture(scope='module')
def tables(make):
    return {table.title: table for table in overviews(make.metadata().cases, BINARY)}


@pytest.mark.parametrize(
    ('title', 'check', 'role', 'mean'),
    [
        ('Metadata', 'FileMetadata', 'remove', 14000.0),
        ('Listings of directories', 'LargeDirectory', 'again', 900e3),
    ],
)
def test_a_metadata_check_has_its_figures_in_columns(tables, title, check, role, mean):
    case = next(case for case in tables[title].cases if case.plan.case.check == check)
    assert role_of(tables[title], role).means(case.result)[0] == pytest.approx(mean)


def test_the_hint_says_which_metrics_stand_in_a_column_and_each_has_a_lane_but_for_what_is_counted(tables):
    assert 'remove is file_remove, directory_remove or unlink' in tables['Metadata'].hint
    assert (tables['Data'].hint, tables['POSIX semantics'].lanes) == ('', None)
    (row, *_) = tables['Metadata'].lanes['rows']
    assert [lane['y'] for lane in row] == sorted({lane['y'] for lane in row})
    assert len({lane['style'] for lane in row}) == 4


def test_lanes_share_no_scale_between_two_dimensions(make):
    case = make.measured()
    metrics = tuple(replace(one, unit='op/s') if one.name == 'read' else one for one in case.result.metrics)
    result = data_of([make.with_result(case, metrics=metrics)])
    assert [role.unit.name for role in result.roles] == ['MiB/s', 'op/s']
    assert [lane['style'] for lane in result.lanes['rows'][0]] == ['write']


@pytest.mark.parametrize(
    ('cache', 'of_one', 'text'),
    [
        ('cold', '', ''),
        ('cached', '', 'cached'),
        ('cached', 'cold', 'partly cached'),
        ('unknown', '', 'cache unknown'),
    ],
)
def test_the_reads_that_a_cache_may_have_answered_are_told_beside_their_figures(make, cache, of_one, text):
    outcome = data_of([make.measured(cache=cache)])
    result = outcome.cases[0].result
    metrics = [replace(one, cache=of_one or cache) if one.metric == 'read@8MiB' else one for one in result.metrics]
    result = replace(result, metrics=tuple(metrics))
    assert (role_of(outcome, 'read').cache(result), role_of(outcome, 'write').cache(result)) == (text, '')
