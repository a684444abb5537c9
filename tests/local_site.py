"""A site on this machine, as the tests of whole sessions use it: its files, its commands, and what a session left."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from seatrial.job.sequence.recorder import records_in
from seatrial.model.metric import Metric

REPOSITORY = Path(__file__).resolve().parent.parent
SEATRIAL = str(Path(sys.executable).with_name('seatrial'))
SCRATCH = 'type: posix, path: state/trials, records_on_target: true'
TRIAL = """
version: 1
state: state
{engines}file_systems:
  scratch: {{{scratch}, limits: {{{limits}}}}}
partitions:
  local:default: {{launcher: local, tasks_per_node: {tasks}{partition}}}
trials:
  - {{checks: [{checks}], partitions: [local:default], file_systems: [scratch], nodes: [1]{more}}}
"""
CHECK_FILE = '''
import reframe

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep


@trial
class {name}(Check):
    """{name}."""

    workload = data_access({access})
    sweep = Sweep({sweep})
    max_relative_error = {max_relative_error}

'''


def check_file(name, access, sweep="'transfer_size', (1048576,)", max_relative_error=0.1):
    """A check file with a check of data access. access, sweep: their arguments as they are written"""
    return CHECK_FILE.format(name=name, access=access, sweep=sweep, max_relative_error=max_relative_error)


def writes(*names):
    """A check file with these checks, in each of which every task writes a file of its own."""
    access, sweep = "'multiple', operations=('write',), bytes_per_task='1MiB'", "'transfer_size', (524288,)"
    return ''.join(check_file(name, access, sweep) for name in names)


def executable(file, text):
    """Makes a program; returns its path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def reframe_run(site, *words, environment=None):
    """Begin plain ReFrame on the checks beside a site; its report is site/report.json."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(('RFM_', 'SEATRIAL_'))}
    argv = [
        str(Path(SEATRIAL).with_name('reframe')),
        f'--config-file={site / "settings.py"}',
        f'--checkpath={site / "checks"}',
        '--recursive',
        f'--prefix={site / "reframe"}',
        f'--report-file={site / "report.json"}',
        '--run',
    ]
    output = {'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT, 'text': True}
    return subprocess.Popen([*argv, *words], cwd=site, env=environment or kept, **output)


def reported(file):
    """ReFrame's own results in a report, by the check."""
    cases = json.loads(file.read_text())['runs'][0]['testcases']
    return {case['name'].split()[0]: case for case in cases}


def trial(
    checks="'*'", engines='', scratch=SCRATCH, limits='bytes: 1GiB, inodes: 1000', tasks=2, partition='', more=''
):
    """A trial.yaml with one trial. partition, more: further keys of those entries."""
    return TRIAL.format(
        engines=f'engines: {engines}\n' if engines else '',
        scratch=scratch,
        limits=limits,
        tasks=tasks,
        partition=f', {partition}' if partition else '',
        checks=checks,
        more=f', {more}' if more else '',
    )


class LocalSite:
    """A folder with the settings.py of site-config/local, and a trial.yaml. checks: the folder of those it runs."""

    def __init__(self, folder, text, checks=REPOSITORY / 'checks'):
        self.folder, self.checks = folder, checks
        shutil.copy(REPOSITORY / 'site-config' / 'local' / 'settings.py', folder)
        (folder / 'trial.yaml').write_text(text)

    def argv(self, verb, *words):
        return [SEATRIAL, verb, f'--site={self.folder}', *words]

    def ask(self, verb, *words, environment=None):
        """A command on the site, which has ended."""
        argv = self.argv(verb, *words)
        return subprocess.run(argv, capture_output=True, text=True, timeout=1200, env=environment)

    def run(self, *words, environment=None):
        """A session, which has ended."""
        return self.ask('run', f'--checks={self.checks}', *words, environment=environment)

    def begin(self, *words, **streams):
        """Begin a session."""
        return subprocess.Popen(self.argv('run', f'--checks={self.checks}', *words), **streams)

    @property
    def session(self):
        """The folder of the only session that began."""
        (folder,) = (self.folder / 'state' / 'sessions').iterdir()
        return folder

    @property
    def cases(self):
        """Its results by their checks."""
        results = json.loads((self.session / 'results.json').read_text())
        return {case['case']['check']: case for case in results['cases']}


CHECK = """
import reframe
from seatrial.check.base import Check, trial
from seatrial.workload.scenario import scenario
from seatrial.workload.sweep import Sweep


@trial
class Away(Check):
    '''An action of some seconds.'''

    workload = scenario(before_s={before_s}, action_s={action_s}, after_s={after_s}, think_s=0.2)
    sweep = Sweep('action')
"""
BURDEN = """
actions:
  burden: {start: ['true'], undo: ['true'], check: ['true'], file_systems: [scratch]}
"""
CONTRACT = """
version: 1
title: Acceptance
date: 2026-06-30
parties: {{customer: Pelagia, supplier: Tidewater}}
criteria:
  - {{id: '1', text: Longer than it is away., metric: outage, at_most: {longer} s, nodes: {nodes},
      workload: {{check: Away}}, conditions: {{caches: allowed}}}}
  - {{id: '2', text: Shorter than it is away., metric: outage, at_most: {shorter} s, nodes: {nodes},
      workload: {{check: Away}}, conditions: {{caches: allowed}}}}
"""

PROBE = """
import os, sys, time
done, folder, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
before, longest = [time.monotonic()] * files, [0.0] * files
while not os.path.exists(done):
    for number in range(files):
        try:
            descriptor = os.open(f'{folder}/probe{number}', os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, b'x', 0)
            finally:
                os.close(descriptor)  # which waits for the server, on NFS and GlusterFS
        except OSError:
            continue
        now = time.monotonic()
        before[number], longest[number] = now, max(longest[number], now - before[number])
    time.sleep(0.05)
print(max(longest), flush=True)
"""
"""Somebody else on a client: the longest time without an operation of one of its files is how long the servers were
away. Arguments: a file that ends it, where its files are, how many."""
STALLS_S = 5.0
"""An outage may be this much longer than the servers were away: gaps in its recovery belong to it too, and each
fdatasync on a busy disk may be one of more than a second."""


def metrics_of(session: Path) -> dict[str, Metric]:
    """Of the only scenario of a session, by their names."""
    (case,) = session.glob('cases/*')
    (sample,) = (sample for sample in records_in(str(case)).samples if sample.stage == 'measured')
    assert sample.measurement is not None, sample.findings
    return {metric.name: metric for metric in sample.measurement.metrics}


def ext4_image(file: Path, mebibytes: int) -> Path:
    """Makes a file with an ext4 in it, to be mounted by a loop device."""
    subprocess.run(['truncate', '-s', f'{mebibytes}M', file], check=True)
    subprocess.run(['mkfs.ext4', '-q', '-F', file], check=True)
    return file


def until_acted(entry: Path, session: 'subprocess.Popen[str]', seconds: float = 120) -> None:
    """Wait until an action is in the journal."""
    end = time.monotonic() + seconds
    while not entry.exists():
        assert session.poll() is None and time.monotonic() < end, 'no action was begun'
        time.sleep(0.05)


def end_job(site: Path) -> None:
    """End the job of a session that was killed: its load would last until it has given up waiting for the session."""
    (records,) = site.glob('state/sessions/*/cases/*/samples.jsonl')
    os.kill(json.loads(records.read_text().splitlines()[0])['pid'], signal.SIGTERM)


PROFILES = {
    'lmod': '/etc/profile.d/lmod.sh',
    'envmod': os.environ.get('SEATRIAL_ENVIRONMENT_MODULES', '/etc/profile.d/modules.sh'),
}
MISSING = {
    'lmod': 'Lmod is not installed (Debian package lmod)',
    'envmod': 'Environment Modules are not there (Debian package environment-modules, or ci/environment-modules)',
}
"""By the name that ReFrame's modules_system has for each."""


@cache
def login(system: str) -> dict[str, str]:
    """The environment of such a shell with nothing loaded; skips the test where the system is not there."""
    profile = Path(PROFILES[system])
    if not profile.is_file():
        pytest.skip(MISSING[system])
    clean = {name: value for name, value in os.environ.items() if 'LMOD' not in name and 'MODULE' not in name}
    argv = ['bash', '-c', '. "$1" && exec env -0', 'bash', str(profile)]
    text = subprocess.run(argv, env=clean, capture_output=True, text=True, check=True, timeout=60).stdout
    return dict(pair.split('=', 1) for pair in text.split('\0') if pair)


def write_lab_settings(folder: Path, *partitions: str) -> None:
    """settings.py of a system 'lab' whose partitions are the one of site-config/local, by these names."""
    settings = (REPOSITORY / 'site-config' / 'local' / 'settings.py').read_text()
    partition = "{**site_configuration['systems'][0]['partitions'][0], 'name': name}"
    added = f"name='lab', partitions=[{partition} for name in {partitions!r}]"
    (folder / 'settings.py').write_text(f"{settings}\nsite_configuration['systems'][0].update({added})\n")
