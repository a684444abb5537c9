"""An acceptance for programs: results.json in the form of results.schema.json; and a summary in Markdown."""

import json
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from seatrial.judge.criteria import VERDICTS
from seatrial.report.acceptance.protocol import Protocol, ProtocolRow, Remark, counts
from seatrial.report.session.summary import escaped

SCHEMA = 1  # the form of results.json: a reader refuses another one; no field is ever given another meaning


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid')


class AllocationJson(_Strict):
    """One session in which a criterion was measured."""

    session: str
    began: datetime
    nodes: list[str]
    engine: str = Field(description='With its version.')
    figure: float | None = Field(
        description='By the statistic, in the unit of the criterion; null if it does not count.'
    )
    why_not: str = Field(description='Why it does not count, or can only miss the criterion; else empty.')
    chain: str = Field(
        description='SHA-256 with which the chain of its records ends; `seatrial verify` prints it too.'
    )


class CriterionJson(_Strict):
    """One criterion of the contract."""

    id: str
    text: str
    milestone: str
    verdict: str = Field(json_schema_extra={'enum': list(VERDICTS)})
    wanted: str = Field(description='As the contract has it.')
    bound: float | None = Field(
        description='In the unit; of a percentage what it comes to, null while it is not known.'
    )
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
