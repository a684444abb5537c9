"""The dd engine: its commands, and its measurements from genuine outputs of dd of coreutils 9.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import SFWA, access_point, assert_refused, refused_by
from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.dd import Dd
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.access import data_access, writers
from seatrial.workload.registry import kind_of
from transcript import transcripts

TRANSCRIPTS = transcripts('dd')

FILES = data_access('multiple', operations=('read',))
SEGMENTS = data_access('single', 'segment', operations=('read',))


GOOD = {
    'read-files': ('read', access_point(FILES, transfers=64, transfer_size=MIB)),
    'read-segments': ('read', access_point(SEGMENTS, transfers=64, transfer_size=MIB)),
    'read-whole': ('read', access_point(SFWA, transfers=128, transfer_size=MIB)),
    'write-files': ('write', access_point(FILES, transfers=64, transfer_size=MIB)),
    'write-segments': ('write', access_point(SEGMENTS, transfers=64, transfer_size=MIB)),
}


def processes(name):
    rows = [line.split() for line in TRANSCRIPTS[name]['times'].splitlines()]
    return tuple(ProcessTime('node1', float(start), float(end), int(status)) for start, end, status in rows)


def stderrs_of(name):
    return tuple(TRANSCRIPTS[name][f'{rank}.err'] for rank in range(2))


def measure(name, stderrs=None, times=None, plan=None):
    """The engine's measurement from a transcript; streams, times, phase and point can be replaced."""
    phase, at = plan or GOOD[name]
    times = times or processes(name)
    stderrs = stderrs or stderrs_of(name)
    outcome = Outcome(times, ('',) * len(times), stderrs, ())
    return Dd().measure(phase, at, Dd().command('dd', phase, at, '/raw/1', 7), outcome)


refusal = refused_by(measure)


def words_of(phase, at):
    """The operands of each dd of a launch."""
    argvs = Dd().command('dd', phase, at, '/raw/1', 7).argvs
    return [dict(word.split('=', 1) for word in argv[1:]) for argv in argvs]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4 * MIB), st.sampled_from([FILES, SEGMENTS]))
def test_the_segments_cover_every_byte_of_every_file_exactly_once(tasks, transfers, size, workload):
    at = access_point(workload, tasks, transfers, size)
    ends = {}
    for words in words_of('read', at):
        skipped, size = int(words['skip']), int(words['bs'])
        assert skipped * size == ends.get(words['if'], 0)
        ends[words['if']] = (skipped + int(words['count'])) * size
    assert ends == {spec.name: spec.size for spec in kind_of('access').files(at)}


class TestDirectAccess:
    def test_a_read_of_a_direct_point_has_the_flag_and_is_recorded_as_direct(self):
        at = access_point(FILES.changed(direct=True), transfers=64, transfer_size=MIB)
        assert [words['iflag'] for words in words_of('read', at)] == ['direct', 'direct']
        assert measure('read-files', plan=('read', at)).direct is True
        assert not any('iflag' in words for words in words_of('read', access_point(FILES)))
        assert measure('read-files').direct is False

    def test_a_preparation_writes_past_the_cache_too(self):
        direct = words_of('write', writers(access_point(FILES.changed(direct=True))))
        assert {(words['iflag'], words['oflag']) for words in direct} == {('fullblock', 'direct')}


WHOLE, SLOW = 'only multiples of 4096', 'cannot write incompressible data faster than /dev/urandom gives it'


class TestWhatItCannot:
    @pytest.mark.parametrize('workload', [FILES, SEGMENTS, SFWA])
    def test_it_can_do_contiguous_reads_on_one_node(self, workload):
        assert Dd().cannot(access_point(workload)) is None

    @pytest.mark.parametrize(
        ('change', 'why'),
        [
            ({'nodes': 2, 'tasks_per_node': 1}, 'cannot start tasks on 2 nodes at once'),
            ({'transfer_size': 2 * GIB}, 'cannot move 2147483648 bytes in one call'),
            ({'direct': True, 'transfer_size': 6 * KIB}, f'cannot move 6144 bytes at a time with O_DIRECT: {WHOLE}'),
            *(({'phases': phases}, SLOW) for phases in (('write', 'read'), ('write',))),
            ({'order': 'strided'}, 'cannot go through a file in strided order'),
            ({'order': 'random'}, 'cannot go through a file in random order'),
            ({'interface': 'mpiio'}, 'cannot do MPI-IO'),
        ],
    )
    def test_every_other_pattern_is_refused_with_its_reason(self, change, why):
        assert Dd().cannot(access_point(SEGMENTS).changed(**change)) == why


@pytest.mark.parametrize('name', GOOD)
class TestEveryGoodRun:
    def test_the_commands_are_those_of_the_transcript_and_need_no_files(self, name):
        command = Dd().command('dd', *GOOD[name], '/raw/1', 7)
        assert ''.join(' '.join(argv) + '\n' for argv in command.argvs) == TRANSCRIPTS[name]['cmd']
        assert (command.scope, command.inputs, command.outputs) == ('task', {}, ())

    def test_the_seconds_are_from_the_first_start_to_the_last_end(self, name):
        times, (phase, at), measured = processes(name), GOOD[name], measure(name)
        (metric,), share, zero_s = measured.metrics, at.data.bytes_per_task, times[0].start_s
        assert measured.seconds == pytest.approx(max(t.end_s for t in times) - min(t.start_s for t in times))
        assert (metric.name, metric.unit, metric.value) == (phase, 'B/s', measured.bytes_moved / measured.seconds)
        assert metric.figure == '; '.join(text.splitlines()[-1] for text in stderrs_of(name))
        assert (measured.bytes_moved, measured.hosts) == (at.bytes_moved, ('node1',))
        assert measured.fsync == (phase == 'write')
        tasks = [(task.host, task.bytes_moved, task.start_s + zero_s, task.end_s + zero_s) for task in measured.tasks]
        assert tasks == [(t.host, share, pytest.approx(t.start_s), pytest.approx(t.end_s)) for t in times]

    def test_the_error_of_the_clock_is_the_longest_time_that_dd_did_not_measure(self, name):
        reported_s = [float(text.split(' copied, ')[1].split(' s, ')[0]) for text in stderrs_of(name)]
        untimed_s = [process.lived_s - timed_s for process, timed_s in zip(processes(name), reported_s, strict=True)]
        assert measure(name).clock_s == pytest.approx(max(untimed_s))

    def test_an_output_that_is_cut_short_anywhere_is_refused(self, name):
        first, second = stderrs_of(name)
        for length in range(len(second.rstrip())):
            assert refusal(name, (first, second[:length])).rule == 'E1'

    def test_other_tasks_and_other_bytes_or_blocks_of_a_task_are_refused(self, name):
        phase, at = GOOD[name]
        assert refusal(name, plan=(phase, at._replace(tasks=3))).rule == 'T9'
        assert refusal(name, plan=(phase, at.changed(bytes_per_task=MIB))).rule == 'T18'
        assert refusal(name, plan=(phase, at.changed(transfer_size=64 * MIB))).rule == 'T18'


SMALL, LARGE = access_point(FILES), access_point(FILES, transfers=256, transfer_size=MIB)


@pytest.mark.parametrize(
    ('name', 'phase', 'at', 'rule', 'sentence'),
    [
        ('missing-file', 'read', SMALL, 'E1', "exited with 1: 'dd: failed to open 'data.00000000': No such file"),
        (
            'short-file',
            'read',
            SMALL,
            'T18',
            'task 1 moved 102400 bytes (1+1 records in, 1+1 records out) instead of',
        ),
        ('segment-beyond-end', 'read', SMALL, 'T18', 'task 0 moved 102400 bytes'),
        ('no-space', 'write', SMALL, 'E1', 'No space left on device'),
        ('terminated', 'write', LARGE, 'E1', 'the dd of task 1 died of signal 15'),
    ],
)
def test_a_failed_run_is_refused_in_the_words_of_dd(name, phase, at, rule, sentence):
    assert_refused(refusal(name, plan=(phase, at)), rule, sentence)


def test_a_complaint_at_exit_status_0_is_refused():
    good, beyond = stderrs_of('read-files')[0], stderrs_of('segment-beyond-end')[1]
    error = refusal('read-files', (good, beyond))
    assert error.sentence == "the dd of task 1 exited with 0: 'dd: data: cannot skip to specified offset'"


def test_a_partial_block_is_refused_even_where_the_bytes_are_right():
    partial = tuple(text.replace('64+0', '63+2') for text in stderrs_of('read-files'))
    assert refusal('read-files', partial).rule == 'T18'


def copied(seconds):
    """The reports of two reads with this time and rate."""
    return tuple(text.split(' copied, ')[0] + f' copied, {seconds}B/s\n' for text in stderrs_of('read-files'))


def test_seconds_are_read_in_powers_of_ten_and_refused_if_zero_or_longer_than_the_process_lived():
    longest = max(process.lived_s for process in processes('read-files'))
    assert measure('read-files', copied('9.5e-05 s, 706 G')).clock_s == pytest.approx(longest - 9.5e-05)
    assert_refused(refusal('read-files', copied('9.5 s, 7.1 M')), 'E1', 'reports 9.5 s, but its process lasted')
    none = (ProcessTime('node1', 1.0, 1.0, 0),) * 2
    assert refusal('read-files', copied('0 s, Infinity '), none).rule == 'T12'
