"""The rules of the house: who may import whom, what runs on a node, what a check may hold."""

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = REPOSITORY / 'src' / 'seatrial'
CHECK_LINES_MOST = 120
NOT_YET_ALONE = {
    *('Barrier', 'Begun', 'Bonnie', 'Comparison', 'Done', 'Io500', 'Layout'),
    *('Left', 'Limits', 'Refused', 'Report', 'Row', 'Run', 'Sample', 'Search', 'Setup', 'Share', 'Site'),
    *('Spec', 'Summary'),
}
"""Names of several classes. None is added; whoever renames one of them takes it out."""


def table() -> dict[str, tuple[set[str], str]]:
    """The rooms of docs/architecture.md: name -> (rooms it may import, where it runs)."""
    rows = {}
    for line in (REPOSITORY / 'docs' / 'architecture.md').read_text().splitlines():
        match = re.match(r'\| `(\w+)/` \| [^|]+ \| ([^|]+) \| (node|login) \|', line)
        if match:
            room, imports, side = match.groups()
            rows[room] = ({name for name in re.findall(r'\w+', imports) if name != '-'}, side)
    return rows


ROOMS = table()
FILES = sorted(SOURCE.rglob('*.py'))


def imported(file: Path) -> set[str]:
    """The modules that a file imports, by their full dotted names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{file}: relative import'
            found |= {node.module or ''} | {f'{node.module}.{alias.name}' for alias in node.names}
    return found


def test_the_table_names_every_room_and_no_other():
    rooms = {path.name for path in SOURCE.iterdir() if (path / '__init__.py').exists()}
    assert rooms <= set(ROOMS)
    assert rooms >= {'model', 'engine', 'filesystem', 'rules', 'job', 'site', 'judge', 'check', 'cli'}


@pytest.mark.parametrize('file', FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_room_imports_only_the_rooms_in_its_row(file):
    room = file.relative_to(SOURCE).parts[0]
    if room not in ROOMS:
        return
    allowed = ROOMS[room][0] | {room}
    used = {name.split('.')[1] for name in imported(file) if re.match(r'seatrial\.\w+', name)} & set(ROOMS)
    assert used <= allowed


def test_no_two_classes_have_the_same_name():
    bodies = [ast.parse(file.read_text()).body for file in FILES]
    names = Counter(node.name for body in bodies for node in body if isinstance(node, ast.ClassDef))
    assert {name for name, number in names.items() if number > 1} == NOT_YET_ALONE


def test_a_module_of_the_job_imports_only_those_before_it():
    section = (
        (REPOSITORY / 'docs' / 'architecture.md').read_text().partition('## Inside `job/`')[2].partition('\n## ')[0]
    )
    rows = re.findall(r'^\| `(\w+)/` \| ([^|]+) \|', section, re.MULTILINE)
    order = [f'{folder}.{name}' for folder, names in rows for name in re.findall(r'`(\w+)`', names)]
    job = SOURCE / 'job'
    files = {'.'.join(file.relative_to(job).with_suffix('').parts): file for file in job.rglob('[!_]*.py')}
    assert sorted(order) == sorted(files)
    for number, name in enumerate(order):
        used = {each.removeprefix('seatrial.job.') for each in imported(files[name])} & set(order)
        assert used <= set(order[:number]), name


@pytest.mark.parametrize(
    'file',
    [file for file in FILES if ROOMS.get(file.relative_to(SOURCE).parts[0], (set(), ''))[1] == 'node'],
    ids=lambda file: str(file.relative_to(SOURCE)),
)
def test_a_node_room_uses_the_standard_library_only(file):
    others = {name.split('.')[0] for name in imported(file)} - {'seatrial'}
    assert others <= set(sys.stdlib_module_names)


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
        if file.relative_to(SOURCE).parts[0] != 'filesystem':
            assert not re.search(r"['\"](lfs|lctl)['\" ]", file.read_text()), file


def test_on_the_login_side_only_the_scheduler_room_runs_slurms_commands():
    command = re.compile(r"['\"](sbatch|squeue|scancel|scontrol|sacct|scrontab|sinfo)['\"]")
    for file in FILES:
        room = file.relative_to(SOURCE).parts[0]
        if room != 'scheduler' and ROOMS.get(room, (set(), ''))[1] == 'login':
            assert not command.search(file.read_text()), file
