"""The figures of a scenario: pure functions over the tasks' rows and the transcript of the actions.

before:   from the beginning to the first start
during:   from the beginning of each start to the end of its undo
after:    from the end of each undo to the next start, or to the end of the load
outage:   the time without an acknowledged operation: gaps of at least GAP_S that touch an action or its recovery. A
          node has that of its task that waited longest; the metric is that of the worst node
recovery: from the end of an undo until throughput over SMOOTH_S is back at RECOVERED of what it was before. The
          metric is the longest one. If throughput is not back before the next start or the end, the recovery lasts
          until then and is censored, and "after" begins with the end of the undo
p99:      of single operations during the actions, to a quarter of a power of two (19 %)
"""

import errno
import json
import math
import os
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import EngineError
from seatrial.model.action import COUNT, MAX_STEPS, START, UNDO, Course, Step, Window, transcript_of
from seatrial.model.metric import HIGHER, LOWER, Metric
from seatrial.model.point import Point
from seatrial.workload import scenario

GAP_S = 1.0  # a shorter gap between acknowledged operations is no outage: an fdatasync on a busy disk takes as long
RECOVERED = 0.90
SMOOTH_S = 5
LATE_S = 5.0  # an action may begin or end this much later, beyond the time that its commands take
SKEW_S = 2.0  # largest difference of the clocks of node and login side: an outage is wanted to a second
GRACE_S = 30.0  # seconds after an undo in which errors still belong to its action: clients give up later than servers
LATENCY_STEPS = 4  # steps of a power of two
SHORT_S = 2 * 3600.0  # a scenario up to this has a row for every second from its beginning to its end

AHEAD_S, BEHIND_S, MINUTE_S = 60.0, 600.0, 60.0
"""A longer scenario has rows of a second only so long before and after an action, and else of a minute."""


class ScenarioRow(NamedTuple):
    """A task from at_s on, in seconds since the load began; operations and bytes that were acknowledged."""

    at_s: float
    length_s: float
    operations: int
    bytes_moved: int
    longest_s: float
    errors: Dict[str, int]  # failed calls by errno
    latencies: Dict[str, int]  # operations that took 2 ** (key / LATENCY_STEPS) microseconds or more, by key
    gaps: Tuple[Tuple[float, float], ...]  # times without an acknowledged operation that ended in this row


class Totals(NamedTuple):
    """All tasks together. bytes_at: moved in each second. errors: (second, errno, number, rank)."""

    bytes_at: Dict[int, float]
    gaps: Tuple[Tuple[Tuple[float, float], ...], ...]
    errors: Tuple[Tuple[float, str, int, int], ...]
    latencies: Dict[int, int]
    longest_s: float
    verified: int  # number of records that were read with the right content


def file_of(rank: int) -> str:
    return f'course.{rank}'


def bound_s(point: Point, at_s: float) -> float:
    """The end of the row that begins at at_s."""
    if point.time.duration_s <= SHORT_S:
        return at_s + 1.0
    near = [action for action in point.actions if action.at_s - AHEAD_S <= at_s + MINUTE_S]
    if any(at_s < action.at_s + action.for_s + BEHIND_S for action in near):
        return at_s + 1.0
    return at_s + MINUTE_S


def line_of_row(row: ScenarioRow) -> str:
    """The row as a task prints it, without empty values at its end."""
    values = list(row)
    while not values[-1]:
        values.pop()
    return json.dumps(values, separators=(',', ':'))


def row_of(line: str) -> ScenarioRow:
    values = json.loads(line)
    empty: Tuple[Any, ...] = (0.0, 0.0, 0, 0, 0.0, {}, {}, ())
    if not isinstance(values, list) or not 1 <= len(values) <= len(empty):
        raise ValueError('no row')
    row = ScenarioRow(*values, *empty[len(values) :])
    numbers = (row.at_s, row.length_s, row.operations, row.bytes_moved, row.longest_s)
    if not isinstance(row.errors, dict) or not isinstance(row.latencies, dict):
        raise ValueError('no row')
    counts = (*row.errors.values(), *row.latencies.values())
    if not all(type(number) in (int, float) for number in (*numbers, *counts)):
        raise ValueError('no row')
    return row._replace(gaps=tuple((float(start), float(end)) for start, end in row.gaps))


def totals_of(tasks: Sequence[Iterable[str]], windows: Sequence[Window]) -> Totals:
    """The sum of the rows of all tasks. Raises EngineError T8 for a line that is no row."""
    bytes_at: Dict[int, float] = {}
    latencies: Dict[int, int] = {}
    errors, gaps, longest_s, verified = [], [], 0.0, 0
    for rank, lines in enumerate(tasks):
        mine: List[Tuple[float, float]] = []
        for line in lines:
            try:
                if line.startswith(f'["{scenario.VERIFIED}"'):
                    verified += int(json.loads(line)[1])
                    continue
                row = row_of(line)
            except (ValueError, TypeError):
                raise EngineError('T8', f"a row of task {rank} is damaged: '{line[:80]}'") from None
            seconds = max(1, round(row.length_s))
            for second in range(int(row.at_s), int(row.at_s) + seconds):
                bytes_at[second] = bytes_at.get(second, 0.0) + row.bytes_moved / seconds
            errors += [(row.at_s, name, number, rank) for name, number in row.errors.items()]
            if any(window.start_s <= row.at_s + row.length_s and row.at_s <= window.end_s for window in windows):
                longest_s = max(longest_s, row.longest_s)
                for key, number in row.latencies.items():
                    latencies[int(key)] = latencies.get(int(key), 0) + number
            mine += row.gaps
        gaps.append(tuple(mine))
    return Totals(bytes_at, tuple(gaps), tuple(errors), latencies, longest_s, verified)


def windows_of(point: Point, text: Optional[str]) -> List[Window]:
    """The actions as they took place. Raises EngineError A1 where they differ from the plan."""
    transcript = transcript_of(text or '')
    if transcript is None:
        raise EngineError('A1', 'no action was carried out')
    if abs(transcript.skew_s) > SKEW_S:
        raise EngineError('A1', f'the clocks of the node and the login side are {transcript.skew_s:.1f} s apart')
    steps: Dict[Tuple[str, str, int], Step] = {}
    number = -1  # place of the action in the course
    for done in transcript.steps:
        number += done.step == START
        steps[done.action, done.step, number] = done
    windows = []
    for place, planned in enumerate(point.actions):
        start, undo = (steps.get((planned.name, kind, place)) for kind in (START, UNDO))
        for what, step in ((START, start), (UNDO, undo)):
            if step is None:
                raise EngineError('A1', f'the {what} of {planned.name} was not carried out')
            if step.why:
                raise EngineError('A1', f'the {what} of {planned.name} failed: {step.why}')
        assert start is not None and undo is not None
        meant_s = max(planned.at_s + planned.for_s, start.ended_s)
        for what, late_s in ((START, start.begun_s - planned.at_s), (UNDO, undo.begun_s - meant_s)):
            if not -LATE_S <= late_s <= LATE_S:
                late = f'{late_s:.1f} s late' if late_s > 0 else f'{-late_s:.1f} s early'
                raise EngineError('A1', f'the {what} of {planned.name} began {late}')
        count = steps.get((planned.name, COUNT, place), undo)  # which has nothing counted
        windows.append(Window(planned.name, start.begun_s, undo.ended_s, None, count.counted, count.why))
    if not transcript.complete:
        raise EngineError('A1', 'the log of the actions is incomplete')
    for window, following in zip(windows, [action.at_s for action in point.actions[1:]] + [point.time.duration_s]):
        if window.end_s + scenario.MIN_AFTER_S > following + LATE_S:
            raise EngineError('A1', f'the undo of {window.name} left no time to recover')
    return windows


def figures(
    point: Point, tasks: Sequence[Iterable[str]], hosts: Sequence[str], transcript: Optional[str]
) -> Tuple[Tuple[Metric, ...], Course]:
    """The metrics and the course. hosts: of each task. Raises EngineError A1, T8, T12; F1: an unexplained error."""
    windows = windows_of(point, transcript)
    totals = totals_of(tasks, windows)
    ends = [window.start_s for window in windows[1:]] + [point.time.duration_s]
    before = _rate(totals, [(0.0, windows[0].start_s)])
    if not before:
        raise EngineError('T12', 'no byte was acknowledged before the first action')
    recovered = [_recovered_s(totals, window.end_s, end_s, before) for window, end_s in zip(windows, ends)]
    windows = [
        window._replace(back_s=None if took_s is None else window.end_s + took_s)
        for window, took_s in zip(windows, recovered)
    ]
    _check_errors(totals, hosts, windows)
    during = _rate(totals, [(window.start_s, window.end_s) for window in windows])
    after = _rate(totals, [(window.back_s or window.end_s, end_s) for window, end_s in zip(windows, ends)])
    spans = [(window.start_s, window.back_s or end_s) for window, end_s in zip(windows, ends)]
    outages = _outages(totals, hosts, spans)
    counts: Dict[str, int] = {}
    for _, name, number, _ in totals.errors:
        counts[name] = counts.get(name, 0) + number
    error_text = ', '.join(f'{name}: {number}' for name, number in sorted(counts.items()))
    seconds = point.time.duration_s

    def metric(name: str, value: float, unit: str, better: str = HIGHER, figure: str = '') -> Metric:
        return Metric(name, value, unit, better, seconds, 0, figure or f'{value:.6g}')

    worst = max(outages, key=lambda host: outages[host])
    worst_text = f'{outages[worst]:.1f} s on {worst}' if outages[worst] else 'none'
    metrics = (
        metric(scenario.BEFORE, before, 'B/s'),
        metric(scenario.DURING, during, 'B/s'),
        metric(scenario.AFTER, after, 'B/s'),
        metric(scenario.RATIO, during / before, ''),
        metric(scenario.RATIO_AFTER, after / before, ''),
        metric(scenario.OUTAGE, outages[worst], 's', LOWER, worst_text),
        metric(scenario.OUTAGES, sum(outages.values()), 's', LOWER),
        _recovery(windows, recovered, ends)._replace(seconds=seconds),
        metric(scenario.P99, _p99(totals), 's', LOWER),
        metric(scenario.ERRORS, float(sum(counts.values())), '', LOWER, error_text),
        metric(scenario.VERIFIED, float(totals.verified), ''),
    )
    return metrics, _course(point, totals, RECOVERED * before, windows)


def _course(point: Point, totals: Totals, wanted: float, windows: Sequence[Window]) -> Course:
    seconds = math.ceil(point.time.duration_s)
    step_s = math.ceil(seconds / MAX_STEPS)
    rates = [totals.bytes_at.get(second, 0.0) for second in range(seconds)]
    steps = [rates[first : first + step_s] for first in range(0, seconds, step_s)]
    failed = {min(int(at_s / step_s), len(steps) - 1) for at_s, _, _, _ in totals.errors}
    mean, lowest = tuple(int(sum(step) / len(step)) for step in steps), tuple(int(min(step)) for step in steps)
    return Course(step_s, mean, lowest, tuple(sorted(failed)), wanted, tuple(windows))


def _recovery(windows: Sequence[Window], recovered: Sequence[Optional[float]], ends: Sequence[float]) -> Metric:
    """The longest recovery; if one was not seen, the longest time that was waited for it."""
    times = zip(windows, recovered, ends)
    lost = [(end_s - window.end_s, window.name) for window, took_s, end_s in times if took_s is None]
    if not lost:
        longest_s = max(took_s or 0.0 for took_s in recovered)
        return Metric(scenario.RECOVERY, longest_s, 's', LOWER, figure=f'{longest_s:.6g}')
    seen_s, name = max(lost)
    what = f'the throughput was not back at {100 * RECOVERED:.0f} % in the {seen_s:.0f} s after the undo of {name}'
    return Metric(scenario.RECOVERY, seen_s, 's', LOWER, figure=what, censored=True)


def _rate(totals: Totals, spans: Sequence[Tuple[float, float]]) -> float:
    """B/s of the whole seconds inside these spans; a second that a span cuts counts in part."""
    moved = seconds = 0.0
    for start, end in spans:
        for second in range(int(start), math.ceil(end)):
            inside = min(end, second + 1.0) - max(start, float(second))
            moved += inside * totals.bytes_at.get(second, 0.0)
            seconds += inside
    return moved / seconds if seconds > 0 else 0.0


def _recovered_s(totals: Totals, undone_s: float, end_s: float, before: float) -> Optional[float]:
    """Seconds from the end of the undo until throughput was back; None where it was not."""
    first = undone_s
    while first + SMOOTH_S <= end_s:
        if _rate(totals, [(first, first + SMOOTH_S)]) >= RECOVERED * before:
            return first - undone_s
        first += 0.5
    return None


def _check_errors(totals: Totals, hosts: Sequence[str], windows: Sequence[Window]) -> None:
    """Raises EngineError F1 for an error that no action explains, by its time and that of its recovery."""
    spans = [(window.start_s - 1.0, max(window.end_s + GRACE_S, window.back_s or 0.0)) for window in windows]
    for at_s, name, number, rank in totals.errors:
        if not any(start_s <= at_s <= end_s for start_s, end_s in spans):
            words = os.strerror(getattr(errno, name)) if hasattr(errno, name) else name
            sentence = f'{number} calls failed {at_s:.0f} s after the load began, outside of any action: {words}'
            raise EngineError('F1', f'task {rank} on {hosts[rank]}: {sentence}')


def _outages(totals: Totals, hosts: Sequence[str], spans: Sequence[Tuple[float, float]]) -> Dict[str, float]:
    outages: Dict[str, float] = {}
    for host, gaps in zip(hosts, totals.gaps):
        lost_s = sum(
            end - start for start, end in gaps if any(start <= last and end >= first for first, last in spans)
        )
        outages[host] = max(outages.get(host, 0.0), lost_s)
    return outages


def _p99(totals: Totals) -> float:
    """The 99th percentile in seconds, by the upper end of its class; never more than the longest operation."""
    left = 0.01 * sum(totals.latencies.values())
    for key in sorted(totals.latencies, reverse=True):
        left -= totals.latencies[key]
        if left < 0:
            return min(2 ** ((key + 1) / LATENCY_STEPS) / 1e6, totals.longest_s)
    return totals.longest_s
