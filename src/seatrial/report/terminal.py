"""Output on a terminal, or in a log file."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any, cast

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from seatrial.judge.verdict import Verdict
from seatrial.report.words import SIGNS, clean

STYLES = {
    Verdict.PASS: 'green',
    Verdict.MEASURED: 'bold',
    Verdict.FAIL: 'bold red',
    Verdict.INVALID: 'magenta',
    Verdict.INCOMPLETE: 'yellow',
    Verdict.INCONCLUSIVE: 'cyan',
}
SILENT_S = 1.5
WIDE, LINES = 100, 25  # the size of a terminal that the end of a command's output fits
PLAIN_WIDTH = 200  # width of tables that go to a file or a pipe; a path is longer than it should be


def marked(verdict: Verdict) -> Text:
    """The verdict after its sign, in its colour."""
    return Text(f'{SIGNS[verdict.value]} {verdict.value}', STYLES[verdict])


def console() -> Console:
    """The terminal, or plain lines of a fixed width if the output is none. Output that cannot be written is lost."""
    stream = sys.stdout
    if stream is None:  # the caller has closed it
        return Console(quiet=True)
    width = None if stream.isatty() else PLAIN_WIDTH
    return _Console(highlight=False, markup=False, width=width, file=cast(IO[str], _Unfailing(stream)))


def table_of(*headings: str) -> Table:
    """An empty table; a heading that begins with # is of figures."""
    made = Table(box=None, pad_edge=False)
    for heading in headings:
        name = heading.removeprefix('#')
        made.add_column(name, justify='left' if name == heading else 'right', overflow='fold')
    return made


def rows_of(lines: Sequence[str]) -> int:
    """The rows of a terminal that these lines take."""
    return sum(max(1, -(-len(line) // WIDE)) for line in lines)


def fitting(lines: Sequence[str], rows: int) -> list[str]:
    """The lines, each cut to its share of so many rows of a terminal, at a blank. A line stays in one piece, which
    the terminal may wrap: the output can be searched for it."""
    length = max(1, rows // max(1, len(lines))) * WIDE
    return [line if len(line) <= length else f'{line[: length - 4].rpartition(" ")[0]} ...' for line in lines]


def say(screen: Console, *lines: str | Text) -> None:
    """Prints lines, each in one piece however long: they can be searched and copied."""
    for line in lines:
        screen.print(line, soft_wrap=True)


def say_loudly(screen: Console, line: str) -> None:
    """A line in red: somebody has to act."""
    say(screen, Text(clean(line), 'bold red'))


@contextlib.contextmanager
def waiting(screen: Console, what: str) -> Iterator[None]:
    """Says what is waited for: at once on a terminal, else in a line of its own after SILENT_S."""
    if screen.is_terminal:
        with screen.status(clean(what)):
            yield
        return
    later = threading.Timer(SILENT_S, screen.print, (what,), {'soft_wrap': True})
    later.daemon = True
    later.start()
    try:
        yield
    finally:
        later.cancel()


def drop_unwritten() -> None:
    """Drops unwritten output at the end: Python itself would exit with 120 if it cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Console(Console):
    """Escapes characters that could steer a terminal, in foreign names of cases, hosts and files."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(clean(text), **how)  # a table measures its cells after this

    def render(self, *what: Any, **how: Any) -> Iterator[Segment]:
        for text, style, control in super().render(*what, **how):
            yield Segment(text if control else clean(text), style, control)


class _Unfailing:
    """A stream whose reader may be gone, its terminal closed or its disk full: errors are ignored."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
