"""Layouts: how a file is spread over the targets of a file system, and its directory over the metadata targets."""

from typing import List, NamedTuple, Optional, Tuple

ALL = -1  # as a stripe count: every target that there is

_UNITS = (('G', 1 << 30), ('M', 1 << 20), ('k', 1 << 10))


class Component(NamedTuple):
    """One piece of a file: from where the one before ends (the first: from 0) to `end`.

    end:    bytes; None is the end of the file
    on_mdt: the piece lies on the metadata target itself (Data-on-MDT), and has nothing else to choose
    The others are as in Layout. Of these, stripe_count, stripe_size and pool are as in the component before where
    they are None (lfs-setstripe(1): "later components will inherit").
    """

    end: Optional[int] = None
    on_mdt: bool = False
    stripe_count: Optional[int] = None
    stripe_size: Optional[int] = None
    pool: Optional[str] = None
    start_ost: Optional[int] = None
    osts: Tuple[int, ...] = ()
    overstripe_count: Optional[int] = None


class Layout(NamedTuple):
    """A layout by the name that the site gives it; a field that is None is left to the file system's default.

    stripe_count:     targets a file is spread over (ALL: every one)
    stripe_size:      bytes on one target before the next
    pool:             the targets to choose from, by the name of their pool
    start_ost:        where the first stripe lies: a hint, which a full target overrides
    osts:             exactly these targets, in this order
    overstripe_count: stripes, of which a target may hold several
    components:       pieces of the file with layouts of their own (PFL); the fields above are then left alone
    mirrors:          copies of the file, each with this layout (FLR)
    mdt_count:        metadata targets that the directory is spread over
    mdt_index:        the metadata target on which the directory lies, or begins
    """

    name: str = 'default'
    stripe_count: Optional[int] = None
    stripe_size: Optional[int] = None
    pool: Optional[str] = None
    start_ost: Optional[int] = None
    osts: Tuple[int, ...] = ()
    overstripe_count: Optional[int] = None
    components: Tuple[Component, ...] = ()
    mirrors: int = 1
    mdt_count: Optional[int] = None
    mdt_index: Optional[int] = None

    @property
    def is_default(self) -> bool:
        """Whether nothing is asked beyond what the file system gives by itself."""
        return self == Layout(self.name)

    @property
    def places_file(self) -> bool:
        """Whether something is asked of the file itself, and not of its directory alone."""
        return not self._replace(mdt_count=None, mdt_index=None).is_default

    @property
    def places_directory(self) -> bool:
        """Whether something is asked of the directory that the files lie in."""
        return self.mdt_count is not None or self.mdt_index is not None

    @property
    def pieces(self) -> Tuple[Component, ...]:
        """The file's pieces from front to back, each with what it has from the one before; a plain file has one."""
        if not self.components:
            return (Component(None, False, *self[1:7]),)
        found: List[Component] = []
        for piece in self.components:
            if found and not piece.on_mdt:
                piece = _inherited(piece, found[-1])
            found.append(piece)
        return tuple(found)

    @property
    def targets_needed(self) -> int:
        """How many OSTs there must be, at least, for the layout to be what it says."""
        counts = [piece.stripe_count for piece in self.pieces if piece.stripe_count]
        numbers = [ost + 1 for piece in self.pieces for ost in piece.osts]
        return max([1, self.mirrors, *counts, *numbers])

    @property
    def canonical(self) -> str:
        """What is asked, in one string that is safe in a file's name: 'c4.S1M', 'E1M.Lmdt.E-1.c-1', 'mdt1.c2.S4M'.

        Two layouts have the same one only if they ask for the same. The letters are the options of lfs-setstripe(1);
        mdt and mdts are the index and the count of the directory's metadata targets.
        """
        words = []
        if self.mdt_index is not None:
            words.append(f'mdt{self.mdt_index}')
        if self.mdt_count is not None:
            words.append(f'mdts{self.mdt_count}')
        if self.mirrors != 1:
            words.append(f'N{self.mirrors}')
        for piece in self.components:
            words.append(f'E{-1 if piece.end is None else binary(piece.end)}')
            words += ['Lmdt'] if piece.on_mdt else []
            words += _striping_words(piece)
        words += _striping_words(Component(None, False, *self[1:7]))
        return '.'.join(words) or 'default'


def target_name(kind: str, number: int) -> str:
    """A target as points and records call it, of kind 'OST' or 'MDT': 'ost0003'."""
    return f'{kind.lower()}{number:04d}'


def binary(size: int) -> str:
    """The exact size in bytes in the largest unit that lfs knows and that divides it: 65536 is '64k'."""
    for unit, factor in _UNITS:
        if size and size % factor == 0:
            return f'{size // factor}{unit}'
    return str(size)


def _inherited(piece: Component, before: Component) -> Component:
    counted = piece.stripe_count is not None or piece.osts or piece.overstripe_count is not None
    return piece._replace(
        stripe_count=piece.stripe_count if counted else before.stripe_count,
        stripe_size=before.stripe_size if piece.stripe_size is None else piece.stripe_size,
        pool=before.pool if piece.pool is None else piece.pool,
    )


def _striping_words(piece: Component) -> List[str]:
    offered = (
        ('c', piece.stripe_count),
        ('C', piece.overstripe_count),
        ('S', None if piece.stripe_size is None else binary(piece.stripe_size)),
        ('i', piece.start_ost),
        ('o', '_'.join(str(ost) for ost in piece.osts) or None),
        ('p', piece.pool),
    )
    return [f'{letter}{value}' for letter, value in offered if value is not None]
