"""fileop, the metadata test of IOzone: a reader of its output, for comparing with figures that others took with it.

What is said here was read in fileop.c 1.61 and 1.63 and seen with IOzone 3.489 and 3.506. One process makes X
directories with X in each of them, X entries in each of those, and times every call by itself: a rate is the number
of calls over the sum of their times. mkdir and rmdir count all X + X^2 + X^3 directories, and chdir the way into each
of them and back. readdir is the first entry of each of the X^2 directories that hold files, already open. All others
count the X^3 files; link and unlink are a second name of each file and its removal, delete is the removal of the
file.

fileop does not look at whether it could change to the directory of -d. If that is missing it works in the directory
in which it was started, prints the name of the missing one, and exits with 0 (seen).
"""

import re
from decimal import Decimal
from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import EngineError, Outcome
from seatrial.model.namespace import FILEOP

OPERATIONS = (*(name for name in FILEOP if name != 'rename'), 'delete')


class Row(NamedTuple):
    """One row: operations a second, verbatim, of a tree of factor^3 files.

    kind: 'average', or that of the 'best' or the 'worst' single call. An infinite rate was too short to measure.
    """

    kind: str
    factor: int
    per_second: Dict[str, Decimal]


class Summary(NamedTuple):
    """All that fileop said; directory and bytes_per_file are None with -e, which leaves their line out."""

    directory: Optional[str]
    bytes_per_file: Optional[int]
    rows: Tuple[Row, ...]


def read(factors: Sequence[int], directory_was_there: bool, outcome: Outcome) -> Summary:
    """What fileop said of trees of these factors (-f X, or -l, -u and -i). Raises EngineError:

    P15 the directory of -d was not there before, so that it measured another; E1 it failed; T8 its exit status is 0,
    and yet it complained or did not come to its last factor; T13 something is not where it should be.
    """
    if not directory_was_there:
        raise EngineError('P15', 'fileop was sent to a directory that is not there, and measured the one it began in')
    lines = [line for text in outcome.stdouts + outcome.stderrs for line in text.splitlines()]
    complaint = next((line for line in lines if _COMPLAINT.search(line)), None)
    if outcome.exit_status:
        said = [complaint] if complaint else [line for text in outcome.stderrs for line in text.splitlines()]
        raise EngineError('E1', f"fileop exited with {outcome.exit_status}: '{next(iter(said), 'no reason given')}'")
    if complaint is not None:
        raise EngineError('T8', f"fileop exited with 0 and said '{complaint}'")
    summary = parse(outcome.stdouts[0])
    finished = [row.factor for row in summary.rows if row.kind == 'average']
    if finished != list(factors):
        raise EngineError('T8', f'fileop finished the factors {finished}, where {list(factors)} were planned')
    return summary


def parse(stdout: str) -> Summary:
    """What the output says, with the rows that it has. Raises EngineError T13 if it is not the table of fileop, which
    -t replaces, or if a line is no row of it."""
    lines = [line for line in stdout.splitlines() if line.strip()]
    head = _HEAD.match(lines[0]) if lines else None
    lines = lines[1:] if head else lines
    columns = lines[0].split() if lines else []
    if columns[:1] != ['.'] or columns[-1] != 'Total_files' or not set(columns[1:-1]) <= set(OPERATIONS):
        raise EngineError('T13', f"this is not a table of fileop: '{(lines or [''])[0]}'")
    return Summary(
        directory=head.group(1) if head else None,
        bytes_per_file=int(head.group(2)) if head else None,
        rows=tuple(_row(line, columns[1:-1]) for line in lines[1:]),
    )


_HEAD = re.compile(r'Fileop:  Working in (.*), File size is (\d+),  Output is in Ops/sec\.', re.ASCII)
_KINDS = {'A': 'average', 'B': 'best', 'W': 'worst'}
_FIGURE = re.compile(r'(?:\d+|inf|-?nan)\Z', re.ASCII)
_COMPLAINT = re.compile(r' failed$|^Error: Data Mis-compare')


def _row(line: str, operations: Sequence[str]) -> Row:
    words = line.split()
    kind, figures = _KINDS.get(words[0]), words[1:]
    if kind is None or len(figures) != len(operations) + 2 or not all(map(_FIGURE.match, figures)):
        raise EngineError('T13', f"fileop's table has a line that is no row of it: '{line}'")
    factor, files = figures[0], figures[-1]
    if not factor.isdigit() or files != str(int(factor) ** 3):
        raise EngineError('T13', f"fileop's table has a row of {files} files for a factor of {factor}")
    return Row(kind, int(factor), {name: Decimal(figure) for name, figure in zip(operations, figures[1:-1])})
