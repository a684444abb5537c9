"""Reads Darshan logs in a separate process, and stores the access pattern of a case (rule P15)."""

import contextlib
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from seatrial.check.darshan import dump
from seatrial.engine.base import Engine
from seatrial.engine.registry import by_name
from seatrial.job.sequence.darshan import left_by
from seatrial.judge.issued import DarshanLog, Record, Unreplayed, issued_of
from seatrial.model.ask import ask
from seatrial.model.atomic_file import write_whole
from seatrial.model.codec import to_json
from seatrial.model.issued import ISSUED, DarshanLaunch, DarshanRun
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records, Sample
from seatrial.rules.issued import DARSHAN

READ_S = 120.0  # seconds to read one log, with the start of PyDarshan; the log of a Darshan repetition takes 2 s
MISSING = "PyDarshan is not installed; type pip install 'darshan>=3.4.7' in the environment of Seatrial"
SUMMARY = 'summary.html'
SHOWN = 200  # characters of an error message of PyDarshan


class LogError(Exception):
    """A log that cannot be used; the message is one sentence with the reason, without the file's name."""


def read_logs(files: Sequence[Path], limit_s: float = READ_S) -> list[DarshanLog]:
    """The contents of the logs. limit_s: for each log. Raises LogError; OSError if a file cannot be opened."""
    for file in files:
        with file.open('rb'):
            pass
    status, out, err = _run([sys.executable, '-m', dump.__name__, *map(str, files)], limit_s * len(files))
    complaint = next((line for line in err.splitlines() if line.startswith(dump.ERROR)), '')
    if status == dump.MISSING:
        raise LogError(MISSING)
    if status or complaint:
        last = complaint or next((line for line in reversed(err.splitlines()) if line.strip()), '')
        how = f'PyDarshan died of {signal.Signals(-status).name}' if status < 0 else 'PyDarshan cannot read it'
        raise LogError(f'it is not a Darshan 3 log, or a damaged one: {how}{f": {last[:SHOWN]}" if last else ""}')
    try:
        logs = [_log(line) for line in out.splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise LogError(f'PyDarshan gave an unexpected answer: {error!r}'[:SHOWN]) from None
    if len(logs) != len(files):
        raise LogError(f'PyDarshan reported on {len(logs)} logs instead of {len(files)}')
    return logs


def keep_darshan_run(plan: TrialPlan, records: Records) -> None:
    """Writes issued.json beside the records of a case that ran under Darshan, unless it exists. PyDarshan's summary
    of a launch with one log goes beside that log, but not in a smoke test, as it takes longer than measuring."""
    file = Path(plan.records) / ISSUED
    launches = [sample for sample in records.samples if sample.stage == DARSHAN]
    if not plan.darshan or file.exists() or not launches:
        return
    engine = by_name(records.start.engine, plan.kind) if records.start is not None else None
    run = DarshanRun(tuple(_darshan_launch(plan, sample, engine) for sample in launches))
    for sample in launches if not plan.stopping.fixed else ():
        left = left_by(_raw(plan, sample))
        if left is not None and len(left.logs) == 1:
            page = Path(left.logs[0]).with_name(SUMMARY)
            with contextlib.suppress(LogError):  # it is only for people: no verdict depends on it
                _run([sys.executable, '-m', 'darshan', 'summary', left.logs[0], '--output', str(page)], READ_S)
    write_whole(file, json.dumps(to_json(run), indent=1) + '\n')


def _darshan_launch(plan: TrialPlan, sample: Sample, engine: Engine | None) -> DarshanLaunch:
    def unseen(why: str) -> DarshanLaunch:
        return DarshanLaunch(sample.phase, sample.point, None, why)

    if engine is not None and engine.in_threads(sample.point):
        return unseen(f'the tasks of {engine.name} are threads of one process, which Darshan does not tell apart')
    left = left_by(_raw(plan, sample))
    if sample.measurement is None:
        return unseen(f'the launch failed: {sample.findings[0].sentence}' if sample.findings else 'the launch failed')
    if left is None or not left.logs:
        return unseen(f'no log was left; is {plan.darshan} on the node, and built for its MPI?')
    try:
        logs = read_logs([Path(log) for log in left.logs])
    except (LogError, OSError) as error:
        return unseen(f'its log: {error.strerror if isinstance(error, OSError) else error}')
    return DarshanLaunch(sample.phase, sample.point, issued_of(logs, left.directory, left.links))


def _raw(plan: TrialPlan, sample: Sample) -> str:
    return str(Path(plan.records) / 'raw' / sample.raw)


def _run(argv: Sequence[str], limit_s: float) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a process that may crash or hang. Raises LogError after this time."""
    answer = ask(['sh', '-c', 'ulimit -c 0; exec env LC_ALL=C.UTF-8 MPLBACKEND=Agg "$@"', 'sh', *argv], limit_s)
    if answer is None or answer.exit_status is None:
        raise LogError(f'PyDarshan did not end within {limit_s:.0f} s')
    return answer.exit_status, answer.stdout, answer.stderr


def _log(line: str) -> DarshanLog:
    data = json.loads(line)
    if data['form'] != dump.FORM:
        raise ValueError(f'form {data["form"]}')
    records, libraries = (tuple(Record(*row) for row in data[name]) for name in ('records', 'libraries'))
    unreplayed = tuple(Unreplayed(*row) for row in data['unreplayed'])
    mounts = tuple((path, kind) for path, kind in data['mounts'])
    return DarshanLog(data['version'], data['processes'], data['partial'], records, unreplayed, libraries, mounts)
