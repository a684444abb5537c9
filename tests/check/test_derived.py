"""A check from a Darshan log: the facts that are kept, the losses that are named, and refusals."""

import functools
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.check.declared import load as load_checks
from seatrial.check.derived import Underivable, ageing_text, check_text, file_sizes, shape_of, trial_text
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import Session
from seatrial.judge.issued import ALL, DarshanLog, Record, Unreplayed
from seatrial.model.units import KIB, MIB
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.workload.access import data_access

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'darshan'
SITE = """
version: 1
state: state
file_systems:
  scratch: {type: posix, path: state/trials, limits: {bytes: 1GiB, inodes: 1000}, records_on_target: true}
partitions:
  local:default: {launcher: local, tasks_per_node: 2}
trials:
"""


def log_of(name):
    kept = json.loads((TRANSCRIPTS / f'{name}.json').read_text())
    return DarshanLog(kept['version'], kept['processes'], kept['partial'], tuple(Record(*r) for r in kept['records']))


def written(name, rank, size, tasks=1, **counters):
    """The record of a file in which every task has written one segment, in 4 transfers."""
    calls = 4 * tasks
    usual = {
        'POSIX_WRITES': calls,
        'POSIX_BYTES_WRITTEN': size,
        'POSIX_MAX_BYTE_WRITTEN': size - 1,
        'POSIX_SEQ_WRITES': calls - 1,
        'POSIX_CONSEC_WRITES': calls - tasks,
        'POSIX_ACCESS1_ACCESS': size // calls,
        'POSIX_ACCESS1_COUNT': calls,
        f'POSIX_SIZE_WRITE_{"100K_1M" if size // calls > 100 * KIB else "10K_100K"}': calls,
    }
    return Record('POSIX', name, rank, {**usual, **counters})


def shared(processes=4, partial=False, **counters):
    """A log of one file that all processes wrote in segments of 256 KiB."""
    record = written('/home/alice/f', ALL, processes * 256 * KIB, processes, **counters)
    return DarshanLog('3.4.7', processes, partial, (record,))


def private(rank, name, size=MIB):
    return written(name, rank, size)


of_ior = functools.partial(data_access, transfer_size='256KiB', bytes_per_task='8MiB', tasks=2)
STRIDED = of_ior('single', 'segment', 'strided')
COLLECTIVE = STRIDED.changed(bytes_per_task=4 * MIB, interface='mpiio', collective=True)


@pytest.mark.parametrize(
    ('name', 'files', 'workload'),
    [
        ('mfwa', 2, of_ior('multiple')),
        ('sfsa-contiguous', 1, of_ior('single', 'segment')),
        ('sfsa-strided', 1, STRIDED),
        ('random', 1, of_ior('single', 'segment', 'random', transfer_size='64KiB')),
        ('sfsa-mpiio-collective', 1, COLLECTIVE),
    ],
)
def test_a_known_run_gives_back_its_workload(name, files, workload):
    shape = shape_of(log_of(name))
    assert (shape.point, shape.files, shape.remarks) == (workload, files, ())
    assert shape_of(log_of(name), 'read').point.phases == ('read',)


def with_buffered(log, *unreplayed):
    return replace(log, unreplayed=tuple(Unreplayed(*entry) for entry in unreplayed))


@pytest.mark.parametrize(
    ('log', 'words'),
    [
        (shared(partial=True), 'marks the log as partial'),
        (with_buffered(shared(), ('STDIO', MIB, 0)), '1 MiB more (50.0 % of all) went through STDIO and are left'),
        (with_buffered(shared(), ('STDIO', 9, 0, True)), 'left out; Darshan marks them as partial'),
        (DarshanLog('', 4, False, (*shared().records, private(0, '/b', 256 * KIB))), '80 % of its bytes; 1 other'),
        (DarshanLog('', 2, False, tuple(private(n % 2, f'/f{n}') for n in range(6))), 'Its 2 tasks had 6 files'),
        (DarshanLog('', 2, False, tuple(private(n // 2, f'/f{n}') for n in range(3))), 'One of its tasks moved 2'),
        (shared(POSIX_BYTES_WRITTEN=MIB + 100), 'It moved write 1048676 B; here every task moves 256KiB'),
        (shared(POSIX_FILE_ALIGNMENT=4096, POSIX_FILE_NOT_ALIGNED=8), '50 % of its transfers began off'),
    ],
)
def test_in_what_the_replay_is_not_the_application(log, words):
    shape = shape_of(log)
    assert words in ' '.join(shape.remarks)
    assert all(f'# {remark}' in check_text(shape, 'Replayed') for remark in shape.remarks)


@pytest.mark.parametrize(
    ('log', 'operation', 'words'),
    [
        (log_of('mdtest'), None, 'the log shows no bytes moved'),
        (log_of('sfwa-read'), 'write', 'by a write'),
        (shared(POSIX_CONSEC_WRITES=6), None, 'no one order that data access has: write: 50 % begin right behind'),
        (shared(POSIX_MAX_BYTE_WRITTEN=MIB // 4 - 1), None, 'over each other'),
        (shared(POSIX_MAX_BYTE_WRITTEN=MIB * 10 // 15), None, 'neither one part nor the whole'),
        (shared(POSIX_CONSEC_WRITES=0), None, 'by no one stride: 0 of 12 steps are alike'),
        (DarshanLog('', 2, False, tuple(private(0, f'/{n}', n * KIB) for n in (256, 240, 224))), None, 'half of its'),
        (with_buffered(DarshanLog('', 1, False, ()), ('DFS', MIB, MIB)), None, 'that can be replayed: DFS 2 MiB'),
        (with_buffered(DarshanLog('', 1, False, ()), ('STDIO', MIB, 0)), 'read', 'no bytes moved by a read'),
        (with_buffered(DarshanLog('', 1, False, ()), ('HEATMAP', 9, 0)), None, 'HEATMAP 9 B'),
    ],
)
def test_what_no_check_replays_is_refused_with_the_reason(log, operation, words):
    with pytest.raises(Underivable, match=words):
        shape_of(log, operation)


@pytest.fixture
def derived(tmp_path, repository):
    """The check and the case that the texts of a log come to on a site."""

    def make(log, launcher='local'):
        shape, site_text = shape_of(log), SITE.replace('launcher: local', f'launcher: {launcher}')
        folder = tmp_path / 'site'
        folder.mkdir()
        shutil.copy(repository / 'site-config' / 'local' / 'settings.py', folder)
        any_trial = '  - {checks: ["*"], partitions: [local:default], file_systems: [scratch], nodes: [1]}\n'
        (folder / 'trial.yaml').write_text(site_text + any_trial)
        entry = trial_text(shape, 'Replayed', load_site(folder))
        (folder / 'trial.yaml').write_text(site_text + entry)
        (tmp_path / 'checks').mkdir()
        (tmp_path / 'checks' / 'replayed.py').write_text(check_text(shape, 'Replayed'))
        (check,) = load_checks(tmp_path / 'checks').values()
        site = load_site(folder)
        session = Session('s', tmp_path, site, PROFILES['smoke'], site.engine_choices())
        (case,) = cases_of(session, check)
        return check, plan_of(session, check, case)

    return make


@pytest.mark.parametrize('name', ['mfwa', 'sfsa-strided', 'random', 'sfsa-mpiio-collective', 'sfwa-read'])
def test_the_check_and_its_entry_plan_what_the_application_did(derived, name):
    meant, (check, plan) = shape_of(log_of(name)).point, derived(log_of(name))
    (point,) = plan.points
    assert point == meant._replace(nodes=1, tasks_per_node=2, label=point.label, at=point.at)
    assert (plan.sizing.pinned, check.workload.phases) == (meant.data.bytes_per_task, meant.phases)


def test_tasks_are_spread_evenly_over_the_fewest_nodes(derived):
    _, plan = derived(shared(processes=6), launcher='hydra')
    assert (plan.points[0].nodes, plan.points[0].tasks_per_node) == (3, 2)


def test_tasks_that_no_partition_holds_are_refused(derived):
    with pytest.raises(Underivable, match='no partition of .* holds its 6 tasks'):
        derived(shared(processes=6))


@pytest.mark.parametrize('name', ['mfwa', 'sfsa-mpiio-collective'])
def test_a_derived_check_is_as_the_house_writes_them(repository, name):
    ruff = shutil.which('ruff', path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip('ruff is not installed')
    text, config = check_text(shape_of(log_of(name)), 'Replayed'), f'--config={repository / "pyproject.toml"}'
    for argv in (['check', '--ignore=F821'], ['format', '--check']):
        done = subprocess.run([ruff, *argv, config, '-'], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def sized(*sizes):
    """A log of files of which so many bytes were written."""
    return DarshanLog('', 1, False, tuple(private(0, f'/f{size}', size) for size in sizes))


def test_a_file_is_as_large_as_its_last_byte_that_was_written_else_read():
    read = {'POSIX_BYTES_READ': 10, 'POSIX_MAX_BYTE_READ': 9999}
    one = Record('POSIX', '/one', 0, {'POSIX_BYTES_WRITTEN': 1})  # whose last byte is at 0, which no log has
    counters = {'POSIX_BYTES_WRITTEN': 5, **read}
    both = [Record('POSIX', '/both', rank, {**counters, 'POSIX_MAX_BYTE_WRITTEN': 4 + rank}) for rank in range(2)]
    opened = Record('POSIX', '/opened', 0, {'POSIX_OPENS': 1})
    other = Record('MPI-IO', '/both', 0, {'MPIIO_BYTES_WRITTEN': 77})
    log = DarshanLog('', 2, False, (one, *both, Record('POSIX', '/read', 0, read), opened, other))
    assert file_sizes([log]) == (1, 6, 10_000)
    with pytest.raises(Underivable, match='no file was written or read'):
        file_sizes([DarshanLog('', 1, False, (opened,))])


def test_sizes_of_many_files_are_represented_by_a_hundred_and_limited_as_in_the_source():
    assert file_sizes([sized(*range(1, 501)), sized(*range(501, 1001))]) == tuple(range(6, 1001, 10))
    assert file_sizes([sized(1, 9 * MIB)]) == (1, 8 * MIB)


def test_an_ageing_is_a_check_that_loads_with_its_sizes(tmp_path):
    (tmp_path / 'aged.py').write_text(ageing_text(tuple(range(1, 101)), 'Aged'))
    (check,) = load_checks(tmp_path).values()
    assert check.name == 'Aged' and check.workload.fill.sizes == tuple(range(1, 101))
