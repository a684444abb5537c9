"""IO500's phases: what is contradictory, how a profile shortens them, what they have on disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.metric import Measurement, Metric
from seatrial.model.units import GIB
from seatrial.site.profile import ACCEPTANCE, NIGHTLY
from seatrial.workload import io500
from seatrial.workload.base import UNKNOWN
from seatrial.workload.registry import fault_of, kind_of, metrics_of

POINT = io500.io500('64GiB')._replace(label='all', tasks=2, tasks_per_node=2)
KIND = kind_of('io500')


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'phases': ('write',)}, 'phases'),
        ({'transfer_size': 4096}, 'transfer_size'),
        ({'bytes_per_task': 3 * 2**20}, 'bytes_per_task'),
        ({'duration_s': 1.0}, 'duration_s'),
        ({'files': 'multiple'}, 'files'),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_field(change, field):
    assert fault_of(POINT) is None
    assert fault_of(POINT.changed(**change)).partition(':')[0] == field


def test_a_night_has_no_time_for_the_rules_and_so_no_score():
    night, acceptance = (KIND.adapted(POINT, profile.effort) for profile in (NIGHTLY, ACCEPTANCE))
    assert (io500.stone_wall_s(night), io500.stone_wall_s(acceptance)) == (5, io500.STONE_WALL_S)
    scored = [
        io500.SCORE in {metric.name for metric in metrics_of(point, io500.PHASE)} for point in (night, acceptance)
    ]
    assert scored == [False, True]
    assert 'not a submission' in KIND.sentence([acceptance]) and 'not a submission' in KIND.metric_words(io500.SCORE)


def test_the_bytes_of_a_task_bound_all_that_lies_there():
    assert io500.files_per_task(POINT) == 2**20
    footprint = KIND.footprint([POINT])
    assert footprint.bytes == 2 * 2 * 64 * GIB + 2 * 2 * 2**20 * 3901
    assert footprint.inodes > 2 * 2 * 2**20
    assert KIND.files(POINT) == () and not KIND.preparations([POINT])


def test_the_site_chooses_the_bytes_and_no_warm_up_does():
    sizing = KIND.sizing([POINT], ACCEPTANCE.effort, 8 * GIB)
    assert (sizing.first, sizing.fixed) == (8 * GIB, True)
    assert KIND.sizing([POINT], ACCEPTANCE.effort, None).first == 64 * GIB


def derived(metrics):
    return KIND.derived(POINT, io500.PHASE, Measurement(tuple(metrics), 2, ('node1',)))


def test_without_one_of_its_phases_there_is_no_score():
    metrics = [Metric(name, 1.0, 'B/s', seconds=300.0) for name in io500.BANDWIDTHS]
    metrics += [Metric(name, 1.0, 'op/s', seconds=300.0) for name in io500.RATES]
    assert len(derived(metrics)) == 3
    assert derived(metrics[1:]) == ()
    assert derived([metrics[0]._replace(value=0.0), *metrics[1:]]) == ()


def test_what_reads_is_not_known_to_be_cold():
    unknown = [metric.name for metric in metrics_of(POINT, io500.PHASE) if KIND.cache_of(metric.name, '') == UNKNOWN]
    assert {'ior_easy_read', 'mdtest_hard_stat', 'find'} <= set(unknown)
    assert not {'ior_easy_write', 'mdtest_hard_delete'} & set(unknown)


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=12))
def test_a_geometric_mean_lies_between_the_least_and_the_largest(values):
    assert min(values) * (1 - 1e-9) <= io500.geometric_mean(values) <= max(values) * (1 + 1e-9)
