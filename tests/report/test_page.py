import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import seatrial.report
from seatrial.judge.verdict import Verdict
from seatrial.model.record import Finding
from seatrial.report import words
from seatrial.report.evidence import Step
from seatrial.report.page import page

STYLE = Path(seatrial.report.__file__).parent / 'templates' / 'style.css'
VOID = {'meta', 'link', 'br', 'img', 'input', 'hr'}
LONG = 'x' * 300


class Seen(HTMLParser):
    """The elements of a page with the names of their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.text, self.attributes, self.faults = [], [], [], [], []
        self.feed(html)
        self.close()
        self.said = ' '.join(' '.join(self.text).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self.attributes += attributes
        if tag not in VOID and not self.get_starttag_text().endswith('/>'):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self.attributes += attributes

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope='module')
def varied(make):
    return make.varied()


@pytest.fixture(scope='module')
def seen(varied):
    return Seen(page(varied))


def holding(make, text):
    """A session in which everything that comes from elsewhere is this text."""
    plan = make.plan(check=f'Check{text}', path=f'/{text}', name=text)
    records = make.records(plan, make.even_rates(plan), labels=(Finding('P18a', 'label', text),), host=f'h{text}')
    start = records.start._replace(
        version=text, program=text, kernel=text, python=text, passed_over=(f'ior: {text}',), run_directory=f'/{text}'
    )
    case = make.case(plan, records._replace(start=start))
    made = make.sample(plan, '2objects', 'write', 0, 100.0, command=(shlex.join(['echo', text]),))
    case = replace(case, steps={'2objects': [Step(made, {text: text}, [(text, text)])]}, data=f'/{text}')
    result = replace(case.result, reasons=(f'write@2objects: FAIL: {text}',), verdict=Verdict.FAIL)
    session = make.session(replace(case, result=result), notices=(text,), label=text)
    return replace(session, site=text, seatrial=text)


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=30).map(lambda text: f'a{text}z'))
@example('</style><script>alert(1)</script>')
@example('"><img src=http://x onerror=y>')
@example("' onclick='x")
@example('{{ 7 * 7 }}{% raw %}')
@example('\x00\x1b[31m\ud800\u202e')
@example(LONG)
def test_no_text_changes_the_structure_of_the_page(make, text):
    found, plain = Seen(page(holding(make, text))), Seen(page(holding(make, 'aaz')))
    assert found.elements == plain.elements
    assert found.faults == found.open == []


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1, max_size=30).map(lambda text: f'a{text}z'))
@example('<b>&amp;</b>')
def test_every_text_is_shown_as_it_is(make, text):
    shown = ' '.join(words.clean(text).split())
    assert f'Note: {shown}' in Seen(page(holding(make, text))).said


def test_every_page_can_be_encoded(make):
    page(holding(make, 'a\ud800z')).encode('utf-8')


def test_every_element_is_closed(seen):
    assert (seen.faults, seen.open) == ([], [])


def test_ids_are_unique_and_every_link_leads_to_one(seen):
    ids = [value for name, value in seen.attributes if name == 'id']
    links = {value for name, value in seen.attributes if name == 'href' and value != 'data:,'}
    assert len(ids) == len(set(ids)) == 6
    assert links == {f'#{id}' for id in ids}


def test_nothing_is_fetched_and_no_script_runs(varied, seen):
    assert not {'script', 'iframe', 'object', 'embed', 'img', 'form', 'base'} & {tag for tag, _ in seen.elements}
    assert not [name for name, _ in seen.attributes if name.startswith('on') or name in ('src', 'srcset', 'style')]
    assert not re.search(r'url\(|@import|@font-face', STYLE.read_text())
    policy = dict(seen.attributes)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in [v for _, v in seen.attributes], policy


def test_the_verdict_is_the_first_heading_and_the_title(make, varied, seen):
    assert next(i for i, (tag, _) in enumerate(seen.elements) if tag == 'h1') < next(
        i for i, (tag, _) in enumerate(seen.elements) if tag == 'h2'
    )
    assert '<title>FAIL: cluster, session 20261121T020638-9f3a1c</title>' in page(varied)


@pytest.mark.parametrize(
    'said',
    [
        'Measured with fio 3.33 (5 cases), no engine (1 case) passed over: ior: not installed (ior)',
        'Profile nightly: comparable with other nights of this system.',
        'On node1, Linux 6.1.0 16 GiB memory',
        'File system scratch, posix /scratch/trials',
        'When 2026-11-21 02:06 UTC',
        'Note: results.json of this session says PASS',
        '6 cases: 1 PASS, 1 FAIL, 1 INVALID, 2 INCOMPLETE, 1 INCONCLUSIVE',
        'Nothing was measured, so there is nothing to draw.',
        'T15 the job never started',
        'T18 client 1 moved 32768 bytes instead of 65536',
        'reading is at least 1.2 times as fast as writing: it holds here criterion of this site',
        'writing does not depend on the number of objects: it does not hold here',
        'It decides no verdict unless the site has made it a criterion.',
        'write@2objects at least 405 baseline, 2026-11-01 500 inside',
        '4 to 20 of each point, until the 90 % interval is within 10 %, then 2 more',
        'As it ran, in /scratch/trials/seatrial-s-1/data:',
        'cat >"$raw"/write@2objects.fio <<\'END\' [global] bs=4096 END',
        'Host node1, Linux 6.1.0, 16 GiB memory, Python 3.11.2',
        'mounted: ext4 /dev/sda1 / rw',
        'removed: 2 files, 3 directories',
    ],
)
def test_the_page_says(seen, said):
    assert said in seen.said


def test_the_worst_cases_come_first_in_the_overview(make, varied):
    overview = page(varied).split('<tbody>')[1].split('</tbody>')[0]
    assert re.findall(r'<td><span class="badge v-(\w+)">', overview) == [
        'fail',
        'invalid',
        'incomplete',
        'incomplete',
        'inconclusive',
        'pass',
    ]


def test_every_verdict_has_a_mark_of_its_own_and_its_word(make, varied):
    marks = dict(
        re.findall(r'<span class="badge v-\w+"><svg[^>]*>(.*?)</svg>\s*(\w+)</span>', page(varied), re.DOTALL)
    )
    assert set(marks.values()) == {verdict.value for verdict in Verdict}
    assert len(marks) == len(Verdict)


def test_the_operations_differ_by_marker_and_dashes_not_only_by_colour(varied):
    text = page(varied)
    assert re.search(r'<g class="o-read">.*?<circle class="full"', text, re.DOTALL)
    assert re.search(r'<g class="o-write">.*?<rect class="full"', text, re.DOTALL)
    assert '.o-write .line { stroke-dasharray' in STYLE.read_text()


def test_figures_that_cannot_be_believed_are_struck_out(varied):
    rows = re.findall(r'<tr class="struck">(.*?)</tr>', page(varied), re.DOTALL)
    assert [re.search(r'scope="row">(\w+)', row).group(1) for row in rows] == ['8', '8']
    assert 'text-decoration: line-through' in STYLE.read_text()


def test_a_smoke_test_lists_the_literature_and_holds_nothing_against_it(make, varied):
    expectations = varied.cases[0].result.expectations
    plan = make.plan(profile='smoke', fixed=True)
    case = make.case(plan, make.records(plan, {name: [100.0] * 4 for name in plan.metrics}))
    result = replace(case.result, expectations=expectations)
    assert result.unjudged
    said = Seen(page(make.session(replace(case, result=result)))).said
    assert f'Not held against these figures: {result.unjudged}.' in said
    assert 'does not hold here' not in said


def test_a_session_without_cases_has_a_page(make):
    assert 'No case was planned' in Seen(page(make.session())).said


def luminance(colour):
    """WCAG 2.2, relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize('scheme', [0, 1], ids=['light', 'dark'])
@pytest.mark.parametrize(
    'name',
    ['ink', 'soft', 'link', 'pass', 'fail', 'invalid', 'incomplete', 'inconclusive', 'read', 'write'],
)
def test_every_colour_can_be_read_on_its_ground(scheme, name):
    block = re.findall(r':root \{(.*?)\}', STYLE.read_text(), re.DOTALL)[scheme]
    colours = dict(re.findall(r'--(\w+): (#[0-9a-f]{6})', block))
    for ground in ('sheet', 'ground', 'tint'):
        bright, dim = sorted((luminance(colours[name]), luminance(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, ground
