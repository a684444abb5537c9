"""What an engine measured: metrics in base units, whichever dimension they have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.metric import (
    HIGHER,
    Measurement,
    Metric,
    NodeTime,
    bandwidth,
    percentile_name,
    rate,
)
from seatrial.model.units import MIB

HOLDING = Metric('holding', 3.0, '')
WRITE = bandwidth('write', 8 * MIB, 2.0, '4.00')
CREATE = rate('file_create', 4686, 2.0, '2343.000', (1.0, 1.5), {'p99': 0.001})


def test_a_bandwidth_is_bytes_over_first_start_to_last_end_in_b_s():
    assert Metric('write', 4.0 * MIB, 'B/s', HIGHER, 2.0, 0, '4.00') == WRITE


def test_a_rate_counts_the_operations_of_all_tasks():
    assert Metric('file_create', 2343.0, 'op/s', HIGHER, 2.0, 4686, '2343.000', {'p99': 0.001}, (1.0, 1.5)) == CREATE


@pytest.mark.parametrize('make', [bandwidth, rate])
@pytest.mark.parametrize('seconds', [0.0, -1.0])
def test_what_took_no_time_is_no_figure(make, seconds):
    metric = make('x', 100, seconds, '')
    assert metric.value == 0.0
    assert Measurement((metric, HOLDING), 1, ('h',)).figures == {'holding': 3.0}


@given(st.integers(1, 1 << 60), st.floats(1e-6, 1e6))
def test_value_times_seconds_is_what_was_done(number, seconds):
    assert bandwidth('read', number, seconds, '').value * seconds == pytest.approx(number)
    assert rate('stat', number, seconds, '').value * seconds == pytest.approx(number)


def test_the_idle_share_is_what_the_slowest_task_leaves():
    assert rate('file_stat', 52, 0.008, '', (0.001, 0.002)).idle_share == pytest.approx(0.75)


@pytest.mark.parametrize('metric', [WRITE, rate('x', 1, 0.0, '', (1.0,))])
def test_without_the_times_of_tasks_or_of_the_phase_nothing_is_idle(metric):
    assert metric.idle_share == 0.0


def test_the_seconds_of_a_launch_are_its_shortest_timed_region():
    metrics = (rate('file_create', 4, 2.0, ''), rate('directory_create', 4, 0.5, ''), HOLDING)
    assert Measurement(metrics, 1, ('h',)).seconds == 0.5
    assert Measurement((HOLDING,), 1, ('h',)).seconds == 0.0  # it times nothing


def test_metrics_are_had_by_their_names():
    measurement = Measurement((WRITE, CREATE, HOLDING), 2, ('h',))
    assert (measurement.metric('file_create'), measurement.metric('read')) == (CREATE, None)
    assert measurement.figures == {'write': 4.0 * MIB, 'file_create': 2343.0, 'holding': 3.0}
    assert NodeTime('n1', 2, 8 * MIB, 1.0, 2.0).bandwidth == 4.0 * MIB  # of its slowest task


@pytest.mark.parametrize(('share', 'name'), [(0.5, 'p50'), (0.95, 'p95'), (0.999, 'p99.9'), (0.9999, 'p99.99')])
def test_percentiles_have_their_usual_names(share, name):
    assert percentile_name(share) == name
