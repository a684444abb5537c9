"""The IOzone engine: its command lines, and what it makes of genuine outputs of IOzone 3.471."""

import pytest

from measuring import access_point, assert_refused, cuts, option, refused_by
from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.iozone import Iozone, parse_run
from seatrial.model.units import KIB, MIB
from seatrial.workload.registry import kind_of
from seatrial.workload.reuse import file_reuse
from transcript import transcripts

TRANSCRIPTS = transcripts('iozone')
PHASES = ('write', 'rewrite', 'read', 'reread')
POINT = access_point(file_reuse(PHASES), transfers=512)
ONE = access_point(file_reuse(PHASES), tasks=1, transfers=512)
DIRECT = POINT.changed(direct=True)
GOOD = {
    **{phase: (phase, POINT) for phase in PHASES},
    'one': ('write', ONE),
    'direct-write': ('write', DIRECT),
    'many': ('write', access_point(file_reuse(PHASES), tasks=80, transfers=2)),
}


def measure(name, out=None, how=None):
    """The engine's measurement from a transcript; output, phase and point can be replaced."""
    transcript = TRANSCRIPTS[name]
    phase, at = how or GOOD[name]
    process = ProcessTime('node1', 0.0, float(transcript['seconds']), int(transcript['rc']))
    outcome = Outcome((process,), (transcript['out'] if out is None else out,), (transcript.get('err', ''),), ())
    command = Iozone().command('iozone', phase, at, '/raw/1', 7)
    return Iozone().measure(phase, at, command, outcome)


refusal = refused_by(measure)


@pytest.mark.parametrize('name', GOOD)
class TestEveryGoodRun:
    def test_the_command_is_that_of_the_transcript(self, name):
        phase, at = GOOD[name]
        (argv,) = Iozone().command('iozone', phase, at, '/raw/1', 7).argvs
        assert ' '.join(argv) + '\n' == TRANSCRIPTS[name]['cmd']

    def test_the_bandwidth_is_all_bytes_up_to_the_last_process(self, name):
        (phase, at), measurement = GOOD[name], measure(name)
        (metric,) = measurement.metrics
        slowest = min(throughput for _, throughput in parse_run(TRANSCRIPTS[name]['out']).children)
        assert metric.name == phase
        assert metric.value == pytest.approx(at.tasks * slowest)
        assert measurement.seconds == max(task.end_s for task in measurement.tasks)
        assert [task.bytes_moved for task in measurement.tasks] == [at.data.bytes_per_task] * at.tasks
        assert (measurement.fsync, measurement.direct) == (phase in ('write', 'rewrite'), at.data.direct)

    def test_the_sum_of_the_rates_is_kept_in_the_words_of_the_tool_and_is_the_stone_wall(self, name):
        (phase, at), measurement = GOOD[name], measure(name)
        seen, (metric,) = (
            parse_run(TRANSCRIPTS[name]['out']).printed['throughput of the children'],
            measurement.metrics,
        )
        kib = float(metric.figure.split()[2])
        assert f'{kib:.2f} kB/sec' in TRANSCRIPTS[name]['out']
        assert kib * KIB >= metric.value * (1 - 1e-6)
        walls = kind_of('reuse').derived(at, phase, measurement)
        assert [wall.value for wall in walls] == ([pytest.approx(seen, rel=1e-5)] if at.tasks > 1 else [])

    def test_cut_short_after_any_line_it_is_refused(self, name):
        assert {refusal(name, text).rule for text in cuts(TRANSCRIPTS[name]['out'].rstrip('\n') + '\n')} == {'T8'}

    def test_another_plan_is_refused(self, name):
        phase, at = GOOD[name]
        assert refusal(name, how=(phase, at._replace(tasks=3))).rule == 'T9'
        assert refusal(name, how=(phase, at.changed(transfer_size=4 * KIB))).rule == 'P15'
        assert refusal(name, how=(phase, at.changed(direct=not at.data.direct))).rule == 'P15'


def test_every_launch_has_data_of_its_own():
    seeds = {option(Iozone().command('iozone', 'write', POINT, f'/raw/{n}', 7).argvs[0], '-+S') for n in range(9)}
    assert len(seeds) > 7


@pytest.mark.parametrize(
    ('name', 'phase', 'rule', 'sentence'),
    [
        ('other-pattern', 'read', 'T8', 'Error in file: Found'),
        ('file-limit', 'write', 'T18', 'task 0 moved 0 bytes'),
        ('missing-file', 'read', 'E1', "exited with 124: 'data.00000001: No such file or directory'"),
        ('single-missing', 'write', 'E1', "exited with 44: 'open: No such file or directory'"),
        ('stonewall', 'rewrite', 'P15', '-t 2 -i 0'),
    ],
)
def test_a_failed_run_is_refused_in_the_words_of_iozone(name, phase, rule, sentence):
    assert_refused(refusal(name, how=(phase, POINT)), rule, sentence)


@pytest.mark.parametrize(
    ('figure', 'lie'),
    [
        ('Children see throughput', '9.00'),
        ('Max throughput', '9.00'),
        ('Child[1]', '32768.00 kB, Throughput =  9.00'),
    ],
)
def test_figures_that_contradict_each_other_are_refused(figure, lie):
    lines = TRANSCRIPTS['write']['out'].splitlines(keepends=True)
    changed = [
        line.partition('=')[0] + f'=  {lie} kB/sec\n' if line.strip().startswith(figure) else line for line in lines
    ]
    assert changed != lines
    assert refusal('write', ''.join(changed)).rule == 'T1'


@pytest.mark.parametrize(
    ('change', 'why'),
    [
        ({'nodes': 2, 'tasks_per_node': 1}, 'cannot start tasks on 2 nodes'),
        ({'tasks': 2000, 'tasks_per_node': 2000}, 'cannot start 2000 tasks: 1024 at most'),
        ({'phases': ('write', 'update')}, 'cannot read and write back in place'),
        ({'transfer_size': KIB}, 'cannot move 1024 bytes at a time'),
        ({'transfer_size': 32 * MIB}, 'cannot move 33554432 bytes at a time'),
    ],
)
def test_a_point_that_it_cannot_run_is_refused(change, why):
    assert Iozone().cannot(POINT.changed(**change)).startswith(why)
    assert Iozone().cannot(POINT) is None
