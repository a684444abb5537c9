"""Sizes in bytes and durations in seconds, as people write and read them. Binary units only: KiB is 1024 B."""

import re

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_UNITS = (('PiB', GIB * MIB), ('TiB', GIB * KIB), ('GiB', GIB), ('MiB', MIB), ('KiB', KIB), ('B', 1))
_SIZE = re.compile(r'([0-9]+)(\.[0-9]+)?\s*([A-Za-z]*)\Z', re.ASCII)


def parse_size(text: str) -> int:
    """Bytes meant by '64KiB', '1.5 GiB' or '4096'. Raises ValueError with the accepted form otherwise."""
    match = _SIZE.match(text.strip())
    factors = dict(_UNITS)
    factors[''] = 1
    if match is None or match.group(3) not in factors:
        raise ValueError(f"'{text}' is not a size; write a number and one of B, KiB, MiB, GiB, TiB, PiB: 64KiB")
    whole, fraction, unit = match.groups()
    factor = factors[unit]
    size = int(whole) * factor
    if fraction:
        scale = 10 ** (len(fraction) - 1)
        if int(fraction[1:]) * factor % scale:
            raise ValueError(f"'{text}' is not a whole number of bytes")
        size += int(fraction[1:]) * factor // scale
    return size


def format_size(size: int) -> str:
    """The exact size in the largest unit that divides it: 65536 is '64KiB', 1000 is '1000B'."""
    for unit, factor in _UNITS:
        if size >= factor and size % factor == 0:
            return f'{size // factor}{unit}'
    return f'{size}B'


def round_up(size: int, granule: int) -> int:
    """The smallest multiple of granule that is not below size."""
    return -(-size // granule) * granule


def approximate_size(size: float) -> str:
    """The size to three significant figures, for people: 2147483648 is '2 GiB'."""
    for unit, factor in _UNITS:
        if size >= factor > 1:
            return f'{size / factor:.3g} {unit}'
    return f'{size:.0f} B'


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 12 min, 3.5 h."""
    if seconds < 120:
        return f'{seconds:.0f} s'
    if seconds < 7200:
        return f'{seconds / 60:.0f} min'
    return f'{seconds / 3600:.1f} h'
