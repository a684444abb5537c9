"""Calls of the file system that failed, in what an engine said of them; what they mean is for rules/launch.py to say.
Every launch speaks English (LC_ALL=C), so strerror(3) names the error, in a line whose form is the engine's own.
Seen: fio 3.33, dd of coreutils 9.1, IOR and mdtest 4.0.0, posixops."""

import errno
import os
import re
from typing import Iterator, NamedTuple, Optional


class FailedCall(NamedTuple):
    """errno: its name, 'EIO'; node, file, offset: empty or None where the engine does not say."""

    errno: str
    on_descriptor: bool  # a read, write, fsync or close: the file had been opened before
    node: str = ''
    file: str = ''
    offset: Optional[int] = None  # in bytes


def failed_calls(sentence: str) -> Iterator[FailedCall]:
    """What failed, in the order in which an engine said it; not fio's EIO of files that end early."""
    if not _FORM.search(sentence) or 'full resid' in sentence or 'too short' in sentence:
        return
    node, file, offset = _NODE.search(sentence), _FILE.search(sentence), _OFFSET.search(sentence)
    for found in _SAID.finditer(sentence):
        before, behind = sentence[: found.start()], sentence[found.end() :]
        yield FailedCall(
            errno=_NAMES[found.group(0)],
            on_descriptor=bool(_OF_DESCRIPTOR.search(before) or (_OF_TASK.search(before) and behind[:2] != ': ')),
            node=node.group(1) if node else '',
            file=next(filter(None, file.groups()), '') if file else '',
            offset=int(offset.group(1)) if offset else None,
        )


_NAMES = {os.strerror(number): name for number, name in errno.errorcode.items()}
_SAID = re.compile('|'.join(map(re.escape, sorted(_NAMES, key=len, reverse=True))))
_FORM = re.compile(
    r'\bfio: (?:io_u|pid)|\bdd: |(?:WARNING|ERROR): \w+\(|\btask \d+(?: on [^\s:]+)?(?:, file [^:]+)?: '
)
_OF_DESCRIPTOR = re.compile(
    r'\bfio: io_u error on file [^:]+: \Z'
    r"|\bdd: (?:error (?:reading|writing)|f(?:data)?sync failed for|closing (?:in|out)put file) '[^']+': \Z"
    r'|(?:WARNING|ERROR): (?:p?(?:read|write)(?:64)?|fsync|close)\([^()]*\) failed(?:\. Error:)? \Z'
)
# Of posixops, which says what it did; behind the error of a call that was given a name, that name follows.
_OF_TASK = re.compile(r'\btask \d+(?: on [^\s:]+)?: [^:]+: \Z')
_NODE = re.compile(r'\btask \d+ on ([^\s:]+): ')
_OFFSET = re.compile(r'\b(?:read|write|sync|datasync) offset=(\d+)')
_FILE = re.compile(
    r"(?:on|, ) ?file (.+?): |dd: [a-z ]+ '(.+?)': |\w+\(\"(.+?)\"|(?:"
    + '|'.join(map(re.escape, _NAMES))
    + r'): ([^;]+)\Z'
)
