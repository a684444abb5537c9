"""What POSIX promises of a file system, and Linux beside it: the facts that posixops tries, in its order."""

from typing import NamedTuple, Tuple


class Promise(NamedTuple):
    """One fact. name: its stable id; words: what holds, for people; clients: how many it takes to try it.

    source: an interface or a section of POSIX.1-2017 (IEEE Std 1003.1-2017), or a page of the Linux manual.
    """

    name: str
    words: str
    clients: int
    source: str


PROMISES: Tuple[Promise, ...] = (
    Promise('read_after_close', 'another client reads what one has written and closed', 2, 'POSIX.1 write()'),
    Promise('read_before_close', 'another client reads what one has written, before it closes', 2, 'POSIX.1 write()'),
    Promise('overwrite_in_place', 'another client reads bytes that were overwritten', 2, 'POSIX.1 write()'),
    Promise('append', 'appended records follow each other, whoever appends', 2, 'POSIX.1 write(), O_APPEND'),
    Promise('append_at_once', 'two clients that append at once lose no record', 2, 'POSIX.1 write(), O_APPEND'),
    Promise('write_at_once', 'two clients that write records between each other lose none', 2, 'POSIX.1 write()'),
    Promise('truncate_on_open', 'another client finds a file empty that was emptied by O_TRUNC', 2, 'POSIX.1 open()'),
    Promise('mmap_shared', 'another client reads what was written through a shared mapping', 2, 'POSIX.1 msync()'),
    Promise(
        'rename_over', 'another client finds the new file after a rename over the old one', 2, 'POSIX.1 rename()'
    ),
    Promise('rename_without_gap', 'a name is never missing while it is renamed over', 2, 'POSIX.1 rename()'),
    Promise('name_after_miss', 'a name that was missing is found once it is made', 2, 'POSIX.1 open()'),
    Promise('listing', 'a listing shows what another client has made and removed', 2, 'POSIX.1 readdir()'),
    Promise('untar', 'another client finds all that was just unpacked, as it was packed', 2, 'POSIX.1 stat()'),
    Promise('exclusive_create', 'of two clients that create a name with O_EXCL one succeeds', 2, 'POSIX.1 open()'),
    Promise('fsync_and_rename', 'what is synced and renamed is whole (no crash is tried)', 2, 'POSIX.1 fsync()'),
    Promise('unlink_by_another', 'an open file stays readable when another client removes it', 2, 'POSIX.1 unlink()'),
    Promise('flock', 'flock keeps another client out until it is released', 2, 'flock(2)'),
    Promise('fcntl_lock', 'a lock of fcntl keeps another client out until it is released', 2, 'POSIX.1 fcntl()'),
    Promise('chmod', 'another client sees a changed mode', 1, 'POSIX.1 chmod()'),
    Promise('chown', 'another client sees the owner and the group that were set', 1, 'POSIX.1 chown()'),
    Promise('times', 'a write changes mtime, and a change of the mode ctime', 1, 'POSIX.1 4.9, File Times Update'),
    Promise('hard_links', 'a second name is the same file, and counted', 1, 'POSIX.1 link()'),
    Promise('symlinks', 'a symbolic link can be read and followed', 1, 'POSIX.1 symlink()'),
    Promise('unlink_of_open_file', 'an open file stays readable when it is removed', 1, 'POSIX.1 unlink()'),
    Promise('full_directory', 'a directory that is not empty is not removed', 1, 'POSIX.1 rmdir()'),
    Promise('permissions', 'a file without permissions is not opened', 1, 'POSIX.1 4.5, File Access Permissions'),
    Promise('sparse_files', 'a hole in a file takes no space and reads as zeros', 1, 'POSIX.1 lseek(); stat(2)'),
    Promise('zero_fill', 'what is added when a file is made longer reads as zeros', 1, 'POSIX.1 ftruncate()'),
    Promise('fallocate', 'space can be reserved for a file', 1, 'POSIX.1 posix_fallocate()'),
    Promise('xattr', "a file keeps its user's extended attributes", 1, 'xattr(7)'),
    Promise('names_of_255_bytes', 'a name can have 255 bytes', 1, 'NAME_MAX of the Linux kernel, limits.h'),
    Promise('case_of_letters', 'f and F are two files', 1, 'POSIX.1 3.170, Filename'),
    Promise('direct_io', 'a file can be written and read with O_DIRECT', 1, 'open(2)'),
)
