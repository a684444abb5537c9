"""`seatrial derive`: from a log to a check file and its entry, or one line of why not."""

import ast
import contextlib
import io
import json
from pathlib import Path

import pytest

from darshan_edit import edited
from seatrial.check.darshan import dump, logs
from seatrial.job.sequence.darshan import FOLDER, PLACE
from seatrial.model.units import KIB, MIB

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'darshan'
STRIDED = TRANSCRIPTS / 'sfsa-strided.darshan'


@pytest.fixture
def derive_apart(command, site):
    """Run `seatrial derive` on the small site; a log is read in a process of its own."""
    return lambda *arguments: command('derive', f'--site={site.folder}', *arguments)


@pytest.fixture
def derive(derive_apart, monkeypatch):
    """The same, but whole logs are read in this process, which imports PyDarshan once for all tests."""

    def read_here(argv, limit_s):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = dump.main(argv[3:])
        return status, out.getvalue(), err.getvalue()

    monkeypatch.setattr(logs, '_run', read_here)
    return derive_apart


@pytest.fixture
def pydarshan():
    return pytest.importorskip('darshan', reason='PyDarshan is not installed')


@pytest.mark.usefixtures('pydarshan')
def test_the_check_goes_into_a_new_file_and_the_entry_to_the_terminal(derive_apart, tmp_path):
    file = tmp_path / 'derived' / 'climate.py'
    done = derive_apart(str(STRIDED), '--name=Climate', f'--output={file}')
    assert done.status == 0, done.err
    classes = [node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
    assert classes == ['Climate'] and "order='strided'" in file.read_text()
    assert '  - checks: [Climate]' in done.out and 'bytes_per_task: 8MiB' in done.out
    again = derive_apart(str(STRIDED), f'--output={file}')
    assert again.status == 64 and 'File exists' in again.err


@pytest.mark.usefixtures('pydarshan')
def test_without_a_file_both_go_to_the_terminal_and_no_name_of_the_run_does(derive):
    done = derive(str(STRIDED), '--operation=read')
    assert 'class ReplayedApplication(' in done.out and "operations=('read',)" in done.out
    assert not any(word in done.out for word in ('scratch/trial', '/opt/ior', 'ior -a'))


@pytest.mark.usefixtures('pydarshan')
@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'no log\n', 'it is not a Darshan 3 log, or a damaged one'),
        (STRIDED.read_bytes()[:-30], 'it is not a Darshan 3 log, or a damaged one'),
        ((TRANSCRIPTS / 'mdtest.darshan').read_bytes(), 'the log shows no bytes moved'),
        (None, 'No such file'),
    ],
)
def test_what_cannot_be_derived_is_one_line(derive_apart, tmp_path, content, words):
    if content is not None:
        (tmp_path / 'x.darshan').write_bytes(content)
    done = derive_apart(str(tmp_path / 'x.darshan'))
    assert (done.status, done.out) == (64, '')
    assert words in done.err and str(tmp_path / 'x.darshan') in done.err and done.err.count('\n') == 1


@pytest.mark.parametrize('name', ['climate', 'Cli mate', '1A', 'A' * 41, 'A_B', ''])
def test_a_name_that_no_check_can_have_is_refused(derive, name):
    done = derive(str(STRIDED), f'--name={name}')
    assert done.status == 64 and 'is no name of a check' in done.err


@pytest.mark.usefixtures('pydarshan')
def test_logs_of_many_programs_become_one_ageing_which_is_not_called_a_replay(derive):
    done = derive('--ageing', *map(str, sorted(TRANSCRIPTS.glob('sfsa-*.darshan'))))
    assert done.status == 0 and 'workload = ageing(' in done.out
    assert 'class AgedAsLogs(' in done.out and 'Replayed' not in done.out


@pytest.mark.parametrize('more', [(str(STRIDED),), ('--ageing', '--operation=read'), ('--ageing', '--mount=/')])
def test_what_is_of_a_replay_and_what_of_an_ageing_is_not_mixed(derive, more):
    assert derive(str(STRIDED), *more).status == 64


# Logs that cannot be true, and what they are refused with: both counters by their names

CONTIGUOUS, COLLECTIVE = 'sfsa-contiguous', 'sfsa-mpiio-collective'
INDEPENDENT = {'COLL_READS': 0, 'INDEP_READS': 32, 'BYTES_READ': 32 * MIB, 'COLL_WRITES': 0, 'INDEP_WRITES': 32}


@pytest.mark.parametrize(
    ('source', 'module', 'counters', 'words'),
    [
        (CONTIGUOUS, 'POSIX', {'BYTES_WRITTEN': -(2**40)}, 'WRITTEN is -1099511627776, beside POSIX_READS 64'),
        (CONTIGUOUS, 'POSIX', {'BYTES_WRITTEN': 395040}, 'WRITTEN is 395040, and the calls in POSIX_SIZE_WRITE_*'),
        (CONTIGUOUS, 'POSIX', {'WRITES': 65}, 'POSIX counts 65 WRITES, and POSIX_SIZE_WRITE_* 64'),
        (CONTIGUOUS, 'POSIX', {'MAX_BYTE_WRITTEN': 9}, 'MAX_BYTE_WRITTEN is 9, and a call in POSIX_SIZE_WRITE_*'),
        (CONTIGUOUS, 'POSIX', {'ACCESS1_COUNT': 999}, 'POSIX_ACCESS1_COUNT is 999, and POSIX_SIZE_*_100K_1M has 128'),
        (CONTIGUOUS, 'POSIX', {'CONSEC_READS': 64}, 'POSIX_CONSEC_READS is 64, and POSIX_SEQ_READS is 63'),
        (CONTIGUOUS, 'POSIX', {'SEQ_READS': 65}, 'POSIX_SEQ_READS is 65, and POSIX_READS is 64'),
        (CONTIGUOUS, 'POSIX', {'SLOWEST_RANK_BYTES': 2**40}, 'SLOWEST_RANK_BYTES is 1099511627776, more than'),
        (COLLECTIVE, 'MPI-IO', {'BYTES_WRITTEN': -5}, 'MPIIO_BYTES_WRITTEN is -5, beside'),
        (COLLECTIVE, 'MPI-IO', {'BYTES_READ': 10}, 'MPIIO_BYTES_READ is 10, and the calls in MPIIO_SIZE_READ_*'),
        (COLLECTIVE, 'MPI-IO', INDEPENDENT, 'MPIIO_BYTES_READ is 33554432, and POSIX_BYTES_READ of the same file 8'),
    ],
)
@pytest.mark.slow
def test_contradicting_counters_are_refused_by_their_names(derive, tmp_path, source, module, counters, words):
    prefix = {'POSIX': 'POSIX', 'MPI-IO': 'MPIIO'}[module]
    changes = {f'{prefix}_{name}': value for name, value in counters.items()}
    done = derive(str(edited(source, tmp_path / 'x.darshan', {module: changes})))
    assert done.status == 64 and 'its counters contradict each other: ' in done.err and words in done.err


def posix(text):
    """The counters of POSIX that this text has: 'READS 64, BYTES_READ 8192'."""
    pairs = (pair.split() for pair in text.split(', '))
    return {f'POSIX_{name}': int(value) for name, value in pairs}


HEADERS = posix(
    f'WRITES 364, SIZE_WRITE_100_1K 300, BYTES_WRITTEN {16 * MIB + 153600}, MAX_BYTE_WRITTEN {16 * MIB + 153599}, '
    f'CONSEC_WRITES 362, SEQ_WRITES 363, ACCESS1_ACCESS 512, ACCESS1_COUNT 300, ACCESS2_ACCESS {256 * KIB}, '
    'ACCESS2_COUNT 128'
)
SMALL_READS = posix(
    f'READS 2048, SIZE_READ_100K_1M 0, SIZE_READ_1K_10K 2048, BYTES_READ {8 * MIB}, CONSEC_READS 2047, '
    f'SEQ_READS 2047, FILE_NOT_ALIGNED 48, ACCESS1_ACCESS {4 * KIB}, ACCESS1_COUNT 2048, '
    f'ACCESS2_ACCESS {256 * KIB}, ACCESS2_COUNT 32'
)


def reads(times, following, forward=None):
    """Counters of each of two tasks that reads its file of 32 transfers of 256 KiB so often."""
    number = 32 * times
    counts = f'READS {number}, SIZE_READ_100K_1M {number}, BYTES_READ {number * 256 * KIB}, CONSEC_READS {following}'
    return posix(f'{counts}, SEQ_READS {following if forward is None else forward}, ACCESS1_COUNT {number + 32}')


MILLION = 'READS 1000000, SIZE_READ_0_100 1000000, BYTES_READ 1000000, ACCESS1_COUNT 1000000'
ONE_BYTE = {**reads(0, 0), **posix(f'{MILLION}, MAX_BYTE_READ 0, ACCESS1_ACCESS 1')}


@pytest.mark.parametrize(
    ('source', 'counters', 'operation', 'words'),
    [
        (CONTIGUOUS, HEADERS, 'write', "256KiB, which move 99 % of its bytes|'transfer_size', (262144,)"),
        ('mfwa', SMALL_READS, 'write', "'transfer_size', (262144,)"),
        ('mfwa', SMALL_READS, 'read', "'transfer_size', (4096,)"),
        ('mfwa', reads(5, 155), 'read', "order='contiguous'|bytes_per_task='8MiB'|passes=5"),
        ('mfwa', reads(5, 0, 80), 'read', "order='random'|bytes_per_task='8MiB'|passes=5"),
        ('mfwa', ONE_BYTE, 'read', "bytes_per_task='1B'|passes=1000000"),
    ],
)
def test_sizes_are_weighed_by_bytes_and_rereading_is_no_growth(derive, tmp_path, source, counters, operation, words):
    done = derive(str(edited(source, tmp_path / 'x.darshan', {'POSIX': counters})), f'--operation={operation}')
    assert done.status == 0, done.err
    assert all(word in done.out for word in words.split('|'))
    assert 'began off multiples' not in done.out


@pytest.mark.parametrize(
    ('counters', 'operation', 'words'),
    [
        (SMALL_READS, None, 'several patterns (write 256KiB contiguous, whole 1 times; read 4KiB contiguous, whole'),
        ({**reads(3, 60), 'POSIX_MAX_BYTE_READ': 40 * 256 * KIB - 1}, 'read', 'no whole number of times'),
        ({'POSIX_ACCESS1_COUNT': 96 - 48}, 'write', 'no size of its transfers moves 90 % of the bytes of its writes'),
        ({'rank': 7}, None, 'a record is of rank 7, and nprocs is 2'),
    ],
)
def test_what_shows_no_one_pattern_is_refused(derive, tmp_path, counters, operation, words):
    log = edited('mfwa', tmp_path / 'x.darshan', {'POSIX': counters})
    done = derive(str(log), *([f'--operation={operation}'] if operation else []))
    assert (done.status, done.out) == (64, '') and words in done.err


OF_DAOS = {'POSIX': {}, 'HEATMAP': {}, 'DFS': {'DFS_BYTES_WRITTEN': 3 * MIB}}


@pytest.mark.parametrize(('source', 'interface'), [('hdf5', 'hdf5'), ('pnetcdf', 'netcdf')])
def test_one_clear_pattern_of_a_library_is_replayed_through_it(derive, pydarshan, source, interface):
    done = derive(str(TRANSCRIPTS / f'{source}.darshan'), '--operation=write')
    assert done.status == 0, done.err
    assert f"interface='{interface}'" in done.out and "'transfer_size', (262144,)" in done.out


@pytest.mark.parametrize(
    ('source', 'counters', 'words'),
    [
        ('hdf5', {'H5D': {'H5D_BYTES_WRITTEN': 3 * MIB, 'H5D_WRITES': 12}}, 'its transfers have no one order'),
        ('mfwa', OF_DAOS, 'that can be replayed: DFS 3 MiB'),
    ],
)
def test_bytes_that_no_pattern_explains_are_named_and_refused(derive, tmp_path, source, counters, words):
    done = derive(str(edited(source, tmp_path / 'x.darshan', counters)), '--operation=write')
    assert done.status == 64 and words in done.err


FIRST, SECOND = '/scratch/trial/f3.00000000', '/scratch/trial/f3.00000001'
LOCAL, NFS, LUSTRE = ('ext4', '/'), ('nfs', '/home'), ('lustre', '/scratch')


@pytest.mark.parametrize(
    ('mounts', 'options', 'words'),
    [
        ([LOCAL, NFS], (), '# 16 MiB on / ext4: left out, as no part of the file system that is replayed.'),
        ([LOCAL, NFS], ('--mount=/',), '# 16 MiB on /home nfs: left out'),
        ([LOCAL, NFS, LUSTRE], ('--mount=/scratch',), '# 16 MiB on /home nfs: left out'),
        ([LOCAL, NFS, LUSTRE], (), 'several file systems (16 MiB on /home nfs, 16 MiB on /scratch lustre); choose'),
        ([LOCAL, NFS], ('--mount=/gone',), 'no bytes moved on the mount /gone; it shows 16 MiB on /home nfs'),
    ],
)
def test_one_file_system_is_replayed_and_a_nodes_own_disk_is_left_out(derive, tmp_path, mounts, options, words):
    log = edited('mfwa', tmp_path / 'x.darshan', mounts=mounts, names={FIRST: '/home/alice/f'})
    done = derive(str(log), *options)
    assert words in done.out + done.err
    assert (done.status == 0) == words.startswith('#')


@pytest.mark.parametrize(
    ('source', 'replay', 'status', 'words'),
    [
        *((name, name, 0, 'same') for name in ('mfwa', CONTIGUOUS, 'sfsa-strided', 'hdf5', 'pnetcdf')),
        (CONTIGUOUS, 'sfsa-strided', 10, 'differs'),
    ],
)
def test_a_replay_is_compared_with_its_application(derive, pydarshan, tmp_path, source, replay, status, words):
    folder = tmp_path / 'raw' / f'0001-write{FOLDER}'
    folder.mkdir(parents=True)
    (folder / PLACE).write_text(json.dumps({'directory': '/scratch/trial', 'links': {}}))
    (folder / 'ior.darshan').write_bytes((TRANSCRIPTS / f'{replay}.darshan').read_bytes())
    done = derive(str(TRANSCRIPTS / f'{source}.darshan'), '--operation=write', f'--check={tmp_path}')
    assert (done.status, words in done.out) == (status, True), done.out + done.err
    assert ('differs' in done.out) == (status == 10)


def test_without_a_replay_under_darshan_nothing_is_compared(derive, tmp_path):
    done = derive(str(STRIDED), f'--check={tmp_path}')
    assert done.status == 64 and 'has no log of a launch under Darshan; name its library in trial.yaml' in done.err
