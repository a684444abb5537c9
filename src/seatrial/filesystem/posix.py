"""Any file system with POSIX semantics: no layouts, free space from statvfs, quota from quota(1)."""

import os
from typing import List, Optional

from seatrial.filesystem.base import Capacity, FileSystem
from seatrial.filesystem.probe import ask
from seatrial.model.layout import Layout

QUOTA_DEADLINE_S = 10.0
QUOTA_BLOCK = 1024  # quota(1): blocks of 1 KiB


class Posix(FileSystem):
    """Also the stand-in for the types that have no driver of their own yet; those cannot set a layout either."""

    def capacity(self, path: str) -> Capacity:
        """From statvfs(3): f_bavail and f_favail; a file system that counts no inodes (f_files 0) has no limit."""
        seen = os.statvfs(path)
        return Capacity(seen.f_bavail * seen.f_frsize, seen.f_favail if seen.f_files else None)

    def quota(self, path: str) -> Capacity:
        """From quota(1) of the user. Root has none; a missing or mute quota(1) leaves it unknown."""
        if os.geteuid() == 0:
            return Capacity(None, None)
        argv = ['quota', '--user', '--no-wrap', '--raw-grace', '-f', mount_of(path)]
        answer = ask(argv, QUOTA_DEADLINE_S)
        return parse_quota(answer.stdout if answer else '')

    def layout_fault(self, layout: Layout) -> Optional[str]:
        """Only the file system's own default is possible."""
        if layout.is_default:
            return None
        return f"the layout '{layout.name}' cannot be set and proved on a file system of type {self.type}"

    def reads_are_counted(self, path: str) -> bool:
        """True on a block device, by getrusage(2) ru_inblock; network file systems have an anonymous one, major 0."""
        return os.major(os.stat(path).st_dev) != 0

    def forget(self, path: str) -> None:
        """posix_fadvise(2) POSIX_FADV_DONTNEED over the whole file: any user may, and clean pages go."""
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def mount_of(path: str) -> str:
    """The mount point that the path lies under."""
    path = os.path.realpath(path)
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def parse_quota(text: str) -> Capacity:
    """What is left by the rows of `quota -u -w -p`: the hard limits, or the soft ones where no hard one is set.

    A row is: file system, blocks, quota, limit, grace, files, quota, limit, grace; 0 is no limit and an asterisk
    marks a limit that is exceeded. Anything else is not a row.
    """
    for line in text.splitlines():
        fields = line.split()
        numbers = [field.rstrip('*') for field in fields[1:]]
        if len(numbers) == 8 and all(number.isdigit() for number in numbers):
            values = [int(number) for number in numbers]
            return Capacity(_left(values[:3], QUOTA_BLOCK), _left(values[4:7], 1))
    return Capacity(None, None)


def _left(row: List[int], unit: int) -> Optional[int]:
    used, soft, hard = row
    limit = hard or soft
    return max(0, limit - used) * unit if limit else None
