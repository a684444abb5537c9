"""Profiles: what each of them makes of the sweeps of the sources."""

import pytest

from seatrial.model.plan import Sizing
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, KIB, MIB
from seatrial.site.profile import ISOLATION_S, MIN_S, PROFILES
from seatrial.workload.access import data_access
from seatrial.workload.registry import kind_of, resized
from seatrial.workload.sweep import AXES, Sweep, expand, powers_of_two
from seatrial.workload.tree import metadata_tree

MFWA = data_access('multiple')
SFWA_SIZES = Sweep('transfer_size', powers_of_two(KIB, 4 * MIB))
SIZES = Sweep('transfer_size', powers_of_two('1MiB', '1GiB'))
TASKS = Sweep('tasks', (1, 2))
ALONE = Allocation(1, 2)
ACCESS, TREE, LISTING = (kind_of(name) for name in ('access', 'tree', 'listing'))

FLAT = metadata_tree(files_per_directory=1000, scales=True)
# The second scenario of fdtree: 2 directories with 1000 files of 2,048,000 B each.
FDTREE_2 = metadata_tree(depth=1, files_per_directory=1000, bytes_per_file=500 * 4096)
SIZED = ['smoke', 'nightly', 'acceptance']


def test_a_label_begins_with_what_it_labels() -> None:
    assert PROFILES['smoke'].label == 'smoke test: shows that everything works, says nothing about performance'
    assert all(profile.label.startswith(name) for name, profile in PROFILES.items())


# Repetitions


@pytest.mark.parametrize(
    ('name', 'judges'), [('smoke', False), ('nightly', True), ('acceptance', True), ('paper', True)]
)
def test_the_figures_of_every_profile_but_a_smoke_test_are_judged(name: str, judges: bool) -> None:
    assert PROFILES[name].judges is judges


def test_smoke_repeats_four_times_whatever_the_scatter() -> None:
    rule = PROFILES['smoke'].stopping(0.10)
    assert (rule.minimum, rule.maximum, rule.extra, rule.fixed) == (4, 4, 0, True)


@pytest.mark.parametrize('name', ['nightly', 'acceptance', 'paper'])
def test_the_others_stop_by_the_rule_of_boito_with_two_more(name: str) -> None:
    rule = PROFILES[name].stopping(0.05)
    expected = (0.05, 4, 20, 2, False)
    assert (rule.max_relative_error, rule.minimum, rule.maximum, rule.extra, rule.fixed) == expected


@pytest.mark.parametrize('name', list(PROFILES))
def test_the_budget_is_the_profiles_own_unless_the_site_sets_one(name: str) -> None:
    profile = PROFILES[name]
    assert (profile.stopping(0.1).budget_s, profile.stopping(0.1, 7.5).budget_s) == (profile.budget_s, 7.5)


# How much a launch does


@pytest.mark.parametrize(
    ('name', 'min_s', 'working_set'),
    [('smoke', 0.5, False), ('nightly', 0.5, False), ('acceptance', 300.0, True), ('paper', 0.5, False)],
)
def test_acceptance_alone_asks_for_300_seconds_and_a_working_set_beyond_the_caches(
    name: str, min_s: float, working_set: bool
) -> None:
    effort = PROFILES[name].effort
    assert (effort.min_s, effort.working_set) == (min_s, working_set)
    assert effort.min_s >= MIN_S, "the resolution of fio's clock"


@pytest.mark.parametrize('name', SIZED)
def test_the_time_aimed_at_is_more_than_the_least(name: str) -> None:
    assert PROFILES[name].effort.target_s > PROFILES[name].effort.min_s


@pytest.mark.parametrize('axis', ['transfer_size', 'tasks', 'layout', 'tree', 'entries'])
@pytest.mark.parametrize('name', list(PROFILES))
def test_a_curve_has_the_whole_effort_of_its_profile(name: str, axis: str) -> None:
    assert PROFILES[name].effort_for(AXES[axis]) == PROFILES[name].effort


@pytest.mark.parametrize('axis', ['ost', 'mdt', 'node'])
@pytest.mark.parametrize('name', list(PROFILES))
def test_what_is_compared_with_its_equals_is_measured_for_ten_seconds_and_past_no_cache(name: str, axis: str) -> None:
    whole, effort = PROFILES[name].effort, PROFILES[name].effort_for(AXES[axis])
    assert effort.target_s == min(whole.target_s, ISOLATION_S)
    assert (effort.min_s, effort.working_set) == (MIN_S, False)
    assert (effort.first_bytes, effort.files, effort.phase_s) == (whole.first_bytes, whole.files, whole.phase_s)


# Data


def test_paper_uses_every_point_and_the_sources_bytes_as_they_are() -> None:
    points = expand(SIZES, MFWA, ALONE)
    sizing = ACCESS.sizing(points, PROFILES['paper'].effort, None)
    assert (sizing.first, sizing.target_s, PROFILES['paper'].points) == (2 * GIB, 0.0, 0)
    assert resized(points, sizing.first) == points


@pytest.mark.parametrize(
    ('name', 'largest'), [('smoke', 128 * MIB), ('nightly', 128 * MIB), ('acceptance', GIB), ('paper', GIB)]
)
def test_no_transfer_is_larger_than_what_a_task_moves_at_first(name: str, largest: int) -> None:
    fitting = [each for each in expand(SIZES, MFWA, ALONE) if ACCESS.fits(each, PROFILES[name].effort, None)]
    assert fitting[-1].transfer_size == largest


# Metadata


@pytest.mark.parametrize(
    ('name', 'files', 'target_s'), [('smoke', 500, 0.0), ('nightly', 1000, 1.0), ('acceptance', 10_000, 30.0)]
)
def test_the_files_of_a_tree_that_scales_are_found_out_except_in_a_smoke_test(
    name: str, files: int, target_s: float
) -> None:
    sizing = TREE.sizing([FLAT], PROFILES[name].effort, None)
    assert (sizing.first, sizing.target_s, sizing.pinned) == (files, target_s, None)
    assert sizing.min_s == target_s / 4
    assert sizing.fixed is (name == 'smoke')


def test_paper_uses_the_sources_files_as_they_are() -> None:
    assert TREE.sizing([FLAT], PROFILES['paper'].effort, None) == Sizing(0, 1, 0.0, 0.0)


@pytest.mark.parametrize(('name', 'files'), [('smoke', 32), ('nightly', 262), ('acceptance', 1000), ('paper', 1000)])
def test_a_tree_has_no_more_bytes_than_the_profile_allows(name: str, files: int) -> None:
    assert TREE.adapted(FDTREE_2, PROFILES[name].effort) == FDTREE_2._replace(files_per_directory=files)


def test_a_tree_that_is_no_directory_of_so_many_entries_is_never_left_out() -> None:
    assert TREE.fits(FLAT._replace(files_per_directory=1_000_000), PROFILES['smoke'].effort, None)
