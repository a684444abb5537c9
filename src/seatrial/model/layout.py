"""A layout in plans and records: how files are spread, in the words of the file-system type that owns it."""

from typing import NamedTuple, Tuple

TARGETS = ('OST', 'MDT', 'brick')  # kinds of targets; a GlusterFS brick keeps whole files, with their replicas


class Layout(NamedTuple):
    """A layout without further settings asks for nothing beyond the file system's default."""

    name: str = 'default'  # as the site or the check calls it
    type: str = ''  # the file-system type whose driver made it, and reads `asks` back
    asks: Tuple[str, ...] = ()  # what is asked, in that type's own words, each safe in a file's name: ('c4', 'S1M')
    targets_needed: int = 1  # how many data targets there must be, at least, for the layout to be what it says
    places_file: bool = False  # whether something is asked of the file itself, and not of its directory alone

    @property
    def is_default(self) -> bool:
        return not self.asks

    @property
    def canonical(self) -> str:
        """The settings as one string: 'c4.S1M', 'default'. Equal for two layouts of a type that ask for the same."""
        return '.'.join(self.asks) or 'default'


def target_name(kind: str, number: int) -> str:
    return f'{kind.lower()}{number:04d}'


def target_kind(name: str) -> str:
    return next(kind for kind in TARGETS if name.startswith(kind.lower()))
