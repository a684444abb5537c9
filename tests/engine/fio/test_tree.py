"""fio's file engines: job files, genuine outputs of fio 3.33 and 3.42 (files-* are this engine's own launches), fio
itself."""

import json
import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fio_runs import changed, jobs_in, outcome, text
from measuring import assert_refused, launched, refused_by
from seatrial.engine.base import EngineError
from seatrial.engine.fio.tree import TOGETHER_S, FioFiles
from seatrial.model.units import GIB, KIB
from seatrial.workload.base import Entries
from seatrial.workload.tree import PHASES, metadata_tree

WITHOUT_READ = ('create', 'stat', 'remove')

EMPTY = metadata_tree(files_per_directory=10, phases=WITHOUT_READ)
PRIVATE = metadata_tree(files_per_directory=10, bytes_per_file=3901, subtrees='private')


def point(tree=EMPTY, tasks=2, nodes=1):
    return tree._replace(nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)


GOOD = {
    f'files-{name}-{phase}': (phase, point(tree))
    for name, tree in (('shared', EMPTY), ('private', PRIVATE), ('342', EMPTY))
    for phase in tree.phases
}
NOT_THERE = 'task 1: No such file or directory'
REFUSED = {
    'files-missing-stat': ('stat', EMPTY, 'T17', f'fio exited with 1; {NOT_THERE}'),
    'files-missing-remove': ('remove', EMPTY, 'T17', f'fio exited with 1; {NOT_THERE}'),
    'files-short-read': ('read', PRIVATE, 'E1', 'task 1: Input/output error, which fio also says of a file that'),
    'files-no-directory': ('create', EMPTY, 'E1', 'task 0: No such file or directory'),
    'files-no-inodes': ('create', EMPTY, 'E1', 'fio exited with 1; task 0: No space left on device'),
    'files-no-space': ('create', PRIVATE, 'E1', 'task 0: No space left on device'),
    'files-client-killed': ('create', EMPTY.changed(files_per_directory=300_000), 'E1', 'got signal=9'),
    'files-trap-stat': ('stat', EMPTY, 'P15', 'fio ran all jobs with allow_file_create=None, not 0'),
}


def command_of(phase, at, raw='/records/1', seed=7, program='fio'):
    return FioFiles().command(program, phase, at, raw, seed)


def measure(name, report=None, how=None, **instead):
    phase, at = how or GOOD[name]
    seen = outcome(name, report, **instead)
    return FioFiles().measure(phase, at, command_of(phase, at), seen)


refusal = refused_by(measure)


def of_second_task(name, **fields):
    """The report in which the second task has other figures of its operation; clat_ns is merged."""
    key = 'write' if GOOD[name][0] == 'create' else 'read'

    def change(data):
        done = data['jobs'][1][key]
        done['clat_ns'].update(fields.pop('clat_ns', {}))
        done.update(fields)

    return changed(name, change)


def test_a_file_of_one_byte_is_written_and_not_only_made():
    job = jobs_in(command_of('create', point(PRIVATE.changed(bytes_per_file=1))))[0]
    assert (job['ioengine'], job['bs'], job['filesize']) == ('psync', '1', '1')


def test_the_memory_for_the_files_grows_with_them_where_fio_shares_it():
    many = point(PRIVATE.changed(files_per_directory=1_000_000))
    assert '--alloc-size=250000' in command_of('create', many).argvs[0]
    assert '--alloc-size=16384' in command_of('read', point(PRIVATE)).argvs[0]


@pytest.mark.parametrize(
    ('at', 'why'),
    [
        (point(PRIVATE.changed(depth=1, branching=2)), 'cannot make a tree of 6 directories'),
        (point(EMPTY.changed(empties_per_directory=1)), 'cannot work on directories'),
        (point(EMPTY._replace(phases=('create', 'find'))), 'cannot find files'),
        (point(PRIVATE.changed(fsync=True)), 'cannot sync every file once before it is closed'),
        (point(EMPTY._replace(phases=PHASES)), 'cannot open a file of which nothing is to be read'),
        (point(PRIVATE.changed(bytes_per_file=2 * GIB)), 'cannot write 2147483648 bytes in one call'),
        (point(tasks=4, nodes=2), 'cannot start tasks on 2 nodes at once'),
        (point(tasks=4097), 'cannot run 4097 jobs at once'),
    ],
)
def test_a_point_that_it_cannot_run_is_refused_in_a_clause(at, why):
    assert FioFiles().cannot(at).startswith(why)


@pytest.mark.parametrize('name', GOOD)
class TestEveryGoodRun:
    def test_the_operations_are_those_of_the_plan_in_the_runtimes_that_fio_wrote(self, name):
        phase, measured = GOOD[name][0], measure(name)
        (metric,) = measured.metrics
        assert (metric.name, metric.operations) == (f'file_{phase}', 20)
        key = 'write' if phase == 'create' else 'read'
        runtimes = [job[key]['runtime'] for job in json.loads(text(name, 'json'))['jobs']]
        assert [1000 * seconds for seconds in metric.task_seconds] == pytest.approx(runtimes)
        assert (measured.world_size, measured.hosts) == (2, ('node1',))

    def test_latencies_are_given_where_they_are_those_of_the_operation(self, name):
        percentiles = measure(name).metrics[0].percentiles_s
        assert list(percentiles) == (['p50', 'p95', 'p99'] if GOOD[name][0] in ('stat', 'remove') else [])
        assert list(percentiles.values()) == sorted(percentiles.values())

    def test_another_number_of_files_another_phase_and_other_directories_are_refused(self, name):
        phase, at = GOOD[name]
        more, trees = at.changed(files_per_directory=11), {'shared': 'private', 'private': 'shared'}[at.tree.subtrees]
        assert refusal(name, how=(phase, more)).sentence == 'fio ran all jobs with nrfiles=10, not 11'
        assert {refusal(name, how=(other, at)).rule for other in at.phases if other != phase} == {'P15'}
        refused = refusal(name, how=(phase, at.changed(subtrees=trees)))
        assert refused.sentence.startswith('fio ran task 0 with filename_format=tree')


@pytest.mark.parametrize('name', REFUSED)
def test_a_failed_run_is_refused_with_its_reason(name):
    phase, tree, *refused = REFUSED[name]
    assert_refused(refusal(name, how=(phase, point(tree))), *refused)


def test_an_error_of_a_task_is_one_even_if_fio_exits_with_0():
    refused = refusal('files-missing-stat', how=('stat', point()), status=0)
    assert (refused.rule, refused.sentence) == ('T17', f'fio exited with 0 after an error; {NOT_THERE}')


def test_a_killed_task_is_noticed_by_its_operations_even_if_fio_prints_nothing():
    phase, tree, *_ = REFUSED['files-client-killed']
    output = text('files-client-killed', 'json')
    refused = refusal('files-client-killed', output[output.index('{\n') :], (phase, point(tree)), stderr='')
    assert refused.rule == 'T1'
    assert refused.sentence.startswith('task 1 did ')


class TestClock:
    def test_starts_that_are_reported_are_the_beginning_of_the_phase(self):
        def start(data):
            starts_ms, runtimes = (1_700_000_000_050, 1_700_000_000_000), (90, 100)
            for job, start_ms, runtime in zip(data['jobs'], starts_ms, runtimes, strict=True):
                job['job_start'] = start_ms
                job['read'].update(runtime=runtime, iops=1000 * 10 / runtime)

        measured = measure('files-342-stat', changed('files-342-stat', start))
        assert measured.metrics[0].seconds == pytest.approx(0.14)
        assert measured.metrics[0].task_seconds == (0.09, 0.1)

    def test_it_is_as_good_as_its_milliseconds_only_where_starts_are_reported(self):
        assert measure('files-342-stat').clock_s == 0.001
        assert measure('files-shared-stat').clock_s == TOGETHER_S > 0.001
        metric = measure('files-private-create').metrics[0]
        assert metric.seconds == max(metric.task_seconds)


class TestLatencies:
    def test_they_are_of_all_tasks_together(self):
        def set_bins(data):
            for job, bins in zip(data['jobs'], ({'1000': 9, '5000': 1}, {'2000': 10}), strict=True):
                job['read']['clat_ns'].update(bins=bins, mean=1000.0)

        metric = measure('files-shared-stat', changed('files-shared-stat', set_bins)).metrics[0]
        assert metric.percentiles_s == pytest.approx({'p50': 2e-6, 'p95': 2e-6, 'p99': 5e-6})

    @pytest.mark.parametrize('name', ['files-shared-stat', 'files-private-remove', 'files-342-remove'])
    def test_they_lie_between_those_that_fio_gives_for_each_task(self, name):
        of_jobs = [job['read']['clat_ns']['percentile'] for job in json.loads(text(name, 'json'))['jobs']]
        for key, ours_s in measure(name).metrics[0].percentiles_s.items():
            theirs = [percentiles[f'{key[1:]}.000000'] for percentiles in of_jobs]
            assert min(theirs) <= round(1e9 * ours_s) <= max(theirs)

    @pytest.mark.parametrize(
        ('bins', 'rule'),
        [({'x': 10}, 'E1'), ({'1000': '10'}, 'E1'), ({'': 10}, 'E1'), ([], 'E1'), ({'1000': 9}, 'T1')],
    )
    def test_bins_that_are_none_or_of_more_or_fewer_operations_are_refused(self, bins, rule):
        assert refusal('files-shared-stat', of_second_task('files-shared-stat', clat_ns={'bins': bins})).rule == rule


@pytest.mark.parametrize(
    ('fields', 'rule', 'words'),
    [
        ({'total_ios': 9}, 'T1', 'task 1 did 9 operations on its 10 files'),
        ({'total_ios': 11}, 'T1', 'task 1 did 11 operations on its 10 files'),
        ({'clat_ns': {'N': 9}}, 'T1', 'task 1 did 9 operations on its 10 files'),
        ({'io_bytes': 39009}, 'T1', 'task 1 has 39009 bytes in its report, not 39010'),
        ({'runtime': 0}, 'T12', 'task 1 is too short to measure'),
        ({'iops': 1.0}, 'T1', 'task 1: 1.0 a second for 10 in'),
        ({'clat_ns': {'mean': 1e9}}, 'T1', 'task 1: its calls took 10.000 s of'),
        ({'runtime': 60_000, 'iops': 10 / 60}, 'E1', 'its clock is wrong'),
        ({'total_ios': None}, 'E1', "no 'total_ios'"),
    ],
)
def test_figures_that_contradict_each_other_or_the_plan_are_refused(fields, rule, words):
    assert_refused(refusal('files-private-read', of_second_task('files-private-read', **fields)), rule, words)


@given(st.data())
def test_a_field_of_another_type_is_refused_or_not_looked_at(data):
    whole = json.loads(text('files-shared-stat', 'json'))
    job = whole['jobs'][1]
    holders = [whole, job, job['read'], job['read']['clat_ns'], whole['jobs'], whole['global options']]
    holder = data.draw(st.sampled_from(holders))
    key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else [0, 1]))
    holder[key] = data.draw(st.sampled_from([None, 'x', -1, 1.5, [], {}, True]))
    try:
        seen = measure('files-shared-stat', json.dumps(whole))
    except EngineError:
        return
    assert seen == measure('files-shared-stat')


@given(st.text())
def test_any_text_is_refused_and_breaks_nothing(report):
    assert refusal('files-shared-stat', report or ' ').rule in ('E1', 'T9')


# The program itself


def launch(program, folder, phase, at, number=1):
    """One launch as the runner makes it."""
    data = folder / 'data directory'
    data.mkdir(exist_ok=True)
    command = command_of(phase, at, str(folder / f'{number}-measured-{phase}@label'), program=program)
    for directory in command.directories:
        (data / directory).mkdir()
    return FioFiles().measure(phase, at, command, launched(command, data))


def attributes(folder):
    """Inode, size and times of every file: who removed and made one anew would change them."""
    files = {path: path.stat() for path in (folder / 'data directory').rglob('*') if path.is_file()}
    return {path: (of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns) for path, of in files.items()}


class Ran:
    """The phases of a point, one launch after the other, and what lay on disk after each."""

    def __init__(self, program, folder, at):
        self.on_disk, self.files, self.data = {}, {}, []
        for number, phase in enumerate(at.phases):
            launch(program, folder, phase, at, number)
            self.files[phase] = attributes(folder)
            directories = sum(path.is_dir() for path in (folder / 'data directory').rglob('*'))
            self.on_disk[phase] = Entries(directories, len(self.files[phase]), 0)
            if phase == 'create':
                self.data = [path.read_bytes() for path in self.files[phase]]


BIG = {
    'empty shared': point(EMPTY.changed(files_per_directory=500)),
    'shared': point(PRIVATE.changed(files_per_directory=200, subtrees='shared')),
    'private': point(PRIVATE.changed(files_per_directory=200, bytes_per_file=40 * KIB), tasks=3),
    'one file': point(PRIVATE.changed(files_per_directory=1, bytes_per_file=1), tasks=1),
}


@pytest.fixture(scope='module', params=['the program', 'the stand-in'])
def runs(request, tmp_path_factory, make_stub_fio):
    folder = tmp_path_factory.mktemp('files')
    program = shutil.which('fio') if request.param == 'the program' else make_stub_fio(folder / 'stubs')
    if program is None:
        pytest.skip('fio is not installed')
    made = {}
    for name, at in BIG.items():
        (folder / name).mkdir()
        made[name] = Ran(program, folder / name, at)
    return made


@pytest.mark.slow
@pytest.mark.parametrize('name', BIG)
class TestOnDisk:
    def test_there_are_exactly_the_planned_entries_after_every_phase(self, runs, name):
        at, files = BIG[name], runs[name].files
        assert runs[name].on_disk == {phase: FioFiles().entries(at, phase) for phase in at.phases}
        assert {size for _, size, *_ in files['create'].values()} == {at.tree.bytes_per_file}

    def test_stat_and_read_leave_every_file_as_it_was(self, runs, name):
        files = runs[name].files
        assert all(files[phase] == files['create'] for phase in ('stat', 'read') if phase in files)

    def test_no_two_files_have_the_same_data(self, runs, name):
        data = runs[name].data
        assert len(set(data)) == (len(data) if BIG[name].tree.bytes_per_file else 1)


@pytest.fixture
def files(tmp_path):
    """Files that fio has made."""
    launch(shutil.which('fio'), tmp_path, 'create', point(PRIVATE))
    return tmp_path


@pytest.mark.needs('fio')
@pytest.mark.parametrize('phase', ['stat', 'read', 'remove'])
def test_a_file_that_is_missing_is_refused_and_not_made(files, phase):
    lost = files / 'data directory' / 'tree.1' / 'file.1.4'
    lost.unlink()
    with pytest.raises(EngineError, match='T17: .*task 1: No such file or directory'):
        launch(shutil.which('fio'), files, phase, point(PRIVATE))
    assert not lost.exists()


@pytest.mark.needs('fio')
@pytest.mark.parametrize('size', [0, 3900])
def test_a_file_that_is_too_short_to_be_read_is_refused_and_stays(files, size):
    short = files / 'data directory' / 'tree.1' / 'file.1.4'
    os.truncate(short, size)
    before = attributes(files)
    with pytest.raises(EngineError, match='E1: .*task 1: Input/output error'):
        launch(shutil.which('fio'), files, 'read', point(PRIVATE))
    assert attributes(files) == before


@pytest.mark.long
@pytest.mark.needs('fio')
def test_the_memory_suffices_for_many_files(tmp_path):
    # The minimum of 16 pools of 16 MiB is full after some 560,000. Before fio misses one it knows them all.
    many = point(metadata_tree(files_per_directory=700_000, bytes_per_file=1), tasks=1)
    with pytest.raises(EngineError, match='T17: .*No such file or directory'):
        launch(shutil.which('fio'), tmp_path, 'read', many)
