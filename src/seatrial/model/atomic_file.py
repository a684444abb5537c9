"""Writes files that people and programs may read at the same time."""

import contextlib
import os
from pathlib import Path


def keep_from_others(directory: str) -> None:
    """Set the umask so that others may do no more with new files than with this directory. Raises OSError."""
    os.umask(os.umask(0o077) | (~os.stat(directory).st_mode & 0o007) | 0o022)


def write_whole(file: Path, text: str) -> None:
    """Write a file under another name, then rename it: readers see all of it or the old one. Raises OSError."""
    temporary = file.with_name(f'.{file.name}.{os.getpid()}.tmp')
    try:
        temporary.write_text(text, encoding='utf-8')
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(error.errno, error.strerror, str(file)) from error
