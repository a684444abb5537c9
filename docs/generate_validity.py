"""Prints docs/validity.md from the rules themselves: `python docs/generate_validity.py > docs/validity.md`."""

import importlib

from seatrial.rules.registry import BEFORE, CASE, DATA_LAUNCH, EFFECTS, LAUNCH, METADATA_LAUNCH, RULES, WRITTEN

for module in ('before', 'launch', 'contents', 'case', 'issued'):
    importlib.import_module(f'seatrial.rules.{module}')

HEAD = """# When a measurement is not valid

Each rule below is one function in `src/seatrial/rules/`; this page is made from them. The terminal, `results.json`
and the record of the launch name a broken rule. They say what was found and what to do about it;
`seatrial explain RULE` prints one of them.

| effect | what it means |
|---|---|
"""


def page() -> str:
    """The whole page."""
    text = HEAD + ''.join(f'| {effect} | {meaning} |\n' for effect, meaning in EFFECTS.items())
    for moment in (BEFORE, LAUNCH, DATA_LAUNCH, WRITTEN, METADATA_LAUNCH, CASE):
        text += f'\n## {moment.capitalize()}\n\n'
        text += '| id | what must hold | effect | remedy | source |\n'
        text += '|---|---|---|---|---|\n'
        for rule in RULES.values():
            if rule.when == moment:
                text += f'| {rule.id} | {rule.title} | {rule.effect} | {rule.remedy} | {rule.source} |\n'
    return text


if __name__ == '__main__':
    print(page(), end='')
