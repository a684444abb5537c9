"""Makes the tables of keys in docs/site-config.md and docs/contract.md anew: `python docs/generate_keys.py`.

The models in seatrial.site have their text; a table stands below a line `<!-- keys of MODEL -->`.
"""

import ast
import inspect
import re
import types
import typing
from itertools import pairwise
from pathlib import Path
from typing import Any

from seatrial.site import contract, model
from seatrial.site.model import Entry

HERE = Path(__file__).parent
PAGES = {'site-config.md': model, 'contract.md': contract}
HEAD = '| key | type | default | why |\n|---|---|---|---|\n'
TABLE = re.compile(r'^(<!-- keys of (\w+) -->\n)(?:\|.*\n)*', re.MULTILINE)


def page(text: str, module: types.ModuleType) -> str:
    """The text of a page with its tables made of the models in a module. AttributeError for a model that is none."""
    return TABLE.sub(lambda match: match[1] + table(getattr(module, match[2])), text)


def table(entry: type[Entry]) -> str:
    """The keys of a mapping, in the order of its model. Raises KeyError for one without a description."""
    found, described = HEAD, _described(entry)
    for key, field in entry.model_fields.items():
        words = in_words(field.annotation, field.metadata)
        default = 'required' if field.is_required() else _default(field.get_default(call_default_factory=True), words)
        found += f'| `{key}` | {words} | {default} | ' + ' '.join(described[key].split()) + ' |\n'
    return found


def _described(entry: type[Entry]) -> dict[str, str]:
    """The text below each field. pydantic could read it too, but at each start of a command: 50 ms."""
    found = {}
    for each in reversed(entry.__mro__[: entry.__mro__.index(Entry)]):
        body = ast.parse(inspect.getsource(each)).body[0].body
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[field.target.id] = below.value.value
    return found


def in_words(kind: Any, readers: typing.Sequence[Any] = ()) -> str:
    """How a value is written: what its reader says of itself, else what it is made of, else the reader's name."""
    functions = [each.func for each in readers if hasattr(each, 'func')]
    said = next((each.__doc__ for each in functions if each.__doc__), '')
    parts, origin = typing.get_args(kind), typing.get_origin(kind)
    if said:
        return said
    if origin is typing.Annotated:
        return in_words(parts[0], parts[1:])
    found = ''
    if origin is tuple:
        each = in_words(parts[0]) or 'whole number'
        found = f'list of {each}' if each.endswith(('`', 's')) else f'list of {each}s'.replace('entrys', 'entries')
    elif origin is dict:
        found = f'{in_words(parts[0])}: {in_words(parts[1]) or "entry"}'
    elif origin in (typing.Union, types.UnionType):
        found = next(filter(None, map(in_words, parts)), '')
    elif isinstance(kind, type) and issubclass(kind, Entry):
        found = 'entry'
    return found or ' '.join(each.__name__.strip('_').replace('_', ' ') for each in functions[:1])


def _default(value: Any, words: str) -> str:
    if value in (None, '', (), {}):
        return '-'
    if isinstance(value, tuple):
        return 'all' if len(value) > 1 else f'`[{value[0]}]`'
    if words == 'duration':
        return f'{value / 3600:g}h' if value >= 3600 else f'{value / 60:g}min'
    return f'{value:g}' if isinstance(value, float) else str(value).lower()


if __name__ == '__main__':
    for name, module in PAGES.items():
        file = HERE / name
        file.write_text(page(file.read_text(), module))
