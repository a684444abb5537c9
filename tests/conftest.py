"""What all tests share: programs that may be missing, and long runs that are asked for."""

import functools
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from transcript import transcripts

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--long', action='store_true', help='also run the fuzz and fault runs of many minutes')


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker('long') and not config.getoption('--long'):
            item.add_marker(pytest.mark.skip(reason='long: runs with ci/test --full'))
        for marker in item.iter_markers('needs'):
            for program in marker.args:
                if shutil.which(program) is None:
                    item.add_marker(pytest.mark.skip(reason=f'{program} is not installed'))


@pytest.fixture(scope='session')
def repository() -> Path:
    """The checkout that the tests belong to."""
    return REPOSITORY


@pytest.fixture
def seatrial() -> str:
    """The installed command."""
    beside = shutil.which('seatrial', path=str(Path(sys.executable).parent))
    assert beside is not None, 'seatrial is not installed in this environment; pip install -e .'
    return beside


@pytest.fixture(scope='session')
def make_stub_fio() -> Callable[..., str]:
    """Make a program that passes for fio, told by (expression, order) pairs what it is to do; returns its path.

    The forms of the orders: tests/stubs/fio.py. Each call gives another program in the folder.
    """
    source = (REPOSITORY / 'tests' / 'stubs' / 'fio.py').read_text()
    template = json.loads(transcripts('fio')['mfwa-write']['json'])

    def make(
        folder: Path, *orders: tuple[str, dict[str, object]], version: str = 'fio-3.33', python: str = sys.executable
    ) -> str:
        folder.mkdir(exist_ok=True)
        program = folder / f'fio{len(list(folder.glob("*.json"))) or ""}'
        program.write_text(f'#!{python} -IS\n{source}')
        program.chmod(0o755)
        told = {'template': template, 'version': version, 'orders': orders}
        Path(f'{program}.json').write_text(json.dumps(told))
        return str(program)

    return make


@pytest.fixture
def stub_fio(make_stub_fio: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """make_stub_fio in a folder of the test."""
    return functools.partial(make_stub_fio, tmp_path / 'stubs')
