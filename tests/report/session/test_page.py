import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jinja2 import Environment

import seatrial.report
from seatrial.judge.expectations import not_judged
from seatrial.judge.verdict import Verdict
from seatrial.model.metric import Fact
from seatrial.model.record import Finding
from seatrial.model.units import DECIMAL, MIB
from seatrial.report import words
from seatrial.report.drawing.plot import MARKERS, STYLES
from seatrial.report.session.page import _Compiled, jinja, page
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

STYLE = Path(seatrial.report.__file__).parent / 'templates' / 'style.css'
REPOSITORY = Path(__file__).resolve().parents[3]
VOID = {'meta', 'link', 'br', 'img', 'input', 'hr'}
LONG = 'x' * 300


class Seen(HTMLParser):
    """The elements of a page with the names of their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.text, self.attributes, self.faults = [], [], [], [], []
        self.feed(html.replace('<wbr>', ''))  # where a name may be broken
        self.close()
        self.prose = ' '.join(' '.join(self.text).split())

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
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


@pytest.fixture(scope='module')
def plain(make):
    """A page in which nothing has to be escaped."""
    return Seen(page(holding(make, 'aaz')))


def holding(make, text):
    """A session in which everything that comes from elsewhere is this text."""
    plan = make.plan(check=f'Check{text}', path=f'/{text}', name=text)
    start = dict.fromkeys(('version', 'program', 'kernel', 'python'), text)
    start |= {'host': f'h{text}', 'numa': (text, '2-3'), 'skipped': (f'ior: {text}',), 'run_directory': f'/{text}'}
    case = make.measured(plan, labels=(Finding('P18a', 'label', text),), **start)
    result = replace(case.result, reasons=(f'write@2MiB: FAIL: {text}',), verdict=Verdict.FAIL, binding=(text,))
    cases = replace(case, result=result), *holding_metadata(make, text)
    return replace(make.session(*cases, notices=(text,), label=text), site=text, seatrial=text)


@settings(max_examples=25)
@given(st.text(min_size=1, max_size=30).map(lambda text: f'a{text}z'))
@example('</style><script>alert(1)</script>')
@example('"><img src=http://x onerror=y>')
@example("' onclick='x")
@example('{{ 7 * 7 }}{% raw %}')
@example('\x00\x1b[31m\ud800\u202e')
@example('a0\u00b20z')
@example(LONG)
def test_no_text_changes_the_structure_of_the_page(make, plain, text):
    html = page(holding(make, text))
    seen_page = Seen(html)
    assert seen_page.elements == plain.elements
    assert seen_page.faults == seen_page.open == []
    assert f'Note: {" ".join(words.clean(text).split())}' in seen_page.prose
    html.encode('utf-8')


def holding_metadata(make, text):
    """Cases of metadata on two file systems in which everything that comes from elsewhere is this text."""
    label = f'{text:z<40}'[:40]  # where the axis of a drawing begins depends on how long it is
    files = metadata_tree(files_per_directory=1000)
    sweep = Sweep('tree', ((label, {}), (f'{label}2', {'subtrees': 'private'})))
    cases = []
    for name in (f'h{text}', f'i{text}'):
        plan = make.plan(f'Check{text}', files, sweep, name=name, path=f'/{text}', type=f't{text}')
        cases.append(make.measured(plan, make.tree_rates(plan), engine=(text, text), mount=text))
        plan = make.plan(f'Guarantees{text}', posix_semantics(), Sweep('tree', ((text, {}),)), name=name)
        facts = (Fact(text, False, text), Fact(f'{text}2', None, text))
        cases.append(make.measured(plan, [1.0] * 6, facts=facts))
    return cases


def test_the_page_says_how_tasks_were_bound_to_the_cores_of_a_numa_node_and_that_no_case_was_planned(make, plain):
    assert 'tasks ran on aaz cores of the NUMA nodes of haaz: aaz; 2-3' in plain.prose
    assert 'No case was planned' in Seen(page(make.session())).prose


def test_ids_are_unique_and_every_link_leads_to_one(seen):
    ids = [value for name, value in seen.attributes if name == 'id']
    links = {value for name, value in seen.attributes if name == 'href'} - {'data:,', 'commands.txt'}
    assert len(ids) == len(set(ids))
    assert {f'#{id}' for id in ids} == links


def test_no_level_of_headings_is_left_out(seen, plain):
    for seen_page in (seen, plain):
        levels = [int(tag[1]) for tag, _ in seen_page.elements if re.fullmatch('h[1-6]', tag)]
        assert levels[0] == 1
        assert all(deeper <= level + 1 for level, deeper in pairwise(levels))


def test_what_scrolls_can_be_reached_by_the_keyboard(varied, metadata):
    for html in (page(varied), metadata):
        boxes = re.findall(r'<div class="scroll"[^>]*>', html)
        assert boxes and all(' tabindex="0" role=' in box for box in boxes)


def test_the_first_page_has_the_criteria_that_are_not_met_first_and_then_those_with_the_least_margin(seen):
    assert (
        'write@40tasks SharedFileStridedTasks missed 560 \u2013 840 MB/s 178 MB/s -68.2 % '
        'read@40tasks SharedFileStridedTasks missed 560 \u2013 840 MB/s 363 MB/s -35.2 % '
        'write@32KiB MultipleFilesSizes met at least 405 MiB/s 500 MiB/s +23.5 %'
    ) in seen.prose


def test_of_many_criteria_the_first_page_says_how_many_more_there_are(make, varied):
    case = varied.cases[0]
    references = tuple(replace(case.result.references[0], metric=f'write@{n}') for n in range(20))
    text = Seen(page(make.session(make.with_result(case, references=references)))).prose
    assert 'then those with the least margin; 9 more in the cases, all met or with more margin.' in text


def test_the_first_page_has_the_three_caveats_of_most_cases_and_folds_the_others(make, varied):
    labels = tuple(f'P{n}: caveat {n}' for n in range(5))
    cases = [make.with_result(case, labels=labels[n:]) for case, n in zip(varied.cases, (0, 3), strict=False)]
    first = page(make.session(*cases)).partition('<nav')[0]
    shown, _, folded = Seen(first).prose.partition('Caveats ')[2].partition(' more, of fewer cases ')
    assert re.findall(r'caveat (\d) \((.*?)\)', shown) == [('3', 'every case'), ('4', 'every case'), ('0', '1 case')]
    assert re.findall(r'caveat (\d)', folded) == ['1', '2']


def test_the_contents_lead_to_every_family_and_the_glossary(metadata):
    contents = metadata.partition('<nav')[2].partition('</nav>')[0]
    families = 'Data : 1 case Metadata : 9 cases Listings of directories : 6 cases POSIX semantics : 3 cases'
    assert families in Seen(contents).prose
    assert re.findall(r'href="#([\w-]+)"', contents) == [f'family-{n}' for n in (1, 2, 3, 4)] + ['beside', 'words']


def test_every_word_of_the_glossary_is_in_the_page(seen):
    text = (REPOSITORY / 'docs' / 'reference' / 'glossary.md').read_text()
    rows = text.partition('|---|---|')[2].replace('`', '').splitlines()[1:]
    assert len(rows) > 40
    assert all(' '.join(row.strip('| ').split(' | ')) in seen.prose for row in rows)


def test_nothing_is_fetched_and_no_script_runs(varied, seen):
    assert not {'script', 'iframe', 'object', 'embed', 'img', 'form', 'base'} & {tag for tag, _ in seen.elements}
    assert not [name for name, _ in seen.attributes if name.startswith('on') or name in ('src', 'srcset', 'style')]
    assert not re.search(r'url\(|@import|@font-face', STYLE.read_text())
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in [v for _, v in seen.attributes]


def test_the_verdict_is_the_first_heading_and_the_title(varied):
    html = page(varied)
    assert html.index('<h1>FAIL</h1>') < html.index('<h2')
    assert '<title>FAIL: cluster, session 20261121T020638-9f3a1c</title>' in html


@pytest.mark.parametrize(
    'text',
    [
        'Profile nightly: comparable with other nights.',
        'References: at most 0.3 of them FAIL by chance, if every true value lies at its bound.',
        'On node1 Linux 6.1.0 16 GiB memory',
        'File system scratch (ext4) /scratch/trials',
        'When 2026-11-21 02:06 UTC',
        'Note: results.json of this session says PASS',
        'Nothing was measured, so there is nothing to draw.',
        'T18 task 1 moved 32768 bytes instead of 65536',
        'reading is at least 1.2 times as fast as writing: it holds here criterion of this site',
        'writing does not depend on the transfer size: it does not hold here',
        'write@32KiB at least 405 MiB/s at least 425 MB/s baseline, 2026-11-01 500 MiB/s inside',
        'host node1, Linux 6.1.0 16 GiB memory, Python 3.11.2',
    ],
)
def test_the_page_says(seen, text):
    assert text in seen.prose


def test_every_verdict_has_a_mark_of_its_own_and_its_word(varied):
    badge = r'<span class="badge v-\w+"><svg[^>]*>(.*?)</svg>\s*(\w+)</span>'
    marks = dict(re.findall(badge, page(varied), re.DOTALL))
    assert sorted(marks.values()) == sorted(verdict.value for verdict in Verdict)


def test_figures_that_are_invalid_are_struck_out(varied):
    rows = re.findall(r'<tr class="struck">(.*?)</tr>', page(varied), re.DOTALL)
    assert [re.search(r'scope="row">([\w ]+)', row).group(1) for row in rows] == ['8 MiB']
    assert 'text-decoration: line-through' in STYLE.read_text()


def test_a_smoke_test_lists_the_literature_and_is_compared_with_nothing(make, varied):
    case = make.measured(make.plan(profile='smoke', fixed=True), [100.0 * MIB] * 4)
    unjudged = tuple(not_judged(one, case.result.unjudged) for one in varied.cases[0].result.expectations)
    text = Seen(page(make.session(make.with_result(case, expectations=unjudged)))).prose
    assert 'L09-02 writing does not depend on the transfer size: undecided here' in text and 'hold here' not in text


@pytest.fixture(scope='module')
def metadata(make):
    return page(make.metadata())


@pytest.mark.parametrize(
    'text',
    [
        'File system scratch (ext4) /scratch/trials fast (tmpfs) /fast/trials vol0 (glusterfs) /vol0/trials',
        'Metadata verdict check where',
        'Contention: private / shared file_create 1.50 1.49 \u2013 1.51 file_stat 1.50',
        'on disk shared: 8000 empty files in 1 directory private: 8000 empty files in 8 directories',
        'Listing 891 entries takes 466 ms the first time and 33.0 ms the fourth : 14.1 times as fast '
        '(14.0 \u2013 14.2). Still cached after 2 s without a call, and lost after 5 s.',
        '1 of 3 guarantees hold; flock does not; direct_io was not tried.',
        'flock what flock says does not hold the other task took the lock while it was held',
        'direct_io what direct_io says not tried open(2) with O_DIRECT: Invalid argument',
        'FileMetadata, op/s mdtest 4.0.0 file system file_create file_stat file_read file_remove shared '
        'scratch ext4 9000 25 %',
        'guarantee scratch ext4 fast tmpfs vol0 glusterfs flock holds holds does not hold',
    ],
)
def test_the_page_of_metadata_says(metadata, text):
    assert text.replace(' :', ':').replace(' .', '.') in Seen(metadata).prose


def test_points_of_which_only_one_was_cold_are_named(make):
    case = make.check_of(make.metadata(), 'FileMetadata')
    metrics = tuple(replace(m, cache='cold') if m.metric == 'file_stat@shared' else m for m in case.result.metrics)
    text = Seen(page(make.session(make.with_result(case, metrics=metrics)))).prose
    assert 'Not compared, because only one of the two was cold: file_stat.' in text


def test_what_does_not_hold_stands_first(metadata):
    vol0 = metadata.split('<details class="case"')[-1]
    assert re.findall(r'<th scope="row">(\w+)<small>', vol0) == ['flock', 'direct_io', 'read_after_close']


def test_a_guarantee_that_the_site_has_made_a_criterion_is_marked_and_one_that_was_never_tried_has_its_row(make):
    case = make.check_of(make.metadata(), 'PosixSemantics')
    expectations = tuple(replace(one, enforced=one.subject == 'flock') for one in case.result.expectations)
    text = Seen(page(make.session(make.with_result(case, expectations=expectations)))).prose
    assert text.count('criterion of this site') == text.count('what flock says criterion of this site holds') == 1
    text = Seen(page(make.session(make.with_result(case, facts=())))).prose
    assert 'None was tried. guarantee here what was seen read_after_close' in text


def test_the_styles_of_series_differ_by_marker_or_dashes():
    css, looks = STYLE.read_text(), set()
    for style in STYLES:
        dashes = re.search(rf'[^}}]*\.o-{style}\b[^{{]*\.line \{{ stroke-dasharray: ([^;]+);', css)
        looks.add((MARKERS[style], dashes and dashes.group(1)))
    assert len(looks) == len(STYLES)


def luminance(colour):
    """WCAG 2.2, relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


COLOURS = ('ink', 'soft', 'link', *(verdict.value.lower() for verdict in Verdict), *STYLES[:4])


@pytest.mark.parametrize('scheme', [0, 1], ids=['light', 'dark'])
@pytest.mark.parametrize('name', COLOURS)
def test_every_colour_can_be_read_on_its_ground(scheme, name):
    block = re.findall(r':root \{(.*?)\}', STYLE.read_text(), re.DOTALL)[scheme]
    colours = dict(re.findall(r'--(\w+): (#[0-9a-f]{6})', block))
    for ground in ('sheet', 'ground', 'tint'):
        bright, dim = sorted((luminance(colours[name]), luminance(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, ground


def test_a_site_that_shows_decimal_units_has_them_everywhere_but_in_what_was_written(make):
    session = make.varied()
    assert 'bandwidth, MB/s' not in page(session)
    decimal = Seen(page(replace(session, units=DECIMAL))).prose
    assert 'bandwidth, MB/s' in decimal and 'bandwidth, MiB/s' not in decimal
    assert 'write@32KiB at least 405 MiB/s at least 425 MB/s' in decimal


def test_what_calls_broke_while_they_were_timed_stands_beside_their_figures_and_not_in_their_place(make):
    case = make.check_of(make.metadata(), 'PosixOperations')
    lost = make.with_result(case, facts=(Fact('appends_whole', False, '3 of 20 records were lost or cut'),))
    plain, html = (page(make.session(one)) for one in (case, lost))
    overviews = [text.split('<table class="cases">')[1].split('</tbody>')[0] for text in (plain, html)]
    assert overviews[0] == overviews[1]
    seen = Seen(html)
    assert '0 of 1 guarantees hold; appends_whole does not.' in seen.prose.replace(' .', '.')
    assert 'appends_whole does not hold 3 of 20 records were lost or cut' in seen.prose
    assert seen.faults == [] and 'mkdir MEASURED 3000' in seen.prose


def test_a_point_of_one_sample_says_that_it_has_no_interval(make):
    rates = (make.even_rates(make.plan(), count=count) for count in (1, 2))
    one, two = (page(make.session(make.measured(rates=even))) for even in rates)
    assert '% interval</th>' not in one and ', one sample: no interval, n = 1' in one
    assert '% interval</th>' in two and 'one sample' not in two


def test_latencies_have_columns_where_single_operations_were_timed(metadata):
    parts = metadata.split('<details class="case"')[1:]
    first = {re.search(r'<h3>(\w+)', part).group(1): part for part in reversed(parts)}
    calls = Seen(first['PosixOperations']).prose
    assert 'one operation, \u00b5s' in calls and 'p50 p99.9' in calls
    assert re.search(r'mkdir MEASURED 3000 .* 333 3000', calls) and 'p50' not in first['FileMetadata']


def test_the_worst_cases_come_first_in_the_overview(make, varied):
    overview = page(varied).split('<table class="cases">')[1].split('</tbody>')[0]
    verdicts = re.findall(r'<td><span class="badge v-(\w+)">', overview)
    assert verdicts == ['fail', 'invalid', 'incomplete', 'incomplete', 'inconclusive', 'pass']


@pytest.mark.parametrize('writable', [True, False])
def test_templates_are_compiled_once_where_their_compiled_form_can_be_kept(tmp_path, monkeypatch, writable):
    kept = tmp_path if writable else tmp_path / 'missing'
    monkeypatch.setattr('seatrial.report.session.page._Compiled', lambda beside: _Compiled(str(kept)))
    monkeypatch.setattr('sys.dont_write_bytecode', False)
    compiled = []
    compile_one = Environment.compile
    monkeypatch.setattr(
        Environment, 'compile', lambda self, *args, **more: compiled.append(1) or compile_one(self, *args, **more)
    )
    for _ in range(2):
        assert jinja.__wrapped__().get_template('style.css')
    assert len(compiled) == (1 if writable else 2)
