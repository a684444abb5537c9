"""CONTRIBUTING.md word for word: a check, an engine and a file-system type are added to a copy, and they measure."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = (REPOSITORY / 'CONTRIBUTING.md').read_text()
BLOCK = re.compile(r'^```(python|diff|yaml)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
MEMORY = Path('/dev/shm/seatrial')
ENOUGH = 4 * 2**30
ENGINE_LINES = 60
# What the newcomer has besides src, checks and site-config, as far as the tests that the page names read it.
TESTS = (
    'pyproject.toml',
    'docs/generate.py',
    'docs/reference/file-systems.md',
    'tests/builders.py',
    'tests/conftest.py',
    'tests/fuse_lab.py',
    'tests/local_site.py',
    'tests/site_fixtures.py',
    'tests/transcript.py',
    'tests/transcripts',
    'tests/engine/test_registry.py',
    'tests/filesystem/test_registry.py',
)


def blocks() -> list[tuple[str, str, str]]:
    """(file, form, text) of each block; its file is the last that the text before it names."""
    written = []
    for match in BLOCK.finditer(PAGE):
        named = re.findall(r'`((?:checks|src|site-config|tests)/[\w/.]+\.(?:py|yaml))`', PAGE[: match.start()])
        written.append((named[-1], match[1], match[2]))
    return written


def patched(text: str, diff: str) -> str:
    """Added lines take the place of the one taken out; an import stands among the others in alphabetical order."""
    lines = diff.splitlines()
    (old,) = [line[1:] for line in lines if line[0] == '-']
    into = [line[1:] for line in lines if line[0] == '+']
    imported = [line for line in into if line.startswith('from ')]
    assert text.count(old) == 1
    text = text.replace(old, '\n'.join(line for line in into if line not in imported))
    there = re.findall(r'^from seatrial.*\n', text, re.MULTILINE)
    assert ''.join(there) in text
    return text.replace(''.join(there), ''.join(sorted([*there, *(f'{line}\n' for line in imported)])))


@pytest.fixture(scope='module')
def copy(tmp_path_factory) -> Path:
    """The checkout with what the page adds, as its reader has it."""
    top = tmp_path_factory.mktemp('newcomer')
    unbuilt = shutil.ignore_patterns('__pycache__')
    for room in ('src', 'checks', 'site-config'):
        shutil.copytree(REPOSITORY / room, top / room, ignore=unbuilt)
    for name in TESTS:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy)(REPOSITORY / name, top / name)
    shutil.copytree(top / 'site-config/local', top / 'site-config/mysite')
    for file, form, text in blocks():
        place = top / file
        place.parent.mkdir(exist_ok=True)
        place.write_text(patched(place.read_text(), text) if form == 'diff' else text)
    return top


def run(copy: Path, program: str, *arguments: str) -> subprocess.CompletedProcess:
    """A program of this environment in the copy, with the package of the copy."""
    environment = {**os.environ, 'PYTHONPATH': str(copy / 'src')}
    argv = [Path(sys.executable).with_name(program), *arguments]
    return subprocess.run(argv, cwd=copy, env=environment, capture_output=True, text=True, timeout=600)


def test_the_engine_is_as_short_as_the_page_says():
    (engine,) = [text for file, _, text in blocks() if file == 'src/seatrial/engine/plaindd.py']
    assert len(engine.splitlines()) < ENGINE_LINES


@pytest.mark.parametrize('command', [('check',), ('format', '--check')], ids=' '.join)
def test_the_linters_accept_what_the_page_adds(copy, command):
    files = [file for file, _, _ in blocks() if file.endswith('.py')]
    done = run(copy, 'ruff', *command, '--no-cache', *files)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_mypy_accepts_what_the_page_adds(copy):
    done = run(copy, 'mypy', *(file for file, _, _ in blocks() if file.startswith('src/') and file.endswith('.py')))
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_the_tests_that_the_page_names_pass_with_what_it_adds(copy):
    run(copy, 'python', 'docs/generate.py')
    assert '| `ramdisk` |' in (copy / 'docs/reference/file-systems.md').read_text()
    modules = ('tests/engine/test_registry.py', 'tests/engine/test_plaindd.py', 'tests/filesystem/test_registry.py')
    done = run(copy, 'python', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', *modules)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_what_is_not_registered_is_refused_with_what_is(copy, tmp_path):
    shutil.copytree(copy / 'site-config/mysite', tmp_path / 'mysite')
    trial = tmp_path / 'mysite/trial.yaml'
    trial.write_text(trial.read_text().replace('ramdisk', 'floppy'))
    done = run(copy, 'seatrial', 'list', '--site', str(tmp_path / 'mysite'))
    assert done.returncode == 64
    assert "'floppy' is not a file system type" in done.stderr
    assert 'ramdisk' in done.stderr


@pytest.fixture
def memory():
    """The directory of the page, on a tmpfs with room; it is taken away if it was not there."""
    if not os.path.ismount(MEMORY.parent) or shutil.disk_usage(MEMORY.parent).free < ENOUGH:
        pytest.skip(f'{MEMORY.parent} is no file system in memory with {ENOUGH >> 30} GiB of room')
    if MEMORY.exists():
        pytest.skip(f'{MEMORY} is there already: it is not ours')
    MEMORY.mkdir()
    yield MEMORY
    shutil.rmtree(MEMORY)


@pytest.mark.long
def test_the_check_measures_with_the_engine_on_the_type(copy, memory):
    done = run(copy, 'seatrial', 'run', '--site', 'site-config/mysite')
    (results,) = copy.glob('.seatrial/sessions/*/results.json')
    (case,) = json.loads(results.read_text())['cases']
    # A memory so fast that the smoke profile's bytes last less than half a second is refused: that too is right.
    assert case['verdict'] == 'MEASURED' or 'INVALID: T19' in done.stdout, done.stdout
    assert case['engine'].startswith('plaindd')
    assert case['verdict'] != 'MEASURED' or 'tmpfs keeps its files in memory' in ' '.join(case['labels'])
    assert list(memory.iterdir()) == []
