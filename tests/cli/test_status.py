"""`seatrial status`: last night on one screen, with its exit code."""

import json
import os
import re
import time
from datetime import datetime, timedelta, timezone

import pytest

from local_site import executable
from nights import WHERE, plain, rows, session
from seatrial.check.session import FILE
from seatrial.history.store import write
from seatrial.job.directory.orphans import heartbeat_of
from seatrial.nights import standing
from seatrial.scheduler.series import job_name
from seatrial.site.calendar import DAYS

NOW = datetime.now(timezone.utc).replace(microsecond=0)
HOURS, DAY = timedelta(hours=1), timedelta(days=1)
TITLE = 'seatrial-site-nightly'
EXIT_CODES = {'PASS': 0, 'FAIL': 10, 'INVALID': 11, 'INCONCLUSIVE': 12, 'INCOMPLETE': 13}


@pytest.fixture(autouse=True)
def now(monkeypatch):
    """The moment of the test: that of the module is hours old at the end of a long run."""
    monkeypatch.setitem(globals(), 'NOW', datetime.now(timezone.utc).replace(microsecond=0))


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')


@pytest.fixture
def state(site):
    folder = site.folder / 'state'
    (folder / 'schedule').mkdir(parents=True)
    return folder


@pytest.fixture
def night(state):
    """Put a night into the history."""
    return lambda began, verdict, **others: write(state / 'history', session(began), plain(began, verdict, **others))


@pytest.fixture
def in_force(state):
    """As after --install two days ago: due every day at the time that it was so many hours ago."""

    def due(hours):
        # From the same moment as the nights.
        moment = NOW.astimezone().replace(tzinfo=None) - hours * HOURS
        calendar, since = [moment.hour, moment.minute, list(DAYS)], moment.timestamp() - 60 - 2 * 86400
        record = {'calendar': calendar, 'since': since, 'form': 'sbatch'}
        (state / 'schedule' / f'{TITLE}.json').write_text(json.dumps(record))

    return due


@pytest.fixture
def begun(state, site):
    """A session that has begun and not ended; silent: seconds since its heart has beaten."""

    def make(began, silent, profile='nightly', only=()):
        folder = state / 'sessions' / session(began)
        folder.mkdir(parents=True)
        (folder / FILE).write_text(json.dumps({'profile': profile, 'site': str(site.folder), 'only': only}))
        heart = heartbeat_of(str(state), session(began))
        with open(heart, 'w'):
            os.utime(heart, (time.time() - silent,) * 2)

    return make


def rows_of(out, word):
    return [line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith(f'{word} ')]


def test_before_anything_has_run_the_exit_code_is_that_of_incomplete(status):
    done = status()
    assert (done.status, 'none has ended yet' in done.out) == (13, True)


@pytest.mark.parametrize('verdict', list(EXIT_CODES))
def test_the_exit_code_is_that_of_the_last_run(status, night, verdict):
    night(NOW - 2 * DAY, 'FAIL' if verdict == 'PASS' else 'PASS')
    night(NOW - DAY, verdict)
    done = status()
    assert (done.status, f' {verdict}' in rows_of(done.out, 'verdict')[0]) == (EXIT_CODES[verdict], True)


def test_however_much_fails_the_screen_has_25_rows_of_100_columns(status, state):
    why = 'write@1: it is 20 % less than its reference of 100 MiB/s, ' + 'and more of the same ' * 8
    for days in (2, 1):
        cases = {f'Check{days}{number}': ('FAIL', {'write@1': 'FAIL'}) for number in range(40)}
        write(state / 'history', session(NOW - days * DAY), rows(NOW - days * DAY, 'FAIL', cases, why=why))
    done = status()
    assert (done.rows <= 25, max(map(len, done.out.splitlines())) <= 100) == (True, True)
    assert 'and 76 more' in done.out


def test_the_last_session_if_it_cannot_be_read_is_no_pass_of_the_one_before(status, night, state):
    night(NOW - 2 * DAY, 'PASS')
    night(NOW - DAY, 'FAIL')
    newest = max((state / 'history').iterdir())
    newest.write_bytes(newest.read_bytes()[:100])
    done = status()
    (line,) = rows_of(done.out, 'unread')
    assert (done.status, str(newest) in line) == (13, True)
    assert 'INCOMPLETE: before it PASS' in done.out
    night(NOW, 'PASS')
    newest.write_bytes(b'')
    assert (status().status, rows_of(status().out, 'unread')) == (0, [])  # it is not last night any more


def test_of_many_sessions_only_as_many_are_read_as_show_the_last_nights(status, night, monkeypatch):
    monkeypatch.setattr(standing, 'SESSIONS_READ', 2)
    monkeypatch.setattr(standing, 'RUNS_SHOWN', 2)
    one_by_one, counts = standing.store.one_by_one, []

    def counting(folder, newest, named=None):
        counts.extend([newest] if newest else [])
        return one_by_one(folder, newest, named)

    monkeypatch.setattr(standing.store, 'one_by_one', counting)
    for hours in range(3, 12):
        night(NOW - hours * HOURS, 'PASS')
    assert (status().status, counts) == (0, [2])
    for hours in (1, 2):
        night(NOW - hours * HOURS, 'PASS', profile='smoke')
    counts.clear()
    assert (status().status, counts) == (0, [2, 8])


def test_the_last_run_of_another_profile_is_another_one(status, night):
    night(NOW - DAY, 'PASS')
    night(NOW, 'FAIL', profile='smoke')
    assert (status().status, status('--profile=smoke').status) == (0, 10)


@pytest.mark.parametrize(
    ('silent', 'profile', 'code'), [(10, 'nightly', 0), (7200, 'nightly', 13), (10, 'smoke', 13)]
)
def test_a_run_is_missed_unless_a_session_of_the_profile_lives(status, night, in_force, begun, silent, profile, code):
    in_force(3)
    night(NOW - DAY - 3 * HOURS, 'PASS')
    begun(NOW - 3 * HOURS, silent, profile)
    done = status()
    assert (done.status, 'is running' in done.out) == (code, code == 0)


def test_a_session_of_named_checks_does_not_hide_a_missed_run(status, night, in_force, begun):
    in_force(3)
    night(NOW - DAY - 3 * HOURS, 'PASS')
    night(NOW - 2 * HOURS, 'PASS', selection='access')
    begun(NOW - 3 * HOURS, silent=10, only=['access'])
    done = status()
    assert (done.status, '2 of the last 3 runs' in done.out) == (13, True)


def test_a_schedule_of_the_site_counts_where_something_else_starts_it(status, night, site):
    moment = datetime.now() - 3 * HOURS
    site.trial.write_text(f'{site.trial.read_text()}schedule: {{nightly: {{at: {moment:%H:%M}}}}}\n')
    night(NOW - 2 * DAY - 3 * HOURS, 'PASS')
    done = status()
    assert (done.status, f'every day at {moment:%H:%M}' in done.out) == (13, True)


def test_a_truncated_schedule_is_said_with_its_remedy(status, state):
    file = state / 'schedule' / f'{TITLE}.json'
    file.write_text('{')
    done = status()
    assert (done.status, f'{file} cannot be read; remove it' in done.err) == (64, True)


def test_an_enforced_expectation_is_named(status, state):
    began = NOW - DAY
    write(state / 'history', session(began), rows(began, 'FAIL', {'Check': ('FAIL', {'write@1': 'PASS'})}))
    relation = {'verdict': 'fails', 'sentence': 'it falls'}
    expectation = {'id': 'L09-02', 'subject': 'write over objects', 'enforced': True, 'relation': relation}
    results = {'relations': [], 'cases': [{'case': {'name': f'Check/{WHERE}'}, 'expectations': [expectation]}]}
    folder = state / 'sessions' / session(began)
    folder.mkdir(parents=True)
    (folder / 'results.json').write_text(json.dumps(results))
    assert f'FAIL Check/{WHERE} L09-02 write over objects, since' in rows_of(status().out, 'stands')[0]
    (folder / 'results.json').unlink()
    assert f'FAIL Check/{WHERE}, since' in rows_of(status().out, 'stands')[0]


def test_status_writes_nothing_and_notifies_nobody(status, night, site, state, tmp_path):
    site.trial.write_text(f'{site.trial.read_text()}notify: [/usr/bin/touch, {tmp_path}/told]\n')
    night(NOW, 'FAIL')
    before = sorted(state.rglob('*'))
    status()
    assert sorted(state.rglob('*')) == before
    assert not (tmp_path / 'told').exists()


def test_it_can_notify_of_a_missed_run_from_another_host(status, night, in_force, site, state, tmp_path):
    site.trial.write_text(f'{site.trial.read_text()}notify: [/usr/bin/touch, {tmp_path}/told]\n')
    in_force(3)
    night(NOW - 2 * DAY - 3 * HOURS, 'PASS')
    assert status('--notify').status == 13
    assert (tmp_path / 'told').exists()
    assert (state / 'metrics' / f'{TITLE}.prom').is_file()


def test_no_name_steers_a_terminal_or_ends_a_line_in_the_file_for_monitoring(status, site, state):
    site.trial.write_text(f'{site.trial.read_text()}notify: [/usr/bin/true]\n')
    odd = 'Check\x1b[31m\nseatrial_last_verdict 1'
    write(state / 'history', session(NOW), rows(NOW, 'PASS', {odd: ('PASS', {'write@1\x1b]0;x\x07\r': 'PASS'})}))
    assert status('--notify').status == 0
    text = (state / 'metrics' / f'{TITLE}.prom').read_bytes().decode()
    assert r'Check\\x1b[31m\nseatrial_last_verdict 1' in text
    assert all(re.fullmatch(r'(# .*|seatrial_\w+\{.*\} \S+)?', line) for line in text.split('\n'))
    assert {character for character in text if not character.isprintable()} == {'\n'}


def test_news_that_could_not_be_sent_is_on_the_screen(status, night, site, state):
    site.trial.write_text(f'{site.trial.read_text()}notify: [/usr/bin/false]\n')
    night(NOW, 'FAIL')
    status('--notify')
    (news,) = rows_of(status().out, 'news')
    assert news == 'the last could not be sent: /usr/bin/false exited with 1: it said nothing'


@pytest.fixture
def squeue(tmp_path, monkeypatch, in_force):
    """Have squeue print this, or fail."""
    in_force(1)

    def say(script):
        program = executable(tmp_path / 'bin' / 'squeue', f'#!/bin/sh\n{script}\n')
        monkeypatch.setenv('PATH', str(program.parent))

    return say


JOBS = '12|PENDING|ReqNodeNotAvail, UnavailableNodes:n1\\n11|RUNNING|None'
PRINTS_JOBS = f'case "$*" in *" --name={{name}} "*) printf "{JOBS}\\n";; *) echo "9|PENDING|x";; esac'
"""Of the job of this name, and of others another one."""


@pytest.mark.parametrize(
    ('script', 'words'),
    [
        ('true', 'has no job {name}: seatrial schedule --install puts it back'),
        (PRINTS_JOBS, 'job 12 is pending (ReqNodeNotAvail, UnavailableNodes:n1); job 11 is running'),
        ('echo "slurm_load_jobs error: x" >&2; exit 1', 'unknown: squeue ended with 1: slurm_load_jobs error: x'),
    ],
)
def test_what_slurm_says_of_the_jobs_of_this_site_is_shown(status, squeue, state, night, script, words):
    night(NOW, 'PASS')
    name = job_name(state / 'schedule' / TITLE)
    squeue(script.format(name=name))
    done = status()
    (line,) = rows_of(done.out, 'Slurm')
    assert (done.status, line.startswith(words.format(name=name))) == (0, True), line


def test_a_page_of_the_nights_that_cannot_be_written_changes_no_exit_code(status, night, state):
    night(datetime(2026, 11, 20, 1, 0, tzinfo=timezone.utc), 'FAIL')
    (state / 'reports').touch()
    done = status('--notify')
    assert (done.status, 'the page of the nights could not be written' in done.out) == (10, True)
