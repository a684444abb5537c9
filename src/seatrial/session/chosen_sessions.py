"""Sessions chosen on a command line: by name, label, date, range of dates, or the newest."""

import re
from collections.abc import Callable, Sequence
from itertools import chain

import click
import polars as pl
from rich.console import Console

from seatrial.history.store import Skipped, as_written, folder_of, read, readable, sessions_in, summaries
from seatrial.report.terminal import say
from seatrial.session.evidence import named
from seatrial.site.model import Site
from seatrial.workload.words import by_key

LATEST = 'latest'
LABEL_FORM = f"write a letter, then letters, digits, '-', '_', '.' or '+'; '{LATEST}' is the newest session"
WHICH = "a session's name or its beginning, a label, a day (2026-10-31), days (2026-10-01..2026-10-31) or 'latest'"

_LABEL = re.compile(r'[A-Za-z][\w.+-]*', re.ASCII)
_DAYS = re.compile(r'(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?')


def is_label(text: str) -> bool:
    """True if a session can have this label."""
    return text != LATEST and _LABEL.fullmatch(text) is not None


def chosen(
    site: Site,
    wanted: Sequence[str],
    screen: Console,
    kept: Callable[[pl.DataFrame], pl.DataFrame] = as_written,
    columns: Sequence[str] | None = None,
) -> list[pl.DataFrame]:
    """The rows of the history for each of the texts, which name several sessions with commas. Unreadable files are
    printed. Raises UsageError for a text that names no session. kept, columns: as in `read`"""
    folder = folder_of(site.state)
    known = sessions_in(folder)
    terms = [[term.strip() for term in text.split(',')] for text in wanted]
    labelled = any(is_label(term) for parts in terms for term in parts)
    # Labels stand in the files alone.
    tables = summaries(folder, columns=('session', 'label')) if labelled else ()
    pairs = (table.select('label', 'session').unique().iter_rows() for table in readable(tables, []))
    called: dict[str, list[str]] = by_key(chain.from_iterable(pairs))
    sides, skipped = [], dict[Skipped, None]()
    for parts in terms:
        names = {name for term in parts for name in called.get(term, ())}
        names |= {name for term in parts if not is_label(term) for name in _named(known, term)}
        side = read(folder, named=names, kept=kept, columns=columns)
        skipped |= dict.fromkeys(side.skipped)
        sides.append(side.rows)
    say(screen, *(f'skipped {skip.file}: {skip.why}' for skip in skipped))
    for parts, rows, text in zip(terms, sides, wanted, strict=True):
        missing = [term for term in parts if is_label(term) and term not in called]
        if missing:
            raise click.UsageError(f"no session in the history has the label '{missing[0]}'; give {WHICH}")
        if not rows.height:
            raise click.UsageError(f"no session named by '{text}' can be read")
    return sides


def _named(known: Sequence[str], term: str) -> list[str]:
    """The sessions that a term names; dates are of UTC, as in the names of sessions."""
    days = _DAYS.fullmatch(term)
    if not term:
        raise click.UsageError(f'empty session name (a comma at the end?); give {WHICH}')
    if term == LATEST:
        names = list(known[-1:])
    elif days:
        if days[2] and days[2] < days[1]:
            raise click.UsageError(f"'{term}' ends before it begins; write {days[2]}..{days[1]}")
        first, last = (day.replace('-', '') for day in (days[1], days[2] or days[1]))
        names = [name for name in known if first <= name.partition('T')[0] <= last]
    else:
        return [named(known, term, 'the history')]
    if not names:
        raise click.UsageError(f"the history has no session of '{term}'; give {WHICH}")
    return names
