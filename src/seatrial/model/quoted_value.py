"""Quotes values for messages and words for a shell, and suggests the nearest known word."""

import difflib
import shlex
from typing import Any, Iterable, Sequence, Union

SHOWN_CHARACTERS = 60


def show(value: Any) -> str:
    """The value as messages show it; long ones are cut, unprintable characters escaped."""
    if value is None:
        return 'nothing'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return 'a list' if value else 'an empty list'
    if isinstance(value, dict):
        return 'a mapping'
    text = str(value)
    cut = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + '...'
    return printable(f"'{cut}'")


def printable(text: str) -> str:
    """The text with unprintable characters escaped."""
    return ''.join(c if c.isprintable() else c.encode('unicode_escape', 'surrogatepass').decode() for c in text)


def choice(word: Any, known: Iterable[str]) -> str:
    """The remedy for an unknown word: the nearest known word, or all of them."""
    names = list(known)
    near = difflib.get_close_matches(word[:SHOWN_CHARACTERS], names, n=1) if isinstance(word, str) else []
    if near:
        return f"did you mean '{near[0]}'?"
    one_of = 'one of ' if len(names) > 1 else ''
    return f'write {one_of}{", ".join(names)}' if names else 'there is none to choose from'


def key_path(keys: Iterable[Union[str, int]]) -> str:
    """A place in a file as people write it: trials[0].nodes[1]. Odd keys are quoted."""
    path = ''
    for key in keys:
        if isinstance(key, int):
            path += f'[{key}]'
        elif all(character.isalnum() or character in '_-:$@' for character in key) and key:
            path += f'.{key}' if path else key
        else:
            path += f'[{show(key)}]'
    return path


def shell_line(argv: Sequence[str]) -> str:
    """A line that makes a POSIX shell run exactly this argv. Raises ValueError where argv is empty or has a NUL."""
    if not argv:
        raise ValueError('an empty command has no shell line')
    if any('\0' in word for word in argv):
        raise ValueError('a NUL character cannot be part of a command')
    return ' '.join(shlex.quote(word) for word in argv)
