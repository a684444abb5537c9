"""What the tests of engines share."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def o_direct(tmp_path: Path) -> None:
    """The scratch directory is on a file system that has O_DIRECT; tmpfs has it from Linux 6.6 on."""
    try:
        os.close(os.open(tmp_path, os.O_RDWR | os.O_TMPFILE | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f'{tmp_path} has no O_DIRECT: {error.strerror}')
