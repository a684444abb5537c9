"""posixops, guarantees between users: the calls that a mode allows to each user, and the errno of a refused call.

Root tries them as two users and a group of both, in processes without root's privileges. No user of the first node
has these ids, and their processes access only the trial's directory. Users other than root try the calls that one
user can make. pjdfstest makes such calls too (open/06, rename/09, ftruncate/00, chmod, chown, mkdir).
"""

import contextlib
import errno
import grp
import itertools
import json
import os
import pwd
import stat
from functools import partial
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from seatrial.engine.posixops.task_pair import Pair, Seen, Step, refused
from seatrial.engine.posixops.work import Guarantee, declared

LOWEST_ID = 61000  # ids from here on are neither users' (Debian, Red Hat) nor systemd's (from 61184)
OWNER, MEMBER, STRANGER = 'owner', 'member', 'stranger'  # the last two: one user, in the group and not in it
# nfsd(7) and rpc.mountd(8), --manage-gids; Lustre's operations manual, identity_upcall.
ONE_GROUP = (
    'unless the group is the only one of the user: the server takes one group of a user, or looks groups up itself '
    '(NFS: manage-gids, Lustre: identity_upcall) and does not know the users of this trial'
)
EACCES, EPERM, EITHER = ('EACCES',), ('EPERM',), ('EPERM', 'EACCES')

GUARANTEES: Dict[Guarantee, Callable[[Pair], Seen]] = {}
_guarantee = partial(declared, GUARANTEES)


class Ids(NamedTuple):
    """Ids of two users and of a group that both are in; each user has a group of the same number."""

    owner: int
    other: int
    group: int


class Call(NamedTuple):
    """One call of a story. step: makes it in the trial's directory, and returns a text if its result is wrong."""

    who: str
    words: str
    step: Callable[[Ids], Optional[str]]
    due: Tuple[str, ...] = ()  # the errnos with which it may be refused; none: it is allowed


def two_users() -> Tuple[Optional[Ids], str]:
    """Unused ids and ''; or None and the reason why this task cannot act as other users here."""
    if os.geteuid():
        return None, 'it needs root, to act as two users'
    ids = Ids(*itertools.islice(filter(_is_free, itertools.count(LOWEST_ID)), 3))
    _, why = as_user(ids, OWNER, '.', lambda: None)
    return (None, f'root cannot switch to another user here ({why})') if why else (ids, '')


def _is_free(number: int) -> bool:
    """Each number is looked up by itself: directories of users, such as LDAP, need not list all entries."""
    for known in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            known(number)
            return False
    return True


def as_user(ids: Ids, who: str, directory: str, step: Step, by_one_group: bool = False) -> Tuple[Any, str]:
    """The result of a step in a process of this user in the directory; or None and the name of the errno.
    by_one_group: the group of both is the only group of the process, in place of the user's group"""
    read, write = os.pipe()
    child = os.fork()
    if not child:  # it must never return into the code of its parent
        try:
            os.write(write, json.dumps(_answer(ids, who, directory, step, by_one_group)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, 'rb') as stream:
        text = stream.read()
    os.waitpid(child, 0)
    value, why = json.loads(text.decode()) if text else (None, 'its process died')
    return value, why


def _answer(ids: Ids, who: str, directory: str, step: Step, by_one_group: bool) -> Tuple[Any, str]:
    user = ids.owner if who == OWNER else ids.other
    try:
        os.chdir(directory)  # still as root: directories above it may be closed to others
        os.umask(0)
        os.setgroups([] if who == STRANGER or by_one_group else [ids.group])
        os.setgid(ids.group if by_one_group else user)
        os.setuid(user)
        return step(), ''
    except OSError as error:
        return None, errno.errorcode.get(error.errno or 0, str(error))


def _story(pair: Pair, *calls: Call) -> Seen:
    """The first task makes the owner's calls, the other task those of the other user."""
    chosen, why = pair.first('choose two users', two_users)
    if chosen is None:
        return None, why
    ids, here = Ids(*chosen), pair.path('.')
    if pair.first('open the directory to all', lambda: os.chmod(here, 0o777), lambda: os.stat(here).st_uid):
        return None, 'the file system takes root for nobody (root_squash), who cannot remove the files of the users'
    for who, words, step, due in calls:
        turn = pair.first if who == OWNER else pair.other
        wrong, refused = turn(words, partial(as_user, ids, who, here, partial(step, ids)))
        if refused in EITHER and not due and who != STRANGER:
            again = [turn(words, partial(as_user, ids, who, here, partial(step, ids), by)) for by in (False, True)]
            if again == [[None, refused], [None, '']]:
                return None, f'{words} gave {refused} {ONE_GROUP}'
        if wrong or refused not in (due or ('',)):
            whose = {
                OWNER: '',
                MEMBER: f' (in group {ids.group} with the owner, user {ids.owner})',
                STRANGER: f' (in no group of the owner, user {ids.owner})',
            }[who]
            came = wrong or (f'gave {refused}' if refused else 'was not refused')
            wanted = '' if wrong else f', where {" or ".join(due)} is due' if due else ', where it is allowed'
            return False, f'{words} by user {ids.owner if who == OWNER else ids.other}{whose} {came}{wanted}'
    refusals = sum(bool(call.due) for call in calls)
    allowed = f'made {len(calls) - refusals} calls that are allowed'
    return True, f'users {ids.owner} and {ids.other} {allowed}, and {refusals} were refused'


def _open(path: str, flags: int, mode: int = 0o600) -> Callable[[Ids], None]:
    def step(ids: Ids) -> None:
        descriptor = os.open(path, flags, mode)
        try:
            if flags & os.O_ACCMODE != os.O_RDONLY:
                os.write(descriptor, b'written')
                os.ftruncate(descriptor, 1)
        finally:
            os.close(descriptor)

    return step


def _make(path: str, mode: int) -> Callable[[Ids], None]:
    return _open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)


_READ = _open('f', os.O_RDONLY)
_WRITE = _open('f', os.O_WRONLY)


def _does(call: Callable[..., Any], *arguments: Any) -> Callable[[Ids], None]:
    def step(ids: Ids) -> None:
        call(*arguments)

    return step


_renames = partial(_does, os.rename)


def _to_group(path: str, mode: int) -> Callable[[Ids], None]:
    """Give a file to the group of both, and set its mode."""

    def step(ids: Ids) -> None:
        os.chown(path, -1, ids.group)
        os.chmod(path, mode)

    return step


def _seen(path: str, field: str, wanted: Callable[[Ids], int]) -> Callable[[Ids], Optional[str]]:
    def step(ids: Ids) -> Optional[str]:
        value = getattr(os.stat(path), field)
        return None if value == wanted(ids) else f'{field} is {value} and not {wanted(ids)}'

    return step


@_guarantee('a file is opened by whom its mode permits, and by nobody else', 'POSIX.1 4.5, File Access Permissions')
def _permissions(pair: Pair) -> Seen:
    if pair.first('ask who it is', os.geteuid):
        path = pair.path()
        pair.first('make a file', lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0)))
        kept_out = pair.other(
            'open it', lambda: refused(lambda: os.close(os.open(path, os.O_RDONLY)), errno.EACCES, errno.EPERM)
        )
        if not kept_out:
            return False, f'{pair.other_one} opened a file of mode 0'
        return True, f'{pair.other_one} was refused; as root a session also tries two users and their group'
    return _story(
        pair,
        Call(OWNER, 'open(O_CREAT) with mode 0600', _make('f', 0o600)),
        Call(OWNER, 'open() for reading of a file 0600', _READ),
        Call(STRANGER, 'open() for reading of a file 0600', _READ, EACCES),
        Call(STRANGER, 'open() for writing of a file 0600', _WRITE, EACCES),
        Call(STRANGER, 'truncate() of a file 0600', _does(os.truncate, 'f', 0), EACCES),
        Call(OWNER, 'chown() to the group of both, chmod() to 0440', _to_group('f', 0o440)),
        Call(OWNER, 'open() for writing of a file 0440', _WRITE, EACCES),
        Call(MEMBER, 'open() for reading of a file 0440', _READ),
        Call(MEMBER, 'open() for writing of a file 0440', _WRITE, EACCES),
        Call(STRANGER, 'open() for reading of a file 0440', _READ, EACCES),
        Call(OWNER, 'chmod() to 0', _does(os.chmod, 'f', 0)),
        Call(OWNER, 'open() for reading of a file 0', _READ, EACCES),
        Call(OWNER, 'open(O_CREAT), write() and ftruncate() of a new file with mode 0', _make('new', 0)),
    )


@_guarantee('a FIFO is opened by whom its mode permits, and by nobody else', 'POSIX.1 4.5; mkfifo()', since='1.0')
def _fifo_permissions(pair: Pair) -> Seen:
    both, read = _open_fifo(os.O_RDWR), _open_fifo(os.O_RDONLY)
    return _story(
        pair,
        Call(OWNER, 'mkfifo() with mode 0600', _does(os.mkfifo, 'f', 0o600)),
        Call(OWNER, 'open(O_RDWR) of a FIFO 0600', both),
        Call(STRANGER, 'open(O_RDWR) of a FIFO 0600', both, EACCES),
        Call(STRANGER, 'open(O_RDONLY) of a FIFO 0600', read, EACCES),
        Call(OWNER, 'chmod() to 0477', _does(os.chmod, 'f', 0o477)),
        Call(OWNER, 'open(O_RDWR) of a FIFO 0477', both, EACCES),
    )


def _open_fifo(flags: int) -> Callable[[Ids], None]:
    return lambda ids: os.close(os.open('f', flags | os.O_NONBLOCK))


@_guarantee('a directory is listed, searched and changed by whom its mode permits', 'POSIX.1 4.5', since='1.0')
def _directory_permissions(pair: Pair) -> Seen:
    return _story(
        pair,
        Call(OWNER, 'mkdir() with mode 0700', _does(os.mkdir, 'd', 0o700)),
        Call(OWNER, 'open(O_CREAT) in it', _make('d/f', 0o644)),
        Call(STRANGER, 'opendir() of a directory 0700', _does(os.listdir, 'd'), EACCES),
        Call(STRANGER, 'stat() below a directory 0700', _does(os.stat, 'd/f'), EACCES),
        Call(STRANGER, 'open(O_CREAT) in a directory 0700', _make('d/new', 0o600), EACCES),
        Call(OWNER, 'chmod() to 0711', _does(os.chmod, 'd', 0o711)),
        Call(STRANGER, 'stat() below a directory 0711', _does(os.stat, 'd/f')),
        Call(STRANGER, 'opendir() of a directory 0711', _does(os.listdir, 'd'), EACCES),
        Call(OWNER, 'chmod() to 0755', _does(os.chmod, 'd', 0o755)),
        Call(STRANGER, 'open(O_CREAT) in a directory 0755', _make('d/new', 0o600), EACCES),
        Call(STRANGER, 'unlink() in a directory 0755', _does(os.unlink, 'd/f'), EACCES),
        Call(STRANGER, 'rename() out of a directory 0755', _renames('d/f', 'new'), EACCES),
        Call(OWNER, 'chown() to the group of both, chmod() to 0770', _to_group('d', 0o770)),
        Call(STRANGER, 'open(O_CREAT) in a directory 0770', _make('d/new', 0o600), EACCES),
        Call(MEMBER, 'open(O_CREAT) in a directory 0770', _make('d/new', 0o600)),
        Call(MEMBER, 'unlink() in a directory 0770', _does(os.unlink, 'd/f')),
    )


@_guarantee(
    'entries of a sticky directory are removed and renamed by their owner alone',
    'POSIX.1 rename(), unlink()',
    since='1.0',
)
def _sticky_directories(pair: Pair) -> Seen:
    to_another_parent = "rename() of another's directory 0755 to another parent, which changes its .."
    return _story(
        pair,
        Call(OWNER, 'mkdir()', _does(os.mkdir, 'd', 0o777)),
        Call(OWNER, 'chmod() to 01777', _does(os.chmod, 'd', 0o1777)),
        Call(OWNER, 'open(O_CREAT) in it', _make('d/f', 0o666)),
        Call(OWNER, 'mkdir() in it', _does(os.mkdir, 'd/d', 0o777)),
        Call(STRANGER, "unlink() of another's file in a sticky directory", _does(os.unlink, 'd/f'), EITHER),
        Call(STRANGER, "rename() of another's file out of a sticky directory", _renames('d/f', 'new'), EITHER),
        Call(STRANGER, "rename() of another's directory out of a sticky directory", _renames('d/d', 'new'), EITHER),
        Call(STRANGER, 'mkdir() in a sticky directory', _does(os.mkdir, 'd/F', 0o755)),
        Call(OWNER, to_another_parent, _renames('d/F', 'F'), EITHER),
        Call(STRANGER, 'open(O_CREAT) in a sticky directory', _make('d/new', 0o600)),
        Call(STRANGER, "rename() over another's file", _renames('d/new', 'd/f'), EITHER),
        Call(STRANGER, 'unlink() of its own file', _does(os.unlink, 'd/new')),
        Call(OWNER, 'rename() of its own file out of it', _renames('d/f', 'f')),
    )


@_guarantee('what is made in a set-group-ID directory has its group', 'inode(7); mkdir(2)', since='1.0')
def _set_group_id(pair: Pair) -> Seen:
    return _story(
        pair,
        Call(OWNER, 'mkdir()', _does(os.mkdir, 'd', 0o770)),
        Call(OWNER, 'chown() to the group of both, chmod() to 02770', _to_group('d', 0o2770)),
        Call(MEMBER, 'open(O_CREAT) in it', _make('d/f', 0o660)),
        Call(MEMBER, 'stat() of the new file', _seen('d/f', 'st_gid', lambda ids: ids.group)),
        Call(MEMBER, 'mkdir() in it', _does(os.mkdir, 'd/d', 0o770)),
        Call(MEMBER, 'stat() of the new directory', _seen('d/d', 'st_gid', lambda ids: ids.group)),
        Call(MEMBER, 'stat() of the new directory', _seen('d/d', 'st_mode', lambda ids: stat.S_IFDIR | 0o2770)),
    )


@_guarantee(
    "a new file is its maker's, who alone changes its mode and group", 'POSIX.1 chmod(), chown()', since='1.0'
)
def _ownership(pair: Pair) -> Seen:
    return _story(
        pair,
        Call(OWNER, 'open(O_CREAT)', _make('f', 0o666)),
        Call(MEMBER, 'stat() of the new file', _seen('f', 'st_uid', lambda ids: ids.owner)),
        Call(MEMBER, "chmod() of another's file", _does(os.chmod, 'f', 0o777), EPERM),
        Call(MEMBER, "utime() of another's file", _does(os.utime, 'f', (1, 1)), EPERM),
        Call(MEMBER, "chown() of another's file to oneself", lambda ids: os.chown('f', ids.other, -1), EPERM),
        Call(OWNER, 'chown() of its file to another user', lambda ids: os.chown('f', ids.other, -1), EPERM),
        Call(OWNER, 'chown() of its file to a foreign group', lambda ids: os.chown('f', -1, ids.other), EPERM),
        Call(OWNER, 'chown() of its file to a group of its own', _to_group('f', 0o660)),
        Call(MEMBER, 'stat() of the file', _seen('f', 'st_gid', lambda ids: ids.group)),
    )
