"""A node with a Lustre that is a stand-in: lfs, lctl and lnetctl refuse what real ones do (tests/stubs/lfs.py)."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lctl
import pytest

from local_site import executable
from seatrial.filesystem.lustre import driver as lustre
from seatrial.filesystem.mounts import Mount
from seatrial.model.ask import Answer, ask
from transcript import lustre_step

TESTS = Path(__file__).resolve().parent
MIB = 1 << 20
INSTANCE = 'ffff888105ab7000'
OPTIONS = 'rw,checksum,encrypt,flock,lazystatfs,lruresize,nolock'
PROGRAM = """#!{python} -IS
import sys
sys.path[:0] = {path!r}
import lctl, lfs
sys.exit(lfs.main(lctl.PLAYED[{name!r}], sys.argv[1:], {state!r}))
"""


class Stand:
    """The stand-in: the file of its state, the log of its commands, and its mount point."""

    def __init__(self, folder: Path) -> None:
        self.mount = folder / 'mnt'
        self.file = folder / 'told.json'
        self.mount.mkdir()
        state = {'mount': str(self.mount), 'osts': 4, 'mdts': 2, 'root': True, 'version': '2.17.0', 'project': [0, 0]}
        state.update(pools={'flash': [0, 1]}, dom_limit=MIB, cached_mb=49, next=0, df='010', check='014', quota='412')
        lists = {key: [] for key in ('full', 'retired', 'away', 'inactive', 'lacks', 'default', 'unreadable')}
        tables = {key: {} for key in ('directories', 'files', 'shards', 'defaults', 'params')}
        self.tell({**state, **lists, **tables})

    def tell(self, state: dict[str, object]) -> None:
        self.file.write_text(json.dumps(state))

    def now(self, **changes: object) -> None:
        """Changes the state from now on."""
        self.tell({**json.loads(self.file.read_text()), **changes})

    def asked(self) -> list[list[str]]:
        """The command lines so far."""
        log = Path(f'{self.file}.log')
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def answer(self, argv: list[str], deadline_s: float) -> Answer | None:
        """As model/ask.py does; where the genuine program blocked, the deadline is over at once."""
        name = os.path.basename(argv[0])
        if name not in lctl.PLAYED or not os.path.exists(argv[0]):
            return ask(argv, deadline_s)
        played = lctl.PLAYED[name](argv[1:], str(self.file))
        return Answer(played.stdout, played.status, played.stderr)

    def directory(self, name: str = 'data') -> str:
        path = self.mount / name
        path.mkdir()
        return str(path)

    def written(self, directory: str, size: int = 1) -> str:
        """A file that an engine wrote there."""
        path = Path(directory) / 'file'
        with path.open('wb') as stream:
            stream.truncate(size)
        return str(path)


@contextmanager
def standing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    """The stand-in is installed, and its user is root. A command that it cannot play fails the test at its end.

    In this process it answers the driver itself: a Python takes 50 ms to start, and a launch asks a dozen times.
    """
    made = Stand(folder)
    programs = folder / 'bin'
    path = [str(TESTS / 'stubs'), str(TESTS)]
    for name in lctl.PLAYED:
        text = PROGRAM.format(python=sys.executable, path=path, name=name, state=str(made.file))
        executable(programs / name, text)
    root = Mount('/', 'ext4', '/dev/vda', 'rw')
    mounts = [root, Mount(str(made.mount), 'lustre', '10.0.2.15@tcp:/lustre', OPTIONS)]
    monkeypatch.setenv('PATH', f'{programs}:{os.environ["PATH"]}')
    monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
    monkeypatch.setattr('seatrial.filesystem.base.SBIN', str(programs))
    monkeypatch.setattr(lustre, '_is_root', lambda: json.loads(made.file.read_text())['root'])
    monkeypatch.setattr(lustre, 'ask', made.answer)
    yield made
    unplayed = Path(f'{made.file}.unplayed')
    assert not unplayed.exists(), f'nothing real is known of this: {unplayed.read_text()}'


NODE = """#!{python} -I
import errno, os, runpy, sys
del sys.argv[:2]
sys.path.insert(0, sys.argv[0])
from seatrial.filesystem import mounts

def fails(descriptor, answers=os.{call}):
    if os.readlink(f'/proc/self/fd/{{descriptor}}').endswith({of!r}):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return answers(descriptor)

os.{call} = fails
mounts.read_mounts = lambda: [mounts.Mount({mount!r}, 'lustre', '10.0.2.15@tcp:/lustre', {options!r})]
runpy.run_path(sys.argv[0], run_name='__main__')
"""
"""An interpreter for jobs, which see the stand-in; a call of os on a descriptor of the file `of` fails with EIO."""


def imports(servers: dict[str, str]) -> dict[str, str]:
    """Parameters of the stand-in: a genuine import for each of these targets, connected to the server beside it."""
    shown = lustre_step('108').stdout
    value = shown.partition(f'osc.lustre-OST0000-osc-{INSTANCE}.import=\n')[2].partition('\nmdc.')[0]
    values = {}
    for target, server in servers.items():
        kind = {'OST': 'osc', 'MDT': 'mdc'}[target[:3]]
        device = f'lustre-{target}-{kind}-{INSTANCE}'
        text = value.replace(f'lustre-OST0000-osc-{INSTANCE}', device).replace('OST0000', target)
        text = text.replace('current_connection: "0@lo"', f'current_connection: "{server}"')
        values[f'{kind}.{device}.import'] = f'\n{text}\n'
    return values
