"""Evidence of made-up sessions, judged by the real judge, from which the tests of the report depart."""

import tarfile
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import builders
from builders import MFWA, SIZE
from nights import figures, nights_in
from seatrial.acceptance.campaign import protocol_again
from seatrial.check.session import not_applicable_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import CurveRatio, FallsWith, GuaranteeHolds, Insensitive, PointRatio
from seatrial.judge.references import Reference
from seatrial.judge.session import judge_cases, judge_session
from seatrial.judge.verdict import Criteria
from seatrial.model.metric import Fact
from seatrial.model.plan import EngineChoice, Sizing, StoppingRule
from seatrial.model.record import Finding, Records, Removal
from seatrial.model.telemetry import READ, WRITTEN, Look, Telemetry, Watch
from seatrial.model.units import GIB, KIB, MIB
from seatrial.report.acceptance.protocol import protocol
from seatrial.report.comparison.before_after import comparison, comparison_page
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.nights.nights import nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.page import year_page
from seatrial.report.nights.trend import trend
from seatrial.report.session.page import page
from seatrial.rules.case import measured as launches_by_metric
from seatrial.session.evidence import evidence_in, read_case
from seatrial.site.profile import PROFILES
from seatrial.workload.access import data_access
from seatrial.workload.listing import listing, pause_of
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import kind_of, planned_metrics
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import AXES, Sweep, powers_of_two
from seatrial.workload.tree import metadata_tree

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDS = '/state/sessions/s/cases/c'
DATA = '/scratch/trials/seatrial-s-1/data'
BEGAN = 1795230454.0
NO_CRITERIA = Criteria()
SIZES = Sweep('transfer_size', (2 * MIB, 8 * MIB, 32 * MIB))
FILES = metadata_tree(files_per_directory=1000, scales=True)
TREES = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'})))
SMALL = metadata_tree(('create', 'remove'), 4, 5, 3, 0, 40 * KIB, 'private')
CACHE = listing(891, (0.5, 1.0, 2.0, 5.0, 10.0))
LARGE = Sweep('entries', (10_000, 100_000, 1_000_000))
FACTS = (
    Fact('read_after_close', True, 'the other task read 4096 bytes of 4096'),
    Fact('flock', False, 'the other task took the lock while it was held'),
    Fact('direct_io', None, 'open(2) with O_DIRECT: Invalid argument'),
)


def one(label):
    """A sweep over a single tree of this name."""
    return Sweep('tree', ((label, {}),))


def plan_of(check='Check', workload=MFWA, sweep=SIZES, profile='nightly', tasks=2, fixed=False, **target):
    moves_data = kind_of(workload.kind).moves_data
    file_system = 'scratch' if moves_data else target.get('name', 'scratch')
    return builders.plan_of(
        workload,
        sweep,
        tasks,
        case={'check': check, 'partition': 'cluster:compute', 'file_system': file_system},
        target={'path': '/scratch/trials', 'storage_system': 's', 'tried': 'here', **target},
        profile=profile,
        engines=(EngineChoice('ior', 'ior'), EngineChoice('fio', 'fio')),
        records=RECORDS,
        stopping=StoppingRule(0.1, fixed=fixed),
        sizing=Sizing(SIZE, SIZE, 0.8, 0.5) if moves_data else Sizing(1000 if workload.scales else 0, 1, 0.0, 0.0),
    )


def as_timed(metric):
    """The metric with percentiles, if its name says which single operation was timed."""
    if '_' in metric.name or metric.unit != 'op/s':
        return metric
    return metric._replace(percentiles_s={'p50': 1 / metric.value, 'p99.9': 9 / metric.value})


def as_launched(sample, facts):
    """The sample with all that a record says of how it was launched."""
    metrics = tuple(map(as_timed, sample.measurement.metrics))
    raw = f'{RECORDS}/raw/{sample.launch}'
    return sample._replace(
        started=BEGAN + sample.repetition,
        elapsed_s=1.0,
        command=(f'/usr/bin/fio --output={raw}.json {raw}.fio',),
        environment=('LC_ALL=C',),
        directory=DATA,
        measurement=sample.measurement._replace(metrics=metrics, facts=facts or sample.measurement.facts),
    )


START = {'host': 'node1', 'pid': 7, 'job': '4711', 'started': BEGAN, 'kernel': '6.1.0', 'python': '3.11.2'}
START |= {'memory_bytes': 16 * GIB, 'capacity': {'bytes': 80 * GIB, 'inodes': 1000}}
START |= {'mount': '/dev/sda1 on / type ext4 (rw)', 'run_directory': '/scratch/trials/seatrial-s-1'}
START['skipped'] = ('ior: not installed (ior)',)


def records_of(
    plan, figures, findings=None, cache='cold', ended=True, labels=(), facts=(), engine=('fio', '3.33'), **start
):
    """The record of a case; figures: by metric; findings: by launch, they stand on the last repetition."""
    name, version = engine
    measured_with = {'engine': name, 'program': f'/usr/bin/{name}', 'version': version}
    made = builders.records_of(plan, figures, cache, **START | measured_with | start)
    samples = [as_launched(sample, facts) for sample in made.samples]
    last = {sample.launch: i for i, sample in enumerate(samples)}
    for launch, result in (findings or {}).items():
        samples[last[launch]] = samples[last[launch]]._replace(findings=tuple(result))
    made = made._replace(samples=samples, start=made.start._replace(findings=tuple(labels)))
    if not ended:
        return made._replace(end=None)
    stopped = {point.label: builders.stopped(plan, made, point) for point in plan.points}
    end = made.end._replace(ended=BEGAN + 100.0, stopped=stopped)
    reason = '64 MiB a task took 0.82 s; 0.8 s are meant' if plan.sizing.target_s else 'fixed by site or profile'
    sized = made.sized._replace(reason=reason)
    return made._replace(end=end, removal=Removal(2, 3, (), BEGAN + 101.0), sized=sized)


def case_of(plan, records, criteria=NO_CRITERIA):
    by_metric = launches_by_metric(plan, records)
    first = {}
    for sample in records.samples:
        if sample.stage == 'measured' and sample.measurement is not None:
            first.setdefault((sample.point.label, sample.phase), sample)
    launches = {
        point.label: [first[point.label, phase] for phase in plan.phases]
        for point in plan.points
        if all((point.label, phase) in first for phase in plan.phases)
    }
    return CaseEvidence(plan, records, judge_case(plan, records, criteria), by_metric, launches, f'{RECORDS}/raw')


def session_of(*cases, criteria=None, notices=(), label='nightly: comparable with other nights', left_out=()):
    profile = cases[0].plan.profile if cases else 'nightly'
    results = [case.result for case in cases]
    result = judge_session('20261121T020638-9f3a1c', profile, results, criteria or {}, left_out)
    began = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)
    return SessionEvidence(result, 'cluster', label, began, '0.1.0', cases, notices)


def scattered(mean, noise=0.02, count=6):
    """So many samples about a mean, in no order."""
    return [mean * (1 + noise * (((7 * i) % count - (count - 1) / 2) / count)) for i in range(count)]


def even_rates(plan, base=500.0, spread=0.02, count=6):
    """`count` samples of each metric whose mean is `base` MiB/s, reads twice as much; `spread` is of the mean."""
    means = {name: base * MIB * (2 if name.startswith('read') else 1) for name in planned_metrics(plan)}
    return {name: scattered(mean, spread, count) for name, mean in means.items()}


def measured(plan=None, rates=None, criteria=NO_CRITERIA, **more):
    """A case of this plan with these figures, or with even ones; more: of its records."""
    plan = plan or plan_of()
    return case_of(plan, records_of(plan, even_rates(plan) if rates is None else rates, **more), criteria)


def literature(id, words, source='Boito et al. 2009 (NFS on Gigabit Ethernet)'):
    """The fields of an expectation that say what the literature found."""
    return {'id': id, 'words': words, 'source': source}


def varied():
    """A session with a case of every verdict, references, expectations, a relation and an odd name."""
    hurt = Finding('T18', 'invalid', 'task 1 moved 32768 bytes instead of 65536')
    cached = Finding('P2', 'label', 'only 50 % of the bytes read came from storage (cold is 95 % or more)')
    good = plan_of('MultipleFilesSizes', sweep=Sweep('transfer_size', powers_of_two('32KiB', '32MiB')), tasks=8)
    evens = enumerate(even_rates(good).items())
    rates = {name: [rate * (1 + 0.05 * i) for rate in even] for i, (name, even) in evens}
    reference = (450.0 * MIB, -0.1, None, 'MiB/s', 'baseline', '2026-11-01', 'fio')
    references = tuple(Reference(name, *reference) for name in list(rates)[:4])
    flat = literature('L09-02', 'writing does not depend on the transfer size')
    faster = literature('L09-03', 'reading is at least 1.2 times as fast as writing')
    expectations = (
        Insensitive(metric='write', to='transfer_size', **flat),
        CurveRatio(metric='read', than='write', lowest=1.2, **faster),
        FallsWith(metric='read', by='transfer_size', **literature('L09-09', 'reading falls with the transfer size')),
    )
    met = Criteria(expectations, frozenset({'L09-03'}), references)
    passing = measured(good, rates, met, labels=(cached,))

    strided = data_access('single', 'segment', 'strided', bytes_per_task=SIZE)
    slow = plan_of('SharedFileStridedTasks', strided, Sweep('tasks', (1, 2, 4, 8, 16, 24, 32, 40)), tasks=40)
    even = even_rates(slow, 80.0).items()
    slow_rates = {name: [r * (1 + 0.3 * i**0.5) for r in values] for i, (name, values) in enumerate(even)}
    reference = (700e6, -0.2, 0.2, 'MB/s', 'baseline', '2026-03-01', '')
    wanted = tuple(Reference(name, *reference) for name in planned_metrics(slow)[-2:])
    failing = measured(slow, slow_rates, Criteria(references=wanted))

    odd = plan_of('SharedFileContiguousSizes', data_access('single', 'segment', bytes_per_task=SIZE))
    invalid = measured(odd, even_rates(odd, 300.0), findings={'read@8MiB': [hurt]})

    shared = data_access('single', operations=('read',), bytes_per_task=SIZE)
    whole = plan_of('SingleFileWholeAccess', shared, Sweep('transfer_size', powers_of_two(1024, 4 * MIB)))
    names = planned_metrics(whole)
    whole_rates = even_rates(whole, 1500.0, 0.1)
    for name in (names[0], names[-1]):
        whole_rates[name] = even_rates(whole, 1500.0, 1.6, 20)[name]
    whole_rates[names[1]] = whole_rates[names[1]][:2]
    undecided = measured(whole, whole_rates, cache='unknown')

    never = plan_of('MultipleFilesTasks', sweep=Sweep('tasks', (1, 2)))
    absent = case_of(never, Records(None, None, [], None, None, 0))
    cut = plan_of('SingleFileWholeAccessTasks', shared, Sweep('tasks', (1, 2)))
    cut_rates = {planned_metrics(cut)[0]: [800.0 * MIB, 900.0 * MIB]}
    died = measured(cut, cut_rates, ended=False)
    cases = (passing, failing, invalid, undecided, absent, died)
    shared = literature('L09-07', 'a file a task is at least as fast as one shared file')
    pair = CurveRatio(metric='write', of='SharedFileContiguousSizes', than='write', **shared)
    notices = ('results.json of this session says PASS; this report was judged anew.',)
    return session_of(*cases, criteria={passing.plan.case: Criteria((pair,))}, notices=notices)


FILE_SYSTEMS = {
    'scratch': ('posix', '/dev/sda1 on / type ext4 (rw)', 1.0),
    'fast': ('posix', 'tmpfs on /dev/shm type tmpfs (rw)', 4.0),
    'vol0': ('glusterfs', 'node1:/vol0 on /vol0 type fuse.glusterfs (rw)', 0.03),
}
"""Three of them: their type, what is mounted, and how fast they are."""

RATES = {'create': 9e3, 'stat': 80e3, 'read': 40e3, 'remove': 14e3}
IN_THE_WAY = literature('GP-03', 'tasks that create files hinder each other in one directory', 'Calderon (GPFS)')
GP_03 = PointRatio(metric='file_create', at='private', than='shared', lowest=1.1, **IN_THE_WAY)
AGAIN = literature('GP-04a', 'listing again is 14.1 times as fast as the first time', 'Calderon (GPFS)')
WARM = CurveRatio(metric='ls_fourth', than='ls_first', lowest=5.0, **AGAIN)


def tree_rates(plan, factor=1.0, private=1.5, **scatter):
    """Rates of a metadata tree by metric, `private` times as much where tasks share nothing."""

    def mean(name):
        metric, _, point = name.partition('@')
        return factor * RATES[metric.partition('_')[2]] * (private if point.startswith('private') else 1)

    return {name: scattered(mean(name), **scatter) for name in planned_metrics(plan)}


def listing_rates(plan, cold=1913.0, warm=27000.0, expires_s=5.0, factor=1.0, **scatter):
    """Entries a second of repeated listings: those after a long pause are cold again."""

    def mean(name):
        listing = name.partition('@')[0]
        pause = pause_of(listing)
        return factor * (cold if listing.endswith('_first') or (pause or 0.0) >= expires_s else warm)

    return {name: scattered(mean(name), **scatter) for name in planned_metrics(plan)}


def call_rates(plan, factor=1.0, **scatter):
    """Rates of POSIX operations, over two decades."""
    return {
        name: scattered(3e3 * factor * 1.4 ** (11 * i % 15), **scatter)
        for i, name in enumerate(planned_metrics(plan))
    }


def metadata(fixed=False, **scatter):
    """A session of every kind of metadata case on three file systems, and a case of data."""
    cases = [case for name in FILE_SYSTEMS for case in metadata_on(name, fixed, scatter)]
    return session_of(*cases, measured(plan_of('MultipleFilesSizes', tasks=8, fixed=fixed)))


def check_of(session, name):
    """The first case of the session that is of this check."""
    return next(case for case in session.cases if case.plan.case.check == name)


def with_result(evidence, **fields):
    """The case with a result in which these fields are others."""
    return replace(evidence, result=replace(evidence.result, **fields))


def metadata_on(name, fixed, scatter):
    """The cases on one file system."""
    kind, mount, factor = FILE_SYSTEMS[name]
    posixops = ('posixops', 'posixops 0.1.0, Python 3.11.2')
    cold, keeps_s = ('cold', 5.0) if name == 'scratch' else ('cached', 99.0)
    facts = [fact._replace(holds=True if fact.holds is False and kind == 'posix' else fact.holds) for fact in FACTS]
    names = [fact.name for fact in FACTS]
    guarantees = [
        GuaranteeHolds(fact=name, **literature(f'FN-15.{name}', f'what {name} says', 'POSIX')) for name in names
    ]
    mdtest = ('mdtest', '4.0.0')

    def case(check, workload, sweep, rates, engine=posixops, cache=cold, facts=(), expectations=()):
        plan = plan_of(check, workload, sweep, 'nightly', 8, fixed, name=name, type=kind, path=f'/{name}/trials')
        criteria = Criteria(tuple(expectations))
        return measured(plan, rates(plan), criteria, mount=mount, engine=engine, cache=cache, facts=tuple(facts))

    def counts(plan):
        return [2.0] * 6

    trees, listings = (partial(rates, factor=factor, **scatter) for rates in (tree_rates, listing_rates))
    shared = partial(trees, private=1.02 if name == 'fast' else 1.5)
    again = partial(listings, expires_s=keeps_s)
    calls = partial(call_rates, factor=factor, **scatter)
    return [
        case('FileMetadata', FILES, TREES, shared, mdtest, 'cached', expectations=[GP_03]),
        case('FdtreePrivate', SMALL, one('private'), partial(trees, private=1.0), mdtest),
        case('AttributeCache', CACHE, Sweep('entries', (891,)), again, expectations=[WARM]),
        case('LargeDirectory', listing(10_000), LARGE, partial(listings, cold=150e3, warm=900e3)),
        case('PosixOperations', posix_operations(1000, 4096), one('shared'), calls),
        case('PosixSemantics', posix_semantics(), one('two-tasks'), counts, facts=facts, expectations=guarantees),
    ]


def scenarios(*measurements):
    """A case of a launch of each of these points: (point, measurement)."""
    points, once = tuple(point for point, _ in measurements), StoppingRule(0.1, 1, 1, fixed=True)
    plan = plan_of('ServersAway')._replace(axis=AXES['action'], points=points, stopping=once)
    records = records_of(plan, [1.0])
    by_label = {point.label: measurement for point, measurement in measurements}
    launches = [sample for sample in records.samples if sample.stage == 'measured']
    samples = [sample._replace(measurement=by_label[sample.point.label]) for sample in launches]
    return case_of(plan, records._replace(samples=samples))


WATCH = Watch(BEGAN, 'node1', 'block device sda of the whole machine', '', 1.0)


def counted(reads, writes=None, **changes):
    """Telemetry with looks a second apart, between which so many MiB/s were read and written."""
    writes = writes or [0.0] * len(reads)
    totals = zip(accumulate(reads, initial=0.0), accumulate(writes, initial=0.0), strict=True)
    looks = [
        Look(BEGAN + i, float(i), 0.001, {READ: int(read * MIB), WRITTEN: int(written * MIB)})
        for i, (read, written) in enumerate(totals)
    ]
    return Telemetry(WATCH, looks, [], [], [], [], None, 0)._replace(**changes)


def timed():
    """A case of three launches of ten seconds each: a warm-up, a write and a read."""
    plan, launches = plan_of(), [('write', 'warmup'), ('write', 'measured'), ('read', 'measured')]
    records = records_of(plan, [2 * SIZE / 10.0])
    made = {(one.phase, one.stage): one for one in records.samples if one.point.label == plan.points[0].label}
    samples = [made[launch]._replace(started=BEGAN + 10 * i, elapsed_s=10.0) for i, launch in enumerate(launches)]
    return case_of(plan, records._replace(samples=samples))


@pytest.fixture(scope='session')
def make():
    """The builders, by their names; those of a plan, records, a case and a session by what they make."""
    named = {'plan': plan_of, 'records': records_of, 'case': case_of, 'session': session_of}
    named |= {'FILES': FILES, 'TREES': TREES, 'CACHE': CACHE}
    others = (measured, even_rates, tree_rates, listing_rates, call_rates, varied, metadata, check_of, with_result)
    others += (scattered, scenarios, counted, timed)
    return SimpleNamespace(**named, **{function.__name__: function for function in others})


@pytest.fixture
def trees():
    """The plan of metadata in a directory that all tasks share, and in one of each."""
    return plan_of('Check', FILES, TREES, tasks=8)


def recorded(folder, profile):
    """The evidence of a session that was measured in a virtual machine, unpacked into the folder."""
    with tarfile.open(REPOSITORY / 'tests' / 'transcripts' / 'seatrial' / f'{profile}-session.tar.xz') as archive:
        archive.extractall(folder, filter='data')
    cases = [read_case(file)[:2] for file in sorted(folder.glob('cases/*/plan.json'))]
    checks = builders.all_checks()
    criteria = {plan.case: Criteria(tuple(checks[plan.case.check].expectations)) for plan, _ in cases}
    result = judge_session(folder.name, profile, judge_cases(cases, criteria), criteria, [])
    label = PROFILES[profile].label
    return evidence_in(folder, cases, result, site='local', label=label, not_applicable=not_applicable_of(folder))


@pytest.fixture(scope='session')
def smoke(tmp_path_factory):
    """A smoke test of 30 cases."""
    return recorded(tmp_path_factory.mktemp('sessions') / '20261128T071623-a45262', 'smoke')


@pytest.fixture(scope='session')
def first(tmp_path_factory):
    """The session of ci/quickstart: the first look, with fio."""
    return recorded(tmp_path_factory.mktemp('sessions') / '20261128T200008-60fd5c', 'first')


@pytest.fixture(scope='session')
def forty(make):
    """40 cases that miss their references."""
    case = next(case for case in make.varied().cases if case.result.verdict.value == 'FAIL')
    named = [f'SharedFileStridedTasks{number}' for number in range(40)]
    plans = [case.plan._replace(case=case.plan.case._replace(check=name)) for name in named]
    return session_of(*(with_result(replace(case, plan=plan), case=plan.case) for plan in plans))


def of_forty(day):
    """A night with a case for each of 40 checks, which have failed since the fourth."""
    rate, verdict = (100e6, 'MEASURED') if day < 3 else (80e6, 'FAIL')
    began = datetime(2026, 10, 1 + day, 2, tzinfo=timezone.utc)
    why = 'it is 20 % less than its reference of 100 MB/s'
    return pl.concat(
        figures(began, {'write@1MiB': [rate, rate * 1.01]}, verdict, check=f'Check{number}', metric_why=why)
        for number in range(40)
    )


@pytest.fixture(scope='session')
def pages(make, first, smoke, forty, tmp_path_factory):
    """By what they are of, the pages that people open: of sessions, an acceptance, a comparison and the nights."""
    sample = tmp_path_factory.mktemp('sample')
    with zipfile.ZipFile(REPOSITORY / 'reports' / 'sample.zip') as bundle:
        bundle.extractall(sample)
    acceptance, _ = protocol_again(sample / 'site', sample, read_case)
    before, after = (pl.concat(map(of_forty, days)) for days in (range(3), range(3, 6)))
    both = pl.concat([before, after])
    history = nights_in(both)
    past = nights([both], 'site', 'nightly')
    watch = TrialWatch('site', 'nightly', datetime(2026, 10, 7, tzinfo=timezone.utc), past)
    return {
        'first': page(first),
        'smoke': page(smoke),
        '40 FAIL': page(forty),
        'INVALID and INCOMPLETE': page(make.varied()),
        'bundle': (sample / 'index.html').read_text(),
        'protocol': protocol(acceptance),
        'comparison': comparison_page(comparison(before, after), 'site'),
        'nights': year_page(watch, history, trend(history, 1.0, 0.05)),
    }
