"""The table at the end of a session, and results.json, of data and of metadata."""

import dataclasses
import io
import json
import re

import pytest
from rich.console import Console

from builders import FLAT, FLAT_TREE, GUARANTEES, plan_of, records_of
from seatrial.check.session import Session
from seatrial.judge.case import judge_case
from seatrial.judge.groups import rates
from seatrial.judge.session import judge_session
from seatrial.judge.verdict import Verdict
from seatrial.model.metric import TaskTime
from seatrial.model.plan import NodeGroup
from seatrial.model.record import Finding
from seatrial.model.units import MIB
from seatrial.rules.registry import RULES
from seatrial.session.results import show, write_results
from seatrial.site.load import load
from seatrial.site.profile import PROFILES
from seatrial.workload.registry import planned_metrics
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep
from sweeps import night, node_plan

TWO = plan_of(posix_semantics(tasks=2), Sweep('tree', (('two', {}),)))
RATES = {'file_create': 4000.0, 'file_stat': 9000.0, 'file_read': 8000.0, 'file_remove': 5000.0}


@pytest.fixture
def ended(tmp_path, repository):
    """The printed lines and results.json of a session with one case."""

    def end(plan, figures, **changes):
        session = Session('s', tmp_path, load(repository / 'site-config' / 'local'), PROFILES['nightly'], ())
        result = judge_session('s', 'nightly', [judge_case(plan, records_of(plan, figures, **changes))])
        file = write_results(session, result)
        console = Console(file=io.StringIO(), width=160, highlight=False, markup=False)
        show(console, session, result)
        return console.file.getvalue().splitlines(), json.loads(file.read_text(), parse_constant=pytest.fail)

    return end


@pytest.fixture
def noted(tmp_path, repository):
    """The notes of a session whose cases have these labels, a list for each check's name."""

    def note(labels):
        session = Session('s', tmp_path, load(repository / 'site-config' / 'local'), PROFILES['nightly'], ())
        plan = plan_of()
        judged = judge_case(plan, records_of(plan, 6 * [100.0 * MIB]))
        cases = [
            dataclasses.replace(judged, case=judged.case._replace(check=name), labels=tuple(own))
            for name, own in labels.items()
        ]
        console = Console(file=io.StringIO(), width=160, highlight=False, markup=False)
        show(console, session, judge_session('s', 'nightly', cases))
        return [line for line in console.file.getvalue().splitlines() if line.startswith('note (')]

    return note


def test_a_suspected_target_is_the_first_line_of_its_case(tmp_path, repository):
    session = Session('s', tmp_path, load(repository / 'site-config' / 'local'), PROFILES['nightly'], ())
    plan = node_plan(4)
    records = night(plan, lambda node, _: (60.0 if node == 'n3' else 100.0) * MIB)
    wrong = tuple(Finding(rule, 'invalid', 'it took 0.1 s') for rule in ('T19', 'T20', 'T21', 'T22'))
    judged = judge_case(plan, records._replace(end=records.end._replace(findings=wrong)))
    console = Console(file=io.StringIO(), width=160, highlight=False, markup=False)
    show(console, session, judge_session('s', 'nightly', [judged]))
    said = [line for line in console.file.getvalue().splitlines() if line.startswith(f'{plan.case.name}: ')]
    assert said[0].startswith(f'{plan.case.name}: node n3 may be slow: write ') and len(said) > 1


def test_the_case_that_failed_is_spoken_of_before_one_that_could_not_decide(tmp_path, repository):
    session = Session('s', tmp_path, load(repository / 'site-config' / 'local'), PROFILES['nightly'], ())
    plan = plan_of()
    judged = judge_case(plan, records_of(plan, 6 * [100.0 * MIB]))
    verdicts = {'Nodes': Verdict.INCONCLUSIVE, 'Rates': Verdict.INVALID, 'Osts': Verdict.FAIL, 'More': Verdict.FAIL}
    cases = [
        dataclasses.replace(judged, case=judged.case._replace(check=name), verdict=verdict, reasons=(f'of {name}',))
        for name, verdict in verdicts.items()
    ]
    console = Console(file=io.StringIO(), width=160, highlight=False, markup=False)
    show(console, session, judge_session('s', 'nightly', cases))
    said = re.findall(r'^\w+/\S+: of (\w+)$', console.file.getvalue(), re.MULTILINE)
    assert said == ['Osts', 'More', 'Rates', 'Nodes']


def row(lines):
    """The cells of the case's line, from the engine on."""
    return re.split(r'  +', lines[1].strip())[2:]


def test_a_case_of_data_shows_bytes_and_its_bandwidths_from_the_least_to_the_greatest(ended):
    plan = plan_of()
    lines, _ = ended(plan, {name: 6 * [100.0 * MIB * n] for n, name in enumerate(planned_metrics(plan), 1)})
    assert row(lines) == ['fio 3.33', '64 MiB', 'write 100..300 MiB/s, read 200..400 MiB/s', '9 s']


def test_a_case_of_metadata_shows_files_and_its_first_rates(ended):
    plan = plan_of(FLAT, FLAT_TREE)
    lines, _ = ended(plan, {f'{name}@flat': 6 * [rate] for name, rate in RATES.items()})
    assert row(lines) == [
        'fio 3.33',
        '1000 files',
        'file_create 4000 op/s, file_stat 9000 op/s; also file_read, file_remove',
        '9 s',
    ]


def test_a_case_whose_plan_fixes_everything_shows_no_share(ended):
    fixed = TWO._replace(sizing=TWO.sizing._replace(first=0))
    assert row(ended(fixed, 6 * [1.0])[0]) == ['fio 3.33', '-', 'holding 1', '9 s']


def test_an_invalid_figure_is_not_shown(ended):
    plan = plan_of(FLAT, FLAT_TREE)
    wrong = {f'{phase}@flat': (Finding('T20', 'invalid', 'x'),) for phase in ('create', 'stat', 'read', 'remove')}
    assert row(ended(plan, 6 * [5000.0], findings=wrong)[0]) == ['fio 3.33', '1000 files', '-', '9 s']


def test_the_results_have_every_metric_of_a_launch_with_its_unit(ended):
    plan = plan_of(FLAT.changed(empties_per_directory=1000), FLAT_TREE)
    (case,) = ended(plan, 6 * [5000.0])[1]['cases']
    assert [each['metric'] for each in case['metrics']] == planned_metrics(plan)
    assert {each['unit'] for each in case['metrics']} == {'op/s'}
    assert case['per_task'] == 1000


def test_the_results_have_every_fact_with_what_was_seen(ended):
    (case,) = ended(TWO, 6 * [1.0])[1]['cases']
    assert case['facts'] == [
        {'name': GUARANTEES[0], 'holds': True, 'seen': 'it was tried'},
        {'name': GUARANTEES[1], 'holds': False, 'seen': 'it was tried'},
    ]


def test_what_all_cases_say_in_the_same_words_is_said_once(noted):
    assert noted({'A': ['P16: x'], 'B': ['P16: x']}) == ['note (all cases): P16: x']


def test_the_figures_of_one_case_are_not_said_of_another(noted):
    remedy = RULES['P2'].remedy
    said = {'A': [f'P2: read@1MiB: only 7 %; {remedy}'], 'B': [f'P2: read@4KiB: only 9 %; {remedy}'], 'C': []}
    assert noted(said) == [f'note (A, B): P2: A: read@1MiB: only 7 %; B: read@4KiB: only 9 %; {remedy}']


def test_of_many_cases_with_figures_of_their_own_the_first_are_said(noted):
    (line,) = noted({name: [f'P2: only {n} %'] for n, name in enumerate('ABCDEF')})
    assert 'A: only 0 %; B: only 1 %; C: only 2 %; and 3 more, in results.json; ' in line


def test_caveats_of_no_rule_that_differ_are_a_few_lines(noted):
    lines = noted({name: [f'rare slow launches: {n} repetitions'] for n, name in enumerate('ABCDEF', 5)})
    assert lines[0] == 'note (A): rare slow launches: 5 repetitions'
    assert len(lines) == 3


@pytest.mark.parametrize(
    ('cache', 'said'),
    [('cold', ''), ('cached', ' cached'), ('mixed', ' partly cached'), ('unknown', ' cache unknown')],
)
def test_a_figure_that_a_cache_may_have_answered_says_so(ended, cache, said):
    plan = plan_of()
    figures = {name: 6 * [100.0 * MIB] for name in planned_metrics(plan)}
    lines, _ = ended(plan, figures, cache=cache)
    assert f'write 100 MiB/s, read 100 MiB/s{said}  ' in lines[1]


def test_groups_of_nodes_have_their_figures_by_name_and_an_end_that_nothing_shows_is_null(tmp_path, repository):
    session = Session('s', tmp_path, load(repository / 'site-config' / 'local'), PROFILES['nightly'], ())
    plan = plan_of()
    judged = judge_case(plan, records_of(plan, 6 * [100.0 * MIB]))
    launch = [TaskTime(0, 'n1', 200, 0.0, 2.0), TaskTime(1, 'n2', 100, 0.0, 2.0)]
    groups = rates([launch], (NodeGroup('a', ('n1',)), NodeGroup('b', ('n2',))))
    metrics = (dataclasses.replace(judged.metrics[0], groups=groups), *judged.metrics[1:])
    file = write_results(session, judge_session('s', 'nightly', [dataclasses.replace(judged, metrics=metrics)]))
    _, second = json.loads(file.read_text(), parse_constant=pytest.fail)['cases'][0]['metrics'][0]['groups']
    assert second == {
        'name': 'b',
        'nodes': 1,
        'tasks': 1,
        'values': [50.0],
        'rate': {'mean': 50.0, 'low': None, 'high': None, 'confidence': 0.9},
        'over': pytest.approx(0.5),
        'low': 0.0,
        'high': None,
    }
