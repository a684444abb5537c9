"""Parts that the tests of engines share: points of data access, command lines, refusals, launches of posixops."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.posixops.engine import PosixOps
from seatrial.job.launch.barrier import Barrier
from seatrial.model.units import KIB
from seatrial.workload.access import data_access
from seatrial.workload.base import Entries
from seatrial.workload.registry import kind_of

# Files of each task and one of all, in segments or as a whole: the classes of data access and their orders
MFWA, MFWA_RANDOM = data_access('multiple'), data_access('multiple', order='random')
SFSA, SFSA_STRIDED, SFSA_RANDOM = (
    data_access('single', 'segment', order) for order in ('contiguous', 'strided', 'random')
)
SFWA = data_access('single', operations=('read',))


def access_point(workload=MFWA, tasks=2, transfers=4, transfer_size=64 * KIB, nodes=1):
    return workload.changed(
        nodes=nodes,
        tasks=tasks,
        tasks_per_node=tasks // nodes,
        transfer_size=transfer_size,
        bytes_per_task=transfers * transfer_size,
    )


def refused_by(measure):
    """A function that calls `measure`, which must raise an EngineError, and returns the error."""

    def refusal(*arguments, **named):
        with pytest.raises(EngineError) as caught:
            measure(*arguments, **named)
        return caught.value

    return refusal


def assert_refused(error, rule, words):
    assert (error.rule, words in error.sentence) == (rule, True), error.sentence


def option(argv, flag):
    """The word behind a flag."""
    return argv[argv.index(flag) + 1]


def cuts(whole, most=10**6):
    """The text cut short after every line but the last, or after at most about so many of them."""
    lines = whole.splitlines(keepends=True)
    return [''.join(lines[:count]) for count in range(0, len(lines), 1 + len(lines) // most)]


def offset_rule(at, rank):
    """LANL's mpi_io_test (fs-test/fs_test, get_offset): where the transfers of a rank begin, in their order."""
    step = at.data.transfer_size
    if at.data.extent == 'whole':
        return [step * number for number in range(at.data.transfers)]
    if at.data.order == 'strided':
        return [number * at.tasks * step + rank * step for number in range(at.data.transfers)]
    return [rank * step * at.data.transfers + number * step for number in range(at.data.transfers)]


def prepared(directory, at):
    """The files of a point of data access, of random bytes."""
    for file in kind_of('access').files(at):
        (directory / file.name).write_bytes(os.urandom(file.size))


def launched(command, data, *prefix, traces=None):
    """The outcome of a command's processes, one after the other, behind a prefix; each is traced into traces.RANK."""
    for path, text in command.inputs.items():
        Path(path).write_text(text)
    how = {'cwd': data, 'env': {**os.environ, 'LC_ALL': 'C'}, 'capture_output': True, 'text': True, 'timeout': 120}
    processes, streams = [], []
    for rank, argv in enumerate(command.argvs):
        begin = time.monotonic()
        done = subprocess.run([*prefix, *([f'{traces}.{rank}'] if traces else []), *argv], **how)
        processes.append(ProcessTime('here', begin, time.monotonic(), done.returncode))
        streams.append((done.stdout, done.stderr))
    outputs = (Path(path).read_text() if Path(path).exists() else None for path in command.outputs)
    return Outcome(tuple(processes), *map(tuple, zip(*streams, strict=True)), tuple(outputs))


# Launches of posixops in a directory of their own


def point(workload, tasks=2, label='label'):
    return workload._replace(label=label, tasks=tasks, tasks_per_node=tasks)


class Disk:
    """A data directory, and launches in it."""

    def __init__(self, folder):
        self.data, self.raw = folder / 'data', folder / 'raw'
        self.data.mkdir()
        self.raw.mkdir()

    def launch(self, phase, at, python=sys.executable, instead=None, wrapper=(), patience_s=60.0):
        """The measurement of one launch; instead: other argvs of some ranks."""
        command = PosixOps().command(python, phase, at, str(self.raw / phase), 7)
        for path, text in command.inputs.items():
            Path(path).write_text(text)
        argvs = [(*wrapper, *(instead or {}).get(rank, argv)) for rank, argv in enumerate(command.argvs)]
        with Barrier(at.tasks, at.nodes, patience_s) as barrier:
            how = {'cwd': self.data, 'env': {**os.environ, 'LC_ALL': 'C', **barrier.environment}, 'text': True}
            how.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            processes = [subprocess.Popen(argv, **how) for argv in argvs]
            streams = [process.communicate(timeout=60) for process in processes]
        self.outcome = Outcome(
            tuple(ProcessTime('here', 0.0, 1.0, process.returncode) for process in processes),
            tuple(out for out, _ in streams),
            tuple(err for _, err in streams),
            (),
        )
        return PosixOps().measure(phase, at, command, self.outcome)

    def refused(self, *launch, **how):
        with pytest.raises(EngineError) as caught:
            self.launch(*launch, **how)
        return caught.value.rule, caught.value.sentence

    def walk(self):
        return list(os.walk(self.data))[1:]

    def entries(self):
        """Directories of the tree, files, and empty directories, by their names."""
        names = [Path(path).name for path, _, _ in self.walk()]
        empties = sum(name.startswith('e.') for name in names)
        return Entries(len(names) - empties, sum(len(files) for _, _, files in self.walk()), empties)

    def files(self):
        return sorted(Path(path, name) for path, _, files in self.walk() for name in files)
