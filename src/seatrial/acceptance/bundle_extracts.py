"""Files of a bundle for people, programs and tickets: made from the records, and made again by `verify`."""

import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

import seatrial
from seatrial.acceptance.bundle import contract_folders
from seatrial.acceptance.campaign import FOLDER, PAGE, made_in
from seatrial.check.contract import label_of
from seatrial.check.session import PAGE as REPORT_PAGE
from seatrial.check.session import REPORT, SESSIONS, began, contract_of, left_out_of, not_applicable_of
from seatrial.history.rows import COLUMNS
from seatrial.judge.session import SessionResult, judge_cases, judge_session
from seatrial.judge.verdict import OF_CONTRACT
from seatrial.model.foreign import LARGEST, NotReadable, read_bytes, read_json
from seatrial.model.quoted_value import printable
from seatrial.model.record import PLAN
from seatrial.report.acceptance.protocol import SCHEMA, Protocol, front, results, results_schema, summary
from seatrial.report.evidence import SessionEvidence
from seatrial.report.junit import junit_of_criteria
from seatrial.session.after_session import report_files, rows_of
from seatrial.session.evidence import UNREADABLE, ReadCase, evidence_in, judging

RESULTS, PARQUET = 'results.json', 'samples.parquet'
FRONT = 'index.html'

FILES = {  # beside the first page at the top of a bundle
    RESULTS: 'criteria, allocations, figures and intervals in base units',
    'results.schema.json': 'its JSON Schema',
    'summary.md': 'the criteria in Markdown',
    'junit.xml': 'one test case a criterion; green is what is met alone',
    PARQUET: 'one row a metric of a measured launch',
    'samples.csv': 'the same in CSV',
}


def extracts(page: Protocol, state: Path, read: ReadCase) -> dict[str, bytes]:
    """The contents of these files by name in a bundle: those at its top, and the report of each readable session."""
    units, shown, tables, made = made_in(state).units, list[dict[str, Any]](), list[pl.DataFrame](), dict[str, str]()
    for folder in contract_folders(state, read)[0]:
        with suppress(*UNREADABLE), judging(folder):
            for evidence in _session(folder, page.site, units, read):
                state_of, report = contract_of(folder)['state'], f'{SESSIONS}/{folder.name}/{REPORT}'
                made |= {f'{report}/{name}': text for name, text in report_files(evidence).items()}
                tables.append(rows_of(evidence, label=state_of))
                shown.append(_shown(page, f'{report}/{REPORT_PAGE}', state_of, evidence.result))
    rows, parquet, csv = pl.concat(tables) if tables else pl.DataFrame(schema=COLUMNS), io.BytesIO(), io.BytesIO()
    rows.write_parquet(parquet)
    rows.write_csv(csv)
    made |= {
        FRONT: front(page, shown, FILES, f'{FOLDER}/{PAGE}'),
        RESULTS: results(page),
        'results.schema.json': results_schema(),
        'summary.md': summary(page),
        'junit.xml': junit_of_criteria(page),
    }
    tables_made = {PARQUET: parquet.getvalue(), 'samples.csv': csv.getvalue()}
    return {**{name: text.encode() for name, text in made.items()}, **tables_made}


def differing(page: Protocol, state: Path, read: ReadCase) -> Iterator[str]:
    """The files in an unpacked bundle that differ from what its records give."""
    by = ''
    try:
        saved = read_json(state / RESULTS)
        if saved['schema'] != SCHEMA:
            remedy = 'use the version that wrote it'
            yield f'{RESULTS}: schema {saved["schema"]} is not {SCHEMA}, the one that is read here; {remedy}'
            return
        if saved['seatrial'] != seatrial.__version__:
            wrote = printable(str(saved['seatrial']))
            by = f' by Seatrial {seatrial.__version__}; use the version that wrote it, {wrote}'
    except FileNotFoundError:
        pass
    except (ValueError, KeyError, TypeError):
        yield f'{RESULTS} has no schema; it is no results of an acceptance'
        return
    for name, content in extracts(page, state, read).items():
        try:
            there = read_bytes(state / name, len(content) + LARGEST)
        except FileNotFoundError:
            yield f'there is no {name}'
            continue
        except NotReadable:
            there = b''
        if not (_same_rows(there, content) if name == PARQUET else there == content):
            yield f'{name} is not what the records come to{by}'


def _same_rows(one: bytes, other: bytes) -> bool:
    """True if two Parquet files have the same rows, however packed. A few bytes can stand for any number of rows."""
    files = [io.BytesIO(one), io.BytesIO(other)]
    try:
        rows, expected = (pl.scan_parquet(file).select(pl.len()).collect().item() for file in files)
        return rows == expected and pl.read_parquet(files[0]).equals(pl.read_parquet(files[1]))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return False


def _session(folder: Path, site: str, units: str, read: ReadCase) -> Iterator[SessionEvidence]:
    """The session judged anew by its own criteria; nothing if it has no case."""
    cases = [(case.plan, case.records) for case in map(read, sorted(folder.glob(f'cases/*/{PLAN}')))]
    criteria = {plan.case: OF_CONTRACT for plan, _ in cases}
    judged = judge_cases(cases, criteria)
    if judged:
        result = judge_session(folder.name, cases[0][0].profile, judged, criteria, left_out_of(folder))
        facts = {'site': site, 'units': units, 'label': label_of(contract_of(folder))}
        yield evidence_in(folder, cases, result, **facts, not_applicable=not_applicable_of(folder))


def _shown(page: Protocol, report: str, state: str, result: SessionResult) -> dict[str, Any]:
    id = result.session
    return {
        'session': id,
        'began': began(id),
        'verdict': result.verdict,
        'measured': ', '.join(case.case.name for case in result.cases),
        'state': state,
        'criteria': [row for row in page.rows if id in {attempt.session for attempt in row.attempts}],
        'why': next((why for case in result.cases for why in case.reasons), ''),
        'report': report,
    }
