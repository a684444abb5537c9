"""Makes the table of tags in docs/reframe.md anew: `python docs/generate_tags.py`."""

import re
from collections.abc import Iterable
from pathlib import Path

from seatrial.check.catalogue import CATALOGUE
from seatrial.check.declared import load
from seatrial.check.variants import tags_of
from seatrial.site.profile import PROFILES

HERE = Path(__file__).parent
TABLE = re.compile(r'(?<=<!-- tags -->\n)(?:\|.*\n)*')


def page(text: str) -> str:
    """The text of the page with the table of the checks' tags."""
    checks = load(HERE.parent / 'checks').values()
    own = {tag for each in checks for tag in tags_of(each) - {each.family}}
    sources = {row.id for row in CATALOGUE} & own
    rows = (
        ('the profile', PROFILES),
        (
            'the scale: nodes of the case; as many as any trial of its partition has',
            ('1_node', '4_nodes', 'all_nodes'),
        ),
        ('the family, a folder of `checks/`', sorted({each.family for each in checks})),
        ('what it does', sorted(own - sources)),
        ('the [test of a source](catalogue.md)', sorted(sources)),
    )
    table = ''.join(f'| {what} | {_code(tags)} |\n' for what, tags in rows)
    return TABLE.sub(lambda _: '| of | tags |\n|---|---|\n' + table, text)


def _code(tags: Iterable[str]) -> str:
    return ' '.join(f'`{tag}`' for tag in tags)


if __name__ == '__main__':
    file = HERE / 'reframe.md'
    file.write_text(page(file.read_text()))
