"""Labs that the tests of a run share."""

from collections.abc import Iterator

import pytest

from kernel_lab import Kernels
from slurm_lab import Lab, lab_up


@pytest.fixture(scope='session')
def plain_slurm() -> Iterator[Lab]:
    """A Slurm without accounting; one for all tests of this process."""
    with lab_up() as made:
        yield made


@pytest.fixture(scope='session')
def accounting_slurm() -> Iterator[Lab]:
    """A Slurm with accounting; one for all tests of this process."""
    with lab_up(accounting=True) as made:
        yield made


@pytest.fixture(scope='session')
def kernels() -> Iterator[Kernels]:
    """Three kernels with NFS between them; one for all tests of this process."""
    made = Kernels()
    try:
        made.up()
        yield made
    finally:
        made.take_down()
