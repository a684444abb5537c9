"""`seatrial init`: what a machine has becomes a first site, and nothing that is there already is touched."""

import os
import re
import sys

import pytest

from local_site import executable
from seatrial.filesystem.base import Targets
from seatrial.filesystem.nfs import Nfs
from seatrial.model.record import TargetRow
from seatrial.model.units import MIB
from seatrial.site.load import load, partitions_in

CONFIG = 'ClusterName             = pelagia\nAccountingStorageType   = accounting_storage/slurmdbd\n'
SINFO = 'compute|60|128|257000|1-00:00:00\ndebug*|2|64|7000|30:00\n'
EMPTY = 'spare*|0|0|0|infinite\n'
ROOT = '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n'
MOUNT = '{number} 22 0:{number} / {point} rw,relatime - nfs4 filer:/export{number} rw,vers=4.2\n'


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with these mounts of NFS below the folder of the test, and these answers of Slurm's programs."""

    def made(mounts=(), **answers):
        lines = [ROOT]
        for number, name in enumerate(mounts, 40):
            (tmp_path / name).mkdir(mode=0o700, parents=True)
            lines.append(MOUNT.format(number=number, point=tmp_path / name))
        (tmp_path / 'mountinfo').write_text(''.join(lines))
        monkeypatch.setattr('seatrial.filesystem.mounts.MOUNTINFO', str(tmp_path / 'mountinfo'))
        monkeypatch.setattr('seatrial.cli.init.TRANSIENT', (str(tmp_path / 'var'),))
        for program in ('sinfo', 'scontrol'):
            body = f'print({answers[program]!r})' if program in answers else "sys.exit('no slurm.conf; really not')"
            executable(tmp_path / 'bin' / program, f'#!{sys.executable} -IS\nimport sys\n{body}\n')
        monkeypatch.setenv('PATH', str(tmp_path / 'bin'), prepend=os.pathsep)
        for name in ('SCRATCH', 'WORK', 'LMOD_CMD', 'MODULES_CMD'):
            monkeypatch.delenv(name, raising=False)
        return tmp_path / 'site'

    return made


def test_a_bare_machine_has_its_own_disk_and_one_partition_and_says_why(command, machine):
    folder = machine()
    done = command('init', folder)
    assert (done.status, sorted(file.name for file in folder.iterdir())) == (0, ['settings.py', 'trial.yaml'])
    site = load(folder)
    assert list(site.trial_file.partitions) == ['local:default']
    assert site.file_system('scratch').path == f'{folder}/state/trials'
    assert 'scontrol ended with 1: no slurm.conf.' in (folder / 'trial.yaml').read_text()


def test_under_a_umask_that_lets_the_group_write_the_next_command_reads_it(command, machine):
    os.umask(0o002)
    folder = machine()
    command('init', folder)
    assert command('history', 'list', '--site', folder).status == 0


@pytest.mark.parametrize('name', ['trial.yaml', 'settings.py'])
def test_a_file_that_is_there_is_left_and_refused(command, machine, name):
    folder = machine()
    folder.mkdir()
    (folder / name).write_text('mine')
    done = command('init', folder)
    assert (done.status, done.err.startswith(f'seatrial: {folder / name}: a site is there already')) == (64, True)
    assert {file.name: file.read_text() for file in folder.iterdir()} == {name: 'mine'}


@pytest.mark.parametrize('name', ['', 'below'])
def test_a_file_in_the_place_of_the_folder_is_refused(command, machine, name):
    file = machine()
    file.write_text('mine')
    done = command('init', file / name)
    assert (done.status, done.err.startswith(f'seatrial: {file / name}: a file is there')) == (64, True)


def test_memory_that_slurm_does_not_know_is_a_line_that_says_so(command, machine):
    folder = machine(sinfo='compute|60|128|1|30:00\n', scontrol=CONFIG)
    assert command('init', folder).status == 0
    assert load(folder).trial_file.partitions['pelagia:compute'].memory is None
    assert '# memory: ' in (folder / 'trial.yaml').read_text()


@pytest.mark.parametrize(
    'more', ['', 'CLUSTER: pelagia\n', EMPTY], ids=['alone', 'named by SLURM_CLUSTERS', 'beside one without nodes']
)
def test_the_partitions_of_slurm_are_those_of_the_site(command, machine, more):
    folder = machine(sinfo=more + SINFO, scontrol=CONFIG)
    done = command('init', folder)
    assert done.status == 0, done
    memory = {name: partition.memory for name, partition in load(folder).trial_file.partitions.items()}
    assert memory == {'pelagia:debug': 7000 * MIB, 'pelagia:compute': 257_000 * MIB}
    assert partitions_in(folder / 'settings.py')['pelagia:compute']['scheduler'] == 'slurm'


def test_several_clusters_are_not_mixed(command, machine):
    folder = machine(sinfo=f'CLUSTER: a\n{SINFO}CLUSTER: b\n{SINFO}', scontrol=CONFIG)
    assert command('init', folder).status == 0
    assert list(load(folder).trial_file.partitions) == ['local:default']
    assert 'sinfo shows the clusters a, b' in (folder / 'trial.yaml').read_text()


def test_a_slurm_without_accounting_is_asked_by_squeue(command, machine):
    folder = machine(sinfo=SINFO, scontrol='ClusterName = lab\n')
    command('init', folder)
    assert partitions_in(folder / 'settings.py')['lab:debug']['scheduler'] == 'squeue'


def test_a_mount_with_a_directory_of_the_user_is_a_file_system_under_test(command, machine, tmp_path, monkeypatch):
    folder = machine(['big'])
    (tmp_path / 'big' / 'seatrial').mkdir(mode=0o700)
    rows = [TargetRow('OST', number, 'x', True) for number in (0, 1, 2)] + [TargetRow('MDT', 4, 'x', True)]
    monkeypatch.setattr(Nfs, 'targets', lambda *_: Targets(tuple(rows), {}))
    monkeypatch.setattr(Nfs, 'pins', ('OST', 'MDT'))
    command('init', folder)
    entry, mount = load(folder).file_system('big'), f'{tmp_path}/big'
    assert (entry.type, entry.path, entry.mount) == ('nfs', f'{mount}/seatrial', mount)
    assert (entry.osts, entry.mdts) == (3, (4,))
    assert list((tmp_path / 'big').rglob('*')) == [tmp_path / 'big' / 'seatrial']


def test_partitions_and_mounts_that_would_be_called_alike_are_all_there(command, machine):
    sinfo = 'gpu.a|2|4|8000|1:00\ngpu-a|2|4|8000|1:00\n'
    folder = machine(['scratch', 'scratch1', 'old/scratch'], sinfo=sinfo, scontrol=CONFIG)
    command('init', folder)
    site = load(folder)
    assert set(site.trial_file.partitions) == {'pelagia:gpu-a', 'pelagia:gpu-a1'}
    assert set(site.trial_file.file_systems) == {'scratch', 'scratch1', 'scratch2'}


@pytest.mark.parametrize('name', ['a\nb: [', 'q"""\nraise SystemExit', os.fsdecode(b'\xff')])
def test_a_folder_can_be_called_anything(command, machine, name):
    folder = machine().with_name(name)
    assert command('init', folder).status == 0
    assert list(load(folder).trial_file.partitions) == ['local:default']


@pytest.mark.parametrize(
    ('mode', 'writable', 'why'),
    [
        (0o700, False, 'no directory of yours is there; make one (mkdir -m 700) and an entry with its path'),
        (0o777, True, '{0} is yours, but others may write to {0} (mode 0777), and it has no sticky bit; chmod go-w'),
    ],
)
def test_a_mount_without_one_is_a_line_with_a_remedy(command, machine, tmp_path, monkeypatch, mode, writable, why):
    folder = machine(['big'])
    (tmp_path / 'big').chmod(mode)
    monkeypatch.setattr('seatrial.cli.init.os.access', lambda path, how: writable)
    done = command('init', folder)
    line = f'nfs at {tmp_path}/big: {why.format(tmp_path / "big")}'
    assert f'  not used: {line}' in done.out
    assert f'  # {line}' in (folder / 'trial.yaml').read_text()


def test_a_disk_that_could_be_tested_is_a_commented_entry_with_type_and_size(command, machine, tmp_path):
    folder, disk = machine(), tmp_path / 'disk'
    disk.mkdir(mode=0o700)
    with (tmp_path / 'mountinfo').open('a') as mountinfo:
        mountinfo.write(f'50 22 0:50 / {disk} rw - ext4 /dev/sdb1 rw\n51 22 0:51 / /usr rw - ext4 /dev/sdc1 rw\n')
    done = command('init', folder)
    assert re.search(f'  in the comments: ext4 at {disk}, [0-9.]+ [GT]iB free\n', done.out), done.out
    file = folder / 'trial.yaml'
    assert '/usr' not in file.read_text()
    file.write_text(re.sub('^  # (?=(  )?(disk|type|path|mount|limits):)', '  ', file.read_text(), flags=re.M))
    assert load(folder).file_system('disk').path == str(disk)


def test_what_a_container_or_a_lab_has_mounted_is_no_file_system_under_test(command, machine, tmp_path):
    folder = machine(['big', 'var/pod', 'various'])
    done = command('init', folder)
    assert set(load(folder).trial_file.file_systems) == {'big', 'various'}
    assert f'  not used: nfs at {tmp_path}/var/pod: below {tmp_path}/var programs mount for themselves' in done.out


def test_a_network_mount_of_no_type_of_ours_is_named_and_a_helper_of_the_desktop_is_not(command, machine, tmp_path):
    folder = machine()
    with (tmp_path / 'mountinfo').open('a') as mountinfo:
        mountinfo.write('50 22 0:50 / /weka rw - wekafs backend:/fs rw\n')
        mountinfo.write('51 22 0:51 / /sys/fs/x rw - fusectl fusectl rw\n')
    done = command('init', folder)
    assert '  not used: wekafs at /weka: no type of its own; if it is meant, write an entry with type: p' in done.out
    assert 'fusectl' not in done.out


def test_a_mount_that_does_not_answer_is_not_asked_further(command, machine, monkeypatch):
    folder = machine(['big'])
    monkeypatch.setattr('seatrial.cli.init.unresponsive', lambda path: f'{path}: the file system does not answer')
    monkeypatch.setattr('seatrial.cli.init.own_directory', lambda mount: pytest.fail('it was asked'))
    assert 'the file system does not answer' in command('init', folder).out


def test_engines_that_are_there_are_listed_and_others_are_lines_with_a_remedy(command, machine, tmp_path):
    folder = machine()
    executable(tmp_path / 'bin' / 'mdtest', '#!/bin/sh\n')
    command('init', folder)
    assert 'mdtest' in [engine.name for engine in load(folder).trial_file.engines]
    assert 'mdtest is not on the PATH' not in (folder / 'trial.yaml').read_text()


@pytest.mark.parametrize(
    ('system', 'variable', 'mark'), [('lmod', 'LMOD_CMD', ''), ('envmod', 'MODULES_CMD', '(default)')]
)
def test_modules_of_engines_and_of_darshan_are_named(command, machine, tmp_path, monkeypatch, system, variable, mark):
    folder = machine()
    output = rf'/opt/modules:\nior/4.0.0\ngcc/13\nfio/3.37{mark}\nCore/openmpi/5.0.3\nIOR/4.0.0-gompi-2023b\n'
    output += rf'darshan-util/3.4.6\nseatrial/darshan-runtime/3.4.6{mark}\nDarshan-runtime/3.4.4-gompi-2023b\n'
    library = tmp_path / 'darshan' / 'lib' / 'libdarshan.so'
    library.parent.mkdir(parents=True)
    library.touch()
    script = f"""#!/bin/sh
case "$2 $3" in
"load seatrial/darshan-runtime/3.4.6") echo export DARSHAN_RUNTIME_ROOT={tmp_path}/darshan ;;
load*) echo false ;;
*) printf "{output}" >&2 ;;
esac
"""
    monkeypatch.setenv(variable, str(executable(tmp_path / 'bin' / 'modulecmd', script)))
    command('init', folder)
    text = (folder / 'settings.py').read_text()
    modules = [line.split("'")[1] for line in text.splitlines() if line.startswith("        # '")]
    assert modules == ['Core/openmpi/5.0.3', 'ior/4.0.0', 'fio/3.37', 'IOR/4.0.0-gompi-2023b']  # MPI first
    assert f"'modules_system': {system!r}" in text
    assert f'# darshan: {library}  ' in (folder / 'trial.yaml').read_text()


def test_a_check_of_its_own_is_listed_beside_those_that_came_along_also_from_another_folder(
    command, machine, tmp_path
):
    folder = machine()
    command('init', folder)
    assert command('init', folder, '--check', 'ReadBack').status == 0
    assert command('list', '--site', folder, 'ReadBack', 'SmallFiles').out.startswith('2 cases')
    (folder / 'checks').rename(tmp_path / 'shared')
    file = folder / 'trial.yaml'  # from whose folder on it is named
    file.write_text(file.read_text().replace('# checks: [checks]', 'checks: [../shared]'))
    assert command('list', '--site', folder, 'ReadBack').out.startswith('1 case ')


@pytest.mark.parametrize('name', ['SmallFiles', 'read back', 'a/b', 'lower'])
def test_a_name_that_a_check_has_or_no_class_can_have_is_refused(command, machine, name):
    folder = machine()
    command('init', folder)
    assert command('init', folder, '--check', name).status == 64
    assert not (folder / 'checks').exists()
