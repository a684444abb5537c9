"""Rules over the data of a write: as the engine describes them, as they lie in the files, as they are read back."""

import itertools
import zlib
from functools import partial
from typing import Dict, Mapping, NamedTuple, Optional, Tuple

from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records
from seatrial.model.units import approximate_size
from seatrial.rules.registry import CASE, WRITTEN, rule
from seatrial.workload.base import COLD
from seatrial.workload.registry import kind_of, phase_of
from seatrial.workload.words import counted, listed

_invalid = partial(rule, WRITTEN, 'invalid')

BLOCK = 4096  # bytes that are read in one place

PROOF = 'proof'  # stage of launches that write known data at the end of a case, and compare them

SENT_SHARE = 0.95  # the same share as COLD_SHARE in rules/launch.py
INCOMPRESSIBLE = 0.78
"""All blocks of a file together, perhaps one transfer, compress to this share of their size or more. fio draws a
factor of all words of a transfer at random (lib/rand.c), whose last bits are zeros now and then: of 262,144 transfers
237 compressed to less than 94 %, the worst to 79 %; others to 95 % or more (fio 3.33, zlib's level 1)."""
TELLING = 64  # bytes: fewer can be zeros, or alike, by chance
UNSYNCED_BYTES = 0.05  # share of all bytes: the last pages of a file that its engine grew after the sync
UNSYNCED_SHARE = 0.25  # share of the timed region
UNSYNCED_S, TIMES = 0.5, 4.0  # seconds, and times a sync of nothing: less can be the delay of a busy disk


class Block(NamedTuple):
    """Data in a file, named below the data directory, at an offset in bytes."""

    file: str
    offset: int
    data: bytes


class Contents(NamedTuple):
    blocks: Tuple[Block, ...]
    sync_s: float  # seconds of a sync of the files, right after the launch
    again_s: float  # seconds of one more sync
    # the share of their bytes that only this sync took out of the node's cache; 0 where no kernel shows it
    unsynced: float = 0.0
    missing: Mapping[str, int] = {}  # bytes without a block on the disk, by file, where that is known
    counted: bool = False  # unsynced is exact: the kernel shows it, and unsynced data lie in its cache alone


class Written(NamedTuple):
    """The data of a write, and counters beside them. Sizes in bytes."""

    plan: TrialPlan
    contents: Contents
    seconds: float  # length of the timed region
    repeats: str = ''  # a clause that names repeated data, as the engine knows them, or empty
    claimed: int = 0  # written by the tasks of this node, as the engine reports it
    sent: Optional[int] = None  # bytes that the node sent to the storage, for all processes; None: no counters


@_invalid(
    'T22: What was written lies in the files',
    'the engine did not write these bytes, or the storage lost them',
    'engines that moved half of the bytes, left a task out or worked elsewhere and grew the files (seen)',
)
def no_zeros(written: Written) -> Optional[str]:
    for block in written.contents.blocks:
        if len(block.data) >= TELLING and not any(block.data):
            return f'{block.file} holds zeros at {block.offset} B'
    for file, size in written.contents.missing.items():
        return f'{size} B of {file} have no block on the disk'
    return None


@_invalid(
    'T23: After a synced write nothing is left to sync',
    'use an engine that syncs its files inside the timed region',
    'an engine that says fsync and does none (seen)',
)
def nothing_left_to_sync(written: Written) -> Optional[str]:
    contents = written.contents
    if contents.unsynced > UNSYNCED_BYTES:
        return f'{100 * contents.unsynced:.0f} % of the bytes were still to be written back when the launch had ended'
    # A sync also waits for what others write to the disk: half a second of an honest launch was theirs (seen).
    allowed_s = max(UNSYNCED_SHARE * written.seconds, UNSYNCED_S, TIMES * contents.again_s)
    if contents.counted or contents.sync_s - contents.again_s <= allowed_s:
        return None
    return (
        f'syncing the files after the launch took {contents.sync_s:.2f} s and {contents.again_s:.2f} s once more, '
        f'where {written.seconds:.2f} s were timed'
    )


@_invalid(
    'T25: What a node has written and synced has left it, by the counters of its client or device',
    'the engine wrote less than it says, or something on the node keeps what was synced',
    'engines that moved half of the bytes (seen); P2 asks as much of a cold read',
)
def sent_what_is_claimed(written: Written) -> Optional[str]:
    if written.sent is None or written.sent >= SENT_SHARE * written.claimed:
        return None
    return f'{written.claimed} B are said to be written on this node, and {written.sent} B left it'


@_invalid(
    'P4: The data do not compress',
    'use an engine that writes random data, or declare compresses: false in trial.yaml',
    'IO500 rules; ZFS compresses and deduplicates',
)
def incompressible(written: Written) -> Optional[str]:
    if written.plan.target.compresses is False:
        return None
    for file, blocks in itertools.groupby(written.contents.blocks, key=lambda block: block.file):
        data = [block.data for block in blocks if block.data]
        ratio = sum(len(zlib.compress(piece, 1)) for piece in data) / float(sum(map(len, data)) or 1)
        if data and ratio < INCOMPRESSIBLE:
            return f'the data of {file} compress to {100 * ratio:.0f} %, looked at in {len(data)} places'
    return None


_invalid(
    'P4a: On a back end that deduplicates, no two places hold the same data',
    'use an engine whose data do not repeat: fio',
    'IO500 rules; IOR 4.0.0 -l random repeats every 128 MiB, where rand_r(3) is alike for its seeds (utilities.c)',
)(lambda written: _repeated(written) if written.plan.target.deduplicates else None)
rule(
    WRITTEN,
    'label',
    'P4b: It is known whether the back end deduplicates, or no two places hold the same data',
    'say deduplicates: true or false in trial.yaml; data that repeat cost such a back end next to nothing',
    'as P4a',
)(lambda written: _repeated(written) if written.plan.target.deduplicates is None else None)
rule(
    CASE,
    'fail',
    'F2: What was written and synced is read back as it was, byte for byte',
    'the storage lost or changed data; the file is kept: look at it there, then `seatrial clean`',
    'write(2), fsync(2); data of a known content, read by another node, else past the cache',
)


def verified(records: Records) -> str:
    """Words behind 'contents': how much was proved; empty where nothing was, or where F2 names a difference."""
    launches = [sample for sample in records.samples if sample.stage == PROOF]
    if not launches:
        return ''
    last = launches[-1]
    wrong = [finding for finding in last.findings if finding.effect != 'label']
    if wrong:
        return '' if wrong[0].rule == 'F2' else f'not verified: {wrong[0].rule}: {wrong[0].sentence}'
    if not phase_of(last.point, last.phase).reads or last.measurement is None:
        return 'not verified: what was written was not read back'
    files = kind_of(last.point.kind).files(last.point)
    compared, whole = last.measurement.bytes_moved, sum(file.size for file in files)
    share = '' if compared == whole else f' ({100.0 * compared / whole:.2g} %)'
    if last.point.nodes > 1:
        how = 'each part by another than wrote it'
    else:
        how = 'past its cache' if last.cache == COLD else 'perhaps from its cache'
    return (
        f'verified: {approximate_size(compared)} of {approximate_size(whole)}{share} in '
        f'{counted(len(files), "file")}, read by {listed(last.measurement.hosts)}, {how}'
    )


def _repeated(written: Written) -> Optional[str]:
    if written.repeats:
        return f'the engine writes the same data in two places: {written.repeats}'
    seen: Dict[bytes, Block] = {}
    for block in written.contents.blocks:
        twin = seen.setdefault(block.data, block)
        if twin is not block and len(block.data) >= TELLING:
            one, other = (f'{place.offset} B of {place.file}' for place in (twin, block))
            return f'the same data lie at {one} and at {other}'
    return None
