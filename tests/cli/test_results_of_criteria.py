"""What the end of a session says of expectations and references."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from seatrial.check.session import Session
from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.references import Reference, judge_reference
from seatrial.judge.relations import Relation
from seatrial.judge.session import SessionResult
from seatrial.judge.statistics import summary
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.plan import Case
from seatrial.model.units import MIB
from seatrial.session.results import show, write_results
from seatrial.site.load import load
from seatrial.site.profile import PROFILES

LOCAL = Path(__file__).parents[2] / 'site-config' / 'local'
CONTRACT = Reference('read@512KiB', 100.0 * MIB, -0.1, None, 'MiB/s', 'contract', '2026-11-20')


@pytest.fixture
def ended(tmp_path):
    """What is printed and what is written at the end of a session with one case."""

    def end(
        expectations=(),
        references=(),
        relations=(),
        unjudged='',
        values=(100.0 * MIB,),
        reasons=(),
        left_out=(),
        verdict=Verdict.PASS,
    ):
        session = Session('s', tmp_path, load(LOCAL), PROFILES['nightly'], ())
        figure = MetricResult(
            'read@512KiB',
            'read',
            '512KiB',
            Verdict.PASS,
            '',
            values,
            'B/s',
            'higher',
            summary(values),
            {},
            'cold',
        )
        case = CaseResult(
            case=Case('Check', 'lab:io', 'scratch', 'default', 1),
            profile='nightly',
            verdict=verdict,
            reasons=reasons,
            labels=(),
            engine='fio',
            version='3',
            skipped=(),
            host='n1',
            per_task=1,
            duration_s=1.0,
            metrics=(figure,),
            expectations=expectations,
            curves=None,
            references=references,
            unjudged=unjudged,
        )
        result = SessionResult('s', 'nightly', verdict, (case,), relations, left_out)
        file = write_results(session, result)
        console = Console(file=io.StringIO(), width=140, highlight=False, markup=False)
        show(console, session, result)
        return console.file.getvalue().splitlines(), json.loads(file.read_text(), parse_constant=pytest.fail)

    return end


def expectation(verdict, enforced=False, id='L09-01'):
    relation = Relation(verdict, 1.0, 0.9, 1.1, 0.9, f'it {verdict}')
    return ExpectationResult(id, 'it is so', 'Somebody', 'read over transfer sizes', relation, enforced)


def test_context_is_counted_and_said_to_decide_nothing(ended):
    lines, _ = ended(
        [expectation('holds'), expectation('fails'), expectation('fails')], relations=[expectation('holds')]
    )
    assert (
        'expectations of the literature: 2 hold here, 2 do not, 0 are undecided; 4 in results.json as context, '
        'which decides nothing'
    ) in lines


def test_what_is_enforced_and_holds_has_a_line_of_its_own_and_is_no_context(ended):
    lines, _ = ended([expectation('holds', enforced=True)])
    assert 'Check/lab:io/scratch/default/1n: L09-01: PASS: read over transfer sizes: it holds' in lines
    assert not any(line.startswith('expectations of the literature') for line in lines)


@pytest.mark.parametrize(('word', 'verdict'), [('holds', 'PASS'), ('fails', 'FAIL'), ('undecided', 'INCONCLUSIVE')])
def test_an_enforced_relation_between_checks_has_a_line_of_its_own(ended, word, verdict):
    lines, _ = ended(relations=[expectation(word, enforced=True, id='L09-06')])
    assert f'L09-06: {verdict}: read over transfer sizes: it {word}' in lines


def test_a_smoke_test_says_that_its_expectations_are_not_judged(ended):
    lines, _ = ended([expectation('undecided')], unjudged='smoke: 4 repetitions, not judged')
    assert any('expectations of the literature: smoke: 4 repetitions, not judged; 1 in' in line for line in lines)


def test_no_references_are_said_to_be_none(ended):
    lines, written = ended()
    assert 'no references' in lines
    assert written['references'] == 'no references'


def test_a_session_that_was_compared_with_nothing_ends_with_what_that_means(ended):
    lines, written = ended(verdict=Verdict.MEASURED)
    assert lines[-2] == '= MEASURED  1 case measured and valid; no pass criterion is set for the profile nightly.'
    assert written['verdict'] == 'MEASURED'


def test_references_are_counted(ended):
    found = [judge_reference(CONTRACT, [mean * MIB] * 6, 'fio') for mean in (100.0, 50.0, 120.0)]
    lines, written = ended(references=found)
    assert [each for each in lines if each.startswith('references: 2 inside, 1 outside; at most 0.2 of them FAIL')]
    assert [each['interval'] for each in written['cases'][0]['references']] == ['inside', 'outside', 'inside']


def test_the_results_have_every_expectation_with_its_figures_and_sentence(ended):
    _, written = ended([expectation('fails')], relations=[expectation('holds', id='L09-06')])
    (of_case,), (of_session,) = written['cases'][0]['expectations'], written['relations']
    assert (of_case['id'], of_case['relation']['low'], of_case['enforced']) == ('L09-01', 0.9, False)
    assert of_case['sentence'] == 'Somebody found that it is so: here it does not hold'
    assert of_session['id'] == 'L09-06'


def test_an_interval_without_ends_is_null_because_json_has_no_infinity(ended):
    _, written = ended(values=(100.0 * MIB,))
    interval = written['cases'][0]['metrics'][0]['summary']['interval']
    assert (interval['low'], interval['high']) == (None, None)


def test_an_enforced_expectation_that_is_undecided_has_its_line_however_many_reasons_come_before(ended):
    one = expectation('undecided', enforced=True)
    said = 'L09-01: INCONCLUSIVE: read over transfer sizes: it undecided'
    line = f'Check/lab:io/scratch/default/1n: {said}'
    assert ended([one])[0].count(line) == 1
    assert ended([one], reasons=(said,))[0].count(line) == 1
    assert ended([one], reasons=('T8: a', 'T8: b', 'T8: c', said))[0].count(line) == 1


def test_what_an_acceptance_leaves_out_is_said_before_the_verdict_and_written(ended):
    lines, written = ended(left_out=('narrowed to A',))
    assert lines[-3] == 'not whole: narrowed to A'
    assert written['left_out'] == ['narrowed to A']
    assert ended()[1]['left_out'] == []


@pytest.mark.parametrize(('value', 'shown'), [(300.0, 'read 300 B/s'), (52.34 * MIB, 'read 52.3 MiB/s')])
def test_a_small_figure_is_not_shown_as_nothing(ended, value, shown):
    assert shown in ended(values=(value,))[0][1]
