"""Reads the settings of layouts, and the words of plain stripes ('c4', 'S1M'), for all types that have them."""

import re
from typing import Any, Callable, Dict, NamedTuple, Optional

from seatrial.filesystem.base import LayoutError
from seatrial.model.layout import Layout
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import parse_size

ALL = -1  # stripe count that means every target
_UNITS = (('G', 1 << 30), ('M', 1 << 20), ('k', 1 << 10))
_STRIPES = re.compile(r'c(-?\d+)\Z|S(\d+[kMG]?)\Z')


class Stripes(NamedTuple):
    """The number of targets in a stripe (ALL: every one), and bytes on one before the next; None is left open."""

    stripe_count: Optional[int] = None
    stripe_size: Optional[int] = None


def plain_stripes(layout: Layout) -> Optional[Stripes]:
    """The plain stripes that a layout of any type asks for; None if it asks for anything else."""
    plain = Stripes()
    for word in layout.asks:
        match = _STRIPES.match(word)
        if match is None:
            return None
        count, size_ = match.groups()
        plain = plain._replace(stripe_count=int(count)) if count else plain._replace(stripe_size=bytes_of(size_))
    return plain


def binary(size: int) -> str:
    """The exact size in bytes in the largest of the units k, M and G that divides it: 65536 is '64k'."""
    for unit, factor in _UNITS:
        if size and size % factor == 0:
            return f'{size // factor}{unit}'
    return str(size)


def bytes_of(text: str) -> int:
    return int(text.rstrip('kMG')) * dict(_UNITS).get(text[-1], 1)


def read_keys(settings: Any, keys: Dict[str, Callable[[Any], Any]]) -> Dict[str, Any]:
    """The values of a mapping, each by the reader of its key, which raises ValueError with a sentence."""
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


def number(what: str, first: int, last: int, or_all: bool = False) -> Callable[[Any], int]:
    """A reader of whole numbers in a range."""

    def read(value: Any) -> int:
        if type(value) is not int or not (first <= value <= last or (or_all and value == ALL)):
            also = ', or -1 for all targets' if or_all else ''
            raise ValueError(f'{show(value)} is not {what}; write {first} to {last}{also}')
        return value

    return read


STRIPE_UNIT = 65536
"""Stripes are multiples of it, below 4 GiB: LOV_MIN_STRIPE_SIZE and lfs' own limit; CEPH_MIN_STRIPE_UNIT, 32 bits."""


def stripe_size(what: str) -> Callable[[Any], int]:
    """A reader of sizes in bytes that a stripe can have."""

    def read(value: Any) -> int:
        stripe = size(value)
        if stripe % STRIPE_UNIT or stripe >= 1 << 32:
            raise ValueError(f'{show(value)} is not {what}; write a multiple of 64KiB below 4GiB')
        return stripe

    return read


def size(value: Any) -> int:
    """A size in bytes, as a site writes it. Raises ValueError."""
    in_bytes = parse_size(value) if isinstance(value, str) and len(value) <= 40 else value
    if type(in_bytes) is not int or not 0 < in_bytes < 1 << 63:
        raise ValueError(f'{show(value)} is not a size; write a number from 1 and a unit: 64KiB, 1.5GiB')
    return in_bytes
