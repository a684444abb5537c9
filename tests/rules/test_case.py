"""Rules over the record of a case."""

import itertools

import pytest

from builders import FLAT, FLAT_TREE, in_blocks, moved, plan_of, records_of, sample_of
from seatrial.filesystem.lustre.layout import striped
from seatrial.model.record import BoundTasks, End, Finding
from seatrial.model.units import GIB, MIB
from seatrial.rules.case import CaseSeen, binding, in_random_order, measured, working_set
from seatrial.rules.registry import CASE, findings
from seatrial.workload.listing import listing
from seatrial.workload.registry import planned_metrics
from seatrial.workload.semantics import HOLDING, posix_semantics
from seatrial.workload.sweep import AXES, Sweep
from seatrial.workload.tree import metadata_tree


def broken(plan, records):
    return [finding.rule for finding in findings(CASE, CaseSeen(plan, records)) if finding.effect != 'label']


def labels(plan, records, *rules):
    """The sentences of the labels, of these rules or of all."""
    raised = [finding for finding in findings(CASE, CaseSeen(plan, records)) if finding.effect == 'label']
    return [finding.sentence for finding in raised if not rules or finding.rule in rules]


def test_a_complete_record_breaks_no_rule(plan, records):
    assert broken(plan, records) == []


@pytest.mark.parametrize(
    ('before', 'after', 'unread'),
    [
        ('c4.S512k.p1', 'unknown: no answer', 'layout after the last one (no answer)'),
        ('unknown: no answer', 'c4.S512k.p1', 'layout before the first launch (no answer)'),
        ('unknown: for root alone', 'unknown: for root alone', ''),
        ('c4.S512k.p1', 'c1.S4M', ''),
    ],
)
def test_p22b_a_setting_that_was_read_once_alone_is_a_label(plan, records, before, after, unread):
    start, end = records.start._replace(state={'layout': before}), records.end._replace(state={'layout': after})
    sentences = labels(plan, records._replace(start=start, end=end), 'P22b')
    assert [sentence.partition(';')[0] for sentence in sentences] == [f'not read: {unread}'] * bool(unread)


EACH_ITS_OWN, EACH_ALL = ('0', '1'), ('0-1', '0-1')


@pytest.mark.parametrize(
    ('bound', 'why'),
    [
        (lambda n: [BoundTasks(('n1',), EACH_ITS_OWN), BoundTasks(('n2',), ('4', '7'))], None),
        (lambda n: [BoundTasks(('n1',), EACH_ALL)] if n else [], None),  # nobody knows of the first
        (
            lambda n: [BoundTasks(('n1', 'n2'), EACH_ITS_OWN), BoundTasks(('n3',), EACH_ALL)],
            'write@16MiB: not all nodes are alike: n1, n2: 2 tasks a node, each may use 1 of 2 cores; '
            'n3: 2 tasks a node, each may use 2 of 2 cores; ',
        ),
        (
            lambda n: [BoundTasks(('n1',), EACH_ITS_OWN if n else EACH_ALL)],
            '16MiB: not all launches are alike: 2 tasks a node, each may use 2 of 2 cores in 2 launches; '
            '2 tasks a node, each may use 1 of 2 cores in 10 launches; ',
        ),
    ],
)
def test_p23a_tasks_that_are_bound_otherwise_on_another_node_or_launch_are_labelled(plan, records, bound, why):
    samples = [sample._replace(bound=tuple(bound(sample.repetition))) for sample in records.samples]
    sentences = labels(plan, records._replace(samples=samples), 'P23a')
    assert [sentence.startswith(why or '') for sentence in sentences] == [True] * bool(why)


def test_each_way_of_binding_is_said_once_with_its_nodes(records):
    bound = (BoundTasks(('n1', 'n2'), EACH_ITS_OWN), BoundTasks(('n3',), EACH_ALL))
    assert binding([sample._replace(bound=bound) for sample in records.samples]) == (
        '2 tasks a node, each may use 1 of 2 cores (n1, n2)',
        '2 tasks a node, each may use 2 of 2 cores (n3)',
    )


def test_r4_a_record_that_was_edited_is_invalid_and_one_without_a_chain_says_so(plan, records):
    edited = records._replace(chain='0' * 64, broken='line 3')
    raised = findings(CASE, CaseSeen(plan, edited))
    assert [(finding.rule, finding.effect) for finding in raised if finding.effect != 'label'] == [('R4', 'invalid')]
    assert raised[0].sentence.startswith('line 3 of samples.jsonl, or what stood before it, was changed')
    assert broken(plan, edited._replace(broken='')) == []
    (label,) = labels(plan, records._replace(chain=''), 'R4a')
    assert label.startswith('no line of the record has a link')
    assert labels(plan, records._replace(chain='0' * 64), 'R4a') == []


def test_p7_samples_in_another_order_than_the_seed_gives_are_no_record_of_the_runner(plan, records):
    warm = [sample for sample in records.samples if sample.stage == 'warmup']
    counted = [sample for sample in records.samples if sample.stage == 'measured']
    by_point = sorted(counted, key=lambda sample: sample.point.label)
    assert broken(plan, records._replace(samples=[*warm, *by_point])) == ['P7']
    blocks = [list(block) for _, block in itertools.groupby(counted, lambda sample: sample.block)]
    swapped = [sample for block in blocks for sample in reversed(block)]
    assert broken(plan, records._replace(samples=[*warm, *swapped])) == ['P7']
    backwards = sorted(counted, key=lambda sample: -sample.block)
    assert 'P7' in broken(plan, records._replace(samples=[*warm, *backwards]))
    assert broken(plan, records._replace(samples=[*warm, *counted])) == []
    of_before_the_chain = records._replace(samples=[*warm, *by_point], chain='')
    assert broken(plan, of_before_the_chain) == []


def test_p7_the_order_of_a_block_is_that_of_the_points_that_are_left():
    labels = [f'{n}KiB' for n in range(9)]
    orders = [in_random_order(labels, 7, 1, block) for block in range(50)]
    for order in orders:
        assert sorted(order) == sorted(labels)
    assert in_random_order(labels[::2], 7, 1, 3) == [label for label in orders[3] if label in labels[::2]]
    # Each point comes first about as often as another one: 50 blocks of 9 are 5.6 on average.
    assert {order[0] for order in orders} == set(labels) and len(set(map(tuple, orders))) == 50


def p8(plan, records):
    return [text.partition('; ')[0] for text in labels(plan, records, 'P8')]


def test_p8_a_load_that_nobody_names_is_unknown(plan, records):
    quiet = records.end
    unknown = records._replace(end=quiet._replace(background={}))
    assert p8(plan, records) == []
    assert p8(plan, unknown) == ['background load unknown: the command prints no number']
    unnamed = plan._replace(target=plan.target._replace(telemetry=()))
    assert p8(unnamed, unknown) == ['background load unknown: trial.yaml names no source']
    assert p8(plan, records._replace(end=quiet._replace(background={'before': 0.0}))) != []
    smoke = plan._replace(stopping=plan.stopping._replace(fixed=True))
    assert p8(smoke, unknown) == []


@pytest.mark.parametrize(('share', 'is_said'), [(0.99, []), (1.01, 1)])
def test_p8_a_load_above_the_precision_of_the_slowest_launch_is_said(plan, records, share, is_said):
    slowest = min(s.measurement.metrics[0].value for s in records.samples if s.stage == 'measured')
    load = share * plan.stopping.max_relative_error * slowest
    loaded = records._replace(end=records.end._replace(background={'before': 0.0, 'after': load}))
    sentences = p8(plan, loaded)
    assert len(sentences) == bool(is_said)
    assert all(label.startswith('the servers moved ') for label in sentences)


JOB_STATE = 'Slurm says: cancelled by alice after 12 s'
NEVER, DIED = {'start': None, 'end': None}, {'end': None}
INTERRUPTED = {'end': End('interrupted', 'interrupted by SIGTERM', 9.0, {})}


@pytest.mark.parametrize(
    ('changed', 'state', 'words'),
    [
        (NEVER, '', 'never started'),
        (NEVER, JOB_STATE, f'the job left no record; {JOB_STATE}; '),
        (DIED, '', 'died'),
        (DIED, JOB_STATE, f'the job died: it left no end record; {JOB_STATE}; '),
        (INTERRUPTED, JOB_STATE, f'interrupted by SIGTERM; {JOB_STATE}; '),
        ({}, JOB_STATE, None),
    ],
)
def test_t15_a_job_without_a_good_end_says_what_ended_it(plan, records, changed, state, words):
    raised = findings(CASE, CaseSeen(plan, records._replace(job_state=state, **changed)))
    sentences = [finding.sentence for finding in raised if finding.rule == 'T15']
    assert sentences == [] if words is None else words in sentences[0]


@pytest.mark.parametrize(
    ('has_metric', 'changed'), [(True, {}), (False, {'sizing': 0}), (False, {'stage': 'prepare'})], ids=str
)
def test_t15_leaves_to_e2_a_launch_of_which_a_metric_tells_and_no_other(plan, records, has_metric, changed):
    why = 'a launch was given up: it hangs'
    given_up = first_changed(records, findings=(Finding('E2', 'invalid', 'it hangs'),), **changed)
    ended = given_up._replace(end=records.end._replace(reason='failed', why=why))
    (sentence,) = (finding.sentence for finding in findings(CASE, CaseSeen(plan, ended)) if finding.rule == 'T15')
    assert sentence.startswith('a launch was given up: E2 says why; ' if has_metric else f'{why}; ')


def test_t14_a_measured_launch_without_a_warm_up_before_it_is_invalid(plan, records):
    warm = [s for s in records.samples if s.stage == 'warmup']
    rest = [s for s in records.samples if s.stage != 'warmup']
    assert broken(plan, records._replace(samples=rest)) == ['T14']
    assert broken(plan, records._replace(samples=rest + warm)) == ['T14']


def test_r1_a_record_of_another_plan_is_invalid(plan, records):
    assert broken(plan._replace(seed=2), records) == ['R1']
    assert broken(plan._replace(target=plan.target._replace(path='/other')), records) == ['R1']
    assert broken(plan, records._replace(start=None)) == ['R1']
    (finding, *_) = findings(CASE, CaseSeen(plan, records._replace(truncated=2)))
    assert (finding.rule, finding.effect) == ('R2', 'incomplete'), 'a damaged line'


def first_changed(records, **fields):
    """The first measured sample with other fields; a point is that with another share of each task."""
    at = next(i for i, s in enumerate(records.samples) if s.stage == 'measured')
    samples = [*records.samples]
    if 'point' in fields:
        fields['point'] = samples[at].point.changed(bytes_per_task=1, files_per_directory=1)
    samples[at] = samples[at]._replace(**fields)
    return records._replace(samples=samples)


@pytest.mark.parametrize('change', [{'repetition': 1}, {'point': None}, {'exit_status': 1}])
def test_r3_a_sample_that_does_not_fit_the_others_is_invalid(plan, records, tree_plan, tree_records, change):
    assert broken(plan, first_changed(records, **change)) == ['R3']
    assert broken(tree_plan, first_changed(tree_records, **change)) == ['R3']
    assert broken(plan, records._replace(samples=[*records.samples, records.samples[-1]])) == ['R3']
    assert broken(plan, records._replace(samples=records.samples[:-1])) == ['R3']


@pytest.mark.parametrize('reason', ['', 'foo', 'exhausted', 'fixed', 'budget', 'invalid'])
def test_r3_why_a_point_ended_is_computed_from_the_samples(plan, records, reason):
    ended = records._replace(end=records.end._replace(stopped={**records.end.stopped, '16MiB': reason}))
    assert broken(plan, ended) == ['R3']


def test_r3_scattered_samples_are_not_converged_because_the_job_says_so(plan, records):
    samples = [
        s._replace(measurement=moved(s.point, 100.0 * MIB / (1 + s.repetition), s.phase)) if s.sizing else s
        for s in records.samples
    ]
    assert broken(plan, records._replace(samples=samples)) == ['R3']


def test_c1_a_sweep_without_all_of_its_points_is_labelled(plan, records):
    sweep = plan._replace(axis=AXES['tasks'], left_out=('8tasks', '64tasks'))
    (label,) = labels(sweep, records, 'C1', 'C1a')
    assert label.startswith('not all numbers of tasks fit; left out: 8tasks, 64tasks; ')


def test_c1a_layouts_that_lack_targets_are_labelled_with_how_many_there_are(plan, records):
    points = tuple(point._replace(layout=striped(point.label, 2)) for point in plan.points)
    fewer = plan._replace(points=points, left_out=('c4',), target=plan.target._replace(osts=2))
    (label,) = labels(fewer, records, 'C1', 'C1a')
    assert label.startswith('2 OSTs are too few for c4, left out; ')
    other = fewer._replace(left_out=('all',), target=plan.target._replace(type='cephfs', osts=None))
    (label,) = labels(other, records, 'C1', 'C1a')
    assert label.startswith('cephfs has no such layout: all, left out; ')


def long(records, seconds=400.0):
    samples = [
        s._replace(measurement=moved(s.point, s.point.bytes_moved / seconds, s.phase)) for s in records.samples
    ]
    return records._replace(samples=samples)


@pytest.mark.parametrize(
    ('declared', 'keys'),
    [
        ({}, 'server_cache_bytes and fast_tier_bytes are'),
        ({'server_cache_bytes': 0}, 'fast_tier_bytes is'),
        ({'fast_tier_bytes': 0}, 'server_cache_bytes is'),
    ],
)
def test_p16_undeclared_server_caches_are_labelled_and_asked_for_alone(plan, records, declared, keys):
    plan = plan._replace(profile='acceptance', target=plan.target._replace(**declared))
    assert labels(plan, long(records))[0] == f'server cache possible: {keys} not in trial.yaml; not a storage figure'


@pytest.mark.parametrize(
    ('profile', 'pinned', 'remedy'),
    [
        ('nightly', None, 'measure in the profile acceptance'),
        ('nightly', 64 * MIB, 'leave bytes_per_task to the profile acceptance'),
        ('acceptance', 64 * MIB, 'leave bytes_per_task to the profile acceptance'),
        ('acceptance', None, 'raise limits of the file system, or the budget of the trial, in trial.yaml'),
    ],
)
def test_p16_asks_for_what_is_not_so_yet(plan, records, profile, pinned, remedy):
    declared = plan.target._replace(server_cache_bytes=0, fast_tier_bytes=0)
    plan = plan._replace(profile=profile, sizing=plan.sizing._replace(pinned=pinned), target=declared)
    for seconds in (1.0, 400.0):  # too short, and long over too few bytes
        assert labels(plan, long(records, seconds))[0].endswith(f'; {remedy}; not a storage figure')


def test_p16_a_small_working_set_is_labelled_and_a_large_one_is_not(plan, records):
    declared = plan._replace(target=plan.target._replace(server_cache_bytes=0, fast_tier_bytes=0))
    assert 'MiB is 128 MiB, less than 2 GiB' in labels(declared, long(records))[0]
    small = long(records)._replace(start=records.start._replace(memory_bytes=64 * MIB))
    assert labels(declared, small) == []
    strict = plan._replace(sizing=plan.sizing._replace(min_s=300.0))
    assert 'less than 300 s' in labels(strict, long(records, 299.0))[0]
    assert 'lasted 1.0 s, less than 60 s' in labels(plan, records)[0]


def test_the_working_set_is_twice_the_memory_of_the_points_nodes_and_the_declared_tiers(plan):
    target = plan.target._replace(server_cache_bytes=3 * GIB, fast_tier_bytes=GIB)
    point = plan.points[0]._replace(nodes=2)
    assert working_set(plan._replace(target=target), point, GIB) == 2 * 2 * GIB + 4 * GIB


# Metadata: a launch with several metrics is a sample of each


@pytest.fixture
def both_plan():
    """Files and directories, created, statted and removed in the same launches."""
    return plan_of(metadata_tree(files_per_directory=1000, empties_per_directory=1000, scales=True), FLAT_TREE)


def test_a_launch_with_several_metrics_is_a_sample_of_each(both_plan):
    by_metric = measured(both_plan, records_of(both_plan, 6 * [5000.0]))
    assert {name: len(samples) for name, samples in by_metric.items()} == dict.fromkeys(planned_metrics(both_plan), 6)
    assert by_metric['file_create@flat'] == by_metric['directory_create@flat']


def test_what_is_no_phase_no_point_or_not_the_last_size_of_the_plan_does_not_count(plan, records):
    odd = sample_of(plan, plan.points[0], 'stat', 0, moved(plan.points[0], 100.0))
    elsewhere = odd._replace(phase='read', point=odd.point._replace(label='8MiB'))
    earlier = odd._replace(phase='read', sizing=0)
    more = records._replace(samples=[*records.samples, odd, elsewhere, earlier])
    assert measured(plan, more) == measured(plan, records)


def test_r3_a_valid_sample_that_lacks_a_figure_is_invalid(both_plan):
    records = records_of(both_plan, 6 * [5000.0])
    launch = next(sample.measurement for sample in records.samples if sample.stage == 'measured')
    silent = launch._replace(metrics=tuple(metric for metric in launch.metrics if metric.name != 'file_create'))
    raised = findings(CASE, CaseSeen(both_plan, first_changed(records, measurement=silent)))
    assert [(finding.rule, finding.effect) for finding in raised] == [('R3', 'invalid')]
    assert raised[0].sentence.startswith('file_create@flat: a sample is said to be valid and lacks the figure')


def test_r3_a_point_ends_when_every_metric_of_its_launches_is_known(both_plan):
    steady = dict.fromkeys(planned_metrics(both_plan), 20 * [5000.0])
    noisy = records_of(both_plan, {**steady, 'file_stat@flat': 10 * [1000.0, 4000.0]})
    assert (noisy.end.stopped, broken(both_plan, noisy)) == ({'flat': 'exhausted'}, [])
    called = noisy._replace(end=noisy.end._replace(stopped={'flat': 'converged'}))
    assert broken(both_plan, called) == ['R3']


def test_t5_says_that_the_time_was_too_short(plan, records):
    fewer = [s for s in records.samples if s.point.label != '32MiB']
    for stopped, is_said in (({'32MiB': 'budget'}, True), ({'32MiB': 'invalid'}, False)):
        end = records.end._replace(stopped={**records.end.stopped, **stopped})
        sentence = findings(CASE, CaseSeen(plan, records._replace(samples=fewer, end=end)))[0].sentence
        assert ('were not measured before the time budget was exhausted (' in sentence) is is_said


def test_t5_a_phase_that_was_never_measured_is_named_by_its_metrics(both_plan):
    records = records_of(both_plan, 6 * [5000.0])
    fewer = [sample for sample in records.samples if sample.phase != 'remove']
    (finding,) = findings(CASE, CaseSeen(both_plan, records._replace(samples=fewer)))
    assert (finding.rule, finding.effect) == ('T5', 'incomplete')
    assert '2 of 7 metrics were not measured (directory_remove@flat, file_remove@flat)' in finding.sentence


def test_r1_and_r3_a_record_of_a_tree_with_other_files_is_invalid(tree_plan, tree_records):
    other = tree_plan.points[0].changed(bytes_per_file=1)
    assert broken(tree_plan._replace(points=(other,)), tree_records) == ['R1', 'R3']


GUARANTEES = (posix_semantics(), Sweep('tasks', (2,)))


@pytest.mark.parametrize(
    ('workload', 'sweep'), [(FLAT, FLAT_TREE), (listing(10), Sweep('entries', (10,))), GUARANTEES]
)
def test_a_complete_record_of_metadata_or_guarantees_breaks_no_rule_and_has_no_label(workload, sweep):
    plan = plan_of(workload, sweep)
    assert findings(CASE, CaseSeen(plan, records_of(plan, 6 * [1.0]))) == []


def test_a_case_of_which_no_guarantee_holds_has_converged():
    plan = plan_of(*GUARANTEES)
    records = records_of(plan, {f'{HOLDING}@2tasks': 6 * [0.0]})
    assert (records.end.stopped, broken(plan, records)) == ({'2tasks': 'converged'}, [])


def test_t5_what_a_target_that_was_not_tested_lacks_is_not_said_twice(plan, records):
    closed = Finding('P5b', 'incomplete', 'it cannot be tested')
    kept = [sample for sample in records.samples if sample.point.label != '32MiB' or sample.stage != 'measured']
    only = [sample_of(plan, plan.points[1], 'write', findings=(closed,))]
    ends = records.end._replace(stopped={**records.end.stopped, '32MiB': 'invalid'})
    assert broken(plan, records._replace(samples=in_blocks(plan, [*kept, *only]), end=ends)) == []
    assert broken(plan, records._replace(samples=kept)) == ['T5']
