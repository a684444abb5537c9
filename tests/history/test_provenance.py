"""Whether sessions measured with the same things."""

import polars as pl
import pytest

from seatrial.history.provenance import FACTS, differences, sentence

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


@pytest.mark.parametrize('name', [name for name in FACTS if name != 'modules'])
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
