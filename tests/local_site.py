"""A site on this machine, as the tests of whole sessions use it: its files, its commands, and what a session left."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

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
