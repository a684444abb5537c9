"""benchmarks/: each works (how fast anything is, is not asked), and leaves nothing behind when it is interrupted."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from slurm_lab import traces_of

BENCHMARKS = Path(__file__).resolve().parents[2] / 'benchmarks'
SHARED = {'harness.py', 'case_a_point.py', 'replays.py'}  # the last needs Darshan and logs of other people
# How many each prints.
TABLES = {'coverage': 3, 'isolation': 2, 'posixops': 2, 'proof': 1, 'rare': 4, 'runner': 1, 'slurm': 1}
TABLES.update(acceptance=1, accusations=1, change_points=1, compare=3, detection=1, forecast=2, nights=3, report=1)
TABLES.update(results_database=1, scenario_record=1, training=1, verdicts=8)
# They start nothing, and print something at once.
CALCULATED = ('change_points', 'compare', 'coverage', 'isolation', 'rare', 'verdicts')
LONG = ('acceptance', 'accusations', 'compare', 'coverage', 'detection', 'forecast', 'isolation', 'nights', 'proof')
LONG += ('report', 'results_database', 'runner', 'slurm', 'training', 'verdicts')
WAIT_S = 300.0
LAUNCHED = '*/state/sessions/*/cases/*/raw/*.fio'
needs_slurm = pytest.mark.needs('slurmctld', 'munged')


@pytest.fixture
def folder():
    """A folder with a short name: a lab has sockets in it."""
    made = Path(tempfile.mkdtemp(prefix='seatrial-test-'))
    yield made
    for trace in traces_of(made):  # of a test that has failed
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(trace.split()[0]), signal.SIGKILL)
    shutil.rmtree(made, ignore_errors=True)


def start(folder, name, *options):
    """Start a benchmark whose folders lie in this one; its descendants inherit the folder's name."""
    argv = [sys.executable, str(BENCHMARKS / f'{name}.py'), *options]
    environment = {**os.environ, 'TMPDIR': str(folder), 'PYTHONUNBUFFERED': '1'}
    streams = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
    return subprocess.Popen(argv, env=environment, cwd=folder, start_new_session=True, **streams)


def left_by(folder):
    return os.listdir(folder), traces_of(folder)


def interrupt(running, number):
    """End a benchmark by a signal, which its exit status says as a shell does."""
    running.send_signal(number)
    _, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 128 + number and 'Traceback' not in err, err


def test_every_benchmark_is_tried():
    assert {file.name for file in BENCHMARKS.glob('*.py')} == SHARED | {f'{name}.py' for name in TABLES}


MARKS = {**dict.fromkeys(LONG, (pytest.mark.long,)), 'slurm': (needs_slurm, pytest.mark.long)}


@pytest.mark.parametrize('name', [pytest.param(name_, marks=MARKS.get(name_, ())) for name_ in sorted(TABLES)])
def test_it_works(folder, name):
    running = start(folder, name, '--quick', *([f'--on={folder}'] if name == 'posixops' else ()))
    out, err = running.communicate(timeout=WAIT_S)
    assert running.returncode == 0, err
    assert len(re.findall(r'^\|(?:-+\|)+$', out, re.MULTILINE)) == TABLES[name], out
    assert left_by(folder) == ([], [])


@pytest.mark.parametrize(
    ('name', 'busy', 'number'),
    [
        ('runner', LAUNCHED, signal.SIGINT),
        ('posixops', 'seatrial-bench-*/*/*', signal.SIGTERM),
        pytest.param('slurm', '*/lab/etc/slurm.conf', signal.SIGINT, marks=needs_slurm),
        pytest.param('slurm', LAUNCHED, signal.SIGTERM, marks=[needs_slurm, pytest.mark.long]),
    ],
    ids=['runner, launching', 'posixops', 'slurm, coming up', 'slurm, launching'],
)
def test_interrupted_it_leaves_nothing(folder, name, busy, number):
    running = start(folder, name, *([f'--on={folder}'] if name == 'posixops' else ()))
    end = time.monotonic() + WAIT_S
    while not any(folder.glob(busy)):
        assert running.poll() is None and time.monotonic() < end, running.communicate()
        time.sleep(0.01)
    assert len(traces_of(folder)) > 1
    interrupt(running, number)
    assert left_by(folder) == ([], [])


@pytest.mark.parametrize(
    ('name', 'number'),
    [
        pytest.param(name_, (signal.SIGINT, signal.SIGTERM)[place % 2], marks=MARKS.get(name_, ()))
        for place, name_ in enumerate(CALCULATED)
    ],
)
def test_a_calculation_that_is_interrupted_ends_without_a_traceback(folder, name, number):
    running = start(folder, name)
    assert running.stdout.readline()
    interrupt(running, number)
