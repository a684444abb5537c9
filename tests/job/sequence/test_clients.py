"""Every node forgets the files before it reads them, and counts the bytes that it fetches (srun is a stand-in)."""

import json
import os
import platform

import pytest

from builders import plan_of
from seatrial.filesystem.base import Cold, Exchanged
from seatrial.filesystem.posix import Posix
from seatrial.job.sequence.clients import EMPTY, FORGET, KEEP, MARK, Clients, clients, main
from seatrial.model.plan import Launcher
from stand_in import program

HERE = platform.node()
SRUN = """echo "$*" > {asked}
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
def asked(data, tmp_path, monkeypatch):
    """The clients of two nodes; change: the command of sed for the second node's answer."""

    def two(change='', named=(), forget=True):
        program(tmp_path, monkeypatch, 'srun', SRUN.format(asked=tmp_path / 'asked', mark=MARK, change=change))
        plan = plan_of(case={'nodes': 2})._replace(launcher=Launcher('srun'))
        return clients(plan, str(data), forget, named), (tmp_path / 'asked').read_text()

    return two


@pytest.fixture
def task(data, monkeypatch, capsys):
    """The answer of a node's task to an order, and the files that it was to forget."""

    def ordered(order, forget=None, **instead):
        seen = []
        driver = type('Driver', (Posix,), instead)()
        monkeypatch.setattr('seatrial.filesystem.caches.forget', forget or seen.append)
        monkeypatch.setattr('seatrial.job.sequence.clients.by_type', lambda type_: driver)
        assert main(['posix', str(data), order]) == 0
        mark, host, answer = capsys.readouterr().out.split(None, 2)
        assert (mark, host) == (MARK, HERE)
        return json.loads(answer), seen

    return ordered


def test_a_task_forgets_every_file_and_follows_no_link(data, task):
    answer, seen = task(FORGET)
    assert (answer['fault'], seen) == (None, [str(data / 'data')])
    answer, seen = task(KEEP, exchanged=lambda *_: Exchanged(4096))
    assert (answer['fetched'], seen) == (4096, []), 'a task that only counts forgets nothing'

    def denied(path):
        raise PermissionError(13, os.strerror(13), path)

    assert task(FORGET, forget=denied)[0]['fault'] == f'{data}/data: Permission denied'


@pytest.mark.parametrize('fault', [None, 'drop_caches failed'])
def test_the_caches_of_a_node_are_emptied_where_that_is_allowed(data, task, fault):
    emptied = []
    options = {
        'cold': lambda *_: Cold('by a word'),
        'empty_client_cache': lambda _, path: (emptied.append(path), fault)[1],
    }
    task(FORGET, **options)
    assert emptied == []
    assert task(EMPTY, **options)[0]['fault'] == fault
    assert emptied == [str(data)]


def test_every_node_of_the_case_is_asked_once(asked):
    answer, command = asked()
    assert answer == Clients(None, None)
    assert command.startswith('-N2 -n2 --ntasks-per-node=1 ')
    answer, command = asked(named=('n1', 'n2'))
    assert answer.fault is None and '--nodelist=n1,n2 ' in command


@pytest.mark.parametrize(
    ('answers', 'fetched'),
    [((('a', 1000), ('b', 4096)), 5096), ((('a', 1000), ('a', 1000)), 1000), ((('a', None), ('b', 4096)), None)],
    ids=['of two kernels', 'of one kernel', 'where one does not count'],
)
def test_the_bytes_that_all_clients_have_fetched_are_added(monkeypatch, answers, fetched):
    texts = [json.dumps({'fault': None, 'fetched': count, 'kernel': kernel}) for kernel, count in answers]
    by_node = {f'n{number}': text for number, text in enumerate(texts)}
    monkeypatch.setattr('seatrial.job.sequence.clients.answers_of_nodes', lambda *_: (by_node, None))
    assert clients(plan_of(case={'nodes': 2}), '/data', forget=False) == Clients(None, fetched)


@pytest.mark.parametrize(
    ('change', 'fault'),
    [
        ('s/"fault": null/"fault": "data: Permission denied"/', 'n2: data: Permission denied'),
        ('d', f'2 nodes were asked for, one task on each, and {HERE.partition(".")[0]} answered'),
    ],
)
def test_a_node_that_could_not_forget_is_named(asked, change, fault):
    assert asked(change)[0].fault == fault
