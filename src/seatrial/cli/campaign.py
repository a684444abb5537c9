"""The campaign of a contract: every session that was begun for one of its criteria, and what people have said."""

import json
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from seatrial.check.contract import Criterion
from seatrial.check.session import began, contract_of
from seatrial.check.verified import verified
from seatrial.cli.evidence import plan_in, sessions_of
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.case import judge_case
from seatrial.judge.criteria import Attempt
from seatrial.judge.session import judge_session
from seatrial.judge.statistics import MIN_SAMPLES
from seatrial.judge.verdict import CaseResult, Criteria, MetricResult, Verdict
from seatrial.model.record import PLAN, Records
from seatrial.report.protocol import Remark
from seatrial.site.model import Site
from seatrial.workload.words import counted

FOLDER = 'acceptance'
"""In the state directory of the site."""

REMARKS = 'remarks.jsonl'


def attempts_at(site: Site, criteria: Sequence[Criterion]) -> dict[str, list[Attempt]]:
    """Every attempt at each criterion, oldest first, judged anew from its records. Raises UsageError.

    A session belongs to a criterion if it was begun for the same procedure: one that was begun before the contract
    was changed does so only where the change does not touch how it is measured.
    """
    found: dict[str, list[Attempt]] = {each.written.id: [] for each in criteria}
    for name in sessions_of(site):
        folder = site.session_folder(name)
        procedure = contract_of(folder)
        own = [each for each in criteria if each.procedure and each.procedure.as_json() == procedure]
        for file in sorted(folder.glob(f'cases/*/{PLAN}')) if own else ():
            plan, records = plan_in(file), records_in(str(file.parent))
            result = judge_case(plan, records, Criteria(of_contract=True))
            forged = verified(plan, file.parent).contradictions
            for each in own:
                found[each.written.id].append(_attempt(each, name, records, result, forged))
    return found


def _attempt(
    criterion: Criterion, session: str, records: Records, result: CaseResult, forged: Sequence[str]
) -> Attempt:
    one = next((each for each in result.metrics if each.metric == criterion.metric_name), None)
    why_not = 'it is not of this contract' if one is None else _why_not(criterion, one, result, forged)
    hosts = {host for sample in records.samples if sample.measurement for host in sample.measurement.hosts}
    caches = criterion.procedure is not None and criterion.procedure.caches
    return Attempt(
        session=session,
        began=began(session),
        nodes=tuple(sorted(hosts)),
        values=one.values if one else (),
        engine=f'{result.engine} {result.version}'.strip(),
        why_not=why_not,
        failed=result.verdict is Verdict.FAIL,
        clock_error=one.clock_error if one else 0.0,
        correlation=result.correlation,
        caveat=one.not_storage if one and caches else '',
        chain=judge_session(session, '', [result]).chain,
    )


def _why_not(criterion: Criterion, one: MetricResult, result: CaseResult, forged: Sequence[str]) -> str:
    if forged:
        return f'its raw output contradicts its figures: {forged[0]}'
    if result.verdict is Verdict.FAIL or one.verdict is Verdict.INCOMPLETE:
        return result.reasons[0] if result.reasons else one.why
    if one.verdict is Verdict.INVALID:
        return one.why
    if one.not_storage and criterion.procedure and not criterion.procedure.caches:
        return one.not_storage
    needed = max(MIN_SAMPLES, criterion.asked.best_of)
    if len(one.values) < needed:
        return f'{counted(len(one.values), "valid repetition")}, and {needed} are needed'
    return ''


def remarks_in(site: Site) -> list[Remark]:
    """What people have said, in their order. Raises UsageError for a file that was damaged."""
    file = Path(site.state) / FOLDER / REMARKS
    try:
        lines = file.read_text(encoding='utf-8').splitlines()
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            said: Any = json.loads(line)
            at = datetime.fromisoformat(said['at'])
            found.append(Remark(str(said['criterion']), said['waives'] is True, str(said['text']), said['by'], at))
        except (ValueError, KeyError, TypeError):
            raise click.UsageError(f'{file}: line {number} is no remark; restore the file from a backup') from None
    return found


def add_remark(site: Site, criterion: str, waives: bool, text: str, by: str) -> None:
    """Append what somebody says, with the time; nothing is ever taken out. Raises OSError."""
    folder = Path(site.state) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.now(timezone.utc).isoformat(timespec='seconds')
    line = json.dumps({'criterion': criterion, 'waives': waives, 'text': text, 'by': by, 'at': at})
    with (folder / REMARKS).open('a', encoding='utf-8') as stream:
        stream.write(line + '\n')
        stream.flush()
        os.fsync(stream.fileno())
