"""Training, checkpoints, and both at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.engine.base import measured
from seatrial.engine.dd import Dd
from seatrial.engine.posixops.engine import PosixOps
from seatrial.model.metric import Measurement, bandwidth, rate
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, MIB
from seatrial.workload.base import Effort
from seatrial.workload.burst import burst
from seatrial.workload.checkpoint import Checkpoint, checkpoint
from seatrial.workload.registry import fault_of, kind_of, metrics_at, metrics_of
from seatrial.workload.sweep import Sweep, expand
from seatrial.workload.training import FIRST, Training, batches_of, buffers, file_size, files_of, step, training

KIND = Training()
NIGHT = Effort(first_bytes=128 * MIB, target_s=5.0, min_s=0.5)


def placed(point, tasks=2):
    return point._replace(label='placed', tasks=tasks, tasks_per_node=tasks)


UNET = placed(training(146_600_628, 7, 0.323, 4))
RESNET = placed(training(114_660, 400, 0.224, 8, samples_per_file=1251, order='contiguous'))


@given(st.integers(1, 40), st.integers(1, 20), st.integers(1, 50))
def test_every_sample_of_a_task_is_in_one_batch_and_only_the_last_one_is_not_full(batch, per_file, files):
    point = placed(training(1000, batch, 1.0, 1, per_file, bytes_per_task=1000 * per_file * files))
    sizes = batches_of(point)
    assert sum(sizes) == per_file * files
    assert set(sizes[:-1]) <= {batch} and 0 < sizes[-1] <= batch


def test_the_tasks_share_the_files_of_the_data_set_out():
    numbers = [number for rank in range(RESNET.tasks) for number in files_of(RESNET, rank)]
    assert len(KIND.files(RESNET)) == len(numbers) == len(set(numbers)) == max(numbers) + 1
    assert {file.size for file in KIND.files(RESNET)} == {file_size(RESNET)} == {1251 * 114_660}


def test_a_profile_that_begins_with_less_than_two_batches_has_smaller_ones_of_the_same_pace():
    night = KIND.adapted(UNET, NIGHT)
    assert (night.training.batch, night.time.think_s) == (1, pytest.approx(0.323 / 7))
    assert KIND.adapted(UNET, NIGHT._replace(working_set=True)) == UNET
    assert KIND.adapted(RESNET, NIGHT) == RESNET


@pytest.mark.parametrize(('point', 'granule'), [(UNET, 7 * 146_600_628), (RESNET, 1251 * 114_660)])
def test_a_share_has_whole_files_and_where_they_divide_whole_batches(point, granule):
    assert KIND.sizing([point], NIGHT, None).granule == granule
    assert fault_of(KIND.resized(point, step(point))) is None  # the smallest epoch that can be measured


@pytest.mark.parametrize(
    ('share', 'fault'), [(GIB, 'fewer than 2 batches of'), (2 * GIB, 'no whole number of files')]
)
def test_a_share_that_a_site_fixes_is_refused_where_no_epoch_can_have_it(share, fault):
    with pytest.raises(ValueError, match=f'{share} B are {fault}'):
        KIND.sizing([UNET], NIGHT, share)


def test_a_node_holds_a_sample_for_each_thread_of_its_tasks():
    assert buffers(UNET) == 2 * 4 * 146_600_628


CHECKPOINT = Checkpoint()
OWN, SHARED = expand(
    Sweep('variant', (('own', {}), ('shared', {'files': 'single', 'extent': 'segment'}))),
    checkpoint('100GiB', 900.0, '12GiB'),
    Allocation(2, 4),
)


def derived(phase, bytes_per_s, point=OWN, seconds=5.0):
    measurement = Measurement((bandwidth(phase, int(bytes_per_s) * 5, seconds, ''),), 1, ('node1',))
    return {metric.name: metric.value for metric in CHECKPOINT.derived(point, phase, measurement)}


def test_a_state_of_100_gib_takes_100_s_at_1_gib_a_second_and_costs_a_tenth_of_the_training():
    assert derived('write', GIB) == {'checkpoint_time': 100.0, 'training_lost': 0.1}
    assert derived('read', 2 * GIB) == {'restore_time': 50.0}
    assert derived('write', GIB, seconds=0.0) == {}  # of a launch that took no time nothing follows


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

    metrics, planned = measured(Wrote(), phase, OWN, None, None).metrics, metrics_of(OWN, phase)
    given = [(metric.name, metric.unit, metric.better) for metric in metrics]
    assert given == [(metric.name, metric.unit, metric.better) for metric in planned]
    assert [metric.steers for metric in planned] == [True, *[False] * (len(planned) - 1)]
    assert {metric.seconds for metric in metrics} == {2.0}


def test_a_state_is_written_as_a_file_a_task_or_into_one_file():
    assert (len(CHECKPOINT.files(OWN)), len(CHECKPOINT.files(SHARED))) == (8, 1)
    assert CHECKPOINT.files(SHARED)[0].size == 8 * 12 * GIB
    assert CHECKPOINT.resized(SHARED, GIB).data.working_set == 100 * GIB


@pytest.mark.parametrize(
    ('point', 'changes', 'fault'),
    [
        (UNET, {'think_s': 0.0}, 'think_s: an accelerator that takes 0 s has no utilisation'),
        (UNET, {'batch': 0}, 'batch: 0 is not valid; write a number from 1'),
        (UNET, {'prefetch': 0}, 'prefetch: 0 is not valid'),
        (UNET, {'interface': 'mpiio'}, "interface: 'mpiio' is not valid in training; it can be posix or mmap"),
        (UNET, {'order': 'strided'}, "order: 'strided' is not valid in training"),
        (UNET, {'phases': ('write', FIRST)}, "phases: ['write', 'first_epoch']; a training has write, first_epoch"),
        (UNET, {'extent': 'segment'}, 'files: each task reads files of its own in full'),
        (UNET, {'bytes_per_task': 146_600_628}, 'bytes_per_task: 146600628 B are fewer than 2 batches'),
        (OWN, {'working_set': 0}, 'working_set: 0 B are not the size of a state'),
        (OWN, {'interval_s': 0.0}, 'interval_s: 0 s are not an interval'),
        (OWN, {'interval_s': float('inf')}, 'interval_s: inf s are not an interval'),
        (OWN, {'extent': 'segment'}, 'extent: a file a task has no segments'),
    ],
)
def test_what_is_impossible_is_a_sentence_with_its_field(point, changes, fault):
    assert fault_of(point.changed(**changes)).startswith(fault)


BURST = kind_of('burst')


def both(tasks):
    return placed(burst(training(MIB, 4, 0.1, 2, bytes_per_task=8 * MIB)), tasks)


def test_one_task_cannot_do_both():
    assert PosixOps().cannot(both(1)) == 'cannot train and write checkpoints at once with one task'
    assert PosixOps().cannot(both(2)) is None


def test_a_loss_is_what_is_missing_beside_the_other():
    figures = bandwidth('checkpoint', 100, 1.0, ''), rate('training', 50, 1.0, '')
    figures += bandwidth('checkpoint_beside', 100, 2.0, ''), rate('training_beside', 66, 1.1, '')
    losses = BURST.derived(both(2), 'burst', Measurement(figures, 2, ('n1',)))
    lost = {loss.name: loss.value for loss in losses}
    assert lost == {'checkpoint_loss': 0.5, 'training_loss': pytest.approx(-0.2)}
    assert BURST.derived(both(2), 'burst', Measurement(figures[:3], 2, ('n1',))) == losses[:1]
    assert BURST.phase('burst').timed_s(Measurement(figures, 2, ('n1',))) == 4.0  # three acts, one after the other


def test_the_losses_and_the_data_set_steer_nothing():
    passive = [metric.name for metric in metrics_at(both(2)) if not metric.steers]
    assert passive == ['write', 'checkpoint_loss', 'training_loss']


def test_there_is_room_for_the_data_set_and_a_checkpoint():
    assert BURST.footprint([both(3)]) == (3 * 8 * MIB + 2 * 8 * MIB, 24 + 2)
    assert BURST.moved(both(3), 'burst') == (2 * 2 * 8 * MIB, None)


def test_only_what_is_read_has_been_in_a_cache():
    states = [BURST.cache_of(name, 'cold') for name in ('training_beside', 'training_loss', 'checkpoint_beside')]
    assert states == ['cold', 'cold', '']
