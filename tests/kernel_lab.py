"""Nodes with kernels of their own (ci/lab-kernels), as the tests use them, and sessions of Seatrial on them."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_site import REPOSITORY, SEATRIAL
from slurm_lab import ScriptedLab, wait_for

LAB = REPOSITORY / 'ci' / 'lab-kernels'
NODES = ('n1', 'n2', 'n3')
TRIAL = """
version: 1
state: {state}
engines: [{engines}]
file_systems:
{file_systems}partitions:
  lab:io:
    launcher: {{kind: srun, arguments: [--mpi=pmi2]}}
    tasks_per_node: 1
trials:
{trials}
"""
ENTRY = '  {0}: {{type: {1}, path: {2}, mount: {2}, limits: {{bytes: 2GiB, inodes: 50000}}, {3}}}\n'
FILE_SYSTEMS = (
    ('nfs', 'nfs', '/mnt/nfs', 'drop_caches: true'),
    ('nfs3', 'nfs', '/mnt/nfs3', 'drop_caches: true'),
    ('hard', 'nfs', '/mnt/nfs', 'recovery_limit: 10s'),
    ('soft', 'nfs', '/mnt/soft', 'recovery_limit: 10s'),
    ('disk', 'posix', '/mnt/disk', 'drop_caches: false, to_be_filled: quota'),
    ('ceph', 'cephfs', '/mnt/ceph', 'drop_caches: true'),
    ('fuse', 'cephfs', '/mnt/fuse', 'drop_caches: true'),
    ('kept', 'cephfs', '/mnt/fuse', 'drop_caches: false'),
    ('ocfs2', 'ocfs2', '/mnt/ocfs2', 'drop_caches: true'),
    ('hdfs', 'hdfs', '/mnt/hdfs', 'drop_caches: true'),
    ('afs', 'posix', '/mnt/afs', 'drop_caches: true'),
)
ONE = '  - {{checks: [{checks}], partitions: [lab:io], file_systems: [{on}], nodes: [{nodes}], {more}}}\n'


class Session(NamedTuple):
    """A session that has ended: exit code, output and folder, and the results of its cases by check."""

    status: int
    output: str
    folder: Path

    @property
    def cases(self) -> dict[str, Any]:
        results = json.loads((self.folder / 'results.json').read_text())
        return {case['case']['check']: case for case in results['cases']}

    def samples(self, check: str) -> list[dict[str, Any]]:
        """The samples of the case of a check, without warm-ups."""
        (file,) = self.folder.glob(f'cases/{check}+*/samples.jsonl')
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        return [line for line in lines if line['record'] == 'sample' and line['stage'] == 'measured']


def untried(session: Session) -> set[str]:
    """Ways to write whose data were not read back unchanged on n3, by the Integrity case of the session."""
    (sample,) = session.samples('Integrity')
    facts = sample['measurement']['facts']
    return {fact['name'] for fact in facts if not (fact['holds'] and 'and read on n3' in fact['seen'])}


class Kernels(ScriptedLab):
    """A lab of three nodes: n1 serves NFS, n2 and n3 mount it."""

    def __init__(self) -> None:
        super().__init__(LAB, '--memory=1G')  # ceph-fuse takes up to 0.2 GiB
        self.shared = self.place / 'shared'

    def up(self, *words: str) -> str:
        changed = super().up(f'--share={self.shared}', *words)
        # The controller has heard of a node that starts again before the others reach it.
        if '--nodes=1' not in words:
            step = 'exec srun --immediate=20 --nodes=$(scontrol --oneliner show nodes | wc -l) true'
            wait_for('n2 starts tasks on all', lambda: not self.lab('run', 'n2', '--', 'sh', '-c', step).returncode)
        return changed

    def run(self, node: str, *argv: str) -> str:
        """Runs a command on a node, where it must succeed; returns its output."""
        done = self.lab('run', node, '--', *argv)
        assert done.returncode == 0, f'{node}: {argv}: {done.stdout}{done.stderr}'
        return done.stdout

    def new_disk(self, node: str) -> None:
        """Starts the node again with an empty disk."""
        self.signal('KILL', node)
        (self.directory / 'state' / f'{node}.disk').unlink()
        self.up()

    def begin(
        self, checks: str, on: str = 'nfs', nodes: int = 2, engines: str = 'fio, posixops', **more: str
    ) -> 'Running':
        """Begin a smoke session of these checks on one of FILE_SYSTEMS."""
        self._sites += 1
        site = self.shared / f'site{self._sites}'
        site.mkdir(parents=True)
        shutil.copy(REPOSITORY / 'site-config' / 'lab' / 'settings.py', site)
        extra = ', '.join(f'{key}: {value}' for key, value in {'budget': '1s', **more}.items())
        trials = ONE.format(checks=checks, on=on, nodes=nodes, more=extra)
        entries = ''.join(ENTRY.format(*entry) for entry in FILE_SYSTEMS)
        filled = TRIAL.format(state=site / 'state', engines=engines, file_systems=entries, trials=trials)
        (site / 'trial.yaml').write_text(filled)
        return Running(self, site)


class Running:
    """A session while it runs. wrapper: the words of a command that starts the command after them."""

    def __init__(
        self,
        lab: Kernels,
        site: Path,
        *wrapper: str,
        checks: Path = REPOSITORY / 'checks',
        profile: str = 'smoke',
        options: Sequence[str] = (),
    ) -> None:
        self.site = site
        words = [*wrapper, SEATRIAL, 'run', f'--site={site}', f'--checks={checks}', f'--profile={profile}', *options]
        argv = [str(LAB), 'run', f'--dir={lab.place / "lab"}', 'ctl', '--', *words]
        self.process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ, cwd='/'
        )

    def launches(self) -> int:
        """The number of measured launches that have begun."""
        assert self.process.poll() is None, self.process.communicate()[0]
        return len(list(self.site.glob('state/sessions/*/cases/*/raw/*measured*.fio')))

    def ended(self, seconds: float = 600) -> Session:
        try:
            output, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f'not over after {seconds:g} s; so far: {error.output!r}') from error
        folder = max((self.site / 'state' / 'sessions').iterdir())  # the newest, for their names begin with the time
        return Session(self.process.returncode, output, folder)
