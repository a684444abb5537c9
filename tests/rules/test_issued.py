"""Rule P15 by a witness: what was meant beside what was issued."""

import pytest

from builders import plan_of, records_of, sample_of
from seatrial.model.issued import MIXED, Done, Issued, Share, Witnessed
from seatrial.model.namespace import SEMANTICS
from seatrial.model.units import KIB, MIB
from seatrial.model.workload import AccessPattern, Point, files_of
from seatrial.rules.case import CaseSeen
from seatrial.rules.issued import compare, comparisons, issued_findings
from seatrial.rules.registry import CASE, findings

MFWA = AccessPattern('multiple', 'whole')
SFWA = AccessPattern('single', 'whole', operations=('read',))
CONTIGUOUS = AccessPattern('single', 'segment', 'contiguous')
STRIDED = AccessPattern('single', 'segment', 'strided')
RANDOM = AccessPattern('single', 'segment', 'random')
PATTERNS = [MFWA, SFWA, CONTIGUOUS, STRIDED, RANDOM, STRIDED._replace(interface='mpiio', collective=True)]
POINT = Point('2048objects', 1, 2, 2, 2 * MIB, 1 * KIB, 2048)
FORWARD = {'contiguous': (1.0, 1.0), 'strided': (0.0, 1.0), 'random': (0.01, 0.5), MIXED: (0.8, 1.0)}


def done(operation, point=POINT, order='contiguous'):
    following, forward = FORWARD[order]
    transfers = point.tasks * point.objects
    return Done(operation, point.bytes_moved, transfers, order, transfers - point.tasks, following, forward)


def just_so(pattern, point=POINT, **changes):
    """What is issued when exactly the pattern is carried out."""
    files = files_of(pattern, point)
    seen = Issued(
        processes=point.tasks,
        clients=point.tasks,
        opened=len(files),
        files=len(files),
        sharing=pattern.files,
        extent=pattern.extent,
        interface=pattern.interface,
        collective=pattern.collective,
        size=sum(file.size for file in files),
        done=tuple(done(each, point, pattern.order) for each in pattern.operations),
        sizes=(Share(point.transfer_size, 1.0),),
        alignment=4096,
        misaligned=0.0,
        partial=False,
    )
    return seen._replace(**changes)


def wrong(pattern, point, issued):
    return [each.what for each in compare(pattern, point, issued) if each.agrees is False]


@pytest.mark.parametrize('pattern', PATTERNS, ids=lambda pattern: pattern.name)
def test_what_was_meant_and_issued_agrees(pattern):
    assert all(each.agrees for each in compare(pattern, POINT, just_so(pattern)))


@pytest.mark.parametrize('meant', PATTERNS, ids=lambda pattern: pattern.name)
@pytest.mark.parametrize('other', PATTERNS, ids=lambda pattern: pattern.name)
def test_every_other_pattern_disagrees(meant, other):
    same = other._replace(operations=meant.operations)
    assert bool(wrong(meant, POINT, just_so(same))) == (meant != same)


@pytest.mark.parametrize(
    ('what', 'change'),
    [
        ('clients', {'clients': 1}),
        ('files', {'files': 3}),
        ('files', {'sharing': MIXED}),
        ('extent', {'extent': ''}),
        ('extent', {'size': 4 * MIB - 1}),
        ('operations', {'done': (done('write'),)}),
        ('operations', {'done': ()}),
        ('order', {'done': (done('write', order='strided'), done('read'))}),
        ('order', {'done': (done('write'), done('read', order=MIXED))}),
        ('bytes', {'done': (done('write')._replace(bytes_moved=4 * MIB - 1), done('read'))}),
        ('transfer size', {'sizes': (Share(2 * KIB, 1.0),)}),
        ('transfer size', {'sizes': (Share(1 * KIB, 0.89), Share(2 * KIB, 0.11))}),
        ('transfer size', {'sizes': ()}),
        ('calls', {'interface': 'mpiio'}),
        ('calls', {'collective': True}),
    ],
)
def test_each_aspect_is_compared(what, change):
    assert wrong(CONTIGUOUS, POINT, just_so(CONTIGUOUS, **change)) == [what]


def test_of_one_client_shared_and_own_whole_and_segment_strided_and_contiguous_are_the_same():
    one = POINT._replace(tasks=1, tasks_per_node=1)
    seen = just_so(MFWA, one)
    for pattern in (MFWA, CONTIGUOUS, STRIDED):
        assert wrong(pattern, one, seen) == []
    assert wrong(RANDOM, one, seen) == ['order', 'order']


def test_of_one_object_there_is_no_order():
    one = POINT._replace(objects=1, transfer_size=2 * MIB)
    nothing = tuple(each._replace(order='', transitions=0) for each in just_so(STRIDED, one).done)
    seen = just_so(CONTIGUOUS, one, done=nothing)
    assert [each.agrees for each in compare(STRIDED, one, seen) if each.what == 'order'] == [None, None]
    assert wrong(STRIDED, one, seen) == []


def test_a_few_random_accesses_may_look_like_any_order_and_many_may_not():
    few = POINT._replace(objects=4, transfer_size=512 * KIB)
    told = [each.agrees for each in compare(RANDOM, few, just_so(CONTIGUOUS, few)) if each.what == 'order']
    assert told == [None, None]
    assert wrong(RANDOM, POINT, just_so(CONTIGUOUS)) == ['order', 'order']


@pytest.mark.parametrize(('forward', 'said'), [(0.5, []), (0.52, []), (0.53, ['order']), (0.47, ['order'])])
def test_a_random_order_goes_forward_half_of_the_time(forward, said):
    # 4094 transitions: five sigma of 2 permutations of 2048 are 0.023 of them.
    seen = done('read', order='random')._replace(forward=forward, order=MIXED)
    assert wrong(RANDOM._replace(operations=('read',)), POINT, just_so(RANDOM, done=(seen,))) == said


def test_a_transfer_that_linux_makes_in_several_calls_is_not_held_against_its_size_and_order():
    large = POINT._replace(objects=2, transfer_size=4096 * MIB, bytes_per_client=8192 * MIB)
    seen = just_so(STRIDED, large, sizes=(Share(0x7FFFF000, 0.5), Share(4096, 0.5)))
    seen = seen._replace(done=tuple(each._replace(order=MIXED) for each in seen.done))
    assert wrong(STRIDED, large, seen) == []


# The rule


def witnessed_records(plan, *launches):
    records = records_of(plan, [100.0, 101.0, 100.5, 99.5, 100.2, 100.1])
    witness = [sample_of(plan, plan.points[-1], each.operation, stage='witness') for each in launches]
    return records._replace(samples=[*records.samples, *witness], issued=tuple(launches))


def launch(operation, issued, why=''):
    return Witnessed('2048objects', operation, 2 * MIB, issued, why)


@pytest.fixture
def plan():
    return plan_of(STRIDED, points=(POINT,), darshan='/opt/darshan/lib/libdarshan.so')


def said(plan, records):
    return [each.sentence for each in findings(CASE, CaseSeen(plan, records)) if each.rule == 'P15a']


@pytest.fixture
def records(plan):
    return witnessed_records(
        plan,
        *(launch(each, just_so(STRIDED._replace(operations=(each,)))) for each in ('write', 'read')),
    )


def test_p15_holds_where_every_launch_did_what_was_meant(plan, records):
    assert issued_findings(plan, records) == [] and said(plan, records) == []
    assert [each.launch for each in comparisons(plan, records)] == ['write@2048objects', 'read@2048objects']


def test_p15_strided_was_declared_and_contiguous_issued(plan):
    contiguous = just_so(CONTIGUOUS._replace(operations=('write',)))
    (found,) = issued_findings(plan, witnessed_records(plan, launch('write', contiguous)))
    assert (found.rule, found.effect) == ('P15', 'invalid')
    assert found.sentence.startswith(
        'by Darshan, write@2048objects: order: strided meant, contiguous (100 % right behind the one before, '
        '100 % anywhere behind it) issued; '
    )


def test_p15_compares_with_the_bytes_that_the_launch_really_had(plan):
    half = POINT._replace(bytes_per_client=1 * MIB, transfer_size=512)
    seen = launch('read', just_so(STRIDED._replace(operations=('read',)), half))._replace(per_client=1 * MIB)
    assert issued_findings(plan, witnessed_records(plan, seen)) == []


def test_a_partial_log_is_not_held_against_anybody(plan):
    nothing = just_so(CONTIGUOUS, partial=True)
    records = witnessed_records(plan, launch('write', nothing))
    assert issued_findings(plan, records) == []
    assert 'not applicable: Darshan marks its log as partial' in said(plan, records)[0]


def test_why_a_launch_was_not_seen_is_said(plan):
    records = witnessed_records(plan, launch('write', None, 'no log was left'))
    assert issued_findings(plan, records) == []
    assert said(plan, records)[0].startswith('not witnessed: write@2048objects: no log was left; ')


def test_before_an_acceptance_is_signed_it_is_told_that_nothing_was_witnessed(plan, records):
    bare = plan._replace(darshan='', profile='acceptance')
    assert 'names no Darshan library' in said(bare, records_of(bare, [100.0] * 6))[0]


@pytest.mark.parametrize('profile', ['smoke', 'nightly', 'paper'])
def test_a_site_without_darshan_is_left_in_peace_where_nothing_is_signed(plan, profile):
    bare = plan._replace(darshan='', profile=profile)
    assert said(bare, records_of(bare, [100.0] * 6)) == []


def test_logs_that_nobody_has_read_are_no_witness(plan, records):
    assert 'have not been read' in said(plan, records._replace(issued=()))[0]


def test_a_repetition_for_which_there_was_no_time_is_no_witness(plan):
    assert 'the time budget ended' in said(plan, records_of(plan, [100.0] * 6))[0]


def test_nothing_is_said_of_a_case_that_did_not_finish_or_has_no_files_of_its_own(plan, records):
    assert said(plan, records._replace(end=None)) == []
    assert said(plan._replace(workload=SEMANTICS), records) == []


def test_testimony_of_a_point_that_the_plan_lacks_says_nothing(plan, records):
    strange = Witnessed('8objects', 'write', 1, just_so(CONTIGUOUS))
    assert comparisons(plan, records._replace(issued=(strange,))) == ()
