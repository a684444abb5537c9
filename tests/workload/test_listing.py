"""Listings of a directory: their metrics, the state of the cache for them, and the files on disk at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.metric import MetricType
from seatrial.workload.base import LISTED_BEFORE, Effort, Entries, Launch
from seatrial.workload.listing import MAX_PAUSE_S, listing, listing_metrics, pause_of
from seatrial.workload.registry import entries_after, fault_of, kind_of, metrics_at
from seatrial.workload.sweep import Sweep, examples

LISTING = kind_of('listing')
PAUSES = (0.5, 1.0, 10.0)
SIZES = Sweep('entries', (10, 100, 1000))
POINTS = examples(SIZES, listing(1))


@pytest.mark.parametrize(
    ('point', 'fault'),
    [
        (listing(891)._replace(tasks=2), 'tasks: exactly one task lists, not 2'),
        (listing(0), 'files_per_directory: the listing of a directory needs at least one file'),
        (listing(1, (0.0,)), f'pauses_s: [0.0]; write different times above 0 s and below {MAX_PAUSE_S} s'),
        *((listing(1, (s,)), f'pauses_s: [{s}]; write different') for s in (-1.0, float('nan'), float('inf'))),
        (listing(1, (1.0, 1.0)), 'pauses_s: [1.0, 1.0]; write different times'),
        (listing(1, ('1s',)), 'time.pauses_s[0]: float is expected, not str'),
        (listing(1).changed(subtrees='own'), "subtrees: 'own' is not valid; it can be shared or private"),
    ],
)
def test_a_contradiction_is_named_with_its_field(point, fault):
    assert (fault_of(point) or '').startswith(fault)


@pytest.mark.parametrize(
    ('pauses', 'names'),
    [
        ((0.5, 10.0), 'ls_first ls_second ls_third ls_fourth ls_after_0.5s ls_after_10s'),
        ((), 'names_first stat_first names_second stat_second'),
    ],
)
def test_four_listings_are_measured_and_one_after_each_pause_or_names_and_attributes_twice(pauses, names):
    assert metrics_at(listing(891, pauses)) == tuple(MetricType(name, 'op/s') for name in names.split())


@given(st.lists(st.floats(0.0, 2.0 * MAX_PAUSE_S), max_size=6))
def test_listings_that_contradict_nothing_have_metrics_with_names_of_their_own_that_say_the_pause(pauses):
    point = listing(10, pauses)
    names = listing_metrics(point.pauses_s)
    if fault_of(point) is None:
        assert len(set(names)) == len(names)
        assert [pause_of(name) for name in names if pause_of(name)] == pytest.approx(pauses, rel=1e-5)


def test_only_the_first_listing_finds_what_nobody_has_asked_for():
    for name in (*listing_metrics(PAUSES), *listing_metrics(())):
        assert LISTING.cache_of(name, 'cold') == ('cold' if name.endswith('_first') else LISTED_BEFORE)


def test_every_point_has_a_directory_of_its_own_and_all_are_there_at_once():
    assert LISTING.preparations(POINTS) == [Launch('create', point) for point in POINTS]
    assert [entries_after(point, 'list') for point in POINTS] == [Entries(1, n, 0) for n in (10, 100, 1000)]
    assert LISTING.footprint(POINTS) == (0, 10 + 100 + 1000 + 3)


@pytest.mark.parametrize(('entries', 'fits'), [(0, [True] * 3), (100, [True, True, False])])
def test_directories_that_are_too_large_for_a_profile_are_left_out(entries, fits):
    assert [LISTING.fits(point, Effort(entries=entries), None) for point in POINTS] == fits


@pytest.mark.parametrize(('pause_s', 'kept'), [(0.0, PAUSES), (1.0, (0.5, 1.0)), (0.1, ())])
def test_pauses_that_are_too_long_for_a_profile_are_left_out(pause_s, kept):
    point = listing(891, PAUSES)
    assert LISTING.adapted(point, Effort(pause_s=pause_s)) == point.changed(pauses_s=kept)
