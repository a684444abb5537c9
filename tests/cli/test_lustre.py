"""What a session says of a Lustre, which is a stand-in on the node of the job."""

import sys

import pytest

from local_site import LocalSite, trial, writes
from lustre_stand import NODE, OPTIONS, standing
from seatrial.job.directory.rundir import MARKER
from seatrial.judge.verdict import EXIT_CODES, Verdict

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('call', ['fstat', 'fsync'])
def test_a_marker_that_cannot_be_written_names_the_target_that_it_lay_on(tmp_path, monkeypatch, call):
    check, python = tmp_path / 'checks' / 'write.py', tmp_path / 'python'
    check.parent.mkdir()
    check.write_text(writes('Writes'))
    with standing(tmp_path, monkeypatch) as stand:
        stand.now(default=[['-c', '1'], ['-i', '2']])
        mount = str(stand.mount)
        python.write_text(NODE.format(python=sys.executable, call=call, of=MARKER, mount=mount, options=OPTIONS))
        python.chmod(0o755)
        scratch = f'type: lustre, path: {stand.directory("trials")}, records_on_target: true'
        text = trial('Writes', '[fio]', scratch, partition=f'python: {python}')
        ran = LocalSite(tmp_path, text, check.parent).run('--profile=smoke')
    assert ran.returncode == EXIT_CODES[Verdict.FAIL], ran.stdout
    assert 'F1: EIO of ' in ran.stdout and ' of OST 2 on ' in ran.stdout
