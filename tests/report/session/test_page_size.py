"""How much there is to read on a page, unfolded and in all, and on the terminal: of a session that was measured, and
of made-up ones."""

import io
import re
import tarfile
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from builders import all_checks
from seatrial.check.session import Session, not_applicable_of
from seatrial.judge.session import judge_cases, judge_session
from seatrial.judge.verdict import Criteria
from seatrial.report.session.page import page
from seatrial.report.terminal import rows_of
from seatrial.session.evidence import evidence_in, read_case
from seatrial.session.results import show
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.workload.words import by_key

REPOSITORY = Path(__file__).resolve().parents[3]
RECORDED = REPOSITORY / 'tests' / 'transcripts' / 'seatrial'
VOID = {'meta', 'link', 'br', 'wbr'}


class Words(HTMLParser):
    """Counts what has a letter or a digit, but for drawings and styles; unfolded: without what is folded."""

    def __init__(self, html):
        super().__init__()
        self.inside, self.unfolded, self.all = [], 0, 0
        self.feed(html)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.inside.append((tag, 'open' in dict(attributes)))

    def handle_endtag(self, tag):
        assert self.inside.pop()[0] == tag

    def handle_data(self, data):
        if not {'svg', 'style', 'head'} & {tag for tag, _ in self.inside}:
            result = len(re.findall(r'\w\S*', data.replace('\u202f', '')))
            folded = any(
                outer == ('details', False) and inner[0] != 'summary' for outer, inner in pairwise(self.inside)
            )
            self.all += result
            self.unfolded += 0 if folded else result


def recorded(folder, profile):
    """The evidence of a session that was measured in a virtual machine, unpacked into the folder."""
    with tarfile.open(RECORDED / f'{profile}-session.tar.xz') as archive:
        archive.extractall(folder, filter='data')
    cases = [read_case(file)[:2] for file in sorted(folder.glob('cases/*/plan.json'))]
    checks = all_checks()
    criteria = {plan.case: Criteria(tuple(checks[plan.case.check].expectations)) for plan, _ in cases}
    result = judge_session(folder.name, profile, judge_cases(cases, criteria), criteria, [])
    label = PROFILES[profile].label
    return evidence_in(folder, cases, result, site='local', label=label, not_applicable=not_applicable_of(folder))


@pytest.fixture(scope='module')
def smoke(tmp_path_factory):
    """A smoke test of 30 cases."""
    return recorded(tmp_path_factory.mktemp('sessions') / '20261128T071623-a45262', 'smoke')


@pytest.fixture(scope='module')
def first(tmp_path_factory):
    """The session of ci/quickstart: the first look, with fio."""
    return recorded(tmp_path_factory.mktemp('sessions') / '20261128T200008-60fd5c', 'first')


def failing(make, number):
    """A session of so many cases that miss their references."""
    case = next(case for case in make.varied().cases if case.result.verdict.value == 'FAIL')
    named = [f'SharedFileStridedTasks{number}' for number in range(number)]
    plans = [case.plan._replace(case=case.plan.case._replace(check=name)) for name in named]
    return make.session(*(replace(case, plan=plan, result=replace(case.result, case=plan.case)) for plan in plans))


@pytest.mark.parametrize(('session', 'cases'), [('first', 7), ('smoke', 30)])
def test_a_recorded_session_is_a_page_of_1200_words_unfolded_and_of_12000_in_all(request, session, cases):
    html = page(request.getfixturevalue(session))
    words = Words(html)
    assert f'{cases} cases: {cases} MEASURED' in html
    assert words.unfolded <= 1200 and words.all <= 12_000, (words.unfolded, words.all)


def test_however_much_fails_a_page_has_1200_words_unfolded(make):
    sessions = {'40 FAIL': failing(make, 40), 'INVALID and INCOMPLETE': make.varied()}
    assert {name for name, session in sessions.items() if Words(page(session)).unfolded > 1200} == set()


def test_the_end_of_a_session_takes_25_rows_of_a_terminal_of_which_the_first_is_the_verdict(first, smoke, make):
    for evidence in (first, smoke, failing(make, 40), make.varied()):
        screen = Console(file=io.StringIO(), width=200, highlight=False, markup=False)
        profile = PROFILES[evidence.result.profile]
        session = Session('s', Path('s'), load_site(REPOSITORY / 'site-config' / 'local'), profile, ())
        show(screen, session, [(case.plan, case.records) for case in evidence.cases], evidence.result)
        lines = screen.file.getvalue().splitlines()
        assert evidence.result.verdict.value in lines[0]
        assert rows_of(lines) <= 25 and len(' '.join(lines).split()) <= 400, lines


def test_the_pages_of_the_sample_are_as_short():
    with zipfile.ZipFile(REPOSITORY / 'reports' / 'sample.zip') as bundle:
        pages = {name: Words(bundle.read(name).decode()) for name in bundle.namelist() if name.endswith('index.html')}
    assert len(pages) > 5
    assert {
        name: result.unfolded for name, result in pages.items() if result.unfolded > 600 or result.all > 2400
    } == {}


def test_a_metric_has_one_sign_on_the_whole_page(smoke):
    html = page(smoke)
    sign = r'<svg class="swatch o-(\w+)"[^>]*>(?:<path[^>]*>)*</svg>\s*([\w ]+)'
    columns = {name for _, name in re.findall(f'<th scope="col" class="n"><span class="both">{sign}', html)}
    result = by_key((name, style) for style, name in re.findall(sign, html) if name in columns)
    assert len(columns) > 15 and result['read'].count('read') > 10
    assert {name: styles for name, styles in result.items() if len(set(styles)) > 1} == {}
