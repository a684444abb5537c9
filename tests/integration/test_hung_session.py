"""A whole session whose file system falls silent in the middle, for good: a real FUSE client, which is stopped."""

import subprocess
import sys
import time

import pytest

from local_site import LocalSite, trial
from slurm_lab import LAUNCH_LIMIT

pytestmark = pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')

LATEST_S = 300.0
"""The launch's limit, twice its grace, two probes and the load of this machine; without deadlines it is never."""


@pytest.fixture
def hung(stub_fio, gluster_mount, lab_gluster, tmp_path, repository):
    """A session whose target fell silent in a launch, and its site's folder; the client goes on afterwards."""
    target = gluster_mount / 'trials'
    target.mkdir(exist_ok=True)
    fio = stub_fio(('measured-write', {'seconds': 600.0}))
    text = trial(
        'MultipleFilesTransferSizes',
        f'[{{name: fio, program: {fio}}}]',
        f'type: glusterfs, path: {target}, recovery_limit: 1s',
        more='bytes_per_task: 1MiB',
    )
    LocalSite(tmp_path, text)
    argv = [sys.executable, '-c', LAUNCH_LIMIT, '1', 'run', f'--site={tmp_path}', f'--checks={repository / "checks"}']
    session = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while session.poll() is None and not list(tmp_path.glob('state/sessions/*/cases/*/raw/*measured-write*.fio')):
            time.sleep(0.1)
        lab_gluster('signal', 'STOP', 'client')
        yield session, tmp_path
    finally:
        lab_gluster('signal', 'CONT', 'client')
        session.kill()
        session.wait()


def test_it_ends_by_itself_with_what_it_knows_and_leaves_the_rest_to_clean(hung, seatrial):
    session, site = hung
    said, _ = session.communicate(timeout=LATEST_S)
    assert session.returncode == 11, said
    assert 'E2: ' in said and 'left in' in said
    assert list(site.glob('state/sessions/*/report/index.html'))
    done = subprocess.run([seatrial, 'clean', f'--site={site}'], capture_output=True, text=True, timeout=LATEST_S)
    assert done.returncode == 13 and 'does not answer within' in done.stdout
