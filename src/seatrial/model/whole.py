"""Files that people and programs read while others are written."""

import contextlib
import os
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write a file under another name and rename it: it is there whole, or as it was before.

    Raises OSError that names the file; nothing else is left then.
    """
    temporary = file.with_name(f'.{file.name}.{os.getpid()}.tmp')
    try:
        temporary.write_text(text, encoding='utf-8')
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(error.errno, error.strerror, str(file)) from error
