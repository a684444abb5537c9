"""Prints docs/catalogue.md from the checks: `python docs/generate_catalogue.py > docs/catalogue.md`."""

from pathlib import Path

from seatrial.check.catalogue import covered
from seatrial.check.declared import load

HEAD = """# The tests of the sources

Each row is a test of the five studies that this suite began with. `seatrial list --catalogue` prints the same table
for any folder of checks. A check names its rows in `covers`; those of its [expectations](expectations.md) count too.
In parentheses are the engines that can carry a check out.

| id | source | test | checks (engines) |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    checks = load(Path(__file__).resolve().parent.parent / 'checks').values()
    return HEAD + ''.join(f'| {row.id} | {row.source} | {row.test} | {by} |\n' for row, by in covered(checks))


if __name__ == '__main__':
    print(page(), end='')
