"""What a session had to meet, for the first page of its report: what is not met first, then by the margin."""

import math
from dataclasses import dataclass

from seatrial.judge.criteria import MET, MISSED, UNDECIDED
from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.references import INSIDE, OUTSIDE, ReferenceResult
from seatrial.judge.relations import FAILS, HOLDS
from seatrial.judge.session import SessionResult
from seatrial.model.plan import Case
from seatrial.report import words
from seatrial.report.figures import Unit

_ORDER = (MISSED, UNDECIDED, MET)
_MARKS = {MET: HOLDS, MISSED: FAILS}


@dataclass(frozen=True)
class CriterionRow:
    """A reference or an enforced expectation. case: that it is of; None of one between checks.

    word:   met, missed or undecided; wanted, measured: in the reference's own unit, empty where there is none
    margin: how far the figure is on the right side of its bound, as a share of that; None of what is undecided
    """

    what: str
    case: Case | None
    word: str
    wanted: str = ''
    measured: str = ''
    margin: float | None = None

    @property
    def relation(self) -> str:
        """The word of a relation that came to the same, which has a mark."""
        return _MARKS.get(self.word, UNDECIDED)


def criteria(session: SessionResult) -> list[CriterionRow]:
    """Of all cases and between them."""
    found = [_reference(case.case, each) for case in session.cases for each in case.references]
    enforced = [(case.case, each) for case in session.cases for each in case.expectations if each.enforced]
    found += [_expectation(case, each) for case, each in enforced]
    found += [_expectation(None, each) for each in session.relations if each.enforced]
    return sorted(found, key=lambda own: (_ORDER.index(own.word), math.inf if own.margin is None else own.margin))


def _reference(case: Case, reference: ReferenceResult) -> CriterionRow:
    unit = Unit(reference.unit)
    word = {INSIDE: MET, OUTSIDE: MISSED}.get(reference.interval, UNDECIDED)
    return CriterionRow(
        what=reference.metric,
        case=case,
        word=word,
        wanted=words.bounds(reference, unit),
        measured='' if reference.found is None else unit.words(reference.found),
        # Of reads from a cache it would be a startling one, beside a figure that decides nothing.
        margin=None if word == UNDECIDED else reference.margin,
    )


def _expectation(case: Case | None, each: ExpectationResult) -> CriterionRow:
    return CriterionRow(each.words, case, {HOLDS: MET, FAILS: MISSED}.get(each.relation.verdict, UNDECIDED))
