"""`seatrial trend`: when families changed over the sessions of the history."""

import shutil
from datetime import datetime, timedelta, timezone

import pytest

from nights import figures, session
from seatrial.history.store import write

BEGAN = datetime(2026, 10, 1, 2, 0, tzinfo=timezone.utc)


@pytest.fixture
def month(site):
    """Twenty nights, of which the second ten have half of the writes and another kernel."""
    for day in range(20):
        began, halved = BEGAN + timedelta(days=day), day >= 10
        values = {'write@1MiB': [(50e6 if halved else 100e6) * (1 + 0.01 * (day % 3))] * 3}
        rows = figures(began, values, kernel='6.2' if halved else '6.1')
        write(site.folder / 'state' / 'history', session(began), rows)


@pytest.fixture
def trend(command, site):
    return lambda *arguments: command('trend', f'--site={site.folder}', *arguments)


def test_a_change_is_said_with_its_night_size_metrics_and_suspect(trend, month):
    first = session(BEGAN + timedelta(days=10))
    lines = trend().out.splitlines()
    assert lines[0].startswith('20 sessions of nightly, ')
    assert lines[1].startswith('2026-10-11  worse  scratch: data write  0.50')
    assert lines[1].endswith(f'from {first} on')
    assert lines[2].startswith('  Check/lab:io/scratch/default/2n write@1MiB: 0.50')
    assert lines[3] == f'  not measured with the same: kernel: 6.1 against 6.2 (from {first} on)'


def test_what_was_annotated_for_those_days_stands_beside_the_change(trend, month, command, site):
    for day, text in (('2026-10-11', 'OSS firmware 3.1\n\x1b[2J'), ('2026-10-02', 'new rack')):
        assert command('annotate', day, text, f'--site={site.folder}').status == 0
    lines = trend().out.splitlines()
    assert r'  annotated 2026-10-11: OSS firmware 3.1 \x1b[2J' in lines
    assert lines[-1] == 'annotated 2026-10-02, beside no change: new rack'


@pytest.mark.parametrize(('name', 'status'), [('site', 0), ('other', 64)])
def test_imported_sessions_count_for_a_site_of_the_same_name_alone(month, command, site, tmp_path, name, status):
    another = tmp_path / 'another' / name
    shutil.copytree(site.folder, another, ignore=shutil.ignore_patterns('state'))
    files = map(str, (site.folder / 'state' / 'history').glob('*.parquet'))
    assert command('history', 'import', *files, f'--site={another}').out.startswith('20 sessions taken')
    done = command('trend', f'--site={another}')
    assert (done.status, done.out.startswith('20 sessions of nightly')) == (status, status == 0)
    assert status == 0 or f'no session of site {name} with the profile nightly' in done.err


@pytest.mark.parametrize(('day', 'text'), [('2026-13-01', 'x'), ('yesterday', 'x'), ('2026-10-11', ' ')])
def test_an_annotation_without_a_day_or_words_is_refused(command, site, day, text):
    done = command('annotate', day, text, f'--site={site.folder}')
    assert done.status == 64 and not (site.folder / 'state').exists()


def test_the_site_says_how_many_false_notifications_it_bears(trend, month, site):
    def expected():
        return trend().out.splitlines()[0].rpartition(': ')[2]

    assert expected() == 'at most 1 a month'
    site.trial.write_text(site.trial.read_text() + 'false_notifications: 0.1\n')
    assert expected() == 'at most 0.1 a month'
    site.trial.write_text(site.trial.read_text().replace('0.1', '0.0'))
    assert 'trial.yaml: false_notifications: ' in trend().err


def test_a_history_without_a_change_says_so(trend, site):
    for day in range(8):
        began = BEGAN + timedelta(days=day)
        write(site.folder / 'state' / 'history', session(began), figures(began, {'write@1': [1e8 + day % 2] * 3}))
    assert trend().out.splitlines()[-1] == 'no change'


def test_a_profile_without_sessions_is_refused(trend, month):
    done = trend('--profile=acceptance')
    assert (done.status, 'with the profile acceptance' in done.err) == (64, True)
