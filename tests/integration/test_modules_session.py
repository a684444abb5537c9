"""Engines from modules under a real Lmod and real Environment Modules, as Spack wrote them."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from local_site import SEATRIAL, LocalSite, login, trial, writes
from seatrial.job.sequence.recorder import records_in

WRITTEN_FOR = '/opt/seatrial'
FIO, IOR, MPICH = 'seatrial/fio/3.37', 'seatrial/ior/4.0.0', 'seatrial/mpich/4.0.2'
TREES = {'lmod': 'lmod/Core', 'envmod': 'tcl'}  # by Spack for each; Lmod reads those of Environment Modules too
# With fio before ior. Under Lmod the MPI puts /usr/bin, where another fio may be, in front of the PATH.
LOADED = {'lmod': (MPICH, FIO, IOR), 'envmod': (FIO, MPICH, IOR)}
TRIAL = trial('Writes', '[fio]', limits='bytes: 4GiB, inodes: 1000', more='bytes_per_task: 256MiB')

pytestmark = [pytest.mark.needs('fio', 'bash')]


@pytest.fixture(scope='module', params=['lmod', pytest.param('envmod', marks=pytest.mark.long)])
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
    shutil.copytree(repository / 'tests' / 'transcripts' / 'spack' / 'modules', folder / 'modules')
    for file in (folder / 'modules').rglob('*'):
        if file.is_file():
            file.write_text(file.read_text().replace(WRITTEN_FOR, str(folder)))
    text = (folder / 'modules' / TREES['lmod'] / f'{FIO}.lua').read_text()
    (place,) = [Path(line.split('"')[3]) for line in text.splitlines() if line.startswith('prepend_path("PATH"')]
    place.mkdir(parents=True)
    (place / 'fio').symlink_to(shutil.which('fio'))
    return folder


def program_of(installed):
    (program,) = installed.glob('opt/*/fio-*/bin/fio')
    return str(program)


@pytest.fixture(scope='module')
def site(tmp_path_factory, system, tree):
    """The local site, whose environment has ior and fio as modules."""
    folder = tmp_path_factory.mktemp('site')
    LocalSite(folder, TRIAL)
    settings = (folder / 'settings.py').read_text()
    environment = {'name': 'seatrial', 'modules': [{'name': name, 'path': tree} for name in (FIO, IOR)]}
    changes = {
        "'hostnames': ['.*'],": f"'hostnames': ['.*'], 'modules_system': {system!r},",
        "'environs': ['builtin'],": "'environs': ['seatrial'],",
        "    'logging': [": f"    'environments': [{environment!r}],\n    'logging': [",
    }
    for old, new in changes.items():
        assert old in settings
        settings = settings.replace(old, new)
    (folder / 'settings.py').write_text(settings)
    (folder / 'checks').mkdir()
    (folder / 'checks' / 'write.py').write_text(writes('Writes'))
    return folder


@pytest.fixture(scope='module')
def seatrial_said(system, site):
    """Run a command of Seatrial in that login shell."""

    def run(command):
        argv = [SEATRIAL, command, f'--site={site}', f'--checks={site / "checks"}']
        environment = {**login(system), 'COLUMNS': '300'}
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600)

    return run


def test_a_trial_measures_with_the_program_of_the_module(seatrial_said, site, system, installed):
    done = seatrial_said('run')
    (folder,) = (site / 'state' / 'sessions').iterdir()
    (case,) = json.loads((folder / 'results.json').read_text())['cases']
    assert (done.returncode, case['verdict']) == (0, 'MEASURED'), done.stdout
    (records,) = (folder / 'cases').iterdir()
    start = records_in(str(records)).start
    assert start.program == program_of(installed)
    assert start.provenance.modules == LOADED[system]
    content = Path(shutil.which('fio')).read_bytes()
    assert start.provenance.build == f'sha256:{hashlib.sha256(content).hexdigest()}'


def test_doctor_shows_the_program_of_the_module(seatrial_said, system, installed):
    done = seatrial_said('doctor')
    lines = [' '.join(line.split()) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert f'+ ok modules {", ".join(LOADED[system])}' in lines
    assert any(f'at {program_of(installed)}, SHA-256 ' in line for line in lines if 'engine fio' in line)


@pytest.mark.parametrize(
    ('command', 'status', 'mistaken'),
    [
        ('doctor', 64, "'seatrial/fio/3.37'"),
        pytest.param('run', 13, "{'name': 'seatrial/fio/0', 'path': PATH}", marks=pytest.mark.long),
    ],
    ids=['without its folder', 'no such version'],
)
def test_a_module_that_reframe_would_not_find_is_shown_with_the_reason(
    seatrial_said, site, tree, command, status, mistaken
):
    settings = site / 'settings.py'
    text = settings.read_text()
    entry = "{'name': 'seatrial/fio/3.37', 'path': PATH}"
    old, new = (word.replace('PATH', repr(tree)) for word in (entry, mistaken))
    assert old in text
    settings.write_text(text.replace(old, new))
    try:
        done = seatrial_said(command)
    finally:
        settings.write_text(text)
    assert done.returncode == status
    assert re.search(r'^(?:- missing +)?modules:? +seatrial/fio/[\d.]+: .*seatrial/fio', done.stdout, re.MULTILINE)
