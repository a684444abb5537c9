"""What people have written down beside the nights: an upgrade, a new rack. A line of JSON each, only appended."""

import json
import os
from datetime import date
from pathlib import Path
from typing import NamedTuple

from seatrial.history.store import Skipped, folder_of
from seatrial.model.foreign import parsed, read_bytes

FILE = 'annotations.jsonl'


class Annotation(NamedTuple):
    """What happened on a day, which is one of UTC, as in the names of sessions."""

    day: date
    text: str


def annotate(state: str | Path, own: Annotation) -> Path:
    """Append it to those of a site; returns the file. Raises OSError."""
    file = folder_of(state) / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    # One write at the end of the file: two people at once lose nothing.
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(opened, (json.dumps({'day': own.day.isoformat(), 'text': own.text}) + '\n').encode())
    finally:
        os.close(opened)
    return file


def annotations(state: str | Path) -> tuple[list[Annotation], list[Skipped]]:
    """Those of a site by day, and the lines that are none. Raises NotReadable, OSError."""
    file = folder_of(state) / FILE
    found, skipped = [], []
    for number, line in enumerate(read_bytes(file).splitlines() if file.is_file() else [], 1):
        try:
            data = parsed(line)
            found.append(Annotation(date.fromisoformat(data['day']), str(data['text'])))
        except (ValueError, KeyError, TypeError):
            skipped.append(Skipped(file, f'line {number} is no annotation'))
    return sorted(found, key=lambda each: each.day), skipped
