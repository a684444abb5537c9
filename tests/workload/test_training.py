"""Training reads: the data set of each accelerator, its batches, and what a profile makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.units import GIB, MIB
from seatrial.workload.base import Effort
from seatrial.workload.registry import fault_of
from seatrial.workload.training import FIRST, Training, batches_of, buffers, file_size, files_of, step, training

KIND = Training()
NIGHT = Effort(first_bytes=128 * MIB, target_s=5.0, min_s=0.5)


def placed(point, tasks=2):
    return point._replace(label='2tasks', tasks=tasks, tasks_per_node=tasks)


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


def test_a_share_has_whole_files_and_where_they_divide_whole_batches():
    assert KIND.sizing([UNET], NIGHT, None).granule == 7 * 146_600_628
    assert KIND.sizing([RESNET], NIGHT, None).granule == 1251 * 114_660


def test_the_smallest_share_is_an_epoch_that_can_be_measured():
    for point in (UNET, RESNET):
        assert fault_of(KIND.resized(point, step(point))) is None


@pytest.mark.parametrize(
    ('share', 'fault'),
    [
        (GIB, '1073741824 B are fewer than 2 batches of'),
        (2 * GIB, '2147483648 B are no whole number of files of 146600628 B'),
    ],
)
def test_a_share_that_a_site_fixes_is_refused_where_no_epoch_can_have_it(share, fault):
    with pytest.raises(ValueError, match=fault):
        KIND.sizing([UNET], NIGHT, share)


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'think_s': 0.0}, 'think_s: an accelerator that takes 0 s has no utilisation'),
        ({'batch': 0}, 'batch: 0 is none; write a number from 1'),
        ({'prefetch': 0}, 'prefetch: 0 is none'),
        ({'interface': 'mpiio'}, "interface: 'mpiio' is none of a training; it can be posix or mmap"),
        ({'order': 'strided'}, "order: 'strided' is none of a training"),
        ({'phases': ('write', FIRST)}, "phases: ['write', 'first_epoch']; a training has write, first_epoch"),
        ({'extent': 'segment'}, 'files: each task reads files of its own in full'),
        ({'bytes_per_task': 146_600_628}, 'bytes_per_task: 146600628 B are fewer than 2 batches'),
    ],
)
def test_what_is_impossible_is_a_sentence_with_its_field(changes, fault):
    assert fault_of(UNET.changed(**changes)).startswith(fault)


def test_a_node_holds_a_sample_for_each_thread_of_its_tasks():
    assert buffers(UNET) == 2 * 4 * 146_600_628
