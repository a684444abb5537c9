"""posixops at work: real tasks on the disk of the test, from the source tree and from the runner's zipapp."""

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

import pytest

import seatrial
from measuring import Disk, point
from seatrial.check.staging import write_runner
from seatrial.engine.base import EngineError
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.integrity import WAYS_TO_WRITE
from seatrial.engine.posixops.interactive import _archive, _import, unpack
from seatrial.engine.posixops.listing import directory_of
from seatrial.engine.posixops.semantics import GUARANTEES
from seatrial.model.units import KIB
from seatrial.workload.base import Entries
from seatrial.workload.contention import contention
from seatrial.workload.interactive import STEPS, TREES, entries_of, interactive_use
from seatrial.workload.listing import listing, listing_metrics
from seatrial.workload.operations import FILEOP, posix_operations
from seatrial.workload.registry import metrics_of
from seatrial.workload.semantics import posix_integrity, posix_semantics
from seatrial.workload.tree import FIND, PHASES, metadata_tree, operations

pytestmark = pytest.mark.slow

SHARED = metadata_tree(PHASES, 2, 3, files_per_directory=3, empties_per_directory=2, bytes_per_file=3901)
PRIVATE = SHARED.changed(subtrees='private')
WIDE = metadata_tree(PHASES, 1, 100, files_per_directory=1, subtrees='private')
FILES = metadata_tree(files_per_directory=20, bytes_per_file=100, subtrees='private')
OPERATIONS = posix_operations(20, 100, 'private')
INTERACTIVE = interactive_use(1, 3, 5, 3000)


def listed(pauses_s=(), number=891, label='label'):
    return point(listing(number, pauses_s), 1, label)


def in_long_runs(*values):
    """Values of a parametrised test that are tried in long runs only; its other values are tried in every run."""
    return pytest.param(*values, marks=pytest.mark.long)


@pytest.fixture(
    scope='module',
    params=[SHARED, PRIVATE, in_long_runs(WIDE), in_long_runs(FILES)],
    ids=['shared', 'private', 'wide', 'flat'],
)
def phases(request, tmp_path_factory):
    """All phases of a tree: the phase, its measurement, the reports of the tasks, and the entries after it."""
    disk, seen = Disk(tmp_path_factory.mktemp('tree')), []
    for phase in PHASES:
        measured = disk.launch(phase, point(request.param))
        seen.append((phase, measured, [json.loads(line) for line in disk.outcome.stdouts], disk.entries()))
    return request.param, seen


class TestATree:
    def test_after_every_phase_the_planned_entries_exist_and_its_metrics_are_those_of_the_tree(self, phases):
        tree, seen = phases
        for phase, measured, _, left in seen:
            assert left == PosixOps().entries(point(tree), phase)
            assert {metric.name: metric.operations for metric in measured.metrics} == operations(tree, phase, 2)

    def test_a_rate_is_from_the_first_start_to_the_last_end(self, phases):
        for _, measured, reports, _ in phases[1]:
            for metric in measured.metrics:
                spans = [span for report in reports for span in report['timed'][metric.name]['spans']]
                assert metric.seconds == max(span['end_s'] for span in spans) - min(span['start_s'] for span in spans)
                assert all(0 < task_s <= metric.seconds for task_s in metric.task_seconds)


class TestWhatATreeHolds:
    def test_every_task_has_its_files_in_every_directory(self, disk):
        measured = disk.launch('create', point(SHARED, tasks=3))
        assert (measured.world_size, measured.hosts) == (3, (os.uname().nodename,))
        assert {path.stat().st_size for path in disk.files()} == {3901}
        for path, _, files in disk.walk():
            if not Path(path).name.startswith('e.'):
                assert Counter(name.split('.')[1] for name in files) == {'0': 3, '1': 3, '2': 3}

    def test_the_bytes_do_not_compress_and_differ_in_every_file_and_launch(self, disk):
        files, at = [], point(FILES.changed(bytes_per_file=64 * KIB))
        for _ in range(2):
            disk.launch('create', at)
            files += [path.read_bytes() for path in disk.files()]
            disk.launch('remove', at)
        assert len({file[at : at + 512] for file in files for at in range(0, 64 * KIB, 512)}) == 2 * 40 * 128
        assert len(zlib.compress(b''.join(files[:8]))) > 8 * 64 * KIB

    def test_only_the_first_task_makes_the_directories_of_a_shared_tree(self, disk):
        tree_create = disk.launch('create', point(WIDE.changed(subtrees='shared'))).metrics[0]
        assert (tree_create.name, tree_create.operations, tree_create.task_seconds) == ('tree_create', 101, ())

    @pytest.mark.needs('strace')
    @pytest.mark.parametrize(('fsync', 'calls'), [(True, 20), (False, 0)])
    def test_every_file_is_synced_where_it_is_asked_for(self, disk, tmp_path, fsync, calls):
        wrapper = ('strace', '-f', '-e', 'trace=fsync', '-o', str(tmp_path / 'trace'))
        disk.launch('create', point(FILES.changed(fsync=fsync), tasks=1), wrapper=wrapper)
        assert (tmp_path / 'trace').read_text().count('fsync(') == calls


class TestFind:
    """IO500's find: every file is found once, whichever task has made it."""

    @pytest.mark.parametrize('tree', [SHARED, FILES.changed(subtrees='shared'), in_long_runs(WIDE)])
    def test_every_file_is_found_once_by_all_tasks_together(self, disk, tree):
        disk.launch('create', point(tree))
        (metric,) = disk.launch(FIND, point(tree)).metrics
        assert (metric.name, metric.operations) == ('file_find', operations(tree, FIND, 2)['file_find'])

    def test_one_shared_directory_is_listed_by_one_task(self, disk):
        at = point(FILES.changed(subtrees='shared'))
        disk.launch('create', at)
        disk.launch(FIND, at)
        timings = [json.loads(line)['timed']['file_find'] for line in disk.outcome.stdouts]
        assert (timings[0]['operations'], timings[1]['operations'], timings[1]['spans']) == (40, 0, [None])

    def test_a_missing_file_is_noticed(self, disk):
        disk.launch('create', point(FILES))
        disk.files()[0].unlink()
        refused = ('P15', 'file_find: the tasks did 39 operations, not 40')
        assert disk.refused(FIND, point(FILES)) == refused

    def test_a_file_of_another_size_is_named_if_the_search_compares_its_size(self, disk):
        tree = FILES.changed(files_per_directory=102)
        disk.launch('create', point(tree))
        os.truncate(disk.data / 'tree.0' / 'f.0.101', 99)
        rule, sentence = disk.refused(FIND, point(tree))
        assert (rule, sentence.split(': ', 1)[1]) == ('T17', 'tree.0/f.0.101 has 99 B, not 100 B')


class TestATreeThatIsNotAsPlanned:
    @pytest.mark.parametrize('phase', ['stat', in_long_runs('read'), in_long_runs('remove')])
    def test_a_file_that_is_missing(self, disk, phase):
        disk.launch('create', point(FILES))
        (disk.data / 'tree.1' / 'f.1.7').unlink()
        rule, sentence = disk.refused(phase, point(FILES))
        refused = ('T17', f'file_{phase}: No such file or directory: tree.1/f.1.7')
        assert (rule, sentence.split(': ', 1)[1]) == refused

    @pytest.mark.parametrize(
        ('phase', 'words'), [in_long_runs('stat', 'has 99 B, not 100 B'), ('read', 'ends after 99 B of 100 B')]
    )
    def test_a_file_that_is_too_short(self, disk, phase, words):
        disk.launch('create', point(FILES))
        os.truncate(disk.data / 'tree.1' / 'f.1.7', 99)
        rule, sentence = disk.refused(phase, point(FILES))
        assert (rule, sentence.split(': ', 1)[1]) == ('T17', f'tree.1/f.1.7 {words}')

    def test_a_file_that_exists_already(self, disk):
        (disk.data / 'tree.0').mkdir()
        rule, sentence = disk.refused('create', point(FILES))
        assert (rule, sentence.split(': ', 1)[1]) == ('E1', 'tree_create: File exists: tree.0')

    def test_a_directory_with_something_else_in_it_is_not_removed(self, disk):
        disk.launch('create', point(FILES))
        other = disk.data / 'tree.0' / 'other'
        other.write_text('kept')
        rule, sentence = disk.refused('remove', point(FILES))
        assert (rule, sentence.split(': ', 1)[1]) == ('E1', 'tree_remove: Directory not empty: tree.0')
        assert other.read_text() == 'kept'

    def test_the_error_of_a_full_file_system_names_the_file(self, disk):
        limited = ('sh', '-c', 'ulimit -f 1; exec "$@"', 'sh')
        rule, sentence = disk.refused('create', point(FILES.changed(bytes_per_file=64 * KIB)), wrapper=limited)
        assert rule == 'E1' and 'file_create: File too large: tree.' in sentence


def test_a_task_that_is_killed_before_it_has_joined_is_named_and_the_others_give_up(disk, monkeypatch):
    """No runner reports the death to the barrier here: the barrier waits until its time limit."""
    monkeypatch.setattr('seatrial.job.launch.barrier.CHECK_S', 0.05)
    killed = {1: ('sh', '-c', 'kill -9 $$')}
    refused = disk.refused('create', point(FILES), instead=killed, patience_s=2.0)
    assert refused == ('E1', 'task 1 on here died of signal 9')
    assert 'task 1 did not come within' in disk.outcome.stdouts[0]


@pytest.mark.parametrize('subtrees', ['private', 'shared'])
class TestFileop:
    def test_every_operation_is_done_to_every_entry_and_timed_and_nothing_is_left(self, disk, subtrees):
        metrics = disk.launch('fileop', point(OPERATIONS.changed(subtrees=subtrees))).metrics
        assert {metric.name: metric.operations for metric in metrics} == dict.fromkeys(FILEOP, 40)
        assert list(disk.data.iterdir()) == []
        for metric in metrics:
            seconds = list(metric.percentiles_s.values())
            assert list(metric.percentiles_s) == ['p50', 'p95', 'p99']
            assert seconds == sorted(seconds) and 0 < seconds[0] < max(metric.task_seconds)

    @pytest.mark.needs('strace')
    def test_the_kernel_sees_as_many_calls(self, disk, tmp_path, subtrees):
        wrapper = ('strace', '-f', '-o', str(tmp_path / 'trace'))
        disk.launch('fileop', point(OPERATIONS.changed(subtrees=subtrees), tasks=1), wrapper=wrapper)
        trace = (tmp_path / 'trace').read_text().splitlines()
        lines = [line for line in trace if 'calls' in line or '../d.0' in line]
        calls = Counter(line.split('(')[0].split()[1] for line in lines)
        # One more directory is made and removed beside the 20: that of the task.
        assert (calls['mkdir'], calls['rmdir'], calls['chdir']) == (21, 21, 20)
        assert (calls['access'] + calls['faccessat2'], calls['chmod'], calls['link'], calls['rename']) == (20,) * 4
        assert calls['unlink'] == 40  # the links are removed too, untimed


def test_more_files_than_may_be_open_are_done_in_rounds(disk):
    at = point(posix_operations(1030, 1, 'private'), tasks=1)
    metrics = {metric.name: metric for metric in disk.launch('fileop', at).metrics}
    timed = json.loads(disk.outcome.stdouts[0])['timed']
    assert [len(timed[name]['spans']) for name in ('create', 'open', 'write', 'read', 'close')] == [1, 3, 3, 3, 3]
    spans = timed['close']['spans']
    assert metrics['close'].operations == 1030
    assert metrics['close'].seconds == pytest.approx(sum(span['end_s'] - span['start_s'] for span in spans))


class TestAListing:
    @pytest.mark.parametrize('pauses_s', [(), (0.01, 0.02)])
    def test_the_metrics_are_those_of_the_listing(self, disk, pauses_s):
        at = listed(pauses_s)
        (made,) = disk.launch('create', at).metrics
        measured = disk.launch('list', at)
        assert (made.name, made.operations) == ('file_create', 891)
        assert [metric.name for metric in measured.metrics] == list(listing_metrics(pauses_s))
        assert {metric.operations for metric in measured.metrics} == {891}

    def test_several_listings_have_a_directory_each(self, disk):
        ten = [listed(number=10, label=label) for label in ('10 a', '10/b')]
        for at in ten:
            disk.launch('create', at)
        assert disk.entries() == Entries(2, 20, 0)
        assert [disk.launch('list', at).metrics[0].operations for at in ten] == [10, 10]

    @pytest.mark.parametrize('pauses_s', [(), (0.01,)])
    @pytest.mark.parametrize(
        ('change', 'rule'), [(Path.unlink, 'T17'), (lambda path: Path(f'{path}x').touch(), 'P15')]
    )
    def test_other_entries_than_planned(self, disk, pauses_s, change, rule):
        at = listed(pauses_s)
        disk.launch('create', at)
        change(disk.files()[5])
        assert disk.refused('list', at)[0] == rule
        shutil.rmtree(disk.data / directory_of(at))
        assert disk.refused('list', at)[0] == 'T17'

    @pytest.mark.needs('strace')
    def test_no_call_reads_the_directory_before_its_first_listing(self, disk, tmp_path):
        at = listed((0.01,))
        disk.launch('create', at)
        wrapper = ('strace', '-f', '-e', 'trace=%file', '-o', str(tmp_path / 'trace'))
        disk.launch('list', at, wrapper=wrapper)
        lines = [line for line in (tmp_path / 'trace').read_text().splitlines() if '"listing.' in line]
        assert 'O_DIRECTORY' in lines[0]
        assert sum('O_DIRECTORY' in line for line in lines) == 5
        assert sum('/f.0.' in line for line in lines) == 5 * 891


class TestInteractiveUse:
    def test_every_step_handles_what_is_planned_and_leaves_nothing(self, disk):
        metrics = disk.launch('interactive', point(INTERACTIVE)).metrics
        assert [metric.name for metric in metrics] == list(STEPS[TREES])
        assert {metric.name: metric.operations for metric in metrics} == entries_of(point(INTERACTIVE), TREES)
        assert disk.walk() == [] and not list(disk.data.iterdir())

    def test_what_is_unpacked_has_random_data_and_the_modes_of_the_archive(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        packed = _archive(point(INTERACTIVE), 1)
        assert unpack(packed) == 4 + 20
        files = sorted(path for path in tmp_path.rglob('f.*'))
        assert [path.stat().st_size for path in files] == [3000] * 20
        assert len({path.read_bytes() for path in files}) == 20
        assert {oct(path.stat().st_mode & 0o777) for path in files} == {'0o644'}
        assert tmp_path.joinpath('tree.1', 'd2', 'f.1.4') in files

    def test_a_module_that_is_cut_short_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        unpack(_archive(point(INTERACTIVE), 0))
        assert _import('tree.0', 3000) == 20
        os.truncate('tree.0/d1/f.0.2', 2999)
        with pytest.raises(EngineError, match='T17: tree.0/d1/f.0.2 has 2999 B, not 3000 B'):
            _import('tree.0', 3000)


class TestSemantics:
    def test_every_guarantee_is_tried_in_order_and_those_of_every_local_file_system_hold(self, disk):
        measured = disk.launch('probe', point(posix_semantics()))
        assert [fact.name for fact in measured.facts] == [guarantee.name for guarantee in GUARANTEES]
        assert measured.figures == {'holding': sum(fact.holds is True for fact in measured.facts)}
        assert list(disk.data.iterdir()) == []
        of_the_machine = {'permissions', 'sparse_files', 'fallocate', 'xattr', 'direct_io'}
        assert [fact for fact in measured.facts if not fact.holds and fact.name not in of_the_machine] == []

    def test_one_task_tries_what_it_can(self, disk):
        facts = {fact.name: fact for fact in disk.launch('probe', point(posix_semantics(), 1)).facts}
        untried = {name for name, fact in facts.items() if fact.seen == 'one task only'}
        assert untried == {guarantee.name for guarantee in GUARANTEES if guarantee.tasks == 2}
        assert all(facts[name].holds is None for name in untried)
        assert facts['hard_links'].seen == 'the same task saw two names of one file, then one'


@pytest.mark.parametrize('tasks', [1, 3, in_long_runs(2), in_long_runs(4)])
def test_data_that_are_written_in_every_way_are_read_back_and_nothing_is_left(disk, tasks):
    measured = disk.launch('integrity', point(posix_integrity(), tasks))
    assert [fact.name for fact in measured.facts if fact.holds] == [guarantee.name for guarantee in WAYS_TO_WRITE]
    assert measured.figures == {'holding': len(WAYS_TO_WRITE)}
    assert list(disk.data.iterdir()) == []


@pytest.mark.parametrize(('python', 'folder'), [(sys.executable, 'plain'), ('python3.6', 'with n\xe4mes')])
def test_tasks_run_from_the_zipapp_where_seatrial_is_not_installed(disk, tmp_path, monkeypatch, python, folder):
    if shutil.which(python) is None or subprocess.run([python, '-c', 'pass'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f'{python} is not installed')
    (tmp_path / folder).mkdir()
    zipapp = write_runner(tmp_path / folder)
    monkeypatch.setattr(seatrial, '__file__', f'{zipapp}/seatrial/__init__.py')
    disk.raw = tmp_path / folder
    for phase, at in (
        ('create', point(SHARED)),
        ('remove', point(SHARED)),
        ('interactive', point(INTERACTIVE)),
        ('fileop', point(OPERATIONS)),
        ('probe', point(posix_semantics())),
        ('append', point(contention('append', 200, 64))),
        ('create', listed()),
        ('integrity', point(posix_integrity())),
    ):
        names = {metric.name for metric in disk.launch(phase, at, python).metrics}
        assert names == {metric.name for metric in metrics_of(at, phase)} or at.kind == 'listing'
    assert [metric.name for metric in disk.launch('list', listed(), python).metrics] == list(listing_metrics(()))
