"""A short summary in Markdown, for a merge request, a ticket or a mail."""

import re
from collections.abc import Sequence

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult
from seatrial.report import words
from seatrial.report.contrast import cached, contentions
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.lanes import ROLES, believed, in_role, unit_of
from seatrial.report.layouts import recommendations

REASONS_SHOWN = 3
_SPECIAL = re.compile(r'([\\`*_<>\[\]|~&#])')


def markdown(evidence: SessionEvidence) -> str:
    """The summary of a session; what comes from elsewhere is escaped."""
    result = evidence.result
    engines = ', '.join(f'{name} ({cases})' for name, cases in words.engines(result))
    over = ''.join(f'; passed over: {reason}' for reason in words.passed_over(result))
    machines = [words.machines(evidence), *words.kernels(evidence)]
    left_out = [('; '.join(words.by_place(names)), why) for why, names in evidence.not_applicable.items()]
    lines = [
        f'# {result.verdict.value}',
        '',
        words.verdict_sentence(result),
        '',
        *(f'**Note:** {_escaped(notice)}\n' for notice in (*evidence.notices, *result.left_out)),
        f'- Site {_escaped(evidence.site)}, session {_escaped(result.session)}, {evidence.began:%Y-%m-%d %H:%M} UTC',
        f'- Profile {_escaped(evidence.label)}',
        f'- Measured with {_escaped(engines + over)}',
        f'- On {_escaped(", ".join(machines) if machines[0] else "no machine: no job began")}',
        *(f'- Not applicable: {_escaped(f"{names}: {why}")}' for names, why in left_out),
        f'- {words.counts(result)}; judged by Seatrial {_escaped(evidence.seatrial)}',
        '',
        *_tables(result.cases),
        *_metadata(evidence.cases),
        *_layouts(evidence.cases),
        *_reasons(result),
        *_held_against(result),
    ]
    return '\n'.join(lines).rstrip() + '\n'


def _tables(cases: Sequence[CaseResult]) -> list[str]:
    """A table a unit, of what the cases of one can be compared by."""
    lines = []
    for unit in ROLES:
        own = [case for case in cases if unit_of(case) == unit]
        if own:
            roles = [role for role in ROLES[unit] if any(in_role(case, role) for case in own)]
            heads = ' | '.join(f'{role} {unit}' if unit != 'facts' else 'promises of POSIX' for role in roles)
            lines += [f'| verdict | case | {heads} |', f'|---|---|{"---:|" * len(roles)}']
            lines += [*(_row(case, roles) for case in own), '']
    return lines


def _row(case: CaseResult, roles: Sequence[str]) -> str:
    figures = [_range(believed(case, role)) for role in roles]
    if case.facts:
        figures = [words.held(case.facts)]
    return f'| {case.verdict.value} | {_escaped(case.case.name)} | {" | ".join(figures)} |'


def _metadata(cases: Sequence[CaseEvidence]) -> list[str]:
    """The ratios and facts that a metadata check is made for, a line each."""
    lines = []
    for case in cases:
        said = []
        for pair in contentions(case.plan, case.result):
            ratios = ', '.join(f'{name} {words.ratio(each)}' for name, each in pair.ratios.items() if each.estimate)
            said += [f'{pair.over} / {pair.under}: {ratios}'] * bool(ratios)
        for point in case.plan.points:
            found = cached(case.plan, case.result, point.label)
            if found:
                times = f'{words.ratio(found.faster)} times as fast' if found.faster.estimate else 'not compared'
                said.append(f'listing again, {words.brief(found.warm_s)}: {times}. {found.kept}')
        if words.not_held(case.result.facts):
            said.append(f'{words.held(case.result.facts)} promises hold{words.not_held(case.result.facts)}')
        lines += [f'- {_escaped(case.plan.case.name)}: {_escaped(each)}' for each in said]
    return [*lines, ''] if lines else []


def _layouts(cases: Sequence[CaseEvidence]) -> list[str]:
    """Which layout is best for what, a line each; nothing where nothing is judged."""
    lines = [
        f'- {_escaped(each.case.name)}: {_escaped(choice.sentence)}'
        for each in recommendations(cases)
        for choice in each.choices
        if not each.unjudged
    ]
    return [*lines, ''] if lines else []


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
