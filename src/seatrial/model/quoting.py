"""The one place where an argv becomes a line for a shell."""

import shlex
from typing import Sequence


def shell_line(argv: Sequence[str]) -> str:
    """A line that makes a POSIX shell run exactly this argv. Raises ValueError where argv is empty or has a NUL."""
    if not argv:
        raise ValueError('an empty command has no shell line')
    if any('\0' in word for word in argv):
        raise ValueError('a NUL character cannot be part of a command')
    return ' '.join(shlex.quote(word) for word in argv)
