"""Sessions as the history has them, for the tests of scheduled trials."""

import functools
import os
import random
import subprocess
import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl

from seatrial.history.rows import COLUMNS, SCHEMA, summary
from seatrial.report.nights.trend import Nights, gathered
from seatrial.site.calendar import Calendar

CASE = {'partition': 'lab:io', 'file_system': 'scratch', 'layout': 'default', 'nodes': 2}
WHERE = 'lab:io/scratch/default/2n'


def session(began: datetime) -> str:
    """The name of a session that began then."""
    return f'{began.astimezone(timezone.utc):%Y%m%dT%H%M%S}-00000a'


def rows(
    began: datetime,
    verdict: str,
    cases: Mapping[str, tuple[str, Mapping[str, str]]],
    *,
    site: str = 'site',
    profile: str = 'nightly',
    why: str = 'because',
    selection: str | None = None,
) -> pl.DataFrame:
    """A session. selection: None as in a history that does not have it yet; cases: by the check's name the verdict of
    the case, and by their names those of its metrics.

    Each metric has one launch of 90 s, that began a minute after the session; one that is INCOMPLETE has none.
    """
    utc = began.astimezone(timezone.utc)
    common = {**_session(began, site, profile), **CASE, 'session_verdict': verdict, 'selection': selection}
    launched = {'started': utc + timedelta(minutes=1), 'seconds': 90.0}
    records = [
        {
            **(common if of_metric == 'INCOMPLETE' else {**common, **launched}),
            'check': check,
            'case_verdict': of_case,
            'metric': metric,
            'metric_verdict': of_metric,
            'metric_why': '' if of_metric == 'PASS' else why,
        }
        for check, (of_case, metrics) in cases.items()
        for metric, of_metric in metrics.items()
    ]
    return frame(records)


def _session(began: datetime, site: str, profile: str) -> dict[str, Any]:
    started, name = began.astimezone(timezone.utc), session(began)
    return {'schema': SCHEMA, 'session': name, 'session_started': started, 'site': site, 'profile': profile}


def frame(records: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of the history; a column that a record lacks is null."""
    return pl.DataFrame([[row.get(name) for name in COLUMNS] for row in records], schema=COLUMNS, orient='row')


def plain(began: datetime, verdict: str, **others: Any) -> pl.DataFrame:
    """A session of one case with one metric, which alone makes the verdict."""
    return rows(began, verdict, {'Check': (verdict, {'write@1': verdict})}, **others)


def wait_until_opened(process: 'subprocess.Popen[Any]', file: Path) -> None:
    """Return once a process, which must not end before, has this file open."""
    while str(file) not in map(os.path.realpath, Path(f'/proc/{process.pid}/fd').iterdir()):
        assert process.poll() is None
        time.sleep(0.01)


def figures(
    began: datetime, metrics: Mapping[str, list[float]], verdict: str = 'MEASURED', **columns: Any
) -> pl.DataFrame:
    """A valid session of one check of data whose metrics have these samples; columns: further columns of its rows."""
    utc = began.astimezone(timezone.utc)
    verdicts = dict.fromkeys(('session_verdict', 'case_verdict', 'metric_verdict'), verdict)
    of_case = {**CASE, 'check': 'Check', 'file_system_type': 'posix', 'engine': 'fio', 'tasks': 2, 'host': 'node1'}
    of_metric = {'kind': 'access', 'axis': 'transfer_size', 'unit': 'B/s', 'better': 'higher', 'steers': True}
    launched = {'started': utc, 'valid': True, 'hosts': 'node1 node2', 'rules': '', 'metric_why': '', 'label': ''}
    common = {**_session(began, 'site', 'nightly'), **verdicts, **of_case, **of_metric, **launched, **columns}
    records = [
        {
            **common,
            'metric': metric,
            'operation': metric.partition('@')[0],
            'point': metric.partition('@')[2],
            'value': value,
            'repetition': number,
        }
        for metric, values in metrics.items()
        for number, value in enumerate(values)
    ]
    return frame(records)


DUE = Calendar(2, 0).after(datetime.now().astimezone() - timedelta(days=366), 365)
"""Of the nights, the last of which is this morning's."""

DEAD = range(250, 264)
FLAPPING = range(120, 141)
WRITES_WORSE, METADATA_WORSE, UPGRADE = 60, 200, 290


@functools.cache
def year() -> Mapping[int, pl.DataFrame]:
    """The rows of every night by its number, without the nights on which nothing ran."""
    rng = random.Random(5)
    return {number: _night(rng, number) for number in range(len(DUE)) if number not in DEAD}


def _night(rng: random.Random, number: int) -> pl.DataFrame:
    """Writes are slower from one night on, opens from another, reads faster with an upgrade; some are INVALID."""
    level = 1 + rng.gauss(0, 0.03)
    times = {
        'write': 0.85 if number >= WRITES_WORSE else 1.0,
        'read': 1.15 if number >= UPGRADE else 1.0,
        'open': 0.8 if number >= METADATA_WORSE else 1.0,
    }
    verdict = 'INVALID' if number in FLAPPING and number % 2 else 'MEASURED'
    kernel = '6.1' if number < UPGRADE else '6.8'
    tables = []
    for name, share in times.items():
        values = {f'{name}@{point}': [1e8 * level * share * (1 + rng.gauss(0, 0.02))] * 2 for point in range(2)}
        more = {'unit': 'op/s', 'kind': 'metadata', 'check': 'Opens'} if name == 'open' else {}
        tables.append(figures(DUE[number], values, verdict, kernel=kernel, **more))
    return pl.concat(tables)


def nights_in(rows: pl.DataFrame) -> Nights:
    """The nights in a table of rows that is in memory."""
    return gathered([summary(rows)], lambda names: rows.filter(pl.col('session').is_in(names)))
