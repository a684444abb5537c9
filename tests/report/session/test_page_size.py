"""The number of words on a page, unfolded and in all, and of rows on the terminal, for a measured session and for
made-up ones."""

import io
import re
import zipfile
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from seatrial.check.session import Session
from seatrial.report.session.page import page
from seatrial.report.terminal import rows_of
from seatrial.session.results import show
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.workload.words import by_key

REPOSITORY = Path(__file__).resolve().parents[3]
VOID = {'meta', 'link', 'br', 'wbr'}


class Words(HTMLParser):
    """Counts words with a letter or a digit, without drawings and styles; unfolded: also without folded parts."""

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
            number = len(re.findall(r'\w\S*', data.replace('\u202f', '')))
            nested = pairwise(self.inside)
            folded = any(outer == ('details', False) and inner[0] != 'summary' for outer, inner in nested)
            self.all += number
            self.unfolded += 0 if folded else number


@pytest.mark.parametrize(('session', 'cases'), [('first', 7), ('smoke', 30)])
def test_a_recorded_session_is_a_page_of_1200_words_unfolded_and_of_12000_in_all(request, session, cases):
    html = page(request.getfixturevalue(session))
    words = Words(html)
    assert f'{cases} cases: {cases} MEASURED' in html
    assert html.index('best write') < html.index('Caveats')
    assert words.unfolded <= 1200 and words.all <= 12_000, (words.unfolded, words.all)


def test_however_much_fails_a_page_has_1200_words_unfolded(pages):
    assert {name: words for name, html in pages.items() if (words := Words(html).unfolded) > 1200} == {}


def test_the_end_of_a_session_takes_25_rows_of_a_terminal_first_the_verdict(first, smoke, forty, make):
    for evidence in (first, smoke, forty, make.varied()):
        screen = Console(file=io.StringIO(), width=200, highlight=False, markup=False)
        profile = PROFILES[evidence.result.profile]
        session = Session('s', Path('s'), load_site(REPOSITORY / 'site-config' / 'local'), profile, ())
        show(screen, session, [(case.plan, case.records) for case in evidence.cases], evidence.result)
        lines = screen.file.getvalue().splitlines()
        assert evidence.result.verdict.value in lines[0]
        # Three rows more say where the results, the page and the page of the nights are.
        assert rows_of(lines) + 3 <= 25 and len(' '.join(lines).split()) <= 400, lines


def test_the_pages_of_the_sample_are_as_short():
    with zipfile.ZipFile(REPOSITORY / 'reports' / 'sample.zip') as bundle:
        pages = {name: Words(bundle.read(name).decode()) for name in bundle.namelist() if name.endswith('index.html')}
    assert len(pages) > 5
    assert [name for name, words in pages.items() if words.unfolded > 600 or words.all > 2400] == []


def test_a_metric_has_one_sign_on_the_whole_page(smoke):
    html = page(smoke)
    sign = r'<svg class="swatch o-(\w+)"[^>]*>(?:<path[^>]*>)*</svg>\s*([\w ]+)'
    columns = {name for _, name in re.findall(f'<th scope="col" class="n"><span class="both">{sign}', html)}
    result = by_key((name, style) for style, name in re.findall(sign, html) if name in columns)
    assert len(columns) > 15 and result['read'].count('read') > 10
    assert {name: styles for name, styles in result.items() if len(set(styles)) > 1} == {}
