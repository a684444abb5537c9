"""posixops, limits: all tasks write until a quota or the file system refuses more, and then compare the data.

Of bytes, a task writes records of a known content to a file of its own and syncs each; of inodes, it makes empty
files in a directory of its own. All bytes before a sync that returned are acknowledged. A task of
another node, if there is one, compares all of them, past the cache if possible: missing or changed bytes are lost
data (rule F2), and stay. Then all is removed, and a task writes again.
"""

import contextlib
import errno
import json
import os
import time
from typing import Dict, Iterator, List, NamedTuple, Tuple

from seatrial.engine.base import EngineError
from seatrial.engine.posixops.semantics import counted
from seatrial.engine.posixops.work import Guarantee, Part, Spec, Work, opened
from seatrial.engine.proof import damage, data_of, differs, read_there, window_of
from seatrial.model.metric import Fact
from seatrial.workload.access import numbered_file
from seatrial.workload.limits import BEYOND, OVER, TAKEN, UNUSED, WORDS, counted_in, of_quota, room_of

RECORD = 1_000_003  # bytes: no multiple of a block, so that the limit lies within a record
OWN = {'bytes': 1 << 20, 'inodes': 8}  # taken by the run directory since the limit was read
AGAIN_S = 60.0  # seconds until removed space can be used again: some file systems free it later
REFUSALS = (errno.EDQUOT, errno.ENOSPC)

LIMITS: Tuple[Guarantee, ...] = (
    Guarantee(
        'refused', 'what a limit does not allow is refused, with its errno', 1, 'POSIX.1 write(), EDQUOT, ENOSPC'
    ),
    Guarantee('within', 'no more is acknowledged than the limit leaves', 1, 'quotactl(2), dqb_bhardlimit'),
    Guarantee('reached', 'nothing is refused that the limit allows', 1, 'quotactl(2), dqb_bhardlimit'),
    Guarantee('nothing_behind', 'nothing follows what was acknowledged that nobody wrote', 1, 'POSIX.1 write()'),
    Guarantee('again', 'what was removed can be used again', 1, 'POSIX.1 unlink()'),
)
"""The facts of a limit that was reached. What was acknowledged and is not whole is a failure (rule F2)."""


class Taken(NamedTuple):
    """The bytes or inodes that a task has taken."""

    sure: int = 0  # acknowledged
    tried: int = 0  # acknowledged or not: the most that may exist
    used: int = 0  # part of it that the limit counts
    refused: str = ''  # the errno's name
    late: bool = False  # whether its time ended before the limit


def carry_out(work: Work, spec: Spec) -> None:
    """One task's part. Raises OSError of any other errno than those of a limit, EngineError F2 and BarrierError."""
    phase, point = spec.phase, spec.point
    what, room = counted_in(phase), room_of(point)
    key = work.barrier.exchange('agree on a key', os.urandom(16).hex() if work.rank == 0 else '')[0]
    most, end_s = -(-(room + OVER[what]) // work.tasks), time.monotonic() + point.time.duration_s
    work.doing = f'write until {what} are refused'
    mine = (_take_bytes if what == 'bytes' else _take_inodes)(key, work.rank, most, end_s)
    answers = work.barrier.exchange('be refused', json.dumps(mine))
    taken = [Taken(*json.loads(answers[rank])) for rank in range(work.tasks)]
    work.doing = 'compare what another task has written'
    other = (work.rank + point.tasks_per_node) % work.tasks
    compare = _compare_bytes if what == 'bytes' else _compare_inodes
    strange = work.barrier.exchange('compare', str(compare(work, key, other, taken[other])))
    work.doing = 'remove what it has written'
    _remove(work.rank)
    work.barrier.exchange('remove')
    work.doing = 'write again'
    again = work.barrier.exchange('write again', _again(key, what, work.rank) if work.rank == 0 else '')[0]
    sure, used = sum(task.sure for task in taken), sum(task.used for task in taken)
    work.counts = {'limit': {TAKEN: sure, BEYOND: max(0, sure - room), UNUSED: max(0, room - max(sure, used))}}
    work.facts = _facts(phase, room, taken, sum(map(int, strange.values())), again, work.counts['limit'])


def _facts(
    phase: str, room: int, taken: List[Taken], strange: int, again: str, counts: Dict[str, int]
) -> Tuple[Fact, ...]:
    """The facts in the order of LIMITS. again: a clause, which begins with 'not' where writing does not work."""
    what = counted_in(phase)
    names = sorted({task.refused for task in taken if task.refused})
    wanted = {'EDQUOT', 'ENOSPC'} if of_quota(phase) else {'ENOSPC'}
    slack = OWN[what] + len(taken) * (RECORD if what == 'bytes' else 1)
    late = not names and any(task.late for task in taken)
    amounts = f'{counts[TAKEN]} {what} were accepted, and the limit left {room}'
    refused = f'the call failed with {" and ".join(names)}'
    if not names:
        refused = f'{amounts}: no call was refused' + (' within the time budget' if late else '')
    observations = (
        (None if late else bool(names) and set(names) <= wanted, refused),
        (counts[BEYOND] == 0, amounts),
        (None if not names else counts[UNUSED] <= slack, f'{amounts}; {counts[UNUSED]} could not be used'),
        (strange == 0, f'{strange} {what} more are there that nobody wrote'),
        (not again.startswith('not'), again),
    )
    return tuple(Fact(guarantee.name, *seen) for guarantee, seen in zip(LIMITS, observations))


@contextlib.contextmanager
def _refusal(names: List[str]) -> Iterator[None]:
    """Adds the errno's name to `names` where a limit refuses a call inside; the rest of the body is skipped."""
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        names.append(errno.errorcode[error.errno])


def _take_bytes(key: str, rank: int, most: int, end_s: float) -> Taken:
    sure = tried = used = 0
    name, late = numbered_file(rank), False
    names: List[str] = []
    with _refusal(names), opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
        while sure < most and not names and not late:
            record = memoryview(data_of(key, name, sure, RECORD))
            tried, written = sure + RECORD, 0
            with _refusal(names):
                while written < RECORD:
                    written += os.write(descriptor, record[written:])
            with _refusal(names):
                os.fdatasync(descriptor)
                sure += written
            late = time.monotonic() > end_s
        used = os.fstat(descriptor).st_blocks * 512
    return Taken(sure, tried, used, ''.join(names[:1]), late)


def _take_inodes(key: str, rank: int, most: int, end_s: float) -> Taken:
    made, late = 0, False
    names: List[str] = []
    with _refusal(names):
        os.mkdir(_directory(rank))
        made = 1
        while made < most and not late:
            with opened(f'{_directory(rank)}/f{made}', os.O_WRONLY | os.O_CREAT | os.O_EXCL):
                made += 1
            late = time.monotonic() > end_s
    if made:
        with opened(_directory(rank), os.O_RDONLY) as descriptor:
            os.fsync(descriptor)
    return Taken(made, made, made, ''.join(names[:1]), late)


def _compare_bytes(work: Work, key: str, rank: int, taken: Taken) -> int:
    """Number of bytes behind the sure ones that differ from the attempt. Raises EngineError F2, and OSError."""
    name, window, strange, at = numbered_file(rank), window_of(RECORD), 0, 0
    if not taken.tried:
        return 0
    with opened(name, os.O_RDONLY) as descriptor:
        size = os.fstat(descriptor).st_size
        while at < max(size, taken.sure):
            content, _ = read_there(descriptor, at, RECORD, window)
            # No write begins after the last one that was tried: no task wrote the data there.
            meant = data_of(key, name, at, RECORD) if at < taken.tried else b''
            sure = max(0, min(taken.sure - at, RECORD))
            if content[:sure] != meant[:sure]:
                seen = differs(name, at, meant[:sure], content[:sure])
                raise EngineError('F2', *damage(seen, work.hosts[rank], work.hosts[work.rank]))
            if content != meant[: len(content)]:
                strange += len(content) - sure
            at += RECORD
    return strange


def _compare_inodes(work: Work, key: str, rank: int, taken: Taken) -> int:
    """Number of names that no task made. Raises EngineError F2, and OSError."""
    names = set(os.listdir(_directory(rank))) if taken.sure else set()
    made = {f'f{number}' for number in range(1, taken.sure)}
    lost = sorted(made - names)
    if lost:
        file = f'{_directory(rank)}/{lost[0]}'
        raise EngineError('F2', f'{file} was created but is missing, with {len(lost) - 1} more', {'file': file})
    return len(names - made)


def _remove(rank: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(numbered_file(rank))
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(_directory(rank)):
            os.unlink(f'{_directory(rank)}/{name}')
        os.rmdir(_directory(rank))


def _again(key: str, what: str, rank: int) -> str:
    """Tries to write one record, or make one file, as soon as possible; returns the result as a clause."""
    began_s = time.monotonic()
    while True:
        took_s = time.monotonic() - began_s
        got = _take_bytes(key, rank, 1, 0.0) if what == 'bytes' else _take_inodes(key, rank, 2, 0.0)
        _remove(rank)
        if not got.refused:
            return f'as soon as {took_s:.1f} s after the removal'
        if took_s > AGAIN_S:
            return f'not within {AGAIN_S:g} s after the removal: {got.refused}'
        time.sleep(0.5)


def _directory(rank: int) -> str:
    return f'd{rank}'


PART = Part(carry_out, facts=dict.fromkeys(WORDS, LIMITS), measured=counted, hosts_from=1)
