"""Every node forgets the files before it reads them: the real task under a stand-in for srun."""

import os
import platform
import stat

import pytest

from builders import plan_of
from seatrial.filesystem.base import Cold
from seatrial.filesystem.posix import Posix
from seatrial.job.sequence import eviction
from seatrial.job.sequence.eviction import ALLOWED, DONE, MARK, NOT_ALLOWED, evicted, main
from seatrial.model.plan import Launcher

HERE = platform.node()
SRUN = """#!/bin/sh
echo "$*" > {asked}
while [ "${{1#-}}" != "$1" ]; do shift; done
"$@"
"$@" | sed 's/{mark} [^ ]*/{mark} n2/; {change}'
"""


@pytest.fixture
def data(tmp_path):
    (tmp_path / 'data').mkdir()
    (tmp_path / 'data' / 'data').write_bytes(b'x')
    (tmp_path / 'data' / 'data.00000000').symlink_to('data')
    return tmp_path / 'data'


@pytest.fixture
def evict(data, tmp_path, monkeypatch):
    """On two nodes; change: what sed makes of the second one's answer."""

    def two(change='', named=()):
        srun = tmp_path / 'srun'
        srun.write_text(SRUN.format(asked=tmp_path / 'asked', mark=MARK, change=change))
        srun.chmod(srun.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv('PATH', str(tmp_path), prepend=':')
        plan = plan_of(case={'nodes': 2})._replace(launcher=Launcher('srun'))
        return evicted(plan, str(data), named), (tmp_path / 'asked').read_text()

    return two


def forgotten(monkeypatch, data, allowed=NOT_ALLOWED, **instead):
    """What a task asks the driver to forget, and how it is asked to empty the node's caches."""
    seen = []
    driver = type('Driver', (Posix,), {'forget': lambda _, path: seen.append(path), **instead})()
    monkeypatch.setattr(eviction, 'by_type', lambda type_: driver)
    assert main(['posix', str(data), allowed]) == 0
    return seen


def test_a_task_forgets_every_file_and_follows_no_link(data, monkeypatch, capsys):
    assert forgotten(monkeypatch, data) == [str(data / 'data')]
    assert capsys.readouterr().out == f'{MARK} {HERE} {DONE}\n'


def test_a_file_that_cannot_be_forgotten_is_told(data, monkeypatch, capsys):
    def denied(_, path):
        raise PermissionError(13, os.strerror(13), path)

    forgotten(monkeypatch, data, forget=denied)
    assert capsys.readouterr().out == f'{MARK} {HERE} {data}/data: Permission denied\n'


@pytest.mark.parametrize(('fault', 'said'), [(None, DONE), ('drop_caches failed', 'drop_caches failed')])
def test_the_caches_of_a_node_are_emptied_where_that_is_allowed(data, monkeypatch, capsys, fault, said):
    emptied = []
    own = {
        'cold': lambda *_: Cold('by a word'),
        'empty_client_cache': lambda _, path: (emptied.append(path), fault)[1],
    }
    forgotten(monkeypatch, data, NOT_ALLOWED, **own)
    assert emptied == []
    capsys.readouterr()
    forgotten(monkeypatch, data, ALLOWED, **own)
    assert emptied == [str(data)]
    assert capsys.readouterr().out == f'{MARK} {HERE} {said}\n'


def test_every_node_of_the_case_is_asked_once(evict):
    fault, asked = evict()
    assert fault is None
    assert asked.startswith('-N2 -n2 --ntasks-per-node=1 ')


def test_nodes_that_are_named_are_asked_by_name(evict):
    fault, asked = evict(named=('n1', 'n2'))
    assert fault is None
    assert '--nodelist=n1,n2 ' in asked


@pytest.mark.parametrize(
    ('change', 'fault'),
    [
        (f's/{DONE}$/data: Permission denied/', 'n2: data: Permission denied'),
        ('d', f'2 nodes were asked for, one task on each, and {HERE.partition(".")[0]} answered'),
    ],
)
def test_a_node_that_has_not_forgotten_is_named(evict, change, fault):
    assert evict(change)[0] == fault
