"""Checkpoints beside training reads: who does what, and what each loses."""

import pytest

from seatrial.engine.posixops.engine import PosixOps
from seatrial.model.metric import Measurement, bandwidth, rate
from seatrial.model.units import MIB
from seatrial.workload.burst import burst
from seatrial.workload.registry import kind_of, metrics_of
from seatrial.workload.training import training

KIND = kind_of('burst')
TEMPLATE = burst(training(MIB, 4, 0.1, 2, bytes_per_task=8 * MIB))


def placed(tasks):
    return TEMPLATE._replace(label='both', tasks=tasks, tasks_per_node=tasks)


def test_one_task_cannot_do_both():
    assert PosixOps().cannot(placed(1)) == 'cannot train and write checkpoints at once with one task'
    assert PosixOps().cannot(placed(2)) is None


def test_a_loss_is_what_is_missing_beside_the_other():
    figures = (
        bandwidth('checkpoint', 100, 1.0, ''),
        rate('training', 50, 1.0, ''),
        bandwidth('checkpoint_beside', 100, 2.0, ''),
        rate('training_beside', 60, 1.0, ''),
    )
    found = KIND.derived(placed(2), 'burst', Measurement(figures, 2, ('n1',)))
    assert {each.name: each.value for each in found} == {
        'checkpoint_loss': 0.5,
        'training_loss': pytest.approx(-0.2),
    }
    assert KIND.derived(placed(2), 'burst', Measurement(figures[:3], 2, ('n1',))) == found[:1]


def test_what_was_timed_are_three_acts_one_after_the_other():
    acts = [bandwidth('checkpoint', 1, 1.0, ''), rate('training', 1, 2.0, '')]
    acts += [bandwidth('checkpoint_beside', 1, 4.0, ''), rate('training_beside', 1, 4.1, '')]
    assert KIND.phase('burst').timed_s(Measurement(tuple(acts), 2, ('n1',))) == 7.0


def test_the_losses_and_the_data_set_steer_nothing():
    metrics = [each for phase in placed(2).phases for each in metrics_of(placed(2), phase)]
    assert [each.name for each in metrics if not each.steers] == ['write', 'checkpoint_loss', 'training_loss']


def test_there_is_room_for_the_data_set_and_a_checkpoint():
    assert KIND.footprint([placed(3)]) == (3 * 8 * MIB + 2 * 8 * MIB, 24 + 2)
    assert KIND.moved(placed(3), 'burst') == (2 * 2 * 8 * MIB, None)


def test_only_what_is_read_has_been_in_a_cache():
    assert [KIND.cache_of(name, 'cold') for name in ('training_beside', 'training_loss', 'checkpoint_beside')] == [
        *('cold', 'cold'),
        '',
    ]
