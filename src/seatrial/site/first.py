"""The first form of a site: its two files, from what was found on a machine."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from seatrial.model.quoted_value import printable
from seatrial.model.units import GIB, MIB, approximate_size, duration, format_size
from seatrial.site.profile import NIGHTLY, PROFILES, SMOKE

FREE_SHARE = 10
"""A session may have one part in so many of what is free: others go on working there."""

MOST_INODES = 200_000
NIGHTLY_INODES = 111_000  # of LargeDirectory, the largest check of metadata
MOST_TASKS = 4  # on a node: enough to load it, and few enough for a first try
MOST_NODES = 2

_PLAIN = re.compile(r'[A-Za-z0-9/_.-]+\Z', re.ASCII)
_NO_NAME = re.compile(r'[^A-Za-z0-9_-]+')


CHECK = """\"\"\"{name}: what it is for.\"\"\"

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, powers_of_two


@trial
class {name}(Check):
    \"\"\"Every task writes a file of its own and reads it back, in transfers of several sizes.\"\"\"

    workload = data_access(files='multiple', operations=('write', 'read'))
    sweep = Sweep('transfer_size', powers_of_two('64KiB', '1MiB'))
"""
"""The first form of a check of a site's own; docs/extend.md says what else it can be."""


@dataclass(frozen=True)
class FoundPartition:
    """Where jobs run. slurm: its name in Slurm, empty for this machine alone; limit_s None: none. memory: in bytes;
    None is unknown"""

    name: str
    nodes: int
    cpus: int
    memory: int | None
    slurm: str = ''
    limit_s: float | None = None

    @property
    def tasks(self) -> int:
        """On a node."""
        return max(1, min(self.cpus, MOST_TASKS))


@dataclass(frozen=True)
class FoundFileSystem:
    """A directory of the user's on a mount. free: bytes; None is unknown. targets: how many there are, or which, by
    the site's key; why: what is to be said of it"""

    name: str
    type: str
    path: str
    mount: str = ''
    free: int | None = None
    free_inodes: int | None = None
    targets: Mapping[str, int | list[int]] = field(default_factory=dict)
    records_on_target: bool = False
    why: str = ''

    @property
    def limit_bytes(self) -> int:
        """A share of what is free, in whole MiB or GiB."""
        share = (self.free if self.free is not None else FREE_SHARE * 4 * GIB) // FREE_SHARE
        unit = GIB if share >= 4 * GIB else MIB
        return max(unit, share // unit * unit)

    @property
    def limit_inodes(self) -> int:
        return max(1, min(MOST_INODES, (self.free_inodes or FREE_SHARE * MOST_INODES) // FREE_SHARE))


@dataclass(frozen=True)
class FoundMachine:
    """What was found on a machine. missing: engines that are not there, each with how to get it; unused: what of its
    mounts is no file system under test yet, a sentence each; proposed: its own disks, which could be tested;
    no_slurm: why there are no partitions of Slurm, or empty"""

    name: str
    host: str
    system: str
    partitions: Sequence[FoundPartition]
    file_systems: Sequence[FoundFileSystem]
    engines: Sequence[str]
    missing: Mapping[str, str] = field(default_factory=dict)
    unused: Sequence[str] = ()
    proposed: Sequence[FoundFileSystem] = ()
    no_slurm: str = ''
    scheduler: str = 'slurm'
    modules_system: str = ''
    modules: Sequence[str] = ()


def settings_of(found: FoundMachine) -> str:
    return _jinja().get_template('settings.py.jinja').render(_given(found))


def trial_of(found: FoundMachine) -> str:
    """The text of trial.yaml, with sizes that have room where it was seen how much there is."""
    first = found.partitions[0]
    nodes = sorted({1, min(MOST_NODES, first.nodes)})
    room = min(each.limit_bytes for each in found.file_systems)
    share = (room - 2 * MIB) // (nodes[-1] * first.tasks)
    small = 0 if share >= SMOKE.effort.first_bytes else max(1, share // (16 * MIB)) * 16 * MIB
    nightly = nodes[-1] * first.tasks * NIGHTLY.effort.tree_bytes + MIB
    fits = nightly <= room and min(each.limit_inodes for each in found.file_systems) >= NIGHTLY_INODES
    given = {'nodes': nodes, 'bytes_per_task': small, 'nightly': nightly, 'nightly_fits': fits}
    return _jinja().get_template('trial.yaml.jinja').render({**_given(found), **given})


def as_name(text: str) -> str:
    """The text as a name that trial.yaml and ReFrame take: letters, digits, _ and -."""
    name = _NO_NAME.sub('-', text).strip('-_')[:32]
    return name if name[:1].isalpha() else f'x{name}'[:32]


def _given(found: FoundMachine) -> dict[str, object]:
    return {
        **vars(found),
        'environment': 'seatrial' if found.modules else 'builtin',
        'profiles': tuple(PROFILES),
    }


@cache
def _jinja() -> Environment:
    environment = Environment(
        loader=PackageLoader('seatrial.site'),
        autoescape=False,  # these are no web pages
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # A folder or a mount point can be called anything, and what begins a line here is a setting.
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
