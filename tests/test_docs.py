"""README and docs: links that lead somewhere, and pages of a screen or two for what people ask."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from local_site import LocalSite, trial
from seatrial.history.rows import COLUMNS
from seatrial.judge.verdict import EXIT_CODES
from seatrial.site import contract, model

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / 'README.md'
DOCS = sorted((REPOSITORY / 'docs').rglob('*.md'))
SECURITY = REPOSITORY / 'docs' / 'explanation' / 'security.md'
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
RUN = (
    'tutorials/accept-a-system.md',
    'tutorials/compare-two.md',
    'tutorials/run-every-night.md',
    'how-to/install.md',
    'how-to/scheduled.md',
    'how-to/check-an-upgrade.md',
)
COMMANDS = re.compile(r'^(<!-- not run by a test: .+ -->\n)?```(?:console|sh)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
"""A block of commands; before it stands the reason if no test can run it."""
# SharedLog is the shortest of the first look.
TRIAL = trial(
    'SharedLog',
    '[fio, posixops]',
    'type: posix, path: ../state/trials, records_on_target: true',
    'bytes: 2GiB, inodes: 200000',
    more='profiles: [first], budget: 1s',
).replace('state: state', 'state: ../state')
SHORTER = (
    (r'--profile (?:smoke|nightly)', '--profile first'),
    (r'^seatrial (?:schedule|status)', r'\g<0> --profile first'),
    (r'^seatrial run --site mysite', r'\g<0> SharedLog'),
    ('--rounds 6', '--rounds 2'),
    (r'; echo \$\?$', ''),
    (r'^seatrial accept --site mysite$', r'\g<0> --criterion 1.2'),
    ('budget: 8min', 'budget: 3 s'),
    ('file_size: 0B', 'file_size: 0B, files_per_task: 500'),
)
"""Parts of a page (regular expressions), and what replaces them in the test, to save time alone."""

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


@pytest.mark.parametrize('listed', [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_the_code_knows_of_a_page_is_up_to_date(listed):
    generate = runpy.run_path(str(REPOSITORY / 'docs' / 'generate.py'))
    made = {file: generate['with_lists'](text) if listed else text for file, text in generate['made']().items()}
    assert [file for file, text in made.items() if file.read_text() != text] == [], 'python docs/generate.py'


def test_a_site_is_made_of_the_docs_without_a_warning(tmp_path):
    argv = [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(tmp_path / 'site')]
    built = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = {page.parent.name for page in (tmp_path / 'site').glob('*/*/index.html')}
    assert pages == {page.stem for page in DOCS if page.name != 'index.md'}


@pytest.mark.parametrize('name', HOW_TO)
def test_a_page_that_answers_a_question_is_linked_from_the_first_and_short(name):
    assert len((REPOSITORY / 'docs' / name).read_text().splitlines()) <= 80
    assert f'(docs/{name}' in README.read_text()


@pytest.mark.parametrize('path', ['CONTRIBUTING.md', *(f'docs/{name}' for name in HOW_TO)])
def test_a_page_puts_the_commands_on_the_path_before_it_shows_them(path):
    before, *_ = re.split(r'^(?:\$ seatrial|`?python docs/)', (REPOSITORY / path).read_text(), flags=re.MULTILINE)
    assert '. .venv/bin/activate' in before


def shortened(text: str) -> str:
    for shown, done in SHORTER:
        text = re.sub(shown, done, text)
    return text


def commands_of(name: str) -> list[str]:
    """The commands of the blocks that a test can run: the lines with a prompt, or all lines of a script."""
    blocks = [block for reason, block in COMMANDS.findall((REPOSITORY / 'docs' / name).read_text()) if not reason]
    lines = [(block.startswith('$ '), line) for block in blocks for line in block.splitlines()]
    return [line.removeprefix('$ ') for shown, line in lines if line.startswith('$ ') or not shown]


@pytest.fixture
def place(tmp_path):
    """Where a reader types: a site FOLDER, and a home with a key for signatures; in memory where there is room."""
    has_room = os.path.ismount('/dev/shm') and shutil.disk_usage('/dev/shm').free > 4 * 2**30
    with tempfile.TemporaryDirectory(prefix='seatrial-test-', dir='/dev/shm' if has_room else tmp_path) as folder:
        here = Path(folder)
        (here / 'FOLDER').mkdir()
        LocalSite(here / 'FOLDER', TRIAL)
        (here / '.ssh').mkdir(mode=0o700)
        key = ('ssh-keygen', '-q', '-N', '', '-t', 'ed25519', '-f', here / '.ssh/id_ed25519')
        subprocess.run(key, check=True, timeout=60)
        yield here


@pytest.mark.parametrize('name', RUN)
def test_the_commands_of_a_page_run_as_they_stand(name, place):
    page = (REPOSITORY / 'docs' / name).read_text()
    contracts = re.findall(r'^```yaml\n(.*?^criteria:.*?)^```$', page, re.MULTILINE | re.DOTALL)
    path = f'{Path(sys.executable).parent}:{os.environ["PATH"]}'
    for command in commands_of(name):
        done = subprocess.run(
            ['bash', '-c', shortened(command)],
            cwd=place,
            env={**os.environ, 'HOME': str(place), 'PATH': path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode in EXIT_CODES.values(), f'{command}\n{done.stdout}{done.stderr}'
        if command.startswith('seatrial init'):
            (place / 'mysite/trial.yaml').write_text(TRIAL)
            (place / 'mysite/contract.yaml').write_text(shortened(contracts[0]))


def test_most_blocks_of_commands_are_run_and_each_page_has_one():
    blocks = {name: COMMANDS.findall((REPOSITORY / 'docs' / name).read_text()) for name in RUN}
    run = [name for name in RUN for reason, _ in blocks[name] if not reason]
    assert set(run) == set(RUN)
    assert len(run) > sum(map(len, blocks.values())) / 2


def test_every_page_of_the_docs_is_reached_from_the_first():
    reached, ahead = set(), [README]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        paths = {link.partition('#')[0] for link in LINK.findall(page.read_text())}
        files = {(page.parent / path).resolve() for path in paths if path.endswith('.md')}
        ahead += [file for file in files if file.is_file() and file not in reached | set(ahead)]
    assert set(DOCS) <= reached


@pytest.mark.parametrize(('name', 'module'), [('site-config', model), ('contract', contract)])
def test_every_mapping_of_a_site_has_its_table(name, module):
    entries = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, model.Entry)]
    written = {entry.__name__ for entry in entries if not entry.__subclasses__()}
    page = (REPOSITORY / 'docs' / 'reference' / f'{name}.md').read_text()
    assert written <= set(re.findall(r'<!-- table: keys of (\w+) -->', page))


def test_the_columns_of_the_history_are_described_and_no_others():
    text = (REPOSITORY / 'docs' / 'reference' / 'report.md').read_text().partition('## The history')[2]
    rows = re.findall(r'^\| (`[^|]+`) \|', text, re.MULTILINE)
    assert set(re.findall(r'\w+', ' '.join(rows))) == set(COLUMNS)


def test_each_test_that_the_page_on_security_names_is_there():
    missing, file = [], ''
    for path, name in re.findall(r'`([\w/]*(?:\.py)?)::(\w+)`', SECURITY.read_text()):
        file = path or file  # without one it is in the file that was named before
        if f'def {name}(' not in (REPOSITORY / 'tests' / file).read_text():
            missing.append((file, name))
    assert missing == []


def test_each_claim_in_a_table_of_the_page_on_security_names_its_tests():
    rows = re.findall(r'^\|.*\|$', SECURITY.read_text(), re.MULTILINE)
    claims = [row for row in rows if not row.startswith('|---') and not row.endswith('| tests |')]
    assert [row for row in claims if not re.search(r'\| `[\w/]+\.py::test_[^|]*\|$', row)] == []
