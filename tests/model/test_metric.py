"""What an engine measured: metrics in base units, whichever dimension they have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.metric import (
    HIGHER,
    LOWER,
    PERCENTILES,
    Fact,
    Measurement,
    Metric,
    MetricType,
    NodeTime,
    TaskTime,
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


def test_the_type_of_a_metric_is_higher_is_better_unless_it_says_otherwise():
    assert MetricType('write', 'B/s').better == Metric('write', 1.0, 'B/s').better == HIGHER != LOWER


def test_the_idle_share_is_what_the_slowest_task_leaves():
    assert rate('file_stat', 52, 0.008, '', (0.001, 0.002)).idle_share == pytest.approx(0.75)


@pytest.mark.parametrize('metric', [WRITE, rate('x', 1, 0.0, '', (1.0,))])
def test_without_the_times_of_tasks_or_of_the_phase_nothing_is_idle(metric):
    assert metric.idle_share == 0.0


def test_the_seconds_of_a_launch_are_its_shortest_timed_region():
    metrics = (rate('file_create', 4, 2.0, ''), rate('directory_create', 4, 0.5, ''), HOLDING)
    assert Measurement(metrics, 1, ('h',)).seconds == 0.5


def test_a_launch_that_times_nothing_has_no_seconds():
    assert Measurement((HOLDING,), 1, ('h',), facts=(Fact('f', None, 'it was not tried'),)).seconds == 0.0


def test_the_figures_are_the_values_by_the_names_of_the_metrics():
    measurement = Measurement((WRITE, CREATE, HOLDING), 2, ('h',))
    assert measurement.figures == {'write': 4.0 * MIB, 'file_create': 2343.0, 'holding': 3.0}


def test_a_metric_is_found_by_its_name():
    measurement = Measurement((WRITE, CREATE), 2, ('h',))
    assert (measurement.metric('file_create'), measurement.metric('read')) == (CREATE, None)


@pytest.mark.parametrize(('share', 'name'), [(0.5, 'p50'), (0.95, 'p95'), (0.999, 'p99.9'), (0.9999, 'p99.99')])
def test_percentiles_have_their_usual_names(share, name):
    assert percentile_name(share) == name


def test_the_usual_percentiles_are_the_median_and_the_tail():
    assert [percentile_name(share) for share in PERCENTILES] == ['p50', 'p95', 'p99']


def test_a_task_took_from_its_start_to_its_end():
    assert TaskTime(1, 'h', MIB, 0.5, 2.0).seconds == 1.5


def test_the_bandwidth_of_a_node_is_that_of_its_slowest_task():
    assert NodeTime('n1', 2, 8 * MIB, 1.0, 2.0).bandwidth == 4.0 * MIB
