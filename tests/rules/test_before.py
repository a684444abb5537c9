"""Rules before the run: what refuses it, with the arithmetic."""

import pytest

from seatrial.model.plan import Limits
from seatrial.model.units import GIB, MIB
from seatrial.rules.before import Environment, peak
from seatrial.rules.registry import BEFORE, findings
from seatrial.workload.limits import QUOTA_BYTES, until


@pytest.fixture
def environment(plan):
    nothing = ('lock_held', 'outside', 'quota_bytes', 'quota_inodes', 'layout_fault', 'no_engine', 'wrong_type')
    room = {'free_bytes': 10 * GIB, 'free_inodes': 1000, 'needed_bytes': 129 * MIB, 'needed_inodes': 10}
    return Environment(
        plan=plan, same_device=False, raw_inside=False, still_working=None, **room, **dict.fromkeys(nothing)
    )


def broken(environment):
    return [(finding.rule, finding.effect) for finding in findings(BEFORE, environment)]


def test_a_good_environment_breaks_no_rule(environment):
    assert broken(environment) == []
    assert broken(environment._replace(free_bytes=None, free_inodes=None)) == [], 'unknown offers refuse nothing'


@pytest.mark.parametrize(('used', 'refused'), [(69, False), (70, True), (None, True)])
def test_a_fullness_that_is_there_already_is_refused(environment, used, refused):
    points = tuple(point.changed(fullness=0.7) for point in environment.plan.points)
    meant = environment._replace(plan=environment.plan._replace(points=points), used_percent=used)
    assert broken(meant) == [('P9c', 'refuse')] * refused


@pytest.mark.parametrize(
    ('change', 'rule'),
    [
        ({'no_engine': 'no engine'}, 'E0'),
        ({'outside': 'a link leads out'}, 'S1'),
        ({'device_fault': '/dev/sdb is not there'}, 'S5'),
        ({'lock_held': 'held by u'}, 'P6'),
        ({'free_bytes': 128 * MIB}, 'P9'),
        ({'quota_bytes': 128 * MIB}, 'P9'),
        ({'free_inodes': 9}, 'P9'),
        ({'quota_inodes': 9}, 'P9'),
        ({'needed_bytes': GIB + 1}, 'P9'),
        ({'needed_inodes': 101}, 'P9'),
        ({'wrong_type': 'it lies on /dev/sda1'}, 'S2'),
        ({'still_working': 'process 7'}, 'S3'),
        ({'raw_inside': True}, 'P11'),
        ({'same_device': True}, 'P18'),
        ({'layout_fault': 'no layouts'}, 'P5'),
    ],
)
def test_each_fault_refuses_the_run(environment, change, rule):
    assert broken(environment._replace(**change)) == [(rule, 'refuse')]


def test_a_layout_over_a_dead_target_is_not_remedied_by_the_default_one(environment):
    """Whose files may lie on it as well."""
    (finding,) = findings(BEFORE, environment._replace(layout_fault='OST 2 is away'))
    remedy = finding.sentence.partition('; ')[2]
    assert 'default' not in remedy and 'see to the target that is away' in remedy


NEEDED, FULL_OST = 'the case needs 129 MiB (135266304 B) on /scratch, more than', 'OST 7 has 1 MiB free'


@pytest.mark.parametrize(
    ('free', 'keep', 'words'),
    [
        ({'free_bytes': MIB}, {}, f'{NEEDED} free space: 1 MiB (1048576 B); free space, or set smaller sizes'),
        ({'free_bytes': 200 * MIB}, {'keep_bytes': 72 * MIB}, 'free space less limits.keep_bytes: 128 MiB'),
        ({'free_bytes': 201 * MIB}, {'keep_bytes': 72 * MIB}, None),
        ({'free_inodes': 29}, {'keep_inodes': 20}, 'free inodes less limits.keep_inodes: 9;'),
        ({'free_inodes': 30}, {'keep_inodes': 20}, None),
        ({'free_bytes': None}, {'keep_bytes': GIB}, None),
        # a target that limits the space is named, but not beside a quota
        ({'free_bytes': MIB, 'narrowest': FULL_OST}, {}, f'free space: 1 MiB (1048576 B), for {FULL_OST}; '),
        ({'quota_bytes': MIB, 'narrowest': FULL_OST}, {}, 'the quota of user and group: 1 MiB (1048576 B); '),
    ],
)
def test_the_arithmetic_of_room_is_shown_and_what_is_kept_for_others_is_not_offered(environment, free, keep, words):
    plan = environment.plan._replace(target=environment.plan.target._replace(limits=Limits(GIB, 100, **keep)))
    sentences = [finding.sentence for finding in findings(BEFORE, environment._replace(plan=plan, **free))]
    assert [words in sentence for sentence in sentences] == [True] * (words is not None)


def test_the_peak_of_a_file_a_task_is_all_of_them_and_of_one_that_all_read_is_one(plan):
    points = tuple(point.changed(files='single', phases=('read',)) for point in plan.points)
    whole = plan._replace(points=points)
    assert 64 * MIB <= peak(whole, 64 * MIB)['bytes'] < 128 * MIB <= peak(plan, 64 * MIB)['bytes']
    assert peak(plan, 64 * MIB)['inodes'] >= 2


def labels(environment, rule):
    raised = findings(BEFORE, environment)
    return [finding.sentence for finding in raised if (finding.rule, finding.effect) == (rule, 'label')]


UNSEEN, ONE_NODE = 'not seen whether a connection to a server was lost:', 'only those of the first node are checked; '


@pytest.mark.parametrize(
    ('rule', 'change', 'nodes', 'text'),
    [
        ('P9d', {'room_unseen': 'the quota (lfs: no answer)'}, 1, 'not known: the quota (lfs: no answer); '),
        ('P20a', {'unseen': 'osc/*/state: denied'}, 1, f'{UNSEEN} osc/*/state: denied; '),
        ('P20a', {'unseen': ''}, 1, None),
        *(('P20a', {'unseen': ''}, nodes, f'{UNSEEN} {ONE_NODE}') for nodes in (2, 64)),
        ('P20a', {'unseen': None}, 2, None),  # there are none
    ],
)
def test_what_could_not_be_asked_is_a_label(environment, rule, change, nodes, text):
    plan = environment.plan._replace(case=environment.plan.case._replace(nodes=nodes))
    seen = environment._replace(plan=plan, **change)
    assert [label.startswith(text or '') for label in labels(seen, rule)] == [True] * bool(text)
    assert broken(seen) == [(rule, 'label')] * bool(text)


def test_records_on_the_target_by_permission_of_the_site_are_a_label(environment):
    allowed = environment.plan._replace(target=environment.plan.target._replace(records_on_target=True))
    assert broken(environment._replace(plan=allowed, same_device=True)) == [('P18a', 'label')]


@pytest.mark.parametrize(
    ('declared', 'memory', 'rules'),
    [(0, 64 * GIB, []), (64 * GIB, 62 * GIB, []), (64 * GIB, 128 * GIB, ['P16c']), (64 * GIB, 32 * GIB, ['P16c'])],
)
def test_memory_that_the_site_declares_otherwise_is_labelled(environment, declared, memory, rules):
    seen = environment._replace(plan=environment.plan._replace(node_memory=declared), memory_bytes=memory)
    assert broken(seen) == [(rule, 'label') for rule in rules]


@pytest.mark.parametrize(
    ('change', 'refused'),
    [
        ({}, False),
        ({'quota_bytes': 2 * GIB}, True),  # more than limits.bytes
        ({'quota_bytes': None}, True),  # no quota: all that is free is left
        ({'same_device': True}, True),
        ({'beneath': {'bytes': (200 * MIB, 10 * GIB)}}, True),
        ({'beneath': {}}, True),
    ],
)
def test_a_quota_is_filled_only_within_the_limits_and_with_room_for_others(environment, change, refused):
    filling = environment._replace(
        plan=environment.plan._replace(points=(until(QUOTA_BYTES),)),
        quota_bytes=500 * MIB,
        beneath={'bytes': (9 * GIB, 10 * GIB)},
    )
    assert ('P9b' in [rule for rule, _ in broken(filling._replace(**change))]) is refused


@pytest.mark.parametrize(
    ('block', 'sizes', 'odd'),
    [
        (4 * MIB, (MIB, 4 * MIB, 16 * MIB), ''),  # they divide the block, or are made of whole ones
        (4 * MIB, (MIB, 3 * MIB), 'transfers of 3MiB'),
        (4 * MIB, (47008,), 'transfers of 47008B'),
        (0, (47008,), ''),
    ],
)
def test_transfers_that_do_not_fit_the_blocks_of_a_file_system_are_a_label(environment, block, sizes, odd):
    points = tuple(environment.plan.points[0].changed(transfer_size=size) for size in sizes)
    given = environment._replace(plan=environment.plan._replace(points=points), block_size=block)
    assert [label.startswith(odd) for label in labels(given, 'P26')] == [True] * bool(odd)
