"""The engine of IO500's own program: its configuration, and what it makes of genuine results of isc26."""

import re

import pytest

from measuring import assert_refused, cuts, refused_by
from seatrial.engine.base import EngineError, Outcome, ProcessTime, measured
from seatrial.engine.io500 import Io500Engine
from seatrial.model.units import GIB
from seatrial.workload.io500 import BANDWIDTH, PHASE, RATE, SCORE, STONE_WALL_S, io500
from seatrial.workload.registry import metrics_of
from transcript import transcripts

TRANSCRIPTS = transcripts('io500')
POINT = io500('4GiB', 2)._replace(label='all', tasks=2, tasks_per_node=2)
EARLY = io500('256MiB', 2)._replace(label='all', tasks=2, tasks_per_node=2)
TOLD = TRANSCRIPTS['two-tasks']
RESULT = TOLD['result.txt']


def command(point):
    return Io500Engine().command('io500', PHASE, point, '/raw/1', 7)


def measure(name='two-tasks', point=POINT, result=None, lived_s=None):
    transcript = TRANSCRIPTS[name]
    process = ProcessTime('node1', 0.0, lived_s or float(transcript['seconds']), int(transcript['rc']))
    outputs = (transcript.get('result.txt') if result is None else result, transcript.get('ior-easy-write.txt'))
    outcome = Outcome((process,), (transcript['out'],), (transcript.get('err', ''),), outputs)
    return measured(Io500Engine(), PHASE, point, command(point), outcome)


refusal = refused_by(measure)


@pytest.mark.parametrize(('name', 'point'), [('two-tasks', POINT), ('done-early', EARLY)])
def test_its_configuration_is_that_of_the_transcript(name, point):
    assert command(point).inputs == {'/raw/1.ini': TRANSCRIPTS[name]['ini']}


def test_every_phase_has_its_figure_and_a_short_stone_wall_no_score():
    measurement = measure()
    assert {metric.name for metric in metrics_of(POINT, PHASE)} == set(measurement.figures)
    for name, value in re.findall(r'^\[.{6}\] +(\S+) +([\d.]+) (?:GiB/s|kIOPS) : time', TOLD['out'], re.MULTILINE):
        if name != 'timestamp':
            unit = GIB if name.startswith('ior') else 1000
            assert measurement.figures[name.replace('-', '_').lower()] == pytest.approx(float(value) * unit)
    assert (measurement.world_size, len(measurement.hosts), measurement.fsync) == (2, 1, True)


BY_RULES = POINT.changed(duration_s=io500('4GiB').duration_s)
KEPT = ''.join(line for line in RESULT.splitlines(keepends=True) if 'ERROR INVALID' not in line)
KEPT = KEPT.replace(' -D 2 ', f' -D {STONE_WALL_S} ').replace(' [INVALID]', '')
"""The genuine results, as if they were of a stone wall of 300 s that all phases had kept."""


def test_the_score_is_that_of_io500_where_its_rules_were_kept():
    measurement = measure(point=BY_RULES, result=KEPT)
    printed = {key: float(value) for key, value in re.findall(r'^(MD|BW|SCORE) +=+ ([\d.]+)', RESULT, re.MULTILINE)}
    assert measurement.figures[BANDWIDTH] / GIB == pytest.approx(printed['BW'], rel=1e-4)
    assert measurement.figures[RATE] / 1000 == pytest.approx(printed['MD'], rel=1e-4)
    assert measurement.figures[SCORE] == pytest.approx(printed['SCORE'], rel=1e-4)
    assert {metric.name for metric in metrics_of(BY_RULES, PHASE)} == set(measurement.figures)


def test_by_its_rules_a_phase_that_is_too_short_makes_all_of_it_invalid():
    short = KEPT.replace('[find]\n', '[find]\n; ERROR INVALID Runtime is smaller than expected minimum runtime\n')
    assert_refused(refusal(point=BY_RULES, result=short), 'T19', 'find')


def test_a_phase_that_had_done_all_before_its_stone_wall_is_refused():
    assert_refused(refusal('done-early', EARLY), 'T19', 'stonewall')


def test_cut_short_after_any_line_it_is_refused():
    assert {refusal(result=text).rule for text in cuts(RESULT)} == {'T13'}


@pytest.mark.parametrize(
    ('old', 'new', 'rule'),
    [
        ('procs           = 2', 'procs           = 3', 'T9'),
        ('-D 2 ', '-D 300 ', 'P15'),
        ('-n 65536 ', '-n 10 ', 'P15'),
        ('mode            = standard', 'mode            = extended', 'P15'),
        ('[find]', '[found]', 'T13'),
        ('\nt_delta ', '\nt ', 'T13'),
        ('\nscore ', '\nscored ', 'T13'),
        ('\nSCORE           = ', '\nSCORE           = 9', 'T1'),
        (RESULT, '; END 2026-11-23 16:01:07\n', 'T13'),
    ],
)
def test_results_that_are_not_of_this_launch_are_refused(old, new, rule):
    assert old in RESULT
    assert refusal(result=RESULT.replace(old, new)).rule == rule


def test_all_phases_together_last_no_longer_than_the_launch():
    assert refusal(lived_s=3.0).rule == 'T1'


def test_a_failed_run_is_refused_in_the_words_of_io500():
    assert_refused(refusal('bad-option'), 'E1', 'unknown option "wrong"')
    assert_refused(refusal('no-space'), 'E1', 'No space left on device')


def test_an_error_of_a_storage_call_is_quoted_even_if_only_the_log_of_its_phase_has_it():
    line = 'WARNING: write(15, 0x5581, 3901) failed No space left on device'
    process = ProcessTime('node1', 0.0, 9.0, 134)
    outcome = Outcome((process,), ('',), ('io500: Aborted\n',), ('', '', f'started\n{line}\n'))
    with pytest.raises(EngineError, match=re.escape(f"IO500 exited with 134: '{line}'")):
        Io500Engine().measure(PHASE, POINT, command(POINT), outcome)
    assert '/raw/1.io500/mdtest-hard-write.txt' in command(POINT).outputs


def test_all_that_it_makes_it_may_remove():
    names = ['io500', 'ior-easy', 'mdtest-hard', 'ior_file_easy.00000001', 'file', 'test-dir.0-0', 'file.mdtest.1.12']
    assert all(any(re.fullmatch(pattern, name) for pattern in Io500Engine().makes) for name in names)
