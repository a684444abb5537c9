"""Sizes, durations and metrics as people write them; base units are B/s, op/s and s. KiB is 1024 B, kB 1000 B."""

import math
import re
from fractions import Fraction
from typing import Dict, Iterable, NamedTuple, Tuple, Union

Size = Union[int, str]  # a number of bytes, or a text such as '64KiB'
KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
BINARY, DECIMAL = 'binary', 'decimal'
SYSTEMS = (BINARY, DECIMAL)  # systems of units that a site can show: 1 GiB/s or 1.07 GB/s
EXAMPLES = ('B/s', 'MiB/s', 'GB/s', 'op/s', 'kop/s', 's', 'ms', '%')  # units that error messages name

_UNITS = (('PiB', GIB * MIB), ('TiB', GIB * KIB), ('GiB', GIB), ('MiB', MIB), ('KiB', KIB), ('B', 1))
_DECIMAL = {'kB': 10**3, 'MB': 10**6, 'GB': 10**9, 'TB': 10**12, 'PB': 10**15}
_SIZE = re.compile(r'([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\Z', re.ASCII)


def parse_size(text: str) -> int:
    """Bytes in '64KiB', '1.5 GiB', '400MB' or '4096'. Raises ValueError that names the accepted form."""
    match = _SIZE.match(text.strip())
    factors = {'': 1, **dict(_UNITS), **_DECIMAL}
    if match is None or match.group(2) not in factors:
        units = 'B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB, PB'
        raise ValueError(f"'{text}' is not a size; write a number and one of {units}: 64KiB")
    size = Fraction(match.group(1)) * factors[match.group(2)]
    if size.denominator > 1:
        raise ValueError(f"'{text}' is not a whole number of bytes")
    return int(size)


def in_bytes(size: Size) -> int:
    """The bytes of a size, which is a number of bytes or a text. Raises ValueError like parse_size."""
    return parse_size(size) if isinstance(size, str) else size


def format_size(size: int) -> str:
    """The exact size in the largest unit that divides it: 65536 is '64KiB', 1000 is '1000B'."""
    for unit, factor in _UNITS:
        if size >= factor and size % factor == 0:
            return f'{size // factor}{unit}'
    return f'{size}B'


def round_up(size: int, granule: int) -> int:
    return -(-size // granule) * granule


def common_multiple(sizes: Iterable[int]) -> int:
    multiple = 1
    for size in sizes:
        multiple = multiple * size // math.gcd(multiple, size)
    return multiple


def approximate_size(size: float) -> str:
    """The size to three significant figures, for people: 2147483648 is '2 GiB'."""
    for unit, factor in _UNITS:
        if size >= factor > 1:
            return f'{_rounded(size / factor)} {unit}'
    return f'{size:.0f} B'


def _units() -> Dict[str, Tuple[str, Fraction]]:
    units: Dict[str, Tuple[str, Fraction]] = {'': ('', Fraction(1)), '%': ('', Fraction(1, 100))}
    for power, letter in enumerate(('', 'k', 'M', 'G', 'T', 'P')):
        units[f'{letter}B/s'] = ('B/s', Fraction(1000**power))
        units[f'{letter}bit/s'] = ('B/s', Fraction(1000**power, 8))
        for word in ('op/s', 'ops/s', 'IOPS', 'entries/s', 'files/s', 'creates/s', 'stats/s', 'removes/s'):
            units[f'{letter}{word}'] = ('op/s', Fraction(1000**power))
        if power:
            units[f'{letter.upper()}iB/s'] = ('B/s', Fraction(1024**power))
    for power, word in enumerate(('s', 'ms', 'us', 'ns')):
        units[word] = ('s', Fraction(1, 1000**power))
    units['\u00b5s'] = units['us']
    units['min'], units['h'] = ('s', Fraction(60)), ('s', Fraction(3600))
    return units


UNITS = _units()  # by unit of a metric: its base unit, and the factor that converts to it
_LADDERS: Dict[str, Tuple[Tuple[str, ...], str, str]] = {  # units, largest first; the unit of smaller values; of 0
    BINARY: (('TiB/s', 'GiB/s', 'MiB/s', 'KiB/s'), 'B/s', 'MiB/s'),
    DECIMAL: (('TB/s', 'GB/s', 'MB/s', 'kB/s'), 'B/s', 'MB/s'),
    's': (('s', 'ms', '\u00b5s', 'ns'), 'ns', 's'),
}


class Quantity(NamedTuple):
    """A value in a base unit: 500 GB/s is (500000000000.0, 'B/s')."""

    value: float
    unit: str


def in_base(value: float, unit: str) -> Quantity:
    """The value in the base unit of its dimension, exact for its shortest decimal form: 1.07 GB/s are 1070000000 B/s.
    Raises ValueError if there is no such unit, or if the value is not a finite number."""
    base, factor = _unit(unit)
    try:
        return Quantity(float(Fraction(str(value)) * factor), base)
    except (ValueError, OverflowError):
        raise ValueError(f"'{value} {unit}' is no finite number") from None


def in_unit(value: float, unit: str) -> float:
    """Convert a value from the base unit. Raises ValueError for an unknown unit."""
    factor = _unit(unit)[1]
    return float(Fraction(value) / factor) if math.isfinite(value) else value


def unit_for(value: float, base: str, system: str = BINARY) -> str:
    """The unit in which a value of a base unit is easiest to read: 'GiB/s' or, in the system 'decimal', 'GB/s'."""
    ladder, less, zero = _LADDERS.get(system if base == 'B/s' else base, ((), base, base))
    return next((unit for unit in ladder if abs(value) >= float(UNITS[unit][1])), less if value else zero)


def quantity(value: float, base: str, system: str = BINARY) -> str:
    """A value of a base unit to three digits, in the unit in which it is easiest to read: '1.95 GiB/s'."""
    unit = unit_for(value, base, system)
    return f'{_rounded(in_unit(value, unit))} {unit}'.strip()


def _rounded(value: float) -> str:
    return f'{value:.3g}' if abs(value) < 999.5 else f'{float(f"{value:.3g}"):.0f}'


def _unit(unit: str) -> Tuple[str, Fraction]:
    if unit not in UNITS:
        raise ValueError(f"'{unit}' is not a unit of a metric; it can be {', '.join(EXAMPLES)}")
    return UNITS[unit]


def duration(seconds: float) -> str:
    """A duration for people: 45 s, 12 min, 3.5 h."""
    if seconds < 120:
        return f'{seconds:.0f} s'
    if seconds < 7200:
        return f'{seconds / 60:.0f} min'
    return f'{seconds / 3600:.1f} h'
