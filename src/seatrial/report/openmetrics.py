"""The state of a scheduled trial for a monitoring system (silence must not mean dead), and its last figures. The text
is OpenMetrics (openmetrics.io) and Prometheus' older format at once, without time stamps, so that node_exporter's
textfile collector reads it. Names end with their base unit (prometheus.io/docs/practices/naming)."""

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from seatrial.history.provenance import CASE
from seatrial.history.rows import OF_ONE_SESSION
from seatrial.judge.statistics import summary
from seatrial.judge.verdict import Verdict
from seatrial.report.nights.nights import in_a_row, passed
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.words import clean
from seatrial.workload.words import by_key

PREFIX = 'seatrial'

QUANTITIES = {  # the name of the figures of a base unit, and the unit as Prometheus writes it
    'B/s': ('bandwidth', 'bytes_per_second'),
    'op/s': ('rate', 'operations_per_second'),
    's': ('time', 'seconds'),
    'B': ('size', 'bytes'),
    '': ('quantity', ''),
}

ENDS = {'': 'mean', '_low': 'lower end of the 90 % interval', '_high': 'upper end of the 90 % interval'}
_ESCAPES = str.maketrans({'\\': r'\\', '"': r'\"', '\n': r'\n'})


def openmetrics(watch: TrialWatch) -> str:
    """One family for each fact; unknown facts, such as the time of a run that never was, are left out."""
    return '\n'.join([*_lines(watch), '# EOF', ''])


def _lines(watch: TrialWatch) -> Iterator[str]:
    labels = {'site': watch.site, 'profile': watch.profile}
    completed = [night.ended for night in watch.nights if Verdict.INCOMPLETE not in night.cases.values()]
    times = {
        'last_completed': (completed[-1] if completed else None, 'End of the last session in which all planned ran.'),
        'last_ended': (watch.last.ended if watch.last else None, 'End of the last session, whatever its verdict.'),
        'next': (watch.following, 'When the next run is due.'),
    }
    for name, (moment, says) in times.items():
        if moment is not None:
            yield from _samples(f'{name}_timestamp_seconds', says, [(labels, f'{moment.timestamp():.0f}')])
    cases = list(watch.last.cases.values()) if watch.last else []
    by_verdict = {
        'last_verdict': ({verdict: int(watch.verdict is verdict) for verdict in Verdict}, 'Verdict of the last run.'),
        'last_cases': ({verdict: cases.count(verdict) for verdict in Verdict}, 'Cases of the last run.'),
    }
    for name, (numbers, says) in by_verdict.items():
        samples = [({**labels, 'verdict': verdict.value}, str(number)) for verdict, number in numbers.items()]
        yield from _samples(name, says, samples)
    failing = sum(standing.verdict is Verdict.FAIL for standing in watch.standing.values())
    counts = {
        'failing_criteria': (failing, 'Criteria that failed and have not passed since.'),
        'nights_passed': (in_a_row(watch.nights, passed), 'Nights in a row that were a PASS.'),
        'missed_runs': (len(watch.missed), 'Missed among the last runs that were due.'),
    }
    if watch.criteria is not None:
        counts['judged_criteria'] = (watch.criteria, 'References and other criteria of the last session.')
    for name, (number, says) in counts.items():
        yield from _samples(name, says, [(labels, str(number))])
    if watch.rows is not None:
        yield from _measured(watch.rows.filter(~OF_ONE_SESSION), labels)


def _measured(rows: pl.DataFrame, labels: Mapping[str, str]) -> Iterator[str]:
    """The metrics of the last session: mean and interval if valid, all verdicts, and when each case began. Groups of
    a node sweep are left out: they have other nodes in every session."""
    figures: list[tuple[tuple[str, str, str], tuple[Mapping[str, str], float]]] = []
    verdicts, times = [], {}
    for key, launches in rows.group_by(*CASE, 'metric', maintain_order=True):
        case = {name: str(value) for name, value in zip(CASE, key, strict=False)}
        first = launches.row(0, named=True)
        metric = {**labels, **case, 'metric': first['metric'], 'better': first['better'] or ''}
        verdict = first['metric_verdict']
        verdicts.append(({**metric, 'verdict': verdict}, 1.0))
        began = launches['started'].drop_nulls()
        if len(began):
            times[key[:-1]] = ({**labels, **case}, began.to_list()[0].timestamp())
        values = launches.filter(pl.col('valid') & pl.col('value').is_finite())['value'].to_list()
        if verdict == Verdict.INVALID.value or not values:
            continue
        interval = summary(values).interval
        quantity, unit = QUANTITIES.get(first['unit'] or '', QUANTITIES[''])
        for end, value in zip(ENDS, (interval.mean, interval.low, interval.high), strict=True):
            if not end or math.isfinite(interval.high):
                figures.append(((quantity, unit, end), (metric, value)))
    for (quantity, unit, end), samples in by_key(figures).items():
        name = '_'.join(filter(None, (f'{quantity}{end}', unit)))
        yield from _samples(name, f'Metrics of the last session: {ENDS[end]}.', samples, unit)
    yield from _samples('metric_verdict', 'Verdict of each metric of the last session, with the value 1.', verdicts)
    yield from _samples('case_began_timestamp_seconds', 'When the last session measured.', list(times.values()))


def _samples(
    name: str, says: str, samples: Sequence[tuple[Mapping[str, str], float | str]], unit: str = ''
) -> Iterator[str]:
    """A family with its samples, each after its labels; empty without samples."""
    if not samples:
        return
    yield f'# HELP {PREFIX}_{name} {says}'
    yield f'# TYPE {PREFIX}_{name} gauge'
    if unit:
        yield f'# UNIT {PREFIX}_{name} {unit}'
    for labels, value in samples:
        shown = ','.join(f'{key}="{clean(text).translate(_ESCAPES)}"' for key, text in labels.items())
        yield f'{PREFIX}_{name}{{{shown}}} {value}'
