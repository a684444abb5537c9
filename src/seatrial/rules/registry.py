"""The register of validity rules. docs/validity.md is generated from it, and every finding names one of its rows."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional

from seatrial.model.record import Finding

EFFECTS = {
    'refuse': 'nothing is run; the case is INCOMPLETE',
    'fail': 'the storage failed, in whatever launch; the case is FAIL',
    'invalid': 'the figure is not used; the case is INVALID',
    'incomplete': 'something that was planned is missing; the case is INCOMPLETE',
    'label': 'the figure stands, with this beside it; under the profile `acceptance` it is no valid result about '
    'storage',
    'never': 'cannot happen: what would break it is not asked for, or is refused before it runs; a test tries',
}
"""What breaking a rule does, and what that means."""

BEFORE, CASE, BY_DESIGN = 'before the run', 'over the case', 'by design'
LAUNCH, DATA_LAUNCH, WRITTEN, METADATA_LAUNCH = (
    'after each launch',
    'after each launch of data access',
    'after each write of data',
    'after each launch of metadata',
)


class Rule(NamedTuple):
    """One rule.

    when:   BEFORE (evidence: Environment), LAUNCH and its two sorts (Launched), WRITTEN (Written), CASE
            (CaseSeen), or BY_DESIGN (none)
    effect: of breaking it, one of EFFECTS
    check:  returns what was found as one sentence, or None if the rule holds; None where only an engine
            or the runner can see it, which then says so by `finding`
    remedy: what the reader can do
    source: where the rule comes from
    """

    id: str
    title: str
    when: str
    effect: str
    remedy: str
    source: str
    check: Optional[Callable[[Any], Optional[str]]]


RULES: Dict[str, Rule] = {}

Check = Callable[[Any], Optional[str]]


def rule(id: str, title: str, when: str, effect: str, remedy: str, source: str) -> Callable[[Check], Check]:
    """Register the decorated function as the check of a rule."""

    def register(check: Check) -> Check:
        _add(Rule(id, title, when, effect, remedy, source, check))
        return check

    return register


def seen_elsewhere(id: str, title: str, when: str, effect: str, remedy: str, source: str) -> None:
    """Register a rule whose breach only an engine or the runner can see."""
    _add(Rule(id, title, when, effect, remedy, source, None))


def findings(when: str, evidence: Any) -> List[Finding]:
    """What the rules of one moment find in the evidence, in the order of the register."""
    found = []
    for each in RULES.values():
        if each.when == when and each.check is not None:
            said = each.check(evidence)
            if said is not None:
                found.append(finding(each.id, said))
    return found


def finding(id: str, said: str, evidence: Optional[Dict[str, str]] = None) -> Finding:
    """A finding of a rule that was seen elsewhere (an engine, the lock), with the rule's effect and remedy."""
    return Finding(id, RULES[id].effect, f'{said}; {RULES[id].remedy}', evidence or {})


def _add(new: Rule) -> None:
    if new.id in RULES:
        raise ValueError(f'rule {new.id} is defined twice')
    RULES[new.id] = new
