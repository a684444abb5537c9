"""The sentences and figures of a report, the same in all of its forms."""

import math
import unicodedata
from collections.abc import Sequence
from datetime import timedelta

from seatrial.judge.expectations import AXIS_WORDS, ExpectationResult
from seatrial.judge.references import ReferenceResult
from seatrial.judge.session import SessionResult
from seatrial.judge.statistics import CONFIDENCE
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Limits, Target, TrialPlan
from seatrial.model.units import approximate_size, format_size
from seatrial.model.workload import AccessPattern, Point
from seatrial.report.evidence import SessionEvidence

NARROW_SPACE = '\u202f'

AXIS_LABELS = {
    'transfer_size': 'bytes per transfer',
    'objects': 'objects per client',
    'clients': 'clients',
}

STOPPED = {
    'converged': 'precise enough',
    'exhausted': 'limit reached',
    'budget': 'time used up',
    'invalid': 'not believable',
    'fixed': 'fixed number',
}
"""Why the repetitions of a point ended, by the word of the end record."""

_BIDIRECTIONAL = {'LRE', 'RLE', 'LRO', 'RLO', 'PDF', 'LRI', 'RLI', 'FSI', 'PDI'}


def clean(text: str) -> str:
    """The text with everything visible that could change how the rest is read, or that XML cannot hold.

    Control characters, lone surrogates, noncharacters and the overrides of the writing direction become \\xNN
    and \\uNNNN.
    """
    return text if text.isascii() and text.isprintable() else ''.join(map(_visible, text))


def figure(value: float) -> str:
    """A figure with three significant digits or all before the point: 0.523, 5.23, 52.3, 523, 5234, 52 340."""
    if not math.isfinite(value):
        return '\u2013'
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f'{value:.{min(digits, 6)}f}'
    return f'{value:,.0f}'.replace(',', NARROW_SPACE) if abs(value) >= 9999.5 else text


def percent(share: float) -> str:
    """A share as per cent, with one decimal below 10: 4.2 %, 37 %."""
    return f'{100 * share:.1f} %' if abs(share) < 0.0995 else f'{100 * share:.0f} %'


def seconds(value: float) -> str:
    """How long something took: 0.81 s, 45 s, 12 min, 3.5 h."""
    if value < 10:
        return f'{value:.2f} s'
    if value < 120:
        return f'{value:.0f} s'
    return f'{value / 60:.0f} min' if value < 7200 else f'{value / 3600:.1f} h'


def listed(words: Sequence[str], most: int = 3) -> str:
    """The first words and how many more there are: 'a, b, c and 4 more'."""
    more = len(words) - most
    return ', '.join(words[:most]) + (f' and {more} more' if more > 0 else '')


def count(number: int, one: str, many: str = '') -> str:
    """The number with its noun: 1 case, 2 cases."""
    return f'{number} {one if number == 1 else many or one + "s"}'


def point_value(plan: TrialPlan, point: Point) -> str:
    """Where a point lies on the axis of its sweep: '64 KiB', '32'."""
    if plan.axis == 'transfer_size':
        text = format_size(point.transfer_size)
        unit = text.lstrip('0123456789')
        return f'{text[: -len(unit)]} {unit}'
    return str(point.objects if plan.axis == 'objects' else point.tasks)


def workload(plan: TrialPlan) -> str:
    """What a case does, in one sentence: 'Every client writes and reads a file of its own, over transfer sizes.'"""
    pattern = plan.workload
    does = ' and '.join(f'{operation}s' for operation in pattern.operations)
    order = ', in random order' if pattern.order == 'random' else ''
    through = {
        ('posix', False): '',
        ('mpiio', False): ', through MPI-IO',
        ('mpiio', True): ', collectively through MPI-IO',
    }[pattern.interface, pattern.collective]
    return f'Every client {does} {_what(pattern)}{order}{through}, over {AXIS_WORDS[plan.axis]}.'


def verdict_sentence(session: SessionResult) -> str:
    """What the verdict of a session means, for somebody who reads nothing else."""
    total = len(session.cases)
    hit = sum(case.verdict is session.verdict for case in session.cases)
    every = {1: 'The only case', 2: 'Both cases'}.get(total, f'All {total} cases')
    of_all = every if hit == total else f'{hit} of {count(total, "case")}'
    verb = 's' if hit == 1 else ''
    if session.verdict is Verdict.PASS:
        return f'{of_all} ran as planned and can be believed. {_held_against(session)}'
    if not total:
        return 'No case was planned, so nothing is proved.'
    enforced = [each.words for each in session.relations if each.enforced]
    if not hit and enforced:
        how = 'fails' if session.verdict is Verdict.FAIL else 'cannot be decided'
        return f'A relation between checks, which the site has made a criterion, {how}: {enforced[0]}.'
    return {
        Verdict.FAIL: f'{of_all} fail{verb}: it is proved that the system does not do what was asked.',
        Verdict.INVALID: f'{of_all} cannot be believed; measure again once the reason is mended.',
        Verdict.INCOMPLETE: f'{of_all} did not run to the end; what was not measured proves nothing.',
        Verdict.INCONCLUSIVE: f'{of_all} can be believed, but cannot decide.',
    }[session.verdict]


def counts(session: SessionResult) -> str:
    """'6 PASS, 1 FAIL, 1 INVALID'."""
    return ', '.join(f'{number} {verdict.value}' for verdict, number in session.counts.items()) or 'no cases'


def engines(session: SessionResult) -> list[tuple[str, str]]:
    """Which engines measured, each with the number of its cases: ('fio 3.33', '8 cases')."""
    names = [f'{case.engine} {case.version}'.strip() or 'no engine' for case in session.cases]
    return [(name, count(names.count(name), 'case')) for name in dict.fromkeys(names)]


def passed_over(session: SessionResult) -> list[str]:
    """Why engines that were preferred did not measure; each reason once."""
    return list(dict.fromkeys(reason for case in session.cases for reason in case.passed_over))


def machines(evidence: SessionEvidence) -> list[str]:
    """Every host that ran a job or a client, the former with its kernel."""
    starts = [case.records.start for case in evidence.cases if case.records.start]
    jobs = dict.fromkeys(f'{start.host}, Linux {start.kernel}' for start in starts)
    known = {start.host for start in starts}
    others = dict.fromkeys(
        host
        for case in evidence.cases
        for samples in case.samples.values()
        for sample in samples
        for host in (sample.measurement.hosts if sample.measurement else ())
        if host not in known
    )
    return [*jobs, *others]


def memories(evidence: SessionEvidence) -> list[str]:
    """The memory of the hosts that ran a job."""
    starts = [case.records.start for case in evidence.cases if case.records.start]
    return list(dict.fromkeys(f'{approximate_size(start.memory_bytes)} memory' for start in starts))


def targets(evidence: SessionEvidence) -> list[Target]:
    """Every file system and layout under test, each once."""
    return list(dict.fromkeys(case.plan.target._replace(limits=Limits(0, 0)) for case in evidence.cases))


def lasted(evidence: SessionEvidence) -> timedelta | None:
    """From the start of the first job to the end of the last one; None where none has both."""
    begins = [case.records.start.started for case in evidence.cases if case.records.start]
    ends = [case.records.end.ended for case in evidence.cases if case.records.end]
    return timedelta(seconds=max(ends) - min(begins)) if begins and ends else None


def largest(plan: TrialPlan) -> str:
    """The largest launch of a case: '8 clients on 2 nodes'."""
    point = max(plan.points, key=lambda point: point.tasks)
    return f'{count(point.tasks, "client")} on {count(point.nodes, "node")}'


def stopping(plan: TrialPlan) -> str:
    """When the repetitions of a point end."""
    rule = plan.stopping
    if rule.fixed:
        return f'{rule.least} of each point, fewer where they take longer than {seconds(rule.budget_s)}'
    return (
        f'{rule.least} to {rule.most} of each point, until the {100 * rule.confidence:g} % interval is within '
        f'{percent(rule.max_relative_error)}, then {rule.extra} more'
    )


def bounds(reference: ReferenceResult) -> str:
    """What a reference allows: 'at least 900', '900 \u2013 1100'."""
    low, high = reference.low, reference.high
    if low is not None and high is not None:
        return f'{figure(low)} \u2013 {figure(high)}'
    if low is None and high is None:
        return 'none'
    return f'at least {figure(low)}' if low is not None else f'at most {figure(high or 0.0)}'


def confidence(session: SessionResult) -> str:
    """Of the intervals, in per cent: '90'."""
    summaries = [metric.summary for case in session.cases for metric in case.metrics if metric.summary]
    return f'{100 * (summaries[0].interval.confidence if summaries else CONFIDENCE):g}'


def unjudged(session: SessionResult) -> str:
    """Why no case of the session was held against anything, or empty where one was."""
    reasons = [case.unjudged for case in session.cases]
    return reasons[0] if reasons and all(reasons) else ''


def shared_labels(session: SessionResult) -> list[str]:
    """What must be said beside the figures of every case that was measured, where there are several."""
    measured = [case for case in session.cases if any(metric.summary for metric in case.metrics)]
    if len(measured) < 2:
        return []
    return [label for label in measured[0].labels if all(label in case.labels for case in measured)]


def _visible(character: str) -> str:
    code = ord(character)
    if character in '\n\t':
        return character
    hidden = unicodedata.category(character) in ('Cc', 'Cs') or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    if hidden or unicodedata.bidirectional(character) in _BIDIRECTIONAL:
        return f'\\x{code:02x}' if code < 256 else f'\\u{code:04x}'
    return character


def _what(pattern: AccessPattern) -> str:
    if pattern.files == 'multiple':
        return 'a file of its own'
    if pattern.extent == 'whole':
        return 'the whole of one shared file'
    return {'strided': 'objects of one shared file, dealt in turn'}.get(
        pattern.order, 'its segment of one shared file'
    )


def _held_against(session: SessionResult) -> str:
    met = sum(len(case.references) for case in session.cases)
    enforced = sum(each.enforced for each in _expectations(session))
    if not met and not enforced:
        return f'{"It was" if len(session.cases) == 1 else "They were"} held against no reference and no criterion.'
    parts = [count(met, 'reference')] * bool(met) + [count(enforced, 'criterion', 'criteria')] * bool(enforced)
    return f'{"It meets" if len(session.cases) == 1 else "They meet"} {" and ".join(parts)}.'


def _expectations(session: SessionResult) -> list[ExpectationResult]:
    return [*(each for case in session.cases for each in case.expectations), *session.relations]
