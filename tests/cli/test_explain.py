"""`seatrial explain`: a validity rule in words."""

import pytest

from seatrial.rules.registry import EFFECTS, RULES


@pytest.mark.parametrize('word', ['T8', 't8'])
def test_a_rule_is_said_with_its_effect_remedy_and_source(command, word):
    said, rule = command('explain', word), RULES['T8']
    assert said.status == 0
    for text in ('T8', rule.title, rule.when, EFFECTS[rule.effect], rule.remedy, rule.source):
        assert text in said.out


def test_all_rules_are_listed_once(command):
    lines = command('explain').out.splitlines()
    assert [line.split()[0] for line in lines] == list(RULES)


@pytest.mark.parametrize(('word', 'nearest'), [('T88', 'T8'), ('p16x', 'P16')])
def test_a_rule_that_is_none_gets_the_nearest_one(command, word, nearest):
    said = command('explain', word)
    assert said.status == 64
    assert f"there is no rule '{word}'; did you mean '{nearest}" in said.err
