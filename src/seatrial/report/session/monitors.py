"""What the servers did while a case ran: a line of each one's busiest disk over time, and its figures in a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatrial.model.telemetry import ServerGap, ServerLook
from seatrial.report.drawing.markers import styles
from seatrial.report.drawing.scale import Frame, Paper, Scale, papers
from seatrial.report.drawing.timeline import TimeAxis, strokes
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit

PAPERS = papers(180, 170, bottom=46)

MOST_LINES = 6
"""More servers than these are in the table alone, but for the busiest."""

MISSING = 0.05
"""A larger share of samples that are missing is said: what a server did then is not known."""

SATURATED = 0.95
"""Of a second, in which a disk is taken to have had no time left."""


@dataclass(frozen=True)
class ServerRow:
    """One server. Rates in bytes or packets a second: the mean of the case, and the highest of a line.

    missing: the share of samples that are missing; saturated_s: seconds of lines in which a disk was SATURATED
    """

    server: str
    style: str
    missing: float
    busy: float
    disk: str
    saturated_s: float
    rates: Mapping[str, tuple[float, float]]
    packets: tuple[float, float]
    gaps: Sequence[ServerGap]

    @property
    def lacking(self) -> bool:
        """Whether more samples are missing than may be."""
        return self.missing > MISSING


@dataclass(frozen=True, kw_only=True)
class BusyDrawing(Frame):
    """Everything that there is to draw. lines: by style, their strokes."""

    lines: Mapping[str, Sequence[Sequence[tuple[float, float]]]]


@dataclass(frozen=True)
class Monitored:
    """All servers of a case, the busiest first. unit: of their rates; words: the drawing in words."""

    rows: Sequence[ServerRow]
    unit: Unit
    words: str
    drawings: Mapping[str, BusyDrawing]


def monitored(evidence: CaseEvidence, system: str) -> Monitored | None:
    """What was seen of the servers; None where the site names none."""
    telemetry = evidence.telemetry
    if telemetry is None or not (telemetry.server_looks or telemetry.server_gaps):
        return None
    looks: dict[str, list[ServerLook]] = {each.server: [] for each in telemetry.server_gaps}
    for look in telemetry.server_looks:
        looks.setdefault(look.server, []).append(look)
    begin = telemetry.watch.time if telemetry.watch else min(each.time for each in telemetry.server_looks)
    ends = [each.time for each in telemetry.server_looks] + [each.time for each in telemetry.server_gaps]
    end = max([*ends, telemetry.ended.time if telemetry.ended else begin, begin + 1])
    names = sorted(looks, key=lambda name: (-max((each.busy for each in looks[name]), default=0.0), name))
    style = styles(names[:MOST_LINES])
    gaps = {name: [each for each in telemetry.server_gaps if each.server == name] for name in names}
    rows = [_row(name, style.get(name, ''), looks[name], gaps[name], end - begin) for name in names]
    return Monitored(
        rows=rows,
        unit=common_unit([high for row in rows for _, high in row.rates.values()], 'B/s', system),
        words='; '.join(f'{row.server}: {_busy_words(looks[row.server])}' for row in rows),
        drawings={
            paper_name: _drawing({style[name]: looks[name] for name in style}, begin, end, paper)
            for paper_name, paper in PAPERS.items()
            if telemetry.server_looks
        },
    )


def _busy_words(looks: Sequence[ServerLook]) -> str:
    return f'at most {100 * max(each.busy for each in looks):.0f} % busy' if looks else 'no answer'


def _row(
    server: str, style: str, looks: Sequence[ServerLook], gaps: Sequence[ServerGap], lasted_s: float
) -> ServerRow:
    seconds = sum(each.length_s for each in looks)

    def rate(*names: str) -> tuple[float, float]:
        totals = [sum(getattr(each, name) for name in names) for each in looks]
        mean = sum(total * each.length_s for total, each in zip(totals, looks, strict=True))
        return (mean / seconds if seconds else 0.0), max(totals, default=0.0)

    busiest = max(looks, key=lambda each: each.busy, default=None)
    return ServerRow(
        server=server,
        style=style,
        missing=max(0.0, 1 - sum(each.samples for each in looks) / lasted_s),
        busy=busiest.busy if busiest else 0.0,
        disk=busiest.disk if busiest else '',
        saturated_s=sum(each.length_s for each in looks if each.busy >= SATURATED),
        rates={name: rate(name) for name in ('read', 'written', 'received', 'sent')},
        packets=rate('packets_in', 'packets_out'),
        gaps=gaps,
    )


def _followed(looks: Sequence[ServerLook]) -> list[tuple[float, ServerLook]]:
    """Each with its beginning, which is the end of the one before where no sample is missing between them."""
    found = []
    before = 0.0
    for look in looks:
        start = look.time - look.length_s
        found.append((before if abs(start - before) < 1.0 else start, look))
        before = look.time
    return found


def _drawing(looks: Mapping[str, Sequence[ServerLook]], begin: float, end: float, paper: Paper) -> BusyDrawing:
    bottom = paper.height - paper.bottom
    up = Scale(0.0, 100.0, False, bottom, paper.top)
    y_ticks = up.ticks(4, lambda share: f'{share:g}')
    left, right = paper.room(y_ticks), float(paper.width - paper.right)
    axis = TimeAxis.of(begin, end, left, right, paper)
    return BusyDrawing(
        paper=paper,
        left=left,
        right=right,
        x_ticks=axis.ticks,
        y_ticks=y_ticks,
        x_label=f'{axis.name} since the beginning',
        y_label='% busy',
        lines={
            style: strokes(
                [(axis.at(start), axis.at(each.time), up(100 * each.busy)) for start, each in _followed(own)]
            )
            for style, own in looks.items()
        },
    )
