"""ci/lab-gluster and ci/lab-ceph, as the tests use them, and a FUSE file system without a server."""

import contextlib
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seatrial.filesystem.base import Driver

CI = Path(__file__).resolve().parent.parent / 'ci'
MNT_DETACH = 2
UNAVAILABLE, CANNOT = 69, 71  # their exit codes: a package is missing; there is no /dev/fuse, or no namespaces


class FuseLab(NamedTuple):
    """One of them, for labs in directories of the tests."""

    script: Path
    what: str

    def run(self, verb: str, directory: Path, *words: str, **more: object) -> 'subprocess.CompletedProcess[str]':
        argv = [str(self.script), verb, '--dir', str(directory), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=300, **more)  # type: ignore[call-overload]

    def up(self, directory: Path, *words: str) -> Path:
        """The mount point of a lab that is up; skips where this machine cannot have one."""
        if os.geteuid() != 0:
            pytest.skip(f'only root may mount {self.what}')
        answer = self.run('up', directory, *words)
        if answer.returncode in (UNAVAILABLE, CANNOT):
            pytest.skip(answer.stderr.strip())
        assert answer.returncode == 0, answer.stderr
        return Path(answer.stdout.splitlines()[-1])

    @contextlib.contextmanager
    def made(self, directory: Path, *words: str) -> Iterator[Path]:
        """The mount point, and afterwards nothing is left."""
        try:
            yield self.up(directory, *words)
        finally:
            answer = self.run('down', directory, '--force')
            assert answer.returncode == 0, answer.stderr


GLUSTER = FuseLab(CI / 'lab-gluster', 'GlusterFS')
CEPH = FuseLab(CI / 'lab-ceph', 'CephFS')


@contextlib.contextmanager
def dead(path: Path, answers: bool = False) -> Iterator[None]:
    """A FUSE file system without a server is mounted there: it never answers, or says at once that it has lost it."""
    if os.geteuid() or not os.path.exists('/dev/fuse'):
        pytest.skip('only root may mount FUSE without a helper')
    channel = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={channel},rootmode=40000,user_id=0,group_id=0'
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b'seatrial', os.fsencode(path), b'fuse', 0, options.encode()):
        os.close(channel)
        pytest.skip(f'FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}')
    if answers:
        os.close(channel)
    try:
        yield
    finally:
        if not answers:
            os.close(channel)
        libc.umount2(os.fsencode(path), MNT_DETACH)


@contextlib.contextmanager
def open_to_all() -> Iterator[Path]:
    """A directory that is not there yet, where other users reach it; pytest's own are closed to them."""
    place = Path(tempfile.mkdtemp(prefix='seatrial-lab-'))
    place.chmod(0o755)
    try:
        yield place / 'lab'
    finally:
        place.rmdir()


def fetched_by_reading(driver: Driver, file: Path) -> int:
    """Bytes that come from the servers while a file is read to its end."""
    before = driver.exchanged(str(file.parent)).fetched
    assert len(file.read_bytes()) == file.stat().st_size
    after = driver.exchanged(str(file.parent)).fetched
    assert before is not None and after is not None
    return after - before
