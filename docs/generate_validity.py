"""Prints docs/validity.md from the rules themselves: `python docs/generate_validity.py > docs/validity.md`."""

import importlib

from seatrial.rules.registry import BEFORE, CASE, DATA_LAUNCH, LAUNCH, METADATA_LAUNCH, RULES, WRITTEN

for module in ('before', 'launch', 'contents', 'case', 'issued'):
    importlib.import_module(f'seatrial.rules.{module}')

HEAD = """# When a measurement is not valid

Each rule below is one function in `src/seatrial/rules/`; this page is made from them. The terminal, `results.json`
and the record of the launch name a broken rule. They say what was found and what to do about it.

| effect | what it means |
|---|---|
| refuse | nothing is run; the case is INCOMPLETE |
| fail | the storage failed, in whatever launch; the case is FAIL |
| invalid | the figure is not used; the case is INVALID |
| incomplete | something that was planned is missing; the case is INCOMPLETE |
| label | the figure stands, with this beside it; under the profile `acceptance` it is no valid result about storage |
"""


def page() -> str:
    """The whole page."""
    text = HEAD
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
