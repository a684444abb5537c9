"""The process that a launcher starts on every node, and the calls that the storage failed in it."""

import json
import os
import subprocess
import sys

import pytest

from seatrial.engine import dispatch
from seatrial.engine.dispatch import PLACE, RANK_VARIABLES, inodes_of, only_in, place_here, places_said
from seatrial.engine.failed_call import FailedCall, failed_calls
from seatrial.engine.node_program import module_argv
from seatrial.job.directory import rundir
from transcript import transcripts


def become(folder, **ranks):
    """Starts one of three ranks with these variables of launchers; the output of its process is in the folder."""
    argvs = folder / 'argvs.json'
    argvs.write_text(json.dumps([['/bin/echo', f'rank {rank}'] for rank in range(3)]))
    argv = module_argv(sys.executable, 'seatrial.engine.dispatch', (str(argvs), str(folder / 'raw')))
    return run_as(argv, folder, ranks)


def run_as(argv, folder, ranks):
    """Run a program with these variables of launchers and no others."""
    environment = {name: value for name, value in os.environ.items() if name not in RANK_VARIABLES}
    return subprocess.run(argv, env={**environment, **ranks}, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize('variable', RANK_VARIABLES)
def test_each_launchers_variable_tells_the_rank_before_that_of_the_step_of_srun(tmp_path, variable):
    become(tmp_path, **{'SLURM_PROCID': '0', variable: '2'})
    assert [path.name for path in tmp_path.glob('raw.*.out')] == ['raw.2.out']
    assert (tmp_path / 'raw.2.out').read_text() == f'{place_here(2).line}rank 2\n'


def test_a_missing_rank_is_reported(tmp_path):
    done = become(tmp_path)
    assert done.returncode == dispatch.NO_RANK
    assert done.stderr.startswith('seatrial: the launcher sets no rank: none of OMPI_COMM_WORLD_RANK')


def test_the_marker_of_the_run_above_it_is_compared_too(tmp_path):
    (tmp_path / 'data').mkdir()
    marker = tmp_path / rundir.MARKER
    marker.touch()
    where = os.open(tmp_path / 'data', os.O_RDONLY)
    inodes = inodes_of(where)
    os.close(where)
    assert inodes == f'{os.stat(tmp_path / "data").st_ino} {os.stat(marker).st_ino}'
    assert become(tmp_path / 'data', PMI_RANK='1', **{PLACE: inodes}).returncode == 0
    marker.rename(tmp_path / 'another')
    marker.touch()
    assert become(tmp_path / 'data', PMI_RANK='1', **{PLACE: inodes}).returncode == dispatch.NOT_THERE


def say(folder, **ranks):
    """The output of a program that a launcher starts directly, behind a shell that reports its place."""
    where = os.open(folder, os.O_RDONLY)
    argv = only_in(inodes_of(where), ('echo', 'a row of figures'))
    os.close(where)
    return run_as(argv, folder, ranks).stdout


@pytest.mark.parametrize('variable', RANK_VARIABLES)
def test_each_rank_reports_its_place_before_it_becomes_the_program(tmp_path, variable):
    assert say(tmp_path, **{'SLURM_PROCID': '0', variable: '3'}) == f'{place_here(3).line}a row of figures\n'


def test_a_rank_reports_the_cores_that_it_may_use(tmp_path):
    allowed = os.sched_getaffinity(0)
    core = max(allowed)
    os.sched_setaffinity(0, {core})
    try:
        assert say(tmp_path, PMI_RANK='1') == f'seatrial-rank 1 {os.uname().nodename} {core}\na row of figures\n'
    finally:
        os.sched_setaffinity(0, allowed)


def test_the_reports_of_the_ranks_are_taken_out_of_the_output_of_the_program():
    printed = 'seatrial-rank 1 n2 4-7\nIOR begins\nseatrial-rank 0 n1.cluster \nWARNING: x\n'
    assert places_said([printed]) == (('IOR begins\nWARNING: x\n',), ((0, 'n1.cluster', ''), (1, 'n2', '4-7')))
    apart = ['seatrial-rank 0 n1 0\n', 'seatrial-rank 1 n1 1\nsaid\n']
    assert places_said(apart) == (('', 'said\n'), ((0, 'n1', '0'), (1, 'n1', '1')))
    incomplete = ('', 'seatrial-rank 1 n1\n', 'seatrial-rank 0 n1\nseatrial-rank 0 n1\n', 'seatrial-rank  n1\n')
    assert {places_said([printed])[1] for printed in incomplete} == {()}


DD = "the dd of task 0 exited with 1: 'dd: "
FIO = "fio exited with 1: 'fio: io_u error on file data.1: "
MDTEST = 'mdtest exited with 1: \'ERROR: open64("/s/f.2", 66, 0664) failed. Error: No space left on device, (a.c)\''
SYNC = 'a failed fsync'
IOR = "IOR exited with 6: 'WARNING: write(27, 0x7fadafb78000, 622592) failed No space left on device'"


@pytest.mark.parametrize(
    ('sentence', 'call'),
    [
        (FIO + "Input/output error: sync offset=196608, buflen=65536'", ('EIO', True, '', 'data.1', 196608, True)),
        (f"task 1 on n2: {FIO}Stale file handle: read offset=0'", ('ESTALE', True, 'n2', 'data.1', 0)),
        (f"{DD}fsync failed for 'a': Input/output error'", ('EIO', True, '', 'a', None, True)),
        (f"{DD}error writing 'a': Disk quota exceeded'", ('EDQUOT', True, '', 'a')),
        (IOR, ('ENOSPC', True)),
        (MDTEST, ('ENOSPC', False, '', '/s/f.2')),
        ('task 1 on n2: close: Input/output error', ('EIO', True, 'n2')),
        ('task 1 on n2: create: Remote I/O error: calls.1/f.1.0', ('EREMOTEIO', False, 'n2', 'calls.1/f.1.0')),
        ('fio exited with 1; task 0: No space left on device', ('ENOSPC', False)),
        ("IOR exited with 0 and said 'WARNING: fsync(28) failed'", (SYNC, True, '', '', None, True)),
        (FIO + "Invalid argument: datasync offset=0, buflen=65536'", ('EINVAL', True, '', 'data.1', 0, True)),
        ("Bonnie++ exited with 0: 'Can't sync file.'", (SYNC, True, '', '', None, True)),
        (f"{DD}fsync failed for 'a': Disk quota exceeded", ('EDQUOT', True, '', 'a', None, True)),
        ('fio exited with 1; task 0, file data.0: Input/output error', ('EIO', False, '', 'data.0')),
        (FIO + "No such file or directory: read offset=4096, buflen=65536'", ('ENOENT', True, '', 'data.1', 4096)),
        (f"{DD}error reading 'a': Host is down'", ('EHOSTDOWN', True, '', 'a')),
        (f"{DD}failed to open 'a': No such file or directory'", ('ENOENT', False, '', 'a')),
        (IOR.replace('write', 'read').replace('No space left on device', 'Stale file handle'), ('ESTALE', True)),
        ('task 1 on n2: read: No such file or directory', ('ENOENT', True, 'n2')),
        ('task 1 on n2: stat: No such file or directory: f.1', ('ENOENT', False, 'n2', 'f.1')),
        (
            f'task 0 on n1: {FIO.replace("fio: ", "srun: error: connect io: No route to host / fio: ")}'
            "Stale file handle: read offset=0'",
            ('ESTALE', True, 'n1', 'data.1', 0),
        ),
        ("fio: pid=0, err=111/file:filesetup.c:455, func=fstat, error=Connection refused'", ('ECONNREFUSED', False)),
    ],
)
def test_a_call_that_the_storage_failed_is_known_by_its_error(sentence, call):
    assert list(failed_calls(sentence)) == [FailedCall(*call)]


@pytest.mark.parametrize(
    ('tool', 'name', 'section', 'error'),
    [
        ('fio', 'no-space', 'err', 'ENOSPC'),
        ('dd', 'no-space', '0.err', 'ENOSPC'),
        ('ior', 'fail-enospc', 'out', 'ENOSPC'),
        ('mdtest', 'fail-enospc', 'out', 'ENOSPC'),
        ('mdtest', 'fail-inodes', 'out', 'ENOSPC'),
        ('lustre', '31_degraded', None, 'EIO'),
    ],
)
def test_the_form_of_every_engine_is_known_in_genuine_outputs(tool, name, section, error):
    sections = transcripts(tool)[name]
    output = sections[section] if section else next(text for text in sections.values() if 'dd: fsync failed' in text)
    assert next(failed_calls(output)).errno == error


@pytest.mark.parametrize(
    'sentence',
    [
        'fio died of signal 11',
        "fio exited with 1: 'fio: pid=7, err=5/file:io_u.c:2215, func=full resid, error=Input/output error'",
        'task 0: Input/output error, which fio also says of a file that is too short',
        "IOR exited with 1: 'srun: error: slurm_receive_msg: Transport endpoint is not connected'",
        "fio left no JSON: 'Input/output error'",
        'task 1 on n2: the barrier at 10.0.0.1:5000 cannot be joined: Connection refused',
        "the dd of task 1 exited with 75: 'seatrial: task 1 did not start dd: the coordinator is gone: Broken pipe'",
        "task 0 on n1: fio exited with 1: 'srun: error: _server_read: fd 18: Connection reset by peer'",
        "task 0 on n1: fio exited with 1: '[proxy:0@n2] HYDU_sock_write: write error: Connection reset by peer'",
    ],
)
def test_what_is_not_the_storages_fault_is_left_to_the_engine(sentence):
    assert not list(failed_calls(sentence))
