"""The protocol of an acceptance: what the parties of a contract sign. One HTML file that prints on A4.

And the first page of a bundle, with how its criteria stand, the sessions that measured them, and where all lies.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seatrial.judge.caveats import ranged
from seatrial.judge.criteria import UNDECIDED, VERDICTS, Attempt, Criterion, CriterionOutcome
from seatrial.judge.statistics import CONFIDENCE
from seatrial.judge.verdict import Verdict
from seatrial.model.units import BINARY, DECIMAL, in_unit, quantity
from seatrial.report.session.page import jinja

DIGITS, MOST_DIGITS = 4, 12
MANY = 9.0
"""A margin of ten times the bound: per cent of that are hard to read."""


@dataclass(frozen=True)
class Remark:
    """What somebody has said; a waiver changes no verdict."""

    waives: bool
    text: str
    by: str
    at: datetime


@dataclass(frozen=True)
class ProtocolRow:
    """One criterion of the contract, and what became of it. unit: in which figures are shown; base: its base unit"""

    criterion: Criterion
    outcome: CriterionOutcome
    unit: str
    base: str
    setup: Sequence[tuple[str, str]] = ()  # how it is measured, in pairs of a word and a value
    attempts: Sequence[Attempt] = ()  # all of them, oldest first
    remarks: Sequence[Remark] = ()

    @property
    def verdict(self) -> Verdict:
        """Of the criterion alone; a waiver changes nothing."""
        return VERDICTS[self.outcome.verdict]

    @property
    def waived(self) -> bool:
        """Whether the customer does without it."""
        return any(each.waives for each in self.remarks)

    @property
    def bound(self) -> float | None:
        """In the base unit; None of a percentage of what is not known."""
        return self.outcome.bound if self.criterion.of else self.criterion.bound

    @property
    def wanted_in_full(self) -> str:
        """The bound as it was written, and what it comes to in the other system of units or of the percentage."""
        wanted, bound = self.criterion.wanted, self.bound
        if self.criterion.of:
            return f'{wanted}, which is {self.shown(bound)}' if bound is not None else wanted
        other = BINARY if 'iB' not in self.unit else DECIMAL
        return f'{wanted} ({quantity(self.criterion.bound, self.base, other)})' if self.base == 'B/s' else wanted

    @property
    def allocations(self) -> str:
        """'2 of 3' valid; '4 (3 needed)'; 'observed' of what no check measures."""
        if self.criterion.observed:
            return 'observed'
        valid, needed = len(self.outcome.counted), self.criterion.allocations
        return f'{valid} of {needed}' if valid <= needed else f'{valid} ({needed} needed)'

    @property
    def measured(self) -> str:
        """'497.2 GB/s', or a dash."""
        return self.shown(self.outcome.figure)

    @property
    def margin(self) -> str:
        """'+3.1 %': above is on the right side of the bound; '21 times' the bound from ten on. A dash of what is
        undecided: however far a figure is from the bound, it decides nothing."""
        found = self.outcome
        if found.margin is None or found.verdict == UNDECIDED:
            return '\u2013'
        return f'{1 + found.margin:.3g} times' if found.margin >= MANY else f'{100 * found.margin:+.1f} %'

    @property
    def interval(self) -> str:
        """The interval of the figure, with its confidence if that is not the usual one; or a dash. No figure is below
        0, where the interval of a few that scatter can reach."""
        low, high, confidence = self.outcome.low, self.outcome.high, self.outcome.confidence
        if low is None or high is None:
            return '\u2013'
        other = f' ({100 * confidence:.3g} %)' if confidence != CONFIDENCE else ''
        return f'{self.shown(max(0.0, low))} to {self.shown(high)}{other}'

    def shown(self, value: float | None) -> str:
        """In the unit of the contract, with as many digits as it takes to tell a figure from the bound."""
        if value is None or not math.isfinite(value):
            return '\u2013'
        bound = self.outcome.bound or self.criterion.bound
        digits = DIGITS
        while digits < MOST_DIGITS and value != bound and self._text(value, digits) == self._text(bound, digits):
            digits += 1
        return f'{self._text(value, digits)} {self.unit}'.strip()

    def _text(self, value: float, digits: int) -> str:
        figure = in_unit(value, self.unit)
        return f'{figure:.0f}' if abs(figure) >= 10**digits else f'{figure:.{digits}g}'

    def figure_of(self, attempt: Attempt) -> str:
        """What an allocation gave that decides; a dash for another."""
        counted = dict(zip(self.outcome.counted, self.outcome.figures, strict=True))
        return self.shown(counted.get(attempt))

    def standing(self, attempt: Attempt) -> str:
        """Why an allocation does not decide, or can only miss the criterion; empty where it decides."""
        if attempt in self.outcome.counted:
            return attempt.unproved
        return attempt.why_not or attempt.unproved or 'valid, but by the rule of the contract another one counts'


@dataclass(frozen=True)
class Protocol:
    """The whole. verdict: of all criteria; rule: which allocations count, in words; parties: by role."""

    title: str
    date: str
    parties: Mapping[str, str]
    rule: str
    site: str
    seatrial: str
    made: datetime
    verdict: Verdict
    rows: Sequence[ProtocolRow]
    milestones: Mapping[str, str]

    @property
    def caveats(self) -> list[tuple[str, list[str]]]:
        """What must be read beside the figures that decide, with its criteria; that of the most criteria first. Those
        that differ in figures alone, such as seconds, are one, with their range."""
        counted = [(row.criterion.id, each.caveat) for row in self.rows for each in row.outcome.counted]
        said = [(criterion, caveat) for criterion, caveat in counted if caveat]
        return sorted(ranged(said).items(), key=lambda own: -len(own[1]))

    def counts(self) -> str:
        """'2 met, 1 missed (1 waived), 1 undecided'."""
        return counts(self.rows)


def counts(rows: Sequence[ProtocolRow]) -> str:
    """'2 met, 1 missed (1 waived), 1 undecided'."""
    said = []
    for word in VERDICTS:
        own = [each for each in rows if each.outcome.verdict == word]
        waived = sum(each.waived for each in own)
        said += [f'{len(own)} {word}{f" ({waived} waived)" if waived else ""}'] if own else []
    return ', '.join(said)


def protocol(what: Protocol) -> str:
    """The page. Every text in it is escaped, whatever it holds."""
    return jinja().get_template('protocol.html').render(protocol=what, confidence=f'{100 * CONFIDENCE:g}')


def front(protocol: Protocol, sessions: Sequence[Mapping[str, Any]], files: Mapping[str, str], page: str) -> str:
    """The first page of a bundle. files: what each of the others is; page: where the protocol lies. sessions: of each
    the session, when it began, its verdict and why, what it measured, the state of the system, the criteria that
    it is for, and its report, from the first page, or empty"""
    template = jinja().get_template('bundle.html')
    return template.render(protocol=protocol, sessions=sessions, files=files, page=page)
