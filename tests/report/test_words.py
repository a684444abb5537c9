"""The sentences of a report."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import MFWA
from seatrial.judge.expectations import CurveRatio
from seatrial.judge.references import Reference, judge_reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.layout import Layout
from seatrial.model.metric import Fact
from seatrial.model.record import Provenance
from seatrial.model.units import MIB
from seatrial.report import words
from seatrial.report.figures import Unit
from seatrial.report.junit import junit
from seatrial.report.session.page import page
from seatrial.report.session.summary import markdown
from seatrial.workload.access import data_access
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import planned_metrics
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

FILES = metadata_tree(files_per_directory=1000, scales=True)


def test_guarantees_are_counted_and_those_that_do_not_hold_named():
    facts = [Fact('a', True, ''), Fact('b', False, ''), Fact('c', False, ''), Fact('d', None, '')]
    assert words.held(facts) == '1 of 4'
    assert words.not_held(facts) == '; b, c do not; d was not tried'
    assert words.not_held(facts[:1]) == ''


@given(st.text())
def test_clean_text_has_no_character_that_could_hide_or_reorder_text(text):
    forbidden = set('\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x00\x1b\x7f\ufffe\uffff')
    result = words.clean(text)
    assert not forbidden & set(result)
    result.encode('utf-8')


@given(st.text(st.characters(whitelist_categories=('L', 'N', 'P', 'S'))))
def test_clean_text_keeps_letters_figures_and_signs(text):
    assert words.clean(text) == text


@pytest.mark.parametrize(
    ('items', 'text'), [('abc', 'a, b, c'), ('abcd', 'a, b, c, d'), ('abcde', 'a, b, c and 2 more')]
)
def test_a_list_names_three_and_counts_the_rest_but_never_a_single_one(items, text):
    assert words.listed(list(items)) == text
    assert words.cut(list(items), 3, ' there')[3:] == {3: [], 4: ['d'], 5: ['and 2 more there']}[len(items)]


TRANSFERS = Sweep('transfer_size', (4096, MIB))


@pytest.mark.parametrize(
    ('workload', 'sweep', 'sentence'),
    [
        (MFWA, TRANSFERS, 'Every task writes and reads a file of its own, over transfer sizes.'),
        (MFWA, Sweep('transfer_size', (4096,)), 'Every task writes and reads a file of its own.'),
        (
            data_access('single', 'segment', 'strided'),
            Sweep('tasks', (1, 2)),
            'Every task writes and reads blocks of one shared file, dealt round-robin, over numbers of tasks.',
        ),
        (
            FILES,
            Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'}))),
            'Each of 8 tasks makes, stats, reads and removes 1000 empty files in one shared directory or in a '
            'directory of its own.',
        ),
        (
            listing(891, (0.5, 1.0)),
            Sweep('entries', (891,)),
            'One task lists a directory of 891 files with all attributes, four times in a row and again after '
            '0.5 and 1 s without a call.',
        ),
    ],
)
def test_a_case_is_told_in_a_sentence(make, workload, sweep, sentence):
    plan = make.plan('Check', workload, sweep, tasks=8)
    assert words.sentence(make.measured(plan, [])) == sentence


def test_numbers_in_the_sentence_are_those_that_were_launched(make):
    plan = make.plan('Check', FILES, Sweep('tree', (('shared', {}),)), tasks=8)
    plan = plan._replace(sizing=plan.sizing._replace(first=23_000))
    case = make.measured(plan, make.tree_rates(plan))
    assert 'removes 23\u202f000 empty files in one' in words.sentence(case)
    assert words.share(case) == '23\u202f000 files'
    assert words.totals(case) == [('', '184\u202f000 empty files in 1 directory')]


def test_what_is_on_disk_is_told_of_every_point_where_it_differs(make):
    totals = words.totals(make.measured(make.plan(sweep=Sweep('tasks', (1, 2)))))
    assert totals == [('1task', '1 file of 64 MiB'), ('2tasks', '2 files of 64 MiB (128 MiB)')]


@pytest.mark.parametrize(
    ('workload', 'sweep', 'value', 'text'),
    [
        (MFWA, TRANSFERS, '4 KiB', 'bytes per transfer: 4 KiB'),
        (MFWA, Sweep('tasks', (2,)), '2', 'tasks: 2'),
        (listing(10), Sweep('entries', (10_000,)), '10\u202f000', 'files in the directory: 10\u202f000'),
        (posix_operations(10, 0), Sweep('tree', (('shared', {}),)), 'shared', 'shared'),
        (MFWA, Sweep('layout', (Layout(),)), 'default', 'default'),
        (MFWA, Sweep('layout', (Layout('wide', 'lustre', ('c-1', 'S4M')),)), 'wide', 'wide (c-1.S4M)'),
    ],
)
def test_a_point_is_told_on_its_axis_and_by_itself(make, workload, sweep, value, text):
    plan = make.plan('Check', workload, sweep)
    assert words.point_value(plan.axis, plan.points[0]) == value
    assert words.point_words(plan.axis, plan.points[0]) == text


@pytest.mark.parametrize(
    ('sweep', 'changes', 'text'),
    [
        (TRANSFERS, {}, 'layout default'),
        (TRANSFERS, {'layout': Layout('all', 'lustre', ('c-1',))}, 'layout c-1'),
        (Sweep('layout', (Layout(), Layout('wide', 'lustre', ('c-1', 'S4M')))), {}, '2 layouts'),
    ],
)
def test_the_layout_of_a_case_is_among_its_first_facts(make, sweep, changes, text):
    assert text in words.facts(make.measured(make.plan('Check', MFWA._replace(**changes), sweep)))


def reference_of(metric):
    return Reference(metric, 100.0 * MIB, 0.0, None, 'MiB/s', 'baseline', '2026-11-01')


def test_a_pass_beside_cases_that_were_compared_with_nothing_counts_them(make):
    wanted = Criteria(references=(reference_of('read@8MiB'),))
    cases = make.measured(make.plan('One'), criteria=wanted), make.measured(make.plan('Other'))
    result = make.session(*cases).result
    assert [result.verdict, *(case.verdict for case in result.cases)] == ['PASS', 'PASS', 'MEASURED']
    text = 'Both cases ran as planned and are valid. They meet 1 reference. 1 of them has no pass criterion.'
    assert words.verdict_sentence(result) == text
    text = '1 case measured and valid; no pass criterion is set for the profile nightly.'
    assert words.verdict_sentence(make.session(cases[1]).result) == text


def test_a_pass_with_references_and_criteria_counts_them(make):
    at_least = CurveRatio(id='L', words='w', source='s', metric='read', than='write', lowest=1.1)
    references = tuple(map(reference_of, planned_metrics(make.plan())))
    result = make.session(make.measured(criteria=Criteria((at_least,), frozenset({'L'}), references))).result
    assert result.verdict is Verdict.PASS
    assert words.verdict_sentence(result).endswith('It meets 6 references and 1 criterion.')


def test_of_several_relations_that_one_is_named_which_decides(make):
    cases = [make.measured(make.plan(check)) for check in ('One', 'Other')]
    pair = CurveRatio(id='L', words='w', source='s', metric='write', of='Other')
    pairs = [replace(pair, id=f'L{n}', words=f'one is {n} times the other', lowest=n) for n in (0.5, 2.0)]
    held = Criteria(tuple(pairs), frozenset(pair.id for pair in pairs))
    session = make.session(*cases, criteria={cases[0].plan.case: held})
    assert words.verdict_sentence(session.result).endswith('fails: one is 2.0 times the other.')


LEFT_OUT = ('narrowed to A: an acceptance of lab has 3 more cases',)


def test_a_session_that_is_not_whole_says_so_in_every_form(make):
    case = make.measured()
    session = make.session(case, left_out=LEFT_OUT)
    assert words.verdict_sentence(session.result).endswith('incomplete, so nothing is accepted.')
    for form in (page, markdown, junit):
        assert LEFT_OUT[0] in form(session) and LEFT_OUT[0] not in form(make.session(case))
    suite = ElementTree.fromstring(junit(session)).find('testsuite')
    assert (suite.get('errors'), suite.get('failures')) == ('1', '0')


@pytest.mark.parametrize(
    ('program', 'build', 'modules', 'lines'),
    [
        ('/apps/ior', 'spack:l7f4hbh6', ('mpich/4', 'site/ior/4.0'), ['ior: Spack l7f4hbh, module site/ior/4.0']),
        ('/apps/mdtest', 'spack:l7f4hbh6', (), ['ior: Spack l7f4hbh']),
        ('/apps/ior', f'sha256:{"0a" * 32}', ('IOR/4.0',), ['ior: SHA-256 0a0a0a0a0a0a, module IOR/4.0']),
        ('/usr/bin/ior', f'sha256:{"0a" * 32}', ('mpich/4',), []),
    ],
)
def test_the_first_page_has_the_installation_and_the_module_of_an_engine(make, program, build, modules, lines):
    session = make.session(make.measured(program=program, provenance=Provenance(build, modules=modules)))
    assert words.builds(session) == lines
    assert all(f'<small>{line}</small>' in page(session).split('</header>')[0] for line in lines)


@pytest.mark.parametrize(
    ('labels', 'text'),
    [
        (('P2: cached', 'P16: short', 'P16: small', 'P16: short'), [('P16: short', 2, 1), ('P2: cached', 1, 0)]),
        (('P16: 1.0 s is short', 'P16: 0.4 s is short'), [('P16: 0.4 to 1.0 s is short', 2, 0)]),
        (('P2: only 81 % of file 3', 'P2: only 25 % of file 4'), [('P2: only 81 % of file 3', 1, 1)]),
    ],
)
def test_caveats_are_counted_by_their_rule_with_the_range_of_their_figures(make, labels, text):
    labelled = zip(make.varied().cases, labels, strict=False)
    cases = [make.with_result(case, labels=(label,)) for case, label in labelled]
    result = words.caveats(make.session(*cases).result)
    assert [(label, len(names), others) for label, names, others in result] == text


def test_of_an_engine_that_was_skipped_for_many_reasons_the_first_is_told(make):
    reasons = ('ior: not installed (ior)', 'fio: cannot a (x)', 'fio: cannot b (y)')
    skipped = words.skipped(make.session(make.measured(skipped=reasons)).result)
    assert skipped == [reasons[0], 'fio: cannot a (x); and 1 reason more, in the cases']


@pytest.mark.parametrize(
    ('tried', 'text'), [('', 'untried: this driver has never been run on a real posix'), ('ext4', '')]
)
def test_a_driver_that_nobody_has_tried_is_named(make, tried, text):
    session = make.session(make.measured(make.plan(tried=tried)))
    assert words.targets(session) == [('scratch (ext4)', '/scratch/trials', text)]


def test_the_nodes_are_counted_and_named_in_their_order(make):
    cases = [replace(make.measured(host=f'n{number}'), samples={}) for number in (10, 2, 1, 9, 3)]
    assert words.machines(make.session(*cases)) == '5 nodes: n1, n2, n3, n9, n10'
    assert words.machines(make.session(cases[0])) == 'n10'
    assert words.machines(make.session()) == ''
    assert words.kernels(make.session(*cases)) == ['Linux 6.1.0']


@pytest.mark.parametrize(
    ('unit', 'value', 'low', 'high', 'text', 'other'),
    [
        ('GB/s', 500e9, -0.1, None, 'at least 450 GB/s', 'at least 419 GiB/s'),
        ('GiB/s', 2.0 * 1024 * MIB, None, 0.5, 'at most 3.00 GiB/s', 'at most 3.22 GB/s'),
        ('MB/s', 700e6, -0.2, 0.2, '560 \u2013 840 MB/s', '534 \u2013 801 MiB/s'),
        ('op/s', 40e3, -0.1, None, 'at least 36\u202f000 op/s', None),
        ('ms', 0.002, None, 0.0, 'at most 2.00 ms', None),
    ],
)
def test_a_reference_is_shown_as_written_and_a_bandwidth_in_the_other_system_too(unit, value, low, high, text, other):
    result = judge_reference(Reference('m@p', value, low, high, unit, 'contract', '2026-11-01'), (), 'fio')
    assert words.bounds(result, Unit(unit)) == text
    shown = words.other_unit(result)
    assert (words.bounds(result, shown) if shown else None) == other


def test_the_repetitions_that_were_done_are_told_beside_those_that_were_planned(make):
    plan = make.plan(fixed=True)
    figures = {name: (4 if name.endswith('2MiB') else 1) * [1e9] for name in planned_metrics(plan)}
    text = words.repetitions(make.measured(plan, figures))
    assert text == f'{words.stopping(plan)}; done: 1 to 4 (time budget exhausted)'


def test_an_engine_whose_version_has_its_name_is_named_once(make):
    names = [name for name, _ in words.engines(make.metadata().result)]
    assert names == ['mdtest 4.0.0', 'posixops 0.1.0, Python 3.11.2', 'fio 3.33']
