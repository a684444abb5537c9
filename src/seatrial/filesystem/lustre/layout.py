"""Lustre's layouts as values: settings of a file and of the directory that it lies in. A site and a check write
settings ({stripe_count: 4, stripe_size: 1MiB}), plans and records words with the letters of lfs-setstripe(1): 'c4',
'S1M'. Sources: lfs.c, liblustreapi_layout.c and lod_lov.c of Lustre 2.12 to 2.17."""

import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from seatrial.filesystem import layout_words
from seatrial.filesystem.base import LayoutError
from seatrial.filesystem.layout_words import ALL as ALL  # checks declare it
from seatrial.filesystem.layout_words import STRIPE_UNIT, binary, bytes_of, number, read_keys, size, stripe_size
from seatrial.model.layout import Layout
from seatrial.model.quoted_value import show

NAME = 'lustre'
MOST_STRIPES = 2000  # LOV_MAX_STRIPE_COUNT, and LMV_MAX_STRIPE_COUNT for directories
MOST_ON_MDT = 1 << 30  # that lfs accepts of a piece; a server's own lod.*.dom_stripesize (default 1 MiB) is not seen
MOST_MIRRORS = 16  # LUSTRE_MIRROR_COUNT_MAX
# LOV_MAXPOOLNAME; the three words lfs reads as something else than a pool's name
_POOL = re.compile(r'(?!(?:ignore|inherit|none)\Z)[A-Za-z0-9_-]{1,15}\Z', re.ASCII)
_Fault = Optional[Tuple[str, str]]  # a key, and what is wrong there with its remedy


class LayoutComponent(NamedTuple):
    """One piece of a file, from the end of the piece before (the first: from 0) to `end`."""

    end: Optional[int] = None  # bytes; None is the end of the file
    on_mdt: bool = False  # it lies on the metadata target itself (Data-on-MDT), and has nothing else to choose
    # these as in LustreLayout; count, size and pool that are None as in the component before (lfs-setstripe(1))
    stripe_count: Optional[int] = None
    stripe_size: Optional[int] = None
    pool: Optional[str] = None
    start_ost: Optional[int] = None
    osts: Tuple[int, ...] = ()
    overstripe_count: Optional[int] = None

    @property
    def words(self) -> Tuple[str, ...]:
        """Its stripes: the letters and values of lfs-setstripe(1), OSTs with _ between them."""
        return layout_words.written(self, _STRIPES)


class LustreLayout(NamedTuple):
    """Settings that are asked for; a field that is None is left to the file system's default."""

    stripe_count: Optional[int] = None  # targets a file is spread over (ALL: every one)
    stripe_size: Optional[int] = None  # bytes on one target before the next
    pool: Optional[str] = None  # the targets to choose from, by the name of their pool
    start_ost: Optional[int] = None  # where the first stripe lies: a hint, which a full target overrides
    osts: Tuple[int, ...] = ()  # exactly these targets, in this order
    overstripe_count: Optional[int] = None  # stripes, of which a target may hold several
    components: Tuple[LayoutComponent, ...] = ()  # pieces with layouts of their own (PFL), in place of all above
    mirrors: int = 1  # copies of the file, each with this layout (FLR)
    mdt_count: Optional[int] = None  # metadata targets that the directory is spread over
    mdt_index: Optional[int] = None  # the metadata target on which the directory lies, or begins

    @property
    def places_file(self) -> bool:
        """True if it asks for something for the file itself, and not only for its directory."""
        return self._replace(mdt_count=None, mdt_index=None) != LustreLayout()

    @property
    def places_directory(self) -> bool:
        return self.mdt_count is not None or self.mdt_index is not None

    @property
    def pieces(self) -> Tuple[LayoutComponent, ...]:
        """The file's pieces from front to back, each with settings of the one before; a plain file has one."""
        pieces: List[LayoutComponent] = []
        for piece in self.components or (LayoutComponent(None, False, *self[:6]),):
            before = pieces[-1] if pieces and not piece.on_mdt else LayoutComponent()
            counted = piece.stripe_count is not None or piece.osts or piece.overstripe_count is not None
            count = piece.stripe_count if counted else before.stripe_count
            size = before.stripe_size if piece.stripe_size is None else piece.stripe_size
            pool = before.pool if piece.pool is None else piece.pool
            pieces.append(piece._replace(stripe_count=count, stripe_size=size, pool=pool))
        return tuple(pieces)

    @property
    def targets_needed(self) -> int:
        counts = [piece.stripe_count for piece in self.pieces if piece.stripe_count]
        return max([1, self.mirrors, *counts, *(ost + 1 for piece in self.pieces for ost in piece.osts)])

    @property
    def words(self) -> Tuple[str, ...]:
        """('c4', 'S1M'), ('E1M', 'Lmdt', 'E-1', 'c-1'); mdt and mdts are index and count of the directory's MDTs."""
        words = [*layout_words.written(self, _DIRECTORY), *([] if self.mirrors == 1 else [f'N{self.mirrors}'])]
        for piece in self.components:
            words += [f'E{-1 if piece.end is None else binary(piece.end)}', *(['Lmdt'] if piece.on_mdt else [])]
            words += piece.words
        return (*words, *(() if self.components else self.pieces[0].words))

    @property
    def canonical(self) -> str:
        return self.named('').canonical

    def named(self, name: str) -> Layout:
        return Layout(name, NAME, self.words, self.targets_needed, self.places_file) if self.words else Layout(name)


def asked(layout: Layout) -> LustreLayout:
    whole: Dict[str, Any] = {}
    pieces: List[Dict[str, Any]] = []
    for word in layout.asks:
        if word.startswith('E'):
            pieces.append({} if word == 'E-1' else {'end': bytes_of(word[1:])})
        elif word == 'Lmdt':
            pieces[-1]['on_mdt'] = True
        else:
            (pieces[-1] if pieces else whole).update(layout_words.read_words([word], _WORDS))
    return LustreLayout(components=tuple(LayoutComponent(**piece) for piece in pieces), **whole)


def from_settings(settings: Any) -> LustreLayout:
    """The layout in the settings of a site or a check. Raises LayoutError for the first one that no Lustre can do."""
    layout = LustreLayout(**read_keys(settings, _LAYOUT_KEYS))
    beside = [key for key in _STRIPING if getattr(layout, key) not in (None, ())]
    if layout.components and beside:
        raise LayoutError([beside[0]], 'cannot be given beside components; put it into each of them')
    last_end = 0
    for place, piece in enumerate(layout.pieces):
        fault = _piece_fault(piece, place) or _end_fault(piece, last_end, place == len(layout.pieces) - 1)
        if fault is not None:
            raise LayoutError([*(('components', place) if layout.components else ()), fault[0]], fault[1])
        last_end = piece.end or last_end
    return layout


def striped(
    name: str = 'default', stripe_count: Optional[int] = None, stripe_size: Any = None, **settings: Any
) -> Layout:
    """A layout that a check declares: striped('c4', 4, '1MiB', pool='flash'). Raises LayoutError."""
    first = {'stripe_count': stripe_count, 'stripe_size': stripe_size}
    stated = {key: value for key, value in first.items() if value is not None}
    return from_settings({**stated, **settings}).named(name)


def progressive(name: str, *components: Dict[str, Any], **settings: Any) -> Layout:
    """Layout of pieces (PFL, DoM): progressive('pfl', {'end': '4MiB', 'stripe_count': 1}, {'stripe_count': ALL})."""
    return striped(name, components=components, **settings)


def _piece_fault(piece: LayoutComponent, place: int) -> _Fault:
    if piece.on_mdt:
        if place > 0:
            return 'on_mdt', 'only the first component can lie on the metadata target'
        if piece != LayoutComponent(piece.end, True):
            return 'on_mdt', 'a component on the metadata target has no other settings; remove the other keys'
        if piece.end is None or piece.end > MOST_ON_MDT:
            return 'end', f'a component on the metadata target ends at {binary(MOST_ON_MDT)} at the latest'
        return None
    if piece.stripe_count is not None and piece.overstripe_count is not None:
        return 'overstripe_count', 'contradicts stripe_count; keep one'
    if not piece.osts:
        return None
    for key in ('start_ost', 'overstripe_count', 'pool'):
        if getattr(piece, key) is not None:
            return key, 'contradicts osts, which names the targets; keep one'
    if piece.stripe_count not in (None, len(piece.osts)):
        return 'stripe_count', f'contradicts osts, which names {len(piece.osts)}; remove it'
    return None


def _end_fault(piece: LayoutComponent, start: int, is_last: bool) -> _Fault:
    if piece.end is None and is_last:
        return None
    if is_last:
        return 'end', 'the last component must go to the end of the file (leave end out): a write past it fails'
    if piece.end is None:
        return 'end', 'only the last component goes to the end of the file; write where this one ends'
    if piece.end % STRIPE_UNIT or piece.end <= start:
        return 'end', f'{piece.end} is not an end here; write a multiple of 64KiB above {start}'
    if piece.stripe_size is not None and piece.end % piece.stripe_size:
        return 'end', f'{piece.end} is not a multiple of the stripe size of this component, {piece.stripe_size}'
    return None


def _list(value: Any) -> List[Any]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(f'expected a list of values, found {show(value)}; write one or more in []')
    return list(value)


def _osts(value: Any) -> Tuple[int, ...]:
    osts = tuple(_target(number) for number in _list(value))
    if len(set(osts)) < len(osts):
        raise ValueError('each OST once, by its index from 0; for several stripes on one use overstripe_count')
    return osts


def _components(value: Any) -> Tuple[LayoutComponent, ...]:
    components = []
    for place, settings in enumerate(_list(value)):
        try:
            components.append(LayoutComponent(**read_keys(settings, _COMPONENT_KEYS)))
        except LayoutError as error:
            raise LayoutError([place, *error.keys], error.sentence) from None
    return tuple(components)


_target = number('the number of a target', 0, MOST_STRIPES - 1)
_count = number('a stripe count', 1, MOST_STRIPES, or_all=True)
_STRIPING: layout_words.Readers = {
    'stripe_count': _count,
    'stripe_size': stripe_size('a stripe size'),
    'pool': layout_words.fitting(
        lambda value: isinstance(value, str) and _POOL.match(value),
        "cannot be a pool's name; write letters, digits, _ and -, at most 15",
    ),
    'start_ost': _target,
    'osts': _osts,
    'overstripe_count': number('a stripe count', 1, MOST_STRIPES),
}
_COMPONENT_KEYS: layout_words.Readers = {
    **_STRIPING,
    'end': size,
    'on_mdt': layout_words.fitting(lambda value: type(value) is bool, 'is neither true nor false; write one of them'),
}
_LAYOUT_KEYS: layout_words.Readers = {
    **_STRIPING,
    'components': _components,
    'mirrors': number('a number of copies', 1, MOST_MIRRORS),
    'mdt_count': _count,
    'mdt_index': _target,
}

_DIRECTORY = {'mdt': ('mdt_index', layout_words.NUMBER), 'mdts': ('mdt_count', layout_words.NUMBER)}
_STRIPES = {
    'c': ('stripe_count', layout_words.NUMBER),
    'C': ('overstripe_count', layout_words.NUMBER),
    'S': ('stripe_size', layout_words.SIZE),
    'i': ('start_ost', layout_words.NUMBER),
    'o': ('osts', layout_words.NUMBERS),
    'p': ('pool', layout_words.NAME),
}
_WORDS = {**_DIRECTORY, 'N': ('mirrors', layout_words.NUMBER), **_STRIPES}
