"""Labs that the tests of a run share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernel_lab import Kernels
from slurm_lab import Lab, lab_up


@pytest.fixture(scope='session')
def plain_slurm() -> Iterator[Lab]:
    """A Slurm without accounting; one for all tests of this process."""
    with lab_up() as made:
        yield made


@pytest.fixture
def slurm(plain_slurm: Lab) -> Iterator[Lab]:
    """The same, which the next test finds in health."""
    yield plain_slurm
    plain_slurm.heal()


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


@pytest.fixture
def hangs(make_stub_fio: Callable[..., str], tmp_path: Path) -> str:
    """A stand-in for fio whose measured launches hang until their job ends."""
    return make_stub_fio(tmp_path / 'stubs', ('measured', {'seconds': 600.0}))
