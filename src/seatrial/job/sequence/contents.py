"""The data in the files after a timed write: a few blocks of each, at places that no engine can foresee."""

import contextlib
import ctypes
import mmap
import os
import random
import time
from typing import Collection, Dict, Iterator, List, Optional

from seatrial.engine.proof import read_past_cache
from seatrial.rules.contents import BLOCK, Block, Contents

MAX_FILES = 64
MAX_BLOCKS, BLOCKS_PER_FILE = 256, 16
CACHESTAT = 451  # asm-generic/unistd.h; Linux 6.5


def contents(directory: str, sizes: Dict[str, int], allocated: bool = False) -> Contents:
    """Blocks at random places of equal parts of these regular files (by name, with their size), read past the cache
    where possible. Before, the files are synced twice: if the first sync takes longer and writes back, the writer had
    not synced. Raises OSError. allocated: stat(2)'s blocks show what was written."""
    rng = random.SystemRandom()
    written = sorted(name for name, size in sizes.items() if size)
    chosen = rng.sample(written, min(MAX_FILES, len(written)))
    parts = min(BLOCKS_PER_FILE, MAX_BLOCKS // max(1, len(chosen)))
    blocks: List[Block] = []
    with contextlib.ExitStack() as opened:
        page = opened.enter_context(contextlib.closing(mmap.mmap(-1, BLOCK)))  # O_DIRECT wants it aligned
        whole = opened.enter_context(memoryview(page))
        files = {name: os.open(os.path.join(directory, name), os.O_RDONLY | os.O_NOFOLLOW) for name in chosen}
        for descriptor in files.values():
            opened.callback(os.close, descriptor)
        dirty = _dirty_bytes(files.values())
        took_s = _sync_s(files.values()), _sync_s(files.values())
        synced = max(0, (dirty or 0) - (_dirty_bytes(files.values()) or 0))
        for name in sorted(files):
            for offset in _places(sizes[name], parts, rng):
                there, _ = read_past_cache(files[name], offset, whole)
                blocks.append(Block(name, offset, page[:there]))
        taken = {name: 512 * os.fstat(files[name]).st_blocks for name in files if allocated}
    missing = {name: sizes[name] - taken[name] for name in sorted(taken) if sizes[name] - taken[name] > BLOCK}
    unsynced = synced / (sum(sizes[name] for name in chosen) or 1)
    return Contents(tuple(blocks), *took_s, unsynced, missing, allocated and dirty is not None)


class _Range(ctypes.Structure):
    _fields_ = [('offset', ctypes.c_uint64), ('length', ctypes.c_uint64)]


class _CacheStat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('cache', 'dirty', 'writeback', 'evicted', 'recently_evicted')]


def _dirty_bytes(descriptors: Collection[int]) -> Optional[int]:
    """Bytes of these files that this node has yet to write back, by cachestat(2) of Linux 6.5; None: unknown."""
    pages = 0
    for descriptor in descriptors:
        seen = _CacheStat()
        if ctypes.CDLL(None).syscall(CACHESTAT, descriptor, ctypes.byref(_Range()), ctypes.byref(seen), 0) != 0:
            return None
        pages += seen.dirty + seen.writeback
    return pages * mmap.PAGESIZE


def _sync_s(descriptors: Collection[int]) -> float:
    began = time.monotonic()
    for descriptor in descriptors:
        os.fsync(descriptor)
    return time.monotonic() - began


def _places(size: int, parts: int, rng: random.Random) -> Iterator[int]:
    """Offsets of whole blocks, the last of which may be cut short by the end of the file."""
    blocks = -(-size // BLOCK)
    parts = min(parts, blocks)
    for part in range(parts):
        yield BLOCK * rng.randrange(blocks * part // parts, blocks * (part + 1) // parts)
