"""Fixtures of the tests of drivers: a real GlusterFS, a real CephFS, and a node whose caches this user may empty."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fuse_lab import CEPH, open_to_all
from seatrial.filesystem import caches
from seatrial.filesystem.base import Meter
from seatrial.model.telemetry import WRITTEN


@pytest.fixture
def set_option(lab_gluster: Callable[..., str]) -> Callable[[str, str], None]:
    """Set an option of the lab's volume; the client has it when this returns."""

    def set_(name: str, value: str) -> None:
        lab_gluster('gluster', 'volume', 'set', lab_gluster('gluster', 'volume', 'list').strip(), name, value)

    return set_


@pytest.fixture(scope='session')
def ceph_mount() -> Iterator[Path]:
    """The mount point of ci/lab-ceph. Skipped where this machine cannot have one."""
    with open_to_all() as directory, CEPH.made(directory) as mount:
        yield mount


@pytest.fixture
def may_empty() -> None:
    """Skips where this user may not empty the caches of this node."""
    if caches.why_not():
        pytest.skip(caches.why_not())


@pytest.fixture
def counted_as_written() -> Callable[[Meter, Path, int], int]:
    """Bytes that a meter counts while a file of this size is written and synced."""

    def count(meter: Meter, file: Path, size: int) -> int:
        before = meter.look(10.0)[WRITTEN]
        with file.open('wb') as stream:
            stream.write(os.urandom(size))
            stream.flush()
            os.fsync(stream.fileno())
        return meter.look(10.0)[WRITTEN] - before

    return count
