"""One value of a YAML file put in place, and every other character of it left as it is."""

from collections.abc import Sequence
from typing import Any

import yaml

INDENT = '  '


def with_value(text: str, keys: Sequence[str | int], value: Any, comment: str = '') -> str:
    """The text of a file whose value at these keys is this one; keys that are not there come after those that are.

    comment: stands behind the value where a line ends there, in place of one that begins alike up to its first colon
    Raises ValueError, with the place, where something else than a mapping stands on the way.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return f'{text.rstrip()}\n{_block(keys, value, 0, comment)}\n'.lstrip('\n')
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            place = '.'.join(map(str, keys[:depth])) or 'the file'
            raise ValueError(f'{place} is no mapping; write one, or take it out')
        found = [item for name, item in node.value if name.value == str(key)]
        if not found:
            return _inserted(text, node, keys[depth:], value, comment)
        node = found[0]
    start, end = node.start_mark.index, _end(node)
    rest, newline, below = text[end:].partition('\n')
    if comment and (not rest.strip() or rest.strip().startswith(comment.partition(':')[0])):
        rest = f'  {comment}'
    space = ' ' if text[:start].endswith(':') else ''  # behind a key without a value
    return text[:start] + space + _plain(value) + rest + newline + below


def _inserted(text: str, node: yaml.MappingNode, keys: Sequence[str | int], value: Any, comment: str) -> str:
    """After the last value of this mapping, in its own style."""
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
    """Behind the last character of a value: the end mark of a block is where the next token begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _block(keys: Sequence[str | int], value: Any, column: int, comment: str) -> str:
    """The keys below each other, and the value behind the last one."""
    lines = [f'{" " * column}{INDENT * depth}{_plain(key)}:' for depth, key in enumerate(keys)]
    return '\n'.join(lines) + f' {_plain(value)}' + (f'  {comment}' if comment else '')


def _flow(keys: Sequence[str | int], value: Any) -> str:
    inner = _plain(value)
    for key in reversed(keys[1:]):
        inner = f'{{{_plain(key)}: {inner}}}'
    return f'{_plain(keys[0])}: {inner}'


def _plain(value: Any) -> str:
    """In one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix('...\n').strip()
