"""Checkpoints: the time of a whole state at the bandwidth that was measured, and what the training loses by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.engine.base import measured
from seatrial.engine.dd import Dd
from seatrial.model.metric import Measurement, bandwidth
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, MIB
from seatrial.workload.checkpoint import Checkpoint, checkpoint
from seatrial.workload.registry import fault_of, metrics_of
from seatrial.workload.sweep import Sweep, expand

KIND = Checkpoint()
OWN, SHARED = expand(
    Sweep('variant', (('own', {}), ('shared', {'files': 'single', 'extent': 'segment'}))),
    checkpoint('100GiB', 900.0, '12GiB'),
    Allocation(2, 4),
)


def of(metric):
    return Measurement((metric,), 1, ('node1',))


def derived(phase, bytes_per_s, point=OWN):
    found = KIND.derived(point, phase, of(bandwidth(phase, int(bytes_per_s) * 5, 5.0, '')))
    return {each.name: each.value for each in found}


def test_a_state_of_100_gib_takes_100_s_at_1_gib_a_second_and_costs_a_tenth_of_the_training():
    assert derived('write', GIB) == {'checkpoint_time': 100.0, 'training_lost': 0.1}
    assert derived('read', 2 * GIB) == {'restore_time': 50.0}


@given(st.integers(1, 2**50), st.floats(1.0, 1e6))
def test_the_share_that_is_lost_is_one_and_grows_with_the_state_and_with_the_number_of_checkpoints(state, interval_s):
    point = OWN.changed(working_set=state, interval_s=interval_s)
    lost = derived('write', MIB, point)['training_lost']
    assert 0 < lost < 1
    assert derived('write', MIB, point.changed(working_set=2 * state))['training_lost'] > lost
    assert derived('write', MIB, point.changed(interval_s=interval_s / 2))['training_lost'] > lost


@pytest.mark.parametrize('phase', ['write', 'read'])
def test_what_an_engine_gives_and_what_follows_from_it_are_all_of_its_metrics(phase):
    class Wrote(Dd):
        def measure(self, phase, point, command, outcome):
            return Measurement((bandwidth(phase, GIB, 2.0, ''),), 8, ('node1',))

    found = measured(Wrote(), phase, OWN, None, None).metrics
    planned = metrics_of(OWN, phase)
    assert [(each.name, each.unit, each.better) for each in found] == [
        (each.name, each.unit, each.better) for each in planned
    ]
    assert [each.steers for each in planned] == [True, *[False] * (len(planned) - 1)]
    assert {each.seconds for each in found} == {2.0}


def test_of_a_launch_that_took_no_time_nothing_follows():
    assert KIND.derived(OWN, 'write', of(bandwidth('write', GIB, 0.0, ''))) == ()


def test_a_state_is_written_as_a_file_a_task_or_into_one_file():
    assert (len(KIND.files(OWN)), len(KIND.files(SHARED))) == (8, 1)
    assert KIND.files(SHARED)[0].size == 8 * 12 * GIB
    assert KIND.resized(SHARED, GIB).data.working_set == 100 * GIB


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'working_set': 0}, 'working_set: a state of 0 B is none'),
        ({'interval_s': 0.0}, 'interval_s: 0 s never begin or never end'),
        ({'interval_s': float('inf')}, 'interval_s: inf s never begin or never end'),
        ({'extent': 'segment'}, 'extent: a file a task has no segments'),
    ],
)
def test_what_is_impossible_is_a_sentence_with_its_field(changes, fault):
    assert fault_of(OWN.changed(**changes)).startswith(fault)
