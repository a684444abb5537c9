"""GPFS (IBM Storage Scale): recognised by its mount. Untried: written from IBM's documentation and from outputs of
its tools that sites have published. GPFS has a pagepool and an inode cache of its own ("GPFS and memory"), which
drop_caches does not empty. Its tools are mostly off the PATH, and some exit with 0 after an error: an answer counts
only if it has the expected form."""

import contextlib
import os
import re
from typing import Dict, Iterator, List, Optional
from urllib.parse import unquote

from seatrial.filesystem.base import Behaviour, Capacity, Cold, NoAnswer, Targets, tightest
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, look, pairs_of, unknown
from seatrial.model.ask import ask
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
KIB = 1024  # mmlsquota counts KB of 1024 B unless it is asked for others
_QUOTA = re.compile(
    r'^\S+ +(?:(\S+) +)?(?:USR|GRP|FILESET) +(\d+) +(\d+) +(\d+) +(\d+) .*\| +(\d+) +(\d+) +(\d+) +(\d+)\b',
    flags=re.MULTILINE,
)


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
        """The quotas of user, group and fileset by mmlsquota: quota(1) knows no filesets. Root has none."""
        mount, _ = look(path)
        if mount is None or os.geteuid() == 0:
            return Capacity(None, None)
        device, fileset = os.path.basename(mount.source), _attributes(path).get('fileset name', '')
        whose = [('-u', str(os.geteuid())), ('-g', str(os.getegid())), *([('-j', fileset)] if fileset else [])]
        answers = [ask([os.path.join(MM, 'mmlsquota'), *option, device], MM_S) for option in whose]
        return tightest(*(left for answer in answers if answer for left in quotas_of(answer.stdout, fileset)))

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
        disks = _output('mmlsdisk', device, '-Y')
        return Targets((*disks_of(disks), *node_of(_output('mmhealth', 'node', 'show', '-Y'), device)), {})

    def cold(self, path: str) -> Cold:
        return Cold('', 'GPFS caches reads in its pagepool, which drop_caches does not empty')


def quotas_of(text: str, fileset: str) -> Iterator[Capacity]:
    """The room that each row of `mmlsquota` leaves: the hard, else the soft limit minus blocks used or in doubt."""
    for of_fileset, *row in _QUOTA.findall(text):
        if of_fileset not in ('', fileset):
            continue
        used, soft, hard, doubt, files, files_soft, files_hard, files_doubt = map(int, row)
        limit, files_limit = hard or soft, files_hard or files_soft
        room = max(0, limit - used - doubt) * KIB if limit else None
        yield Capacity(room, max(0, files_limit - files - files_doubt) if files_limit else None)


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
        of_others = row['component'] == row['entitytype'] == 'FILESYSTEM' and row['entityname'] != device
        if row['component'] == 'NODE' or of_others or row['status'] in WELL:
            continue
        component = f'{row["component"]} of {row["entityname"]} {row["status"]}'
        (faults if row['status'] in AWAY else flags).append(component)
    yield TargetRow('node', 0, 'this node', True, flags=tuple(flags), fault=', '.join(faults))


def records_of(text: str, section: str = '') -> List[Dict[str, str]]:
    """The lines of a -Y output, by the names of its heading: 'COMMAND:SECTION:HEADER:...', percent-encoded."""
    names: Optional[List[str]] = None
    records = []
    for line in text.splitlines():
        fields = [unquote(field) for field in line.split(':')]
        if len(fields) < 3 or fields[1] != section:
            continue
        if fields[2] == 'HEADER':
            names = fields
        elif names is not None:
            records.append(dict(zip(names, fields)))
    return records


def _attributes(path: str) -> Dict[str, str]:
    """The attributes of the directory by `mmlsattr -L`, which any user may ask; empty without an answer."""
    answer = ask([os.path.join(MM, 'mmlsattr'), '-L', path], ANSWER_S)
    return {key: value for key, value in pairs_of(answer.stdout if answer else '', ':').items() if value}


def _output(program: str, *words: str) -> str:
    """A tool's output; NoAnswer unless it has the form of -Y."""
    answer = ask([os.path.join(MM, program), *words], MM_S)
    if answer is None:
        raise NoAnswer(f'{MM}/{program} is not installed on this node')
    if ':HEADER:' not in answer.stdout:
        lines = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
        raise NoAnswer(f'{program} does not answer this user: {lines[-1] if lines else "no answer"}')
    return answer.stdout
