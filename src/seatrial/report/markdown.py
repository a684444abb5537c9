"""A short summary in Markdown, for a merge request, a ticket or a mail."""

import re
from collections.abc import Sequence

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult
from seatrial.report import words
from seatrial.report.evidence import SessionEvidence
from seatrial.report.lanes import OPERATIONS, believed

REASONS_SHOWN = 3
_SPECIAL = re.compile(r'([\\`*_<>\[\]|~&#])')


def markdown(evidence: SessionEvidence) -> str:
    """The summary of a session; what comes from elsewhere is escaped."""
    result = evidence.result
    engines = ', '.join(f'{name} ({cases})' for name, cases in words.engines(result))
    over = ''.join(f'; passed over: {reason}' for reason in words.passed_over(result))
    lines = [
        f'# {result.verdict.value}',
        '',
        words.verdict_sentence(result),
        '',
        *(f'**Note:** {_escaped(notice)}\n' for notice in evidence.notices),
        f'- Site {_escaped(evidence.site)}, session {_escaped(result.session)}, {evidence.began:%Y-%m-%d %H:%M} UTC',
        f'- Profile {_escaped(evidence.label)}',
        f'- Measured with {_escaped(engines + over)}',
        f'- On {_escaped(words.listed(words.machines(evidence)) or "no machine: no job began")}',
        f'- {words.counts(result)}; judged by Seatrial {_escaped(evidence.seatrial)}',
        '',
        '| verdict | case | read MiB/s | write MiB/s |',
        '|---|---|---:|---:|',
        *(_row(case) for case in result.cases),
        '',
        *_reasons(result),
        *_held_against(result),
    ]
    return '\n'.join(lines).rstrip() + '\n'


def _row(case: CaseResult) -> str:
    ranges = ' | '.join(_range(believed(case, operation)) for operation in OPERATIONS)
    return f'| {case.verdict.value} | {_escaped(case.case.name)} | {ranges} |'


def _range(means: Sequence[float]) -> str:
    low, high = (words.figure(min(means)), words.figure(max(means))) if means else ('-', '-')
    return low if low == high else f'{low} to {high}'


def _reasons(result: SessionResult) -> list[str]:
    lines = []
    for case in result.cases:
        for reason in case.reasons[:REASONS_SHOWN]:
            lines.append(f'- {_escaped(case.case.check)}: {_escaped(reason)}')
        more = len(case.reasons) - REASONS_SHOWN
        if more > 0:
            lines.append(f'- {_escaped(case.case.check)}: and {more} more')
    return [*lines, ''] if lines else []


def _held_against(result: SessionResult) -> list[str]:
    """What the site asked for, one by one; the rest as a count."""
    references = [each for case in result.cases for each in case.references]
    every = [*(each for case in result.cases for each in case.expectations), *result.relations]
    lines = [
        f'- criterion {_escaped(each.id)}: {_escaped(each.relation.sentence)}' for each in every if each.enforced
    ]
    if references:
        found = [each.interval for each in references]
        lines.append('- references: ' + ', '.join(f'{found.count(word)} {word}' for word in dict.fromkeys(found)))
    context = [each.relation.verdict for each in every if not each.enforced]
    if context and not any(case.unjudged for case in result.cases):
        lines.append(
            f'- context, which decides nothing: of what the literature found, {context.count(HOLDS)} hold here, '
            f'{context.count(FAILS)} do not, {context.count(UNDECIDED)} cannot be told'
        )
    return lines


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r'\\\1', ' '.join(words.clean(text).split()))
