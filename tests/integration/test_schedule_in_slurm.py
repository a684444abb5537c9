"""Scheduled trials in a real Slurm: enabled, started by Slurm itself, notified, cancelled, disabled."""

import json
import os
import subprocess
import time

import pytest

from seatrial.scheduler.series import job_name
from slurm_lab import order, wait_for

pytestmark = pytest.mark.needs('sbatch', 'slurmctld', 'munge')

FILES = 'seatrial-site-nightly'
SCHEDULE = """
schedule:
  nightly: {{at: '{at}', access: [--partition=io], licence: seatrial, time_limit: 20min}}
notify: [/bin/sh, -c, 'echo "$SEATRIAL_EVENTS: $SEATRIAL_SUBJECT" >> {notified}']
"""
AT = f'{(time.localtime().tm_hour + 12) % 24:02d}:00'  # far from now: Slurm is asked to start the job at once


class Cluster:
    """A site on a lab with a schedule. Of the two nodes the job gets n2, the only one of io, and the case n1."""

    def __init__(self, lab, site, fio):
        self.lab, self.fio, self.environment = lab, fio, lab.environment
        self.site, self.state = site.folder, site.state
        self.ask, self.seatrial = lab.ask, site.seatrial
        self.notified, self.log = self.site / 'told', self.state / 'schedule' / f'{FILES}.log'
        with (self.site / 'trial.yaml').open('a') as stream:
            stream.write(SCHEDULE.format(at=AT, notified=self.notified))

    def slow(self, seconds):
        """Sets how long the measured launches of the stand-in last from now on."""
        order(self.fio, ('measured', {'seconds': seconds}))

    def schedule(self, *arguments):
        done = self.seatrial('schedule', f'--checks={self.site / "checks"}', *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jobs(self, form='%i', *, states='all', name=''):
        """The jobs of its series, or of another name."""
        whose = f'--name={name or job_name(self.state / "schedule" / FILES)}'
        return self.ask('squeue', '--noheader', f'--states={states}', whose, f'--format={form}').split('\n')[:-1]

    def start(self):
        """Have Slurm start the job that waits longest; returns its number."""
        job = min(self.jobs(states='pending'), key=int)
        self.ask('scontrol', 'update', f'JobId={job}', 'StartTime=now')
        return job

    def wait_for(self, what, happened):
        def context():
            return f'{self.log.read_text() if self.log.exists() else "no log"}\n{self.ask("squeue")}'

        wait_for(what, happened, context)

    def ended(self, job):
        self.wait_for(f'job {job} ends', lambda: job not in self.jobs(states='pending,running,completing'))
        return self.ask('scontrol', 'show', 'job', job)

    def newest(self):
        return json.loads(max(self.state.glob('sessions/*/results.json')).read_text())


@pytest.fixture(scope='module')
def cluster(plain_slurm, make_stub_fio, tmp_path_factory):
    fio = make_stub_fio(tmp_path_factory.mktemp('stubs'), ('measured', {'seconds': 0.5}))
    site = plain_slurm.site(fio, '--partition=compute')
    yield Cluster(plain_slurm, site, fio)
    plain_slurm.heal()


@pytest.fixture
def force(cluster):
    """In force by the script, for one test; once it is removed, nothing is in the queue and nothing comes back."""
    cluster.schedule('--install', '--as=sbatch')
    cluster.log.unlink(missing_ok=True)
    cluster.notified.unlink(missing_ok=True)
    yield cluster
    cluster.schedule('--remove')
    cluster.wait_for('nothing is in the queue', lambda: not cluster.jobs(states='pending,running,completing'))


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
    assert (result['verdict'], [case['host'] for case in result['cases']]) == ('MEASURED', ['n1'])
    waiting = force.jobs('%o', states='pending')
    assert len(waiting) == 2
    assert before[1] in waiting
    assert not force.notified.exists()
    (metrics,) = (force.state / 'metrics').iterdir()
    assert 'seatrial_last_verdict{site="site",profile="nightly",verdict="MEASURED"} 1' in metrics.read_text()
    status = force.seatrial('status')
    assert (status.returncode, '= MEASURED: 1 MEASURED' in status.stdout) == (0, True)


@pytest.mark.long
def test_a_job_that_is_told_to_end_ends_its_case_has_a_verdict_and_tells(force):
    def launches():
        return set(force.state.glob('sessions/*/cases/*/raw/*-measured-*.fio'))

    force.slow(600.0)
    before = launches()
    job = force.start()
    force.wait_for('the case runs', lambda: launches() - before)
    # As scancel does, but without the SIGKILL that follows: after KillWait, which is 3 s in the lab.
    force.ask('scancel', '--batch', '--signal=TERM', job)
    force.ended(job)
    force.slow(0.5)
    assert force.ask('squeue', '--noheader', '--partition=compute', '--format=%i') == ''
    assert force.newest()['verdict'] != 'MEASURED'
    assert force.notified.read_text().startswith('changed: Seatrial site nightly: ')
    assert len(force.jobs(states='pending')) == 2


@pytest.mark.long
def test_the_earlier_run_that_was_cancelled_comes_back_before_the_later_one(force):
    """singleton: a job waits for every one of its name that has a lower number."""
    before = force.jobs('%o', states='pending')
    force.ask('scancel', min(force.jobs(states='pending'), key=int))
    force.schedule('--install', '--as=sbatch')
    waiting = sorted((line.split('|') for line in force.jobs('%i|%o', states='pending')), key=lambda job: int(job[0]))
    assert [command for _, command in waiting] == sorted(before)
    job = force.start()
    force.wait_for('it runs', lambda: job in force.jobs(states='running,completing,completed'))
    assert 'ExitCode=0:0' in force.ended(job), force.log.read_text()


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason='only root can become another user')
def test_a_job_of_another_user_with_its_name_and_a_forged_argument_changes_nothing(force):
    """A second line of an argument that looks like a job of ours had unrelated jobs cancelled."""
    mine = force.ask('sbatch', '--parsable', '--hold', '--wrap=true', '--output=/dev/null').strip()
    script = force.state / 'schedule' / f'{FILES}.sbatch'
    argument = '\n'.join(f'{mine}|PENDING|{more}None|{script} 2000-01-01T00:00:00' for more in ('0|', ''))
    program = force.lab.place / 'forged.sh'
    program.write_text('#!/bin/sh\n')
    force.lab.place.chmod(0o755)
    name = f'--job-name={job_name(force.state / "schedule" / FILES)}'
    argv = ['sbatch', '--parsable', '--hold', name, '--output=/dev/null', '--chdir=/', program, f'x\n{argument}']
    nobody = {'env': {**force.environment, 'HOME': '/'}, 'user': 65534, 'group': 65534, 'extra_groups': []}
    forged = subprocess.run(argv, capture_output=True, text=True, **nobody)
    assert forged.returncode == 0, forged.stderr
    try:
        assert 'nothing was changed' in force.schedule('--install', '--as=sbatch')
        assert force.seatrial('status').returncode != 70
        force.schedule('--remove')
        assert force.jobs(name='wrap', states='pending') == [mine]
        assert force.jobs(states='pending') == [forged.stdout.strip()]
    finally:
        force.ask('scancel', mine, forged.stdout.strip())


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
    cluster.wait_for('it ends', lambda: cluster.log.exists() and 'exit code 0' in cluster.log.read_text())
    cluster.wait_for('it comes back', lambda: len(cluster.jobs(states='pending')) == 1)
    cluster.schedule('--remove')
    assert cluster.ask('scrontab', '-l') == mine
