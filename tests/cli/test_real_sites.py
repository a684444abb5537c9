"""What people at real sites write and their programs print, through the command line."""

import pytest

from local_site import LocalSite, trial

CHECK = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep


@trial
class Reads(Check):
    workload = data_access('multiple', operations=('read',), bytes_per_task='1MiB')
    sweep = Sweep('transfer_size', (524288,))
"""
OWN_PATH = 'path: state/trials, records_on_target: true'
CAUSE = 'error: the device at /mnt/away went away'
FAILING = f"""#!/bin/sh
[ "$*" != --version ] || {{ echo 'VERSION'; exit; }}
printf '%s\\n' 'WARNING: a network is slow' 'note: see the manual' '{CAUSE}' >&2
exit 1
"""


@pytest.fixture
def site(tmp_path):
    """A site with one check; what to change in its trial.yaml, and an engine with its program's text."""

    def make(old='', new='', engine='fio', text='#!/bin/sh\necho fio-3.33\n'):
        (tmp_path / 'site').mkdir()
        (tmp_path / 'checks' / 'access').mkdir(parents=True)
        (tmp_path / 'checks' / 'access' / 'reads.py').write_text(CHECK)
        program = tmp_path / engine
        program.write_text(text)
        program.chmod(0o755)
        written = trial(engines=f'[{{name: {engine}, program: {program}}}]')
        return LocalSite(tmp_path / 'site', written.replace(old, new) if old else written, tmp_path / 'checks')

    return make


@pytest.mark.parametrize(
    ('old', 'new', 'status', 'words'),
    [
        ('bytes: 1GiB', 'bytes: 1200MB', 0, ''),
        (OWN_PATH, 'path: “/scratch”', 64, 'write an absolute one without further quotes'),
        (OWN_PATH, "path: 'C:\\scratch'", 64, 'write an absolute one without further quotes'),
    ],
)
def test_units_and_paths_are_taken_as_they_are_written_or_refused_with_a_remedy(site, old, new, status, words):
    made = site(old, new)
    done = made.ask('plan', f'--checks={made.checks}', '--profile=nightly')
    assert (done.returncode, words in ' '.join((done.stdout + done.stderr).split())) == (status, True), done


def test_a_release_of_io500_without_a_phase_that_is_read_is_refused_before_a_run(site):
    made = site(engine='io500', text='#!/bin/sh\n# io500-sc24_v1\n')
    output = made.ask('doctor', f'--checks={made.checks}').stdout
    assert 'IO500 sc24_v1 has no ior-rnd4K-easy-read; install isc25 or later' in ' '.join(output.split())


@pytest.mark.parametrize(('engine', 'version'), [('dd', 'dd (coreutils) 9.1'), ('fio', 'fio-3.33')])
def test_of_what_a_failing_program_says_the_error_is_quoted_and_not_the_warning_before_it(site, engine, version):
    made = site(engine=engine, text=FAILING.replace('VERSION', version))
    made.run('--profile=nightly')
    (why, *_) = made.cases['Reads']['reasons']
    assert f"exited with 1: '{CAUSE}'" in why
