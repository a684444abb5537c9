"""The I/O that fio and dd really issue, seen by strace, against the offset rule of LANL's mpi_io_test and IOR."""

import os
import re
import subprocess
import time
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.dd import Dd
from seatrial.engine.fio import Fio
from seatrial.model.workload import AccessPattern, Point, file_name, files_of, preparation

pytestmark = pytest.mark.slow

TRANSFER, OBJECTS = 12288, 5  # neither a power of two, so that a wrong rule shows

MFWA = AccessPattern('multiple', 'whole')
MFWA_RANDOM = AccessPattern('multiple', 'whole', 'random')
SFSA = AccessPattern('single', 'segment')
SFSA_STRIDED = AccessPattern('single', 'segment', 'strided')
SFSA_RANDOM = AccessPattern('single', 'segment', 'random')
SFWA = AccessPattern('single', 'whole', operations=('read',))

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


def point(tasks, objects=OBJECTS):
    return Point('12KiB', 1, tasks, tasks, objects * TRANSFER, TRANSFER, objects)


def issued(engine, pattern, operation, at, directory, raw):
    """Carry the operation out in `directory` under strace: the events of every process that touched data."""
    command = engine.command(engine.name, pattern, operation, at, str(raw / 'x'), 7)
    for path, text in command.inputs.items():
        Path(path).write_text(text)
    processes, streams = [], []
    for rank, argv in enumerate(command.argvs):
        trace = ['strace', '-f', '-ff', '-s', '0', '-e', f'trace={CALLS}', '-o', str(raw / f'trace.{rank}')]
        begin = time.monotonic()
        done = subprocess.run(
            [*trace, *argv], cwd=directory, capture_output=True, text=True, env={**os.environ, 'LC_ALL': 'C'}
        )
        processes.append(ProcessTime('node1', begin, time.monotonic(), done.returncode))
        streams.append((done.stdout, done.stderr))
    outcome = Outcome(
        tuple(processes),
        tuple(out for out, _ in streams),
        tuple(err for _, err in streams),
        tuple(Path(path).read_text() for path in command.outputs),
    )
    measurement = engine.measure(pattern, operation, at, command, outcome)
    traces = [events_of(path.read_text()) for path in sorted(raw.glob('trace.*'))]
    for path in raw.glob('trace.*'):
        path.unlink()
    return [events for events in traces if events], measurement


def events_of(text):
    """The calls on data files in one process's trace. Positions of read and write are followed by hand."""
    names, positions, events = {}, {}, []
    for call, arguments, result in CALL.findall(text):
        values = [value.strip() for value in arguments.split(',')]
        fd, got = values[0], int(result)
        if call == 'openat':
            name = values[1].strip('"')
            if got >= 0 and name.startswith('data'):
                names[result], positions[result] = name, 0
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


def rule(pattern, operation, at):
    """The events that each rank must have: segment * tasks * block + rank * block + i * transfer in a shared file."""
    ranks = []
    for rank in range(at.tasks):
        if pattern.extent == 'whole':
            offsets = [i * TRANSFER for i in range(at.objects)]
        elif pattern.order == 'strided':
            offsets = [segment * at.tasks * TRANSFER + rank * TRANSFER for segment in range(at.objects)]
        else:
            offsets = [rank * at.objects * TRANSFER + i * TRANSFER for i in range(at.objects)]
        ranks.append([Event(operation, file_name(pattern, rank), offset, TRANSFER) for offset in offsets])
    return ranks


def data_events(processes):
    return sorted([event for event in events if event.call in ('read', 'write')] for events in processes)


def prepared(directory, pattern, at):
    for spec in files_of(pattern, at):
        (directory / spec.name).write_bytes(os.urandom(spec.size))


@pytest.fixture
def places(tmp_path):
    """A data directory, and a directory for the records."""
    for name in ('data', 'raw'):
        (tmp_path / name).mkdir()
    return tmp_path / 'data', tmp_path / 'raw'


@pytest.mark.needs('fio')
@pytest.mark.needs('strace')
@pytest.mark.parametrize('tasks', [2, 3])
class TestFio:
    @pytest.mark.parametrize('pattern', [MFWA, SFSA, SFSA_STRIDED], ids=lambda pattern: pattern.name)
    def test_a_write_issues_the_transfers_of_the_rule_in_order_then_one_fsync_and_nothing_else(
        self, places, pattern, tasks
    ):
        processes, measurement = issued(Fio(), pattern, 'write', point(tasks), *places)
        expected = [[*events, Event('fsync', events[0].file)] for events in rule(pattern, 'write', point(tasks))]
        assert sorted(processes) == sorted(expected)
        assert measurement.fsync

    @pytest.mark.parametrize('pattern', [MFWA, SFSA, SFSA_STRIDED, SFWA], ids=lambda pattern: pattern.name)
    def test_a_read_issues_the_transfers_of_the_rule_in_order_and_nothing_else(self, places, pattern, tasks):
        prepared(places[0], pattern, point(tasks))
        processes, _ = issued(Fio(), pattern, 'read', point(tasks), *places)
        assert sorted(processes) == sorted(rule(pattern, 'read', point(tasks)))

    def test_the_preparation_of_a_shared_file_issues_every_byte_once(self, places, tasks):
        pattern, at = preparation(SFWA, point(tasks))
        processes, _ = issued(Fio(), pattern, 'write', at, *places)
        end = 0
        for event in sorted(event for events in data_events(processes) for event in events):
            assert event.offset == end
            end += event.length
        assert end == point(tasks).bytes_per_client


CALLS_OF_FIO = re.compile(r'clock_nanosleep\(.*(tv_nsec=100000000)|clone3?\(.*?(CLONE_THREAD|SIGCHLD)')


@pytest.mark.needs('fio')
@pytest.mark.needs('strace')
@pytest.mark.parametrize('nodes', [1, 2])
def test_fio_as_it_is_witnessed_forks_no_job_before_its_helper_thread_has_gone_to_sleep(places, nodes):
    """A job that is forked while that thread holds Darshan's lock never begins."""
    directory, raw = places
    at = point(2)._replace(nodes=nodes, tasks_per_node=2 // nodes)
    plain = Fio().command('fio', MFWA, 'write', at, str(raw / 'x'), 7)
    for command, waits in ((plain, False), (Fio().witnessed(plain), True)):
        for path, text in command.inputs.items():
            Path(path).write_text(text)
        trace = ['strace', '-f', '-e', 'trace=clone,clone3,clock_nanosleep', '-o', str(raw / 'trace')]
        for argv in command.argvs:
            subprocess.run([*trace, *argv], cwd=directory, check=True)
            done = [thread or 'sleep' for _, thread in CALLS_OF_FIO.findall((raw / 'trace').read_text())]
            begun = done[: done.index('SIGCHLD')]
            assert 'CLONE_THREAD' in begun
            assert ('sleep' in begun[begun.index('CLONE_THREAD') :]) == waits


@pytest.mark.needs('fio')
@pytest.mark.needs('strace')
class TestFioInRandomOrder:
    @pytest.mark.parametrize('operation', ['write', 'read'])
    @pytest.mark.parametrize('pattern', [MFWA_RANDOM, SFSA_RANDOM], ids=lambda pattern: pattern.name)
    def test_random_order_issues_every_transfer_of_a_client_once_and_not_in_order(self, places, pattern, operation):
        at = point(tasks=3, objects=67)
        if operation == 'read':
            prepared(places[0], pattern, at)
        processes, _ = issued(Fio(), pattern, operation, at, *places)
        seen = data_events(processes)
        assert sorted(sorted(events) for events in seen) == sorted(rule(pattern, operation, at))
        assert all(events != sorted(events) for events in seen)


@pytest.mark.needs('dd')
@pytest.mark.needs('strace')
@pytest.mark.parametrize('tasks', [2, 3])
class TestDd:
    @pytest.mark.parametrize('pattern', [MFWA, SFSA, SFWA], ids=lambda pattern: pattern.name)
    def test_a_read_issues_the_transfers_of_the_rule_in_order_and_nothing_else(self, places, pattern, tasks):
        prepared(places[0], pattern, point(tasks))
        processes, _ = issued(Dd(), pattern, 'read', point(tasks), *places)
        assert sorted(processes) == sorted(rule(pattern, 'read', point(tasks)))

    @pytest.mark.parametrize('pattern', [MFWA, SFSA], ids=lambda pattern: pattern.name)
    def test_a_preparation_issues_the_transfers_of_the_rule_then_one_fsync(self, places, pattern, tasks):
        processes, measurement = issued(Dd(), pattern, 'write', point(tasks), *places)
        expected = [[*events, Event('fsync', events[0].file)] for events in rule(pattern, 'write', point(tasks))]
        assert sorted(processes) == sorted(expected)
        assert measurement.fsync


@pytest.mark.needs('fio')
class TestDataOfFio:
    @pytest.fixture
    def blocks(self, places):
        """The 4 KiB blocks that three clients wrote in two launches of the same seed."""
        directory, raw = places
        at = Point('64KiB', 1, 3, 3, 1 << 18, 1 << 16, 4)
        blocks = []
        for launch in ('0001', '0002'):
            command = Fio().command('fio', MFWA, 'write', at, str(raw / launch), 7)
            for path, text in command.inputs.items():
                Path(path).write_text(text)
            subprocess.run(command.argvs[0], cwd=directory, check=True, capture_output=True)
            for file in sorted(directory.iterdir()):
                data = file.read_bytes()
                blocks += [data[i : i + 4096] for i in range(0, len(data), 4096)]
                file.unlink()
        return blocks

    def test_no_block_is_the_same_as_another(self, blocks):
        assert len(set(blocks)) == len(blocks) == 2 * 3 * 64

    def test_the_blocks_do_not_compress(self, blocks):
        assert len(zlib.compress(b''.join(blocks), 9)) > 0.98 * 4096 * len(blocks)
