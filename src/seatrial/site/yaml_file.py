"""Reads the YAML that a site may write: text, whole numbers, true, false and nothing, in lists and mappings. PyYAML
by itself keeps the last of two equal keys, reads 20:00 as 1200, 010 as 8, `no` as false and 2026-11-20 as a date, and
grows nine lines of aliases to a billion values. Here all these are text, or problems. MAX_VALUES limits aliases."""

import functools
import re
import stat
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from seatrial.model.quoted_value import show
from seatrial.site.error import SiteError, problem, raise_any

MAX_BYTES = 128 * 1024
MAX_VALUES = 20_000
MAX_DEPTH = 32
MAX_DIGITS = 18

_TAG = 'tag:yaml.org,2002:'
_INTEGER = re.compile(r'[-+]?(?:0|[1-9][0-9]*)\Z', re.ASCII)
# An escape such as "\uD800" makes text that cannot be written as UTF-8, nor read by pydantic.
_SURROGATE = re.compile('[\ud800-\udfff]')

_REMEDIES = (
    ("'\\t'", 'a tab is used for indentation; indent with spaces'),
    ('alphabetic or numeric', "write '*' in quotes, and names of anchors in letters"),
    ('mapping values are not allowed', 'check the indentation, or put the value in quotes'),
    ('another document', 'keep one document, without a second ---'),
)


def read(file: Path) -> Any:
    """The plain values (dict with str keys, list, str, int, bool, None) of a YAML file; raises SiteError."""
    return parse(read_text(file), file.name)


def read_text(file: Path) -> str:
    """The text of a regular UTF-8 file of at most MAX_BYTES; raises SiteError."""
    regular_file(file)
    try:
        with file.open('rb') as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) <= MAX_BYTES:
            return raw.decode('utf-8-sig')
        fault = f'more than {MAX_BYTES // 1024} KiB, which no site description has'
    except OSError as error:
        fault = f'{file}: {error.strerror}; make it readable'
    except UnicodeDecodeError as error:
        line = raw.count(b'\n', 0, error.start) + 1
        fault = f'line {line}: byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8'
    raise SiteError([problem(file.name, [], fault)])


def regular_file(file: Path) -> None:
    """Raises SiteError unless the path leads to a regular file; reading a pipe could wait forever."""
    try:
        reason = '' if stat.S_ISREG(file.stat().st_mode) else 'not a regular file'
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise SiteError([problem(file.name, [], f'{file}: {reason}; put the file there')])


def parse(text: str, name: str) -> Any:
    """The plain values of a YAML text; `name` is the file as the problems call it. Raises SiteError."""
    root, fault = None, 'the file is empty; see docs/reference/site-config.md'
    try:
        root = _composed(text)
    except yaml.MarkedYAMLError as error:
        fault = _syntax(error)
    except yaml.reader.ReaderError as error:
        line = text.count('\n', 0, error.position) + 1
        fault = f'line {line}: the character {show(chr(int(error.character)))} is not allowed in YAML; remove it'
    except (ValueError, OverflowError):
        # PyYAML turns "\UFFFFFFFF" and overlong version numbers over to chr() and int() unchecked.
        fault = 'a number in an escape (\\U) or in a line that begins with % is out of range; correct it'
    if root is None:
        raise SiteError([problem(name, [], fault)])
    reading = _Reading(name)
    value = reading.value(root, ())
    raise_any(reading.problems)
    return value


class _Loader(yaml.SafeLoader):
    """Composes nodes with YAML's JSON scalars only, so that no text is taken for a date, an octal or a base-60."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.depth == MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f'nested more than {MAX_DEPTH} deep', problem_mark=self.get_mark())
        self.depth += 1
        tag = getattr(self.peek_event(), 'tag', None)  # type: ignore[no-untyped-call]
        node: yaml.Node | None = super().compose_node(parent, index)
        if node is not None and tag is not None:
            node.tag = '!!' + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag  # written out: has no meaning
        self.depth -= 1
        return node


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver(_TAG + 'null', re.compile(r'(?:~|null|)\Z'), ['~', 'n', ''])
_Loader.add_implicit_resolver(_TAG + 'bool', re.compile(r'(?:true|false)\Z'), ['t', 'f'])
_Loader.add_implicit_resolver(_TAG + 'int', _INTEGER, list('-+0123456789'))


@functools.lru_cache(maxsize=16)  # a command reads its site several times; the nodes are only read
def _composed(text: str) -> yaml.Node | None:
    root: yaml.Node | None = _Loader(text).get_single_node()
    return root


class _Reading:
    """One walk over the composed nodes, which collects the values and the problems."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[str] = []
        self.values = 0
        self.open: set[int] = set()

    def value(self, node: yaml.Node, keys: tuple[str | int, ...]) -> Any:
        self.values += 1
        if self.values > MAX_VALUES:
            self.stop(keys, f'more than {MAX_VALUES} values, aliases counted; write fewer')
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, keys)
        if id(node) in self.open:
            self.stop(keys, 'an alias (*) is inside the value that it names; write the value out')
        if len(self.open) == MAX_DEPTH:
            self.stop(keys[:3], f'nested more than {MAX_DEPTH} deep, aliases counted; write it flatter')
        self.open.add(id(node))
        value = self.mapping(node, keys) if isinstance(node, yaml.MappingNode) else self.sequence(node, keys)
        self.open.remove(id(node))
        return value

    def scalar(self, node: yaml.ScalarNode, keys: tuple[str | int, ...]) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if _SURROGATE.search(text):
            return self.note(keys, f'{show(text)} has half a character; write it in full')
        if kind == 'str':
            return text
        if kind in ('null', 'bool'):
            return None if kind == 'null' else text == 'true'
        if kind != 'int':
            return self.tag(node, keys)
        if len(text) > MAX_DIGITS:
            return self.note(keys, f'{show(text)} has more than {MAX_DIGITS} digits; write a smaller number')
        return int(text)

    def sequence(self, node: yaml.Node, keys: tuple[str | int, ...]) -> Any:
        if node.tag != _TAG + 'seq':
            return self.tag(node, keys)
        return [self.value(item, (*keys, i)) for i, item in enumerate(node.value)]

    def mapping(self, node: yaml.Node, keys: tuple[str | int, ...]) -> Any:
        if node.tag != _TAG + 'map':
            return self.tag(node, keys)
        values: dict[Hashable, Any] = {}
        lines: dict[str, int] = {}
        for key_node, item in node.value:
            key, line = key_node.value, key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.note(keys, f'line {line}: a key that is a list or a mapping; write a word before the colon')
            elif _SURROGATE.search(key):
                self.note((*keys, key), f'line {line}: a key with half a character; write it in full')
            elif key in lines:
                self.note((*keys, key), f'is given twice, in lines {lines[key]} and {line}; keep one')
            elif key == '<<':
                self.note(keys, f'line {line}: << does not merge here; write the keys out')
            else:
                lines[key] = line
                values[key] = self.value(item, (*keys, key))
        return values

    def tag(self, node: yaml.Node, keys: tuple[str | int, ...]) -> None:
        self.note(keys, f'the tag {show(node.tag)} in line {node.start_mark.line + 1} is not supported; remove it')

    def note(self, keys: tuple[str | int, ...], sentence: str) -> None:
        self.problems.append(problem(self.name, keys, sentence))

    def stop(self, keys: tuple[str | int, ...], sentence: str) -> NoReturn:
        self.note(keys, sentence)
        raise SiteError(self.problems)


def _syntax(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    place = f'line {mark.line + 1}, column {mark.column + 1}: ' if mark else ''
    what = (error.problem or error.context or 'not YAML').removeprefix('but ')
    fitting = (remedy for part, remedy in _REMEDIES if part in what)
    remedy = next(fitting, 'check the indentation, brackets and quotes up to here')
    return f'{place}{what}; {remedy}'


def with_value(text: str, keys: Sequence[str | int], value: Any, comment: str = '') -> str:
    """The text of a file with this value at these keys, and no other change; new keys come after the existing ones.
    comment: put behind the value; it replaces an earlier comment that has the same words before its first colon.
    Raises ValueError, with the place, if one of the outer keys has no mapping."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return f'{text.rstrip()}\n{_block(keys, value, 0, comment)}\n'.lstrip('\n')
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            place = '.'.join(map(str, keys[:depth])) or 'the file'
            raise ValueError(f'{place} is not a mapping; write one, or remove it')
        items = [item for name, item in node.value if name.value == str(key)]
        if not items:
            return _inserted(text, node, keys[depth:], value, comment)
        node = items[0]
    start, end = node.start_mark.index, _end(node)
    rest, newline, below = text[end:].partition('\n')
    if comment and (not rest.strip() or rest.strip().startswith(comment.partition(':')[0])):
        rest = f'  {comment}'
    space = ' ' if text[:start].endswith(':') else ''  # the key had no value
    return text[:start] + space + _plain(value) + rest + newline + below


def _inserted(text: str, node: yaml.MappingNode, keys: Sequence[str | int], value: Any, comment: str) -> str:
    """The text with the value inserted after the last one of this mapping, in its own style."""
    if not node.value:
        place = node.start_mark.index + 1
        return text[:place] + _flow(keys, value) + text[place:]
    end = _end(node)
    if node.flow_style:
        place = _end(node.value[-1][1])
        return f'{text[:place]}, {_flow(keys, value)}{text[place:]}'
    line = text.find('\n', end)
    place = len(text) if line < 0 else line
    return f'{text[:place]}\n{_block(keys, value, node.start_mark.column, comment)}{text[place:]}'


def _end(node: yaml.Node) -> int:
    """The index behind the last character of a value: the end mark of a block is where the next token begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _block(keys: Sequence[str | int], value: Any, column: int, comment: str) -> str:
    """The keys below each other, and the value behind the last one."""
    lines = [f'{" " * column}{"  " * depth}{_plain(key)}:' for depth, key in enumerate(keys)]
    return '\n'.join(lines) + f' {_plain(value)}' + (f'  {comment}' if comment else '')


def _flow(keys: Sequence[str | int], value: Any) -> str:
    inner = _plain([value])[1:-1]  # quoted as within brackets, where a comma would end it
    for key in reversed(keys[1:]):
        inner = f'{{{_plain(key)}: {inner}}}'
    return f'{_plain(keys[0])}: {inner}'


def _plain(value: Any) -> str:
    """The value in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix('...\n').strip()
