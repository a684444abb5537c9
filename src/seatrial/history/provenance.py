"""Differences in software, settings and file system between sessions, which can explain different figures."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import polars as pl

FACTS = {  # the columns that tell, and how people call them
    'engine': 'engine',
    'engine_version': "engine's version",
    'engine_build': "engine's build",
    'mpi': 'MPI',
    'launcher': 'launcher',
    'modules': 'modules',
    'environment': 'environment',
    'darshan': "Darshan's library",
    'pydarshan': 'PyDarshan',
    'kernel': 'kernel',
    'tasks': 'tasks',
    'binding': 'binding',
    'client_version': "file system's client",
    'seatrial': 'Seatrial',
    'commit': "Seatrial's commit",
    'reframe': 'ReFrame',
}

SAID = (*FACTS, 'file_system_type', 'state')

CASE = ('check', 'partition', 'file_system', 'layout', 'nodes')
UNKNOWN = 'not recorded'
LOAD_APART = 10  # per cent of all cores between two sides, which a node's own services do not explain (chosen)
BUILD_SHOWN = 19  # letters of a build: 'sha256:' and twelve of the checksum
_TYPE, _MOUNT, _OPTIONS, _SETTINGS = 'type in trial.yaml', 'mounted', 'mount options', 'settings'
_FIRST = (_TYPE, _MOUNT, _OPTIONS)  # keys of the file system's state that say the most of a figure
_LISTS = {'modules': None, 'environment': None, _OPTIONS: ','}
"""Facts that are lists, with their separator (None: blanks): only parts that the other side lacks are shown."""


_Values = tuple[str | None, ...]
_Facts = Mapping[str, _Values]  # the values of the sessions of one side by name, in the order in which they came
Facts = Mapping[tuple[object, ...], _Facts]  # the facts of each case


def differing(earlier: Facts, later: Facts) -> list[str]:
    """Differences like 'kernel: 5.14.0 against 5.15.0', the file system's first, of cases that both have begun."""
    pairs = ((earlier[case], later[case]) for case in earlier if case in later)
    places = {line: place for pair in pairs for place, line in _differing(*pair)}
    return sorted(places, key=places.__getitem__)


def sentence(sessions: Sequence[pl.DataFrame]) -> str:
    """One line on all changes over the sessions, oldest first, with the session of each; empty if there are none."""
    changes = [
        f'{"; ".join(lines)} (from {later["session"][0]} on)'
        for earlier, later in pairwise(sessions)
        if (lines := differing(facts_of(earlier), facts_of(later)))
    ]
    return f'Not measured with the same: {"; ".join(changes)}' if changes else ''


def circumstances(before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    """Differences that vary from night to night by themselves: nodes, their load, and how full file systems were."""
    lines = []
    nodes = [set(' '.join(rows['hosts'].drop_nulls().unique()).split()) for rows in (before, after)]
    if nodes[0] != nodes[1]:
        only = [' '.join(sorted(side)) or 'none besides' for side in (nodes[0] - nodes[1], nodes[1] - nodes[0])]
        lines.append(f'nodes: {only[0]} against {only[1]}')
    load = [spanned(rows['load_percent']) for rows in (before, after)]
    if all(load) and max(min(load[0]) - max(load[1]), min(load[1]) - max(load[0])) >= LOAD_APART:
        lines.append(f'load of the first node when cases began: {" against ".join(map(percent_words, load))}')
    for name in sorted(set(before['file_system'].unique()) & set(after['file_system'].unique())):
        sides = (rows.filter(pl.col('file_system') == name) for rows in (before, after))
        full = [percent_words(spanned(rows['used_percent'])) for rows in sides]
        lines += [f'{name}: {full[0]} full against {full[1]}'] if full[0] != full[1] else []
    return lines


def spanned(percent: pl.Series) -> tuple[int, ...]:
    """The least and largest of these, once where they are one; () if none is known."""
    seen = percent.drop_nulls().to_list()
    return tuple(dict.fromkeys((min(seen), max(seen)))) if seen else ()


def percent_words(full: Sequence[int]) -> str:
    """'62 %' or '62 to 64 %'."""
    return f'{" to ".join(map(str, full))} %' if full else UNKNOWN


def facts_of(rows: pl.DataFrame) -> Facts:
    """Software, settings and file system of the cases in these sessions."""
    facts = [name for name in SAID if name != 'tasks']
    tasks = pl.col('tasks').max().cast(pl.String)  # of a sweep over tasks the largest point counts
    others = pl.col(facts).filter(pl.col('engine').fill_null('') != '').first()
    cases = rows.lazy().group_by(*CASE, 'session', maintain_order=True).agg(tasks, others)
    began = cases.filter(pl.col('engine').is_not_null()).drop('session').unique(maintain_order=True)
    by_case: dict[tuple[object, ...], dict[str, dict[str | None, None]]] = {}
    for row in began.collect().rows(named=True):
        of_case = by_case.setdefault(tuple(row[name] for name in CASE), {})
        for name, value in (*_state(row).items(), *((name, row[name]) for name in FACTS)):
            of_case.setdefault(name, {})[value] = None
    return {case: {name: tuple(values) for name, values in of_case.items()} for case, of_case in by_case.items()}


def _state(row: Mapping[str, str | None]) -> dict[str, str | None]:
    name, state = row['file_system'], row['state']
    settings = {_TYPE: row['file_system_type'], _SETTINGS: state and 'recorded', **(_parsed(state) if state else {})}
    settings.pop('client version', None)  # one of FACTS
    return {f'{name}: {key}': value for key, value in settings.items()}


@lru_cache(maxsize=1024)
def _parsed(state: str) -> dict[str, str]:
    settings: dict[str, str] = json.loads(state)
    return settings


def _differing(one: _Facts, other: _Facts) -> Iterator[tuple[int, str]]:
    """The differences, each with its place in the order."""
    unlike = {
        name: (one.get(name, (None,)), other.get(name, (None,)))
        for name in dict.fromkeys((*one, *other))
        if set(one.get(name, ())) != set(other.get(name, ()))
    }
    # Of what only one side has nothing is said where that follows from another kind of mount, or from no record.
    follows = any(_key(name) in (_SETTINGS, _MOUNT) for name in unlike)
    for name, values in unlike.items():
        if follows and (name in one) != (name in other):
            continue
        place = _FIRST.index(_key(name)) if _key(name) in _FIRST else len(_FIRST) + (name in FACTS)
        yield place, f'{FACTS.get(name, name)}: {_shown(name, *values)} against {_shown(name, *values[::-1])}'


def _key(name: str) -> str:
    """A setting without the name of its file system; any other name as it is."""
    return name.partition(': ')[2] or name


def _shown(name: str, values: _Values, others: _Values) -> str:
    key, shown = _key(name), []
    for value in values:
        if value and key in _LISTS:
            separator = _LISTS[key]
            theirs = {part for other in others for part in (other or '').split(separator)}
            rest = (separator or ' ').join(part for part in value.split(separator) if part not in theirs)
            value = rest or 'no others'
        if value and name in ('engine_build', 'darshan'):
            value = value[:BUILD_SHOWN]
        shown.append(UNKNOWN if value is None else value or 'none')
    return ' and '.join(dict.fromkeys(shown))
