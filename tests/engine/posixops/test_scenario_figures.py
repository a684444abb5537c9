"""The figures of a scenario's course: throughput, outage and recovery, from rows and transcript."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import assert_refused, refused_by
from seatrial.engine.failed_call import failed_calls
from seatrial.engine.posixops import scenario_figures as course
from seatrial.engine.posixops.scenario_figures import ScenarioRow, bound_s, figures, line_of_row, row_of, windows_of
from seatrial.model.action import Planned, Step, line_of_step, transcript_of
from seatrial.workload.scenario import MAX_S, scenario

MIB = 1 << 20
POINT = scenario(before_s=10, action_s=10, after_s=40).changed(
    label='away', tasks=2, tasks_per_node=2, actions=(Planned('away', 10.0, 10.0),)
)
HOSTS = ('n1', 'n2')
STEPS = (Step('away', 'start', 10.1, 10.4, ''), Step('away', 'undo', 20.5, 21.0, ''))


def transcript(steps=STEPS, skew_s=0.0, complete=True):
    lines = [json.dumps({'skew_s': skew_s}) + '\n', *map(line_of_step, steps)]
    return ''.join([*lines, json.dumps({'complete': True}) + '\n'] if complete else lines)


def rows(dead=(10.5, 23.0), errors=None):
    """A task that moves 8 MiB/s but while it is dead; errors by the second."""
    lines = []
    for second in range(60):
        moved = 0 if dead[0] < second + 1 <= dead[1] else 8
        gaps, failed = (dead,) if second == int(dead[1]) else (), (errors or {}).get(second, {})
        lines.append(line_of_row(ScenarioRow(second, 1.0, moved, moved * MIB, 0.1, failed, {'60': 8}, gaps)))
    return [*lines, '["verified",100]']


def measured(*tasks, stream=None):
    metrics, _ = figures(POINT, tasks or (rows(), rows()), HOSTS, transcript() if stream is None else stream)
    return {metric.name: metric for metric in metrics}


refused = refused_by(measured)


def test_throughput_is_that_before_during_and_after_the_action():
    metrics = measured()
    assert metrics['before'].value == pytest.approx(16 * MIB, rel=0.02)
    assert metrics['during'].value == 0
    assert metrics['after'].value == pytest.approx(16 * MIB, rel=0.05)
    assert metrics['verified'].value == 200


def test_the_outage_is_that_of_the_node_that_waited_longest_and_no_pause_far_from_the_action():
    metrics = measured(rows(), rows(dead=(11.0, 15.0)))
    assert (metrics['outage'].value, metrics['outage'].figure) == (12.5, '12.5 s on n1')
    assert metrics['outage_of_all_nodes'].value == 16.5
    assert measured(*[rows(dead=(40.0, 43.0))] * 2)['outage'].value == 0


def test_recovery_counts_from_the_end_of_the_undo():
    assert measured()['recovery'].value == pytest.approx(2.0, abs=0.5)
    assert measured(rows(dead=(10.5, 20.9)), rows(dead=(10.5, 20.9)))['recovery'].value == 0


def test_errors_in_the_action_are_counted_by_their_names():
    metrics = measured(rows(errors={12: {'EIO': 3}}), rows(errors={30: {'ESTALE': 1}}))
    assert (metrics['errors'].value, metrics['errors'].figure) == (4, 'EIO: 3, ESTALE: 1')


def test_an_error_that_no_action_explains_is_of_the_storage():
    error = refused(rows(errors={5: {'EIO': 1}}), rows())
    assert_refused(error, 'F1', 'task 0 on n1: 1 calls failed 5 s after the load began')
    assert [call.errno for call in failed_calls(error.sentence)] == ['EIO']


def test_what_does_not_come_back_has_no_time_to_recover_and_all_other_figures():
    metrics = measured(rows(dead=(10.5, 59.0)), rows(dead=(10.5, 59.0)))
    assert {name for name, metric in metrics.items() if metric.censored} == {'recovery'}
    assert metrics['recovery'].value == 60 - 21
    assert 'not back at 90 % in the 39 s after the undo of away' in metrics['recovery'].figure
    assert (metrics['outage'].value, metrics['during'].value) == (48.5, 0)


def test_an_outage_long_after_an_undo_belongs_to_it_where_nothing_has_come_back():
    slow = [
        line_of_row(ScenarioRow(second, 1.0, 1, MIB, 0.1, {}, {}, ((50.0, 59.0),) * (second == 59)))
        for second in range(41, 60)
    ]
    late = [*rows(dead=(10.5, 40.0))[:41], *slow]
    assert measured(late, late)['outage'].value == 38.5


def test_what_was_counted_belongs_to_its_action_and_what_was_not_is_no_zero():
    point = POINT.changed(duration_s=90.0, actions=(*POINT.actions, Planned('away', 50.0, 10.0)))
    second = (STEPS[0]._replace(begun_s=50.1, ended_s=50.4), STEPS[1]._replace(begun_s=60.5, ended_s=61.0))
    count = Step('away', 'count', 21.0, 21.1, '', 4)
    unknown = count._replace(why='exited with 2', counted=None)
    for counting, seen in ((count, (4, '')), (unknown, (None, 'exited with 2'))):
        first, other = windows_of(point, transcript([*STEPS, counting, *second, count._replace(counted=0)]))
        assert (first.counted, first.uncounted) == seen and (other.counted, other.uncounted) == (0, '')
    first, other = windows_of(point, transcript([*STEPS, *second]))
    assert first.counted is None is other.counted and not first.uncounted


@pytest.mark.parametrize(
    ('stream', 'why'),
    [
        ('', 'no action'),
        (transcript(skew_s=-3.0), 'clocks'),
        (transcript(STEPS[:1]), 'undo of away was not'),
        (transcript(STEPS[1:]), 'start of away was not'),
        (transcript([STEPS[0], STEPS[1]._replace(why='exited with 1')]), 'undo of away failed: exited with 1'),
        (transcript([STEPS[0]._replace(begun_s=17.0, ended_s=17.1), STEPS[1]]), 'start of away began 7.0 s late'),
        (transcript([STEPS[0], STEPS[1]._replace(begun_s=12.0)]), 'undo of away began 8.0 s early'),
        (transcript([STEPS[0], STEPS[1]._replace(ended_s=62.0)]), 'no time to recover'),
        (transcript(complete=False), 'incomplete'),
    ],
)
def test_actions_that_were_not_as_planned_are_no_measurement(stream, why):
    assert_refused(refused(stream=stream), 'A1', why)


def test_a_transcript_that_is_cut_short_anywhere_is_never_taken_for_a_whole_one():
    whole = transcript()
    for end in range(len(whole) - 1):
        read = transcript_of(whole[:end])
        assert read is None or not read.complete


def test_rows_that_are_cut_short_are_refused():
    line = rows()[12]
    assert {refused([*rows()[:12], line[:end]], rows()).rule for end in range(1, len(line))} == {'T8'}


@given(
    st.builds(
        ScenarioRow,
        st.floats(0, MAX_S),
        st.just(1.0),
        st.integers(0, 10**6),
        st.integers(0, 10**12),
        st.floats(0, 1e5),
        st.dictionaries(st.sampled_from(['EIO', 'ESTALE']), st.integers(1, 100)),
        st.dictionaries(st.integers(0, 150).map(str), st.integers(1, 1000)),
        st.lists(st.tuples(st.floats(0, MAX_S), st.floats(0, MAX_S)), max_size=3).map(tuple),
    )
)
def test_a_row_is_read_as_it_was_written(row):
    assert row_of(line_of_row(row)) == row


@given(st.floats(300, MAX_S), st.integers(1, 6))
@pytest.mark.slow
def test_rows_follow_each_other_and_every_second_near_an_action_has_its_own(duration_s, times):
    each_s = duration_s / times
    point = scenario(before_s=each_s - 20, action_s=10, after_s=10, times=times)
    at_s, number = 0.0, 0
    while at_s < point.duration_s:
        end_s = bound_s(point, at_s)
        assert end_s > at_s
        if any(action.at_s - course.GAP_S <= at_s <= action.at_s + action.for_s for action in point.actions):
            assert end_s - at_s == 1.0
        at_s, number = end_s, number + 1
    assert number <= max(7200, duration_s / 60 + times * 800) + 1
