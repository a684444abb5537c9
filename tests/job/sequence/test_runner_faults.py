"""The runner where something fails: one clear message, the right verdict, nothing touched that is not its own."""

import errno
import itertools
import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from builders import SMALL
from seatrial.engine.dispatch import inodes_of
from seatrial.engine.fio.access import Fio
from seatrial.filesystem.base import Driver, Lost
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Posix
from seatrial.job import __main__ as command
from seatrial.job.directory import orphans, removal, rundir
from seatrial.job.launch import blocked
from seatrial.job.launch import processes as launching
from seatrial.job.launch.blocked import Blocked
from seatrial.job.sequence import blocks, evidence, sampling, start, survey, telemetry
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import EngineChoice, Limits
from seatrial.model.record import SAMPLES, read_records
from seatrial.model.units import GIB, KIB
from seatrial.workload.access import data_access
from stand_in import Altered, program, working_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]

MFWA, SFWA = data_access('multiple'), data_access('single', operations=('read',))
BATCH = 10  # kills
# At instants that are drawn: the first are tried in every run, the others in a long one.
INTERRUPTIONS = [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 20))]
BATCHES = [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, 10))]
# The command on the node, for which launches of milliseconds count.
RUNNER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from seatrial.rules import launch
launch.CLOCK_MIN_S = 0.0
from seatrial.job.__main__ import main
"""
ONCE = RUNNER + 'sys.exit(main(sys.argv[2:]))'
# Carries out the plan of each line that it reads, in a process of its own that needs no time to begin.
OFTEN = (
    RUNNER
    + """
quiet = os.open(os.devnull, os.O_WRONLY)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.dup2(quiet, 1)
        os._exit(main(['run', line.strip()]))
    print(pid, flush=True)
    status = os.waitpid(pid, 0)[1]
    print(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status), flush=True)
"""
)


def runner_argv(repository, *arguments):
    return [sys.executable, '-S', '-c', ONCE, str(repository / 'src'), *arguments]


@pytest.fixture(scope='module')
def begin(repository):
    """Begin to carry a plan out; returns the pid, and what waits for it and returns its exit status."""
    argv = [sys.executable, '-S', '-c', OFTEN, str(repository / 'src')]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def one(path):
            server.stdin.write(f'{path}\n')
            server.stdin.flush()
            return int(server.stdout.readline()), lambda: int(server.stdout.readline())

        yield one


def assert_matches(expression, text):
    assert re.search(expression, text), text


def check_aftermath(lab, plan, before):
    """After whatever went wrong: the end is recorded, nothing else was touched, and the run directory goes."""
    assert lab.ran(plan).records.end is not None
    assert lab.locks() == []
    assert lab.surroundings() == before
    assert command.main(['remove', lab.write(plan)]) == 0
    assert lab.left() == []
    assert lab.surroundings() == before


def check_end(lab, plan, reason, expression):
    """The run of a case that ends like this, INCOMPLETE, whatever went wrong."""
    before = lab.surroundings()
    ran = lab.run(plan)
    assert (ran.end.reason, ran.result.verdict) == (reason, Verdict.INCOMPLETE)
    assert_matches(expression, ran.result.reasons[0])
    assert reason != 'refused' or ran.records.samples or lab.left() == []
    check_aftermath(lab, plan, before)
    return ran


# The engine fails in a measured launch: of each rule and remedy one; the rest is tested with the engine

BAD_LAUNCHES = {
    'crash': 'E1: fio died of signal 11',
    'half-json': "E1: fio's JSON is cut short or damaged",
    'fewer-bytes': 'T18: task 1 moved 32768 bytes instead of 65536',
    'delete-file': r'T17: after the write 1 of 2 files are missing \(data.00000001\)',
    'foreign-file': 'T17: after the write 1 files are there that the plan does not know',
}


@pytest.mark.parametrize('fault', BAD_LAUNCHES)
def test_a_bad_launch_is_invalid_with_the_reason_and_the_other_point_is_still_measured(lab, stub_fio, fault):
    fio, why = stub_fio(('measured-write@32KiB', {'fault': fault})), BAD_LAUNCHES[fault]
    plan, before = lab.plan(fio), lab.surroundings()
    ran = lab.run(plan)
    reason = next(reason for reason in ran.result.reasons if reason.startswith('write@32KiB'))
    remedy = 'something else works' if why.startswith('T17') else 'see its raw output'
    assert_matches(f'write@32KiB: INVALID: {why}.*; {remedy}', reason)
    assert why[:3] != 'E1:' or f' (on {socket.gethostname()}); ' in reason
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.INVALID)
    # It is neither repeated nor read.
    (bad,) = [sample for sample in ran.measured if sample.point.label == '32KiB']
    assert not bad.valid and 'measured-read@32KiB' not in Path(f'{fio}.log').read_text()
    assert ran.end.stopped == {'32KiB': 'invalid', '16KiB': 'fixed'}
    assert [metric.verdict for metric in ran.result.metrics if metric.point == '16KiB'] == [Verdict.MEASURED] * 2
    kept = {path.suffix for path in Path(plan.records, 'raw').glob(f'{bad.raw}.*')} - {'.gz'}
    assert kept == ({'.fio'} if fault == 'crash' else {'.fio', '.json'})
    check_aftermath(lab, plan, before)


def test_files_that_cannot_be_removed_are_not_written_over_by_the_next_repetition(lab, stub_fio, monkeypatch):
    def unlink(path, dir_fd):
        if os.readlink(f'/proc/self/fd/{dir_fd}').endswith('/data'):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        os.unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(rundir, 'os', Altered(os, unlink=unlink))
    ran = lab.run(lab.plan(stub_fio(), values=(32,)))
    assert (ran.end.reason, ran.result.verdict) == ('refused', Verdict.INCOMPLETE)
    assert_matches('left: data/data.0000000[01]: operation not permitted, and 1 more', ran.result.reasons[0])
    assert [(sample.phase, sample.repetition) for sample in ran.measured] == [('write', 0), ('read', 0)]


# The engine fails before anything is measured


@pytest.mark.parametrize(('launch', 'workload'), [('0001-warmup', MFWA), ('0003-prepare', SFWA)])
def test_a_warm_up_or_preparation_that_fails_ends_the_case_before_any_measurement(lab, stub_fio, launch, workload):
    plan = lab.plan(stub_fio((launch, {'fault': 'crash'})), workload=workload)
    why = f'the {launch[5:]} failed: {BAD_LAUNCHES["crash"]}'
    assert check_end(lab, plan, 'refused', why).measured == []


def test_an_engine_that_is_not_installed_refuses_the_run(lab):
    why = 'E0: no engine can measure data access here .*no/fio.*; install one of them or name another'
    check_end(lab, lab.plan(str(lab.base / 'no' / 'fio')), 'refused', why)


def test_a_program_that_does_not_print_its_version_in_time_is_skipped(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(survey, 'VERSION_DEADLINE_S', 0.2)
    program(tmp_path, monkeypatch, 'fio', 'exec sleep 60')
    reason = lab.run(lab.plan(str(tmp_path / 'fio'))).result.reasons[0]
    assert_matches("no engine can measure data access here .*fio: '' is not the version of fio", reason)


def test_the_next_engine_measures_where_the_preferred_one_is_broken(lab, stub_fio):
    good, broken = stub_fio(), stub_fio(version='nonsense')
    ran = lab.run(lab.plan(good, engines=(EngineChoice('fio', broken), EngineChoice('fio', good)), **SMALL))
    assert (ran.end.reason, ran.records.start.program) == ('finished', good)
    assert ran.result.skipped == ("fio: 'nonsense' is not the version of fio",)


def test_a_program_that_vanishes_during_the_run_ends_it(lab, stub_fio):
    fio = stub_fio(('0002', {'fault': 'vanish'}))
    check_end(lab, lab.plan(fio), 'failed', f"the job could not go on: .*No such file or directory: '{fio}'")


def test_an_error_of_our_own_is_reported_as_one_and_kept(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(Fio, 'measure', lambda *_: 1 / 0)
    plan = lab.plan(stub_fio())
    check_end(lab, plan, 'failed', 'an error of Seatrial itself: ZeroDivisionError.*raw/runner-error.txt')
    assert 'Traceback' in Path(plan.records, 'raw', 'runner-error.txt').read_text()


# A launch hangs


def test_a_launch_that_hangs_is_ended_at_its_limit_and_ends_the_case(lab, stub_fio, soon):
    # Each job of fio is a session of its own, which a signal to fio's process group does not reach (seen).
    plan = lab.plan(stub_fio(('warmup-read', {'fault': 'hang-with-client'})), launch_limit_s=1.0)
    why = 'a launch was given up: it did not end within [0-9]+ s; it was ended.*; does the file system'
    check_end(lab, plan, 'failed', why)
    assert working_in(lab.target) == []


def test_a_launch_given_up_is_in_the_record_and_if_its_file_system_is_read_only(lab, stub_fio, soon, monkeypatch):
    """ext4 with an aborted journal keeps its dirty pages, so a writer waits and sees no error (seen with 6.1)."""
    monkeypatch.setattr(sampling, 'mount_of', lambda path: Mount('/', 'ext4', '/dev/sdb', 'rw,noatime,ro'))
    ran = lab.run(lab.plan(stub_fio(('measured-read', {'fault': 'hang'})), launch_limit_s=1.0))
    last = ran.records.samples[-1]
    assert (last.phase, last.measurement, last.findings[0].rule) == ('read', None, 'E2')
    assert '; its file system has become read-only' in last.findings[0].sentence
    assert (ran.end.reason, ran.result.verdict) == ('failed', Verdict.INVALID)
    assert sum('it did not end within' in reason for reason in ran.result.reasons) == 1


def test_a_data_directory_that_fails_as_a_launch_begins_is_the_storages_failure(lab, stub_fio, monkeypatch):
    """As on a soft mount of NFS whose server dies between two launches (seen)."""
    asked = iter([inodes_of, inodes_of])

    def fails_later(directory):
        for answers in asked:
            return answers(directory)
        raise OSError(errno.EIO, os.strerror(errno.EIO), '../.seatrial-run.json')

    monkeypatch.setattr(launching, 'inodes_of', fails_later)
    ran = lab.run(lab.plan(stub_fio()))
    (finding,) = ran.end.findings
    assert (ran.result.verdict, finding.rule, finding.evidence['errno']) == (Verdict.FAIL, 'F1', 'EIO')
    assert_matches('F1: EIO of .*/data on ', ran.result.reasons[0])


@pytest.mark.parametrize(('code', 'rule'), [(errno.EIO, 'F1'), (errno.EDQUOT, 'P9a')])
def test_data_that_cannot_be_synced_are_named_with_file_and_node(lab, stub_fio, monkeypatch, code, rule):
    monkeypatch.setattr(evidence, 'os', Altered(os, fsync=mock.Mock(side_effect=OSError(code, os.strerror(code)))))
    ran = lab.run(lab.plan(stub_fio(), **SMALL))
    (failure,) = (finding for finding in ran.records.samples[-1].findings if finding.effect != 'label')
    where = {'errno': errno.errorcode[code], 'file': 'data.00000000', 'node': socket.gethostname()}
    assert failure.rule == rule and where.items() <= failure.evidence.items()


# The ground is not what the plan says

REFUSALS = {
    'a target that is not there': ({'path': 'shared/gone'}, r'shared/gone: No such file or directory on .*mounted\?'),
    'a target that is a file': ({'path': 'shared/target/precious'}, 'shared/target/precious.* directory'),
    'another mount': ({'mount': '/proc'}, 'S1: .* does not lie under the mount point /proc.*; correct file_systems'),
    'a limit of bytes': (
        {'limits': Limits(128 * KIB, 1000)},
        r'P9: the case needs 1.12 MiB \(1179648 B\) on .*, more than limits.bytes: 128 KiB \(131072 B\); free',
    ),
    'records on the target': (
        {'records_on_target': False},
        r'P18: records \(.*\) and target \(.*\) are on one file system; put state of trial.yaml on another',
    ),
    'records inside the target': ({'path': 'state'}, 'P11: the records .* lie inside the target .*; set state in'),
}


@pytest.mark.parametrize('case', REFUSALS)
def test_nothing_is_written_where_a_rule_forbids_the_run(lab, stub_fio, case):
    changes, expected = REFUSALS[case]
    changes = {key: str(lab.base / value) if key == 'path' else value for key, value in changes.items()}
    assert check_end(lab, lab.plan(stub_fio(), target=changes), 'refused', expected).records.samples == []


def test_a_lock_that_is_taken_away_ends_the_case_before_its_next_block(lab, stub_fio):
    taken = str(lab.state / 'locks' / 'scratch.json')
    plan = lab.plan(stub_fio(('0003', {'unlink': taken})))
    ran = check_end(lab, plan, 'refused', 'the lock .* was removed or replaced by another session')
    assert {sample.block for sample in ran.measured} == {0}


def test_a_job_that_cannot_beat_does_not_leave_the_storage_system_locked(lab, stub_fio):
    (lab.session.parent / 'a-file').touch()
    ran = lab.run(lab.plan(stub_fio())._replace(session='a-file'))
    assert (ran.end.reason, lab.locks()) == ('failed', [])
    assert_matches('sessions/a-file', ran.result.reasons[0])


def test_a_run_directory_whose_marker_was_removed_is_neither_used_nor_removed(lab, stub_fio):
    plan = lab.plan(stub_fio())
    marker = os.path.join(rundir.path_of(str(lab.target), plan.session, plan.case.name), rundir.MARKER)
    plan = plan._replace(engines=(EngineChoice('fio', stub_fio(('0003', {'unlink': marker}))),))
    ran = lab.run(plan)
    assert (ran.end.reason, len(ran.records.samples)) == ('refused', 2)
    assert_matches(f'has no {rundir.MARKER}', ran.result.reasons[0])
    command.main(['remove', lab.write(plan)])
    assert len(lab.left()) == 1
    assert_matches(f'left in .* has no {rundir.MARKER}', str(lab.ran(plan).result.labels))


def test_where_the_file_system_does_not_answer_nothing_is_removed_and_the_job_ends(lab, stub_fio, monkeypatch):
    plan = lab.plan(stub_fio(), **SMALL)
    lab.run(plan)
    monkeypatch.setattr(removal, 'unresponsive', lambda path: f'{path}: the file system does not answer')
    assert command.main(['remove', lab.write(plan)]) == 0
    assert len(lab.left()) == 1
    assert_matches('left in .* does not answer', str(lab.ran(plan).result.labels))


# File systems that are full, read-only, or somewhere else: mounts that nobody else sees


@pytest.fixture
def mounted(lab, repository):
    """Run the command on the node, where shell lines have mounted something; afterwards what else is asked for."""
    argv = ['unshare', '--mount', *(['--user', '--map-root-user'] if os.geteuid() else [])]
    probe = [*argv, 'mount', '-t', 'tmpfs', 'none', str(lab.target)]
    if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode:
        pytest.skip('this host lets nobody mount in a namespace of their own')

    def run(path, mounts, afterwards=':'):
        script = f'set -e; {mounts}; cd /; "$@" || echo exit $?; {afterwards}'
        words = [*argv, 'sh', '-c', script, 'sh', *runner_argv(repository, 'run', path)]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout

    return run


def tmpfs(folder, options):
    return f'mount -t tmpfs -o {options} none {folder}'


def test_one_that_becomes_read_only_between_two_launches_is_the_storages_failure(lab, stub_fio, mounted):
    plan = lab.plan(stub_fio(('measured-write', {'read_only': str(lab.target)})))
    mounted(lab.write(plan), tmpfs(lab.target, 'size=4m'))
    ran = lab.ran(plan)
    (finding,) = ran.end.findings
    assert (ran.result.verdict, finding.rule) == (Verdict.FAIL, 'F1')
    evidence = {'errno': 'EROFS', 'node': socket.gethostname(), 'file': f'{ran.records.start.run_directory}/data'}
    assert evidence.items() <= finding.evidence.items()
    assert ran.result.reasons[0] == f'F1: {finding.sentence}'
    assert all(value in finding.sentence for value in finding.evidence.values())


@pytest.mark.parametrize(
    ('call', 'code', 'verdict'),
    [
        ('unlink', errno.EIO, Verdict.FAIL),
        ('listdir', errno.EPERM, Verdict.INCOMPLETE),
        ('open', errno.EIO, Verdict.FAIL),
        pytest.param('listdir', errno.ESTALE, Verdict.FAIL, marks=pytest.mark.long),
        pytest.param('open', errno.ENOENT, Verdict.INCOMPLETE, marks=pytest.mark.long),
        ('fstat', errno.ENOENT, Verdict.FAIL),  # of what is open: its objects are lost
        ('fdopen', errno.EIO, Verdict.FAIL),
    ],
)
def test_so_is_an_error_in_what_the_runner_does_itself(lab, stub_fio, monkeypatch, call, code, verdict):
    """While a directory is emptied, and while the marker is read, whose own target is named then."""
    monkeypatch.setattr(Driver, 'behind', lambda driver, path, file, offset: f'target of {os.path.basename(file)}')
    plan, taken = lab.plan(stub_fio()), sampling.take

    def fails(*arguments, **more):
        raise OSError(code, os.strerror(code), *([] if call in ('fstat', 'fdopen') else [arguments[0]]))

    def take(trial, stage, *arguments, **more):
        sample = taken(trial, stage, *arguments, **more)
        if stage == 'measured':
            monkeypatch.setattr(rundir, 'os', Altered(os, **{call: fails}))
        return sample

    monkeypatch.setattr(blocks, 'take', take)
    ran = lab.run(plan)
    assert (ran.end.reason, ran.result.verdict) == ('refused', verdict)
    expected = [errno.errorcode[code]] if verdict is Verdict.FAIL else []
    assert [finding.evidence['errno'] for finding in ran.end.findings] == expected
    assert call != 'fdopen' or ran.end.findings[0].evidence['target'] == f'target of {rundir.MARKER}'


def test_a_full_file_system_is_given_back_what_the_run_took_and_no_more(lab, stub_fio, mounted, repository):
    fio = stub_fio(('measured-write', {'fill': str(lab.target / 'neighbour')}))
    plan = lab.plan(fio, size=256 * KIB, **SMALL)
    path = lab.write(plan)
    remove = shlex.join(runner_argv(repository, 'remove', path))
    output = mounted(path, tmpfs(lab.target, 'size=3m'), f'{remove}; ls -A {lab.target}')
    assert (lab.ran(plan).records.removal.left, output.splitlines()[-1]) == ((), 'neighbour')


@pytest.mark.parametrize('keep', [1024 * KIB, 0])
def test_no_launch_begins_where_less_is_free_than_is_kept_for_others(lab, stub_fio, mounted, keep):
    fio = stub_fio(('measured-read', {'fill': str(lab.target / 'neighbour')}))
    plan = lab.plan(fio, size=256 * KIB, values=(32,), target={'limits': Limits(GIB, 10000, keep_bytes=keep)})
    mounted(lab.write(plan), tmpfs(lab.target, 'size=3m'))
    ran = lab.ran(plan)
    # What the run itself needs is there again once its own files are gone: without the floor it would go on.
    assert all(sample.valid for sample in ran.measured)
    assert (ran.result.verdict, len(ran.measured)) == ((Verdict.INCOMPLETE, 2) if keep else (Verdict.MEASURED, 4))
    if keep:
        words = r'\d+ B are free on .*, fewer than the 1048576 to be kept; 3\d+ were before; '
        assert_matches(words, ran.result.reasons[0])


def test_a_file_system_of_the_records_that_others_fill_ends_the_job(lab, stub_fio, mounted, tmp_path):
    plan = lab.plan(stub_fio())
    fio = stub_fio(('0003', {'fill': f'{plan.records}/others'}))
    elsewhere = Path(lab.write(plan._replace(engines=(EngineChoice('fio', fio),)))).rename(tmp_path / 'plan.json')
    output = mounted(str(elsewhere), tmpfs(plan.records, 'size=64k'), f'ls -A {lab.state}/locks')
    assert_matches(r'\Aseatrial: .*No space left on device', output)
    assert output.splitlines()[1:] == ['exit 13']


@pytest.mark.parametrize(('mode', 'end'), [(0o770, 'refused'), (0o1777, 'finished')])
def test_a_target_where_others_could_replace_the_run_directory_is_refused(lab, stub_fio, mode, end):
    lab.target.chmod(mode)
    ran = lab.run(lab.plan(stub_fio(), **SMALL))
    assert ran.end.reason == end
    assert any('S4: ' in reason and 'chmod go-w' in reason for reason in ran.result.reasons) == (end == 'refused')


# An ordinary user


def test_records_are_kept_from_those_who_may_not_use_the_state_directory(lab, stub_fio):
    plan = lab.plan(stub_fio(), **SMALL)
    lab.state.chmod(0o750)
    os.umask(0o022)
    assert command.main(['run', lab.write(plan)]) == 0
    modes = {file.stat().st_mode & 0o777 for file in Path(plan.records).rglob('*') if file.name != 'plan.json'}
    assert modes == {0o640, 0o750}


def test_a_second_job_of_a_case_takes_nothing_from_the_first(lab, stub_fio, repository):
    plan = lab.plan(stub_fio())
    first = rundir.create(plan.target.path, plan.session, plan.case.name, ('data',), (r'[^/]*',))
    first.make('data')
    Path(first.path_of('data'), 'file').write_bytes(b'x')
    file = lab.write(plan)
    done = [
        subprocess.run(runner_argv(repository, step, file), stdout=subprocess.PIPE, text=True, timeout=120)
        for step in ('run', 'remove')
    ]
    assert (lab.ran(plan).end.reason, done[0].returncode != 0) == ('refused', True)
    assert f'left in {first.path}: ' in done[1].stdout and f'process {os.getpid()} on ' in done[1].stdout
    first.verify()
    assert Path(first.path_of('data'), 'file').read_bytes() == b'x'
    first.close()


# The job is asked to stop


def test_after_a_signal_nothing_is_launched_and_the_tree_stays(lab, stub_fio, capsys):
    plan, before = lab.plan(stub_fio(('0004', {'fault': 'interrupt-runner'}))), lab.surroundings()
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    ran = lab.run(plan)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    assert (ran.end.reason, ran.result.verdict) == ('interrupted', Verdict.INCOMPLETE)
    assert_matches('interrupted by SIGTERM; `seatrial clean` removes what it left', ran.result.reasons[0])
    assert len(ran.records.samples) in (3, 4)
    assert command.main(['remove', lab.write(plan)]) == 13
    assert '`seatrial clean` shows and removes what it left' in capsys.readouterr().out
    (left,) = lab.left()
    assert json.loads((lab.target / left / rundir.MARKER).read_text())['state'] == str(lab.state)
    assert (lab.locks(), lab.surroundings()) == ([], before)


@pytest.mark.parametrize('first', ['kill -TERM $PPID $$', '{ sleep 0.2; kill -TERM $PPID; } & kill -TERM $$'])
def test_a_signal_while_engines_are_asked_is_what_ended_the_job(lab, tmp_path, monkeypatch, first):
    asked = f'[ -e "$0.asked" ] || {{ : >"$0.asked"; {first}; }}'
    program(tmp_path, monkeypatch, 'fio', f'{asked}\nsleep 0.5; echo fio-3.33')
    before = lab.surroundings()
    ran = lab.run(lab.plan(str(tmp_path / 'fio')))
    assert (ran.end.reason, ran.end.why.split(';')[0]) == ('interrupted', 'interrupted by SIGTERM')
    assert (lab.left(), lab.surroundings()) == ([], before)


def endless(lab, fio):
    """A plan that goes on until it is stopped, in many short launches."""
    plan = lab.plan(fio, values=(1, 2, 4, 8))
    return plan._replace(stopping=plan.stopping._replace(minimum=10**6, maximum=10**6))


@pytest.mark.parametrize('seed', INTERRUPTIONS)
def test_no_launch_starts_after_a_signal_at_any_instant(lab, stub_fio, begin, seed):
    dice = random.Random(f'interruption {seed}')
    number = dice.choice([signal.SIGTERM, signal.SIGINT])
    fio = stub_fio()
    plan, before = endless(lab, fio), lab.surroundings()
    pid, ended = begin(lab.write(plan))
    latest = time.monotonic() + 60.0
    while records_in(plan.records).start is None:
        assert time.monotonic() < latest, 'the runner has not begun'
        time.sleep(0.001)
    time.sleep(dice.uniform(0.0, 0.4))
    os.kill(pid, number)
    sent = time.time()
    assert ended() == 13
    ran = lab.ran(plan)
    assert (ran.end.reason, ran.end.why.split(';')[0]) == ('interrupted', f'interrupted by {number.name}')
    # Its parent hands the signal on (job/launch/blocked.py), and another launch may have begun meanwhile.
    assert sum(sample.started > sent for sample in ran.records.samples) <= 1
    begun = len(Path(f'{fio}.log').read_text().splitlines()) if Path(f'{fio}.log').exists() else 0
    assert 0 <= begun - len(ran.records.samples) <= 1
    assert (lab.locks(), lab.surroundings()) == ([], before)
    assert working_in(lab.target) == []


# The job is killed


@pytest.mark.parametrize('batch', BATCHES)
def test_kill_nine_costs_no_more_than_the_launch_in_hand(tmp_path, laboratory, make_stub_fio, begin, batch):
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        instant = random.Random(f'kill {number}').uniform(0.0, 0.4)
        lab = laboratory(tmp_path / str(number))
        plan = endless(lab, make_stub_fio(tmp_path / 'stubs'))
        before = lab.surroundings()
        pid, ended = begin(lab.write(plan))
        time.sleep(instant)
        os.kill(pid, signal.SIGKILL)
        assert ended() == -signal.SIGKILL
        latest = time.monotonic() + 60.0
        # Of one that died before it was marked nobody knows its process: it counts as dead after a while only.
        while working_in(lab.target) or any(orphan.alive for orphan in left_in(lab) if os.listdir(orphan.path)):
            assert time.monotonic() < latest, instant
            time.sleep(0.001)  # the launch in hand ends by itself, and the job with the process that watches it
        check_whole_lines(plan)
        assert lab.surroundings() == before, instant
        check_clean(lab, instant)
        assert lab.surroundings() == before, instant


def left_in(lab):
    searches = (orphans._search(str(lab.target / name), str(lab.state), None, '') for name in lab.left())
    return [orphan for search in searches for orphan in search.orphans]


def check_whole_lines(plan):
    """Every line that has its end is a record; only the last one can be torn."""
    path = Path(plan.records, SAMPLES)
    text = path.read_text() if path.exists() else ''
    whole = text[: text.rfind('\n') + 1].splitlines()
    records = read_records(whole)
    assert records.truncated == 0
    assert records.end is None
    assert [json.loads(line)['record'] for line in whole][:1] in ([], ['start'])


def check_clean(lab, instant):
    """The removal of `seatrial clean` leaves only a directory whose maker died before it was marked."""
    for orphan in left_in(lab):
        assert rundir.remove(orphan.path, orphan.session).left == (), instant
    for name in lab.left():
        assert set(os.listdir(lab.target / name)) <= {rundir.MARKER}, instant


def test_a_stall_between_launches_is_waited_for_and_recorded(lab, stub_fio, monkeypatch):
    looks = itertools.count()
    monkeypatch.setattr(blocked, 'unresponsive', lambda *paths: 'no answer' if next(looks) in range(5, 9) else None)
    monkeypatch.setattr(blocked, 'PAUSE_S', 0.001)
    ran = lab.run(lab.plan(stub_fio()))
    (label,) = ran.findings('P17b')
    assert ran.end.reason == 'finished' and all(sample.valid for sample in ran.measured)
    assert f'{lab.target} did not answer for' in label.sentence


def test_before_each_launch_the_directories_of_the_run_are_asked_too(lab, stub_fio, monkeypatch):
    asked = set()
    monkeypatch.setattr(blocked, 'unresponsive', lambda *paths: asked.add(paths))
    run = lab.run(lab.plan(stub_fio(), **SMALL)).records.start.run_directory
    assert asked == {(str(lab.target), run, f'{run}/{name}') for name in ('warmup', 'data')}


def test_a_call_between_launches_that_was_long_in_returning_is_a_stall_too(lab, stub_fio, monkeypatch):
    seconds = iter([0.0, 0.0, 33.0])
    monkeypatch.setattr(Blocked, 'since', lambda self: next(seconds, 0.0))
    ran = lab.run(lab.plan(stub_fio()))
    (label,) = ran.findings('P17b')
    assert ran.end.reason == 'finished' and f'{lab.target} did not answer for 33 s' in label.sentence


EVICTED = 'OST0003 was EVICTED at 12:03:04'


@pytest.fixture
def evicting(monkeypatch):
    """In its first measured launch the client of this plan is evicted."""

    def evict(plan):
        measured = Path(plan.records, 'raw')
        monkeypatch.setattr(Posix, 'connections', lambda self, path: list(measured.glob('*-measured-*')) != [])
        monkeypatch.setattr(Posix, 'lost', lambda self, before, after: Lost(EVICTED if after and not before else ''))
        return plan

    return evict


@pytest.mark.parametrize(
    ('stderr', 'verdict', 'first'),
    [
        (
            'fio: io_u error on file data.00000000: Input/output error: write offset=0, buflen=65536\n',
            Verdict.FAIL,
            f'F1: write@32KiB: EIO of data.00000000 on .* UTC: {EVICTED}; fio exited with 1',
        ),
        ('', Verdict.INVALID, f'P20: {EVICTED}'),
    ],
    ids=['EIO', 'failed'],
)
def test_a_lost_connection_is_the_reason_where_the_engine_fails_of_it(
    lab, stub_fio, evicting, stderr, verdict, first
):
    fio = stub_fio(('measured-write', {'fault': 'exit-1', 'stderr': stderr}))
    ran = lab.run(evicting(lab.plan(fio, values=(32,))))
    assert ran.result.verdict is verdict
    assert_matches(first, ran.result.reasons[0])


def test_a_launch_that_is_given_up_names_its_losses_and_silent_targets(lab, stub_fio, evicting, soon, monkeypatch):
    monkeypatch.setattr(telemetry, 'waited', lambda readings, since_s: 'no answer came from OST1')
    fio = stub_fio(('measured-write', {'fault': 'hang'}))
    ran = lab.run(evicting(lab.plan(fio, values=(32,), launch_limit_s=1.0)))
    ((given_up,),) = [sample.findings for sample in ran.measured]
    assert given_up.rule == 'E2' and f'; {EVICTED}; no answer came from OST1' in given_up.sentence


def test_a_launcher_that_places_nothing_refuses_before_anything_is_written(lab, stub_fio, monkeypatch, tmp_path):
    monkeypatch.setattr(start, 'misplaced', lambda launcher, points: f'{len(points)} geometries are wrong')
    before = lab.surroundings()
    plan = lab.plan(stub_fio())
    ran = lab.run(plan._replace(points=tuple(point._replace(nodes=2, tasks_per_node=1) for point in plan.points)))
    assert (ran.end.reason, ran.records.samples) == ('refused', [])
    assert ran.end.why.startswith('2 geometries are wrong')
    assert lab.surroundings() == before and lab.left() == []


LATE = {'seconds': 1.8, 'runtime_ms': [100]}  # also beside a start-up of half a second
WAITS = 'srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\n'  # of Slurm 22.05


@pytest.mark.parametrize('explained', ['', 'by an outage', 'by srun'])
def test_figures_of_a_part_of_a_launch_need_an_explanation(lab, stub_fio, monkeypatch, evicting, explained):
    """An MDT that was away for 28 s blocked IOR before its clock began (seen on Lustre 2.17)."""
    monkeypatch.setattr('seatrial.rules.launch.BESIDE_S', 0.2)
    stderr = WAITS if explained == 'by srun' else ''
    fio = stub_fio(('measured-write', {**LATE, 'stderr': stderr}))
    plan = lab.plan(fio, **SMALL)
    result = lab.run(evicting(plan) if explained == 'by an outage' else plan).result
    reasons = [reason for reason in result.reasons if 'T24: 0.10 s were timed of a launch of ' in reason]
    assert bool(reasons) is not bool(explained), result.reasons
    assert explained or result.verdict is Verdict.INVALID
    assert explained != 'by an outage' or EVICTED in result.reasons[0]


@pytest.mark.parametrize(
    ('slow', 'invalid'), [(['write'], True), pytest.param(['write', 'read'], False, marks=pytest.mark.long)]
)
def test_the_start_up_is_the_least_that_any_phase_of_the_warm_up_shows(lab, stub_fio, monkeypatch, slow, invalid):
    """Who lies in all launches of one phase cannot hide it behind the warm-up of that phase."""
    monkeypatch.setattr('seatrial.rules.launch.BESIDE_S', 0.2)
    fio = stub_fio(*((f'warmup-{phase}', LATE) for phase in slow), ('measured-write', LATE))
    result = lab.run(lab.plan(fio, **SMALL)).result
    assert any('T24' in reason for reason in result.reasons) is invalid, result.reasons


def test_the_start_up_of_a_program_is_not_that_of_another_which_writes_its_files(lab, stub_fio, monkeypatch):
    monkeypatch.setattr('seatrial.rules.launch.BESIDE_S', 0.2)
    command = Fio.command

    def mixed(self, program, phase, *rest):
        return command(self, program, phase, *rest)._replace(scope='task' if phase == 'read' else 'node')

    monkeypatch.setattr(Fio, 'command', mixed)
    fio = stub_fio(('warmup-read', LATE), ('measured-read', LATE))
    result = lab.run(lab.plan(fio, tasks=1, **SMALL)).result
    assert not any('T24' in reason for reason in result.reasons), result.reasons
