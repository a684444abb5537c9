"""`seatrial doctor`: the parts that are there, those that are missing, and the remedies."""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
from pathlib import Path

import pytest

import seatrial
from beegfs_stand import FALLBACK, MIRRORS, SHOWN, BeeGfsStand, state
from local_site import executable
from lustre_stand import standing
from seatrial.filesystem import beegfs, ceph, glusterfs, gpfs, mounts, nfs
from seatrial.filesystem.base import Capacity
from seatrial.filesystem.mounts import Mount
from seatrial.model.owned import user_name
from stand_in import Altered, program
from transcript import transcripts

TRANSCRIPTS = Path(__file__).resolve().parents[1] / 'transcripts'
OF_FIO = "data access, checkpoints, file reuse, Bonnie's file, random I/O, a metadata tree and raw devices"


def measured(done):
    """By engine, the kinds of workload that it can measure, in words."""
    listed = ' '.join(done.out.split()).partition('cannot express: ')[2].partition('.')[0]
    return dict(engine.split(': ') for engine in listed.split('; '))


def line_of(done, what):
    (line,) = [line for line in done.out.splitlines() if f' {what} ' in f'{line} ']
    return line


def test_an_engine_is_shown_with_its_version_path_and_checksum(doctor, tmp_path):
    done = doctor()
    assert done.status == 0
    shown = line_of(done, 'engine fio').split()
    checksum = hashlib.sha256((tmp_path / 'stubs' / 'fio').read_bytes()).hexdigest()[:12]
    assert shown == ['+', 'ok', 'engine', 'fio', '3.33', 'at', f'{tmp_path}/stubs/fio,', 'SHA-256', checksum]
    assert measured(done) == {'fio': OF_FIO}
    versions = line_of(done, 'seatrial')
    assert seatrial.__version__ in versions and importlib.metadata.version('ReFrame-HPC') in versions
    assert 'darshan' not in done.out


def test_it_says_whose_the_state_is_and_who_may_read_it(doctor, site):
    (site.folder / 'state').mkdir(mode=0o750)
    assert line_of(doctor(), 'state').rstrip().endswith(f', of {user_name(os.geteuid())}, read by its group')


@pytest.mark.parametrize(
    ('by_spack', 'locked', 'shown', 'status'),
    [
        (True, False, 'Spack eb4iu7b', 0),
        (True, True, 'Spack eb4iu7b as in spack.lock', 0),
        (False, True, 'spack.lock pins 3.37, Spack eb4iu7b', 64),
    ],
)
def test_an_engine_of_spack_has_hash_and_lock(doctor, site, tmp_path, repository, by_spack, locked, shown, status):
    prefix, stub = tmp_path / 'fio-3.37-eb4iu7b', tmp_path / 'stubs' / 'fio'
    lock = repository / 'spack-env/spack.lock'
    (prefix / '.spack').mkdir(parents=True)
    shutil.copytree(stub.parent, prefix / 'bin')
    specs = json.loads(lock.read_text())['concrete_specs']
    nodes = [{'hash': hash_} for hash_, spec in specs.items() if spec['name'] == 'fio']
    if by_spack:
        (prefix / '.spack' / 'spec.json').write_text(json.dumps({'spec': {'nodes': nodes}}))
    if locked:
        (site.folder / 'spack' / platform.machine()).mkdir(parents=True)
        shutil.copy(lock, site.folder / 'spack' / platform.machine())
    site.change(str(stub), str(prefix / 'bin' / 'fio'))
    done = doctor()
    whole_row = f'{shown} + ok file system'  # which is the next one
    assert (done.status, whole_row in ' '.join(done.out.split())) == (status, True), done.out


@pytest.mark.parametrize(
    ('module', 'variable'), [('seatrial/fio/3.37', 'FIO_ROOT'), ('fio/3.37-GCCcore-13.2.0', 'EBROOTFIO')]
)
def test_an_engine_before_that_of_its_module_is_wrong(doctor, site, tmp_path, monkeypatch, module, variable):
    monkeypatch.setenv('LOADEDMODULES', module)
    monkeypatch.setenv(variable, '/opt/fio-3.37')
    monkeypatch.setenv('PATH', f'{tmp_path}/stubs:{os.environ["PATH"]}')
    site.change(str(tmp_path / 'stubs' / 'fio'), 'fio')
    done = doctor()
    both = f'{module} has its program in /opt/fio-3.37, and {tmp_path}/stubs/fio is found before it'
    assert (done.status, both in ' '.join(done.out.split())) == (64, True)


@pytest.mark.parametrize(
    ('library', 'shown', 'status'),
    [
        ('', 'MPI unknown, started by Hydra 4.0.2', 0),
        ('MPICH 4.0.2', 'MPICH 4.0.2, started by Hydra 4.0.2', 0),
        ('Open MPI 4.1.4', 'ranks with Open MPI 4.1.4 do not find each other under Hydra 4.0.2', 64),
    ],
)
def test_an_engine_of_mpi_has_its_launcher(doctor, site, tmp_path, repository, monkeypatch, library, shown, status):
    monkeypatch.setattr('seatrial.cli.doctor.provenance.library_of', lambda program: library)
    hydra = (repository / 'tests' / 'transcripts' / 'mpi' / 'hydra-4.0.2.out').read_text()
    for name, output in (('ior', transcripts('ior')['ext4-fpp-n1']['out']), ('mpiexec', hydra)):
        (tmp_path / 'stubs' / f'{name}.said').write_text(output)
        program(tmp_path / 'stubs', monkeypatch, name, f'exec cat {tmp_path}/stubs/{name}.said')
    site.change('}]\nfile_systems', '}, ior]\nfile_systems')
    done = doctor()
    assert f'4.0.0 at {tmp_path}/stubs/ior, SHA-256 ' in line_of(done, 'engine ior')
    assert (done.status, shown in ' '.join(done.out.split())) == (status, True), done.out


@pytest.mark.parametrize(
    ('slurm', 'job', 'words'),
    [
        (True, '', 'no Slurm job: for what a compute node has, run srun seatrial doctor'),
        (True, '12', 'a node of job 12 of Slurm'),
        (False, '', ''),
    ],
)
def test_a_login_node_is_told_from_a_node_of_a_job(doctor, site, monkeypatch, slurm, job, words):
    monkeypatch.setenv('SLURM_JOB_ID', job)
    if slurm:
        site.change("'scheduler': 'local'", "'scheduler': 'squeue'", 'settings.py')
    lines = [line.strip() for line in doctor().out.splitlines() if 'job' in line and 'Slurm' in line]
    assert lines == ([words] if words else [])


def test_a_folder_of_the_path_into_which_others_may_put_programs_is_named(doctor, tmp_path, monkeypatch):
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin').chmod(0o1777)
    monkeypatch.setenv('PATH', f'{os.environ["PATH"]}:{tmp_path}/bin:.')
    output = doctor().out
    assert f' others may write to {tmp_path}/bin (mode 1777); take it out of the PATH' in output
    assert ' . is another folder in each working directory; take it out of the PATH' in output


def test_modules_that_cannot_be_loaded_are_missing(doctor, site, monkeypatch):
    monkeypatch.delenv('LMOD_CMD', raising=False)
    site.change("'hostnames'", "'modules_system': 'lmod', 'hostnames'", 'settings.py')
    site.change("'environs'", "'modules': ['seatrial/ior'], 'environs'", 'settings.py')
    done = doctor()
    assert (done.status, 'LMOD_CMD is not set; start a login' in line_of(done, 'modules')) == (64, True)


def add_partition(site, name, more='', **settings):
    """A partition of the local system with these settings of ReFrame's, and more in trial.yaml."""
    entry = {'name': name, 'scheduler': 'local', 'launcher': 'local', 'environs': ['builtin'], **settings}
    site.change("'partitions': [", f"'partitions': [{entry!r},", 'settings.py')
    site.change('trials:', f'  local:{name}: {{launcher: local, tasks_per_node: 2{more}}}\ntrials:')


def test_partitions_with_other_modules_are_shown_by_themselves(doctor, site, tmp_path, monkeypatch):
    lmod = executable(tmp_path / 'lmod', '#!/bin/sh\necho "export LOADEDMODULES=$3"\n')
    monkeypatch.setenv('LMOD_CMD', str(lmod))
    site.change("'hostnames'", "'modules_system': 'lmod', 'hostnames'", 'settings.py')
    add_partition(site, 'other', modules=['fio/3.37'])
    done = doctor()
    assert done.status == 0
    assert line_of(done, 'modules in local:other').split()[-1] == 'fio/3.37'
    assert len([line for line in done.out.splitlines() if '+ ok' in line and 'engine fio in local:' in line]) == 2
    assert measured(done) == {'fio': OF_FIO}


@pytest.mark.parametrize(
    ('version', 'words'),
    [('', '/no/such/fio is not on the PATH; apt-get install fio'), ('nonsense', "'nonsense' is not")],
)
def test_what_is_not_there_or_not_the_engine_is_missing(doctor, stub_fio, site, tmp_path, version, words):
    site.change(str(tmp_path / 'stubs' / 'fio'), stub_fio(version=version) if version else '/no/such/fio')
    done = doctor()
    assert (done.status, line_of(done, 'engine fio')[:9], words in done.out) == (64, '- missing', True)
    assert 'No engine measures data access here; install ior, fio, elbencho or dd, and list it' in done.out


def test_the_first_engine_of_each_kind_is_the_one_that_would_measure(doctor, site):
    site.change('}]\nfile_systems', '}, posixops]\nfile_systems')
    figures = measured(doctor())
    assert figures['fio'] == OF_FIO and 'a metadata tree' not in figures['posixops']
    assert figures['posixops'].startswith('training reads, checkpoints beside training reads, the listing of ')


def test_a_file_system_that_the_first_run_makes_is_fine(doctor, site):
    assert 'is made by the first run' in line_of(doctor(), 'file system scratch')
    assert not (site.folder / 'state').exists()


@pytest.mark.parametrize(
    ('old', 'new', 'what', 'mark', 'words'),
    [
        ('path: state/trials', 'path: /no/such/mount', 'file system scratch', '- missing', '; make or mount it'),
        ('state: state', 'state: /no/such/parent/state', 'state', '- missing', '; make it, or correct state'),
        ('path: state/trials', 'path: {0}, mount: {0}', 'file system scratch', 'x wrong', 'S1: '),
        ('path: state/trials', 'path: {0}/below', 'file system scratch', 'x wrong', 'S4: others may write to '),
        ('posix, path: state/trials', 'nfs, path: {0}', 'file system scratch', 'x wrong', 'says type nfs'),
        ("'scheduler': 'local'", "'scheduler': 'slrm'", 'settings', 'x wrong', 'settings.py: ReFrame refuses it: '),
    ],
)
def test_a_place_that_no_run_could_use_is_missing_or_wrong(doctor, site, tmp_path, old, new, what, mark, words):
    place = tmp_path / 'place'
    (place / 'below').mkdir(parents=True)
    place.chmod(0o777 if 'below' in new else 0o755)
    site.change(old, new.format(place), 'settings.py' if what == 'settings' else 'trial.yaml')
    done = doctor()
    line = line_of(done, what)
    assert (done.status, line[: len(mark)]) == (64, mark), line
    assert words.format(place) in line


def test_a_file_system_that_the_user_may_not_reach_is_missing(doctor, site, monkeypatch):
    def refused(path, **more):
        raise PermissionError(13, 'Permission denied', str(path))

    path = str(site.folder / 'state' / 'trials')
    plain = Path.is_dir
    monkeypatch.setattr(Path, 'is_dir', lambda self: refused(self) if str(self) == path else plain(self))
    line = line_of(doctor(), 'file system scratch')
    assert line.startswith('- missing') and f'{path}: ' in line and 'may not enter a directory above it' in line


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_a_file_system_in_which_one_may_not_write_is_missing(doctor, site):
    (site.folder / 'state').mkdir()
    (site.folder / 'state' / 'trials').mkdir(mode=0o500)
    assert 'no permission to write' in line_of(doctor(), 'file system scratch')


def mounted(type_, source, options='rw'):
    """A stand-in for a type that is only a line in the table of mounts; `changed` is another type for that line."""

    def stand(folder, monkeypatch, stack, changed):
        seen = Mount(f'{folder}/mnt', changed if isinstance(changed, str) and changed else type_, source, options)
        monkeypatch.setattr(mounts, 'read_mounts', lambda: [seen])

    return stand


def on_lustre(folder, monkeypatch, stack, changed):
    stand = stack.enter_context(standing(folder, monkeypatch))
    stand.now(**changed)


def on_beegfs(folder, monkeypatch, stack, changed):
    stand = BeeGfsStand(folder, folder / 'mnt', monkeypatch)
    answers = {name: changed[name] for name in ('mirrored', 'quota') if name in changed}
    stand.answers(**answers)
    stand.now(**{name: text for name, text in changed.items() if name not in (*answers, 'release')})
    if 'release' in changed:
        stand.is_of_7()
    (folder / 'version').write_text('8.3.1\n')
    monkeypatch.setattr(beegfs, 'VERSION', str(folder / 'version'))


BRICKS = glusterfs.parse_files((TRANSCRIPTS / 'glusterfs' / 'bricks-distributed.txt').read_text())


def on_gluster(folder, monkeypatch, stack, changed):
    monkeypatch.setattr(mounts, 'read_mounts', lambda: [Mount(f'{folder}/mnt', 'fuse.glusterfs', 'n2:/lab', 'rw')])
    for name, text in {**BRICKS, **changed}.items():
        file = folder / 'mnt' / '.meta' / 'graphs' / 'active' / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def on_ceph(folder, monkeypatch, stack, changed):
    mounted('ceph', 'n1:6789:/')(folder, monkeypatch, stack, changed)
    monkeypatch.setattr(ceph, '_UNTOLD', [])
    osds = [{'osd': number, 'in': 1, 'up': number not in changed} for number in range(3)]
    program(folder, monkeypatch, 'ceph', f"echo '{json.dumps({'osds': osds, 'checks': changed})}'")


def on_gpfs(folder, monkeypatch, stack, changed):
    mounted('gpfs', 'scratch')(folder, monkeypatch, stack, changed)
    monkeypatch.setattr(gpfs, 'MM', str(folder))
    monkeypatch.setattr(gpfs, 'os', Altered(os, geteuid=lambda: 1000))
    texts = {'mmlsattr': ATTRIBUTES, 'mmlsquota': QUOTA}
    texts |= {name: transcripts('gpfs')[f'{name}{form}']['out'] for name, form in GENUINE.items()}
    for name, text in texts.items():
        for old, new in changed.items():
            text = text.replace(old, new)
        program(folder, monkeypatch, name, f"cat <<'END'\n{text}END")
    if 'refused' in changed:
        program(folder, monkeypatch, changed['refused'], "echo 'only root may' >&2")  # and exits with 0


GENUINE = {'mmlsdisk': '-Y', 'mmhealth': '-node-show-Y'}
# The forms are those of real ones; the figures are ours.
ATTRIBUTES = """file name:            /gpfs/trials
metadata replication: 2 max 2
immutable:            no
flags:
storage pool name:    system
fileset name:         trials
Misc attributes:      DIRECTORY COMPRESSION (library z)
Encrypted:            no
"""
QUOTA_HEADING = (
    'mmlsquota::HEADER:version:reserved:reserved:filesystemName:quotaType:id:name:'
    'blockUsage:blockQuota:blockLimit:blockInDoubt:blockGrace:filesUsage:filesQuota:filesLimit:filesInDoubt:filesGrace:'
    'remarks:quota:defQuota:fid:filesetname:\n'
)
QUOTA = QUOTA_HEADING + (
    'mmlsquota::0:1:::scratch:USR:1000:pelagia:1000:4000:5000:500:none:100:2000:3000:10:none:e:on:off:1:trials:\n'
)


OF_DIRECTORY = {
    'user.pvfs2.dist_name': b'simple_stripe\0',
    'user.pvfs2.dist_params': b'strip_size:1048576\0',
    'user.pvfs2.num_dfiles': b'2\0',
}


def on_orangefs(folder, monkeypatch, stack, changed):
    texts = transcripts('orangefs')['fuse-2.10'] | transcripts('orangefs')['kernel-2.10']
    (mount,) = mounts.parse_mountinfo(texts['kernel-mount.out' if changed == 'kernel' else 'mountinfo.out'])
    monkeypatch.setattr(mounts, 'read_mounts', lambda: [mount._replace(point=f'{folder}/mnt')])
    monkeypatch.setattr(os, 'getxattr', lambda path, name: OF_DIRECTORY[name])
    version = f"[ $1 != -v ] || exec echo '{texts['version.out'].strip()}'"
    ping = 'ping.out' if changed in ({}, 'kernel') else changed
    exit_code = 253 if ping.startswith('down') else 0
    program(folder, monkeypatch, 'pvfs2-ping', f"{version}\ncat <<'END'\n{texts[ping]}END\nexit {exit_code}")


def on_nfs(folder, monkeypatch, stack, changed):
    mounted('nfs4', 'filer:/home', 'rw,hard')(folder, monkeypatch, stack, changed)
    (folder / 'mountstats').write_text(f'device filer:/home mounted on {folder}/mnt with fstype nfs4 statvers=1.1\n')
    monkeypatch.setattr(nfs, 'MOUNTSTATS', str(folder / 'mountstats'))


STANDS = {
    'posix': mounted('ext4', '/dev/sdb1'),
    'ocfs2': mounted('ocfs2', '/dev/sdb1'),
    'hdfs': mounted('fuse.rclone', 'hadoop:/trials'),
    'lustre': on_lustre,
    'beegfs': on_beegfs,
    'glusterfs': on_gluster,
    'cephfs': on_ceph,
    'gpfs': on_gpfs,
    'orangefs': on_orangefs,
    'nfs': on_nfs,
}


def configured(**settings):
    """The configuration that the client of BeeGFS shows, with other values."""
    text = SHOWN['config']
    for key, value in settings.items():
        text, count = re.subn(f'^{key} = .*$', f'{key} = {value}', text, flags=re.MULTILINE)
        assert count == 1, key
    return {'config': text}


# In the forms of quota.go of beegfs-go 8.3.1 and ModeGetQuotaInfo.cpp of 7.4.6: nobody has seen a real one.
IDS = (('user', os.geteuid()), ('group', os.getegid()))
QUOTA_OF_8 = json.dumps([{'id': id, 'type': kind, 'space': '1024/9216', 'inode': '4/∞'} for kind, id in IDS])
QUOTA_OF_7 = 'name,id,size,hard,files,hard\n' + ''.join(f'x,{id},1024,unlimited,4+,104\n' for _, id in IDS)


def licensed(quota, **changed):
    return {'quota': quota, **configured(quotaEnabled=1), **changed}


@pytest.fixture
def doctor_on(doctor, site, monkeypatch, tmp_path):
    """The exit code and the output of doctor on a stand-in for a file system of this type."""

    def ask(kind, changed):
        path = tmp_path / 'mnt' / 'trials'
        site.change('type: posix, path: state/trials, records_on_target: true', f'type: {kind}, path: {path}')
        monkeypatch.setattr('seatrial.filesystem.caches.why_not', lambda: '')
        with contextlib.ExitStack() as stack:
            STANDS[kind](tmp_path, monkeypatch, stack, changed)
            path.mkdir(parents=True)
            done = doctor()
        return done.status, ' '.join(done.out.split())

    return ask


SUMMARY_FAILED = {'FILESYSTEM:node01.example.com:NODE:HEALTHY': 'FILESYSTEM:node01.example.com:NODE:FAILED'}
SILENT = {'lab-client-3/private': BRICKS['lab-client-3/private'].replace('connected = 1', 'connected = 0')}
OFFLINE = {'storage_target_state': state(2, 'Offline / Good')}
OF_7 = '[Target ID: 5] @ beegfs-storage n3 [ID: 3]: Offline / Bad \n'
RESYNC = {'storage_target_state': state(3, 'Online / Needs-resync')}


@pytest.mark.parametrize(
    ('kind', 'changed', 'shown', 'away'),
    [
        ('beegfs', OFFLINE, '; storage target 2 offline;', 'storage target 2 of'),
        ('beegfs', RESYNC, '; storage target 3 needs resync;', ''),
        ('beegfs', {'storage_target_state': OF_7}, '5; storage target 5 offline, bad;', '5 of n3: offline, bad'),
        ('beegfs', {'storage_nodes': FALLBACK}, 'TCP [fallback route]', ''),
        ('beegfs', {'mirrored': MIRRORS}, 'p1.mirrored; buddy groups: 1: 101 and 201; 2: 202 and 102', ''),
        ('beegfs', configured(connCommRetrySecs=0), 'metadata targets 1: 1; route TCP P25', ''),  # it never gives up
        ('beegfs', configured(tuneUseGlobalFileLocks=1, connCommRetrySecs=900), '1; route TCP cold reads', ''),
        *(
            ('beegfs', configured(tuneFileCacheType=kind), 'dentries and inodes of the whole node + ok state', '')
            for kind in ('native', 'paged', 'none')
        ),
        ('beegfs', configured(quotaEnabled=1), 'without space left by quotas: quota(1) cannot read', ''),
        ('beegfs', licensed(QUOTA_OF_8.replace('1024', '?')), 'without space left by quotas', ''),
        ('beegfs', licensed(QUOTA_OF_8), '; the quota leaves 8 KiB the driver', ''),
        ('beegfs', licensed(QUOTA_OF_7, release=7), '; the quota leaves 25 inodes the driver', ''),
        ('beegfs', {'release': 7}, 'file system: managed by 10.80.0.1:8008; default layout: c4.S512k.p1;', ''),
        ('beegfs', {'storage_target_state': ''}, 'storage_target_state shows no targets; metadata targets 1', ''),
        ('beegfs', {'meta_target_state': 'as new'}, "meta_target_state shows 'as new'; storage targets 3: 1-3; ", ''),
        ('glusterfs', SILENT, '; brick 3 n2:/srv/4/b not connected', 'n2:/srv/4/b'),
        ('cephfs', {1: 'down'}, 'OSDs 3: 0-2; OSD 1 down', 'osd.1: down'),
        ('cephfs', {'PG_DEGRADED': {}}, 'cluster 0 PG_DEGRADED', ''),
        ('lustre', {'away': [1]}, 'OST 1 does not answer', 'lustre-OST0001: does not answer'),
        ('lustre', {'df': '310'}, 'OST 3 degraded', ''),
        ('lustre', {'df': '311'}, 'OST 3 no new objects', ''),
        ('lustre', {'inactive': [3]}, 'OST 3 inactive', ''),
        ('posix', 'wekafs', 'whether wekafs caches outside the kernel is not known (type posix)', ''),
        ('posix', 'wekafs', 'client version: unknown: it is no part of Linux', ''),
        ('orangefs', 'down-ping.out', 'server 2 does not answer', 'tcp://127.0.0.1:3336: does not answer'),
        ('orangefs', 'kernel', 'type pvfs2; mount', ''),
        ('orangefs', 'kernel', 'dist_params strip_size:1048576, num_dfiles 2 servers 3: 0-2 P17c', ''),
        ('gpfs', {'ready:up:3': 'ready:down:3'}, 'disk 3 down', 'RG003VS004: down'),
        ('gpfs', {'ready:up:3': 'being emptied:up:3'}, 'disk 3 being emptied', ''),
        ('gpfs', {'ib0:NIC:HEALTHY': 'ib0:NIC:FAILED'}, 'NETWORK of ib0 FAILED', 'this node: NETWORK of'),
        ('gpfs', {'FILESYSTEM:HEALTHY': 'FILESYSTEM:DEGRADED'}, 'FILESYSTEM of scratch DEGRADED', ''),
        ('gpfs', {'refused': 'mmlsdisk'}, 'unknown: mmlsdisk does not answer this user: only root may', ''),
        ('gpfs', {'refused': 'mmhealth'}, 'user: only root may; disks 7: 1-7', ''),
        ('gpfs', {'refused': 'mmlsquota'}, '; not known: the quota (mmlsquota does not answer this user', ''),
        (
            'gpfs',
            {'yes:ready:up:7:ess5000::3:2:2:2257848107008:0A0B0C0E632377DB::': 'ye'},
            'mmlsdisk prints a line',
            '',
        ),
        (
            'gpfs',
            {':project:FILESYSTEM:HEALTHY': ':project:FILESYSTEM:FAILED'} | SUMMARY_FAILED,
            'nodes 1: 0 without',
            '',
        ),
        ('gpfs', {':NETWORK:ib0:NIC:HEALTHY': ':PERFMON:ib0:NODE:FAILED'}, 'nodes 1: 0 without', ''),
        ('gpfs', {':1000:4000:': '::4000:'}, 'not known: the quota (mmlsquota answers in another form: ', ''),
        (
            'gpfs',
            {'1:trials:': '0:root:'},
            'not known: the quota in the fileset trials (mmlsquota has root alone)',
            '',
        ),
        ('gpfs', {':500:none:': ':-50:expired:'}, 'the quota leaves 2.93 MiB and 2890 inodes', ''),
    ],
)
def test_each_type_shows_targets_and_settings_and_an_absent_target_is_wrong(doctor_on, kind, changed, shown, away):
    status, text = doctor_on(kind, changed)
    refused = 'x wrong targets of scratch P22: 1 of ' in text
    assert shown in text
    assert (status, refused, away in text) == (64 if away else 0, bool(away), True)


@pytest.mark.parametrize(
    ('kind', 'changed', 'shown'),
    [
        ('beegfs', {'f_blocks': 0, 'f_bavail': 0}, '/mnt/trials, unknown free'),  # all storage is away
        ('orangefs', {'f_favail': 2**63 - 1}, 'iB free the driver'),
        ('posix', {'f_favail': 2**63 - 1}, 'iB free the driver'),
    ],
)
def test_room_that_a_file_system_does_not_know_is_unknown(doctor_on, monkeypatch, kind, changed, shown):
    genuine = os.statvfs
    monkeypatch.setattr(os, 'statvfs', lambda path: Altered(genuine(path), **changed))
    assert shown in doctor_on(kind, {})[1]


GOLDEN = transcripts('seatrial')['doctor']


@pytest.mark.parametrize('kind', STANDS)
def test_each_type_shows_identity_layout_targets_room_and_what_is_cold(doctor_on, monkeypatch, tmp_path, kind):
    monkeypatch.setattr('seatrial.filesystem.lustre.driver._is_root', lambda: True)
    monkeypatch.setattr('seatrial.filesystem.posix.Mounted.quota', lambda *_: Capacity(None, None))
    (text,) = re.findall(r'file system scratch .*?(?=\+ ok state)', doctor_on(kind, {})[1])
    text = text.replace(str(tmp_path), '/lab').replace(f'Linux {os.uname().release}', 'Linux K')
    text = re.sub(r'[0-9.]+ [KMGT]iB free(, [0-9]+ inodes)?', 'N free', text)
    text = re.sub('(?<=block size: )[0-9]+|(?<=tried on ).*?(?= mounted:| no layout)', 'N', text)
    assert text.strip() == ' '.join(GOLDEN[f'{kind}.out'].split())


def test_a_file_system_that_no_trial_uses_may_be_missing(doctor, site):
    other = 'other: {type: posix, path: /no/such/mount, limits: {bytes: 1GiB, inodes: 1000}}'
    site.change('file_systems:\n', f'file_systems:\n  {other}\n')
    done = doctor()
    assert (done.status, line_of(done, 'file system other')[:9]) == (0, '- missing')


@pytest.mark.parametrize(
    ('argv', 'value', 'shown', 'status'),
    (
        ("[printf, 'off\\noff\\n']", 'off', '+ ok scratch: canmount off', 0),
        ('[cat, {file}]', '512', '+ ok scratch: canmount 512', 0),
        ("[printf, 'off\\non\\n']", 'off', 'x wrong scratch: canmount off and on, where off is expected: ', 64),
        ("['true']", 'off', 'x wrong scratch: canmount nothing, where off is expected: true', 64),
        ('[cat, {file}.none]', 'off', 'x wrong scratch: canmount not known: cat {file}.none: ', 64),
        ('[no-such-zfs, get]', 'off', 'x wrong scratch: canmount not known: no-such-zfs is not installed here', 64),
    ),
)
def test_a_setting_is_compared_with_what_the_site_has_decided(doctor, site, tmp_path, argv, value, shown, status):
    file = tmp_path / 'mds_num_threads'  # as below /sys/module/mdt/parameters
    file.write_text('512\n')
    asked = f"{{canmount: {{command: {argv.format(file=file)}, value: '{value}'}}}}"
    site.change('limits:', f'prechecks: {asked}, limits:')
    done = doctor()
    assert done.status == status
    assert shown.format(file=file) in ' '.join(done.out.split())


def test_partitions_are_shown_together_by_the_library_that_they_name(command, site):
    site.change('tasks_per_node: 2}', 'tasks_per_node: 2, darshan: /no/one.so}')
    for name, key in (('other', ', darshan: /no/two.so'), ('third', ', darshan: /no/two.so'), ('fourth', '')):
        add_partition(site, name, key)
    output = command('doctor', f'--site={site.folder}').out
    shown = [' '.join(line.split()[2:]) for line in output.splitlines() if line.startswith('- missing  darshan')]
    assert shown == ['darshan in local:default /no/one.so', 'darshan in local:other, local:third /no/two.so']
    assert output.count(' it is not there; install Darshan there') == 2
    assert output.count('engine fio') == 1
