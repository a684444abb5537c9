"""Jobs that do not end by themselves, in a real Slurm: each is INCOMPLETE, and Slurm's reason is in its sentence."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs('sbatch', 'slurmctld', 'munge')

UNAVAILABLE, CANNOT = 69, 71
CHECK = """
import reframe

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Sweep


@trial
class Lasting(AccessPatternCheck):
    \"\"\"Every client writes a file of its own, for a long time.\"\"\"

    pattern = AccessPattern(files='multiple', extent='whole', operations=('write',))
    sweep = Sweep('objects', (2,), bytes_per_client=MIB)
"""
SETTINGS = """
def partition(name, *options):
    access = ['--exclusive', '--no-requeue', *options]
    return {{'name': name, 'scheduler': 'squeue', 'launcher': 'local', 'access': access, 'environs': ['builtin']}}


site_configuration = {{
    'systems': [
        {{'name': 'lab', 'hostnames': ['.*'], 'sched_options': {{'use_nodes_option': True}},
          'partitions': [partition('compute', {options})]}},
    ],
}}
"""
TRIAL = """
version: 1
state: state
engines: [{{name: fio, program: {fio}}}]
file_systems:
  scratch: {{type: posix, path: state/trials, limits: {{bytes: 1GiB, inodes: 1000}}, records_on_target: true}}
partitions:
  lab:compute: {{launcher: local, tasks_per_node: 2, python: {python}}}
trials:
  - {{checks: ['*'], partitions: [lab:compute], file_systems: [scratch], nodes: [1], bytes_per_client: 1MiB}}
"""


class Cluster:
    """A lab with accounting, and sites on it."""

    def __init__(self, lab_slurm, fio):
        # Not below pytest's own folder: its names are too long for sockets.
        self.place, self.fio = Path(tempfile.mkdtemp(prefix='seatrial-fate-')), fio
        self._lab_slurm = [str(lab_slurm)], ['--dir', str(self.place / 'lab')]
        self.environment = {**os.environ, 'SLURM_CONF': str(self.place / 'lab' / 'etc' / 'slurm.conf')}

    def lab(self, verb, *words):
        program, directory = self._lab_slurm
        return subprocess.run([*program, verb, *directory, *words], capture_output=True, text=True, timeout=120)

    def ask(self, *argv):
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, name, *options):
        """Begin a session on a site of its own, whose jobs are submitted with these options too."""
        site = self.place / name
        (site / 'checks' / 'access').mkdir(parents=True)
        (site / 'checks' / 'access' / 'lasting.py').write_text(CHECK)
        (site / 'settings.py').write_text(SETTINGS.format(options=', '.join(map(repr, options))))
        (site / 'trial.yaml').write_text(TRIAL.format(fio=self.fio, python=sys.executable))
        program = Path(sys.executable).with_name('seatrial')
        argv = [str(program), 'run', f'--site={site}', f'--checks={site / "checks"}', '--profile=nightly']
        return subprocess.Popen(
            argv, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd='/'
        )

    def measuring(self, name, process):
        """The job of a session, once its first measured launch runs."""
        raw = self.place / name / 'state' / 'sessions'
        end = time.monotonic() + 60
        while not list(raw.glob('*/cases/*/raw/*measured*')):
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < end, self.ask('squeue')
            time.sleep(0.2)
        return self.ask('squeue', '--noheader', '--format=%i').split()[0]

    def case(self, name, process):
        """The only case of a session that ends, from its results."""
        output, _ = process.communicate(timeout=150)
        (file,) = self.place.glob(f'{name}/state/sessions/*/results.json')
        (case,) = json.loads(file.read_text())['cases']
        assert process.returncode == 13, output
        return case


@pytest.fixture(scope='module')
def cluster(repository, make_stub_fio, tmp_path_factory):
    fio = make_stub_fio(tmp_path_factory.mktemp('stubs'), ('measured', {'fault': 'hang-hard'}))
    made = Cluster(repository / 'ci' / 'lab-slurm', fio)
    try:
        up = made.lab('up', '--nodes', '2', '--accounting')
        if up.returncode in (UNAVAILABLE, CANNOT):
            pytest.skip(up.stderr.strip())
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        down = made.lab('down')
        shutil.rmtree(made.place)
        assert down.returncode == 0, down.stderr


def test_a_job_that_is_cancelled_is_incomplete_and_it_is_said_by_whom(cluster):
    process = cluster.begin('cancelled')
    cluster.ask('scancel', cluster.measuring('cancelled', process))
    case = cluster.case('cancelled', process)
    who = cluster.ask('id', '-un').strip()
    assert case['verdict'] == 'INCOMPLETE'
    assert f'; Slurm says: cancelled by {who} after ' in case['reasons'][0]


def test_a_job_whose_node_fails_is_incomplete_and_says_which(cluster):
    process = cluster.begin('failed')
    cluster.measuring('failed', process)
    cluster.ask('scontrol', 'update', 'nodename=n1', 'state=down', 'reason=trial')
    case = cluster.case('failed', process)
    assert case['verdict'] == 'INCOMPLETE'
    assert 'Slurm says: a node failed after ' in case['reasons'][0]
    assert ': it is n1; ' in case['reasons'][0]


def test_a_job_that_sbatch_refuses_is_incomplete_and_says_why(cluster):
    case = cluster.case('refused', cluster.begin('refused', '--partition=none'))
    assert case['verdict'] == 'INCOMPLETE'
    assert case['reasons'][0].startswith(
        'T15: the job left no record; Slurm says: never started: sbatch refused it: '
        'Invalid partition name specified (no such partition)'
    )
