"""The tables of all cases: the cases of each table, its columns, and the lanes beside its rows."""

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


def test_an_invalid_metric_is_left_out(make):
    wrong = {'read@8MiB': [Finding('T18', 'invalid', 'too little')]}
    rates = make.even_rates(make.plan()) | {'read@8MiB': [9999.0 * MIB] * 6}
    result = data_of([make.measured(rates=rates, findings=wrong)])
    means = role_of(result, 'read').means(result.cases[0].result)
    assert len(means) == 2 and max(means) < 1100 * MIB


def test_a_table_without_figures_has_columns_but_no_lanes(make):
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


def test_the_hint_names_the_metrics_of_a_column_and_all_columns_but_counts_have_lanes(tables):
    assert 'remove is file_remove, directory_remove or unlink' in tables['Metadata'].hint
    assert (tables['Data'].hint, tables['POSIX semantics'].lanes) == ('', None)
    (row, *_) = tables['Metadata'].lanes['rows']
    assert [lane['y'] for lane in row] == sorted({lane['y'] for lane in row})
    assert len({lane['style'] for lane in row}) == 4


def test_a_column_of_another_dimension_has_no_lane(make):
    case = make.measured()
    metrics = tuple(replace(one, unit='op/s') if one.name == 'read' else one for one in case.result.metrics)
    result = data_of([make.with_result(case, metrics=metrics)])
    assert [role.unit.name for role in result.roles] == ['MiB/s', 'op/s']
    assert [lane['style'] for lane in result.lanes['rows'][0]] == ['write']


@pytest.mark.parametrize(
    ('cache', 'other', 'text'),
    [
        ('cold', '', ''),
        ('cached', '', 'cached'),
        ('cached', 'cold', 'partly cached'),
        ('unknown', '', 'cache unknown'),
    ],
)
def test_reads_that_a_cache_may_have_answered_are_marked_beside_their_figures(make, cache, other, text):
    outcome = data_of([make.measured(cache=cache)])
    result = outcome.cases[0].result
    metrics = [replace(one, cache=other or cache) if one.metric == 'read@8MiB' else one for one in result.metrics]
    result = replace(result, metrics=tuple(metrics))
    assert (role_of(outcome, 'read').cache(result), role_of(outcome, 'write').cache(result)) == (text, '')
