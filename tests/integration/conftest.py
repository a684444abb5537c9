"""Labs that the tests of a run share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel_lab import Kernels
from slurm_lab import Lab


def _lab(repository: Path, accounting: bool) -> Iterator[Lab]:
    made = Lab(repository / 'ci' / 'lab-slurm', accounting)
    try:
        made.up()
        yield made
    finally:
        made.take_down()


@pytest.fixture(scope='session')
def plain_slurm(repository: Path) -> Iterator[Lab]:
    """A Slurm without accounting; one for all tests of this process."""
    yield from _lab(repository, accounting=False)


@pytest.fixture(scope='session')
def accounting_slurm(repository: Path) -> Iterator[Lab]:
    """A Slurm with accounting; one for all tests of this process."""
    yield from _lab(repository, accounting=True)


@pytest.fixture(scope='session')
def kernels() -> Iterator[Kernels]:
    """Three kernels with NFS between them; one for all tests of this process."""
    made = Kernels()
    try:
        made.up()
        yield made
    finally:
        made.take_down()
