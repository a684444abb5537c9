"""The rows of the history: one a measured launch, as a table that any reader of Parquet understands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import polars as pl

from seatrial.model.namespace import cache_of
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Measurement, Records, Sample
from seatrial.model.tree import TreeMeasurement
from seatrial.model.work import Place, sized, unit
from seatrial.model.workload import TOGETHER, Point

SCHEMA = 3
"""The version of the columns. A reader refuses a higher one; a column is never given another meaning."""

COLUMNS: dict[str, Any] = {
    'schema': pl.Int32,
    'seatrial': pl.String,
    'session': pl.String,
    'session_started': pl.Datetime('us', 'UTC'),
    'session_verdict': pl.String,
    'site': pl.String,
    'profile': pl.String,
    'check': pl.String,
    'partition': pl.String,
    'file_system': pl.String,
    'file_system_type': pl.String,
    'layout': pl.String,
    'nodes': pl.Int64,
    'case_verdict': pl.String,
    'engine': pl.String,
    'engine_version': pl.String,
    'host': pl.String,
    'hosts': pl.String,
    'kernel': pl.String,
    'metric': pl.String,
    'metric_verdict': pl.String,
    'metric_why': pl.String,
    'operation': pl.String,
    'point': pl.String,
    'axis': pl.String,
    'tasks': pl.Int64,
    'transfer_size': pl.Int64,
    'bytes_per_client': pl.Int64,
    'files_per_client': pl.Int64,
    'repetition': pl.Int64,
    'block': pl.Int64,
    'started': pl.Datetime('us', 'UTC'),
    'seconds': pl.Float64,
    'bytes_moved': pl.Int64,
    'bandwidth_mib_s': pl.Float64,
    'value': pl.Float64,
    'unit': pl.String,
    'cache': pl.String,
    'valid': pl.Boolean,
    'rules': pl.String,
    'engine_build': pl.String,
    'mpi': pl.String,
    'launcher': pl.String,
    'modules': pl.String,
    'client_version': pl.String,
    'commit': pl.String,
    'reframe': pl.String,
    'selection': pl.String,
}
"""Every column in its order, with its type; docs/report.md says what they mean."""

SINCE: dict[int, tuple[str, ...]] = {
    2: ('engine_build', 'mpi', 'launcher', 'modules', 'client_version', 'commit', 'reframe'),
    3: ('selection',),
}
"""The columns that a version of the schema added; rows of an earlier one have no value there."""


OF_ONE_SESSION = (pl.col('axis').fill_null('') == 'group') & (pl.col('point').fill_null('') != TOGETHER)
"""Rows of the groups of a node sweep: formed from the nodes that a session is given, they are others in the next."""


@dataclass(frozen=True)
class Kept:
    """What the history keeps of one case.

    samples: the measured launches that count, by metric; verdict, metrics: the verdict words of the case and of each
    of its metrics, the latter with the reason
    """

    plan: TrialPlan
    records: Records
    samples: Mapping[str, Sequence[Sample]]
    verdict: str
    metrics: Mapping[str, tuple[str, str]]


def table(
    session: str, started: datetime, site: str, verdict: str, cases: Sequence[Kept], only: Sequence[str] = ()
) -> pl.DataFrame:
    """The rows of a session; started: its beginning, with a time zone; verdict: the session's.

    only: the names of checks or families that it was restricted to; empty: it asked for all that the profile has.
    A planned metric without a launch has one row without figures, so that what is missing is seen here too.
    """
    common = {
        'schema': SCHEMA,
        'session': session,
        'session_started': started.astimezone(timezone.utc),
        'session_verdict': verdict,
        'site': site,
        'selection': ' '.join(only),
    }
    rows = [{**common, **row} for case in cases for row in _case_rows(case)]
    return pl.DataFrame([[row[name] for name in COLUMNS] for row in rows], schema=COLUMNS, orient='row')


def _case_rows(kept: Kept) -> Iterator[dict[str, Any]]:
    plan, start = kept.plan, kept.records.start
    case = {
        'seatrial': plan.seatrial,
        'profile': plan.profile,
        'check': plan.case.check,
        'partition': plan.case.partition,
        'file_system': plan.case.file_system,
        'file_system_type': plan.target.type,
        'layout': plan.case.layout,
        'nodes': plan.case.nodes,
        'case_verdict': kept.verdict,
        'engine': start.engine if start else None,
        'engine_version': start.version if start else None,
        'host': start.host if start else None,
        'kernel': start.kernel if start else None,
        'axis': plan.axis,
        'engine_build': start.provenance.build if start else None,
        'mpi': start.provenance.mpi if start else None,
        'launcher': start.provenance.launcher if start else None,
        'modules': ' '.join(start.provenance.modules) if start else None,
        'client_version': start.state.get('client version', '') if start else None,
        'commit': plan.commit,
        'reframe': plan.reframe,
    }
    points = {point.label: point for point in plan.points}
    for name in plan.metrics:
        operation, _, label = name.partition('@')
        verdict, why = kept.metrics[name]
        metric = {
            'metric': name,
            'metric_verdict': verdict,
            'metric_why': why,
            'operation': operation,
            'point': label,
            'tasks': points[label].tasks,
            'unit': unit(plan.workload),
        }
        for sample in kept.samples.get(name, ()):
            yield {**case, **metric, **_size(points[label], plan.axis, sample), **_launch(sample, operation)}
        if not kept.samples.get(name):
            yield {**case, **metric, **_NO_SIZE, **_NO_LAUNCH}


def _size(planned: Place, axis: str, sample: Sample) -> dict[str, Any]:
    point = sized(planned, axis, sample.per_client)
    if isinstance(point, Point):
        return {**_NO_SIZE, 'transfer_size': point.transfer_size, 'bytes_per_client': point.bytes_per_client}
    return {**_NO_SIZE, 'files_per_client': (point.entries.files or point.entries.empties) // point.tasks}


_NO_SIZE: dict[str, Any] = dict.fromkeys(('transfer_size', 'bytes_per_client', 'files_per_client'))


def _launch(sample: Sample, name: str) -> dict[str, Any]:
    """One metric of a launch. Of a rate, seconds are those of its own phase."""
    measurement = sample.measurement
    moved = measurement if isinstance(measurement, Measurement) else None
    rates = measurement.rates if isinstance(measurement, TreeMeasurement) else ()
    own = next((rate for rate in rates if rate.metric == name), moved)
    return {
        'repetition': sample.repetition,
        'block': sample.block,
        'started': datetime.fromtimestamp(sample.started, timezone.utc),
        'seconds': own.seconds if own else None,
        'bytes_moved': moved.bytes_moved if moved else None,
        'bandwidth_mib_s': sample.figures.get(name) if moved else None,
        'value': sample.figures.get(name),
        'hosts': ' '.join(measurement.hosts) if measurement else None,
        'cache': cache_of(name, sample.cache),
        'valid': sample.valid,
        'rules': ' '.join(dict.fromkeys(finding.rule for finding in sample.findings)),
    }


_NO_LAUNCH: dict[str, Any] = {
    **dict.fromkeys(
        (
            'repetition',
            'block',
            'started',
            'seconds',
            'bytes_moved',
            'bandwidth_mib_s',
            'value',
            'hosts',
            'cache',
        )
    ),
    'valid': False,
    'rules': '',
}
