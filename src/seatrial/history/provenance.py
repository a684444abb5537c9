"""Whether two sessions measured with the same things: a difference between their figures may come from there."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import polars as pl

FACTS = {
    'engine': 'engine',
    'engine_version': "engine's version",
    'engine_build': "engine's build",
    'mpi': 'MPI',
    'launcher': 'launcher',
    'modules': 'modules',
    'kernel': 'kernel',
    'tasks': 'tasks',
    'client_version': "file system's client",
    'seatrial': 'Seatrial',
    'commit': "Seatrial's commit",
    'reframe': 'ReFrame',
}
"""The columns that tell, and how people call them."""

CASE = ('check', 'partition', 'file_system', 'layout', 'nodes')
UNKNOWN = 'not recorded'
BUILD_SHOWN = 19
"""Letters of a build: 'sha256:' and twelve of the checksum."""


def differences(before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    """What is not the same in two sessions, case by case, each once: "kernel: 5.14.0-427 against 5.14.0-503".

    Only cases that began in both are looked at.
    """
    earlier, later = _by_case(before), _by_case(after)
    pairs = [(earlier[case], later[case]) for case in earlier if case in later]
    return list(dict.fromkeys(said for one, other in pairs for said in _differing(one, other)))


def sentence(sessions: Sequence[pl.DataFrame]) -> str:
    """One line on the sessions, oldest first, or empty where all measured with the same: what changed with which."""
    changes = [
        f'{"; ".join(found)} (from {later["session"][0]} on)'
        for earlier, later in pairwise(sessions)
        if (found := differences(earlier, later))
    ]
    return f'Not measured with the same: {"; ".join(changes)}' if changes else ''


def _by_case(rows: pl.DataFrame) -> dict[tuple[object, ...], dict[str, str | None]]:
    """The facts of each case that began."""
    # Of a sweep over tasks the largest point counts.
    most = rows.with_columns(pl.col('tasks').max().over(CASE).cast(pl.String))
    began = most.filter(pl.col('engine').fill_null('') != '').unique(CASE, keep='first', maintain_order=True)
    return {tuple(row[name] for name in CASE): {name: row[name] for name in FACTS} for row in began.rows(named=True)}


def _differing(one: dict[str, str | None], other: dict[str, str | None]) -> Iterator[str]:
    for name, words in FACTS.items():
        if one[name] != other[name]:
            yield f'{words}: {_shown(name, one[name], other[name])} against {_shown(name, other[name], one[name])}'


def _shown(name: str, value: str | None, other: str | None) -> str:
    if value is None:
        return UNKNOWN
    if name == 'modules':
        value = ' '.join(module for module in value.split() if module not in (other or '').split())
    return (value[:BUILD_SHOWN] if name == 'engine_build' else value) or 'none'
