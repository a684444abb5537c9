"""Sessions on storage that fails, lies or falls silent: a library stands between, or a client is stopped."""

import errno
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local_site import LocalSite, check_file, executable, trial
from seatrial.engine.posixops.integrity import WAYS_TO_WRITE
from seatrial.filesystem.mounts import mount_of
from seatrial.job.sequence.recorder import records_in
from seatrial.model.units import MIB
from slurm_lab import LAUNCH_LIMIT

FAILING = """#!/bin/sh
case "$*" in *{stage}*)
    export LD_PRELOAD={library} FAILING_CALL={call} FAILING_FILE={file} FAILING_ERRNO={number};;
esac
exec {program} "$@"
"""
# One transfer size: more points would only repeat what the storage does.
FILES = check_file('Files', "'multiple'")
FIO, IOR = (('Files', engine) for engine in ('fio', 'ior'))
POSIXOPS = ('PosixOperations', 'posixops')
INTEGRITY = ('Integrity', 'posixops')
BY_IOR = pytest.param(IOR, id='ior', marks=pytest.mark.needs('ior', 'mpiexec'))
OF_BOTH = pytest.mark.parametrize('of', [pytest.param(FIO, id='fio'), BY_IOR])
pytestmark = [pytest.mark.needs('fio', 'gcc')]


@pytest.fixture(scope='module')
def library(tmp_path_factory, repository):
    made = tmp_path_factory.mktemp('library') / 'failing_calls.so'
    source = repository / 'tests' / 'stubs' / 'failing_calls.c'
    subprocess.run(['gcc', '-shared', '-fPIC', '-o', made, source, '-ldl'], check=True)
    return made


def checks(folder):
    """A folder with the check of one point."""
    made = folder / 'checks'
    made.mkdir()
    (made / 'files.py').write_text(FILES)
    return made


@pytest.fixture
def session(tmp_path, repository, library):
    """The exit status of a smoke session of one check, its case, and what failed its launches. everywhere: what it
    finds in these files; forging: whether the figures of the engine are doubled, which no storage does."""

    def run(of, call, error, stage, share='32MiB', everywhere='', file='/trials/', forging=False):
        check, engine = of
        program = sys.executable if engine == 'posixops' else shutil.which(engine)
        forger = f'{sys.executable} {repository / "tests" / "stubs" / "forging.py"} ' if forging else ''
        words = {'library': library, 'call': call, 'number': getattr(errno, error, 0), 'stage': stage, 'file': file}
        wrapper = executable(tmp_path / Path(program).name, FAILING.format(program=forger + program, **words))
        engines, more = f'[{{name: {engine}, program: {wrapper}}}]', f'bytes_per_task: {share}, files_per_task: 20'
        text = trial(check, engines, limits='bytes: 2GiB, inodes: 10000', more=f'{more}, budget: 1s')
        site = LocalSite(tmp_path, text, checks(tmp_path) if check == 'Files' else repository / 'checks')
        lies = {'LD_PRELOAD': str(library), 'FAILING_CALL': call, 'FAILING_FILE': everywhere} if everywhere else {}
        done = site.run(f'--engine={engine}', '--profile=smoke', environment={**os.environ, **lies})
        (case,) = site.cases.values()
        (records,) = (site.session / 'cases').iterdir()
        findings = [finding for sample in records_in(str(records)).samples for finding in sample.findings]
        damaged = any(finding.rule == 'F2' for finding in findings)
        assert bool(os.listdir(tmp_path / 'state' / 'trials')) == damaged, done.stdout
        return done.returncode, case, [finding for finding in findings if finding.effect != 'label']

    return run


@pytest.mark.parametrize(
    ('of', 'call', 'error', 'stage'),
    [
        pytest.param(FIO, 'fsync', 'EIO', 'measured-write', marks=pytest.mark.long),
        pytest.param(FIO, 'read', 'ENOENT', 'warmup-read', marks=pytest.mark.long),
        pytest.param(POSIXOPS, 'close', 'EIO', 'measured', marks=pytest.mark.long),
    ],
)
def test_storage_that_fails_a_call_fails_the_trial_and_is_named(session, of, call, error, stage):
    status, case, (finding, *_) = session(of, call, error, stage)
    assert (status, case['verdict']) == (10, 'FAIL'), case['reasons']
    assert (finding.rule, finding.evidence['errno'], finding.evidence['node']) == ('F1', error, socket.gethostname())
    assert re.fullmatch(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC', finding.evidence['time'])
    assert of is not FIO or finding.evidence['file'].startswith('data.')
    assert case['reasons'][0] == f'F1: {finding.sentence}'
    assert all(value in finding.sentence for value in finding.evidence.values())


@pytest.mark.long
def test_a_quota_that_is_used_up_leaves_the_trial_incomplete_with_the_arithmetic(session):
    status, case, (finding, *_) = session(FIO, 'write', 'EDQUOT', 'measured-write')
    assert (status, case['verdict'], finding.rule) == (13, 'INCOMPLETE', 'P9a'), case['reasons']
    assert finding.evidence['errno'] == 'EDQUOT'
    assert re.search(r'; the case needs .*B, .*B are left free, .*B were before it began', finding.sentence)
    assert any(finding.sentence in reason for reason in case['reasons'])


@pytest.mark.parametrize(
    ('of', 'lie', 'file', 'rules'),
    [
        pytest.param(FIO, 'holes', '/trials/', {'T22', 'P4'}, marks=pytest.mark.long),
        (FIO, 'dropped', '/data.00000001', {'T22'}),
        pytest.param(FIO, 'alike', '/trials/', {'P4'}, marks=pytest.mark.long),
    ],
)
def test_what_was_not_written_after_an_honest_warm_up_is_seen_in_the_files(session, of, lie, file, rules):
    status, case, findings = session(of, lie, '', 'measured-write', file=file)
    assert (status, case['verdict']) == (11, 'INVALID'), case['reasons']
    assert {finding.rule for finding in findings} >= rules  # where a file is one block, its size tells too


@pytest.mark.long
@OF_BOTH
def test_figures_that_are_doubled_in_all_their_fields_are_seen_by_the_life_of_the_launch(session, of):
    """In the warm-up too; the storage is slow and honest."""
    status, case, findings = session(of, 'slow', '', '/raw/', forging=True)
    assert (status, case['verdict']) == (11, 'INVALID'), case['reasons']
    assert 'T24' in {finding.rule for finding in findings}


@OF_BOTH
def test_what_was_not_synced_is_seen_by_the_sync_after_it(session, of, tmp_path):
    if mount_of(str(tmp_path)).type in ('tmpfs', 'overlay'):
        pytest.skip('in memory there is nothing to sync, and overlayfs has no dirty pages of its own to count')
    status, case, findings = session(of, 'unsynced', '', 'measured-write', '512MiB')
    rules = {finding.rule for finding in findings}
    assert (status, case['verdict'], rules) == (11, 'INVALID', {'T23'}), case['reasons']


@pytest.mark.parametrize(
    ('of', 'lie', 'files'),
    [
        (FIO, 'flipped', '/data/data.'),
        pytest.param(FIO, 'misread', '/data/data.', marks=pytest.mark.long),
        pytest.param(FIO, 'dropped', '/data/data.00000001', marks=pytest.mark.long),  # those of one task
        pytest.param(FIO, 'elsewhere', '/data/data.', marks=pytest.mark.long),
    ],
)
def test_storage_that_loses_or_changes_data_fails_the_trial_and_the_file_is_kept(session, of, tmp_path, lie, files):
    status, case, findings = session(of, lie, '', 'none', everywhere=files)
    assert (status, case['verdict']) == (10, 'FAIL'), case['reasons']
    evidence = next(finding.evidence for finding in findings if finding.rule == 'F2')
    assert f'/data/{evidence["file"]}'.startswith(files)
    (kept,) = (tmp_path / 'state' / 'trials').glob(f'*/data/{evidence["file"]}')
    assert kept.stat().st_size == 32 * MIB and 0 <= int(evidence['offset']) < 32 * MIB
    assert all(re.fullmatch('[0-9a-f]{32}', evidence[key]) for key in ('expected', 'found'))
    assert evidence['expected'] != evidence['found']
    assert evidence['writer'] == evidence['reader'] == socket.gethostname()
    assert all(value in case['reasons'][0] for value in evidence.values())
    assert any('the file is kept' in label for label in case['labels'])


@OF_BOTH
def test_honest_storage_has_its_contents_verified(session, of):
    # Over several points: the time for the proof is a share of what the case took, and of one it is too short.
    status, case, findings = session(('MultipleFilesTransferSizes', of[1]), '', '', 'none')
    assert (status, findings) == (0, []), case['reasons']
    assert case['verified'].startswith(f'verified: 64 MiB of 64 MiB in 2 files, read by {socket.gethostname()}, ')


@pytest.mark.parametrize(
    ('lie', 'when'), [pytest.param('misread', 'warmup', marks=pytest.mark.long), ('flipped', 'data')]
)
def test_a_check_of_integrity_finds_the_lie_and_the_file_is_kept(session, tmp_path, lie, when):
    status, case, findings = session(INTEGRITY, lie, '', 'none', everywhere=f'/{when}/integrity.')
    assert (status, case['verdict'], findings[0].rule) == (10, 'FAIL', 'F2'), case['reasons']
    evidence = findings[0].evidence
    (kept,) = (tmp_path / 'state' / 'trials').glob(f'*/{when}/{evidence["file"]}')
    assert kept.stat().st_size > 0 and evidence['expected'] != evidence['found']
    assert evidence['writer'] == evidence['reader'] == socket.gethostname()
    assert all(value in case['reasons'][0] for value in evidence.values())


@pytest.mark.long
def test_a_call_that_fails_in_a_check_of_integrity_is_named(session):
    status, case, (finding, *_) = session(INTEGRITY, 'fsync', 'EIO', 'measured-integrity')
    assert (status, case['verdict'], finding.rule) == (10, 'FAIL', 'F1'), case['reasons']
    assert finding.evidence['file'].startswith('integrity.') and finding.evidence['node'] == socket.gethostname()


def test_honest_storage_keeps_the_data_in_every_way(session):
    status, case, findings = session(INTEGRITY, '', '', 'none')
    assert (status, findings) == (0, []), case['reasons']
    assert [fact['holds'] for fact in case['facts']] == [True] * len(WAYS_TO_WRITE)


# A real FUSE client is stopped in the middle, and never answers again

LATEST_S = 300.0  # the launch's limit, twice its grace, two probes, and load; without deadlines it is never


@pytest.fixture
def hung(stub_fio, gluster_mount, lab_gluster, tmp_path):
    """A session whose target fell silent in a launch, and its site's folder; the client goes on afterwards."""
    target = gluster_mount / 'trials'
    target.mkdir(exist_ok=True)
    engines = f'[{{name: fio, program: {stub_fio(("measured-write", {"seconds": 600.0}))}}}]'
    scratch = f'type: glusterfs, path: {target}, recovery_limit: 1s'
    LocalSite(tmp_path, trial('Files', engines, scratch, more='bytes_per_task: 1MiB'))
    argv = [sys.executable, '-c', LAUNCH_LIMIT, '1', 'run', f'--site={tmp_path}', f'--checks={checks(tmp_path)}']
    session = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while session.poll() is None and not list(tmp_path.glob('state/sessions/*/cases/*/raw/*measured-write*.fio')):
            time.sleep(0.1)
        lab_gluster('signal', 'STOP', 'client')
        yield session, tmp_path
    finally:
        lab_gluster('signal', 'CONT', 'client')
        session.kill()
        session.wait()


@pytest.mark.long
@pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')
def test_where_it_falls_silent_for_good_it_ends_with_what_it_knows_and_leaves_the_rest_to_clean(hung, seatrial):
    session, site = hung
    output, _ = session.communicate(timeout=LATEST_S)
    assert session.returncode == 11, output
    assert 'E2: ' in output and 'left in' in output
    assert list(site.glob('state/sessions/*/report/index.html'))
    done = subprocess.run([seatrial, 'clean', f'--site={site}'], capture_output=True, text=True, timeout=LATEST_S)
    assert done.returncode == 13 and 'does not answer within' in done.stdout
