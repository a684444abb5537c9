"""Settings as people at real sites write them, and outputs of their programs, through the command line."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from beegfs_stand import BeeGfsStand
from local_site import REPOSITORY, LocalSite, executable, trial, writes
from lustre_stand import NODE as LUSTRE_NODE
from lustre_stand import OPTIONS, standing
from slurm_lab import LAUNCH_LIMIT
from transcript import lustre_step, transcripts

IMPORTS = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import progressive
from seatrial.workload.access import data_access
from seatrial.workload.io500 import io500
from seatrial.workload.listing import listing
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree
"""


def check(name, workload, sweep):
    return f'\n\n@trial\nclass {name}(Check):\n    workload = {workload}\n    sweep = Sweep({sweep})\n'


ACCESS, LARGE = "data_access('multiple', operations=('{}',), bytes_per_task='1MiB')", "'transfer_size', (524288,)"
CHECK = IMPORTS + check('Reads', ACCESS.format('read'), LARGE)
OWN_PATH = 'path: state/trials, records_on_target: true'
ENGINES = (
    IMPORTS
    + check('OfIor', ACCESS.format('read'), LARGE)
    + check('Synced', ACCESS.format('write'), LARGE)
    + check('OfMdtest', "metadata_tree(('create',), files_per_directory=4)", "'tree', (('one', {}),)")
    + check('OfIo500', "io500('154MiB')", "'transfer_size', (2097152,)")
    + check('OfFio', "random_access(('randread',), '1MiB')", "'transfer_size', (4096,)")
    + check('OfPosixops', 'listing(files_per_directory=4)', "'tree', (('one', {}),)")
)
CAUSE = 'error: the device at /mnt/away went away'
FULL = 'WARNING: write(29, 0x7fa36bc85000, 851968) failed No space left on device'
MPI_SAYS = 'WARNING: There was an error initializing an OpenFabrics device.'
FAILING = f"""#!/bin/sh
# IOR-4.0.0: MPI Coordinated Test of Parallel I/O; io500-isc26_v2
case $* in
  *--version|''|-h|-v) echo 'VERSION'; exit ;;
  *Synced*) echo 'WARNING: fsync(28) failed'; exit ;;
esac
folder=$(sed -n 's/^resultdir = //p' "$1" 2>/dev/null)
if [ "$folder" ]; then
  mkdir -p "$folder"
  echo '{FULL}' > "$folder/mdtest-hard-write.txt"
  exit 134
fi
printf '%s\\n' '{MPI_SAYS}' 'WARNING: a time limit is short'
printf '%s\\n' 'WARNING: a network is slow' 'note: see the manual' '{CAUSE}' 'srun: error: n1: Exited' >&2
exit 1
"""
"""An engine's program, of which the checks above have one each; IO500 says why in a log of its own alone."""
ROOT_MOUNT = '22 1 8:1 / / rw - ext4 /dev/sda1 rw\n'
MOUNTED = {
    'known': ('posix', 'xfs /dev/sdb1', '"rule":"P9"'),  # a quota of the group, and no super options
    'filer': ('nfs', 'nfs4 filer:/home rw', '"read_rpcs":12'),  # READ_PLUS of NFS 4.2
    'blocks': ('gpfs', 'gpfs scratch rw', '"rule":"P26"'),
}
"""File systems by name: the type, what is mounted there, and what the records of a session say."""
MOUNTSTATS = """device filer:/home mounted on {} with fstype nfs4 statvers=1.1
\tbytes:\t100 200 300 400 5120 600 7 8
\tper-op statistics
\t        READ: 5 5 0 1120 5720 0 12 13 0
\t   READ_PLUS: 7 7 0 0 0 0 0 0 0
"""
NODE = """#!{python} -I
import runpy, sys
del sys.argv[:2]
sys.path.insert(0, sys.argv[0])
from seatrial.filesystem import beegfs, mounts, nfs
mounts.MOUNTINFO, nfs.MOUNTSTATS = {mountinfo!r}, {mountinfo!r} + 'stats'
beegfs.CLIENTS = {clients!r}
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
    """Makes a site with one check, with a change of its trial.yaml and an engine with this text as its program."""

    def make(old='', new='', engine='fio', text='#!/bin/sh\necho fio-3.33\n'):
        (tmp_path / 'site').mkdir()
        (tmp_path / 'checks' / 'access').mkdir(parents=True)
        (tmp_path / 'checks' / 'access' / 'reads.py').write_text(CHECK)
        program = executable(tmp_path / engine, text)
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
def test_units_and_paths_are_taken_as_written_or_refused_with_a_remedy(site, command, old, new, status, words):
    made = site(old, new)
    done = command('plan', f'--site={made.folder}', f'--checks={made.checks}', '--profile=nightly')
    assert (done.status, words in ' '.join((done.out + done.err).split())) == (status, True), done


OF_MPI = f"""#!/bin/sh
# IOR-4.0.0: MPI Coordinated Test of Parallel I/O
ior "$@" || exit
echo '{MPI_SAYS}'
case $* in *Stays*-measured-*) exec sleep 600 ;; esac
"""


@pytest.mark.needs('ior', 'mpiexec')
def test_a_line_of_mpi_fails_nothing_and_of_a_launch_that_does_not_end_it_is_said_that_its_work_was_done(site):
    made = site('nodes: [1]', 'nodes: [1], bytes_per_task: 64MiB', 'ior', OF_MPI)
    (made.checks / 'access' / 'reads.py').write_text(writes('Says', 'Stays'))
    argv = [sys.executable, '-c', LAUNCH_LIMIT, '10', *made.argv('run', f'--checks={made.checks}', '--profile=smoke')]
    done = subprocess.run(argv[:4] + argv[5:], capture_output=True, text=True, timeout=600)
    says, stays = (made.cases[name] for name in ('Says', 'Stays'))
    assert any(f"P24: write@512KiB: the MPI library says: '{MPI_SAYS}'" in label for label in says['labels']), done
    assert says['metrics'][0]['values'] and says['verdict'] == 'MEASURED', done.stdout
    assert 'all its work was done, and its results are whole: only its end did not come' in stays['reasons'][0]


@pytest.mark.needs('mpiexec')
@pytest.mark.long
def test_every_engine_says_why_it_failed_and_a_failed_fsync_is_the_failure_of_the_storage(site, tmp_path):
    made, engines = site(), []
    versions = {'ior': '', 'mdtest': '', 'io500': '', 'fio': 'fio-3.33', 'posixops': 'Python 3.11.2'}
    for name, version in versions.items():
        program = executable(tmp_path / 'programs' / name, FAILING.replace('VERSION', version))
        engines.append(f'{{name: {name}, program: {program}}}')
    limits = 'bytes: 64GiB, inodes: 100000'
    text = trial(engines=f'[{", ".join(engines)}]', limits=limits, more='budget: 10min')
    (made.folder / 'trial.yaml').write_text(text)
    (made.checks / 'access' / 'reads.py').write_text(ENGINES)
    made.run('--profile=nightly')
    seen = {name: (case['verdict'], case['reasons'][0]) for name, case in made.cases.items()}
    synced, of_io500 = seen.pop('Synced'), seen.pop('OfIo500')
    assert synced[0] == 'FAIL' and 'F1: ' in synced[1] and 'WARNING: fsync(28) failed' in synced[1], synced
    assert FULL in of_io500[1], of_io500
    assert [name for name, (_, why) in seen.items() if f"exited with 1: '{CAUSE}" not in why] == [], seen


def test_what_a_mount_says_of_itself_its_quota_its_traffic_and_its_blocks_is_understood(site, monkeypatch, tmp_path):
    made = site()
    check, trials = tmp_path / 'checks' / 'access' / 'reads.py', made.folder / 'trial.yaml'
    check.write_text(check.read_text().replace('524288', '6144').replace('1MiB', '1152KiB'))  # GPFS: blocks of 4 KiB
    targets = {name: made.folder / 'state' / name for name in MOUNTED}
    text = trials.read_text()
    (entry,) = (line for line in text.splitlines() if 'scratch: {' in line)
    entries = []
    for name, (kind, _, _) in MOUNTED.items():
        targets[name].mkdir(parents=True)
        entries.append(entry.replace('scratch', name).replace('posix', kind).replace('state/trials', f'state/{name}'))
        os.chown(targets[name], -1, GROUP)
        targets[name].chmod(0o2700)
    text = text.replace(entry, '\n'.join(entries)).replace('file_systems: [scratch]', f'file_systems: {[*MOUNTED]}')
    (tmp_path / 'mountinfostats').write_text(MOUNTSTATS.format(targets['filer']))
    trials.write_text(text)
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'), prepend=os.pathsep)
    executable(tmp_path / 'bin' / 'quota', QUOTA.replace('PLACE', str(targets['known'])))
    run_where(made, tmp_path, {targets[name]: mounted for name, (_, mounted, _) in MOUNTED.items()})
    for name, (_, _, kept) in MOUNTED.items():
        assert kept in records_of(made, name), name


def run_where(made, tmp_path, mounted, profile='nightly'):
    """Run a session whose jobs see this mounted at these targets."""
    mountinfo, trials = tmp_path / 'mountinfo', made.folder / 'trial.yaml'
    lines = (f'40 22 8:2 / {target} rw - {what}\n' for target, what in mounted.items())
    mountinfo.write_text(ROOT_MOUNT + ''.join(lines))
    clients = str(tmp_path / 'proc-beegfs')
    node = NODE.format(python=sys.executable, mountinfo=str(mountinfo), clients=clients)
    python = executable(tmp_path / 'bin' / 'python', node)
    trials.write_text(trials.read_text().replace('launcher: local', f'launcher: local, python: {python}'))
    made.run(f'--profile={profile}')


def records_of(made, file_system):
    return ''.join(file.read_text() for file in made.session.glob(f'cases/*+{file_system}+*/*.jsonl'))


@pytest.fixture
def target(tmp_path):
    """A directory of another device than the records, where this machine has one."""
    memory = Path('/dev/shm')
    with tempfile.TemporaryDirectory(prefix='seatrial-test-', dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def test_of_beegfs_layouts_targets_and_records_are_seen(site, tmp_path, monkeypatch, make_stub_fio, target):
    engine = make_stub_fio(tmp_path / 'stubs', ('measured', {'seconds': 0.2}))
    path = OWN_PATH.replace('state/trials', str(target)) + ', storage_targets: [1, 3]'
    made = site(OWN_PATH, f'{path}, layouts: {{wide: {{stripe_count: 2, stripe_size: 1MiB}}}}')
    for name in ('isolation/nodes_and_targets.py', 'metadata/posix.py'):
        shutil.copy(REPOSITORY / 'checks' / name, made.checks / 'access')
    trials = made.folder / 'trial.yaml'
    text = trials.read_text().replace('type: posix', 'type: beegfs').replace('[{name: fio,', '[posixops, {name: fio,')
    *_, last = text.splitlines()
    last = last.replace("'*'", 'StorageTargetBandwidth').replace('nodes: [1]', 'nodes: [1], bytes_per_task: 1MiB')
    semantics = last.replace('StorageTargetBandwidth', 'PosixSemantics').replace(', bytes_per_task: 1MiB', '')
    text = text.replace("'*'", 'Reads').replace('nodes: [1]', 'nodes: [1], layouts: [wide]')
    text += f'{last}\n{semantics}\n'
    trials.write_text(re.sub('program: [^}]*', f'program: {engine}', text))
    BeeGfsStand(tmp_path, target, monkeypatch).answers(targets=1)
    mounted = 'beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf'
    run_where(made, tmp_path, {target: mounted, made.folder: mounted}, 'smoke')
    written = records_of(made, 'scratch')
    assert '"rule":"P5a"' in written and 'c2.S1M, but has c1.S1M.targets1' in written
    assert '"rule":"P18a"' in written, 'two mounts of one client'
    assert 'P25: probe@two-tasks: the client keeps locks to itself' in str(made.cases['PosixSemantics']['labels'])
    of_targets = made.cases['StorageTargetBandwidth']
    refused = 'only root may put files on chosen targets' in str(of_targets['reasons'])
    assert refused == (os.geteuid() != 0) and 'P5a' not in str(of_targets), of_targets
    measured = {metric['metric'] for metric in of_targets['metrics'] if metric['values']}
    assert refused or measured == {f'{what}@storage_target{n:04d}' for what in ('write', 'read') for n in (1, 3)}
    assert refused or 'not tested: storage_target0002 (not listed under storage_targets)' in of_targets['labels']


def test_a_layout_of_orangefs_is_proved_by_the_stripes_and_the_servers_of_a_file(site, tmp_path, monkeypatch):
    try:
        os.setxattr(tmp_path, 'user.probe', b'')
    except OSError:
        pytest.skip('extended attributes of users are not supported here')
    layouts = 'layouts: {wide: {stripe_size: 1MiB}, even: {stripe_count: -1, stripe_size: 256KiB}}'
    made, shown = site(OWN_PATH, f'{OWN_PATH}, {layouts}'), transcripts('orangefs')['fuse-2.10']
    trials = made.folder / 'trial.yaml'
    text = trials.read_text().replace('type: posix', 'type: orangefs').replace('[{name: fio,', '[dd, {name: fio,')
    trials.write_text(text.replace('nodes: [1]', 'nodes: [1], layouts: [wide, even]'))
    (made.folder / 'state' / 'trials').mkdir(parents=True)
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'), prepend=os.pathsep)
    for name, output in (('pvfs2-ping', 'ping.out'), ('pvfs2-viewdist', 'viewdist-one.out')):
        executable(tmp_path / 'bin' / name, f"#!/bin/sh\ncat <<'END'\n{shown[output]}END\n")
    run_where(made, tmp_path, {made.folder / 'state' / 'trials': 'pvfs2 tcp://127.0.0.1:3334/trialfs rw'}, 'smoke')
    written = records_of(made, 'scratch')
    assert '"rule":"P5a"' in written and 'S1M, but has c1.S256k' in written
    assert '"rule":"P5c"' in written and 'c-1.S256k: all = 1 of 3 servers' in written


LYING = """#!{python} -I
import ctypes, errno, os, sys, types
def stat(path, **more):
    seen = genuine(path, **more)
    fields = {{name: getattr(seen, name) for name in dir(seen) if name.startswith('st_')}}
    return os.stat_result((*seen[:3], 2, *seen[4:]), {{**fields, 'st_blocks': 1}})
def makedirs(path, *arguments, **more):
    if len(path) > 2048:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    make(path, *arguments, **more)
genuine, os.stat, os.utime = os.stat, stat, lambda *arguments, **more: None
make, os.makedirs = os.makedirs, makedirs
os.setuid = os.setgid = os.setgroups = lambda ids: None
ctypes.CDLL = lambda *arguments, **more: types.SimpleNamespace(fallocate=lambda *arguments: -1)
ctypes.get_errno = lambda: errno.EOPNOTSUPP
if '-c' not in sys.argv:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
place = sys.argv.index('-c') + 1
code, sys.argv = sys.argv[place], ['-c', *sys.argv[place + 1 :]]
exec(code)
"""
"""A Python whose file system sets no times, reserves no space, gives every file one block and two names, takes no
long path, and lets every user do what root may."""
SEEN_FALSE = {
    'fallocate': 'Operation not supported',
    'times': 'where it was set back to 1000000000',
    'times_after_2038': 'where it was set to 2147483648 (2038)',
    'links_after_renames': 'a file has 2 names, after a rename over one of two',
    'paths_of_4095_bytes': 'could not make a file: File name too long',
}
SEEN_BY_ROOT = {
    'permissions': 'of a file 0600 by user 61001 (in no group of the owner, user 61000) was not refused, where',
    'sticky_directories': "unlink() of another's file in a sticky directory by user 61001 (in no group of the owner",
    'ownership': 'st_uid is 0 and not 61000',
}


@pytest.mark.long
def test_guarantees_are_not_held_to_hold_by_emulation_by_one_block_or_by_what_was_not_set_counted_or_refused(site):
    made = site('fio', 'posixops', engine='posixops', text=LYING.format(python=sys.executable))
    shutil.copy(REPOSITORY / 'checks' / 'metadata' / 'posix.py', made.checks / 'access' / 'reads.py')
    made.run('--profile=smoke', 'PosixSemantics')
    *_, line = (line for line in records_of(made, 'scratch').splitlines() if '"facts":[{' in line)
    facts = {fact['name']: fact for fact in json.loads(line)['measurement']['facts']}
    assert facts['sparse_files']['holds'] is None
    assert os.geteuid() == 0 or 'as root a session also tries two users' in facts['permissions']['seen']
    for name, words in (SEEN_FALSE if os.geteuid() else SEEN_FALSE | SEEN_BY_ROOT).items():
        assert facts[name]['holds'] is False and words in facts[name]['seen'], facts[name]


# Lustre, whose lfs and lctl are stand-ins that print genuine outputs, in the forms of other releases

LAYOUTS = IMPORTS + check(
    'Layouts',
    "data_access('multiple', operations=('write',), bytes_per_task='1MiB', transfer_size='512KiB')",
    "'layout', (progressive('pfl', {'end': '1MiB', 'stripe_count': 1}, {'stripe_count': 2}),)",
)
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


@pytest.mark.long
def test_what_other_releases_of_lustre_print_is_understood(tmp_path, make_stub_fio, monkeypatch):
    check = tmp_path / 'checks' / 'access' / 'layouts.py'
    check.parent.mkdir(parents=True)
    check.write_text(LAYOUTS)
    counted = tmp_path / 'job_stats'
    with standing(tmp_path, monkeypatch) as stand:
        stand.now(root=False, forms=RELEASES)
        counted.write_text(lustre_step('114').stdout.partition('obdfilter.lustre-OST0000.job_stats=\n- ')[0])
        for genuine, other in RELEASES:
            counted.write_text(re.sub(genuine, other, counted.read_text()))
        failing = {'call': 'fsync', 'of': 'none'}
        node = LUSTRE_NODE.format(python=sys.executable, mount=str(stand.mount), options=OPTIONS, **failing)
        python = executable(tmp_path / 'python', node.replace('runpy.run_path(', USER, 1))
        scratch = f'type: lustre, path: {stand.directory("trials")}, records_on_target: true'
        engine = make_stub_fio(tmp_path / 'stubs', ('measured', {'seconds': 0.2}))
        words = 'Layouts', f'[{{name: fio, program: {engine}}}]', f'{scratch}, telemetry: [cat, {counted}]'
        text = trial(*words, partition=f'python: {python}', more='bytes_per_task: 1MiB')
        made = LocalSite(tmp_path, text, tmp_path / 'checks')
        done = made.run('--profile=smoke')
    kept = ''.join(file.read_text() for file in made.session.glob('cases/*/*.jsonl'))
    words = '"name":"write_bytes"', ', compressed by its clients"', '"rule":"P9d"'
    assert made.cases['Layouts']['verdict'] == 'MEASURED', done.stdout
    assert [word for word in words if word not in kept] == [] and 'cut short' not in kept
