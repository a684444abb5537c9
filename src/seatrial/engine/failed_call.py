"""Reads failed calls of the file system from messages of engines; rules/launch.py judges them. Every launch speaks
English (LC_ALL=C): strerror(3) names the error. Seen: fio 3.33, dd of coreutils 9.1, IOR, mdtest 4.0.0, posixops."""

import errno
import os
import re
from typing import Any, Dict, Iterator, NamedTuple, Optional


class FailedCall(NamedTuple):
    """A failed call. node, file, offset: empty or None where the engine does not name them."""

    errno: str
    on_descriptor: bool  # a read, write, fsync or close: the file had been opened before
    node: str = ''
    file: str = ''
    offset: Optional[int] = None  # byte of the file
    sync: bool = False  # an fsync: what was written before it is lost, whatever its errno


def failed_calls(sentence: str) -> Iterator[FailedCall]:
    """The failed calls in a sentence, in order; not fio's EIO of files that end early, nor errors of launchers."""
    sentence = _OF_LAUNCHER.sub('', sentence)
    sync = bool(_SYNC.search(sentence))
    if not (_FORM.search(sentence) or sync) or 'full resid' in sentence or 'too short' in sentence:
        return
    node, file, offset = _NODE.search(sentence), _FILE.search(sentence), _OFFSET.search(sentence)
    where: Dict[str, Any] = {
        'node': node.group(1) if node else '',
        'file': next(filter(None, file.groups()), '') if file else '',
        'offset': int(offset.group(1)) if offset else None,
    }
    errors = list(_ERROR.finditer(sentence))
    for match in errors:
        before, behind = sentence[: match.start()], sentence[match.end() :]
        opened = sync or _OF_DESCRIPTOR.search(before) or (_OF_TASK.search(before) and behind[:2] != ': ')
        yield FailedCall(_NAMES[match.group(0)], on_descriptor=bool(opened), sync=sync, **where)
    if sync and not errors:
        yield FailedCall('a failed fsync', on_descriptor=True, sync=True, **where)


_NAMES = {os.strerror(number): name for number, name in errno.errorcode.items()}
_ERROR = re.compile('|'.join(map(re.escape, sorted(_NAMES, key=len, reverse=True))))
_OF_LAUNCHER = re.compile(
    r"(?:\b(?:srun|slurmstepd): |\[(?:proxy:|mpiexec@|[\w.-]+:\d+\])|\bthe (?:barrier|coordinator) ).*?(?= / |'|\Z)"
)
_FORM = re.compile(
    r'\bfio: (?:io_u|pid)|\bdd: |(?:WARNING|ERROR): \w+\(|\btask \d+(?: on [^\s:]+)?(?:, file [^:]+)?: '
)
# IOR and IO500 name a descriptor, fio the kind of its call; what was written before is lost, whatever the errno.
_SYNC = re.compile(
    r'\bfsync\(\d+\) failed|\b(?:fsync|fdatasync|end_fsync) failed\b|\bfsync(?: of [^:]+)?: |'
    r"\bfio: .*: (?:data)?sync offset=|Can't sync file"
)
_OF_DESCRIPTOR = re.compile(
    r'\bfio: io_u error on file [^:]+: \Z'
    r"|\bdd: (?:error (?:reading|writing)|f(?:data)?sync failed for|closing (?:in|out)put file) '[^']+': \Z"
    r'|(?:WARNING|ERROR): (?:p?(?:read|write)(?:64)?|fsync|close)\([^()]*\) failed(?:\. Error:)? \Z'
)
# The form of posixops: what it did, the error, and the name that the call was given, if any.
_OF_TASK = re.compile(r'\btask \d+(?: on [^\s:]+)?: [^:]+: \Z')
_NODE = re.compile(r'\btask \d+ on ([^\s:]+): ')
_OFFSET = re.compile(r'\b(?:read|write|sync|datasync) offset=(\d+)')
_FILE = re.compile(
    r"(?:on|, ) ?file (.+?): |dd: [a-z ]+ '(.+?)': |\w+\(\"(.+?)\"|(?:"
    + '|'.join(map(re.escape, _NAMES))
    + r'): ([^;]+)\Z'
)
