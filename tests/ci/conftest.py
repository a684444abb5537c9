"""What the tests of the labs share: a search for whatever a lab may have left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from traces import traces_of


@pytest.fixture
def traces() -> Callable[[Path], list[str]]:
    """What is in the system that belongs to a directory."""
    return traces_of
