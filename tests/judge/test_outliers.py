"""The places that are named as slow, and the verdict of the case."""

import random
import re

import pytest

from builders import SIZE, in_blocks, moved, night, node_plan, plan_of, records_of, sample_of
from seatrial.filesystem.lustre.layout import striped
from seatrial.job.sequence.confirm import measured_again
from seatrial.judge.case import judge_case
from seatrial.judge.outliers import CLEARED, SLOW, SUSPECTED, USUAL, isolation
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.plan import StoppingRule
from seatrial.model.point import Allocation
from seatrial.model.record import Finding, NotTested, TargetRow
from seatrial.model.units import MIB
from seatrial.rules.places import CONFIRM, all_of, kinds, suspected
from seatrial.workload.access import data_access
from seatrial.workload.registry import planned_metrics
from seatrial.workload.sweep import AXES, Sweep, SweepSite, expand

BOTH = data_access('multiple', bytes_per_task=SIZE)


def rates(factors=None, seed=1, noise=0.01):
    """Factors: by node, or by (node, phase)."""
    rng, by_place = random.Random(seed), factors or {}
    return lambda node, phase: rng.gauss(1, noise) * 100 * MIB * by_place.get(node, by_place.get((node, phase), 1.0))


def judged(plan, *args, **more):
    return judge_case(plan, night(plan, *args, **more))


def ost_plan(count, workload=BOTH, axis='ost', **changes):
    """A sweep over so many OSTs or other targets, with two tasks on each."""
    site = SweepSite(tuple(striped(f'{axis}{n:04d}', osts=(n,)) for n in range(count)))
    points = tuple(expand(Sweep(axis), workload, Allocation(1, 2), site))
    return plan_of(workload, **{'axis': AXES[axis], 'points': points, **changes})


def by_verdict(result):
    return {place.name: place.verdict for place in result.isolation.places}


@pytest.mark.parametrize('profile', ['nightly', 'acceptance'])
def test_a_healthy_system_passes_and_names_nobody(profile):
    """Its comparison is criterion enough for an acceptance, which needs no long regions for it."""
    result = judged(node_plan(4, workload=BOTH, profile=profile), rates())
    text = 'the nodes are compared with each other only: how fast they are is no criterion here'
    assert any(label.startswith(text) for label in result.labels) == (profile == 'acceptance')
    assert (result.verdict, result.reasons, result.isolation.sentences) == (Verdict.PASS, (), ())
    assert set(by_verdict(result).values()) == {USUAL}
    labels = [column.label for column in result.isolation.columns]
    assert labels == ['write, all together', 'write, in groups', 'read, all together', 'read, in groups']
    assert all(len(place.scores) == 4 for place in result.isolation.places)


def test_a_node_that_is_slow_twice_fails_the_case_and_is_named_with_both_measurements():
    result = judged(node_plan(4), rates({'n3': 0.6}), rates({'n3': 0.6}, 2))
    assert result.verdict is Verdict.FAIL
    assert by_verdict(result) == {'n3': SLOW, 'n1': USUAL, 'n2': USUAL, 'n4': USUAL}
    (reason,) = result.reasons
    assert reason.startswith('node n3 is slow: write ')
    assert re.search(r'write (59|60|61)\S* MiB/s against (99|100|101)\S* MiB/s, (39|40|41) % less \(', reason)
    assert 'measured again beside others' in reason


@pytest.mark.parametrize(
    ('second', 'repeat', 'verdict', 'place', 'text'),
    [
        (rates(seed=2), None, Verdict.PASS, CLEARED, 'node n3 was slow only once: write .* measured again beside'),
        (rates({'n3': 0.86}, 3, 0.06), None, Verdict.INCONCLUSIVE, SUSPECTED, '.* may be scatter; run it again$'),
        (rates({'n3': 0.6}, 2), 0, Verdict.INCONCLUSIVE, SUSPECTED, 'node n3 may be slow: write .* no time to meas'),
        (rates({'n3': 0.6}, 2), 3, Verdict.INCONCLUSIVE, SUSPECTED, 'node n3 may be slow: write .* no time to meas'),
    ],
    ids=['it is as the others', 'within their scatter', 'not measured again', 'too few repetitions'],
)
def test_a_node_that_is_not_surely_slow_again_fails_nothing(second, repeat, verdict, place, text):
    result = judged(node_plan(4), rates({'n3': 0.7}), second, repeat=repeat)
    assert (result.verdict, by_verdict(result)['n3']) == (verdict, place)
    assert any(re.match(text, sentence) for sentence in (*result.reasons[:1], *result.labels))


@pytest.mark.parametrize('slow', [3, 5])
def test_where_most_nodes_are_slow_nothing_is_decided_and_the_groups_are_told(slow):
    result = judged(node_plan(6, workload=BOTH), rates({f'n{n}': 0.5 for n in range(1, slow + 1)}))
    assert result.verdict is not Verdict.PASS
    if slow == 5:
        assert result.verdict is Verdict.INCONCLUSIVE
        (reason,) = result.reasons
        assert re.match(r'(write|read), (all together|in groups): the nodes fall into groups: 5 \(n1, n2, ', reason)
        assert re.search(r'have \S+ MiB/s, (49|50|51) % less than the \S+ MiB/s of 1 \(n6\); which is usual', reason)
        assert 'so it is in ' in reason and reason.endswith('a partition of their own')
        assert result.isolation.undecided == (reason,)


def test_noise_in_which_a_slow_node_could_hide_is_no_pass():
    result = judged(node_plan(4), rates(seed=5, noise=0.3))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert 'wider than the 10 % aimed at' in ' '.join(result.reasons)


WRONG = Finding('T10', 'invalid', 'the tasks ran on n2 and not on n1')


def with_finding(records, fits):
    """The records with the finding WRONG about the samples that fit."""
    return records._replace(samples=[s._replace(findings=(WRONG,)) if fits(s) else s for s in records.samples])


@pytest.mark.parametrize(
    ('phases', 'verdict', 'text'),
    [
        (('write', 'read'), Verdict.INCONCLUSIVE, 'the second measurement failed: T10: the tasks ran on n2'),
        (('read',), Verdict.FAIL, 'node n3 is slow: write '),  # which the read does not take with it
    ],
)
def test_a_second_measurement_that_is_not_valid_decides_nothing_and_is_said(phases, verdict, text):
    plan, factors = node_plan(4, workload=BOTH), {('n3', 'write'): 0.2, ('n3', 'read'): 0.5}
    records = night(plan, rates(factors), rates(factors, 2))
    result = judge_case(plan, with_finding(records, lambda s: s.stage == 'confirm' and s.phase in phases))
    assert (result.verdict, text in result.reasons[0]) == (verdict, True)


def test_of_a_second_measurement_that_was_enlarged_the_last_size_counts():
    plan, slow = node_plan(4), {'n3': 0.6}
    records, short = night(plan, rates(slow), rates(seed=2)), night(plan, rates(slow), rates({'n3': 0.2}, 3))
    before = [sample._replace(sizing=0) for sample in short.samples if sample.stage == CONFIRM]
    result = judge_case(plan, records._replace(samples=[*records.samples, *before, *before]))
    assert by_verdict(result)['n3'] == CLEARED


def test_a_suspect_stands_before_what_is_invalid_and_behind_what_has_failed():
    plan = node_plan(4)
    records = night(plan, rates({'n3': 0.6}), None)
    wrong = (Finding('T19', 'invalid', 'it took 0.1 s'), Finding('F1', 'fail', 'EIO on n1'))
    for count, first in ((1, 'node n3 may be slow: write'), (2, 'F1: EIO on n1')):
        end = records.end._replace(findings=wrong[:count])
        result = judge_case(plan, records._replace(end=end))
        assert result.reasons[0].startswith(first)
        assert [reason.startswith('node n3') for reason in result.reasons].index(True) == count - 1


def test_two_slow_nodes_are_both_named_the_slowest_first():
    factors = {'n2': 0.7, 'n5': 0.5}
    result = judged(node_plan(8), rates(factors), rates(factors, 2))
    assert [place.name for place in result.isolation.of(SLOW)] == ['n5', 'n2']
    assert [reason.split()[1] for reason in result.reasons] == ['n5', 'n2']


def test_a_launch_on_other_nodes_is_invalid_and_what_the_others_prove_outranks_it():
    plan = node_plan(4)
    records = night(plan, rates({'n3': 0.6}), rates({'n3': 0.6}, 2))
    records = with_finding(records, lambda s: s.point.label == 'group01' and s.stage == 'measured')
    ends = {**records.end.stopped, 'group01': 'invalid'}
    result = judge_case(plan, records._replace(end=records.end._replace(stopped=ends)))
    assert Verdict.INVALID in {metric.verdict for metric in result.metrics}
    assert result.verdict is Verdict.FAIL  # what the other launches prove outranks it


def test_a_smoke_test_compares_and_names_nobody():
    plan = node_plan(4, profile='smoke', stopping=StoppingRule(0.1, minimum=4, maximum=4, extra=0, fixed=True))
    result = judged(plan, rates({'n3': 0.5}), rates({'n3': 0.5}, 2))
    assert set(by_verdict(result).values()) == {USUAL}
    assert result.isolation.unjudged == result.unjudged != ''
    assert result.verdict is Verdict.MEASURED


@pytest.mark.parametrize('cache', ['cached', 'unknown'])
def test_reads_that_are_not_cold_accept_no_node(cache):
    result = judged(node_plan(4, profile='acceptance', workload=BOTH), rates(), cache=cache)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any(f'the reads were {cache}, not cold' in reason for reason in result.reasons)
    assert {metric.verdict for metric in result.metrics if metric.name == 'write'} == {Verdict.MEASURED}
    assert judged(node_plan(4, workload=BOTH), rates(), cache=cache).verdict is Verdict.PASS  # in a night


def test_what_was_not_tested_is_said_beside_the_figures():
    lost = tuple(NotTested(f'x{n}', 'drained*', 'bad disk' if n == 0 else '') for n in range(10))
    result = judged(node_plan(2), rates(), not_tested=lost)
    assert result.isolation.not_tested == lost
    (label,) = [label for label in result.labels if label.startswith('not tested')]
    assert label.startswith('not tested: x0 (drained*: bad disk), x1 (drained*), ') and label.endswith(' and 2 more')


def test_another_sweep_is_no_isolation(make_plan):
    plan = make_plan()
    assert isolation(plan, records_of(plan, 6 * [100.0])) is None


# Targets


def number(label):
    return int(label[-4:])


def swept(speed=lambda label, phase: 1.0, count=8, cache=lambda label: 'cold', closed='', criteria=None, **changes):
    """The result of two measurements of so many targets with these speeds, of which 1 is usual. start: fields of the
    start record; closed: the target that takes no files."""
    start = changes.pop('start', {})
    plan, rng = ost_plan(count, **changes), random.Random(5)

    def figures(label, phase):
        return [100.0 * MIB * speed(label, phase) * rng.gauss(1, 0.01) for _ in range(6)]

    def state(label, phase):
        return cache(label) if phase == 'read' else ''

    labels = [point.label for point in plan.points if point.label != closed]
    first = {f'{phase}@{label}': figures(label, phase) for label in labels for phase in ('write', 'read')}
    records = records_of(plan, first, **start)
    samples = [s._replace(cache=state(s.point.label, s.phase)) for s in records.samples]
    records = records._replace(samples=samples)
    again = measured_again(plan, all_of(suspected(plan, records)), (), random.Random(1), kinds(plan, records))
    samples += [
        sample_of(plan, point, phase, n, moved(point, figure, phase), CONFIRM, state(point.label, phase))
        for point in again.points
        if point.label != closed
        for phase in ('write', 'read')
        for n, figure in enumerate(figures(point.label, phase))
    ]
    if closed:
        why = Finding('P5b', 'incomplete', f'{closed} cannot be tested: it is not active; see what is wrong with it')
        samples.append(sample_of(plan, plan.point(closed), 'write', 0, None, findings=[why]))
        records = records._replace(end=records.end._replace(stopped={**records.end.stopped, closed: 'invalid'}))
    return judge_case(plan, records._replace(samples=in_blocks(plan, samples)), criteria or Criteria())


def slowed(*labels):
    return lambda label, phase: 0.7 if label in labels else 1.0


@pytest.mark.parametrize(('axis', 'kind'), [('ost', 'OSTs'), ('brick', 'bricks')])
def test_targets_that_share_a_server_are_named_as_the_server(axis, kind):
    servers = {f'{axis}{n:04d}': f'10.0.0.{n // 2}@o2ib' for n in range(8)}
    result = swept(slowed(f'{axis}0002', f'{axis}0003'), axis=axis, start={'servers': servers})
    assert result.isolation.servers == (f'both {kind} of 10.0.0.1@o2ib are 30 % slower',)
    assert (result.verdict, result.reasons[0]) == (Verdict.FAIL, result.isolation.servers[0])
    assert sum(f' {axis}000' in reason for reason in result.reasons) == 2
    result = swept(slowed(f'{axis}0002'), axis=axis, start={'servers': servers})
    assert (result.isolation.servers, by_verdict(result)[f'{axis}0002']) == ((), SLOW)


def test_a_target_is_named_as_its_file_system_calls_it_too():
    """Administrators of GlusterFS know its bricks by host and directory."""
    targets = tuple(TargetRow('brick', n, f'node{n}:/data', True) for n in range(8))
    result = swept(slowed('brick0002'), axis='brick', start={'targets': targets})
    assert result.reasons[0].startswith('brick brick0002 (node2:/data) is slow: ')


def test_a_target_that_is_closed_is_not_tested_and_the_others_are_judged():
    result = swept(slowed('ost0002'), closed='ost0005')
    assert result.isolation.not_tested == (NotTested('ost0005', 'it is not active; see what is wrong with it', ''),)
    assert by_verdict(result)['ost0002'] == SLOW and 'ost0005' not in by_verdict(result)
    verdicts = {metric.metric: metric.verdict for metric in result.metrics if metric.point == 'ost0005'}
    assert verdicts == {'write@ost0005': Verdict.INCOMPLETE, 'read@ost0005': Verdict.INCOMPLETE}
    assert any('P5b: ost0005 cannot be tested: it is not active' in reason for reason in result.reasons)
    assert swept(closed='ost0005').verdict is Verdict.INCOMPLETE


def test_a_target_that_took_no_warm_up_and_was_measured_is_tested():
    plan = ost_plan(2)
    records = records_of(plan, {name: [100.0, 101.0, 99.0, 100.0, 101.0, 99.0] for name in planned_metrics(plan)})
    why = Finding('P5b', 'incomplete', 'ost0000 cannot be tested: 8 GiB are to be written, and it has 1 GiB free')
    warm_up = sample_of(plan, plan.points[0], 'write', 0, None, 'warmup', findings=[why])
    result = judge_case(plan, records._replace(samples=[warm_up, *records.samples]))
    assert result.isolation.not_tested == ()


# Targets that are no equals, and targets that nobody counted


def rows(count, flash=()):
    return tuple(
        TargetRow('OST', n, f'x-OST{n:04x}', True, flags=('flash',) if n in flash else ()) for n in range(count)
    )


def test_three_of_four_targets_at_a_quarter_of_the_speed_are_no_pass():
    result = swept(lambda label, _: 0.25 if number(label) < 3 else 1.0, count=4)
    assert result.verdict is Verdict.INCONCLUSIVE
    (reason,) = result.reasons
    assert 'the OSTs fall into groups: 3 (ost0000, ost0001, ost0002) have 25' in reason
    assert reason.endswith('list those of one kind under osts in trial.yaml')


def slow_read(label, phase):
    return 0.3 if (label, phase) == ('ost0003', 'read') else 1.0


def test_cached_reads_are_not_compared_with_a_cold_one():
    result = swept(slow_read, cache=lambda label: 'cold' if label == 'ost0003' else 'cached')
    assert by_verdict(result)['ost0003'] == USUAL
    assert result.verdict is Verdict.INCONCLUSIVE
    (reason,) = result.reasons
    assert reason == 'read: ost0003 could not be compared: only reads of one state of the cache are equals'


def test_a_target_that_is_slow_among_cached_reads_is_told_as_such():
    result = swept(slow_read, cache=lambda label: 'cold' if number(label) > 5 else 'cached')
    assert [column.label for column in result.isolation.columns] == ['write', 'read', 'read (cached)']
    assert by_verdict(result)['ost0003'] == SLOW
    assert result.reasons[0].startswith('OST ost0003 is slow: read (cached) 30')


@pytest.mark.parametrize('cached', [8, 1])
def test_cached_reads_of_targets_are_no_acceptance(cached):
    accepted = {'profile': 'acceptance', 'target': {'server_cache_bytes': 0, 'fast_tier_bytes': 0}}
    result = swept(cache=lambda label: 'cached' if number(label) < cached else 'cold', **accepted)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert swept(**accepted).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ('declared', 'text'),
    [
        ({}, 'server cache possible: '),
        ({'server_cache_bytes': SIZE * 80, 'fast_tier_bytes': 0}, 'a server may keep '),
        ({'server_cache_bytes': SIZE * 16, 'fast_tier_bytes': 0}, ''),  # of eight servers, two tasks' files each
    ],
)
def test_what_a_server_may_keep_hides_a_slow_target(declared, text):
    servers = {f'ost{n:04d}': f'10.0.0.{n}@tcp' for n in range(8)}
    result = swept(profile='acceptance', target=declared, start={'servers': servers})
    assert result.verdict is (Verdict.INCONCLUSIVE if text else Verdict.PASS)
    assert len(result.reasons) == (1 if text else 0)  # sixteen metrics, one sentence
    assert not text or text in result.reasons[0]
    assert not text or result.reasons[0].startswith('write@ost0000 and 15 others: INCONCLUSIVE: ')


def test_a_contract_is_not_met_by_the_short_launches_of_a_sweep_over_targets():
    reference = Reference('write@ost0000', 50.0 * MIB, 0.0, None, 'MiB/s', 'contract', '2026-11-01', 'fio')
    declared = {'server_cache_bytes': 0, 'fast_tier_bytes': 0}
    criteria = Criteria(references=(reference,))
    assert swept(profile='acceptance', target=declared, criteria=criteria).verdict is Verdict.INCONCLUSIVE


CLOSED = TargetRow('OST', 8, 'x', True, takes_objects=False), TargetRow('OST', 9, 'y', False)


@pytest.mark.parametrize(
    ('targets', 'listed', 'verdict', 'text'),
    [
        (rows(4), (), 'INCOMPLETE', 'C2: not tested, although files go there: ost0002, ost0003; '),
        (rows(4), ('OST',), 'PASS', 'not tested: ost0002 (not listed under osts), ost0003'),
        ((*rows(2), *CLOSED, TargetRow('MDT', 5, 'z', True)), (), 'PASS', ''),
    ],
    ids=['not tested', 'left out by the site', 'they take no files'],
)
def test_a_target_that_takes_files_is_to_be_tested_unless_the_site_leaves_it_out(targets, listed, verdict, text):
    result = swept(count=2, start={'targets': targets}, target={'listed': listed})
    assert (result.verdict, len(result.reasons)) == (verdict, verdict != 'PASS')
    assert any(sentence.startswith(text) for sentence in (*result.reasons, *result.labels))


def of_two_kinds(slow=''):
    """Four OSTs on flash, ten times as fast as four on disks; one of them has half the speed."""

    def speed(label, _):
        return (10.0 if number(label) < 4 else 1.0) * (0.5 if label == slow else 1.0)

    return swept(speed, start={'targets': rows(8, flash=range(4))})


def test_flash_is_compared_with_flash_and_disks_with_disks():
    result = of_two_kinds()
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())
    labels = ['write, flash', 'write, not flash', 'read, flash', 'read, not flash']
    assert [column.label for column in result.isolation.columns] == labels


@pytest.mark.parametrize(('slow', 'kind'), [('ost0001', 'flash'), ('ost0006', 'not flash')])
def test_a_slow_one_of_its_kind_is_named(slow, kind):
    result = of_two_kinds(slow)
    assert (result.verdict, by_verdict(result)[slow]) == (Verdict.FAIL, SLOW)
    assert [place.name for place in result.isolation.of(SLOW)] == [slow]
    assert f'50 % less ({kind}); measured again' in result.reasons[0]


def test_the_only_one_of_its_kind_is_compared_with_nothing():
    result = swept(start={'targets': rows(8, flash=[0])})
    assert result.verdict is Verdict.INCONCLUSIVE
    assert all('ost0000 could not be compared: ' in reason for reason in result.reasons)
    assert result.reasons[0].endswith('and targets of one kind are equals')
