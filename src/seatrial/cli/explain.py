"""`seatrial explain`: a validity rule in words."""

import click

from seatrial.model.quoted_value import choice
from seatrial.report.terminal import console
from seatrial.rules import prevented  # noqa: F401  (it registers its rules)
from seatrial.rules.registry import EFFECTS, RULES

HEADINGS = ('what must hold', 'when', 'if it does not', 'remedy', 'why')


@click.command()
@click.argument('rule', required=False)
def explain(rule: str | None) -> None:
    """Say what RULE asks for, what follows where it does not hold, the remedy, and why; without RULE list all."""
    screen = console()
    if rule is None:
        for each in RULES.values():
            screen.print(f'{each.id:<5} {each.title}', soft_wrap=True)
        return
    known = {each.casefold(): each for each in RULES}
    if rule.casefold() not in known:
        raise click.UsageError(f"there is no rule '{rule}'; {choice(rule.upper(), RULES)}")
    found = RULES[known[rule.casefold()]]
    said = (found.title, found.when, f'{found.effect}: {EFFECTS[found.effect]}', found.remedy, found.source)
    screen.print(found.id)
    for heading, text in zip(HEADINGS, said, strict=True):
        screen.print(f'  {heading:<15} {text}', soft_wrap=True)
