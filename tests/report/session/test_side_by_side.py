from dataclasses import replace

import pytest

from seatrial.model.metric import LOWER, Fact
from seatrial.model.record import Finding, Provenance
from seatrial.model.units import BINARY, DECIMAL
from seatrial.report.session.side_by_side import MAX_COLUMNS, beside, guarantees_beside
from seatrial.workload.sweep import Sweep, powers_of_two

WRONG = Finding('T17a', 'invalid', 'after create there are 3 files, not 2000')
MOUNTS = {'scratch': 'ext4', 'fast': 'tmpfs', 'vol0': 'fuse.glusterfs'}


@pytest.fixture(scope='module')
def session(make):
    return make.metadata()


def trees_on(make, factors, **more):
    """A case on each of these file systems."""
    cases = []
    for name, factor in factors.items():
        plan = make.plan('FileMetadata', make.FILES, make.TREES, tasks=8, name=name, type='posix')
        mount = f'/dev/x on / type {MOUNTS[name]} (rw)'
        cases.append(make.measured(plan, make.tree_rates(plan, factor), mount=mount, **more))
    return cases


def cells_of(band, group=0):
    """By place and column."""
    return {
        (place['name'], column): cell
        for place, cells in band['groups'][group]['rows']
        for column, cell in zip(band['columns'], cells, strict=True)
    }


def test_only_checks_that_ran_on_several_file_systems_are_compared(make, session):
    checks = ['FileMetadata', 'FdtreePrivate', 'AttributeCache', 'LargeDirectory', 'PosixOperations']
    assert [view['check'] for view in beside(session.cases, BINARY)] == checks
    assert beside(trees_on(make, {'scratch': 1.0}), BINARY) == []


def test_every_metric_of_every_point_has_a_cell_for_every_file_system(session):
    result = beside(session.cases, BINARY)[0]
    (band,) = result['bands']
    assert band['columns'] == ('file_create', 'file_stat', 'file_read', 'file_remove')
    assert [group['label'] for group in band['groups']] == ['shared', 'private']
    places = [(place['name'], place['kind'], place['detail']) for place, _ in band['groups'][0]['rows']]
    assert places == [('scratch', 'ext4', ''), ('fast', 'tmpfs', ''), ('vol0', 'glusterfs', '')]
    assert result['common'] == 'mdtest 4.0.0'
    metric = cells_of(band, 1)['vol0', 'file_read']['metric']
    assert (metric.metric, round(metric.summary.mean)) == ('file_read@private', 1800)


def test_the_share_is_that_of_the_best_in_the_column_and_intervals_that_overlap_tell_nothing_apart(make, session):
    cells = cells_of(beside(session.cases, BINARY)[0]['bands'][0])
    creates = [cells[name, 'file_create'] for name in ('scratch', 'fast', 'vol0')]
    assert [cell['share'] for cell in creates] == pytest.approx([0.25, 1.0, 0.0075])
    assert [cell['best'] for cell in creates] == [False, True, False]
    cells = cells_of(beside(trees_on(make, {'scratch': 1.0, 'fast': 1.001, 'vol0': 0.5}), BINARY)[0]['bands'][0])
    assert [cells[name, 'file_stat']['like_best'] for name in ('scratch', 'fast', 'vol0')] == [True, False, False]


def test_what_is_invalid_or_never_ran_keeps_its_row_and_is_neither_the_best_nor_compared(make):
    (good,), (bad,) = (
        trees_on(make, {name: factor}, findings=findings)
        for name, factor, findings in (('scratch', 1.0, {}), ('fast', 9.0, {'create@shared': [WRONG]}))
    )
    for other, verdict in ((bad, 'INVALID'), (make.measured(bad.plan, []), 'INCOMPLETE')):
        cells = cells_of(beside([good, other], BINARY)[0]['bands'][0])
        broken = cells['fast', 'file_create']
        assert (broken['share'], broken['metric'].verdict.value) == (None, verdict)
        assert cells['scratch', 'file_create']['best']


def test_cold_and_cached_figures_are_named_where_they_stand_in_one_column(make):
    cold, warm = trees_on(make, {'scratch': 1.0}), trees_on(make, {'fast': 1.0}, cache='cached')
    cells = cells_of(beside([*cold, *warm], BINARY)[0]['bands'][0])
    assert [cells[name, 'file_stat']['cache'] for name in ('scratch', 'fast')] == ['cold', 'cached']
    assert [cells[name, 'file_create']['cache'] for name in ('scratch', 'fast')] == ['', '']
    both = cells_of(beside(trees_on(make, {'scratch': 1.0, 'fast': 1.0}, cache='cached'), BINARY)[0]['bands'][0])
    assert {cell['cache'] for cell in both.values()} == {''}


def test_of_repeated_listings_only_the_first_is_called_cold(session):
    result = next(view for view in beside(session.cases, BINARY) if view['check'] == 'AttributeCache')
    cells = cells_of(result['bands'][0])
    caches = {name: [cells[name, f'{n} listing']['cache'] for n in ('1st', '2nd')] for name in MOUNTS}
    assert caches == {'scratch': ['cold', ''], 'fast': ['cached', ''], 'vol0': ['cached', '']}


def test_many_metrics_stand_in_bands_of_about_equal_width(session):
    result = next(view for view in beside(session.cases, BINARY) if view['check'] == 'PosixOperations')
    assert [len(band['columns']) for band in result['bands']] == [MAX_COLUMNS, 7]


def test_the_points_of_a_sweep_are_the_columns_and_its_metrics_the_groups(make):
    plan = make.plan(sweep=Sweep('transfer_size', powers_of_two('2MiB', '32MiB')))
    names = ('scratch', 'fast')
    cases = [make.measured(plan._replace(case=plan.case._replace(file_system=name))) for name in names]
    (views,) = beside(cases, BINARY)
    assert views['unit'] == 'MiB/s' and beside(cases, DECIMAL)[0]['unit'] == 'MB/s'
    assert views['bands'][0]['columns'] == ('2 MiB', '4 MiB', '8 MiB', '16 MiB', '32 MiB')
    assert [group['label'] for group in views['bands'][0]['groups']] == ['write', 'read']


def test_a_layout_is_an_environment_of_its_own(make):
    (one,) = trees_on(make, {'scratch': 1.0})
    plan = one.plan._replace(case=one.plan.case._replace(layout='wide'))
    other = make.measured(plan, make.tree_rates(plan))
    (views,) = beside([one, other], BINARY)
    assert [place['kind'] for place, _ in views['bands'][0]['groups'][0]['rows']] == ['ext4', 'ext4, wide']


def test_another_engine_is_said_before_it_is_compared_and_its_build_is_no_news(make):
    start = {'engine': ('mdtest', '4.0.0'), 'provenance': Provenance('sha256:1')}
    (views,) = beside([*trees_on(make, {'scratch': 1.0}), *trees_on(make, {'fast': 1.0}, **start)], BINARY)
    assert views['common'] == '' and views['differing'].startswith('Measured with fio 3.33, mdtest 4.0.0')
    assert "engine's build" not in views['differing']
    details = [place['detail'] for place, _ in views['bands'][0]['groups'][0]['rows']]
    assert details == ['fio 3.33', 'mdtest 4.0.0']


def test_what_else_was_not_measured_with_alike_is_said_before_it_is_compared(make):
    one, other = trees_on(make, {'scratch': 1.0, 'fast': 1.0})
    start = {'kernel': '6.2', 'provenance': Provenance('sha256:1', 'Open MPI 4.1.4')}
    (unlike,) = trees_on(make, {'fast': 1.0}, **start)
    assert beside([one, other], BINARY)[0]['differing'] == ''
    assert beside([one, unlike], BINARY)[0]['differing'] == "Not measured with the same kernel, MPI, engine's build."


def test_guarantees_that_do_not_hold_everywhere_are_beside_each_other(session):
    (result,) = guarantees_beside(session.cases)
    assert [place['name'] for place in result['environments']] == ['scratch', 'fast', 'vol0']
    assert [(name, [fact.holds for fact in facts]) for name, facts in result['rows']] == [
        ('flock', [True, True, False]),
        ('direct_io', [None, None, None]),
    ]
    assert result['alike'] == 1


def test_what_calls_break_while_they_are_timed_is_beside_what_they_keep_elsewhere(make):
    facts = [(Fact('appends_whole', holds, ''),) for holds in (True, False)]
    cases = trees_on(make, {'scratch': 1.0, 'fast': 4.0})
    known = [make.with_result(case, facts=fact) for case, fact in zip(cases, facts, strict=True)]
    (result,) = guarantees_beside(known)
    ((name, (first, second)),) = result['rows']
    assert (name, first.holds, second.holds) == ('appends_whole', True, False)
    assert guarantees_beside(cases) == []


def test_where_no_guarantee_was_tried_makes_no_difference(make, session):
    one, other = [case for case in session.cases if case.plan.case.check == 'PosixSemantics'][:2]
    (result,) = guarantees_beside([one, make.with_result(other, facts=())])
    assert [(name, facts[1]) for name, facts in result['rows']] == [('direct_io', None)]


def test_of_a_metric_that_is_better_lower_the_lowest_is_the_best(make):
    cases = [
        make.with_result(case, metrics=tuple(replace(metric, better=LOWER) for metric in case.result.metrics))
        for case in trees_on(make, {'scratch': 1.0, 'fast': 4.0})
    ]
    cells = cells_of(beside(cases, BINARY)[0]['bands'][0])
    slow, fast = (cells[name, 'file_create, lower is better'] for name in ('scratch', 'fast'))
    assert (slow['best'], fast['best'], fast['share']) == (True, False, pytest.approx(0.25))
