"""What the tests of drivers share: a real GlusterFS, a real CephFS, and a node whose caches this user may empty."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CEPH_SCRIPT = Path(__file__).resolve().parents[2] / 'ci' / 'lab-ceph'
CANNOT = 71


@pytest.fixture
def set_option(lab_gluster: Callable[..., str]) -> Callable[[str, str], None]:
    """Set an option of the lab's volume; the client has it when this returns."""

    def set_(name: str, value: str) -> None:
        volume = lab_gluster('status').split('volume ')[1].split(',')[0]
        lab_gluster('gluster', 'volume', 'set', volume, name, value)

    return set_


@pytest.fixture(scope='session')
def ceph_mount() -> Iterator[Path]:
    """The mount point of ci/lab-ceph. Skipped where this machine cannot have one."""
    if os.geteuid() != 0:
        pytest.skip('only root may mount CephFS')
    place = tempfile.mkdtemp(prefix='seatrial-ceph-')
    os.chmod(place, 0o755)
    try:
        argv = [str(CEPH_SCRIPT), 'up', '--dir', f'{place}/lab']
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        if done.returncode == CANNOT:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        yield Path(done.stdout.splitlines()[-1])
    finally:
        subprocess.run([str(CEPH_SCRIPT), 'down', '--force', '--dir', f'{place}/lab'], check=True, timeout=180)
        os.rmdir(place)


@pytest.fixture
def may_empty() -> None:
    """Skips where this user may not empty the caches of this node."""
    from seatrial.filesystem import caches

    if caches.why_not():
        pytest.skip(caches.why_not())
