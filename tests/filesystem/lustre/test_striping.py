"""Layouts on a Lustre: what this one cannot give, and whether a file has what was asked for."""

import lfs
import pytest

from seatrial.filesystem.base import spelled
from seatrial.filesystem.lustre import striping
from seatrial.filesystem.lustre.layout import ALL, LayoutComponent, LustreLayout
from seatrial.filesystem.lustre.params import NotUnderstood
from seatrial.filesystem.lustre.striping import FoundPiece, Inventory, Striping, difference, parse_getstripe

KIB, MIB = 1 << 10, 1 << 20
BY_DESIGN, RETIRED, RAID0 = striping.BY_DESIGN, striping.RETIRED, ('raid0',)
THERE = Inventory((0, 1, 2, 3), (0, 1), {'flash': (0, 1), 'empty': ()})
DOM = LustreLayout(components=(LayoutComponent(MIB, True), LayoutComponent(stripe_count=2)))
PROGRESSIVE = LustreLayout(
    components=(
        LayoutComponent(4 * MIB, stripe_count=1, stripe_size=MIB),
        LayoutComponent(64 * MIB, stripe_count=2),
        LayoutComponent(stripe_count=ALL, stripe_size=4 * MIB),
    )
)


def plain(*osts, size=4 * MIB, pool=None, pattern=RAID0):
    return Striping((FoundPiece(0, None, pattern, len(osts), size, osts, pool),))


def progressive(*osts_of_each):
    """The layout of a file with PROGRESSIVE, of which so many components have objects."""
    wished = ((0, 4 * MIB, 1, MIB), (4 * MIB, 64 * MIB, 2, MIB), (64 * MIB, None, ALL, 4 * MIB))
    pieces = []
    for place, (start, end, count, size) in enumerate(wished):
        osts = osts_of_each[place] if place < len(osts_of_each) else ()
        flags = ('init',) if osts else ()
        pieces.append(FoundPiece(start, end, RAID0, len(osts) or count, size, osts, flags=flags))
    return Striping(tuple(pieces))


@pytest.mark.parametrize(
    ('layout', 'argv'),
    [
        (LustreLayout(4, 64 * KIB), 'lfs setstripe -c 4 -S 64k D'),
        (LustreLayout(ALL, MIB), 'lfs setstripe -c -1 -S 1M D'),
        (LustreLayout(2, pool='flash', start_ost=1), 'lfs setstripe -c 2 -i 1 -p flash D'),
        (LustreLayout(osts=(3, 1)), 'lfs setstripe -o 3,1 D'),
        (LustreLayout(overstripe_count=8), 'lfs setstripe -C 8 D'),
        (PROGRESSIVE, 'lfs setstripe -E 4M -c 1 -S 1M -E 64M -c 2 -E -1 -c -1 -S 4M D'),
        (DOM, 'lfs setstripe -E 1M -L mdt -E -1 -c 2 D'),
        (LustreLayout(1, mirrors=2), 'lfs setstripe -N2 -c 1 D'),
    ],
)
def test_the_command_line_of_a_layout(layout, argv):
    assert striping.setstripe_argv(layout, 'D') == argv.split()


def test_the_command_line_of_a_directory_on_metadata_targets():
    both, one = LustreLayout(mdt_count=2, mdt_index=1), LustreLayout(mdt_index=1)
    assert ' '.join(striping.setdirstripe_argv(one, 'D', False)) == 'lfs setdirstripe -D -c 1 -i 1 D'
    assert ' '.join(striping.setdirstripe_argv(both, 'D', True)) == 'lfs setdirstripe -D -c 2 -i 1 -X -1 D'


@pytest.mark.parametrize(
    ('layout', 'words'),
    [
        (LustreLayout(stripe_count=5), '5 OSTs were requested, but the file system has 4; lfs would silently'),
        (LustreLayout(stripe_count=3, pool='flash'), "3 OSTs were requested, but the pool 'flash' has 2"),
        (LustreLayout(pool='nopool'), "there is no pool 'nopool'; the pools are: empty, flash"),
        (LustreLayout(pool='empty'), "the pool 'empty' has no OST"),
        (LustreLayout(start_ost=9), 'OST 9 was requested, but the file system has OST 0-3'),
        (LustreLayout(start_ost=2, pool='flash'), "OST 2 was requested, but the pool 'flash' has OST 0-1"),
        (LustreLayout(osts=(1, 9)), 'OST 9 was requested'),
        (LustreLayout(mdt_count=5), 'a directory over 5 MDTs was requested, but the file system has 2'),
        (LustreLayout(mdt_index=7), 'MDT 7 was requested, but the file system has MDT 0-1'),
        (LustreLayout(components=(LayoutComponent(MIB), LayoutComponent(stripe_count=5))), '5 OSTs were requested'),
    ],
)
def test_a_layout_that_this_file_system_cannot_give_is_refused_before_the_run(layout, words):
    assert words in (striping.impossible(layout, THERE) or '')


@pytest.mark.parametrize(
    ('layout', 'is_possible'),
    [
        (LustreLayout(stripe_count=ALL), False),
        (LustreLayout(stripe_count=4), False),
        (LustreLayout(stripe_count=3), True),
        (LustreLayout(osts=(2,)), False),
        (LustreLayout(start_ost=2), False),
        (LustreLayout(osts=(0, 1)), True),
        (LustreLayout(stripe_count=ALL, pool='flash'), True),
    ],
)
def test_a_target_that_takes_no_new_objects_is_reckoned_with(layout, is_possible):
    fault = striping.impossible(layout, THERE._replace(closed=(2,)))
    assert fault is None if is_possible else 'OST 2 takes no new objects' in (fault or '')


@pytest.mark.parametrize(
    ('asked', 'got', 'words'),
    [
        (LustreLayout(stripe_count=5), plain(1, 2, 3, 0), 'stripe count 4 instead of 5'),
        (LustreLayout(stripe_count=ALL), plain(0, 1, 2, 3, 4), 'stripe count 5 instead of 4'),
        (LustreLayout(stripe_count=ALL), plain(), 'stripe count 0 instead of 4'),
        (LustreLayout(stripe_count=ALL, pool='flash'), plain(1, 0), 'pool none instead of flash'),
        (LustreLayout(2, pool='flash'), plain(1, 3, pool='flash'), 'OST 3, which the pool flash does not have'),
        (LustreLayout(1, pool='empty'), plain(0, pool='empty'), 'OST 0, which the pool empty does not have'),
        (LustreLayout(stripe_size=MIB), plain(3), 'stripe size 4M instead of 1M'),
        (LustreLayout(stripe_count=1, start_ost=3), plain(0), 'it begins on OST 0 instead of 3'),
        (LustreLayout(osts=(3, 1)), plain(1, 3), 'OST 1, 3 instead of 3, 1'),
        (LustreLayout(stripe_count=2), plain(0, 0), 'several stripes lie on one OST'),
        (LustreLayout(stripe_count=1), plain(0, pattern=('released',)), 'its pattern is released'),
        (LustreLayout(stripe_count=1, mirrors=2), plain(0), '1 mirror instead of 2'),
        (LustreLayout(stripe_count=1), progressive((2,)), '3 components instead of 1'),
        (PROGRESSIVE, plain(2), '1 component instead of 3'),
        (PROGRESSIVE, progressive((2,), (0,)), 'component 2: stripe count 1 instead of 2'),
        (DOM, Striping((FoundPiece(0, MIB, RAID0, 1, MIB, (0,)), FoundPiece(MIB, None, RAID0, 2, MIB))), 'on OSTs'),
        (DOM, Striping((FoundPiece(0, 65536, ('mdt',), 0, 65536), FoundPiece(65536, None, RAID0, 2, MIB))), 'at 64k'),
    ],
)
def test_asked_is_not_got(asked, got, words):
    sentence = difference(asked, got, THERE)
    assert sentence is not None and words in sentence
    assert f'{asked.canonical} was requested, but the file has {got.layout.canonical}: ' in sentence


@pytest.mark.parametrize(
    ('asked', 'got', 'words'),
    [
        (LustreLayout(stripe_count=ALL), plain(2, 3, 0, 1), ''),
        (LustreLayout(stripe_count=ALL), plain(0, 1, 2), f'all = 3 of 4 OSTs ({RETIRED})'),
        (LustreLayout(stripe_count=ALL, pool='flash'), plain(1, pool='flash'), f'all = 1 of 2 OSTs ({RETIRED})'),
        (LustreLayout(stripe_count=3), plain(0, 1, 2), ''),
        (LustreLayout(osts=(0, 1)), plain(0, 1), ''),
        (PROGRESSIVE, progressive((2,), (0, 1)), ''),
        (PROGRESSIVE, progressive((2,), (2, 3), (0, 1, 3)), f'all = 3 of 4 OSTs ({BY_DESIGN})'),
        (PROGRESSIVE, progressive((2,), (2, 3), (0, 2, 3)), f'all = 3 of 4 OSTs ({RETIRED})'),
        (PROGRESSIVE, progressive((2,), (0, 1), (3, 2)), f'all = 2 of 4 OSTs ({RETIRED})'),
    ],
)
def test_of_all_targets_fewer_may_be_given_and_it_is_said_how_many(asked, got, words):
    assert difference(asked, got, THERE) is None
    given = striping.granted(asked, got, THERE)
    assert (given.targets, given.everywhere) == (words, RETIRED not in words)
    unknown = difference(asked, got, Inventory((), (), {}))
    assert not words or 'number of all OSTs' in unknown or asked.pool


@pytest.mark.parametrize(
    ('asked', 'got', 'words'),
    [
        (LustreLayout(mdt_count=1), striping.DirectoryStriping(0, 0), None),
        (LustreLayout(mdt_count=5), striping.DirectoryStriping(2, 1, (1, 0)), '2 MDTs instead of 5'),
        (LustreLayout(mdt_index=1), striping.DirectoryStriping(0, 0), 'directory has mdt0.mdts1: MDT 0 instead of 1'),
    ],
)
def test_the_metadata_targets_of_a_directory(asked, got, words):
    sentence = striping.directory_difference(asked, got, THERE)
    assert sentence is None if words is None else words in (sentence or '')


@pytest.mark.parametrize('where', ['mdt_index:     0', 'stripe_offset: -1'], ids=['2.17', 'before'])
def test_the_default_of_a_directory_with_components_is_read(where):
    """In the form that lov_dump_comp_v1 of liblustreapi.c prints for a directory: without ids and prefixes."""
    heads = ((0, 1048576, 'stripe_count:  0', 'mdt', where), (1048576, 'EOF', 'stripe_count:  2', 'raid0', ''))
    text = 'lcm_layout_gen:    0\nlcm_mirror_count:  1\nlcm_entry_count:   2\ncomponents:\n'
    for start, end, count, pattern, place in heads:
        text += '  - lcme_id:             N/A\n    lcme_mirror_id:      N/A\n    lcme_flags:          0\n'
        text += f'    lcme_extent.e_start: {start}\n    lcme_extent.e_end:   {end}\n    sub_layout:\n'
        text += f'      {count}\n      stripe_size:   1048576\n      pattern:       {pattern}\n'
        text += f'      {place or "stripe_offset: -1"}\n'
    got = parse_getstripe(text)
    assert got.layout.canonical == 'E1M.Lmdt.E-1.c2.S1M'
    assert difference(DOM, got, THERE) is None
    with pytest.raises(NotUnderstood, match='components without a count'):
        parse_getstripe(text.replace('lcm_entry_count:   2\n', ''))


FIRST = {'start': 0, 'end': MIB, 'mirror': 0, 'size': MIB, 'count': 1, 'osts': [0]}
SECOND = {**FIRST, 'start': MIB, 'end': -1, 'size': 64 * MIB, 'count': 0, 'osts': []}
COMPOSITE = lfs.shown({'composite': True, 'pieces': [FIRST, SECOND]})
EXTENDS = COMPOSITE.replace('stripe_size:   6', 'extension_size: 6').replace('flags:          0', 'flags: extension')
UNSYNCHRONISED = COMPOSITE.replace('init\n', "init,nosync\n    lcme_timestamp:      'Wed Nov 13 10:20:30 2019'\n")


@pytest.mark.parametrize('text', [EXTENDS, UNSYNCHRONISED], ids=['extends itself', 'is a mirror not synchronised'])
def test_components_of_2_13_and_2_14_are_read(text):
    read = [(piece.end, piece.stripe_size) for piece in parse_getstripe(text).pieces]
    assert text != COMPOSITE and read == [(MIB, MIB), (None, 64 * MIB)]


def test_a_component_compressed_by_clients_is_reported():
    compressed = COMPOSITE.replace('flags:          0', 'flags:          compress')
    assert parse_getstripe(compressed).words == f'{parse_getstripe(COMPOSITE).words}, compressed by its clients'


def test_a_foreign_layout_is_named_by_its_kind():
    text = '/mnt/f\n  lfm_magic:         0x0BD70BD0\n  lfm_length:          8\n  lfm_type:            symlink\n'
    with pytest.raises(NotUnderstood, match='a foreign layout of the type symlink, whose data no OST holds'):
        parse_getstripe(text)


def test_indices_are_spelled_as_ranges():
    assert spelled([3, 0, 1, 2, 7, 10, 9]) == '0-3, 7, 9-10'
    assert spelled([]) == 'none'
