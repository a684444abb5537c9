"""A small case and its complete record, from which the tests of the rules depart."""

import pytest

from builders import FLAT, FLAT_TREE, moved, plan_of, records_of
from seatrial.model.units import GIB, MIB


@pytest.fixture
def plan():
    return plan_of()


@pytest.fixture
def measurement(plan):
    """Two tasks that move 64 MiB each in a second."""
    return moved(plan.points[0], 128.0 * MIB)


@pytest.fixture
def records(plan):
    """A complete record: a warm-up, then every metric six times: converged after four, and two more."""
    return records_of(plan, 6 * [128.0 * MIB], memory_bytes=GIB)


@pytest.fixture
def tree_plan():
    """Two tasks with a thousand empty files each in one directory, created, statted, read and removed."""
    return plan_of(FLAT, FLAT_TREE)


@pytest.fixture
def tree_records(tree_plan):
    """Each of the four phases six times at 5000 operations a second."""
    return records_of(tree_plan, 6 * [5000.0], memory_bytes=GIB)
