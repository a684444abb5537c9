"""The folder of the history. Safe on a shared file system without a server or a lock.

A file is written whole under another name and renamed into place (rename(2) is atomic), and never changed afterwards:
who reads while another session is written sees all of it or nothing.
"""

import hashlib
import io
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from seatrial.history.rows import COLUMNS, SCHEMA, as_of_today, columns_of, fault_in

SUFFIX = '.parquet'

DAMAGED = 'it is cut short or damaged, or no Parquet'
SEALED_SINCE = 2  # of the schema
MAX_BYTES = 256 << 20
"""Of a file that is read whole: others may have written it."""

_SEAL = b'sha256-of-the-rest:'
_NO_DIGEST = b'0' * 64


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


def write(folder: Path, session: str, rows: pl.DataFrame) -> Path:
    """Write the rows of one session into the folder, which is made; returns the file. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f'{session}{SUFFIX}'
    temporary = folder / f'.{session}.{os.getpid()}.tmp'
    content = io.BytesIO()
    rows.write_parquet(content, metadata={'seatrial': (_SEAL + _NO_DIGEST).decode()})
    try:
        with temporary.open('wb') as stream:
            stream.write(_sealed(content.getvalue()))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return file


def files_in(folder: Path) -> list[Path]:
    """The files of the sessions, oldest first: names sort by time. Raises OSError where it may not be read."""
    # Not glob(), which skips a folder that may not be read.
    return sorted(file for file in folder.iterdir() if file.suffix == SUFFIX) if folder.is_dir() else []


def sessions_in(folder: Path) -> list[str]:
    """The names of the sessions, oldest first, by those of their files. Raises OSError."""
    return [file.stem for file in files_in(folder)]


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
    for file in files_in(folder)[-newest:]:
        if named is None or file.stem in named:
            found = _table_in(file)
            yield found if isinstance(found, pl.DataFrame) else Skipped(file, found)


def _table_in(file: Path) -> pl.DataFrame | str:
    """The rows of one file, or why it has none."""
    if not file.is_file():
        return 'it is no regular file'
    try:
        if file.stat().st_size > MAX_BYTES:
            return f'it has more than {MAX_BYTES >> 20} MiB, as no session'
        # Read first: a mapped file that another host replaces or truncates would end this process.
        content = file.read_bytes()
        sealed = _SEAL in content
        if sealed and _sealed(content) != content:
            return DAMAGED
        rows = pl.read_parquet(io.BytesIO(content))
    except OSError as error:
        return f'it cannot be read: {error.strerror or error}'
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return DAMAGED
    if rows.schema.get('schema') != COLUMNS['schema'] or not rows.height:
        return 'it is not of Seatrial'
    versions = rows['schema'].unique().to_list()
    if None in versions:
        return 'rows have no schema'
    if len(versions) != 1 or versions[0] > SCHEMA:
        return f'it has schema {max(versions)}, and this Seatrial knows {SCHEMA}; use a newer one'
    version = versions[0]
    if rows.schema != pl.Schema(columns_of(version)):
        return f'its columns are not those of schema {version}'
    if version >= SEALED_SINCE and not sealed:
        return DAMAGED
    if rows['session'].unique().to_list() != [file.name.removesuffix(SUFFIX)]:
        return 'it does not hold the one session that its name says'
    rows = as_of_today(rows, version)
    return fault_in(rows) or rows


def _sealed(content: bytes) -> bytes:
    """The file with its digest in it: the SHA-256 of all the rest, where the digest is counted as zeros.

    Polars ends the whole process at some kinds of damage; a file that was sealed is compared with its digest first.
    """
    start = content.rfind(_SEAL) + len(_SEAL)
    before, after = content[:start], content[start + len(_NO_DIGEST) :]
    return before + hashlib.sha256(before + _NO_DIGEST + after).hexdigest().encode() + after
