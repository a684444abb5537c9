"""GlusterFS: a bit that has changed on the disk of one brick is found, and what two clients cache is no damage."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuse_lab import GLUSTER
from local_site import LocalSite, executable, trial
from seatrial.engine.posixops.integrity import WAYS_TO_WRITE
from seatrial.job.sequence.recorder import records_in

pytestmark = [pytest.mark.long, pytest.mark.needs('glusterd', 'nsenter', 'fio')]

AT = 12_345_678
FIO = shutil.which('fio')
# The command on the node; between the write and the read of the proof a bit changes on the brick.
RUNNER = f"""
import pathlib, sys
sys.path.insert(0, sys.argv[2])  # behind -I
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
sys.exit(main(sys.argv[3:]))
"""


# Task 1 of posixops works by another client than the runner and task 0.
OTHER_CLIENT = """#!/bin/sh
case "$*" in *posixops.task*' 1') cd {other}/"$(realpath --relative-to={mount} .)" || exit;; esac
exec {python} "$@"
"""


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    """The lab's directory, and a directory on its volume."""
    directory = tmp_path_factory.mktemp('gluster') / 'lab'
    with GLUSTER.made(directory) as mount:
        (mount / 'trials').mkdir()
        yield directory, mount / 'trials'


@pytest.fixture
def other_client(lab, tmp_path):
    """Where the volume is mounted once more, by a client with caches of its own."""
    directory, _ = lab
    client, mount = (directory / 'run' / 'client.pid').read_text().strip(), tmp_path / 'other'
    server = Path(f'/proc/{client}/cmdline').read_text().split('\0')[:3]
    mount.mkdir()
    subprocess.run(['nsenter', '-n', '-t', client, *server, f'--log-file={tmp_path}/client.log', mount], check=True)
    yield mount
    subprocess.run(['umount', mount], check=True)


def session(site, trials, bricks, program=FIO, check='MultipleFilesTransferSizes'):
    """The exit status, the case in results.json, and what was found in its launches."""
    code = RUNNER.replace('BRICKS', repr(bricks))
    python = executable(site / 'python', f'#!/bin/sh\nexec {sys.executable} -c {shlex.quote(code)} "$@"\n')
    engine, more = Path(program).name, {'partition': f'python: {python}', 'more': 'bytes_per_task: 32MiB'}
    engines, scratch = f'[{{name: {engine}, program: {program}}}]', f'type: glusterfs, path: {trials}'
    local = LocalSite(site, trial(check, engines, scratch, 'bytes: 2GiB, inodes: 1000', **more))
    done = local.run(f'--engine={engine}', '--profile=smoke')
    (case,) = local.cases.values()
    (records,) = (local.session / 'cases').iterdir()
    findings = [finding for sample in records_in(str(records)).samples for finding in sample.findings]
    return done.returncode, case, [finding for finding in findings if finding.effect != 'label']


def test_one_bit_that_changed_on_a_brick_is_found_with_file_offset_and_both_bytes(lab, tmp_path):
    directory, trials = lab
    status, case, (finding,) = session(tmp_path, trials, str(directory / 'bricks'))
    assert (status, case['verdict'], finding.rule) == (10, 'FAIL', 'F2'), case['reasons']
    assert (finding.evidence['file'], finding.evidence['offset']) == ('data.00000001', str(AT))
    expected, seen = (int(finding.evidence[key][:2], 16) for key in ('expected', 'found'))
    assert expected ^ seen == 32
    (kept,) = trials.glob('*/data/data.00000001')
    assert kept.read_bytes()[AT] == seen


def test_a_whole_volume_has_its_contents_verified(lab, tmp_path):
    _, trials = lab
    status, case, findings = session(tmp_path, trials, '')
    assert (status, findings) == (0, []), case['reasons']
    assert case['verified'].startswith('verified: 64 MiB of 64 MiB in 2 files')


def test_what_one_client_writes_in_every_way_another_reads_as_it_was(lab, other_client, tmp_path):
    """Though it shows no overwritten bytes and no renamed file to who has read there before."""
    _, trials = lab
    text = OTHER_CLIENT.format(other=other_client, mount=trials.parent, python=sys.executable)
    program = executable(tmp_path / 'posixops', text)
    status, case, findings = session(tmp_path, trials, '', program, 'Integrity')
    assert (status, findings) == (0, []), case['reasons']
    assert [fact['name'] for fact in case['facts'] if fact['holds']] == [way.name for way in WAYS_TO_WRITE]
