"""Lustre's layouts as values: what is asked, in its words and back, and what no Lustre can do."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem.base import LayoutError
from seatrial.filesystem.layout_words import binary
from seatrial.filesystem.lustre import driver as lustre
from seatrial.filesystem.lustre.layout import ALL, LayoutComponent, LustreLayout, from_settings, progressive, striped
from seatrial.model.codec import from_json, to_json
from seatrial.model.layout import Layout

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PROGRESSIVE = (LayoutComponent(4 * MIB, False, 1, MIB), LayoutComponent(64 * MIB, stripe_count=2), LayoutComponent())
DOM = (LayoutComponent(MIB, True), LayoutComponent(stripe_count=2))

striping = {
    'stripe_count': st.none() | st.just(ALL) | st.integers(1, 2000),
    'stripe_size': st.none() | st.integers(1, 65535).map(lambda units: units * 65536),
    'pool': st.none() | st.text('abcE0_-', min_size=1, max_size=15),
    'start_ost': st.none() | st.integers(0, 99),
    'osts': st.lists(st.integers(0, 99), max_size=4).map(tuple),
    'overstripe_count': st.none() | st.integers(1, 2000),
}
mdts = st.none() | st.integers(1, 9)
whole = {'mirrors': st.integers(1, 16), 'mdt_count': mdts, 'mdt_index': st.just(0) | mdts}
components = st.builds(
    LayoutComponent, end=st.none() | st.integers(1, 99).map(lambda n: n * 65536), on_mdt=st.booleans(), **striping
)
layouts = st.one_of(
    st.builds(LustreLayout, components=st.just(()), **striping, **whole),
    st.builds(
        LustreLayout,
        components=st.lists(components, min_size=1, max_size=3).map(tuple),
        **{key: st.just(() if key == 'osts' else None) for key in striping},
        **whole,
    ),
)


def test_a_layout_without_settings_is_the_default():
    assert striped('anything') == Layout('anything') and striped('anything').is_default
    assert not striped(mirrors=2).is_default and not striped(mdt_index=0).is_default


def test_the_directory_and_the_file_are_asked_for_separately():
    spread, one = LustreLayout(mdt_count=2), LustreLayout(stripe_count=1)
    assert spread.places_directory and not spread.places_file and not spread.named('x').places_file
    assert one.places_file and not one.places_directory and one.named('x').places_file


@pytest.mark.parametrize(
    ('layout', 'canonical'),
    [
        (LustreLayout(), 'default'),
        (LustreLayout(ALL, MIB), 'c-1.S1M'),
        (LustreLayout(4, 65536), 'c4.S64k'),
        (LustreLayout(stripe_size=3 * 65536), 'S192k'),
        (LustreLayout(2, pool='flash', start_ost=1), 'c2.i1.pflash'),
        (LustreLayout(osts=(3, 1)), 'o3_1'),
        (LustreLayout(overstripe_count=8), 'C8'),
        (LustreLayout(components=PROGRESSIVE), 'E4M.c1.S1M.E64M.c2.E-1'),
        (LustreLayout(components=DOM), 'E1M.Lmdt.E-1.c2'),
        (LustreLayout(1, mirrors=2), 'N2.c1'),
        (LustreLayout(1, mdt_count=2, mdt_index=1), 'mdt1.mdts2.c1'),
    ],
)
def test_the_canonical_form_reads_as_the_options_of_lfs(layout, canonical):
    assert layout.canonical == layout.named('x').canonical == canonical


@given(layouts)
def test_the_driver_gets_its_own_value_back_from_a_plan_and_its_form_is_safe_in_the_name_of_a_file(layout):
    carried = from_json(Layout, json.loads(json.dumps(to_json(layout.named('named')))))
    assert carried == layout.named('named') and lustre.asked(carried) == layout
    assert re.fullmatch(r'[A-Za-z0-9._-]+', layout.canonical)


def test_a_component_takes_missing_settings_from_the_one_before():
    pieces = LustreLayout(components=PROGRESSIVE).pieces
    assert [piece.stripe_size for piece in pieces] == [MIB, MIB, MIB]
    assert [piece.stripe_count for piece in pieces] == [1, 2, 2]
    assert LustreLayout(components=DOM).pieces[1] == LayoutComponent(stripe_count=2)
    assert LustreLayout(4, MIB, 'p', 1).pieces == (LayoutComponent(None, False, 4, MIB, 'p', 1),)


@pytest.mark.parametrize(
    ('settings', 'needed'), [({}, 1), ({'stripe_count': 4}, 4), ({'osts': [5, 1]}, 6), ({'mirrors': 3}, 3)], ids=str
)
def test_the_targets_that_there_must_be(settings, needed):
    assert from_settings(settings).targets_needed == needed


@given(st.integers(1, 1 << 50))
def test_a_size_in_the_units_of_lfs_is_exact(size):
    text = binary(size)
    assert int(text.rstrip('kMG')) << {'k': 10, 'M': 20, 'G': 30}.get(text[-1], 0) == size


@pytest.mark.parametrize(
    ('settings', 'layout'),
    [
        ({}, LustreLayout()),
        ({'stripe_count': -1, 'stripe_size': '1.5MiB'}, LustreLayout(ALL, 3 * MIB // 2)),
        ({'stripe_count': 2, 'osts': [3, 1]}, LustreLayout(2, osts=(3, 1))),
        ({'mdt_count': -1}, LustreLayout(mdt_count=ALL)),
        ({'components': [{'end': MIB, 'on_mdt': True}, {'stripe_count': 2}]}, LustreLayout(components=DOM)),
    ],
    ids=str,
)
def test_settings_are_a_layout(settings, layout):
    assert from_settings(settings) == layout


def test_a_check_declares_the_same_in_fewer_words():
    assert striped('wide', ALL, '1MiB', pool='flash') == LustreLayout(ALL, MIB, 'flash').named('wide')
    assert progressive('dom', {'end': MIB, 'on_mdt': True}, {'stripe_count': 2}, mirrors=2) == LustreLayout(
        components=DOM, mirrors=2
    ).named('dom')


@pytest.mark.parametrize(
    ('settings', 'key', 'words'),
    [
        (4, '', 'expected a mapping, found 4; write {stripe_count: 4}'),
        ({'stripecount': 4}, 'stripecount', "unknown key; did you mean 'stripe_count'?"),
        ({'stripe_size': 'wide'}, 'stripe_size', "'wide' is not a size"),
        ({'stripe_size': '100KiB'}, 'stripe_size', "'100KiB' is not a stripe size; write a multiple"),
        ({'stripe_size': 4 * GIB}, 'stripe_size', '64KiB below 4GiB'),
        ({'stripe_size': True}, 'stripe_size', 'true is not a size'),
        ({'stripe_count': 0}, 'stripe_count', '0 is not a stripe count; write 1 to 2000, or -1 for all targets'),
        ({'stripe_count': None}, 'stripe_count', 'nothing is not a stripe count'),
        ({'overstripe_count': ALL}, 'overstripe_count', 'write 1 to 2000'),
        ({'stripe_count': 4, 'overstripe_count': 8}, 'overstripe_count', 'contradicts stripe_count; keep one'),
        ({'pool': 'sixteen_letters_'}, 'pool', "'sixteen_letters_' cannot be a pool's name"),
        ({'start_ost': -1}, 'start_ost', '-1 is not the number of a target; write 0 to 1999'),
        ({'osts': []}, 'osts', 'expected a list of values, found an empty list'),
        ({'osts': [1, 1]}, 'osts', 'overstripe_count'),
        ({'osts': [1, 2], 'start_ost': 1}, 'start_ost', 'contradicts osts'),
        ({'osts': [1, 2], 'stripe_count': 3}, 'stripe_count', 'names 2'),
        ({'mirrors': 0}, 'mirrors', '0 is not a number of copies; write 1 to 16'),
        ({'components': 'two'}, 'components', "expected a list of values, found 'two'"),
        ({'components': [{'on_mdt': 'yes'}]}, 'components[0].on_mdt', "'yes' is neither true nor false"),
        ({'stripe_count': 1, 'components': [{}]}, 'stripe_count', 'beside components'),
        ({'components': [{'end': MIB}]}, 'components[0].end', 'the last component'),
        ({'components': [{}, {}]}, 'components[0].end', 'only the last'),
        ({'components': [{'end': 1000}, {}]}, 'components[0].end', 'multiple of 64KiB above 0'),
        ({'components': [{'end': 4 * MIB}, {'end': 2 * MIB}, {}]}, 'components[1].end', 'above 4194304'),
        ({'components': [{'end': MIB, 'stripe_size': '4MiB'}, {}]}, 'components[0].end', 'stripe size'),
        ({'components': [{'end': 4 * MIB, 'stripe_size': '4MiB'}, {'end': '6MiB'}, {}]}, 'components[1].end', 'size'),
        ({'components': [{'end': '3GiB', 'on_mdt': True}, {}]}, 'components[0].end', '1G at the latest'),
        ({'components': [{'end': MIB}, {'end': '2MiB', 'on_mdt': True}, {}]}, 'components[1].on_mdt', 'first'),
        ({'components': [{'end': MIB, 'on_mdt': True, 'stripe_count': 1}, {}]}, 'components[0].on_mdt', 'no other'),
    ],
    ids=str,
)
def test_a_value_that_lustre_does_not_accept_is_refused_with_its_key(settings, key, words):
    with pytest.raises(LayoutError) as caught:
        from_settings(settings)
    assert str(caught.value).startswith(f'{key}: ' if key else words) and words in caught.value.sentence


def test_a_group_of_targets_is_striped_as_the_case_is():
    driver = lustre.Lustre()
    grown = progressive('grown', {'end': '4MiB', 'stripe_count': 1, 'stripe_size': '1MiB'}, {})
    on_two = striped('g', None, '4MiB', osts=(2, 5))
    assert driver.on_targets('g', 'OST', [2, 5], striped('wide', ALL, '4MiB')) == on_two
    for like in (Layout(), grown):
        assert driver.on_targets('g', 'OST', [2, 5], like) == striped('g', osts=(2, 5))
