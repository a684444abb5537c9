"""Parts that all tests share: programs that may be missing, and the choice of tests for a fast or a full run."""

import functools
import gc
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from fuse_lab import GLUSTER, open_to_all
from local_site import executable
from site_fixtures import (  # noqa: F401
    allocation,
    command,
    everybodys,
    judged,
    on_site,
    past,
    remembered,
    second_user,
    site,
)
from transcript import transcripts

REPOSITORY = Path(__file__).resolve().parent.parent
LAB_PROGRAMS = {'ceph-osd', 'glusterd', 'slurmctld', 'srun', 'linux.uml'}
LAB_FIXTURES = {'lab_gluster', 'plain_slurm', 'accounting_slurm', 'kernels'}
NOT_FAST = 'lab', 'browser', 'slow'
LONGEST = ('test_docs.py', 'test_scenario.py', 'test_node_sweep.py', 'test_kernels.py', 'test_shared_kernels.py')
LONGEST += ('test_reframe_habits.py', 'test_verdicts_in_reframe.py')
SLOW_FIXTURES = {'pydarshan', 'stand', 'cluster'}  # pandas is imported; each command to a stand-in is a Python
# Commands, sessions, processes, clocks and large simulations; a fast run does not even import them.
SLOW_PLACES = {
    REPOSITORY / 'tests' / name
    for name in (
        'benchmarks',
        'check/test_actions.py',
        'check/test_contract.py',
        'ci',
        'cli',
        'engine/test_posixops_runs.py',
        'engine/test_posixops_semantics.py',
        'filesystem/test_cold.py',
        'history/test_store.py',
        'integration',
        'job/directory/test_orphans.py',
        'job/launch',
        'job/sequence',
        'judge/test_io500.py',
        'nights',
        'report/drawing/test_scenario_course.py',
        'report/nights',
        'report/session',
        'report/test_browser.py',
        'rules/test_drill.py',
        'rules/test_outliers.py',
        'site/test_example_sites.py',
        'site/test_site_properties.py',
        'test_docs.py',
        'test_spack_env.py',
    )
}
LEFT_OUT = pytest.StashKey[dict[str, int]]()


@functools.cache
def is_slow(file: Path) -> bool:
    return bool(SLOW_PLACES.intersection((file, *file.parents)))


which = functools.cache(shutil.which)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--fast', action='store_true', help='leave out what needs a lab, a browser or minutes')
    parser.addoption('--long', action='store_true', help='also run the fuzz and fault runs of many minutes')


def pytest_configure(config: pytest.Config) -> None:
    # A `python3` that is a script of a version manager takes longer to start than most jobs of the tests last.
    os.environ['PATH'] = f'{Path(sys.base_prefix) / "bin"}:{os.environ["PATH"]}'
    gc.disable()  # thousands of tests that all live to the end would be searched again and again
    # How long an example takes is nobody's fact: several runs may share this machine.
    hypothesis.settings.register_profile(
        'seatrial',
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        max_examples=10 if config.getoption('--fast') else 100 if config.getoption('--long') else 25,
    )
    hypothesis.settings.load_profile('seatrial')


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption('--fast') and collection_path in SLOW_PLACES else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = Counter[str]()
    kept = []
    # A file belongs to one process, which at the end would work on a long one alone.
    first = set()
    for item in items:
        markers = list(item.iter_markers())
        needed = {program for marker in markers if marker.name == 'needs' for program in marker.args}
        names = {marker.name for marker in markers}
        fixtures = set(getattr(item, 'fixturenames', ()))
        if needed & LAB_PROGRAMS or fixtures & LAB_FIXTURES:
            names.add('lab')
        if 'chromium' in needed:
            names.add('browser')
        if 'long' in names or fixtures & SLOW_FIXTURES or is_slow(item.path):
            names.add('slow')
        for name in names.intersection(NOT_FAST):
            item.add_marker(name)
        if 'long' in names and not config.getoption('--long'):
            item.add_marker(pytest.mark.skip(reason='long: runs with ci/test --full'))
        for program in sorted(needed):
            if which(program) is None:
                item.add_marker(pytest.mark.skip(reason=f'{program} is not installed'))
        if names & {'lab', 'slow'}:
            first.add(item.path)
        if config.getoption('--fast') and names.intersection(NOT_FAST):
            left_out[next(kind for kind in NOT_FAST if kind in names)] += 1
        else:
            kept.append(item)
    items[:] = sorted(kept, key=lambda item: (item.path.name not in LONGEST, item.path not in first))
    config.stash[LEFT_OUT] = counts = dict(left_out)
    if hasattr(config, 'workeroutput'):
        config.workeroutput['left_out'] = counts


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Every worker of pytest-xdist leaves out the same tests."""
    node.config.stash[LEFT_OUT] = getattr(node, 'workeroutput', {}).get('left_out', {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counts = config.stash.get(LEFT_OUT, {})
    if counts:
        words = ', '.join(f'{number} {kind}' for kind, number in sorted(counts.items()))
        places = ', '.join(sorted(str(place.relative_to(REPOSITORY / 'tests')) for place in SLOW_PLACES))
        terminalreporter.write_line(f'--fast leaves out {sum(counts.values())} tests ({words}) and all of {places}')


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Restores the umask, which a command in this process changes so that others cannot use its files.

    The group may not write to a state directory that a test makes: commands would refuse to use it.
    """
    before = os.umask(0o022)
    os.umask(before | 0o022)
    yield
    os.umask(before)


@pytest.fixture(scope='session')
def repository() -> Path:
    """The checkout that the tests belong to."""
    return REPOSITORY


@pytest.fixture(scope='session')
def lab_gluster() -> Iterator[Callable[..., str]]:
    """Runs ci/lab-gluster on a lab that is up; returns its output. Skipped where this machine cannot have one."""
    with open_to_all() as directory, GLUSTER.made(directory):

        def run(verb: str, *words: str) -> str:
            done = GLUSTER.run(verb, directory, *words)
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


@pytest.fixture
def gluster_mount(lab_gluster: Callable[..., str]) -> Path:
    """The mount point of the lab, which is whole."""
    return Path(lab_gluster('up').splitlines()[-1])


@pytest.fixture
def mpicc() -> Callable[..., None]:
    """Compile a program or a library of MPI; skips where there is only mpicc itself, as in Debian's package mpich."""

    def compiled(*words: str | Path) -> None:
        done = subprocess.run(['mpicc', *words], capture_output=True, text=True, timeout=120)
        if 'mpi.h: No such file' in done.stderr:
            pytest.skip('mpi.h is not installed; Debian has it in libmpich-dev')
        assert done.returncode == 0, done.stderr

    return compiled


@pytest.fixture
def swapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a stand-in before a launcher that replaces its directory by a copy before the ranks look for it."""

    def stand_in(launcher: str) -> None:
        swap = 'here=$(pwd -P); mv "$here" "$here.away" && mv "$here.copy" "$here" && cd "$here"'
        executable(tmp_path / 'bin' / launcher, f'#!/bin/sh\n{swap} && exec {shutil.which(launcher)} "$@"\n')
        monkeypatch.setenv('PATH', str(tmp_path / 'bin'), prepend=':')

    return stand_in


@pytest.fixture
def seatrial() -> str:
    """The installed command."""
    beside = shutil.which('seatrial', path=str(Path(sys.executable).parent))
    assert beside is not None, 'seatrial is not installed in this environment; pip install -e .'
    return beside


@pytest.fixture(scope='session')
def make_stub_fio() -> Callable[..., str]:
    """Makes a stand-in for fio that follows these (expression, order) pairs; returns its path.

    The forms of the orders: tests/stubs/fio.py. Each call gives another program in the folder.
    """
    source = (REPOSITORY / 'tests' / 'stubs' / 'fio.py').read_text()
    template = json.loads(transcripts('fio')['mfwa-write']['json'])

    def make(
        folder: Path, *orders: tuple[str, dict[str, object]], version: str = 'fio-3.33', python: str = sys.executable
    ) -> str:
        file = folder / f'fio{len(list(folder.glob("*.json"))) or ""}'
        program = executable(file, f'#!{python} -IS\n{source}')
        content = {'template': template, 'version': version, 'orders': orders}
        Path(f'{program}.json').write_text(json.dumps(content))
        return str(program)

    return make


@pytest.fixture
def stub_fio(make_stub_fio: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """make_stub_fio in a folder of the test."""
    return functools.partial(make_stub_fio, tmp_path / 'stubs')
