"""How things look on a terminal, and in a log file where there is none."""

import sys

from rich.console import Console

from seatrial.judge.verdict import Verdict

MARKS = {
    Verdict.PASS: ('green', '+'),
    Verdict.FAIL: ('bold red', 'x'),
    Verdict.INVALID: ('magenta', '!'),
    Verdict.INCOMPLETE: ('yellow', '-'),
    Verdict.INCONCLUSIVE: ('cyan', '?'),
}
PLAIN_WIDTH = 200  # of tables that go to a file or a pipe; a path is longer than it should be


def console() -> Console:
    """The terminal, or plain lines of a fixed width where the output is not one."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 12 min, 3.5 h."""
    if seconds < 120:
        return f'{seconds:.0f} s'
    if seconds < 7200:
        return f'{seconds / 60:.0f} min'
    return f'{seconds / 3600:.1f} h'
