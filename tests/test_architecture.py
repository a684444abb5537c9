"""The rules of the architecture: the imports between rooms, the code that runs on a node, the contents of a check."""

import ast
import functools
import gc
import importlib
import itertools
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.workload.registry import KINDS

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = REPOSITORY / 'src' / 'seatrial'
CHECK_LINES_MOST = 120


def table() -> dict[str, tuple[set[str], str]]:
    """The rooms of docs/explanation/architecture.md: name -> (rooms it may import, where it runs)."""
    rows = {}
    for line in (REPOSITORY / 'docs' / 'explanation' / 'architecture.md').read_text().splitlines():
        match = re.match(r'\| `(\w+)/` \| [^|]+ \| ([^|]+) \| (node|login) \|', line)
        if match:
            room, imports, side = match.groups()
            rows[room] = ({name for name in re.findall(r'\w+', imports) if name != '-'}, side)
    return rows


ROOMS = table()
FILES = sorted(SOURCE.rglob('*.py'))


@pytest.fixture(scope='module', autouse=True)
def without_collection() -> Iterator[None]:
    """The syntax trees are half a million values that all live; to search them takes longer than to parse."""
    gc.disable()
    yield
    tree.cache_clear()
    gc.enable()


@functools.cache
def tree(file: Path) -> ast.Module:
    """The syntax tree of a file, which several rules read."""
    return ast.parse(file.read_text())


def room_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0]


@functools.cache
def imported(file: Path) -> set[str]:
    """The modules that a file imports, by their full dotted names."""
    modules = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{file}: relative import'
            modules |= {node.module or ''} | {f'{node.module}.{alias.name}' for alias in node.names}
    return modules


def test_the_table_names_every_room_and_no_other():
    rooms = {path.name for path in SOURCE.iterdir() if (path / '__init__.py').exists()}
    assert rooms <= set(ROOMS)
    assert rooms >= {'model', 'engine', 'filesystem', 'rules', 'job', 'site', 'judge', 'check', 'cli'}


@pytest.mark.slow
def test_a_room_imports_only_the_rooms_in_its_row():
    for file in FILES:
        allowed = ROOMS[room_of(file)][0] | {room_of(file)} if room_of(file) in ROOMS else set(ROOMS)
        used = {name.split('.')[1] for name in imported(file) if re.match(r'seatrial\.\w+', name)} & set(ROOMS)
        assert used <= allowed, file


def test_no_folder_has_more_files_than_can_be_seen_at_once():
    files = Counter(file.parent for file in FILES)
    assert [folder for folder, number in files.items() if number > 25] == []


@pytest.mark.parametrize('form, most', [('Kind', 20), ('Driver', 25)])
def test_a_kind_of_workload_and_a_driver_are_asked_no_more_than_can_be_kept_in_mind(form, most):
    (methods,) = (
        [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
        for file in FILES
        for node in tree(file).body
        if isinstance(node, ast.ClassDef) and node.name == form
    )
    assert len(methods) <= most


def test_no_two_classes_have_the_same_name():
    names = Counter(node.name for file in FILES for node in tree(file).body if isinstance(node, ast.ClassDef))
    assert [name for name, number in names.items() if number > 1] == []


def test_a_module_of_the_job_imports_only_those_before_it():
    section = (
        (REPOSITORY / 'docs' / 'explanation' / 'architecture.md')
        .read_text()
        .partition('## Inside `job/`')[2]
        .partition('\n## ')[0]
    )
    rows = re.findall(r'^\| `(\w+)/` \| ([^|]+) \|', section, re.MULTILINE)
    order = [f'{folder}.{name}' for folder, names in rows for name in re.findall(r'`(\w+)`', names)]
    job = SOURCE / 'job'
    files = {'.'.join(file.relative_to(job).with_suffix('').parts): file for file in job.rglob('[!_]*.py')}
    assert sorted(order) == sorted(files)
    for number, name in enumerate(order):
        used = {module.removeprefix('seatrial.job.') for module in imported(files[name])} & set(order)
        assert used <= set(order[:number]), name


def test_a_node_room_uses_the_standard_library_only():
    node = [file for file in FILES if ROOMS.get(room_of(file), (set(), ''))[1] == 'node']
    assert node
    for file in node:
        others = {name.split('.')[0] for name in imported(file)} - {'seatrial'}
        assert others <= set(sys.stdlib_module_names), file


@pytest.mark.slow
def test_the_node_rooms_need_no_more_than_python_3_6():
    rooms = [str(SOURCE / room) for room, (_, side) in ROOMS.items() if side == 'node' and (SOURCE / room).exists()]
    vermin = shutil.which('vermin', path=str(Path(sys.executable).parent))
    assert vermin is not None, 'vermin belongs to the development tools; pip install -e .[dev]'
    argv = [vermin, '--target=3.6-', '--violations', '--no-tips', '--eval-annotations', *rooms]
    checked = subprocess.run(argv, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_a_check_names_no_site_and_no_engine():
    words = re.compile(r'\b(fio|ior|dd|mdtest|lfs|srun|mpiexec|local:default)\b', re.IGNORECASE)
    for file in sorted((REPOSITORY / 'checks').rglob('*.py')):
        assert not words.search(file.read_text()), file


def test_a_check_file_is_short_and_imports_reframe():
    files = sorted((REPOSITORY / 'checks').rglob('*.py'))
    assert files
    for file in files:
        assert len(file.read_text().splitlines()) <= CHECK_LINES_MOST, file
        assert 'reframe' in imported(file), f'{file}: to ReFrame this is not a check file'


def test_only_the_filesystem_room_knows_lfs():
    for file in FILES:
        if room_of(file) != 'filesystem':
            assert not re.search(r"['\"](lfs|lctl)['\" ]", file.read_text()), file


def test_on_the_login_side_only_the_scheduler_room_runs_slurms_commands():
    command = re.compile(r"['\"](sbatch|squeue|scancel|scontrol|sacct|scrontab|sinfo)['\"]")
    for file in FILES:
        if room_of(file) != 'scheduler' and ROOMS.get(room_of(file), (set(), ''))[1] == 'login':
            assert not command.search(file.read_text()), file


# Nothing but workload/ asks a kind or a phase for its name

NAMES = {*KINDS, *(phase.name for kind in KINDS.values() for phase in kind.phases)}
OF_A_POINT = ('kind', 'phase', 'phases')


def value_of(node: ast.expr, scope: dict[str, object]) -> object:
    """The value of a constant, by the names of its module; None if the expression is no constant."""
    if isinstance(node, ast.Attribute):
        return getattr(value_of(node.value, scope), node.attr, None)
    return scope.get(node.id) if isinstance(node, ast.Name) else getattr(node, 'value', None)


def has_names(node: ast.expr, scope: dict[str, object]) -> bool:
    """True if a constant is the name of a kind or a phase, or contains one."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(has_names(element, scope) for element in node.elts)
    value = value_of(node, scope)
    several = value if isinstance(value, (tuple, list, set, frozenset, dict)) else (value,)
    return any(isinstance(item, str) and item in NAMES for item in several)


def compared_with_names(module: ast.Module, scope: dict[str, object]) -> list[int]:
    """The lines in which the kind of a point, or a phase, is compared with a name, whatever variable has it."""
    nodes, known = list(ast.walk(module)), set(OF_A_POINT)

    def is_own(node: ast.expr) -> bool:
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return is_own(node.value)
        if isinstance(node, ast.Tuple):
            return any(map(is_own, node.elts))
        return getattr(node, 'attr', '') in OF_A_POINT or getattr(node, 'id', '') in known

    given = [(target, node.value) for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    given += [(node.target, node.value) for node in nodes if isinstance(node, (ast.NamedExpr, ast.AnnAssign))]
    given += [(node.target, node.iter) for node in nodes if isinstance(node, (ast.For, ast.comprehension))]
    while aliases := {target.id for target, value in given if isinstance(target, ast.Name) and is_own(value)} - known:
        known |= aliases
    lines = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = [*itertools.pairwise(sides), *itertools.pairwise(sides[::-1])]
        elif isinstance(node, ast.Match):
            values = [pattern.value for pattern in ast.walk(node) if isinstance(pattern, ast.MatchValue)]
            pairs = [(node.subject, value) for value in values]
        else:
            continue
        lines += [node.lineno for a, b in pairs if is_own(a) and has_names(b, scope)]
    return lines


@pytest.mark.parametrize(
    'text',
    [
        "point.kind == 'scenario'",
        "launch.point.kind in ('training', 'burst')",
        "'write' in point.phases",
        "point.phases != ('read',)",
        "plan.phases[0] == 'write'",
        'phase not in WORKLOADS_OWN',
        'FILL == spec.phase',
        "what = point.kind\nif what != 'tree': pass",
        "[each for each in point.phases if each == 'read']",
        "match point.kind:\n    case 'tree': pass",
        "(point.kind, 1) == ('tree', 1)",
    ],
)
def test_a_comparison_of_a_kind_or_a_phase_with_a_name_is_seen(text):
    assert compared_with_names(ast.parse(text), {'WORKLOADS_OWN': {'read': 1}, 'FILL': 'fill'})


def test_what_has_another_kind_and_what_dispatches_by_a_table_is_none():
    text = "launcher.kind == 'local'; row.kind in ('OST', 'brick'); sample.phase == name; TABLE[phase]; does.writes"
    assert not compared_with_names(ast.parse(text), {'TABLE': {'read': 1}})


@pytest.mark.slow
def test_only_the_workload_room_compares_kinds_and_phases_with_names():
    for file in FILES:
        parts = file.relative_to(SOURCE).with_suffix('').parts
        if parts[0] != 'workload':
            scope = vars(importlib.import_module('.'.join(('seatrial', *parts)).removesuffix('.__init__')))
            assert compared_with_names(tree(file), scope) == [], file
