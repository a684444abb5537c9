"""The typed form of trial.yaml, and the site that other rooms ask."""

import grp
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from stat import S_IMODE, S_ISGID
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from seatrial.engine.registry import NAMES as ENGINE_NAMES
from seatrial.filesystem.base import may_block_s, mount_by_table
from seatrial.filesystem.mounts import is_below, mount_of, past_links
from seatrial.filesystem.registry import TYPES, by_type, same_storage
from seatrial.model.action import Action
from seatrial.model.ask import unresponsive
from seatrial.model.atomic_file import keep_from_others
from seatrial.model.hostlist import expanded
from seatrial.model.layout import TARGETS, Layout, target_key
from seatrial.model.owned import refusal, shared, user_name
from seatrial.model.plan import LAUNCHERS, Case, EngineChoice, Launcher, Limits, Monitor, Target
from seatrial.model.point import Allocation, Point
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import BINARY, SYSTEMS, parse_size
from seatrial.site.calendar import DAYS, Calendar
from seatrial.site.error import SiteError, problem, raise_any
from seatrial.site.profile import PROFILES
from seatrial.workload.access import INTERFACES
from seatrial.workload.ageing import FULLEST
from seatrial.workload.registry import kind_of

VERSION = 1
TRIAL_FILE = 'trial.yaml'
SETTINGS_FILE = 'settings.py'

DEFAULT_LAYOUT = 'default'
VALUE = '{value}'  # stands in the commands of an action for each of its values

MOST_TARGETS = 2000
MOST_HOSTLIST = 20_000  # characters
MOST_COUNT = 1_000_000
MOST_INODES = 10**12
MOST_BYTES = 2**63 - 1
MOST_SECONDS = 30 * 24 * 3600.0

_SECONDS = {'': 1, 's': 1, 'min': 60, 'h': 3600}
_DURATION = re.compile(r'([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([a-z]*)\Z', re.ASCII)
# Together the parts of a case's slug stay below the 255 bytes of a file name.
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_.-]{0,39}\Z', re.ASCII)
# fio takes a colon in a name for the end of it.
_DEVICE = re.compile(r'(?!.*\.\.)/dev/[A-Za-z0-9][A-Za-z0-9_./+-]{0,200}\Z', re.ASCII)
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


def calendar_of(at: str, days: Sequence[str]) -> Calendar:
    """The calendar of a time of day such as '02:00'. Raises ValueError with the accepted form otherwise."""
    hour, minute = _time_of_day(at).split(':')
    return Calendar(int(hour), int(minute), tuple(days))


# The docstring of a reader is its word in the column "type" of site-config.md; without one its name is.


def _version(value: Any) -> int:
    """1"""
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


def _targets(value: Any) -> int | tuple[int, ...]:
    """number, or list of numbers"""
    if isinstance(value, list):
        for number in _distinct(value):
            if type(number) is not int or not 0 <= number < MOST_TARGETS:
                raise ValueError(f'{show(number)} is not the number of a target; write 0 to {MOST_TARGETS - 1}')
        return tuple(sorted(value))
    if type(value) is not int or not 1 <= value <= MOST_TARGETS:
        remedy = f'write how many there are, up to {MOST_TARGETS}, or their numbers: [0, 1, 5]'
        raise ValueError(f'{show(value)} is neither a number of targets nor a list; {remedy}')
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
    def number(value: Any) -> int:
        if type(value) is not int or value < 1:
            raise ValueError(f'{show(value)} is not a {what}; write a whole number from 1')
        if value > most:
            raise ValueError(f'{show(value)} is too large for a {what}; write at most {most}')
        return value

    return number


def _fullness(value: Any) -> float:
    """percentage"""
    percent = int(value.rstrip(' %')) if re.fullmatch(r'[1-9]\d? ?%', str(value)) else 0
    if not 1 <= percent <= 100 * FULLEST:
        raise ValueError(f'{show(value)} is not a fullness of a file system; write 1% to {FULLEST:.0%}')
    return percent / 100


def _monthly(value: Any) -> float:
    """number above 0"""
    number = float(value) if re.fullmatch(r'\d{1,6}(\.\d{1,6})?', str(value)) else 0.0
    if not number:
        raise ValueError(f'{show(value)} is not a number per month; write a number above 0, as in 0.5')
    return number


def _truth(value: Any) -> bool:
    """true, false"""
    if type(value) is not bool:
        raise ValueError(f'{show(value)} is neither true nor false; write one of them')
    return value


def _known_or_unknown(value: Any) -> bool | None:
    """true, false, unknown"""
    if type(value) is not bool and value != 'unknown':
        raise ValueError(f'{show(value)} is not an answer; write true, false or unknown')
    return value if type(value) is bool else None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 4096:
        raise ValueError(f'{show(value)} is not a line of text; write one, in quotes where YAML reads it otherwise')
    return value


def _group(value: Any) -> str:
    """group of users"""
    name = _text(value)
    try:
        grp.getgrnam(name)
    except KeyError:
        raise ValueError(f'{show(name)} is not a group on this host; getent group lists them') from None
    return name


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.match(value) or value.lower() in _YAML_WORDS:
        limits = '(at most 40 in all; not yes, no, on, off, true, false or null)'
        raise ValueError(f'{show(value)} cannot be a name; write a letter, then letters, digits, _ . or - {limits}')
    return value


def _layout_name(value: Any) -> str:
    if value == DEFAULT_LAYOUT:
        raise ValueError(f"'{DEFAULT_LAYOUT}' is the name of the layout that exists everywhere; choose another name")
    return _name(value)


def _form(pattern: re.Pattern[str], word: str, what: str) -> Callable[[Any], str]:
    """A reader of texts of this form, for a key of a site's file. word: names the form in the documentation"""

    def text(value: Any) -> str:
        if not isinstance(value, str) or not pattern.match(value):
            raise ValueError(f'{show(value)} is not {what}')
        return value

    text.__doc__ = word
    return text


_partition = _form(
    _PARTITION, '`system:partition`', "a partition; write ReFrame's system:partition, as in cluster:compute"
)
_check = _form(_CHECK, 'check', "a check; write a family, the class name of a check, or '*' for all")
_time_of_day = _form(_TIME_OF_DAY, '`HH:MM`', 'a time of day; write hours and minutes: 02:00')
_option = _form(_OPTION, 'option', 'an option of sbatch without blanks; write it as in --partition=admin')
_licence = _form(_LICENCE, 'licence', "a licence; write it as Slurm's --licenses does, as in tide or tide:2")
_device = _form(_DEVICE, 'device', 'a device; write a path without colon, as in /dev/sdb')


def one_of(what: str, known: Sequence[str]) -> Callable[[Any], str]:
    """A reader of one of these words, for a key of a site's file."""

    def chosen(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError(f'{show(value)} is not {what}; {choice(value, known)}')
        return value

    chosen.__doc__ = ', '.join(f'`{word}`' for word in known)
    return chosen


_NO_PATH = re.compile(r'(?i)(?:y|n|yes|no|on|off|true|false|null|none|~|[-+]?(?:\.?inf|\.?nan|[0-9][0-9.e+-]*))\Z')


def _path(value: Any, info: ValidationInfo) -> str:
    path = _unexpanded(_text(value)).replace('{user}', user_name(os.geteuid()))
    if _NO_PATH.match(path):
        raise ValueError(f'{show(path)} looks like a word or a number and no path; write ./{path} if it is one')
    base = info.context if isinstance(info.context, Path) else Path.cwd()
    return '/' + os.path.normpath(base / path).lstrip('/')


def _mount(value: Any) -> str:
    """absolute path"""
    path = _unexpanded(_text(value))
    if not path.startswith('/'):
        raise ValueError(f'{show(value)} is not a mount point; write an absolute path')
    return '/' + os.path.normpath(path).lstrip('/')


def _program(value: Any) -> str:
    program = _unexpanded(_text(value))
    if '/' in program and not program.startswith('/'):
        remedy = 'write an absolute one, or a name to be found on the PATH'
        raise ValueError(f'{show(value)} is a relative path; {remedy}')
    return program


def _hosts(value: Any) -> tuple[str, ...]:
    """nodes"""
    try:
        hosts = expanded(value) if isinstance(value, str) and len(value) <= MOST_HOSTLIST else ()
    except ValueError:
        hosts = ()
    if not hosts or not all(map(_HOST.match, hosts)):
        raise ValueError(f"{show(value)} is not a list of nodes; write it as Slurm does: n[01-16],m3 (sinfo -o '%N')")
    return hosts


def _groups(value: Any) -> dict[str, Any]:
    if len(_filled(value)) < 2:
        raise ValueError('a single group cannot be compared; write two or more, or remove groups')
    return dict(value)


def _command(value: Any) -> tuple[Any, ...]:
    """command"""
    program, *arguments = _listed(value)
    return (_program(program), *arguments)


def _unexpanded(text: str) -> str:
    if text.startswith('~') or '$' in text:
        raise ValueError(f'{show(text)}: ~ and $ are not expanded; write the path in full')
    return text


class Enforced(NamedTuple):
    """An expectation that is a criterion."""

    id: str
    limit: float | None = None  # the site's own; None: that of the check


def _enforced(value: Any) -> tuple[Enforced, ...]:
    """list of ids, or of `{id: limit}`"""
    items = tuple(_one_enforced(item) for item in _listed(value))
    _distinct([item.id for item in items])
    return items


def _one_enforced(value: Any) -> Enforced:
    if isinstance(value, dict) and len(value) == 1:
        ((id_, limit),) = value.items()
        if re.fullmatch(r'\d{1,6}(\.\d{1,6})?', str(limit)) and float(limit) > 0:
            return Enforced(_text(id_), float(limit))
        raise ValueError(f'{show(limit)} is not a limit of {show(id_)}; write a number above 0: {{FN-08a: 1.5}}')
    return Enforced(_text(value))


def _listed(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f'expected a list of values, found {show(value)}; write one or more in []')
    return tuple(value)


def _distinct(value: Any) -> tuple[Any, ...]:
    items = _listed(value)
    words = [show(item) for item in items if isinstance(item, (str, int))]
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise ValueError(f'{twice} is listed twice; keep one')
    return items


def _filled(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        what = 'nothing' if value == {} else show(value)
        raise ValueError(f'expected named entries, found {what}; write at least one, indented')
    return value


def _alone(key: str) -> Callable[[Any], Any]:
    """A reader of an entry in whose place the value of this key may stand alone."""
    return lambda value: {key: value} if isinstance(value, str) else value


def _no_mpi_starter(value: Any) -> Any:
    if value in ('mpirun', 'mpiexec', 'orterun'):  # names that several MPIs give to their own
        raise ValueError(f'{show(value)} is not a launcher; write openmpi, or hydra for MPICH')
    return value


Version = Annotated[int, BeforeValidator(_version)]
Text = Annotated[str, BeforeValidator(_text)]
Command = Annotated[tuple[Text, ...], BeforeValidator(_command)]
Size = Annotated[int, BeforeValidator(_size(1))]
AnySize = Annotated[int, BeforeValidator(_size(0))]
Seconds = Annotated[float, BeforeValidator(_duration(1.0))]
Count = Annotated[int, BeforeValidator(_count('number'))]
TaskCount = Annotated[int, BeforeValidator(_count('number of tasks'))]
FileCount = Annotated[int, BeforeValidator(_count('number of files', MOST_INODES))]
Inodes = Annotated[int, BeforeValidator(_count('number of inodes', MOST_INODES))]
Interface = Annotated[str, BeforeValidator(one_of('an interface', INTERFACES))]
Truth = Annotated[bool, BeforeValidator(_truth)]
Name = Annotated[str, BeforeValidator(_name)]
Targets = Annotated[int | tuple[int, ...], BeforeValidator(_targets)]
NodeCount = Annotated[int, BeforeValidator(_count('node count'))]
EngineName = Annotated[str, BeforeValidator(one_of('an engine', ENGINE_NAMES))]
LauncherKind = Annotated[str, BeforeValidator(one_of('a launcher', [*LAUNCHERS])), BeforeValidator(_no_mpi_starter)]
ProfileName = Annotated[str, BeforeValidator(one_of('a profile', tuple(PROFILES)))]
PathText = Annotated[str, BeforeValidator(_path)]
Program = Annotated[str, BeforeValidator(_program)]
PartitionName = Annotated[str, BeforeValidator(_partition)]
Listed = BeforeValidator(_listed)
Distinct = BeforeValidator(_distinct)
Filled = BeforeValidator(_filled)


class Entry(BaseModel):
    """A mapping of trial.yaml. An unknown key is an error. Of a field's `examples` the first is the remedy. The text
    below each field, and what its reader says of itself, are in site-config.md (docs/generate.py)."""

    model_config = ConfigDict(frozen=True, extra='forbid')


class EngineEntry(Entry):
    """An engine, and the program that carries it where that is not the engine's own name on the PATH."""

    name: EngineName = Field(examples=['ior'])
    """the engine; a name alone stands for such an entry"""
    program: Annotated[str | None, BeforeValidator(_program)] = None
    """where it is not the engine's own name on the `PATH`"""


class LimitsEntry(Entry):
    """The most that a session may have on a file system at any time; no default: it is the site's decision."""

    bytes: Size = Field(examples=['4GiB'])
    """the most that a session may have there at any time; a plan that needs more is refused"""
    inodes: Inodes = Field(examples=['100000'])
    """the same, of inodes"""
    keep_bytes: AnySize = 0
    """what must stay free for others: a plan that leaves less is refused, and no launch begins below it"""
    keep_inodes: Inodes = 0
    """the same, of inodes"""


class PrecheckEntry(Entry):
    """A setting that is to be as the site has decided: what the command is to print, in each of its lines."""

    command: Command = Field(examples=['[ssh, oss1, zfs, get, -H, -o, value, canmount, ostpool1]'])
    """prints the setting and changes nothing, on the host of `seatrial doctor`, in 10 s at most"""
    value: Text = Field(examples=["'off'"])
    """what each line of it has to be"""


class FileSystemEntry(Entry):
    """A file system under test. Paths are absolute here, sizes in bytes, times in seconds."""

    type: Annotated[str, BeforeValidator(one_of('a file system type', TYPES))] = Field(examples=['lustre'])
    """which driver asks for quota, caches and layouts: [what each can](file-systems.md). `posix` is a local disk"""
    path: PathText = Field(examples=['/lustre/scratch/seatrial'])
    """where the run directories are made; nothing outside them is ever written or deleted"""
    limits: LimitsEntry = Field(examples=['{bytes: 4GiB, inodes: 100000}'])
    """the most that a session may have there, and what must stay free"""
    mount: Annotated[str | None, BeforeValidator(_mount)] = None
    """`path` must lie inside it and on the same device: a trial on an unmounted file system is refused"""
    storage_system: Annotated[str | None, BeforeValidator(_name)] = None
    """what the lock is taken on; write the same name for two mounts where the table of mounts does not show that they
    share servers"""
    records_on_target: Truth = False
    """lets the records lie on this file system; every report then says so"""
    drop_caches: Truth = False
    """lets a job empty the caches of its node"""
    recovery_limit: Annotated[float | None, BeforeValidator(_duration(0.0))] = None
    """how long a healthy failover may block I/O; without it that of the [type](file-systems.md)"""
    compresses: Annotated[bool | None, BeforeValidator(_known_or_unknown)] = None
    """whether the back end compresses. Unless it is false, data that compress are INVALID"""
    deduplicates: Annotated[bool | None, BeforeValidator(_known_or_unknown)] = None
    """whether it keeps equal data once. Where it is true, data that repeat are INVALID; where unknown, labelled"""
    server_cache_bytes: Annotated[int | None, BeforeValidator(_size(0))] = None
    """memory of all servers that may answer reads. Undeclared: figures are labelled, no storage criterion passes"""
    fast_tier_bytes: Annotated[int | None, BeforeValidator(_size(0))] = None
    """the same for flash or NVRAM in front of the disks"""
    targets_may_be_away: Truth = False
    """whether cases run, with a label, while a target or a server is away (rule P22)"""
    to_be_filled: Annotated[str, BeforeValidator(one_of('what may be filled', ('quota', 'all')))] = ''
    """what [limits](../how-to/limits.md) may fill: a quota, or the whole file system"""
    osts: Targets | None = None
    """how many targets were bought, or the numbers of those that are to be compared"""
    mdts: Targets | None = None
    """the same of metadata targets"""
    bricks: Targets | None = None
    """the same on `glusterfs`, in the order of `gluster volume info`; of replicas a set is one"""
    storage_targets: Targets | None = None
    """the same on `beegfs`: their numbers, as `beegfs target list` shows them"""
    devices: Annotated[tuple[Annotated[str, BeforeValidator(_device)], ...], Distinct] = ()
    """the raw devices on which it lies, for [`RawDevices`](expectations.md), which only reads them"""
    layouts: Annotated[dict[Annotated[str, BeforeValidator(_layout_name)], Any], Filled] = {}
    """beside `default`, which is always there. Only on `lustre`, [`cephfs`](#cephfs) and [`beegfs`](#beegfs)"""
    telemetry: Command = ()
    """asks the servers for their counters, on the node of the job, before and after each case"""
    monitors: Annotated[dict[Name, Command], Filled] = {}
    """servers whose disks and network are seen every second of each case: how each is reached"""
    prechecks: dict[Text, PrecheckEntry] = {}
    """settings that `seatrial doctor` compares; it exits with 64 where one differs"""

    @model_validator(mode='before')
    @classmethod
    def _own_place(cls, entry: Any) -> Any:
        """Only absolute paths, except beside the records: a path in typographic quotes once became a folder here."""
        path = entry.get('path') if isinstance(entry, dict) and entry.get('records_on_target') is not True else None
        if isinstance(path, str) and not path.startswith(('/', '~', '$')):
            remedy = 'write an absolute one without further quotes, or records_on_target: true beside it'
            raise ValueError(f'path: {show(path)} is relative and leads into the folder of the site; {remedy}')
        return entry

    def numbers(self, kind: str) -> tuple[int, ...] | None:
        """The declared target numbers of a kind (TARGETS); None if the site declares none."""
        declared = getattr(self, target_key(kind))
        return tuple(range(declared)) if isinstance(declared, int) else declared


class LauncherEntry(Entry):
    """The way in which a launch reaches the nodes of a partition."""

    kind: LauncherKind = Field(examples=['srun'])
    """`local` reaches one node. A kind alone stands for such an entry"""
    arguments: Annotated[tuple[Text, ...], Listed] = ()
    """passed on to it, such as `--mpi=pmi2`"""


class Partition(Entry):
    """Seatrial's settings for one of ReFrame's partitions."""

    launcher: Annotated[LauncherEntry, BeforeValidator(_alone('kind'))] = Field(examples=['srun'])
    """how a launch reaches the nodes"""
    tasks_per_node: TaskCount = Field(examples=['8'])
    """the most tasks on a node"""
    memory: Size | None = None
    """of a node. The profile acceptance moves twice that much (rule P16)"""
    python: Program | None = None
    """the interpreter on the nodes, 3.6 or later; without it the job looks for one"""
    programs: Annotated[dict[EngineName, Program], Filled] = {}
    """other binaries than `engines` names, as for another architecture"""
    darshan: PathText | None = None
    """`libdarshan.so` of the nodes, built for their MPI: [Darshan](../how-to/darshan.md)"""
    queue_limit: Seconds = 24 * 3600.0
    """a job that has not begun by then is cancelled, and its case is INCOMPLETE with Slurm's reason"""
    groups: Annotated[dict[Name, Annotated[tuple[Text, ...], BeforeValidator(_hosts)]], BeforeValidator(_groups)] = {}
    """nodes that are compared while all work at once: `{rack1: 'n[01-16]', rack2: 'n[17-32]'}`. See
    [groups](../explanation/statistics.md#groups-of-nodes-at-once)"""

    @model_validator(mode='after')
    def _apart(self) -> 'Partition':
        of: dict[str, str] = {}
        for group, hosts in self.groups.items():
            for host in hosts:
                if host in of:
                    raise ValueError(f'groups: {host} is in {of[host]} and in {group}; keep one')
                of[host] = group
        return self


class ActionEntry(Entry):
    """An action: commands that take servers away, or burden them, and undo that. Times in seconds."""

    start: Command = Field(examples=['[/root/stop-oss, oss3]'])
    """takes servers away, or burdens them. All commands of an action run on the login side"""
    undo: Command = Field(examples=['[/root/start-oss, oss3]'])
    """undoes that"""
    check: Command = Field(examples=['[/root/oss-is-up, oss3]'])
    """exits with 0 while the storage is healthy"""
    file_systems: Annotated[tuple[Name, ...], Distinct] = Field(examples=['[scratch]'])
    """those that the action may hit"""
    count: Command = ()
    """prints a whole number, as of messages in a log;
    [how much it rises](../how-to/scenarios.md#which-number-is-best) is reported"""
    values: Annotated[tuple[Annotated[int, Field(strict=True, ge=1)], ...], Listed] = ()
    """of a [tunable](../how-to/scenarios.md#which-number-is-best), ascending: `{value}` in the commands stands for
    each"""
    timeout: Seconds = 120.0
    """of each command; then its process group is killed"""

    @model_validator(mode='after')
    def _sweeps(self) -> 'ActionEntry':
        if self.values and (len(self.values) < 3 or list(self.values) != sorted(set(self.values))):
            raise ValueError('the values of a tunable are three whole numbers or more, each above the one before')
        if bool(self.values) != any(VALUE in word for word in self.start):
            raise ValueError(f'values and {VALUE} in start go together; write both or neither')
        return self

    def action(self, name: str, value: str) -> Action:
        """The action with this value of a tunable, or with none where it is empty."""
        argvs = self.start, self.undo, self.check, self.count
        start, undo, check, count = (tuple(word.replace(VALUE, value) for word in argv) for argv in argvs)
        return Action(f'{name}-{value}' if value else name, start, undo, check, self.timeout, count)


BY_NAME = ('io500', 'iodd', 'kept')
"""Families that '*' does not ask for: of hundreds of GiB with patterns of other checks; that IOR alone can carry out,
which no bare machine has; whose trees stay."""

CUTS = ('repetitions', 'points', 'checks')
"""Of a session whose time does not suffice: repetitions to the fewest, points of sweeps, whole checks."""


class Combinations(Entry):
    """Which checks run where: every combination of what its lists name is a case."""

    checks: Annotated[tuple[Annotated[str, BeforeValidator(_check)], ...], Distinct] = Field(examples=['[access]'])
    """families (folders of `checks/`), class names of checks, or `'*'` for all but those that need their name"""
    partitions: Annotated[tuple[PartitionName, ...], Distinct] = Field(examples=['[cluster:compute]'])
    """keys of `partitions`"""
    file_systems: Annotated[tuple[Name, ...], Distinct] = Field(examples=['[scratch]'])
    """keys of `file_systems`"""
    nodes: Annotated[tuple[NodeCount, ...], Distinct] = Field(examples=['[1, 2, 4]'])
    """of the allocation. A sweep over tasks uses parts of it"""
    layouts: Annotated[tuple[Name, ...], Distinct] = (DEFAULT_LAYOUT,)
    """every file system of the trial must have every one of them"""
    profiles: Annotated[tuple[ProfileName, ...], Distinct] = tuple(PROFILES)
    """when the trial takes part"""

    def covers(self, check: str, family: str, profile: str) -> bool:
        """True if the trial asks for this check under this profile, by its name, its family or '*'."""
        return profile in self.profiles and self.asks_for(check, family)

    def asks_for(self, check: str, family: str) -> bool:
        names = {check, family} if family in BY_NAME else {check, family, '*'}
        return not names.isdisjoint(self.checks)

    def gives(self, case: Case) -> bool:
        lists = self.partitions, self.file_systems, self.layouts, self.nodes
        return all(value in values for value, values in zip(case[1:], lists, strict=True))

    def cases(self, check: str) -> list[Case]:
        """Every case of the check, in the order of the lists."""
        places = product(self.partitions, self.file_systems, self.layouts, self.nodes)
        return [Case(check, *place) for place in places]


class Overrides(Entry):
    """The values a trial fixes for its cases, times in seconds; None leaves them to check, profile or allocation."""

    bytes_per_task: Annotated[int | None, BeforeValidator(_size(1))] = None
    """fixes what a task moves, in every profile; of random I/O it is its share of the working set"""
    files_per_task: Annotated[int | None, BeforeValidator(_count('number of files', MOST_INODES))] = None
    """the same for the files and directories of a metadata check, where its trees may be of any size"""
    fullness: Annotated[float | None, BeforeValidator(_fullness)] = None
    """of [ageing](../how-to/ageing.md): how much of the file system is in use when its trees are there"""
    transfer_size: Annotated[int | None, BeforeValidator(_size(1))] = None
    """fixes the bytes of a transfer; a sweep over transfer sizes then has this one point"""
    direct: Annotated[bool | None, BeforeValidator(_truth)] = None
    """O_DIRECT, past the page cache, in checks of data access. Random I/O is direct or cached as its check says"""
    interface: Annotated[str | None, BeforeValidator(one_of('an interface', INTERFACES))] = None
    """the calls by which data are moved; without it as the check says"""
    tasks_per_node: Annotated[int | None, BeforeValidator(_count('number of tasks'))] = None
    """fewer tasks a node than the partition allows"""
    max_tasks: Annotated[int | None, BeforeValidator(_count('number of tasks'))] = None
    """caps the tasks of a launch; at least one a node"""
    budget: Annotated[float | None, BeforeValidator(_duration(1.0))] = None
    """after it a case starts no new launch; without it that of the profile"""
    points: Annotated[int | None, BeforeValidator(_count('number of points'))] = None
    """the most points of a sweep, evenly spread; without it those of the profile"""

    def applied(self, template: Point) -> dict[str, Any]:
        """The parameters that it fixes, as far as a trial may fix them for this kind of workload."""
        fixed = {name: getattr(self, name) for name in kind_of(template.kind).of_trial}
        return {name: value for name, value in fixed.items() if value is not None}

    def share(self, template: Point) -> int | None:
        """The amount it fixes for each task: bytes of data, files of metadata."""
        return self.bytes_per_task if kind_of(template.kind).moves_data else self.files_per_task


class TrialEntry(Overrides, Combinations):
    """One entry of trials. The fields of the last base come first, in the documentation and in procedures."""

    enforce: Annotated[tuple[Enforced, ...], BeforeValidator(_enforced)] = ()
    """expectations of the literature that are criteria here: [expectations](expectations.md)"""


class ScheduleEntry(Entry):
    """When Slurm runs a profile by itself, and how its job is submitted. Times in seconds."""

    at: Annotated[str, BeforeValidator(_time_of_day)] = '02:00'
    """when it is due, in the time zone of the host, which should be that of Slurm's controller"""
    days: Annotated[tuple[Annotated[str, BeforeValidator(one_of('a day', DAYS))], ...], Distinct] = DAYS
    """on which days"""
    access: Annotated[tuple[Annotated[str, BeforeValidator(_option)], ...], Listed] = ()
    """how the job is submitted: account, QOS, reservation, and a partition whose nodes the cases do not need"""
    licence: Annotated[str | None, BeforeValidator(_licence)] = None
    """as in `sbatch --licenses`: a licence of Slurm that stands for the storage system"""
    time_limit: Annotated[float | None, BeforeValidator(_duration(60.0))] = None
    """after it Slurm ends the job; ten minutes before, the session is asked to end"""
    inconclusive_nights: Annotated[int, BeforeValidator(_count('number of nights'))] = 3
    """a notification goes out after so many nights in a row without a valid result, or with an INVALID criterion"""

    @property
    def calendar(self) -> Calendar:
        return calendar_of(self.at, self.days)


class TrialFile(Entry):
    """trial.yaml as a whole."""

    version: Version = Field(examples=[str(VERSION)])
    """the form of this file"""
    state: PathText = Field(examples=['/home/hpc/seatrial'])
    """sessions, records and locks; login and compute nodes must both see it"""
    state_group: Annotated[str | None, BeforeValidator(_group)] = None
    """the group that may read `state`; without it that of the user who makes it"""
    checks: Annotated[tuple[PathText, ...], Listed] | None = None
    """folders of the site's own check files, beside those that came with Seatrial; without it `checks` in the site's
    folder"""
    file_systems: Annotated[dict[Name, FileSystemEntry], Filled] = Field(
        examples=['{scratch: {type: lustre, path: /lustre/scratch/seatrial, limits: {bytes: 4GiB, inodes: 100000}}}']
    )
    """what is tested"""
    partitions: Annotated[dict[PartitionName, Partition], Filled] = Field(
        examples=['{cluster:compute: {launcher: srun, tasks_per_node: 8}}']
    )
    """where tasks run"""
    trials: Annotated[tuple[TrialEntry, ...], Listed] = Field(
        examples=['[{checks: [access], partitions: [cluster:compute], file_systems: [scratch], nodes: [1]}]']
    )
    """what runs where"""
    engines: Annotated[tuple[Annotated[EngineEntry, BeforeValidator(_alone('name'))], ...], Listed] = tuple(
        EngineEntry(name=name) for name in ENGINE_NAMES
    )
    """in order of preference: a case takes the first that is on the node and can carry it out exactly. For the
    few files of the profiles `first` and `smoke`, fio comes last: it times in milliseconds"""
    schedule: Annotated[dict[ProfileName, ScheduleEntry], Filled] = {}
    """what Slurm runs by itself"""
    actions: Annotated[dict[Name, ActionEntry], Filled] = {}
    """commands that take servers away and bring them back"""
    notify: Command = ()
    """sends a notification of a [scheduled trial](../how-to/scheduled.md#notifications), as a mail or to a web
    service"""
    false_notifications: Annotated[float, BeforeValidator(_monthly)] = 1.0
    """how many false notifications of a change the site accepts a month: the threshold of
    `seatrial trend`. Fewer find small changes later: [nights](../explanation/statistics.md#sessions-and-nights)"""
    cuts: Annotated[tuple[Annotated[str, BeforeValidator(one_of('what can be cut', CUTS))], ...], Distinct] = CUTS
    """what `seatrial plan --fit` leaves out where time is short, in this order; of checks the last first"""
    units: Annotated[str, BeforeValidator(one_of('a system of units', SYSTEMS))] = BINARY
    """of the figures that are shown: GiB/s, or GB/s. References may have any unit"""


@dataclass(frozen=True)
class Site:
    """A checked site. Names must come from its own cases; others raise KeyError."""

    folder: Path
    trial_file: TrialFile

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def state(self) -> str:
        return self.trial_file.state

    @property
    def units(self) -> str:
        return self.trial_file.units

    @property
    def false_notifications(self) -> float:
        """The number allowed a month for each scheduled profile: an equal share of the site's number."""
        return self.trial_file.false_notifications / max(1, len(self.trial_file.schedule))

    def session_folder(self, session: str) -> Path:
        """The folder of a session in the state directory. Raises SiteError if others may change its contents."""
        folder = Path(self.state) / 'sessions' / session
        self._refuse(refusal(self.state, [str(folder)], self._another_state))
        return folder

    def with_trials(self, trials: Sequence[TrialEntry]) -> 'Site':
        return replace(self, trial_file=self.trial_file.model_copy(update={'trials': tuple(trials)}))

    def cases(self, check: str, family: str, profile: str) -> list[Case]:
        """Every case that the trials ask of this check, once each, in the order of the file."""
        asking = (trial for trial in self.trial_file.trials if trial.covers(check, family, profile))
        return list(dict.fromkeys(case for trial in asking for case in trial.cases(check)))

    def overrides(self, case: Case, family: str, profile: str) -> Overrides:
        """The parameters that all trials of a case fix together; check_overrides refuses contradictions."""
        fixed: dict[str, Any] = {}
        for trial in reversed(self._giving(case, family, profile)):
            fixed |= {key: value for key in Overrides.model_fields if (value := getattr(trial, key)) is not None}
        return Overrides.model_construct(**fixed)

    def enforced(self, case: Case, family: str, profile: str) -> dict[str, float | None]:
        """The expectations that these trials make criteria, each with the site's limit, or None."""
        return {id: limit for trial in self._giving(case, family, profile) for id, limit in trial.enforce}

    def allocation(self, case: Case, overrides: Overrides | None = None) -> Allocation:
        """The largest launch of a case: all its nodes with the partition's tasks, or those its trial asks for."""
        wanted = overrides or Overrides()
        most = wanted.tasks_per_node or self.partition(case.partition).tasks_per_node
        return Allocation(case.nodes, min(most, (wanted.max_tasks or case.nodes * most) // case.nodes))

    def file_system(self, name: str) -> FileSystemEntry:
        return self.trial_file.file_systems[name]

    def partition(self, name: str) -> Partition:
        return self.trial_file.partitions[name]

    def target(self, file_system: str, layout: str) -> Target:
        """The file system under test with one of its layouts, as the plan carries it."""
        entry = self.file_system(file_system)
        driver, recovery_limit_s = by_type(entry.type), entry.recovery_limit
        if recovery_limit_s is None:
            recovery_limit_s = may_block_s(driver, mount_of(past_links(entry.path)))
        same = {key: getattr(entry, key) for key in Target._fields if key in FileSystemEntry.model_fields}
        numbers = {target_key(kind): entry.numbers(kind) for kind in TARGETS}
        counted = {key: of_kind if of_kind is None else len(of_kind) for key, of_kind in numbers.items()}
        changed = {
            'storage_system': entry.storage_system or self._storage_of(file_system),
            'limits': Limits(*(getattr(entry.limits, name) for name in Limits._fields)),
            'monitors': tuple(Monitor(server, argv) for server, argv in entry.monitors.items()),
        }
        return Target(
            name=file_system,
            layout=Layout() if layout == DEFAULT_LAYOUT else driver.layout(layout, entry.layouts[layout]),
            recovery_limit_s=recovery_limit_s,
            listed=tuple(kind for kind in TARGETS if isinstance(getattr(entry, target_key(kind)), tuple)),
            no_layout=driver.no_layout,
            tried=driver.tried,
            **{**same, **counted, **changed},
        )

    def _storage_of(self, file_system: str) -> str:
        """The storage system of the first file system of the site whose mount has the same storage, so that one
        lock holds for both: two filesets of a GPFS device, two mounts of a server. No file system is asked."""
        entry = self.file_system(file_system)
        mount = mount_by_table(by_type(entry.type), entry.path)
        for name, other in self.trial_file.file_systems.items():
            if name == file_system or same_storage(mount_by_table(by_type(other.type), other.path), mount):
                return other.storage_system or name
        return file_system

    def actions(self, file_system: str, tunable: bool = False) -> tuple[Action, ...]:
        """The actions for a file system, in the order of the file; tunable ones once for each of their values."""
        return tuple(
            entry.action(name, str(value))
            for name, entry in self.trial_file.actions.items()
            if file_system in entry.file_systems and bool(entry.values) == tunable
            for value in entry.values or ('',)
        )

    def schedule(self, profile: str) -> ScheduleEntry:
        """The schedule of a profile; the default if the site has none."""
        return self.trial_file.schedule.get(profile, ScheduleEntry())

    def launcher(self, partition: str) -> Launcher:
        entry = self.partition(partition).launcher
        return Launcher(entry.kind, entry.arguments)

    def engine_choices(self, only: str | None = None) -> tuple[EngineChoice, ...]:
        """The engines in the site's order of preference; with `only` that one alone, with the site's program."""
        choices = tuple(EngineChoice(entry.name, entry.program or entry.name) for entry in self.trial_file.engines)
        if only is None:
            return choices
        return tuple(choice for choice in choices if choice.name == only) or (EngineChoice(only, only),)

    def on_partition(self, partition: str, choices: Iterable[EngineChoice]) -> tuple[EngineChoice, ...]:
        """The engines with the partition's own programs, if it has any."""
        programs = self.partition(partition).programs
        return tuple(choice._replace(program=programs.get(choice.name, choice.program)) for choice in choices)

    def check_names(self, known: Mapping[str, str]) -> None:
        """Raises SiteError for names in trials[].checks that are neither check nor family. known: family by check"""
        names = sorted({*known, *known.values()})
        sentence = '{} is neither a check nor a family; {}'
        raise_any(
            problem(TRIAL_FILE, ['trials', i, 'checks', k], sentence.format(show(name), choice(name, names)))
            for i, trial in enumerate(self.trial_file.trials)
            for k, name in enumerate(trial.checks)
            if name != '*' and name not in names
        )

    def check_overrides(self, known: Mapping[str, str]) -> None:
        """Raises SiteError for trials that give the same case (of `known`, check: family) and fix it differently."""
        trials = list(enumerate(self.trial_file.trials))
        problems: dict[str, None] = {}
        for (check, family), profile in product(known.items(), PROFILES):
            asking = [(i, trial) for i, trial in trials if trial.covers(check, family, profile)]
            for (i, first), (k, other) in combinations(asking, 2):
                shared = next((case for case in first.cases(check) if other.gives(case)), None)
                if shared is None:
                    continue
                sentence = f'differs from trials[{i}], which has the case {shared.name} too; write the same in both'
                for key in Overrides.model_fields:
                    values = getattr(first, key), getattr(other, key)
                    if None not in values and values[0] != values[1]:
                        problems[problem(TRIAL_FILE, ['trials', k, key], sentence)] = None
                limits, others = dict(first.enforce), dict(other.enforce)
                for id_ in limits.keys() & others.keys():
                    if limits[id_] != others[id_]:
                        fault = f'the limit of {id_} {sentence}'
                        problems[problem(TRIAL_FILE, ['trials', k, 'enforce'], fault)] = None
        raise_any(problems)

    def check_enforced(
        self, known: Mapping[str, tuple[str, Collection[str]]], guarantees: Collection[str], limited: Collection[str]
    ) -> None:
        """Raises SiteError for ids in trials[].enforce that no check of the trial has, or that decide nothing there.
        known: family and ids of the expectations, by check; guarantees: the ids that every profile judges, others are
        not judged in a smoke test; limited: ids whose limit a site can choose"""
        problems = []
        for i, trial in enumerate(self.trial_file.trials):
            covered = [ids for check, (family, ids) in known.items() if trial.asks_for(check, family)]
            expected = sorted({id for ids in covered for id in ids})
            judged = any(PROFILES[name].judges for name in trial.profiles)
            for k, (id, limit) in enumerate(trial.enforce):
                if id not in expected:
                    why = f'is not an expectation of the checks of this trial; {choice(id, expected)}'
                elif not judged and id not in guarantees:
                    why = f'decides nothing in {", ".join(trial.profiles)}; add another profile to the trial'
                elif limit is not None and id not in limited:
                    why = 'has no limit that a site can set; write its id alone'
                else:
                    continue
                problems.append(problem(TRIAL_FILE, ['trials', i, 'enforce', k], f'{show(id)} {why}'))
        raise_any(problems)

    def check_state(self, inside: Iterable[str] = ()) -> None:
        """Raises SiteError if the state directory, or a path inside it, does not answer, or others may change it."""
        self._refuse(next(filter(None, map(unresponsive, (self.state, *inside))), None) or self.unsafe())

    def unsafe(self) -> str:
        """A sentence on other users who may change the state directory, which holds programs to run; or empty. Only
        the first level of its folders is checked: nobody else can put anything below that."""
        trials = {entry.path for entry in self.trial_file.file_systems.values()}
        try:
            with os.scandir(self.state) as entries:
                folders = sorted(entry.path for entry in entries if entry.path not in trials and entry.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            folders = []
        except OSError as error:
            return f'{error.filename}: {error.strerror}; correct its permissions, or name another directory'
        return refusal(self.state, folders, self._another_state)

    def _another_state(self) -> str:
        for base in (self.state, str(self.folder / 'state'), os.environ.get('HOME', '') + '/seatrial'):
            path = f'{base}-{os.geteuid()}'
            if os.access(Path(path).parent, os.W_OK) and not shared(path):
                return f'name another directory, which Seatrial will make: state: {path}'
        return 'name another directory, below one that nobody else can change'

    @staticmethod
    def _refuse(fault: str | None) -> None:
        if fault:
            raise SiteError([problem(TRIAL_FILE, ['state'], fault)])

    def make_directories(self) -> None:
        """Makes the state directory, and the paths for trials that lie inside it; raises SiteError. Any other path,
        and the parent of the state directory, must exist: it is most often a mount that is missing. Files made by
        this process afterwards get no wider permissions than the state directory has."""
        inside = [entry.path for entry in self.trial_file.file_systems.values() if is_below(entry.path, self.state)]
        self.check_state(inside)
        try:
            Path(self.state).mkdir(mode=0o750, exist_ok=True)
            self._refuse(self.unsafe())  # somebody else may have made it meanwhile
            group, status = self.trial_file.state_group, Path(self.state).stat()
            if group is not None and (wanted := grp.getgrnam(group).gr_gid) != status.st_gid:
                # By its setgid bit all that will be made in it is of that group, too.
                os.chown(self.state, -1, wanted)
                Path(self.state).chmod(S_IMODE(status.st_mode) | S_ISGID | 0o050)
            keep_from_others(self.state)
            for path in inside:
                Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            sentence = f'{error.filename}: {error.strerror}; make it by hand or name another directory'
            raise SiteError([problem(TRIAL_FILE, ['state'], sentence)]) from None

    def _giving(self, case: Case, family: str, profile: str) -> list[TrialEntry]:
        trials = self.trial_file.trials
        return [trial for trial in trials if trial.covers(case.check, family, profile) and trial.gives(case)]
