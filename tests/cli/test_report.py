"""`seatrial report`: a session for people, from its records alone."""

import io
import json
import os
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from builders import chained
from seatrial.check.declared import load as load_checks
from seatrial.check.session import Session
from seatrial.history.store import folder_of, read
from seatrial.model.codec import from_json
from seatrial.model.plan import TrialPlan
from seatrial.model.plan import digest as digest_of
from seatrial.model.record import PLAN, SAMPLES
from seatrial.model.telemetry import READ, TELEMETRY, WRITTEN, Look, Watch, line_of
from seatrial.session import after_session
from seatrial.session.evidence import judged_anew
from seatrial.site.load import load
from seatrial.site.profile import PROFILES

FIRST, SECOND = '20261121T020638-9f3a1c', '20261122T020638-000000'
FILES = ['commands.txt', 'index.html', 'junit.xml', 'summary.md']


def results(folder, verdict='MEASURED'):
    (folder / 'results.json').write_text(json.dumps({'verdict': verdict}))


def said_in(file):
    return ' '.join(re.sub(r'<[^>]*>', ' ', file.read_text()).split())


def test_a_report_has_a_page_junit_and_a_summary_with_one_verdict_in_the_folder_of_its_session(on_site, past):
    folder = past(FIRST)
    results(folder)
    done = on_site('report')
    assert (done.status, done.err) == (0, '')
    assert done.out == f'= MEASURED  session {FIRST}, report: {folder}/report/index.html\n'
    assert sorted(file.name for file in (folder / 'report').iterdir()) == FILES
    page = (folder / 'report' / 'index.html').read_text()
    assert '<h1>MEASURED</h1>' in page
    assert re.findall(r'<summary><h3>(\w+)</h3>', page) == ['Writes', 'Reads']  # in the order of the checks
    assert (folder / 'report' / 'summary.md').read_text().startswith('# MEASURED\n')
    suite = ElementTree.parse(folder / 'report' / 'junit.xml').find('testsuite')
    assert (suite.get('tests'), suite.get('failures'), suite.get('errors')) == ('2', '0', '0')


def test_a_figure_of_which_nobody_asks_anything_is_measured_however_wide_its_interval(on_site, past):
    folder = past(FIRST, noise=0.4)
    results(folder)
    assert on_site('report').out.startswith('= MEASURED')
    assert 'until the time budget was exhausted' in said_in(folder / 'report' / 'index.html')


def test_what_a_case_counted_meanwhile_is_on_the_page_of_its_session(on_site, past):
    folder = past(FIRST)
    case = next(iter((folder / 'cases').iterdir()))
    watch = Watch(1.0, 'node1', 'block device sda of the whole machine', '', 1.0)
    looks = [Look(float(i), float(i), 0.001, {READ: i << 20, WRITTEN: 0}) for i in range(9)]
    (case / TELEMETRY).write_text(''.join(map(line_of, [watch, *looks])) + '{"record":"lo')
    on_site('report')
    text = said_in(folder / 'report' / 'index.html')
    assert 'Counted on node1: block device sda of the whole machine' in text
    assert '1 line of the telemetry cut short' in text


def test_the_newest_session_is_reported_unless_one_is_named(on_site, past):
    past(SECOND), past(FIRST)
    assert f'session {SECOND}' in on_site('report').out
    assert f'session {FIRST}' in on_site('report', FIRST).out
    assert f'session {FIRST}' in on_site('report', '20261121').out


@pytest.mark.parametrize(
    ('sessions', 'name', 'words'),
    [
        ([FIRST], 'nowhere', f"'nowhere' in .*; the newest are {FIRST}"),
        ([FIRST, SECOND], '2026', "'2026' is the beginning of 2 sessions"),
        ([], '', 'seatrial run makes one'),
    ],
)
def test_a_session_that_is_none_or_several_is_refused_with_the_remedy(on_site, past, sessions, name, words):
    for session in sessions:
        past(session)
    done = on_site('report', *([name] if name else []))
    assert (done.status, bool(re.search(words, done.err))) == (64, True), done.err


def test_a_report_can_go_elsewhere_beside_other_files(on_site, past, tmp_path):
    folder, place = past(FIRST), tmp_path / 'a' / 'b'
    place.mkdir(parents=True)
    for name in ('mine', 'index.html'):
        (place / name).write_text('mine')
    on_site('report', '--output', place)
    assert sorted(file.name for file in place.iterdir()) == sorted([*FILES, 'mine'])
    assert [(place / name).read_text() == 'mine' for name in ('mine', 'index.html')] == [True, False]
    assert not (folder / 'report').exists()


def test_a_session_is_read_where_it_lies_now(on_site, past, site):
    folder = past(FIRST)
    results(folder)
    site.change('state: state', 'state: elsewhere')
    shutil.move(site.folder / 'state', site.folder / 'elsewhere')
    done = on_site('report')
    assert done.out.startswith('= MEASURED')


def test_another_verdict_than_that_of_the_day_is_said_everywhere(on_site, past):
    folder = past(FIRST)
    results(folder, 'FAIL')
    (note,) = re.findall('note: (when .*, this session was FAIL; .*it is MEASURED)\n', on_site('report').out)
    for name in FILES[1:]:
        assert note in (folder / 'report' / name).read_text()


@pytest.mark.parametrize(
    ('text', 'gone', 'note'),
    [
        (None, False, 'there is no results.json: '),
        ('{"verdict"', False, 'results.json cannot be read'),
        ('{"verdict": "MEASURED"}', True, 'the check Reads does not exist any more'),
    ],
)
def test_what_a_report_had_to_do_without_is_noted(on_site, past, site, text, gone, note):
    folder = past(FIRST, ended=text is not None)
    if text is not None:
        (folder / 'results.json').write_text(text)
    if gone:
        site.change('class Reads', 'class Others', 'checks/files/check.py')
    out = on_site('report').out
    assert f'note: {note}' in out
    assert ('- INCOMPLETE  session' in out) == (text is None)


@pytest.mark.parametrize('profile', ['acceptance', 'nightly'])
def test_an_acceptance_by_plain_reframe_that_has_not_begun_every_case_is_not_the_whole(on_site, past, profile):
    folder = past(FIRST, profile=profile)
    summary = folder / 'report' / 'summary.md'
    on_site('report')
    assert 'plain ReFrame has begun' not in summary.read_text()
    first, *others = sorted((folder / 'cases').iterdir())
    shutil.rmtree(first)
    on_site('report')
    words = f'plain ReFrame has begun {len(others)} of {len(others) + 1} cases; not '
    assert (words in summary.read_text()) == (profile == 'acceptance')


def test_a_repeat_of_a_case_is_judged_by_its_own_record(on_site, past):
    folder = past(FIRST)
    once = on_site('report')
    original = next(folder.glob('cases/Reads*'))
    again = Path(f'{original}~2')
    shutil.copytree(original, again)
    plan = json.loads((again / PLAN).read_text())
    plan['records'] = str(again)
    (again / PLAN).write_text(json.dumps(plan))
    samples = (again / SAMPLES).read_text().splitlines(keepends=True)
    digest = json.loads(samples[0])['plan']
    new = digest_of(from_json(TrialPlan, plan))
    (again / SAMPLES).write_text(chained(line.replace(digest, new) for line in samples))
    assert on_site('report').out == once.out
    (again / SAMPLES).write_text('')
    assert 'INCOMPLETE  session' in on_site('report').out


@pytest.mark.parametrize('line', range(5))
def test_a_record_with_a_truncated_line_has_a_report_that_is_no_pass(on_site, past, line):
    folder = past(FIRST)
    samples = next((folder / 'cases').glob(f'*/{SAMPLES}'))
    lines = samples.read_text().splitlines(keepends=True)
    lines[line] = lines[line][: len(lines[line]) // 2] + '\n'
    samples.write_text(''.join(lines))
    done = on_site('report')
    assert (done.status, 'MEASURED  session' not in done.out) == (0, True)


def test_a_figure_that_was_edited_is_refused_and_its_line_is_named(on_site, past):
    folder = past(FIRST)
    results(folder)
    samples = next(folder.glob(f'cases/Reads*/{SAMPLES}'))
    lines = samples.read_text().splitlines(keepends=True)
    lines[4] = lines[4].replace('"value":2', '"value":3')
    samples.write_text(''.join(lines))
    assert 'INVALID  session' in on_site('report').out
    text = said_in(folder / 'report' / 'index.html')
    assert re.search(r'R4 line 5 \(measured read@\w+, repetition 1\) of samples\.jsonl', text)


def test_records_that_are_not_those_of_the_day_are_said_first(on_site, past):
    folder = past(FIRST)
    on_site('report')
    summary = folder / 'report' / 'summary.md'
    (chain,) = re.findall(r'the chain of the records ends with (\w{64})', summary.read_text())
    assert chain in said_in(folder / 'report' / 'index.html')
    for then, noticed in ((chain, False), ('0' * 64, True)):
        (folder / 'results.json').write_text(json.dumps({'verdict': 'MEASURED', 'chain': then}))
        on_site('report')
        notice = f'the records were changed after they were judged: then their chain ended with {then}'
        assert (notice in summary.read_text()) == noticed


@pytest.fixture
def left(site, past):
    """Leaves the results, report and history of a past session; returns the printed text."""
    folder = past(FIRST)
    loaded, checks = load(site.folder), load_checks(site.checks)
    evidence = judged_anew(loaded, checks, folder)
    session = Session(folder.name, folder, loaded, PROFILES['nightly'], loaded.engine_choices())

    def leave():
        console = Console(file=io.StringIO(), width=200, highlight=False, markup=False)
        after_session.leave(console, session, [(case.plan, case.records) for case in evidence.cases], evidence.result)
        return console.file.getvalue()

    return leave


def test_after_a_run_the_report_and_the_history_are_there(left, site):
    folder = site.folder / 'state' / 'sessions' / FIRST
    assert [Path(line.split()[1]) for line in left().splitlines()] == [
        folder / 'results.json',
        folder / 'report' / 'index.html',
        site.folder / 'state' / 'reports' / 'seatrial-site-nightly.html',
    ]
    assert read(folder_of(site.folder / 'state')).rows['session'].unique().to_list() == [FIRST]


def test_a_fault_of_the_report_itself_is_said_and_the_history_is_written(left, site, monkeypatch):
    monkeypatch.setattr(after_session, 'write_report', lambda *unused: 1 / 0)
    line = left().splitlines()[1]
    assert line.startswith(f'the report is not written; try seatrial report {FIRST}: ZeroDivisionError')
    assert len(read(folder_of(site.folder / 'state')).rows)


def test_a_history_that_cannot_be_written_is_said_after_the_report(left, site):
    (site.folder / 'state' / 'history').write_text('in the way')
    _, first, second, *_ = left().splitlines()
    assert first.startswith('  report:')
    assert second.startswith('this session could not be written to the history: ')


def test_results_that_cannot_be_written_are_named_and_the_rest_is_written(left, site):
    folder = site.folder / 'state' / 'sessions' / FIRST
    (folder / f'.results.json.{os.getpid()}.tmp').symlink_to('/dev/full')
    first, second, *_ = left().splitlines()
    assert first == f'the results could not be written: {folder}/results.json: No space left on device'
    assert second.startswith('  report:')
    assert not list(folder.glob('.*.tmp'))


def test_a_report_where_one_may_not_write_is_refused_with_the_remedy(on_site, past, tmp_path):
    past(FIRST)
    (tmp_path / 'in the way').touch()
    done = on_site('report', '--output', tmp_path / 'in the way' / 'report')
    assert done.status == 64
    assert f'seatrial: {tmp_path}/in the way/report: Not a directory; name another folder with --output\n' in done.err
