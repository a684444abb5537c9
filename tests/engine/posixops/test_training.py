"""posixops, training reads alone and beside checkpoints: real tasks, and what is valid of what they say."""

import json
from pathlib import Path

import pytest

from measuring import point
from seatrial.engine.base import EngineError
from seatrial.engine.posixops.burst import BUSY, WINDOW
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.training import REST, Reader, batches_in
from seatrial.model.units import MIB
from seatrial.workload.burst import burst
from seatrial.workload.registry import metrics_of
from seatrial.workload.training import FIRST, NEXT, batches_of, training

pytestmark = pytest.mark.slow

SMALL = training(5000, 4, 0.002, 3, samples_per_file=3, bytes_per_task=90_000)


@pytest.mark.parametrize('changes', [{}, {'interface': 'mmap', 'order': 'contiguous'}])
def test_two_tasks_write_a_data_set_and_read_it_in_two_epochs(disk, changes):
    at = point(SMALL).changed(**changes)
    measured = {phase: disk.launch(phase, at) for phase in at.phases}
    sizes = {file.name: file.stat().st_size for file in disk.data.iterdir()}
    assert sizes == {f'data.{number:08d}': 15_000 for number in range(12)}
    for phase, measurement in measured.items():
        assert [metric.name for metric in measurement.metrics] == [metric.name for metric in metrics_of(at, phase)]
        assert measurement.bytes_moved == sum(task.bytes_moved for task in measurement.tasks) == 180_000
        assert measurement.fsync == (phase == 'write')
    for phase in (FIRST, NEXT):
        share = measured[phase].metric(f'{phase}_utilisation').value
        assert 0 < share <= 1
        assert measured[phase].metric(f'{phase}_samples').operations == 36


def written(disk, at):
    """The point, when its files are there."""
    disk.launch('write', at)
    return at


def test_an_accelerator_is_never_idle_less_than_it_waits_for_its_data(disk):
    at = written(disk, point(SMALL, 1).changed(think_s=0.05))
    measurement = disk.launch(FIRST, at)
    assert measurement.seconds >= 0.05 * sum(batches_of(at)) / at.training.batch
    assert measurement.metric(f'{FIRST}_utilisation').value <= 1


def test_a_sample_that_is_cut_short_is_no_epoch(disk):
    at = written(disk, point(SMALL, 1))
    last = disk.data / 'data.00000005'
    for changes in ({}, {'interface': 'mmap'}):
        last.write_bytes(bytes(14_999))
        with pytest.raises(EngineError, match=r'T17: task 0 .* data.00000005 has 4999 B of a sample from 10000 on'):
            disk.launch(FIRST, at.changed(**changes))
    last.unlink()
    with pytest.raises(EngineError, match='No such file or directory'):
        disk.launch(FIRST, at)


def test_a_task_that_read_less_or_did_not_time_the_rest_is_refused(disk):
    at = written(disk, point(SMALL, 1))
    disk.launch(FIRST, at)
    for change in (lambda timed: timed[FIRST + REST].update(operations=1), lambda timed: timed.pop(FIRST + REST)):
        report = json.loads(disk.outcome.stdouts[0])
        change(report['timed'])
        with pytest.raises(EngineError, match='^P15'):
            PosixOps().measure(FIRST, at, None, disk.outcome._replace(stdouts=(json.dumps(report),)))


def test_each_epoch_of_a_task_reads_all_of_its_samples_in_an_order_of_its_own():
    at = point(SMALL, 2)
    first, following = ([file for batch in batches_in(at, phase, 1, 1) for file in batch] for phase in (FIRST, NEXT))
    assert first != following and sorted(first) == sorted(following) and len(set(first)) == 18
    assert {Path(file.name).name for file in first} == {f'data.{number:08d}' for number in range(6, 12)}
    ordered = [file for batch in batches_in(at.changed(order='contiguous'), FIRST, 1, 1) for file in batch]
    assert ordered == sorted(first)


def test_a_reader_without_an_end_begins_its_data_set_again(disk, monkeypatch):
    at = written(disk, point(SMALL, 1))
    monkeypatch.chdir(disk.data)
    reader = Reader(at, batches_in(at, FIRST, 0, 0), endless=True)
    assert reader.work_on(12) == 4 + 4 + 4 + 4 + 2 + 4 + 4 + 4 + 4 + 2 + 4 + 4
    reader.end()
    assert len(reader.worked) == 12
    assert reader.samples_read == 18 * 3  # three batches are read ahead


BOTH = burst(SMALL)


def figures(measurement):
    return {metric.name: metric.value for metric in measurement.metrics}


@pytest.mark.parametrize('tasks', [2, 3])
def test_both_loads_are_timed_alone_and_at_once_and_only_the_data_set_is_left(disk, tasks):
    at = point(BOTH, tasks)
    assert disk.launch('write', at).bytes_moved == tasks * 90_000
    names = sorted(path.name for path in disk.data.iterdir())
    measurement = disk.launch('burst', at)
    assert list(figures(measurement)) == ['checkpoint', 'training', 'checkpoint_beside', 'training_beside']
    assert all(value > 0 for name, value in figures(measurement).items() if name != 'training_beside')
    assert measurement.bytes_moved % 5000 == 0 and measurement.bytes_moved >= 5000 * 4
    assert sorted(path.name for path in disk.data.iterdir()) == names


def test_an_accelerator_does_no_more_than_it_can(disk):
    at = written(disk, point(BOTH).changed(bytes_per_task=4 * MIB // 15_000 * 15_000))
    rates = figures(disk.launch('burst', at))
    assert max(rates['training'], rates['training_beside']) <= 4 / 0.002


def test_the_figures_are_those_of_the_time_in_which_a_checkpoint_was_written(disk):
    at = written(disk, point(BOTH))
    disk.launch('burst', at)
    reports = [json.loads(text) for text in disk.outcome.stdouts]
    reports[0]['counts'].update({'alone': {BUSY: 500, WINDOW: 1000}, '_beside': {BUSY: 100, WINDOW: 1000}})
    reports[1]['timed']['checkpoint_beside']['spans'] = [{'start_s': 1.0, 'end_s': 3.0}]
    outcome = disk.outcome._replace(stdouts=tuple(map(json.dumps, reports)))
    rates = figures(PosixOps().measure('burst', at, None, outcome))
    assert rates['training'] == pytest.approx(0.5 * 4 / 0.002)
    assert rates['training_beside'] == pytest.approx(0.1 * 4 / 0.002)
    assert rates['checkpoint_beside'] == 90_000 / 2.0


def test_a_sample_that_is_cut_short_ends_a_launch_of_both(disk):
    at = written(disk, point(BOTH))
    for path in disk.data.iterdir():
        path.write_bytes(bytes(14_999))
    with pytest.raises(EngineError, match=r'T17: task 0 .* has 4999 B of a sample from 10000 on'):
        disk.launch('burst', at)
