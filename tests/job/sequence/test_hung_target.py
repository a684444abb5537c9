"""A file system that never answers again: a real FUSE client, which is stopped in the middle of a run."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.engine.carried import module_argv

pytestmark = pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')

LATEST_S = 240.0
"""The launch's limit, twice its grace, a probe and the load of this machine; without deadlines it is never."""


@pytest.fixture
def hung(lab, stub_fio, gluster_mount, lab_gluster):
    """A plan whose launch was in hand when its target fell silent, and what its run printed."""
    target = gluster_mount / 'trials'
    target.mkdir(exist_ok=True)
    fio = stub_fio(('measured-write', {'seconds': 600.0}))
    plan = lab.plan(fio, target={'type': 'glusterfs', 'path': str(target)}, launch_limit_s=5.0)
    running = subprocess.Popen(step('run', lab.write(plan)), stdout=subprocess.PIPE, text=True)
    try:
        while running.poll() is None and not list(Path(plan.records).glob('raw/*measured-write*')):
            time.sleep(0.1)
        lab_gluster('signal', 'STOP', 'client')
        yield plan, running.communicate(timeout=LATEST_S)[0]
    finally:
        lab_gluster('signal', 'CONT', 'client')
        running.kill()
        running.wait()


def step(name, path):
    return module_argv(sys.executable, 'seatrial.job.__main__', (name, path))


def test_its_launch_is_given_up_and_its_directory_left_within_deadlines(lab, hung):
    plan, said = hung
    assert 'failed: a launch was given up: it did not end within' in said
    done = subprocess.run(step('remove', lab.write(plan)), timeout=LATEST_S, capture_output=True, text=True)
    records = lab.records(plan)
    (left,) = records.removal.left
    assert left.startswith(f'{records.start.run_directory}: the file system does not answer within'), done.stdout
