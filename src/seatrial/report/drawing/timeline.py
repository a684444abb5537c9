"""Throughput over the time of a case, as the node's counters saw it: lines, the launches below them, pauses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seatrial.judge.throughput import STALL, Flow, Pause, ThroughputSpan, rpc_sizes, served, traffic
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Sample
from seatrial.model.telemetry import RpcSize, Served, Servers
from seatrial.report.drawing.markers import styles
from seatrial.report.drawing.scale import HEADROOM, Frame, Paper, Scale, Tick, apart, papers
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit, seconds
from seatrial.workload.registry import kind_of
from seatrial.workload.words import counted

LANE, BELOW = 17.0, 20.0
"""px of the height of a lane of launches, and from the axis of time to the first, beside its labels."""

MAX_STEPS = 360
"""Steps of a line; a case of hours has more readings than a drawing has room for."""

NUMBER_GAP = 16.0
"""px that the numbers of two pauses are at least apart."""

MIN_WIDTH = 1.0

PAPERS = papers(300, 270, bottom=94)

_UNITS = ((3 * 3600.0, 3600.0, 'hours'), (300.0, 60.0, 'minutes'), (0.0, 1.0, 'seconds'))
"""Of the axis of time: from so many seconds on, so many seconds each."""


@dataclass(frozen=True)
class LaunchBand:
    """One launch on its lane, the middle at y. measured: whether its figure counts."""

    x: float
    y: float
    width: float
    style: str
    measured: bool
    words: str


@dataclass(frozen=True)
class PauseBlock:
    """One pause. number: its place in the list below the drawing; empty where it would touch the one before."""

    x: float
    width: float
    kind: str
    number: str


@dataclass(frozen=True, kw_only=True)
class Throughput(Frame):
    """Everything that there is to draw. lanes: the middles of those of launches; lines: by style, their strokes."""

    lines: Mapping[str, Sequence[Sequence[tuple[float, float]]]]
    lanes: Sequence[Tick]
    bands: Sequence[LaunchBand]
    blocks: Sequence[PauseBlock]


@dataclass(frozen=True)
class Timeline:
    """What was counted in a case.

    host:     the one node that counted, whatever others the launches ran on; what: whose traffic
    step_s:   seconds of one step of the lines, where readings are taken together, or 0
    unit:     of every throughput; flows: a row for each metric that moves bytes
    pauses:   every one in words, in order
    sizes:    of the requests; own: what servers count of the job; servers: what the site's command said, and when
    """

    host: str
    what: str
    interval_s: float
    step_s: float
    truncated: int
    unit: Unit
    words: str
    drawings: Mapping[str, Throughput]
    flows: Sequence[Flow]
    pauses: Sequence[str]
    sizes: Sequence[RpcSize]
    own: Sequence[Served]
    servers: Sequence[Servers]


def timeline(evidence: CaseEvidence, system: str) -> Timeline | None:
    """What was counted in the case; None where nothing was."""
    telemetry = evidence.telemetry
    if telemetry is None or telemetry.watch is None:
        return None
    plan, samples = evidence.plan, evidence.records.samples
    found = traffic(telemetry, samples if kind_of(plan.kind).moves_data else [])
    sizes, own = rpc_sizes(telemetry), served(telemetry)
    if not found.pieces and not sizes and not telemetry.servers:
        return None
    begin = min([piece.start for piece in found.pieces[:1]] + [sample.started for sample in samples[:1]], default=0.0)
    steps = _together(found.pieces)
    highest = max((rate for piece in found.pieces for rate in (piece.read, piece.write)), default=0.0)
    unit = common_unit((highest,), 'B/s', system)
    return Timeline(
        host=telemetry.watch.host,
        what=telemetry.watch.what,
        interval_s=max([telemetry.watch.interval_s, *(pace.interval_s for pace in telemetry.paces)]),
        step_s=0.0 if len(steps) == len(found.pieces) else steps[0].end - steps[0].start,
        truncated=telemetry.truncated,
        unit=unit,
        words=_summary(found.pieces, found.pauses, unit),
        drawings={
            name: _drawing(plan, samples, steps, found.pauses, begin, unit, paper)
            for name, paper in PAPERS.items()
            if steps
        },
        flows=found.flows,
        pauses=[_pause_words(pause, begin, unit) for pause in found.pauses],
        sizes=[each for each in sizes if each.reads or each.writes],
        own=own,
        servers=telemetry.servers,
    )


def why_none(evidence: CaseEvidence) -> str:
    """Why there is no timeline, in words; empty where there is one."""
    telemetry = evidence.telemetry
    if telemetry is None or telemetry.watch is None:
        return 'none: the job kept no telemetry'
    if telemetry.watch.why_not:
        return f'none: {telemetry.watch.why_not}'
    return '' if telemetry.looks else 'none: the counters never answered'


def _together(found: Sequence[ThroughputSpan]) -> Sequence[ThroughputSpan]:
    """The pieces, or where they are too many to be drawn, steps of one length, each the mean of its pieces."""
    if len(found) <= MAX_STEPS:
        return found
    start, length = found[0].start, (found[-1].end - found[0].start) / MAX_STEPS
    sums: dict[int, tuple[float, float, float]] = {}
    for piece in found:
        first, last = int((piece.start - start) / length), int((piece.end - start) / length)
        for step in range(first, min(last, MAX_STEPS - 1) + 1):
            inside = min(piece.end, start + (step + 1) * length) - max(piece.start, start + step * length)
            if inside > 0:
                took, read, write = sums.get(step, (0.0, 0.0, 0.0))
                sums[step] = took + inside, read + inside * piece.read, write + inside * piece.write
    return [
        ThroughputSpan(start + step * length, start + (step + 1) * length, read / took, write / took)
        for step, (took, read, write) in sorted(sums.items())
    ]


def _drawing(
    plan: TrialPlan,
    samples: Sequence[Sample],
    steps: Sequence[ThroughputSpan],
    pauses: Sequence[Pause],
    begin: float,
    unit: Unit,
    paper: Paper,
) -> Throughput:
    end = max([steps[-1].end, *(sample.started + sample.elapsed_s for sample in samples)])
    bottom = paper.height - paper.bottom
    highest = max(max(step.read, step.write) for step in steps)
    up = Scale(0.0, highest * HEADROOM or unit.size, False, bottom, paper.top + paper.font, unit)
    y_ticks = up.ticks(4)
    below = bottom + BELOW + paper.font
    # A lane a phase of a case that moves data, or one for all.
    phases = styles(plan.phases) if kind_of(plan.kind).moves_data and len(plan.phases) < 3 else {}
    lanes = [Tick(below + LANE * i, name) for i, name in enumerate(phases or ['launches'])]
    left, right = paper.room((*lanes, *y_ticks)), float(paper.width - paper.right)
    axis = TimeAxis.of(begin, end, left, right, paper)
    at = axis.at

    return Throughput(
        paper=paper,
        left=left,
        right=right,
        x_ticks=axis.ticks,
        y_ticks=y_ticks,
        x_label=f'{axis.name} since the beginning',
        y_label=unit.name,
        lines={
            'read': strokes([(at(step.start), at(step.end), up(step.read)) for step in steps]),
            'write': strokes([(at(step.start), at(step.end), up(step.write)) for step in steps]),
        },
        lanes=lanes,
        bands=[
            _band(sample, lanes, phases, at(sample.started), at(sample.started + sample.elapsed_s))
            for sample in samples
        ],
        blocks=blocks([(at(pause.start), at(pause.end), pause.kind) for pause in pauses]),
    )


def _band(sample: Sample, lanes: Sequence[Tick], phases: Mapping[str, str], start: float, end: float) -> LaunchBand:
    y = next((lane.at for lane in lanes if lane.label == sample.phase), lanes[0].at)
    stage = {'measured': f'repetition {sample.repetition + 1}', 'warmup': 'warm-up'}.get(sample.stage, sample.stage)
    said = f'{sample.launch}, {stage}, {seconds(sample.elapsed_s)}'
    style = phases.get(sample.phase, 'third')
    return LaunchBand(start, y, max(MIN_WIDTH, end - start), style, sample.stage == 'measured', said)


@dataclass(frozen=True)
class TimeAxis:
    """From a beginning on. at: the px of a time in seconds; name: of the unit of its ticks."""

    at: Callable[[float], float]
    ticks: Sequence[Tick]
    name: str

    @classmethod
    def of(cls, begin: float, end: float, left: float, right: float, paper: Paper) -> 'TimeAxis':
        """Between two times in seconds, from one px to the other."""
        each_s, name = next((each_s, name) for least_s, each_s, name in _UNITS if end - begin >= least_s)
        across = Scale(0.0, (end - begin) / each_s, False, left, right)
        ticks = across.ticks(4 if paper.narrow else 6, lambda time: f'{time:g}')
        return cls(lambda time: across((time - begin) / each_s), apart(ticks, paper.font, paper.width), name)


def strokes(steps: Sequence[tuple[float, float, float]]) -> list[list[tuple[float, float]]]:
    """One stroke for all steps that follow each other, up and down where they meet."""
    strokes: list[list[tuple[float, float]]] = []
    for before, (start, end, y) in pairwise([(0.0, -1.0, 0.0), *steps]):
        if start > before[1] + 0.01:
            strokes.append([])
        strokes[-1] += [(start, y), (end, y)]
    return strokes


def blocks(pauses: Sequence[tuple[float, float, str]]) -> list[PauseBlock]:
    """Of the beginning, the end and the kind of each, in px."""
    found = []
    taken = float('-inf')
    for number, (start, end, kind) in enumerate(pauses, 1):
        middle = (start + end) / 2
        clear = middle - taken >= NUMBER_GAP
        found.append(PauseBlock(start, max(MIN_WIDTH, end - start), kind, str(number) if clear else ''))
        taken = middle if clear else taken
    return found


def _pause_words(pause: Pause, begin: float, unit: Unit) -> str:
    where = f'{pause.sample.launch}, repetition {pause.sample.repetition + 1}'
    where += '' if pause.sample.measurement else ', which gave no figure'
    at = f'{seconds(pause.seconds)}, {seconds(pause.start - begin)} after the beginning, in {where}'
    if pause.kind != STALL:
        return f'Gap of {at}: the counters did not answer.'
    return f'Stall of {at}: {unit.words(pause.rate)} moved; usual is {unit.words(pause.usual)}.'


def _summary(found: Sequence[ThroughputSpan], pauses: Sequence[Pause], unit: Unit) -> str:
    """The drawing in words."""
    if not found:
        return 'no throughput'
    read, written = (unit.words(max(getattr(piece, way) for piece in found)) for way in ('read', 'write'))
    stalls = sum(pause.kind == STALL for pause in pauses)
    said = f'{counted(stalls, "stall")} and {counted(len(pauses) - stalls, "gap")}'
    return f'at most {read} read and {written} written; {said} while launches were timed'
