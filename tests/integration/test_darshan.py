"""Real Darshan (SEATRIAL_DARSHAN, or that of darshan-config) under real engines: what is issued is what is meant."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local_site import LocalSite, check_file, executable, trial
from seatrial.check.darshan.library import Program, examined
from seatrial.check.darshan.logs import read_logs

PATTERNS = {
    'Own': "files='multiple', extent='whole'",
    'Contiguous': "files='single', extent='segment'",
    'Strided': "files='single', extent='segment', order='strided'",
    'Random': "files='single', extent='segment', order='random'",
    'Whole': "files='single', extent='whole', operations=('read',)",
}
# IOR with the strided pattern's options replaced by those of the contiguous one, in its command and in its summary.
LIAR = """#!{python}
import json, os, subprocess, sys

argv = sys.argv[1:]
summary = next((each.partition('=')[2] for each in argv if each.startswith('summaryFile=')), None)
strided = '-s' in argv and '-b' in argv
if strided:
    block, segments = argv.index('-b') + 1, argv.index('-s') + 1
    asked = argv[block], argv[segments]
    argv[block], argv[segments] = str(int(asked[0]) * int(asked[1])), '1'
done = subprocess.run([{ior!r}, *argv], close_fds=False).returncode
if strided and summary and os.environ.get('PMI_RANK') == '0':
    with open(summary) as stream:
        said = json.load(stream)
    for test in said['tests']:
        test['Parameters'].update(blockSize=int(asked[0]), segmentCount=int(asked[1]))
        test['Options'].update({{'blocksize': asked[0], 'segments': asked[1]}})
        for each in test['Results']:
            each['blockKiB'] = int(asked[0]) / 1024
    with open(summary, 'w') as stream:
        json.dump(said, stream)
sys.exit(done)
"""


BY_IOR = [name for name in PATTERNS if name != 'Random']  # its random order does not keep to segments


@pytest.fixture(scope='module', autouse=True)
def darshan():
    """The library; PyDarshan is there too."""
    pytest.importorskip('darshan', reason='PyDarshan is not installed')
    named, config = os.environ.get('SEATRIAL_DARSHAN'), shutil.which('darshan-config')
    beside = Path(config).resolve().parents[1] / 'lib' / 'libdarshan.so' if config else None
    file = Path(named) if named else beside
    if file is None or not file.is_file():
        pytest.skip('Darshan is not installed; name libdarshan.so in SEATRIAL_DARSHAN')
    return file


@pytest.fixture
def session(tmp_path, darshan):
    """Run a session of these patterns; returns its cases by their checks."""

    def run(engine, program, names):
        folder = tmp_path / 'site'
        (folder / 'checks' / 'own').mkdir(parents=True)
        engines, limits = f'[{{name: {engine}, program: {program}}}]', 'bytes: 4GiB, inodes: 1000'
        text = trial(engines=engines, limits=limits, partition=f'darshan: {darshan}')
        site = LocalSite(folder, text, folder / 'checks')
        for name in names:
            text = check_file(name, f"{PATTERNS[name]}, bytes_per_task='64MiB'")
            (site.checks / 'own' / f'{name.lower()}.py').write_text(text)
        done = site.run()
        assert (site.session / 'results.json').is_file(), done.stdout + done.stderr
        return site.cases

    return run


def aspects(case):
    return [aspect for launch in case['darshan'] for aspect in launch['aspects']]


@pytest.mark.parametrize(
    ('engine', 'names'),
    [
        pytest.param('ior', BY_IOR, marks=pytest.mark.needs('ior', 'mpiexec')),
        pytest.param('fio', ['Strided', 'Random'], marks=pytest.mark.needs('fio')),
        pytest.param('dd', ['Whole'], marks=pytest.mark.needs('dd')),
    ],
)
def test_everything_was_issued_as_it_was_meant(session, engine, names):
    cases = session(engine, engine, names)
    assert cases.keys() == set(names)
    for name, case in cases.items():
        assert aspects(case) and all(aspect['agrees'] for aspect in aspects(case)), (name, aspects(case))
        if engine == 'ior':
            assert case['verdict'] == 'MEASURED' and not any(label.startswith('P15a') for label in case['labels'])


@pytest.mark.needs('ior', 'mpiexec')
def test_a_check_that_declares_strided_and_runs_contiguous_is_invalid(session, tmp_path):
    liar = executable(tmp_path / 'liar', LIAR.format(python=sys.executable, ior=shutil.which('ior')))
    case = session('ior', liar, ['Strided'])['Strided']
    assert case['verdict'] == 'INVALID'
    assert case['reasons'][0].startswith('P15: by Darshan, write@1MiB: order: strided meant, contiguous (')
    assert {aspect['what'] for aspect in aspects(case) if aspect['agrees'] is False} == {'order'}


def test_the_doctor_tells_the_version_that_the_library_writes_into_its_logs(tmp_path, darshan):
    log = tmp_path / 'true.darshan'
    settings = ['env', f'LD_PRELOAD={darshan}', 'DARSHAN_ENABLE_NONMPI=1', f'DARSHAN_LOGFILE={log}']
    subprocess.run([*settings, 'true'], check=True, timeout=300)
    described, faults = examined(str(darshan), [Program('dd', '/bin/dd', False, ('/bin/dd', '--version'))])
    assert described.startswith(f'{read_logs([log])[0].version} at {darshan}, ')
    assert faults == []


@pytest.mark.needs('ior')
def test_the_doctor_knows_whether_a_library_can_be_loaded_into_ior(darshan):
    _, faults = examined(str(darshan), [Program('ior', shutil.which('ior'), True, ())])
    assert faults == [] or b'PMPI_Init' not in darshan.read_bytes(), 'one without MPI sees nothing of IOR'


# What `seatrial derive` makes of a run does under Darshan what the run did

ANALYSIS = """
import os, sys
path, times = sys.argv[1], int(sys.argv[2])
with open(path, 'wb') as stream:
    stream.write(os.urandom(1048576))
with open(path, 'rb', buffering=0) as stream:
    for _ in range(times):
        stream.seek(0)
        while stream.read(65536):
            pass
"""
RUNS = {
    'Own': ['-w', '-r', '-F', '-b', '1m', '-t', '64k'],
    'Contiguous': ['-w', '-r', '-b', '1m', '-t', '64k'],
    'Strided': ['-w', '-r', '-b', '64k', '-t', '64k', '-s', '16'],
    'Random': ['-w', '-r', '-F', '-z', '-b', '4m', '-t', '64k'],
    'Collective': ['-w', '-a', 'MPIIO', '-c', '-b', '1m', '-t', '1m', '-s', '4'],
    'Again': [],
}


@pytest.fixture
def traced(tmp_path, darshan):
    """Run one of RUNS under Darshan; returns its log."""

    def run(name):
        log, folder = tmp_path / f'{name}.darshan', tmp_path / name
        folder.mkdir()
        settings = ['env', f'LD_PRELOAD={darshan}', f'DARSHAN_LOGFILE={log}', 'DARSHAN_EXCLUDE_DIRS=none']
        argv = ['mpiexec', '-n', '2', *settings, 'ior', *RUNS[name], '-o', str(folder / 'data')]
        if not RUNS[name]:
            argv = [*settings, 'DARSHAN_ENABLE_NONMPI=1', sys.executable, '-c', ANALYSIS, str(folder / 'data'), '10']
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=300)
        return log

    return run


@pytest.mark.needs('ior', 'mpiexec', 'fio')
@pytest.mark.parametrize('name', RUNS)
def test_the_log_of_a_replay_resembles_that_of_the_application(tmp_path, darshan, traced, name):
    more = ['--operation=read'] if name == 'Again' else []
    folder = tmp_path / 'site'
    (folder / 'checks' / 'derived').mkdir(parents=True)
    site = LocalSite(folder, trial(engines='[ior, fio]', partition=f'darshan: {darshan}'), folder / 'checks')
    log, check = traced(name), site.checks / 'derived' / 'replayed.py'
    made = site.ask('derive', str(log), f'--output={check}', *more)
    assert made.returncode == 0, made.stderr
    text, entry = (folder / 'trial.yaml').read_text(), made.stdout.partition('  - checks')[2]
    (folder / 'trial.yaml').write_text(f'{text.partition("trials:")[0]}trials:\n  - checks{entry}')
    site.run()
    (case,) = site.session.glob('cases/*')
    answer = site.ask('derive', str(log), f'--check={case}', *more)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    rows = answer.stdout.splitlines()[1:]
    assert len(rows) >= 8 and all(row.endswith('same') for row in rows), answer.stdout
