"""Evidence of made-up sessions, judged by the real judge, from which the tests of the report depart."""

from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from seatrial.judge.expectations import AtLeast, FallsWith, Insensitive, PointAtLeast, Promise
from seatrial.judge.references import Reference
from seatrial.judge.session import judge_session
from seatrial.judge.verdict import Criteria, judge_case
from seatrial.model.namespace import (
    LISTING,
    OPERATIONS,
    SEMANTICS,
    TREE,
    Namespace,
    Trees,
    expand_trees,
    metrics_of,
    pause_of,
)
from seatrial.model.plan import (
    SCHEMA,
    Case,
    EngineChoice,
    Launcher,
    Limits,
    Sizing,
    StoppingRule,
    Target,
    TrialPlan,
    digest,
    metric,
)
from seatrial.model.record import End, Finding, JobTime, Measurement, Records, Removal, Sample, Sized, Start
from seatrial.model.tree import Fact, MetadataTree, Rate, TreeMeasurement
from seatrial.model.units import GIB, KIB, MIB
from seatrial.model.work import sized
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand, powers_of_two
from seatrial.report.evidence import CaseEvidence, SessionEvidence, Step
from seatrial.rules.case import measured
from seatrial.rules.names import LOOKING
from seatrial.rules.stopping import state

SIZE = 64 * MIB
RECORDS = '/state/sessions/s/cases/c'
NO_CRITERIA = Criteria()
MFWA = AccessPattern('multiple', 'whole')
FILES = MetadataTree(files_per_directory=1000)
TREES = Trees((('shared', FILES), ('private', FILES._replace(subtrees='private'))), scales=True)
SMALL = Trees((('private', MetadataTree(4, 5, 3, 0, 40 * KIB, 'private', ('create', 'remove'))),))
CACHE = Trees((('891', MetadataTree(files_per_directory=891)),), tasks=1, pauses_s=(0.5, 1.0, 2.0, 5.0, 10.0))
LARGE = Trees(
    tuple((str(n), MetadataTree(files_per_directory=n)) for n in (10_000, 100_000, 1_000_000)),
    axis='entries',
    tasks=1,
)
CALLS = Trees((('shared', FILES._replace(bytes_per_file=4096)),))
PROMISES = Trees((('two-clients', MetadataTree()),), tasks=2)
FACTS = (
    Fact('read_after_close', True, 'the other client read 4096 bytes of 4096'),
    Fact('flock', False, 'the other client took the lock while it was held'),
    Fact('direct_io', None, 'open(2) with O_DIRECT: Invalid argument'),
)


def plan_of(check='Check', pattern=MFWA, sweep=None, profile='nightly', clients=2, fixed=False, **target):
    sweep = sweep or Sweep('objects', (2, 8, 32), SIZE)
    names, file_system = isinstance(sweep, Trees), target.get('name', 'scratch')
    largest = Geometry(1, clients)
    return TrialPlan(
        schema=SCHEMA,
        seatrial='0.1.0',
        session='20261121T020638-9f3a1c',
        case=Case(check, 'cluster:compute', file_system if names else 'scratch', 'default', 1),
        profile=profile,
        workload=pattern,
        axis=sweep.axis,
        points=tuple(expand_trees(sweep, largest) if names else expand(sweep, largest, SIZE)),
        engines=(EngineChoice('ior', 'ior'), EngineChoice('fio', 'fio')),
        launcher=Launcher(),
        target=Target(
            **{
                'name': 'scratch',
                'type': 'posix',
                'path': '/scratch/trials',
                'storage_system': 's',
                'tried': 'here',
                **target,
            },
            limits=Limits(GIB, 100),
        ),
        records=RECORDS,
        state='/state',
        stopping=StoppingRule(0.1, fixed=fixed),
        sizing=Sizing(1000 if sweep.scales else 0, 1, 0.0, 0.0) if names else Sizing(SIZE, SIZE, 0.8, 0.5),
        launch_limit_s=60.0,
        seed=1,
    )


def moved(point, rate):
    """All clients together move the bytes of the point at so many MiB/s, the last one a little sooner."""
    seconds = point.bytes_moved / MIB / rate
    jobs = tuple(
        JobTime(rank, 'node1', point.bytes_per_client, 0.0, seconds * (1 - 0.05 * rank / point.tasks))
        for rank in range(point.tasks)
    )
    return Measurement(f'{rate}', point.bytes_moved, seconds, point.tasks, ('node1',), jobs, fsync=True)


def rated(point, rates, facts=()):
    """A launch of metadata at these rates by metric; single operations are timed where a name says which."""
    number = max(1, point.entries.files + point.entries.empties)
    return TreeMeasurement(
        tuple(
            Rate(name, number, number / rate, f'{rate}', (), () if '_' in name else (1 / rate, 2 / rate, 9 / rate))
            for name, rate in rates.items()
            if not facts
        ),
        point.tasks,
        ('node1',),
        1e-9,
        tuple(facts),
    )


def sample_of(
    plan, label, operation, repetition, rate, stage='measured', findings=(), cache='cold', command=(), facts=()
):
    """One launch at `rate`, MiB/s of all clients together or rates by metric; None is one without a measurement."""
    point = sized(next(point for point in plan.points if point.label == label), plan.axis, plan.sizing.first)
    names = isinstance(plan.workload, Namespace)
    looks = operation in LOOKING if names else operation != 'write'
    measurement = None
    if rate is not None:
        measurement = rated(point, rate, facts) if names else moved(point, rate)
    return Sample(
        stage=stage,
        point=label,
        operation=operation,
        repetition=repetition,
        block=repetition,
        sizing=0 if stage == 'warmup' else 1,
        started=1795230454.0 + repetition,
        elapsed_s=1.0,
        per_client=plan.sizing.first,
        command=command
        or (f'/usr/bin/fio --output={RECORDS}/raw/{operation}@{label}.json {RECORDS}/raw/{operation}@{label}.fio',),
        exit_status=0,
        raw=f'{operation}@{label}',
        measurement=measurement,
        cache=cache if looks else '',
        storage_read_bytes=None,
        findings=tuple(findings),
    )


def launches_of(plan, operation, point, rates):
    """The rate of each launch, or its rates by metric."""
    if not isinstance(plan.workload, Namespace):
        return rates.get(metric(operation, point.label), ())
    names = metrics_of(plan.workload, operation, point)
    columns = [rates.get(metric(name, point.label), ()) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def records_of(
    plan,
    rates,
    findings=None,
    cache='cold',
    ended=True,
    host='node1',
    labels=(),
    facts=(),
    engine=('fio', '3.33'),
    mount='/dev/sda1 on / type ext4 (rw)',
):
    """The record of a case; rates, findings: by metric; the latter stand on the last repetition."""
    findings = findings or {}
    first, names = plan.points[0].label, isinstance(plan.workload, Namespace)
    samples = [
        sample_of(plan, first, operation, 0, {} if names else 100.0, 'warmup')
        for operation in plan.workload.operations
    ]
    for point in plan.points:
        for operation in plan.workload.operations:
            launches = launches_of(plan, operation, point, rates)
            for i, rate in enumerate(launches):
                found = findings.get(metric(operation, point.label), ()) if i == len(launches) - 1 else ()
                samples.append(
                    sample_of(plan, point.label, operation, i, rate, findings=found, cache=cache, facts=facts)
                )
    start = Start(
        session=plan.session,
        case=plan.case.name,
        plan=digest(plan),
        mount=mount,
        host=host,
        pid=7,
        job='4711',
        started=1795230454.0,
        kernel='6.1.0',
        python='3.11.2',
        engine=engine[0],
        program=f'/usr/bin/{engine[0]}',
        version=engine[1],
        passed_over=('ior: not installed (ior)',),
        seed=plan.seed,
        run_directory='/scratch/trials/seatrial-s-1',
        memory_bytes=16 * GIB,
        capacity={'bytes': 80 * GIB, 'inodes': 1000},
        findings=tuple(labels),
    )
    ends = {point.label: _stopped(plan, point.label, samples) for point in plan.points}
    end = End('finished', 'every launch that the plan asks for was made', 1795230554.0, ends) if ended else None
    reason = 'fixed by the site or the profile' if names else '64 MiB a client took 0.82 s; 0.8 s are meant'
    decided = Sized(1, plan.sizing.first, reason, ())
    return Records(start, decided, samples, end, Removal(2, 3, (), 1795230555.0) if ended else None, 0)


def _stopped(plan, label, samples):
    """What the runner would say of a point with these samples."""
    own = [sample for sample in samples if sample.stage == 'measured' and sample.point == label]
    if not all(sample.valid for sample in own):
        return 'invalid'
    values = {
        name: [sample.figures[name] for sample in own if name in sample.figures]
        for point in plan.points
        if point.label == label
        for operation in plan.workload.operations
        for name in plan.measures(operation, point)
    }
    progress = state(values, plan.stopping)
    return progress.reason if progress.action == 'done' else 'budget'


def case_of(plan, records, criteria=NO_CRITERIA):
    by_metric = measured(plan, records)
    steps = {
        point.label: [
            Step(
                by_metric[metric(plan.measures(operation, point)[0], point.label)][0],
                {f'{operation}@{point.label}.fio': '[global]\nbs=4096\n'},
                (),
            )
            for operation in plan.workload.operations
        ]
        for point in plan.points
        if all(
            by_metric.get(metric(name, point.label))
            for operation in plan.workload.operations
            for name in plan.measures(operation, point)
        )
    }
    return CaseEvidence(
        plan,
        records,
        judge_case(plan, records, criteria),
        by_metric,
        steps,
        f'{RECORDS}/raw',
        '/scratch/trials/seatrial-s-1/data',
    )


def session_of(
    *cases, criteria=None, notices=(), label='nightly: comparable with other nights of this system', left_out=()
):
    result = judge_session(
        '20261121T020638-9f3a1c',
        cases[0].plan.profile if cases else 'nightly',
        [case.result for case in cases],
        criteria or {},
        left_out,
    )
    began = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)
    return SessionEvidence(result, 'cluster', label, began, '0.1.0', cases, notices)


def even_rates(plan, base=500.0, spread=0.02, count=6):
    """`count` samples of each metric whose mean is `base` MiB/s, reads twice as much; `spread` is of the mean."""
    steps = [((7 * i) % count - (count - 1) / 2) / count for i in range(count)]
    return {
        name: [base * (2 if name.startswith('read') else 1) * (1 + spread * step) for step in steps]
        for name in plan.metrics
    }


def varied():
    """A session with a case of every verdict, references, expectations, a relation and an odd name."""
    hurt = Finding(
        'T18', 'invalid', "client 1 moved 32768 bytes instead of 65536; see the engine's raw output in the records"
    )
    cached = Finding(
        'P2', 'label', 'only 50 % of the bytes read came from storage (cold is 95 % or more); labelled cached'
    )
    good = plan_of('MultipleFilesObjects', sweep=Sweep('objects', powers_of_two(2, 2048), SIZE), clients=8)
    rates = even_rates(good)
    for i, name in enumerate(good.metrics):
        rates[name] = [rate * (1 + 0.05 * i) for rate in rates[name]]
    references = tuple(
        Reference(name, 450.0, -0.1, None, 'MiB/s', 'baseline', '2026-11-01', 'fio') for name in good.metrics[:4]
    )
    expectations = (
        Insensitive(
            id='L09-02',
            words='writing does not depend on the number of objects',
            source='Boito et al. 2009 (NFS on Gigabit Ethernet)',
            metric='write',
            to='objects',
        ),
        AtLeast(
            id='L09-03',
            words='reading is at least 1.2 times as fast as writing',
            source='Boito et al. 2009 (NFS on Gigabit Ethernet)',
            metric='read',
            than='write',
            times=1.2,
        ),
        FallsWith(
            id='L09-09',
            words='reading falls with the number of objects',
            source='Boito et al. 2009',
            metric='read',
            by='objects',
        ),
    )
    met = Criteria(expectations, frozenset({'L09-03'}), references)
    passing = case_of(good, records_of(good, rates, labels=(cached,)), met)

    slow = plan_of(
        'SharedFileStridedClients',
        AccessPattern('single', 'segment', 'strided'),
        Sweep('clients', (1, 2, 4, 8, 16, 24, 32, 40), SIZE, 32),
        clients=40,
    )
    slow_rates = {
        name: [r * (1 + 0.3 * i**0.5) for r in values]
        for i, (name, values) in enumerate(even_rates(slow, 80.0).items())
    }
    wanted = tuple(
        Reference(name, 700.0, -0.2, 0.2, 'MiB/s', 'baseline', '2026-03-01', '') for name in slow.metrics[-2:]
    )
    failing = case_of(slow, records_of(slow, slow_rates), Criteria(references=wanted))

    odd = plan_of('SharedFileContiguousObjects', AccessPattern('single', 'segment'))
    unbelieved = case_of(odd, records_of(odd, even_rates(odd, 300.0), {'read@8objects': [hurt]}))

    whole = plan_of(
        'SingleFileWholeAccess',
        AccessPattern('single', 'whole', operations=('read',)),
        Sweep('transfer_size', powers_of_two(1024, 4 * MIB), SIZE),
    )
    whole_rates = even_rates(whole, 1500.0, 0.1)
    for name in (whole.metrics[0], whole.metrics[-1]):
        whole_rates[name] = even_rates(whole, 1500.0, 1.6, 20)[name]
    doubtful = case_of(whole, records_of(whole, whole_rates, cache='unknown'))

    never = plan_of('MultipleFilesClients', sweep=Sweep('clients', (1, 2), SIZE, 32))
    absent = case_of(never, Records(None, None, [], None, None, 0))
    cut = plan_of(
        'SingleFileWholeAccessClients',
        AccessPattern('single', 'whole', operations=('read',)),
        Sweep('clients', (1, 2), SIZE, 32),
    )
    torn = case_of(cut, records_of(cut, {cut.metrics[0]: [800.0, 900.0]}, ended=False))
    cases = (passing, failing, unbelieved, doubtful, absent, torn)
    pair = AtLeast(
        id='L09-07',
        words='a file a client is at least as fast as one shared file',
        source='Boito et al. 2009',
        metric='write',
        of='SharedFileContiguousObjects',
        than='write',
    )
    criteria = {passing.plan.case: Criteria((pair,))}
    return session_of(
        *cases, criteria=criteria, notices=('results.json of this session says PASS; this report was judged anew.',)
    )


FILE_SYSTEMS = {
    'scratch': ('posix', '/dev/sda1 on / type ext4 (rw)', 1.0),
    'fast': ('posix', 'tmpfs on /dev/shm type tmpfs (rw)', 4.0),
    'vol0': ('glusterfs', 'node1:/vol0 on /vol0 type fuse.glusterfs (rw)', 0.03),
}
"""Three of them: their type, what is mounted, and how fast they are."""

RATES = {'create': 9e3, 'stat': 80e3, 'read': 40e3, 'remove': 14e3}
GP_03 = PointAtLeast(
    metric='file_create',
    at='private',
    than='shared',
    times=1.1,
    id='GP-03',
    words="clients that create files get in each other's way in one directory",
    source='Calderon (GPFS, HLRS)',
)
WARM = AtLeast(
    metric='ls_fourth',
    than='ls_first',
    times=5.0,
    id='GP-04a',
    words='listing again is 14.1 times as fast as the first time',
    source='Calderon (GPFS, HLRS)',
)


def scattered(mean, noise=0.02, count=6):
    """So many samples about a mean, in no order."""
    return [mean * (1 + noise * (((7 * i) % count - (count - 1) / 2) / count)) for i in range(count)]


def tree_rates(plan, factor=1.0, private=1.5, **scatter):
    """Rates of a metadata tree by metric, `private` times as much where clients share nothing."""

    def mean(name):
        metric, _, point = name.partition('@')
        return factor * RATES[metric.partition('_')[2]] * (private if point.startswith('private') else 1)

    return {name: scattered(mean(name), **scatter) for name in plan.metrics}


def listing_rates(plan, cold=1913.0, warm=27000.0, expires_s=5.0, **scatter):
    """Entries a second of repeated listings: those after a long pause are cold again."""

    def mean(name):
        listing = name.partition('@')[0]
        pause = pause_of(listing)
        return cold if listing.endswith('_first') or (pause is not None and pause >= expires_s) else warm

    return {name: scattered(mean(name), **scatter) for name in plan.metrics}


def call_rates(plan, factor=1.0, **scatter):
    """Rates of POSIX operations, over two decades."""
    return {name: scattered(3e3 * factor * 1.4 ** (11 * i % 15), **scatter) for i, name in enumerate(plan.metrics)}


def metadata(fixed=False, **scatter):
    """A session of every kind of metadata case on three file systems, and a case of bytes."""
    cases = [case for name in FILE_SYSTEMS for case in metadata_on(name, fixed, scatter)]
    plan = plan_of('MultipleFilesObjects', clients=8, fixed=fixed)
    return session_of(*cases, case_of(plan, records_of(plan, even_rates(plan))))


def metadata_on(name, fixed, scatter):
    """The cases on one file system."""
    kind, mount, factor = FILE_SYSTEMS[name]
    posixops = ('posixops', 'posixops 0.1.0, Python 3.11.2')
    cold, keeps_s = ('cold', 5.0) if name == 'scratch' else ('cached', 99.0)
    facts = [fact._replace(holds=True if fact.holds is False and kind == 'posix' else fact.holds) for fact in FACTS]

    def case(check, workload, sweep, rates, engine=posixops, cache=cold, facts=(), expectations=()):
        plan = plan_of(check, workload, sweep, 'nightly', 8, fixed, name=name, type=kind, path=f'/{name}/trials')
        records = records_of(plan, rates(plan), mount=mount, engine=engine, cache=cache, facts=facts)
        return case_of(plan, records, Criteria(tuple(expectations)))

    return [
        case(
            'FileMetadata',
            TREE,
            TREES,
            lambda plan: tree_rates(plan, factor, 1.02 if name == 'fast' else 1.5, **scatter),
            ('mdtest', '4.0.0'),
            'cached',
            expectations=[GP_03],
        ),
        case(
            'FdtreePrivate',
            Namespace('tree', ('create', 'remove')),
            SMALL,
            lambda plan: tree_rates(plan, factor, 1.0, **scatter),
            ('mdtest', '4.0.0'),
        ),
        case(
            'AttributeCache',
            LISTING,
            CACHE,
            lambda plan: listing_rates(plan, 1913 * factor, 27000 * factor, keeps_s, **scatter),
            expectations=[WARM],
        ),
        case(
            'LargeDirectory',
            LISTING,
            LARGE,
            lambda plan: listing_rates(plan, 150e3 * factor, 900e3 * factor, **scatter),
        ),
        case('PosixOperations', OPERATIONS, CALLS, lambda plan: call_rates(plan, factor, **scatter)),
        case(
            'PosixSemantics',
            SEMANTICS,
            PROMISES,
            lambda plan: {each: [2.0] * 6 for each in plan.metrics},
            facts=facts,
            expectations=[
                Promise(id=f'FN-15.{fact.name}', words=f'what {fact.name} says', source='POSIX', fact=fact.name)
                for fact in FACTS
            ],
        ),
    ]


@pytest.fixture(scope='session')
def make():
    """The builders: plan, records, sample, case, session, even_rates, varied, and those of metadata."""
    return SimpleNamespace(
        plan=plan_of,
        sample=sample_of,
        records=records_of,
        case=case_of,
        session=session_of,
        even_rates=even_rates,
        varied=varied,
        tree_rates=tree_rates,
        listing_rates=listing_rates,
        call_rates=call_rates,
        metadata=metadata,
    )
