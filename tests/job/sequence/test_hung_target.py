"""A file system that never answers again: a real FUSE client that is stopped, and a directory on another server."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuse_lab import dead
from seatrial.job.__main__ import main
from seatrial.job.launch import blocked
from seatrial.job.launch.blocked import LeftBehind
from seatrial.judge.verdict import Verdict
from seatrial.model import ask

LATEST_S = 240.0
"""The launch's limit, twice its grace, a probe and the load of this machine; without deadlines it is never."""

# The command on the node, which gives a launch and a file system up after seconds.
SOON = """
import sys
from seatrial.job.__main__ import main
from seatrial.job.launch import blocked, processes
from seatrial.model import ask
from seatrial.rules import launch
launch.CLOCK_MIN_S, blocked.PATIENCE_S, processes.GRACE_S, ask.ANSWER_S = 0.0, 2.0, 0.5, 2.0
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def hung(lab, stub_fio, gluster_mount, lab_gluster):
    """A plan whose launch was in hand when its target fell silent, and what its run printed."""
    target = gluster_mount / 'trials'
    target.mkdir(exist_ok=True)
    fio = stub_fio(('measured-write', {'seconds': 600.0}))
    plan = lab.plan(fio, target={'type': 'glusterfs', 'path': str(target)}, launch_limit_s=2.0)
    with writing(lab, plan) as running:
        try:
            lab_gluster('signal', 'STOP', 'client')
            yield plan, running.communicate(timeout=LATEST_S)[0]
        finally:
            lab_gluster('signal', 'CONT', 'client')


@contextlib.contextmanager
def writing(lab, plan):
    """The command on the node from its first measured write on."""
    with subprocess.Popen(step('run', lab.write(plan)), stdout=subprocess.PIPE, text=True) as running:
        try:
            while not list(Path(plan.records).glob('raw/*measured-write*')):
                assert running.poll() is None
                time.sleep(0.01)
            yield running
        finally:
            running.kill()


def step(name, path):
    return [sys.executable, '-c', SOON, name, path]


@pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')
def test_its_launch_is_given_up_and_its_directory_left_within_deadlines(lab, hung):
    plan, output = hung
    assert 'failed: a launch was given up: it did not end within' in output
    done = subprocess.run(step('remove', lab.write(plan)), timeout=LATEST_S, capture_output=True, text=True)
    (left,) = lab.ran(plan).records.removal.left
    assert left.startswith('all of it: the file system does not answer within'), done.stdout


def test_the_end_that_a_job_recorded_stands_although_its_process_cannot_be_removed(lab, stub_fio, monkeypatch):
    monkeypatch.setattr('seatrial.job.__main__.watched', lambda job, *limits: LeftBehind(job() + 10.0))
    plan = lab.plan(stub_fio(), launch_limit_s=5.0)
    assert main(['run', lab.write(plan)]) == 0
    lines = Path(plan.records, 'samples.jsonl').read_text().splitlines()
    assert [json.loads(line)['reason'] for line in lines if '"record":"end"' in line] == ['finished']


def test_a_run_directory_on_a_server_that_is_away_holds_nobody_while_the_directory_above_answers(lab, stub_fio):
    plan = lab.plan(stub_fio(('measured-write', {'seconds': 2.0})))
    with writing(lab, plan) as running, dead(lab.target / lab.left()[0]):
        output = running.communicate(timeout=LATEST_S)[0]
    ran = lab.ran(plan)
    assert f'refused: {lab.target} has not answered for 2 s' in output and running.returncode == 13
    assert (ran.end.reason, ran.result.verdict) == ('refused', Verdict.INCOMPLETE)
    assert [sample.stage for sample in ran.records.samples].count('measured') < 2


def test_it_is_asked_whether_the_run_directory_answers_too(tmp_path, monkeypatch):
    monkeypatch.setattr(ask, 'ANSWER_S', 1.0)
    (tmp_path / 'run').mkdir()
    with dead(tmp_path / 'run'):
        assert blocked.wait(str(tmp_path), 0.0, lambda: True) == (0.0, True)
        assert not blocked.wait(str(tmp_path), 0.0, lambda: True, [str(tmp_path / 'run')])[1]
