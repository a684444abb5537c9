"""Layouts on a Lustre: the command lines that set them, the layout that lfs shows of a file, and differences.
Forms: a genuine 2.17 (tests/transcripts/lustre), and by their sources 2.12 to 2.16. Sizes and ends in bytes."""

import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from seatrial.filesystem.base import Granted, spelled
from seatrial.filesystem.layout_words import ALL, binary
from seatrial.filesystem.lustre.layout import LayoutComponent, LustreLayout
from seatrial.filesystem.lustre.params import NotUnderstood, needed, number, whole_lines

_IGNORED = re.compile(
    r'\s*(?:components:|sub_layout:|lm[mv]_objects:|(?:obdidx|mdtidx)\s.*|l_fid:.*|lcme_timestamp:.*)?\s*\Z'
)
_OBJECT = re.compile(r'\s*-?\s*(?:\d+:\s*\{\s*)?l_(?:ost|mdt)_idx:\s*(\d+)\b')
_OBJECT_ROW = re.compile(r'\s+(\d+)\s+(?:\d+|N/A)\s+(?:0x[0-9a-f]+|N/A)\s+(?:0x[0-9a-f]+|\d+|N/A)(?: \*)?\s*\Z')
_MDT_ROW = re.compile(r'\s+(\d+)\s+\[0x[0-9a-f]+:0x[0-9a-f]+:0x[0-9a-f]+\]')
_KEYS = re.compile(r'\s*(?:-\s+)?((?:[a-z][\w.]*:\s+\S+\s*)+)\Z')
_FOREIGN = re.compile(r'^\s*lfm_type:\s*(\S+)', re.MULTILINE)
_PAIR = re.compile(r'([a-z][\w.]*):\s+(\S+)')
BY_DESIGN = 'the others hold other components of the file'
RETIRED = 'is a target retired on the MDS, or the stripe count limited there?'
_WHOLE = {'lcme_flags': 'init', 'lcme_extent.e_start': '0', 'lcme_extent.e_end': 'EOF'}  # of a file in one piece


class Inventory(NamedTuple):
    """The targets of a file system by index, and those of each pool, of which layouts can be made."""

    osts: Tuple[int, ...]
    mdts: Tuple[int, ...]
    pools: Dict[str, Tuple[int, ...]]
    closed: Tuple[int, ...] = ()  # object targets on which no new object can be made now

    def reach(self, pool: Optional[str]) -> Tuple[int, ...]:
        """The object targets that a layout in this pool, or in none, can use."""
        return self.osts if pool is None else self.pools.get(pool, ())


class FoundPiece(NamedTuple):
    """One component of a file, or the whole of a plain one. A directory's default has pieces without objects."""

    start: int
    end: Optional[int]  # None is the end of the file
    pattern: Tuple[str, ...]  # ('raid0',), ('raid0', 'overstriped'), ('mdt',), ('released',); ('0',) is not set
    stripe_count: int  # ALL where the servers have not decided yet
    stripe_size: int
    osts: Tuple[int, ...] = ()  # where the objects lie, in their order; empty while there are none
    pool: Optional[str] = None
    mirror: int = 0  # which copy of the file it belongs to; 0 where it is not mirrored
    flags: Tuple[str, ...] = ()  # 'init' where it has its objects, 'stale' where a mirror's copy is not the newest

    @property
    def on_mdt(self) -> bool:
        return 'mdt' in self.pattern


class Striping(NamedTuple):
    """The layout that lfs getstripe shows of one file, or of a directory for the files to come."""

    pieces: Tuple[FoundPiece, ...]
    mirrors: int = 1

    @property
    def layout(self) -> LustreLayout:
        """The first mirror's pieces as a layout that could be asked for, with the targets of its objects."""
        first = tuple(piece for piece in self.pieces if piece.mirror == self.pieces[0].mirror)
        components = tuple(_as_component(piece) for piece in first)
        if len(components) == 1 and components[0].end is None and self.mirrors == 1:
            return LustreLayout(*components[0][2:7])
        return LustreLayout(components=components, mirrors=self.mirrors)

    @property
    def words(self) -> str:
        """The layout as one string, and whether clients compress what they write to a piece of it."""
        compressed = any('compress' in (*piece.pattern, *piece.flags) for piece in self.pieces)
        return self.layout.canonical + (', compressed by its clients' if compressed else '')


class DirectoryStriping(NamedTuple):
    """The metadata targets that a directory lies on (lfs getdirstripe)."""

    mdt_count: int  # 0 is a plain directory, on one
    first_mdt: int
    mdts: Tuple[int, ...] = ()  # where its shards lie; the default for directories made in it (-D) has none


def setstripe_argv(layout: LustreLayout, path: str) -> List[str]:
    """The command that gives the layout to an existing directory, or makes an empty file that has it."""
    argv = ['lfs', 'setstripe']
    if layout.mirrors != 1:
        argv.append(f'-N{layout.mirrors}')  # its value is optional to getopt_long(3), and so must be attached
    if not layout.components:
        return [*argv, *_striping_options(layout.pieces[0]), path]
    for piece in layout.components:
        argv += ['-E', '-1' if piece.end is None else binary(piece.end)]
        argv += ['-L', 'mdt'] if piece.on_mdt else _striping_options(piece)
    return [*argv, path]


def setdirstripe_argv(layout: LustreLayout, directory: str, every_level: bool) -> List[str]:
    """The command that gives new directories in this one, and in them, its own placement (transcript 063): else they
    are plain, or spread by the default of the root. every_level: of striped ones, where lfs has -X; else three."""
    asked = layout._replace(mdt_count=1 if layout.mdt_count is None else layout.mdt_count)
    deep = ['-X', '-1'] if every_level else []
    return ['lfs', 'setdirstripe', '-D', *directory_options(asked), *deep, directory]


def impossible(layout: LustreLayout, there: Inventory) -> Optional[str]:
    """A sentence that says why this file system cannot give the layout, or None: lfs would silently alter it."""
    for piece in layout.pieces:
        if piece.on_mdt:
            continue
        if piece.pool is not None and piece.pool not in there.pools:
            return f"there is no pool '{piece.pool}'; the pools are: {', '.join(sorted(there.pools)) or 'none'}"
        missing = _reach_fault(piece, there)
        if missing is not None:
            return missing
    if layout.mdt_count is not None and layout.mdt_count > len(there.mdts):
        asked = f'a directory over {layout.mdt_count} MDTs was requested'
        return f'{asked}, but the file system has {len(there.mdts)}; lfs would silently use fewer'
    if layout.mdt_index is not None and layout.mdt_index not in there.mdts:
        return f'MDT {layout.mdt_index} was requested, but the file system has MDT {spelled(there.mdts)}'
    return None


def parse_getstripe(text: str) -> Striping:
    """The layout in the output of `lfs getstripe FILE`, with -y or without. Raises NotUnderstood, also for a foreign
    layout or cut text; not for a missing pool of a layout without objects, whose line is the last."""
    foreign = _FOREIGN.search(text)
    if foreign is not None:
        raise NotUnderstood(f'a foreign layout of the type {foreign.group(1)}, whose data no OST holds')
    header: Dict[str, str] = {}
    components: List[Tuple[Dict[str, str], List[int]]] = []
    for place, line in enumerate(whole_lines(text)):
        if _IGNORED.match(line):
            continue
        match = _OBJECT.match(line) or _OBJECT_ROW.match(line)
        if match is not None:
            if not components:
                raise NotUnderstood('an object of no component', line)
            components[-1][1].append(int(match.group(1)))
            continue
        for key, value in _pairs(line, place):
            if key == 'lcme_id' or (key in ('lmm_stripe_count', 'stripe_count') and not components):
                components.append(({}, []))
            keys = components[-1][0] if components else header
            if key in keys:
                raise NotUnderstood('the same key twice: several files are shown', line)
            keys[key] = value
    if not components:
        raise NotUnderstood('no layout is shown', text)
    return _striping(header, components)


def osts_at(got: Striping, offset: Optional[int]) -> Tuple[int, ...]:
    """The OSTs with the byte at this offset of a file, one a mirror; all of the file where the offset is None."""
    osts: List[int] = []
    for piece in got.pieces:
        within = offset is None or (piece.start <= offset and (piece.end is None or offset < piece.end))
        if within and offset is not None and piece.osts:
            osts.append(piece.osts[offset // piece.stripe_size % len(piece.osts)])
        elif within:
            osts += piece.osts
    return tuple(sorted(set(osts)))


def parse_getdirstripe(text: str) -> DirectoryStriping:
    """The output of `lfs getdirstripe DIRECTORY`, with -y, -D or without. Raises NotUnderstood."""
    keys: Dict[str, str] = {}
    mdts: List[int] = []
    for place, line in enumerate(whole_lines(text)):
        match = _OBJECT.match(line) or _MDT_ROW.match(line)
        if match is not None:
            mdts.append(int(match.group(1)))
        elif not _IGNORED.match(line):
            for key, value in _pairs(line, place):
                if key in keys:
                    raise NotUnderstood('the same key twice: several directories are shown', line)
                keys[key] = value
    count, first = (number(needed(keys, f'lmv_stripe_{name}'), text) for name in ('count', 'offset'))
    needed(keys, 'lmv_hash_type')
    if 'lmv_max_inherit' in keys:
        return DirectoryStriping(count, first)
    if count > 0 and len(mdts) != count:
        raise NotUnderstood(f'{count} metadata targets are announced, and {len(mdts)} shown', text)
    return DirectoryStriping(count, first, tuple(mdts) if count > 0 else (first,))


def difference(asked: LustreLayout, got: Striping, there: Inventory) -> Optional[str]:
    """The difference between the layout of a file and the one that was asked for, with both; or None. A piece without
    objects yet is compared by its numbers. If all targets are asked for, any number of them is right (granted)."""
    differences = _differences(asked, got, there)
    if not differences:
        return None
    return f'{asked.canonical} was requested, but the file has {got.layout.canonical}: {"; ".join(differences)}'


def granted(asked: LustreLayout, got: Striping, there: Inventory) -> Granted:
    """Targets of a file over all: the servers use at most lod.*.max_stripecount, 160 with small MDT attributes
    (lod_get_stripe_count), and may leave out those of other components (lod_ost_alloc_rr; not always, seen)."""
    fewer, everywhere = [], True
    for wish, piece in zip(asked.pieces * got.mirrors, got.pieces):
        reach = there.reach(wish.pool)
        if wish.stripe_count != ALL or wish.osts or not 0 < len(piece.osts) < len(reach):
            continue
        others = {ost for other in got.pieces if other is not piece for ost in other.osts}
        by_design = set(reach) - set(piece.osts) <= others and len(piece.osts) >= len(reach) - len(reach) // 4
        everywhere &= by_design
        fewer.append(f'all = {len(piece.osts)} of {_many(len(reach), "OST")} ({BY_DESIGN if by_design else RETIRED})')
    return Granted('; '.join(dict.fromkeys(fewer)), everywhere)


def directory_difference(asked: LustreLayout, got: DirectoryStriping, there: Inventory) -> Optional[str]:
    """The difference between a directory's metadata targets and those asked for, as a sentence, or None."""
    differences = []
    wished, count = len(there.mdts) if asked.mdt_count == ALL else asked.mdt_count, max(got.mdt_count, 1)
    if wished is not None and count != wished:
        differences.append(f'{_many(count, "MDT")} instead of {wished}')
    differences += _instead('MDT', got.first_mdt, asked.mdt_index)
    if not differences:
        return None
    has = LustreLayout(mdt_count=count, mdt_index=got.first_mdt).canonical
    return f'{asked.canonical} was requested, but the directory has {has}: {"; ".join(differences)}'


def directory_options(layout: LustreLayout) -> List[str]:
    """The options of lfs mkdir and setdirstripe."""
    offered = (('-c', layout.mdt_count), ('-i', layout.mdt_index))
    return [word for option, value in offered if value is not None for word in (option, str(value))]


def _striping_options(piece: LayoutComponent) -> List[str]:
    """The options of lfs setstripe for a piece; lfs separates OSTs by commas."""
    values = ((word[0], word[1:].replace('_', ',') if word[0] == 'o' else word[1:]) for word in piece.words)
    return [part for letter, value in values for part in (f'-{letter}', value)]


def _reach_fault(piece: LayoutComponent, there: Inventory) -> Optional[str]:
    reach = there.reach(piece.pool)
    among = f"the pool '{piece.pool}' has" if piece.pool else 'the file system has'
    if not reach:
        return f'{among} no OST'
    named = [ost for ost in (*piece.osts, piece.start_ost) if ost is not None]
    missing = [ost for ost in named if ost not in reach]
    if missing:
        return f'OST {spelled(missing)} was requested, but {among} OST {spelled(reach)}'
    wanted = len(reach) if piece.stripe_count == ALL else piece.stripe_count or 0
    if wanted > len(reach):
        return f'{wanted} OSTs were requested, but {among} {len(reach)}; lfs would silently use fewer'
    closed = [ost for ost in reach if ost in there.closed]
    if wanted > len(reach) - len(closed) or set(named) & set(closed):
        return f'OST {spelled(closed)} takes no new objects; lfs would silently use fewer OSTs or others'
    return None


def _pairs(line: str, place: int) -> List[Tuple[str, str]]:
    """The keys of a line. In the long form the first line is the file's name."""
    match = _KEYS.match(line)
    if match is not None:
        return _PAIR.findall(match.group(1))
    if place == 0:
        return []
    raise NotUnderstood('not a line of a layout', line)


def _striping(header: Dict[str, str], components: List[Tuple[Dict[str, str], List[int]]]) -> Striping:
    if 'lcm_entry_count' not in header:
        if len(components) != 1 or 'lcme_id' in components[0][0]:
            raise NotUnderstood('components without a count of them', str(header))
        return Striping((_piece(*components[0]),))
    announced = number(header['lcm_entry_count'], str(header))
    if announced != len(components):
        raise NotUnderstood(f'{announced} components are announced, and {len(components)} shown', str(header))
    mirrors = number(header.get('lcm_mirror_count', '1'), str(header))
    pieces = tuple(_piece(keys, osts) for keys, osts in components)
    for before, after in zip((None, *pieces), pieces):
        continues = before is not None and before.mirror == after.mirror
        if after.start != (before.end if before is not None and continues else 0):
            raise NotUnderstood(f'a component begins at {after.start}, where none ends', str(header))
    return Striping(pieces, mirrors)


def _piece(keys: Dict[str, str], osts: List[int]) -> FoundPiece:
    shown = str(keys)
    prefix = '' if 'stripe_count' in keys else 'lmm_'  # a directory's default has keys without prefix
    pattern = tuple(needed(keys, f'{prefix}pattern').split(','))
    count = number(needed(keys, f'{prefix}stripe_count'), shown)
    # A component that extends itself (SEL, lfs-setstripe(1)) has its granule in place of the stripe size.
    sized = f'{prefix}extension_size' if f'{prefix}extension_size' in keys else f'{prefix}stripe_size'
    size = number(needed(keys, sized), shown)
    # Where it lies comes last of all: of a piece on the MDT 2.17 prints mdt_index, 2.12 to 2.16 print stripe_offset.
    if 'mdt' not in pattern or f'{prefix}mdt_index' not in keys:
        needed(keys, f'{prefix}stripe_offset')
    place = keys if 'lcme_id' in keys else {**_WHOLE, **keys}
    start, end = (needed(place, f'lcme_extent.e_{name}') for name in ('start', 'end'))
    flags = tuple(flag for flag in needed(place, 'lcme_flags').split(',') if flag != '0')
    mirror = number(place.get('lcme_mirror_id', '0').replace('N/A', '0'), shown)
    instantiated = prefix and 'init' in flags and not {'mdt', 'released'} & set(pattern)
    if (instantiated or osts) and count != len(osts):
        raise NotUnderstood(f'{count} objects are announced, and {len(osts)} shown', shown)
    bounds = number(start, shown), None if end == 'EOF' else number(end, shown)
    return FoundPiece(*bounds, pattern, count, size, tuple(osts), keys.get(f'{prefix}pool'), mirror, flags)


def _as_component(piece: FoundPiece) -> LayoutComponent:
    if piece.on_mdt:
        return LayoutComponent(piece.end, True)
    return LayoutComponent(piece.end, False, piece.stripe_count, piece.stripe_size, piece.pool, None, piece.osts)


def _differences(asked: LustreLayout, got: Striping, there: Inventory) -> List[str]:
    if not asked.places_file:
        return []
    if got.mirrors != asked.mirrors:
        return [f'{_many(got.mirrors, "mirror")} instead of {asked.mirrors}']
    differences: List[str] = []
    for mirror in sorted({piece.mirror for piece in got.pieces}):
        pieces = [piece for piece in got.pieces if piece.mirror == mirror]
        if len(pieces) != len(asked.pieces):
            return [f'{_many(len(pieces), "component")} instead of {len(asked.pieces)}']
        for place, (wish, piece) in enumerate(zip(asked.pieces, pieces)):
            where = f'component {place + 1}: ' if asked.components else ''
            differences += [where + words for words in _piece_differences(wish, piece, there)]
    return differences


def _piece_differences(wish: LayoutComponent, piece: FoundPiece, there: Inventory) -> List[str]:
    ends = ('the end of the file' if end is None else binary(end) for end in (piece.end, wish.end))
    differences = _instead('it ends at', *ends)
    if piece.on_mdt != wish.on_mdt:
        return [*differences, f'it lies on {"the MDT" if piece.on_mdt else "OSTs"}']
    if wish.on_mdt:
        return differences
    reach = there.reach(wish.pool)
    count = len(wish.osts) or wish.overstripe_count or wish.stripe_count
    # Without objects the servers have not decided yet.
    may_be_all = 1 <= piece.stripe_count <= len(reach) or (piece.stripe_count == ALL and not piece.osts)
    if count == ALL and not reach:
        differences.append('the number of all OSTs is not known')
    elif count != ALL or not may_be_all:
        differences += _instead('stripe count', piece.stripe_count, len(reach) if count == ALL else count)
    differences += _instead('stripe size', binary(piece.stripe_size), wish.stripe_size and binary(wish.stripe_size))
    differences += _instead('pool', piece.pool or 'none', wish.pool)
    elsewhere = set(piece.osts) - set(reach) if wish.pool is not None else ()
    if elsewhere:
        differences.append(f'OST {spelled(sorted(elsewhere))}, which the pool {wish.pool} does not have')
    if 'raid0' not in piece.pattern:
        differences.append(f'its pattern is {",".join(piece.pattern)}')
    if piece.osts:
        differences += _instead('OST', *(', '.join(map(str, osts)) for osts in (piece.osts, wish.osts)))
        differences += _instead('it begins on OST', piece.osts[0], wish.start_ost)
        if wish.overstripe_count is None and len(set(piece.osts)) < len(piece.osts):
            differences.append('several stripes lie on one OST')
    return differences


def _instead(what: str, got: Any, wished: Any) -> List[str]:
    """The difference between what there is and what was asked for, if anything was."""
    return [] if wished in (None, '', got) else [f'{what} {got} instead of {wished}']


def _many(count: int, thing: str) -> str:
    return f'{count} {thing}' if count == 1 else f'{count} {thing}s'
