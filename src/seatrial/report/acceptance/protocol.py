"""The protocol of an acceptance, which the parties of a contract sign: one HTML file that prints on A4. Also the
first page of a bundle: the state of the criteria, the sessions that measured them, and links to all files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seatrial.judge.caveats import ranged
from seatrial.judge.criteria import UNDECIDED, VERDICTS, Attempt, Criterion, CriterionOutcome
from seatrial.judge.references import MAX_DIGITS, in_digits
from seatrial.judge.statistics import CONFIDENCE
from seatrial.judge.verdict import Verdict
from seatrial.model.units import BINARY, DECIMAL, quantity
from seatrial.report.session.page import jinja

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
        """'+3.1 %': positive is on the right side of the bound; '21 times' the bound from ten on. A dash if
        undecided: then the distance from the bound decides nothing."""
        outcome = self.outcome
        if outcome.margin is None or outcome.verdict == UNDECIDED:
            return '\u2013'
        decimals = int(abs(outcome.margin) < 0.9995)
        if outcome.margin >= MANY:
            return f'{1 + outcome.margin:.3g} times'
        return f'{100 * outcome.margin:+.{decimals}f} %'

    @property
    def interval(self) -> str:
        """The interval of the figure, or a dash; its confidence only if that is not the usual one. Cut at 0, which
        the interval of a few scattered figures can cross."""
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
