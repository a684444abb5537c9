"""references.yaml: expected figures of this system, in ReFrame's own form; their dates stand under `$seatrial`.
references.md describes the file. ReFrame skips a reference that it cannot find or read: a class, key or metric that
is misspelt, '1' for 1, a part too many. Here all these are problems with place and remedy, before ReFrame starts."""

import datetime
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import BeforeValidator, Field, ValidationError

from seatrial.judge.references import BASELINE, CONTRACT, Reference, References
from seatrial.model.metric import HIGHER
from seatrial.model.plan import Case
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import UNITS, in_base
from seatrial.site import yaml_file
from seatrial.site.error import problem, raise_any
from seatrial.site.load import problem_of
from seatrial.site.model import EngineName, Entry, TaskCount, one_of
from seatrial.site.profile import PROFILES

REFERENCES_FILE = 'references.yaml'
INDEX = ('profile', '$partition', 'file_system', 'layout', 'num_nodes')
STATISTICS = {'mean': 'mean', 'median': 'median', 'p10': 'p90', 'minimum': 'maximum'}
"""The statistics that a reference may be for, and their counterparts for a metric of which less is better."""

SEATRIAL, _INDEX = '$seatrial', '$index'
_LEVELS = ('profile', 'partition', 'file system', 'layout', 'node count', 'metric')
_NODES = _LEVELS.index('node count')
LARGEST = 1e18  # base units, 1 EB/s: a larger figure has a wrong number or unit

_FORM = '[1000.0, -0.1, null, MiB/s]: the reference, the lowest and the highest as fractions of it, the unit'
_UNITS_OF = {'B/s': 'MiB/s, GB/s or another one', 'op/s': 'op/s or kop/s', 's': 's, ms or us'}
_EXAMPLE = '{origin: baseline, date: 2026-11-20, engine: ior}'
_WHOLE = re.compile(r'-?(?:0|[1-9][0-9]*)\Z', re.ASCII)
_DECIMAL = re.compile(r'-?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?\Z', re.ASCII)
_Keys = tuple[Any, ...]


class Measured(NamedTuple):
    """A metric that a trial of the site measures, in a profile that judges."""

    profile: str
    partition: str
    file_system: str
    layout: str
    nodes: int
    metric: str
    unit: str = 'B/s'  # base unit
    better: str = HIGHER  # 'higher' or 'lower'
    tasks: int = 1  # the most in its case


def _origin(value: Any) -> str:
    if value == CONTRACT:
        remedy = 'write it as criteria into contract.yaml (docs/reference/contract.md), and take these references out'
        raise ValueError(f'what was agreed belongs in another file; {remedy}')
    if value != BASELINE:
        raise ValueError(f'{show(value)} is not an origin; {choice(value, (BASELINE,))}')
    return str(value)


def _date(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        return datetime.date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise ValueError(f'{show(value)} is not a date; write year, month and day: 2026-11-20') from None


Date = Annotated[str, BeforeValidator(_date)]


class Origin(Entry):
    """The origin of the references of a check under a profile."""

    origin: Annotated[str, BeforeValidator(_origin)] = Field(examples=[BASELINE])
    date: Date = Field(examples=['2026-11-20'])
    engine: EngineName | None = None
    tasks: TaskCount | None = None  # tasks of the largest point
    statistic: Annotated[str, BeforeValidator(one_of('a statistic', tuple(STATISTICS)))] = 'mean'
    sessions: tuple[str, ...] = ()  # sessions of a baseline; `seatrial history prune` keeps them


def references_file(folder: Path) -> Path | None:
    """The references file in this folder, or None; a dangling link counts as a file."""
    file = folder / REFERENCES_FILE
    return file if os.path.lexists(file) else None


def load_references(file: Path, measured: Mapping[str, Iterable[Measured]], complete: bool = True) -> References:
    """The references in a file. Raises SiteError with every problem found. measured: by the class name of each check;
    complete: whether these are all checks; if not, references of others are skipped"""
    reading = _ReferencesReading(measured, complete)
    references = reading.document(_as_reframe_reads(file))
    raise_any(reading.problems)
    return references


class _ReferencesReading:
    """One walk over the file, which collects the references and the problems."""

    def __init__(self, measured: Mapping[str, Iterable[Measured]], complete: bool) -> None:
        self.measured = measured
        self.complete = complete
        self.problems: list[str] = []

    def document(self, data: Any) -> References:
        if not isinstance(data, dict):
            self.note((), f'expected class names of checks, found {show(data)}; see docs/reference/references.md')
            return {}
        origins = self.origins(data)
        references: dict[tuple[str, Case], tuple[Reference, ...]] = {}
        for check, entry in data.items():
            if check in self.measured:
                for key, reference in self.check(check, entry, origins):
                    references[key] = (*references.get(key, ()), reference)
            elif check != SEATRIAL and (self.complete or str(check).startswith('$')):
                self.note((check,), f'{show(check)} is not the class name of a check; {choice(check, self.measured)}')
        return references

    def origins(self, data: dict[Any, Any]) -> dict[tuple[str, str], Origin | None]:
        """The origin by check and profile; None for one with problems."""
        origins: dict[tuple[str, str], Origin | None] = {}
        if SEATRIAL not in data:
            return origins
        for check, profiles in self.mapping((SEATRIAL,), data[SEATRIAL], 'class names of checks'):
            if check not in self.measured and not self.complete:
                continue
            for profile, entry in self.mapping((SEATRIAL, check), profiles, 'profiles'):
                keys = (SEATRIAL, check, profile)
                if not isinstance(data.get(check), dict) or profile not in data[check]:
                    self.note(keys, 'is the origin of references that do not exist; correct its name, or remove it')
                origins[check, profile] = self.origin(keys, entry)
        return origins

    def origin(self, keys: _Keys, entry: Any) -> Origin | None:
        if not isinstance(entry, dict):
            self.note(keys, f'expected a mapping, found {show(entry)}; write {_EXAMPLE}')
            return None
        try:
            return Origin.model_validate({str(key): value for key, value in entry.items()})
        except ValidationError as error:
            above, details = tuple(map(str, keys)), error.errors(include_url=False)
            self.problems += [problem_of(detail, REFERENCES_FILE, Origin, above) for detail in details]
            return None

    def check(
        self, check: str, entry: Any, origins: Mapping[tuple[str, str], Origin | None]
    ) -> Iterator[tuple[tuple[str, Case], Reference]]:
        rows = list(self.measured[check])
        profiles = dict(self.mapping((check,), entry, 'profiles'))
        if not profiles:
            return
        if profiles.pop(_INDEX, None) != list(INDEX):
            self.note((check, _INDEX), f'has other levels than Seatrial measures by; write [{", ".join(INDEX)}]')
        for profile in profiles:
            if (check, profile) not in origins:
                keys = (SEATRIAL, check, profile)
                self.note(keys, f'the references of {check}.{profile} have no origin; write {_EXAMPLE}')
        for path, leaf in self.leaves(check, (), rows, profiles):
            row = next(row for row in rows if row[: len(path)] == path)
            amount = self.amount((check, *path), leaf, row)
            origin = origins.get((check, path[0]))
            if amount and origin:
                case = Case(check, *path[1:5])
                self.same_tasks(check, path[0], origin, case, rows)
                value, low, high, unit = amount
                if high is None and row.unit and row.better == HIGHER:
                    remedy = 'write 0.3 for at most 30 % more; a figure far above it comes from a cache or a fault'
                    self.note((check, *path), f'a baseline needs the highest fraction too; {remedy}', 2)
                statistic = origin.statistic if row.better == HIGHER else STATISTICS[origin.statistic]
                by = (origin.origin, origin.date, origin.engine or '', statistic, bool(origin.sessions))
                yield (path[0], case), Reference(path[5], value, low, high, unit, *by)

    def same_tasks(self, check: str, profile: str, origin: Origin, case: Case, rows: Sequence[Measured]) -> None:
        """Reports references for another number of tasks than the case has now."""
        place = (profile, *case[1:])
        now = next(row.tasks for row in rows if row[: len(place)] == place)
        if origin.tasks not in (None, now):
            sentence = f'is {origin.tasks}, but {case.name} has {now} tasks; see tasks_per_node, nodes and max_tasks'
            line = problem(REFERENCES_FILE, [SEATRIAL, check, profile, 'tasks'], sentence)
            self.problems += [line] if line not in self.problems else []

    def leaves(self, check: str, path: _Keys, rows: Sequence[Measured], value: Any) -> Iterator[tuple[Any, Any]]:
        """Every path that a trial measures, with its value; other paths are problems."""
        depth = len(path)
        if depth == len(_LEVELS):
            yield path, value
            return
        known = list(dict.fromkeys(row[depth] for row in rows))
        for key, item in self.mapping((check, *path), value, f'{_LEVELS[depth]}s'):
            if key in known and type(key) in (str, int):
                yield from self.leaves(check, (*path, key), [row for row in rows if row[depth] == key], item)
                continue
            remedy = choice(key, map(str, known))
            sentence = f'{show(key)} is not a {_LEVELS[depth]} that is judged here; {remedy}'
            if depth == _NODES and isinstance(key, str):
                sentence = f'{show(key)} is text, but ReFrame looks for a number; write {", ".join(map(str, known))}'
            if not path and key in PROFILES and PROFILES[key].judges:
                sentence = f'no trial of the profile {key} has this check; add one to trial.yaml, or remove these'
            self.note((check, *path, key), sentence)

    def amount(self, keys: _Keys, value: Any, row: Measured) -> tuple[float, float | None, float | None, str] | None:
        """Value in the base unit, low, high and unit of a reference; None for one with problems."""
        before = len(self.problems)
        if not isinstance(value, list) or len(value) != 4:
            count = f'{len(value)} parts' if isinstance(value, list) else show(value)
            self.note(keys, f'{count} where 4 are expected; write {_FORM}')
            return None
        reference, low, high, unit = value
        if not _is_number(reference) or reference <= 0:
            self.note(keys, f'{_shown(reference)} is not a reference; write a number above 0: 1000.0', 0)
        if row.better == HIGHER and low is None and high is not None:
            self.note(keys, 'no figure can be too low; write -0.1 for at most 10 % less', 1)
        if row.better != HIGHER and high is None and low is not None:
            self.note(keys, 'no figure can be too high; write 0.1 for at most 10 % more', 2)
        if low is not None and not (_is_number(low) and -1 < low < 0):
            self.note(keys, f'{_shown(low)} is not a lowest fraction; write -0.1 for 10 % less', 1)
        if high is not None and not (_is_number(high) and high >= 0):
            self.note(keys, f'{_shown(high)} is not a highest fraction; write 0.1 for 10 % more, or null', 2)
        if (low, high) == (None, None):
            remedy = '-0.1 for at most 10 % less' if row.better == HIGHER else '0.1 for at most 10 % more'
            self.note(keys, f'no figure can fail it; write {remedy}')
        if not isinstance(unit, str) or UNITS.get(unit, ('-',))[0] != row.unit:
            units = _UNITS_OF.get(row.unit, "''")
            self.note(keys, f'{show(unit)} is not a unit of the metric; write {units}', 3)
        if len(self.problems) > before:
            return None
        try:
            base = in_base(reference, unit).value
        except ValueError as error:
            self.note(keys, f'{error}; write a smaller one', 0)
            return None
        if base > LARGEST:
            self.note(keys, f'{reference:g} {unit} is more than any file system has; correct number or unit', 0)
            return None
        return base, None if low is None else float(low), None if high is None else float(high), unit

    def mapping(self, keys: _Keys, value: Any, what: str) -> list[tuple[Any, Any]]:
        if isinstance(value, dict) and value:
            return list(value.items())
        self.note(keys, f'expected {what}, found {show(value)}; write them, indented')
        return []

    def note(self, keys: _Keys, sentence: str, part: int | None = None) -> None:
        places = [*(str(key) for key in keys), *(() if part is None else (part,))]
        self.problems.append(problem(REFERENCES_FILE, places, sentence))


def _as_reframe_reads(file: Path) -> Any:
    """The plain values of the file by the rules of YAML 1.1, as ReFrame has them. Raises SiteError, also for text
    that those rules turn into something else (010 is 8, 1:30 is 90)."""
    text = yaml_file.read_text(file)
    yaml_file.parse(text, file.name)
    problems = [
        problem(file.name, [], f'line {node.start_mark.line + 1}: {sentence}')
        for node, is_key in _scalars(yaml.compose(text, Loader=yaml.SafeLoader), set())
        if (sentence := _misread(node.tag.rpartition(':')[2], node.value, is_key))
    ]
    raise_any(problems)
    return yaml.safe_load(text)


def _scalars(node: yaml.Node | None, seen: set[int], is_key: bool = False) -> Iterator[tuple[yaml.Node, bool]]:
    """Every scalar below the node once, with whether it is a key."""
    if isinstance(node, yaml.ScalarNode):
        yield node, is_key
    elif node is not None and id(node) not in seen:
        seen.add(id(node))
        for item in node.value:
            pair = item if isinstance(node, yaml.MappingNode) else (None, item)
            yield from _scalars(pair[0], seen, is_key=True)
            yield from _scalars(pair[1], seen)


def _misread(kind: str, text: str, is_key: bool) -> str:
    """The reason why a scalar does not mean what it looks like, or empty."""
    if kind == 'str' or (kind == 'int' and _WHOLE.match(text)):
        return ''
    if is_key:
        return f'{show(text)} is neither a name nor a whole number to ReFrame; put a name in quotes'
    if kind in ('int', 'float'):
        plain = _DECIMAL.match(text) and math.isfinite(float(text))
        return '' if plain else f'{show(text)} is another number to ReFrame, or none; write plain digits: 1000.0'
    if kind == 'timestamp':
        try:
            _date(text)
        except ValueError as error:
            return str(error)
        return ''
    return '' if kind in ('bool', 'null') else f'{show(text)} has a meaning of its own in YAML; put it in quotes'


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _shown(value: Any) -> str:
    return f'{value:g}' if _is_number(value) else show(value)
