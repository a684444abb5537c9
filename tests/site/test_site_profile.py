import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seatrial.model.namespace import Trees, expand_trees
from seatrial.model.tree import MetadataTree, entries
from seatrial.model.workload import Geometry, Sweep, expand, left_out, powers_of_two, resized

from seatrial.model.plan import Sizing
from seatrial.model.units import GIB, KIB, MIB
from seatrial.site.profile import PROFILES, Profile

TRANSFER_SIZES = Sweep('transfer_size', powers_of_two(KIB, 4 * MIB), 2 * GIB)
OBJECTS = Sweep('objects', powers_of_two(2, 2048), 2 * GIB)
CLIENTS = Sweep('clients', (1, 2), 2 * GIB, objects=32)
ALONE = Geometry(1, 2)

FLAT = MetadataTree(files_per_directory=1000)
SCALING = Trees((('shared', FLAT),), scales=True)
# The second scenario of fdtree: 2 directories with 1000 files of 2,048,000 B each.
FDTREE_2 = Trees((('shared', MetadataTree(1, 1, files_per_directory=1000, bytes_per_file=500 * 4096)),))
DIRECTORIES = Trees(
    tuple((str(count), MetadataTree(files_per_directory=count)) for count in (10_000, 100_000, 1_000_000)), 'entries'
)
PAUSES = Trees((('891', MetadataTree(files_per_directory=891)),), tasks=1, pauses_s=(0.5, 1.0, 2.0, 10.0))

sweeps = st.one_of(
    st.lists(st.integers(1, 40).map(lambda n: n * 16 * KIB), min_size=1, max_size=4, unique=True).map(
        lambda values: Sweep('transfer_size', tuple(values), math.lcm(*values))
    ),
    st.lists(st.integers(1, 3000), min_size=1, max_size=3, unique=True).map(
        lambda values: Sweep('objects', tuple(values), math.lcm(*values) * KIB)
    ),
    st.integers(1, 3000).map(lambda objects: Sweep('clients', (1, 2), objects * KIB, objects)),
)


def test_the_profiles_are_listed_from_the_shortest() -> None:
    assert list(PROFILES) == ['smoke', 'nightly', 'acceptance', 'paper']


def test_every_profile_is_listed_by_its_name() -> None:
    assert all(profile.name == name for name, profile in PROFILES.items())


def test_a_label_begins_with_what_it_labels() -> None:
    assert PROFILES['smoke'].label == 'smoke test: shows that everything works, says nothing about performance'


def test_smoke_repeats_four_times_whatever_the_scatter() -> None:
    rule = PROFILES['smoke'].stopping(0.10)
    assert (rule.least, rule.most, rule.extra, rule.fixed) == (4, 4, 0, True)


@pytest.mark.parametrize('name', ['nightly', 'acceptance', 'paper'])
def test_the_others_stop_by_the_rule_of_boito_with_two_more(name: str) -> None:
    rule = PROFILES[name].stopping(0.05)
    assert (rule.max_relative_error, rule.least, rule.most, rule.extra, rule.fixed) == (0.05, 4, 20, 2, False)


def test_the_budget_is_the_profiles_own_unless_the_site_sets_one() -> None:
    nightly = PROFILES['nightly']
    assert (nightly.stopping(0.1).budget_s, nightly.stopping(0.1, 7.0).budget_s) == (600.0, 7.0)


def test_smoke_keeps_the_budget_that_the_site_sets() -> None:
    assert PROFILES['smoke'].stopping(0.1, 7.0).budget_s == 7.0


def test_acceptance_asks_for_300_seconds_and_a_working_set_beyond_the_caches() -> None:
    sizing = PROFILES['acceptance'].sizing(OBJECTS)
    assert (sizing.min_s, sizing.working_set) == (300.0, True)


@pytest.mark.parametrize('name', ['smoke', 'nightly', 'paper'])
def test_no_other_profile_claims_a_working_set(name: str) -> None:
    assert not PROFILES[name].sizing(OBJECTS).working_set


@pytest.mark.parametrize('name', list(PROFILES))
def test_no_region_is_shorter_than_the_resolution_of_fios_clock_allows(name: str) -> None:
    assert PROFILES[name].min_s >= 0.5


@pytest.mark.parametrize('name', ['smoke', 'nightly', 'acceptance'])
def test_the_time_aimed_at_is_more_than_the_least(name: str) -> None:
    assert PROFILES[name].target_s > PROFILES[name].min_s


@pytest.mark.parametrize('name', ['smoke', 'nightly'])
@pytest.mark.parametrize('sweep', [TRANSFER_SIZES, OBJECTS, CLIENTS])
def test_the_sweeps_of_the_sources_start_at_128_mib_in_steps_of_16(name: str, sweep: Sweep) -> None:
    sizing = PROFILES[name].sizing(sweep)
    assert (sizing.first, sizing.granule) == (128 * MIB, 16 * MIB)


def test_the_finest_objects_are_whole_blocks() -> None:
    finest = expand(OBJECTS, ALONE, PROFILES['smoke'].sizing(OBJECTS).granule)[-1]
    assert (finest.objects, finest.transfer_size % 4096) == (2048, 0)


def test_paper_uses_the_sources_bytes_as_they_are() -> None:
    sizing = PROFILES['paper'].sizing(OBJECTS)
    assert (sizing.first, sizing.target_s) == (2 * GIB, 0.0)


def test_paper_keeps_every_point() -> None:
    assert PROFILES['paper'].points == 0


def test_a_source_whose_bytes_do_not_divide_is_an_error() -> None:
    with pytest.raises(ValueError, match='100KiB a client is not a multiple of 64KiB, which .* transfer_size sweep'):
        PROFILES['paper'].sizing(Sweep('transfer_size', (64 * KIB,), 100 * KIB))


@pytest.mark.parametrize('name', list(PROFILES))
def test_pinned_bytes_hold_in_every_profile(name: str) -> None:
    sizing = PROFILES[name].sizing(TRANSFER_SIZES, 8 * MIB)
    assert (sizing.first, sizing.pinned) == (8 * MIB, 8 * MIB)


def test_pinned_bytes_that_do_not_divide_are_an_error() -> None:
    with pytest.raises(ValueError, match='1MiB a client is not a multiple of 4MiB'):
        PROFILES['smoke'].sizing(TRANSFER_SIZES, MIB)


@given(sweeps, st.sampled_from(list(PROFILES.values())))
def test_no_value_of_a_sweep_is_lost_to_the_size(sweep: Sweep, profile: Profile) -> None:
    sizing = profile.sizing(sweep)
    assert left_out(sweep, ALONE, sizing.first) == []


@given(sweeps, st.sampled_from(['smoke', 'nightly', 'acceptance']), st.integers(1, 50))
def test_every_multiple_of_the_granule_fits_every_point(sweep: Sweep, name: str, times: int) -> None:
    sizing = PROFILES[name].sizing(sweep)
    for point in expand(sweep, ALONE, sizing.first):
        other = resized(point, sweep.axis, times * sizing.granule)
        assert other.objects * other.transfer_size == times * sizing.granule


@given(sweeps, st.sampled_from(list(PROFILES.values())))
def test_the_first_bytes_are_a_multiple_of_the_granule(sweep: Sweep, profile: Profile) -> None:
    sizing = profile.sizing(sweep)
    assert sizing.first > 0 and sizing.first % sizing.granule == 0


# Trees


@pytest.mark.parametrize(('name', 'files', 'target_s'), [('nightly', 1000, 1.0), ('acceptance', 10_000, 30.0)])
def test_the_files_of_a_tree_that_scales_are_found_out(name: str, files: int, target_s: float) -> None:
    sizing = PROFILES[name].tree_sizing(SCALING)
    assert (sizing.first, sizing.target_s, sizing.pinned) == (files, target_s, None)
    assert 0 < sizing.min_s < sizing.target_s


def test_smoke_makes_a_fixed_number_of_files_however_fast_they_are() -> None:
    sizing = PROFILES['smoke'].tree_sizing(SCALING)
    assert 0 < sizing.first <= 1000
    assert (sizing.target_s, sizing.min_s) == (0.0, 0.0)


def test_paper_uses_the_sources_files_as_they_are() -> None:
    assert PROFILES['paper'].tree_sizing(SCALING) == Sizing(0, 1, 0.0, 0.0)


@pytest.mark.parametrize('name', list(PROFILES))
def test_pinned_files_hold_in_every_profile(name: str) -> None:
    assert PROFILES[name].tree_sizing(SCALING, 300) == Sizing(300, 1, 0.0, 0.0, pinned=300)


@pytest.mark.parametrize('name', list(PROFILES))
@pytest.mark.parametrize('pinned', [None, 300])
def test_a_tree_of_a_source_has_the_files_of_the_plan_whatever_the_site_pins(name: str, pinned: int | None) -> None:
    assert PROFILES[name].tree_sizing(FDTREE_2, pinned) == Sizing(0, 1, 0.0, 0.0)


@pytest.mark.parametrize(('name', 'files'), [('smoke', 32), ('nightly', 262), ('acceptance', 1000), ('paper', 1000)])
def test_a_tree_has_no_more_bytes_than_the_profile_allows(name: str, files: int) -> None:
    ((_, tree),) = PROFILES[name].trees(FDTREE_2).trees
    assert tree == FDTREE_2.trees[0][1]._replace(files_per_directory=files)


@given(
    st.sampled_from(list(PROFILES.values())),
    st.builds(
        MetadataTree,
        depth=st.integers(0, 4),
        branching=st.integers(1, 5),
        files_per_directory=st.integers(1, 2000),
        empties_per_directory=st.integers(0, 5),
        bytes_per_file=st.integers(0, 4 * MIB),
    ),
)
def test_a_tree_is_shrunk_as_little_as_possible(profile: Profile, tree: MetadataTree) -> None:
    ((_, taken),) = profile.trees(Trees((('t', tree),))).trees
    assert 1 <= taken.files_per_directory <= tree.files_per_directory
    assert taken._replace(files_per_directory=tree.files_per_directory) == tree
    if not profile.tree_bytes:
        assert taken == tree
    elif taken.files_per_directory > 1:
        assert entries(taken, 1).files * taken.bytes_per_file <= profile.tree_bytes
    if taken != tree:
        more = taken._replace(files_per_directory=taken.files_per_directory + 1)
        assert entries(more, 1).files * more.bytes_per_file > profile.tree_bytes


@pytest.mark.parametrize(
    ('name', 'left'),
    [
        ('smoke', ['10000']),
        ('nightly', ['10000', '100000']),
        ('acceptance', ['10000', '100000', '1000000']),
        ('paper', ['10000', '100000', '1000000']),
    ],
)
def test_directories_that_are_too_large_for_a_profile_are_left_out(name: str, left: list[str]) -> None:
    assert [label for label, _ in PROFILES[name].trees(DIRECTORIES).trees] == left


@pytest.mark.parametrize(('name', 'pauses'), [('smoke', (0.5, 1.0)), ('nightly', (0.5, 1.0, 2.0, 10.0))])
def test_pauses_that_are_too_long_for_a_profile_are_left_out(name: str, pauses: tuple[float, ...]) -> None:
    (point,) = expand_trees(PROFILES[name].trees(PAUSES), ALONE)
    assert point.pauses_s == pauses


def test_a_tree_that_is_no_directory_of_so_many_entries_is_never_left_out() -> None:
    large = Trees((('large', FLAT._replace(files_per_directory=1_000_000)),))
    assert PROFILES['smoke'].trees(large) == large
