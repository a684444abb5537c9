"""What a session says of a Lustre, which is a stand-in on the node of the job."""

import pytest

from local_site import LocalSite, trial, writes
from lustre_stand import python_of_node, standing
from seatrial.job.directory.rundir import MARKER
from seatrial.judge.verdict import EXIT_CODES, Verdict

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('call', ['fstat', 'fsync'])
def test_a_marker_that_cannot_be_written_names_the_target_that_it_lay_on(tmp_path, monkeypatch, call):
    site = tmp_path / 'site'
    (site / 'checks').mkdir(parents=True)
    (site / 'checks' / 'write.py').write_text(writes('Writes'))
    with standing(tmp_path, monkeypatch) as stand:
        stand.now(default=[['-c', '1'], ['-i', '2']])
        scratch = f'type: lustre, path: {stand.directory("trials")}, records_on_target: true'
        python = python_of_node(stand, tmp_path / 'python', call, MARKER)
        text = trial('Writes', '[fio]', scratch, partition=f'python: {python}')
        ran = LocalSite(site, text, site / 'checks').run('--profile=smoke')
    assert ran.returncode == EXIT_CODES[Verdict.FAIL], ran.stdout
    assert 'F1: EIO of ' in ran.stdout and ' of OST 2 on ' in ran.stdout
