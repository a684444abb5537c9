"""One session under `seatrial run` and under plain ReFrame: the same verdicts, with references and without, and how
each of them says it."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter

import pytest

from local_site import SEATRIAL, LocalSite, check_file, reframe_run, reported, trial, writes
from seatrial.model.units import MIB
from slurm_lab import commands

# ReFrame warns of such a class, leaves it out, and says that all is well.
VANISHING = f"""{writes('Vanishing')}
    @reframe.core.builtins.run_after('init')
    def fall_over(self):
        raise ValueError('a mistake in the check')
"""
# Its write is valid, and its read too short for the clock of fio.
ACCESS = "'multiple', operations=('write', 'read'), bytes_per_task='1MiB'"
BRIEF = check_file('Brief', ACCESS, "'transfer_size', (524288,)")
# Two tasks move 1 MiB each in 120 and 132 ms by turns, which is 15.9 MiB/s with an interval of about 0.7
# to each side.
REFERENCES = {
    'Inside': '[15.8, -0.3, 0.9, MiB/s]',
    'Outside': '[999.0, -0.1, 0.9, MiB/s]',
    'StraddlingOutside': '[17.0, -0.05, 0.9, MiB/s]',
}
POINTS = {'Inside': 'pass', 'Outside': 'fail', 'StraddlingOutside': 'fail'}
BACKENDS = """
from reframe.core.backends import register_launcher, register_scheduler
from reframe.core.launchers.local import LocalLauncher
from reframe.core.schedulers.local import LocalJobScheduler


@register_launcher('at-home')
class AtHome(LocalLauncher):
    pass


@register_scheduler('on-the-desk', local=True)
class OnTheDesk(LocalJobScheduler):
    pass
"""
# What the stand-in does in each case; it claims 0.1 s or more, the minimum that rule T19 takes for valid of fio.
ORDERS = (
    ('Steady.*measured', {'seconds': 0.2}),
    ('Brief.*measured-write', {'seconds': 0.2}),
    ('Brief.*measured-read', {'seconds': 0.01}),
    ('Wrong.*measured', {'seconds': 0.2}),
    ('Wrong.*0003-measured', {'fault': 'error-lines'}),
    ('Settled.*measured', {'seconds': 0.3, 'runtime_ms': [250, 300]}),
    ('Broken.*warmup', {'fault': 'crash'}),
    ('Killed.*measured', {'fault': 'kill-runner'}),
    ('Lasting.*measured', {'seconds': 600.0}),
    ('(Inside|Outside)', {'seconds': 0.13, 'runtime_ms': [120, 132]}),
)
VERDICTS = {
    'Steady': 'MEASURED',
    'Wrong': 'INVALID',
    'Brief': 'INVALID',
    'Settled': 'MEASURED',
    'Broken': 'INCOMPLETE',
    'Killed': 'INCOMPLETE',
    'Inside': 'PASS',
    'Outside': 'FAIL',
    'StraddlingOutside': 'INCONCLUSIVE',
}
# One of each verdict but INCONCLUSIVE, which plain ReFrame says as it says FAIL.
PLAIN = tuple(check for check in VERDICTS if check not in ('Brief', 'Settled', 'StraddlingOutside'))
WORDS = {
    'Wrong': 'write@512KiB: INVALID: E1: fio exited with 0 after an error',
    'Brief': 'read@512KiB: INVALID: T19: the timed region lasted 0.01 s, less than 0.1 s',
    'Broken': 'the warmup failed: E1: fio died of signal 11',
    'Killed': 'T15: the job died: it left no end record',
    'Outside': 'write@512KiB: FAIL: ',
    'StraddlingOutside': 'write@512KiB: INCONCLUSIVE: ',
}


@pytest.fixture(scope='module')
def make_site(tmp_path_factory, make_stub_fio):
    """Make a site, with these checks beside it, a launcher and a scheduler that its settings register, and a stand-in
    for fio that fails where ORDERS say so."""

    def make(checks):
        home = tmp_path_factory.mktemp('site')
        fio = make_stub_fio(home / 'stubs', *ORDERS)
        text = trial(engines=f'[{{name: fio, program: {fio}}}]', more='bytes_per_task: 1MiB')
        LocalSite(home, text)
        settings = home / 'settings.py'
        named = settings.read_text().replace("'launcher': 'local'", "'launcher': 'at-home'")
        settings.write_text(BACKENDS + named.replace("'scheduler': 'local'", "'scheduler': 'on-the-desk'"))
        if 'Inside' in checks:
            write_references(home / 'references.yaml', [name for name in REFERENCES if f'class {name}(' in checks])
        (home / 'checks' / 'access').mkdir(parents=True)
        (home / 'checks' / 'access' / 'write.py').write_text(checks)
        return home

    return make


def write_references(file, checks):
    origins = [f'  {check}: {{nightly: {{origin: baseline, date: 2026-11-20}}}}\n' for check in checks]
    entries = [
        f'{check}:\n  $index: [profile, $partition, file_system, layout, num_nodes]\n'
        f'  nightly: {{local:default: {{scratch: {{default: {{1: {{write@512KiB: {REFERENCES[check]}}}}}}}}}}}\n'
        for check in checks
    ]
    file.write_text(f'$seatrial:\n{"".join(origins)}{"".join(entries)}')


def seatrial_run(site):
    """Begin a session on a site that had none."""
    argv = [SEATRIAL, 'run', f'--site={site}', f'--checks={site / "checks"}', '--profile=nightly']
    environment = {**os.environ, 'SEATRIAL_PROFILE': 'smoke'}  # of plain ReFrame alone
    output = {'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT, 'text': True}
    return subprocess.Popen(argv, cwd='/', env=environment, preexec_fn=heed_signals, **output)


def heed_signals():
    """Tests that run behind & in a script ignore SIGINT, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def plain_run(site):
    return reframe_run(site, '--exec-policy=serial', '--setvar=profile=nightly')


def ended(process, site):
    """Its exit status, what it printed, and the folder of its session."""
    output, _ = process.communicate(timeout=300)
    folders = list(site.glob('state/sessions/*'))
    assert len(folders) == 1, output
    return process.returncode, output, folders[0]


@pytest.fixture(scope='module')
def begun(make_site):
    """Sessions on sites of their own, both at once: much of their time is the stand-in's sleep."""
    checks = writes(*(name for name in VERDICTS if name != 'Brief')) + BRIEF + VANISHING
    sites = {'all': make_site(checks), 'plain': make_site(writes(*PLAIN))}
    running = {'all': seatrial_run(sites['all']), 'plain': plain_run(sites['plain'])}
    return {name: ended(process, sites[name]) for name, process in running.items()}


@pytest.fixture(scope='module')
def session(begun):
    """The session under `seatrial run`: its exit status, what it printed, its folder."""
    return begun['all']


@pytest.fixture(scope='module')
def cases(session):
    """The results of its cases by check."""
    return {case['case']['check']: case for case in results_of(session[2])['cases']}


@pytest.fixture(scope='module')
def plain(begun):
    """ReFrame's own report by check, of plain ReFrame."""
    return reported(begun['plain'][2].parents[2] / 'report.json')


@pytest.fixture(scope='module')
def inside(session):
    """ReFrame's own report by check, of the ReFrame that `seatrial run` ran."""
    return reported(session[2] / 'reframe' / 'report.json')


def results_of(folder):
    return json.loads((folder / 'results.json').read_text())


# seatrial run


@pytest.mark.parametrize('check', VERDICTS)
def test_each_case_has_its_verdict_and_its_reason(cases, check):
    assert cases[check]['verdict'] == VERDICTS[check]
    reasons = cases[check]['reasons']
    assert any(WORDS[check] in reason for reason in reasons) if check in WORDS else reasons == []


def test_the_session_is_as_bad_as_its_worst_case_and_all_counts_are_printed_and_kept(session, begun):
    status, output, folder = session
    assert (status, begun['plain'][0], results_of(folder)['verdict']) == (10, 1, 'FAIL')
    counts = Counter([*VERDICTS.values(), 'INCOMPLETE'])  # the last one vanished
    assert results_of(folder)['counts'] == counts
    last = next(line for line in output.splitlines() if re.match(r'  \d+ [A-Z]+, \d+ ', line))
    assert all(f'{count} {verdict}' in last for verdict, count in counts.items())


def test_a_read_that_is_too_short_takes_nothing_from_its_valid_write_and_a_night_ends_when_more_would_not_help(cases):
    (write, read), (night,) = (cases[check]['metrics'] for check in ('Brief', 'Settled'))
    assert [metric['verdict'] for metric in (write, read, night)] == ['MEASURED', 'INVALID', 'MEASURED']
    assert (len(write['values']), len(night['values'])) == (3, 3)
    assert night['why'].startswith('3 valid repetitions; more would not help, nights differ by 10 %: its ')


def test_each_case_is_shown_as_it_ends(session):
    lines = [line for line in session[1].splitlines() if line.startswith('[')]
    assert len(lines) == len(VERDICTS) - 1  # the killed one never ended, and the vanished one never began
    assert f'[1/{len(VERDICTS) + 1}] = MEASURED  Steady/local:default/scratch/default/1n' in lines[0]


def test_nothing_is_left_and_no_lock_held_but_what_the_killed_job_left(session, cases):
    assert len(os.listdir(session[2].parents[1] / 'trials')) == 1
    assert not list((session[2].parents[1] / 'locks').glob('*.json'))
    assert not [label for case in cases.values() for label in case['labels'] if 'not removed' in label]


# The same in ReFrame


@pytest.mark.parametrize('check', PLAIN)
def test_plain_reframe_has_the_same_verdict_and_fails_with_it_and_why_if_anything_speaks_against_a_case(
    plain, inside, check
):
    verdict = VERDICTS[check]
    result = 'pass' if verdict in ('MEASURED', 'PASS') else 'fail'
    assert [(case['verdict'], case['result']) for case in (plain[check], inside[check])] == [(verdict, result)] * 2
    if result == 'fail':
        reason, kind = plain[check]['fail_reason'], 'performance' if verdict == 'FAIL' else 'sanity'
        assert reason.startswith(f'{kind} error: {verdict}: ') and WORDS[check] in reason


@pytest.mark.parametrize('check', ['Steady', 'Outside', 'Wrong'])
def test_measured_values_are_in_reframes_report_whatever_the_verdict(cases, plain, inside, check):
    (pair,) = inside[check]['perfvalues'].items()
    assert (pair[0], pair[1][4]) == ('local:default:write@512KiB', 'MiB/s')
    assert pair[1][0] == cases[check]['metrics'][0]['summary']['mean'] / MIB
    assert plain[check]['perfvalues'].keys() == inside[check]['perfvalues'].keys()


# References


@pytest.mark.parametrize('check', POINTS)
def test_reframes_report_has_the_reference_and_what_the_mean_says(inside, check):
    (value,) = inside[check]['perfvalues'].values()
    assert value[1] == float(REFERENCES[check].strip('[').split(',')[0]) and value[-1] == POINTS[check]
    (value,) = inside['Steady']['perfvalues'].values()
    assert value[1:4] == [0, None, None]


def test_the_results_count_the_references_and_show_point_and_interval(session, cases):
    references = results_of(session[2])['references']
    assert references.startswith('references: 1 inside, 1 outside, 1 undecided; ') and references in session[1]
    assert cases['Steady']['references'] == []
    (straddling,) = cases['StraddlingOutside']['references']
    assert (straddling['point'], straddling['interval']) == ('outside', 'undecided')


def test_a_session_keeps_the_references_that_it_was_judged_by_and_reframe_has_them_from_there(session, inside):
    site = session[2].parents[2]
    assert (session[2] / 'references.yaml').read_text() == (site / 'references.yaml').read_text()
    assert sum(value[1] == 999.0 for case in inside.values() for value in case['perfvalues'].values()) == 1


def test_a_file_that_reframe_would_skip_stops_both_before_anything_runs(session, tmp_path):
    broken = tmp_path / 'site'
    shutil.copytree(session[2].parents[2], broken, ignore=shutil.ignore_patterns('state', 'reframe', 'report.json'))
    file = broken / 'references.yaml'
    file.write_text(file.read_text().replace('{1: ', "{'1': ", 1))
    output, _ = (process := seatrial_run(broken)).communicate(timeout=300)
    assert process.returncode == 64 and output.startswith('seatrial: references.yaml: ')
    assert not (broken / 'state').exists()
    (process := plain_run(broken)).communicate(timeout=300)
    cases = reported(broken / 'report.json')
    assert process.returncode == 1 and {case['result'] for case in cases.values()} == {'fail'}
    assert all('references.yaml: ' in str(case['fail_info']['exc_value']) for case in cases.values())
    assert list((broken / 'state' / 'trials').iterdir()) == []


# The completeness gate


def test_a_check_that_reframe_leaves_out_is_incomplete(cases):
    assert cases['Vanishing']['verdict'] == 'INCOMPLETE'
    assert cases['Vanishing']['reasons'][0].startswith('T15: the job never started: no record of it')


def test_both_use_the_launcher_and_the_scheduler_that_the_settings_register(plain, inside):
    assert {case['scheduler'] for case in (*plain.values(), *inside.values())} == {'on-the-desk'}


# Told to stop


def test_a_session_that_is_told_to_stop_ends_its_launch_and_is_incomplete(make_site):
    site = make_site(writes('Lasting'))
    process = seatrial_run(site)
    while not list(site.glob('state/sessions/*/cases/*/raw/*-measured-*.fio')):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    status, output, folder = ended(process, site)
    (case,) = results_of(folder)['cases']
    assert (status, case['verdict']) == (13, 'INCOMPLETE')
    assert 'SIGINT: no more launches' in output
    assert 'interrupted by SIGTERM; `seatrial clean` removes what it left' in case['reasons'][0]
    assert not [command for _, command in commands() if str(folder) in command]
    assert not list(site.glob('state/locks/*.json'))
