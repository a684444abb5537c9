"""How a scheduled trial stands, for a monitoring system: silence must not mean dead.

The text is OpenMetrics (openmetrics.io) and Prometheus' older format at once, without time stamps, so that
node_exporter's textfile collector reads it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from seatrial.judge.verdict import Verdict
from seatrial.report.news import TrialWatch
from seatrial.report.nights import in_a_row, passed

PREFIX = 'seatrial'
_ESCAPES = str.maketrans({'\\': r'\\', '"': r'\"', '\n': r'\n'})


def openmetrics(watch: TrialWatch) -> str:
    """One family a fact; a fact that is not known, such as the time of a run that never was, is left out."""
    return '\n'.join([*_lines(watch), '# EOF', ''])


def _lines(watch: TrialWatch) -> Iterator[str]:
    labels = {'site': watch.site, 'profile': watch.profile}
    completed = [night.ended for night in watch.nights if night.completed]
    times = {
        'last_completed': (completed[-1] if completed else None, 'End of the last session in which all planned ran.'),
        'last_ended': (watch.last.ended if watch.last else None, 'End of the last session, whatever its verdict.'),
        'next': (watch.following, 'When the next run is due.'),
    }
    for name, (moment, says) in times.items():
        if moment is not None:
            yield from _family(f'{name}_timestamp_seconds', says, {'': _seconds(moment)}, labels)
    cases = list(watch.last.cases.values()) if watch.last else []
    by_verdict = {
        'last_verdict': ({verdict: int(watch.verdict is verdict) for verdict in Verdict}, 'Verdict of the last run.'),
        'last_cases': ({verdict: cases.count(verdict) for verdict in Verdict}, 'Cases of the last run.'),
    }
    for name, (found, says) in by_verdict.items():
        values = {verdict.value: str(number) for verdict, number in found.items()}
        yield from _family(name, says, values, labels)
    failing = sum(standing.verdict is Verdict.FAIL for standing in watch.standing.values())
    counts = {
        'failing_criteria': (failing, 'Criteria that failed and have not passed since.'),
        'nights_passed': (in_a_row(watch.nights, passed), 'Nights in a row that were a PASS.'),
        'missed_runs': (len(watch.missed), 'Missed among the last runs that were due.'),
    }
    if watch.criteria is not None:
        counts['judged_criteria'] = (watch.criteria, 'References and other criteria of the last session.')
    for name, (number, says) in counts.items():
        yield from _family(name, says, {'': str(number)}, labels)


def _family(name: str, says: str, values: Mapping[str, str], labels: Mapping[str, str]) -> Iterator[str]:
    """values: by verdict; by the empty text where there is one only."""
    yield f'# HELP {PREFIX}_{name} {says}'
    yield f'# TYPE {PREFIX}_{name} gauge'
    for verdict, value in values.items():
        own = {**labels, 'verdict': verdict} if verdict else labels
        shown = ','.join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in own.items())
        yield f'{PREFIX}_{name}{{{shown}}} {value}'


def _seconds(moment: datetime) -> str:
    return f'{moment.timestamp():.0f}'
