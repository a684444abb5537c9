"""Notifications: the command of the site, its deadline, and its failures."""

import json
import os
import re
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from nights import DEAD, DUE, WHERE, figures, plain, rows, session, wait_until_opened, year
from seatrial.history.store import Annotation, annotate, write
from seatrial.nights import notify
from seatrial.nights.standing import Past, watch_of, write_year
from seatrial.report.nights.nights import DONE, MISSED, DueRun, nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.trend import Nights, gathered, trend
from seatrial.report.terminal import rows_of
from seatrial.scheduler.series import alone
from seatrial.site.calendar import DAYS
from seatrial.site.load import load

FIRST = datetime(2020, 11, 20, 1, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)
TITLE = 'seatrial-site-nightly'


@pytest.fixture
def tell(site, capsys):
    """Sends the notifications of the site; returns the text in the log of the job."""

    def do(*faults):
        loaded = load(site.folder)
        loaded.make_directories()
        notify.send_notification(Console(width=200), loaded, watch_of(loaded, 'nightly'), faults)
        return capsys.readouterr().out

    return do


@pytest.fixture
def night(site):
    """Add nights to the history, a day apart."""

    def add(*verdicts):
        folder = site.folder / 'state' / 'history'
        folder.parent.mkdir(exist_ok=True)
        for verdict in verdicts:
            began = FIRST + len(list(folder.glob('*.parquet'))) * DAY
            write(folder, session(began), plain(began, verdict))

    return add


@pytest.fixture
def command(site, tmp_path):
    """Name a shell script as the site's command."""

    def name(script):
        file = tmp_path / 'tell'
        file.write_text(f'#!/bin/sh\n{script}\n')
        file.chmod(0o755)
        if 'notify:' not in site.trial.read_text():
            site.trial.write_text(f'{site.trial.read_text()}notify: [{file}, argument]\n')

    return name


def kept(site):
    return json.loads((site.folder / 'state' / 'schedule' / f'{TITLE}.notified.json').read_text())


@pytest.fixture(autouse=True)
def surroundings(site, tmp_path, monkeypatch):
    """The folder that --install makes, a Slurm whose queue is empty, and no variable of Seatrial from elsewhere."""
    for name in [name for name in os.environ if name.startswith('SEATRIAL_')]:
        monkeypatch.delenv(name)
    (site.folder / 'state' / 'schedule').mkdir(parents=True)
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin' / 'squeue').write_text('#!/bin/sh\n')
    (tmp_path / 'bin' / 'squeue').chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}/bin:{os.environ["PATH"]}')


def test_text_comes_on_standard_input_and_facts_in_the_environment(site, tell, night, command, tmp_path, repository):
    command(f'cat > {tmp_path}/text; env | grep ^SEATRIAL_ > {tmp_path}/facts; echo "$@" > {tmp_path}/arguments')
    night('PASS', 'FAIL')
    tell()
    assert f'new: FAIL Check/{WHERE} write@1' in (tmp_path / 'text').read_text()
    lines = (tmp_path / 'facts').read_text().splitlines()
    facts = dict(line.removeprefix('SEATRIAL_').split('=', 1) for line in lines)
    news = {'EVENTS': 'changed', 'SUBJECT': 'Seatrial site nightly: FAIL: 1 new FAIL', 'FAILING': '1', 'MISSED': '0'}
    last = {'VERDICT': 'FAIL', 'EXIT_CODE': '10', 'SESSION_ID': session(FIRST + DAY), 'REPORT': ''}
    assert facts == {**news, **last, 'SITE': 'site', 'PROFILE': 'nightly'}
    assert (tmp_path / 'arguments').read_text() == 'argument\n'
    documentation = (repository / 'docs' / 'how-to' / 'scheduled.md').read_text()
    assert [fact for fact in facts if f'`SEATRIAL_{fact}`' not in documentation] == []


def test_however_much_fails_a_night_adds_two_rows_to_the_terminal_of_its_session(site, tell):
    checks = {f'Check{number}': ('FAIL', {'write@1': 'FAIL'}) for number in range(40)}
    write(site.folder / 'state' / 'history', session(FIRST), rows(FIRST, 'FAIL', checks, why='because ' * 30))
    lines = tell().splitlines()
    assert '40 new FAIL' in lines[0]
    assert rows_of(lines) <= 2


def test_without_news_the_command_is_not_run_and_the_same_is_not_sent_twice(tell, night, command, tmp_path):
    command(f'echo sent >> {tmp_path}/ran')
    night('PASS')
    assert (tell(), (tmp_path / 'ran').exists()) == ('', False)
    night('FAIL')
    tell()
    tell()
    night('FAIL')
    tell()
    assert (tmp_path / 'ran').read_text() == 'sent\n'


def test_neither_a_history_without_a_trend_nor_figures_that_cannot_be_exported_keep_back_news(
    site, tell, night, command, tmp_path, monkeypatch
):
    def fault(*unused):
        raise OSError('oh')

    monkeypatch.setattr(notify, 'past_of', fault)
    (site.folder / 'state' / 'metrics').write_text('in the way')
    command(f'cat > {tmp_path}/text')
    night('FAIL')
    text = tell()
    assert "OSError('oh')" in text and 'no metrics were exported' in text
    assert (tmp_path / 'text').read_text()


def test_the_same_is_not_sent_by_two_at_once(site, tell, night, command, seatrial, tmp_path):
    command(f'echo sent >> {tmp_path}/ran')
    night('FAIL')
    lock = notify.news_lock(load(site.folder), 'nightly')
    with alone(lock):
        other = subprocess.Popen([seatrial, 'status', f'--site={site.folder}', '--notify'], stdout=subprocess.DEVNULL)
        wait_until_opened(other, lock)
        tell()
    assert other.wait(300) == 10
    assert (tmp_path / 'ran').read_text() == 'sent\n'


@pytest.mark.parametrize(
    ('script', 'expected'),
    [
        ('echo no route to host >&2; exit 3', 'tell exited with 3: no route to host'),
        ('exit 3', 'tell exited with 3: it said nothing'),
        ('kill -9 $$', 'tell died of signal 9'),
    ],
)
def test_a_failed_command_is_reported_with_its_message(tell, night, command, tmp_path, script, expected):
    command(script)
    night('FAIL')
    assert f'no notification was sent: {tmp_path}/{expected}' in tell()


def test_what_the_command_was_given_is_not_said(site, tell, night):
    url = 'https://hooks.example.org/s3cr3t'
    script = 'echo cannot reach "$1" >&2; exit 3'
    site.trial.write_text(f"{site.trial.read_text()}notify: [sh, -c, '{script}', tell, '{url}']\n")
    night('FAIL')
    text = tell()
    assert ('sh exited with 3: cannot reach ...' in text, url in text) == (True, False), text


def test_a_site_without_a_command_or_whose_command_is_not_there_has_its_news_in_the_log(site, tell, night):
    night('FAIL')
    text = tell()
    assert 'Seatrial site nightly: FAIL: 1 new FAIL' in text
    assert 'no notification was sent: trial.yaml names no command in notify' in text
    site.trial.write_text(f'{site.trial.read_text()}notify: [/nowhere/tell]\n')
    assert 'no notification was sent: /nowhere/tell: No such file' in tell()


def test_a_notification_that_was_not_sent_is_sent_the_next_time(site, tell, night, command, tmp_path):
    command('exit 1')
    night('FAIL')
    tell()
    assert kept(site)['fault'].endswith('tell exited with 1: it said nothing')
    command(f'echo $SEATRIAL_EVENTS >> {tmp_path}/ran')
    night('FAIL')
    tell()
    assert (tmp_path / 'ran').read_text() == 'changed\n'
    assert kept(site)['fault'] is None
    # As is everything where the note of what was sent cannot be read.
    (site.folder / 'state' / 'schedule' / f'{TITLE}.notified.json').write_text('[truncated')
    tell()
    assert (tmp_path / 'ran').read_text() == 2 * 'changed\n'


def test_a_command_that_hangs_is_killed_with_its_children(tell, night, command, tmp_path, monkeypatch):
    monkeypatch.setattr(notify, 'DEADLINE_S', 0.5)
    command(f'sleep 600 & echo $! > {tmp_path}/child; wait')
    night('FAIL')
    assert 'has not ended after 0 s, and was killed' in tell()
    stat_of = Path('/proc') / (tmp_path / 'child').read_text().strip() / 'stat'
    end = time.monotonic() + 60.0
    while stat_of.exists() and ') Z ' not in stat_of.read_text():
        assert time.monotonic() < end, 'its child is still there'
        time.sleep(0.01)


def test_a_grandchild_that_keeps_the_output_open_delays_nothing(tell, night, command):
    command('sleep 5 & exit 0')
    night('FAIL')
    assert 'no notification was sent' not in tell()


@pytest.mark.parametrize(
    ('days', 'faults', 'sent'), [(2, (), 'missed 3\n'), (0, ('the run died',), 'died missed 1\n')]
)
def test_missed_runs_are_one_notification_without_a_death(site, tell, night, command, tmp_path, days, faults, sent):
    """Enabled so many days ago: due every day at a time that was hours ago."""
    command(f'echo $SEATRIAL_EVENTS $SEATRIAL_MISSED >> {tmp_path}/ran')
    night('PASS')
    due = datetime.now() - timedelta(hours=4)
    since = due.timestamp() - 60 - days * 86400
    record = {'calendar': [due.hour, due.minute, list(DAYS)], 'form': 'sbatch', 'since': since}
    (site.folder / 'state' / 'schedule' / f'{TITLE}.json').write_text(json.dumps(record))
    tell(*faults)
    tell()
    assert (tmp_path / 'ran').read_text() == sent


def test_the_figures_are_exported_whole_whether_or_not_there_is_news(site, tell, night):
    os.umask(0o022)
    night('PASS')
    tell()
    (file,) = (site.folder / 'state' / 'metrics').iterdir()
    assert file.name == f'{TITLE}.prom'
    assert file.read_text().endswith('# EOF\n')
    assert file.stat().st_mode & 0o444 == 0o444


# A year of nights, and its page beside the sessions


EACH_NIGHT, SELDOM = pytest.param(1, marks=pytest.mark.long), 48  # nights from one trend to the next
BUDGET = 0.05  # of false notifications a month: with the default of one, some years have one more change


@pytest.fixture
def observed(site, tmp_path):
    """The site with its schedule, and a command that keeps the subjects of what is sent."""
    site.trial.write_text(
        f"{site.trial.read_text()}schedule: {{nightly: {{at: '02:00'}}}}\nfalse_notifications: {BUDGET}\n"
        f'notify: [sh, -c, \'echo "$SEATRIAL_SUBJECT" >> {tmp_path}/sent\']\n'
    )
    loaded = load(site.folder)
    loaded.make_directories()
    return loaded


@pytest.mark.parametrize('looks', [SELDOM, EACH_NIGHT])
def test_exactly_what_was_planted_is_sent(observed, tmp_path, monkeypatch, looks):
    by_name = {session(DUE[number]): rows for number, rows in year().items()}
    past = nights(by_name.values(), 'site', 'nightly')
    whole = gathered(by_name.values(), lambda names: pl.concat(by_name[name] for name in names))
    runs = [DueRun(due, DONE if number in year() else MISSED) for number, due in enumerate(DUE)]
    for number, due in enumerate(DUE):
        if number % looks == 0:
            until = pl.col('session') <= session(due)
            until_then = Nights(whole.began.filter(until), whole.means.filter(until), whole.rows_of)
            shown = Past(trend(until_then, observed.false_notifications, 0.05), (), (), until_then)
            monkeypatch.setattr(notify, 'past_of', lambda site, profile, shown=shown: shown)
        ended = [night for night in past if night.began <= due]
        seen = TrialWatch('site', 'nightly', due, ended[-20:], runs[max(0, number - 13) : number + 1])
        notify.send_notification(Console(quiet=True), observed, seen)
    sent = (tmp_path / 'sent').read_text().splitlines()
    assert [re.sub(r'.*: (\w+) since [\d-]+: (scratch: [a-z ]+?) \d.*', r'\1 \2', line) for line in sent] == [
        'worse scratch: data write',
        'worse scratch: metadata',
        f'Seatrial site nightly: INCOMPLETE: 1 run missed: {DUE[DEAD[0]]:%Y-%m-%d %H:%M}',
        'better scratch: data read',
    ]


def test_there_is_a_page_from_the_first_on_that_lies_where_its_links_lead_to_the_reports_that_are_there(observed):
    assert 'No session of this profile has ended yet' in write_year(observed, 'nightly').read_text()
    state = observed.folder / 'state'
    for due in DUE[-3:]:
        write(state / 'history', session(due), figures(due, {'write@1': [1e8, 1.01e8, 1.02e8]}))
    report = state / 'sessions' / session(DUE[-1]) / 'report' / 'index.html'
    report.parent.mkdir(parents=True)
    report.touch()
    annotate(state, Annotation(DUE[-2].date(), 'a new rack'))
    page = write_year(observed, 'nightly')
    text = page.read_text()
    (link, *others) = set(re.findall(r'href="([^":]+)"', text))
    assert ((page.parent / link).resolve(), others) == (report, [])
    assert 'a new rack' in text
