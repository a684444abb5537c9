"""GPFS (IBM Storage Scale): recognised by its mount. Untried: written from IBM's documentation and from outputs of
its tools that sites have published. GPFS has a pagepool and an inode cache of its own ("GPFS and memory"), which
drop_caches does not empty. Its tools are mostly off the PATH, and some exit with 0 after an error: an answer counts
only if it has the expected form."""

import contextlib
import os
import re
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple
from urllib.parse import unquote

from seatrial.filesystem.base import Behaviour, Capacity, Cold, NoAnswer, Targets, answered, tightest
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, group_of_new_files, look, pairs_of, unknown
from seatrial.model.ask import ask
from seatrial.model.quoted_value import show
from seatrial.model.record import TargetRow

ANSWER_S = 10.0
MM_S = 20.0
MM = '/usr/lpp/mmfs/bin'
PACKAGE_QUERIES = (['rpm', '--query'], ['dpkg-query', '--show', '--showformat=${Package}-${Version}'])
WELL = ('HEALTHY', 'TIPS', 'DISABLED')  # states of mmhealth without trouble: also hints, and what is switched off
AWAY = ('FAILED', 'DEPEND')
ATTRIBUTES = (  # of the directory in `mmlsattr -L`; compression stands among the miscellaneous ones
    *('storage pool name', 'fileset name', 'metadata replication', 'data replication'),
    *('flags', 'Misc attributes', 'Encrypted'),
)
# Components of mmhealth that I/O of this node goes through: not what monitors, serves other protocols or has a page.
COMPONENTS = ('ENCRYPTION', 'FILESYSTEM', 'GPFS', 'LOCALCACHE', 'NATIVE_RAID', 'NETWORK', 'SERVERRAID')
KIB = 1024  # mmlsquota counts KB of 1024 B with -Y; its table names another unit where the site has asked for one
COUNTED = tuple(of + what for of in ('block', 'files') for what in ('Usage', 'Quota', 'Limit', 'InDoubt', 'Grace'))
_COUNTS = ' +(-?[0-9]+)' * 4 + r' +(\S+)'
_QUOTA = re.compile(rf'^\S+(?: +(\S+))? +(?:USR|GRP|FILESET){_COUNTS}[^|\n]*\|{_COUNTS}', flags=re.MULTILINE)
_UNIT = re.compile(r'^Filesystem .*\btype +([KMGTP])B ', flags=re.MULTILINE)


class Gpfs(Mounted):
    name = 'gpfs'
    kernel_types = ('gpfs',)
    recovery_source = 'chosen as for the other network types'
    can = ('targets',)
    sources = "IBM's public documentation, published outputs of 5.0 and 5.1"
    no_layout = 'no layout: policies of the file system place files in storage pools, and its administrator sets them'

    def same_storage(self, one: Mount, other: Mount) -> bool:
        """Compares devices; several filesets of one device can be mounted."""
        return os.path.basename(one.source) == os.path.basename(other.source)

    def quota(self, path: str) -> Capacity:
        """By mmlsquota, for quota(1) knows no filesets: of user, group of new files and fileset. Root has none."""
        mount, _ = look(path)
        if mount is None or os.geteuid() == 0:
            return Capacity(None, None)
        device, fileset = os.path.basename(mount.source), _attributes(path).get('fileset name', '')
        whose = [('-u', os.geteuid()), ('-g', group_of_new_files(path)), *([('-j', fileset)] if fileset else [])]
        left: List[Capacity] = []
        for option, name in whose:
            words = ('mmlsquota', option, str(name), '-Y', device)
            rooms, fault = _understood(partial(quotas_of, fileset=fileset), *words)
            left += [*rooms, Capacity(None, None, unseen=f'the quota ({fault})')] if fault else rooms
        return tightest(*left)._replace(unseen='; '.join(dict.fromkeys(room.unseen for room in left if room.unseen)))

    def behaviour(self, path: str) -> Behaviour:
        """Its blocks are allocated as a whole, in sizes of st_blksize: a transfer across their borders is two."""
        behaviour = super().behaviour(path)
        with contextlib.suppress(OSError):
            return behaviour._replace(block_size=os.stat(path).st_blksize)
        return behaviour

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        settings = {f'gpfs {key}': value for key, value in _attributes(path).items() if key in ATTRIBUTES}
        with contextlib.suppress(OSError):
            settings['block size'] = str(os.stat(path).st_blksize)
        for argv in PACKAGE_QUERIES:
            answer = ask([*argv, 'gpfs.base'], ANSWER_S)
            if answer is not None and answer.exit_status == 0:
                return {**settings, 'client version': answer.stdout.strip()}
        return {**settings, 'client version': unknown('no package gpfs.base; mmdiag --version is for root')}

    def _targets(self, path: str, mount: Mount) -> Targets:
        """The disks by mmlsdisk, and the health of this node by mmhealth, both for root alone."""
        device = os.path.basename(mount.source)
        disks, no_disks = _understood(disks_of, 'mmlsdisk', device, '-Y')
        nodes, no_nodes = _understood(partial(node_of, device=device), 'mmhealth', 'node', 'show', '-Y')
        return Targets((*disks, *nodes), {}, '; '.join(filter(None, (no_disks, no_nodes))))

    def cold(self, path: str) -> Cold:
        return Cold('', 'GPFS caches reads in its pagepool, which drop_caches does not empty')


def quotas_of(text: str, fileset: str) -> Iterator[Capacity]:
    """The room that the rows of `mmlsquota` leave, with -Y or without. Rows of other filesets say nothing here, but
    whether one of 'root' alone is of the whole file system is not known."""
    rows = [(row['filesetname'], [row[name] for name in COUNTED]) for row in records_of(text)]
    unit = _UNIT.search(text)
    size = KIB ** ('KMGTP'.index(unit.group(1)) + 1) if unit else KIB
    rows += [(of_fileset, row) for of_fileset, *row in _QUOTA.findall(text)]
    for name, row in rows:
        if name in ('', fileset):
            yield Capacity(_left(row[:5], size), _left(row[5:], 1))
    if rows and {name for name, _ in rows} == {'root'} != {fileset}:
        yield Capacity(None, None, unseen=f'the quota in the fileset {fileset} (mmlsquota has root alone)')


def _left(row: Sequence[str], unit: int) -> Optional[int]:
    """Up to the hard, else the soft limit, which is a hard one past its grace. What is in doubt may be negative."""
    used, soft, hard, doubt = map(int, row[:4])
    limit = soft if row[4] == 'expired' else hard or soft
    return max(0, limit - used - max(0, doubt)) * unit if limit else None


def disks_of(text: str) -> Iterator[TargetRow]:
    """The disks of `mmlsdisk FS -Y`: one not up serves nothing, one not ready is being emptied or replaced."""
    for row in records_of(text):
        fault = '' if row['availability'] == 'up' else row['availability']
        flags = () if row['status'] == 'ready' else (row['status'],)
        yield TargetRow('disk', int(row['diskID']), row['nsdName'], True, flags=flags, fault=fault)


def node_of(text: str, device: str) -> Iterator[TargetRow]:
    """This node by `mmhealth node show -Y`: its components that are not well, of file systems this one alone."""
    faults: List[str] = []
    flags: List[str] = []
    for row in records_of(text, 'State'):
        of_others = row['component'] == 'FILESYSTEM' and row['entityname'] != device
        if row['component'] in COMPONENTS and not of_others and row['status'] not in WELL:
            component = f'{row["component"]} of {row["entityname"]} {row["status"]}'
            (faults if row['status'] in AWAY else flags).append(component)
    yield TargetRow('node', 0, 'this node', True, flags=tuple(flags), fault=', '.join(faults))


def records_of(text: str, section: str = '') -> List[Dict[str, str]]:
    """The lines of a -Y output, by the names of its heading: 'COMMAND:SECTION:HEADER:...', percent-encoded. Raises
    NoAnswer where a line is cut short."""
    names: Optional[List[str]] = None
    records = []
    for line in text.splitlines():
        fields = [unquote(field) for field in line.split(':')]
        if len(fields) < 3 or fields[1] != section:
            continue
        if fields[2] == 'HEADER':
            names = fields
        elif names is not None and len(fields) < len(names):
            raise NoAnswer(f'{fields[0]} prints a line that is cut short: {show(line)}')
        elif names is not None:
            records.append(dict(zip(names, fields)))
    return records


def _attributes(path: str) -> Dict[str, str]:
    """The attributes of the directory by `mmlsattr -L`, which any user may ask; empty without an answer."""
    answer = ask([os.path.join(MM, 'mmlsattr'), '-L', path], ANSWER_S)
    return {key: value for key, value in pairs_of(answer.stdout if answer else '', ':').items() if value}


def _understood(read: Callable[[str], Iterator[Any]], *argv: str) -> Tuple[List[Any], str]:
    """The rows of a tool's output, and why there are none."""
    try:
        return list(read(_output(*argv))), ''
    except NoAnswer as error:
        return [], str(error)
    except (KeyError, ValueError) as error:  # a field is missing, or is no number
        return [], f'{argv[0]} answers in another form: {show(str(error))}'


def _output(program: str, *words: str) -> str:
    """A tool's output. Raises NoAnswer unless it has the form of -Y, or of mmlsquota's table."""
    answer = answered([os.path.join(MM, program), *words], MM_S, program)
    if ':HEADER:' not in answer.stdout and 'Block Limits' not in answer.stdout:
        lines = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
        raise NoAnswer(f'{program} does not answer this user: {lines[-1] if lines else "no answer"}')
    return answer.stdout
