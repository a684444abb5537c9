"""Evidence of made-up sessions, judged by the real judge, from which the tests of the report depart."""

from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from seatrial.judge.expectations import AtLeast, FallsWith, Insensitive
from seatrial.judge.references import Reference
from seatrial.judge.session import judge_session
from seatrial.judge.verdict import Criteria, judge_case
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
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand, powers_of_two
from seatrial.report.evidence import CaseEvidence, SessionEvidence, Step
from seatrial.rules.case import measured
from seatrial.rules.stopping import state

SIZE = 64 * MIB
RECORDS = '/state/sessions/s/cases/c'
NO_CRITERIA = Criteria()
MFWA = AccessPattern('multiple', 'whole')


def plan_of(check='Check', pattern=MFWA, sweep=None, profile='nightly', clients=2, fixed=False, **target):
    sweep = sweep or Sweep('objects', (2, 8, 32), SIZE)
    return TrialPlan(
        schema=SCHEMA,
        seatrial='0.1.0',
        session='20261121T020638-9f3a1c',
        case=Case(check, 'cluster:compute', 'scratch', 'default', 1),
        profile=profile,
        workload=pattern,
        axis=sweep.axis,
        points=tuple(expand(sweep, Geometry(1, clients), SIZE)),
        engines=(EngineChoice('ior', 'ior'), EngineChoice('fio', 'fio')),
        launcher=Launcher(),
        target=Target(
            **{'name': 'scratch', 'type': 'posix', 'path': '/scratch/trials', 'storage_system': 's', **target},
            limits=Limits(GIB, 100),
        ),
        records=RECORDS,
        state='/state',
        stopping=StoppingRule(0.1, fixed=fixed),
        sizing=Sizing(SIZE, SIZE, 0.8, 0.5),
        launch_limit_s=60.0,
        seed=1,
    )


def sample_of(plan, label, operation, repetition, rate, stage='measured', findings=(), cache='cold', command=()):
    """One launch at `rate` MiB/s of all clients together; None is one without a measurement."""
    point = next(point for point in plan.points if point.label == label)
    measurement = None
    if rate is not None:
        seconds = point.bytes_moved / MIB / rate
        jobs = tuple(
            JobTime(rank, 'node1', point.bytes_per_client, 0.0, seconds * (1 - 0.05 * rank / point.tasks))
            for rank in range(point.tasks)
        )
        measurement = Measurement(f'{rate}', point.bytes_moved, seconds, point.tasks, ('node1',), jobs, fsync=True)
    return Sample(
        stage=stage,
        point=label,
        operation=operation,
        repetition=repetition,
        block=repetition,
        sizing=0 if stage == 'warmup' else 1,
        started=1795230454.0 + repetition,
        elapsed_s=1.0,
        bytes_per_client=point.bytes_per_client,
        command=command
        or (f'/usr/bin/fio --output={RECORDS}/raw/{operation}@{label}.json {RECORDS}/raw/{operation}@{label}.fio',),
        exit_status=0,
        raw=f'{operation}@{label}',
        measurement=measurement,
        cache='' if operation == 'write' else cache,
        storage_read_bytes=None,
        findings=tuple(findings),
    )


def records_of(plan, rates, findings=None, cache='cold', ended=True, host='node1', labels=()):
    """The record of a case; rates, findings: by metric; the latter stand on the last repetition."""
    findings = findings or {}
    first = plan.points[0].label
    samples = [sample_of(plan, first, operation, 0, 100.0, 'warmup') for operation in plan.workload.operations]
    for point in plan.points:
        for operation in plan.workload.operations:
            name = metric(operation, point.label)
            values = rates.get(name, ())
            for i, rate in enumerate(values):
                found = findings.get(name, ()) if i == len(values) - 1 else ()
                samples.append(sample_of(plan, point.label, operation, i, rate, findings=found, cache=cache))
    start = Start(
        session=plan.session,
        case=plan.case.name,
        plan=digest(plan),
        mount='ext4 /dev/sda1 / rw',
        host=host,
        pid=7,
        job='4711',
        started=1795230454.0,
        kernel='6.1.0',
        python='3.11.2',
        engine='fio',
        program='/usr/bin/fio',
        version='3.33',
        passed_over=('ior: not installed (ior)',),
        seed=plan.seed,
        run_directory='/scratch/trials/seatrial-s-1',
        memory_bytes=16 * GIB,
        capacity={'bytes': 80 * GIB, 'inodes': 1000},
        findings=tuple(labels),
    )
    ends = {point.label: _stopped(plan, point.label, samples) for point in plan.points}
    end = End('finished', 'every launch that the plan asks for was made', 1795230554.0, ends) if ended else None
    sized = Sized(1, SIZE, '64 MiB a client took 0.82 s; 0.8 s are meant', ())
    return Records(start, sized, samples, end, Removal(2, 3, (), 1795230555.0) if ended else None, 0)


def _stopped(plan, label, samples):
    """What the runner would say of a point with these samples."""
    own = [sample for sample in samples if sample.stage == 'measured' and sample.point == label]
    if not all(sample.valid for sample in own):
        return 'invalid'
    values = {
        operation: [sample.measurement.bandwidth for sample in own if sample.operation == operation]
        for operation in plan.workload.operations
    }
    progress = state(values, plan.stopping)
    return progress.reason if progress.action == 'done' else 'budget'


def case_of(plan, records, criteria=NO_CRITERIA):
    by_metric = measured(records)
    steps = {
        point.label: [
            Step(
                by_metric[metric(operation, point.label)][0],
                {f'{operation}@{point.label}.fio': '[global]\nbs=4096\n'},
                (),
            )
            for operation in plan.workload.operations
        ]
        for point in plan.points
        if all(by_metric.get(metric(operation, point.label)) for operation in plan.workload.operations)
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


def session_of(*cases, criteria=None, notices=(), label='nightly: comparable with other nights of this system'):
    result = judge_session(
        '20261121T020638-9f3a1c',
        cases[0].plan.profile if cases else 'nightly',
        [case.result for case in cases],
        criteria or {},
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


@pytest.fixture(scope='session')
def make():
    """The builders: plan, records, sample, case, session, even_rates, varied."""
    return SimpleNamespace(
        plan=plan_of,
        sample=sample_of,
        records=records_of,
        case=case_of,
        session=session_of,
        even_rates=even_rates,
        varied=varied,
    )
