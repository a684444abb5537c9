"""posixops, the listing of one directory, as `ls -l` does it: names by readdir(3), attributes by lstat(2) of each.

The directory is made in a launch of its own. The launch that lists makes no call on it before its first pass.
"""

import os
import time
from typing import List

from seatrial.engine.posixops.work import Failure, Work
from seatrial.model.point import Point
from seatrial.workload.listing import PASSES, listing_metrics


def carry_out(work: Work, directory: str, point: Point) -> None:
    """All passes over the directory. Raises Failure and OSError."""
    entries, metrics = point.files_per_directory, listing_metrics(point.pauses_s)
    if not point.pauses_s:
        for names, attributes in zip(metrics[0::2], metrics[1::2]):
            _by_parts(work, directory, entries, names, attributes)
        return
    before_s = (0.0,) * len(PASSES) + point.pauses_s
    for metric, pause_s in zip(metrics, before_s):
        time.sleep(pause_s)
        work.alone(metric, lambda: _pass(directory, entries))


def _pass(directory: str, entries: int) -> int:
    number = 0
    with os.scandir(directory) as listing:
        for entry in listing:
            entry.stat(follow_symlinks=False)
            number += 1
    return _expected(directory, number, entries)


def _by_parts(work: Work, directory: str, entries: int, names: str, attributes: str) -> None:
    found: List['os.DirEntry[str]'] = []

    def read_names() -> int:
        with os.scandir(directory) as listing:
            found.extend(listing)
        return _expected(directory, len(found), entries)

    def ask() -> int:
        for entry in found:
            entry.stat(follow_symlinks=False)
        return len(found)

    work.alone(names, read_names)
    work.alone(attributes, ask)


def _expected(directory: str, number: int, entries: int) -> int:
    if number != entries:
        raise Failure(
            'T17' if number < entries else 'P15', f'{directory} lists {number} entries, and {entries} were made'
        )
    return number
