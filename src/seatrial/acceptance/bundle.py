"""A bundle: the evidence of an acceptance as one file or folder, and the check that nobody changed it."""

import hashlib
import re
import shutil
import struct
import subprocess
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import click

from seatrial.acceptance.campaign import FOLDER
from seatrial.check.session import contract_of, session_folders
from seatrial.model.foreign import LARGEST, NotReadable, open_regular
from seatrial.model.quoted_value import show
from seatrial.model.record import PLAN
from seatrial.model.units import approximate_size
from seatrial.report.terminal import console, say
from seatrial.session.evidence import UNREADABLE, ReadCase
from seatrial.site.contract import CONTRACT_FILE
from seatrial.site.model import SETTINGS_FILE, TRIAL_FILE, Site
from seatrial.site.references import REFERENCES_FILE
from seatrial.workload.words import counted

SUMS, SIGNATURE = 'SHA256SUMS', 'SHA256SUMS.sig'
"""The manifest, in the form of sha256sum(1), and its signature by ssh-keygen(1)."""

ZIP = '.zip'
NAMESPACE = 'seatrial'  # of the signature: one that was made for something else is none here
KEYGEN_S = 60.0
CHUNK = 1 << 20
MAX_FILES = 100_000  # of a bundle: each takes a kilobyte of memory when it is read
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)
"""Exceptions that reading from a damaged archive raises, besides OSError."""

_ROW = re.compile('([0-9a-f]{64})  (.+)')
_ENTRY = b'PK\1\2'  # begins each of the list of files


def pack(output: Path, files: Sequence[tuple[str, Path]], key: Path | None = None) -> None:
    """Writes a bundle of (name in it, file). Raises UsageError."""
    if len(files) > MAX_FILES - len((SUMS, SIGNATURE)):
        raise click.UsageError(f'{len(files)} files are more than a bundle can have, which is {MAX_FILES}')
    sums = b''
    for name, file in files:
        with file.open('rb') as stream:
            sums += f'{_digest(stream)}  {name}\n'.encode()
    extra = {SUMS: sums}
    if key:
        done = _keygen(['sign', '-n', NAMESPACE, '-f', str(key)], sums)
        if done.returncode:
            raise click.UsageError(f'ssh-keygen: {_last_line(done)}')
        extra[SIGNATURE] = done.stdout
    try:
        (_zip if output.suffix == ZIP else _lay_out)(output, files, extra)
    except FileExistsError:
        raise click.UsageError(f'{output} is there already; name another one') from None
    signed = ', signed' if key else ''
    say(console(), f'{output}: {counted(len(files), "file")}{signed}; seatrial verify {output}')


def _zip(output: Path, files: Sequence[tuple[str, Path]], extra: Mapping[str, bytes]) -> None:
    with output.open('xb') as stream, zipfile.ZipFile(stream, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in extra.items():
            archive.writestr(name, content)
        for name, file in files:
            archive.write(file, name)


def _lay_out(output: Path, files: Sequence[tuple[str, Path]], extra: Mapping[str, bytes]) -> None:
    output.mkdir()
    for name, file in files:
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, output / name)
    for name, content in extra.items():
        (output / name).write_bytes(content)


class Folder:
    """A bundle that is a folder, read as if it were an archive. Links are left out: they lead elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = (file for file in folder.rglob('*') if file.is_file() and not file.is_symlink())
        self._sizes = {file.relative_to(folder).as_posix(): file.stat().st_size for file in files}

    def namelist(self) -> list[str]:
        return list(self._sizes)

    def size(self, name: str) -> int:
        """Bytes. Raises KeyError for a missing file."""
        return self._sizes[name]

    def open(self, name: str) -> IO[bytes]:
        return (self.folder / name).open('rb')


class _Stream:
    """A file from which an archive is read, whose list of files is read in one piece."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, size: int = -1) -> bytes:
        """At most LARGEST bytes. Raises BadZipFile if more are asked for."""
        content = self._stream.read(min(size, LARGEST) if size >= 0 else LARGEST)
        if size > LARGEST or content.count(_ENTRY) > MAX_FILES:
            raise zipfile.BadZipFile(f'it has more than {MAX_FILES} files')
        return content


class Archive(zipfile.ZipFile):
    """A bundle that is a file. Raises BadZipFile, NotReadable and OSError."""

    def __init__(self, file: Path) -> None:
        self._opened = open_regular(file)
        try:
            super().__init__(cast(IO[bytes], _Stream(self._opened)))
            for entry in self.infolist():
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # unpacked without a limit
                    raise zipfile.BadZipFile(f'{entry.filename} is packed as no bundle is')
        except BaseException:
            self._opened.close()
            raise

    def close(self) -> None:
        """Also closes the file, if it could be opened."""
        super().close()
        if hasattr(self, '_opened'):
            self._opened.close()

    def size(self, name: str) -> int:
        """Bytes, unpacked. Raises KeyError for a missing file."""
        return self.getinfo(name).file_size


def unpacked(bundle: Path, folder: Path, signers: Path | None) -> list[str]:
    """Copies the files in a bundle's manifest into a folder; returns the faults of the bundle. Raises UsageError.
    bundle: a file, or a folder; signers: allowed signers of ssh-keygen(1); None asks for no signature"""
    try:
        with nullcontext(Folder(bundle)) if bundle.is_dir() else Archive(bundle) as archive:
            return list(_faults(archive, folder, signers))
    except NotReadable as error:
        return [str(error)]
    except DAMAGED as error:
        return [f'{bundle}: {error}']


def _faults(archive: Archive | Folder, folder: Path, signers: Path | None) -> Iterator[str]:
    names = Counter(archive.namelist())
    if len(names) > MAX_FILES:
        yield f'it has more than {MAX_FILES} files'
        return
    yield from (f'{name} is there {number} times' for name, number in names.items() if number > 1)
    sums = _read(archive, SUMS)
    listed = _listed(sums or b'')
    if not listed:
        yield f'{SUMS} is missing, or it is no list of at most {MAX_FILES} sums'
        return
    yield from (f'{name} is missing' for name in listed if name not in names)
    yield from (f'{name} is not in {SUMS}' for name in names if name not in {*listed, SUMS, SIGNATURE})
    needed, room = sum(map(archive.size, names)), shutil.disk_usage(folder).free
    if needed > room:
        sizes = f'{approximate_size(needed)}, and {folder} has {approximate_size(room)}'
        yield f'unpacked it takes {sizes}; set TMPDIR to a folder with more, if you trust who made it'
        return
    for name, digest in listed.items():
        if '..' in (inside := PurePosixPath(name)).parts or inside.is_absolute():
            yield f'{name} would lie outside of the bundle, and is not unpacked'
            continue
        try:
            if name in names and _unpack(archive, name, folder / name) != digest:
                (folder / name).unlink()
                yield f'{name} was changed: its sum is not the one in {SUMS}'
        except (OSError, ValueError) as error:
            yield f'{show(name)} cannot be unpacked: {getattr(error, "strerror", None) or error}'
    if signers is not None:
        yield from _signature_faults(sums or b'', _read(archive, SIGNATURE), signers, folder)


def _read(archive: Archive | Folder, name: str) -> bytes | None:
    """The contents of a file of the archive; None if it is missing, damaged, or larger than LARGEST."""
    try:
        if archive.size(name) > LARGEST:
            return None
        with archive.open(name) as packed:
            return packed.read()
    except (KeyError, OSError, *DAMAGED):
        return None


def _unpack(archive: Archive | Folder, name: str, file: Path) -> str:
    """Unpacks a file; returns the SHA-256, empty for a damaged one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open('xb') as stream:
        try:
            with archive.open(name) as packed:
                return _digest(packed, stream)
        except DAMAGED:
            return ''


def _digest(source: IO[bytes], copy: IO[bytes] | None = None) -> str:
    """The SHA-256 of a file, which is copied if asked for; in pieces, since raw output can exceed the memory."""
    sha256 = hashlib.sha256()
    while chunk := source.read(CHUNK):
        sha256.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return sha256.hexdigest()


def _listed(sums: bytes) -> dict[str, str]:
    """The checksum of each file by name; empty if a line is none of sha256sum(1), or there are too many."""
    if sums.count(b'\n') > MAX_FILES:
        return {}
    rows = [_ROW.fullmatch(line) for line in sums.decode(errors='replace').split('\n')[:-1]]
    return {row[2]: row[1] for row in rows if row} if all(rows) else {}


def contract_folders(state: Path, read: ReadCase) -> tuple[list[Path], dict[str, str]]:
    """The readable sessions of a contract, oldest first; for the others why they cannot be read."""
    folders, unread = [], {}
    for folder in session_folders(state):
        try:
            if contract_of(folder):
                for file in folder.glob(f'cases/*/{PLAN}'):
                    read(file)
                folders.append(folder)
        except UNREADABLE as error:
            unread[folder.name] = str(error)
    return folders, unread


def files_of(site: Site, sessions: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """(name, file) of everything in a bundle of these sessions. Links are left out: they may lead anywhere."""
    for name in (SETTINGS_FILE, TRIAL_FILE, CONTRACT_FILE, REFERENCES_FILE):
        if (site.folder / name).is_file():
            yield f'site/{name}', site.folder / name
    state = Path(site.state)
    for folder in (state / FOLDER, *sessions):
        for file in folder.rglob('*'):
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(state).as_posix(), file


def _signature_faults(sums: bytes, signature: bytes | None, signers: Path, folder: Path) -> Iterator[str]:
    if signature is None:
        yield 'it is not signed'
        return
    (folder / SIGNATURE).write_bytes(signature)
    known = ['-s', str(folder / SIGNATURE), '-f', str(signers)]
    keys = _keygen(['find-principals', *known], b'')
    who = keys.stdout.decode(errors='replace').strip().partition('\n')[0]
    done = _keygen(['verify', '-n', NAMESPACE, '-I', who, *known], sums) if who else keys
    if done.returncode:
        yield f'no signature of {signers}: {_last_line(done)}'


def _keygen(arguments: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    """The result of ssh-keygen -Y. Raises UsageError if it is not installed or waits for input."""
    program = shutil.which('ssh-keygen')
    if program is None:
        raise click.UsageError('ssh-keygen is not installed; install OpenSSH, or leave the signature out')
    try:
        return subprocess.run([program, '-Y', *arguments], input=given, capture_output=True, timeout=KEYGEN_S)
    except subprocess.TimeoutExpired:
        late = f'ssh-keygen did not end within {KEYGEN_S:.0f} s'
        raise click.UsageError(f'{late}; name a key that waits for no one') from None


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr + done.stdout).decode(errors='replace').strip().splitlines()
    return lines[-1] if lines else f'it ended with {done.returncode}'
