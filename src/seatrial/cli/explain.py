"""`seatrial explain`: a validity rule, or a word of the glossary, in a few sentences."""

import re

import click

from seatrial.model.quoted_value import choice
from seatrial.report.terminal import console, say
from seatrial.report.words import glossary
from seatrial.rules.registry import EFFECTS, all_rules

HEADINGS = ('what must hold', 'when', 'if it does not', 'remedy', 'why')


@click.command()
@click.argument('subject', required=False, metavar='[RULE | WORD]')
def explain(subject: str | None) -> None:
    """Say what a validity RULE asks for and what follows where it does not hold, or what a WORD means here.

    Words are those of docs/reference/glossary.md: SFWA, cold, INCONCLUSIVE, ... Without a subject all rules are
    listed.
    """
    screen, rules = console(), all_rules()
    if subject is None:
        say(screen, *(f'{known.id:<5} {known.title}' for known in rules.values()))
        return
    rule = next((rule for rule in rules.values() if rule.id.casefold() == subject.casefold()), None)
    if rule is not None:
        parts = (rule.title, rule.when, f'{rule.effect}: {EFFECTS[rule.effect]}', rule.remedy, rule.source)
        say(screen, rule.id, *(f'  {heading:<15} {text}' for heading, text in zip(HEADINGS, parts, strict=True)))
        return
    word = re.compile(rf'(?<!\w){re.escape(subject)}(?!\w)', re.IGNORECASE)
    entries = list(glossary().items())
    named = [(name, meaning) for name, meaning in entries if word.search(name)]
    matches = named or [(name, meaning) for name, meaning in entries if word.search(meaning)]
    if not matches and re.fullmatch(r'[A-Za-z]\d+\w?', subject):
        raise click.UsageError(f"there is no rule '{subject}'; {choice(subject.upper(), rules)}")
    if not matches:
        neither = f"'{subject}' is neither a rule nor a word of docs/reference/glossary.md"
        raise click.UsageError(f'{neither}; `seatrial explain` lists the rules')
    say(screen, *(f'{name}: {meaning}' for name, meaning in matches))
