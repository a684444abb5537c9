"""Tests the Darshan library of a partition for `seatrial doctor`: its version, and whether it would leave a log. It
is started under an engine just as in a trial, for a library loads into one program and not into another."""

import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from seatrial.check.darshan.logs import MISSING, LogError, read_logs
from seatrial.check.staging import pydarshan_version
from seatrial.engine.base import Command
from seatrial.job.sequence.darshan import left_by, under_darshan
from seatrial.job.sequence.provenance import ANSWER_S, build_of, library_of
from seatrial.model.ask import Answer, ask
from seatrial.model.owned import private_folder
from seatrial.model.record import build_words

# elf(5): magic, class and byte order; then type (3 is a shared object) and machine, two bytes each.
_MAGIC, _IDENTITY, _TYPE, _MACHINE, _HEADER = b'\x7fELF', slice(4, 6), slice(16, 18), slice(18, 20), 20
_SHARED = (b'\x03\x00', b'\x00\x03')

# Darshan wraps it where it was built with MPI (darshan-core-init-finalize.c), by whatever name MPI's library goes.
_WITH_MPI = b'PMPI_Init\0'

# What ld.so(8) says of a library that it leaves out, of one that ends the program, and of what one needs.
_LEFT_OUT = re.compile(r'cannot be preloaded \((.+?)\)')
_FATAL = re.compile(r'(?:error while loading shared libraries|symbol lookup error): (.+)')
_MISSING = re.compile(r'shared libraries: (\S+): cannot open shared object file|^\s*(\S+) => not found', re.M)


class Program(NamedTuple):
    """An engine that would run under Darshan."""

    engine: str
    path: str
    mpi: bool
    version_argv: tuple[str, ...]  # prints its version, and touches no file


class _Fault(NamedTuple):
    """The reason why engines cannot run under Darshan, and the remedy: their names go between the two parts."""

    before: str
    after: str


def examined(library: str, programs: Sequence[Program]) -> tuple[str, list[str]]:
    """Version, path, build and MPI of the library, with the PyDarshan that read its log; and sentences on why it
    would leave none. Each names all programs that it is true of. The version is that in a serial program's log."""
    if fault := _file_fault(library):
        return library, [fault]
    version, faults = '', dict[_Fault, list[str]]()
    for program in programs:
        seen, why = ('', _mpi_fault(library, program)) if program.mpi else _tried(library, program.version_argv)
        version = version or seen
        if why:
            faults.setdefault(why, []).append(program.engine)
    if all(program.mpi for program in programs):
        # Not a fault: what an engine brings along may be all that keeps another program from starting with it.
        version, _ = _tried(library, ('true',))
    mpi = library_of(library) or ('MPI unknown' if _has_mpi(library) else 'without MPI')
    line = f'{version or "version unknown"} at {library}, {build_words(build_of(library))}, {mpi}'
    sentences = [f'{why.before} {", ".join(engines)}{why.after}' for why, engines in faults.items()]
    reader = pydarshan_version()
    if not reader:
        return line, [MISSING, *sentences]
    return f'{line}, read by PyDarshan {reader}' if version else line, sentences


def _file_fault(library: str) -> str:
    """The reason why the file cannot be loaded here, and the remedy; empty if it can."""
    remedy = 'correct darshan of the partition in trial.yaml'
    try:
        header, other = _header(library), _header(sys.executable)
    except FileNotFoundError:
        return f'it is not there; install Darshan there, or {remedy}'
    except OSError as error:
        return f'it cannot be read: {error.strerror}; {remedy}'
    if not header.startswith(_MAGIC) or header[_TYPE] not in _SHARED:
        return f'it is not a shared library; {remedy}, which must name libdarshan.so'
    if (header[_IDENTITY], header[_MACHINE]) != (other[_IDENTITY], other[_MACHINE]):
        return f'it is built for another architecture than this host has, {platform.machine()}; build one for it'
    return ''


def _header(path: str) -> bytes:
    with Path(path).open('rb') as stream:
        return stream.read(_HEADER)


def _tried(library: str, argv: Sequence[str]) -> tuple[str, _Fault | None]:
    """The version in the log of a program without MPI that is started under the library, just as in a trial."""
    with private_folder('seatrial-darshan-') as folder:
        raw = str(Path(folder, 'launch'))
        command = under_darshan(Command('task', (tuple(argv),), {}, ()), library, raw, folder)
        if fault := _unloadable(ask(list(command.argvs[0]), ANSWER_S)):
            return '', fault
        left = left_by(raw)
        if left is None or not left.logs:
            return '', _Fault('it leaves no log of', '; let trial.yaml name the libdarshan.so of darshan-runtime')
        try:
            return read_logs([Path(left.logs[0])])[0].version, None
        except LogError as error:
            if str(error) == MISSING:  # which is said once, and not of each engine
                return '', None
            return '', _Fault('the log of', f' cannot be read: {error}')


def _mpi_fault(library: str, program: Program) -> _Fault | None:
    """The reason why an MPI program would leave no log; it is not started: on some systems only a launcher can."""
    # ld.so(8): it then says what it would load.
    loading = ['env', 'LD_TRACE_LOADED_OBJECTS=1', f'LD_PRELOAD={library}', program.path]
    if fault := _unloadable(ask(loading, ANSWER_S)):
        return fault
    if not _has_mpi(library):
        return _Fault('it is built without MPI and leaves no log of', '; build one with the MPI of that')
    mpi, others = library_of(library), library_of(program.path)
    if mpi and others and mpi != others:
        after = f', which loads {others}; build one with the MPI of that'
        return _Fault(f'it is built for {mpi}, and not for', after)
    return None


def _has_mpi(library: str) -> bool:
    return _WITH_MPI in Path(library).read_bytes()


def _unloadable(answer: Answer | None) -> _Fault | None:
    text = f'{answer.stderr}\n{answer.stdout}' if answer else ''
    if missing := _MISSING.search(text):
        why = f'{missing[1] or missing[2]} is not found'
    elif complaint := _LEFT_OUT.search(text) or _FATAL.search(text):
        why = complaint[1]
    else:
        return None
    return _Fault('it cannot be loaded into', f': {why}; build it here or load what it needs as a module')
