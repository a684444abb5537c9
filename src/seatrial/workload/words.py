"""Numbers, lists and groups in words."""

from typing import Dict, Iterable, List, Sequence, Tuple, TypeVar

from seatrial.model.hostlist import cores_of
from seatrial.model.units import format_size

LISTED = 8
K = TypeVar('K')
V = TypeVar('V')


def by_key(pairs: Iterable[Tuple[K, V]]) -> Dict[K, List[V]]:
    """All values of each key, both in the order in which they come."""
    lists: Dict[K, List[V]] = {}
    for key, value in pairs:
        lists.setdefault(key, []).append(value)
    return lists


def exact_size(size: int) -> str:
    """'40 KiB', '3901 B'."""
    text = format_size(size)
    unit = text.lstrip('0123456789')
    return f'{text[: -len(unit)]} {unit}'


def grouped(number: int) -> str:
    """A number that is exact to the last digit: '4686', '18 744', with narrow spaces."""
    return f'{number:,}'.replace(',', '\u202f') if number > 9999 else str(number)


def counted(number: int, one: str, many: str = '') -> str:
    return f'{grouped(number)} {one if number == 1 else many or one + "s"}'


def joined(words: Sequence[str], last: str) -> str:
    """Words with commas and, before the last, the given word: 'a, b and c'."""
    return words[0] if len(words) == 1 else f'{", ".join(words[:-1])} {last} {words[-1]}'


def listed(names: Sequence[str]) -> str:
    """LISTED of the names at most, and the number of further ones: 'ost0001, ost0002 and 3 more'."""
    more = len(names) - LISTED
    return ', '.join(names[:LISTED]) + (f' and {grouped(more)} more' if more > 0 else '')


def span(numbers: Iterable[int]) -> str:
    """The range of some whole numbers: '1 to 4', or '4'."""
    ordered = sorted(numbers)
    return ' to '.join(dict.fromkeys(str(number) for number in (ordered[0], ordered[-1])))


def binding_words(cores: Sequence[str]) -> str:
    """The binding of tasks in words: '4 tasks a node, each may use 1 of 4 cores'. cores: as in BoundTasks."""
    allowed = [cores_of(text) for text in cores]
    of_each, together = span({len(task_cores) for task_cores in allowed}), len(frozenset().union(*allowed))
    return f'{counted(len(allowed), "task")} a node, each may use {of_each} of {counted(together, "core")}'
