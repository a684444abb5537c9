"""The load of the servers while a case ran: each one's busiest disk over time, and its figures in a table."""

from collections.abc import Sequence
from typing import Any

from seatrial.model.telemetry import ServerGap, ServerLook
from seatrial.report.drawing.plot import Chart, Curve, Stroke, round_scale, steps_line, styles, time_scale
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import common_unit
from seatrial.workload.words import by_key

MOST_LINES = 6
"""More servers than these are in the table alone, but for the busiest."""

MISSING = 0.05
"""A larger share of samples that are missing is said: what a server did then is not known."""

SATURATED = 0.95
"""Of a second, in which a disk is taken to have had no time left."""


def monitored(evidence: CaseEvidence, system: str) -> dict[str, Any] | None:
    """The servers, the busiest first; None if the site names none. unit: of their rates"""
    telemetry = evidence.telemetry
    if telemetry is None or not (telemetry.server_looks or telemetry.server_gaps):
        return None
    silent = {each.server: list[ServerLook]() for each in telemetry.server_gaps}
    looks = {**silent, **by_key((look.server, look) for look in telemetry.server_looks)}
    begin = telemetry.watch.time if telemetry.watch else min(each.time for each in telemetry.server_looks)
    ends = [each.time for each in telemetry.server_looks] + [each.time for each in telemetry.server_gaps]
    end = max([*ends, telemetry.ended.time if telemetry.ended else begin, begin + 1])
    names = sorted(looks, key=lambda name: (-max((each.busy for each in looks[name]), default=0.0), name))
    style = styles(names[:MOST_LINES])
    gaps = {name: [each for each in telemetry.server_gaps if each.server == name] for name in names}
    rows = [_row(name, looks[name], gaps[name], end - begin) for name in names]
    said = '; '.join(f'{name}: {_busy_words(looks[name])}' for name in names)
    lines = [Curve(style[name], _steps(looks[name]), f'busiest disk of {name}') for name in style]
    drawn = Chart(
        x=time_scale(begin, end, 'the beginning'),
        y=round_scale(0.0, 100.0, label='% busy', said=lambda share: f'{share:g}', count=4),
        parts=lines,
        height=122,
        words=said,
    )
    return {
        'rows': rows,
        'unit': common_unit([high for row in rows for _, high in row['rates'].values()], 'B/s', system),
        'words': said,
        'chart': drawn if telemetry.server_looks else None,
    }


def _busy_words(looks: Sequence[ServerLook]) -> str:
    return f'at most {100 * max(each.busy for each in looks):.0f} % busy' if looks else 'no answer'


def _row(server: str, looks: Sequence[ServerLook], gaps: Sequence[ServerGap], lasted_s: float) -> dict[str, Any]:
    """Rates in bytes or packets a second: the mean of the case, and the highest of a line. missing: the share of
    samples that are missing; saturated_s: seconds of lines in which a disk was SATURATED"""
    seconds = sum(each.length_s for each in looks)

    def rate(*names: str) -> tuple[float, float]:
        totals = [sum(getattr(each, name) for name in names) for each in looks]
        mean = sum(total * each.length_s for total, each in zip(totals, looks, strict=True))
        return (mean / seconds if seconds else 0.0), max(totals, default=0.0)

    busiest = max(looks, key=lambda each: each.busy, default=None)
    missing = max(0.0, 1 - sum(each.samples for each in looks) / lasted_s)
    return {
        'server': server,
        'missing': missing,
        'lacking': missing > MISSING,
        'busy': busiest.busy if busiest else 0.0,
        'disk': busiest.disk if busiest else '',
        'saturated_s': sum(each.length_s for each in looks if each.busy >= SATURATED),
        'rates': {name: rate(name) for name in ('read', 'written', 'received', 'sent')},
        'packets': rate('packets_in', 'packets_out'),
        'gaps': gaps,
    }


def _steps(looks: Sequence[ServerLook]) -> Sequence[Stroke]:
    """The steps of a server's curve; interrupted where a sample is missing."""
    steps: list[tuple[float, float, float]] = []
    for look in looks:
        start = look.time - look.length_s
        follows = bool(steps) and abs(start - steps[-1][1]) < 1.0
        steps.append((steps[-1][1] if follows else start, look.time, 100 * look.busy))
    return steps_line(steps)
