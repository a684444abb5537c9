"""Interactive use: everyday work of users with small files, each step timed by itself, all tasks at once."""

from typing import Dict, Optional, Sequence, Tuple

from seatrial.model.point import Point, TreePart
from seatrial.model.units import MIB, Size, in_bytes
from seatrial.workload.base import Footprint, Phase, rates
from seatrial.workload.operations import DOES, Operations
from seatrial.workload.tree import Tree, levels_total, places, shape_fault, things, who

TREES, GIT, VENV, BUILD = 'interactive', 'git', 'venv', 'build'
STEPS: Dict[str, Tuple[str, ...]] = {  # of each phase, in their order; the engine defines them
    TREES: ('untar', 'import', 'find', 'du', 'rm'),
    GIT: ('git_clone', 'git_status'),
    VENV: ('venv_create', 'pip_install', 'package_import'),
    BUILD: ('compile',),
}
TITLES = {TREES: 'interactive use', GIT: 'git clone and git status', VENV: 'pip install', BUILD: 'a build'}
BESIDE = {  # the most that a task has beside its files: in an environment pip, 1700 entries of 25 MiB (Python 3.11)
    TREES: Footprint(0, 0),
    GIT: Footprint(MIB, 200),
    VENV: Footprint(64 * MIB, 3000),
    BUILD: Footprint(MIB, 100),
}
COPIES = {TREES: 1, GIT: 3, VENV: 3, BUILD: 3}  # in a pack of each repository; in a wheel, as bytecode; as objects
_DOES = {
    TREES: 'unpacks an archive of {}, imports modules, and searches, sums up and removes a tree',
    GIT: 'clones a repository with {} by git, and asks for the status of a clone',
    VENV: 'makes a virtual environment, installs a package with {} into it by pip, and imports one such package',
    BUILD: 'compiles a program of {} by make and cc',
}


def interactive_use(
    depth: int, branching: int, files_per_directory: int, bytes_per_file: Size, does: str = TREES, tasks: int = 0
) -> Point:
    """Each task makes a tree, does one of STEPS (`does`) with it and removes it, in one launch."""
    tree = TreePart(depth, branching, files_per_directory, 0, in_bytes(bytes_per_file), 'private')
    return Point('interactive', (does,), tasks=tasks, scales=False, tree=tree)


class Interactive(Operations):
    """One launch, in which every task does STEPS on whole trees. A step on a cached tree is soon over (T20a)."""

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
    """Entries that all tasks together handle in each step; an environment counts as one."""
    there = levels_total(point, point.tasks)
    handled = dict.fromkeys(STEPS[phase], there.files + (there.directories if phase == TREES else 0))
    special = {'import': there.files, 'venv_create': point.tasks}
    return {**handled, **{step: number for step, number in special.items() if step in handled}}
