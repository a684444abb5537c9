"""Scheduled trials in a real Slurm: put into force, started by Slurm itself, told, cancelled, taken out of force."""

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
TITLE = 'seatrial-site-nightly'
CHECK = """
import reframe

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Sweep


@trial
class Write(AccessPatternCheck):
    \"\"\"Every client writes a file of its own.\"\"\"

    pattern = AccessPattern(files='multiple', extent='whole', operations=('write',))
    sweep = Sweep('objects', (2,), bytes_per_client=MIB)
"""
# Of the lab's two nodes the job gets n2, the only one of the partition io, and the case n1.
SETTINGS = """
access = ['--partition=compute', '--exclusive', '--no-requeue']
partition = {'name': 'compute', 'scheduler': 'squeue', 'launcher': 'local', 'access': access, 'environs': ['builtin']}
site_configuration = {
    'systems': [
        {'name': 'lab', 'hostnames': ['.*'], 'sched_options': {'use_nodes_option': True}, 'partitions': [partition]},
    ],
}
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
schedule:
  nightly: {{at: '{at}', access: [--partition=io], licence: seatrial, time_limit: 20min}}
notify: [/bin/sh, -c, 'echo "$SEATRIAL_EVENTS: $SEATRIAL_SUBJECT" >> {told}']
"""
AT = f'{(time.localtime().tm_hour + 12) % 24:02d}:00'
"""Far from now: Slurm is asked to start the job at once."""


class Cluster:
    """A lab with a site on it."""

    def __init__(self, lab_slurm, fio):
        # Not below pytest's own folder: its names are too long for sockets.
        self.place = Path(tempfile.mkdtemp(prefix='seatrial-schedule-'))
        self.site, self.state = self.place / 'site', self.place / 'site' / 'state'
        self.told, self.log = self.place / 'told', self.state / 'schedule' / f'{TITLE}.log'
        self._lab_slurm = [str(lab_slurm)], ['--dir', str(self.place / 'lab')]
        self.environment = {**os.environ, 'SLURM_CONF': str(self.place / 'lab' / 'etc' / 'slurm.conf')}
        (self.site / 'checks' / 'access').mkdir(parents=True)
        (self.site / 'checks' / 'access' / 'write.py').write_text(CHECK)
        (self.site / 'settings.py').write_text(SETTINGS)
        trial = TRIAL.format(fio=fio, python=sys.executable, at=AT, told=self.told)
        (self.site / 'trial.yaml').write_text(trial)

    def lab(self, verb, *words):
        program, directory = self._lab_slurm
        return subprocess.run([*program, verb, *directory, *words], capture_output=True, text=True, timeout=120)

    def ask(self, *argv):
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def seatrial(self, command, *arguments):
        program = Path(sys.executable).with_name('seatrial')
        argv = [str(program), command, f'--site={self.site}', *arguments]
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=120)

    def schedule(self, *arguments):
        done = self.seatrial('schedule', f'--checks={self.site / "checks"}', *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jobs(self, form='%i', *, states='all', name=TITLE):
        return self.ask('squeue', '--noheader', f'--states={states}', f'--name={name}', f'--format={form}').split(
            '\n'
        )[:-1]

    def start(self):
        """Have Slurm start the job that waits longest; returns its number."""
        job = min(self.jobs(states='pending'), key=int)
        self.ask('scontrol', 'update', f'JobId={job}', 'StartTime=now')
        return job

    def wait_for(self, what, happened, seconds=90.0):
        end = time.monotonic() + seconds
        while not happened():
            log = self.log.read_text() if self.log.exists() else 'no log'
            assert time.monotonic() < end, f'{what}\n{log}\n{self.ask("squeue")}'
            time.sleep(0.2)

    def ended(self, job):
        self.wait_for(f'job {job} ends', lambda: job not in self.jobs(states='pending,running,completing'))
        return self.ask('scontrol', 'show', 'job', job)

    def newest(self):
        return json.loads(max(self.state.glob('sessions/*/results.json')).read_text())


@pytest.fixture(scope='module')
def cluster(repository, make_stub_fio, tmp_path_factory):
    fio = make_stub_fio(tmp_path_factory.mktemp('stubs'), ('measured', {'seconds': 0.5}))
    made = Cluster(repository / 'ci' / 'lab-slurm', fio)
    made.fio_orders = Path(f'{fio}.json')
    try:
        up = made.lab('up', '--nodes', '2')
        if up.returncode in (UNAVAILABLE, CANNOT):
            pytest.skip(up.stderr.strip())
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        down = made.lab('down')
        shutil.rmtree(made.place)
        assert down.returncode == 0, down.stderr


@pytest.fixture
def force(cluster):
    """In force by the script, for one test."""
    cluster.schedule('--install', '--as=sbatch')
    cluster.log.unlink(missing_ok=True)
    cluster.told.unlink(missing_ok=True)
    yield cluster
    cluster.schedule('--remove')
    cluster.wait_for('nothing is in the queue', lambda: not cluster.jobs(states='pending,running,completing'))


def slow(cluster, seconds):
    """How long the stand-in's measured launches last from now on."""
    told = json.loads(cluster.fio_orders.read_text())
    cluster.fio_orders.write_text(json.dumps({**told, 'orders': [['measured', {'seconds': seconds}]]}))


def test_slurm_runs_a_night_when_the_licence_is_free_and_the_job_keeps_the_series_going(force):
    before = force.jobs('%o', states='pending')
    assert 'nothing was changed' in force.schedule('--install', '--as=sbatch')
    assert force.jobs('%o', states='pending') == before
    other = force.ask('sbatch', '--parsable', '--licenses=seatrial', '--wrap=sleep 600', '--output=/dev/null').strip()
    force.wait_for('another has it', lambda: force.jobs('%W', states='running', name='wrap') == ['seatrial'])
    job = force.start()
    force.wait_for('it waits', lambda: f'{job} Licenses' in force.jobs('%i %r'))
    force.ask('scancel', other)
    force.wait_for('it runs', lambda: force.jobs('%W %N', states='running') == ['seatrial n2'])
    ended = force.ended(job)

    assert 'ExitCode=0:0' in ended, force.log.read_text()
    result = force.newest()
    assert (result['verdict'], [case['host'] for case in result['cases']]) == ('PASS', ['n1'])
    waiting = force.jobs('%o', states='pending')
    assert len(waiting) == 2
    assert before[1] in waiting
    assert not force.told.exists()
    (metrics,) = (force.state / 'metrics').iterdir()
    assert 'seatrial_last_verdict{site="site",profile="nightly",verdict="PASS"} 1' in metrics.read_text()
    status = force.seatrial('status')
    assert (status.returncode, '+ PASS: 1 PASS' in status.stdout) == (0, True)


def test_a_job_that_is_told_to_end_ends_its_case_has_a_verdict_and_tells(force):
    def launches():
        return set(force.state.glob('sessions/*/cases/*/raw/*-measured-*.fio'))

    slow(force, 600.0)
    before = launches()
    job = force.start()
    force.wait_for('the case runs', lambda: launches() - before)
    # As scancel does, but without the SIGKILL that follows: after KillWait, which is 3 s in the lab.
    force.ask('scancel', '--batch', '--signal=TERM', job)
    force.ended(job)
    slow(force, 0.5)
    assert force.ask('squeue', '--noheader', '--partition=compute', '--format=%i') == ''
    assert force.newest()['verdict'] != 'PASS'
    assert force.told.read_text().startswith('changed: Seatrial site nightly: ')
    assert len(force.jobs(states='pending')) == 2


def test_out_of_force_nothing_is_in_the_queue_and_nothing_comes_back(cluster):
    cluster.schedule('--install', '--as=sbatch')
    cluster.schedule('--remove')
    assert cluster.jobs(states='pending,running') == []


@pytest.mark.long
@pytest.mark.needs('scrontab')
def test_slurm_runs_a_night_by_its_scrontab(cluster):
    """A job of scrontab cannot be started early: this waits for the minute after the next."""
    mine = '# mine\n0 5 1 1 * /bin/true\n'
    subprocess.run(['scrontab', '-'], input=mine, text=True, env=cluster.environment, check=True)
    at = f'--at={time.strftime("%H:%M", time.localtime(time.time() + 75))}'
    cluster.log.unlink(missing_ok=True)
    cluster.schedule('--install', at)
    assert 'nothing was changed' in cluster.schedule('--install', at)
    assert cluster.ask('scrontab', '-l').startswith(mine)
    cluster.wait_for('it ends', lambda: cluster.log.exists() and 'exit code 0' in cluster.log.read_text(), 180.0)
    cluster.wait_for('it comes back', lambda: len(cluster.jobs(states='pending')) == 1)
    cluster.schedule('--remove')
    assert cluster.ask('scrontab', '-l') == mine
