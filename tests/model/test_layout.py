"""Layouts as values: what is asked, its canonical form, and its JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.codec import from_json, to_json
from seatrial.model.layout import ALL, Component, Layout, binary

MIB = 1 << 20
PROGRESSIVE = (Component(4 * MIB, stripe_count=1, stripe_size=MIB), Component(64 * MIB, stripe_count=2), Component())

striping = {
    'stripe_count': st.none() | st.just(ALL) | st.integers(1, 2000),
    'stripe_size': st.none() | st.integers(1, 65535).map(lambda units: units * 65536),
    'pool': st.none() | st.text('abcE0_-', min_size=1, max_size=15),
    'start_ost': st.none() | st.integers(0, 99),
    'osts': st.lists(st.integers(0, 99), max_size=4).map(tuple),
    'overstripe_count': st.none() | st.integers(1, 2000),
}
components = st.builds(
    Component, end=st.none() | st.integers(1, 99).map(lambda n: n * 65536), on_mdt=st.booleans(), **striping
)
layouts = st.builds(
    Layout,
    name=st.just('named'),
    components=st.lists(components, max_size=3).map(tuple),
    mirrors=st.integers(1, 16),
    mdt_count=st.none() | st.integers(1, 9),
    mdt_index=st.none() | st.integers(0, 9),
    **striping,
)


def test_a_layout_that_only_has_a_name_asks_for_nothing():
    assert Layout('anything').is_default
    assert not Layout(mirrors=2).is_default and not Layout(mdt_index=0).is_default


def test_the_directory_and_the_file_are_asked_for_separately():
    assert Layout(mdt_count=2).places_directory and not Layout(mdt_count=2).places_file
    assert Layout(stripe_count=1).places_file and not Layout(stripe_count=1).places_directory


@pytest.mark.parametrize(
    ('layout', 'canonical'),
    [
        (Layout('named'), 'default'),
        (Layout('wide', ALL, MIB), 'c-1.S1M'),
        (Layout('paper', 4, 65536), 'c4.S64k'),
        (Layout('odd', stripe_size=3 * 65536), 'S192k'),
        (Layout('flash', 2, pool='flash', start_ost=1), 'c2.i1.pflash'),
        (Layout('pinned', osts=(3, 1)), 'o3_1'),
        (Layout('over', overstripe_count=8), 'C8'),
        (Layout('grows', components=PROGRESSIVE), 'E4M.c1.S1M.E64M.c2.E-1'),
        (Layout('dom', components=(Component(MIB, True), Component(stripe_count=2))), 'E1M.Lmdt.E-1.c2'),
        (Layout('twice', 1, mirrors=2), 'N2.c1'),
        (Layout('spread', 1, mdt_count=2, mdt_index=1), 'mdt1.mdts2.c1'),
    ],
)
def test_the_canonical_form_reads_as_the_options_of_lfs(layout, canonical):
    assert layout.canonical == canonical


@given(layouts, layouts)
def test_two_layouts_have_one_canonical_form_only_if_they_ask_for_the_same(one, other):
    assert (one.canonical == other.canonical) == (one == other)


@given(layouts)
def test_the_canonical_form_is_safe_in_the_name_of_a_file(layout):
    assert re.fullmatch(r'[A-Za-z0-9._-]+', layout.canonical)


@given(layouts)
def test_a_layout_comes_back_from_its_json(layout):
    assert from_json(Layout, json.loads(json.dumps(to_json(layout)))) == layout


def test_the_json_of_a_plan_from_before_there_were_components_is_still_read():
    old = {'name': 'wide', 'stripe_count': -1, 'stripe_size': 1048576, 'pool': None}
    assert from_json(Layout, old) == Layout('wide', ALL, MIB)


def test_a_component_has_what_it_leaves_out_from_the_one_before():
    pieces = Layout(components=PROGRESSIVE).pieces
    assert [piece.stripe_size for piece in pieces] == [MIB, MIB, MIB]
    assert [piece.stripe_count for piece in pieces] == [1, 2, 2]


def test_nothing_comes_from_a_component_on_the_metadata_target():
    assert Layout(components=(Component(MIB, True), Component(stripe_count=2))).pieces[1] == Component(stripe_count=2)


def test_a_plain_layout_is_one_piece_to_the_end_of_the_file():
    assert Layout('x', 4, MIB, 'p', 1).pieces == (Component(None, False, 4, MIB, 'p', 1),)


@given(st.integers(1, 1 << 50))
def test_a_size_in_the_units_of_lfs_is_exact(size):
    text = binary(size)
    assert int(text.rstrip('kMG')) << {'k': 10, 'M': 20, 'G': 30}.get(text[-1], 0) == size
