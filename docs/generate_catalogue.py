"""Prints docs/catalogue.md from the checks: `python docs/generate_catalogue.py > docs/catalogue.md`."""

from pathlib import Path

from seatrial.check.catalogue import covered
from seatrial.check.declared import load

HEAD = """# The tests of the sources

Each row is a test of one of the five studies that this suite began with:

{sources}
`seatrial list --catalogue` prints the table for any folder of checks. A check names its rows in `covers`; those of
its [expectations](expectations.md) count too. In parentheses are the engines that can carry a check out.

| id | test | checks (engines) |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    checks = load(Path(__file__).resolve().parent.parent / 'checks').values()
    rows = list(covered(checks))
    sources = {row.id.partition('-')[0]: row.source for row, _ in rows}
    named = ''.join(f'- {prefix}: {source}\n' for prefix, source in sources.items())
    return HEAD.format(sources=named) + ''.join(f'| {row.id} | {row.test} | {by} |\n' for row, by in rows)


if __name__ == '__main__':
    print(page(), end='')
