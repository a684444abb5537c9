"""The sentences and figures of a report, the same in all of its forms."""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import timedelta

from seatrial.judge.expectations import AXIS_WORDS, ExpectationResult
from seatrial.judge.references import ReferenceResult
from seatrial.judge.session import SessionResult
from seatrial.judge.statistics import CONFIDENCE
from seatrial.judge.verdict import CaseResult, Verdict, of_relation
from seatrial.model.namespace import Namespace
from seatrial.model.plan import Case, Target, TrialPlan
from seatrial.model.record import UNNAMED
from seatrial.model.tree import Fact, TreePoint
from seatrial.model.units import approximate_size
from seatrial.model.work import Place
from seatrial.model.workload import NAMED, AccessPattern
from seatrial.report import trees
from seatrial.report.contrast import Ratio
from seatrial.report.evidence import CaseEvidence, SessionEvidence

NARROW_SPACE = '\u202f'

AXIS_LABELS = {
    'transfer_size': 'bytes per transfer',
    'objects': 'objects per client',
    'clients': 'clients',
    'entries': 'files in the directory',
}

STOPPED = {
    'converged': 'precise enough',
    'exhausted': 'limit reached',
    'budget': 'time used up',
    'invalid': 'not believable',
    'fixed': 'fixed number',
}
"""Why the repetitions of a point ended, by the word of the end record."""

_ON_EACH = {
    'layout': 'in each layout',
    'ost': 'on each OST by itself',
    'mdt': 'on each MDT by itself',
    'group': 'on all nodes at once and on groups of them alone',
}
"""How the points of a case differ, where they have names of their own."""

_SECONDS = ((1.0, 's'), (1e3, 'ms'), (1e6, '\u00b5s'), (1e9, 'ns'))
_LETTERS = ((1e9, 1e9, 'G'), (1e6, 1e6, 'M'), (1e4, 1e3, 'k'))
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


def compact(value: float) -> str:
    """A round figure in a narrow place: 500, 20k, 1M."""
    least, factor, letter = next((each for each in _LETTERS if value >= each[0]), (0.0, 1.0, ''))
    return f'{value / factor:g}{letter}' if least else figure(value)


def percent(share: float) -> str:
    """A share as per cent, with one decimal below 10: 4.2 %, 37 %."""
    return f'{100 * share:.1f} %' if abs(share) < 0.0995 else f'{100 * share:.0f} %'


def ratio(found: Ratio) -> str:
    """A ratio with its interval, if it has one: '1.49 (1.31 - 1.67)'."""
    if found.estimate is None:
        return 'cannot be told'
    if found.low is None or found.high is None:
        return figure(found.estimate)
    return f'{figure(found.estimate)} ({figure(found.low)} - {figure(found.high)})'


def seconds(value: float) -> str:
    """How long something took: 0.81 s, 45 s, 12 min, 3.5 h."""
    if value < 10:
        return f'{value:.2f} s'
    if value < 120:
        return f'{value:.0f} s'
    return f'{value / 60:.0f} min' if value < 7200 else f'{value / 3600:.1f} h'


def brief(value_s: float) -> str:
    """A time of three significant digits, however short: 1.23 s, 466 ms, 33.4 \u00b5s."""
    value, unit = _in_unit(value_s)
    return f'{figure(value)} {unit}'


def tick_time(value_s: float) -> str:
    """A round time on an axis: 50 ms."""
    value, unit = _in_unit(value_s)
    return f'{value:g} {unit}'


def listed(words: Sequence[str], most: int = 3) -> str:
    """The first words and how many more there are: 'a, b, c and 4 more'."""
    more = len(words) - most
    return ', '.join(words[:most]) + (f' and {more} more' if more > 0 else '')


def by_place(cases: Sequence[str]) -> list[str]:
    """Names of cases with each place once: 'OstBandwidth, MdtRates on cluster:compute/scratch/default/1n'."""
    places: dict[str, list[str]] = {}
    for name in cases:
        check, _, place = name.partition('/')
        places.setdefault(place, []).append(check)
    return [f'{", ".join(checks)} on {place}' for place, checks in places.items()]


def count(number: int, one: str, many: str = '') -> str:
    """The number with its noun: 1 case, 2 cases."""
    return f'{number} {one if number == 1 else many or one + "s"}'


def point_value(plan: TrialPlan, point: Place) -> str:
    """Where a point lies on the axis of its sweep: '64 KiB', '32', '10 000'; the label of one that lies on none."""
    if isinstance(point, TreePoint):
        return trees.grouped(point.entries.files) if plan.axis == 'entries' else point.label
    if plan.axis in NAMED:
        return point.label
    if plan.axis == 'transfer_size':
        return trees.exact_size(point.transfer_size)
    return str(point.objects if plan.axis == 'objects' else point.tasks)


def point_words(plan: TrialPlan, point: Place) -> str:
    """A point by itself: 'transfers of 64 KiB', '10 000 files', 'private', 'layout wide (c-1.S4M)'."""
    if plan.axis == 'layout' and point.layout is not None:
        asks = '' if point.layout.is_default else f' ({point.layout.canonical})'
        return f'layout {point.label}{asks}'
    unit = {
        'transfer_size': 'transfers of {}',
        'objects': '{} objects a client',
        'clients': '{} clients',
        'entries': '{} files',
    }.get(plan.axis, '{}')
    return unit.format(point_value(plan, point))


def workload(plan: TrialPlan, per_client: int | None = None) -> str:
    """What a case does, in one sentence: 'Every client writes and reads a file of its own, over transfer sizes.'

    per_client: what the sizing decided, if it did.
    """
    pattern = plan.workload
    if isinstance(pattern, Namespace):
        return f'{trees.sentence(plan, pattern, per_client)}{_on_each(plan.axis)}.'
    does = ' and '.join(f'{operation}s' for operation in pattern.operations)
    order = ', in random order' if pattern.order == 'random' else ''
    through = {
        ('posix', False): '',
        ('mpiio', False): ', through MPI-IO',
        ('mpiio', True): ', collectively through MPI-IO',
    }[pattern.interface, pattern.collective]
    over = _on_each(plan.axis) or f', over {AXIS_WORDS[plan.axis]}'
    return f'Every client {does} {_what(pattern)}{order}{through}{over}.'


def share(case: CaseEvidence) -> str:
    """What each client did: '64 MiB', '1000 files'; of trees that the plan fixes, so."""
    sized = case.records.sized
    if sized is None:
        return 'not decided'
    if not isinstance(case.plan.workload, Namespace):
        return approximate_size(sized.per_client)
    return f'{trees.grouped(sized.per_client)} files' if sized.per_client else 'what the check says'


def where(cases: Sequence[CaseEvidence]) -> tuple[str, dict[Case, str]]:
    """What all cases have in common of the place where they ran, and in what each differs: 'scratch (ext4)'."""
    columns = list(zip(*map(_place, cases), strict=True))
    common = [column[0] for column in columns if len(set(column)) == 1]
    differs = [column for column in columns if len(set(column)) > 1]
    return ', '.join(common), {case.plan.case: ', '.join(c[i] for c in differs) for i, case in enumerate(cases)}


def file_system_type(case: CaseEvidence) -> str:
    """The type that the site declares; where that is 'posix', the type that was seen to be mounted: 'ext4'."""
    start = case.records.start
    mounted = re.search(r' type (\S+) \(', start.mount) if start else None
    return mounted.group(1) if mounted and case.plan.target.type == 'posix' else case.plan.target.type


def held(facts: Sequence[Fact]) -> str:
    """How many promises of POSIX hold: '32 of 33'."""
    return f'{sum(fact.holds is True for fact in facts)} of {len(facts)}'


def not_held(facts: Sequence[Fact], most: int = 8) -> str:
    """Which do not, as what follows: '; flock does not; direct_io was not tried'."""
    groups = ((False, 'does not', 'do not'), (None, 'was not tried', 'were not tried'))
    said = ''
    for holds, one, many in groups:
        names = [fact.name for fact in facts if fact.holds is holds]
        said += f'; {listed(names, most)} {one if len(names) == 1 else many}' if names else ''
    return said


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
    decisive = [each for each in session.relations if each.enforced and of_relation(each.relation) is session.verdict]
    if not hit and decisive:
        how = 'fails' if session.verdict is Verdict.FAIL else 'cannot be decided'
        return f'A relation between checks, which the site has made a criterion, {how}: {decisive[0].words}.'
    if not hit and session.left_out:
        return 'All that was asked for can be believed, but it is not the whole acceptance, so nothing is accepted.'
    return {
        Verdict.FAIL: f'{of_all} fail{verb}: it is proved that the system does not do what was asked.',
        Verdict.INVALID: f'{of_all} cannot be believed; measure again once the reason is mended.',
        Verdict.INCOMPLETE: f'{of_all} did not run to the end; what was not measured proves nothing.',
        Verdict.INCONCLUSIVE: f'{of_all} can be believed, but cannot decide.',
    }[session.verdict]


def counts(session: SessionResult) -> str:
    """'6 PASS, 1 FAIL, 1 INVALID'."""
    return ', '.join(f'{number} {verdict.value}' for verdict, number in session.counts.items()) or 'no cases'


def engine(case: CaseResult) -> str:
    """The engine that measured a case, once by name: 'fio 3.33'."""
    said = case.version if case.version.startswith(case.engine) else f'{case.engine} {case.version}'.strip()
    return said or 'no engine'


def engines(session: SessionResult) -> list[tuple[str, str]]:
    """Which engines measured, each with the number of its cases: ('fio 3.33', '8 cases')."""
    names = [engine(case) for case in session.cases]
    return [(name, count(names.count(name), 'case')) for name in dict.fromkeys(names)]


def passed_over(session: SessionResult) -> list[str]:
    """Why engines that were preferred did not measure, an engine each: its first reason, and how many more it has."""
    reasons = dict.fromkeys(reason for case in session.cases for reason in case.passed_over)
    by_engine: dict[str, list[str]] = {}
    for reason in reasons:
        by_engine.setdefault(reason.partition(':')[0], []).append(reason)
    return [
        f'{own[0]}; and {count(len(own) - 1, "reason")} more, in the cases' if len(own) > 1 else own[0]
        for own in by_engine.values()
    ]


def machines(evidence: SessionEvidence) -> str:
    """How many hosts ran a job or a client, and which; the name alone where it is one; empty where none began."""
    hosts = {case.records.start.host for case in evidence.cases if case.records.start}
    hosts |= {
        host
        for case in evidence.cases
        for samples in case.samples.values()
        for sample in samples
        for host in (sample.measurement.hosts if sample.measurement else ())
        if not host.startswith(UNNAMED)
    }
    named = listed(sorted(hosts, key=_numbered), 4)
    return f'{count(len(hosts), "node")}: {named}' if len(hosts) > 1 else named


def _numbered(host: str) -> list[tuple[int, str]]:
    """For an order in which n10 comes behind n9."""
    return [(int(part), '') if part.isdigit() else (-1, part) for part in re.split(r'(\d+)', host)]


def kernels(evidence: SessionEvidence) -> list[str]:
    """The kernels of the hosts that ran a job."""
    starts = [case.records.start for case in evidence.cases if case.records.start]
    return sorted({f'Linux {start.kernel}' for start in starts})


def memories(evidence: SessionEvidence) -> list[str]:
    """The memory of the hosts that ran a job."""
    starts = [case.records.start for case in evidence.cases if case.records.start]
    return list(dict.fromkeys(f'{approximate_size(start.memory_bytes)} memory' for start in starts))


def targets(evidence: SessionEvidence) -> list[tuple[str, str, list[str]]]:
    """Every file system under test, each once: ('scratch (ext4)', '/scratch', ['no layout: ...'])."""
    # A job that never began has not seen what is mounted.
    began = sorted(evidence.cases, key=lambda case: case.records.start is None)
    types = {case.plan.target.name: file_system_type(case) for case in reversed(began)}
    named = [case.plan.target for case in evidence.cases]
    return [
        (f'{target.name} ({types[target.name]})', target.path, remarks(target))
        for target in {(target.name, target.path): target for target in named}.values()
    ]


def remarks(target: Target) -> list[str]:
    """What a reader must know of the type's driver."""
    untried = '' if target.tried else f'untried: nobody has measured a {target.type} with this driver yet'
    return [said for said in (target.no_layout, untried) if said]


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


def _in_unit(value_s: float) -> tuple[float, str]:
    factor, unit = next(((f, u) for f, u in _SECONDS if value_s * f >= 0.9995), _SECONDS[-1])
    return value_s * factor, unit


def _place(case: CaseEvidence) -> tuple[str, ...]:
    own = case.plan.case
    kind = f'{own.file_system} ({file_system_type(case)})'
    return f'partition {own.partition}', kind, f'layout {own.layout}', count(own.nodes, 'node')


def _on_each(axis: str) -> str:
    return f', {_ON_EACH[axis]}' if axis in _ON_EACH else ''


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
