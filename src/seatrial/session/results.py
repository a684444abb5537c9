"""The end of a session: the table of verdicts and results.json."""

import dataclasses
import json
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatrial.check.session import RESULTS, Session
from seatrial.judge.caveats import left_behind
from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.session import SessionResult
from seatrial.judge.statistics import MeanInterval
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict, of_relation
from seatrial.model.atomic_file import write_whole
from seatrial.model.codec import to_json
from seatrial.model.plan import Case
from seatrial.model.units import approximate_size, duration, in_unit, unit_for
from seatrial.report.figures import cache_words, figure, is_valid
from seatrial.report.headline import headline_of, plain
from seatrial.report.terminal import WIDE, fitting, marked, say, table_of
from seatrial.report.words import PLACES_SHOWN, SIGNS, cut, slow_places, verdict_sentence
from seatrial.session.evidence import Recorded, figures_before
from seatrial.workload.words import by_key, counted

REASONS_SHOWN, WORST_SHOWN, FIGURES_SHOWN = 3, 10, 2
LINES_OF_WORST = 12


def write_results(session: Session, result: SessionResult) -> Path:
    """Writes results.json into the session's folder, whole and then renamed; returns the file. Raises OSError."""
    file = session.folder / RESULTS
    data = {
        'session': result.session,
        'site': session.site.name,
        'label': session.profile.label,
        'references': _references(session, result),
        'not_applicable': dict(session.not_applicable),
        **plain_results(result),
    }
    write_whole(file, json.dumps(data, indent=1, allow_nan=False) + '\n')
    return file


def plain_results(result: SessionResult) -> dict[str, Any]:
    """The part of results.json that follows from the records and the criteria, in the form in which it is read again.
    Infinity, which JSON lacks, is null: an interval of too few samples has that half width."""
    data = {
        'profile': result.profile,
        'verdict': result.verdict,
        'chain': result.chain,
        'counts': result.counts,
        'relations': [_plain_expectation(row) for row in result.relations],
        'headline': plain(headline_of(result)),
        'scores': [dataclasses.asdict(score) for score in result.scores],
        'left_out': list(result.left_out),
        'cases': [_plain(case) for case in result.cases],
    }
    finite: dict[str, Any] = json.loads(json.dumps(data), parse_constant=lambda constant: None)
    return finite


def show(console: Console, session: Session, cases: Recorded, result: SessionResult, verbose: bool = False) -> None:
    """Prints verdict, headline, and the worst cases that are not well. verbose: first the table of all cases"""
    if verbose:
        console.print(_table(session, result))
        for case in result.worst_first:
            reasons = cut(case.reasons, REASONS_SHOWN, f', in {RESULTS}')
            say(console, *(f'{case.case.name}: {reason}' for reason in reasons))
    mark = marked(result.verdict)
    first, *more = _wrapped(f'{mark.plain}  {verdict_sentence(result)}', '')
    say(console, Text.assemble(mark, first.removeprefix(mark.plain)))
    say(console, *more, *_wrapped(session.profile.label), *_headline_lines(session, cases, result))
    say(console, *_not_well(result, [left for _, records in cases for left in left_behind(records)]))
    say(console, *(f'  {line}' for line in _context(session, result)))


def _wrapped(text: str, indent: str = '  ') -> list[str]:
    return textwrap.wrap(text, WIDE, initial_indent=indent, subsequent_indent='  ', break_long_words=False)


def _headline_lines(session: Session, cases: Recorded, result: SessionResult) -> list[str]:
    lines = headline_of(result)
    tasks = {(plan.case, point.label): point.tasks for plan, _ in cases for point in plan.points}
    before = figures_before(session)
    system = session.site.units
    rows = [(line.figure.words, line.words(system), line.where(tasks), line.changes(before)) for line in lines]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    below = ' ' * (6 + sum(widths))
    wrapped = list[str]()
    for name, value, *rest in rows:
        line = f'  {name:<{widths[0]}}  {value:>{widths[1]}}  {"; ".join(filter(None, rest))}'
        wrapped += textwrap.wrap(line, WIDE, subsequent_indent=below)
    return wrapped


def _not_well(result: SessionResult, left: Sequence[str]) -> list[str]:
    """The worst cases and relations that are not PASS or MEASURED, a line or a few each, and the number of others;
    and launches for which the file system stood still. left: what jobs have left behind"""
    missed = [row for row in result.relations if row.enforced and not of_relation(row.relation).unopposed]
    lines = [(of_relation(row.relation), f'{row.words}: {row.relation.sentence}') for row in missed]
    opposed = [case for case in result.worst_first if not case.verdict.unopposed]
    lines += [(case.verdict, f'{_named(case.case, result)}: {"; ".join(case.reasons[:1])}') for case in opposed]
    lines += [(Verdict.INCOMPLETE, f'incomplete: {line}') for line in result.left_out]
    places = [place for place in slow_places(result) if not any(place in line for _, line in lines)]
    shown = cut([f'{SIGNS[verdict.value]} {verdict.value}  {line}' for verdict, line in lines], WORST_SHOWN)
    labels = [(case.case, label) for case in result.cases for label in case.labels]
    stood_still = [f'{_named(case, result)}: {label}' for case, label in labels if label.startswith('P17b: ')]
    return fitting([*places, *shown, *cut(stood_still, PLACES_SHOWN), *cut(left, PLACES_SHOWN)], LINES_OF_WORST)


def _context(session: Session, result: SessionResult) -> list[str]:
    """Verdicts, references and criteria as counts, and the number of notes on the page, in a few lines."""
    verdicts = ', '.join(f'{count} {verdict.value}' for verdict, count in result.counts.items())
    references = [] if session.contract else [_references(session, result)]
    parts = [score.sentence for score in result.scores]
    every = [*(row for case in result.cases for row in case.expectations), *result.relations]
    enforced = Counter(row.relation.verdict for row in every if row.enforced)
    words = {HOLDS: 'met', FAILS: 'missed', UNDECIDED: 'undecided'}
    parts += [f'expectations enforced: {", ".join(f"{n} {words[v]}" for v, n in enforced.items())}'] * bool(enforced)
    notes = {label for case in result.cases for label in case.labels}
    parts += [f'{counted(len(notes), "note")} on the page'] * bool(notes)
    return ['; '.join([verdicts, *parts]), *references]


def _table(session: Session, result: SessionResult) -> Table:
    table = table_of('verdict', 'case', 'engine', '#a task', 'figures', '#took')
    for case in result.cases:
        engine = f'{case.engine} {case.version}'.strip() or '-'
        took = duration(case.duration_s) if case.duration_s is not None else '-'
        cells = case.case.name, engine, _share(case), _figures(case, session.site.units), took
        table.add_row(marked(case.verdict), *cells)
    return table


def _share(case: CaseResult) -> str:
    """The work of each task, if it was decided: bytes, or files; '-' for cases without a rate."""
    units = [metric.unit for metric in case.metrics[:1]]
    if not case.per_task or units == ['']:
        return '-'
    return approximate_size(case.per_task) if units == ['B/s'] else counted(case.per_task, 'file')


def _figures(case: CaseResult, system: str) -> str:
    """The range of the valid means over the points for each metric, with cached ones marked."""
    by_name = by_key((metric.name, metric) for metric in case.metrics if is_valid(metric))
    shown = [f'{name} {_span(metrics, system)} {cache_words(metrics)}'.rstrip() for name, metrics in by_name.items()]
    hidden = list(by_name)[FIGURES_SHOWN:]
    more = f'; also {", ".join(hidden)}' if hidden else ''
    return ', '.join(shown[:FIGURES_SHOWN]) + more if shown else '-'


def _span(metrics: list[MetricResult], system: str) -> str:
    values, unit = [metric.summary.mean for metric in metrics if metric.summary], metrics[0].unit
    low, high = min(values), max(values)
    shown = unit_for(high, unit, system)
    ends = [figure(in_unit(value, shown)) if unit else f'{value:g}' for value in (low, high)]
    return f'{ends[0] if ends[0] == ends[1] else " to ".join(ends)} {shown}'.strip()


def _named(case: Case, result: SessionResult) -> str:
    """The check of a case; the full name where the session has several cases of it."""
    of_check = Counter(judged.case.check for judged in result.cases)
    return case.check if of_check[case.check] == 1 else case.name


def _references(session: Session, result: SessionResult) -> str:
    counts = Counter(row.interval for case in result.cases for row in case.references)
    if not counts:
        return 'no references for these cases' if session.references else 'no references'
    shown = ', '.join(f'{count} {word}' for word, count in counts.items())
    return f'references: {shown}{result.chance and f"; {result.chance}"}'


def _plain(case: CaseResult) -> dict[str, Any]:
    data = dataclasses.asdict(case)
    del data['curves']
    if not case.binding:  # records that do not tell it have no such key
        del data['binding']
    data['expectations'] = [_plain_expectation(row) for row in case.expectations]
    data['facts'] = [fact._asdict() for fact in case.facts]
    data['darshan'] = to_json(case.darshan)
    data['case'] = {**case.case._asdict(), 'name': case.case.name}
    data['metrics'] = [_plain_metric(metric) for metric in case.metrics]
    for reference in data['references']:
        reference['found'] = reference.pop('statistic')
    return data


def _plain_expectation(expectation: ExpectationResult) -> dict[str, Any]:
    return {**dataclasses.asdict(expectation), 'sentence': expectation.sentence}


def _plain_metric(metric: MetricResult) -> dict[str, Any]:
    data = dataclasses.asdict(metric)
    if metric.summary is not None:
        data['summary']['interval'] = _plain_interval(metric.summary.interval)
    for group_data, group in zip(data['groups'], metric.groups, strict=True):
        group_data['rate'] = {'mean': group.rate.mean, **_plain_interval(group.rate)}
    return data


def _plain_interval(interval: MeanInterval) -> dict[str, float | None]:
    low, high = (interval.low, interval.high) if math.isfinite(interval.high) else (None, None)
    return {'low': low, 'high': high, 'confidence': interval.confidence}
