"""The command line in this process, and small sites for it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from seatrial.cli.main import entry

CHECKS = """
import reframe

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Sweep


@trial
class Objects(AccessPatternCheck):
    \"\"\"Files of their own, over objects.\"\"\"

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = Sweep('objects', (2, 4, 8, 16), bytes_per_client=MIB)


@trial
class Reads(AccessPatternCheck):
    \"\"\"One file for all, over transfer sizes.\"\"\"

    pattern = AccessPattern(files='single', extent='whole', operations=('read',))
    sweep = Sweep('transfer_size', (4096, 65536), bytes_per_client=MIB)
"""
TRIAL = """
version: 1
state: state
engines: [{{name: fio, program: {fio}}}]
file_systems:
  scratch: {{type: posix, path: state/trials, limits: {{bytes: 1GiB, inodes: 1000}}, records_on_target: true}}
partitions:
  local:default: {{launcher: local, tasks_per_node: 2}}
trials:
  - {{checks: ['*'], partitions: [local:default], file_systems: [scratch], nodes: [1], bytes_per_client: 1MiB}}
"""


class Said(NamedTuple):
    """What a command ended with and printed."""

    status: int
    out: str
    err: str


class SmallSite:
    """A folder with settings.py, trial.yaml and checks, all of which a test may change."""

    def __init__(self, folder: Path, settings: Path, fio: str) -> None:
        self.folder, self.checks = folder, folder / 'checks'
        self.trial, self.settings = folder / 'trial.yaml', folder / 'settings.py'
        self.check = self.checks / 'files' / 'check.py'
        shutil.copy(settings, folder)
        self.trial.write_text(TRIAL.format(fio=fio))
        self.check.parent.mkdir(parents=True)
        self.check.write_text(CHECKS)

    def change(self, old: str, new: str, file: str = 'trial.yaml') -> None:
        """Replace a text that must be there."""
        path = self.folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def sessions(self) -> list[Path]:
        return list(self.folder.glob('state/sessions/*'))


@pytest.fixture
def site(tmp_path: Path, repository: Path, stub_fio: Callable[..., str]) -> SmallSite:
    folder = tmp_path / 'site'
    folder.mkdir()
    return SmallSite(folder, repository / 'site-config' / 'local' / 'settings.py', stub_fio())


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run `seatrial ARGUMENTS` in this process, as the installed program does."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, 'argv', ['seatrial', *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            entry()
        captured = capsys.readouterr()
        return Said(ended.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def on_site(command: Callable[..., Said], site: SmallSite) -> Callable[..., Said]:
    """Run `seatrial COMMAND --site --checks ARGUMENTS` on the small site."""
    return lambda name, *arguments: command(name, f'--site={site.folder}', f'--checks={site.checks}', *arguments)
