"""posixops, ageing: real tasks fill trees on the disk of the test, and remove them."""

import contextlib
import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from measuring import point
from seatrial.engine.base import EngineError
from seatrial.engine.posixops import ageing as ageing_task
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.work import Spec
from seatrial.workload.ageing import FILL, REMOVE, SIZE, ageing, batches, of_task, total
from seatrial.workload.registry import metrics_of

SMALL = point(ageing(300, sizes=(0, 700, 70_000), depth=3, files_per_directory=9))


@pytest.mark.slow
def test_two_tasks_fill_their_trees_as_planned_and_remove_them(disk):
    filled = disk.launch(FILL, SMALL)
    entries, size = total(SMALL)
    assert disk.entries() == entries
    assert sum(file.stat().st_size for file in disk.files()) == size
    assert [metric.name for metric in filled.metrics] == [metric.name for metric in metrics_of(SMALL, FILL)]
    assert filled.metric('fill_files').operations == entries.files
    assert filled.metric('fill').value == pytest.approx(size / filled.metric('fill').seconds)
    meant = [length for rank in range(2) for batch in batches(of_task(SMALL, rank)) for length in batch.sizes]
    small, large = sum(length <= 1024 for length in meant), sum(length > 65536 for length in meant)
    assert filled.histograms[-1].name == SIZE
    assert filled.histograms[-1].counts == (small, 0, 0, 0, large)
    removed = disk.launch(REMOVE, SMALL)
    assert removed.metric('remove').operations == entries.inodes and os.listdir(disk.data) == []


@pytest.mark.slow
def test_a_task_that_did_not_look_at_its_tree_is_refused(disk):
    disk.launch(FILL, SMALL)
    reports = [json.loads(text) for text in disk.outcome.stdouts]
    reports[1]['counts'] = {}
    outcome = disk.outcome._replace(stdouts=tuple(map(json.dumps, reports)))
    with pytest.raises(EngineError, match=r'T17: \d+ of \d+ files were found'):
        PosixOps().measure(FILL, SMALL, None, outcome)


NAMED = 'for rank; do :; done; hostname n$rank; exec "$@"'
OWN_NAMES = ('unshare', '--uts', '--map-root-user', 'sh', '-c', NAMED, 'sh')
"""A command whose last argument is a rank runs on a node of its own, as far as the name goes."""


@pytest.mark.slow
@pytest.mark.skipif(subprocess.run([*OWN_NAMES, 'true', '0']).returncode != 0, reason='no namespace can be made')
@pytest.mark.parametrize('nodes', [2, 3])
def test_other_nodes_look_at_a_tree_and_remove_it(disk, nodes):
    wide = point(SMALL, nodes)._replace(nodes=nodes, tasks_per_node=1)
    filled = disk.launch(FILL, wide, wrapper=OWN_NAMES)
    assert filled.hosts == tuple(f'n{rank}' for rank in range(nodes))
    assert sum(filled.histograms[-1].counts) == total(wide)[0].files
    removed = disk.launch(REMOVE, wide, wrapper=OWN_NAMES)
    assert removed.metric('remove').operations == total(wide)[0].inodes
    assert os.listdir(disk.data) == []
    assert PosixOps().reads_elsewhere(wide, REMOVE) and not PosixOps().reads_elsewhere(wide, FILL)


@pytest.mark.slow
def test_no_two_files_hold_the_same_bytes(disk):
    disk.launch(FILL, SMALL)
    large = [file.read_bytes() for file in disk.files() if file.stat().st_size > 700]
    assert len(set(large)) == len(large) > 10


@pytest.mark.slow
def test_a_tree_that_is_not_whole_is_not_removed_as_if_it_were(disk):
    disk.launch(FILL, SMALL)
    disk.files()[0].unlink()
    rule, sentence = disk.refused(REMOVE, SMALL)
    assert rule == 'P15' and f'not {total(SMALL)[0].inodes}' in sentence


def test_on_several_nodes_the_tree_of_another_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rank in range(2):
        os.makedirs(f'aged.{rank}/d0/d')
    work = SimpleNamespace(rank=0, hosts=('n1', 'n2'), together=lambda metric, act: act())
    ageing_task.carry_out(work, Spec(REMOVE, SMALL))
    assert os.listdir() == ['aged.0']


def in_a_tree(folder, monkeypatch):
    """One task's tree on the disk, and the Work that surveys it."""
    monkeypatch.chdir(folder)
    alone = SMALL._replace(tasks=1)
    mine = list(batches(of_task(alone, 0)))
    data = SimpleNamespace(of=lambda number: memoryview(bytes(70_000)))
    assert ageing_task._fill('aged.0', mine, data, fsync=False) == total(alone)[0].files
    return alone, SimpleNamespace(counts={})


@pytest.mark.parametrize('change', [lambda path: os.truncate(path, 5), os.unlink])
def test_a_survey_finds_what_is_not_as_it_was_meant(tmp_path, monkeypatch, change):
    alone, work = in_a_tree(tmp_path, monkeypatch)
    ageing_task._survey(work, alone, 0)
    assert work.counts
    path, _, names = next(step for step in os.walk('aged.0') if step[2])
    change(os.path.join(path, max(names)))
    with pytest.raises(EngineError, match='T17: aged.0/d'):
        ageing_task._survey(work, alone, 0)


@pytest.mark.parametrize(
    ('free', 'size', 'words'),
    [
        ((100, 100), 0, ''),
        ((6, 100), 4096, ''),
        ((6, 100), 4097, '24576 of 409600 B are free'),
        ((4, 100), 0, '16384 of 409600 B are free'),
        ((100, 4), 0, '4 of 100 inodes are free'),
    ],
)
def test_a_floor_stays_free(monkeypatch, free, size, words):
    there = SimpleNamespace(f_frsize=4096, f_blocks=100, f_bavail=free[0], f_files=100, f_favail=free[1])
    monkeypatch.setattr(os, 'statvfs', lambda path: there)
    with pytest.raises(EngineError, match=f'P9a: {words}') if words else contextlib.nullcontext():
        ageing_task.look(size, 0)
    there.f_files = 0  # a file system that counts no inodes has none to keep
    there.f_bavail = 100
    ageing_task.look(0, 10**6)
