"""The data in the files after a timed write: a few blocks of each, at places that no engine can foresee."""

import contextlib
import ctypes
import mmap
import os
import random
import time
from typing import Dict, Iterator, List

from seatrial.engine.proof import read_past_cache
from seatrial.rules.contents import BLOCK, Block, Contents

MAX_FILES = 64
MAX_BLOCKS, BLOCKS_PER_FILE = 256, 16
LARGE_PAGE = 2 << 20  # bytes that one changed byte makes dirty, at most: a large folio (ext4 and XFS of Linux 6.18)
CACHESTAT = 451  # asm-generic/unistd.h; Linux 6.5


def contents(directory: str, sizes: Dict[str, int], allocated: bool = False) -> Contents:
    """Blocks at random places of equal parts of these regular files (by name, with their size), read past the cache
    where possible. Before, the files are synced twice: if the first sync takes longer and writes back, the writer had
    not synced. Raises OSError with the file. allocated: stat(2)'s blocks show what was written."""
    rng = random.SystemRandom()
    written = sorted(name for name, size in sizes.items() if size)
    chosen = sorted(rng.sample(written, min(MAX_FILES, len(written))))
    parts = min(BLOCKS_PER_FILE, MAX_BLOCKS // max(1, len(chosen)))
    blocks: List[Block] = []
    with contextlib.ExitStack() as opened:
        page = opened.enter_context(contextlib.closing(mmap.mmap(-1, BLOCK)))  # O_DIRECT wants it aligned
        whole = opened.enter_context(memoryview(page))
        files = {name: os.open(os.path.join(directory, name), os.O_RDONLY | os.O_NOFOLLOW) for name in chosen}
        for descriptor in files.values():
            opened.callback(os.close, descriptor)
        dirty = _dirty_bytes(files)
        took_s = _sync_s(files), _sync_s(files)
        still = _dirty_bytes(files)
        written_back = {name: bytes_before - still.get(name, 0) for name, bytes_before in dirty.items()}
        # A single page can be a library's header, written when it closes the file.
        synced = sum(size for name, size in written_back.items() if size > min(LARGE_PAGE, sizes[name] // 4))
        for name, descriptor in files.items():
            for offset in _places(sizes[name], parts, rng):
                with _named(name):
                    there, _ = read_past_cache(descriptor, offset, whole)
                blocks.append(Block(name, offset, page[:there]))
        taken = {name: 512 * os.fstat(files[name]).st_blocks for name in files if allocated}
    missing = {name: sizes[name] - taken[name] for name in sorted(taken) if sizes[name] - taken[name] > BLOCK}
    unsynced = synced / (sum(sizes[name] for name in chosen) or 1)
    return Contents(tuple(blocks), *took_s, unsynced, missing, allocated and bool(dirty))


class _Range(ctypes.Structure):
    _fields_ = [('offset', ctypes.c_uint64), ('length', ctypes.c_uint64)]


class _CacheStat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('cache', 'dirty', 'writeback', 'evicted', 'recently_evicted')]


def _dirty_bytes(files: Dict[str, int]) -> Dict[str, int]:
    """Bytes of these open files that this node has yet to write back, by cachestat(2) of Linux 6.5; {}: unknown."""
    dirty = {}
    for name, descriptor in files.items():
        seen = _CacheStat()
        if ctypes.CDLL(None).syscall(CACHESTAT, descriptor, ctypes.byref(_Range()), ctypes.byref(seen), 0) != 0:
            return {}
        dirty[name] = (seen.dirty + seen.writeback) * mmap.PAGESIZE
    return dirty


def _sync_s(files: Dict[str, int]) -> float:
    began = time.monotonic()
    for name, descriptor in files.items():
        with _named(name):
            os.fsync(descriptor)
    return time.monotonic() - began


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """An error of a call on its descriptor gets the name of the file."""
    try:
        yield
    except OSError as error:
        error.filename = file
        raise


def _places(size: int, parts: int, rng: random.Random) -> Iterator[int]:
    """Offsets of whole blocks, the last of which may be cut short by the end of the file."""
    blocks = -(-size // BLOCK)
    parts = min(parts, blocks)
    for part in range(parts):
        yield BLOCK * rng.randrange(blocks * part // parts, blocks * (part + 1) // parts)
