"""What people at real sites write and their programs print, through the command line."""

import os
import sys

import pytest

from local_site import LocalSite, trial, writes

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
MPI_SAYS = 'WARNING: There was an error initializing an OpenFabrics device.'
FAILING = f"""#!/bin/sh
case $* in --version|'') echo fio-3.33; exit;; esac
echo '{MPI_SAYS}'
printf '%s\\n' 'WARNING: a network is slow' 'note: see the manual' '{CAUSE}' 'srun: error: n1: Exited' >&2
exit 1
"""
MOUNTS = '22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 8:2 / {} rw - xfs /dev/sdb1{}\n'
NODE = """#!{python} -I
import runpy, sys
del sys.argv[:2]
sys.path.insert(0, sys.argv[0])
from seatrial.filesystem import mounts
mounts.MOUNTINFO = {mountinfo!r}
runpy.run_path(sys.argv[0], run_name='__main__')
"""
"""An interpreter for jobs, which see the mounts of this file."""
GROUP = 4242
QUOTA = f"""#!/bin/sh
[ "$5 $6" = "--filesystem=PLACE {GROUP}" ] || exit 1
echo 'Disk quotas for group g (gid {GROUP}):'
echo '     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace'
echo '      /dev/sdb1      90       0     100       0       1       0       0       0'
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


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Programs that come first on the PATH of a session, by their names."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    monkeypatch.setenv('PATH', str(folder), prepend=os.pathsep)

    def put(**texts):
        for name, text in texts.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        return folder

    return put


def test_of_what_a_failing_program_says_the_error_is_quoted_and_not_the_warning_before_it(site):
    made = site(text=FAILING)
    made.run('--profile=nightly')
    (why, *_) = made.cases['Reads']['reasons']
    assert f"exited with 1: '{CAUSE}" in why


def test_a_good_run_of_fio_that_counts_errors_or_short_writes_is_none(site, make_stub_fio, tmp_path):
    orders = {
        'Counted': {'job': {'total_err': 3, 'first_error': 5}},
        'Cut': {'io': {'io_bytes': 0, 'short_ios': 1}},
    }
    fio = make_stub_fio(tmp_path / 'stubs', *((f'{name}.*measured', order) for name, order in orders.items()))
    made = site()
    (made.folder / 'trial.yaml').write_text(
        trial(engines=f'[{{name: fio, program: {fio}}}]', more='bytes_per_task: 1MiB')
    )
    (made.checks / 'access' / 'reads.py').write_text(writes(*orders))
    made.run('--profile=smoke')
    seen = {name: (case['verdict'], case['reasons'][0]) for name, case in made.cases.items()}
    assert seen['Counted'][0] == 'FAIL' and 'Input/output error' in seen['Counted'][1], seen
    assert seen['Cut'][0] != 'PASS' and 'a transfer was cut short by the storage' in seen['Cut'][1], seen


@pytest.mark.parametrize(
    ('options', 'answers', 'rule'),
    [('', True, 'P9'), (' rw,grpquota', False, 'P9d')],
    ids=['without super options', 'no answer'],
)
def test_the_quota_of_the_group_that_a_directory_gives_its_files_counts_or_is_said_to_be_unknown(
    site, programs, tmp_path, options, answers, rule
):
    made = site()
    target, mountinfo = made.folder / 'state' / 'trials', tmp_path / 'mountinfo'
    target.mkdir(parents=True)
    os.chown(target, -1, GROUP)
    target.chmod(0o2700)
    mountinfo.write_text(MOUNTS.format(target, options))
    folder = programs(
        python=NODE.format(python=sys.executable, mountinfo=str(mountinfo)),
        quota=QUOTA.replace('PLACE', str(target)) if answers else '#!/bin/sh\nsleep 600\n',
    )
    text = (made.folder / 'trial.yaml').read_text()
    (made.folder / 'trial.yaml').write_text(
        text.replace('launcher: local', f'launcher: local, python: {folder}/python')
    )
    made.run('--profile=nightly')
    assert f'"rule":"{rule}"' in next(made.session.glob('cases/*/samples.jsonl')).read_text()
