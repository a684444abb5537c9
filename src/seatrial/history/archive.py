"""Archives: files of many sessions of a year, into which those of single sessions are merged.

No lock, and nothing is lost or counted twice whoever merges at the same time, or is killed at any point:

- An archive is named after the digest of what it holds, and never changed. One that grows is a new one.
- A file is removed only once each of its sessions lies, on the disk, in an archive that this process has written.
- Readers count a session once, whichever files have it; one that was removed they leave out.

So a merge that was cut off leaves files that say the same, and the next one takes them away.
"""

import hashlib
import io
import os
import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from seatrial.history.rows import COLUMNS, SCHEMA, summary
from seatrial.history.store import (
    MAX_BYTES,
    SUFFIX,
    SUMMARY_SUFFIX,
    UNSEALED,
    Skipped,
    content_of,
    files_in,
    is_archive,
    mark_removed,
    put_whole,
    removed_from,
    rows_in,
    sealed,
    summary_of,
    table_in,
)

KEPT_APART = 20
"""The newest sessions stay in files of their own, which `seatrial status` reads."""

FULL_BYTES = MAX_BYTES // 4
"""An archive of this size is not made anew any more; a year can have several."""

LEFTOVER_S = 86400.0
"""A file under another name that nobody has written to for so long belongs to a process that was killed."""

GROUP_ROWS = 65536
"""Of an archive: what is read at least for one session."""

_ASIDE = '.merged'


class Merged(NamedTuple):
    """What a merge has done. sessions: that lay in files of their own; archives: that were written"""

    sessions: int
    archives: tuple[Path, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class _FileToMerge:
    """A file to merge. digest: of the file as it was read; content: Parquet of today's schema; rows: by session"""

    file: Path
    digest: str
    content: bytes
    summary: pl.DataFrame
    rows: dict[str, int]


def merge(folder: Path, apart: int = KEPT_APART) -> Merged:
    """Merge all but the newest sessions into archives. Raises OSError; what was done until then stays done.

    apart: how many stay in files of their own
    """
    _recover(folder)
    files = files_in(folder)
    own = [file for file in files if not is_archive(file)]
    by_year: dict[str, list[Path]] = {}
    for file in [*filter(is_archive, files), *own[: max(0, len(own) - apart)]]:
        by_year.setdefault(file.stem[:4], []).append(file)
    merged, archives, skipped = 0, list[Path](), list[Skipped]()
    gone = removed_from(folder) if files else set[str]()
    for year, those in sorted(by_year.items()):
        for part in _parts(those):
            sources = []
            for file in part:
                source = _source(file)
                if isinstance(source, str):
                    skipped.append(Skipped(file, source))
                elif gone.issuperset(source.rows):
                    _retire(source)
                else:
                    sources.append(source)
            if len(sources) > 1 or any(
                not (is_archive(each.file) and gone.isdisjoint(each.rows)) for each in sources
            ):
                archives.append(_merged(folder, year, sources, gone))
                merged += sum(not is_archive(each.file) for each in sources)
    return Merged(merged, tuple(archives), tuple(skipped))


def merge_if_many(folder: Path) -> Merged | None:
    """Merge once as many sessions lie beside those that stay apart: not an archive anew for each. Raises OSError."""
    own = sum(not is_archive(file) for file in files_in(folder))
    return merge(folder, KEPT_APART) if own >= 2 * KEPT_APART else None


def without(folder: Path, sessions: Collection[str]) -> None:
    """Remove these sessions, and no others, from the history. Raises OSError.

    They are marked first, so nobody reads them any more, and a merge that had read them before brings none back. An
    archive that has one is made anew; what is left of them by who is killed on the way, the next merge removes.
    """
    if sessions:
        mark_removed(folder, sessions)
    for file in files_in(folder):
        if not is_archive(file):
            if file.stem in sessions and isinstance(table_in(file), pl.DataFrame):
                file.unlink()
            continue
        source = _source(file)
        if isinstance(source, str) or not set(source.rows) & set(sessions):
            continue
        if set(source.rows) <= set(sessions):
            _retire(source)
        else:
            _merged(folder, file.stem[:4], [source], sessions)


def _parts(files: Sequence[Path]) -> Iterator[list[Path]]:
    """What becomes an archive each, of a year: as much as one may hold. What is full or damaged stays out."""
    part, size = list[Path](), 0
    for file in files:
        own = file.stat().st_size if file.is_file() else 0
        if is_archive(file) and own >= FULL_BYTES:
            continue
        if part and size + own > 2 * FULL_BYTES:
            yield part
            part, size = [], 0
        part.append(file)
        size += own
    yield part


def _source(file: Path) -> _FileToMerge | str:
    """A file that can be merged, or why it cannot."""
    content = content_of(file)
    if isinstance(content, str):
        return content
    digest = hashlib.sha256(content).hexdigest()
    if is_archive(file):
        found = summary_of(file)
        if isinstance(found, str):
            return found
        counted = pl.scan_parquet(io.BytesIO(content)).group_by('session', 'schema').len().collect()
        if counted['schema'].unique().to_list() != [SCHEMA]:
            rows = rows_in(content)
            if isinstance(rows, str):
                return rows
            content = _parquet(rows)
    else:
        rows = table_in(file)
        if isinstance(rows, str):
            return rows
        found, counted = summary(rows), rows.group_by('session').len()
        if pl.read_parquet_schema(io.BytesIO(content)) != pl.Schema(COLUMNS):
            content = _parquet(rows)
    return _FileToMerge(file, digest, content, found, dict(counted.select('session', 'len').iter_rows()))


def _parquet(rows: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    rows.write_parquet(stream)
    return stream.getvalue()


def _merged(folder: Path, year: str, sources: Sequence[_FileToMerge], left_out: Collection[str] = ()) -> Path:
    """Write one archive of all sources, then remove them. What a session's own file says counts before an archive."""
    taken = set(left_out)
    parts, summaries, rows = list[pl.LazyFrame](), list[pl.DataFrame](), dict[str, int]()
    for source in reversed(sources):
        rest = pl.lit(True) if taken.isdisjoint(source.rows) else ~pl.col('session').is_in(list(taken))
        parts.insert(0, pl.scan_parquet(io.BytesIO(source.content)).filter(rest))
        summaries.insert(0, source.summary.filter(rest))
        rows |= {session: number for session, number in source.rows.items() if session not in taken}
        taken |= set(source.rows)
    stream = io.BytesIO()
    pl.concat(parts).sink_parquet(stream, metadata=UNSEALED, row_group_size=GROUP_ROWS, maintain_order=True)
    content = sealed(stream.getvalue())
    _check(content, rows)
    file = folder / f'{year}-{hashlib.sha256(content).hexdigest()[:12]}{SUFFIX}'
    stream = io.BytesIO()
    pl.concat(summaries).write_parquet(stream, metadata=UNSEALED)
    # First, so that no archive is ever without.
    put_whole(file.with_suffix(SUMMARY_SUFFIX), sealed(stream.getvalue()))
    put_whole(file, content)
    _synced(folder)
    if content_of(file) != content:
        raise OSError(f'{file} does not hold what was written into it; nothing was removed')
    for source in sources:
        if source.file != file:
            _retire(source)
    return file


def _check(content: bytes, rows: dict[str, int]) -> None:
    """Raises OSError for an archive that has not all rows of all sessions."""
    found = pl.scan_parquet(io.BytesIO(content)).group_by('session').len().collect()
    if dict(found.iter_rows()) != rows:
        raise OSError('the archive would not hold what the files hold; nothing was written')


def _synced(folder: Path) -> None:
    """A rename is on the disk once the folder is."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _retire(source: _FileToMerge) -> None:
    """Remove a file that was merged, unless another has come into its place meanwhile."""
    if is_archive(source.file):
        source.file.unlink(missing_ok=True)
        source.file.with_suffix(SUMMARY_SUFFIX).unlink(missing_ok=True)
        return
    aside = source.file.with_name(f'.{source.file.stem}.{secrets.token_hex(4)}{_ASIDE}')
    try:
        source.file.rename(aside)
        if hashlib.sha256(aside.read_bytes()).hexdigest() != source.digest:
            _put_back(aside)
        aside.unlink()
    except FileNotFoundError:  # another merge was first
        return


def _put_back(aside: Path) -> None:
    """Under its own name too, unless something newer is there. Not every file system has links."""
    file = aside.with_name(f'{aside.name[1:].rsplit(".", 2)[0]}{SUFFIX}')
    try:
        os.link(aside, file)
    except FileExistsError:
        return
    except OSError:
        if not file.exists():
            aside.rename(file)


def _recover(folder: Path) -> None:
    """Take up what a merge that was killed has left: files that it had put aside, and such as never got a name."""
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not file.name.startswith('.'):
            continue
        try:
            old = time.time() - file.stat().st_mtime > LEFTOVER_S
            if file.suffix == _ASIDE:
                _put_back(file)
                file.unlink()
            elif file.suffix == '.tmp' and old:
                file.unlink()
        except FileNotFoundError:  # another merge was first
            continue
