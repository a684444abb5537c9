"""The texts beside the page: a short summary in Markdown, for a merge request, a ticket or a mail; and the commands
of every measured point as they ran, which can be run again."""

import re
import shlex
from collections.abc import Iterable, Sequence

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.session import SessionResult
from seatrial.model.record import Sample
from seatrial.report import words
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.figures import brief
from seatrial.report.headline import headline_of
from seatrial.report.session.layouts import recommendations
from seatrial.report.session.overview import Overview, overviews
from seatrial.report.session.ratios import cached, contentions

MAX_REASONS = 3
_SPECIAL = re.compile(r'([\\`*_<>\[\]|~&#])')


def markdown(evidence: SessionEvidence) -> str:
    """The summary of a session; foreign text is escaped."""
    result = evidence.result
    engines = ', '.join(f'{name} ({cases})' for name, cases in words.engines(result))
    skipped = ''.join(f'; skipped: {reason}' for reason in words.skipped(result))
    machines = [words.machines(evidence), *words.kernels(evidence)]
    left_out = [('; '.join(words.by_environment(names)), why) for why, names in evidence.not_applicable.items()]
    verified = [(case.case.check, case.verified) for case in result.cases if case.verified]
    lines = [
        f'# {result.verdict.value}',
        '',
        words.verdict_sentence(result),
        '',
        *(f'{escaped(place)}\n' for place in words.slow_places(result)),
        *(f'**Note:** {escaped(notice)}\n' for notice in (*evidence.notices, *result.left_out)),
        *_headline(evidence),
        f'- Site {escaped(evidence.site)}, session {escaped(result.session)}, {evidence.began:%Y-%m-%d %H:%M} UTC',
        f'- Profile {escaped(evidence.label)}',
        f'- Measured with {escaped(engines + skipped)}',
        f'- On {escaped(", ".join(machines) if machines[0] else "no machine: no job began")}',
        *(f'- Not applicable: {escaped(f"{names}: {why}")}' for names, why in left_out),
        f'- {words.counts(result)}; judged by Seatrial {escaped(evidence.seatrial)}',
        f'- {words.chain_words(result.chain)}',
        '',
        *(line for overview in overviews(evidence.cases, evidence.units) for line in _table(overview)),
        *_listed(line for case in evidence.cases for line in _metadata(case)),
        *_listed(f'- {escaped(f"{check}: contents {text}")}' for check, text in verified),
        *_listed(
            f'- {escaped(recommended["case"].name)}: {escaped(choice["sentence"])}'
            for recommended in recommendations(evidence.cases, evidence.units)
            for choice in recommended['choices']
            if not recommended['unjudged']
        ),
        *_listed(
            f'- {escaped(case.case.check)}: {escaped(reason)}'
            for case in result.worst_first
            for reason in words.cut(case.reasons, MAX_REASONS)
        ),
        *_criteria(result),
    ]
    return '\n'.join(lines).rstrip() + '\n'


def _headline(evidence: SessionEvidence) -> list[str]:
    lines = []
    for line in headline_of(evidence.result):
        where, changes = line.where(evidence.tasks), line.changes(evidence.before) or '-'
        row = map(escaped, (line.figure.words, line.words(evidence.units), where, changes))
        lines.append(f'| {" | ".join(row)} |')
    return _listed(['| figure | value | where | change |', '|---|---:|---|---|', *lines]) if lines else []


def _table(overview: Overview) -> list[str]:
    heads = [f'{role.name} {role.unit.name}'.rstrip() for role in overview.roles]
    lines = [f'| {" | ".join(["verdict", "case", *heads])} |', f'|---|---|{"---:|" * len(heads)}']
    for result in (case.result for case in overview.cases):
        figures = [f'{role.range(result) or "-"} {role.cache(result)}'.rstrip() for role in overview.roles]
        figures = [words.held(result.facts)] if result.facts else figures
        lines.append(f'| {" | ".join([result.verdict.value, escaped(result.case.name), *figures])} |')
    return [*lines, '']


def _metadata(case: CaseEvidence) -> list[str]:
    """The main ratios and facts of a metadata check, a line each."""
    lines = []
    for pair in contentions(case.plan, case.result):
        ratios = ', '.join(f'{name} {ratio.words}' for name, ratio in pair.ratios.items() if ratio.estimate)
        lines += [f'{pair.over} / {pair.under}: {ratios}'] * bool(ratios)
    for point in case.plan.points:
        if listing := cached(case.plan, case.result, point.label):
            times = f'{listing.faster.words} times as fast' if listing.faster.estimate else 'not compared'
            lines.append(f'listing again, {brief(listing.fourth_s)}: {times}. {listing.kept}')
    if words.not_held(case.result.facts):
        lines.append(f'{words.held(case.result.facts)} guarantees hold{words.not_held(case.result.facts)}')
    return [f'- {escaped(case.plan.case.name)}: {escaped(line)}' for line in lines]


def _criteria(result: SessionResult) -> list[str]:
    """A line for each criterion of the site; counts of references and of other expectations."""
    references = [reference for case in result.cases for reference in case.references]
    relations = [*(expectation for case in result.cases for expectation in case.expectations), *result.relations]
    lines = [f'- criterion {escaped(one.id)}: {escaped(one.relation.sentence)}' for one in relations if one.enforced]
    if references:
        intervals = [reference.interval for reference in references]
        counts = ', '.join(f'{intervals.count(word)} {word}' for word in dict.fromkeys(intervals))
        lines.append(f'- references: {counts}{result.chance and f"; {result.chance}"}')
    context = [expectation.relation.verdict for expectation in relations if not expectation.enforced]
    if context and not any(case.unjudged for case in result.cases):
        lines.append(
            f'- context, which decides no verdict: what the literature found, here: holds {context.count(HOLDS)}, '
            f'fails {context.count(FAILS)}, undecided {context.count(UNDECIDED)}'
        )
    return lines


def _listed(lines: Iterable[str]) -> list[str]:
    """The lines of a list, followed by an empty one if there are any."""
    shown = list(lines)
    return [*shown, ''] if shown else []


def escaped(text: str) -> str:
    """The text on one line, with Markdown's special characters escaped."""
    return _SPECIAL.sub(r'\\\1', ' '.join(words.clean(text).split()))


def commands(cases: Sequence[CaseEvidence], system: str) -> str:
    """commands.txt: the launches of one repetition of each point, with directory, environment and figures."""
    lines = []
    for case in cases:
        for point in case.plan.points:
            launches = case.launches.get(point.label, ())
            lines += [f'#### {case.plan.case.name}: {words.point_words(case.plan.axis, point)}'] if launches else []
            for sample in launches:
                lines += [
                    f'# {_launch_words(sample, system)}',
                    f'cd {shlex.quote(sample.directory)}',
                    *(f'export {shlex.quote(setting)}' for setting in sample.environment),
                    *sample.command,
                    '',
                ]
    return words.clean('\n'.join(lines))


def _launch_words(sample: Sample, system: str) -> str:
    """'write@2MiB; it gave 512 MiB/s', in one line."""
    if sample.stage == 'prepare':
        return 'prepare what is read or listed'
    metrics = sample.measurement.metrics if sample.measurement else ()
    figures = [f'{f"{one.name} " if len(metrics) > 1 else ""}{brief(one.value, one.unit, system)}' for one in metrics]
    return f'{sample.launch}{"; it gave " if figures else ""}{", ".join(figures)}'.replace('\n', ' ')
