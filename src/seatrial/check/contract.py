"""Turns the criteria of a contract into the allocations that measure them, so that nobody writes cases twice."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError

from seatrial.check.declared import Declared
from seatrial.check.planning import Unplannable, plan_of, resolved, why_not
from seatrial.check.session import Session
from seatrial.judge.criteria import MEAN, MINIMUM, Criterion
from seatrial.model.metric import HIGHER, MetricType
from seatrial.model.plan import Case, EngineChoice, TrialPlan, metric
from seatrial.model.point import Point
from seatrial.model.quoted_value import choice, show
from seatrial.model.record import Records, Sample
from seatrial.model.units import UNITS, approximate_size, duration, format_size
from seatrial.rules.before import peak
from seatrial.rules.case import PHASE_MIN_S, STORAGE_MIN_S, files_bytes, seconds_of
from seatrial.scheduler.partitions import is_slurm
from seatrial.site import contract as terms
from seatrial.site.contract import CONTRACT_FILE, Conditions, Contract, CriterionEntry, Workload, place, read_contract
from seatrial.site.error import SiteError, problem, raise_any
from seatrial.site.model import DEFAULT_LAYOUT, Entry, Overrides, Site, TrialEntry
from seatrial.site.profile import ACCEPTANCE, NIGHTLY
from seatrial.workload.registry import kind_of, metrics_at
from seatrial.workload.words import counted, listed

METRICS: dict[str, tuple[str, str]] = {  # by its name in contracts: the kind of workload, and the name in checks
    'write bandwidth': ('access', 'write'),
    'read bandwidth': ('access', 'read'),
    'random read IOPS': ('random', 'randread_iops'),
    'random write IOPS': ('random', 'randwrite_iops'),
    'random read latency': ('random', 'randread_latency'),
    'random write latency': ('random', 'randwrite_latency'),
    'p99 of random reads': ('random', 'randread_p99'),
    'p99 of random writes': ('random', 'randwrite_p99'),
    'file create rate': ('tree', 'file_create'),
    'file stat rate': ('tree', 'file_stat'),
    'file read rate': ('tree', 'file_read'),
    'file remove rate': ('tree', 'file_remove'),
    'directory create rate': ('tree', 'directory_create'),
    'directory stat rate': ('tree', 'directory_stat'),
    'directory remove rate': ('tree', 'directory_remove'),
    'outage': ('scenario', 'outage'),
    'time to recover': ('scenario', 'recovery'),
    'failed calls': ('scenario', 'errors'),
    'throughput during an action': ('scenario', 'during_to_before'),
}
NIGHTS_NOISE = 'noise'  # key of the nights' noise in a contract's session: the standard deviation of logarithms
NODES = ('200', '16', '4', '2', '1')  # proposed if a criterion has no number; the real numbers are unknown here
NO_BOUND = 'neither at_least nor at_most is set'
NO_REMEDY = 'no value of this key can be measured here; seatrial list --profile acceptance shows what can be measured'
EXAMPLE_UNITS = {'B/s': 'GB/s', 'op/s': 'op/s', 's': 's'}
_OF_TRIAL = [key for key in Workload.model_fields if key in Overrides.model_fields]
FILES_TO_MEMORY = 2.0  # size of files to memory of nodes in the profile acceptance, unless caches may take part (P16)
ABOVE_MIN = 1.1  # launches aim at so many times the shortest timed region, as in the profile acceptance


class Procedure(NamedTuple):
    """The work of one allocation for a criterion. Criteria with the same procedure share their allocations."""

    trial: TrialEntry
    point: str  # the label of the only point that is measured
    engine: str
    state: str  # state of the system, or empty
    seconds: float  # shortest timed region; 0: that of the profile acceptance
    caches: bool  # True if caches may take part

    @property
    def case(self) -> Case:
        return self.trial.cases(self.trial.checks[0])[0]

    def as_json(self) -> dict[str, Any]:
        """The JSON form in session.json, by which the session of a procedure is found."""
        return {**self._asdict(), 'trial': self.trial.model_dump(mode='json', exclude_defaults=True)}


@dataclass(frozen=True)
class AcceptanceTest:
    """The measurement of one criterion of the contract."""

    criterion: Criterion
    entry: CriterionEntry  # the whole entry of the contract
    procedure: Procedure | None = None  # None if people observe the criterion
    metric: MetricType | None = None  # with unit and name of its check; None if `procedure` is None

    @property
    def metric_name(self) -> str:
        """The name in records: 'write@1MiB'; empty for a criterion that people observe."""
        return metric(self.metric.name, self.procedure.point) if self.metric and self.procedure else ''

    @property
    def kept(self) -> dict[str, Any] | None:
        """The JSON form that acceptance_tests_again reads; None for a criterion that people observe."""
        if self.metric is None or self.procedure is None:
            return None
        return {'metric': list(self.metric), 'procedure': self.procedure.as_json()}


def acceptance_tests(site: Site, checks: Mapping[str, Declared], file: terms.ContractFile) -> list[AcceptanceTest]:
    """The measurement of every criterion. Raises SiteError for all faults of the contract at once."""
    here = _Here(site, checks, file.contract.counts, {})
    tests, problems = dict[str, AcceptanceTest](), {number: list(lines) for number, lines in file.problems.items()}
    for number, entry in zip(file.numbers, file.contract.criteria, strict=True):
        faults = [problem(CONTRACT_FILE, place(number, *keys), sentence) for keys, sentence in _faults(here, entry)]
        problems.setdefault(number, []).extend(faults)
        if not problems[number]:
            tests[entry.id] = _resolved(here, entry)
    for number, entry in zip(file.numbers, file.contract.criteria, strict=True):
        base, test = tests.get(entry.bound.of) if entry.bound else None, tests.get(entry.id)
        if base and base.metric and test and test.metric and base.metric.unit != test.metric.unit:
            sentence = f'{entry.metric} cannot be a percentage of {base.entry.metric}: their units differ'
            problems[number].append(problem(CONTRACT_FILE, place(number, _key(entry)), sentence))
    raise_any(line for number in sorted(problems) for line in problems[number])
    return _sharing(list(tests.values()))


def contract_of_site(site: Site, checks: Mapping[str, Declared]) -> tuple[Contract, list[AcceptanceTest]] | None:
    """The contract of a site and the measurements of its criteria; None if it has none. Raises SiteError."""
    file = read_contract(site.folder)
    return (file.contract, acceptance_tests(site, checks, file)) if file else None


def wrong_contract(site: Site, checks: Mapping[str, Declared] | None = None) -> list[str]:
    """A line if the contract is wrong, for commands that do not need it; without checks only its form is checked."""
    try:
        if file := read_contract(site.folder):
            if checks is not None:
                acceptance_tests(site, checks, file)
            raise_any(file.all_problems())
    except SiteError as error:
        wrong = counted(len(error.problems), 'place')
        return [f'{CONTRACT_FILE} is wrong in {wrong} and is not used; seatrial accept --judge says where']
    return []


def acceptance_tests_again(contract: Contract, kept: Mapping[str, Any]) -> list[AcceptanceTest]:
    """The tests by their saved forms (AcceptanceTest.kept). Raises ValueError for forms that do not fit."""
    return _sharing([_again(contract, entry, kept.get(entry.id)) for entry in contract.criteria])


def _sharing(tests: Sequence[AcceptanceTest]) -> list[AcceptanceTest]:
    """The tests, each criterion with the number of allocations that the contract plans for its procedure."""
    planned: dict[Procedure | None, int] = {}
    for test in tests:
        planned[test.procedure] = max(test.criterion.allocations, planned.get(test.procedure, 0))
    return [replace(test, criterion=replace(test.criterion, planned=planned[test.procedure])) for test in tests]


def _criterion(counts: str, entry: CriterionEntry) -> Criterion:
    bound = entry.bound
    assert bound is not None, 'a contract without one is refused'
    criterion = Criterion(
        entry.id,
        bound.value,
        entry.at_least is not None,
        observed=entry.observed,
        text=entry.text,
        milestone=entry.milestone or '',
        written=bound.written,
        unit=bound.unit,
    )
    if entry.observed:
        return criterion
    kind, _ = METRICS.get(entry.metric or '', ('', ''))
    once = bool(kind) and kind_of(kind).once
    statistic, _, best_of = (MINIMUM if once else entry.statistic or MEAN).partition(f'{terms.BEST} ')
    return replace(
        criterion,
        of=bound.of,
        statistic='best' if best_of else statistic,
        best_of=int(best_of or 0),
        allocations=entry.allocations or 1,
        counts=counts,
        once=once,
    )


def _again(contract: Contract, entry: CriterionEntry, kept: Mapping[str, Any] | None) -> AcceptanceTest:
    if entry.observed:
        return AcceptanceTest(_criterion(contract.counts, entry), entry)
    try:
        saved = (kept or {})['procedure']
        procedure = Procedure(**{**saved, 'trial': TrialEntry.model_validate(saved['trial'])})
        type_ = MetricType(*(kept or {})['metric'])
        case, conditions, bound = procedure.case, entry.conditions or Conditions(), entry.bound
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f'{entry.id} has no procedure') from error
    workload = entry.workload or Workload()
    named: list[tuple[tuple[str, ...], Any, Any]] = [
        (('partition',), entry.partition, case.partition),
        (('file_system',), entry.file_system, case.file_system),
        (('tasks_per_node',), entry.tasks_per_node, procedure.trial.tasks_per_node),
        (('workload', 'check'), workload.check, case.check),
        (('workload', 'point'), workload.point, procedure.point),
        *((('workload', key), getattr(workload, key), getattr(procedure.trial, key)) for key in _OF_TRIAL),
    ]
    pairs = [pair for pair in named if pair[1] is not None] + [
        (('metric',), METRICS.get(entry.metric or '', ('', entry.metric))[1], type_.name),
        ((_key(entry),), UNITS[bound.unit][0] if bound and not bound.of else type_.unit, type_.unit),
        (('nodes',), entry.nodes or 1, case.nodes),
        (('layout',), entry.layout or DEFAULT_LAYOUT, case.layout),
        (('engine',), entry.engine or '', procedure.engine),
        (('state',), entry.state or '', procedure.state),
        (('conditions', 'seconds'), conditions.seconds or 0.0, procedure.seconds),
        (('conditions', 'budget'), conditions.budget, procedure.trial.budget),
        (('conditions', 'caches'), conditions.caches == 'allowed', procedure.caches),
    ]
    number = contract.criteria.index(entry)
    for keys, asked, done in pairs:
        if asked != done:
            raise ValueError(_otherwise(number, keys, asked, done))
    return AcceptanceTest(_criterion(contract.counts, entry), entry, procedure, type_)


def unlike(number: int, test: AcceptanceTest, plan: TrialPlan) -> str:
    """The difference of a plan from criterion `number`, with file and key, or empty. Only plans have full points."""
    workload, procedure = test.entry.workload or Workload(), test.procedure
    point = next((point for point in plan.points if procedure and point.label == procedure.point), None)
    if point is None or procedure is None:
        return 'it was not measured for this contract'
    asked = workload.asked
    for field, value in asked.items():
        if point.value(field) != value:
            words = (_in_words(field, either) for either in (point.changed(**asked), point))
            return _otherwise(number, ('workload', _key_of(field)), *words)
    budget_s = procedure.trial.budget
    if budget_s not in (None, plan.stopping.budget_s):
        return _otherwise(number, ('conditions', 'budget'), budget_s, plan.stopping.budget_s)
    return 'it belongs to another case' if plan.case != procedure.case else ''


def _otherwise(number: int, keys: Sequence[str], asked: Any, done: Any) -> str:
    wanted, used = (duration(value) if isinstance(value, float) else show(value) for value in (asked, done))
    how = 'without one' if done in ('', None) else f'with {used}'
    return problem(CONTRACT_FILE, place(number, *keys), f'requires {wanted}, but it was measured {how}')


def contract_session(session_id: str, site: Site, procedure: Procedure) -> Session:
    """The session of one more allocation for all criteria of a procedure; the protocol judges them. It keeps the
    largest noise between nights of the case, for a judgement without the history."""
    from seatrial.history.noise import noise_bound  # Polars, which no command without a contract needs

    noise = noise_bound(site.state, site.name, NIGHTLY.name).get(procedure.case)
    known = {NIGHTS_NOISE: round(noise, 3)} if noise else {}
    return replace(_session(session_id, site, procedure), contract={**procedure.as_json(), **known})


def noise_of(kept: Mapping[str, Any]) -> float | None:
    """The noise between allocations that a session has kept; None if it was unknown. Raises ValueError."""
    noise = kept.get(NIGHTS_NOISE)
    if noise is not None and not (isinstance(noise, float) and 0 < noise < math.inf):
        raise ValueError(f'{NIGHTS_NOISE} is {show(noise)}, which is not a standard deviation')
    return noise


def label_of(procedure: Mapping[str, Any]) -> str:
    """The label of a session's figures, from the procedure that it stores."""
    if not procedure['seconds'] and not procedure['caches']:
        return ACCEPTANCE.label
    lasting = duration(procedure['seconds']) if procedure['seconds'] else '5 minutes'
    caches = 'caches may take part' if procedure['caches'] else 'more data than the caches hold'
    return f'acceptance by the conditions of {CONTRACT_FILE}: timed regions of {lasting}, {caches}'


class _Refused(Exception):
    """A fault of a criterion. key: as 'workload.access'; remedy: a sentence with {} for the values that work;
    fixes: the criterion with each candidate value, by its text; wrong: the given value if it may be misspelt"""

    def __init__(
        self, key: str, fault: str, remedy: str = '', fixes: dict[str, CriterionEntry] | None = None, wrong: str = ''
    ) -> None:
        self.key, self.fault, self.remedy, self.fixes, self.wrong = key, fault, remedy, fixes or {}, wrong
        super().__init__(fault)


class _Candidate(NamedTuple):
    check: str
    point: Point
    metric: MetricType


class _Here(NamedTuple):
    """The site on which a contract is to be measured. measured: all that its checks measure there, by procedure"""

    site: Site
    checks: Mapping[str, Declared]
    counts: str
    measured: dict[str, list[_Candidate]]


def _faults(here: _Here, entry: CriterionEntry) -> Iterator[tuple[list[str], str]]:
    """All faults of a criterion with keys and remedies; every remedy is applied, to find the next fault."""
    seen = set[str]()
    while (error := _refusal(here, entry)) and error.key not in seen:
        seen.add(error.key)
        after = {word: _refusal(here, fixed) for word, fixed in error.fixes.items()}
        working = [word for word, other in after.items() if other is None]
        # If none removes every fault, those that lead to the next one.
        working = working or [word for word, other in after.items() if other and other.key not in seen]
        remedy = error.remedy or (f'write {"one of " if len(working) > 1 else ""}{{}}' if working else NO_REMEDY)
        near = choice(error.wrong, working) if error.wrong else ''
        advice = near if near.startswith('did you mean') else remedy.format(listed(working))
        yield list(filter(None, error.key.split('.'))), f'{error.fault}; {advice}'
        if not working:
            return
        entry = error.fixes[working[0]]


def _refusal(here: _Here, entry: CriterionEntry) -> _Refused | None:
    try:
        _resolved(here, entry)
    except _Refused as error:
        return error
    return None


def _with(entry: CriterionEntry, key: str, value: str | None) -> CriterionEntry | None:
    """The criterion with this value at the key (None removes the key); None if no contract may have this value."""
    above, _, last = key.rpartition('.')
    read = int(value) if value and value.isdecimal() else {'true': True, 'false': False}.get(value or '', value)
    models: dict[str, type[Entry]] = {'workload': Workload, 'conditions': Conditions, '': CriterionEntry}
    others = {} if above else {'id': 'x', 'text': 'x'}
    given = {} if value is None else {last: read}
    try:
        valid = getattr(models[above].model_validate({**others, **given}), last)
    except ValidationError:
        return None
    # All other values stay as they were parsed: they cannot be parsed again.
    changed = (getattr(entry, above) or models[above]()).model_copy(update={last: valid}) if above else valid
    return entry.model_copy(update={above or last: changed})


def _fixes(entry: CriterionEntry, key: str, values: Iterable[str | None]) -> dict[str, CriterionEntry]:
    """The criterion with each value in turn at the key, by the value's text; None leaves the key out."""
    return {word or '': fixed for word in dict.fromkeys(values) if (fixed := _with(entry, key, word))}


def _resolved(here: _Here, entry: CriterionEntry) -> AcceptanceTest:
    if entry.observed:
        if entry.bound is None:
            raise _Refused('', NO_BOUND, 'set at_most or at_least to what is to be observed, as in 120 s')
        return AcceptanceTest(_criterion(here.counts, entry), entry)
    candidate, procedure = _measured_by(here, entry)
    name, unit, least = entry.metric, candidate.metric.unit, candidate.metric.better == HIGHER
    key, bound = 'at_least' if least else 'at_most', entry.bound
    example = f'1 {EXAMPLE_UNITS.get(unit, "")}'.strip()
    right = entry.model_copy(update={'at_least': None, 'at_most': None})
    fixes = _fixes(right, key, [example])
    better = f'{"more" if least else "less"} {name} is better'
    if bound is None:
        raise _Refused('', NO_BOUND, f'{better}: write {key}, as in {key}: {{}}', fixes)
    if not bound.of and UNITS[bound.unit][0] != unit:
        remedy = f'write {EXAMPLE_UNITS.get(unit, "no unit")}'
        raise _Refused(_key(entry), f'{name} is not measured in {bound.unit or "no unit"}', remedy, fixes)
    if least != (entry.at_least is not None):
        raise _Refused(_key(entry), better, f'write {key}', {bound.written: right.model_copy(update={key: bound})})
    _check_conditions(here.site, here.checks[candidate.check], procedure, entry)
    return AcceptanceTest(_criterion(here.counts, entry), entry, procedure, candidate.metric)


def _measured_by(here: _Here, entry: CriterionEntry) -> tuple[_Candidate, Procedure]:
    """The point and the procedure that measure a criterion, whatever its bound."""
    trial, conditions = _trial(here.site, entry), entry.conditions or Conditions()
    setup = (entry.engine or '', entry.state or '', conditions.seconds or 0.0, conditions.caches == 'allowed')
    key = f'{trial!r} {(setup[0], *setup[2:])}'  # what can be measured is the same in every state
    if key not in here.measured:
        here.measured[key] = [
            candidate
            for check in here.checks.values()
            for candidate in _points(here.site, check, Procedure(_of_check(trial, check.name), '', *setup))
        ]
    measured, metric_ = here.measured[key], entry.metric or ''
    kind, name = METRICS.get(metric_, ('', metric_))
    named = [one for one in measured if one.metric.name == name and kind in ('', one.point.kind)]
    if not named:
        known = {(one.point.kind, one.metric.name) for one in measured}
        words = [*(word for word, pair in METRICS.items() if pair in known), *sorted({name for _, name in known})]
        remedy = 'write one of {} (docs/reference/contract.md), or observed: true for what people observe'
        fault = f'no check measures {show(metric_)} here' if metric_ else 'is missing'
        raise _Refused('metric', fault, remedy, _fixes(entry, 'metric', words), metric_)
    unit = UNITS[entry.bound.unit][0] if entry.bound and not entry.bound.of else ''
    # 'read' in op/s is not a bandwidth, although the name is the same.
    named = [candidate for candidate in named if candidate.metric.unit == unit] or named
    candidate = _one_of(named, entry, here.checks)
    return candidate, Procedure(_of_check(trial, candidate.check), candidate.point.label, *setup)


def _of_check(trial: TrialEntry, check: str) -> TrialEntry:
    return trial.model_copy(update={'checks': (check,)})


def _check_conditions(site: Site, check: Declared, procedure: Procedure, entry: CriterionEntry) -> None:
    """Raises _Refused for conditions under which no allocation can count, whatever it measures (P9, P16, P16a)."""
    plan = plan_of(_session('', site, procedure), check, procedure.case)
    moves_data, target = kind_of(plan.kind).moves_data, plan.target
    needed, room = peak(plan, plan.sizing.first), target.limits._asdict()
    for what, words in (('bytes', approximate_size), ('inodes', partial(counted, one='inode'))):
        if needed[what] > room[what]:
            why = f'{words(needed[what])} at one time, but limits.{what} of {target.name} is {words(room[what])}'
            raise _Refused('workload', f'it needs {why}', 'ask for less, or raise the limit in trial.yaml')
    if entry.conditions and entry.conditions.exclusive and not is_slurm(site, procedure.case.partition):
        why = f'other jobs may use the nodes of {procedure.case.partition}: Slurm does not allocate them'
        key, remedy = 'conditions.exclusive', 'remove it, or name a partition of Slurm'
        raise _Refused(key, why, remedy, _fixes(entry, key, [None]))
    _check_bytes(plan, site.partition(procedure.case.partition).memory or 0, procedure, entry)
    if procedure.caches:
        return
    least = STORAGE_MIN_S if moves_data else PHASE_MIN_S
    if 0 < procedure.seconds < least:
        why = f'{procedure.seconds:g} s are too short to tell the storage from its caches'
        key, remedy = 'conditions.seconds', f'write at least {least:g} s, or caches: allowed'
        raise _Refused(key, why, remedy, _fixes(entry, key, [f'{least:g} s']))
    if moves_data and None in (target.server_cache_bytes, target.fast_tier_bytes):
        why = f'the caches of the servers of {target.name} are not declared, so figures may be those of a cache'
        remedy = 'declare server_cache_bytes and fast_tier_bytes in trial.yaml, or write caches: allowed'
        raise _Refused('conditions.caches', why, remedy, _fixes(entry, 'conditions.caches', ['allowed']))


def _check_bytes(plan: TrialPlan, memory: int, procedure: Procedure, entry: CriterionEntry) -> None:
    """Raises _Refused if files stay smaller than the contract requires. memory: of a node, bytes; 0: undeclared"""
    times = entry.conditions.bytes if entry.conditions else None
    if times is None:
        return
    key, kind = 'conditions.bytes', kind_of(plan.kind)
    if not kind.moves_data:
        raise _Refused(key, f'does not apply to {entry.metric}', 'remove it', _fixes(entry, key, [None]))
    point, share = plan.point(procedure.point), plan.sizing.pinned
    if point.scales and share is None:
        if procedure.caches or times > FILES_TO_MEMORY:
            fault = 'no setting of the workload makes the files that large'
            raise _Refused(key, fault, 'write bytes_per_task in workload')
        return
    used = files_bytes(kind.resized(point, share) if share is not None else point)
    if used < times * point.nodes * memory:
        needed = approximate_size(round(times * point.nodes * memory))
        raise _Refused(key, f'all files hold {approximate_size(used)} instead of {needed}', 'raise bytes_per_task')


def unmet(test: AcceptanceTest, records: Records, samples: Sequence[Sample]) -> str:
    """The condition of the contract that the records do not meet, or empty. samples: those of the metric"""
    conditions, start = test.entry.conditions or Conditions(), records.start
    if conditions.fullness is not None:
        low, high = conditions.fullness
        used = start.capacity.get('used_percent') if start else None
        if used is None:
            return f'how full the file system was is unknown; {low} to {high} % are required'
        if not low <= used <= high:
            return f'the file system was {used} % full; {low} to {high} % are required'
    if conditions.exclusive and (start is None or start.oversubscribe != 'NO'):
        word = start.oversubscribe if start else ''
        why = f'OverSubscribe={word} for its job' if word else 'nothing about its job'
        return f'Slurm reports {why}, so other jobs may use its nodes; add --exclusive to the access in settings.py'
    timed = [seconds_of(sample, test.metric.name) for sample in samples] if test.metric else []
    shortest_s = min(filter(None, timed), default=math.inf)
    if conditions.seconds is not None and shortest_s < conditions.seconds:
        why = f'its shortest timed region lasted {shortest_s:.3g} s, but {conditions.seconds:g} s are required'
        return f'{why}; raise bytes_per_task, or the limits that bind it'
    for point in dict.fromkeys(sample.point for sample in samples if conditions.bytes is not None):
        held, memory = files_bytes(point), point.nodes * (start.memory_bytes if start else 0)
        if conditions.bytes and held < conditions.bytes * memory:
            share = f'{held / memory:.2g}x the memory of the nodes'
            return f'its files held {share}, but {conditions.bytes:g}x is required'
    return ''


def _key(entry: CriterionEntry) -> str:
    return 'at_least' if entry.at_least else 'at_most'


def _trial(site: Site, entry: CriterionEntry) -> TrialEntry:
    file = site.trial_file
    partition = _chosen('partition', entry, list(file.partitions))
    file_system = _chosen('file_system', entry, list(file.file_systems))
    layout = entry.layout or DEFAULT_LAYOUT
    layouts = [DEFAULT_LAYOUT, *file.file_systems[file_system].layouts]
    if layout not in layouts:
        fault = f'{show(file_system)} has no layout {show(layout)}'
        raise _Refused('layout', fault, '', _fixes(entry, 'layout', layouts), layout)
    most, local = file.partitions[partition].tasks_per_node, file.partitions[partition].launcher.kind == 'local'
    if entry.nodes is None:
        remedy = '' if local else 'write one of {}, or as many as the contract says'
        raise _Refused('nodes', 'is missing', remedy, _fixes(entry, 'nodes', ['1'] if local else NODES))
    if entry.nodes > 1 and local:
        fault = f'the launcher of {show(partition)} is local and reaches one node'
        raise _Refused('nodes', fault, '', _fixes(entry, 'nodes', ['1']))
    if (entry.tasks_per_node or 0) > most:
        fault, key = f'{entry.tasks_per_node} tasks per node are more than {show(partition)} has', 'tasks_per_node'
        raise _Refused(key, fault, f'write at most {most}', _fixes(entry, key, [str(most)]))
    fixed = {key: value for key in _OF_TRIAL if (value := getattr(entry.workload or Workload(), key)) is not None}
    if entry.conditions and entry.conditions.budget is not None:
        fixed['budget'] = entry.conditions.budget
    lists = {'checks': ['*'], 'partitions': [partition], 'file_systems': [file_system], 'nodes': [entry.nodes]}
    lists |= {'layouts': [layout], 'profiles': [ACCEPTANCE.name]}
    return TrialEntry.model_validate({**lists, 'tasks_per_node': entry.tasks_per_node or most, **fixed})


def _chosen(key: str, entry: CriterionEntry, known: Sequence[str]) -> str:
    name = getattr(entry, key)
    if name is None and len(known) > 1:
        raise _Refused(key, 'is missing, and trial.yaml has more than one', '', _fixes(entry, key, known))
    if name is not None and name not in known:
        raise _Refused(key, f'trial.yaml has no {show(name)}', '', _fixes(entry, key, known), name)
    return str(name or known[0])


def _points(site: Site, declared: Declared, procedure: Procedure) -> list[_Candidate]:
    """All points that a check would measure on all tasks of the allocation, except points with their own layout.
    Empty for a check whose points have a meaning only together."""
    session = _session('', site, procedure)
    if declared.axis.equals or declared.every_point or why_not(session, declared, procedure.case):
        return []
    try:
        points = resolved(session, declared, procedure.case).points
    except Unplannable:
        return []
    tasks = declared.workload.tasks or procedure.case.nodes * (procedure.trial.tasks_per_node or 1)
    return [
        _Candidate(declared.name, point, metric)
        for point in points
        if point.layout is None and point.tasks == tasks
        for metric in metrics_at(point)
    ]


def _one_of(named: Sequence[_Candidate], entry: CriterionEntry, checks: Mapping[str, Declared]) -> _Candidate:
    """The candidate that a criterion describes. Raises _Refused for none, or for several different ones."""
    left = _as_asked(named, entry, checks)
    foreign = 'files_per_task' if kind_of(left[0].point.kind).moves_data else 'bytes_per_task'
    if getattr(entry.workload or Workload(), foreign) is not None:
        key = f'workload.{foreign}'
        raise _Refused(key, f'does not apply to {entry.metric}', 'remove it', _fixes(entry, key, [None]))
    for key, field in (('access', 'files'), ('access', 'order'), *terms.FIELDS.items()):
        values = list(dict.fromkeys(_in_words(field, candidate.point) for candidate in left))
        # A value that a contract cannot have, as the calls of mmap, is identified by its check.
        fixes = _fixes(entry, f'workload.{key}', values)
        if len(values) > 1 and len(fixes) == len(values):
            raise _Refused(f'workload.{key}', 'is missing, and more than one is measured', '', fixes)
    if any(_plain(candidate.point) != _plain(left[0].point) for candidate in left):
        key = 'check' if len({candidate.check for candidate in left}) > 1 else 'point'
        fixes = _fixes(entry, f'workload.{key}', _names(key, left))
        raise _Refused(f'workload.{key}', 'is missing, and more than one measures it', '', fixes)
    return left[0]


def _as_asked(named: Sequence[_Candidate], entry: CriterionEntry, checks: Mapping[str, Declared]) -> list[_Candidate]:
    """The candidates with all parameters that the workload names. Raises _Refused if there is none."""
    workload = entry.workload or Workload()
    check = workload.check
    if check is not None and check not in checks:
        fixes = _fixes(entry, 'workload.check', _names('check', named))
        raise _Refused('workload.check', f'{show(check)} is not a check', '', fixes, check)
    left = [one for one in named if check in (None, one.check) and workload.point in (None, one.point.label)]
    if not left:
        key = 'check' if check not in (None, *(candidate.check for candidate in named)) else 'point'
        fixes = _fixes(entry, f'workload.{key}', _names(key, named))
        raise _Refused(f'workload.{key}', f'does not measure {entry.metric} here', '', fixes)
    for field, value in workload.asked.items():
        before, left = left, [candidate for candidate in left if candidate.point.value(field) == value]
        if not left:
            key = f'workload.{_key_of(field)}'
            values = filter(None, (_in_words(field, candidate.point) for candidate in before))
            fixes = _fixes(entry, key, values) or _fixes(entry, key, [None])
            fault = f'no check measures {entry.metric} with this value on {counted(entry.nodes or 1, "node")}'
            raise _Refused(key, fault, '' if any(fixes) else 'remove it', fixes)
    return left


def _key_of(field: str) -> str:
    """The key under workload in the contract for a parameter of a point."""
    return next((key for key, parameter in terms.FIELDS.items() if parameter == field), 'access')


def _names(key: str, candidates: Sequence[_Candidate]) -> list[str]:
    return [candidate.check if key == 'check' else candidate.point.label for candidate in candidates]


def _plain(point: Point) -> Point:
    """The point without its place in a sweep, its phases, and the sizes that profiles choose."""
    plain = point._replace(label='', at=0.0, phases=())
    return plain.changed(bytes_per_task=0, files_per_directory=0, working_set=0) if point.scales else plain


def _in_words(field: str, point: Point) -> str:
    """The value of a parameter as the contract writes it."""
    if field in ('files', 'extent', 'order'):
        access = {name: point.value(name) for name in ('files', 'extent', 'order')}
        return next((word for word, fields in terms.ACCESSES.items() if fields == access), '')
    value = point.value(field)
    if value is None:
        return ''
    if field in ('transfer_size', 'bytes_per_file'):
        return format_size(value)
    return value if isinstance(value, str) else show(value)


def _session(session_id: str, site: Site, procedure: Procedure) -> Session:
    effort = ACCEPTANCE.effort._replace(working_set=not procedure.caches)
    if procedure.seconds:
        target_s = ABOVE_MIN * procedure.seconds
        # The first warm-up of the profile is sized for minutes; a smaller one leads to the same size.
        first = NIGHTLY.effort.first_bytes
        effort = effort._replace(first_bytes=first, target_s=target_s, min_s=procedure.seconds, phase_s=target_s)
    engines = site.engine_choices()
    if procedure.engine:
        known = [engine for engine in engines if engine.name == procedure.engine]
        engines = tuple(known) or (EngineChoice(procedure.engine, procedure.engine),)
    return Session(
        session_id,
        site.session_folder(session_id),
        site.with_trials((procedure.trial,)),
        replace(ACCEPTANCE, label=label_of(procedure.as_json()), points=0, effort=effort),
        engines,
        (procedure.trial.checks[0],),
        procedure.case.partition.partition(':')[0],
        points=(procedure.point,) if procedure.point else (),
        label=procedure.state,
        # Only plans need it here; nothing is started before the user has typed the name (cli/run.py).
        destructive=site.target(procedure.case.file_system, procedure.case.layout).storage_system,
    )
