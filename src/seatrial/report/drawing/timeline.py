"""Drawings over the time of a case: throughput by the node's counters, with launches and pauses; the load of the
servers; and the course of a scenario, with its actions and failed calls."""

from collections.abc import Sequence
from typing import Any

from seatrial.judge.throughput import STALL, Pause, ThroughputSpan, Traffic, rpc_sizes, served, traffic
from seatrial.model.action import Course, Window
from seatrial.model.telemetry import ServerGap, ServerLook
from seatrial.report.drawing import plot
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit, seconds
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key, counted

MAX_STEPS = 360  # steps of a line; a case of hours has more readings than fit into a drawing
MOST_LINES = 6  # only the busiest servers are drawn; the table has all
MISSING = 0.05  # a larger share of missing samples is shown, as the server's load in that time is unknown
SATURATED = 0.95  # a disk that has work for at least this share of a second is saturated


def timeline(evidence: CaseEvidence, system: str) -> dict[str, Any] | None:
    """The counters of a case, as templates/timeline.html shows them; None if there are none. step_s: seconds of a
    step if readings are combined, else 0; sizes: requests by size; job_counts: the servers' counts of the job"""
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
        'interval_s': max([telemetry.watch.interval_s, *(pace.interval_s for pace in telemetry.paces)]),
        'step_s': 0.0 if len(steps) == len(moved.pieces) else steps[0].end - steps[0].start,
        'unit': unit,
        'chart': _chart(evidence, moved, steps, begin, unit) if steps else None,
        'flows': moved.flows,
        'pauses': [_pause_words(pause, begin, unit) for pause in moved.pauses],
        'sizes': [size for size in sizes if size.reads or size.writes],
        'job_counts': job_counts,
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
    """The pieces; if they are too many to draw, means over steps of equal length."""
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
) -> plot.Chart:
    plan, samples = evidence.plan, evidence.records.samples
    # One lane for each phase of a case that moves data in one or two phases, else one lane for all launches.
    phases = plot.styles(plan.phases) if kind_of(plan.kind).moves_data and len(plan.phases) < 3 else {}
    lanes = list(phases) or ['launches']
    launches, timed = [], []
    for sample in samples:
        measured = sample.stage == 'measured'
        stages = {'measured': f'repetition {sample.repetition + 1}', 'warmup': 'warm-up'}
        text = f'{sample.launch}, {stages.get(sample.stage, sample.stage)}, {seconds(sample.elapsed_s)}'
        start, end = sample.started, sample.started + sample.elapsed_s
        timed += [plot.Box(start, end, 'timed')] if measured else []
        kind, label = ('launch', 'a measured launch') if measured else ('launch other', 'warm-up, preparation')
        lane = lanes.index(sample.phase) if sample.phase in lanes else 0
        style = phases.get(sample.phase, 'third')
        launches.append(plot.Box(start, end, kind, style, lane=lane, words=text, label=label))
    read, written = (unit.words(max(getattr(piece, way) for piece in moved.pieces)) for way in ('read', 'write'))
    stalls = sum(pause.kind == STALL for pause in moved.pauses)
    counts = f'{counted(stalls, "stall")} and {counted(len(moved.pauses) - stalls, "gap")}'
    pauses = []
    for number, pause in enumerate(moved.pauses, 1):
        label = 'stall' if pause.kind == STALL else 'no samples'
        pauses.append(plot.Box(pause.start, pause.end, f'pause {pause.kind}', number=str(number), label=label))
    return plot.Chart(
        x=plot.time_scale(begin, max([steps[-1].end, *(launch.end for launch in launches)]), 'the beginning'),
        y=plot.figures_scale([max(max(step.read, step.write) for step in steps)], unit=unit),
        parts=[
            *timed,
            plot.Curve('read', plot.steps_line([(step.start, step.end, step.read) for step in steps]), 'read'),
            plot.Curve('write', plot.steps_line([(step.start, step.end, step.write) for step in steps]), 'written'),
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


def courses(evidence: CaseEvidence, system: str) -> list[dict[str, Any]]:
    """The course of the last measured launch at each point, in the order of the plan, with its actions in words."""
    by_point: dict[str, dict[int, Course]] = {point.label: {} for point in evidence.plan.points}
    for sample in (sample for samples in evidence.samples.values() for sample in samples):
        if sample.measurement and sample.measurement.course and sample.valid:
            by_point[sample.point.label][sample.repetition] = sample.measurement.course
    views = []
    for label, by_repetition in by_point.items():
        if by_repetition:
            launches = [course for _, course in sorted(by_repetition.items())]
            unit = common_unit((max(launches[-1].mean),), 'B/s', system)
            actions = [_action_words(windows) for windows in zip(*(run.windows for run in launches), strict=True)]
            views.append({'point': label, 'chart': _course_chart(launches[-1], unit), 'actions': actions})
    return views


def _action_words(launches: Sequence[Window]) -> str:
    """A sentence on an action in the last launch, and its count in every launch."""
    window = launches[-1]
    length = seconds(window.end_s - window.start_s)
    text = f'{window.name}: {length}, from {seconds(window.start_s)} on'
    if window.back_s is None:
        text += '; not back at 90 % before the next action or the end.'
    else:
        text += f'; back at 90 % {seconds(window.back_s - window.end_s)} after its undo.'
    if not any(launch.uncounted or launch.counted is not None for launch in launches):
        return text
    rose = (f'unknown (it {launch.uncounted})' if launch.uncounted else str(launch.counted) for launch in launches)
    return f'{text} Its count rose in each launch by: {", ".join(rose)}.'


def _course_chart(course: Course, unit: Unit) -> plot.Chart:
    step_s = course.step_s
    lost = f', calls failed in {counted(len(course.failed), "step")}' if course.failed else ''
    mean = f'written and read, mean of {seconds(step_s)}' if step_s > 1 else 'written and read'
    curves = [plot.Curve('read', _steps(course.mean, step_s), mean)]
    curves += [plot.Curve('third', _steps(course.lowest, step_s), 'lowest second of the mean')] * (step_s > 1)
    failed = [(i * step_s, (i + 1) * step_s) for i in course.failed]
    returns = [(action.end_s, action.back_s) for action in course.windows if action.back_s is not None]
    return plot.Chart(
        x=plot.time_scale(0.0, step_s * len(course.mean), 'the load began'),
        y=plot.figures_scale([max(*course.mean, course.wanted)], unit=unit),
        parts=[
            *(plot.Box(*times, 'timed', label='until it is back') for times in returns),
            *(
                plot.Box(action.start_s, action.end_s, 'pause stall', number=str(number), label='action')
                for number, action in enumerate(course.windows, 1)
            ),
            plot.Guide(course.wanted, 'least', label='90 % of the rate before'),
            *curves,
            *(plot.Box(*times, 'launch', 'write', lane=0, label='calls failed') for times in failed),
        ],
        height=190,
        lanes=['failed'] if course.failed else [],
        words=f'at most {unit.words(max(course.mean))}, at least {unit.words(min(course.lowest))}, '
        f'{counted(len(course.windows), "action")}{lost}',
    )


def _steps(rates: Sequence[float], step_s: float) -> Sequence[plot.Stroke]:
    return plot.steps_line([(i * step_s, (i + 1) * step_s, rate) for i, rate in enumerate(rates)])


def monitored(evidence: CaseEvidence, system: str) -> dict[str, Any] | None:
    """The servers, the busiest first; None if the site names none. unit: of their rates"""
    telemetry = evidence.telemetry
    if telemetry is None or not (telemetry.server_looks or telemetry.server_gaps):
        return None
    gaps = by_key((gap.server, gap) for gap in telemetry.server_gaps)
    looks = {server: list[ServerLook]() for server in gaps}
    looks |= by_key((look.server, look) for look in telemetry.server_looks)
    begin = telemetry.watch.time if telemetry.watch else min(look.time for look in telemetry.server_looks)
    ends = [look.time for look in telemetry.server_looks] + [gap.time for gap in telemetry.server_gaps]
    end = max([*ends, telemetry.ended.time if telemetry.ended else begin, begin + 1])
    busy = {name: max((look.busy for look in of_server), default=0.0) for name, of_server in looks.items()}
    names = sorted(looks, key=lambda name: (-busy[name], name))
    style = plot.styles(names[:MOST_LINES])
    rows = [_server_row(name, looks[name], gaps.get(name, ()), end - begin) for name in names]
    loads = [f'at most {100 * busy[name]:.0f} % busy' if looks[name] else 'no answer' for name in names]
    text = '; '.join(f'{name}: {load}' for name, load in zip(names, loads, strict=True))
    lines = [plot.Curve(style[name], _load_steps(looks[name]), f'busiest disk of {name}') for name in style]
    drawn = plot.Chart(
        x=plot.time_scale(begin, end, 'the beginning'),
        y=plot.round_scale(0.0, 100.0, '% busy', lambda share: f'{share:g}'),
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


def _server_row(
    server: str, looks: Sequence[ServerLook], gaps: Sequence[ServerGap], lasted_s: float
) -> dict[str, Any]:
    """Rates in bytes or packets a second: the mean over the case, and the highest of one look. missing: the share of
    missing samples; saturated_s: seconds of the looks in which a disk was SATURATED"""
    length_s = sum(look.length_s for look in looks)

    def rate(*names: str) -> tuple[float, float]:
        totals = [sum(getattr(look, name) for name in names) for look in looks]
        mean = sum(total * look.length_s for total, look in zip(totals, looks, strict=True))
        return (mean / length_s if length_s else 0.0), max(totals, default=0.0)

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


def _load_steps(looks: Sequence[ServerLook]) -> Sequence[plot.Stroke]:
    """The steps of a server's curve; interrupted where a sample is missing."""
    steps: list[tuple[float, float, float]] = []
    for look in looks:
        start = look.time - look.length_s
        follows = bool(steps) and abs(start - steps[-1][1]) < 1.0
        steps.append((steps[-1][1] if follows else start, look.time, 100 * look.busy))
    return plot.steps_line(steps)
