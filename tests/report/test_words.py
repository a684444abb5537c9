import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.expectations import AtLeast
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.layout import Layout
from seatrial.model.namespace import TREE, Trees, on_mdts
from seatrial.model.tree import Fact, MetadataTree
from seatrial.model.workload import AccessPattern, Sweep, on_targets, over_layouts, over_osts
from seatrial.report import words
from seatrial.report.contrast import Ratio
from seatrial.report.junit import junit
from seatrial.report.markdown import markdown
from seatrial.report.page import page


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (0.0, '0'),
        (0.5234, '0.523'),
        (5.234, '5.23'),
        (52.34, '52.3'),
        (523.4, '523'),
        (5234.4, '5234'),
        (52340.0, '52\u202f340'),
        (-52.34, '-52.3'),
        (math.inf, '\u2013'),
        (math.nan, '\u2013'),
    ],
)
def test_a_figure_has_three_digits_or_all_before_the_point(value, text):
    assert words.figure(value) == text


@given(st.floats(1e-3, 1e7))
def test_a_figure_is_within_half_a_per_cent_of_its_value(value):
    assert float(words.figure(value).replace('\u202f', '')) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ('value_s', 'text'),
    [
        (466.0, '466 s'),
        (1.234, '1.23 s'),
        (0.466, '466 ms'),
        (3.34e-5, '33.4 \u00b5s'),
        (8e-9, '8.00 ns'),
        (0, '0 ns'),
    ],
)
def test_a_short_time_has_three_digits_and_a_unit(value_s, text):
    assert words.brief(value_s) == text


@pytest.mark.parametrize(
    ('value', 'text'), [(500, '500'), (5000, '5000'), (20_000, '20k'), (2e6, '2M'), (1e9, '1G'), (0.5, '0.500')]
)
def test_a_figure_of_a_narrow_axis_has_a_letter_for_its_zeros(value, text):
    assert words.compact(value) == text


@pytest.mark.parametrize(
    ('found', 'text'),
    [
        (Ratio(1.487, 1.31, 1.674), '1.49 (1.31 - 1.67)'),
        (Ratio(1.487), '1.49'),
        (Ratio(None), 'cannot be told'),
    ],
)
def test_a_ratio_is_told_with_its_interval(found, text):
    assert words.ratio(found) == text


def test_promises_are_counted_and_those_that_do_not_hold_named():
    facts = [Fact('a', True, ''), Fact('b', False, ''), Fact('c', False, ''), Fact('d', None, '')]
    assert words.held(facts) == '1 of 4'
    assert words.not_held(facts) == '; b, c do not; d was not tried'
    assert words.not_held(facts[:1]) == ''


@given(st.text())
def test_clean_text_has_no_character_that_could_hide_or_reorder_text(text):
    forbidden = set('\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x00\x1b\x7f\ufffe\uffff')
    found = words.clean(text)
    assert not forbidden & set(found)
    found.encode('utf-8')


@given(st.text(st.characters(whitelist_categories=('L', 'N', 'P', 'S'))))
def test_clean_text_keeps_letters_figures_and_signs(text):
    assert words.clean(text) == text


def test_what_clean_text_replaces_is_still_seen():
    assert words.clean('a\x1b[31m\u202eb') == 'a\\x1b[31m\\u202eb'


def test_a_share_below_ten_per_cent_has_a_decimal():
    assert (words.percent(0.042), words.percent(0.42)) == ('4.2 %', '42 %')


def test_a_list_names_three_and_counts_the_rest():
    assert words.listed(list('abcde')) == 'a, b, c and 2 more'


@pytest.mark.parametrize(
    ('pattern', 'sentence'),
    [
        (AccessPattern('multiple', 'whole'), 'Every client writes and reads a file of its own'),
        (
            AccessPattern('single', 'whole', operations=('read',)),
            'Every client reads the whole of one shared file',
        ),
        (
            AccessPattern('single', 'segment', 'strided'),
            'Every client writes and reads objects of one shared file, dealt in turn',
        ),
        (AccessPattern('single', 'segment'), 'Every client writes and reads its segment of one shared file'),
        (
            AccessPattern('multiple', 'whole', 'random'),
            'Every client writes and reads a file of its own, in random order',
        ),
        (
            AccessPattern('single', 'segment', 'contiguous', interface='mpiio', collective=True),
            'Every client writes and reads its segment of one shared file, collectively through MPI-IO',
        ),
    ],
)
def test_a_workload_is_told_in_a_sentence(make, pattern, sentence):
    assert words.workload(make.plan(pattern=pattern)) == f'{sentence}, over numbers of objects.'


def test_a_point_stands_on_the_axis_with_its_unit(make):
    plan = make.plan(sweep=Sweep('transfer_size', (4096, 1 << 20), 1 << 26))
    assert [words.point_value(plan, point) for point in plan.points] == ['4 KiB', '1 MiB']


def test_a_pass_without_criteria_says_so(make):
    plan = make.plan()
    session = make.session(make.case(plan, make.records(plan, make.even_rates(plan))))
    assert words.verdict_sentence(session.result) == (
        'The only case ran as planned and can be believed. It was held against no reference and no criterion.'
    )


def test_a_pass_with_references_and_criteria_counts_them(make):
    plan = make.plan()
    at_least = AtLeast(id='L', words='w', source='s', metric='read', than='write', times=1.1)
    references = tuple(Reference(each, 100.0, 0.0, None, 'MiB/s', 'baseline', '2026-11-01') for each in plan.metrics)
    case = make.case(
        plan, make.records(plan, make.even_rates(plan)), Criteria((at_least,), frozenset({'L'}), references)
    )
    session = make.session(case)
    assert session.result.verdict is Verdict.PASS
    assert words.verdict_sentence(session.result).endswith('It meets 6 references and 1 criterion.')


def test_the_worst_verdict_of_a_session_is_told_with_its_number(make):
    assert words.verdict_sentence(make.varied().result).startswith('1 of 6 cases fails: it is proved')


def test_a_relation_that_alone_fails_a_session_is_named(make):
    plan, other = make.plan('One'), make.plan('Other')
    cases = [make.case(each, make.records(each, make.even_rates(each))) for each in (plan, other)]
    pair = AtLeast(id='L', words='one is twice the other', source='s', metric='write', of='Other', times=2.0)
    session = make.session(*cases, criteria={plan.case: Criteria((pair,), frozenset({'L'}))})
    assert [case.verdict for case in session.result.cases] == [Verdict.PASS, Verdict.PASS]
    assert words.verdict_sentence(session.result).endswith('fails: one is twice the other.')


def test_of_several_relations_that_one_is_named_which_decides(make):
    plan, other = make.plan('One'), make.plan('Other')
    cases = [make.case(each, make.records(each, make.even_rates(each))) for each in (plan, other)]
    pair = AtLeast(id='L', words='w', source='s', metric='write', of='Other')
    pairs = tuple(
        replace(pair, id=f'L{times}', words=f'one is {times} times the other', times=times) for times in (0.5, 2.0)
    )
    held = Criteria(pairs, frozenset(each.id for each in pairs))
    session = make.session(*cases, criteria={plan.case: held})
    assert words.verdict_sentence(session.result).endswith('fails: one is 2.0 times the other.')


LEFT_OUT = ('narrowed to A: an acceptance of lab has 3 more cases',)


def test_a_session_that_is_not_the_whole_acceptance_says_so_in_every_form(make):
    plan = make.plan()
    case = make.case(plan, make.records(plan, make.even_rates(plan)))
    session = make.session(case, left_out=LEFT_OUT)
    assert words.verdict_sentence(session.result).endswith('it is not the whole acceptance, so nothing is accepted.')
    for form in (page, markdown, junit):
        assert LEFT_OUT[0] in form(session) and LEFT_OUT[0] not in form(make.session(case))
    suite = ElementTree.fromstring(junit(session)).find('testsuite')
    assert (suite.get('errors'), suite.get('failures')) == ('1', '0')


def test_a_session_without_cases_proves_nothing(make):
    assert words.verdict_sentence(make.session().result) == 'No case was planned, so nothing is proved.'


def test_the_engine_that_measured_is_told_with_those_passed_over(make):
    result = make.varied().result
    assert words.engines(result) == [('fio 3.33', '5 cases'), ('no engine', '1 case')]
    assert words.passed_over(result) == ['ior: not installed (ior)']


def test_what_must_be_said_of_every_case_is_said_once(make):
    plans = [make.plan(name) for name in ('A', 'B')]
    session = make.session(*(make.case(each, make.records(each, make.even_rates(each))) for each in plans))
    shared = words.shared_labels(session.result)
    assert [label.split(':')[0] for label in shared] == ['P16', 'drifting']


def test_one_case_alone_shares_nothing(make):
    plan = make.plan()
    assert words.shared_labels(make.session(make.case(plan, make.records(plan, make.even_rates(plan)))).result) == []


def test_an_engine_whose_version_has_its_name_is_named_once(make):
    assert [name for name, _ in words.engines(make.metadata().result)] == [
        'mdtest 4.0.0',
        'posixops 0.1.0, Python 3.11.2',
        'fio 3.33',
    ]


def test_of_an_engine_that_was_passed_over_for_many_reasons_the_first_is_told(make):
    plan = make.plan()
    records = make.records(plan, make.even_rates(plan))
    start = records.start._replace(passed_over=('ior: not installed (ior)', 'fio: cannot a (x)', 'fio: cannot b (y)'))
    session = make.session(make.case(plan, records._replace(start=start)))
    assert words.passed_over(session.result) == [
        'ior: not installed (ior)',
        'fio: cannot a (x); and 1 reason more, in the cases',
    ]


def test_a_place_is_told_by_what_differs_between_the_cases(make):
    common, where = words.where(make.metadata().cases)
    assert common == 'partition cluster:compute, layout default, 1 node'
    assert set(where.values()) == {'scratch (ext4)', 'fast (tmpfs)', 'vol0 (glusterfs)'}


def test_a_session_on_one_place_has_no_differences(make):
    _, where = words.where(make.varied().cases[:3])
    assert set(where.values()) == {''}


def test_the_file_systems_of_a_session_are_told_with_what_is_mounted(make):
    assert [seen[:2] for seen in words.targets(make.metadata())[:3]] == [
        ('scratch (ext4)', '/scratch/trials'),
        ('fast (tmpfs)', '/fast/trials'),
        ('vol0 (glusterfs)', '/vol0/trials'),
    ]


def test_a_file_system_that_only_some_jobs_have_seen_is_told_once(make):
    assert [seen[:2] for seen in words.targets(make.varied())] == [('scratch (ext4)', '/scratch/trials')]


@pytest.mark.parametrize(
    ('target', 'said'),
    [
        ({'tried': 'Lustre 2.15'}, []),
        ({'type': 'lustre', 'tried': ''}, ['untried: nobody has measured a lustre with this driver yet']),
        ({'tried': 'ext4', 'no_layout': 'no layout: none'}, ['no layout: none']),
    ],
)
def test_what_a_reader_must_know_of_a_type_is_said(make, target, said):
    assert words.remarks(make.plan(**target).target) == said


@pytest.mark.parametrize(
    ('sweep', 'said'),
    [
        (Sweep('transfer_size', (4096,), 1 << 26), 'transfers of 4 KiB'),
        (Sweep('objects', (8,), 1 << 26), '8 objects a client'),
        (Sweep('clients', (2,), 1 << 26, 32), '2 clients'),
    ],
)
def test_a_point_is_told_by_itself(make, sweep, said):
    plan = make.plan(sweep=sweep)
    assert words.point_words(plan, plan.points[0]) == said


WIDE = Layout('wide', -1, 4 << 20)
TREE_ON_EACH = Trees((('files', MetadataTree(files_per_directory=10)),), 'mdt')


@pytest.mark.parametrize(
    ('sweep', 'values', 'points', 'sentence'),
    [
        (
            over_layouts((Layout(), WIDE), 1 << 26, 1 << 20),
            ['default', 'wide'],
            ['layout default', 'layout wide (c-1.S4M)'],
            'Every client writes and reads a file of its own, in each layout.',
        ),
        (
            on_targets(over_osts(1 << 26, 1 << 20), range(2)),
            ['ost0000', 'ost0001'],
            ['ost0000', 'ost0001'],
            'Every client writes and reads a file of its own, on each OST by itself.',
        ),
        (
            on_mdts(TREE_ON_EACH, range(2)),
            ['mdt0000', 'mdt0001'],
            ['mdt0000', 'mdt0001'],
            'Each of 2 clients makes, stats, reads and removes 10 empty files in one shared directory, '
            'on each MDT by itself.',
        ),
    ],
    ids=['layout', 'ost', 'mdt'],
)
def test_layouts_and_targets_have_names(make, sweep, values, points, sentence):
    plan = make.plan(pattern=TREE if isinstance(sweep, Trees) else AccessPattern('multiple', 'whole'), sweep=sweep)
    assert [words.point_value(plan, point) for point in plan.points] == values
    assert [words.point_words(plan, point) for point in plan.points] == points
    assert words.workload(plan) == sentence


def test_a_place_that_several_checks_share_is_said_once():
    assert words.by_place(['A/p:q/fs/default/1n', 'B/p:q/fs/default/1n', 'A/p:q/fs/default/2n']) == [
        'A, B on p:q/fs/default/1n',
        'A on p:q/fs/default/2n',
    ]


def test_the_nodes_are_counted_and_named_in_their_order(make):
    evidence = make.varied()
    cases = []
    for number in (10, 2, 1, 9, 3):
        case = evidence.cases[0]
        start = case.records.start._replace(host=f'n{number}')
        cases.append(replace(case, records=case.records._replace(start=start), samples={}))
    assert words.machines(replace(evidence, cases=cases)) == '5 nodes: n1, n2, n3, n9 and 1 more'
    assert words.machines(replace(evidence, cases=cases[:1])) == 'n10'
    assert words.machines(replace(evidence, cases=[])) == ''
    assert words.kernels(replace(evidence, cases=cases)) == ['Linux 6.1.0']
