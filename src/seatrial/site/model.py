"""What a site is: the typed form of trial.yaml, and the questions that the rest of Seatrial asks of it."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from seatrial.engine.registry import NAMES
from seatrial.filesystem.registry import TYPES, by_type
from seatrial.model.action import Action
from seatrial.model.ask import unresponsive
from seatrial.model.atomic_file import keep_from_others
from seatrial.model.hostlist import expanded
from seatrial.model.launcher import LAUNCHERS
from seatrial.model.layout import TARGETS, Layout
from seatrial.model.owned import Shared, shared
from seatrial.model.plan import Case, EngineChoice, Launcher, Limits, Monitor, NodeGroup, Target
from seatrial.model.point import Allocation, Point
from seatrial.model.quoted_value import choice, show
from seatrial.model.quoting import shell_line
from seatrial.model.units import BINARY, SYSTEMS, parse_size
from seatrial.site.calendar import DAYS, Calendar
from seatrial.site.error import SiteError, problem
from seatrial.site.profile import PROFILES
from seatrial.workload.access import INTERFACES
from seatrial.workload.ageing import FULLEST
from seatrial.workload.registry import kind_of

VERSION = 1
TRIAL_FILE = 'trial.yaml'
SETTINGS_FILE = 'settings.py'

DEFAULT_ENGINES = NAMES
"""Every engine, in the order of preference: MPI and all patterns first, what every machine has last."""

_MPI_STARTERS = ('mpirun', 'mpiexec', 'orterun')  # names that several MPIs give to their own
DEFAULT_LAYOUT = 'default'

MOST_TARGETS = 2000
MOST_HOSTLIST = 20_000
"""Characters."""
MOST_COUNT = 1_000_000
MOST_INODES = 10**12
MOST_BYTES = 2**63 - 1
MOST_SECONDS = 30 * 24 * 3600.0

_SECONDS = {'': 1, 's': 1, 'min': 60, 'h': 3600}
_DURATION = re.compile(r'([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([a-z]*)\Z', re.ASCII)
# Together the parts of a case's slug stay below the 255 bytes of a file name.
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_.-]{0,39}\Z', re.ASCII)
# fio takes a colon in a name for the end of it.
_DEVICE = re.compile(r'/dev/[A-Za-z0-9][A-Za-z0-9_./+-]{0,200}\Z', re.ASCII)
_HOST = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,253}\Z', re.ASCII)
_OPTION = re.compile(r'--?[A-Za-z][!-~]{0,255}\Z', re.ASCII)
_LICENCE = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.@:,-]{0,255}\Z', re.ASCII)
_TIME_OF_DAY = re.compile(r'([01][0-9]|2[0-3]):([0-5][0-9])\Z', re.ASCII)
_PARTITION = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,31}:[A-Za-z_][A-Za-z0-9_-]{0,31}\Z', re.ASCII)
_CHECK = re.compile(r'(?:\*|[A-Za-z_][A-Za-z0-9_]{0,79})\Z', re.ASCII)
# Names stand as keys in references.yaml, which ReFrame reads by the rules of YAML 1.1.
_YAML_WORDS = frozenset(('null', 'true', 'false', 'yes', 'no', 'on', 'off'))


def parse_duration(text: str) -> float:
    """Seconds meant by '90s', '15min', '1.5h' or '900'. Raises ValueError with the accepted form otherwise."""
    match = _DURATION.match(text.strip())
    if match is None or match.group(2) not in _SECONDS:
        raise ValueError(f'{show(text)} is not a duration; write a number and one of s, min, h: 15min')
    return float(match.group(1)) * _SECONDS[match.group(2)]


def calendar_of(at: str, days: Sequence[str] = DAYS) -> Calendar:
    """The calendar of a time of day such as '02:00'. Raises ValueError with the accepted form otherwise."""
    hour, minute = _time_of_day(at).split(':')
    return Calendar(int(hour), int(minute), tuple(days))


def _version(value: Any) -> int:
    if type(value) is not int or value != VERSION:
        raise ValueError(f'{show(value)} is not a version that this Seatrial reads; write {VERSION}')
    return value


def _size(least: int) -> Callable[[Any], int]:
    def size(value: Any) -> int:
        if isinstance(value, str) and len(value) <= 40:
            value = parse_size(value)
        if type(value) is not int or not least <= value <= MOST_BYTES:
            raise ValueError(f'{show(value)} is not a size; write a number from {least} and a unit: 64KiB, 1.5GiB')
        return value

    return size


def _target_number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST_TARGETS:
        raise ValueError(f'{show(value)} is not the number of a target; write 0 to {MOST_TARGETS - 1}')
    return value


def _targets(value: Any) -> int | tuple[int, ...]:
    if isinstance(value, list):
        return tuple(sorted(_target_number(each) for each in _distinct(value)))
    if type(value) is not int or not 1 <= value <= MOST_TARGETS:
        remedy = f'write how many there are, up to {MOST_TARGETS}, or their numbers: [0, 1, 5]'
        raise ValueError(f'{show(value)} does not tell the targets; {remedy}')
    return value


def _duration(least: float) -> Callable[[Any], float]:
    def duration(value: Any) -> float:
        if isinstance(value, str):
            value = parse_duration(value)
        if type(value) not in (int, float) or not least <= value <= MOST_SECONDS:
            remedy = f'write {least:g}s to {MOST_SECONDS / 3600:g}h, with one of s, min, h'
            raise ValueError(f'{show(value)} is not a duration here; {remedy}')
        return float(value)

    return duration


def _count(what: str, most: int = MOST_COUNT) -> Callable[[Any], int]:
    def count(value: Any) -> int:
        if type(value) is not int or value < 1:
            raise ValueError(f'{show(value)} is not a {what}; write a whole number from 1')
        if value > most:
            raise ValueError(f'{show(value)} is too large for a {what}; write at most {most}')
        return value

    return count


def _fullness(value: Any) -> float:
    percent = int(value.rstrip(' %')) if re.fullmatch(r'[1-9]\d? ?%', str(value)) else 0
    if not 1 <= percent <= 100 * FULLEST:
        raise ValueError(f'{show(value)} is no fullness of a file system; write 1% to {FULLEST:.0%}')
    return percent / 100


def _monthly(value: Any) -> float:
    number = float(value) if re.fullmatch(r'\d{1,6}(\.\d{1,6})?', str(value)) else 0.0
    if not number:
        raise ValueError(f'{show(value)} is not how many a month; write a number above 0, as in 0.5')
    return number


def _to_be_filled(value: Any) -> str:
    if value not in ('quota', 'all'):
        raise ValueError(f'{show(value)} is nothing that can be filled; write quota or all')
    return str(value)


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f'{show(value)} is neither true nor false; write one of them')
    return value


def _known_or_unknown(value: Any) -> bool | None:
    if type(value) is not bool and value != 'unknown':
        raise ValueError(f'{show(value)} is not an answer; write true, false or unknown')
    return value if type(value) is bool else None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > 4096:
        raise ValueError(f'{show(value)} is not a line of text; write one, in quotes where YAML reads it otherwise')
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.match(value) or value.lower() in _YAML_WORDS:
        raise ValueError(
            f'{show(value)} cannot be a name; write a letter, then letters, digits, _ . or - (at most 40 in all; '
            f'not yes, no, on, off, true, false or null)'
        )
    return value


def _layout_name(value: Any) -> str:
    if value == DEFAULT_LAYOUT:
        raise ValueError(f"'{DEFAULT_LAYOUT}' is always there and asks for nothing; choose another name")
    return _name(value)


def _partition(value: Any) -> str:
    if not isinstance(value, str) or not _PARTITION.match(value):
        raise ValueError(f"{show(value)} is not a partition; write ReFrame's system:partition, as in cluster:compute")
    return value


def _check(value: Any) -> str:
    if not isinstance(value, str) or not _CHECK.match(value):
        raise ValueError(f"{show(value)} is not a check; write a family, the class name of a check, or '*' for all")
    return value


def one_of(what: str, known: Sequence[str]) -> Callable[[Any], str]:
    """What reads one of these words, for a key of a file of the site."""

    def chosen(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError(f'{show(value)} is not {what}; {choice(value, known)}')
        return value

    return chosen


_NO_PATH = re.compile(
    r'(?:y|n|yes|no|on|off|true|false|null|none|~|[-+]?(?:\.?inf|\.?nan|[0-9][0-9.e+-]*))\Z', re.IGNORECASE
)


def _path(value: Any, info: ValidationInfo) -> str:
    path = _unexpanded(_text(value))
    if _NO_PATH.match(path):
        raise ValueError(f'{show(path)} looks like a word or a number and no path; write ./{path} if it is one')
    base = info.context if isinstance(info.context, Path) else Path.cwd()
    return '/' + os.path.normpath(base / path).lstrip('/')


def _mount(value: Any) -> str:
    path = _unexpanded(_text(value))
    if not path.startswith('/'):
        raise ValueError(f'{show(value)} is not a mount point; write an absolute path')
    return '/' + os.path.normpath(path).lstrip('/')


def _program(value: Any) -> str:
    program = _unexpanded(_text(value))
    if '/' in program and not program.startswith('/'):
        raise ValueError(
            f'{show(value)} is a relative path; write an absolute one, or a name to be found on the PATH'
        )
    return program


def _time_of_day(value: Any) -> str:
    if not isinstance(value, str) or not _TIME_OF_DAY.match(value):
        raise ValueError(f'{show(value)} is not a time of day; write hours and minutes: 02:00')
    return value


def _option(value: Any) -> str:
    if not isinstance(value, str) or not _OPTION.match(value):
        raise ValueError(f'{show(value)} is not an option of sbatch without blanks; write it as in --partition=admin')
    return value


def _licence(value: Any) -> str:
    if not isinstance(value, str) or not _LICENCE.match(value):
        raise ValueError(f"{show(value)} is not a licence; write it as Slurm's --licenses does, as in tide or tide:2")
    return value


def _device(value: Any) -> str:
    if not isinstance(value, str) or not _DEVICE.match(value) or '..' in value:
        raise ValueError(f'{show(value)} is not a device; write a path without colon, as in /dev/sdb')
    return value


def _hosts(value: Any) -> tuple[str, ...]:
    try:
        found = expanded(value) if isinstance(value, str) and len(value) <= MOST_HOSTLIST else ()
    except ValueError:
        found = ()
    if not found or not all(map(_HOST.match, found)):
        raise ValueError(f"{show(value)} is no list of nodes; write it as Slurm does: n[01-16],m3 (sinfo -h -o '%N')")
    return found


def _groups(value: Any) -> dict[str, Any]:
    if len(_filled(value)) < 2:
        raise ValueError('a single group has none to be compared with; write two or more, or leave groups out')
    return dict(value)


def _command(value: Any) -> tuple[Any, ...]:
    program, *arguments = _listed(value)
    return (_program(program), *arguments)


def _unexpanded(text: str) -> str:
    if text.startswith('~') or '$' in text:
        raise ValueError(f'{show(text)}: ~ and $ are not expanded; write the path in full')
    return text


class Enforced(NamedTuple):
    """An expectation that is a criterion. limit: the site's own; None: that of the check."""

    id: str
    limit: float | None = None


def _enforced(value: Any) -> tuple[Enforced, ...]:
    found = tuple(_one_enforced(each) for each in _listed(value))
    _distinct([each.id for each in found])
    return found


def _one_enforced(value: Any) -> Enforced:
    if isinstance(value, dict) and len(value) == 1:
        ((id_, limit),) = value.items()
        if re.fullmatch(r'\d{1,6}(\.\d{1,6})?', str(limit)) and float(limit) > 0:
            return Enforced(_text(id_), float(limit))
        raise ValueError(f'{show(limit)} is no limit of {show(id_)}; write a number above 0, as in {{FN-08a: 1.5}}')
    return Enforced(_text(value))


def _listed(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f'{show(value)} stands where a list is expected; write one or more values in []')
    return tuple(value)


def _distinct(value: Any) -> tuple[Any, ...]:
    items = _listed(value)
    words = [show(item) for item in items if isinstance(item, (str, int))]
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise ValueError(f'{twice} stands twice in the list; keep one')
    return items


def _filled(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        what = 'nothing' if value == {} else show(value)
        raise ValueError(f'{what} stands where named entries are expected; write at least one, indented')
    return value


def _engine(value: Any) -> Any:
    return {'name': value} if isinstance(value, str) else value


def _launcher(value: Any) -> Any:
    return {'kind': value} if isinstance(value, str) else value


def _launcher_kind(value: Any) -> str:
    if value in _MPI_STARTERS:
        raise ValueError(f'{show(value)} is not a launcher; write openmpi, or hydra for MPICH')
    return one_of('a launcher', tuple(LAUNCHERS))(value)


Version = Annotated[int, BeforeValidator(_version)]
Text = Annotated[str, BeforeValidator(_text)]
Size = Annotated[int, BeforeValidator(_size(1))]
AnySize = Annotated[int, BeforeValidator(_size(0))]
Seconds = Annotated[float, BeforeValidator(_duration(1.0))]
Count = Annotated[int, BeforeValidator(_count('number'))]
TaskCount = Annotated[int, BeforeValidator(_count('number of tasks'))]
FileCount = Annotated[int, BeforeValidator(_count('number of files', MOST_INODES))]
Interface = Annotated[str, BeforeValidator(one_of('an interface', INTERFACES))]
Truth = Annotated[bool, BeforeValidator(_truth)]
Day = Annotated[str, BeforeValidator(one_of('a day', DAYS))]
Name = Annotated[str, BeforeValidator(_name)]
Device = Annotated[str, BeforeValidator(_device)]
TargetNumber = Annotated[int, BeforeValidator(_target_number)]
Targets = Annotated[int | tuple[int, ...], BeforeValidator(_targets)]
NodeCount = Annotated[int, BeforeValidator(_count('node count'))]
Check = Annotated[str, BeforeValidator(_check)]
EngineName = Annotated[str, BeforeValidator(one_of('an engine', DEFAULT_ENGINES))]
FileSystemType = Annotated[str, BeforeValidator(one_of('a file system type', TYPES))]
LayoutName = Annotated[str, BeforeValidator(_layout_name)]
LauncherKind = Annotated[str, BeforeValidator(_launcher_kind)]
ProfileName = Annotated[str, BeforeValidator(one_of('a profile', tuple(PROFILES)))]
PathText = Annotated[str, BeforeValidator(_path)]
Program = Annotated[str, BeforeValidator(_program)]
PartitionName = Annotated[str, BeforeValidator(_partition)]
Listed = BeforeValidator(_listed)
Distinct = BeforeValidator(_distinct)
Filled = BeforeValidator(_filled)


class Entry(BaseModel):
    """A mapping of trial.yaml. An unknown key is an error. Of a field's `examples` the first is the remedy."""

    model_config = ConfigDict(frozen=True, extra='forbid')


class EngineEntry(Entry):
    """An engine, and the program that carries it where that is not the engine's own name on the PATH."""

    name: EngineName = Field(examples=['ior'])
    program: Annotated[str | None, BeforeValidator(_program)] = None


class LimitsEntry(Entry):
    """The most that a session may have on a file system at any time; no default: it is the site's decision.

    keep_*: what must stay free there for others, before and between launches
    """

    bytes: Size = Field(examples=['4GiB'])
    inodes: Annotated[int, BeforeValidator(_count('number of inodes', MOST_INODES))] = Field(examples=['100000'])
    keep_bytes: Annotated[int, BeforeValidator(_size(0))] = 0
    keep_inodes: Annotated[int, BeforeValidator(_count('number of inodes', MOST_INODES))] = 0


class PrecheckEntry(Entry):
    """A setting that is to be as the site has decided: what the command is to print, in each of its lines."""

    command: Annotated[tuple[Text, ...], BeforeValidator(_command)] = Field(
        examples=['[ssh, oss1, zfs, get, -H, -o, value, canmount, ostpool1]']
    )
    value: Text = Field(examples=["'off'"])


class FileSystemEntry(Entry):
    """A file system under test. Paths are absolute here, sizes in bytes, times in seconds.

    layouts: by name, each with settings that the driver of the type checks
    prechecks: by what people call the setting; `seatrial doctor` asks
    """

    type: FileSystemType = Field(examples=['lustre'])
    path: PathText = Field(examples=['/lustre/scratch/seatrial'])
    limits: LimitsEntry = Field(examples=['{bytes: 4GiB, inodes: 100000}'])
    mount: Annotated[str | None, BeforeValidator(_mount)] = None
    storage_system: Annotated[str | None, BeforeValidator(_name)] = None
    records_on_target: Truth = False
    drop_caches: Truth = False
    recovery_limit: Annotated[float | None, BeforeValidator(_duration(0.0))] = None
    compresses: Annotated[bool | None, BeforeValidator(_known_or_unknown)] = None
    deduplicates: Annotated[bool | None, BeforeValidator(_known_or_unknown)] = None
    server_cache_bytes: Annotated[int | None, BeforeValidator(_size(0))] = None
    fast_tier_bytes: Annotated[int | None, BeforeValidator(_size(0))] = None
    to_be_filled: Annotated[str, BeforeValidator(_to_be_filled)] = ''
    osts: Targets | None = None
    mdts: Targets | None = None
    bricks: Targets | None = None
    devices: Annotated[tuple[Device, ...], Distinct] = ()
    layouts: Annotated[dict[LayoutName, Any], Filled] = {}
    telemetry: Annotated[tuple[Text, ...], BeforeValidator(_command)] = ()
    monitors: Annotated[dict[Name, Annotated[tuple[Text, ...], BeforeValidator(_command)]], Filled] = {}
    prechecks: dict[Text, PrecheckEntry] = {}

    def numbers(self, kind: str) -> tuple[int, ...] | None:
        """Of the targets of a kind (TARGETS) that the site declares; None where it declares none."""
        declared = getattr(self, f'{kind.lower()}s')
        return tuple(range(declared)) if isinstance(declared, int) else declared


class LauncherEntry(Entry):
    """How a launch reaches the nodes of a partition."""

    kind: LauncherKind = Field(examples=['srun'])
    arguments: Annotated[tuple[Text, ...], Listed] = ()


class Partition(Entry):
    """What Seatrial must know of one of ReFrame's partitions."""

    launcher: Annotated[LauncherEntry, BeforeValidator(_launcher)] = Field(examples=['srun'])
    tasks_per_node: TaskCount = Field(examples=['8'])
    memory: Size | None = None
    python: Program | None = None
    programs: Annotated[dict[EngineName, Program], Filled] = {}
    darshan: PathText | None = None
    queue_limit: Seconds = 24 * 3600.0
    groups: Annotated[dict[Name, Annotated[tuple[Text, ...], BeforeValidator(_hosts)]], BeforeValidator(_groups)] = {}

    @model_validator(mode='after')
    def _apart(self) -> 'Partition':
        of: dict[str, str] = {}
        for group, hosts in self.groups.items():
            for host in hosts:
                if host in of:
                    raise ValueError(f'groups: {host} stands in {of[host]} and again in {group}; keep one')
                of[host] = group
        return self


VALUE = '{value}'


class ActionEntry(Entry):
    """An action: commands that take servers away, or burden them, and undo that. Times in seconds.

    check: exits with 0 while the storage is healthy; file_systems: those that the action may hit
    count: ends with a whole number, of messages in a log, say; how much it rises in the action is recorded
    values: of a tunable, ascending; VALUE in a word of the commands stands for each of them
    """

    start: Annotated[tuple[Text, ...], BeforeValidator(_command)] = Field(examples=['[/root/stop-oss, oss3]'])
    undo: Annotated[tuple[Text, ...], BeforeValidator(_command)] = Field(examples=['[/root/start-oss, oss3]'])
    check: Annotated[tuple[Text, ...], BeforeValidator(_command)] = Field(examples=['[/root/oss-is-up, oss3]'])
    file_systems: Annotated[tuple[Name, ...], Distinct] = Field(examples=['[scratch]'])
    count: Annotated[tuple[Text, ...], BeforeValidator(_command)] = ()
    values: Annotated[tuple[Annotated[int, Field(strict=True, ge=1)], ...], Listed] = ()
    timeout: Seconds = 120.0

    @model_validator(mode='after')
    def _sweeps(self) -> 'ActionEntry':
        if self.values and (len(self.values) < 3 or list(self.values) != sorted(set(self.values))):
            raise ValueError('the values of a tunable are three whole numbers or more, each above the one before')
        if bool(self.values) != any(VALUE in word for word in self.start):
            raise ValueError(f'values and {VALUE} in start go together; write both or neither')
        return self


BY_NAME = ('io500', 'iodd', 'kept')
"""Families that '*' does not ask for: of hundreds of GiB with patterns of other checks; that IOR alone can carry out,
which no bare machine has; whose trees stay."""


class TrialEntry(Entry):
    """Which checks run where: every combination of what its lists name is a case."""

    checks: Annotated[tuple[Check, ...], Distinct] = Field(examples=['[access]'])
    partitions: Annotated[tuple[PartitionName, ...], Distinct] = Field(examples=['[cluster:compute]'])
    file_systems: Annotated[tuple[Name, ...], Distinct] = Field(examples=['[scratch]'])
    nodes: Annotated[tuple[NodeCount, ...], Distinct] = Field(examples=['[1, 2, 4]'])
    layouts: Annotated[tuple[Name, ...], Distinct] = (DEFAULT_LAYOUT,)
    profiles: Annotated[tuple[ProfileName, ...], Distinct] = tuple(PROFILES)
    bytes_per_task: Annotated[int | None, BeforeValidator(_size(1))] = None
    files_per_task: Annotated[int | None, BeforeValidator(_count('number of files', MOST_INODES))] = None
    fullness: Annotated[float | None, BeforeValidator(_fullness)] = None
    transfer_size: Annotated[int | None, BeforeValidator(_size(1))] = None
    direct: Annotated[bool | None, BeforeValidator(_truth)] = None
    interface: Annotated[str | None, BeforeValidator(one_of('an interface', INTERFACES))] = None
    tasks_per_node: Annotated[int | None, BeforeValidator(_count('number of tasks'))] = None
    max_tasks: Annotated[int | None, BeforeValidator(_count('number of tasks'))] = None
    budget: Annotated[float | None, BeforeValidator(_duration(1.0))] = None
    enforce: Annotated[tuple[Enforced, ...], BeforeValidator(_enforced)] = ()

    def covers(self, check: str, family: str, profile: str) -> bool:
        """Whether the trial asks for this check, by its name, its family or '*', under this profile."""
        return profile in self.profiles and self.asks_for(check, family)

    def asks_for(self, check: str, family: str) -> bool:
        """Whether the trial asks for this check under any profile."""
        names = {check, family} if family in BY_NAME else {check, family, '*'}
        return not names.isdisjoint(self.checks)

    def gives(self, case: Case) -> bool:
        """Whether the case is among those of its check."""
        return (
            case.partition in self.partitions
            and case.file_system in self.file_systems
            and case.layout in self.layouts
            and case.nodes in self.nodes
        )

    def cases(self, check: str) -> list[Case]:
        """Every case of the check, in the order in which the lists name them."""
        return [
            Case(check, partition, file_system, layout, nodes)
            for partition in self.partitions
            for file_system in self.file_systems
            for layout in self.layouts
            for nodes in self.nodes
        ]


class ScheduleEntry(Entry):
    """When Slurm runs a profile by itself, and how its job is submitted. Times in seconds."""

    at: Annotated[str, BeforeValidator(_time_of_day)] = '02:00'
    days: Annotated[tuple[Day, ...], Distinct] = DAYS
    access: Annotated[tuple[Annotated[str, BeforeValidator(_option)], ...], Listed] = ()
    licence: Annotated[str | None, BeforeValidator(_licence)] = None
    time_limit: Annotated[float | None, BeforeValidator(_duration(60.0))] = None
    inconclusive_nights: Annotated[int, BeforeValidator(_count('number of nights'))] = 3

    @property
    def calendar(self) -> Calendar:
        """When it is due."""
        return calendar_of(self.at, self.days)


class TrialFile(Entry):
    """trial.yaml as a whole."""

    version: Version = Field(examples=[str(VERSION)])
    state: PathText = Field(examples=['/home/hpc/seatrial'])
    file_systems: Annotated[dict[Name, FileSystemEntry], Filled] = Field(
        examples=['{scratch: {type: lustre, path: /lustre/scratch/seatrial, limits: {bytes: 4GiB, inodes: 100000}}}']
    )
    partitions: Annotated[dict[PartitionName, Partition], Filled] = Field(
        examples=['{cluster:compute: {launcher: srun, tasks_per_node: 8}}']
    )
    trials: Annotated[tuple[TrialEntry, ...], Listed] = Field(
        examples=['[{checks: [access], partitions: [cluster:compute], file_systems: [scratch], nodes: [1]}]']
    )
    engines: Annotated[tuple[Annotated[EngineEntry, BeforeValidator(_engine)], ...], Listed] = tuple(
        EngineEntry(name=name) for name in DEFAULT_ENGINES
    )
    schedule: Annotated[dict[ProfileName, ScheduleEntry], Filled] = {}
    actions: Annotated[dict[Name, ActionEntry], Filled] = {}
    notify: Annotated[tuple[Text, ...], BeforeValidator(_command)] = ()
    false_notifications: Annotated[float, BeforeValidator(_monthly)] = 1.0
    units: Annotated[str, BeforeValidator(one_of('a system of units', SYSTEMS))] = BINARY


class Overrides(NamedTuple):
    """What a trial fixes for its cases; None leaves it to the check, the profile or the allocation.

    enforce: the expectations that it makes criteria.
    """

    bytes_per_task: int | None = None
    files_per_task: int | None = None
    fullness: float | None = None
    transfer_size: int | None = None
    direct: bool | None = None
    interface: str | None = None
    tasks_per_node: int | None = None
    max_tasks: int | None = None
    budget_s: float | None = None
    enforce: tuple[Enforced, ...] = ()

    def applied(self, template: Point) -> dict[str, Any]:
        """The parameters of the workload that it fixes, where a trial may fix them for a workload of its kind."""
        fixed = {name: getattr(self, name) for name in kind_of(template.kind).of_trial}
        return {name: value for name, value in fixed.items() if value is not None}

    def share(self, template: Point) -> int | None:
        """What it fixes for each task: bytes of data, files of metadata."""
        return self.bytes_per_task if kind_of(template.kind).moves_data else self.files_per_task


@dataclass(frozen=True)
class Site:
    """A checked site. Names that are asked for come from its own cases; any other raises KeyError."""

    folder: Path
    trial_file: TrialFile

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def state(self) -> str:
        """Absolute path of the directory for sessions, records and locks."""
        return self.trial_file.state

    @property
    def units(self) -> str:
        """The system of the units that it shows."""
        return self.trial_file.units

    @property
    def false_notifications(self) -> float:
        """How many a month are allowed of each scheduled profile, which share what the site allows."""
        return self.trial_file.false_notifications / max(1, len(self.trial_file.schedule))

    def session_folder(self, session: str) -> Path:
        """The folder of a session in the state directory. Raises SiteError where others may change what is in it."""
        folder = Path(self.state) / 'sessions' / session
        self._refuse(self._unsafe([str(folder)]))
        return folder

    def with_trials(self, trials: Sequence[TrialEntry]) -> 'Site':
        """The site with these trials in place of its own."""
        return replace(self, trial_file=self.trial_file.model_copy(update={'trials': tuple(trials)}))

    def cases(self, check: str, family: str, profile: str) -> list[Case]:
        """Every case that the trials ask of this check, each once, in the order of the file."""
        wanted = [case for trial in self._trials(check, family, profile) for case in trial.cases(check)]
        return list(dict.fromkeys(wanted))

    def overrides(self, case: Case, family: str, profile: str) -> Overrides:
        """What the trials that give a case fix for it together; what contradicts itself, check_overrides refuses."""
        giving = [trial for trial in self._trials(case.check, family, profile) if trial.gives(case)]

        def fixed(key: str) -> Any:
            return next((value for trial in giving if (value := getattr(trial, key)) is not None), None)

        return Overrides(
            **{key: fixed(key) for key in _FIXED if key != 'budget'},
            budget_s=fixed('budget'),
            enforce=tuple({each.id: each for trial in giving for each in trial.enforce}.values()),
        )

    def allocation(self, case: Case, overrides: Overrides | None = None) -> Allocation:
        """The largest launch of a case: all its nodes with the partition's tasks, or those that its trial wants."""
        wanted = overrides or Overrides()
        most = wanted.tasks_per_node or self.partition(case.partition).tasks_per_node
        return Allocation(case.nodes, min(most, (wanted.max_tasks or case.nodes * most) // case.nodes))

    def file_system(self, name: str) -> FileSystemEntry:
        """The entry of a file system."""
        return self.trial_file.file_systems[name]

    def partition(self, name: str) -> Partition:
        """The entry of a partition, by ReFrame's system:partition."""
        return self.trial_file.partitions[name]

    def target(self, file_system: str, layout: str) -> Target:
        """The file system under test with one of its layouts, as the plan carries it."""
        entry = self.file_system(file_system)
        driver = by_type(entry.type)
        return Target(
            name=file_system,
            type=entry.type,
            path=entry.path,
            storage_system=entry.storage_system or file_system,
            limits=Limits(*(getattr(entry.limits, name) for name in Limits._fields)),
            layout=Layout() if layout == DEFAULT_LAYOUT else driver.layout(layout, entry.layouts[layout]),
            mount=entry.mount,
            records_on_target=entry.records_on_target,
            drop_caches=entry.drop_caches,
            recovery_limit_s=driver.recovery_limit_s if entry.recovery_limit is None else entry.recovery_limit,
            compresses=entry.compresses,
            deduplicates=entry.deduplicates,
            server_cache_bytes=entry.server_cache_bytes,
            fast_tier_bytes=entry.fast_tier_bytes,
            to_be_filled=entry.to_be_filled,
            osts=_how_many(entry.numbers('OST')),
            mdts=_how_many(entry.numbers('MDT')),
            bricks=_how_many(entry.numbers('brick')),
            listed=tuple(kind for kind in TARGETS if isinstance(getattr(entry, f'{kind.lower()}s'), tuple)),
            no_layout=driver.no_layout,
            tried=driver.tried,
            telemetry=entry.telemetry,
            monitors=tuple(Monitor(server, argv) for server, argv in entry.monitors.items()),
        )

    def actions(self, file_system: str, tunable: bool = False) -> tuple[Action, ...]:
        """Those that may hit a file system, in the order of the file; of a tunable one for each of its values."""

        def one(name: str, each: ActionEntry, value: str) -> Action:
            start, undo, check, count = (
                tuple(word.replace(VALUE, value) for word in argv)
                for argv in (each.start, each.undo, each.check, each.count)
            )
            return Action(f'{name}-{value}' if value else name, start, undo, check, each.timeout, count)

        return tuple(
            one(name, each, str(value))
            for name, each in self.trial_file.actions.items()
            if file_system in each.file_systems and bool(each.values) == tunable
            for value in each.values or ('',)
        )

    def schedule(self, profile: str) -> ScheduleEntry:
        """How a profile is scheduled here; by default where the site does not say."""
        return self.trial_file.schedule.get(profile, ScheduleEntry())

    def launcher(self, partition: str) -> Launcher:
        """How launches reach the nodes of a partition."""
        entry = self.partition(partition).launcher
        return Launcher(entry.kind, entry.arguments)

    def groups(self, partition: str) -> tuple[NodeGroup, ...]:
        """Of the nodes of a partition."""
        return tuple(NodeGroup(name, hosts) for name, hosts in self.partition(partition).groups.items())

    def darshan(self, partition: str) -> str:
        """The Darshan library of a partition's nodes; empty where there is none."""
        return self.partition(partition).darshan or ''

    def engine_choices(self) -> tuple[EngineChoice, ...]:
        """The engines in the site's order of preference."""
        return tuple(EngineChoice(entry.name, entry.program or entry.name) for entry in self.trial_file.engines)

    def on_partition(self, partition: str, choices: Iterable[EngineChoice]) -> tuple[EngineChoice, ...]:
        """Engines with the programs of a partition, where its nodes have their own."""
        programs = self.partition(partition).programs
        return tuple(choice._replace(program=programs.get(choice.name, choice.program)) for choice in choices)

    def check_names(self, known: Mapping[str, str]) -> None:
        """Raise SiteError for names in trials[].checks that are no check and no family in `known` (check: family)."""
        names = sorted({*known, *known.values()})
        problems = [
            problem(
                TRIAL_FILE,
                ['trials', i, 'checks', k],
                f'{show(name)} is no check and no family; {choice(name, names)}',
            )
            for i, trial in enumerate(self.trial_file.trials)
            for k, name in enumerate(trial.checks)
            if name != '*' and name not in names
        ]
        if problems:
            raise SiteError(problems)

    def check_overrides(self, known: Mapping[str, str]) -> None:
        """Raise SiteError for trials that give the same case (of `known`, check: family) and fix it differently."""
        trials = list(enumerate(self.trial_file.trials))
        problems: dict[str, None] = {}
        for (check, family), profile in product(known.items(), PROFILES):
            asking = [(i, trial) for i, trial in trials if trial.covers(check, family, profile)]
            for (i, first), (k, other) in combinations(asking, 2):
                shared = next((case for case in first.cases(check) if other.gives(case)), None)
                if shared is None:
                    continue
                sentence = f'is not that of trials[{i}], which gives {shared.name} too; write the same in both'
                for key in _FIXED:
                    values = getattr(first, key), getattr(other, key)
                    if None not in values and values[0] != values[1]:
                        problems[problem(TRIAL_FILE, ['trials', k, key], sentence)] = None
                limits = [{each.id: each.limit for each in trial.enforce} for trial in (first, other)]
                for id_ in limits[0].keys() & limits[1].keys():
                    if limits[0][id_] != limits[1][id_]:
                        said = f'the limit of {id_} {sentence}'
                        problems[problem(TRIAL_FILE, ['trials', k, 'enforce'], said)] = None
        if problems:
            raise SiteError(list(problems))

    def check_enforced(
        self,
        known: Mapping[str, tuple[str, Collection[str]]],
        guarantees: Collection[str] = (),
        limited: Collection[str] = (),
    ) -> None:
        """Raise SiteError for ids in trials[].enforce that no check of the trial has, or that decide nothing there.

        known: by the name of every check its family and the ids of its expectations
        guarantees: the ids that every profile judges; the others are not judged in a smoke test
        limited: those whose limit a site can choose
        """
        problems = []
        for i, trial in enumerate(self.trial_file.trials):
            covered = [ids for check, (family, ids) in known.items() if trial.asks_for(check, family)]
            expected = sorted({id for ids in covered for id in ids})
            judged = any(PROFILES[name].judges for name in trial.profiles)
            for k, (id, limit) in enumerate(trial.enforce):
                if id not in expected:
                    why = f'is no expectation of the checks of this trial; {choice(id, expected)}'
                elif not judged and id not in guarantees:
                    why = f'decides nothing in {", ".join(trial.profiles)}; add another one to its profiles'
                elif limit is not None and id not in limited:
                    why = 'has no limit that a site could choose; write its id alone'
                else:
                    continue
                problems.append(problem(TRIAL_FILE, ['trials', i, 'enforce', k], f'{show(id)} {why}'))
        if problems:
            raise SiteError(problems)

    def check_state(self, inside: Iterable[str] = ()) -> None:
        """Raise SiteError if the state directory, or a path inside it, does not answer, or if others may change it.

        What this process makes from now on only its user may write to: the next command would refuse it.
        """
        self._refuse(next(filter(None, map(unresponsive, (self.state, *inside))), None) or self.unsafe())
        os.umask(os.umask(0o077) | 0o022)

    def unsafe(self) -> str | None:
        """Who else may change what lies in the state directory, with the remedy, or None: it has programs to run.

        Of its folders only the first level is looked at; nobody else can put anything below that.
        """
        trials = {entry.path for entry in self.trial_file.file_systems.values()}
        try:
            with os.scandir(self.state) as found:
                folders = sorted(each.path for each in found if each.path not in trials and each.is_dir())
            return self._unsafe([self.state, *folders])
        except (FileNotFoundError, NotADirectoryError):
            return self._unsafe([self.state])
        except OSError as error:
            return f'{error.filename}: {error.strerror}; correct its mode, or name another directory'

    def _unsafe(self, folders: Sequence[str]) -> str | None:
        faults: list[Shared] = list(filter(None, map(shared, folders)))
        if not faults:
            return None
        # What no chmod of this user mends comes first: its remedy is that for all.
        worst = min(faults, key=lambda each: each.by_chmod)
        why = f'{worst.why}, and what is put there can run as you'
        if worst.by_chmod:
            links = [each.path for each in faults if Path(each.path).is_symlink()]
            remedy = shell_line(['chmod', '-R', 'go-w', self.state, *links])
            return f'{why}; if all that lies in it is yours, type: {remedy}'
        beside = self.state if os.access(Path(self.state).parent, os.W_OK) else str(self.folder / 'state')
        return f'{why}; write another one, which Seatrial makes, as in state: {beside}-{os.geteuid()}'

    @staticmethod
    def _refuse(fault: str | None) -> None:
        if fault:
            raise SiteError([problem(TRIAL_FILE, ['state'], fault)])

    def make_directories(self) -> None:
        """Make the state directory, and the paths for trials that lie inside it; raises SiteError.

        Whatever this process makes afterwards is for others no more than the state directory is.

        Any other path must exist: a missing directory on a mount point is most often a missing mount. For the same
        reason the parent of the state directory must exist.
        """
        inside = [entry.path for entry in self.trial_file.file_systems.values() if lies_in(entry.path, self.state)]
        self.check_state(inside)
        try:
            Path(self.state).mkdir(mode=0o750, exist_ok=True)
            self._refuse(self.unsafe())  # somebody else may have made it meanwhile
            keep_from_others(self.state)
            for path in inside:
                Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            sentence = f'{error.filename}: {error.strerror}; make it by hand or name another directory'
            raise SiteError([problem(TRIAL_FILE, ['state'], sentence)]) from None

    def _trials(self, check: str, family: str, profile: str) -> list[TrialEntry]:
        return [trial for trial in self.trial_file.trials if trial.covers(check, family, profile)]


_FIXED = (
    'bytes_per_task',
    'files_per_task',
    'fullness',
    'transfer_size',
    'direct',
    'interface',
    'tasks_per_node',
    'max_tasks',
    'budget',
)


def _how_many(numbers: tuple[int, ...] | None) -> int | None:
    return None if numbers is None else len(numbers)


def lies_in(path: str, directory: str) -> bool:
    """Whether an absolute, normalised path is the directory or something below it, by its name alone."""
    return os.path.commonpath([path, directory]) == directory
