"""The raw devices that a site names, as this node sees them. They are opened to read, and never to write."""

import os
import stat
from typing import Dict, Optional, Sequence

from seatrial.model.units import approximate_size


def devices_fault(paths: Sequence[str], needed: int) -> Optional[str]:
    """Why one of these is no device of which so many bytes can be read here, as a sentence; None where all are."""
    seen: Dict[int, str] = {}
    for path in paths:
        try:
            found = os.stat(path)
        except OSError as error:
            return f'{path} is not there: {error.strerror}'
        if not stat.S_ISBLK(found.st_mode):
            return f'{path} is not a block device'
        if found.st_rdev in seen:
            return f'{path} and {seen[found.st_rdev]} are one device'
        seen[found.st_rdev] = path
        try:
            device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            return f'{path} cannot be read: {error.strerror}'
        try:
            size = os.lseek(device, 0, os.SEEK_END)
        finally:
            os.close(device)
        if size < needed:
            said = f'{path} has {approximate_size(size)}, and {approximate_size(needed)} are to be read of it'
            return f'{said}: write less for bytes_per_task in its trial'
    return None
