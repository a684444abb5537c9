"""A call of the file system that failed, in what an engine said of it: the storage's fault, and not the engine's.
Every launch speaks English (LC_ALL=C), so strerror(3) names the error, in a line whose form is the engine's own.
Seen: fio 3.33, dd of coreutils 9.1, IOR and mdtest 4.0.0, posixops."""

import errno
import os
import re
from typing import NamedTuple, Optional

STORAGE_FAILED = ('EIO', 'EREMOTEIO', 'ESTALE', 'EUCLEAN', 'EBADMSG', 'ENOTCONN', 'ESHUTDOWN', 'EROFS')
"""No fault of who calls: a device, a server or the connection to it failed, or what was stored is damaged. A
file system that has become read-only could be written before: the run directory was made on it."""

NO_ROOM = ('ENOSPC', 'EDQUOT')


class FailedCall(NamedTuple):
    """errno: its name, 'EIO', or what failed where no errno is known; rule: that it breaks; node, file: empty where
    the engine does not say."""

    errno: str
    rule: str
    node: str
    file: str


def failed_call(sentence: str) -> Optional[FailedCall]:
    """The first error of the storage in what an engine said, or None; not fio's EIO of files that end early. A failed
    fsync is one, whatever its words, unless there is no room."""
    if not (_FORM.search(sentence) or _SYNC.search(sentence)) or 'full resid' in sentence or 'too short' in sentence:
        return None
    found, sync = _SAID.search(sentence), _SYNC.search(sentence)
    if found is None and sync is None:
        return None
    name = _NAMES[found.group(0)] if found else 'a failed fsync'
    node, file = _NODE.search(sentence), _FILE.search(sentence)
    return FailedCall(
        errno=name,
        rule='P9a' if name in NO_ROOM else 'F1',
        node=node.group(1) if node else '',
        file=next(filter(None, file.groups()), '') if file else '',
    )


_NAMES = {os.strerror(getattr(errno, name)): name for name in STORAGE_FAILED + NO_ROOM}
_SAID = re.compile('|'.join(map(re.escape, _NAMES)))
_FORM = re.compile(
    r'\bfio: (?:io_u|pid)|\bdd: |(?:WARNING|ERROR): \w+\(|\btask \d+(?: on [^\s:]+)?(?:, file [^:]+)?: '
)
# IOR and IO500 name a descriptor, fio the kind of its call; what was written before is lost, whatever the errno.
_SYNC = re.compile(
    r'\bfsync\(\d+\) failed|\b(?:fsync|fdatasync|end_fsync) failed\b|\bfsync(?: of [^:]+)?: |'
    r"\bfio: .*: (?:data)?sync offset=|Can't sync file"
)
_NODE = re.compile(r'\btask \d+ on ([^\s:]+): ')
_FILE = re.compile(
    r"(?:on|, ) ?file (.+?): |dd: [a-z ]+ '(.+?)': |\w+\(\"(.+?)\"|(?:"
    + '|'.join(map(re.escape, _NAMES))
    + r'): ([^;]+)\Z'
)
