"""The register, and the page that is made from it."""

import subprocess
import sys

import pytest

from seatrial.rules import before, case, contents, issued, launch  # noqa: F401  (they register their rules)
from seatrial.rules.registry import RULES, rule


def test_a_rule_is_defined_once():
    with pytest.raises(ValueError, match='twice'):
        rule(next(iter(RULES)), 't', 'w', 'label', 'm', 's')(lambda evidence: None)


def test_the_page_of_the_rules_is_up_to_date(repository):
    argv = [sys.executable, str(repository / 'docs' / 'generate_validity.py')]
    made = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert made == (repository / 'docs' / 'validity.md').read_text(), (
        'python docs/generate_validity.py > docs/validity.md'
    )


@pytest.mark.parametrize(
    'id',
    [
        *('T3', 'T4', 'T4a', 'T5', 'T12', 'T14', 'T15', 'T17', 'T17a', 'T18', 'T19', 'T19a', 'T20', 'T20a'),
        *('P1', 'P2', 'P4', 'P6', 'P9', 'P11', 'P16', 'P18'),
    ],
)
def test_every_rule_says_what_must_hold_its_remedy_and_its_source(id):
    assert all([RULES[id].title, RULES[id].remedy, RULES[id].source, RULES[id].check])
    assert RULES[id].effect in ('refuse', 'invalid', 'incomplete', 'label')
