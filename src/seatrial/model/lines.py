"""Values as lines of an append-only file: one JSON object each, whose key 'record' names its kind."""

import hashlib
import json
import re
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from seatrial.model.codec import from_json, to_json
from seatrial.model.foreign import Impossible, parsed

_encoded = json.JSONEncoder(separators=(',', ':')).encode  # json.dumps would make an encoder for every line
_LINK = re.compile(r',"chain":"([0-9a-f]{64})"\}\n?\Z')
_LINK_LENGTH = len(',"chain":""}\n') + 64


class Chain:
    """The links of a file's lines: each line ends with the SHA-256 of the link before it and of its own text."""

    def __init__(self, link: str = '', number: int = 0) -> None:
        self.link = link  # the link of the last line that has one; empty where none has
        self.number = number  # number of the last line, from 1
        self.broken: Tuple[int, str] = (0, '')  # number and text of the first line that does not follow from the last
        self.bare: Tuple[int, str] = (0, '')  # the same of the first whole line that has no link

    def linked(self, line: str) -> str:
        """Add the next link to a line of line_of()."""
        self.link = self._after(line)
        return f'{line[:-2]},"chain":"{self.link}"}}\n'

    def checked(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines without their links; `broken` is set once all are read. A file without any link has no chain."""
        for line in lines:
            self.number += 1
            match = _LINK.search(line, max(0, len(line) - _LINK_LENGTH))
            text = f'{line[: match.start()]}}}\n' if match else line
            if match:
                if match.group(1) != self._after(text):
                    self._break(self.number, text)
                self.link = match.group(1)
            elif not self.bare[0] and isinstance(_fault(line), (Impossible, type(None))):  # it is whole
                self.bare = (self.number, text)
            yield text
        if self.link and self.bare[0]:
            self._break(*self.bare)

    def _after(self, line: str) -> str:
        return hashlib.sha256((self.link + line).encode('utf-8')).hexdigest()

    def _break(self, number: int, text: str) -> None:
        if not self.broken[0] or number < self.broken[0]:
            self.broken = (number, text)


def is_impossible(line: str) -> bool:
    """True for a whole line that no program of ours writes."""
    return isinstance(_fault(line), Impossible)


def _fault(line: str) -> Optional[ValueError]:
    try:
        parsed(line)
    except ValueError as error:
        return error
    return None


def line_of(value: Any, kinds: Dict[str, Any]) -> str:
    """The line of a value. kinds: the classes of the file, by their names in its lines."""
    kind = next(name for name, cls in kinds.items() if cls is type(value))
    data = {'record': kind}
    data.update(to_json(value))
    return _encoded(data) + '\n'


def values_in(lines: Iterable[str], kinds: Dict[str, Any]) -> Tuple[List[Any], int]:
    """The values in these lines, and how many lines are truncated or foreign: they are counted, never guessed at."""
    values: List[Any] = []
    truncated = 0
    for line in lines:
        try:
            data = parsed(line)
            values.append(from_json(kinds[data.pop('record')], data))
        except (ValueError, KeyError, AttributeError, TypeError):
            truncated += 1
    return values, truncated
