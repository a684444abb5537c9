"""The build of a program, its MPI, what starts it, the modules that are loaded."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.job.sequence.provenance import (
    build_of,
    inherited,
    launcher_of,
    library_of,
    linked_library,
    provenance,
    version_said,
    words,
)
from seatrial.model.plan import Launcher
from seatrial.model.record import Provenance

SAID = {
    'hydra-4.0.2.out': 'Hydra 4.0.2',
    'library-mpich-4.0.2.out': 'MPICH 4.0.2',
    'mpirun-openmpi-4.1.4.out': 'Open MPI 4.1.4',
    'library-openmpi-4.1.4.out': 'Open MPI 4.1.4',
    'mpiexec-intel-2021.19.0.out': 'Intel MPI 2021.19.0',
    'library-intel-2021.19.0.out': 'Intel MPI 2021.19.0',
    'srun-22.05.8.out': 'Slurm 22.05.8',
}


@pytest.fixture(scope='module')
def transcript(repository):
    return lambda name: (repository / 'tests' / 'transcripts' / 'mpi' / name).read_text()


@pytest.mark.parametrize(('name', 'version'), SAID.items())
def test_every_mpi_and_launcher_is_told_by_its_own_words(transcript, name, version):
    assert version_said(transcript(name)) == version


@pytest.mark.parametrize('name', SAID)
def test_a_transcript_that_is_cut_short_is_never_another_version(transcript, name):
    lines = transcript(name).splitlines(keepends=True)
    versions = {version_said(''.join(lines[:number])) for number in range(len(lines) + 1)}
    assert {version for version in versions if any(letter.isdigit() for letter in version)} == {SAID[name]}


@given(st.text())
def test_no_text_is_too_strange(text):
    assert '\n' not in version_said(text)
    linked_library(text)


@pytest.mark.parametrize(
    ('output', 'version'),
    [('\n  prterun (PRRTE) 3.0.2 \nReport bugs\n', 'prterun (PRRTE) 3.0.2'), ('', '')],
)
def test_what_is_not_known_is_kept_in_its_own_words(output, version):
    assert version_said(output) == version


def test_of_the_environment_what_changes_io_is_kept_and_nothing_else():
    names = ('LD_PRELOAD', 'ROMIO_HINTS', 'MY_ROMIO_X', 'IOR_HINT__MPI__romio_cb_write', 'MPICH_MPIIO_HINTS')
    more = ('OMPI_MCA_io', 'DARSHAN_LOGHINTS')
    environment = dict.fromkeys((*names, *more, 'LD_PRELOADED', 'HOME', 'PATH', 'MY_DARSHAN_', 'MPICH_X'), 'x')
    assert inherited(environment) == tuple(sorted(f'{name}=x' for name in (*names, *more)))
    assert inherited({'LD_PRELOAD': 200 * 'y', 'ROMIO_HINTS': 201 * 'y'}) == (
        f'LD_PRELOAD={200 * "y"}',
        'ROMIO_HINTS',
    )


@pytest.mark.parametrize(
    ('name', 'library'),
    [
        ('ldd-ior-mpich.out', '/lib/x86_64-linux-gnu/libmpich.so.12'),
        ('ldd-fortran-openmpi.out', '/usr/lib/x86_64-linux-gnu/libmpi.so.40'),
        ('ldd-fio.out', None),
    ],
)
def test_the_library_is_the_one_with_mpis_c_functions(transcript, name, library):
    assert linked_library(transcript(name)) == library
    cray = '/opt/cray/lib/libmpi_cray.so.12'
    assert linked_library(f'\tlibmpi_cray.so.12 => {cray} (0x1)\n') == cray
    assert linked_library('\tlibmpi.so.40 => not found\n') is None


@pytest.fixture
def prefix(tmp_path):
    """An installation as Spack leaves it, and its program."""
    program = tmp_path / 'ior-4.0.0-l7f4hbh' / 'bin' / 'ior'
    (program.parent.parent / '.spack').mkdir(parents=True)
    program.parent.mkdir()
    program.write_bytes(b'\x7fELF')
    spec = {'spec': {'nodes': [{'name': 'ior', 'hash': 'l7f4hbh6twzbxdmv6upuni7omqeedeme'}, {'hash': 'other'}]}}
    (program.parent.parent / '.spack' / 'spec.json').write_text(json.dumps(spec))
    return program


def test_a_program_of_spack_is_known_by_the_hash_of_its_installation(prefix):
    assert build_of(str(prefix)) == 'spack:l7f4hbh6twzbxdmv6upuni7omqeedeme'


def test_the_view_of_an_environment_leads_to_the_installation(prefix, tmp_path):
    (tmp_path / 'view').mkdir()
    (tmp_path / 'view' / 'ior').symlink_to(prefix)
    assert build_of(str(tmp_path / 'view' / 'ior')) == build_of(str(prefix))


@pytest.mark.parametrize('text', ['', '{}', '[]', '{"spec": {"nodes": []}}', '{"spec": {"nodes": null}}'])
def test_any_other_program_is_known_by_its_checksum(prefix, text):
    (prefix.parent.parent / '.spack' / 'spec.json').write_text(text)
    assert build_of(str(prefix)) == f'sha256:{hashlib.sha256(prefix.read_bytes()).hexdigest()}'


def test_a_build_is_short_for_people():
    assert words('spack:l7f4hbh6twzbxdmv6upuni7omqeedeme') == 'Spack l7f4hbh'
    assert words(f'sha256:{"0a" * 32}') == 'SHA-256 0a0a0a0a0a0a'
    assert words('') == ''


def test_the_modules_are_those_that_are_loaded_in_their_order(prefix, monkeypatch):
    monkeypatch.setenv('LOADEDMODULES', 'seatrial/mpich/4.0.2:seatrial/ior/4.0.0')
    assert provenance(str(prefix), False, None).modules == ('seatrial/mpich/4.0.2', 'seatrial/ior/4.0.0')
    monkeypatch.setenv('OMPI_MCA_io', 'romio321')
    assert 'OMPI_MCA_io=romio321' in provenance(str(prefix), False, None).environment
    monkeypatch.setenv('LOADEDMODULES', '')
    assert provenance(str(prefix), False, None).modules == ()


def test_a_launcher_is_asked_by_the_name_that_starts_the_ranks(tmp_path, monkeypatch, transcript):
    for name, file in (('mpirun', 'mpirun-openmpi-4.1.4.out'), ('srun', 'srun-22.05.8.out')):
        (tmp_path / f'{name}.said').write_text(transcript(file))
        (tmp_path / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec cat {tmp_path}/{name}.said\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}{os.pathsep}{os.environ["PATH"]}')
    assert launcher_of(Launcher('openmpi')) == 'Open MPI 4.1.4'
    assert launcher_of(Launcher('srun')) == 'Slurm 22.05.8'
    monkeypatch.setenv('PATH', '')
    assert launcher_of(Launcher('openmpi')) == ''
    assert library_of('/bin/sh') == '', 'a program without MPI'


@pytest.mark.needs('gcc', 'mpicc', 'mpiexec')
def test_the_library_that_a_rank_would_load_is_asked_itself(tmp_path, mpicc):
    (tmp_path / 'rank.c').write_text('#include <mpi.h>\nint main(int n, char **a) { return MPI_Init(&n, &a); }\n')
    mpicc('-o', tmp_path / 'rank', tmp_path / 'rank.c')
    asked = subprocess.run(['mpiexec', '--version'], capture_output=True, text=True, timeout=120).stdout
    library, started = library_of(str(tmp_path / 'rank')), version_said(asked)
    assert library.split()[-1] == started.split()[-1], 'one package has both'


def test_a_job_writes_down_with_what_it_measures(lab, stub_fio, monkeypatch):
    monkeypatch.setenv('LOADEDMODULES', 'seatrial/fio/3.37')
    fio = stub_fio()
    start = lab.run(lab.plan(fio)).records.start
    assert lab.run(lab.plan('/no/such/fio', check='None')).records.start.provenance.build == ''
    assert start.provenance == Provenance(
        f'sha256:{hashlib.sha256(Path(fio).read_bytes()).hexdigest()}', modules=('seatrial/fio/3.37',)
    )
