"""Whose a directory is, and which directories another user may put things into."""

import os
import pwd
import stat
from typing import NamedTuple, Optional


class Shared(NamedTuple):
    """A directory in which somebody else may change things. why: a clause; by_chmod: whether this user can end it."""

    path: str
    why: str
    by_chmod: bool


def shared(path: str) -> Optional[Shared]:
    """How others than the user and root may change what lies in the directory; None: they may not, or there is none.

    An ACL shows as the mode of the group. Whoever owns a link can lead it elsewhere. Raises OSError.
    """
    try:
        link, status = os.lstat(path), os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    for owner in (link.st_uid, status.st_uid):
        if owner not in (0, os.geteuid()):
            return Shared(path, f'{path} belongs to {user_name(owner)}', False)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = f'others may write to {path} (mode {stat.S_IMODE(status.st_mode):04o})'
        return Shared(path, why, os.geteuid() in (0, status.st_uid))
    return None


def user_name(uid: int) -> str:
    """The user's name, or 'uid 1234' where the node does not know it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f'uid {uid}'
