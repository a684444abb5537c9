"""posixops, one directory as `ls -l` lists it: readdir(3), lstat(2) of each; in another launch than its making."""

import hashlib
import os
import time
from typing import Dict, List

from seatrial.engine.base import EngineError
from seatrial.engine.posixops import tree
from seatrial.engine.posixops.operations import on_all_files
from seatrial.engine.posixops.work import Part, Spec, Work
from seatrial.model.point import Point
from seatrial.workload.listing import PASSES, listing_metrics
from seatrial.workload.registry import phase_of
from seatrial.workload.tree import operations


def carry_out(work: Work, spec: Spec) -> None:
    (tree.carry_out if phase_of(spec.point, spec.phase).makes else _list)(work, spec)


def directory_of(point: Point) -> str:
    return f'listing.{hashlib.sha256(point.label.encode()).hexdigest()[:12]}'


def _list(work: Work, spec: Spec) -> None:
    directory, pauses_s, entries = spec.directory, spec.point.time.pauses_s, spec.point.tree.files_per_directory
    metrics = listing_metrics(pauses_s)
    if pauses_s:
        for metric, pause_s in zip(metrics, (0.0,) * len(PASSES) + pauses_s):
            time.sleep(pause_s)
            work.alone(metric, lambda: _pass(directory, entries))
    else:
        for names, attributes in zip(metrics[0::2], metrics[1::2]):
            _by_parts(work, directory, entries, names, attributes)


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
        rule = 'T17' if number < entries else 'P15'
        raise EngineError(rule, f'{directory} lists {number} entries, and {entries} were made')
    return number


def _planned(point: Point, phase: str) -> Dict[str, int]:
    return operations(point, phase) if phase_of(point, phase).makes else on_all_files(point, phase)


PART = Part(carry_out, _planned, makes=(r'listing\.[0-9a-f]{12}',), directory=directory_of)
