"""`seatrial trend`: when families changed over the sessions of the history."""

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
        own = {'write@1MiB': [(50e6 if halved else 100e6) * (1 + 0.01 * (day % 3))] * 3}
        rows = figures(began, own, kernel='6.2' if halved else '6.1')
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


def test_a_history_without_a_change_says_so(trend, site):
    for day in range(8):
        began = BEGAN + timedelta(days=day)
        write(site.folder / 'state' / 'history', session(began), figures(began, {'write@1': [1e8 + day % 2] * 3}))
    assert trend().out.splitlines()[-1] == 'no change'


def test_a_profile_without_sessions_is_refused(trend, month):
    found = trend('--profile=acceptance')
    assert (found.status, 'no session of the profile acceptance' in found.err) == (64, True)
