"""The declarations of checks as values: the source of `seatrial list`, the plans and the completeness gate."""

import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.judge.expectations import CurveRatio, Expectation, Shape
from seatrial.model.owned import refusal_of_code
from seatrial.model.point import Axis, Point
from seatrial.workload.registry import fault_of, form_fault, kind_of, metrics_at
from seatrial.workload.sweep import AXES, Sweep, examples, sweep_fault


class CheckError(Exception):
    """A check file that cannot be used; the message has the file and the reason."""


@dataclass(frozen=True)
class Declared:
    name: str  # name of its ReFrame class
    family: str  # the folder of its file
    title: str  # first line of its docstring
    workload: Point  # a point as a template, in which the sweep varies one parameter
    sweep: Sweep
    max_relative_error: float  # half width of the 90 % interval over the mean, at which repetitions stop.
    expectations: tuple[Expectation, ...] = ()  # what the literature found of it.
    covers: tuple[str, ...] = ()  # ids of the sources' tests beside those of its expectations (list --catalogue)
    every_point: bool = False  # whether its whole sweep is measured, and nothing of it in a smoke test.
    first: bool = False  # whether the profile first has it, for its family.
    file: Path = Path()

    @property
    def axis(self) -> Axis:
        return AXES[self.sweep.axis]


_declared: dict[str, Declared] = {}


def declare(cls: type[Any], file: Path) -> Declared:
    """Registers the declarations of a check class. Raises CheckError for impossible or contradictory ones."""
    where = f'{file}: {cls.__name__}'
    for name, wanted in (('workload', Point), ('sweep', Sweep)):
        if type(getattr(cls, name, None)) is not wanted:
            raise CheckError(f'{where}.{name}: it is missing or has another type; CONTRIBUTING.md shows a check')
    workload, sweep = cls.workload, cls.sweep
    if fault := _fault(workload, sweep) or _criteria_fault(cls.max_relative_error, cls.expectations):
        raise CheckError(f'{where}.{fault}')
    new = Declared(
        name=cls.__name__,
        family=file.parent.name,
        title=(cls.__doc__ or cls.__name__).strip().splitlines()[0],
        workload=workload,
        sweep=sweep,
        max_relative_error=cls.max_relative_error,
        expectations=tuple(cls.expectations),
        covers=tuple(cls.covers),
        every_point=bool(cls.every_point),
        first=bool(cls.first),
        file=file,
    )
    points = examples(sweep, workload)
    names = dict.fromkeys(measure.name for point in points for measure in metrics_at(point))
    shape = Shape(tuple(names), sweep.axis, tuple(point.label for point in points) if new.axis.named else ())
    for expectation in new.expectations:
        if fault := expectation.fault(shape):
            raise CheckError(f'{where}.expectations: {expectation.id}: {fault}')
    _declared[new.name] = new
    return new


def declared() -> dict[str, Declared]:
    """The declarations of the check files that ReFrame has imported so far."""
    return dict(_declared)


def load(*folders: Path) -> dict[str, Declared]:
    """The declarations in every check file below the folders, in the order of the files. Raises CheckError for a file
    that another user may change, or that does not import (to ReFrame it would be '0/0 PASSED')."""
    checks: dict[str, Declared] = {}
    for number, file in enumerate(file for folder in folders for file in _files_in(folder)):
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
            raise CheckError(f'{file}: {_line(error, file)}{type(error).__name__}: {error}') from error
        if twice := sorted(set(checks) & set(_declared)):
            raise CheckError(f'{file}: {twice[0]} is declared in another file too; give it a name of its own')
        checks.update(_declared)
        _declared.clear()
        _declared.update({**before, **checks})
    for check in checks.values():
        for expectation in check.expectations:
            if isinstance(expectation, CurveRatio) and expectation.of:
                where, other = f'{check.name}.expectations: {expectation.id}', checks.get(expectation.of)
                if other is None:
                    raise CheckError(f"{where}: there is no check '{expectation.of}'")
                if other.sweep.axis != check.sweep.axis:
                    raise CheckError(f'{where}: {other.name} sweeps {other.axis.plural}, not {check.axis.plural}')
    return checks


def _files_in(folder: Path) -> list[Path]:
    read = sorted(path for path in folder.rglob('*') if path.suffix == '.py' or path.is_dir())
    if fault := refusal_of_code(str(folder), map(str, read)):
        raise CheckError(fault)
    if files := [file for file in read if file.is_file() and not file.name.startswith('_')]:
        return files
    raise CheckError(f'{folder}: no check files; name the folder that holds them with --checks')


def _fault(workload: Point, sweep: Sweep) -> str | None:
    """The fault of an impossible declaration, as 'sweep: sentence'; None if there is none."""
    if fault := form_fault(workload):
        return f'workload.{fault}'
    if impossible := sweep_fault(sweep):
        return f'sweep: {impossible}'
    axis, points, kind = AXES[sweep.axis], examples(sweep, workload), kind_of(workload.kind)
    if axis.equals == 'node' and workload.tasks:
        return 'workload.tasks: a sweep over nodes uses all tasks of its nodes; remove it'
    for point in points:
        if fault := fault_of(point):
            return f'workload.{fault}{f" ({point.label})" if point.label else ""}'
    if not kind.moves_data or not kind.preparations(points):
        return None
    alike = not axis.equals and len({(kind.files(point), point.layout) for point in points}) == 1
    fault = f'workload.operations: in a sweep over {axis.plural} each point reads files of its own; write them first'
    return None if alike else fault


def _criteria_fault(max_relative_error: Any, expectations: Any) -> str | None:
    if type(max_relative_error) is not float or not 0 < max_relative_error < 1:
        return f'max_relative_error: {max_relative_error!r} is not a fraction of the mean; write 0.1 for 10 %'
    if not isinstance(expectations, (tuple, list)):
        return 'expectations: expected a tuple, found one value; write (..., ) with its comma'
    strange = [expectation for expectation in expectations if not isinstance(expectation, Expectation)]
    return f'expectations: {strange[0]!r} is not one; see docs/reference/expectations.md' if strange else None


def _line(error: Exception, file: Path) -> str:
    """The line of the file that raised an exception: 'line 12, in SharedFile: '; empty if unknown."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if not frames:
        return ''
    inside = '' if frames[-1].name == '<module>' else f', in {frames[-1].name}'
    return f'line {frames[-1].lineno}{inside}: '
