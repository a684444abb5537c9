"""The survey of a node before a run: the engine that can measure there, its room, and targets that are away."""

import itertools
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from beegfs_stand import FALLBACK, BeeGfsStand, state
from builders import SMALL
from seatrial.filesystem.base import Behaviour, Capacity
from seatrial.filesystem.posix import Posix
from seatrial.filesystem.registry import by_type
from seatrial.job.sequence.survey import devices_fault, filling, survey, to_fullness, used_percent
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import EngineChoice, Limits
from seatrial.model.state import changes
from seatrial.model.units import MIB
from seatrial.rules.registry import BEFORE, findings
from seatrial.workload.ageing import LEAST, ageing
from seatrial.workload.sweep import AXES, Sweep
from seatrial.workload.tree import metadata_tree

PHASES = ('create', 'stat', 'remove')


@pytest.fixture
def chosen(lab, stub_fio, monkeypatch):
    """The engine, and why others were skipped, where a close(2) can fail or not."""

    def with_bytes(bytes_per_file, can_fail):
        monkeypatch.setattr(Posix, 'behaviour', lambda *_: Behaviour(can_fail))
        engines = (EngineChoice('fio', stub_fio()), EngineChoice('posixops', sys.executable))
        tree = metadata_tree(PHASES, files_per_directory=5, bytes_per_file=bytes_per_file, scales=True)
        seen = survey(lab.plan_of_metadata(tree, Sweep('tree', (('flat', {}),)), 5, engines=engines), None)
        return seen.chosen.engine.name, seen.skipped

    return with_bytes


def test_fio_which_ignores_a_close_that_fails_writes_no_files_where_one_can(chosen):
    why = 'fio: ignores what close(2) says, and a write may fail only then'
    assert chosen(4096, can_fail=True) == ('posixops', (why,))
    assert chosen(4096, can_fail=False) == ('fio', ())
    assert chosen(0, can_fail=True) == ('fio', ())


def test_what_a_quota_leaves_is_also_the_most_that_sizes_may_grow_to(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(Posix, 'quota', lambda *_: Capacity(5 * MIB, 7))
    assert survey(lab.plan(stub_fio()), None).capacity == Capacity(5 * MIB, 7)


def test_trees_are_sized_to_the_fullness_that_is_meant(lab, monkeypatch):
    blocks = {'f_frsize': 4096, 'f_blocks': 10_000, 'f_bfree': 9_000, 'f_bavail': 7_000}
    there = SimpleNamespace(**blocks, f_files=10**6, f_favail=9**6, f_flag=0)
    monkeypatch.setattr(os, 'statvfs', lambda path: there)
    aged = ageing(300, sizes=(4096,), keep=True, fullness=0.5)
    plan = lab.plan_of_metadata(aged, Sweep('tree', (('aged', {}),)), 5)
    seen = survey(plan, None)
    # Of 8000 blocks 4000 are meant and 1000 in use; each entry of the two trees takes one.
    assert seen.share == 1500 and to_fullness(plan) == 3000 * 4096
    assert seen.environment.used_percent == 13
    assert 2700 * 4096 < seen.environment.needed_bytes <= 3000 * 4096 + MIB
    few = plan._replace(target=plan.target._replace(limits=Limits(MIB, 10_000)))
    seen = survey(few, None)
    assert seen.share == 128 and seen.environment.needed_bytes == 3000 * 4096
    assert 'P9' in [finding.rule for finding in findings(BEFORE, seen.environment)]
    assert filling(few, 0).sizing.pinned == LEAST
    assert survey(lab.plan(sys.executable, values=(32,)), None).share == 0


@pytest.mark.parametrize(
    ('rule', 'words'),
    [
        ('P17c', 'filer:/home is mounted soft'),
        ('P21a', 'LD_PRELOAD is /opt/libtrace.so'),
        ('P16c', 'and the site says 1020 PiB'),
    ],
)
def test_what_a_node_has_beside_the_plan_is_labelled(lab, stub_fio, monkeypatch, rule, words):
    monkeypatch.delenv('LD_PRELOAD', raising=False)
    plan = lab.plan(stub_fio())
    assert rule not in [finding.rule for finding in findings(BEFORE, survey(plan, None).environment)]
    monkeypatch.setenv('LD_PRELOAD', '/opt/libtrace.so')
    monkeypatch.setattr(Posix, 'behaviour', lambda *_: Behaviour(gives_up='filer:/home is mounted soft'))
    seen = findings(BEFORE, survey(plan._replace(node_memory=1 << 60), None).environment)
    (label,) = [finding for finding in seen if finding.rule == rule]
    assert label.effect == 'label' and words in label.sentence


@pytest.mark.parametrize(
    ('module', 'variable', 'root', 'rules'),
    [
        ('seatrial/fio/3.37', 'FIO_ROOT', '/opt/fio', ['P21b']),
        ('FIO/3.37-GCC-13', 'EBROOTFIO', '/opt/fio', ['P21b']),
        ('seatrial/fio/3.37', 'FIO_ROOT', 'stubs', []),
        ('gcc/13', 'FIO_ROOT', '/opt/fio', []),
    ],
)
def test_a_program_before_its_modules_is_refused(lab, stub_fio, tmp_path, monkeypatch, module, variable, root, rules):
    """Unless the site names it in full."""
    program = stub_fio()
    for name, value in (('LOADEDMODULES', f'mpich/4:{module}'), (variable, str(tmp_path / root))):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv('PATH', str(tmp_path / 'stubs'), prepend=os.pathsep)
    for named, expected in (('fio', rules), (program, [])):
        seen = findings(BEFORE, survey(lab.plan(named), None).environment)
        assert [finding.rule for finding in seen if finding.rule == 'P21b'] == expected


def test_ior_which_removes_what_is_there_does_not_measure_bricks(lab, stub_fio):
    engines = (EngineChoice('ior', sys.executable), EngineChoice('fio', stub_fio()))
    plan = lab.plan(stub_fio(), engines=engines, axis=AXES['brick'], target={'type': 'glusterfs'})
    seen = survey(plan, None)
    assert seen.chosen.engine.name == 'fio'
    assert 'ior: removes the empty files that lie on the brick, and makes others' in seen.skipped


@pytest.mark.parametrize(
    ('blocks', 'free', 'available', 'percent'),
    [(1000, 1000, 950, 0), (1000, 400, 350, 64), (1000, 50, 0, 100), (1000, 999, 949, 1), (0, 0, 0, None)],
)
def test_how_full_a_file_system_is_counts_as_df_does(blocks, free, available, percent):
    seen = os.statvfs_result((4096, 4096, blocks, free, available, 0, 0, 0, 0, 255))
    assert used_percent(seen) == percent


# The raw devices that a site names: each fault in words, and none is opened to write


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """Files of 1 and 2 MiB that pass for block devices; what they are opened with."""
    opened, real_stat, real_open = [], os.stat, os.open
    paths = [str(tmp_path / name) for name in ('sd0', 'sd1')]
    for number, path in enumerate(paths, 1):
        Path(path).write_bytes(bytes(number * MIB))

    def like_a_device(path, **how):
        status = real_stat(path, **how)
        if not str(path).startswith(str(tmp_path)):
            return status
        return os.stat_result([stat.S_IFBLK | 0o660, *status[1:10]], {'st_rdev': status.st_ino})

    def watched(path, flags, *more):
        opened.append((path, flags))
        return real_open(path, flags, *more)

    monkeypatch.setattr(os, 'stat', like_a_device)
    monkeypatch.setattr(os, 'open', watched)
    return paths, opened


def test_devices_that_are_large_enough_have_no_fault_and_are_opened_to_read(disks):
    paths, opened = disks
    assert devices_fault(paths, MIB) is None
    assert opened == [(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]
    why = f'{paths[0]} has 1 MiB, and 2 MiB are to be read of it'
    assert devices_fault(paths, 2 * MIB) == f'{why}: write less for bytes_per_task in its trial'
    assert len(opened) == 3


@pytest.mark.parametrize(
    ('paths', 'fault'),
    [
        ((), None),
        (('/dev/no-such-disk',), '/dev/no-such-disk is not there: No such file or directory'),
        (('/dev/null',), '/dev/null is not a block device'),
        ((__file__,), f'{__file__} is not a block device'),
    ],
)
def test_what_is_there_and_no_block_device_is_named(paths, fault):
    assert devices_fault(paths, 0) == fault


def test_a_device_that_nobody_else_may_read_is_named(disks, monkeypatch):
    monkeypatch.setattr(os, 'open', Mock(side_effect=PermissionError(13, 'Permission denied')))
    assert devices_fault(disks[0], 1) == f'{disks[0][0]} cannot be read: Permission denied'


def test_two_names_of_one_device_are_told(disks, tmp_path):
    path = disks[0][0]
    os.symlink(path, tmp_path / 'again')
    assert devices_fault([path, str(tmp_path / 'again')], 1) == f'{tmp_path}/again and {path} are one device'


@pytest.fixture
def beegfs(lab, tmp_path, monkeypatch):
    return BeeGfsStand(tmp_path, lab.target, monkeypatch)


def on_beegfs(lab, fio, **target):
    return lab.plan(fio, **SMALL, target={'type': 'beegfs', 'path': str(lab.target), **target})


@pytest.mark.parametrize(
    ('settings', 'targets', 'rules', 'why'),
    [
        ({'stripe_count': 2, 'stripe_size': '1MiB'}, 3, [], ''),
        ({'stripe_size': '64KiB', 'pool': 1}, 3, [], ''),
        ({'stripe_count': 3}, 2, ['P5a'], 'the file should have the layout c3, but has c2.S512k'),
        ({'stripe_count': 9}, 3, ['P5'], 'needs 9 storage targets, but there are 3'),
        ({'stripe_count': 1, 'mirrored': True}, 3, [], ''),
        ({'stripe_count': 2, 'mirrored': True}, 3, ['P5'], 'needs 4 storage targets, but there are 3'),
    ],
)
@pytest.mark.parametrize('release', [8, 7])
def test_a_layout_of_beegfs_is_proved_by_the_targets_of_a_file(
    lab, stub_fio, beegfs, settings, targets, rules, why, release
):
    beegfs.answers(targets=targets)
    if release == 7:
        beegfs.is_of_7()
    ran = lab.run(on_beegfs(lab, stub_fio(), layout=by_type('beegfs').layout('own', settings)))
    broken = [fault for fault in (*ran.findings('P5'), *ran.records.start.findings) if fault.rule.startswith('P5')]
    assert sorted({finding.rule for finding in broken}) == rules
    assert not why or why in broken[0].sentence


AWAY = '1 of 4 targets is away: storage target 2 of node_storage_1: offline'


def test_a_case_is_refused_while_a_target_is_away_and_names_it(lab, stub_fio, beegfs):
    beegfs.now(storage_target_state=state(2, 'Offline / Good'))
    ran = lab.run(on_beegfs(lab, stub_fio()))
    assert (ran.end.reason, ran.result.verdict) == ('refused', Verdict.INCOMPLETE)
    assert ran.end.why.startswith(f'P22: {AWAY}; see to it')
    assert [row.number for row in ran.records.start.targets if row.fault] == [2]
    assert ran.records.start.state['storage targets'] == '3: 1-3; storage target 2 offline'
    assert ran.records.start.state['route'] == 'TCP'


@pytest.mark.parametrize(
    ('shown', 'label'),
    [
        ({'storage_target_state': state(2, 'Offline / Good')}, AWAY),
        ({'storage_nodes': FALLBACK}, 'of node_storage_1: reached over its fallback route'),
    ],
)
def test_a_storage_that_is_not_whole_or_a_target_that_may_be_away_is_a_label(lab, stub_fio, beegfs, shown, label):
    def raised():
        return findings(BEFORE, survey(on_beegfs(lab, stub_fio(), targets_may_be_away=True), None).environment)

    assert not any(finding.rule.startswith('P22') for finding in raised()), 'it is whole'
    beegfs.now(**shown)
    ((effect, sentence),) = [(fault.effect, fault.sentence) for fault in raised() if fault.rule.startswith('P22')]
    assert effect == 'label' and label in sentence


@pytest.mark.parametrize(
    ('shown', 'rule', 'words'),
    [
        ({'storage_target_state': state(2, 'Offline / Good')}, 'P20', 'storage target 2 of node_storage_1: offline'),
        ({'storage_nodes': FALLBACK}, 'P22a', 'meanwhile storage target 1 of node_storage_1: reached over'),
    ],
)
def test_changes_in_a_launch_are_reported_for_that_launch(lab, stub_fio, beegfs, before_launch, shown, rule, words):
    number = itertools.count(1)
    before_launch(lambda *_: beegfs.now(**(shown if next(number) == 4 else {})))
    ran = lab.run(on_beegfs(lab, stub_fio()))
    (raised,) = [finding for finding in ran.findings(rule) if finding.rule == rule]
    assert raised.sentence.startswith(words)
    assert changes(ran.records.start.state, ran.records.end.state)
