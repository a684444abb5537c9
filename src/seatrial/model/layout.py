"""The layout of files in plans and records, in the words of its file-system type."""

from typing import NamedTuple, Tuple

# Kinds of targets that can be measured one by one. A brick of GlusterFS keeps whole files, with their replicas;
# storage targets are those of BeeGFS.
TARGETS = ('OST', 'MDT', 'brick', 'storage target')
DATA_TARGETS = tuple(kind for kind in TARGETS if kind != 'MDT')


class Layout(NamedTuple):
    """A layout of files; without settings it is the file system's default."""

    name: str = 'default'  # its name in the site or in the check
    type: str = ''  # the file-system type whose driver writes and reads `asks`
    asks: Tuple[str, ...] = ()  # settings in the words of that type, each safe in a file's name: ('c4', 'S1M')
    targets_needed: int = 1  # the fewest data targets with which the layout can be set
    places_file: bool = False  # True if a setting concerns the file itself, not only its directory

    @property
    def is_default(self) -> bool:
        return not self.asks

    @property
    def canonical(self) -> str:
        """The settings as one string: 'c4.S1M', 'default'. Equal for two layouts of a type that ask for the same."""
        return '.'.join(self.asks) or 'default'


def target_name(kind: str, number: int) -> str:
    return f'{target_word(kind)}{number:04d}'


def target_kind(name: str) -> str:
    return next(kind for kind in TARGETS if name.startswith(target_word(kind)))


def target_key(kind: str) -> str:
    """The key of trial.yaml for the number or the list of the targets of a kind: 'osts', 'storage_targets'."""
    return f'{target_word(kind)}s'


def target_word(kind: str) -> str:
    return kind.lower().replace(' ', '_')
