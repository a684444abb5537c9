"""ci/gitlab.yml and ci/github.yml: their scripts run as the runners run them, and end as the session did."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from local_site import SEATRIAL, LocalSite, executable, trial, writes

CI = Path(__file__).resolve().parents[2] / 'ci'


def gitlab_script():
    return '\n'.join(yaml.safe_load((CI / 'gitlab.yml').read_text())['trial']['script'])


def github_script():
    steps = yaml.safe_load((CI / 'github.yml').read_text())['jobs']['trial']['steps']
    return next(step['run'] for step in steps if 'run' in step)


SCRIPTS = pytest.mark.parametrize('script', [gitlab_script(), github_script()], ids=['gitlab', 'github'])


@pytest.fixture
def run(tmp_path):
    """Run a script as both runners do; Seatrial is what lies in `seatrial`."""
    (tmp_path / 'seatrial' / '.venv' / 'bin').mkdir(parents=True)

    def script(text, **environment):
        places = {'SEATRIAL': 'seatrial', 'SITE': 'site', 'GITHUB_STEP_SUMMARY': 'step.md'}
        base = {**{name: str(tmp_path / place) for name, place in places.items()}, 'MODE': 'smoke', 'TAGS': ''}
        argv = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', text]
        return subprocess.run(argv, cwd=tmp_path, env={**os.environ, **base, **environment}, timeout=120).returncode

    return script


@pytest.fixture
def stand_in(tmp_path, run):
    """A Seatrial that adopts with this exit code what its ReFrame has run, and whose report can fail."""

    def make(code, report=0):
        bin_ = tmp_path / 'seatrial' / '.venv' / 'bin'
        wrote = 'mkdir seatrial-report; echo said > seatrial-report/summary.md'
        adopt = f'[ $1 = adopt ] && {{ [ -e reframe.json ] && exit {code}; exit 64; }}'
        executable(bin_ / 'seatrial', f'#!/bin/sh\n{adopt}\n[ {report} = 0 ] && {wrote}\nexit {report}\n')
        executable(bin_ / 'reframe', '#!/bin/sh\n: >reframe.json; exit 1\n')

    return make


@SCRIPTS
@pytest.mark.parametrize('code', [0, 10, 11, 13, 64, 70])
def test_the_pipeline_ends_as_the_session_did(run, stand_in, script, code, tmp_path):
    stand_in(code)
    assert run(script) == code
    assert (tmp_path / 'seatrial-report').exists() == (code < 64)  # and not that of another night


@SCRIPTS
def test_a_report_that_fails_does_not_hide_the_verdict(run, stand_in, script):
    stand_in(10, report=70)
    assert run(script) == 10


def test_inconclusive_is_a_warning_in_both(run, stand_in):
    stand_in(12)
    assert yaml.safe_load((CI / 'gitlab.yml').read_text())['trial']['allow_failure'] == {'exit_codes': 12}
    assert (run(gitlab_script()), run(github_script())) == (12, 0)


@pytest.mark.long
def test_a_real_session_of_the_tagged_cases_of_a_mode_leaves_its_report(run, tmp_path, make_stub_fio):
    for program in (Path(SEATRIAL), Path(SEATRIAL).with_name('reframe')):
        (tmp_path / 'seatrial' / '.venv' / 'bin' / program.name).symlink_to(program)
    for name in ('Write', 'Left'):
        (tmp_path / 'site' / 'checks' / name).mkdir(parents=True)
        (tmp_path / 'site' / 'checks' / name / 'write.py').write_text(writes(name))
    fio = make_stub_fio(tmp_path / 'stubs', ('measured', {'seconds': 0.5}))
    engines = f'[{{name: fio, program: {fio}}}]'
    LocalSite(tmp_path / 'site', trial('Write, Left', engines=engines, tasks=1, more='bytes_per_task: 1MiB'))
    assert run(gitlab_script(), TAGS='-t MFWA -T Left') == 0
    assert [file.name.split('+')[0] for file in tmp_path.glob('site/state/sessions/*/cases/*')] == ['Write']
    files = {file.name for file in (tmp_path / 'seatrial-report').iterdir()}
    assert files == {'commands.txt', 'index.html', 'junit.xml', 'summary.md'}


def test_actions_are_pinned_by_commit(repository):
    uses = re.findall(r'uses: (\S+)', (repository / 'ci' / 'github.yml').read_text())
    assert uses and all(re.fullmatch(r'[\w/-]+@[0-9a-f]{40}', use) for use in uses)
