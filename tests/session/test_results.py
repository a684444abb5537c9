"""The table at the end of a session, and results.json, of data and of metadata."""

import dataclasses
import io
import json
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from builders import FLAT, FLAT_TREE, GUARANTEES, night, node_plan, plan_of, records_of
from seatrial.check.session import Session
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.references import Reference, judge_reference
from seatrial.judge.relations import Relation
from seatrial.judge.session import SessionResult, judge_session
from seatrial.judge.statistics import group_rates, summary
from seatrial.judge.verdict import Verdict
from seatrial.model.metric import TaskTime
from seatrial.model.plan import NodeGroup
from seatrial.model.record import Finding
from seatrial.model.state import Change
from seatrial.model.units import MIB
from seatrial.report.headline import headline_of
from seatrial.session import after_session
from seatrial.session.results import show, write_results
from seatrial.site.load import load
from seatrial.site.profile import PROFILES
from seatrial.workload.registry import planned_metrics
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep

DATA = judge_case(plan_of(), records_of(plan_of(), 6 * [100.0 * MIB]))
TWO = plan_of(posix_semantics(tasks=2), Sweep('tree', (('two', {}),)))
RATES = {'file_create': 4000.0, 'file_stat': 9000.0, 'file_read': 8000.0, 'file_remove': 5000.0}


@pytest.fixture
def session(tmp_path, repository):
    return Session('s', tmp_path, load(repository / 'site-config' / 'local'), PROFILES['nightly'], ())


@pytest.fixture
def shown(session):
    """The printed lines of a session with this result."""

    def lines(result, cases=(), verbose=False):
        console = Console(file=io.StringIO(), width=160, highlight=False, markup=False)
        show(console, session, cases, result, verbose)
        return console.file.getvalue().splitlines()

    return lines


@pytest.fixture
def output(session, shown):
    """The lines that --verbose prints of a session with this result, and the data of its results.json."""

    def end(result):
        file = write_results(session, result)
        return shown(result, verbose=True), json.loads(file.read_text(), parse_constant=pytest.fail)

    return end


@pytest.fixture
def ended(output):
    """The same of a session with one case, which is judged."""

    def end(plan, figures, **changes):
        return output(judge_session('s', 'nightly', [judge_case(plan, records_of(plan, figures, **changes))]))

    return end


@pytest.fixture
def of_cases(output):
    """The same of a session with a case for each check's name, changed so; all have the same figures."""

    def end(changes):
        cases = {name: DATA.case._replace(check=name) for name in changes}
        judged = [dataclasses.replace(DATA, case=cases[name], **new) for name, new in changes.items()]
        return output(judge_session('s', 'nightly', judged))

    return end


def test_forty_cases_that_fail_take_25_lines_of_100_columns_with_the_worst_of_them_first(shown):
    long = 'read@512KiB: it is 20 % less than its reference of 100 MiB/s, ' + 'and more of the same ' * 8
    cases = []
    for number in range(40):
        verdict = Verdict.FAIL if number % 2 else Verdict.INCONCLUSIVE
        labels, case = (f'a caveat of {number}',), DATA.case._replace(check=f'Check{number}')
        cases.append(dataclasses.replace(DATA, case=case, verdict=verdict, reasons=(long, long), labels=labels))
    lines = shown(judge_session('s', 'nightly', cases))
    assert (len(lines) <= 25, max(map(len, lines)) <= 100, lines[0][:6]) == (True, True, 'x FAIL')
    worst = [line.split()[2] for line in lines if line.startswith('x FAIL  Check')]
    assert worst == [f'Check{number}:' for number in range(1, 21, 2)]
    assert 'and 30 more' in lines[-3]
    assert '40 notes on the page' in lines[-2]


def test_what_a_job_could_not_remove_is_said(shown):
    plan = plan_of()
    records = records_of(plan, 6 * [100.0 * MIB])
    start = records.start._replace(run_directory='/scratch/seatrial-1')
    records = records._replace(start=start, removal=None, end=records.end._replace(reason='finished'))
    result = judge_session('s', 'nightly', [judge_case(plan, records)])
    assert any('seatrial clean' in line for line in shown(result, [(plan, records)]))


def test_a_file_system_that_stood_still_is_said_and_other_labels_are_not(shown):
    labels = ('P17b: write: nothing moved for 43 s, while no answer came from OST1', 'P2: read: only 7 %')
    lines = shown(judge_session('s', 'nightly', [dataclasses.replace(DATA, labels=labels)]))
    assert f'Check: {labels[0]}' in lines and not any('P2: ' in line for line in lines)


def test_the_headline_has_the_best_valid_figure_and_of_reads_one_of_the_servers_before_a_cached_one():
    write, read = (next(metric for metric in DATA.metrics if metric.name == name) for name in ('write', 'read'))

    def figure(of, mean, **changes):
        return dataclasses.replace(of, summary=summary((mean,)), **changes)

    metrics = (
        figure(write, 9.0, verdict=Verdict.INVALID),
        figure(write, 3.0, metric='write@2', point='2'),
        figure(write, 5.0, metric='write@3', point='3'),
        figure(read, 90.0, cache='cached'),
        figure(read, 7.0, cache='cold', metric='read@2', point='2'),
        figure(read, 8.0, cache='unknown', metric='read@3', point='3'),
    )
    case = dataclasses.replace(DATA, metrics=metrics)
    headline = headline_of(SessionResult('s', 'nightly', Verdict.MEASURED, (case,)))
    by_name = {line.figure.name: line for line in headline}
    assert [by_name[name].metric.metric for name in ('write', 'read')] == ['write@3', 'read@2']
    assert (by_name['create'].value, by_name['create'].why) == (None, 'not measured')
    assert by_name['read'].where({(case.case, '2'): 6}) == '1 node, 6 tasks, scratch/default, cold'
    assert by_name['read'].changes({(case.case, 'read@2'): 10.0}) == '-30 % on the last session'


def test_a_session_of_other_things_has_no_headline():
    assert headline_of(judge_session('s', 'nightly', [judge_case(TWO, records_of(TWO, {}))])) == ()


def test_a_suspected_target_is_the_first_line_of_its_case(output):
    plan = node_plan(4)
    records = night(plan, lambda node, _: (60.0 if node == 'n3' else 100.0) * MIB)
    wrong = tuple(Finding(rule, 'invalid', 'it took 0.1 s') for rule in ('T19', 'T20', 'T21', 'T22'))
    judged = judge_case(plan, records._replace(end=records.end._replace(findings=wrong)))
    lines = [line for line in output(judge_session('s', 'nightly', [judged]))[0] if line.startswith(plan.case.name)]
    assert lines[0].startswith(f'{plan.case.name}: node n3 may be slow: write ') and len(lines) > 1


def test_the_case_that_failed_is_spoken_of_before_one_that_could_not_decide(of_cases):
    verdicts = {'Nodes': Verdict.INCONCLUSIVE, 'Rates': Verdict.INVALID, 'Osts': Verdict.FAIL, 'More': Verdict.FAIL}
    changes = {name: {'verdict': verdict, 'reasons': (f'of {name}',)} for name, verdict in verdicts.items()}
    lines, _ = of_cases(changes)
    assert re.findall(r'^\w+/\S+: of (\w+)$', '\n'.join(lines), re.MULTILINE) == ['Osts', 'More', 'Rates', 'Nodes']


def row(lines):
    """The cells of the case's line, from the engine on."""
    return re.split(r'  +', lines[1].strip())[2:]


def test_a_case_of_data_shows_bytes_and_its_bandwidths_from_the_least_to_the_greatest(ended):
    plan = plan_of()
    lines, _ = ended(plan, {name: 6 * [100.0 * MIB * n] for n, name in enumerate(planned_metrics(plan), 1)})
    assert row(lines) == ['fio 3.33', '64 MiB', 'write 100 to 300 MiB/s, read 200 to 400 MiB/s', '9 s']


def test_a_case_of_metadata_shows_files_and_its_first_rates(ended):
    plan = plan_of(FLAT, FLAT_TREE)
    lines, _ = ended(plan, {f'{name}@flat': 6 * [rate] for name, rate in RATES.items()})
    figures = 'file_create 4000 op/s, file_stat 9000 op/s; also file_read, file_remove'
    assert row(lines) == ['fio 3.33', '1000 files', figures, '9 s']


def test_an_invalid_figure_is_not_shown(ended):
    plan = plan_of(FLAT, FLAT_TREE)
    wrong = {f'{phase}@flat': (Finding('T20', 'invalid', 'x'),) for phase in ('create', 'stat', 'read', 'remove')}
    assert row(ended(plan, 6 * [5000.0], findings=wrong)[0]) == ['fio 3.33', '1000 files', '-', '9 s']


def test_the_results_have_every_metric_of_a_launch_with_its_unit(ended):
    plan = plan_of(FLAT.changed(empties_per_directory=1000), FLAT_TREE)
    (case,) = ended(plan, 6 * [5000.0])[1]['cases']
    assert [metric['metric'] for metric in case['metrics']] == planned_metrics(plan)
    assert {metric['unit'] for metric in case['metrics']} == {'op/s'}
    assert case['per_task'] == 1000


def test_the_results_have_how_tasks_were_bound_where_it_was_recorded(of_cases):
    _, results = of_cases({'Before': {}, 'Since': {'binding': ('1 task a node, each may use 1 of 1 core (n1)',)}})
    assert ['binding' in case for case in results['cases']] == [False, True]
    assert results['cases'][1]['binding'] == ['1 task a node, each may use 1 of 1 core (n1)']


def test_the_results_have_every_fact_with_what_was_seen(ended):
    (case,) = ended(TWO, 6 * [1.0])[1]['cases']
    holds = zip(GUARANTEES, (True, False), strict=True)
    assert case['facts'] == [{'name': name, 'holds': it, 'seen': 'it was tried'} for name, it in holds]


@pytest.mark.parametrize(
    ('cache', 'words'),
    [('cold', ''), ('cached', ' cached'), ('mixed', ' partly cached'), ('unknown', ' cache unknown')],
)
def test_a_figure_that_a_cache_may_have_answered_says_so(ended, cache, words):
    plan = plan_of()
    figures = {name: 6 * [100.0 * MIB] for name in planned_metrics(plan)}
    lines, _ = ended(plan, figures, cache=cache)
    assert f'write 100 MiB/s, read 100 MiB/s{words}  ' in lines[1]


def test_groups_of_nodes_have_their_figures_by_name_and_an_end_that_nothing_shows_is_null(output):
    launch = [TaskTime(0, 'n1', 200, 0.0, 2.0), TaskTime(1, 'n2', 100, 0.0, 2.0)]
    groups = group_rates([launch], (NodeGroup('a', ('n1',)), NodeGroup('b', ('n2',))))
    metrics = (dataclasses.replace(DATA.metrics[0], groups=groups), *DATA.metrics[1:])
    written = output(judge_session('s', 'nightly', [dataclasses.replace(DATA, metrics=metrics)]))[1]
    rate = {'mean': 50.0, 'low': None, 'high': None, 'confidence': 0.9}
    over = {'over': pytest.approx(0.5), 'low': 0.0, 'high': None}
    expected = {'name': 'b', 'nodes': 1, 'tasks': 1, 'values': [50.0], 'rate': rate, **over}
    assert written['cases'][0]['metrics'][0]['groups'][1] == expected


CONTRACT = Reference('read@512KiB', 100.0 * MIB, -0.1, None, 'MiB/s', 'contract', '2026-11-20')


@pytest.fixture
def compared(output):
    """The same of a session with one case of one figure, which was compared with these."""

    def end(expectations=(), relations=(), left_out=(), verdict=Verdict.PASS, values=(100.0 * MIB,), **of_case):
        read = next(metric for metric in DATA.metrics if metric.name == 'read')
        of_case |= {'metrics': (dataclasses.replace(read, values=values, summary=summary(values)),), 'labels': ()}
        case = dataclasses.replace(DATA, verdict=verdict, expectations=expectations, **of_case)
        return output(SessionResult('s', 'nightly', verdict, (case,), relations, left_out))

    return end


def expectation(verdict, enforced=False, id='L09-01'):
    relation = Relation(verdict, 1.0, 0.9, 1.1, 0.9, f'it {verdict}')
    return ExpectationResult(id, 'it is so', 'Somebody', 'read over transfer sizes', relation, enforced)


def test_a_session_that_was_compared_with_nothing_says_what_that_means(compared):
    lines, written = compared(verdict=Verdict.MEASURED)
    assert '= MEASURED  1 case measured and valid; no pass criterion is set for the profile nightly.' in lines
    assert '  no references' in lines
    assert (written['verdict'], written['references']) == ('MEASURED', 'no references')


def test_references_are_counted(compared):
    references = [judge_reference(CONTRACT, [mean * MIB] * 6, 'fio') for mean in (100.0, 50.0, 120.0)]
    lines, written = compared(references=references)
    assert [line for line in lines if line.startswith('  references: 2 inside, 1 outside; at most 0.2 of them FAIL')]
    assert [row['interval'] for row in written['cases'][0]['references']] == ['inside', 'outside', 'inside']
    assert [row['found'] for row in written['cases'][0]['references']] == [100.0 * MIB, 50.0 * MIB, 120.0 * MIB]


def test_the_results_have_every_expectation_with_its_figures_and_sentence(compared):
    _, written = compared([expectation('fails')], relations=[expectation('holds', id='L09-06')])
    (of_case,), (of_session,) = written['cases'][0]['expectations'], written['relations']
    assert (of_case['id'], of_case['relation']['low'], of_case['enforced']) == ('L09-01', 0.9, False)
    assert of_case['sentence'] == 'Somebody found that it is so: here it does not hold'
    assert of_session['id'] == 'L09-06'


def test_what_an_acceptance_leaves_out_is_said_before_the_verdict_and_written(compared):
    lines, written = compared(left_out=('narrowed to A',))
    assert '- INCOMPLETE  incomplete: narrowed to A' in lines
    assert written['left_out'] == ['narrowed to A']
    assert compared()[1]['left_out'] == []


def test_a_setting_that_changed_in_mid_session_is_said_on_the_console(monkeypatch, tmp_path):
    changed = {'name': 'scratch', 'changed': [Change('default layout', 'c1.S4M', 'c4.S4M')]}
    steady = {'name': 'home', 'changed': []}
    monkeypatch.setattr(after_session, 'states', lambda cases: [changed, steady])
    for name in ('write_results', 'write_report', 'remember'):
        monkeypatch.setattr(after_session, name, lambda *ignored: None)
    monkeypatch.setattr(after_session, 'evidence_of', lambda *ignored: SimpleNamespace(cases=()))
    session = SimpleNamespace(id='s', folder=tmp_path, site=SimpleNamespace(state=''), only=(), label='')
    screen = Console(file=io.StringIO(), width=400)
    after_session.leave(screen, session, [], SimpleNamespace())
    notes = [line for line in screen.file.getvalue().splitlines() if line.startswith('note: ')]
    assert len(notes) == 1 and 'default layout: c1.S4M, then c4.S4M' in notes[0]
