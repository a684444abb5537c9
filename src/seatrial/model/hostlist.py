"""Lists of nodes in Slurm's notation, and of cores in the kernel's."""

import re
from functools import lru_cache
from typing import FrozenSet, Iterator, List, Tuple

MOST = 65_533  # the most nodes of a cluster of Slurm (slurm.conf(5), MAX_NODES: 64k less sentinel values)


def expanded(hostlist: str) -> Tuple[str, ...]:
    """The names in Slurm's notation: 'n1', 'n2', 'm07' for 'n[1-2],m07'. Raises ValueError."""
    return tuple(name for piece in _pieces(hostlist) for name in _names(piece))


@lru_cache(maxsize=4096)
def cores_of(allowed: str) -> FrozenSet[str]:
    """The cores in a Cpus_allowed_list (proc(5)): '0', '1', '8' for '0-1,8'; empty for what no kernel writes."""
    try:
        return frozenset(expanded(f'[{allowed}]'))
    except ValueError:
        return frozenset()


def _pieces(hostlist: str) -> Iterator[str]:
    """The parts between commas outside brackets."""
    depth, piece = 0, ''
    for character in hostlist:
        depth += (character == '[') - (character == ']')
        if character == ',' and depth == 0:
            yield piece
            piece = ''
        else:
            piece += character
    if depth:
        raise ValueError(f"'{hostlist}' is not a list of nodes: a bracket is not closed")
    if piece:
        yield piece


def _names(piece: str) -> List[str]:
    """The names of one part: all six of 'rack[0-1]n[01-03]', the last bracket running fastest."""
    match = re.match(r'([^\[\]]*)(?:\[([0-9,-]+)\](.*))?\Z', piece)
    if match is None:
        raise ValueError(f"'{piece}' is not a list of nodes")
    head, ranges, rest = match.groups()
    if ranges is None:
        return [head]
    tails = _names(rest)
    return [f'{head}{number}{tail}' for number in _numbers(ranges) for tail in tails]


def _numbers(ranges: str) -> Iterator[str]:
    """The numbers of some ranges: '007', '008' for '007-008', padded to the digits of the first number."""
    for part in ranges.split(','):
        match = re.match(r'([0-9]+)(?:-([0-9]+))?\Z', part)
        if match is None:
            raise ValueError(f"'[{ranges}]' is no range of nodes")
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) - int(first) > MOST:
            raise ValueError(f"'[{ranges}]' is more nodes than Slurm has")
        yield from (f'{number:0{len(first)}d}' for number in range(int(first), int(last) + 1))
