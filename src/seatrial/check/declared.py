"""What a check declares, as values: what `seatrial list`, the plans and the completeness gate are made from."""

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.judge.expectations import Expectation, OfPair, Shape
from seatrial.model.namespace import Trees, expand_trees, namespace_fault
from seatrial.model.tree import TreePoint
from seatrial.model.work import Work, measures
from seatrial.model.workload import AccessPattern, Geometry, Sweep, pattern_fault


class CheckError(Exception):
    """A check file that cannot be used; says which and why."""


@dataclass(frozen=True)
class Declared:
    """One check: its ReFrame class's name, its family (the folder of its file), what it does and what it sweeps.

    max_relative_error: half width of the 90 % interval over the mean, at which repetitions stop.
    expectations:       what the literature found of it.
    """

    name: str
    family: str
    title: str
    workload: Work
    sweep: Sweep | Trees
    max_relative_error: float
    expectations: tuple[Expectation, ...] = ()


_declared: dict[str, Declared] = {}


def declare(cls: type[Any], file: Path) -> Declared:
    """Register what a check class declares. Raises CheckError for what contradicts itself."""
    workload = cls.workload_of()
    where, fault = _fault(workload, cls.sweep)
    if fault:
        raise CheckError(f'{file}: {cls.__name__}.{where}: {fault}')
    for expectation in cls.expectations:
        fault = expectation.fault(_shape(workload, cls.sweep))
        if fault:
            raise CheckError(f'{file}: {cls.__name__}.expectations: {expectation.id}: {fault}')
    new = Declared(
        name=cls.__name__,
        family=file.parent.name,
        title=(cls.__doc__ or cls.__name__).strip().splitlines()[0],
        workload=workload,
        sweep=cls.sweep,
        max_relative_error=cls.max_relative_error,
        expectations=tuple(cls.expectations),
    )
    _declared[new.name] = new
    return new


def declared() -> dict[str, Declared]:
    """What the check files declare that ReFrame has imported so far."""
    return dict(_declared)


def load(folder: Path) -> dict[str, Declared]:
    """Import every check file below the folder and return what they declare, in the order of the files.

    Raises CheckError for a file that does not import: to ReFrame it would be '0/0 PASSED'.
    """
    files = list(_check_files(folder))
    if not files:
        raise CheckError(f'{folder}: no check files; name the folder that holds them with --checks')
    found: dict[str, Declared] = {}
    for number, file in enumerate(files):
        before = dict(_declared)
        _declared.clear()
        name = f'_seatrial_check_{number}_{file.stem}'
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except CheckError:
            raise
        except Exception as error:
            raise CheckError(f'{file}: {type(error).__name__}: {error}') from error
        twice = sorted(set(found) & set(_declared))
        if twice:
            raise CheckError(f'{file}: {twice[0]} is declared in another file too; give it a name of its own')
        found.update(_declared)
        _declared.clear()
        _declared.update({**before, **found})
    for each in found.values():
        for expectation in each.expectations:
            if isinstance(expectation, OfPair) and expectation.of:
                _check_pair(each, expectation, found.get(expectation.of))
    return found


def _fault(workload: Work, sweep: Sweep | Trees) -> tuple[str, str | None]:
    """The name of the declaration that contradicts itself, and how; None where none does."""
    if isinstance(workload, AccessPattern):
        return 'pattern', pattern_fault(workload)
    faults = [namespace_fault(workload, point) for point in _examples(sweep)]
    return 'sweep', next((fault for fault in faults if fault), None)


def _shape(workload: Work, sweep: Sweep | Trees) -> Shape:
    if isinstance(workload, AccessPattern):
        layouts = sweep.layouts if isinstance(sweep, Sweep) else ()
        return Shape(workload.operations, sweep.axis, tuple(layout.name for layout in layouts))
    points = _examples(sweep)
    names = (name for each in workload.operations for point in points for name in measures(workload, each, point))
    return Shape(tuple(dict.fromkeys(names)), sweep.axis, tuple(point.label for point in points))


def _examples(sweep: Sweep | Trees) -> list[TreePoint]:
    """The points of a sweep over trees, with as few clients as it allows."""
    return expand_trees(sweep, Geometry(1, max(1, sweep.tasks))) if isinstance(sweep, Trees) else []


def _check_pair(one: Declared, expectation: OfPair, other: Declared | None) -> None:
    """Raise CheckError for a comparison with a check that is not there or that sweeps something else."""
    fault = None
    if other is None:
        fault = f"there is no check '{expectation.of}'"
    elif other.sweep.axis != one.sweep.axis:
        fault = f'{other.name} sweeps {other.sweep.axis}, not {one.sweep.axis}'
    if fault:
        raise CheckError(f'{one.name}.expectations: {expectation.id}: {fault}')


def _check_files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob('*.py')) if not file.name.startswith('_'))
