"""What a bundle has for programs and tickets: made from the protocol and the records, and by `verify` made again."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from seatrial.check.session import began, contract_of
from seatrial.cli.campaign import SESSIONS
from seatrial.cli.evidence import plan_in
from seatrial.history.rows import COLUMNS, Kept, table
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.case import judge_case
from seatrial.judge.session import judge_session
from seatrial.judge.verdict import Criteria
from seatrial.model.record import PLAN
from seatrial.report.acceptance import SCHEMA, results, results_schema, summary
from seatrial.report.junit import junit_of_criteria
from seatrial.report.protocol import Protocol
from seatrial.rules.case import measured

RESULTS, RESULTS_SCHEMA, PARQUET, CSV = 'results.json', 'results.schema.json', 'samples.parquet', 'samples.csv'


def extracts(page: Protocol, state: Path) -> dict[str, bytes]:
    """The files by their names at the top of a bundle. Raises UsageError for a plan that cannot be read."""
    rows, parquet, csv = _samples(page.site, state), io.BytesIO(), io.BytesIO()
    rows.write_parquet(parquet)
    rows.write_csv(csv)
    texts = {
        RESULTS: results(page),
        RESULTS_SCHEMA: results_schema(),
        'summary.md': summary(page),
        'junit.xml': junit_of_criteria(page),
    }
    return {name: text.encode() for name, text in texts.items()} | {PARQUET: parquet.getvalue(), CSV: csv.getvalue()}


def differing(page: Protocol, state: Path) -> Iterator[str]:
    """Which of them, as they lie in the folder of an unpacked bundle, are not what the records come to."""
    try:
        schema = json.loads((state / RESULTS).read_text(encoding='utf-8'))['schema']
        if schema != SCHEMA:
            yield f'{RESULTS}: schema {schema} is not {SCHEMA}, the one that is read here; take a Seatrial of its day'
            return
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
            yield f'{name} is not what the records come to'


def _same_rows(one: bytes, other: bytes) -> bool:
    """How Parquet is packed is no part of what it says."""
    try:
        return pl.read_parquet(io.BytesIO(one)).equals(pl.read_parquet(io.BytesIO(other)))
    except (pl.exceptions.PolarsError, OSError):
        return False


def _samples(site: str, state: Path) -> pl.DataFrame:
    """The measured launches of all sessions for the contract, with the columns of the history."""
    found = []
    for folder in sorted((state / SESSIONS).glob('*')):
        procedure = contract_of(folder)
        files = sorted(folder.glob(f'cases/*/{PLAN}')) if procedure else []
        kept, judged = [], []
        for file in files:
            plan, records = plan_in(file), records_in(str(file.parent))
            result = judge_case(plan, records, Criteria(of_contract=True))
            metrics = {each.metric: (each.verdict.value, each.why) for each in result.metrics}
            kept.append(Kept(plan, records, measured(plan, records), result.verdict.value, metrics))
            judged.append(result)
        verdict = judge_session(folder.name, '', judged).verdict.value
        if files:
            found.append(table(folder.name, began(folder.name), site, verdict, kept, label=procedure['state']))
    return pl.concat(found) if found else pl.DataFrame(schema=COLUMNS)
