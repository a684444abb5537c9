"""The end of a session: verdict and evidence are there, whoever has gone meanwhile."""

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from fuse_lab import dead
from local_site import SCRATCH, LocalSite, executable, trial, writes
from lustre_stand import NODE, OPTIONS, standing
from seatrial.filesystem import beegfs
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.registry import TYPES
from seatrial.job.directory import lock
from seatrial.job.directory.rundir import MARKER
from seatrial.judge import session
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.model import lines
from seatrial.model.plan import read_plan
from seatrial.model.record import KINDS
from seatrial.session import carry_out, progress
from seatrial.site.load import load

pytestmark = pytest.mark.slow

SOON_S = 300.0  # what must happen has happened by then, or the test fails
SAID = b'Session '


@pytest.fixture
def begin(seatrial, site):
    """Begin a session of the small site as a process of its own."""
    processes = []

    def start(**options):
        argv = [seatrial, 'run', f'--site={site.folder}', f'--checks={site.checks}', 'Reads']
        options = {'stderr': subprocess.PIPE, 'text': True, 'start_new_session': True, **options}
        # Python's own last lines are written at its very end, unless something like this has them written at once.
        processes.append(subprocess.Popen(argv, env={**os.environ, 'PYTHONUNBUFFERED': ''}, **options))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def ended(process, site):
    """The verdict of the session, whose exit code it has, and whose evidence is all there."""
    _, err = process.communicate(timeout=SOON_S)
    (folder,) = site.sessions()
    assert (folder / 'results.json').exists(), err
    verdict = Verdict(json.loads((folder / 'results.json').read_text())['verdict'])
    assert (process.returncode, err) == (EXIT_CODES[verdict], '')
    assert (folder / 'report' / 'index.html').exists()
    assert list(site.folder.glob('state/history/*.parquet'))
    return verdict


@pytest.mark.long
def test_whose_reader_has_gone_measures_to_its_end(begin, site):
    reading, writing = os.pipe()
    process = begin(stdout=writing)
    os.close(writing)
    assert os.read(reading, len(SAID)) == SAID
    os.close(reading)
    assert ended(process, site) is not Verdict.INCOMPLETE


def test_whose_terminal_is_closed_leaves_its_verdict(begin, site):
    ours, theirs = pty.openpty()
    process = begin(stdin=theirs, stdout=theirs)
    os.close(theirs)
    assert os.read(ours, len(SAID)) == SAID
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    ended(process, site)


@pytest.mark.long
def test_each_record_is_read_once_and_each_case_judged_once(on_site, site, monkeypatch):
    read, judged, values_in, judge_case = [], Counter(), lines.values_in, progress.judge_case

    def counted(written, kinds):
        if kinds is KINDS:
            read.extend(line for line in written if line.endswith('\n'))  # others are being written
        return values_in(written, kinds)

    def counting(plan, *of):
        judged[plan.case.check] += 1
        return judge_case(plan, *of)

    monkeypatch.setattr(lines, 'values_in', counted)
    for module in (progress, session):
        monkeypatch.setattr(module, 'judge_case', counting)
    on_site('run')
    written = [file.read_text() for file in site.folder.glob('state/sessions/*/cases/*/samples.jsonl')]
    assert (len(written), judged) == (2, {'Writes': 1, 'Reads': 1})
    assert len(read) == ''.join(written).count('\n')


def test_a_signal_and_what_cannot_be_kept_while_the_verdict_is_being_said_change_nothing(on_site, site, monkeypatch):
    def interrupted(*what):
        os.kill(os.getpid(), signal.SIGTERM)
        show(*what)

    show = carry_out.show
    monkeypatch.setattr(carry_out, 'show', interrupted)
    for step in ('complete_job_states', 'keep_darshan_run'):
        monkeypatch.setattr(carry_out, step, full)
    done = on_site('run', 'Reads')
    (folder,) = site.sessions()
    verdict = Verdict(json.loads((folder / 'results.json').read_text())['verdict'])
    assert done.status == EXIT_CODES[verdict]
    assert f'how jobs ended is not recorded: {folder}: No space left on device\n' in done.out
    assert f'the Darshan runs could not be recorded: {folder}: No space left on device\n' in done.out
    assert 'SIGTERM: all that was measured is being judged and reported\n' in done.out
    assert f'  report:  {folder}/report/index.html\n' in done.out
    assert done.out.count('  smoke test: ') == 1, done.out


def test_a_state_directory_that_fails_in_the_middle_leaves_a_verdict(on_site, site, monkeypatch):
    def failing(reader):
        records = read(reader)
        if records.samples:
            raise OSError(errno.EIO, os.strerror(errno.EIO), reader.directory)
        return records

    read = progress.RecordReader.read
    monkeypatch.setattr(progress.RecordReader, 'read', failing)
    done = on_site('run', 'Reads')
    assert (done.status, done.err) == (EXIT_CODES[Verdict.INCOMPLETE], '')
    assert re.search('some records cannot be read: /.*: Input/output error\n', done.out)


@pytest.mark.long
def test_where_nothing_of_it_answers_any_more_the_session_ends_incomplete(begin, site):
    process = begin(stdout=subprocess.PIPE)
    end = time.monotonic() + SOON_S
    while not list(site.folder.glob('state/sessions/*/cases/*/samples.jsonl')) and time.monotonic() < end:
        time.sleep(0.1)
    with dead(site.folder / 'state', answers=True):
        out, err = process.communicate(timeout=SOON_S)
    assert (process.returncode, err) == (EXIT_CODES[Verdict.INCOMPLETE], ''), out


@pytest.mark.long
def test_a_program_before_that_of_its_module_is_refused_by_both_paths(on_site, site, tmp_path, monkeypatch):
    monkeypatch.setenv('LOADEDMODULES', 'seatrial/fio/3.37')
    monkeypatch.setenv('FIO_ROOT', '/opt/fio-3.37')
    monkeypatch.setenv('PATH', str(tmp_path / 'stubs'), prepend=os.pathsep)
    site.change(str(tmp_path / 'stubs' / 'fio'), 'fio')
    done = on_site('run', 'Reads')
    (folder,) = site.sessions()
    (case,) = json.loads((folder / 'results.json').read_text())['cases']
    both = f'seatrial/fio/3.37 has its program in /opt/fio-3.37, and {tmp_path}/stubs/fio is found before it'
    assert (done.status, case['verdict']) == (EXIT_CODES[Verdict.INCOMPLETE], 'INCOMPLETE')
    assert f'P21b: the module {both}' in case['reasons'][0]


def full(*unused):
    raise OSError(errno.ENOSPC, 'No space left on device')


def of_another(*unused):
    raise OSError(errno.EACCES, 'Permission denied', '/state/sessions')


@pytest.mark.parametrize(
    ('fault', 'words'),
    [
        (full, r'/\S+/state/sessions/\S+: No space left on device; make room there'),
        (of_another, r'/state/sessions: Permission denied; name a directory in which you can write, .* of \S+'),
    ],
)
def test_a_state_directory_that_takes_nothing_is_said_before_anything_else(on_site, monkeypatch, fault, words):
    monkeypatch.setattr(carry_out, 'write_plan', fault)
    done = on_site('run', 'Reads')
    assert (done.status, done.out) == (64, '')
    assert re.fullmatch(f'seatrial: trial.yaml: state: {words}\n', done.err)


def test_why_nothing_started_is_said_once(on_site, site):
    site.change('path: state/trials', 'path: /no/such/mount')
    done = on_site('run', 'Reads')
    (folder,) = site.sessions()
    assert (done.status, done.out.count('/no/such/mount')) == (13, 1), done.out
    assert f'  output of ReFrame: {folder}/reframe.out\n' in done.out


def test_where_reframe_itself_does_not_start_its_last_words_are_said(on_site, site, monkeypatch):
    monkeypatch.setattr(carry_out, 'reframe_argv', lambda *unused: ['sh', '-c', 'echo reframe: error: it is ill'])
    done = on_site('run', 'Reads')
    assert (done.status, '\nReFrame: reframe: error: it is ill\n' in done.out) == (13, True), done.out


@pytest.mark.long
def test_a_reframe_that_still_runs_after_its_last_case_is_ended(on_site, site, monkeypatch):
    lasting, genuine = ['sh', '-c', '"$@"; exec sleep 60', 'sh'], carry_out.reframe_argv
    monkeypatch.setattr(carry_out, 'reframe_argv', lambda *session: [*lasting, *genuine(*session)])
    monkeypatch.setattr(carry_out, 'AFTER_LAST_S', 1.0)
    done = on_site('run', 'Reads', '--profile=smoke')
    (folder,) = site.sessions()
    assert f'it still ran 1 s after the last case; its output: {folder}/reframe.out\n' in done.out
    assert json.loads((folder / 'results.json').read_text())['verdict'] != 'INCOMPLETE'


def test_a_reframe_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(carry_out, 'REFRAME_END_S', 0.1)
    deaf = 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
    process = subprocess.Popen(['sh', '-c', deaf], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'ready\n'
        carry_out._end(process)
        assert process.returncode == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate()


def test_what_is_waited_for_is_said_with_its_limit(repository):
    sites = (SimpleNamespace(site=load(repository / 'site-config' / name)) for name in ('local', 'lab'))
    local, lab = map(carry_out._patience, sites)
    assert local == 'no more launches; ReFrame has 90 s to end its job'
    assert lab == f'{local}, and Slurm 6 min to release it'


def test_nothing_is_left_outside_whatever_variables_and_settings_say(on_site, begin, site, tmp_path, monkeypatch):
    """In the temporary and the home directory, and where ReFrame would put its files."""
    outside, settings = tmp_path / 'outside', site.folder / 'settings.py'
    outside.mkdir()
    settings.write_text(settings.read_text().replace("'prefix':", f"'stagedir': '{outside}/stage', 'prefix':"))
    for name in ('HOME', 'TMPDIR', 'RFM_OUTPUT_DIR', 'RFM_STAGE_DIR'):
        monkeypatch.setenv(name, str(outside))
    monkeypatch.setenv('RFM_VERBOSE', '3')
    monkeypatch.setattr(tempfile, 'tempdir', str(outside))
    statuses = {'list': 0, 'plan': 0, 'run NoSuchCheck': 64, 'accept': 64, 'run Reads': 0, 'verify': 0}
    for words, status in statuses.items():
        done = on_site(*words.split())
        assert (done.status, list(outside.iterdir())) == (status, []), (words, done)
        if words == 'run Reads':
            assert 'note: RFM_OUTPUT_DIR, RFM_STAGE_DIR, RFM_VERBOSE from the environment is not passed' in done.out
    (session,) = site.sessions()
    assert len(list(session.glob('reframe/stage/*'))) == 1
    process = begin(stdout=subprocess.PIPE)
    next(line for line in process.stdout if line.startswith('Session'))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON_S)
    assert (process.returncode, list(outside.iterdir())) == (EXIT_CODES[Verdict.INCOMPLETE], []), (out, err)


# On a Lustre, which is a stand-in on the node of the job


@pytest.mark.long
def test_a_marker_that_cannot_be_written_names_the_target_that_it_lay_on(tmp_path, monkeypatch):
    check = tmp_path / 'checks' / 'write.py'
    check.parent.mkdir()
    check.write_text(writes('Writes'))
    with standing(tmp_path, monkeypatch) as stand:
        stand.now(default=[['-c', '1'], ['-i', '2']])
        mount = str(stand.mount)
        node = NODE.format(python=sys.executable, call='fsync', of=MARKER, mount=mount, options=OPTIONS)
        python = executable(tmp_path / 'python', node)
        scratch = f'type: lustre, path: {stand.directory("trials")}, records_on_target: true'
        text = trial('Writes', '[fio]', scratch, partition=f'python: {python}')
        ran = LocalSite(tmp_path, text, check.parent).run('--profile=smoke')
    assert ran.returncode == EXIT_CODES[Verdict.FAIL], ran.stdout
    assert 'F1: EIO of ' in ran.stdout and ' of OST 2 on ' in ran.stdout


@pytest.mark.parametrize(
    ('kind', 'source', 'options', 'locked'),
    [
        ('gpfs', '/dev/scratch', 'rw', True),
        ('gpfs', 'other', 'rw', False),
        ('wekafs', 'backend:/scratch', 'rw', True),
        ('autofs', 'backend:/scratch', 'rw', False),
        ('beegfs', 'scratch', 'rw,cfgFile=same.conf', True),
        ('beegfs', 'scratch', 'rw,cfgFile=other.conf', False),
        *(('beegfs', 'scratch', f'rw,cfgFile={name}7.conf', name != 'other') for name in ('first', 'same', 'other')),
    ],
)
def test_two_mounts_of_one_storage_have_one_lock(command, site, monkeypatch, tmp_path, kind, source, options, locked):
    """Two filesets of a device of GPFS; two clients of a BeeGFS, of release 7 without uuid; one of them by a link."""
    for name in ('first', 'same', 'other', 'first7', 'same7', 'other7'):
        client, system = tmp_path / 'clients' / name, 'B' if 'other' in name else 'A'
        client.mkdir(parents=True)
        managed = f'sysMgmtdHost = {system}\nconnMgmtdPortTCP = 8008\n'
        (client / 'config').write_text(f'cfgFile = {name}.conf\n{managed}')
        if '7' not in name:
            (client / 'fs_uuid').write_text(system)
    monkeypatch.setattr(beegfs, 'CLIENTS', f'{tmp_path}/clients')
    of_first = f'rw,cfgFile=first{"7" if "7" in options else ""}.conf'
    table = [
        Mount('/', 'ext4', '/dev/vda', 'rw'),
        Mount(f'{tmp_path}/a', kind, 'backend:/scratch', of_first),
        Mount(f'{tmp_path}/b', kind, source, options),
    ]
    monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: table)
    (tmp_path / 'b' / 'trials').mkdir(parents=True)
    (tmp_path / 'link').symlink_to(tmp_path / 'b')
    limits, kind = 'limits: {bytes: 1GiB, inodes: 1000}', kind if kind in TYPES else 'posix'
    site.change(SCRATCH, f'type: {kind}, path: {tmp_path}/a/trials')
    site.change('partitions:\n', f'  home: {{type: {kind}, path: {tmp_path}/link/trials, {limits}}}\npartitions:\n')
    site.change('file_systems: [scratch]', 'file_systems: [home]')
    monkeypatch.setattr(carry_out, '_reframe', lambda *_: None)
    (site.folder / 'state').mkdir()
    with lock.acquire(load(site.folder).state, 'scratch', 'another'):
        done = command('run', f'--site={site.folder}', f'--checks={site.checks}', 'Reads')
    assert ('nothing was measured: storage system scratch is held by session another' in done.out) == locked
    (plan,) = site.folder.glob('state/sessions/*/cases/*/plan.json')
    assert read_plan(str(plan)).target.recovery_limit_s == (900.0 if kind == 'beegfs' else 300.0)
