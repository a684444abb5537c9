"""References under `seatrial run` and under plain ReFrame: the same verdicts, and nothing passes that fails here."""

import json
import shutil
import subprocess
import sys

import pytest

from local_site import SEATRIAL, LocalSite, reframe_run, reported, trial, writes
from seatrial.judge.verdict import Verdict

# The runner, but launches of milliseconds count: what rule T19 says of them is tested by itself.
PYTHON = """#!{python}
import sys

sys.path.insert(0, sys.argv[2])  # behind -I
import seatrial.rules.launch

seatrial.rules.launch.CLOCK_MIN_S = 0.0
from seatrial.job.__main__ import main

sys.exit(main(sys.argv[3:]))
"""
# Two tasks move 1 MiB each in 20 and 22 ms by turns: the mean of six launches is 95.5 MiB/s, and its interval about
# 4.5 wide to each side.
REFERENCES = {
    'Inside': ('[95.0, -0.3, 0.9, MiB/s]', ''),
    'Outside': ('[999.0, -0.1, 0.9, MiB/s]', ''),
    'StraddlingOutside': ('[102.0, -0.05, 0.9, MiB/s]', ''),
    'OtherEngine': ('[999.0, -0.1, 0.9, MiB/s]', ', engine: ior'),
}
VERDICTS = {
    'Inside': 'PASS',
    'Outside': 'FAIL',
    'StraddlingOutside': 'INCONCLUSIVE',
    'OtherEngine': 'INCONCLUSIVE',
    'Unreferenced': 'MEASURED',
}
POINTS = {'Inside': 'pass', 'Outside': 'fail', 'StraddlingOutside': 'fail'}


@pytest.fixture(scope='module')
def local(tmp_path_factory, make_stub_fio):
    """A site with references, the checks beside it, and a benchmark that claims what the test wants."""
    home = tmp_path_factory.mktemp('site')
    fio = make_stub_fio(home / 'stubs', ('.', {'seconds': 0.13, 'runtime_ms': [120, 132]}))
    python = home / 'stubs' / 'python'
    python.write_text(PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    engines = f'[{{name: fio, program: {fio}}}]'
    text = trial(engines=engines, partition=f'python: {python}', more='bytes_per_task: 6MiB')
    site = LocalSite(home, text, home / 'checks')
    (home / 'checks' / 'access').mkdir(parents=True)
    (home / 'checks' / 'access' / 'write.py').write_text(writes(*VERDICTS))
    origins = [f'  {c}: {{nightly: {{origin: baseline, date: 2026-11-20{e}}}}}\n' for c, (_, e) in REFERENCES.items()]
    entries = [
        f'{check}:\n  $index: [profile, $partition, file_system, layout, num_nodes]\n'
        f'  nightly: {{local:default: {{scratch: {{default: {{1: {{write@512KiB: {parts}}}}}}}}}}}\n'
        for check, (parts, _) in REFERENCES.items()
    ]
    (home / 'references.yaml').write_text(f'$seatrial:\n{"".join(origins)}{"".join(entries)}')
    return site


@pytest.fixture(scope='module')
def site(local):
    """Its folder."""
    return local.folder


def run_reframe(site):
    """The exit status, and ReFrame's own result of each check by its name."""
    process = reframe_run(site, SEATRIAL_PROFILE='nightly')
    process.communicate(timeout=300)
    return process.returncode, reported(site / 'report.json')


@pytest.fixture(scope='module')
def plain(site):
    status, cases = run_reframe(site)
    assert (status, set(cases)) == (1, set(VERDICTS))
    return cases


@pytest.fixture(scope='module')
def session(local):
    """The process of `seatrial run`, its results, and the session's folder."""
    done = local.run('--profile=nightly')
    (folder,) = [file.parent for file in local.folder.glob('state/sessions/*/results.json')]
    return done, json.loads((folder / 'results.json').read_text()), folder


@pytest.mark.parametrize('check', VERDICTS)
def test_plain_reframe_passes_what_passes_here_and_nothing_else(plain, check):
    assert (plain[check]['result'] == 'pass') == Verdict(VERDICTS[check]).unopposed


REFUSED = [check for check, verdict in VERDICTS.items() if not Verdict(verdict).unopposed]


@pytest.mark.parametrize('check', REFUSED)
def test_plain_reframe_fails_in_the_performance_stage_with_the_verdict_in_front(plain, check):
    assert plain[check]['fail_phase'] == 'performance'
    assert str(plain[check]['fail_info']['exc_value']).startswith(f'{VERDICTS[check]}: write@512KiB: ')


@pytest.mark.parametrize('check', POINTS)
def test_reframes_report_has_the_reference_and_what_the_mean_says(plain, check):
    (value,) = plain[check]['perfvalues'].values()
    assert value[1] == float(REFERENCES[check][0].strip('[').split(',')[0]) and value[-1] == POINTS[check]
    (value,) = plain['Unreferenced']['perfvalues'].values()
    assert value[1:4] == [0, None, None]


def test_seatrial_gives_the_same_verdicts(session):
    done, results, _ = session
    assert {case['case']['check']: case['verdict'] for case in results['cases']} == VERDICTS
    assert done.returncode == 10


def test_the_results_count_the_references_and_show_point_and_interval(session):
    done, results, _ = session
    assert results['references'].startswith('references: 1 inside, 1 outside, 2 undecided; ')
    assert results['references'] in done.stdout
    by_check = {case['case']['check']: case['references'] for case in results['cases']}
    assert by_check['Unreferenced'] == []
    (straddling,) = by_check['StraddlingOutside']
    assert (straddling['point'], straddling['interval']) == ('outside', 'undecided')


def test_a_session_keeps_the_references_that_it_was_judged_by_and_reframe_has_them_from_there(site, session):
    _, _, folder = session
    assert (folder / 'references.yaml').read_text() == (site / 'references.yaml').read_text()
    cases = json.loads((folder / 'reframe' / 'report.json').read_text())['runs'][0]['testcases']
    assert sum(value[1] == 999.0 for case in cases for value in case['perfvalues'].values()) == 2


def test_a_file_that_reframe_would_skip_stops_both_before_anything_runs(site, tmp_path):
    broken = tmp_path / 'site'
    shutil.copytree(site, broken, ignore=shutil.ignore_patterns('state', 'reframe', 'report.json'))
    file = broken / 'references.yaml'
    assert '{1: ' in file.read_text()
    file.write_text(file.read_text().replace('{1: ', "{'1': ", 1))
    argv = [SEATRIAL, 'run', f'--site={broken}', f'--checks={broken / "checks"}']
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 64 and done.stderr.startswith('seatrial: references.yaml: ')
    assert not (broken / 'state').exists()
    status, cases = run_reframe(broken)
    assert status == 1 and {case['result'] for case in cases.values()} == {'fail'}
    assert all('references.yaml: ' in str(case['fail_info']['exc_value']) for case in cases.values())
    assert list((broken / 'state' / 'trials').iterdir()) == []
