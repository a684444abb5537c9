"""A bundle: the evidence of an acceptance as one file or folder, and whether that is as it was made."""

import hashlib
import lzma
import shutil
import subprocess
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

import click

from seatrial.acceptance.campaign import FOLDER
from seatrial.check.session import contract_of
from seatrial.model.quoted_value import show
from seatrial.model.units import approximate_size
from seatrial.report.terminal import console
from seatrial.session.evidence import sessions_of
from seatrial.site.contract import CONTRACT_FILE
from seatrial.site.model import SETTINGS_FILE, TRIAL_FILE, Site
from seatrial.site.references import REFERENCES_FILE
from seatrial.workload.words import counted

SUMS, SIGNATURE = 'SHA256SUMS', 'SHA256SUMS.sig'
"""The manifest, in the form of sha256sum(1), and its signature by ssh-keygen(1)."""


ZIP = '.zip'


NAMESPACE = 'seatrial'
"""Of the signature: one that was made for something else is none here."""


KEYGEN_S = 60.0


CHUNK = 1 << 20


LARGEST = 64 << 20
"""Bytes of a manifest or a signature."""


def pack(output: Path, files: Sequence[tuple[str, Path]], key: Path | None = None) -> None:
    """Write a bundle of these files, each with its name in it. Raises UsageError where the output is there."""
    sums = ''.join(f'{_digest(file)}  {name}\n' for name, file in files)
    signature = _signed(sums, key) if key else b''
    own = {SUMS: sums.encode(), **({SIGNATURE: signature} if signature else {})}
    try:
        (_zip if output.suffix == ZIP else _lay_out)(output, files, own)
    except FileExistsError:
        raise click.UsageError(f'{output} is there already; name another one') from None
    signed = ', signed' if signature else ''
    console().print(f'{output}: {counted(len(files), "file")}{signed}; seatrial verify {output}', soft_wrap=True)


def _zip(output: Path, files: Sequence[tuple[str, Path]], own: Mapping[str, bytes]) -> None:
    with output.open('xb') as stream, zipfile.ZipFile(stream, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in own.items():
            archive.writestr(name, content)
        for name, file in files:
            archive.write(file, name)


def _lay_out(output: Path, files: Sequence[tuple[str, Path]], own: Mapping[str, bytes]) -> None:
    output.mkdir()
    for name, file in files:
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, output / name)
    for name, content in own.items():
        (output / name).write_bytes(content)


class Folder:
    """A bundle that is a folder, read as if it were an archive. Links are none of its files: they lead elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        found = (each for each in folder.rglob('*') if each.is_file() and not each.is_symlink())
        self._sizes = {each.relative_to(folder).as_posix(): each.stat().st_size for each in found}

    def __enter__(self) -> 'Folder':
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def namelist(self) -> list[str]:
        """Of all its files."""
        return list(self._sizes)

    def size(self, name: str) -> int:
        """In bytes. Raises KeyError for what is not there."""
        return self._sizes[name]

    def open(self, name: str) -> IO[bytes]:
        """A file for reading. Raises OSError."""
        return (self.folder / name).open('rb')


class Archive(zipfile.ZipFile):
    """A bundle that is a file."""

    def size(self, name: str) -> int:
        """Unpacked, in bytes. Raises KeyError for what is not there."""
        return self.getinfo(name).file_size


def unpacked(bundle: Path, folder: Path, signers: Path | None) -> list[str]:
    """Copy what the manifest of a bundle names into a folder; what is wrong with the bundle. Raises UsageError.

    bundle: a file, or a folder; signers: allowed signers of ssh-keygen(1), one of whom has to have signed it; None
    asks for no signature
    """
    try:
        with Folder(bundle) if bundle.is_dir() else Archive(bundle) as archive:
            return list(_faults(archive, folder, signers))
    except zipfile.BadZipFile as error:
        return [f'{bundle}: {error}']


def _faults(archive: Archive | Folder, folder: Path, signers: Path | None) -> Iterator[str]:
    names = Counter(archive.namelist())
    yield from (f'{name} is there {number} times' for name, number in names.items() if number > 1)
    sums = _read(archive, SUMS)
    listed = _listed(sums or b'')
    if not listed:
        yield f'{SUMS} is missing, or it is no list of sums'
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
                yield f'{name} was changed: it has another sum'
        except (OSError, ValueError) as error:
            yield f'{show(name)} cannot be unpacked: {getattr(error, "strerror", None) or error}'
    if signers is not None:
        yield from _signature_faults(sums or b'', _read(archive, SIGNATURE), signers, folder)


DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError)
"""What reading from an archive raises, besides OSError."""


def _read(archive: Archive | Folder, name: str) -> bytes | None:
    """What a file of the archive holds; None where it is not there, is damaged, or is larger than LARGEST."""
    try:
        if archive.size(name) > LARGEST:
            return None
        with archive.open(name) as packed:
            return packed.read()
    except (KeyError, OSError, *DAMAGED):
        return None


def _unpack(archive: Archive | Folder, name: str, file: Path) -> str:
    """Unpack in pieces, as raw output can be larger than memory; its SHA-256, empty where it is damaged."""
    file.parent.mkdir(parents=True, exist_ok=True)
    found = hashlib.sha256()
    with file.open('xb') as stream:
        try:
            with archive.open(name) as packed:
                while chunk := packed.read(CHUNK):
                    found.update(chunk)
                    stream.write(chunk)
        except DAMAGED:
            return ''
    return found.hexdigest()


def _listed(sums: bytes) -> dict[str, str]:
    """The sum of each file by its name."""
    rows = [line.partition('  ') for line in sums.decode(errors='replace').splitlines()]
    return {name: digest for digest, _, name in rows if name}


def files_of(site: Site) -> Iterator[tuple[str, Path]]:
    """What belongs to a bundle, by its name there. Links are left out: what they lead to may be anything."""
    for name in (SETTINGS_FILE, TRIAL_FILE, CONTRACT_FILE, REFERENCES_FILE):
        if (site.folder / name).is_file():
            yield f'site/{name}', site.folder / name
    state = Path(site.state)
    begun = [site.session_folder(name) for name in sessions_of(site)]
    for folder in (state / FOLDER, *(each for each in begun if contract_of(each))):
        for file in folder.rglob('*'):
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(state).as_posix(), file


def _digest(file: Path) -> str:
    found = hashlib.sha256()
    with file.open('rb') as stream:
        while chunk := stream.read(CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _signed(sums: str, key: Path) -> bytes:
    """The signature of the manifest. Raises UsageError with the words of ssh-keygen."""
    done = _keygen(['sign', '-n', NAMESPACE, '-f', str(key)], sums.encode())
    if done.returncode:
        raise click.UsageError(f'ssh-keygen: {_said(done)}')
    return done.stdout


def _signature_faults(sums: bytes, signature: bytes | None, signers: Path, folder: Path) -> Iterator[str]:
    if signature is None:
        yield 'it is not signed'
        return
    (folder / SIGNATURE).write_bytes(signature)
    known = ['-s', str(folder / SIGNATURE), '-f', str(signers)]
    found = _keygen(['find-principals', *known], b'')
    who = found.stdout.decode(errors='replace').strip().partition('\n')[0]
    done = _keygen(['verify', '-n', NAMESPACE, '-I', who, *known], sums) if who else found
    if done.returncode:
        yield f'no signature of {signers}: {_said(done)}'


def _keygen(arguments: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    """What ssh-keygen -Y ends with. Raises UsageError where it is not installed or waits for somebody."""
    program = shutil.which('ssh-keygen')
    if program is None:
        raise click.UsageError('ssh-keygen is not installed; install OpenSSH, or leave the signature out')
    try:
        return subprocess.run([program, '-Y', *arguments], input=given, capture_output=True, timeout=KEYGEN_S)
    except subprocess.TimeoutExpired:
        raise click.UsageError(
            f'ssh-keygen did not end within {KEYGEN_S:.0f} s; name a key that waits for no one'
        ) from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr + done.stdout).decode(errors='replace').strip().splitlines()
    return lines[-1] if lines else f'it ended with {done.returncode}'
