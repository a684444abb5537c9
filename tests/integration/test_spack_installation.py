"""A real Spack, whose finished prefix SEATRIAL_SPACK_PREFIX names: its lock, and the programs and modules
installed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from local_site import login
from seatrial.job.sequence.provenance import build_of, library_of
from seatrial.site.spack_env import faults_of_installation

PREFIX = Path(os.environ.get('SEATRIAL_SPACK_PREFIX', '/no/such/prefix'))

pytestmark = pytest.mark.skipif(
    not (PREFIX / 'environment' / 'spack.lock').is_file(),
    reason='needs Spack and sources: run spack-env/install, and name its --prefix in SEATRIAL_SPACK_PREFIX',
)


@pytest.fixture(scope='module')
def lock():
    return json.loads((PREFIX / 'environment' / 'spack.lock').read_text())


def installed():
    """The names of the programs that are there."""
    installs = json.loads((PREFIX / 'opt' / '.spack-db' / 'index.json').read_text())['database']['installs']
    return [each['spec']['name'] for each in installs.values() if each['explicit'] and each['installed']]


def test_spack_solves_the_environment_as_the_committed_lock_has_it(repository, tmp_path):
    for file in ('spack.yaml', 'spack.lock', 'externals/debian12-mpich.yaml'):
        shutil.copy(repository / 'spack-env' / file, tmp_path)
    committed = json.loads((tmp_path / 'spack.lock').read_text())
    (tmp_path / 'spack.lock').unlink()
    (tmp_path / 'debian12-mpich.yaml').rename(tmp_path / 'site.yaml')
    environment = {
        **os.environ,
        'SPACK_DISABLE_LOCAL_CONFIG': '1',
        'SPACK_USER_CACHE_PATH': str(PREFIX / 'cache'),
        'SPACK_PYTHON': str(PREFIX / 'python' / 'bin' / 'python'),
    }
    argv = [PREFIX / 'spack' / 'bin' / 'spack', '-C', PREFIX / 'config', '-e', tmp_path, 'concretize']
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / 'spack.lock').read_text())
    assert made['concrete_specs'] == committed['concrete_specs']


def test_what_is_installed_is_what_the_lock_fixes(lock):
    database = json.loads((PREFIX / 'opt' / '.spack-db' / 'index.json').read_text())
    assert 'ior' in installed()
    assert faults_of_installation(lock, database, installed()) == []


def test_the_module_of_ior_leads_to_the_installation_of_the_lock(lock):
    (root,) = [root['hash'] for root in lock['roots'] if root['spec'].startswith('ior@')]
    lines = f'module use {PREFIX}/environment/modules/lmod/Core && module load seatrial/ior && command -v ior'
    done = subprocess.run(['bash', '-c', lines], env=login('lmod'), capture_output=True, text=True, timeout=120)
    program = done.stdout.strip()
    assert build_of(program) == f'spack:{root}'
    assert library_of(program).startswith('MPICH ')


@pytest.mark.needs('mpiexec')
def test_ior_runs_under_the_mpi_that_it_was_built_with(tmp_path):
    ior = PREFIX / 'environment' / 'view' / 'bin' / 'ior'
    argv = ['mpiexec', '-n', '2', ior, '-a', 'POSIX', '-w', '-b', '64k', '-t', '64k', '-o', tmp_path / 'data']
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert 'IOR-4.0.0: MPI Coordinated Test of Parallel I/O' in done.stdout
    assert 'tasks               : 2' in done.stdout
