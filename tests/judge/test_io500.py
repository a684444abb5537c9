"""IO500's score over the phases of a session: what it is made of, how well it is known, and what lacks."""

import random
from dataclasses import replace

import pytest

from builders import all_checks
from seatrial.judge.io500 import PHASES, scores_of
from seatrial.judge.statistics import summary
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.plan import Case
from seatrial.model.units import GIB
from seatrial.workload.io500 import BANDWIDTHS, RATES, score_of
from seatrial.workload.registry import metrics_at

TRUE = {**dict.fromkeys(BANDWIDTHS, 2.0 * GIB), **dict.fromkeys(RATES, 8000.0)}
ENGINES = {'Io500EasyData': 'ior', 'Io500HardData': 'ior', 'Io500Find': 'posixops'}
POINTS = {'Io500Find': ('private', 'shared')}

PLACE = Case('', 'lab:io', 'scratch', 'default', 4)
CASE = CaseResult(PLACE, 'acceptance', Verdict.MEASURED, (), (), '', '4.0.0', (), 'n1', 1, 1.0, (), curves=None)
METRIC = MetricResult('', '', '', Verdict.MEASURED, '', (), 'B/s', 'higher', None, {}, '', shortest_s=301.0)


def case_of(check, samples, engine=None, nodes=4, **changes):
    """A case of a check with these samples of each phase; changes: of the metrics of a phase by its name."""
    metrics = []
    for phase, (name, metric) in PHASES.items():
        values = tuple(samples[phase])
        of_phase = {'name': metric, 'values': values, 'summary': summary(values), **changes.get(phase, {})}
        labels = POINTS.get(check, ('one',)) if name == check else ()
        metrics += [replace(METRIC, metric=f'{metric}@{label}', point=label, **of_phase) for label in labels]
    case = CASE.case._replace(check=check, nodes=nodes)
    return replace(CASE, case=case, engine=engine or ENGINES.get(check, 'mdtest'), metrics=tuple(metrics))


def noisy(noise=0.05, rng=random.Random(1)):  # noqa: B008 (one series for all)
    return {phase: [mean * (1 + rng.gauss(0, noise)) for _ in range(6)] for phase, mean in TRUE.items()}


CHECKS = sorted({check for check, _ in PHASES.values()})


def score(samples=None, without=(), **changes):
    samples = samples or noisy()
    (result,) = scores_of([case_of(check, samples, **changes) for check in CHECKS if check not in without])
    return result


def test_every_phase_of_the_score_is_a_metric_of_a_check():
    assert set(PHASES) == {*BANDWIDTHS, *RATES}
    known = all_checks()
    for check, name in PHASES.values():
        assert name in {metric.name for metric in metrics_at(known[check].workload._replace(tasks=2))}


def test_the_score_is_that_of_the_formula():
    exact = {phase: [mean] * 6 for phase, mean in TRUE.items()}
    scored = score(exact)
    assert scored.score == pytest.approx(score_of(2.0 * GIB, 8000.0)) == pytest.approx(4.0)
    assert (scored.bandwidth, scored.rate) == (pytest.approx(2.0 * GIB), pytest.approx(8000.0))
    assert scored.low == scored.high == scored.score
    assert 'score 4,' in scored.sentence and 'not a submission' in scored.sentence


def test_find_is_all_files_over_the_time_of_both_searches():
    samples = {phase: [mean] * 6 for phase, mean in TRUE.items()}
    cases = [case_of(check, samples) for check in CHECKS if check != 'Io500Find']
    find = case_of('Io500Find', samples)
    slow = replace(find.metrics[1], summary=summary([4000.0] * 6))
    (result,) = scores_of([*cases, replace(find, metrics=(find.metrics[0], slow))])
    together = 2 / (1 / 8000.0 + 1 / 4000.0)
    assert result.rate == pytest.approx(8000.0 * (together / 8000.0) ** (1 / 8))


def test_the_interval_has_the_true_score_in_nine_of_ten_sessions():
    rng = random.Random(7)
    held = [result.low <= 4.0 <= result.high for result in (score(noisy(0.10, rng)) for _ in range(400))]
    assert 0.86 <= sum(held) / len(held) <= 0.95


@pytest.mark.parametrize(
    ('phase', 'changes', 'lack'),
    [
        ('ior_easy_write', {'shortest_s': 299.0}, 'lasted 299 s, and not 300 s (raise bytes_per_task)'),
        ('mdtest_hard_write', {'shortest_s': 20.0}, 'lasted 20 s, and not 300 s (raise files_per_task)'),
        ('ior_hard_read', {'cache': 'cached'}, 'was answered by a cache'),
        ('find', {'verdict': Verdict.INVALID, 'why': 'T4: it is so'}, 'is not valid: T4: it is so'),
        ('mdtest_easy_stat', {'summary': summary([1.0] * 4)}, 'has 4 of the 6 samples'),
    ],
)
def test_without_a_phase_by_the_rules_there_is_no_score_and_it_is_named(phase, changes, lack):
    scored = score(**{phase: changes})
    assert (scored.score, len(scored.lacks)) == (None, 1)
    assert f'no score: {phase} {lack}' in scored.sentence


def test_a_read_or_a_stat_may_be_shorter_than_the_wall():
    assert score(ior_easy_read={'shortest_s': 9.0}, mdtest_hard_stat={'shortest_s': 9.0}).score
    assert 'measured with fio, and not with ior' in score(engine='fio').lacks[0]


def test_checks_that_are_not_in_the_session_are_named_once_each():
    without = ('Io500Find', 'Io500HardData')
    assert score(without=without).lacks == tuple(f'{check} is not in this session' for check in without)


def test_each_place_has_a_score_of_its_own_and_other_checks_have_none():
    samples = noisy()
    cases = [case_of(check, samples, nodes=nodes) for check in CHECKS for nodes in (1, 4)]
    assert [place.where for place in scores_of(cases)] == [f'lab:io/scratch/default/{nodes}n' for nodes in (1, 4)]
    assert scores_of([case_of('SmallFiles', samples)]) == ()
