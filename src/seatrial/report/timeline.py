"""Throughput over the time of a case, as the node's counters saw it: lines, the launches below them, pauses marked.

The template draws the places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seatrial.judge.traffic import STALL, Flow, Pause, Piece, rpc_sizes, served, traffic
from seatrial.model.namespace import Namespace
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Sample
from seatrial.model.telemetry import RpcSize, Served, Servers, Telemetry
from seatrial.report import words
from seatrial.report.curve import TICK_GAP, Paper
from seatrial.report.evidence import CaseEvidence
from seatrial.report.scale import CHARACTER_WIDTH, HEADROOM, Scale, Tick, apart

LANE, BELOW = 17.0, 20.0
"""px of the height of a lane of launches, and from the axis of time to the first, beside its labels."""

STEPS_MOST = 360
"""Steps of a line at most; a case of hours has more looks than a drawing has room for."""

NUMBER_GAP = 16.0
"""px that the numbers of two pauses are at least apart."""

LEAST_WIDTH = 1.0

WIDE = Paper(820, 300, bottom=94)
NARROW = Paper(330, 270, right=10, bottom=92, font=12.0)

_UNITS = ((3 * 3600.0, 3600.0, 'hours'), (300.0, 60.0, 'minutes'), (0.0, 1.0, 'seconds'))
"""Of the axis of time: from so many seconds on, so many seconds each."""


@dataclass(frozen=True)
class Band:
    """One launch on its lane, the middle at y. measured: whether its figure counts."""

    x: float
    y: float
    width: float
    style: str
    measured: bool
    words: str


@dataclass(frozen=True)
class Block:
    """One pause. number: its place in the list below the drawing; empty where it would touch the one before."""

    x: float
    width: float
    kind: str
    number: str


@dataclass(frozen=True)
class Drawing:
    """Everything that there is to draw. lanes: the middles of those of launches; lines: by style, their strokes."""

    paper: Paper
    left: float
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    x_label: str
    lines: Mapping[str, Sequence[Sequence[tuple[float, float]]]]
    lanes: Sequence[Tick]
    bands: Sequence[Band]
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Timeline:
    """What was counted in a case.

    host:     the one node that counted, whatever others the launches ran on; what: whose traffic
    step_s:   seconds of one step of the lines, where looks are taken together, or 0
    flows:    a row for each metric that moves bytes
    pauses:   every one in words, in order
    sizes:    of the requests; own: what servers count of the job; servers: what the site's command said, and when
    """

    host: str
    what: str
    interval_s: float
    step_s: float
    torn: int
    words: str
    drawings: Mapping[str, Drawing]
    flows: Sequence[Flow]
    pauses: Sequence[str]
    sizes: Sequence[RpcSize]
    own: Sequence[Served]
    servers: Sequence[Servers]


def timeline(evidence: CaseEvidence) -> Timeline | None:
    """What was counted in the case; None where nothing was."""
    telemetry = evidence.telemetry
    if telemetry is None or telemetry.watch is None:
        return None
    samples = evidence.records.samples
    found = traffic(telemetry, [] if isinstance(evidence.plan.workload, Namespace) else samples)
    sizes, own = rpc_sizes(telemetry), served(telemetry)
    if not found.pieces and not sizes and not telemetry.servers:
        return None
    begin = min([piece.start for piece in found.pieces[:1]] + [sample.started for sample in samples[:1]], default=0.0)
    steps = _together(found.pieces)
    pauses = found.pauses
    papers = {'wide': WIDE, 'narrow': NARROW}
    return Timeline(
        host=telemetry.watch.host,
        what=telemetry.watch.what,
        interval_s=max([telemetry.watch.interval_s, *(pace.interval_s for pace in telemetry.paces)]),
        step_s=0.0 if len(steps) == len(found.pieces) else steps[0].end - steps[0].start,
        torn=telemetry.torn,
        words=_summary(found.pieces, pauses),
        drawings={
            name: _drawing(evidence.plan, samples, steps, pauses, begin, paper)
            for name, paper in papers.items()
            if steps
        },
        flows=found.flows,
        pauses=[_pause_words(pause, begin) for pause in pauses],
        sizes=[each for each in sizes if each.reads or each.writes],
        own=own,
        servers=telemetry.servers,
    )


def why_none(evidence: CaseEvidence) -> str:
    """Why there is no timeline, in words; empty where there is one."""
    telemetry: Telemetry | None = evidence.telemetry
    if telemetry is None or telemetry.watch is None:
        return 'none: the job kept no telemetry'
    if telemetry.watch.why_not:
        return f'none: {telemetry.watch.why_not}'
    return '' if telemetry.looks else 'none: the counters never answered'


def _together(found: Sequence[Piece]) -> Sequence[Piece]:
    """The pieces, or where they are too many to be drawn, steps of one length, each the mean of its pieces."""
    if len(found) <= STEPS_MOST:
        return found
    start, length = found[0].start, (found[-1].end - found[0].start) / STEPS_MOST
    sums: dict[int, tuple[float, float, float]] = {}
    for piece in found:
        first, last = int((piece.start - start) / length), int((piece.end - start) / length)
        for step in range(first, min(last, STEPS_MOST - 1) + 1):
            inside = min(piece.end, start + (step + 1) * length) - max(piece.start, start + step * length)
            if inside > 0:
                seconds, read, write = sums.get(step, (0.0, 0.0, 0.0))
                sums[step] = seconds + inside, read + inside * piece.read, write + inside * piece.write
    return [
        Piece(start + step * length, start + (step + 1) * length, read / seconds, write / seconds)
        for step, (seconds, read, write) in sorted(sums.items())
    ]


def _drawing(
    plan: TrialPlan,
    samples: Sequence[Sample],
    steps: Sequence[Piece],
    pauses: Sequence[Pause],
    begin: float,
    paper: Paper,
) -> Drawing:
    end = max([steps[-1].end, *(sample.started + sample.elapsed_s for sample in samples)])
    bottom = paper.height - paper.bottom
    most = max(max(step.read, step.write) for step in steps)
    up = Scale(0.0, most * HEADROOM or 1.0, False, bottom, paper.top + paper.font)
    y_ticks = up.ticks(4)
    below = bottom + BELOW + paper.font
    lanes = [Tick(below + LANE * i, name) for i, name in enumerate(_lanes(plan))]
    labels = max(len(tick.label) for tick in (*lanes, *y_ticks))
    left = paper.font * (1.9 + CHARACTER_WIDTH * labels) + TICK_GAP
    seconds, unit = next((each, name) for least, each, name in _UNITS if end - begin >= least)
    across = Scale(0.0, (end - begin) / seconds, False, left, paper.width - paper.right)

    def at(time: float) -> float:
        return across((time - begin) / seconds)

    return Drawing(
        paper=paper,
        left=left,
        x_ticks=apart(across.ticks(6 if paper is WIDE else 4, lambda time: f'{time:g}'), paper.font, paper.width),
        y_ticks=y_ticks,
        x_label=f'{unit} since the beginning',
        lines={
            'read': _strokes([(at(step.start), at(step.end), up(step.read)) for step in steps]),
            'write': _strokes([(at(step.start), at(step.end), up(step.write)) for step in steps]),
        },
        lanes=lanes,
        bands=[_band(sample, lanes, at(sample.started), at(sample.started + sample.elapsed_s)) for sample in samples],
        blocks=_blocks([(at(pause.start), at(pause.end), pause.kind) for pause in pauses]),
    )


def _lanes(plan: TrialPlan) -> list[str]:
    """A lane an operation, or one for all of a case of names."""
    return ['launches'] if isinstance(plan.workload, Namespace) else ['write', 'read']


def _band(sample: Sample, lanes: Sequence[Tick], start: float, end: float) -> Band:
    y = next((lane.at for lane in lanes if lane.label == sample.operation), lanes[0].at)
    style = sample.operation if sample.operation in ('read', 'write') else 'third'
    stage = {'measured': f'repetition {sample.repetition + 1}', 'warmup': 'warm-up'}.get(sample.stage, sample.stage)
    said = f'{sample.operation}@{sample.point}, {stage}, {words.seconds(sample.elapsed_s)}'
    return Band(start, y, max(LEAST_WIDTH, end - start), style, sample.stage == 'measured', said)


def _strokes(steps: Sequence[tuple[float, float, float]]) -> list[list[tuple[float, float]]]:
    """One stroke for all steps that follow each other, up and down where they meet."""
    strokes: list[list[tuple[float, float]]] = []
    for before, (start, end, y) in pairwise([(0.0, -1.0, 0.0), *steps]):
        if start > before[1] + 0.01:
            strokes.append([])
        strokes[-1] += [(start, y), (end, y)]
    return strokes


def _blocks(pauses: Sequence[tuple[float, float, str]]) -> list[Block]:
    blocks = []
    taken = float('-inf')
    for number, (start, end, kind) in enumerate(pauses, 1):
        middle = (start + end) / 2
        clear = middle - taken >= NUMBER_GAP
        blocks.append(Block(start, max(LEAST_WIDTH, end - start), kind, str(number) if clear else ''))
        taken = middle if clear else taken
    return blocks


def _pause_words(pause: Pause, begin: float) -> str:
    where = f'{pause.sample.operation}@{pause.sample.point}, repetition {pause.sample.repetition + 1}'
    where += '' if pause.sample.measurement else ', which gave no figure'
    at = f'{words.seconds(pause.seconds)}, {words.seconds(pause.start - begin)} after the beginning, in {where}'
    if pause.kind != STALL:
        return f'Gap of {at}: the counters did not answer.'
    rate, usual = words.figure(pause.rate), words.figure(pause.usual)
    return f'Stall of {at}: {rate} MiB/s moved, where it was {usual} MiB/s as a rule.'


def _summary(found: Sequence[Piece], pauses: Sequence[Pause]) -> str:
    """The drawing in words."""
    if not found:
        return 'no throughput'
    most = [words.figure(max(getattr(piece, way) for piece in found)) for way in ('read', 'write')]
    stalls = sum(pause.kind == STALL for pause in pauses)
    said = [words.count(stalls, 'stall'), words.count(len(pauses) - stalls, 'gap')]
    return f'at most {most[0]} MiB/s read and {most[1]} MiB/s written; {" and ".join(said)} while launches were timed'
