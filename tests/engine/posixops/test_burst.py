"""posixops, checkpoints beside training reads: real tasks on the disk of the test, and what they say."""

import json

import pytest

from posix_disk import Disk, point
from seatrial.engine.base import EngineError
from seatrial.engine.posixops.burst import BUSY, WINDOW
from seatrial.engine.posixops.engine import PosixOps
from seatrial.model.units import MIB
from seatrial.workload.burst import burst
from seatrial.workload.training import training

pytestmark = pytest.mark.slow

SMALL = burst(training(5000, 4, 0.002, 3, samples_per_file=3, bytes_per_task=90_000))


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


def figures(measurement):
    return {each.name: each.value for each in measurement.metrics}


@pytest.mark.parametrize('tasks', [2, 3])
def test_both_loads_are_timed_alone_and_at_once_and_only_the_data_set_is_left(disk, tasks):
    at = point(SMALL, tasks)
    assert disk.launch('write', at).bytes_moved == tasks * 90_000
    names = sorted(path.name for path in disk.data.iterdir())
    measurement = disk.launch('burst', at)
    assert list(figures(measurement)) == ['checkpoint', 'training', 'checkpoint_beside', 'training_beside']
    assert all(value > 0 for name, value in figures(measurement).items() if name != 'training_beside')
    assert measurement.bytes_moved % 5000 == 0 and measurement.bytes_moved >= 5000 * 4
    assert sorted(path.name for path in disk.data.iterdir()) == names


def test_an_accelerator_does_no_more_than_it_can(disk):
    at = point(SMALL).changed(bytes_per_task=4 * MIB // 15_000 * 15_000)
    disk.launch('write', at)
    found = figures(disk.launch('burst', at))
    assert max(found['training'], found['training_beside']) <= 4 / 0.002


def test_the_figures_are_those_of_the_time_in_which_a_checkpoint_was_written(disk):
    at = point(SMALL)
    disk.launch('write', at)
    disk.launch('burst', at)
    said = [json.loads(text) for text in disk.outcome.stdouts]
    said[0]['counts'].update({'alone': {BUSY: 500, WINDOW: 1000}, '_beside': {BUSY: 100, WINDOW: 1000}})
    said[1]['timed']['checkpoint_beside']['spans'] = [{'start_s': 1.0, 'end_s': 3.0}]
    outcome = disk.outcome._replace(stdouts=tuple(map(json.dumps, said)))
    found = figures(PosixOps().measure('burst', at, None, outcome))
    assert found['training'] == pytest.approx(0.5 * 4 / 0.002)
    assert found['training_beside'] == pytest.approx(0.1 * 4 / 0.002)
    assert found['checkpoint_beside'] == 90_000 / 2.0


def test_a_sample_that_is_cut_short_ends_the_launch(disk):
    at = point(SMALL)
    disk.launch('write', at)
    for path in disk.data.iterdir():
        path.write_bytes(bytes(14_999))
    with pytest.raises(EngineError, match=r'T17: task 0 .* has 4999 B of a sample from 10000 on'):
        disk.launch('burst', at)
