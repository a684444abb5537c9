"""Reads the settings of layouts, and their words in plans and records ('c4', 'S1M'), for all file-system types."""

from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Tuple

from seatrial.filesystem.base import LayoutError
from seatrial.model.layout import Layout
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import parse_size

ALL = -1  # stripe count that means every target
_UNITS = (('G', 1 << 30), ('M', 1 << 20), ('k', 1 << 10))


def binary(size: int) -> str:
    """The exact size in bytes in the largest of the units k, M and G that divides it: 65536 is '64k'."""
    for unit, factor in _UNITS:
        if size and size % factor == 0:
            return f'{size // factor}{unit}'
    return str(size)


def bytes_of(text: str) -> int:
    return int(text.rstrip('kMG')) * dict(_UNITS).get(text[-1], 1)


Form = Tuple[Callable[[Any], str], Callable[[str], Any]]  # the functions that write and read a value
NUMBER: Form = (str, int)
NAME: Form = (str, str)
SIZE: Form = (binary, bytes_of)
NUMBERS: Form = (lambda numbers: '_'.join(map(str, numbers)), lambda text: tuple(map(int, text.split('_'))))
Words = Dict[str, Tuple[str, Form]]  # by the letters that a word begins with: the field of the layout, and its form


def written(layout: Any, words: Words) -> Tuple[str, ...]:
    """The words for the fields that a layout sets."""
    values = ((letters, write, getattr(layout, field)) for letters, (field, (write, _)) in words.items())
    return tuple(letters + write(value) for letters, write, value in values if value not in (None, ()))


def read_words(asks: Iterable[str], words: Words) -> Dict[str, Any]:
    """The fields that these words set."""
    fields = {}
    for word in asks:
        letters = max((letters for letters in words if word.startswith(letters)), key=len)
        field, (_, read) = words[letters]
        fields[field] = read(word[len(letters) :])
    return fields


class Stripes(NamedTuple):
    """The number of targets of a file (ALL: every one), and the bytes on one before the next; None: not set."""

    stripe_count: Optional[int] = None
    stripe_size: Optional[int] = None


_PLAIN: Words = {'c': ('stripe_count', NUMBER), 'S': ('stripe_size', SIZE)}


def plain_stripes(layout: Layout) -> Optional[Stripes]:
    """The plain stripes that a layout of any type asks for; None if it asks for anything else."""
    return Stripes(**read_words(layout.asks, _PLAIN)) if all(word[0] in _PLAIN for word in layout.asks) else None


Readers = Dict[str, Callable[[Any], Any]]  # by the key of a site: the function that reads its value


def read_keys(settings: Any, keys: Readers) -> Dict[str, Any]:
    """The values of a mapping, read by the function for each key, which raises ValueError with a sentence."""
    if not isinstance(settings, dict):
        raise LayoutError([], f'expected a mapping, found {show(settings)}; write {{stripe_count: 4}}')
    values = {}
    for key, value in settings.items():
        if key not in keys:
            raise LayoutError([key], f'unknown key; {choice(key, keys)}')
        try:
            values[key] = keys[key](value)
        except LayoutError as error:
            raise LayoutError([key, *error.keys], error.sentence) from None
        except ValueError as error:
            raise LayoutError([key], str(error)) from None
    return values


def fitting(fits: Callable[[Any], Any], fault: str) -> Callable[[Any], Any]:
    """A reader that returns fitting values and refuses others with the fault, a clause with the remedy."""

    def read(value: Any) -> Any:
        if not fits(value):
            raise ValueError(f'{show(value)} {fault}')
        return value

    return read


def number(what: str, first: int, last: int, or_all: bool = False) -> Callable[[Any], int]:
    """A reader of whole numbers in a range."""
    also = ', or -1 for all targets' if or_all else ''
    return fitting(
        lambda value: type(value) is int and (first <= value <= last or (or_all and value == ALL)),
        f'is not {what}; write {first} to {last}{also}',
    )


STRIPE_UNIT = 65536
"""Stripes are multiples of it below 4 GiB: LOV_MIN_STRIPE_SIZE, limit of lfs; CEPH_MIN_STRIPE_UNIT, 32 bits."""


def stripe_size(what: str, by_doubling: bool = False) -> Callable[[Any], int]:
    """A reader of the sizes in bytes that a stripe can have; by_doubling: only powers of two"""
    remedy = 'a power of two from 64KiB, below 4GiB' if by_doubling else 'a multiple of 64KiB below 4GiB'

    def read(value: Any) -> int:
        stripe = size(value)
        if stripe % STRIPE_UNIT or stripe >= 1 << 32 or (by_doubling and stripe & (stripe - 1)):
            raise ValueError(f'{show(value)} is not {what}; write {remedy}')
        return stripe

    return read


def size(value: Any) -> int:
    """A size in bytes, as a site writes it. Raises ValueError."""
    in_bytes = parse_size(value) if isinstance(value, str) and len(value) <= 40 else value
    if type(in_bytes) is not int or not 0 < in_bytes < 1 << 63:
        raise ValueError(f'{show(value)} is not a size; write a number from 1 and a unit: 64KiB, 1.5GiB')
    return in_bytes
