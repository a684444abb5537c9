"""Engines from modules under a real Lmod and real Environment Modules, as Spack wrote them."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local_site import login
from seatrial.job.sequence.recorder import records_in

WRITTEN_FOR = '/opt/seatrial'
FIO, IOR, MPICH = 'seatrial/fio/3.37', 'seatrial/ior/4.0.0', 'seatrial/mpich/4.0.2'
TREES = {'lmod': 'lmod/Core', 'envmod': 'tcl'}
"""What Spack wrote for each; Lmod reads those of Environment Modules too."""
TRIAL = """
version: 1
state: state
engines: [fio]
file_systems:
  scratch:
    type: posix
    path: state/trials
    limits: {bytes: 4GiB, inodes: 1000}
    records_on_target: true
partitions:
  local:default: {launcher: local, tasks_per_node: 2}
trials:
  - {checks: [MultipleFilesTransferSizes], partitions: [local:default], file_systems: [scratch], nodes: [1],
     budget: 1s}
"""

pytestmark = [pytest.mark.needs('fio', 'bash')]


@pytest.fixture(scope='module', params=TREES)
def system(request):
    """The name that ReFrame has for it; skips where it is not there."""
    login(request.param)
    return request.param


@pytest.fixture(scope='module')
def tree(system, installed):
    """The folder that `module use` takes."""
    return f'{installed}/modules/{TREES[system]}'


@pytest.fixture(scope='module')
def installed(tmp_path_factory, repository):
    """A folder with the module trees of Spack for it, and the real fio where they say that fio is."""
    folder = tmp_path_factory.mktemp('installed')
    for file in (repository / 'tests' / 'transcripts' / 'spack' / 'modules').rglob('*'):
        if file.is_file():
            copy = folder / 'modules' / file.relative_to(repository / 'tests' / 'transcripts' / 'spack' / 'modules')
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text().replace(WRITTEN_FOR, str(folder)))
    text = (folder / 'modules' / TREES['lmod'] / f'{FIO}.lua').read_text()
    (place,) = [Path(line.split('"')[3]) for line in text.splitlines() if line.startswith('prepend_path("PATH"')]
    place.mkdir(parents=True)
    (place / 'fio').symlink_to(shutil.which('fio'))
    return folder


def program_of(installed):
    (found,) = installed.glob('opt/*/fio-*/bin/fio')
    return str(found)


def shell(system, *lines):
    argv = ['bash', '-c', '\n'.join(lines)]
    done = subprocess.run(argv, env=login(system), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(('by', 'written_for'), [('lmod', 'lmod'), ('lmod', 'envmod'), ('envmod', 'envmod')])
def test_a_module_brings_its_mpi_along_and_takes_it_away_again(installed, by, written_for):
    before, loaded, path, after, left = shell(
        by,
        f'module use {installed}/modules/{TREES[written_for]}',
        'echo "$PATH"',
        f'module load {IOR} && echo "$LOADEDMODULES" && echo "$PATH"',
        f'module unload {IOR} && echo "$PATH" && echo "${{LOADEDMODULES:-none}}"',
    )
    assert loaded.split(':') == [MPICH, IOR]
    assert Path(path.split(':')[0]).parent.name.startswith('ior-4.0.0-')
    assert (set(after.split(':')), left) == (set(before.split(':')), 'none')


def test_the_mpiexec_of_the_modules_mpi_comes_first(installed, tmp_path):
    (tmp_path / 'mpiexec').write_text('#!/bin/sh\n')
    (tmp_path / 'mpiexec').chmod(0o755)
    (path,) = shell(
        'lmod',
        f'export PATH={tmp_path}:$PATH',
        f'module use {installed}/modules/{TREES["lmod"]}',
        f'module load {IOR} && echo "$PATH"',
    )
    places = path.split(':')
    assert places.index('/usr/bin') < places.index(str(tmp_path)), 'MPICH of the reference platform is in /usr'


def reframe(system, script, *arguments):
    """Run the script with ReFrame's own ModulesSystem as `modules`."""
    head = 'import shutil, sys\nfrom reframe.core.modules import ModulesSystem\n'
    argv = [sys.executable, '-c', f'{head}modules = ModulesSystem.create({system!r})\n{script}', *arguments]
    done = subprocess.run(argv, env=login(system), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_reframe_loads_and_unloads_it(system, tree, installed):
    script = (
        'modules.searchpath_add(sys.argv[1])\n'
        'for change in (modules.load_module, modules.unload_module):\n'
        '    change(sys.argv[2])\n'
        '    print(modules.is_module_loaded(sys.argv[2]), shutil.which("fio"))\n'
    )
    said = reframe(system, script, tree, FIO)
    assert said == [f'True {program_of(installed)}', f'False {shutil.which("fio")}']


def test_reframe_looks_for_a_module_in_its_own_folder_only(system, tree):
    script = (
        'modules.load_module(sys.argv[2], path=sys.argv[1], force=True)\n'
        'try:\n'
        '    modules.load_module(sys.argv[3], force=True)\n'
        'except Exception as error:\n'
        '    print(type(error).__name__)\n'
    )
    assert reframe(system, script, tree, IOR, FIO) == ['EnvironError']


@pytest.fixture(scope='module')
def site(tmp_path_factory, repository, system, tree):
    """The local site, whose environment has ior and fio as modules."""
    folder = tmp_path_factory.mktemp('site')
    settings = (repository / 'site-config' / 'local' / 'settings.py').read_text()
    environment = {'name': 'seatrial', 'modules': [{'name': name, 'path': tree} for name in (IOR, FIO)]}
    changes = {
        "'hostnames': ['.*'],": f"'hostnames': ['.*'], 'modules_system': {system!r},",
        "'environs': ['builtin'],": "'environs': ['seatrial'],",
        "    'logging': [": f"    'environments': [{environment!r}],\n    'logging': [",
    }
    for old, new in changes.items():
        assert old in settings
        settings = settings.replace(old, new)
    (folder / 'settings.py').write_text(settings)
    (folder / 'trial.yaml').write_text(TRIAL)
    return folder


@pytest.fixture(scope='module')
def seatrial_said(system, site):
    """Run a command of Seatrial in that login shell."""
    program = shutil.which('seatrial', path=str(Path(sys.executable).parent))

    def run(command, *arguments):
        argv = [program, command, f'--site={site}', *arguments]
        return subprocess.run(
            argv, env={**login(system), 'COLUMNS': '300'}, capture_output=True, text=True, timeout=600
        )

    return run


def test_a_trial_measures_with_the_program_of_the_module(seatrial_said, site, installed, repository):
    done = seatrial_said('run', f'--checks={repository / "checks"}')
    (folder,) = (site / 'state' / 'sessions').iterdir()
    (case,) = json.loads((folder / 'results.json').read_text())['cases']
    assert (done.returncode, case['verdict']) == (0, 'MEASURED'), done.stdout
    (records,) = (folder / 'cases').iterdir()
    start = records_in(str(records)).start
    assert start.program == program_of(installed)
    assert start.provenance.modules == (MPICH, IOR, FIO)
    content = Path(shutil.which('fio')).read_bytes()
    assert start.provenance.build == f'sha256:{hashlib.sha256(content).hexdigest()}'


def test_doctor_shows_the_program_of_the_module(seatrial_said, installed, repository):
    done = seatrial_said('doctor', f'--checks={repository / "checks"}')
    lines = [' '.join(line.split()) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert f'+ ok modules {MPICH}, {IOR}, {FIO}' in lines
    assert any(f'at {program_of(installed)}, SHA-256 ' in line for line in lines if 'engine fio' in line)


@pytest.mark.parametrize(
    ('entry', 'mistaken'),
    [
        ("{'name': 'seatrial/fio/3.37', 'path': PATH}", "{'name': 'seatrial/fio/0', 'path': PATH}"),
        ("{'name': 'seatrial/fio/3.37', 'path': PATH}", "'seatrial/fio/3.37'"),
    ],
    ids=['no such version', 'without its folder'],
)
def test_doctor_shows_a_module_that_reframe_would_not_find(seatrial_said, site, tree, entry, mistaken, repository):
    settings = site / 'settings.py'
    text = settings.read_text()
    old, new = (each.replace('PATH', repr(tree)) for each in (entry, mistaken))
    assert old in text
    settings.write_text(text.replace(old, new))
    try:
        done = seatrial_said('doctor', f'--checks={repository / "checks"}')
    finally:
        settings.write_text(text)
    assert done.returncode == 64
    (line,) = [line for line in done.stdout.splitlines() if '- missing' in line]
    assert re.search(r'modules +seatrial/fio/[\d.]+: .*seatrial/fio', line), line
