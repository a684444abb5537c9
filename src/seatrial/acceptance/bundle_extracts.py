"""What a bundle has for programs and tickets: made from the protocol and the records, and by `verify` made again."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import seatrial
from seatrial.acceptance.campaign import FOLDER, PAGE, SESSIONS
from seatrial.check.criteria import criteria_of_allocation
from seatrial.check.session import PAGE as REPORT_PAGE
from seatrial.check.session import REPORT, began, contract_of
from seatrial.history.rows import COLUMNS, Kept, table
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.session import SessionResult, judge_cases, judge_session
from seatrial.model.quoted_value import printable
from seatrial.model.record import PLAN
from seatrial.report.acceptance.bundle_page import BundleSession, front
from seatrial.report.acceptance.protocol import Protocol
from seatrial.report.acceptance.results import SCHEMA, results, results_schema, summary
from seatrial.report.junit import junit_of_criteria
from seatrial.report.openmetrics import openmetrics_of_criteria
from seatrial.session.evidence import plan_in
from seatrial.session.history_rows import kept_of

RESULTS, PARQUET = 'results.json', 'samples.parquet'
FRONT = 'index.html'

FILES = {
    RESULTS: 'criteria, allocations, figures and intervals in base units',
    'results.schema.json': 'its JSON Schema',
    'summary.md': 'the criteria in Markdown',
    'junit.xml': 'one test case a criterion; green is what is met alone',
    'metrics.prom': 'the criteria in the form of OpenMetrics',
    PARQUET: 'one row a metric of a measured launch',
    'samples.csv': 'the same in CSV',
}
"""Beside the first page at the top of a bundle."""


def extracts(page: Protocol, state: Path) -> dict[str, bytes]:
    """The files by their names at the top of a bundle. Raises UsageError for a plan that cannot be read."""
    sessions = [each for folder in sorted((state / SESSIONS).glob('*')) if (each := _session(folder))]
    tables = [
        table(each.id, began(each.id), page.site, each.result.verdict.value, each.kept, label=each.state)
        for each in sessions
    ]
    rows, parquet, csv = pl.concat(tables) if tables else pl.DataFrame(schema=COLUMNS), io.BytesIO(), io.BytesIO()
    rows.write_parquet(parquet)
    rows.write_csv(csv)
    texts = {
        FRONT: front(page, [_bundle_session(page, each) for each in sessions], FILES, f'{FOLDER}/{PAGE}'),
        RESULTS: results(page),
        'results.schema.json': results_schema(),
        'summary.md': summary(page),
        'junit.xml': junit_of_criteria(page),
        'metrics.prom': openmetrics_of_criteria(page),
    }
    made = {name: text.encode() for name, text in texts.items()}
    return {**made, PARQUET: parquet.getvalue(), 'samples.csv': csv.getvalue()}


def differing(page: Protocol, state: Path) -> Iterator[str]:
    """Which of them, as they lie in the folder of an unpacked bundle, are not what the records come to."""
    by = ''
    try:
        said = json.loads((state / RESULTS).read_text(encoding='utf-8'))
        if said['schema'] != SCHEMA:
            remedy = 'use the version that wrote it'
            yield f'{RESULTS}: schema {said["schema"]} is not {SCHEMA}, the one that is read here; {remedy}'
            return
        if said['seatrial'] != seatrial.__version__:
            wrote = printable(str(said['seatrial']))
            by = f' by Seatrial {seatrial.__version__}; use the version that wrote it, {wrote}'
    except FileNotFoundError:
        pass
    except (ValueError, KeyError, TypeError):
        yield f'{RESULTS} has no schema; it is no results of an acceptance'
        return
    for name, content in extracts(page, state).items():
        try:
            found = (state / name).read_bytes()
        except FileNotFoundError:
            yield f'there is no {name}'
            continue
        if not (_same_rows(found, content) if name == PARQUET else found == content):
            yield f'{name} is not what the records come to{by}'


def _same_rows(one: bytes, other: bytes) -> bool:
    """How Parquet is packed is no part of what it says."""
    try:
        return pl.read_parquet(io.BytesIO(one)).equals(pl.read_parquet(io.BytesIO(other)))
    except (pl.exceptions.PolarsError, OSError):
        return False


@dataclass(frozen=True)
class _Session:
    """One that was begun for the contract; kept: what the history keeps of its cases."""

    id: str
    state: str
    result: SessionResult
    kept: list[Kept]
    report: str


def _session(folder: Path) -> _Session | None:
    """Judged anew by what it was begun with; None for one of no contract, and without a case."""
    procedure = contract_of(folder)
    files = sorted(folder.glob(f'cases/*/{PLAN}')) if procedure else []
    cases = [(plan_in(file), records_in(str(file.parent))) for file in files]
    criteria = {plan.case: criteria_of_allocation(folder, plan) for plan, _ in cases}
    judged = judge_cases(cases, criteria)
    if not judged:
        return None
    report = folder / REPORT / REPORT_PAGE
    return _Session(
        folder.name,
        procedure['state'],
        judge_session(folder.name, cases[0][0].profile, judged, criteria),
        [kept_of(*each, result) for each, result in zip(cases, judged, strict=True)],
        f'{SESSIONS}/{folder.name}/{REPORT}/{REPORT_PAGE}' if report.is_file() else '',
    )


def _bundle_session(page: Protocol, session: _Session) -> BundleSession:
    cases, reasons = session.result.cases, [why for each in session.result.cases for why in each.reasons]
    return BundleSession(
        session=session.id,
        began=began(session.id),
        verdict=session.result.verdict,
        measured=', '.join(each.case.name for each in cases),
        state=session.state,
        criteria=[row.criterion.id for row in page.rows if session.id in {each.session for each in row.attempts}],
        why=reasons[0] if reasons else '',
        report=session.report,
    )
