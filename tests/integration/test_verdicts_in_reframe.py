"""One session under `seatrial run` and under plain ReFrame: the same verdicts, and what ReFrame itself says of them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
  - &one {{checks: [Steady, Wrong, Broken, Killed], partitions: [local:default], file_systems: [scratch], nodes: [1],
           bytes_per_client: 1MiB}}
  - {{checks: [Noisy], partitions: [local:default], file_systems: [scratch], nodes: [1], bytes_per_client: 1MiB,
      budget: 3s}}
"""
# What the stand-in does in each case; it claims 0.5 s or more, the least that rule T19 believes of fio.
ORDERS = (
    ('Steady.*measured', {'seconds': 0.5}),
    ('Wrong.*measured', {'seconds': 0.5}),
    ('Wrong.*0003-measured', {'fault': 'error-lines'}),
    ('Noisy.*measured', {'seconds': 0.9, 'runtime_ms': [500, 900]}),
    ('Broken.*warmup', {'fault': 'crash'}),
    ('Killed.*measured', {'fault': 'kill-runner'}),
)
VERDICTS = {
    'Steady': 'PASS',
    'Wrong': 'INVALID',
    'Noisy': 'INCONCLUSIVE',
    'Broken': 'INCOMPLETE',
    'Killed': 'INCOMPLETE',
}
WORDS = {
    'Wrong': 'write@2objects: INVALID: E1: fio exited with 0 after an error',
    'Noisy': 'write@2objects: INCONCLUSIVE: not within 10 % after',
    'Broken': 'the warmup failed: E1: fio died of signal 11',
    'Killed': 'T15: the job died: it left no end record',
}


@pytest.fixture(scope='module')
def site(tmp_path_factory, make_stub_fio, repository):
    home = tmp_path_factory.mktemp('site')
    shutil.copy(repository / 'site-config' / 'local' / 'settings.py', home)
    (home / 'trial.yaml').write_text(TRIAL.format(fio=make_stub_fio(home / 'stubs', *ORDERS)))
    (home / 'checks' / 'access').mkdir(parents=True)
    (home / 'checks' / 'access' / 'write.py').write_text(CHECKS + ''.join(CHECK.format(name=name) for name in VERDICTS))
    return home


def program(name):
    return str(Path(sys.executable).with_name(name))


def seatrial_run(site, *arguments):
    """What ended, and the session's folder."""
    before = set(site.glob('state/sessions/*'))
    argv = [program('seatrial'), 'run', f'--site={site}', f'--checks={site / "checks"}', *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, cwd='/')
    (folder,) = set(site.glob('state/sessions/*')) - before
    return done, folder


def results_of(folder):
    return json.loads((folder / 'results.json').read_text())


@pytest.fixture(scope='module')
def session(site):
    """The session under `seatrial run`: what ended, its folder, and its results by check."""
    done, folder = seatrial_run(site, '--profile=nightly')
    return done, folder, {case['case']['check']: case for case in results_of(folder)['cases']}


@pytest.fixture(scope='module')
def plain(site, tmp_path_factory):
    """The same under plain ReFrame: what ended, and ReFrame's own report by check."""
    folder = tmp_path_factory.mktemp('plain')
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
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=folder, env={**os.environ, 'SEATRIAL_PROFILE': 'nightly'}
    )
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


def test_all_counts_are_printed(session):
    assert '! INVALID  1 PASS, 1 INVALID, 1 INCONCLUSIVE, 2 INCOMPLETE' in session[0].stdout


def test_each_case_is_shown_as_it_ends(session):
    lines = [line for line in session[0].stdout.splitlines() if line.startswith('[')]
    assert len(lines) == len(VERDICTS) - 1  # the killed one never ended
    assert '[1/5] + PASS  Steady/local:default/scratch/default/1n' in lines[0]


def test_nothing_is_left_on_the_file_system_but_what_the_killed_job_left(session, site):
    left = os.listdir(site / 'state' / 'trials')
    assert all('not removed' not in label for case in session[2].values() for label in case['labels'])
    assert len([name for name in left if session[1].name in name]) == 1


def test_no_lock_is_held_afterwards(session, site):
    assert not [path for path in site.glob('state/locks/*') if session[1].name in path.read_text()]


# The same in ReFrame


@pytest.mark.parametrize('check', VERDICTS)
def test_plain_reframe_comes_to_the_same_verdict(plain, check):
    assert plain[1][check]['check_vars']['verdict'] == VERDICTS[check]


@pytest.mark.parametrize('check', VERDICTS)
def test_reframe_fails_a_case_exactly_if_it_is_no_pass(session, plain, check):
    under_seatrial = reported(session[1] / 'reframe' / 'report.json')
    for report in (plain[1], under_seatrial):
        assert report[check]['result'] == ('pass' if VERDICTS[check] == 'PASS' else 'fail')


@pytest.mark.parametrize('check', WORDS)
def test_the_message_of_a_failure_begins_with_the_verdict_and_says_why(plain, check):
    reason = plain[1][check]['fail_reason']
    kind = 'performance error' if VERDICTS[check] == 'INCONCLUSIVE' else 'sanity error'
    assert reason.startswith(f'{kind}: {VERDICTS[check]}: ')
    assert WORDS[check] in reason


@pytest.mark.parametrize('check', ['Steady', 'Noisy'])
def test_measured_values_are_in_the_report_whatever_the_verdict(session, plain, check):
    for report in (plain[1], reported(session[1] / 'reframe' / 'report.json')):
        (name,) = report[check]['perfvalues']
        assert name.endswith(':write@2objects')
        assert report[check]['perfvalues'][name][-2 if False else 0] > 0


def test_the_exit_status_of_plain_reframe_is_that_of_a_failure(plain):
    assert plain[0].returncode == 1
    assert '1/5' in plain[0].stdout or 'Ran 5/5' in plain[0].stdout


# Exit codes of sessions of one case


def test_a_session_that_passes_exits_with_0(site):
    done, folder = seatrial_run(site, '--profile=nightly', 'Steady')
    assert (done.returncode, results_of(folder)['verdict']) == (0, 'PASS')


def test_a_session_that_cannot_decide_exits_with_12(site):
    done, folder = seatrial_run(site, '--profile=nightly', 'Noisy')
    assert (done.returncode, results_of(folder)['verdict']) == (12, 'INCONCLUSIVE')


def test_a_session_of_which_something_did_not_run_exits_with_13(site):
    done, folder = seatrial_run(site, '--profile=nightly', 'Broken')
    assert (done.returncode, results_of(folder)['verdict']) == (13, 'INCOMPLETE')
