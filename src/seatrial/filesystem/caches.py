"""The kernel's caches of this node: pages, dentries and inodes, emptied by /proc/sys/vm/drop_caches (proc(5)) for the
whole machine, so a site must allow it. What is in use stays: dirty pages, open files, working directories."""

import os
import time
from typing import Optional

from seatrial.model.ask import ask
from seatrial.model.quoted_value import shell_line

DROP_CACHES = '/proc/sys/vm/drop_caches'
HOW = 'sync of the file system, then 3 to /proc/sys/vm/drop_caches: pages, dentries and inodes of the whole node'


def why_not() -> str:
    """The reason why this user cannot drop the kernel's caches, as a sentence, or ''. Only opening the file tells."""
    try:
        os.close(os.open(DROP_CACHES, os.O_WRONLY))
    except OSError as error:
        who = 'root may not here, as in a container' if os.geteuid() == 0 else 'only root may'
        return f"this node's caches cannot be emptied: {who} ({DROP_CACHES}: {error.strerror})"
    return ''


def forget(path: str) -> None:
    """Have this node drop a synced file from its cache (POSIX_FADV_DONTNEED). Only counters tell if it did."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def empty(path: str, deadline_s: float) -> Optional[str]:
    """Write dirty data, then drop, in processes that can be left behind. Returns the fault, or None."""
    end = time.monotonic() + deadline_s
    for argv in (['sync', '--file-system', '--', path], ['sh', '-c', f'echo 3 > {DROP_CACHES}']):
        answer = ask(argv, max(0.0, end - time.monotonic()))
        what = f'the caches were not emptied: {shell_line(argv)}'
        if answer is None:
            return f'{what} is not installed'
        if answer.exit_status is None:
            return f'{what} did not end in time ({deadline_s:g} s)'
        if answer.exit_status != 0:
            return f'{what} failed: {answer.stderr.strip() or answer.exit_status}'
    return None
