"""Profiles: the points and sizes that they choose from the sweeps of the sources."""

import pytest

from seatrial.engine.fio.process import CLOCK_S
from seatrial.model.metric import QUANTA
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, MIB
from seatrial.site.profile import ISOLATION_S, MIN_S, PROFILES
from seatrial.workload.access import data_access
from seatrial.workload.registry import kind_of, resized
from seatrial.workload.sweep import AXES, Sweep, expand, powers_of_two
from seatrial.workload.tree import metadata_tree

MFWA = data_access('multiple')
SIZES = Sweep('transfer_size', powers_of_two('1MiB', '1GiB'))
ALONE = Allocation(1, 2)
ACCESS, TREE, LISTING = (kind_of(name) for name in ('access', 'tree', 'listing'))

FLAT = metadata_tree(files_per_directory=1000, scales=True)
# The second scenario of fdtree: 2 directories with 1000 files of 2,048,000 B each.
FDTREE_2 = metadata_tree(depth=1, files_per_directory=1000, bytes_per_file=500 * 4096)
NAMES = list(PROFILES)


@pytest.mark.parametrize('name', ['nightly', 'acceptance', 'paper'])
def test_what_judges_stops_by_the_rule_of_boito_with_two_more(name):
    rule = PROFILES[name].stopping(0.05)
    expected = (0.05, 4, 20, 2, False)
    assert (rule.max_relative_error, rule.minimum, rule.maximum, rule.extra, rule.fixed) == expected
    assert PROFILES[name].judges and not PROFILES['smoke'].judges


@pytest.mark.parametrize('name', NAMES)
def test_the_budget_is_the_profiles_own_unless_the_site_sets_one(name):
    profile = PROFILES[name]
    assert (profile.stopping(0.1).budget_s, profile.stopping(0.1, 7.5).budget_s) == (profile.budget_s, 7.5)


@pytest.mark.parametrize('name', NAMES)
def test_a_launch_lasts_longer_than_fios_clock_is_exact_and_an_acceptance_is_beyond_caches(name):
    effort = PROFILES[name].effort
    assert effort.min_s >= QUANTA * CLOCK_S and effort.working_set == (name == 'acceptance')
    assert name == 'paper' or effort.target_s > effort.min_s
    assert PROFILES[name].effort_for(AXES['tasks']) == effort


@pytest.mark.parametrize('axis', ['ost', 'mdt', 'node'])
@pytest.mark.parametrize('name', NAMES)
def test_what_is_compared_with_its_equals_is_measured_for_ten_seconds_and_past_no_cache(name, axis):
    whole, effort = PROFILES[name].effort, PROFILES[name].effort_for(AXES[axis])
    assert effort.target_s == min(whole.target_s, ISOLATION_S)
    assert (effort.min_s, effort.working_set) == (min(whole.min_s, MIN_S), False)
    assert name == 'paper' or effort.target_s > effort.min_s
    assert (effort.first_bytes, effort.files, effort.phase_s) == (whole.first_bytes, whole.files, whole.phase_s)


def test_paper_uses_every_point_and_the_sources_bytes_as_they_are():
    points = expand(SIZES, MFWA, ALONE)
    sizing = ACCESS.sizing(points, PROFILES['paper'].effort, None)
    assert (sizing.first, sizing.target_s, PROFILES['paper'].points) == (2 * GIB, 0.0, 0)
    assert resized(points, sizing.first) == points


@pytest.mark.parametrize(
    ('name', 'largest'), [('smoke', 128 * MIB), ('nightly', 128 * MIB), ('acceptance', GIB), ('paper', GIB)]
)
def test_no_transfer_is_larger_than_what_a_task_moves_at_first(name, largest):
    fitting = [point for point in expand(SIZES, MFWA, ALONE) if ACCESS.fits(point, PROFILES[name].effort, None)]
    assert fitting[-1].data.transfer_size == largest


@pytest.mark.parametrize(('name', 'target_s'), [('smoke', 0.0), ('nightly', 1.0), ('acceptance', 30.0)])
def test_the_number_of_files_in_a_scaling_tree_is_measured_except_in_a_smoke_test(name, target_s):
    sizing = TREE.sizing([FLAT], PROFILES[name].effort, None)
    assert (sizing.first, sizing.pinned) == (PROFILES[name].effort.files, None)
    assert (sizing.target_s, sizing.min_s, sizing.fixed) == (target_s, target_s / 4, name == 'smoke')


@pytest.mark.parametrize(('name', 'files'), [('smoke', 32), ('nightly', 262), ('acceptance', 1000), ('paper', 1000)])
def test_a_tree_has_no_more_bytes_than_the_profile_allows(name, files):
    assert TREE.adapted(FDTREE_2, PROFILES[name].effort) == FDTREE_2.changed(files_per_directory=files)
