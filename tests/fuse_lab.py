"""ci/lab-gluster and ci/lab-ceph, as the tests use them, and a FUSE file system without a server."""

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import seatrial
from seatrial.filesystem.base import Driver

CI = Path(__file__).resolve().parent.parent / 'ci'
MNT_DETACH = 2
UNAVAILABLE, CANNOT = 69, 71  # their exit codes: a package is missing; there is no /dev/fuse, or no namespaces


class FuseLab(NamedTuple):
    """One of the two programs, for labs in directories of the tests."""

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
        """The mount point of a lab that is taken down afterwards."""
        try:
            yield self.up(directory, *words)
        finally:
            answer = self.run('down', directory, '--force')
            assert answer.returncode == 0, answer.stderr


GLUSTER = FuseLab(CI / 'lab-gluster', 'GlusterFS')
CEPH = FuseLab(CI / 'lab-ceph', 'CephFS')


@contextlib.contextmanager
def dead(path: Path, answers: bool = False) -> Iterator[None]:
    """Mounts a FUSE file system without a server there: it never answers, or at once reports a lost connection."""
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
    """A directory, not yet made, that other users can reach; pytest's own are closed to them."""
    place = Path(tempfile.mkdtemp(prefix='seatrial-lab-'))
    place.chmod(0o755)
    try:
        yield place / 'lab'
    finally:
        place.rmdir()


def fetched_by_reading(driver: Driver, file: Path) -> int:
    """Bytes that come from the servers while a file is read to its end."""
    return _fetched(driver, file.parent, lambda: len(file.read_bytes()) == file.stat().st_size)


def fetched_by_looking(driver: Driver, directory: Path) -> int:
    """Bytes that come from the servers while the attributes of 50 files are read; missing files are made first."""
    files = [directory / f'f{number}' for number in range(50)]
    if not directory.exists():
        directory.mkdir()
        for file in files:
            file.touch()
    return _fetched(driver, directory, lambda: all(file.stat() for file in files))


def _fetched(driver: Driver, directory: Path, act: Callable[[], bool]) -> int:
    before = driver.exchanged(str(directory)).fetched
    assert act()
    after = driver.exchanged(str(directory)).fetched
    assert before is not None and after is not None
    return after - before


AS_NOBODY = """
import os, sys
sys.path.insert(0, {source!r})
from seatrial.filesystem.registry import by_type
os.setgroups([]), os.setgid(65534), os.setuid(65534)
driver = by_type({name!r})
print(driver.exchanged({mount!r}).fetched)
print(driver.state({mount!r})[{key!r}])
print(driver.cold({mount!r}).why_not)
"""


def seen_by_nobody(driver: Driver, mount: Path, key: str, python: str = sys.executable) -> list[str]:
    """The driver's answers to an ordinary user: bytes from the servers, this state, and why no cache is cold."""
    source = str(Path(seatrial.__file__).parent.parent)
    code = AS_NOBODY.format(source=source, name=driver.name, mount=str(mount), key=key)
    return subprocess.run([python, '-c', code], capture_output=True, text=True, check=True).stdout.splitlines()
