"""Makes anew what the code knows: tables of pages, lists of ReFrame, the JSON schema. `python docs/generate.py`.

A table stands below a line `<!-- table: NAME -->`, and is made by what TABLES has under that name. What `reframe -l`
prints stands below the command. The rest is written by hand.
"""

import ast
import functools
import inspect
import re
import shlex
import subprocess
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from seatrial.check.base import tags_of
from seatrial.check.catalogue import CATALOGUE, covered
from seatrial.check.declared import load
from seatrial.filesystem.base import Driver
from seatrial.filesystem.registry import DRIVERS
from seatrial.report.acceptance.protocol import results_schema
from seatrial.rules.registry import EFFECTS, all_rules
from seatrial.site import contract, model
from seatrial.site.model import Entry
from seatrial.site.profile import PROFILES

DOCS = Path(__file__).resolve().parent
SCHEMA = DOCS / 'reference' / 'results.schema.json'
SETTINGS = '-C site-config/local/settings.py'
LIST = re.compile(r'^(\$ reframe (.* -l)\n)(?:(?!```).*\n)*', re.MULTILINE)
ENGINES = re.compile(r' \([\w+, ]+\)')  # behind a check, as `seatrial list --catalogue` prints them too
TABLE = re.compile(r'^(<!-- table: (.+) -->\n)(?:\|.*\n)*', re.MULTILINE)

Row = tuple[str, ...]

RULES = all_rules()
CHECKS = load(DOCS.parent / 'checks').values()


def page(text: str) -> str:
    """The text of a page with its tables made anew. KeyError for a table that none of TABLES makes."""
    return TABLE.sub(lambda match: match[1] + _markdown(TABLES[match[2]]()), text)


def with_lists(text: str) -> str:
    """The text of a page with what ReFrame lists in it listed anew, which takes seconds a list."""
    return LIST.sub(lambda match: match[1] + _listed(match[2].replace('...', SETTINGS)), text)


def _listed(words: str) -> str:
    argv = [str(Path(sys.executable).with_name('reframe')), '--nocolor', *shlex.split(words)]
    done = subprocess.run(argv, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines(keepends=True)
    return ''.join(line for line in lines if line.startswith(('[List', '- ', 'Found', 'seatrial: ')))


def _markdown(rows: Iterable[Row]) -> str:
    head, *body = rows
    return ''.join(f'| {" | ".join(cells)} |\n' for cells in (head, *body)).replace(
        '\n', '\n|' + '---|' * len(head) + '\n', 1
    )


def catalogue() -> Iterator[Row]:
    yield 'id', 'test', 'checks'
    yield from ((row.id, row.test, ENGINES.sub('', by)) for row, by in covered(CHECKS))


def sources() -> Iterator[Row]:
    yield 'ids', 'study'
    yield from {row.id.partition('-')[0]: row.source for row, _ in covered(CHECKS)}.items()


def tags() -> Iterator[Row]:
    of_checks = {tag for check in CHECKS for tag in tags_of(check) - {check.family}}
    of_sources = {row.id for row in CATALOGUE} & of_checks
    yield 'of', 'tags'
    yield 'the profile', _code(PROFILES)
    yield (
        'the scale: nodes of the case; as many as any trial of its partition has',
        _code(('1_node', '4_nodes', 'all_nodes')),
    )
    yield 'the family, a folder of `checks/`', _code(sorted({check.family for check in CHECKS}))
    yield 'what it does', _code(sorted(of_checks - of_sources))
    yield 'the [test of a source](../reference/catalogue.md)', f'its id, as {_code(sorted(of_sources)[:1])}'


def _code(names: Iterable[str]) -> str:
    return ' '.join(f'`{name}`' for name in names)


def effects() -> Iterator[Row]:
    yield 'effect', 'what it means'
    yield from EFFECTS.items()


def rules(when: str) -> Iterator[Row]:
    # Every finding prints its remedy, and `seatrial explain` too. What holds by design has a reason in its place.
    columns = 4 if when == 'by design' else 3
    yield ('id', 'what must hold', 'effect', 'how')[:columns]
    for rule in RULES.values():
        if rule.when == when:
            yield (rule.id, rule.title, rule.effect, rule.remedy)[:columns]


def file_systems() -> Iterator[Row]:
    yield 'type', 'mounted as', 'what more it can', 'no launch ends before', 'tried'
    yield from map(_of_driver, DRIVERS)


def _of_driver(driver: Driver) -> Row:
    by_fuse = [f'fuse, {driver.fuse_source}...'] if driver.fuse_source else []
    return (
        f'`{driver.name}`',
        ', '.join(f'`{name}`' for name in (*driver.kernel_types, *by_fuse)) or 'anything',
        ', '.join(driver.can) or '-',
        f'{driver.recovery_limit_s:.0f} s: {driver.recovery_source}',
        f'{driver.tried}; {driver.tried_on}' if driver.tried else f'untried; written from {driver.sources}',
    )


def keys(entry: type[Entry]) -> Iterator[Row]:
    """The keys of a mapping of a site's file, in the order of its model."""
    described = _described(entry)
    yield 'key', 'type and default', 'why'
    for key, field in entry.model_fields.items():
        words = in_words(field.annotation, field.metadata)
        default = '' if field.is_required() else _default(field.get_default(call_default_factory=True), words)
        after = '; required' if field.is_required() else default and f'; default {default}'
        yield f'`{key}`', words + after, ' '.join(described[key].split())


def _described(entry: type[Entry]) -> dict[str, str]:
    """The text below each field. pydantic could read it too, but at each start of a command: 50 ms."""
    texts = {}
    for model_ in reversed(entry.__mro__[: entry.__mro__.index(Entry)]):
        for field, below in pairwise(_classes(model_.__module__)[model_.__name__].body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                texts[field.target.id] = below.value.value
    return texts


@functools.cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    parsed = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in parsed.body if isinstance(node, ast.ClassDef)}


def in_words(kind: Any, readers: typing.Sequence[Any] = ()) -> str:
    """The format of a value: the docstring of its reader, else the format of its parts, else the reader's name."""
    functions = [reader.func for reader in readers if hasattr(reader, 'func')]
    documented = next((function.__doc__ for function in functions if function.__doc__), '')
    parts, origin = typing.get_args(kind), typing.get_origin(kind)
    if documented:
        return documented
    if origin is typing.Annotated:
        return in_words(parts[0], parts[1:])
    words = ''
    if origin is tuple:
        item = in_words(parts[0]) or 'whole number'
        words = f'list of {item}' if item.endswith(('`', 's')) else f'list of {item}s'.replace('entrys', 'entries')
    elif origin is dict:
        words = f'{in_words(parts[0])}: {in_words(parts[1]) or "entry"}'
    elif origin in (typing.Union, types.UnionType):
        words = next(filter(None, map(in_words, parts)), '')
    elif isinstance(kind, type) and issubclass(kind, Entry):
        words = 'entry'
    return words or ' '.join(function.__name__.strip('_').replace('_', ' ') for function in functions[:1])


def _default(value: Any, words: str) -> str:
    if value in (None, '', (), {}):
        return ''
    if isinstance(value, tuple):
        return 'all' if len(value) > 1 else f'`[{value[0]}]`'
    if words == 'duration':
        return f'{value / 3600:g}h' if value >= 3600 else f'{value / 60:g}min'
    return f'{value:g}' if isinstance(value, float) else str(value).lower()


ENTRIES = {
    entry.__name__: entry
    for module in (model, contract)
    for entry in vars(module).values()
    if isinstance(entry, type) and issubclass(entry, Entry)
}
TABLES: dict[str, typing.Callable[[], Iterable[Row]]] = {
    'catalogue': catalogue,
    'sources': sources,
    'tags': tags,
    'effects': effects,
    'file systems': file_systems,
    **{f'rules, {when}': lambda when=when: rules(when) for when in {rule.when for rule in RULES.values()}},
    **{f'keys of {name}': lambda entry=entry: keys(entry) for name, entry in ENTRIES.items()},
}


def made() -> dict[Path, str]:
    """Each file that has something made in it, as it should be."""
    pages = {file: page(file.read_text()) for file in DOCS.glob('*/*.md') if TABLE.search(file.read_text())}
    return {**pages, SCHEMA: results_schema()}


if __name__ == '__main__':
    for file, text in made().items():
        file.write_text(with_lists(text))
