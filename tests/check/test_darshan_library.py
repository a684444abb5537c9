"""What `seatrial doctor` says of a library that would leave no log. A real Darshan: tests/integration."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from seatrial.check.darshan_library import Program, examined

NO_LIBRARY = 'int nothing;'
DD = Program('dd', '/bin/dd', False, ('/bin/dd', '--version'))


@pytest.fixture
def compiled(tmp_path):
    """A shared object of a C text; it and what it needs are linked by these options."""

    def make(text, name, *options):
        source, library = tmp_path / f'{name}.c', tmp_path / f'lib{name}.so'
        source.write_text(text)
        subprocess.run(['gcc', '-shared', '-fPIC', '-o', library, source, *options], check=True, timeout=120)
        return library

    return make


PROGRAM = bytearray(Path('/bin/dd').read_bytes()[:20])
PROGRAM[16:18] = b'\x02\x00'  # ET_EXEC: not even as a program that can lie anywhere


@pytest.mark.parametrize(
    ('content', 'fault'),
    [
        (None, 'it is not there; install Darshan there, '),
        ('folder', 'it cannot be read: Is a directory; '),
        (b'', 'it is no shared library; '),
        (b'!<arch>\nlibdarshan.a', 'it is no shared library; '),
        (bytes(PROGRAM), 'it is no shared library; '),
    ],
)
def test_a_file_that_is_no_library_is_named_by_its_path_with_the_remedy(tmp_path, content, fault):
    file = tmp_path / 'libdarshan.so'
    if content == 'folder':
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    described, (problem,) = examined(str(file), [DD])
    assert (described, problem.startswith(fault)) == (str(file), True)
    assert 'correct darshan of the partition in trial.yaml' in problem


@pytest.mark.needs('gcc')
def test_a_library_for_another_architecture_is_said(compiled):
    library = compiled(NO_LIBRARY, 'other')
    content = bytearray(library.read_bytes())
    content[18] ^= 0xFF
    library.write_bytes(content)
    (fault,) = examined(str(library), [DD])[1]
    assert fault.startswith('it is built for another architecture than this host has, ')


@pytest.mark.needs('gcc')
def test_a_library_that_lacks_another_names_it_and_every_engine(compiled):
    library = compiled(
        'int other;', 'own', f'-L{compiled(NO_LIBRARY, "gone").parent}', '-Wl,--no-as-needed', '-lgone'
    )
    library.with_name('libgone.so').unlink()
    ranks = Program('ior', '/bin/cat', True, ())
    described, faults = examined(str(library), [DD, ranks])
    checksum = hashlib.sha256(library.read_bytes()).hexdigest()
    assert described == f'version unknown at {library}, SHA-256 {checksum[:12]}, without MPI'
    assert faults == [
        'it cannot be loaded into dd, ior: libgone.so is not found; build it here or load what it needs as a module'
    ]


@pytest.mark.needs('gcc')
def test_a_library_that_ends_the_engine_is_said_in_the_words_of_the_loader(compiled):
    library = compiled('extern int ompi_mpi_comm_world; int *world = &ompi_mpi_comm_world;', 'data')
    (fault,) = examined(str(library), [DD])[1]
    assert fault.startswith('it cannot be loaded into dd: ')
    assert 'undefined symbol: ompi_mpi_comm_world; build it here' in fault


@pytest.mark.needs('gcc')
def test_a_library_that_is_not_darshan_leaves_no_log(compiled):
    assert examined(str(compiled(NO_LIBRARY, 'util')), [DD])[1] == [
        'it leaves no log of dd; let trial.yaml name the libdarshan.so of darshan-runtime'
    ]


@pytest.mark.needs('gcc')
def test_a_darshan_without_mpi_leaves_no_log_of_a_program_of_mpi(compiled):
    ranks = Program('ior', '/bin/cat', True, ())
    assert examined(str(compiled(NO_LIBRARY, 'plain')), [ranks])[1] == [
        'it is built without MPI and leaves no log of ior; build one with the MPI of that'
    ]
    assert examined(str(compiled('int PMPI_Init;', 'mpi')), [ranks])[1] == []


@pytest.mark.needs('gcc', 'mpicc')
def test_a_darshan_for_another_mpi_leaves_no_log(tmp_path, compiled, mpicc, monkeypatch):
    source = tmp_path / 'rank.c'
    source.write_text('#include <mpi.h>\nint PMPI_Init(int *n, char ***a) { return MPI_Initialized(n); }\n')
    library = tmp_path / 'libdarshan.so'
    mpicc('-shared', '-fPIC', '-o', library, source)
    monkeypatch.setattr(
        'seatrial.check.darshan_library.library_of', lambda path: 'MPI A 1' if path == str(library) else 'MPI B 2'
    )
    ranks = Program('ior', shutil.which('cat'), True, ())
    assert examined(str(library), [ranks])[1] == [
        'it is built for MPI A 1, and not for ior, which loads MPI B 2; build one with the MPI of that'
    ]
