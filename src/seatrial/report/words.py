"""The sentences of a report, the same in all of its forms."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from importlib.resources import files

from seatrial.judge.caveats import ranged
from seatrial.judge.outliers import SLOW, SUSPECTED
from seatrial.judge.references import ReferenceResult
from seatrial.judge.session import SessionResult
from seatrial.judge.statistics import CONFIDENCE
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict, of_relation
from seatrial.model.metric import UNNAMED, Fact
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.point import Axis, Point
from seatrial.model.record import Start, build_words, module_of, package_of
from seatrial.model.units import BINARY, DECIMAL, approximate_size, in_base
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.figures import Unit, common_unit, percent, seconds
from seatrial.workload.registry import kind_of, metrics_at, share_words
from seatrial.workload.words import by_key, counted, exact_size, grouped, span

PLACES_SHOWN = 3
STOPPED = {  # the reasons why the repetitions of a point ended, by the word of the end record
    'converged': 'precise enough',
    'settled': 'more would not help',
    'exhausted': 'limit reached',
    'budget': 'time budget exhausted',
    'invalid': 'invalid',
    'fixed': 'fixed number',
}

SIGNS = {'PASS': '+', 'MEASURED': '=', 'FAIL': 'x', 'INVALID': '!', 'INCOMPLETE': '-', 'INCONCLUSIVE': '?'}
"""The signs of the verdicts in a terminal and in the calendar of the nights, which have no drawings."""

NOTHING_COMPARED = 'measured and valid; no pass criterion is set'  # the meaning of MEASURED

_BIDIRECTIONAL = {'LRE', 'RLE', 'LRO', 'RLO', 'PDF', 'LRI', 'RLI', 'FSI', 'PDI'}


def clean(text: str) -> str:
    """The text with escapes (\\xNN, \\uNNNN) for characters that could change how the rest is read, or that XML
    cannot hold: control characters, lone surrogates, noncharacters and overrides of the writing direction."""
    return text if text.isascii() and text.isprintable() else ''.join(map(_visible, text))


def cut(items: Sequence[str], maximum: int, where: str = '') -> list[str]:
    """All items, or the first ones and 'and 4 more, in the table'. A single further item is listed, not counted."""
    more = len(items) - maximum
    return list(items) if more < 2 else [*items[:maximum], f'and {more} more{where}']


def listed(words: Sequence[str], maximum: int = 3) -> str:
    """The words, or the first of them and how many more there are: 'a, b, c and 4 more'."""
    more = len(words) - maximum
    return ', '.join(words) if more < 2 else f'{", ".join(words[:maximum])} and {more} more'


def banded(keys: Sequence[str], maximum: int) -> list[Sequence[str]]:
    """The keys in bands of about equal length."""
    size = -(-len(keys) // -(-len(keys) // maximum))
    return [keys[i : i + size] for i in range(0, len(keys), size)]


def by_environment(cases: Sequence[str]) -> list[str]:
    """Names of cases, each environment once: 'OstBandwidth, MdtRates on cluster:compute/scratch/default/1n'."""
    checks = by_key(name.partition('/')[::-2] for name in cases)
    return [f'{", ".join(names)} on {where}' for where, names in checks.items()]


def point_value(axis: Axis, point: Point) -> str:
    """The position of a point on the axis of its sweep: '64 KiB', '10 000'; its label if the axis has no numbers."""
    if axis.named:
        return point.label
    return exact_size(int(point.at)) if axis.unit == 'B' else grouped(int(point.at))


def point_words(axis: Axis, point: Point) -> str:
    """A point by itself: 'bytes per transfer: 64 KiB', 'private', 'wide (c-1.S4M)'."""
    if axis.label:
        return f'{axis.label}: {point_value(axis, point)}'
    asks = '' if axis.equals or point.layout is None or point.layout.is_default else point.layout.canonical
    return f'{point.label} ({asks})' if asks not in ('', point.label) else point.label


def metric_words(kind: str, metric: MetricResult, units: Mapping[str, Unit]) -> str:
    """The name of a metric, with its unit if the table has several."""
    name = kind_of(kind).metric_words(metric.name)
    return f'{name}, {units[metric.unit].name}' if len(units) > 1 and metric.unit else name


def sentence(case: CaseEvidence) -> str:
    """A sentence on a case: 'Every task writes and reads a file of its own, over transfer sizes.'"""
    axis, points = case.plan.axis, case.points
    over = axis.differs or (f'over {axis.plural}' if axis.label and len(points) > 1 else '')
    return f'{kind_of(case.plan.kind).sentence(points)}{f", {over}" if over else ""}.'


def share(case: CaseEvidence) -> str:
    """The work of each task: '64 MiB', '1000 files'."""
    sized = case.records.sized
    return share_words(kind_of(case.plan.kind), sized.per_task) if sized else 'not decided'


def totals(case: CaseEvidence) -> list[tuple[str, str]]:
    """(label, data on disk) of each point; only once, without label, if all are the same."""
    on_disk = [(point.label, kind_of(point.kind).totals(point)) for point in case.points]
    return on_disk if len({total for _, total in on_disk}) > 1 else [('', on_disk[0][1])]


def where(cases: Sequence[CaseEvidence]) -> tuple[str, dict[Case, str]]:
    """The common environment of all cases, and the difference of each: 'scratch (ext4)'."""
    columns = list(zip(*map(_environment, cases), strict=True))
    common = [column[0] for column in columns if len(set(column)) == 1]
    differs = [column for column in columns if len(set(column)) > 1]
    return ', '.join(common), {case.plan.case: ', '.join(c[i] for c in differs) for i, case in enumerate(cases)}


def file_system_type(case: CaseEvidence) -> str:
    """The type that the site declares; for 'posix' the mounted type that was seen: 'ext4'."""
    start = case.records.start
    mounted = re.search(r' type (\S+) \(', start.mount) if start else None
    return mounted.group(1) if mounted and case.plan.target.type == 'posix' else case.plan.target.type


def only_counts(plan: TrialPlan) -> bool:
    """True if its metrics have no unit: guarantees of POSIX are counted, and no figure is drawn or compared."""
    return not any(metric.unit for metric in metrics_at(plan.points[0]))


def held(facts: Sequence[Fact]) -> str:
    """The number of guarantees of POSIX that hold: '32 of 33'."""
    return f'{sum(fact.holds is True for fact in facts)} of {len(facts)}'


def not_held(facts: Sequence[Fact], maximum: int = 8) -> str:
    """The guarantees that do not hold, as an appendix: '; flock does not; direct_io was not tried'."""
    appendix = ''
    for holds, one, many in ((False, 'does not', 'do not'), (None, 'was not tried', 'were not tried')):
        names = [fact.name for fact in facts if fact.holds is holds]
        appendix += f'; {listed(names, maximum)} {one if len(names) == 1 else many}' if names else ''
    return appendix


def verdict_sentence(session: SessionResult) -> str:
    """The meaning of a session's verdict, for somebody who reads nothing else."""
    total = len(session.cases)
    hit = sum(case.verdict is session.verdict for case in session.cases)
    every = {1: 'The only case', 2: 'Both cases'}.get(total, f'All {total} cases')
    of_all = every if hit == total else f'{hit} of {counted(total, "case")}'
    verb, is_ = ('s', 'is') if hit == 1 else ('', 'are')
    if session.verdict is Verdict.PASS:
        return f'{every} ran as planned and {"is" if total == 1 else "are"} valid. {_compared(session)}'
    if session.verdict is Verdict.MEASURED and session.of_contract:
        return f'{every} {is_} valid. The protocol judges the criteria of the contract, over all allocations.'
    if session.verdict is Verdict.MEASURED:
        return f'{counted(total, "case")} {NOTHING_COMPARED} for the profile {session.profile}.'
    if not total:
        return 'No case was planned, so nothing is proved.'
    decisive = [one for one in session.relations if one.enforced and of_relation(one.relation) is session.verdict]
    if not hit and decisive:
        how = 'fails' if session.verdict is Verdict.FAIL else 'is undecided'
        return f'A relation between checks, enforced by the site, {how}: {decisive[0].words}.'
    if not hit and session.left_out:
        return 'What was measured is valid, but the acceptance is incomplete, so nothing is accepted.'
    return {
        Verdict.FAIL: f'{of_all} fail{verb}: a criterion is proved to be missed, or the storage failed.',
        Verdict.INVALID: f'{of_all} {is_} invalid; fix the cause and measure again.',
        Verdict.INCOMPLETE: f'{of_all} did not run to the end, so nothing is proved.',
        Verdict.INCONCLUSIVE: f'{of_all} {is_} valid, but cannot decide a criterion.',
    }[session.verdict]


def slow_places(session: SessionResult) -> list[str]:
    """Slow or suspected nodes and targets, with their figures: 'OST ost0002 (lustre-OST0002) is slow: ...'."""
    every = [sentence for case in session.cases if case.isolation for sentence in case.isolation.sentences]
    return cut([sentence for verdict, sentence in every if verdict in (SLOW, SUSPECTED)], PLACES_SHOWN)


def counts(session: SessionResult) -> str:
    return ', '.join(f'{number} {verdict.value}' for verdict, number in session.counts.items()) or 'no cases'


def chain_words(chain: str) -> str:
    """The words that tie a printed report to the records of its session (rule R4)."""
    return f'the chain of the records ends with {chain}'


def engine(case: CaseResult) -> str:
    """The engine that measured a case, once by name: 'fio 3.33'."""
    name = case.version if case.version.startswith(case.engine) else f'{case.engine} {case.version}'.strip()
    return name or 'no engine'


def engines(session: SessionResult) -> list[tuple[str, str]]:
    """The engines that measured, with the number of cases: ('fio 3.33', '8 cases')."""
    names = [engine(case) for case in session.cases]
    return [(name, counted(names.count(name), 'case')) for name in dict.fromkeys(names)]


def builds(evidence: SessionEvidence) -> list[str]:
    """The programs that Spack has built or a module has brought: 'ior: Spack l7f4hbh, module seatrial/ior/4.0.0'."""
    lines = []
    for start in _starts(evidence):
        module = module_of(start.program, start.provenance.modules)
        if start.engine and (module or start.provenance.build.startswith('spack:')):
            brought = f', module {module}' if module else ''
            lines.append(f'{package_of(start.program)}: {build_words(start.provenance.build)}{brought}')
    return list(dict.fromkeys(lines))


def skipped(session: SessionResult) -> list[str]:
    """The first reason why each preferred engine did not measure, and the number of others."""
    reasons = dict.fromkeys(reason for case in session.cases for reason in case.skipped)
    by_engine = by_key((reason.partition(':')[0], reason) for reason in reasons)
    return [
        f'{first}; and {counted(len(others), "reason")} more, in the cases' if others else first
        for first, *others in by_engine.values()
    ]


def machines(evidence: SessionEvidence) -> str:
    """Number and names of the hosts that ran a job or a task; only the name if it is one; empty if none began."""
    hosts = {start.host for start in _starts(evidence)}
    for sample in (sample for case in evidence.cases for samples in case.samples.values() for sample in samples):
        if sample.measurement:
            hosts |= {host for host in sample.measurement.hosts if not host.startswith(UNNAMED)}
    named = listed(sorted(hosts, key=_numbered), 4)
    return f'{counted(len(hosts), "node")}: {named}' if len(hosts) > 1 else named


def kernels(evidence: SessionEvidence) -> list[str]:
    return sorted({f'Linux {start.kernel}' for start in _starts(evidence)})


def memories(evidence: SessionEvidence) -> list[str]:
    return list(dict.fromkeys(f'{approximate_size(start.memory_bytes)} memory' for start in _starts(evidence)))


def targets(evidence: SessionEvidence) -> list[tuple[str, str, str]]:
    """Every file system under test, once each: ('scratch (ext4)', '/scratch', 'note if it is untried')."""
    # A job that never began has not seen what is mounted.
    began = sorted(evidence.cases, key=lambda case: case.records.start is None)
    types = {case.plan.target.name: file_system_type(case) for case in reversed(began)}
    named = [case.plan.target for case in evidence.cases]
    untried = 'untried: this driver has never been run on a real'
    return [
        (f'{target.name} ({types[target.name]})', target.path, '' if target.tried else f'{untried} {target.type}')
        for target in {(target.name, target.path): target for target in named}.values()
    ]


def lasted(evidence: SessionEvidence) -> timedelta | None:
    """The time from the start of the first job to the end of the last one; None without either."""
    begins = [start.started for start in _starts(evidence)]
    ends = [case.records.end.ended for case in evidence.cases if case.records.end]
    return timedelta(seconds=max(ends) - min(begins)) if begins and ends else None


def facts(case: CaseEvidence) -> list[str]:
    """The main facts of its figures: transfers, files, layout, nodes and tasks, caches, engine."""
    points = case.points
    transfers = {point.value('transfer_size') for point in points} - {0, None}
    sizes = {file.size for point in points for file in kind_of(point.kind).files(point)}
    on_disk = dict.fromkeys(total for _, total in totals(case))
    texts = [f'transfers of {_sizes(transfers)}'] if transfers else []
    texts += [f'files of {_sizes(sizes)}'] if sizes else [listed(list(on_disk), 2)]
    layouts = {point.layout.name: point.layout.canonical for point in points if point.layout}
    layout = next(iter(layouts.values()), case.plan.case.layout)
    texts.append(counted(len(layouts), 'layout') if len(layouts) > 1 else f'layout {layout}')
    tasks = {-(-point.tasks // point.nodes) for point in points}
    texts.append(f'{_span({point.nodes for point in points}, "node")} \u00d7 {_span(tasks, "task")}')
    caches = dict.fromkeys(metric.cache for metric in case.result.metrics if metric.cache)
    return [*texts, *([f'cache: {", ".join(caches)}'] if caches else []), engine(case.result)]


def stopping(plan: TrialPlan) -> str:
    """The rule that ends the repetitions of a point."""
    rule = plan.stopping
    if rule.fixed:
        return f'{rule.minimum} of each point, fewer where they take longer than {seconds(rule.budget_s)}'
    settled = f', or small compared with the {percent(rule.between)} by which nights differ' if rule.between else ''
    return (
        f'{rule.minimum} to {rule.maximum} of each point, until the {100 * rule.confidence:g} % interval is within '
        f'{percent(rule.max_relative_error)}{settled}' + (f', then {rule.extra} more' if rule.extra else '')
    )


def repetitions(case: CaseEvidence) -> str:
    """The planned and the actual number of repetitions: '4 of each point; done: 1 to 4'."""
    end, done = case.records.end, [len(samples) for samples in case.samples.values()]
    short = f' ({STOPPED["budget"]})' if end and 'budget' in end.stopped.values() else ''
    return f'{stopping(case.plan)}; done: {span(done)}{short}' if done else stopping(case.plan)


def bounds(reference: ReferenceResult, unit: Unit) -> str:
    """The range that a reference allows: 'at least 900 MiB/s', '900 \u2013 1100 MiB/s'."""
    low, high = reference.low, reference.high
    if low is not None and high is not None:
        return f'{unit.span(low, high)} {unit.name}'.rstrip()
    if low is not None:
        return f'at least {unit.words(low)}'
    return f'at most {unit.words(high)}' if high is not None else 'none'


def other_unit(reference: ReferenceResult) -> Unit | None:
    """The unit of the other system, binary or decimal, for a reference of a bandwidth; else None."""
    if in_base(1.0, reference.unit).unit != 'B/s':
        return None
    system = DECIMAL if 'iB' in reference.unit else BINARY
    return common_unit((reference.low or reference.high or 0.0,), 'B/s', system)


def confidence(session: SessionResult) -> str:
    """The confidence of the intervals, in per cent: '90'."""
    summaries = [metric.summary for case in session.cases for metric in case.metrics if metric.summary]
    return f'{100 * (summaries[0].interval.confidence if summaries else CONFIDENCE):g}'


def caveats(session: SessionResult) -> list[tuple[str, Collection[str], int]]:
    """The caveats, each rule once: the sentence of most of its cases, the names of these, and the number of cases
    with other sentences. Most cases first. If sentences differ only in figures, they become one, with the range."""
    labels = [(case.case.name, label) for case in session.cases for label in case.labels]
    rows = []
    for pairs in by_key((pair[1].partition(':')[0], pair) for pair in labels).values():
        label, cases = max(ranged(pairs).items(), key=lambda item: len(item[1]))
        rows.append((label, cases, len({name for name, _ in pairs} - set(cases))))
    return sorted(rows, key=lambda row: -len(row[1]) - row[2])


def _sizes(sizes: Collection[int]) -> str:
    return ' to '.join(dict.fromkeys(map(approximate_size, (min(sizes), max(sizes)))))


def _span(numbers: Collection[int], noun: str) -> str:
    return f'{span(numbers)} {noun}{"" if set(numbers) == {1} else "s"}'


def _starts(evidence: SessionEvidence) -> list[Start]:
    return [case.records.start for case in evidence.cases if case.records.start]


def _numbered(host: str) -> list[tuple[int, str]]:
    """A sort key that puts n10 after n9."""
    return [(int(part), '') if part.isdecimal() else (-1, part) for part in re.split(r'(\d+)', host)]


def _visible(character: str) -> str:
    code = ord(character)
    if character in '\n\t':
        return character
    hidden = unicodedata.category(character) in ('Cc', 'Cs') or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    if hidden or unicodedata.bidirectional(character) in _BIDIRECTIONAL:
        return f'\\x{code:02x}' if code < 256 else f'\\u{code:04x}'
    return character


def _environment(case: CaseEvidence) -> tuple[str, ...]:
    planned = case.plan.case
    kind = f'{planned.file_system} ({file_system_type(case)})'
    return f'partition {planned.partition}', kind, f'layout {planned.layout}', counted(planned.nodes, 'node')


def _compared(session: SessionResult) -> str:
    met = sum(len(case.references) for case in session.cases)
    expectations = [*(expectation for case in session.cases for expectation in case.expectations), *session.relations]
    enforced = sum(expectation.enforced for expectation in expectations)
    parts = [counted(met, 'reference')] * bool(met) + [counted(enforced, 'criterion', 'criteria')] * bool(enforced)
    sentences = [f'{"It meets" if len(session.cases) == 1 else "They meet"} {" and ".join(parts)}.'] if parts else []
    swept = [case.isolation for case in session.cases if case.isolation and not case.isolation.unjudged]
    sentences += [f'No {kind} is slower than the others.' for kind in dict.fromkeys(sweep.kind for sweep in swept)]
    open_ = sum(case.verdict is Verdict.MEASURED for case in session.cases)
    sentences += [f'{open_} of them {"has" if open_ == 1 else "have"} no pass criterion.'] if open_ else []
    return ' '.join(sentences)


def glossary() -> dict[str, str]:
    """The words of docs/reference/glossary.md with their meanings."""
    text = (files('seatrial.report') / 'templates' / 'glossary.md').read_text(encoding='utf-8').replace('`', '')
    rows = (line.strip('| ').partition(' | ') for line in text.partition('|---|---|\n')[2].splitlines())
    return {word: meaning for word, _, meaning in rows}
