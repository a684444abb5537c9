"""The figures that the sources print, judged as measurements: what each says of its own comes out here too.

Of other tests: fairness, stripes and the cached listing (test_fairness.py), ten pools (test_choice.py), change points
(test_change_points.py), LFSCK (test_lfsck.py).
"""

import math

import numpy as np
import pytest

from seatrial.judge.relations import FAILS, HOLDS, NO_LEAST, UNDECIDED, at_least, lies_between


def around(mean, error, count=21):
    """So many values with exactly this mean and this standard error of it."""
    shape = np.random.default_rng(1).standard_normal(count)
    shape -= shape.mean()
    return list(mean + error * math.sqrt(count) * shape / shape.std(ddof=1))


def judged(over, under, lowest, highest=math.inf):
    found = lies_between(around(*over), around(*under), lowest, highest)
    return round(found.estimate, 3), found.verdict


@pytest.mark.parametrize(
    ('virtual', 'bare_metal', 'ratio'),
    [((12.27, 0.08), (12.55, 0.06), 0.978), ((15.3, 0.1), (15.6, 0.2), 0.981)],
    ids=['21 clients', '1 client'],
)
def test_a_virtual_server_reads_within_5_per_cent_of_bare_metal(virtual, bare_metal, ratio):
    """FN-06."""
    assert judged(virtual, bare_metal, 0.95) == (ratio, HOLDS)


@pytest.mark.parametrize(
    ('on_board', 'external', 'ratio'),
    [((13.02, 0.05), (12.27, 0.08), 1.061), ((14.9, 0.2), (15.3, 0.1), 0.974)],
    ids=['21 clients', '1 client'],
)
def test_clients_on_board_are_within_15_per_cent_of_external_ones(on_board, external, ratio):
    """FN-04 and FN-06."""
    assert judged(on_board, external, 0.85, 1.15) == (ratio, HOLDS)


@pytest.mark.parametrize(
    ('many', 'one', 'ratio'),
    [((12.55, 0.06), (15.6, 0.2), 0.804), ((12.27, 0.08), (15.3, 0.1), 0.802), ((13.02, 0.05), (14.9, 0.2), 0.874)],
    ids=['bare metal', 'virtual', 'on board'],
)
def test_each_of_21_clients_reads_less_than_one_alone(many, one, ratio):
    """FN-06: about 20 % less, and on board 13 %."""
    assert judged(many, one, 0.75, 0.9) == (ratio, HOLDS)
    assert at_least(around(*many), around(*one), 1.0).verdict == FAILS


def test_a_virtual_server_writes_less_than_a_third_of_bare_metal():
    """FN-01: 250 and 70 MB/s. The source has no errors: 5 % are assumed."""
    assert judged((250.0, 12.5), (70.0, 3.5), 3.0) == (3.571, HOLDS)
    assert judged((350.0, 3.5), (350.0, 3.5), 0.95, 1.05) == (1.0, HOLDS)


def test_the_sites_differ_by_less_than_5_per_cent_in_a_saturated_run():
    """FN-08: 9.0 +- 0.2 and 9.3 +- 0.1 MB/s are 3.2 % apart, too uncertain to prove that it is less than 5 %."""
    assert judged((9.0, 0.2), (9.3, 0.1), 0.95, 1.05) == (0.968, UNDECIDED)
    assert judged((9.0, 0.2), (9.3, 0.1), 0.85, 1.15) == (0.968, HOLDS)


def test_files_read_0_31_times_as_fast_as_three_devices_together():
    """FN-18: 350 MB/s, and three times 376.94. The source has no errors: 5 % are assumed."""
    devices = around(3 * 376.94, 3 * 18.8)
    found = lies_between(around(350.0, 17.5), devices, NO_LEAST, 1.0)
    assert (round(found.estimate, 2), found.verdict) == (0.31, HOLDS)
    assert lies_between(around(3 * 400.0, 1.0), around(3 * 376.94, 1.0), NO_LEAST, 1.0).verdict == FAILS
    assert lies_between(devices, devices, NO_LEAST, 1.0).verdict == UNDECIDED


@pytest.mark.parametrize(
    ('slow_s', 'fast_s', 'times'), [(0.466, 0.034, 13.706), (0.466, 0.222, 2.099)], ids=['307', '305']
)
def test_later_listings_are_as_many_times_as_fast_as_the_source_derives(slow_s, fast_s, times):
    """GP-04, beside the 14.1 of the fourth one."""
    assert judged((slow_s, 0.001), (fast_s, 0.0001), 1.0) == (times, HOLDS)


@pytest.mark.parametrize('names', ['SFSA over MFWA', 'read over write'])
def test_about_20_per_cent_is_told_from_nothing_with_the_precision_that_the_source_asks_for(names):
    """L09-06 and L09-08: 90 % intervals within 5 %."""
    assert judged((1.2, 0.025), (1.0, 0.02), 1.1, 1.3) == (1.2, HOLDS)
    assert judged((1.0, 0.02), (1.0, 0.02), 1.1, 1.3) == (1.0, FAILS)
