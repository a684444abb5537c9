"""The folder of the history. Safe on a shared file system without a server or a lock.

A file is written whole under another name and renamed into place (rename(2) is atomic), and never changed afterwards:
who reads while another session is written sees all of it or nothing. A file is of one session, or an archive of many
(history/archive.py). A session that several files have counts once, so a session is never away while it is moved.
"""

import hashlib
import io
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TypeVar

import polars as pl

from seatrial.history.rows import COLUMNS, SCHEMA, SUMMARY, SUMMED, as_of_today, columns_of, fault_in, summary

SUFFIX = '.parquet'
SUMMARY_SUFFIX = '.summary'
"""Beside an archive: Parquet too, but no rows of the history, which other programs read by *.parquet."""

REMOVED_SUFFIX = '.removed'
"""Names of sessions that were removed, a line each: a merge that had read them before can still bring them back."""

DAMAGED = 'it is cut short or damaged, or no Parquet'
SEALED_SINCE = 2  # of the schema
MAX_BYTES = 256 << 20
"""Of a file that is read whole: others may have written it."""

AT_ONCE = 8
"""Sessions of an archive that are in memory together."""

TOGETHER = 16
"""Files of sessions whose summaries are made at once: to ask a table costs more than to go through its rows."""

T = TypeVar('T')
_ARCHIVE = re.compile(r'\d{4}-[0-9a-f]{12}')
_TRIES = 3
_SEAL = b'sha256-of-the-rest:'
_NO_DIGEST = b'0' * 64
_ENDED = 'ended'


@dataclass(frozen=True)
class Skipped:
    """A file in the folder that is no history, or is damaged; it is left as it is."""

    file: Path
    why: str


@dataclass(frozen=True)
class History:
    """Every session that could be read, oldest first, and the files that could not."""

    rows: pl.DataFrame
    skipped: tuple[Skipped, ...]


def folder_of(state: str | Path) -> Path:
    """Where the history lies in a site's state directory."""
    return Path(state) / 'history'


def write(folder: Path, session: str, rows: pl.DataFrame, ended: datetime | None = None) -> Path:
    """Write the rows of one session into the folder, which is made; returns the file. Raises OSError.

    ended: when the session had measured, judged and reported; None: it is not known
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    known = {_ENDED: ended.isoformat()} if ended else {}
    rows.write_parquet(content, metadata={**UNSEALED, **known})
    file = put_whole(folder / f'{session}{SUFFIX}', sealed(content.getvalue()))
    for each in _removals(folder):
        names = _names_in(each)
        if session in names:
            put_whole(each, ''.join(f'{name}\n' for name in names if name != session).encode())
    return file


def mark_removed(folder: Path, sessions: Collection[str]) -> None:
    """From now on nobody reads them here, whichever files still have them. Raises OSError."""
    content = ''.join(f'{name}\n' for name in sorted(sessions)).encode()
    put_whole(folder / f'{hashlib.sha256(content).hexdigest()[:12]}{REMOVED_SUFFIX}', content)


def removed_from(folder: Path) -> set[str]:
    """The sessions that were removed and not written again. Raises OSError."""
    return {name for file in _removals(folder) for name in _names_in(file)}


def _removals(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix == REMOVED_SUFFIX and file.is_file())


def _names_in(file: Path) -> list[str]:
    return file.read_text(errors='replace').splitlines()


def put_whole(file: Path, content: bytes) -> Path:
    """Write it under another name and rename it into place. Raises OSError."""
    temporary = file.with_name(f'.{file.stem}.{os.getpid()}.{secrets.token_hex(4)}.tmp')
    try:
        with temporary.open('wb') as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(file)) from None
    return file


def ended(folder: Path, session: str) -> datetime | None:
    """When a session ended that `read` has read, if a file of its own says so. Raises OSError."""
    file = folder / f'{session}{SUFFIX}'
    said = pl.read_parquet_metadata(io.BytesIO(file.read_bytes())).get(_ENDED) if file.is_file() else None
    return datetime.fromisoformat(said) if said else None


def files_in(folder: Path) -> list[Path]:
    """The files of the history, in their order. Raises OSError where it may not be read."""
    # Not glob(), which skips a folder that may not be read.
    return sorted(file for file in folder.iterdir() if file.suffix == SUFFIX) if folder.is_dir() else []


def is_archive(file: Path) -> bool:
    """Whether a file is named as one of many sessions."""
    return _ARCHIVE.fullmatch(file.stem) is not None


def sessions_in(folder: Path) -> list[str]:
    """The names of the sessions, oldest first: they sort by time. Raises OSError."""
    return list(_places(folder)[0])


def read(folder: Path, newest: int = 0, named: Collection[str] | None = None) -> History:
    """The sessions in the folder; one that is not there is empty. Raises OSError where it may not be read.

    newest: how many of them, the last ones; 0: all; named: only these sessions
    """
    found = list(one_by_one(folder, newest, named))
    tables = [each for each in found if isinstance(each, pl.DataFrame)]
    skipped = tuple(each for each in found if isinstance(each, Skipped))
    return History(pl.concat(tables) if tables else pl.DataFrame(schema=COLUMNS), skipped)


def one_by_one(
    folder: Path, newest: int = 0, named: Collection[str] | None = None
) -> Iterator[pl.DataFrame | Skipped]:
    """The same, a session after the other: who keeps a part of each needs no memory for all."""
    opened: dict[Path, bytes | str] = {}

    def take(file: Path, own: Sequence[str]) -> pl.DataFrame | str:
        if not is_archive(file):
            return table_in(file)
        if file not in opened:
            opened.clear()
            opened[file] = content_of(file)
        content = opened[file]
        return content if isinstance(content, str) else rows_in(content, sessions=own)

    for found in _walk(folder, newest, named, AT_ONCE, take):
        if isinstance(found, Skipped):
            yield found
        else:
            # Of a file of its own there is nothing to part.
            one = found['session'].n_unique() == 1
            parts = [found] if one else found.partition_by('session', maintain_order=True)
            yield from sorted(parts, key=lambda rows: str(rows['session'][0]))


def summaries(
    folder: Path, newest: int = 0, columns: Collection[str] = tuple(SUMMARY)
) -> Iterator[pl.DataFrame | Skipped]:
    """Of the sessions that `read` would read, the summaries, those of one archive or of TOGETHER files at a time.

    columns: only these, with 'session'; a row can then stand for several metrics that are alike in them
    """
    columns = [name for name in SUMMARY if name in columns]

    def take(file: Path, own: Sequence[str]) -> tuple[bool, pl.DataFrame] | str:
        if not is_archive(file):
            rows = table_in(file, SUMMED)
            return rows if isinstance(rows, str) else (False, rows)
        found = summary_of(file, columns)
        if isinstance(found, str):
            return found
        # A filter copies what it keeps, of a year as much as there is.
        whole = found['session'].is_in(own).all()
        return True, found if whole else found.filter(pl.col('session').is_in(own))

    waiting: list[pl.DataFrame] = []
    for each in _walk(folder, newest, None, 0, take):
        if isinstance(each, Skipped):
            yield each
            continue
        summed, rows = each
        if not summed:
            waiting.append(rows)
        if waiting and (summed or len(waiting) == TOGETHER):
            yield summary(pl.concat(waiting), columns)
            waiting = []
        if summed:
            yield rows
    if waiting:
        yield summary(pl.concat(waiting), columns)


def _walk(
    folder: Path,
    newest: int,
    named: Collection[str] | None,
    at_once: int,
    take: Callable[[Path, Sequence[str]], T | str],
) -> Iterator[T | Skipped]:
    """What is taken of each file for the sessions that are wanted of it, oldest first. at_once: 0: all of them"""
    places, skipped = _places(folder)
    yield from skipped
    wanted = [each for each in list(places)[-newest:] if named is None or each in named]
    at = tries = 0
    while at < len(wanted):
        file, end = _first(places, wanted[at]), at + 1
        limit = min(len(wanted), at + at_once if at_once else len(wanted))
        while end < limit and _first(places, wanted[end]) == file:
            end += 1
        found = take(file, wanted[at:end]) if file else None
        if not isinstance(found, str):
            at = end
            if found is not None:
                yield found
        elif file and (file.exists() or file.is_symlink() or tries == _TRIES):
            yield Skipped(file, found)
            places = {each: [place for place in files if place != file] for each, files in places.items()}
        else:  # merged into an archive since: look again
            tries += 1
            places = _places(folder)[0]


def _first(places: Mapping[str, Sequence[Path]], session: str) -> Path | None:
    files = places.get(session)
    return files[0] if files else None


def _places(folder: Path) -> tuple[dict[str, list[Path]], list[Skipped]]:
    """By session the files that have it, the one to read first; and the archives that cannot be read."""
    found: dict[str, list[Path]] = {}
    skipped = []
    files = files_in(folder)
    for file in filter(is_archive, files):
        sessions = summary_of(file, ('session',))
        if isinstance(sessions, str):
            skipped.append(Skipped(file, sessions))
            continue
        for session in sessions['session'].unique().to_list():
            found.setdefault(session, []).append(file)
    for file in files:
        if not is_archive(file):
            # Its own file is as new as what an archive has of a session, or newer.
            found.setdefault(file.stem, []).insert(0, file)
    gone = removed_from(folder) if files else ()
    return {session: found[session] for session in sorted(found) if session not in gone}, skipped


def summary_of(archive: Path, columns: Sequence[str] = tuple(SUMMARY)) -> pl.DataFrame | str:
    """These columns of an archive's summary, which is made of the rows where need be; or why there is none."""
    content = content_of(archive.with_suffix(SUMMARY_SUFFIX))
    if isinstance(content, bytes) and _SEAL in content:
        lazy = pl.scan_parquet(io.BytesIO(content))
        if lazy.collect_schema() == pl.Schema(SUMMARY):
            found = lazy.select(list(dict.fromkeys((*columns, 'schema')))).collect()
            if found['schema'].unique().to_list() == [SCHEMA]:
                return found.select(columns)
    content = content_of(archive)
    if isinstance(content, str):
        return content
    rows = rows_in(content, SUMMED)
    return rows if isinstance(rows, str) else summary(rows).select(columns)


def table_in(file: Path, columns: Sequence[str] | None = None) -> pl.DataFrame | str:
    """The rows of the file of one session, or why it has none. columns: only these"""
    content = content_of(file)
    rows = content if isinstance(content, str) else rows_in(content, columns)
    if isinstance(rows, pl.DataFrame) and rows['session'].unique().to_list() != [file.stem]:
        return 'it does not hold the one session that its name says'
    return rows


def content_of(file: Path) -> bytes | str:
    """What a file holds, as it was sealed or never sealed; or why it is not used."""
    if not file.is_file():
        return 'it is no regular file'
    try:
        if file.stat().st_size > MAX_BYTES:
            return f'it has more than {MAX_BYTES >> 20} MiB, as no session'
        # Read first: a mapped file that another host replaces or truncates would end this process.
        content = file.read_bytes()
    except OSError as error:
        return f'it cannot be read: {error.strerror or error}'
    place = content.rfind(_SEAL) + len(_SEAL)
    if place < len(_SEAL):
        return content
    return content if content[place : place + len(_NO_DIGEST)] == _digest(content, place) else DAMAGED


def rows_in(
    content: bytes, columns: Sequence[str] | None = None, sessions: Collection[str] | None = None
) -> pl.DataFrame | str:
    """The rows in the form of today, or why there are none. columns, sessions: only these"""
    try:
        schema = pl.read_parquet_schema(io.BytesIO(content))
        if schema.get('schema') != COLUMNS['schema']:
            return 'it is not of Seatrial'
        found = pl.read_parquet(io.BytesIO(content), columns=['schema'])['schema']
        if not found.len():
            return 'it is not of Seatrial'
        if found.null_count():
            return 'rows have no schema'
        version = found[0]
        if (found != version).any() or version > SCHEMA:
            return f'it has schema {max(found.to_list())}, and this Seatrial knows {SCHEMA}; use a newer one'
        if schema != _schema_of(version):
            return f'its columns are not those of schema {version}'
        if version >= SEALED_SINCE and _SEAL not in content:
            return DAMAGED
        lazy = pl.scan_parquet(io.BytesIO(content))
        if sessions is not None:
            lazy = lazy.filter(pl.col('session').is_in(list(sessions)))
        if columns is not None and version == SCHEMA:
            lazy = lazy.select(columns)
        rows = as_of_today(lazy.collect(), version)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return DAMAGED
    return fault_in(rows) or (rows if columns is None else rows.select(columns))


@cache
def _schema_of(version: int) -> pl.Schema:
    return pl.Schema(columns_of(version))


UNSEALED = {'seatrial': (_SEAL + _NO_DIGEST).decode()}
"""The metadata of a file before it is sealed."""


def sealed(content: bytes) -> bytes:
    """The file with its digest in it: the SHA-256 of all the rest, where the digest is counted as zeros.

    Polars ends the whole process at some kinds of damage; a file that was sealed is compared with its digest first.
    """
    place = content.rfind(_SEAL) + len(_SEAL)
    return content[:place] + _digest(content, place) + content[place + len(_NO_DIGEST) :]


def _digest(content: bytes, place: int) -> bytes:
    """What is to stand at this place. Archives are large: nothing is copied."""
    view, found = memoryview(content), hashlib.sha256()
    for part in (view[:place], _NO_DIGEST, view[place + len(_NO_DIGEST) :]):
        found.update(part)
    return found.hexdigest().encode()
