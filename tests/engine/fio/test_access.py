"""The fio engine: its job files, and its measurements from genuine outputs of fio 3.33."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fio_runs import changed, inputs_of_two, jobs_in, outcome, outcome_on_two, sections, text
from measuring import MFWA, MFWA_RANDOM, SFSA, SFSA_RANDOM, SFSA_STRIDED, SFWA, assert_refused, cuts, refused_by
from measuring import access_point as point
from seatrial.engine.base import EngineError, ProcessTime
from seatrial.engine.failed_call import failed_calls
from seatrial.engine.fio.access import LEAD_S, Fio
from seatrial.engine.fio.process import CLOCK_S
from seatrial.model.units import GIB, KIB
from seatrial.workload.registry import kind_of
from transcript import run_for

GOOD = {
    'mfwa-write': ('write', point()),
    'mfwa-read': ('read', point()),
    'mfwa-random-read': ('read', point(MFWA_RANDOM)),
    'sfsa-contiguous-write': ('write', point(SFSA)),
    'sfsa-contiguous-read': ('read', point(SFSA)),
    'sfsa-strided-write': ('write', point(SFSA_STRIDED)),
    'sfsa-strided-read': ('read', point(SFSA_STRIDED)),
    'sfwa-read': ('read', point(SFWA, transfers=8)),
}


DIRECT, NO_BLOCKS = MFWA.changed(direct=True), 'with O_DIRECT: only multiples of 4096'


def command_of(name):
    """A command with the job file of the transcript."""
    return Fio().command('fio', 'write', point(), '/raw/1', 7)._replace(inputs={'/raw/1.fio': text(name, 'fio')})


def measure(name, report=None, plan=None, seen=None, command=None):
    phase, at = plan or GOOD[name]
    return Fio().measure(phase, at, command or command_of(name), seen or outcome(name, report))


refusal = refused_by(measure)


def jobs_of(phase, at, seed=7):
    return jobs_in(Fio().command('fio', phase, at, '/raw/1', seed))


def extents_of(job):
    """(file, first byte, length) of each transfer, as fio's HOWTO defines offset, size, io_size and write:SKIP."""
    skip = job['rw'].partition(':')[2]
    transfer, start = int(job['bs']), int(job['offset'])
    offset, moved, extents = start, 0, []
    while moved < int(job['io_size']) and offset + transfer <= start + int(job['size']):
        extents.append((job['filename'], offset, transfer))
        moved += transfer
        offset += transfer + int(skip or 0)
    return extents


def points(*workloads):
    sizes = {'transfers': st.integers(1, 17), 'transfer_size': st.integers(1, 5 * KIB)}
    return st.builds(point, st.sampled_from(workloads), tasks=st.integers(1, 9), **sizes)


class TestJobFile:
    @given(points(MFWA, SFSA, SFSA_STRIDED), st.sampled_from(['write', 'read']))
    def test_its_jobs_cover_every_byte_of_every_file_exactly_once(self, at, phase):
        extents = sorted(extent for job in jobs_of(phase, at) for extent in extents_of(job))
        ends = {}
        for name, offset, length in extents:
            assert offset == ends.get(name, 0)
            ends[name] = offset + length
        assert ends == {spec.name: spec.size for spec in kind_of('access').files(at)}

    @given(points(SFWA))
    def test_every_reader_of_a_whole_shared_file_covers_it_once(self, at):
        for job in jobs_of('read', at):
            size = at.data.transfer_size
            assert extents_of(job) == [('data', number * size, size) for number in range(at.data.transfers)]

    @pytest.mark.parametrize('nodes', [1, 2])
    @given(seed=st.integers(0, 2**31))
    def test_the_data_depend_on_seed_and_launch_and_not_on_the_directory(self, nodes, seed):
        def seeds(raw, seed):
            command = Fio().command('fio', 'write', point(tasks=4, nodes=nodes), raw, seed)
            return tuple(int(job['randseed']) for job in jobs_in(command))

        one = seeds('/a/1', seed)
        assert seeds('/b/1', seed) == one
        assert not set(one) & {*seeds('/a/2', seed), *seeds('/a/1', seed + 1)}
        # Odd, so that no two jobs of fio share a seed: fio counts up their seeds from it.
        assert len(set(one)) == (4 if nodes > 1 else 1) and all(number % 2 and number < 2**63 for number in one)

    def test_it_lies_beside_the_raw_output_and_is_the_last_argument_of_the_only_process(self):
        command = Fio().command('/opt/fio', 'write', point(tasks=3), '/raw/1', 7)
        assert (command.scope, len(command.argvs), command.argvs[0][0]) == ('node', 1, '/opt/fio')
        assert [command.argvs[0][-1]] == list(command.inputs) == ['/raw/1.fio']
        assert command.outputs == ('/raw/1.json',)


def spread(phase='write', at=None, raw='/raw/1', seed=7):
    return Fio().command('/opt/fio', phase, at or point(tasks=4, nodes=2), raw, seed)


SPREAD = st.builds(
    lambda workload, per_node, nodes, transfers: point(workload, per_node * nodes, transfers, nodes=nodes),
    st.sampled_from([MFWA, SFSA, SFSA_STRIDED]),
    st.integers(1, 4),
    st.integers(2, 4),
    st.integers(1, 9),
)


class TestCommandOnManyNodes:
    def test_every_task_is_a_process_with_a_job_file_and_a_report_of_its_own(self):
        command = spread()
        assert (command.scope, command.own_barrier) == ('task', False)
        assert [argv[-1] for argv in command.argvs] == list(command.inputs) == [f'/raw/1.{n}.fio' for n in range(4)]
        assert [argv[-2] for argv in command.argvs] == [f'--output={path}' for path in command.outputs]
        assert command.outputs == tuple(f'/raw/1.{n}.json' for n in range(4))
        assert [list(sections(text)) for text in command.inputs.values()] == [[f'rank{n}'] for n in range(4)]
        assert {job['disk_util'] for job in jobs_in(spread())} == {'0'}, (
            'fio looks at no block devices before it starts'
        )

    @given(SPREAD)
    def test_the_jobs_are_those_of_one_node_except_for_their_data(self, at):
        here, there = jobs_of('write', at._replace(nodes=1, tasks_per_node=at.tasks)), jobs_in(spread('write', at))
        for job in here + there:
            del job['randseed']
            job.pop('disk_util', None)
        assert here == there

    @given(SPREAD)
    def test_a_task_reads_the_data_of_a_task_of_the_next_node(self, at):
        wrote, read = ([extents_of(job) for job in jobs_in(spread(phase, at))] for phase in ('write', 'read'))
        assert read == wrote[at.tasks_per_node :] + wrote[: at.tasks_per_node]
        assert all(not set(wrote[n]) & set(read[n]) for n in range(at.tasks))

    def test_it_knows_in_which_phases_tasks_read_data_of_another_node(self):
        wide = point(tasks=4, nodes=2)
        for at, phase in ((wide, 'write'), (point(tasks=4), 'read'), (point(SFWA, tasks=4, nodes=2), 'read')):
            assert not Fio().reads_elsewhere(at, phase)
        assert Fio().reads_elsewhere(wide, 'read')


class TestWhatItCannot:
    @pytest.mark.parametrize('nodes', [1, 2])
    @pytest.mark.parametrize('workload', [MFWA, MFWA_RANDOM, SFSA, SFSA_STRIDED, SFSA_RANDOM, SFWA])
    def test_it_can_do_every_posix_pattern_on_any_number_of_nodes(self, workload, nodes):
        assert Fio().cannot(point(workload, tasks=4, nodes=nodes)) is None

    @pytest.mark.parametrize(
        ('at', 'why'),
        [
            (point(MFWA.changed(interface='mpiio')), 'cannot do MPI-IO'),
            (point(transfers=1, transfer_size=2 * GIB), 'cannot move 2147483648 bytes in one call'),
            (point(DIRECT, transfer_size=6 * KIB), f'cannot move 6144 bytes at a time {NO_BLOCKS}'),
            (point(DIRECT, transfer_size=8 * KIB), None),
            (point(transfer_size=6 * KIB), None),
        ],
    )
    def test_only_a_point_that_it_cannot_run_is_refused_with_the_reason(self, at, why):
        assert Fio().cannot(at) == why


@pytest.mark.parametrize('name', GOOD)
class TestEveryGoodRun:
    def test_the_bytes_of_the_plan_moved_in_the_longest_runtime_of_the_report(self, name):
        (phase, at), measured = GOOD[name], measure(name)
        (metric,), reports = measured.metrics, [job[phase] for job in json.loads(text(name, 'json'))['jobs']]
        assert (metric.name, metric.unit, measured.bytes_moved) == (phase, 'B/s', at.bytes_moved)
        assert metric.value == measured.bytes_moved / measured.seconds
        assert measured.seconds == pytest.approx(max(report['runtime'] for report in reports) / 1000)
        assert metric.figure == ' '.join(['bw_bytes', *(str(report['bw_bytes']) for report in reports)])
        assert (measured.world_size, measured.hosts) == (2, ('node1',))
        tasks = [(task.rank, task.host, task.bytes_moved) for task in measured.tasks]
        assert tasks == [(rank, 'node1', at.data.bytes_per_task) for rank in (0, 1)]
        assert (measured.fsync, measured.direct) == (phase == 'write', False)

    def test_another_plan_is_refused(self, name):
        phase, at = GOOD[name]
        three, other = at._replace(tasks=3), {'write': 'read', 'read': 'write'}[phase]
        error = refusal(name, plan=(phase, three), command=Fio().command('fio', phase, three, '/raw/1', 7))
        assert (error.rule, error.sentence) == ('T9', 'fio ran 2 jobs instead of 3')
        assert refusal(name, plan=(phase, at.changed(bytes_per_task=64 * KIB))).rule == 'T18'
        assert refusal(name, plan=(other, at)).rule == 'T18'
        assert refusal(name, command=Fio().command('fio', *GOOD[name], '/raw/1', 7)).rule == 'P15'


LONG = point(transfers=GIB // (64 * KIB))
NO_CREATION = 'fio: file creation disallowed by allow_file_create=0'


@pytest.mark.parametrize(
    ('name', 'phase', 'at', 'rule', 'sentence'),
    [
        ('missing-file', 'read', point(), 'E1', f"exited with 2: '{NO_CREATION}'"),
        ('short-file', 'read', point(), 'E1', f"exited with 1: '{NO_CREATION}'"),
        ('no-space', 'write', point(), 'E1', 'No space left on device'),
        ('file-size-limit', 'write', point(), 'E1', 'got signal=25'),
        ('terminated', 'write', LONG, 'E1', "exited with 128: 'fio: terminating on signal 15'"),
        ('killed', 'write', LONG, 'E1', 'fio died of signal 9'),
        ('client-killed', 'write', LONG, 'E1', 'got signal=9'),
        ('cannot-open', 'write', point(), 'E1', 'exited with 1; task 1, file data.00000001: Permission denied'),
        ('bad-option', 'write', point(), 'E1', "exited with 1: 'Bad option <refill_bufers=1>"),
        # Half of its bytes, without an error.
        ('strided-half', 'write', point(SFSA_STRIDED), 'T18', 'task 1 moved 131072 bytes instead of 262144'),
    ],
)
def test_a_failed_run_is_refused_in_the_words_of_fio(name, phase, at, rule, sentence):
    assert_refused(refusal(name, plan=(phase, at)), rule, sentence)


def test_a_note_of_fio_hides_no_error_of_its_report():
    name, warned = 'cannot-open', 'note: both iodepth >= 1 and synchronous I/O engine are selected'
    report = text(name, 'json').replace('"error" : 13', '"error" : 30')
    sentence = refusal(name, plan=('write', point()), seen=outcome(name, report, stderr=warned)).sentence
    assert sentence.endswith('; task 1, file data.00000001: Read-only file system')
    assert next(failed_calls(sentence)).errno == 'EROFS'


def test_a_killed_task_is_noticed_by_its_bytes_even_if_fio_prints_nothing():
    silent = outcome('client-killed', changed('client-killed', dict), status=0, stderr='', lived_s=9.0)
    assert refusal('client-killed', plan=('write', LONG), seen=silent).rule == 'T18'


class TestDoctoredReports:
    @pytest.mark.parametrize(
        ('change', 'rule', 'words'),
        [
            (lambda jobs: jobs[1].update(error=5), 'E1', 'task 1: Input/output error'),
            (lambda jobs: jobs[1].update(total_err=3, first_error=5), 'E1', 'task 1: Input/output error'),
            (lambda jobs: jobs[1]['write'].update(io_bytes=0, short_ios=1), 'T18', 'was cut short by the storage'),
            (lambda jobs: jobs[1]['write'].update(io_bytes=262143), 'T18', 'moved 262143 bytes instead of 262144'),
            (lambda jobs: jobs[1]['write'].update(runtime=0), 'T12', 'too short to measure'),
            (lambda jobs: run_for(jobs[0]['write'], 60_000), 'E1', 'its clock is wrong'),
            (lambda jobs: jobs[1]['job options'].update(end_fsync='0'), 'P15', 'task 1 with end_fsync=0, not None'),
            (lambda jobs: jobs.reverse(), 'T9', 'instead of rank0'),
        ],
    )
    def test_a_job_that_is_not_as_it_was_planned_is_refused(self, change, rule, words):
        assert_refused(refusal('mfwa-write', changed('mfwa-write', lambda data: change(data['jobs']))), rule, words)

    @pytest.mark.parametrize(
        ('key', 'factor'), [('bw_bytes', 2), ('bw', 2), ('iops', 2.0), ('runtime', 2), ('total_ios', 2)]
    )
    def test_figures_that_contradict_each_other_are_refused_with_both(self, key, factor):
        def double(data):
            data['jobs'][1]['write'][key] *= factor

        error = refusal('mfwa-write', changed('mfwa-write', double))
        assert error.rule == 'T1' and re.match('task 1 .*262144 bytes', error.sentence)

    def test_direct_access_is_read_from_the_echoed_options(self):
        report, at = changed('mfwa-write', lambda data: data['global options'].update(direct='1')), point(DIRECT)
        options = text('mfwa-write', 'fio').replace('[global]\n', '[global]\ndirect=1\n')
        command = command_of('mfwa-write')._replace(inputs={'/raw/1.fio': options})
        assert measure('mfwa-write', report, ('write', at), command=command).direct is True
        error = refusal('mfwa-write', plan=('write', at), command=command)
        assert (error.rule, error.sentence) == ('P15', 'fio ran all jobs with direct=None, not 1')

    def test_the_job_starts_in_reports_of_later_versions_shift_the_tasks(self):
        def start(data):
            for job, start_ms in zip(data['jobs'], (1_700_000_000_030, 1_700_000_000_000), strict=True):
                job['job_start'] = start_ms
                run_for(job['write'], 100)

        measurement = measure('mfwa-write', changed('mfwa-write', start))
        assert [round(task.start_s, 6) for task in measurement.tasks] == [0.03, 0.0]
        assert measurement.seconds == pytest.approx(0.13)

    def test_a_report_that_is_cut_short_after_any_line_is_refused(self):
        assert {refusal('mfwa-write', cut or '\n').rule for cut in cuts(text('mfwa-write', 'json'))} == {'E1'}

    def test_beside_the_json_a_note_is_allowed_and_an_error_or_a_second_report_is_refused(self):
        note = 'note: both iodepth >= 1 and synchronous I/O engine are selected\n'
        error, report = 'fio: end_fsync failed for file data.00000001\n', text('mfwa-write', 'json')
        assert measure('mfwa-write', note + report) == measure('mfwa-write')
        assert 'end_fsync failed' in refusal('mfwa-write', error + report).sentence
        assert 'after its JSON' in refusal('mfwa-write', report * 2).sentence

    @given(st.data())
    def test_a_field_of_another_type_is_refused_or_not_looked_at(self, data):
        whole = json.loads(text('sfwa-read', 'json'))
        holder = data.draw(st.sampled_from([whole, whole['jobs'][0], whole['jobs'][1]['read'], whole['jobs']]))
        key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else [0, 1]))
        holder[key] = data.draw(st.sampled_from([None, 'x', -1, 1.5, [], {}]))
        try:
            measurement = measure('sfwa-read', json.dumps(whole))
        except EngineError:
            return
        assert measurement.bytes_moved == measure('sfwa-read').bytes_moved


GOOD_ON_TWO = {
    'nodes-mfwa-write': ('write', point(nodes=2)),
    'nodes-mfwa-read': ('read', point(nodes=2)),
    'nodes-sfsa-strided-write': ('write', point(SFSA_STRIDED, nodes=2)),
    'nodes-sfwa-read': ('read', point(SFWA, transfers=8, nodes=2)),
    'nodes-late': ('write', point(transfers=1600, nodes=2)),
}
FAILED_ON_TWO = {
    'nodes-missing-file': ('read', point(nodes=2)),
    'nodes-killed': ('write', point(transfers=48 * 1024, nodes=2)),
}


def measure_on_two(name, seen=None, plan=None):
    phase, at = plan or {**GOOD_ON_TWO, **FAILED_ON_TWO}[name]
    command = spread(phase, at)._replace(inputs=inputs_of_two(name))
    return Fio().measure(phase, at, command, seen or outcome_on_two(name))


refusal_on_two = refused_by(measure_on_two)


def with_report(name, rank, report):
    """The transcript's outcome with another text in place of one task's report."""
    seen = outcome_on_two(name)
    return seen._replace(outputs=tuple(report if n == rank else old for n, old in enumerate(seen.outputs)))


def with_times(*spans, runtimes_ms=(1000, 1000)):
    """A genuine outcome with these times of its processes and these runtimes of its jobs."""
    seen = outcome_on_two('nodes-mfwa-write')
    reports = []
    for report, runtime_ms in zip(seen.outputs, runtimes_ms, strict=True):
        data = json.loads(report)
        run_for(data['jobs'][0]['write'], runtime_ms)
        reports.append(json.dumps(data, indent=2))
    processes = tuple(ProcessTime(f'node{n}', start, end, 0) for n, (start, end) in enumerate(spans, 1))
    return seen._replace(processes=processes, outputs=tuple(reports))


@pytest.mark.parametrize('name', GOOD_ON_TWO)
class TestEveryGoodRunOnTwoNodes:
    def test_the_bytes_of_the_plan_moved_from_the_first_start_to_the_last_end(self, name):
        (phase, at), measured = GOOD_ON_TWO[name], measure_on_two(name)
        assert (measured.bytes_moved, measured.fsync) == (at.bytes_moved, phase == 'write')
        tasks = [(task.rank, task.host, task.bytes_moved) for task in measured.tasks]
        assert tasks == [(0, 'node1', at.data.bytes_per_task), (1, 'node2', at.data.bytes_per_task)]
        assert (measured.world_size, measured.hosts) == (2, ('node1', 'node2'))
        assert min(task.start_s for task in measured.tasks) == 0
        assert measured.seconds == max(task.end_s for task in measured.tasks)

    def test_a_tasks_window_begins_with_its_process_and_lasts_the_runtime_of_its_job(self, name):
        starts, tasks = [process.start_s for process in outcome_on_two(name).processes], measure_on_two(name).tasks
        jobs = [json.loads(text(name, f'{rank}.json'))['jobs'][0] for rank in range(2)]
        assert [task.start_s for task in tasks] == pytest.approx([start - min(starts) for start in starts])
        runtimes_s = [job[GOOD_ON_TWO[name][0]]['runtime'] / 1000 for job in jobs]
        assert [task.seconds for task in tasks] == pytest.approx(runtimes_s)


class TestStartsOnTwoNodes:
    @pytest.mark.parametrize(('first_end_s', 'slept_s'), [(1.2, LEAD_S), (1.05, 0.0)])  # no time to sleep
    def test_the_error_of_the_start_is_the_longest_untimed_life_less_the_sleep_of_fio(self, first_end_s, slept_s):
        seen = with_times((0.0, first_end_s), (0.0, 1.5))
        clock_s = measure_on_two('nodes-mfwa-write', seen).clock_s
        assert clock_s == pytest.approx(0.5 - slept_s + CLOCK_S)

    @given(st.lists(st.tuples(*[st.floats(0, 2)] * 3), min_size=2, max_size=2))
    def test_whenever_the_jobs_ran_the_figure_is_wrong_by_no_more_than_clock_s(self, parts):
        """parts: of each process its start, the seconds before its job beyond LEAD_S, and those after it."""
        leads = [LEAD_S + before for _, before, _ in parts]
        spans = [(start, start + LEAD_S + before + 1.0 + after) for start, before, after in parts]
        measurement = measure_on_two('nodes-mfwa-write', with_times(*spans))
        begun = [start + lead for (start, _), lead in zip(spans, leads, strict=True)]
        apart = max(begun) - min(begun)
        starts = [task.start_s for task in measurement.tasks]
        assert abs(apart + 1.0 - measurement.seconds) <= measurement.clock_s + 1e-9
        assert apart <= max(starts) - min(starts) + measurement.clock_s + 1e-9

    def test_the_wall_clocks_of_nodes_are_not_compared(self):
        data = json.loads(text('nodes-late', '1.json'))
        data['jobs'][0]['job_start'] = 1_700_000_000_000
        seen = with_report('nodes-late', 1, json.dumps(data, indent=2))
        assert measure_on_two('nodes-late', seen) == measure_on_two('nodes-late')


class TestFailuresOnTwoNodes:
    def test_a_task_that_failed_is_named_with_its_node_and_the_message_of_fio(self):
        why = "task 1 on node2: fio exited with 1: 'fio: file creation disallowed by allow_file_create=0'"
        assert_refused(refusal_on_two('nodes-missing-file'), 'E1', why)
        silent = refusal_on_two('nodes-mfwa-write', with_report('nodes-mfwa-write', 1, None))
        assert_refused(silent, 'E1', 'task 1 on node2: fio left no JSON')

    def test_a_task_that_was_killed_is_named_and_not_a_task_that_was_ended_because_of_it(self):
        assert refusal_on_two('nodes-killed').sentence == 'task 1 on node2: fio died of signal 9'

    def test_a_task_with_an_error_of_the_storage_is_named_and_not_the_task_that_srun_then_ended(self):
        """Messages of srun 22.05 and fio 3.33 on a Lustre 2.17 that had lost the objects of the second file."""
        seen = outcome_on_two('nodes-missing-file')
        ended = seen._replace(
            processes=(seen.processes[0]._replace(exit_status=143), seen.processes[1]._replace(exit_status=1)),
            stderrs=(
                'srun: error: n3: task 1: Exited with exit code 1\n'
                'srun: launch/slurm: _step_signal: Terminating StepId=4.10\n'
                'slurmstepd-n2: error: *** STEP 4.10 ON n2 CANCELLED AT 2026-11-28T12:11:59 ***\n',
                'fio: io_u error on file data.00000001: Input/output error: write offset=0, buflen=134217728\n',
            ),
            outputs=('fio: terminating on signal 15\n', seen.outputs[1]),
        )
        assert refusal_on_two('nodes-missing-file', ended).sentence.startswith('task 1 on node2: fio exited with 1: ')

    def test_where_the_launcher_gives_all_tasks_one_status_the_task_with_a_message_is_named(self):
        seen = outcome_on_two('nodes-missing-file')
        alike = tuple(process._replace(exit_status=1) for process in seen.processes)
        error = refusal_on_two('nodes-missing-file', seen._replace(processes=alike))
        assert error.sentence.startswith("task 1 on node2: fio exited with 1: 'fio: file creation disallowed")

    def test_another_number_of_processes_is_refused(self):
        phase, at = GOOD_ON_TWO['nodes-mfwa-write']
        error = refusal_on_two('nodes-mfwa-write', plan=(phase, at._replace(tasks=4, tasks_per_node=2)))
        assert (error.rule, error.sentence) == ('T9', '2 processes of fio ran instead of 4')

    def test_the_report_of_another_task_is_refused(self):
        seen = outcome_on_two('nodes-mfwa-write')
        error = refusal_on_two('nodes-mfwa-write', seen._replace(outputs=seen.outputs[::-1]))
        assert (error.rule, error.sentence) == ('T9', 'fio ran the jobs rank1 instead of rank0')

    def test_a_runtime_longer_than_the_life_of_its_process_is_refused(self):
        error = refusal_on_two('nodes-mfwa-write', with_times((0.0, 9.0), (0.0, 0.5)))
        assert_refused(error, 'E1', 'task 1 on node2: fio reports 1.000 s, but ran for 0.500 s')
