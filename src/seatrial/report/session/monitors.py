"""The load of the servers while a case ran: each one's busiest disk over time, and its figures in a table."""

from collections.abc import Sequence
from typing import Any

from seatrial.model.telemetry import ServerGap, ServerLook
from seatrial.report.drawing.plot import Chart, Curve, Stroke, round_scale, steps_line, styles, time_scale
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import common_unit
from seatrial.workload.words import by_key

MOST_LINES = 6  # servers that are drawn, the busiest; the table has all
MISSING = 0.05  # a larger share of missing samples is shown: what a server did then is not known
SATURATED = 0.95  # share of a second in which a saturated disk has work


def monitored(evidence: CaseEvidence, system: str) -> dict[str, Any] | None:
    """The servers, the busiest first; None if the site names none. unit: of their rates"""
    telemetry = evidence.telemetry
    if telemetry is None or not (telemetry.server_looks or telemetry.server_gaps):
        return None
    silent = {gap.server: list[ServerLook]() for gap in telemetry.server_gaps}
    looks = {**silent, **by_key((look.server, look) for look in telemetry.server_looks)}
    begin = telemetry.watch.time if telemetry.watch else min(look.time for look in telemetry.server_looks)
    ends = [look.time for look in telemetry.server_looks] + [gap.time for gap in telemetry.server_gaps]
    end = max([*ends, telemetry.ended.time if telemetry.ended else begin, begin + 1])
    names = sorted(looks, key=lambda name: (-max((look.busy for look in looks[name]), default=0.0), name))
    style = styles(names[:MOST_LINES])
    gaps = {name: [gap for gap in telemetry.server_gaps if gap.server == name] for name in names}
    rows = [_row(name, looks[name], gaps[name], end - begin) for name in names]
    busiest = {
        name: f'at most {100 * max(look.busy for look in looks[name]):.0f} % busy' if looks[name] else 'no answer'
        for name in names
    }
    text = '; '.join(f'{name}: {busy}' for name, busy in busiest.items())
    lines = [Curve(style[name], _steps(looks[name]), f'busiest disk of {name}') for name in style]
    drawn = Chart(
        x=time_scale(begin, end, 'the beginning'),
        y=round_scale(0.0, 100.0, label='% busy', shown=lambda share: f'{share:g}', count=4),
        parts=lines,
        height=122,
        words=text,
    )
    return {
        'rows': rows,
        'unit': common_unit([high for row in rows for _, high in row['rates'].values()], 'B/s', system),
        'words': text,
        'chart': drawn if telemetry.server_looks else None,
    }


def _row(server: str, looks: Sequence[ServerLook], gaps: Sequence[ServerGap], lasted_s: float) -> dict[str, Any]:
    """Rates in bytes or packets a second: the mean of the case, and the highest of a line. missing: the share of
    samples that are missing; saturated_s: seconds of lines in which a disk was SATURATED"""
    seconds = sum(look.length_s for look in looks)

    def rate(*names: str) -> tuple[float, float]:
        totals = [sum(getattr(look, name) for name in names) for look in looks]
        mean = sum(total * look.length_s for total, look in zip(totals, looks, strict=True))
        return (mean / seconds if seconds else 0.0), max(totals, default=0.0)

    busiest = max(looks, key=lambda look: look.busy, default=None)
    missing = max(0.0, 1 - sum(look.samples for look in looks) / lasted_s)
    return {
        'server': server,
        'missing': missing,
        'lacking': missing > MISSING,
        'busy': busiest.busy if busiest else 0.0,
        'disk': busiest.disk if busiest else '',
        'saturated_s': sum(look.length_s for look in looks if look.busy >= SATURATED),
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
