"""posixops, one directory as `ls -l` lists it: readdir(3), lstat(2) of each; in another launch than its making."""

import hashlib
import os
import time
from typing import Dict, List, Tuple

from seatrial.engine.base import EngineError
from seatrial.engine.posixops import tree
from seatrial.engine.posixops.operations import on_all_files
from seatrial.engine.posixops.part import Part
from seatrial.engine.posixops.work import Spec, Work
from seatrial.model.metric import Fact
from seatrial.model.point import Point
from seatrial.workload.listing import MAKING, PASSES, PHASE, listing_metrics
from seatrial.workload.tree import operations


def carry_out(work: Work, spec: Spec) -> Tuple[Fact, ...]:
    return {MAKING: tree.carry_out, PHASE: _list}[spec.phase](work, spec)


def directory_of(point: Point) -> str:
    return f'listing.{hashlib.sha256(point.label.encode()).hexdigest()[:12]}'


def _list(work: Work, spec: Spec) -> Tuple[Fact, ...]:
    directory, point = spec.directory, spec.point
    entries, metrics = point.tree.files_per_directory, listing_metrics(point.time.pauses_s)
    if not point.time.pauses_s:
        for names, attributes in zip(metrics[0::2], metrics[1::2]):
            _by_parts(work, directory, entries, names, attributes)
        return ()
    before_s = (0.0,) * len(PASSES) + point.time.pauses_s
    for metric, pause_s in zip(metrics, before_s):
        time.sleep(pause_s)
        work.alone(metric, lambda: _pass(directory, entries))
    return ()


def _pass(directory: str, entries: int) -> int:
    number = 0
    with os.scandir(directory) as listing:
        for entry in listing:
            entry.stat(follow_symlinks=False)
            number += 1
    return _expected(directory, number, entries)


def _by_parts(work: Work, directory: str, entries: int, names: str, attributes: str) -> None:
    listed: List['os.DirEntry[str]'] = []

    def read_names() -> int:
        with os.scandir(directory) as listing:
            listed.extend(listing)
        return _expected(directory, len(listed), entries)

    def ask() -> int:
        for entry in listed:
            entry.stat(follow_symlinks=False)
        return len(listed)

    work.alone(names, read_names)
    work.alone(attributes, ask)


def _expected(directory: str, number: int, entries: int) -> int:
    if number != entries:
        raise EngineError(
            'T17' if number < entries else 'P15', f'{directory} lists {number} entries, and {entries} were made'
        )
    return number


def _planned(phase: str, point: Point) -> Dict[str, int]:
    return {MAKING: operations, PHASE: lambda point, phase: on_all_files(phase, point)}[phase](point, phase)


PART = Part(carry_out, _planned, makes=(r'listing\.[0-9a-f]{12}',), directory=directory_of)
