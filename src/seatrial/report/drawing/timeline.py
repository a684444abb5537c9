"""Throughput over the time of a case by the node's counters: lines, the launches below them, pauses."""

from collections.abc import Sequence
from typing import Any

from seatrial.judge.throughput import STALL, Pause, ThroughputSpan, Traffic, rpc_sizes, served, traffic
from seatrial.report.drawing.plot import Box, Chart, Curve, figures_scale, steps_line, styles, time_scale
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit, seconds
from seatrial.workload.registry import kind_of
from seatrial.workload.words import counted

MAX_STEPS = 360  # steps of a line; a case of hours has more readings than a drawing has room for


def timeline(evidence: CaseEvidence, system: str) -> dict[str, Any] | None:
    """The counters of a case, as templates/timeline.html shows them; None if there are none. host: the one node that
    counted; what: whose traffic; step_s: seconds of a step of the lines if readings are combined, or 0; flows: a row
    for each metric that moves bytes; sizes: of the requests; job_counts: servers' counts of the job; servers: output
    of the site's command, and when"""
    telemetry = evidence.telemetry
    if telemetry is None or telemetry.watch is None:
        return None
    plan, samples = evidence.plan, evidence.records.samples
    moved = traffic(telemetry, samples if kind_of(plan.kind).moves_data else [])
    sizes, job_counts = rpc_sizes(telemetry), served(telemetry)
    if not moved.pieces and not sizes and not telemetry.servers:
        return None
    begin = min([piece.start for piece in moved.pieces[:1]] + [sample.started for sample in samples[:1]], default=0.0)
    steps = _together(moved.pieces)
    highest = max((rate for piece in moved.pieces for rate in (piece.read, piece.write)), default=0.0)
    unit = common_unit((highest,), 'B/s', system)
    return {
        'host': telemetry.watch.host,
        'what': telemetry.watch.what,
        'interval_s': max([telemetry.watch.interval_s, *(pace.interval_s for pace in telemetry.paces)]),
        'step_s': 0.0 if len(steps) == len(moved.pieces) else steps[0].end - steps[0].start,
        'truncated': telemetry.truncated,
        'unit': unit,
        'chart': _chart(evidence, moved, steps, begin, unit) if steps else None,
        'flows': moved.flows,
        'pauses': [_pause_words(pause, begin, unit) for pause in moved.pauses],
        'sizes': [size for size in sizes if size.reads or size.writes],
        'job_counts': job_counts,
        'servers': telemetry.servers,
    }


def why_none(evidence: CaseEvidence) -> str:
    """The reason why there is no timeline; empty if there is one."""
    telemetry = evidence.telemetry
    if telemetry is None or telemetry.watch is None:
        return 'none: the job kept no telemetry'
    if telemetry.watch.why_not:
        return f'none: {telemetry.watch.why_not}'
    return '' if telemetry.looks else 'none: the counters could not be read'


def _together(pieces: Sequence[ThroughputSpan]) -> Sequence[ThroughputSpan]:
    """The pieces; if they are too many to be drawn, the means of steps of equal length."""
    if len(pieces) <= MAX_STEPS:
        return pieces
    start, length = pieces[0].start, (pieces[-1].end - pieces[0].start) / MAX_STEPS
    sums: dict[int, tuple[float, float, float]] = {}
    for piece in pieces:
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


def _chart(
    evidence: CaseEvidence, moved: Traffic, steps: Sequence[ThroughputSpan], begin: float, unit: Unit
) -> Chart:
    plan, samples = evidence.plan, evidence.records.samples
    # A lane a phase of a case that moves data, or one for all.
    phases = styles(plan.phases) if kind_of(plan.kind).moves_data and len(plan.phases) < 3 else {}
    lanes = list(phases) or ['launches']
    launches, timed = [], []
    for sample in samples:
        measured = sample.stage == 'measured'
        stages = {'measured': f'repetition {sample.repetition + 1}', 'warmup': 'warm-up'}
        text = f'{sample.launch}, {stages.get(sample.stage, sample.stage)}, {seconds(sample.elapsed_s)}'
        start, end = sample.started, sample.started + sample.elapsed_s
        timed += [Box(start, end, 'timed')] if measured else []
        kind, label = ('launch', 'a measured launch') if measured else ('launch other', 'warm-up, preparation')
        lane = lanes.index(sample.phase) if sample.phase in lanes else 0
        style = phases.get(sample.phase, 'third')
        launches.append(Box(start, end, kind, style, lane=lane, words=text, label=label))
    read, written = (unit.words(max(getattr(piece, way) for piece in moved.pieces)) for way in ('read', 'write'))
    stalls = sum(pause.kind == STALL for pause in moved.pauses)
    counts = f'{counted(stalls, "stall")} and {counted(len(moved.pauses) - stalls, "gap")}'
    pauses = []
    for number, pause in enumerate(moved.pauses, 1):
        label = 'stall' if pause.kind == STALL else 'no samples'
        pauses.append(Box(pause.start, pause.end, f'pause {pause.kind}', number=str(number), label=label))
    return Chart(
        x=time_scale(begin, max([steps[-1].end, *(launch.end for launch in launches)]), 'the beginning'),
        y=figures_scale([max(max(step.read, step.write) for step in steps)], unit=unit),
        parts=[
            *timed,
            Curve('read', steps_line([(step.start, step.end, step.read) for step in steps]), 'read'),
            Curve('write', steps_line([(step.start, step.end, step.write) for step in steps]), 'written'),
            *pauses,
            *launches,
        ],
        height=194,
        lanes=lanes,
        words=f'at most {read} read and {written} written; {counts} while launches were timed',
    )


def _pause_words(pause: Pause, begin: float, unit: Unit) -> str:
    where = f'{pause.sample.launch}, repetition {pause.sample.repetition + 1}'
    where += '' if pause.sample.measurement else ', which gave no figure'
    at = f'{seconds(pause.seconds)}, {seconds(pause.start - begin)} after the beginning, in {where}'
    if pause.kind != STALL:
        return f'Gap of {at}: the counters could not be read.'
    return f'Stall of {at}: {unit.words(pause.rate)} moved instead of {unit.words(pause.usual)}.'
