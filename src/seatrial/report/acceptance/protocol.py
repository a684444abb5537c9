"""The protocol of an acceptance, which the parties of a contract sign: one HTML file that prints on A4; the first
page of its bundle; for programs results.json, in the form of results.schema.json; and a summary in Markdown."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from seatrial.judge.caveats import ranged
from seatrial.judge.criteria import UNDECIDED, VERDICTS, Attempt, Criterion, CriterionOutcome
from seatrial.judge.references import MAX_DIGITS, in_digits
from seatrial.judge.statistics import CONFIDENCE
from seatrial.judge.verdict import Verdict
from seatrial.model.units import BINARY, DECIMAL, quantity
from seatrial.report.session.page import jinja
from seatrial.report.session.summary import escaped

SCHEMA = 1  # the form of results.json: a reader refuses another one; no field is ever given another meaning
MIN_DIGITS = 3
MANY = 9.0  # a margin of ten times the bound is shown in times, because so many per cent are hard to read


@dataclass(frozen=True)
class Remark:
    """A person's remark on a criterion; a waiver changes no verdict."""

    waives: bool
    text: str
    by: str
    at: datetime


@dataclass(frozen=True)
class ProtocolRow:
    criterion: Criterion
    outcome: CriterionOutcome
    unit: str  # the unit of the figures that are shown
    base: str  # its base unit
    setup: Sequence[tuple[str, str]] = ()  # how it is measured, in pairs of a word and a value
    attempts: Sequence[Attempt] = ()  # all of them, oldest first
    remarks: Sequence[Remark] = ()

    @property
    def verdict(self) -> Verdict:
        return VERDICTS[self.outcome.verdict]

    @property
    def waived(self) -> bool:
        return any(remark.waives for remark in self.remarks)

    @property
    def bound(self) -> float | None:
        """The bound in the base unit; None if it is a percentage of an unknown figure."""
        return self.outcome.bound if self.criterion.of else self.criterion.bound

    @property
    def wanted_in_full(self) -> str:
        """The bound as it was written, and converted to the other system of units, or from the percentage."""
        wanted, bound = self.criterion.wanted, self.bound
        if self.criterion.of:
            return f'{wanted}, which is {self.shown(bound)}' if bound is not None else wanted
        other = BINARY if 'iB' not in self.unit else DECIMAL
        return f'{wanted} ({quantity(self.criterion.bound, self.base, other)})' if self.base == 'B/s' else wanted

    @property
    def allocations(self) -> str:
        """'2 of 3' valid; '4 (3 needed)'; 'observed' for a criterion that no check measures."""
        if self.criterion.observed:
            return 'observed'
        valid, needed = len(self.outcome.counted), self.criterion.allocations
        return f'{valid} of {needed}' if valid <= needed else f'{valid} ({needed} needed)'

    @property
    def measured(self) -> str:
        return self.shown(self.outcome.figure)

    @property
    def margin(self) -> str:
        """'+3.1 %': positive is on the right side of the bound; '21 times' it from ten on. A dash if undecided."""
        outcome = self.outcome
        if outcome.margin is None or outcome.verdict == UNDECIDED:
            return '\u2013'
        decimals = int(abs(outcome.margin) < 0.9995)
        if outcome.margin >= MANY:
            return f'{1 + outcome.margin:.3g} times'
        return f'{100 * outcome.margin:+.{decimals}f} %'

    @property
    def interval(self) -> str:
        """The interval, cut at 0, which a few scattered figures cross; or a dash. Its confidence only if unusual."""
        low, high, confidence = self.outcome.low, self.outcome.high, self.outcome.confidence
        if low is None or high is None:
            return '\u2013'
        other = f' ({100 * confidence:.3g} %)' if confidence != CONFIDENCE else ''
        return f'{self.shown(max(0.0, low))} to {self.shown(high)}{other}'

    def shown(self, value: float | None) -> str:
        """The value in the unit of the contract, with enough digits to distinguish a figure from the bound."""
        if value is None or not math.isfinite(value):
            return '\u2013'
        bound = self.outcome.bound or self.criterion.bound
        for digits in range(MIN_DIGITS, MAX_DIGITS + 1):
            text = in_digits(value, self.unit, digits)
            if value == bound or text != in_digits(bound, self.unit, digits):
                break
        return f'{text} {self.unit}'.strip()

    def figure_of(self, attempt: Attempt) -> str:
        """The figure of an allocation that decides; a dash for others."""
        counted = dict(zip(self.outcome.counted, self.outcome.figures, strict=True))
        return self.shown(counted.get(attempt))

    def standing(self, attempt: Attempt) -> str:
        """The reason why an allocation does not decide, or can only miss the criterion; empty if it decides."""
        if attempt in self.outcome.counted:
            return attempt.unproved
        return attempt.why_not or attempt.unproved or 'valid, but by its rule the contract counts other allocations'


@dataclass(frozen=True)
class Protocol:
    title: str
    date: str
    parties: Mapping[str, str]  # names by role
    rule: str  # the words for which allocations count
    site: str
    seatrial: str
    made: datetime
    verdict: Verdict  # the verdict of all criteria together
    rows: Sequence[ProtocolRow]
    milestones: Mapping[str, str]

    @property
    def caveats(self) -> list[tuple[str, list[str]]]:
        """The caveats of the figures that decide, each with its criteria; that of the most criteria first. Caveats
        that differ only in figures, such as seconds, become one, with the range."""
        counted = [(row.criterion.id, attempt.caveat) for row in self.rows for attempt in row.outcome.counted]
        pairs = [(criterion, caveat) for criterion, caveat in counted if caveat]
        return sorted(ranged(pairs).items(), key=lambda item: -len(item[1]))


def counts(rows: Sequence[ProtocolRow]) -> str:
    """'2 met, 1 missed (1 waived), 1 undecided'."""
    parts = []
    for word in VERDICTS:
        alike = [row for row in rows if row.outcome.verdict == word]
        waived = sum(row.waived for row in alike)
        parts += [f'{len(alike)} {word}{f" ({waived} waived)" if waived else ""}'] if alike else []
    return ', '.join(parts)


def protocol(what: Protocol) -> str:
    """The page as HTML; all text in it is escaped."""
    template = jinja().get_template('protocol.html')
    return template.render(protocol=what, counts=counts, confidence=f'{100 * CONFIDENCE:g}')


def front(protocol: Protocol, sessions: Sequence[Mapping[str, Any]], files: Mapping[str, str], page: str) -> str:
    """The first page of a bundle. files: descriptions of the other files; page: path of the protocol; sessions: name,
    begin, verdict with reason, measurements, state of the system, criteria, and path of the report, or empty"""
    template = jinja().get_template('bundle.html')
    return template.render(protocol=protocol, counts=counts, sessions=sessions, files=files, page=page)


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid')


class AllocationJson(_Strict):
    """One session in which a criterion was measured."""

    session: str
    began: datetime
    nodes: list[str]
    engine: str = Field(description='With its version.')
    figure: float | None = Field(description="By the statistic, in the criterion's unit; null if it does not count.")
    why_not: str = Field(description='Why it does not count, or can only miss the criterion; else empty.')
    chain: str = Field(description='SHA-256 that ends the chain of its records; `seatrial verify` prints it too.')


class CriterionJson(_Strict):
    """One criterion of the contract."""

    id: str
    text: str
    milestone: str
    verdict: str = Field(json_schema_extra={'enum': list(VERDICTS)})
    wanted: str = Field(description='As the contract has it.')
    bound: float | None = Field(description='In the unit; of a percentage what it comes to; null while unknown.')
    unit: str = Field(description='A base unit: B/s, op/s or s; empty for a ratio or a count.')
    statistic: str
    allocations_needed: int
    figure: float | None = Field(description='Of all allocations that count.')
    low: float | None = Field(description='Of the interval: 90 %, and more with each allocation that is not planned.')
    high: float | None
    margin: float | None = Field(description='As a fraction of the bound; above 0 on the right side of it.')
    further: int | None = Field(description='How many more allocations would decide at the noise seen.')
    why: str = Field(description='What is missing, or empty.')
    setup: dict[str, str] = Field(description='How it is measured.')
    allocations: list[AllocationJson]
    remarks: list[Remark]


class Results(_Strict):
    """The results of all allocations of an acceptance: results.json of a bundle."""

    schema_: int = Field(alias='schema', json_schema_extra={'const': SCHEMA})
    seatrial: str = Field(description='Version that judged.')
    site: str
    made: datetime
    title: str
    date: str
    parties: dict[str, str]
    milestones: dict[str, str]
    counts: str = Field(description='Which allocations decide.')
    verdict: str = Field(json_schema_extra={'enum': [verdict.value for verdict in VERDICTS.values()]})
    criteria: list[CriterionJson]


def results(page: Protocol) -> str:
    """The text of results.json: the contents of the protocol, in base units."""
    document = Results(
        **_same(page, 'seatrial', 'site', 'made', 'title', 'date', 'parties', 'milestones'),
        schema=SCHEMA,
        counts=page.rule,
        verdict=page.verdict.value,
        criteria=[_criterion(row) for row in page.rows],
    )
    return document.model_dump_json(indent=1, by_alias=True) + '\n'


def results_schema() -> str:
    return json.dumps(Results.model_json_schema(), indent=1) + '\n'


def summary(page: Protocol) -> str:
    """The criteria in Markdown; foreign text is escaped."""
    lines = [
        f'# {page.verdict.value}: {escaped(page.title)}',
        '',
        f'{counts(page.rows)}. Contract of {escaped(page.date)}, site {escaped(page.site)}, judged '
        f'{page.made:%Y-%m-%d %H:%M} UTC by Seatrial {escaped(page.seatrial)}.',
        '',
        '| verdict | criterion | wanted | measured | 90 % interval | margin | allocations | why |',
        '|---|---|---|---:|---:|---:|---:|---|',
    ]
    for row in page.rows:
        criterion, why = row.criterion, row.outcome.why
        cells = (criterion.id, criterion.wanted, row.measured, row.interval, row.margin, row.allocations, why)
        verdict = f'{row.verdict.value}{" (waived)" if row.waived else ""}'
        lines.append(f'| {" | ".join([verdict, *map(escaped, cells)])} |')
    return '\n'.join(lines) + '\n'


def _criterion(row: ProtocolRow) -> CriterionJson:
    criterion, outcome = row.criterion, row.outcome
    counted = dict(zip(outcome.counted, outcome.figures, strict=True))
    return CriterionJson(
        **_same(criterion, 'id', 'text', 'milestone', 'wanted'),
        **_same(outcome, 'verdict', 'figure', 'low', 'high', 'margin', 'further', 'why'),
        bound=row.bound,
        unit=row.base,
        statistic=f'best of {criterion.best_of}' if criterion.best_of else criterion.statistic,
        allocations_needed=criterion.allocations,
        setup=dict(row.setup),
        allocations=[
            AllocationJson(
                **_same(attempt, 'session', 'began', 'nodes', 'engine', 'chain'),
                figure=counted.get(attempt),
                why_not=row.standing(attempt),
            )
            for attempt in row.attempts
        ],
        remarks=list(row.remarks),
    )


def _same(source: object, *names: str) -> dict[str, Any]:
    """The fields that have the same name and value here as there."""
    return {name: getattr(source, name) for name in names}
