"""Which layout to take: the best one, all that are not told apart from it, and what the default loses; and maps."""

from dataclasses import replace

import pytest

from seatrial.filesystem.lustre.layout import ALL, progressive, striped
from seatrial.model.layout import Layout
from seatrial.model.metric import LOWER
from seatrial.model.record import Finding
from seatrial.model.units import BINARY, MIB
from seatrial.report.session.layouts import SHADES, choices, recommendations, surfaces
from seatrial.report.session.page import page
from seatrial.report.session.summary import markdown
from seatrial.workload.access import data_access
from seatrial.workload.registry import planned_metrics
from seatrial.workload.reuse import file_reuse
from seatrial.workload.sweep import Sweep, surface, tasks_by_sizes
from seatrial.workload.tree import metadata_tree

WIDE, NARROW = striped('wide', ALL, '4MiB'), striped('narrow', 1, '1MiB')
GROWS = progressive('pfl', {'end': '4MiB', 'stripe_count': 1}, {'stripe_count': ALL})
LAYOUTS = (Layout(), NARROW, WIDE, GROWS)
WRONG = Finding('P5a', 'invalid', 'not the layout that was asked for: stripe count 3 instead of 4')
MEANS = {'default': 600.0, 'narrow': 300.0, 'wide': 1000.0, 'pfl': 800.0}
MAP = tuple(striped(f'c{count}-{size}', count, f'{size}KiB') for count in (1, 4, ALL) for size in (64, 1024))


def case(make, means, layouts=LAYOUTS, findings=None, **changes):
    """means: of writes by layout, MiB/s; reads are twice as fast in any of them."""
    plan = make.plan('Layouts', sweep=Sweep('layout', layouts), **changes)
    rates = {f'write@{name}': make.scattered(mean * MIB) for name, mean in means.items()}
    rates |= {f'read@{name}': make.scattered(2 * mean * MIB) for name, mean in means.items()}
    return make.case(plan, make.records(plan, rates, findings))


def chosen(one):
    return choices(one.plan, one.result, BINARY)[0]


def test_the_best_layout_is_named_with_its_figure_what_the_default_loses_and_all_that_is_not_told_apart(make):
    result = chosen(case(make, MEANS))
    assert (result['best'].label, result['best'].words, result['alike']) == ('wide', 'wide (c-1.S4M)', ())
    sentence = f'write: wide (c-1.S4M) is the best with 1000 MiB/s; the default has {result["default_words"]}'
    assert result['sentence'] == sentence and result['default_words'].startswith('40 % less (')
    result = chosen(case(make, MEANS | {'pfl': 999.0}))
    assert [option.label for option in result['alike']] == ['pfl']
    assert 'has the best mean with 1000 MiB/s; pfl is not distinguishable from it' in result['sentence']


def test_the_name_and_the_pool_of_a_layout_keep_their_case(make):
    """A pool is found by its name as it is."""
    layouts = (Layout(), striped('WiDe', ALL, '4MiB', pool='FlasH'))
    session = make.session(case(make, {'default': 600.0, 'WiDe': 1000.0}, layouts))
    for text in (chosen(session.cases[0])['best'].words, page(session), markdown(session)):
        assert 'WiDe (c-1.S4M.pFlasH)' in text


@pytest.mark.parametrize(
    ('mean', 'sentence', 'default'),
    [
        (1200.0, 'no layout is better than the default', 'is the best'),
        (999.0, 'no layout is proved to be better than the default; wide (c-1.S4M) has', 'not distinguishable'),
        (None, 'wide (c-1.S4M) is the best with', 'not measured'),
    ],
)
def test_no_layout_is_called_better_than_a_default_that_it_is_not(make, mean, sentence, default):
    layouts = LAYOUTS if mean else (NARROW, WIDE)
    means = {layout.name: MEANS[layout.name] for layout in layouts} | ({'default': mean} if mean else {})
    result = chosen(case(make, means, layouts))
    assert result['sentence'].startswith(f'write: {sentence}') and result['default_words'] == default


def test_a_layout_that_is_invalid_is_not_chosen(make):
    assert chosen(case(make, MEANS, findings={'write@wide': [WRONG]}))['best'].label == 'pfl'


def test_one_layout_alone_is_no_choice_and_a_smoke_test_recommends_nothing(make):
    for one in (case(make, {}), case(make, {'wide': 1000.0})):
        assert choices(one.plan, one.result, BINARY) == [] and recommendations([one], BINARY) == []
    one = case(make, {'default': 600.0, 'wide': 1000.0}, fixed=True)
    (result,) = recommendations([one], BINARY)
    assert result['unjudged']
    assert 'is the best' not in markdown(make.session(one))
    assert 'No layout is recommended' in page(make.session(one))


def test_stripe_counts_and_sizes_make_a_map(make):
    means = {layout.name: 100.0 * (place + 1) for place, layout in enumerate(MAP)}
    (result,) = recommendations([case(make, {'default': 50.0, **means}, (Layout(), *MAP))], BINARY)
    (writes, _) = result['maps']
    assert (writes.name, writes.columns) == ('write', ('S64k', 'S1M'))
    assert [count for count, _ in writes.rows] == ['c1', 'c4', 'c-1']
    fields = [field for _, row in writes.rows for field in row]
    assert [round(field.summary.mean / MIB) for field in fields] == [100, 200, 300, 400, 500, 600]
    assert [field.best for field in fields] == [False] * 5 + [True]


def test_metadata_in_layouts_is_recommended_by_rates(make):
    tree = metadata_tree(files_per_directory=1000, bytes_per_file=3901, scales=True)
    dom = progressive('dom', {'end': '64KiB', 'on_mdt': True}, {'stripe_count': 1})
    plan = make.plan('Dom', tree, Sweep('layout', (Layout(), dom)))
    rates = {name: make.scattered(3000.0 if '@dom' in name else 1000.0) for name in planned_metrics(plan)}
    one = make.measured(plan, rates)
    (result,) = recommendations([one], BINARY)
    assert {(choice['best'].label, choice['unit'].name) for choice in result['choices']} == {('dom', 'op/s')}
    assert 'in each layout' in result['sentence']


def test_of_a_metric_that_is_better_lower_the_lowest_is_the_best(make):
    one = case(make, MEANS)
    lower = tuple(replace(metric, better=LOWER) for metric in one.result.metrics)
    result = choices(one.plan, replace(one.result, metrics=lower), BINARY)[0]
    assert result['best'].label == 'narrow' and result['default_words'].startswith('100 % more (')


# Maps over file sizes and transfer sizes


SURFACE = surface(('16MiB', '64MiB'), ('64KiB', '1MiB'))
SIZED = {'16MiB-64KiB': 100.0, '16MiB-1MiB': 200.0, '64MiB-64KiB': 400.0, '64MiB-1MiB': 300.0}
ONE_TASK = file_reuse(('write',), tasks=1, scales=False)


def sized(make, means, sweep=SURFACE, workload=ONE_TASK, **changes):
    rates = {f'write@{label}': [mean * MIB * (1 + 0.001 * n) for n in range(6)] for label, mean in means.items()}
    return make.measured(make.plan('Surface', workload, sweep, **changes), rates)


def test_rows_are_file_sizes_and_columns_transfer_sizes_and_the_largest_mean_is_the_darkest(make):
    (result,) = surfaces([sized(make, SIZED)], BINARY)
    (drawn,) = result['maps']
    assert (drawn.name, drawn.columns) == ('write', ('64KiB', '1MiB'))
    rows = {row: [(round(field.summary.mean / MIB), field.shade) for field in fields] for row, fields in drawn.rows}
    assert rows == {'16MiB': [(100, 1), (200, 2)], '64MiB': [(401, SHADES - 1), (301, 3)]}


def test_what_was_not_measured_is_an_empty_field_and_a_smoke_test_says_nothing(make):
    known = {label: mean for label, mean in SIZED.items() if label != '16MiB-1MiB'}
    one = sized(make, known, fixed=True)
    (result,) = surfaces([one], BINARY)
    empty = [field.summary is None for _, row in result['maps'][0].rows for field in row]
    assert empty == [False, True, False, False]
    assert 'by file size and transfer size' in page(make.session(one))


@pytest.mark.parametrize('sizes', [(('16MiB',), ('64KiB', '1MiB')), (('16MiB', '64MiB'), ('64KiB',))])
def test_where_one_of_them_does_not_vary_there_is_no_map(make, sizes):
    means = {label: 100.0 for label, _ in surface(*sizes).values}
    assert surfaces([sized(make, means, surface(*sizes))], BINARY) == []


def test_numbers_of_tasks_are_columns_too(make):
    means = {'1task-16MiB': 100.0, '1task-64MiB': 200.0, '2tasks-16MiB': 150.0, '2tasks-64MiB': 120.0}
    sweep, workload = tasks_by_sizes((1, 2), ('16MiB', '64MiB')), data_access('multiple', operations=('write',))
    (result,) = surfaces([sized(make, means, sweep, workload)], BINARY)
    drawn = result['maps'][0]
    assert drawn.columns == ('1 task', '2 tasks') and [row for row, _ in drawn.rows] == ['16MiB', '64MiB']
    assert drawn.by == 'by file size and number of tasks'
