"""The texts of settings.py and trial.yaml of a first site, from the facts found on a machine."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from seatrial.model.quoted_value import printable
from seatrial.model.units import GIB, MIB, approximate_size, duration, format_size
from seatrial.site.profile import NIGHTLY, PROFILES, SMOKE

FREE_SHARE = 10  # a session may use one tenth of the free space; the rest is for other users
MOST_INODES = 200_000
NIGHTLY_INODES = 111_000  # inodes of LargeDirectory, the largest check of metadata
MOST_TASKS = 4  # tasks per node: enough to load it, few enough for a first try
MOST_NODES = 2

_PLAIN = re.compile(r'[A-Za-z0-9/_.-]+\Z', re.ASCII)
_NOT_IN_NAME = re.compile(r'[^A-Za-z0-9_-]+')


@dataclass(frozen=True)
class FoundPartition:
    """A partition of Slurm, or this machine without Slurm."""

    name: str
    nodes: int
    cpus: int
    memory: int | None  # bytes; None is unknown
    slurm: str = ''  # its name in Slurm; empty for this machine without Slurm
    limit_s: float | None = None  # None: no limit

    @property
    def tasks(self) -> int:
        """Tasks per node."""
        return max(1, min(self.cpus, MOST_TASKS))


@dataclass(frozen=True)
class FoundFileSystem:
    """A directory of the user on a mounted file system."""

    name: str
    type: str
    path: str
    mount: str = ''
    free: int | None = None  # bytes; None is unknown
    free_inodes: int | None = None
    # by key of trial.yaml: how many targets there are, or the list of their indexes
    targets: Mapping[str, int | list[int]] = field(default_factory=dict)
    records_on_target: bool = False
    why: str = ''  # a note for the user

    @property
    def limit_bytes(self) -> int:
        """A share of the free space, in whole MiB or GiB."""
        share = (self.free if self.free is not None else FREE_SHARE * 4 * GIB) // FREE_SHARE
        unit = GIB if share >= 4 * GIB else MIB
        return max(unit, share // unit * unit)

    @property
    def limit_inodes(self) -> int:
        return max(1, min(MOST_INODES, (self.free_inodes or FREE_SHARE * MOST_INODES) // FREE_SHARE))


@dataclass(frozen=True)
class FoundMachine:
    name: str
    host: str
    system: str
    partitions: Sequence[FoundPartition]
    file_systems: Sequence[FoundFileSystem]
    engines: Sequence[str]
    missing: Mapping[str, str] = field(default_factory=dict)  # engines not installed, with the way to get them
    unused: Sequence[str] = ()  # a sentence for each mount that is not tested yet
    proposed: Sequence[FoundFileSystem] = ()  # local disks that could be tested
    no_slurm: str = ''  # the reason why there are no Slurm partitions, or empty
    scheduler: str = 'slurm'
    modules_system: str = ''
    modules: Sequence[str] = ()
    darshan: str = ''  # libdarshan.so of a module


def a_check(name: str) -> str:
    """The text of a first check for the site, a class with this name."""
    return _jinja().get_template('check.py.jinja').render(name=name)


def settings_of(machine: FoundMachine) -> str:
    return _jinja().get_template('settings.py.jinja').render(_variables(machine))


def trial_of(machine: FoundMachine) -> str:
    """The text of trial.yaml, with sizes that fit into the free space if that is known."""
    first = machine.partitions[0]
    nodes = sorted({1, min(MOST_NODES, first.nodes)})
    room = min(file_system.limit_bytes for file_system in machine.file_systems)
    share = (room - 2 * MIB) // (nodes[-1] * first.tasks)
    bytes_per_task = 0 if share >= SMOKE.effort.first_bytes else max(1, share // (16 * MIB)) * 16 * MIB
    nightly = nodes[-1] * first.tasks * NIGHTLY.effort.tree_bytes + MIB
    fits = nightly <= room and min(file_system.limit_inodes for file_system in machine.file_systems) >= NIGHTLY_INODES
    sizes = {'nodes': nodes, 'bytes_per_task': bytes_per_task, 'nightly': nightly, 'nightly_fits': fits}
    return _jinja().get_template('trial.yaml.jinja').render(_variables(machine), **sizes)


def as_name(text: str) -> str:
    """The text as a name valid in trial.yaml and ReFrame: letters, digits, _ and -."""
    name = _NOT_IN_NAME.sub('-', text).strip('-_')[:32]
    return name if name[:1].isalpha() else f'x{name}'[:32]


def _variables(machine: FoundMachine) -> dict[str, object]:
    return {**vars(machine), 'environment': 'seatrial' if machine.modules else 'builtin', 'profiles': tuple(PROFILES)}


@cache
def _jinja() -> Environment:
    environment = Environment(
        loader=PackageLoader('seatrial.site'),
        autoescape=False,  # the texts are not HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # The name of a folder or mount point may hold a line break, and a new line would be read as a setting.
        finalize=lambda value: printable(value) if isinstance(value, str) else value,
    )
    environment.filters.update(
        exact=format_size,
        whole=lambda size: format_size(size // MIB * MIB),
        size=approximate_size,
        duration=duration,
        quoted=lambda text: text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False),
    )
    return environment
