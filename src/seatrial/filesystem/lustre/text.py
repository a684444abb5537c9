"""Shared by the readers of lfs and lctl: the one error that they raise, and lines that were printed whole."""

from typing import Dict, List, Match, Pattern

from seatrial.filesystem.base import NoAnswer

SHOWN_MOST = 120


class NotUnderstood(NoAnswer):
    """Output without the form of lfs or lctl 2.12 to 2.17; the message quotes the line."""

    def __init__(self, wrong: str, line: str = '') -> None:
        shown = line.strip()
        shown = shown if len(shown) <= SHOWN_MOST else f'{shown[:SHOWN_MOST]}...'
        super().__init__(f'{wrong}: {shown!r}' if shown else wrong)


def matched(form: Pattern[str], line: str, wrong: str) -> Match[str]:
    """The match of a line that must have the form. Raises NotUnderstood."""
    match = form.match(line)
    if match is None:
        raise NotUnderstood(wrong, line)
    return match


def whole_lines(text: str) -> List[str]:
    """The lines that end. Text after the last newline was cut off, and half a number would look like a number."""
    return text.split('\n')[:-1]


def needed(fields: Dict[str, str], key: str) -> str:
    """The value of a field that whole output always has. Raises NotUnderstood."""
    if not fields.get(key):
        raise NotUnderstood(f'{key} is missing; was the output cut short?', str(fields))
    return fields[key]


def number(text: str, line: str) -> int:
    """A whole decimal number. Raises NotUnderstood, which quotes the line."""
    try:
        return int(text, 10)
    except ValueError:
        raise NotUnderstood(f'{text!r} is not a number', line) from None
