"""Values as lines of a file that is only appended to: a JSON object each, with a key 'record' that names its kind."""

import json
from typing import Any, Dict, Iterable, List, Tuple

from seatrial.model.codec import from_json, to_json

_encoded = json.JSONEncoder(separators=(',', ':')).encode  # json.dumps would make an encoder for every line


def line_of(value: Any, kinds: Dict[str, Any]) -> str:
    """The line that says this value. kinds: the classes that the file has, by the names that lines call them."""
    kind = next(name for name, cls in kinds.items() if cls is type(value))
    data = {'record': kind}
    data.update(to_json(value))
    return _encoded(data) + '\n'


def values_in(lines: Iterable[str], kinds: Dict[str, Any]) -> Tuple[List[Any], int]:
    """The values in these lines, and how many lines are truncated or foreign: they are counted, never guessed at."""
    found: List[Any] = []
    truncated = 0
    for line in lines:
        try:
            data = json.loads(line)
            found.append(from_json(kinds[data.pop('record')], data))
        except (ValueError, KeyError, AttributeError, TypeError):
            truncated += 1
    return found, truncated
