"""What people at real sites write and their programs print, through the command line."""

import os
import re
import subprocess
import sys

import pytest

from local_site import LocalSite, trial, writes
from lustre_stand import NODE as LUSTRE_NODE
from lustre_stand import OPTIONS, standing
from slurm_lab import LAUNCH_LIMIT, SHORT_LIMITS
from transcript import lustre_step, transcripts


@pytest.fixture
def site(tmp_path):
    """A site with these checks; what to change in its trial.yaml, and an engine with its program's text."""

    def make(checks, old, new, engine='fio', text='#!/bin/sh\necho fio-3.33\n'):
        (tmp_path / 'site').mkdir()
        (tmp_path / 'checks' / 'access').mkdir(parents=True)
        (tmp_path / 'checks' / 'access' / 'reads.py').write_text(checks)
        program = tmp_path / engine
        program.write_text(text)
        program.chmod(0o755)
        written = trial(engines=f'[{{name: {engine}, program: {program}}}]')
        return LocalSite(tmp_path / 'site', written.replace(old, new), tmp_path / 'checks')

    return make


MPI_SAYS = 'WARNING: There was an error initializing an OpenFabrics device.'
OF_MPI = f"""#!/bin/sh
# IOR-4.0.0: MPI Coordinated Test of Parallel I/O
ior "$@" || exit
echo '{MPI_SAYS}'
case $* in *Stays*-measured-*) exec sleep 600 ;; esac
"""


@pytest.mark.needs('ior', 'mpiexec')
def test_a_line_of_mpi_fails_nothing_and_of_a_launch_that_does_not_end_it_is_said_that_its_work_was_done(site):
    made = site(writes('Says', 'Stays'), 'nodes: [1]', 'nodes: [1], bytes_per_task: 64MiB', 'ior', OF_MPI)
    argv = [sys.executable, '-c', LAUNCH_LIMIT, '10', *made.argv('run', f'--checks={made.checks}', '--profile=smoke')]
    done = subprocess.run(argv[:4] + argv[5:], capture_output=True, text=True, timeout=600)
    says, stays = (made.cases[name] for name in ('Says', 'Stays'))
    assert any(f"P24: write@512KiB: the MPI library says: '{MPI_SAYS}'" in label for label in says['labels']), done
    assert says['metrics'][0]['values'] and says['verdict'] == 'MEASURED', done.stdout
    assert 'all its work was done, and its results are whole: only its end did not come' in stays['reasons'][0]


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


HELD = {
    'CONFIGURING': 'its nodes are being made ready',
    'POWER_UP_NODE': 'its nodes are being powered up',
    'REQUEUE_HOLD': 'held after it was requeued',
    'RESV_DEL_HOLD': 'held, as its reservation was deleted',
    'SPECIAL_EXIT': 'held after it ended with an exit code that asks for it',
    'STAGE_OUT': 'it has ended, and its burst buffer is being written back',
    'SIGNALING': 'a signal is being sent to it',
    'STOPPED': 'it was stopped by a signal and keeps its nodes',
    'RESIZING': 'it still runs, and gets another number of nodes',
}
SLURM = {
    'sbatch': """#!/bin/sh
cd FOLDER
for state in STATES; do mkdir $state 2>/dev/null && break; done
echo "Submitted batch job $(ls -d [A-Z]* | wc -l)"
echo $state > $(ls -d [A-Z]* | wc -l)
""",
    'squeue': """#!/bin/sh
cd FOLDER
for job in [0-9]*; do [ ! -f "$job" ] || echo "$job|$(cat $job)||None"; done
""",
    'scontrol': """#!/bin/sh
[ "$1 $2" = 'show job' ] || exit 1
sed "s/JobState=COMPLETED/JobState=$(cat FOLDER/$3 FOLDER/gone/$3 2>/dev/null)/" FOLDER/genuine
""",
    'scancel': """#!/bin/sh
cd FOLDER
for job; do [ ! -f "$job" ] || mv "$job" gone; done
""",
    'sacct': "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n",
}
"""Programs whose jobs never begin, or never end: each of them is in another state."""


@pytest.mark.long
def test_every_state_between_those_of_waiting_and_running_is_understood(site, programs, tmp_path):
    folder = tmp_path / 'jobs'
    (folder / 'gone').mkdir(parents=True)
    (folder / 'genuine').write_text(transcripts('slurm')['good_and_bad_ends']['completed-end-scontrol.out'])
    texts = {
        name: text.replace('FOLDER', str(folder)).replace('STATES', ' '.join(HELD)) for name, text in SLURM.items()
    }
    programs(**texts)
    checks = writes(*(f'Job{number}' for number in range(len(HELD))))
    made = site(checks, 'launcher: local', 'launcher: local, queue_limit: 5s')
    settings = made.folder / 'settings.py'
    text = settings.read_text().replace("'scheduler': 'local'", "'scheduler': 'squeue'")
    settings.write_text(SHORT_LIMITS + text.replace("'max_jobs': 1", "'max_jobs': 100"))
    done = made.run('--profile=smoke')
    reasons = ' '.join(case['reasons'][0] for case in made.cases.values())
    assert [state for state, words in HELD.items() if words not in reasons] == [], (done, reasons)


# Lustre, whose lfs and lctl are stand-ins that print genuine outputs, in the forms of other releases

LAYOUTS = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import progressive, striped
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep


@trial
class Layouts(Check):
    workload = data_access('multiple', operations=('write',), bytes_per_task='1MiB', transfer_size='512KiB')
    sweep = Sweep('layout', (progressive('pfl', {'end': '1MiB', 'stripe_count': 1}, {'stripe_count': 2}),))
"""
USER = """from seatrial.filesystem.base import Exchanged
from seatrial.filesystem.lustre import driver
driver._is_root = lambda: False
driver.Lustre.exchanged = lambda *_: Exchanged()
os.environ['SLURM_JOB_ID'] = '4242'
runpy.run_path("""
"""Makes the job that of a user and of the Slurm job of the transcripts; no counter of theirs has what a stand-in for
fio writes."""
QUOTA_ROW = r'18456\*( +8192 +12288 +)- +24\*.*'
RELEASES = (
    ('filesystem_summary:', 'filesystem summary:'),
    (r'(\n  snapshot_time: +\d+)\.\d+ secs\.nsecs', r'\1'),  # of job_stats, by its indentation
    (r'(snapshot_time: +[0-9.]+) secs\.nsecs', r'\1 (secs.nsecs)'),
    ('lcme_flags:( +)init\n', r"lcme_flags:\1init,nosync\n    lcme_timestamp:      'Wed Nov 13 10:20:30 2019'\n"),
    (r'lcme_flags:( +)0\n((?:.*\n){4} +)stripe_size:', r'lcme_flags:\1extension\n\2extension_size:'),
    (r'(stripe_count:  1\n.*\npattern: +)\w+', r'\1raid0,compress'),
    (QUOTA_ROW, r'[2048]\1-  5 100 200 -'),
)
"""Of 2.12 to 2.14, beside a directory whose new files are compressed and a quota with a target away."""


@pytest.fixture
def lustre(tmp_path, make_stub_fio, monkeypatch):
    """A session of one layout on the stand-in, whose outputs have other forms; the output, and the site."""

    def run(*forms):
        python, check = tmp_path / 'python', tmp_path / 'checks' / 'access' / 'layouts.py'
        check.parent.mkdir(parents=True)
        check.write_text(LAYOUTS)
        counted = tmp_path / 'job_stats'
        with standing(tmp_path, monkeypatch) as stand:
            stand.now(root=False, forms=forms)
            counted.write_text(lustre_step('114').stdout.partition('obdfilter.lustre-OST0000.job_stats=\n- ')[0])
            for genuine, other in forms:
                counted.write_text(re.sub(genuine, other, counted.read_text()))
            node = LUSTRE_NODE.format(
                python=sys.executable, call='fsync', of='none', mount=str(stand.mount), options=OPTIONS
            )
            python.write_text(node.replace('runpy.run_path(', USER, 1))
            python.chmod(0o755)
            scratch = f'type: lustre, path: {stand.directory("trials")}, records_on_target: true'
            engine = make_stub_fio(tmp_path / 'stubs', ('measured', {'seconds': 0.2}))
            text = trial(
                'Layouts',
                f'[{{name: fio, program: {engine}}}]',
                f'{scratch}, telemetry: [cat, {counted}]',
                partition=f'python: {python}',
                more='bytes_per_task: 1MiB',
            )
            made = LocalSite(tmp_path, text, tmp_path / 'checks')
            return made.run('--profile=smoke'), made

    return run


def test_what_other_releases_of_lustre_print_is_understood(lustre):
    done, made = lustre(*RELEASES)
    kept = ''.join(file.read_text() for file in made.session.glob('cases/*/*.jsonl'))
    assert made.cases['Layouts']['verdict'] == 'MEASURED', done.stdout
    words = ('"name":"write_bytes"', ', compressed by its clients"', '"rule":"P9d"')
    assert [word for word in words if word not in kept] == [] and 'cut short' not in kept
