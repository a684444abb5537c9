"""Files that people and programs read while others are written."""

import contextlib
import os
from pathlib import Path


def keep_from_others(directory: str) -> None:
    """From now on this process makes nothing that others may use more than they may this directory. Raises OSError.

    Others are those who are neither the user nor of the group; to write is for the user alone. The mode of the state
    directory is the site's word.
    """
    os.umask(os.umask(0o077) | (~os.stat(directory).st_mode & 0o007) | 0o022)


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
