"""Files that people and programs read while others are written."""

import contextlib
import os
from pathlib import Path


def keep_from_others(directory: str) -> None:
    """From now on others may do no more with what this process makes than with this directory. Raises OSError."""
    os.umask(os.umask(0o077) | (~os.stat(directory).st_mode & 0o007) | 0o022)


def write_whole(file: Path, text: str) -> None:
    """Write a file under another name and rename it into place: it is there whole, or as before. Raises OSError."""
    temporary = file.with_name(f'.{file.name}.{os.getpid()}.tmp')
    try:
        temporary.write_text(text, encoding='utf-8')
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(error.errno, error.strerror, str(file)) from error
