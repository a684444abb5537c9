"""Reading past the cache of a node, where its file system can."""

import errno
import os
from fcntl import F_GETFL, F_SETFL, fcntl
from typing import Tuple

from seatrial.engine.base import DIRECT_BYTES


def read_past_cache(descriptor: int, offset: int, window: memoryview) -> Tuple[int, bool]:
    """Read into the window until it is full or the file ends: how many bytes are there, and whether all by O_DIRECT.

    offset, window: aligned and sized in DIRECT_BYTES. Where that is refused, the cache may answer. Raises OSError.
    """
    flags, there, past = fcntl(descriptor, F_GETFL), 0, True
    os.lseek(descriptor, offset, os.SEEK_SET)
    try:
        fcntl(descriptor, F_SETFL, flags | os.O_DIRECT)
        there = os.readv(descriptor, [window])
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # of tmpfs, and where transfers must be larger
            raise
        past = False
    finally:
        fcntl(descriptor, F_SETFL, flags)
    while there < len(window) and (not past or there % DIRECT_BYTES == 0):
        more = os.readv(descriptor, [window[there:]])
        if not more:
            break
        there, past = there + more, False
    return there, past
