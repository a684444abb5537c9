"""The layouts of the data directories: set while a directory is empty, and proved on a file that the engine wrote."""

import os
from typing import Dict, List, Optional, Sequence, Set

from seatrial.engine.base import EngineError
from seatrial.filesystem.base import Driver, Granted
from seatrial.job.directory.rundir import RunDirectory
from seatrial.model.layout import TARGETS, Layout, target_name
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import Finding, TargetRow
from seatrial.model.units import approximate_size
from seatrial.rules.registry import finding
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of

FREE_SHARE = 0.9  # largest share of the free bytes for the files of all tasks, on the file system or on one target
MAX_PROVED = 8  # files that are proved in the first launch with a layout; in each later launch one other
TRIED = 'tried'  # the name of a file that shows whether a target takes files at all


def without_closed(plan: TrialPlan, driver: Driver) -> TrialPlan:
    """The plan; a node sweep over all targets becomes one over those that take files: other writers would wait."""
    layout = plan.points[0].layout
    if plan.axis.equals != 'node' or layout is None:
        return plan
    rows = [row for row in driver.targets(plan.target.path).rows if row.kind == 'OST']
    numbers = [row.number for row in rows if row.takes_files]
    if len(numbers) in (0, len(rows)):
        return plan
    open_layout = driver.on_targets(layout.name, 'OST', numbers, layout)
    return plan._replace(points=tuple(point._replace(layout=open_layout) for point in plan.points))


class Layouts:
    """The layout of each directory of a run. A directory that has been emptied keeps its own."""

    def __init__(self, plan: TrialPlan, driver: Driver, run: RunDirectory) -> None:
        self._plan, self._driver, self._run = plan, driver, run
        self._of_targets = plan.axis.equals in TARGETS
        self._given: Dict[str, Layout] = {}
        self._granted: Dict[str, Granted] = {}
        self._proved: Dict[str, int] = {}
        self._tried: Set[str] = set()
        self._targets: Optional[Dict[str, TargetRow]] = None

    def wanted(self, point: Point) -> Layout:
        return self._plan.target.layout if point.layout is None else point.layout

    def give(self, directory: str, point: Point) -> None:
        """Give the directory the layout of the point; one with another layout is made again. Raises EngineError
        (P5a; P5b: a target cannot be tested) if the layout is refused, RunDirectoryError if files lie in it."""
        wanted = self.wanted(point)
        self._raise_for(self._why_closed(point), point)
        had = self._given.get(directory, Layout())
        if wanted.canonical == had.canonical:
            return
        if not had.is_default:
            self._given.pop(directory)
            self._run.renew(directory)
        self._raise_for(self._driver.set_layout(self._run.path_of(directory), wanted), point)
        self._given[directory] = wanted
        # A directory may get a target that its MDS has retired: one file is made on each target, and removed.
        if self._of_targets and wanted.places_file and wanted.canonical not in self._tried:
            self._make(directory, point, [TRIED])
            self._run.empty(directory)
            self._tried.add(wanted.canonical)

    def place(self, directory: str, launch: Launch) -> None:
        """Make the files that the launch will write, if directories pass no layout on. EngineError as in give."""
        point, kind = launch.point, kind_of(launch.point.kind)
        is_asked = not self._driver.hands_down and self.wanted(point).places_file
        if is_asked and kind.moves_data and kind.phase(launch.phase).makes:
            self._make(directory, point, [file.name for file in kind.files(point)])

    def findings(self, directory: str, launch: Launch) -> List[Finding]:
        """Differences on files that the launch has made (P5a), and fewer targets than all (P5c)."""
        wanted = self.wanted(launch.point)
        if wanted.is_default:
            return []
        for file in self._to_prove(directory, wanted, launch):
            granted = self._driver.granted(file, wanted)
            differs = granted.differs or self._other_than_before(wanted, granted)
            if differs is not None:
                return [finding('P5a', f'not the layout that was asked for: {differs}')]
        known = self._granted.get(wanted.canonical)
        return [finding('P5c', f'{wanted.canonical}: {known.targets}')] if known and known.targets else []

    def _make(self, directory: str, point: Point, names: Sequence[str]) -> None:
        where = self._run.path_of(directory)
        paths = [os.path.join(where, name) for name in names]
        self._raise_for(self._driver.make_files(paths, self.wanted(point), where), point)

    def _raise_for(self, fault: Optional[str], point: Point) -> None:
        """Raises EngineError if there is a fault in giving files the layout of the point."""
        if fault is not None and self._of_targets:
            raise EngineError('P5b', f'{point.label} cannot be tested: {fault}')
        if fault is not None:
            raise EngineError('P5a', f"the layout '{self.wanted(point).name}' could not be set: {fault}")

    def _to_prove(self, directory: str, wanted: Layout, launch: Launch) -> Sequence[str]:
        """A few of the written files; if files are created in great numbers one, so that no other gets cached."""
        kind = kind_of(launch.point.kind)
        if not kind.phase(launch.phase).makes:
            return ()
        if not kind.moves_data:
            file = self._run.any_file(directory)
            return () if file is None else (file,)
        names = sorted(self._run.file_list(directory))
        before = self._proved.get(wanted.canonical, 0)
        # Targets are tested in great numbers, each with a layout of its own.
        number = min(len(names), 1 if before or self._of_targets else MAX_PROVED)
        self._proved[wanted.canonical] = before + number
        chosen = [names[(before + place * len(names) // number) % len(names)] for place in range(number)]
        return [os.path.join(self._run.path_of(directory), name) for name in chosen]

    def _other_than_before(self, wanted: Layout, granted: Granted) -> Optional[str]:
        """A sentence if an earlier file had other targets, as figures would then be of several layouts; or None."""
        before = self._granted.setdefault(wanted.canonical, granted)
        if before.everywhere and granted.everywhere:  # the servers choose how components share the targets
            self._granted[wanted.canonical] = max(before, granted)
            return None
        difference = f'{granted.targets or "all targets"}, and in a file before {before.targets or "all targets"}'
        return None if before == granted else difference

    def _why_closed(self, point: Point) -> Optional[str]:
        """A sentence if the target of this point takes no new files, which is checked once; else None."""
        if not self._of_targets or point.layout is None:
            return None
        if self._targets is None:
            rows = self._driver.targets(self._plan.target.path).rows
            self._targets = {target_name(row.kind, row.number): row for row in rows}
        row = self._targets.get(point.layout.name)
        if row is None:
            return None
        if not row.active:
            return 'it is not active'
        why = ', '.join((*row.flags, row.fault) if row.fault else row.flags)
        if row.takes_objects is False:
            return f'it takes no new files ({why or "why is not known"})'
        size = kind_of(point.kind).footprint([point]).bytes
        if row.bytes_free is not None and size > FREE_SHARE * row.bytes_free:
            return f'{approximate_size(size)} are to be written, and it has {approximate_size(row.bytes_free)} free'
        return None
