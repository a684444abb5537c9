"""Whether sessions measured with the same things."""

import json

import polars as pl
import pytest

from seatrial.history.provenance import FACTS, circumstances, differences, sentence

FIRST, SECOND, THIRD = '20261201T000000-a', '20261202T000000-b', '20261203T000000-c'


@pytest.fixture
def frame(rows, sample):
    """The rows of a session, some columns of which have another value."""

    def make(session, **changes):
        found = rows(session, write_16MiB=[sample()], read_16MiB=[sample(phase='read')])
        return found.with_columns(pl.lit(value, pl.String).alias(name) for name, value in changes.items())

    return make


def test_sessions_that_measured_with_the_same_differ_in_nothing(frame):
    assert differences(frame(FIRST), frame(SECOND)) == []
    assert sentence([frame(FIRST), frame(SECOND)]) == ''


@pytest.mark.parametrize('name', [name for name in FACTS if name not in ('modules', 'environment')])
def test_everything_that_tells_is_compared(frame, name):
    assert differences(frame(FIRST, **{name: 'x'}), frame(SECOND, **{name: 'y'})) == [f'{FACTS[name]}: x against y']


def test_of_modules_those_are_shown_that_the_other_has_not(frame):
    one, other = frame(FIRST, modules='gcc/12 ior/4.0.0'), frame(SECOND, modules='gcc/12 ior/4.0.1 fio/3.37')
    assert differences(one, other) == ['modules: ior/4.0.0 against ior/4.0.1 fio/3.37']
    assert differences(frame(FIRST, modules=''), frame(SECOND, modules='a')) == ['modules: none against a']


def test_a_checksum_is_shortened(frame):
    one, other = frame(FIRST, engine_build=f'sha256:{"0" * 64}'), frame(SECOND, engine_build=f'sha256:{"1" * 64}')
    assert differences(one, other) == ["engine's build: sha256:000000000000 against sha256:111111111111"]


def test_what_an_older_session_did_not_record_is_not_called_the_same(frame):
    assert differences(frame(FIRST, mpi=None), frame(SECOND, mpi='MPICH 4.0.2')) == [
        'MPI: not recorded against MPICH 4.0.2'
    ]


@pytest.mark.parametrize('engine', [None, ''])
def test_a_case_that_did_not_begin_differs_in_nothing(frame, engine):
    assert differences(frame(FIRST, engine=engine, mpi=None), frame(SECOND, mpi='MPICH 4.0.2')) == []


def test_cases_are_compared_with_themselves_alone(frame):
    one = frame(FIRST, kernel='6.1').with_columns(pl.lit('elsewhere').alias('partition'))
    assert differences(one, frame(SECOND, kernel='6.2')) == []


def test_a_difference_is_said_once_however_many_cases_have_it(frame):
    def both(session, **changes):
        one = frame(session, **changes)
        return pl.concat([one, one.with_columns(pl.lit('Other').alias('check'))])

    assert differences(both(FIRST), both(SECOND, mpi='a', kernel='b')) == [
        'MPI: none against a',
        'kernel: 6.1 against b',
    ]


def test_of_many_sessions_it_is_said_since_when(frame):
    said = sentence([frame(FIRST), frame(SECOND, kernel='6.2'), frame(THIRD, kernel='6.2', mpi='a')])
    changes = f'kernel: 6.1 against 6.2 (from {SECOND} on); MPI: none against a (from {THIRD} on)'
    assert said == f'Not measured with the same: {changes}'


def test_another_number_of_tasks_is_said(frame):
    one, other = frame(FIRST), frame(SECOND).with_columns(pl.lit(64, pl.Int64).alias('tasks'))
    assert differences(one, other) == ['tasks: 2 against 64']


# The file system

TMPFS = {'mounted': 'tmpfs on /t type tmpfs', 'mount options': 'rw,relatime', 'vm dirty_ratio': '20'}
EXT4 = {
    'mounted': '/dev/loop0 on /t type ext4',
    'mount options': 'rw,relatime',
    'vm dirty_ratio': '20',
    'ext4 options': 'x',
}


def test_another_mount_is_said_first(frame):
    one, other = frame(FIRST, state=json.dumps(TMPFS), mpi='a'), frame(SECOND, state=json.dumps(EXT4), mpi='b')
    assert differences(one, other) == [
        'scratch: mounted: tmpfs on /t type tmpfs against /dev/loop0 on /t type ext4',
        'MPI: a against b',
    ]


def test_another_mount_of_the_second_case_is_said_before_the_engine_of_the_first(frame):
    def both(session, state, mpi):
        home = frame(session, state=json.dumps(state), mpi='a', file_system='home')
        return pl.concat([frame(session, mpi=mpi), home])

    assert differences(both(FIRST, TMPFS, 'a'), both(SECOND, EXT4, 'b'))[0].startswith('home: mounted: tmpfs')


def test_another_type_in_the_site_is_said_before_the_mount(frame):
    one, other = (
        frame(FIRST, state=json.dumps(TMPFS)),
        frame(SECOND, state=json.dumps(EXT4), file_system_type='posix'),
    )
    assert differences(one, other)[0] == 'scratch: type in trial.yaml: lustre against posix'


def test_of_mount_options_those_are_shown_that_the_other_has_not(frame):
    changed = {**EXT4, 'mount options': 'rw,noatime,data=journal'}
    one, other = frame(FIRST, state=json.dumps(EXT4)), frame(SECOND, state=json.dumps(changed), kernel='6.2')
    assert differences(one, other) == [
        'scratch: mount options: relatime against noatime,data=journal',
        'kernel: 6.1 against 6.2',
    ]


def test_a_list_that_only_lacks_something_is_not_called_empty(frame):
    synced = {**EXT4, 'mount options': 'rw,relatime,sync'}
    one, other = frame(FIRST, state=json.dumps(EXT4)), frame(SECOND, state=json.dumps(synced))
    assert differences(one, other) == ['scratch: mount options: no others against sync']


def test_the_version_of_the_client_is_said_once(frame):
    one, other = (
        frame(session, state=json.dumps({**EXT4, 'client version': version}), client_version=version)
        for session, version in ((FIRST, 'Linux 6.1'), (SECOND, 'Linux 6.2'))
    )
    assert differences(one, other) == ["file system's client: Linux 6.1 against Linux 6.2"]


def test_a_setting_that_only_one_session_has_is_said_on_the_same_mount(frame):
    less = {key: value for key, value in EXT4.items() if key != 'ext4 options'}
    one, other = frame(FIRST, state=json.dumps(EXT4)), frame(SECOND, state=json.dumps(less))
    assert differences(one, other) == ['scratch: ext4 options: x against not recorded']


def test_a_session_that_recorded_no_settings_is_said_once(frame):
    assert differences(frame(FIRST, state=None), frame(SECOND, state=json.dumps(EXT4))) == [
        'scratch: settings: not recorded against recorded'
    ]


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
