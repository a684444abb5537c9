"""README and docs: links that lead somewhere, and pages of a screen or two for what people ask."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.history.rows import COLUMNS
from seatrial.site import contract, model

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / 'README.md'
DOCS = sorted((REPOSITORY / 'docs').rglob('*.md'))
PAGES = [README, REPOSITORY / 'CONTRIBUTING.md', REPOSITORY / 'CHANGELOG.md', *DOCS]
HOW_TO = (
    'tutorials/accept-a-system.md',
    'how-to/check-an-upgrade.md',
    'tutorials/compare-two.md',
    'tutorials/run-every-night.md',
    'how-to/find-the-slow-one.md',
    'how-to/layouts.md',
    'how-to/extend.md',
)
LINES_OF_HOW_TO = 80

FENCED = re.compile(r'^```.*?^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')


def anchors(page: str) -> set[str]:
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r'^#+ (.+)$', FENCED.sub('', page), re.MULTILINE)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}


def broken(page: Path) -> list[str]:
    """Its links into this repository that lead nowhere."""
    dead = []
    for link in LINK.findall(FENCED.sub('', page.read_text())):
        path, _, anchor = link.partition('#')
        if re.match(r'[a-z]+:', link):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            dead.append(link)
    return dead


def test_every_link_leads_somewhere():
    assert {page.name: dead for page in PAGES if (dead := broken(page))} == {}


def test_what_the_code_knows_of_a_page_is_up_to_date():
    made = runpy.run_path(str(REPOSITORY / 'docs' / 'generate.py'))['made']()
    assert [file for file, text in made.items() if file.read_text() != text] == [], 'python docs/generate.py'


def test_a_site_is_made_of_the_docs_without_a_warning(tmp_path):
    built = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(tmp_path / 'site')],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    pages = {page.parent.name for page in (tmp_path / 'site').glob('*/*/index.html')}
    assert pages == {page.stem for page in DOCS if page.name != 'index.md'}


@pytest.mark.parametrize('name', HOW_TO)
def test_a_page_that_answers_a_question_is_linked_from_the_first_and_short(name):
    assert len((REPOSITORY / 'docs' / name).read_text().splitlines()) <= LINES_OF_HOW_TO
    assert f'(docs/{name}' in README.read_text()


@pytest.mark.parametrize('path', ['CONTRIBUTING.md', *(f'docs/{name}' for name in HOW_TO)])
def test_a_page_puts_the_commands_on_the_path_before_it_shows_them(path):
    before = re.split(
        r'^(?:\$ seatrial|`?python docs/)', (REPOSITORY / path).read_text(), maxsplit=1, flags=re.MULTILINE
    )[0]
    assert '. .venv/bin/activate' in before


def test_every_page_of_the_docs_is_reached_from_the_first():
    reached, ahead = set(), [README]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        paths = {link.partition('#')[0] for link in LINK.findall(page.read_text())}
        files = {(page.parent / path).resolve() for path in paths if path.endswith('.md')}
        ahead += [file for file in files if file.is_file() and file not in reached | set(ahead)]
    assert set(DOCS) <= reached


def described(page: str, after: str) -> set[str]:
    """The words in backquotes that rows of the page's tables begin with, from a heading on."""
    text = (REPOSITORY / 'docs' / page).read_text().partition(after)[2]
    return set(re.findall(r'\w+', ' '.join(re.findall(r'^\| (`[^|]+`) \|', text, re.MULTILINE))))


@pytest.mark.parametrize(
    ('name', 'module'), [('reference/site-config.md', model), ('reference/contract.md', contract)]
)
def test_every_mapping_of_a_site_has_its_table(name, module):
    entries = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, model.Entry)]
    written = {entry.__name__ for entry in entries if not entry.__subclasses__()}
    assert written <= set(re.findall(r'<!-- table: keys of (\w+) -->', (REPOSITORY / 'docs' / name).read_text()))


def test_the_columns_of_the_history_are_described_and_no_others():
    assert described('reference/report.md', '## The history') == set(COLUMNS)


def test_each_test_that_the_page_on_security_names_is_there():
    missing, file = [], ''
    for path, name in re.findall(
        r'`([\w/]*(?:\.py)?)::(\w+)`', (REPOSITORY / 'docs' / 'explanation' / 'security.md').read_text()
    ):
        file = path or file  # without one it is in the file that was named before
        if f'def {name}(' not in (REPOSITORY / 'tests' / file).read_text():
            missing.append((file, name))
    assert missing == []


def test_each_claim_in_a_table_of_the_page_on_security_names_its_tests():
    rows = re.findall(r'^\|.*\|$', (REPOSITORY / 'docs' / 'explanation' / 'security.md').read_text(), re.MULTILINE)
    claims = [row for row in rows if not row.startswith('|---') and not row.endswith('| tests |')]
    assert [row for row in claims if not re.search(r'\| `[\w/]+\.py::test_[^|]*\|$', row)] == []
