"""What all tests share: programs that may be missing, and long runs that are asked for."""

import shutil
import sys
from pathlib import Path

import pytest

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


@pytest.fixture
def repository() -> Path:
    """The checkout that the tests belong to."""
    return REPOSITORY


@pytest.fixture
def seatrial() -> str:
    """The installed command."""
    beside = shutil.which('seatrial', path=str(Path(sys.executable).parent))
    assert beside is not None, 'seatrial is not installed in this environment; pip install -e .'
    return beside
