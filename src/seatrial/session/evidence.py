"""Reads the folder of a session into the evidence from which a report and the history are made."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import polars as pl

import seatrial
from seatrial.check import session as sessions
from seatrial.check.contract import label_of
from seatrial.check.criteria import criteria_of, with_references
from seatrial.check.declared import Declared
from seatrial.check.planning import cases_of
from seatrial.check.verified import Verified, verified
from seatrial.history.provenance import CASE
from seatrial.history.store import folder_of, summaries
from seatrial.job.sequence.recorder import RAW, records_in
from seatrial.job.sequence.telemetry import telemetry_in
from seatrial.judge.session import SessionResult, judge_cases, judge_session
from seatrial.judge.verdict import CaseResult, Criteria, Verdict
from seatrial.model.codec import FormError
from seatrial.model.foreign import NotReadable, read_json
from seatrial.model.plan import Case, TrialPlan, read_plan
from seatrial.model.quoted_value import show
from seatrial.model.record import PLAN, Records, Sample
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.words import by_environment
from seatrial.rules.case import measured
from seatrial.site.model import Site
from seatrial.site.profile import ACCEPTANCE, PROFILES
from seatrial.workload.registry import form_fault, kind_of

FAULTS_SHOWN = 10  # contradictions of a session's records that are printed, with the number of the others
LOOKED_BACK = 20  # sessions
Recorded = Sequence[tuple[TrialPlan, Records]]  # the cases of a session with what their jobs have recorded


def sessions_of(site: Site) -> list[str]:
    """The sessions of a site that have plans, oldest first. Raises OSError."""
    return [folder.name for folder in sessions.session_folders(site.state) if any(folder.glob(f'cases/*/{PLAN}'))]


def named(known: Sequence[str], wanted: str, where: str) -> str:
    """The one session whose name is or begins with `wanted`. Raises UsageError."""
    matches = [name for name in known if name == wanted] or [name for name in known if name.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        newest = ', '.join(matches[-3:])
        raise click.UsageError(f"'{wanted}' is the beginning of {len(matches)} sessions; the newest are {newest}")
    newest = f'; the newest are {", ".join(known[-3:])}' if known else ''
    raise click.UsageError(f"there is no session '{wanted}' in {where}{newest}")


def session_folder(site: Site, wanted: str | None) -> Path:
    """The folder of the session with this name or beginning, or of this path; None: the newest. Raises UsageError."""
    known = sessions_of(site)
    if wanted and Path(wanted).resolve().parent == Path(site.state, sessions.SESSIONS).resolve():
        wanted = Path(wanted).name
    if wanted and wanted not in known and site.session_folder(wanted).is_file():
        raise click.UsageError(f'{site.session_folder(wanted)} is a file, not the folder of a session')
    if not known:
        raise click.UsageError(f'there is no session in {site.state}; seatrial run makes one')
    return site.session_folder(named(known, wanted, site.state) if wanted else known[-1])


def judged_anew(site: Site, checks: Mapping[str, Declared], folder: Path) -> SessionEvidence:
    """The session judged by today's checks; a notice names another verdict in results.json. Raises as reopened."""
    session, cases, result = reopened(site, checks, folder)
    gone = sorted({plan.case.check for plan, _ in cases} - set(checks))
    notices = [f'the check {check} does not exist any more, so its case has no pass criterion' for check in gone]
    return evidence_of(session, cases, result, [*_changed(folder, result), *notices])


def reopened(
    site: Site, checks: Mapping[str, Declared], folder: Path, never_planned: Sequence[str] = ()
) -> tuple[sessions.Session, Recorded, SessionResult]:
    """The session in a folder with its plans and records, judged today. never_planned: cases it lacks in addition to
    those its folder shows. Raises NotReadable, SiteError, OSError."""
    plans = [plan_in(file) for file in sorted(folder.glob(f'cases/*/{PLAN}'))]
    profile, engines, contract = PROFILES[plans[0].profile], plans[0].engines, sessions.contract_of(folder)
    session = sessions.Session(folder.name, folder, site, profile, engines, contract=contract)
    session = replace(session, not_applicable=sessions.not_applicable_of(folder))
    if contract:
        session = replace(session, profile=replace(profile, label=label_of(contract)))
    else:
        session = with_references(session, checks)
    order = [case for declared in checks.values() for case in cases_of(session, declared)]
    plans.sort(key=lambda plan: order.index(plan.case) if plan.case in order else len(order))
    known = [plan.case for plan in plans if plan.case.check in checks]
    criteria = {case: criteria_of(session, checks[case.check], case) for case in known}
    cases = [(plan, records_in(str(case_folder(folder, plan)))) for plan in plans]
    results = judge_cases(cases, criteria)
    left_out = [*sessions.left_out_of(folder), *never_planned]
    if session.profile.name == ACCEPTANCE.name and not (folder / sessions.FILE).is_file():
        left_out += _never_begun(order, plans)
    result = judge_session(session.id, session.profile.name, results, criteria, left_out)
    return replace(session, left_out=left_out), cases, result


def criteria_of_the_day(
    site: Site, checks: Mapping[str, Declared], folder: Path, plans: Sequence[TrialPlan]
) -> dict[Case, Criteria]:
    """The criteria of a session when it ended: its own references, and what trial.yaml enforces of the checks."""
    profile, engines, references = PROFILES[plans[0].profile], plans[0].engines, sessions.saved_references(folder)
    session = sessions.Session(folder.name, folder, site, profile, engines, references=references)
    return {plan.case: criteria_of(session, checks.get(plan.case.check), plan.case) for plan in plans}


def evidence_of(
    session: sessions.Session, cases: Recorded, result: SessionResult, notices: Sequence[str] = ()
) -> SessionEvidence:
    """The evidence of a judged session, with its records and raw output."""
    facts = {'site': session.site.name, 'label': session.profile.label, 'units': session.site.units}
    more = {'notices': notices, 'not_applicable': session.not_applicable}
    return evidence_in(session.folder, cases, result, **facts, **more, before=figures_before(session))


def evidence_in(folder: Path, cases: Recorded, result: SessionResult, **facts: Any) -> SessionEvidence:
    """The same for a folder. facts: the fields of the evidence that are neither in records nor raw output"""
    return SessionEvidence(
        result=result,
        began=sessions.began(folder.name),
        seatrial=seatrial.__version__,
        cases=[_case(folder, *case, one) for case, one in zip(cases, result.cases, strict=True)],
        **facts,
    )


def figures_before(session: sessions.Session) -> dict[tuple[Case, str], float]:
    """Valid means by case and metric, from the newest of a few earlier sessions of this profile that has them."""
    means = dict[tuple[Case, str], float]()
    if session.contract or not session.profile.judges:  # one allocation, or too few repetitions to compare
        return means
    columns = ('session', 'profile', *CASE, 'metric', 'metric_verdict', 'value')
    earlier = (pl.col('session') < session.id) & (pl.col('profile') == session.profile.name)
    usable = (pl.col('metric_verdict') != Verdict.INVALID.value) & pl.col('value').is_not_null()
    with suppress(OSError):
        for rows in summaries(folder_of(session.site.state), LOOKED_BACK, columns):
            if isinstance(rows, pl.DataFrame):
                kept = rows.filter(earlier & usable).select(*CASE, 'metric', 'value')
                means.update({(Case(*case), metric): value for *case, metric, value in kept.iter_rows()})
    return means


def _never_begun(order: Sequence[Case], plans: Sequence[TrialPlan]) -> list[str]:
    """The cases that an acceptance by plain ReFrame, which plans each case when it begins, never began."""
    systems = {plan.case.partition.partition(':')[0] for plan in plans}
    begun = {plan.case for plan in plans}
    missing = [case.name for case in order if case not in begun and case.partition.partition(':')[0] in systems]
    counts = f'{len(begun)} of {len(begun) + len(missing)} cases'
    named = '; '.join(by_environment(missing))
    return [f'plain ReFrame has begun {counts}; not begun: {named}'] if missing else []


def plan_in(file: Path) -> TrialPlan:
    try:
        plan = read_plan(str(file))
    except FormError as error:
        raise NotReadable(f'{file}: {error}; use the Seatrial version that wrote it') from None
    if plan.profile not in PROFILES:
        raise NotReadable(f'{file}: profile: {show(plan.profile)} is not a profile; it can be {", ".join(PROFILES)}')
    fault = next(filter(None, map(form_fault, plan.points)), None if plan.points else 'the list is empty')
    if fault:
        raise NotReadable(f'{file}: points: {fault}; the file is damaged, or written by another version of Seatrial')
    return plan


class CaseRead(NamedTuple):
    plan: TrialPlan
    records: Records
    proof: Verified  # its records compared with the raw output


def read_case(file: Path) -> CaseRead:
    """The case whose plan is in this file. Raises NotReadable, OSError."""
    plan, records = plan_in(file), records_in(str(file.parent))
    return CaseRead(plan, records, verified(plan, records, file.parent))


ReadCase = Callable[[Path], CaseRead]
UNREADABLE = (NotReadable, OSError)  # exceptions of reading and judging one session; the others are read all the same


@contextmanager
def judging(folder: Path) -> Iterator[None]:
    """Turns arithmetic errors on values that no job writes into a NotReadable that names the session."""
    try:
        yield
    except NotReadable:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        why = f'{folder}: its files contradict each other: {error!r}; if nobody has changed them, please report it'
        raise NotReadable(why) from error


def _changed(folder: Path, result: SessionResult) -> list[str]:
    try:
        was = read_json(folder / sessions.RESULTS)
        verdict, chain = was['verdict'], was.get('chain', result.chain)
    except FileNotFoundError:
        return [f'there is no {sessions.RESULTS}: the session is still running, or was killed']
    except (ValueError, KeyError, TypeError, AttributeError):
        return [f'{sessions.RESULTS} cannot be read']
    notices = []
    if verdict != result.verdict.value:
        today = f'by the checks, references and rules of today it is {result.verdict.value}'
        notices.append(f'when it was measured, this session was {verdict}; {today}')
    if chain != result.chain:
        notices.append(f'the records were changed after they were judged: then their chain ended with {chain}')
    return notices


def case_folder(folder: Path, plan: TrialPlan) -> Path:
    """The folder of the case, wherever the session's folder lies now."""
    return folder / 'cases' / Path(plan.records).name


def _case(folder: Path, plan: TrialPlan, records: Records, result: CaseResult) -> CaseEvidence:
    samples, raw = measured(plan, records), f'{plan.records}/{RAW}'
    launches, telemetry = _launches(plan, records, samples), telemetry_in(str(case_folder(folder, plan)))
    return CaseEvidence(plan, records, result, samples, launches, raw, telemetry)


def _launches(plan: TrialPlan, records: Records, samples: Mapping[str, Sequence[Sample]]) -> dict[str, list[Sample]]:
    """The first repetition of every point that has one, with the preparation that it needed."""
    first: dict[tuple[str, str], Sample] = {}
    for sample in (sample for of_metric in samples.values() for sample in of_metric if sample.command):
        first.setdefault((sample.point.label, sample.phase), sample)
    prepared = [sample for sample in records.samples if sample.stage == 'prepare' and sample.command]
    of_points: dict[str, list[Sample]] = {}
    for point in plan.points:
        launches = [first[point.label, phase] for phase in plan.phases if (point.label, phase) in first]
        if launches:
            before = [sample for sample in prepared if sample.started <= launches[0].started]
            if not kind_of(plan.kind).moves_data:
                before = [sample for sample in before if sample.point.label == point.label]
            of_points[point.label] = [*before[-1:], *launches]
    return of_points
