"""The register of validity rules. validity.md is generated from it, and every finding names one of its rows."""

import importlib
import pkgutil
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from seatrial import rules
from seatrial.model.record import Finding

EFFECTS = {  # the effects of breaking a rule, with their meaning
    'refuse': 'nothing is run; the case is INCOMPLETE',
    'fail': 'the storage failed, in whatever launch; the case is FAIL',
    'invalid': 'the figure is not used; the case is INVALID',
    'incomplete': 'something that was planned is missing; the case is INCOMPLETE',
    'label': 'the figure stands, with this beside it; where a cache or too short a phase may explain it (P2, P16, '
    'P16a, T4), it decides no criterion of a contract or an acceptance',
    'never': 'cannot happen: what would break it is not asked for, or is refused before it runs; a test tries',
}

BEFORE, CASE, BY_DESIGN = 'before the run', 'over the case', 'by design'
LAUNCH, WRITTEN = 'after each launch', 'after each write of data'
DATA_LAUNCH, METADATA_LAUNCH = f'{LAUNCH} of data access', f'{LAUNCH} of metadata'


class Rule(NamedTuple):
    id: str
    title: str
    # evidence: BEFORE Environment, LAUNCH and its two sorts Launched, WRITTEN Written, CASE CaseSeen, BY_DESIGN none
    when: str
    effect: str  # what breaking it does, one of EFFECTS
    remedy: str
    source: str
    # the breach as one sentence, or (metric, sentence) for single metrics; None if the rule holds. Without a check an
    # engine or the runner reports the breach by `finding`
    check: 'Optional[Check]'


RULES: Dict[str, Rule] = {}

OfMetrics = List[Tuple[str, str]]
Check = Callable[[Any], Union[str, OfMetrics, None]]


def rule(when: str, effect: str, heading: str, remedy: str, source: str) -> Callable[[Check], Check]:
    """Register a rule, whose heading is its id and its title: 'E0: An engine is installed'. The result registers the
    check, as a decorator: without one other code sees the breach."""
    id, _, title = heading.partition(': ')
    if id in RULES:
        raise ValueError(f'rule {id} is defined twice')
    RULES[id] = Rule(id, title, when, effect, remedy, source, None)

    def checked_by(check: Check) -> Check:
        RULES[id] = RULES[id]._replace(check=check)
        return check

    return checked_by


def all_rules() -> Dict[str, Rule]:
    """The whole register, whichever modules of rules have been imported before."""
    for module in pkgutil.iter_modules(rules.__path__):
        importlib.import_module(f'seatrial.rules.{module.name}')
    return RULES


def findings(when: str, evidence: Any) -> List[Finding]:
    """The findings of the rules of one moment, in the order of the register."""
    checks = [(row.id, row.check) for row in RULES.values() if row.when == when and row.check is not None]
    breaches = []
    for id, check in checks:
        breach = check(evidence) or []
        of_metrics = [('', breach)] if isinstance(breach, str) else breach
        breaches += [finding(id, sentence)._replace(metric=metric) for metric, sentence in of_metrics]
    return breaches


def finding(id: str, sentence: str, evidence: Optional[Dict[str, str]] = None) -> Finding:
    """A finding of a rule that was seen elsewhere (an engine, the lock), with the rule's effect and remedy."""
    return Finding(id, RULES[id].effect, f'{sentence}; {RULES[id].remedy}', evidence or {})
