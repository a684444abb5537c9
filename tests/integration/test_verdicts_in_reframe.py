"""One session under `seatrial run` and under plain ReFrame: the same verdicts, and how each of them says it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.job import lock

CHECKS = """
import reframe

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Sweep


class Write(AccessPatternCheck):
    pattern = AccessPattern(files='multiple', extent='whole', operations=('write',))
    sweep = Sweep('objects', (2,), bytes_per_client=MIB)
"""
CHECK = '\n\n@trial\nclass {name}(Write):\n    """{name}."""\n'
# ReFrame warns of such a class, leaves it out, and says that all is well.
VANISHING = """

@trial
class Vanishing(Write):
    @reframe.core.builtins.run_after('init')
    def fall_over(self):
        raise ValueError('a mistake in the check')
"""
TRIAL = """
version: 1
state: state
engines: [{{name: fio, program: {fio}}}]
file_systems:
  scratch: {{type: posix, path: state/trials, limits: {{bytes: 1GiB, inodes: 1000}}, records_on_target: true}}
partitions:
  local:default: {{launcher: local, tasks_per_node: 2}}
trials:
"""
NOISY = """
  - {checks: [Noisy], partitions: [local:default], file_systems: [scratch], nodes: [1], bytes_per_client: 1MiB,
     budget: 3s}
"""
ALL = """
  - {checks: ['*'], partitions: [local:default], file_systems: [scratch], nodes: [1], bytes_per_client: 1MiB}
"""
# What the stand-in does in each case; it claims 0.5 s or more, the least that rule T19 believes of fio.
ORDERS = (
    ('Steady.*measured', {'seconds': 0.5}),
    ('Wrong.*measured', {'seconds': 0.5}),
    ('Wrong.*0003-measured', {'fault': 'error-lines'}),
    ('Noisy.*measured', {'seconds': 0.9, 'runtime_ms': [500, 900]}),
    ('Broken.*warmup', {'fault': 'crash'}),
    ('Killed.*measured', {'fault': 'kill-runner'}),
    ('Lasting.*measured', {'seconds': 600.0}),
)
VERDICTS = {
    'Steady': 'PASS',
    'Wrong': 'INVALID',
    'Noisy': 'INCONCLUSIVE',
    'Broken': 'INCOMPLETE',
    'Killed': 'INCOMPLETE',
}
EACH = ''.join(CHECK.format(name=name) for name in VERDICTS)
MEANS = {'Steady': 4.0, 'Wrong': 4.0, 'Noisy': 3.0}  # MiB/s: 2 MiB in 0.5 s, or in 0.5 and 0.9 s by turns
WORDS = {
    'Wrong': 'write@2objects: INVALID: E1: fio exited with 0 after an error',
    'Noisy': 'write@2objects: INCONCLUSIVE: not within 10 % after',
    'Broken': 'the warmup failed: E1: fio died of signal 11',
    'Killed': 'T15: the job died: it left no end record',
}


@pytest.fixture(scope='module')
def make_site(tmp_path_factory, make_stub_fio, repository):
    """Make a site, with these checks beside it and a stand-in for fio that fails where ORDERS say so."""

    def make(checks):
        home = tmp_path_factory.mktemp('site')
        shutil.copy(repository / 'site-config' / 'local' / 'settings.py', home)
        text = TRIAL.format(fio=make_stub_fio(home / 'stubs', *ORDERS))
        (home / 'trial.yaml').write_text(text + (NOISY if 'Noisy' in checks else '') + ALL)
        (home / 'checks' / 'access').mkdir(parents=True)
        (home / 'checks' / 'access' / 'write.py').write_text(checks)
        return home

    return make


@pytest.fixture(scope='module')
def site(make_site):
    return make_site(CHECKS + EACH)


def program(name):
    return str(Path(sys.executable).with_name(name))


def seatrial_argv(site, *arguments):
    return [
        program('seatrial'),
        'run',
        f'--site={site}',
        f'--checks={site / "checks"}',
        '--profile=nightly',
        *arguments,
    ]


def seatrial_run(site, *arguments):
    """What ended, and the session's folder."""
    before = set(site.glob('state/sessions/*'))
    done = subprocess.run(seatrial_argv(site, *arguments), capture_output=True, text=True, cwd='/')
    (folder,) = set(site.glob('state/sessions/*')) - before
    return done, folder


def results_of(folder):
    return json.loads((folder / 'results.json').read_text())


@pytest.fixture(scope='module')
def session(site):
    """The session under `seatrial run`: what ended, its folder, and its results by check."""
    done, folder = seatrial_run(site)
    return done, folder, {case['case']['check']: case for case in results_of(folder)['cases']}


def reframe_run(site, folder, profile='nightly'):
    argv = [
        program('reframe'),
        f'--config-file={site / "settings.py"}',
        f'--checkpath={site / "checks"}',
        '--recursive',
        '--exec-policy=serial',
        f'--prefix={folder}',
        f'--report-file={folder / "report.json"}',
        '--run',
    ]
    environment = {**os.environ, 'SEATRIAL_PROFILE': profile}
    return subprocess.run(argv, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.fixture(scope='module')
def plain(make_site, tmp_path_factory):
    """The same under plain ReFrame: what ended, and ReFrame's own report by check."""
    folder = tmp_path_factory.mktemp('plain')
    done = reframe_run(make_site(CHECKS + EACH), folder)
    return done, reported(folder / 'report.json')


def reported(file):
    return {case['name'].split()[0]: case for case in json.loads(file.read_text())['runs'][0]['testcases']}


# seatrial run


@pytest.mark.parametrize('check', VERDICTS)
def test_each_case_has_its_verdict_and_its_reason(session, check):
    case = session[2][check]
    assert case['verdict'] == VERDICTS[check]
    assert any(WORDS[check] in reason for reason in case['reasons']) if check in WORDS else case['reasons'] == []


def test_the_session_is_as_bad_as_its_worst_case(session):
    done, folder, _ = session
    assert (done.returncode, results_of(folder)['verdict']) == (11, 'INVALID')


def test_all_counts_are_printed_and_kept(session):
    counts = {'PASS': 1, 'INVALID': 1, 'INCOMPLETE': 2, 'INCONCLUSIVE': 1}
    assert results_of(session[1])['counts'] == counts
    last = next(line for line in session[0].stdout.splitlines() if line.startswith('! INVALID  1'))
    assert all(f'{count} {verdict}' in last for verdict, count in counts.items())


def test_each_case_is_shown_as_it_ends(session):
    lines = [line for line in session[0].stdout.splitlines() if line.startswith('[')]
    assert len(lines) == len(VERDICTS) - 1  # the killed one never ended
    assert '[1/5] + PASS  Steady/local:default/scratch/default/1n' in lines[0]


def test_nothing_is_left_on_the_file_system_but_what_the_killed_job_left(session, site):
    _, folder, cases = session
    assert len([name for name in os.listdir(site / 'state' / 'trials') if folder.name in name]) == 1
    assert not [label for case in cases.values() for label in case['labels'] if 'not removed' in label]


def test_no_lock_is_held_afterwards(session, site):
    assert not [path for path in site.glob('state/locks/*') if session[1].name in path.read_text()]


# The same in ReFrame


@pytest.mark.parametrize('check', VERDICTS)
def test_plain_reframe_comes_to_the_same_verdict(session, plain, check):
    under_seatrial = reported(session[1] / 'reframe' / 'report.json')
    assert plain[1][check]['verdict'] == under_seatrial[check]['verdict'] == VERDICTS[check]


@pytest.mark.parametrize('check', VERDICTS)
def test_reframe_fails_a_case_exactly_if_it_is_no_pass(session, plain, check):
    for report in (plain[1], reported(session[1] / 'reframe' / 'report.json')):
        assert report[check]['result'] == ('pass' if VERDICTS[check] == 'PASS' else 'fail')


@pytest.mark.parametrize('check', WORDS)
def test_the_message_of_a_failure_begins_with_the_verdict_and_says_why(plain, check):
    reason = plain[1][check]['fail_reason']
    kind = 'performance error' if VERDICTS[check] == 'INCONCLUSIVE' else 'sanity error'
    assert reason.startswith(f'{kind}: {VERDICTS[check]}: ')
    assert WORDS[check] in reason


@pytest.mark.parametrize('check', ['Steady', 'Noisy', 'Wrong'])
def test_measured_values_are_in_the_report_whatever_the_verdict(session, plain, check):
    values = session[2][check]['metrics'][0]['summary']['mean'], MEANS[check]
    for report, value in zip((reported(session[1] / 'reframe' / 'report.json'), plain[1]), values, strict=True):
        (found,) = report[check]['perfvalues'].values()
        assert report[check]['perfvalues'].keys() == {'local:default:write@2objects'}
        assert found[0] == pytest.approx(value, rel=0.3 if check == 'Noisy' else 1e-9)
        assert found[4] == 'MiB/s'


def test_plain_reframe_exits_as_after_any_failure(plain):
    assert plain[0].returncode == 1


def test_an_unknown_profile_stops_plain_reframe_with_the_known_ones(site, tmp_path):
    done = reframe_run(site, tmp_path, profile='nighty')
    assert done.returncode == 1
    assert "SEATRIAL_PROFILE is 'nighty'; it can be smoke, nightly" in done.stdout + done.stderr


# Sessions of one case, each with another exit status


def test_a_session_that_passes_exits_with_0(site):
    done, folder = seatrial_run(site, 'Steady')
    assert (done.returncode, results_of(folder)['verdict']) == (0, 'PASS')


def test_a_session_that_cannot_decide_exits_with_12(site):
    done, folder = seatrial_run(site, 'Noisy')
    assert (done.returncode, results_of(folder)['verdict']) == (12, 'INCONCLUSIVE')


def test_a_session_of_which_something_did_not_run_exits_with_13(site):
    done, folder = seatrial_run(site, 'Broken')
    assert (done.returncode, results_of(folder)['verdict']) == (13, 'INCOMPLETE')


# The completeness gate


def test_a_check_that_reframe_leaves_out_is_incomplete(make_site):
    done, folder = seatrial_run(make_site(CHECKS + VANISHING))
    (case,) = results_of(folder)['cases']
    assert (done.returncode, case['verdict']) == (13, 'INCOMPLETE')
    assert case['reasons'][0].startswith('T15: the job never started: no record of it')


def test_a_reframe_that_does_not_start_is_incomplete_and_no_pass(make_site):
    site = make_site(CHECKS + EACH)
    settings = site / 'settings.py'
    settings.write_text(settings.read_text() + "\nsite_configuration['systems'][0]['no_such_key'] = 1\n")
    done, folder = seatrial_run(site)
    assert (done.returncode, results_of(folder)['counts']) == (13, {'INCOMPLETE': 5})
    assert 'no_such_key' in (folder / 'reframe.out').read_text()


def test_a_session_that_finds_the_storage_system_held_measures_nothing_and_says_by_whom(site):
    with lock.acquire(str(site / 'state'), 'scratch', 'other-session'):
        done, folder = seatrial_run(site, 'Broken')
    assert (done.returncode, results_of(folder)['verdict']) == (13, 'INCOMPLETE')
    assert 'storage system scratch is held by session other-session' in done.stdout
    assert not (folder / 'reframe').exists()


# Told to stop


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_session_that_is_told_to_stop_ends_its_launch_and_is_incomplete(make_site, number):
    site = make_site(CHECKS + CHECK.format(name='Lasting'))
    process = subprocess.Popen(seatrial_argv(site), stdout=subprocess.PIPE, text=True, cwd='/')
    while not list(site.glob('state/sessions/*/cases/*/raw/*-measured-*.fio')):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    output, _ = process.communicate(timeout=120)
    (folder,) = site.glob('state/sessions/*')
    (case,) = results_of(folder)['cases']
    assert (process.returncode, case['verdict']) == (13, 'INCOMPLETE')
    assert f'{number.name}: no more launches' in output
    assert 'interrupted by SIGTERM; `seatrial clean` removes what it left' in case['reasons'][0]
    assert not still_running(folder)
    assert not list(site.glob('state/locks/*.json'))


def still_running(folder):
    """Command lines that name the session's folder."""
    found = []
    for path in Path('/proc').glob('[0-9]*/cmdline'):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b'\0', b' ').decode(errors='replace'))
    return [line for line in found if str(folder) in line]
