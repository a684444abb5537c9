"""The rows of the history: one for each measured launch, as a table that any reader of Parquet understands."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

import polars as pl

from seatrial.model.metric import HIGHER, LOWER, MetricType
from seatrial.model.plan import TrialPlan, metric
from seatrial.model.point import DataPart, Point
from seatrial.model.quoted_value import show
from seatrial.model.record import Records, Sample
from seatrial.model.units import UNITS
from seatrial.workload.base import Entries
from seatrial.workload.registry import kind_of, metrics_of
from seatrial.workload.sweep import ALL_NODES
from seatrial.workload.tree import levels_total
from seatrial.workload.words import binding_words

SCHEMA = 10  # the version of the columns: a reader refuses a higher one; the meaning of a column never changes

SINCE: dict[int, tuple[str, ...]] = {
    1: (
        *('schema', 'seatrial', 'session', 'session_started', 'session_verdict', 'site', 'profile', 'check'),
        *('partition', 'file_system', 'file_system_type', 'layout', 'nodes', 'case_verdict', 'engine'),
        *('engine_version', 'host', 'hosts', 'kernel', 'metric', 'metric_verdict', 'metric_why', 'operation'),
        *('point', 'axis', 'tasks', 'transfer_size', 'bytes_per_task', 'files_per_task', 'repetition', 'block'),
        *('started', 'seconds', 'bytes_moved', 'value', 'unit', 'cache', 'valid', 'rules'),
    ),
    2: ('engine_build', 'mpi', 'launcher', 'modules', 'client_version', 'commit', 'reframe'),
    3: ('selection',),
    4: (
        *('better', 'kind', 'phase', 'tasks_per_node', 'interface', 'direct', 'queue_depth', 'working_set'),
        'bytes_per_file',
    ),
    5: ('label', 'state', 'used_percent', 'environment', 'steers'),
    6: ('directory_bytes',),
    7: ('binding',),
    8: ('load_percent',),
    9: ('darshan',),
    10: ('pydarshan',),
}
"""The columns that each version of the schema added, in their order; rows of an earlier one have no value in them."""

_INTEGERS = (
    *('nodes', 'tasks', 'transfer_size', 'bytes_per_task', 'files_per_task', 'repetition', 'block', 'bytes_moved'),
    *('tasks_per_node', 'queue_depth', 'working_set', 'bytes_per_file', 'used_percent', 'directory_bytes'),
    'load_percent',
)
_TYPES: dict[str, Any] = {
    'schema': pl.Int32,
    **dict.fromkeys(_INTEGERS, pl.Int64),
    **dict.fromkeys(('seconds', 'value'), pl.Float64),
    **dict.fromkeys(('valid', 'direct', 'steers'), pl.Boolean),
    **dict.fromkeys(('session_started', 'started'), pl.Datetime('us', 'UTC')),
}
COLUMNS = {name: _TYPES.get(name, pl.String) for names in SINCE.values() for name in names}
"""Every column in its order, with its type; docs/reference/report.md explains them."""

BASE_UNITS_SINCE = 4
_RENAMED = {'bytes_per_task': 'bytes_per_client', 'files_per_task': 'files_per_client'}
_UNITS = {**UNITS, 'facts': UNITS['']}

NEEDED = (  # columns that have a value in every row of every schema
    *('session', 'session_started', 'session_verdict', 'site', 'profile', 'check', 'partition', 'file_system'),
    *('layout', 'nodes', 'case_verdict', 'metric', 'metric_verdict'),
)

VERDICTS: tuple[str, ...] = ('PASS', 'FAIL', 'INVALID', 'INCOMPLETE', 'INCONCLUSIVE', 'MEASURED')


def fault_in(rows: pl.DataFrame) -> str:
    """The reason why Seatrial cannot have written rows in today's form whose columns and types fit; or empty."""
    empty = rows.select(pl.col(NEEDED).null_count()).row(0)
    if any(empty):
        return f'rows have no {next(name for name, number in zip(NEEDED, empty, strict=True) if number)}'
    words = dict.fromkeys(('session_verdict', 'case_verdict', 'metric_verdict'), VERDICTS)
    words |= {'unit': tuple(base for base, _ in UNITS.values()), 'better': (HIGHER, LOWER)}
    odd = {name: ~pl.col(name).is_in(known) for name, known in words.items()}
    for name, present in zip(odd, rows.select(unknown.any() for unknown in odd.values()).row(0), strict=True):
        if present:
            word = rows.filter(odd[name])[name][0]
            return f'{name} is {show(word)}, which this Seatrial does not know; use a newer one'
    return ''


def columns_of(version: int) -> dict[str, Any]:
    """The columns of a version of the schema, in their order, with their types."""
    columns: dict[str, Any] = {}
    for name in (name for since, names in SINCE.items() if since <= version for name in names):
        if name == 'value' and version < BASE_UNITS_SINCE:
            columns['bandwidth_mib_s'] = pl.Float64  # the same value in MiB/s
        columns[_RENAMED.get(name, name) if version < BASE_UNITS_SINCE else name] = COLUMNS[name]
    return columns


def as_of_today(rows: pl.DataFrame, version: int) -> pl.DataFrame:
    """Rows of an earlier schema in today's form, so that a metric's series continues: MiB/s, ops/s and entries/s
    become B/s and op/s, '2clients' becomes '2tasks'. Labels of sweeps over numbers of transfers stay as they were."""
    if version < BASE_UNITS_SINCE:
        bases = {unit: base for unit, (base, _) in _UNITS.items()}
        factors = {unit: float(factor) for unit, (_, factor) in _UNITS.items()}
        client = r'(^|@)([a-z0-9-]*)client(s?)$'
        labels = (pl.col(name).str.replace(client, '$1${2}task$3') for name in ('metric', 'point'))
        rows = rows.drop('bandwidth_mib_s').rename({old: new for new, old in _RENAMED.items()})
        rows = rows.with_columns(
            pl.col('value') * pl.col('unit').replace_strict(factors, default=1.0),
            pl.col('unit').replace(bases),
            pl.col('axis').replace({'clients': 'tasks', 'group': 'node'}),
            pl.col('check').str.replace('Clients$', 'Tasks'),
            *labels,
        )
    rows = rows.with_columns(**{name: pl.lit(None, COLUMNS[name]) for name in COLUMNS if name not in rows.columns})
    return rows.with_columns(pl.lit(SCHEMA, COLUMNS['schema']).alias('schema'), pl.col('better').fill_null(HIGHER))


OF_ONE_SESSION = (pl.col('axis').fill_null('') == 'node') & (pl.col('point').fill_null('') != ALL_NODES)
"""Rows of the groups of a node sweep, which have other nodes in every session, depending on its allocation."""

OF_METRIC = ('check', 'partition', 'file_system', 'layout', 'nodes', 'metric', 'cache')
"""Columns that identify a row of a summary within its session."""

_FIRST = (
    *('schema', 'session', 'session_started', 'session_verdict', 'site', 'profile', 'selection', 'label', *OF_METRIC),
    *('case_verdict', 'engine', 'engine_version', 'metric_verdict', 'operation', 'point', 'axis', 'kind', 'unit'),
    *('better', 'steers'),
)
SUMMARY: dict[str, Any] = {**{name: COLUMNS[name] for name in _FIRST}, 'value': pl.Float64, 'launches': pl.Int64}
"""The columns of a summary. value: the mean of the valid values above zero; launches: number of measured launches"""


def needed_by(columns: Sequence[str]) -> list[str]:
    """The columns of rows needed for a summary with these columns and for fault_in()."""
    sources = {'value': ('value', 'valid'), 'launches': ('started',)}
    read = (name for column in columns for name in sources.get(column, (column,)))
    return list(dict.fromkeys(('schema', *NEEDED, 'unit', 'better', *read)))


def summary(rows: pl.DataFrame, columns: Sequence[str] = tuple(SUMMARY)) -> pl.DataFrame:
    """One row for each metric of each session. columns: those returned; rows equal in all of them become one"""
    usable = pl.col('valid') & (pl.col('value') > 0) & pl.col('value').is_finite()
    made = {
        # Other values become null: to filter them out in each group takes four times as long.
        'value': (pl.when(usable).then('value').alias('value'), pl.col('value').mean()),
        'launches': (pl.col('started'), pl.col('started').count().cast(pl.Int64).alias('launches')),
    }
    alike = [name for name in columns if name not in made]
    firsts, first_of = alike_in(rows, [name for name in ('session', *OF_METRIC) if name in columns], alike)
    wanted = [made[name] for name in made if name in columns]
    if wanted:
        launches = rows.select(*(source for source, _ in wanted), _of=first_of)
        figures = launches.group_by('_of').agg(figure for _, figure in wanted).sort('_of')
        firsts = firsts.with_columns(figures.drop('_of'))  # both have each `_of` once, in the same order
    return firsts.select(columns)


def alike_in(rows: pl.DataFrame, key: Sequence[str], columns: Sequence[str]) -> tuple[pl.DataFrame, pl.Series]:
    """The first row of each value of the key, in order, with these columns (including the key) and its number `_of`;
    and for every row the number of the first row with its key. Not all columns of a key may be null."""
    # Launches of a metric follow each other, so its key is looked up once for each run of rows, not for each row.
    same = (pl.col(name).eq_missing(pl.col(name).shift()) for name in key)
    begins = rows.select(~pl.all_horizontal(same)).to_series()
    runs = rows.select(columns).filter(begins).with_row_index('_run')
    runs = runs.with_columns(_of=pl.col('_run').first().over(key))
    return runs.filter(pl.col('_of') == pl.col('_run')), runs['_of'].gather(begins.cum_sum() - 1)


class Kept(NamedTuple):
    plan: TrialPlan
    records: Records
    samples: Mapping[str, Sequence[Sample]]  # measured launches that count, by metric
    verdict: str  # the value of a Verdict
    metrics: Mapping[str, tuple[str, str]]  # verdict and reason by metric


def table(
    session: str,
    started: datetime,
    site: str,
    verdict: str,
    cases: Sequence[Kept],
    only: Sequence[str] = (),
    label: str = '',
) -> pl.DataFrame:
    """The rows of a session. started: with a time zone; verdict: the session's; label: its name; only: the checks or
    families to which it was restricted. A planned metric without a launch has one row without figures."""
    common = {
        'schema': SCHEMA,
        'session': session,
        'session_started': started.astimezone(timezone.utc),
        'session_verdict': verdict,
        'site': site,
        'selection': ' '.join(only),
        'label': label,
    }
    rows = [{**common, **row} for case in cases for row in _case_rows(case)]
    return pl.DataFrame([[row.get(name) for name in COLUMNS] for row in rows], schema=COLUMNS, orient='row')


def _case_rows(kept: Kept) -> Iterator[dict[str, Any]]:
    plan, start = kept.plan, kept.records.start
    case: dict[str, Any] = {
        'seatrial': plan.seatrial,
        'profile': plan.profile,
        **plan.case._asdict(),
        'file_system_type': plan.target.type,
        'case_verdict': kept.verdict,
        'axis': plan.axis.name,
        'kind': plan.kind,
        'commit': plan.commit,
        'reframe': plan.reframe,
        'pydarshan': plan.pydarshan or None,
    }
    if start:
        case |= {
            'engine': start.engine,
            'engine_version': start.version,
            'host': start.host,
            'kernel': start.kernel,
            'engine_build': start.provenance.build,
            'mpi': start.provenance.mpi,
            'launcher': start.provenance.launcher,
            'modules': ' '.join(start.provenance.modules),
            'client_version': start.state.get('client version', ''),
            'state': json.dumps(start.state, sort_keys=True),
            'used_percent': start.capacity.get('used_percent'),
            'load_percent': start.load_percent,
            'environment': ' '.join(start.provenance.environment),
            'darshan': start.provenance.darshan or None,
        }
    for point in plan.points:
        for phase in point.phases:
            for metric_type in metrics_of(point, phase):
                name = metric(metric_type.name, point.label)
                verdict, why = kept.metrics[name]
                common = {
                    **case,
                    'metric': name,
                    'metric_verdict': verdict,
                    'metric_why': why,
                    'operation': metric_type.name,
                    'phase': phase,
                    'point': point.label,
                    'tasks': point.tasks,
                    'unit': metric_type.unit,
                    'better': metric_type.better,
                    'steers': metric_type.steers,
                }
                launches = [_launch(sample, metric_type) for sample in kept.samples.get(name, ())]
                # R4: it is unknown which of them are as they were measured
                broken = {'valid': False} if kept.records.broken else {}
                yield from ({**common, **row, **broken} for row in launches or [{'valid': False, 'rules': ''}])


def _launch(sample: Sample, metric_type: MetricType) -> dict[str, Any]:
    measurement = sample.measurement
    figure = measurement.metric(metric_type.name) if measurement else None
    sharp = measurement is None or measurement.sharp(metric_type.name)
    return {
        **_parameters(sample.point),
        'repetition': sample.repetition,
        'block': sample.block,
        'started': datetime.fromtimestamp(sample.started, timezone.utc),
        'seconds': figure.seconds if figure and figure.unit else None,
        'bytes_moved': (measurement.bytes_moved or None) if measurement else None,
        'value': sample.figures.get(metric_type.name) if sharp else None,
        'hosts': ' '.join(measurement.hosts) if measurement else None,
        'cache': kind_of(sample.point.kind).cache_of(metric_type.name, sample.cache),
        'valid': sample.valid_for(metric_type.name),
        'rules': ' '.join(dict.fromkeys(finding.rule for finding in sample.findings)),
        'directory_bytes': sample.directory_bytes,
        'binding': '; '.join(dict.fromkeys(binding_words(process.cores) for process in sample.bound)) or None,
    }


def _parameters(point: Point) -> dict[str, Any]:
    """The parameters of the point as it was launched; None for those its kind does not have."""
    is_data, data = kind_of(point.kind).moves_data, point.data or DataPart()
    entries = levels_total(point, 1) if point.tree else Entries(0, 0, 0)
    return {
        'tasks_per_node': point.tasks_per_node,
        'transfer_size': data.transfer_size or None,
        'bytes_per_task': data.bytes_per_task or None,
        'files_per_task': entries.files or entries.empties or None,
        'interface': data.interface or None,
        'direct': data.direct if is_data else None,
        'queue_depth': data.queue_depth if is_data else None,
        'working_set': data.working_set or None,
        'bytes_per_file': point.tree.bytes_per_file if entries.files else None,
    }
