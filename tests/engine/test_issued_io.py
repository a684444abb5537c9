"""The I/O that fio and dd really issue (by strace), compared with the offset rule of LANL's mpi_io_test and IOR."""

import re
import subprocess
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from measuring import MFWA, MFWA_RANDOM, SFSA, SFSA_RANDOM, SFSA_STRIDED, SFWA, launched, offset_rule, prepared
from seatrial.engine.dd import Dd
from seatrial.engine.fio.access import Fio
from seatrial.workload.access import file_name, name_of, writers

pytestmark = pytest.mark.slow

TRANSFER, TRANSFERS = 12288, 5  # neither is a power of two, so that a wrong rule is noticed

CALLS = (
    'pread64,pwrite64,preadv,pwritev,read,write,openat,close,dup2,lseek,fsync,fdatasync,unlink,unlinkat,'
    'rename,ftruncate,truncate,fallocate'
)
CALL = re.compile(r'(\w+)\((.*)\) += (-?\d+)')


class Event(NamedTuple):
    """One system call of one process on a data file."""

    call: str
    file: str
    offset: int = -1
    length: int = -1


def point(workload, tasks=3, transfers=TRANSFERS, **changes):
    sizes = {'transfer_size': TRANSFER, 'bytes_per_task': transfers * TRANSFER, **changes}
    return workload.changed(tasks=tasks, tasks_per_node=tasks, **sizes)


def issued(engine, phase, at, directory, raw):
    """Carries a phase out under strace; returns the events of each process with data files, and the measurement."""
    command = engine.command(engine.name, phase, at, str(raw / 'x'), 7)
    watched = ('strace', '-f', '-ff', '-s', '0', '-e', f'trace={CALLS}', '-o')
    measurement = engine.measure(phase, at, command, launched(command, directory, *watched, traces=raw / 'trace'))
    traces = [events_of(path.read_text()) for path in sorted(raw.glob('trace.*'))]
    for path in raw.glob('trace.*'):
        path.unlink()
    return [events for events in traces if events], measurement


def events_of(text):
    """The calls on data files in one process's trace. The positions of read and write are computed here."""
    names, positions, events = {}, {}, []
    for call, arguments, result in CALL.findall(text):
        values = [value.strip() for value in arguments.split(',')]
        fd, got = values[0], int(result)
        if call == 'openat':
            name = values[1].strip('"')
            if got >= 0 and name.startswith('data'):
                names[result], positions[result] = name, 0
                if 'O_DIRECT' in arguments:
                    events.append(Event('direct', name))
                if 'O_TRUNC' in arguments:
                    events.append(Event('truncate', name))
        elif call in ('unlink', 'unlinkat', 'rename', 'truncate'):
            events.append(Event(call, arguments))
        elif call == 'dup2':
            names.pop(values[1], None)
            if fd in names:
                names[values[1]], positions[values[1]] = names[fd], positions[fd]
        elif call == 'close':
            names.pop(fd, None)
        elif fd in names and call == 'lseek':
            positions[fd] = got
        elif fd in names and call in ('pread64', 'pwrite64'):
            events.append(Event(call.strip('p64'), names[fd], int(values[-1]), got))
        elif fd in names and call in ('read', 'write'):
            events.append(Event(call, names[fd], positions[fd], got))
            positions[fd] += got
        elif fd in names:
            events.append(Event(call, names[fd]))
    return events


def rule(phase, at):
    """The events that the rule requires of each rank."""
    return [
        [Event(phase, file_name(at, rank), offset, TRANSFER) for offset in offset_rule(at, rank)]
        for rank in range(at.tasks)
    ]


def data_events(processes):
    return sorted([event for event in events if event.call in ('read', 'write')] for events in processes)


@pytest.fixture
def places(tmp_path):
    """A data directory, and a directory for the records."""
    for name in ('data', 'raw'):
        (tmp_path / name).mkdir()
    return tmp_path / 'data', tmp_path / 'raw'


ISSUES = [
    *(pytest.param(Fio(), workload, id=f'fio {name_of(workload)}') for workload in (MFWA, SFSA, SFSA_STRIDED, SFWA)),
    *(pytest.param(Dd(), workload, id=f'dd {name_of(workload)}') for workload in (MFWA, SFSA, SFWA)),
]


@pytest.mark.needs('fio', 'dd', 'strace')
class TestFioAndDd:
    @pytest.mark.parametrize(('engine', 'workload'), ISSUES)
    def test_a_read_issues_the_transfers_of_the_rule_in_order_and_nothing_else(self, places, engine, workload):
        at = point(workload)
        prepared(places[0], at)
        processes, _ = issued(engine, 'read', at, *places)
        assert sorted(processes) == sorted(rule('read', at))

    @pytest.mark.parametrize(('engine', 'workload'), [row for row in ISSUES if row.values[1] != SFWA])
    def test_a_write_issues_the_transfers_of_the_rule_in_order_then_one_fsync(self, places, engine, workload):
        at = point(workload)
        processes, measurement = issued(engine, 'write', at, *places)
        expected = [[*events, Event('fsync', events[0].file)] for events in rule('write', at)]
        assert sorted(processes) == sorted(expected)
        assert measurement.fsync

    @pytest.mark.usefixtures('o_direct')
    @pytest.mark.parametrize('engine', [Fio(), Dd()], ids=['fio', 'dd'])
    @pytest.mark.parametrize('phase', ['write', 'read'])
    def test_a_direct_point_opens_every_file_once_with_o_direct_and_moves_its_transfers(self, places, engine, phase):
        at = point(MFWA, direct=True)
        if phase == 'read':
            prepared(places[0], at)
        processes, measurement = issued(engine, phase, at, *places)
        assert [[event.call for event in events].count('direct') for events in processes] == [1] * at.tasks
        assert sorted(data_events(processes)) == sorted(rule(phase, at))
        assert measurement.direct

    def test_the_preparation_of_a_shared_file_issues_every_byte_once(self, places):
        at, end = point(SFWA), 0
        processes, _ = issued(Fio(), 'write', writers(at), *places)
        for event in sorted(event for events in data_events(processes) for event in events):
            assert event.offset == end
            end += event.length
        assert end == at.data.bytes_per_task


CALLS_OF_FIO = re.compile(r'clock_nanosleep\(.*(tv_nsec=100000000)|clone3?\(.*?(CLONE_THREAD|SIGCHLD)')


@pytest.mark.needs('fio', 'strace')
@pytest.mark.parametrize('nodes', [1, 2])
def test_fio_under_darshan_forks_no_job_before_its_helper_thread_sleeps(places, nodes):
    """A job that is forked while that thread holds Darshan's lock waits for ever."""
    directory, raw = places
    at = point(MFWA, 2)._replace(nodes=nodes, tasks_per_node=2 // nodes)
    plain = Fio().command('fio', 'write', at, str(raw / 'x'), 7)
    for command, waits in ((plain, False), (Fio().under_darshan(plain), True)):
        for path, text in command.inputs.items():
            Path(path).write_text(text)
        trace = ['strace', '-f', '-e', 'trace=clone,clone3,clock_nanosleep', '-o', str(raw / 'trace')]
        for argv in command.argvs:
            subprocess.run([*trace, *argv], cwd=directory, check=True)
            done = [thread or 'sleep' for _, thread in CALLS_OF_FIO.findall((raw / 'trace').read_text())]
            begun = done[: done.index('SIGCHLD')]
            assert 'CLONE_THREAD' in begun
            assert ('sleep' in begun[begun.index('CLONE_THREAD') :]) == waits


@pytest.mark.needs('fio', 'strace')
@pytest.mark.parametrize('phase', ['write', 'read'])
@pytest.mark.parametrize('workload', [MFWA_RANDOM, SFSA_RANDOM], ids=name_of)
def test_random_order_issues_every_transfer_of_a_task_once_and_not_in_order(places, workload, phase):
    at = point(workload, transfers=67)
    if phase == 'read':
        prepared(places[0], at)
    processes, _ = issued(Fio(), phase, at, *places)
    seen = data_events(processes)
    assert sorted(sorted(events) for events in seen) == sorted(rule(phase, at))
    assert all(events != sorted(events) for events in seen)


@pytest.mark.needs('fio')
def test_two_launches_of_fio_with_one_seed_write_no_block_twice_and_none_that_compresses(places):
    directory, raw = places
    at = point(MFWA, transfer_size=1 << 16, bytes_per_task=1 << 18)
    blocks = []
    for launch in ('0001', '0002'):
        launched(Fio().command('fio', 'write', at, str(raw / launch), 7), directory)
        for file in sorted(directory.iterdir()):
            data = file.read_bytes()
            blocks += [data[i : i + 4096] for i in range(0, len(data), 4096)]
            file.unlink()
    assert len(set(blocks)) == len(blocks) == 2 * 3 * 64
    assert len(zlib.compress(b''.join(blocks), 9)) > 0.98 * 4096 * len(blocks)
