"""Rule P15 by Darshan: the accesses that were meant, compared with those that were issued."""

import pytest

from builders import plan_of, records_of, sample_of
from seatrial.model.issued import MIXED, DarshanLaunch, Done, Issued, Share
from seatrial.model.units import KIB, MIB
from seatrial.rules.case import CaseSeen
from seatrial.rules.issued import DARSHAN, compare, comparisons, issued_findings
from seatrial.rules.registry import CASE, findings
from seatrial.workload.access import data_access
from seatrial.workload.registry import kind_of
from seatrial.workload.semantics import posix_semantics


def point_of(files, extent='whole', order='contiguous', operations=('write', 'read'), **how):
    """Two tasks of a node move 2 MiB each in transfers of 1 KiB."""
    workload = data_access(files, extent, order, operations, KIB, 2 * MIB, **how)
    return workload._replace(label='1KiB', tasks=2, tasks_per_node=2)


MFWA = point_of('multiple')
SFWA = point_of('single', operations=('read',))
CONTIGUOUS = point_of('single', 'segment', 'contiguous')
STRIDED = point_of('single', 'segment', 'strided')
RANDOM = point_of('single', 'segment', 'random')
POINTS = [MFWA, SFWA, CONTIGUOUS, STRIDED, RANDOM, STRIDED.changed(interface='mpiio', collective=True)]
NAMES = ['MFWA', 'SFWA', 'contiguous', 'strided', 'random', 'collective']
FORWARD = {'contiguous': (1.0, 1.0), 'strided': (0.0, 1.0), 'random': (0.01, 0.5), MIXED: (0.8, 1.0)}


def done(phase, point=CONTIGUOUS, order=''):
    following, forward = FORWARD[order or point.data.order]
    transfers = point.tasks * point.data.transfers
    moved, order = point.bytes_moved, order or point.data.order
    return Done(phase, moved, transfers, order, transfers - point.tasks, following, forward)


def just_so(point, phase='read', **changes):
    """The accesses that are issued when exactly this phase of the point is carried out."""
    files = kind_of(point.kind).files(point)
    seen = Issued(
        processes=point.tasks,
        tasks=point.tasks,
        opened=len(files),
        files=len(files),
        sharing=point.data.files,
        extent=point.data.extent,
        interface=point.data.interface,
        collective=point.data.collective,
        size=sum(file.size for file in files),
        done=(done(phase, point),),
        sizes=(Share(point.data.transfer_size, 1.0),),
        alignment=4096,
        misaligned=0.0,
        partial=False,
    )
    return seen._replace(**changes)


def wrong(point, issued, phase='read'):
    return [comparison.what for comparison in compare(phase, point, issued) if comparison.agrees is False]


@pytest.mark.parametrize(('syncs', 'disagree'), [(0, ['fsync']), (1, ['fsync']), (2, []), (None, [])])
def test_a_write_that_not_every_task_has_synced_disagrees_and_a_read_needs_none(syncs, disagree):
    assert wrong(CONTIGUOUS, just_so(CONTIGUOUS, 'write', syncs=syncs), 'write') == disagree
    assert wrong(CONTIGUOUS, just_so(CONTIGUOUS, syncs=0)) == []


@pytest.mark.parametrize('point', POINTS, ids=NAMES)
def test_what_was_meant_and_issued_agrees(point):
    assert all(comparison.agrees for comparison in compare('read', point, just_so(point)))


@pytest.mark.parametrize('meant', POINTS, ids=NAMES)
@pytest.mark.parametrize('other', POINTS, ids=NAMES)
def test_every_other_pattern_disagrees(meant, other):
    assert bool(wrong(meant, just_so(other))) == (meant != other)


@pytest.mark.parametrize(
    ('what', 'change'),
    [
        ('tasks', {'tasks': 1}),
        ('files', {'files': 3}),
        ('files', {'sharing': MIXED}),
        ('extent', {'extent': ''}),
        ('extent', {'size': 4 * MIB - 1}),
        ('operations', {'done': (done('write'),)}),
        ('operations', {'done': (done('write'), done('read'))}),
        ('operations', {'done': ()}),
        ('order', {'done': (done('read', order='strided'),)}),
        ('order', {'done': (done('read', order=MIXED),)}),
        ('bytes', {'done': (done('read')._replace(bytes_moved=4 * MIB - 1),)}),
        ('transfer size', {'sizes': (Share(2 * KIB, 1.0),)}),
        ('transfer size', {'sizes': (Share(1 * KIB, 0.89), Share(2 * KIB, 0.11))}),
        ('transfer size', {'sizes': ()}),
        ('calls', {'interface': 'mpiio'}),
        ('calls', {'collective': True}),
    ],
)
def test_each_aspect_is_compared(what, change):
    assert wrong(CONTIGUOUS, just_so(CONTIGUOUS, **change)) == [what]


def test_of_one_task_shared_and_own_whole_and_segment_strided_and_contiguous_are_the_same():
    def alone(point):
        return point._replace(tasks=1, tasks_per_node=1)

    seen = just_so(alone(MFWA))
    for point in (MFWA, CONTIGUOUS, STRIDED):
        assert wrong(alone(point), seen) == []
    assert wrong(alone(RANDOM), seen) == ['order']


def test_what_is_read_several_times_over_is_no_larger_file():
    point = point_of('single', 'segment', operations=('read',), passes=3)
    (file,) = kind_of(point.kind).files(point)
    assert (file.size, point.bytes_moved) == (4 * MIB, 12 * MIB)
    seen = just_so(point, extent='', done=(done('read', point)._replace(order=MIXED),))
    verdicts = {comparison.what: comparison.agrees for comparison in compare('read', point, seen)}
    assert verdicts.pop('order') is None and all(verdicts.values())


def test_of_one_transfer_there_is_no_order():
    one = STRIDED.changed(transfer_size=2 * MIB)
    nothing = done('read', one)._replace(order='', transitions=0)
    seen = just_so(one, done=(nothing,))
    assert [comparison.agrees for comparison in compare('read', one, seen) if comparison.what == 'order'] == [None]
    assert wrong(one, seen) == []


def test_a_few_random_accesses_may_look_like_any_order_and_many_may_not():
    few = RANDOM.changed(transfer_size=512 * KIB)
    contiguous = just_so(few.changed(order='contiguous'))
    assert [compared.agrees for compared in compare('read', few, contiguous) if compared.what == 'order'] == [None]
    assert wrong(RANDOM, just_so(CONTIGUOUS)) == ['order']


@pytest.mark.parametrize(('forward', 'expected'), [(0.5, []), (0.52, []), (0.53, ['order']), (0.47, ['order'])])
def test_a_random_order_goes_forward_half_of_the_time(forward, expected):
    # 4094 transitions: five sigma of 2 permutations of 2048 are 0.023 of them.
    seen = done('read', RANDOM)._replace(forward=forward, order=MIXED)
    assert wrong(RANDOM, just_so(RANDOM, done=(seen,))) == expected


def test_a_transfer_that_linux_makes_in_several_calls_is_not_compared_in_size_and_order():
    large = STRIDED.changed(transfer_size=4096 * MIB, bytes_per_task=8192 * MIB)
    seen = just_so(large, sizes=(Share(0x7FFFF000, 0.5), Share(4096, 0.5)))
    seen = seen._replace(done=tuple(access._replace(order=MIXED) for access in seen.done))
    assert wrong(large, seen) == []


# The rule


def traced_records(plan, *launches):
    records = records_of(plan, [100.0, 101.0, 100.5, 99.5, 100.2, 100.1])
    traced = [sample_of(plan, plan.points[-1], run.phase, stage=DARSHAN) for run in launches]
    return records._replace(samples=[*records.samples, *traced], issued=tuple(launches))


def launch(phase, issued, why='', point=STRIDED):
    return DarshanLaunch(phase, point, issued, why)


@pytest.fixture
def plan():
    return plan_of(points=(STRIDED,), darshan='/opt/darshan/lib/libdarshan.so')


def not_traced(plan, records):
    return [finding.sentence for finding in findings(CASE, CaseSeen(plan, records)) if finding.rule == 'P15a']


@pytest.fixture
def records(plan):
    return traced_records(plan, *(launch(phase, just_so(STRIDED, phase)) for phase in ('write', 'read')))


def test_p15_holds_where_every_launch_did_what_was_meant(plan, records):
    assert issued_findings(plan, records) == [] and not_traced(plan, records) == []
    assert [comparison.launch for comparison in comparisons(plan, records)] == ['write@1KiB', 'read@1KiB']


def test_p15_strided_was_declared_and_contiguous_issued(plan):
    contiguous = just_so(CONTIGUOUS, 'write')
    (finding,) = issued_findings(plan, traced_records(plan, launch('write', contiguous)))
    assert (finding.rule, finding.effect) == ('P15', 'invalid')
    assert finding.sentence.startswith(
        'by Darshan, write@1KiB: order: strided meant, contiguous (100 % right behind the one before, '
        '100 % anywhere behind it) issued; '
    )


def test_p15_compares_with_the_bytes_that_the_launch_really_had(plan):
    half = STRIDED.changed(bytes_per_task=1 * MIB)
    seen = launch('read', just_so(half), point=half)
    assert issued_findings(plan, traced_records(plan, seen)) == []


@pytest.mark.parametrize(
    ('changes', 'said_of'),
    [
        ({'point': CONTIGUOUS.changed(interface='hdf5')}, 'HDF5 writes and reads bytes of its own'),
        ({'point': CONTIGUOUS.changed(interface='netcdf')}, 'NetCDF writes and reads bytes of its own'),
        ({'issued': just_so(CONTIGUOUS, 'write', partial=True)}, 'its log is marked as partial'),
        ({'issued': None, 'why': 'no log was left'}, 'no log was left; '),
    ],
)
def test_what_cannot_be_compared_breaks_no_rule_and_is_said(plan, changes, said_of):
    records = traced_records(plan, launch('write', just_so(CONTIGUOUS, 'write'))._replace(**changes))
    assert issued_findings(plan, records) == []
    assert not_traced(plan, records)[0].startswith(f'not traced: write@1KiB: {said_of}')


@pytest.mark.parametrize(
    ('profile', 'is_said'), [('smoke', False), ('nightly', False), ('paper', False), ('acceptance', True)]
)
def test_only_before_an_acceptance_is_signed_it_is_said_that_nothing_was_traced(plan, profile, is_said):
    bare = plan._replace(darshan='', profile=profile)
    sentences = not_traced(bare, records_of(bare, [100.0] * 6))
    assert ['names no Darshan library' in sentence for sentence in sentences] == [True] * is_said


def test_nothing_is_said_of_a_case_that_did_not_finish_or_has_no_files_of_its_own(plan, records):
    assert 'have not been read' in not_traced(plan, records._replace(issued=()))[0]
    assert 'time budget exhausted' in not_traced(plan, records_of(plan, [100.0] * 6))[0]
    assert not_traced(plan, records._replace(end=None)) == []
    semantics = plan._replace(points=(posix_semantics(),))
    assert not_traced(semantics, records_of(semantics, [1.0] * 6)) == []


def test_a_log_of_a_point_that_the_plan_lacks_says_nothing(plan, records):
    strange = launch('write', just_so(CONTIGUOUS, 'write'), point=CONTIGUOUS._replace(label='8KiB'))
    assert comparisons(plan, records._replace(issued=(strange,))) == ()
