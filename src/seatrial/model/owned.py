"""Finds the directories, links and files on the way to a path that another user could change."""

import errno
import grp
import os
import pwd
import stat
import tempfile
from typing import Callable, Iterable, List, NamedTuple, Optional, Tuple

from seatrial.model.quoted_value import shell_line

_MAX_LINKS = 40  # the most links that the kernel follows (path_resolution(7))


class Shared(NamedTuple):
    """A directory, link or file through which another user could change what is used."""

    path: str
    why: str  # a clause
    remedy: Tuple[str, ...]  # the command by which this user can end it, empty where there is none


def shared(path: str, is_sticky_enough: bool = False, trusted: int = 0) -> List[Shared]:
    """The places on the way to a path that others than the user, root and `trusted` may change. Only these may own a
    directory or link from / on. Others may write to a directory above the path only with the sticky bit (unlink(2),
    EPERM), and to the path itself only with is_sticky_enough. An ACL shows as the mode of the group; a group of one
    user is no other. What does not exist is skipped. Raises OSError."""
    faults = []
    way, itself = _way_to(os.path.join(os.getcwd(), path))
    for place in way:
        try:
            status = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            break
        mode = f'(mode {stat.S_IMODE(status.st_mode):04o})'
        is_strict = place == itself and not is_sticky_enough
        if status.st_uid not in (0, os.geteuid(), trusted) and not _is_unmapped(status.st_uid):
            why = f'{place} belongs to {user_name(status.st_uid)}, who may replace what lies in it'
            faults.append(Shared(place, why, ()))
        elif stat.S_ISLNK(status.st_mode) or not _others_write(place, status):
            continue
        elif is_strict or not status.st_mode & stat.S_ISVTX:
            is_own = os.geteuid() in (0, status.st_uid)
            why = f'others may write to {place} {mode}' + ('' if is_strict else ', and it has no sticky bit')
            remedy = ('chmod', 'go-w' if is_strict else '+t', place)
            faults.append(Shared(place, why, remedy if is_own else ()))
    return faults


def open_to(path: str) -> Optional[str]:
    """A clause that says who could replace files of a directory or the directory; or None. Raises OSError."""
    return next((fault.why for fault in shared(path, is_sticky_enough=True)), None)


def shared_in(folder: str, paths: Iterable[str], trusted: int = 0) -> List[Shared]:
    """`shared` for a folder and paths in it: each directory or file once, the folder's own fault first."""
    faults = [fault for path in (folder, *paths) for fault in shared(path, trusted=trusted)]
    first = {fault.path: fault for fault in reversed(faults)}
    return [first[path] for path in dict.fromkeys(fault.path for fault in faults)]


def refusal(folder: str, paths: Iterable[str], otherwise: Callable[[], str], trusted: int = 0) -> str:
    """The reason not to run code from a folder, with a command or `otherwise` as remedy; empty: none."""
    # What no command of this user can end comes first: its remedy is that for all.
    faults = sorted(shared_in(folder, paths, trusted), key=lambda fault: bool(fault.remedy))
    if not faults:
        return ''
    why = f'{faults[0].why}, and what lies there can run as you'
    if not faults[0].remedy:
        return f'{why}; {otherwise()}'
    home = os.path.join(os.path.realpath(folder), '')
    above = [fault.remedy for fault in faults if not os.path.join(fault.path, '').startswith(home)]
    inside = [('chmod', '-R', 'go-w', folder)] if len(above) < len(faults) else []
    typed = ' && '.join(map(shell_line, (*inside, *above)))
    return f'{why}; if all that lies in {folder} is yours, type: {typed}'


def refusal_of_code(folder: str, paths: Iterable[str]) -> str:
    """The refusal of a folder with code. Who installed this Seatrial is trusted: it already runs as this user."""

    def copied() -> str:
        copy = os.path.join(os.path.expanduser('~'), os.path.basename(os.path.realpath(folder)))
        return f'name a copy of your own in its place: {shell_line(["cp", "-r", "--", folder, copy])}'

    return refusal(folder, paths, copied, os.stat(__file__).st_uid)


def private_folder(prefix: str) -> 'tempfile.TemporaryDirectory[str]':
    """A temporary directory in TMPDIR. Raises OSError where another user could replace it."""
    folder = tempfile.gettempdir()
    why = open_to(folder)
    if why is not None:
        raise OSError(errno.EPERM, f'{why}; set TMPDIR to a folder of your own', folder)
    return tempfile.TemporaryDirectory(prefix=prefix)


def _way_to(path: str) -> Tuple[List[str], str]:
    """Every directory and link from / to an absolute path, and the path it leads to (path_resolution(7))."""
    here, places, left = '/', ['/'], path.split('/')[::-1]
    while left:
        name = left.pop()
        if name == '..':
            here = os.path.dirname(here)
        elif name not in ('', '.'):
            there = os.path.join(here, name)
            if places.count(there) > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            places.append(there)
            if os.path.islink(there):
                leads_to = os.readlink(there)
                here = '/' if leads_to.startswith('/') else here
                left += leads_to.split('/')[::-1]
            else:
                here = there
    return places, here


def _others_write(path: str, status: os.stat_result) -> bool:
    """True if others may write, or the group unless it is the private one of useradd(8) for umask 002."""
    if status.st_mode & stat.S_IWOTH or not status.st_mode & stat.S_IWGRP:
        return bool(status.st_mode & stat.S_IWOTH)
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(status.st_gid)
    except KeyError:
        return True
    if user.pw_uid == 0 or (group.gr_gid, group.gr_name) != (user.pw_gid, user.pw_name):
        return True
    return not set(group.gr_mem) <= {user.pw_name} or _has_acl(path)


def _has_acl(path: str) -> bool:
    """True if the mode of the group is the mask of a POSIX ACL (acl(5))."""
    try:
        return 'system.posix_acl_access' in os.listxattr(path)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return False


def _is_unmapped(uid: int) -> bool:
    """True for the user that stands for all unknown ones in a user namespace; most often it is root."""
    with open('/proc/self/uid_map') as stream:
        is_initial = stream.read().split() == ['0', '0', '4294967295']
    with open('/proc/sys/kernel/overflowuid') as stream:
        return not is_initial and uid == int(stream.read())


def user_name(uid: int) -> str:
    """The user's name, or 'uid 1234' where the node does not know it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f'uid {uid}'
