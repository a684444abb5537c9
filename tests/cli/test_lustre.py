"""What a session says of a Lustre, which is a stand-in on the node of the job."""

import pytest

from local_site import LocalSite, trial
from lustre_stand import python_of_node, standing
from seatrial.job.directory.rundir import MARKER
from seatrial.judge.verdict import EXIT_CODES, Verdict

pytestmark = pytest.mark.slow

TREE = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree


@trial
class Tree(Check):
    '''Some files.'''

    workload = metadata_tree(('create', 'remove'), files_per_directory=20)
    sweep = Sweep('tasks', (2,))
"""


def test_a_run_directory_that_cannot_be_marked_is_a_failure_of_the_target_that_is_named(tmp_path, monkeypatch):
    site = tmp_path / 'site'
    (site / 'checks').mkdir(parents=True)
    (site / 'checks' / 'tree.py').write_text(TREE)
    with standing(tmp_path, monkeypatch) as stand:
        stand.now(default=[['-c', '1'], ['-i', '2']])
        scratch = f'type: lustre, path: {stand.directory("trials")}, records_on_target: true'
        python = python_of_node(stand, tmp_path / 'python', MARKER)
        text = trial('Tree', '[posixops]', scratch, partition=f'python: {python}')
        ran = LocalSite(site, text, site / 'checks').run('--profile=smoke')
    assert ran.returncode == EXIT_CODES[Verdict.FAIL], ran.stdout
    assert 'F1: EIO of ' in ran.stdout and ' of OST 2 on ' in ' '.join(ran.stdout.split())
