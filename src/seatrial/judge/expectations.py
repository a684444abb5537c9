"""What the literature found of a curve, declared by a check and judged on this system's figures."""

from dataclasses import dataclass

from seatrial.judge.relations import Relation


@dataclass(frozen=True)
class ExpectationResult:
    """One expectation and what became of it here.

    id:       of the source's own test, 'L09-01'
    words:    what the source found, as a sentence
    source:   where it is to be read
    subject:  what it was judged on: 'read over transfer sizes', or two checks
    relation: the verdict word (holds, fails, undecided), the estimate, its interval and one sentence
    enforced: whether the site has made it a criterion; else it is context and decides nothing
    """

    id: str
    words: str
    source: str
    subject: str
    relation: Relation
    enforced: bool = False
