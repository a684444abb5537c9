"""Makes the table of tags in docs/reframe.md anew, and what ReFrame lists there: `python docs/generate_tags.py`."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from seatrial.check.catalogue import CATALOGUE
from seatrial.check.declared import load
from seatrial.check.variants import tags_of
from seatrial.site.profile import PROFILES

HERE = Path(__file__).parent
TABLE = re.compile(r'(?<=<!-- tags -->\n)(?:\|.*\n)*')
SETTINGS = '-C site-config/local/settings.py'
LIST = re.compile(r'^(\$ reframe (.* -l)\n)(?:(?!```).*\n)*', re.MULTILINE)


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


def with_lists(text: str) -> str:
    """The text of the page with what ReFrame prints for each of its commands that list."""
    return LIST.sub(lambda found: found.group(1) + _listed(found.group(2).replace('...', SETTINGS)), text)


def _listed(words: str) -> str:
    argv = [str(Path(sys.executable).with_name('reframe')), '--nocolor', *shlex.split(words)]
    done = subprocess.run(argv, cwd=HERE.parent, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines(keepends=True)
    return ''.join(line for line in lines if line.startswith(('[List', '- ', 'Found', 'seatrial: ')))


def _code(tags: Iterable[str]) -> str:
    return ' '.join(f'`{tag}`' for tag in tags)


if __name__ == '__main__':
    file = HERE / 'reframe.md'
    file.write_text(with_lists(page(file.read_text())))
