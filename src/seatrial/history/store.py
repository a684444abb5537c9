"""The folder of the history. It is safe on a shared file system without a server or a lock: each file is of one
session, written whole under another name, renamed into place and never changed, so that a reader sees all of it or
nothing. Archives of Seatrial 0.1, many sessions in a file, are named: `seatrial history import` takes them over."""

import base64
import hashlib
import io
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from seatrial.history import rows as tables
from seatrial.history.rows import COLUMNS, SCHEMA, SUMMARY, as_of_today, fault_in, summary
from seatrial.model.foreign import NotReadable, parsed, read_bytes

SUFFIX = '.parquet'
ANNOTATIONS = 'annotations.jsonl'
ARCHIVE = 'it has many sessions, as Seatrial 0.1 wrote them; `seatrial history import` it once, then move it away'
ADDED_TO = range(tables.BASE_UNITS_SINCE, SCHEMA + 1)  # versions of the schema to which only columns were added
TOO_MANY = 'it has more rows than launches fit into its bytes'
DAMAGED = 'it is cut short or damaged, or no Parquet'
SEALED_SINCE = 2  # the version of the schema whose files have a seal first
MAX_BYTES = 256 << 20  # the largest file that is read whole: others may have written it
MIN_ROW_BYTES, MANY_ROWS = 8, 100_000  # a figure of a launch takes 8 bytes; a few can stand for any number of rows
AT_ONCE = 4  # sessions that are in memory together with all their columns
TOGETHER = 8  # sessions of which some columns are in memory: to begin a reading costs more than to read on
SUMMED_TOGETHER = 32  # sessions whose summaries are, with one row for each metric in place of each launch
SESSION = re.compile(r'\d{8}T\d{6}-[0-9a-f]{6}', re.ASCII)
"""The form of names that new_id makes; a name of another form in a file of others is never used as a file name."""

_ARCHIVE = re.compile(r'\d{4}-[0-9a-f]{12}')
_SEAL = b'sha256-of-the-rest:'
_NO_DIGEST = b'0' * 64
UNSEALED = {'seatrial': (_SEAL + _NO_DIGEST).decode()}  # the metadata of a file before it is sealed
_ENDED = 'ended'
_SUMMARY = 'summary'
"""The key in a file's metadata of summary() of its rows, as Parquet in base64: it spares readers of all nights the
launches, of which it is made if missing. A change of what its columns mean needs another key."""
_SUMMARY_SCHEMA = pl.Schema(SUMMARY)


class Skipped(NamedTuple):
    """A file in the folder that is no history, or is damaged; it is left as it is."""

    file: Path
    why: str


class History(NamedTuple):
    """Every readable session, oldest first, and the files that could not be read."""

    rows: pl.DataFrame
    skipped: tuple[Skipped, ...]


def folder_of(state: str | Path) -> Path:
    return Path(state) / 'history'


def write(folder: Path, session: str, rows: pl.DataFrame, ended: datetime | None = None) -> Path:
    """Writes the rows of a session; returns the file. ended: when it was measured, judged and reported."""
    folder.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    known = {_ENDED: ended.isoformat()} if ended else {}
    if dict(rows.schema) == COLUMNS:
        summary(rows).write_parquet(content)
        known[_SUMMARY] = base64.b64encode(content.getvalue()).decode()
        content = io.BytesIO()
    rows.write_parquet(content, metadata={**UNSEALED, **known})
    file = folder / f'{session}{SUFFIX}'
    temporary = file.with_name(f'.{file.stem}.{os.getpid()}.{secrets.token_hex(4)}.tmp')
    try:
        with temporary.open('wb') as stream:
            stream.write(sealed(content.getvalue()))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(file)) from None
    return file


def removed_from(file: Path) -> set[str]:
    """The sessions that Seatrial 0.1 removed from this archive, which may still have them. Raises OSError."""
    lists = sorted(file.parent.glob('*.removed')) if _ARCHIVE.fullmatch(file.stem) else []
    return {name for names in lists for name in names.read_text(errors='replace').splitlines()}


def remove(folder: Path, sessions: Collection[str]) -> None:
    """Removes exactly these sessions from the history. Raises OSError."""
    for file in files_in(folder):
        if file.stem in sessions and isinstance(table_in(file), pl.DataFrame):
            file.unlink()


def ended(folder: Path, session: str) -> datetime | None:
    """When a session ended, if its own file says so. Raises OSError."""
    file = folder / f'{session}{SUFFIX}'
    moment = pl.read_parquet_metadata(io.BytesIO(file.read_bytes())).get(_ENDED) if file.is_file() else None
    return datetime.fromisoformat(moment) if moment else None


def files_in(folder: Path) -> list[Path]:
    """The files of sessions, oldest first: they sort by time. Raises OSError if the folder is not readable."""
    return [file for file in _parquets_in(folder) if not _ARCHIVE.fullmatch(file.stem)]


def sessions_in(folder: Path) -> list[str]:
    """The names of the sessions, oldest first. Raises OSError."""
    return [file.stem for file in files_in(folder)]


def _parquets_in(folder: Path) -> list[Path]:
    # Not glob(), which skips a folder that may not be read.
    files = [file for file in folder.iterdir() if file.suffix == SUFFIX] if folder.is_dir() else []
    return sorted(files, key=lambda file: file.name)


def as_written(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def read(
    folder: Path,
    newest: int = 0,
    named: Collection[str] | None = None,
    kept: Callable[[pl.DataFrame], pl.DataFrame] = as_written,
    columns: Sequence[str] | None = None,
) -> History:
    """The sessions in the folder, empty if it does not exist. newest: number of the last ones, 0 for all; named,
    columns: only these; kept: reduces the rows of each to what stays in memory. Raises OSError."""
    skipped: list[Skipped] = []
    parts = list(map(kept, readable(_several(folder, newest, named, columns), skipped)))
    return History(pl.concat(parts) if parts else kept(pl.DataFrame(schema=COLUMNS)), tuple(skipped))


def readable(sessions: Iterable[pl.DataFrame | Skipped], skipped: list[Skipped]) -> Iterator[pl.DataFrame]:
    """The tables among these; the files that could not be read are appended to `skipped`."""
    for table in sessions:
        if isinstance(table, Skipped):
            skipped.append(table)
        else:
            yield table


def one_by_one(
    folder: Path, newest: int = 0, named: Collection[str] | None = None
) -> Iterator[pl.DataFrame | Skipped]:
    """The sessions as `read` gives them, one at a time, for callers that keep only a part of each in memory."""
    for rows in _several(folder, newest, named):
        yield from [rows] if isinstance(rows, Skipped) else rows.partition_by('session', maintain_order=True)


def summaries(
    folder: Path, newest: int = 0, columns: Collection[str] = tuple(SUMMARY)
) -> Iterator[pl.DataFrame | Skipped]:
    """The summaries of what `read` would read, a few files at a time. columns: only these, with 'session'"""
    columns = [name for name in SUMMARY if name in columns]
    # Without one of these columns several rows of a summary are one, whose mean only the launches give.
    summed = 'value' not in columns or set(tables.OF_METRIC).issubset(columns)
    for rows in _several(folder, newest, columns=tables.needed_by(columns), summed=summed):
        if isinstance(rows, Skipped):
            yield rows
        else:
            yield rows.select(columns) if rows.schema == _SUMMARY_SCHEMA else summary(rows, columns)


def _several(
    folder: Path,
    newest: int = 0,
    named: Collection[str] | None = None,
    columns: Sequence[str] | None = None,
    summed: bool = False,
) -> Iterator[pl.DataFrame | Skipped]:
    """The sessions as `read` gives them, a few at a time. summed: their whole summaries, if all files have one"""
    yield from (Skipped(file, ARCHIVE) for file in _parquets_in(folder) if _ARCHIVE.fullmatch(file.stem))
    files = [file for file in files_in(folder)[-newest:] if named is None or file.stem in named]
    at_once = SUMMED_TOGETHER if summed else AT_ONCE if columns is None else TOGETHER
    for at in range(0, len(files), at_once):
        yield from _of_files(files[at : at + at_once], columns, summed)


class Annotation(NamedTuple):
    """A person's note on a day (UTC, as in the names of sessions)."""

    day: date
    text: str


def annotate(state: str | Path, annotation: Annotation) -> Path:
    """Appends a line of JSON to the annotations of a site; returns the file. Raises OSError."""
    file = folder_of(state) / ANNOTATIONS
    file.parent.mkdir(parents=True, exist_ok=True)
    # One write at the end of the file: two people at once lose nothing.
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(opened, (json.dumps({'day': annotation.day.isoformat(), 'text': annotation.text}) + '\n').encode())
    finally:
        os.close(opened)
    return file


def annotations(state: str | Path) -> tuple[list[Annotation], list[Skipped]]:
    """The annotations of a site by day, and the invalid lines. Raises NotReadable, OSError."""
    file = folder_of(state) / ANNOTATIONS
    notes, skipped = [], []
    for number, line in enumerate(read_bytes(file).splitlines() if file.is_file() else [], 1):
        try:
            data = parsed(line)
            notes.append(Annotation(date.fromisoformat(data['day']), str(data['text'])))
        except (ValueError, KeyError, TypeError):
            skipped.append(Skipped(file, f'line {number} is no annotation'))
    return sorted(notes, key=lambda note: note.day), skipped


def _of_files(files: Sequence[Path], columns: Sequence[str] | None, summed: bool) -> Iterator[pl.DataFrame | Skipped]:
    """The rows of files of sessions, read together unless one of them is faulty. columns, summed: as in `_several`"""
    whole = [content for content in map(content_of, files) if isinstance(content, bytes) and _SEAL in content]
    if summed:
        summaries = list(map(_summary_in, whole))
        if (rows := _together(files, summaries, _SUMMARY_SCHEMA, ADDED_TO, list(SUMMARY))) is not None:
            yield rows
        else:  # launches have many more rows: fewer files at once
            for at in range(0, len(files), TOGETHER):
                yield from _of_files(files[at : at + TOGETHER], columns, False)
        return
    versions = list[int]()
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
        there = pl.Schema(pl.read_parquet_schema(io.BytesIO(whole[0]))) if whole else None
        versions = [version for version in ADDED_TO if there == _schema_of(version)]
    if versions:
        rows = _together(files, whole, _schema_of(versions[0]), versions, columns or list(COLUMNS))
        if rows is not None:
            yield rows
            return
    for file in files:
        table = table_in(file, columns)
        yield Skipped(file, table) if isinstance(table, str) else table


def _together(
    files: Sequence[Path],
    contents: Sequence[bytes],
    schema: pl.Schema,
    versions: Sequence[int],
    columns: Sequence[str],
) -> pl.DataFrame | None:
    """The rows of these files in today's form; None if one has another schema or a row of another version."""
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if len(contents) == len(files) and not _rows_are_too_many(contents):
            read_in: list[IO[bytes]] = [io.BytesIO(content) for content in contents]
            there = [name for name in columns if name in schema]
            rows = pl.scan_parquet(read_in, schema=schema).select(there).collect()
            held = rows['session'].unique(maintain_order=True).to_list()
            if held == [file.stem for file in files] and not fault_in(rows) and rows['schema'].is_in(versions).all():
                is_of_today = (rows['schema'] == SCHEMA).all()
                return rows if is_of_today else as_of_today(rows, min(versions)).select(columns)
    return None


def _summary_in(content: bytes) -> bytes:
    """The summary in a file, as Parquet; empty if it has none."""
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
        return base64.b64decode(pl.read_parquet_metadata(io.BytesIO(content)).get(_SUMMARY, ''))
    return b''


def _rows_are_too_many(contents: Sequence[bytes]) -> bool:
    """True if files claim more rows than fit into them. Raises PolarsError."""
    files: list[IO[bytes]] = [io.BytesIO(content) for content in contents]
    rows = pl.scan_parquet(files).select(pl.len()).collect().item()
    return bool(rows > max(MANY_ROWS, sum(map(len, contents)) // MIN_ROW_BYTES))


def table_in(file: Path, columns: Sequence[str] | None = None) -> pl.DataFrame | str:
    """The rows of a session's file, or why it has none. columns: only these"""
    content = content_of(file)
    rows = content if isinstance(content, str) else rows_in(content, columns)
    if isinstance(rows, pl.DataFrame) and rows['session'].unique().to_list() != [file.stem]:
        return 'it does not hold the one session that its name says'
    return rows


def content_of(file: Path) -> bytes | str:
    """The contents of a file with a valid seal or none; or why it is not used."""
    try:
        # Read first: a mapped file that another host replaces or truncates would end this process.
        content = read_bytes(file, MAX_BYTES)
    except NotReadable as error:
        return str(error).replace(str(file), 'it')
    except OSError as error:
        return f'it cannot be read: {error.strerror or error}'
    place = content.rfind(_SEAL) + len(_SEAL)
    if place < len(_SEAL):
        return content
    return content if content[place : place + len(_NO_DIGEST)] == _digest(content, place) else DAMAGED


def rows_in(content: bytes, columns: Sequence[str] | None = None) -> pl.DataFrame | str:
    """The rows in today's form, or why there are none. columns: only these"""
    try:
        schema = pl.read_parquet_schema(io.BytesIO(content))
        if schema.get('schema') != COLUMNS['schema']:
            return 'it is not of Seatrial'
        if _rows_are_too_many([content]):
            return TOO_MANY
        versions = pl.read_parquet(io.BytesIO(content), columns=['schema'])['schema']
        if not versions.len():
            return 'it is not of Seatrial'
        if versions.null_count():
            return 'rows have no schema'
        version = versions[0]
        if (versions != version).any() or version > SCHEMA:
            return f'it has schema {max(versions.to_list())}, and this Seatrial knows {SCHEMA}; use a newer one'
        if schema != _schema_of(version):
            return f'its columns are not those of schema {version}'
        if version >= SEALED_SINCE and _SEAL not in content:
            return DAMAGED
        lazy = pl.scan_parquet(io.BytesIO(content))
        if columns is not None and version == SCHEMA:
            lazy = lazy.select(columns)
        rows = as_of_today(lazy.collect(), version)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return DAMAGED
    return fault_in(rows) or (rows if columns is None else rows.select(columns))


@cache
def _schema_of(version: int) -> pl.Schema:
    return pl.Schema(tables.columns_of(version))


def sealed(content: bytes) -> bytes:
    """The file with its digest in it: the SHA-256 of the file with zeros for the digest. It is compared before Polars
    reads the file: some kinds of damage make Polars end the process."""
    place = content.rfind(_SEAL) + len(_SEAL)
    return content[:place] + _digest(content, place) + content[place + len(_NO_DIGEST) :]


def _digest(content: bytes, place: int) -> bytes:
    """The digest for this place. An export is large: nothing is copied."""
    view, digest = memoryview(content), hashlib.sha256()
    for part in (view[:place], _NO_DIGEST, view[place + len(_NO_DIGEST) :]):
        digest.update(part)
    return digest.hexdigest().encode()
