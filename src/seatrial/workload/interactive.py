"""Interactive use: everyday work with small files, by all tasks at once; each step is timed separately."""

from typing import Dict, Optional, Sequence, Tuple

from seatrial.model.point import Point, TreePart
from seatrial.model.units import MIB, Size, in_bytes
from seatrial.workload.base import Footprint, Phase, rates
from seatrial.workload.operations import DOES, Operations
from seatrial.workload.tree import Tree, levels_total, places, shape_fault, things, who

TREES, GIT, VENV, BUILD = 'interactive', 'git', 'venv', 'build'
STEPS: Dict[str, Tuple[str, ...]] = {  # the steps of each phase, in order; the engine defines them
    TREES: ('untar', 'import', 'find', 'du', 'rm'),
    GIT: ('git_clone', 'git_status'),
    VENV: ('venv_create', 'pip_install', 'package_import'),
    BUILD: ('compile',),
}
TITLES = {TREES: 'interactive use', GIT: 'git clone and git status', VENV: 'pip install', BUILD: 'a build'}
BESIDE = {  # most of a task beside its files: pip in an environment has 1700 entries with 25 MiB (Python 3.11)
    TREES: Footprint(0, 0),
    GIT: Footprint(MIB, 200),
    VENV: Footprint(64 * MIB, 3000),
    BUILD: Footprint(MIB, 100),
}
COPIES = {TREES: 1, GIT: 3, VENV: 3, BUILD: 3}  # with packs of repositories; a wheel and bytecode; object files
_DOES = {
    TREES: 'unpacks an archive of {}, imports modules, and searches, sums up and removes a tree',
    GIT: 'clones a repository with {} by git, and asks for the status of a clone',
    VENV: 'makes a virtual environment, installs a package with {} into it by pip, and imports one such package',
    BUILD: 'compiles a program of {} by make and cc',
}


def interactive_use(
    depth: int, branching: int, files_per_directory: int, bytes_per_file: Size, does: str = TREES, tasks: int = 0
) -> Point:
    """In one launch each task makes a tree, does the STEPS of the phase `does` with it, and removes it."""
    tree = TreePart(depth, branching, files_per_directory, 0, in_bytes(bytes_per_file), 'private')
    return Point('interactive', (does,), tasks=tasks, scales=False, tree=tree)


class Interactive(Operations):
    """One launch, in which every task does the STEPS of a phase on whole trees, quickly if cached (T20a)."""

    name = 'interactive'
    words = 'interactive use'
    phases = tuple(Phase(name, DOES, metrics=rates(steps), title=TITLES[name]) for name, steps in STEPS.items())
    parameters = ('depth', 'branching', 'files_per_directory', 'bytes_per_file', 'subtrees')

    def fault(self, point: Point) -> Optional[str]:
        if len(point.phases) != 1:
            return f'phases: {list(point.phases)}; interactive use has one of {", ".join(STEPS)}'
        if point.tree.subtrees != 'private':
            return f"subtrees: '{point.tree.subtrees}' trees are not unpacked and removed by each task; write private"
        if point.tree.files_per_directory < 1:
            return 'files_per_directory: interactive use needs at least one file in each directory'
        return shape_fault(point)

    def sentence(self, points: Sequence[Point]) -> str:
        (does,) = points[0].phases
        what = f'{things(points)} {places(points)}' if does == TREES else things(points)
        return f'{who(points)} {_DOES[does].format(what)}'

    def footprint(self, points: Sequence[Point]) -> Footprint:
        (does,) = points[0].phases
        plain, tasks = Tree.footprint(self, points), max(point.tasks for point in points)
        beside, copies = BESIDE[does], COPIES[does]
        return Footprint(copies * plain.bytes + tasks * beside.bytes, copies * plain.inodes + tasks * beside.inodes)


def entries_of(point: Point, phase: str) -> Dict[str, int]:
    """Entries that all tasks together handle, by step; a virtual environment counts as one."""
    total = levels_total(point, point.tasks)
    handled = dict.fromkeys(STEPS[phase], total.files + (total.directories if phase == TREES else 0))
    special = {'import': total.files, 'venv_create': point.tasks}
    return {**handled, **{step: number for step, number in special.items() if step in handled}}
