"""What POSIX guarantees of a file system, and Linux beside it: the facts that posixops tries, in its order."""

from typing import Dict, NamedTuple, Tuple


class Guarantee(NamedTuple):
    """One fact. name: its stable id; words: what holds, for people; tasks: how many it takes to try it.

    source: an interface or a section of POSIX.1-2017 (IEEE Std 1003.1-2017), or a page of the Linux manual.
    """

    name: str
    words: str
    tasks: int
    source: str


GUARANTEES: Tuple[Guarantee, ...] = (
    Guarantee('read_after_close', 'another task reads what one has written and closed', 2, 'POSIX.1 write()'),
    Guarantee('read_before_close', 'another task reads what one has written, before it closes', 2, 'POSIX.1 write()'),
    Guarantee('overwrite_in_place', 'another task reads bytes that were overwritten', 2, 'POSIX.1 write()'),
    Guarantee('append', 'appended records follow each other, whoever appends', 2, 'POSIX.1 write(), O_APPEND'),
    Guarantee('append_at_once', 'two tasks that append at once lose no record', 2, 'POSIX.1 write(), O_APPEND'),
    Guarantee('write_at_once', 'two tasks that write records between each other lose none', 2, 'POSIX.1 write()'),
    Guarantee('truncate_on_open', 'another task finds a file empty that was emptied by O_TRUNC', 2, 'POSIX.1 open()'),
    Guarantee('mmap_shared', 'another task reads what was written through a shared mapping', 2, 'POSIX.1 msync()'),
    Guarantee(
        'rename_over', 'another task finds the new file after a rename over the old one', 2, 'POSIX.1 rename()'
    ),
    Guarantee('rename_without_gap', 'a name is never missing while it is renamed over', 2, 'POSIX.1 rename()'),
    Guarantee('name_after_miss', 'a name that was missing is found once it is made', 2, 'POSIX.1 open()'),
    Guarantee('listing', 'a listing shows what another task has made and removed', 2, 'POSIX.1 readdir()'),
    Guarantee('untar', 'another task finds all that was just unpacked, as it was packed', 2, 'POSIX.1 stat()'),
    Guarantee('exclusive_create', 'of two tasks that create a name with O_EXCL one succeeds', 2, 'POSIX.1 open()'),
    Guarantee('fsync_and_rename', 'what is synced and renamed is whole (no crash is tried)', 2, 'POSIX.1 fsync()'),
    Guarantee('unlink_by_another', 'an open file stays readable when another task removes it', 2, 'POSIX.1 unlink()'),
    Guarantee('flock', 'flock keeps another task out until it is released', 2, 'flock(2)'),
    Guarantee('fcntl_lock', 'a lock of fcntl keeps another task out until it is released', 2, 'POSIX.1 fcntl()'),
    Guarantee('chmod', 'another task sees a changed mode', 1, 'POSIX.1 chmod()'),
    Guarantee('chown', 'another task sees the owner and the group that were set', 1, 'POSIX.1 chown()'),
    Guarantee('times', 'a write changes mtime, and a change of the mode ctime', 1, 'POSIX.1 4.9, File Times Update'),
    Guarantee('hard_links', 'a second name is the same file, and counted', 1, 'POSIX.1 link()'),
    Guarantee('symlinks', 'a symbolic link can be read and followed', 1, 'POSIX.1 symlink()'),
    Guarantee('unlink_of_open_file', 'an open file stays readable when it is removed', 1, 'POSIX.1 unlink()'),
    Guarantee('full_directory', 'a directory that is not empty is not removed', 1, 'POSIX.1 rmdir()'),
    Guarantee('permissions', 'a file without permissions is not opened', 1, 'POSIX.1 4.5, File Access Permissions'),
    Guarantee('sparse_files', 'a hole in a file takes no space and reads as zeros', 1, 'POSIX.1 lseek(); stat(2)'),
    Guarantee('zero_fill', 'what is added when a file is made longer reads as zeros', 1, 'POSIX.1 ftruncate()'),
    Guarantee('fallocate', 'space can be reserved for a file', 1, 'POSIX.1 posix_fallocate()'),
    Guarantee('xattr', "a file keeps its user's extended attributes", 1, 'xattr(7)'),
    Guarantee('names_of_255_bytes', 'a name can have 255 bytes', 1, 'NAME_MAX of the Linux kernel, limits.h'),
    Guarantee('case_of_letters', 'f and F are two files', 1, 'POSIX.1 3.170, Filename'),
    Guarantee('direct_io', 'a file can be written and read with O_DIRECT', 1, 'open(2)'),
)

WAYS_TO_WRITE: Tuple[Guarantee, ...] = (
    Guarantee('small_files', 'files of 1 B to 64 KiB are read back as they were written', 1, 'POSIX.1 write()'),
    Guarantee('large_file', 'a file of 16 MiB is read back as it was written', 1, 'POSIX.1 write()'),
    Guarantee('unaligned', 'a file of unaligned transfers is read back as it was written', 1, 'POSIX.1 write()'),
    Guarantee('shared_file', 'a file that tasks write at once is read back as it was written', 1, 'POSIX.1 write()'),
    Guarantee('separate_files', 'files that tasks write at once are read back as written', 1, 'POSIX.1 write()'),
    Guarantee('appends', 'what tasks append one after the other follows each other', 1, 'POSIX.1 write(), O_APPEND'),
    Guarantee('truncates', 'what was cut off a file does not come back when it grows', 1, 'POSIX.1 ftruncate()'),
    Guarantee('overwrites', 'overwritten parts are new, and what lies between them is old', 1, 'POSIX.1 write()'),
    Guarantee('mapped', 'what was written through a shared mapping is in the file', 1, 'POSIX.1 msync()'),
    Guarantee('renamed', 'a file that was renamed over another has its own data', 1, 'POSIX.1 rename()'),
    Guarantee('locked_writers', 'writers that keep each other out leave the data of one', 1, 'POSIX.1 fcntl()'),
)
"""The facts that integrity.py tries. Data that differ are no fact that does not hold, but a failure (rule F2)."""

LIMITS: Tuple[Guarantee, ...] = (
    Guarantee(
        'refused', 'what a limit does not allow is refused, with its errno', 1, 'POSIX.1 write(), EDQUOT, ENOSPC'
    ),
    Guarantee('within', 'no more is acknowledged than the limit leaves', 1, 'quotactl(2), dqb_bhardlimit'),
    Guarantee('reached', 'nothing is refused that the limit allows', 1, 'quotactl(2), dqb_bhardlimit'),
    Guarantee('nothing_behind', 'behind what was acknowledged lies nothing that nobody wrote', 1, 'POSIX.1 write()'),
    Guarantee('again', 'what was removed can be used again', 1, 'POSIX.1 unlink()'),
)
"""The facts of a limit that was reached. What was acknowledged and is not whole is a failure (rule F2)."""

CONTENDED: Dict[str, Guarantee] = {
    'append': Guarantee(
        'appends_whole', 'records that all tasks append at once are all there, whole', 2, 'POSIX.1 write(), O_APPEND'
    ),
    'lock': Guarantee(
        'locks_exclude', 'what tasks change under a lock of fcntl loses no change', 2, 'POSIX.1 fcntl()'
    ),
}
"""The fact beside the figures of each phase of contention that has one."""
