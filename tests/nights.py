"""Sessions as the history has them, for the tests of scheduled trials."""

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl

from seatrial.history.rows import COLUMNS, SCHEMA

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
    common = {
        'schema': SCHEMA,
        'session': session(began),
        'session_started': utc,
        'session_verdict': verdict,
        'site': site,
        'profile': profile,
        'selection': selection,
        **CASE,
    }
    found: list[dict[str, Any]] = []
    for check, (of_case, metrics) in cases.items():
        for metric, of_metric in metrics.items():
            launched = of_metric != 'INCOMPLETE'
            found.append(
                {
                    **common,
                    'check': check,
                    'case_verdict': of_case,
                    'metric': metric,
                    'metric_verdict': of_metric,
                    'metric_why': '' if of_metric == 'PASS' else why,
                    'started': utc + timedelta(minutes=1) if launched else None,
                    'seconds': 90.0 if launched else None,
                }
            )
    return pl.DataFrame([[row.get(name) for name in COLUMNS] for row in found], schema=COLUMNS, orient='row')


def plain(began: datetime, verdict: str, **others: Any) -> pl.DataFrame:
    """A session of one case with one metric, which alone makes the verdict."""
    return rows(began, verdict, {'Check': (verdict, {'write@1': verdict})}, **others)


def wait_until_opened(process: 'subprocess.Popen[Any]', file: Path) -> None:
    """Return once a process, which must not end before, has this file open."""
    while str(file) not in _opened_by(process.pid):
        assert process.poll() is None
        time.sleep(0.01)


def _opened_by(pid: int) -> list[str]:
    found = []
    for link in Path(f'/proc/{pid}/fd').iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(link))
    return found


def figures(
    began: datetime, metrics: Mapping[str, list[float]], verdict: str = 'MEASURED', **columns: Any
) -> pl.DataFrame:
    """A valid session of one check of data whose metrics have these samples; columns: what else its rows have."""
    common = {
        'schema': SCHEMA,
        'session': session(began),
        'session_started': began.astimezone(timezone.utc),
        'session_verdict': verdict,
        'site': 'site',
        'profile': 'nightly',
        **CASE,
        'check': 'Check',
        'case_verdict': verdict,
        'file_system_type': 'posix',
        'engine': 'fio',
        'metric_verdict': verdict,
        'metric_why': '',
        'kind': 'access',
        'axis': 'transfer_size',
        'unit': 'B/s',
        'better': 'higher',
        'steers': True,
        'tasks': 2,
        'valid': True,
        'label': '',
        'rules': '',
        'hosts': 'node1 node2',
        'host': 'node1',
        **columns,
    }
    found = [
        {
            **common,
            'metric': metric,
            'operation': metric.partition('@')[0],
            'point': metric.partition('@')[2],
            'value': value,
            'repetition': number,
            'started': began.astimezone(timezone.utc),
        }
        for metric, values in metrics.items()
        for number, value in enumerate(values)
    ]
    return pl.DataFrame([[row.get(name) for name in COLUMNS] for row in found], schema=COLUMNS, orient='row')
