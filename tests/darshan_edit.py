"""Darshan logs that nobody has: a genuine one with other counters, names, mounts or flags.

By darshan-log-format.h of 3.4 a log is a header, then the job, the names, and the records of each module, each of
them compressed in pieces.
"""

import struct
import zlib
from pathlib import Path

import pytest

TRANSCRIPTS = Path(__file__).parent / 'transcripts' / 'darshan'
HEADER = struct.Struct('<8sqB7xQ2Q128Q64I')
MODULES = {
    'POSIX': (1, 2, 17),
    'MPI-IO': (2, 2, 17),
    'H5D': (4, 3, 17),
    'STDIO': (9, 2, 15),
    'HEATMAP': (15, 0, 0),
    'DFS': (16, 2, 19),
}
"""The place in the header's maps, and how many numbers (ids, ranks, times) stand before and behind its counters."""
JOB = struct.Struct('<7q1024s')  # the processes are the sixth; behind it stand the program and the mounts
ID = 8  # bytes of a file's, which its names and each record begin with; then a record has its rank


def edited(source, target, counters=None, mounts=(), names=None, processes=None, partial=()):
    """Write the log of that name with other contents; returns its path.

    counters: by the module's name, what is set in each of its records, 'rank' too; a module that the log lacks gets
              one record, of the first file that has a path, and one with nothing to set loses all
    mounts:   kernel type and path; names: others for files; partial: modules that get the flag
    """
    pytest.importorskip('darshan', reason='PyDarshan is not installed')
    content = (TRANSCRIPTS / f'{source}.darshan').read_bytes()
    version, magic, how, flags, *places = HEADER.unpack_from(content)
    maps, versions = places[:130], list(places[130:])
    *numbers, metadata = JOB.unpack_from(job := _inflated(content[HEADER.size : maps[0]]))
    numbers[5] = processes or numbers[5]
    table = ''.join(f'\n{kind}\t{path}' for kind, path in mounts).encode()
    program = job[JOB.size :].split(b'\n')[0].rstrip(b'\0')
    regions = [_inflated(content[maps[i] :][: maps[i + 1]]) for i in range(0, len(maps), 2)]
    for before, after in (names or {}).items():
        regions[0] = regions[0].replace(before.encode() + b'\0', after.encode() + b'\0')
    first_file = regions[0].split(b'/')[0][-ID:]
    for module, changes in (counters or {}).items():
        place = 1 + MODULES[module][0]
        records = regions[place] or first_file
        regions[place] = _changed(records, module, changes) if changes else b''
        versions[place - 1] = versions[place - 1] or 1
    parts = [zlib.compress(JOB.pack(*numbers, metadata) + program + table + b'\0')]
    parts += [zlib.compress(region) if region else b'' for region in regions]
    start, offsets = HEADER.size, []
    for part in parts:
        offsets += [start if part else 0, len(part)]
        start += len(part)
    flags |= sum(1 << MODULES[name][0] for name in partial)
    target.write_bytes(HEADER.pack(version, magic, how, flags, *offsets[2:], *versions) + b''.join(parts))
    return target


def _inflated(content):
    """All the pieces: every process has compressed its own."""
    whole = b''
    while content:
        piece = zlib.decompressobj()
        whole += piece.decompress(content)
        content = piece.unused_data
    return whole


def _changed(records, module, changes):
    from darshan.backend.cffi_backend import counter_names

    names, (_, before, behind) = counter_names(module), MODULES[module]
    size = ID * (before + len(names) + behind)
    content = bytearray(records.ljust(size, b'\0'))
    for start in range(0, len(content), size):
        for name, value in changes.items():
            at = ID if name == 'rank' else ID * (before + names.index(name))
            struct.pack_into('<q', content, start + at, value)
    return bytes(content)
