"""The campaign of a contract: every session begun for one of its criteria, and people's remarks."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from seatrial.check import contract as contracts
from seatrial.check.contract import AcceptanceTest, Procedure
from seatrial.check.declared import Declared
from seatrial.check.pace import Rate
from seatrial.check.planning import plan_of
from seatrial.check.session import FILE, began, contract_digest, contract_of, new_id, session_folders
from seatrial.judge.case import judge_case
from seatrial.judge.criteria import Attempt, Criterion, CriterionOutcome, assumed_noise, judge_contract
from seatrial.judge.session import judge_session
from seatrial.judge.statistics import NOISE
from seatrial.judge.verdict import OF_CONTRACT, CaseResult, MetricResult, Verdict, worst
from seatrial.model.atomic_file import write_whole
from seatrial.model.foreign import NotReadable, parsed, read_json, read_text
from seatrial.model.plan import TrialPlan
from seatrial.model.record import PLAN, SAMPLES, Records, Sample
from seatrial.model.units import duration, format_size, unit_for
from seatrial.report.acceptance.protocol import Protocol, ProtocolRow, Remark, protocol
from seatrial.rules.case import measured
from seatrial.session.evidence import UNREADABLE, ReadCase, judging, read_case
from seatrial.site.contract import CONTRACT_FILE, COUNTS, Contract, load_contract
from seatrial.site.error import SiteError
from seatrial.site.model import Site
from seatrial.workload.words import counted

FOLDER = 'acceptance'  # in the state directory of the site
REMARKS = 'remarks.jsonl'
PAGE = 'protocol.html'
KEPT = 'protocol.json'  # beside the page what it takes to make it again
Stamp = tuple[int, int] | None  # size of a file and when it was changed (ns); None where it cannot be looked at


class Made(NamedTuple):
    """Facts of a protocol that neither contract nor records have."""

    seatrial: str
    site: str
    units: str  # system of units in which percentages are shown
    at: datetime | None = None


class Campaign:
    """The sessions in a state directory that were begun for these criteria; unread: why others could not be read. One
    is judged from its records, and its raw output compared with them, when its attempts are first asked for, and
    again if a file of it has changed, or a job had not ended. Nothing of that outlives the process."""

    def __init__(self, state: Path, tests: Sequence[AcceptanceTest], read: ReadCase = read_case) -> None:
        self.state, self.tests, self._read = state, tests, read
        self.unread: dict[str, str] = {}
        self._judged: dict[Path, tuple[dict[Path, Stamp], list[tuple[str, Attempt]]]] = {}

    def attempts(self) -> dict[str, list[Attempt]]:
        """Every attempt at each criterion, oldest first. Raises OSError. A session belongs to a criterion if it was
        begun for the same procedure: a change of the contract since then must not touch how it is measured."""
        attempts: dict[str, list[Attempt]] = {test.criterion.id: [] for test in self.tests}
        self.unread.clear()
        for folder in session_folders(self.state):
            stamps, of_session = self._judged.get(folder, ({}, []))
            if not stamps or any(_stamp(file) != stamp for file, stamp in stamps.items()):
                try:
                    with judging(folder):
                        stamps, of_session = self._judged[folder] = _judged(folder, self.tests, self._read)
                except UNREADABLE as error:
                    self.unread[folder.name] = str(error)
                    continue
            for id, attempt in of_session:
                attempts[id].append(attempt)
        return attempts


def protocol_at(campaign: Campaign, contract: Contract, made: Made) -> Protocol:
    """The protocol of all attempts. Raises NotReadable, OSError."""
    tests, attempts, remarks = campaign.tests, campaign.attempts(), remarks_in(campaign.state)
    outcomes = judge_contract([test.criterion for test in tests], attempts)
    rows = []
    for test in tests:
        criterion, base = test.criterion, test.metric.unit if test.metric else ''
        outcome, of_criterion = outcomes[criterion.id], attempts[criterion.id]
        unit = unit_for(outcome.figure or 0.0, base, made.units) if criterion.of else criterion.unit
        notes = remarks.get(criterion.id, ())
        rows.append(ProtocolRow(criterion, outcome, unit, base, [*_setup(test, outcome)], of_criterion, notes))
    return Protocol(
        title=contract.title,
        date=contract.date,
        parties=contract.parties,
        rule=COUNTS[contract.counts],
        site=made.site,
        seatrial=made.seatrial,
        made=made.at or datetime.now(timezone.utc),
        verdict=worst(row.verdict for row in rows),
        rows=rows,
        milestones=contract.milestones,
    )


def write_protocol(state: Path, page: Protocol, tests: Sequence[AcceptanceTest], units: str) -> Path:
    """Writes the page, and the data to make it again from the records. Raises OSError."""
    folder = state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    made = {'seatrial': page.seatrial, 'site': page.site, 'units': units, 'made': page.made.isoformat()}
    criteria = {test.criterion.id: test.kept for test in tests}
    write_whole(folder / KEPT, json.dumps({**made, 'criteria': criteria}, indent=1) + '\n')
    write_whole(folder / PAGE, protocol(page))
    return folder / PAGE


def made_in(state: Path) -> Made:
    """The facts kept with the protocol. Raises FileNotFoundError, ValueError, LookupError, TypeError."""
    kept = read_json(state / FOLDER / KEPT)
    return Made(kept['seatrial'], kept['site'], kept['units'], datetime.fromisoformat(kept['made']))


def protocol_again(site_folder: Path, state: Path, read: ReadCase) -> tuple[Protocol | None, list[str]]:
    """The protocol made again from the contract and the records, and its differences to the existing one. Only
    contract.yaml of the site is read: settings.py is a program, and may be somebody else's."""
    folder = state / FOLDER
    try:
        contract = load_contract(site_folder)
        if contract is None:
            return None, [f'there is no {CONTRACT_FILE}']
        kept, made = read_json(folder / KEPT), made_in(state)
        tests = contracts.acceptance_tests_again(contract, kept['criteria'])
        page = protocol_at(Campaign(state, tests, read), contract, made)
        same = read_text(folder / PAGE) == protocol(page)
        why = dict.fromkeys(attempt.why_not for row in page.rows for attempt in row.attempts)
    except FileNotFoundError as error:
        return None, [f'there is no {FOLDER}/{Path(error.filename).name}']
    except (SiteError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError) as error:
        return None, [f'{FOLDER}/{KEPT} and {CONTRACT_FILE} give no protocol: {error}']
    if same:
        return page, []
    stale = f'{FOLDER}/{PAGE} is not what {CONTRACT_FILE}, the records and the remarks come to'
    return page, [stale, *(reason for reason in why if reason.startswith(f'{CONTRACT_FILE}: '))]


def missing(
    tests: Sequence[AcceptanceTest],
    chosen: Sequence[AcceptanceTest],
    attempts: Mapping[str, Sequence[Attempt]],
    again: bool = False,
) -> dict[Procedure, int]:
    """The number of allocations the chosen criteria still need, by procedure. again: one of each, in any case"""
    outcomes = judge_contract([test.criterion for test in tests], attempts)
    wanted: dict[Procedure, int] = {}
    for test in chosen:
        needed = 1 if again else test.criterion.allocations - len(outcomes[test.criterion.id].counted)
        if test.procedure is not None and needed > 0:
            wanted[test.procedure] = max(needed, wanted.get(test.procedure, 0))
    return wanted


def _judged(
    folder: Path, tests: Sequence[AcceptanceTest], read: ReadCase
) -> tuple[dict[Path, Stamp], list[tuple[str, Attempt]]]:
    """The attempts of a session as (criterion id, attempt), and the stamps of the files read, without raw output; no
    stamps if a job has not ended. Raises NotReadable, OSError."""
    stamps = {path: _stamp(path) for path in (folder / FILE, folder / 'cases')}
    kept = contract_of(folder)
    noise = contracts.noise_of(kept) or NOISE
    procedure = {key: value for key, value in kept.items() if key != contracts.NIGHTS_NOISE}
    own_tests = [test for test in tests if test.procedure and test.procedure.as_json() == procedure]
    attempts, ended = list[tuple[str, Attempt]](), True
    for file in sorted(folder.glob(f'cases/*/{PLAN}')) if own_tests else ():
        case = file.parent
        # Files that take the place of others are seen in the time of their folder.
        stamps |= {path: _stamp(path) for path in (case, file, case / SAMPLES)}
        plan, records, proof = read(file)
        ended = ended and records.end is not None
        result, by_metric = judge_case(plan, records, OF_CONTRACT), measured(plan, records)
        # The page is the same wherever the records lie.
        forged, unproved = (
            [line.replace(f'{case}{os.sep}', '') for line in lines]
            for lines in (proof.contradictions, proof.unproved)
        )
        foreign = _foreign(plan, case, kept)
        for number, test in enumerate(tests):
            if test in own_tests:
                other = foreign or contracts.unlike(number, test, plan)
                samples = by_metric.get(test.metric_name, ())
                attempt = _attempt(test, folder.name, records, samples, result, other, forged, unproved)
                attempts.append((test.criterion.id, replace(attempt, noise=noise)))
    return (stamps if ended else {}), attempts


def _stamp(file: Path) -> Stamp:
    try:
        seen = file.stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns


def _foreign(plan: TrialPlan, folder: Path, procedure: Mapping[str, Any]) -> str:
    """The fault of records of another procedure, or empty. The plan is in their chain (R1), session.json is not."""
    if Path(plan.records).parts[-3:] != folder.parts[-3:]:
        return f'its records are those of {"/".join(Path(plan.records).parts[-3:])}'
    if plan.contract != contract_digest(procedure):
        return 'it was planned for other conditions than its session.json has'
    return ''


def _attempt(
    test: AcceptanceTest,
    session: str,
    records: Records,
    samples: Sequence[Sample],
    result: CaseResult,
    foreign: str,
    forged: Sequence[str],
    unproved: Sequence[str],
) -> Attempt:
    one = next((metric for metric in result.metrics if metric.metric == test.metric_name), None)
    criterion = test.criterion
    at_most = math.inf if criterion.least or criterion.of else criterion.bound
    if one and one.more_than is not None and one.more_than > at_most:
        one = replace(one, verdict=Verdict.MEASURED, values=(one.more_than,))  # it has missed its bound already
    why_not = foreign or (_why_not(test, one, result, records, forged) if one else 'not measured for this contract')
    why_not = why_not or contracts.unmet(test, records, samples)
    hosts = {host for sample in records.samples if sample.measurement for host in sample.measurement.hosts}
    caveat = ''
    if one and one.not_storage and test.procedure and test.procedure.caches:
        # Its remedy is for whoever measures, and no matter of those who sign.
        caveat = f'{one.not_storage.partition(";")[0]}; the contract allows caches'
    loaded = next((sample for sample in samples if sample.point.actions), None)
    return Attempt(
        session=session,
        began=began(session),
        nodes=tuple(sorted(hosts)),
        values=one.values if one else (),
        engine=f'{result.engine} {result.version}'.strip(),
        why_not=why_not,
        failed=result.verdict is Verdict.FAIL and not foreign,
        clock_error=one.clock_error if one else 0.0,
        correlation=result.correlation,
        caveat=caveat,
        unproved=f'not proved by its raw output: {unproved[0]}; restore it, or measure again' if unproved else '',
        chain=judge_session(session, '', [result]).chain,
        load=(loaded.started, loaded.started + loaded.point.duration_s) if loaded else None,
    )


def _why_not(
    test: AcceptanceTest, one: MetricResult, result: CaseResult, records: Records, forged: Sequence[str]
) -> str:
    if forged:
        return f'its raw output contradicts its figures: {forged[0]}'
    if result.verdict is Verdict.FAIL or one.verdict is Verdict.INCOMPLETE:
        return result.reasons[0] if result.reasons else one.why
    # Who may end an allocation when its figures please has as many trials as he likes.
    if records.end is None or records.end.reason != 'finished':
        return result.reasons[0] if result.reasons else 'its job has not come to its end'
    if one.verdict is Verdict.INVALID:
        return one.why
    if one.not_storage and test.procedure and not test.procedure.caches:
        return one.not_storage
    needed = test.criterion.needed
    if len(one.values) < needed:
        ended = records.end.stopped.get(one.point) == 'budget'
        remedy = '; its time budget was exhausted: raise budget in its conditions' if ended else ''
        return f'{counted(len(one.values), "valid repetition")}, and {needed} are needed{remedy}'
    return ''


def remarks_in(state: Path) -> dict[str, list[Remark]]:
    """The remarks on each criterion, in their order. Raises NotReadable, OSError."""
    file = state / FOLDER / REMARKS
    try:
        lines = read_text(file).splitlines()
    except FileNotFoundError:
        return {}
    remarks: dict[str, list[Remark]] = {}
    for number, line in enumerate(lines, 1):
        try:
            row: Any = parsed(line)
            at = datetime.fromisoformat(row['at'])
            remark = Remark(row['waives'] is True, str(row['text']), str(row['by']), at)
            remarks.setdefault(str(row['criterion']), []).append(remark)
        except (ValueError, KeyError, TypeError):
            raise NotReadable(f'{file}: line {number} is no remark; restore the file from a backup') from None
    return remarks


def add_remark(site: Site, criterion: str, waives: bool, text: str, by: str) -> None:
    """Appends a remark with the time; none is ever removed. Raises OSError."""
    folder = Path(site.state) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.now(timezone.utc).isoformat(timespec='seconds')
    line = json.dumps({'criterion': criterion, 'waives': waives, 'text': text, 'by': by, 'at': at})
    with (folder / REMARKS).open('a', encoding='utf-8') as stream:
        stream.write(line + '\n')
        stream.flush()
        os.fsync(stream.fileno())


def _setup(test: AcceptanceTest, outcome: CriterionOutcome) -> Iterator[tuple[str, str]]:
    """The measurement of a criterion in words, for people who have no check and no site before them."""
    entry, procedure = test.entry, test.procedure
    if procedure is None:
        return
    case, trial = procedure.case, procedure.trial
    workload = entry.workload.model_dump(exclude_defaults=True) if entry.workload else {}
    sizes = ('transfer_size', 'bytes_per_task', 'file_size')
    values = {key: format_size(value) if key in sizes else str(value) for key, value in workload.items()}
    nodes, tasks = counted(case.nodes, 'node'), counted(trial.tasks_per_node or 1, 'task')
    yield 'Metric', f'{entry.metric}, {entry.statistic or "mean"} of the repetitions'
    yield 'Workload', '; '.join(f'{key.replace("_", " ")} {value}' for key, value in values.items()) or case.check
    yield 'Where', f'{case.file_system} ({case.layout}) on {case.partition}, {nodes} with {tasks} each'
    yield 'By', f'{case.check}, {test.metric_name}'
    if procedure.state:
        yield 'State', procedure.state
    if procedure.seconds:
        yield 'Timed regions', f'{duration(procedure.seconds)} at least'
    if procedure.caches:
        yield 'Caches', 'may take part, as the contract allows'
    conditions = entry.conditions
    if conditions and conditions.fullness is not None:
        yield 'File system', f'{conditions.fullness[0]} to {conditions.fullness[1]} % full at the beginning'
    if conditions and conditions.exclusive:
        yield 'Nodes', 'have no other job, as Slurm says'
    if conditions and conditions.bytes is not None:
        yield 'Files', f'hold {conditions.bytes:g} times the memory of the nodes at least'
    noise = assumed_noise(outcome.counted) if len(outcome.counted) > 1 else NOISE
    if noise != NOISE:
        why = 'for the nights before them differ by no more'
        yield 'Allocations', f'are taken to differ by {noise:.3g} at least (as a logarithm), {why}'
    if outcome.load:
        yield 'Load', outcome.load


class Allocations(NamedTuple):
    """The allocations that a contract still asks for by one procedure."""

    plan: TrialPlan
    number: int
    tests: list[AcceptanceTest]
    promised: Mapping[str, Rate]  # rates of its criteria, by metric
    nights: float | None  # noise between the nights of the case at most, if it is known


def asked_by_contract(
    site: Site, declared: Mapping[str, Declared], only: Sequence[str], system: str | None
) -> list[Allocations]:
    """Allocations that `seatrial accept` has yet to measure, in any state; none if no contract. Raises SiteError."""
    asked, open_ = contracts.contract_of_site(site, declared), list[Allocations]()
    if asked is None:
        return []
    _contract, tests = asked
    for procedure, number in missing(tests, tests, Campaign(Path(site.state), tests).attempts()).items():
        check, case = declared[procedure.case.check], procedure.case
        if only and not {check.name, check.family} & set(only):
            continue
        if system in (None, case.partition.partition(':')[0]):
            session = contracts.contract_session(new_id(), site, procedure)
            own_tests = [test for test in tests if test.procedure == procedure]
            plan, rates = plan_of(session, check, case), promised(tests, own_tests)
            open_.append(Allocations(plan, number, own_tests, rates, contracts.noise_of(session.contract)))
    return open_


def promised(tests: Sequence[AcceptanceTest], chosen: Sequence[AcceptanceTest]) -> dict[str, Rate]:
    """The rates of data that these criteria ask for, by metric."""
    by_id = {test.criterion.id: test.criterion for test in tests}

    def bound(criterion: Criterion) -> float:
        return criterion.bound * (bound(by_id[criterion.of]) if criterion.of else 1)

    return {
        test.metric.name: Rate(bound(test.criterion), test.criterion.id)
        for test in chosen
        if test.metric and test.metric.unit == 'B/s' and test.criterion.least
    }
