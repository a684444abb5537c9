"""Throughput over time from the counters of the node, and stalls during the timed part of a launch. It explains
figures and decides none: the counters may include the traffic of others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seatrial.model.record import Sample
from seatrial.model.telemetry import AFTER, BEFORE, READ, WRITTEN, Look, RpcSize, Served, Telemetry
from seatrial.workload.registry import phase_of
from seatrial.workload.words import by_key

STALL_S, EARLY_S = 2.0, 0.1
"""A stall is at least so long: between three readings a second apart, so that one that came late makes none. By so
much the last of the three may come early."""

STALL_SHARE = 0.1  # share of the usual rate: slow phases of caches and disks that work stay above it
GAP_INTERVALS = 2.5  # readings that lie further apart have missed one: on a busy node one comes late, not two

STALL, GAP = 'stall', 'gap'


@dataclass(frozen=True)
class ThroughputSpan:
    """The throughput between two readings. Times are Unix times, rates B/s."""

    start: float
    end: float
    read: float
    write: float


@dataclass(frozen=True)
class Pause:
    """A time within a launch in which nothing moved ('stall'), or nothing was recorded ('gap'). rate, usual: B/s in
    the pause, and usually in the launch; 0 for a gap"""

    kind: str
    start: float
    end: float
    sample: Sample
    rate: float = 0.0
    usual: float = 0.0

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Flow:
    """The measured launches of one phase at one point (its label), as the counters saw them."""

    phase: str
    point: str
    launches: int
    seen: int  # launches whose timed region is long enough for a stall to be seen in it
    median: float | None  # median of their usual rates, B/s; None if none was seen, or nothing moved
    pauses: Sequence[Pause]


@dataclass(frozen=True)
class Traffic:
    pieces: Sequence[ThroughputSpan]  # spans in order, with holes where nothing is known
    flows: Sequence[Flow]  # phases in the order of the launches

    @property
    def pauses(self) -> list[Pause]:
        return sorted((pause for flow in self.flows for pause in flow.pauses), key=lambda pause: pause.start)


def traffic(telemetry: Telemetry, samples: Iterable[Sample]) -> Traffic:
    spans = pieces(telemetry)
    by_launch = by_key((sample.launch, sample) for sample in samples if sample.stage == 'measured')
    return Traffic(spans, [_flow(spans, launches) for launches in by_launch.values()])


def pieces(telemetry: Telemetry) -> list[ThroughputSpan]:
    """The throughput between successive readings, without gaps and without intervals in which a counter was reset."""
    spans = (_piece(telemetry, before, after) for before, after in pairwise(telemetry.looks))
    return [span for span in spans if span]


def _piece(telemetry: Telemetry, before: Look, after: Look) -> ThroughputSpan | None:
    seconds = after.clock_s - before.clock_s
    paces = [pace.interval_s for pace in telemetry.paces if pace.time <= after.time]
    interval_s = max([telemetry.watch.interval_s if telemetry.watch else 0.0, *paces])
    if seconds <= 0 or seconds > GAP_INTERVALS * interval_s or after.time <= before.time:
        return None
    if any(before.clock_s < gap.clock_s < after.clock_s for gap in telemetry.gaps):
        return None
    moved = []
    for name in (READ, WRITTEN):
        one, other = before.counters.get(name), after.counters.get(name)
        if one is None or other is None or other < one:
            return None
        moved.append((other - one) / seconds)
    return ThroughputSpan(before.time, after.time, *moved)


def certain(sample: Sample) -> tuple[float, float] | None:
    """Unix times between which the launch was certainly being timed, or None. Only the length of the timed part is
    known, and that it lies within the launch: its middle, away from both ends by the untimed seconds, is certain. A
    failed launch counts in full: all of it should have been timed."""
    if sample.measurement is None:
        return sample.started, sample.started + sample.elapsed_s
    seconds = min(sample.measurement.seconds, sample.elapsed_s)
    start, end = sample.started + sample.elapsed_s - seconds, sample.started + seconds
    return (start, end) if start < end else None


def _flow(spans: Sequence[ThroughputSpan], samples: Sequence[Sample]) -> Flow:
    pauses: list[Pause] = []
    rates, seen = [], 0
    for sample in samples:
        inside = certain(sample)
        if inside is None or inside[1] - inside[0] < STALL_S:
            continue
        seen += 1
        reads = phase_of(sample.point, sample.phase).reads
        fills_memory = not reads and not (sample.measurement and sample.measurement.direct)
        parts = _parts(spans, *inside, reads)
        usual = usual_rate(parts)
        rates += [usual] * (usual > 0)
        if not usual and _reaches_storage(sample):  # it stood still for all of this part
            usual = usual_rate(_parts(spans, sample.started, sample.started + sample.elapsed_s, reads))
        if any(sample.started <= piece.start < inside[0] and piece.write > usual * STALL_SHARE for piece in spans):
            fills_memory = False  # the node had begun to write it out before this part of the launch
        # What memory answers or takes is not counted here: then nothing moves, and nothing stands still.
        found_stalls = [] if sample.cache == 'cached' else stalls(parts, fills_memory, usual)
        pauses += [Pause(STALL, *stall, sample, _rate(parts, *stall), usual) for stall in found_stalls]
        pauses += [Pause(GAP, *gap, sample) for gap in gaps(parts, *inside)]
    median = sorted(rates)[len(rates) // 2] if rates else None
    first, in_order = samples[0], sorted(pauses, key=lambda pause: pause.start)
    return Flow(first.phase, first.point.label, len(samples), seen, median, in_order)


Part = tuple[float, float, float]  # unix times and the rate between them, B/s


def _parts(spans: Sequence[ThroughputSpan], start: float, end: float, reads: bool) -> list[Part]:
    return [
        (max(start, span.start), min(end, span.end), span.read if reads else span.write)
        for span in spans
        if span.end > start and span.start < end
    ]


def _reaches_storage(sample: Sample) -> bool:
    """True if its bytes are certainly moved within the timed part, and not left in memory."""
    measurement = sample.measurement
    return sample.cache == 'cold' or (measurement is not None and bool(measurement.direct or measurement.fsync))


def usual_rate(parts: Sequence[Part]) -> float:
    """The greater of the median and the mean over time, B/s; 0 without parts. The median alone would be that of the
    stall, if this lasts for more than half of the launch."""
    total = sum(end - start for start, end, _ in parts)
    if not total:
        return 0.0
    mean = sum((end - start) * rate for start, end, rate in parts) / total
    median, passed = 0.0, 0.0
    for start, end, rate in sorted(parts, key=lambda part: part[2]):
        median, passed = rate, passed + end - start
        if passed >= total / 2:
            break
    return max(median, mean)


def stalls(parts: Sequence[Part], fills_memory: bool, usual: float | None = None) -> list[tuple[float, float]]:
    """Unix times in which the rate is below STALL_SHARE of the usual one for STALL_S or longer. fills_memory: the
    node may keep what is written, so nothing need move at first and a stall is counted only later; usual: B/s, where
    it is not that of these parts"""
    low = (usual_rate(parts) if usual is None else usual) * STALL_SHARE
    slow = [part for part in parts if part[2] < low]
    if fills_memory:
        moving = next((part[0] for part in parts if part[2] >= low), float('inf'))
        slow = [part for part in slow if part[0] > moving]
    runs: list[tuple[float, float]] = []
    for start, end, _ in slow:
        if runs and start <= runs[-1][1]:
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    return [run for run in runs if run[1] - run[0] >= STALL_S - EARLY_S]


def gaps(parts: Sequence[Part], start: float, end: float) -> list[tuple[float, float]]:
    """Holes of STALL_S or longer between these times, in which nothing is known."""
    edges = [(start, start), *((one, other) for one, other, _ in parts), (end, end)]
    holes = [(before[1], after[0]) for before, after in pairwise(edges)]
    return [hole for hole in holes if hole[1] - hole[0] >= STALL_S - EARLY_S]


def _rate(parts: Sequence[Part], start: float, end: float) -> float:
    """The mean rate between two times that are edges of parts."""
    inside = [part for part in parts if start <= part[0] and part[1] <= end]
    return sum((part[1] - part[0]) * part[2] for part in inside) / (end - start)


def rpc_sizes(telemetry: Telemetry) -> list[RpcSize]:
    """The requests during the case by size, after less before. Empty if one reading is missing or was cleared."""
    known = {reading.when: reading.sizes for reading in telemetry.rpc_sizes if not reading.why_not}
    if set(known) != {BEFORE, AFTER}:
        return []
    before = {size.pages: size for size in known[BEFORE]}
    pairs = [(size, before.get(size.pages, RpcSize(size.pages, 0, 0))) for size in known[AFTER]]
    requests = [RpcSize(size.pages, size.reads - was.reads, size.writes - was.writes) for size, was in pairs]
    return requests if all(size.reads >= 0 and size.writes >= 0 for size in requests) else []


def served(telemetry: Telemetry) -> list[Served]:
    """The servers' counts for the job during this case, after less before, without counters cleared in between."""
    known = {reading.when: reading.counts for reading in telemetry.servers if not reading.why_not}
    if set(known) != {BEFORE, AFTER}:
        return []
    before = {(row.target, row.name): row for row in known[BEFORE]}
    rows = []
    for row in known[AFTER]:
        was = before.get((row.target, row.name), row._replace(samples=0, total=0))
        difference = row._replace(samples=row.samples - was.samples, total=row.total - was.total)
        rows += [difference] * (difference.samples > 0 and difference.total >= 0)
    return rows
