"""The drawing and the table of an isolation sweep."""

import random
import re

import pytest

from builders import SIZE, night, node_plan
from seatrial.judge.outliers import isolation
from seatrial.model.plan import StoppingRule
from seatrial.model.record import Finding, NotTested
from seatrial.model.units import BINARY, MIB
from seatrial.report.drawing.plot import DOT, FULL, OPEN, Curve, Mark
from seatrial.report.session.isolation import MAX_DOTS, MAX_ROWS, SLOWEST, summary, view
from seatrial.report.session.page import page
from seatrial.report.session.summary import markdown
from seatrial.workload.access import data_access

BOTH = data_access('multiple', bytes_per_task=SIZE)


def rates(factors=None, seed=1):
    rng, by_place = random.Random(seed), factors or {}
    return lambda node, phase: rng.gauss(100.0, 1.0) * MIB * by_place.get(node, 1.0)


def shown(nodes=4, factors=None, again=True, **plan):
    swept = node_plan(nodes, **plan)
    records = night(swept, rates(factors), rates(factors, 2) if again else None)
    return view(isolation(swept, records), BINARY)


@pytest.mark.parametrize(
    ('factors', 'again', 'text'),
    [
        ({}, True, 'none of 4 nodes is slow'),
        ({'n3': 0.6}, True, '1 of 4 nodes is slow: n3'),
        ({'n3': 0.6}, False, '1 of 4 nodes is perhaps slow: n3'),
        ({'n3': 0.6, 'n1': 0.5}, True, '2 of 4 nodes are slow: n1, n3'),
    ],
)
def test_the_summary_counts_what_is_named(factors, again, text):
    assert shown(factors=factors, again=again)['summary'] == text


def test_a_healthy_system_has_no_mark_another_sweep_shows_nothing_and_groups_of_places_are_said():
    assert (shown()['chart'].words, view(None, BINARY)) == ('no node is named', None)
    text = shown(factors={'n1': 0.5, 'n2': 0.5, 'n3': 0.5})['summary']
    assert 'the nodes fall into groups: 3 (n1, n2, n3) have ' in text and 'none of' not in text


def test_a_smoke_test_says_why_it_names_nobody():
    plan = node_plan(4, profile='smoke', stopping=StoppingRule(0.1, minimum=4, maximum=4, extra=0, fixed=True))
    isolated = isolation(plan, night(plan, rates()), 'smoke: 4 repetitions, not judged')
    assert summary(isolated) == '4 nodes compared, none judged: smoke: 4 repetitions, not judged'


def test_the_table_has_the_slow_ones_first_with_figures_shares_and_both_measurements():
    table = shown(factors={'n3': 0.6}, workload=BOTH)
    labels = [f'{phase}, {how}' for phase in ('write', 'read') for how in ('all together', 'in groups')]
    assert [(column.label, column.unit.name) for column in table['columns']] == [(label, 'MiB/s') for label in labels]
    first, scores = table['shown'][0], table['shown'][0].scores.values()
    assert (first.name, first.verdict, {score.slow for score in scores}) == ('n3', 'slow', {True})
    assert [score.effect for score in scores] == pytest.approx([0.4] * 4, abs=0.02)


def test_many_places_have_rows_only_as_far_as_they_matter_and_all_that_is_named_has_one():
    shown_ = shown(MAX_DOTS + 50, {'n17': 0.6})['shown']
    assert (len(shown_), shown_[0].name) == (MAX_ROWS, 'n17')
    slow = {f'n{number}': 0.5 for number in range(1, 2 * MAX_ROWS)}
    assert {place.name for place in shown(300, slow)['shown']} == set(slow)


def parts_of(chart, kind):
    return [part for part in chart.parts if isinstance(part, kind)]


@pytest.mark.parametrize(('nodes', 'dots'), [(10, 10), (MAX_DOTS, MAX_DOTS), (MAX_DOTS + 1, SLOWEST)])
def test_of_many_places_only_quantiles_and_the_slowest_are_drawn(nodes, dots):
    chart = shown(nodes, {'n3': 0.6})['chart']
    lines = parts_of(chart, Curve)
    assert len(parts_of(chart, Mark)) == dots * len(lines)
    for (stroke,) in (line.strokes for line in lines):
        assert len(stroke) == (nodes if nodes <= MAX_DOTS else 9)
        assert stroke == sorted(stroke) and [share for _, share in stroke] == sorted(share for _, share in stroke)


@pytest.mark.parametrize(('again', 'form'), [(True, FULL), (False, OPEN)])
def test_what_is_named_has_a_mark_of_its_own_below_the_line_of_the_effect(again, form):
    chart = shown(factors={'n3': 0.6}, again=again)['chart']
    marked = [mark for mark in parts_of(chart, Mark) if mark.form != DOT]
    assert {(mark.form, mark.label) for mark in marked} == {(form, 'slow' if again else 'may be slow')}
    assert all(mark.figure < chart.parts[0].at and mark.words.startswith('n3, write') for mark in marked)
    assert 'n3' in chart.words


def test_the_page_shows_the_slow_node_and_those_that_were_not_tested(make):
    plan = node_plan(4, workload=BOTH)
    lost = (NotTested('n5', 'drained*', 'bad <disk>'), NotTested('n6', 'allocated', ''))
    records = night(plan, rates({'n3': 0.6}), rates({'n3': 0.6}, 2), not_tested=lost)
    sweep_page = page(make.session(make.case(plan, records)))
    row = re.search(r'<tr class="named">.*?</tr>', sweep_page, re.DOTALL).group(0)
    assert re.search(r'>n3</th><td>slow</td>\s*<td class="n"><strong>6\d\.\d</strong><small>6\d %</small>', row)
    assert re.search(r'write (59|60|61) %, read (59|60|61) %</td>', row)
    assert '1 of 4 nodes is slow: n3.' in sweep_page and 'node n3 is slow: ' in sweep_page
    assert 'n5: drained*, bad &lt;disk&gt;' in sweep_page and 'n6: allocated' in sweep_page
    assert sweep_page.count('<svg class="curve wide"') == 1


def test_a_suspected_target_is_what_the_head_of_the_page_says_of_its_case(make):
    plan = node_plan(4, workload=BOTH)
    records = night(plan, rates({'n3': 0.6}))
    wrong = tuple(Finding(rule, 'invalid', 'it took 0.1 s') for rule in ('T19', 'T21'))
    shown = page(make.session(make.case(plan, records._replace(end=records.end._replace(findings=wrong)))))
    row = re.findall('<tr class="why">(.*?)</tr>', shown, re.DOTALL)[0]
    assert 'node n3 may be slow: ' in row and 'and 2 more' in row and not re.search('T19|T21', row)
    assert 'node n3 may be slow: ' in shown.partition('</header>')[0]


def test_the_head_of_page_and_summary_names_the_slow_and_nobody_who_was_cleared(make):
    plan = node_plan(4)
    kinds = {}
    for again in (0.6, 1.0):
        session = make.session(make.case(plan, night(plan, rates({'n3': 0.6}), rates({'n3': again}, 2))))
        heads = page(session).partition('</header>')[0], markdown(session).partition('- Site')[0]
        kinds[again] = ['node n3' in head for head in heads]
    assert kinds == {0.6: [True, True], 1.0: [False, False]}
