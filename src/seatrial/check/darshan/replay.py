"""Compares a replay with its application: the same counters of both logs, side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seatrial.check.darshan.logs import read_logs
from seatrial.check.darshan.part import FileSet, Underivable, bytes_of, main_part
from seatrial.check.derived import ALIKE, main_size, order_in, passes_in
from seatrial.filesystem.mounts import is_below
from seatrial.job.sequence.darshan import FOLDER, left_by
from seatrial.judge.issued import ALL, DarshanLog
from seatrial.model.issued import Done
from seatrial.model.units import format_size

SCALED = ('tasks', 'bytes a task', 'files a task')
"""Fields that the check, the site or a profile sets; all others belong to the access pattern."""


def replayed_in(case: Path) -> list[DarshanLog]:
    """The logs of each launch of a case that ran under Darshan. Raises LogError; Underivable if there are none."""
    folders = sorted(case.glob(f'raw/*{FOLDER}'))
    launches = [left for folder in folders if (left := left_by(str(folder).removesuffix(FOLDER))) and left.logs]
    if not launches:
        raise Underivable(f'{case} has no log of a launch under Darshan; name its library in trial.yaml, and run it')
    return [_one_log(read_logs([Path(log) for log in left.logs]), left.directory, left.links) for left in launches]


def compared(part: FileSet, replays: Sequence[DarshanLog]) -> list[tuple[str, str, str, str]]:
    """Rows: what is compared, both values, 'same', 'scaled' or 'differs'. Raises Underivable if not replayed."""
    rows = []
    for done in part.issued.done:
        moving = [log for log in replays if bytes_of(log.records, done.operation)]
        if not moving:
            raise Underivable(f'no launch of the replay has a {done.operation}')
        again = main_part(moving[-1], done.operation)
        replayed = _facts(again, again.issued.done[0])
        for what, wanted in _facts(part, done).items():
            seen = replayed[what]
            alike = wanted == seen
            if isinstance(wanted, float) and isinstance(seen, float):
                alike = abs(seen - wanted) <= ALIKE * wanted
            verdict = 'same' if alike else 'scaled' if what in SCALED else 'differs'
            rows.append((f'{done.operation}: {what}', _shown(wanted), _shown(seen), verdict))
    return rows


def _facts(part: FileSet, done: Done) -> dict[str, float | str]:
    issued, (size, share) = part.issued, main_size(part, done)
    extent, passes = passes_in(part, done)
    private, shared = issued.sharing == 'multiple', issued.sharing == 'single' and issued.tasks > 1
    return {
        'tasks': float(issued.tasks),
        'bytes a task': done.bytes_moved / issued.tasks,
        'size of transfers': format_size(size),
        '% of bytes in that size': 100 * share,
        'order': order_in(part, done, passes),
        'files': f'shared, {extent}' if shared else 'one task each',
        'files a task': issued.files / issued.tasks if private else 1.0,
        'times over': float(passes),
    }


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f'{value:.10g}'


def _one_log(logs: Sequence[DarshanLog], directory: str, links: dict[str, str]) -> DarshanLog:
    """The logs of single processes as one log: its tasks are those that moved bytes, and links are resolved."""
    records, processes = [], 0
    for log in logs:
        inside = [record for record in log.records if is_below(record.file, directory)]
        if len(logs) == 1 and not links:  # datasets go by the names of their files
            return replace(log, records=tuple(inside), mounts=())
        if len(logs) > 1 and not bytes_of(inside):
            continue
        for record in inside:
            name = record.file[len(directory) + 1 :]
            rank = record.rank if record.rank == ALL and len(logs) == 1 else max(0, record.rank) + processes
            records.append(replace(record, rank=rank, file=links.get(name, name)))
        processes += log.processes
    return replace(logs[0], processes=processes, records=tuple(records), mounts=())
