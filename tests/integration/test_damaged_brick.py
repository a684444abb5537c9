"""A GlusterFS that gives back another bit than was written, because it has changed on the disk of one brick."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuse_lab import GLUSTER
from seatrial.job.sequence.recorder import records_in

pytestmark = [pytest.mark.long, pytest.mark.needs('glusterd', 'nsenter', 'fio')]

AT = 12_345_678
TRIAL = """
version: 1
state: state
engines: [{{name: fio, program: {fio}}}]
file_systems:
  volume: {{type: glusterfs, path: {path}, limits: {{bytes: 2GiB, inodes: 1000}}}}
partitions:
  local:default: {{launcher: local, tasks_per_node: 2, python: {python}}}
trials:
  - {{checks: [MultipleFilesTransferSizes], partitions: [local:default], file_systems: [volume], nodes: [1],
      bytes_per_task: 32MiB}}
"""
# The command on the node; between the write and the read of the proof a bit changes on the brick.
RUNNER = f"""
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from seatrial.engine.proof import Proof
from seatrial.job.__main__ import main
reads_back = Proof.reads_back
def damaged(self, written, point):
    (file,) = [each for each in pathlib.Path(BRICKS).rglob('data.00000001') if each.stat().st_size]
    with file.open('r+b') as stream:
        stream.seek({AT})
        byte = stream.read(1)[0]
        stream.seek({AT})
        stream.write(bytes([byte ^ 32]))
    return reads_back(self, written, point)
if BRICKS:
    Proof.reads_back = damaged
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    """The lab's directory, and a directory on its volume."""
    directory = tmp_path_factory.mktemp('gluster') / 'lab'
    with GLUSTER.made(directory) as mount:
        (mount / 'trials').mkdir()
        yield directory, mount / 'trials'


def session(site, repository, trials, bricks):
    """The exit status, the case in results.json, and what was found in its launches."""
    shutil.copy(repository / 'site-config' / 'local' / 'settings.py', site)
    python = site / 'python'
    code = RUNNER.replace('BRICKS', repr(bricks))
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c {shlex.quote(code)} "$@"\n')
    python.chmod(0o755)
    (site / 'trial.yaml').write_text(TRIAL.format(fio=shutil.which('fio'), path=trials, python=python))
    program = Path(sys.executable).with_name('seatrial')
    argv = [program, 'run', f'--site={site}', f'--checks={repository / "checks"}', '--engine=fio', '--profile=smoke']
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    (folder,) = (site / 'state' / 'sessions').iterdir()
    (case,) = json.loads((folder / 'results.json').read_text())['cases']
    (records,) = (folder / 'cases').iterdir()
    found = [each for sample in records_in(str(records)).samples for each in sample.findings]
    return done.returncode, case, [each for each in found if each.effect != 'label']


def test_one_bit_that_changed_on_a_brick_is_found_with_file_offset_and_both_bytes(lab, tmp_path, repository):
    directory, trials = lab
    status, case, (found,) = session(tmp_path, repository, trials, str(directory / 'bricks'))
    assert (status, case['verdict'], found.rule) == (10, 'FAIL', 'F2'), case['reasons']
    assert (found.evidence['file'], found.evidence['offset']) == ('data.00000001', str(AT))
    expected, seen = (int(found.evidence[each][:2], 16) for each in ('expected', 'found'))
    assert expected ^ seen == 32
    (kept,) = trials.glob('*/data/data.00000001')
    assert kept.read_bytes()[AT] == seen


def test_a_whole_volume_has_its_contents_verified(lab, tmp_path, repository):
    _, trials = lab
    status, case, found = session(tmp_path, repository, trials, '')
    assert (status, found) == (0, []), case['reasons']
    assert case['verified'].startswith('verified: 64 MiB of 64 MiB in 2 files')
