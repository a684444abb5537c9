"""Fixtures of the tests of engines."""

import os
from pathlib import Path

import pytest

from measuring import Disk


@pytest.fixture
def o_direct(tmp_path: Path) -> None:
    """Skips the test if the file system of the scratch directory has no O_DIRECT; tmpfs has it from Linux 6.6 on."""
    try:
        os.close(os.open(tmp_path, os.O_RDWR | os.O_TMPFILE | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f'{tmp_path} has no O_DIRECT: {error.strerror}')


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """A data directory, and launches of posixops in it."""
    return Disk(tmp_path)
