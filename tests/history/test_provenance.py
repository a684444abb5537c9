"""Differences between sessions in the software, settings and file system with which they measured."""

import json

import polars as pl
import pytest

from seatrial.history.provenance import circumstances, differing, facts_of, sentence

FIRST, SECOND, THIRD = '20261201T000000-a', '20261202T000000-b', '20261203T000000-c'


@pytest.fixture
def frame(rows, sample):
    """The rows of a session, some columns of which have another value."""

    def make(session, **changes):
        result = rows(session, write_16MiB=[sample()], read_16MiB=[sample(phase='read')])
        for name, value in changes.items():
            known = json.dumps(value) if isinstance(value, dict) else value
            result = result.with_columns(pl.lit(known, pl.Int64 if isinstance(known, int) else pl.String).alias(name))
        return result

    return make


def differences(before, after):
    return differing(facts_of(before), facts_of(after))


def test_a_difference_is_said_once_however_many_cases_have_it(frame):
    def both(session, **changes):
        one = frame(session, **changes)
        return pl.concat([one, one.with_columns(pl.lit('Other').alias('check'))])

    expected = ['MPI: none against a', 'kernel: 6.1 against b']
    assert differences(both(FIRST), both(SECOND, mpi='a', kernel='b')) == expected


def test_of_many_sessions_it_is_said_since_when(frame):
    text = sentence([frame(FIRST), frame(SECOND, kernel='6.2'), frame(THIRD, kernel='6.2', mpi='a')])
    changes = f'kernel: 6.1 against 6.2 (from {SECOND} on); MPI: none against a (from {THIRD} on)'
    assert text == f'Not measured with the same: {changes}'
    assert sentence([frame(FIRST), frame(SECOND)]) == '' and differences(frame(FIRST), frame(SECOND)) == []


TYPE = 'scratch: type in trial.yaml'
TMPFS = {'mounted': 'tmpfs on /t type tmpfs', 'mount options': 'rw,relatime', 'vm dirty_ratio': '20'}
BARE = {**TMPFS, 'mounted': '/dev/loop0 on /t type ext4'}
EXT4 = {**BARE, 'ext4 options': 'x'}
NOATIME, SYNCED = ({'state': {**EXT4, 'mount options': f'rw,{rest}'}} for rest in ('noatime', 'relatime,sync'))
OLD, NEW = ({'client_version': version, 'state': {**EXT4, 'client version': version}} for version in ('6.1', '6.2'))
BUILDS = [{'engine_build': f'sha256:{digit * 64}'} for digit in '01']


@pytest.mark.parametrize(
    ('one', 'other', 'text'),
    [
        ({'modules': 'gcc/12 a/1'}, {'modules': 'gcc/12 a/2 b/3'}, ['modules: a/1 against a/2 b/3']),
        ({'modules': ''}, {'modules': 'a'}, ['modules: none against a']),
        (*BUILDS, ["engine's build: sha256:000000000000 against sha256:111111111111"]),
        ({'tasks': 2}, {'tasks': 64}, ['tasks: 2 against 64']),
        # What an older session did not record is not called the same; a case that did not begin differs in nothing.
        ({'mpi': None}, {'mpi': 'MPICH 4.0.2'}, ['MPI: not recorded against MPICH 4.0.2']),
        ({'engine': None, 'mpi': None}, {'mpi': 'MPICH 4.0.2'}, []),
        ({'engine': '', 'mpi': None}, {'mpi': 'MPICH 4.0.2'}, []),
        ({'partition': 'elsewhere', 'kernel': '6.1'}, {'kernel': '6.2'}, []),  # which is another case
        # another type or mount is said first
        (
            {'state': TMPFS, 'mpi': 'a'},
            {'state': EXT4, 'mpi': 'b'},
            ['scratch: mounted: tmpfs on /t type tmpfs against /dev/loop0 on /t type ext4', 'MPI: a against b'],
        ),
        ({'state': EXT4}, {'state': EXT4, 'file_system_type': 'posix'}, [f'{TYPE}: lustre against posix']),
        ({'state': EXT4}, NOATIME, ['scratch: mount options: relatime against noatime']),
        ({'state': EXT4}, SYNCED, ['scratch: mount options: no others against sync']),
        (OLD, NEW, ["file system's client: 6.1 against 6.2"]),
        ({'state': EXT4}, {'state': BARE}, ['scratch: ext4 options: x against not recorded']),
        ({'state': None}, {'state': EXT4}, ['scratch: settings: not recorded against recorded']),
    ],
)
def test_what_differs_is_said_once_with_both_values(frame, one, other, text):
    assert differences(frame(FIRST, **one), frame(SECOND, **other)) == text


def test_another_mount_of_the_second_case_is_said_before_the_engine_of_the_first(frame):
    def both(session, state, mpi):
        home = frame(session, state=json.dumps(state), mpi='a', file_system='home')
        return pl.concat([frame(session, mpi=mpi), home])

    assert differences(both(FIRST, TMPFS, 'a'), both(SECOND, EXT4, 'b'))[0].startswith('home: mounted: tmpfs')


def test_sets_of_sessions_differ_where_one_has_a_value_that_the_other_has_not(frame):
    before = pl.concat([frame(FIRST, kernel='6.1'), frame(SECOND, kernel='6.2')])
    assert differences(before, frame(THIRD, kernel='6.2')) == ['kernel: 6.1 and 6.2 against 6.2']
    assert differences(before, pl.concat([frame(THIRD, kernel='6.2'), frame('z', kernel='6.1')])) == []


def test_nodes_and_fullness_are_circumstances_and_no_differences(frame):
    one = frame(FIRST).with_columns(pl.lit(62, pl.Int64).alias('used_percent'))
    other = frame(SECOND, hosts='node2 node3').with_columns(pl.lit(81, pl.Int64).alias('used_percent'))
    assert differences(one, other) == []
    assert circumstances(one, other) == ['nodes: node1 against node3', 'scratch: 62 % full against 81 %']
    assert circumstances(one, one) == []
