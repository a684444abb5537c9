"""`seatrial baseline`: references from what several nights have shown."""

import math
from datetime import datetime, timedelta, timezone

import pytest
import yaml

from nights import figures, session
from seatrial.history.store import write
from seatrial.model.units import MIB

BEGAN = datetime(2026, 10, 1, 2, 0, tzinfo=timezone.utc)
CASE = {'check': 'Writes', 'partition': 'local:default', 'nodes': 1}
NIGHTS = '2026-10-01..2026-10-05'
LEAF = ('Writes', 'nightly', 'local:default', 'scratch', 'default', 1, 'write@64KiB')


def name(day):
    return session(BEGAN + timedelta(days=day))


def at(data, keys):
    for key in keys:
        data = data[key]
    return data


@pytest.fixture
def past(site):
    """Put the nights of these days into the history of the site, a little faster each day."""

    def make(*days, metrics=('write@64KiB',), times=1.0, **columns):
        for day in days:
            values = [times * (100 + day % 5) * MIB * (1 + 0.001 * number) for number in range(6)]
            rows = figures(BEGAN + timedelta(days=day), dict.fromkeys(metrics, values), **{**CASE, **columns})
            write(site.folder / 'state' / 'history', name(day), rows)

    return make


@pytest.fixture
def references(site):
    return site.folder / 'references.yaml'


def test_it_is_shown_first_and_written_where_that_is_asked_for(baseline, past, references, on_site):
    past(*range(5))
    done = baseline(NIGHTS)
    assert '+            write@64KiB: [102.25, -0.048, 0.048, MiB/s]' in done.out
    assert done.out.endswith(f'--yes writes this baseline of 5 sessions into {references}\n')
    assert not references.exists()
    assert baseline(NIGHTS, '--yes').status == 0
    written = yaml.safe_load(references.read_text())
    assert at(written, LEAF) == [102.25, -0.048, 0.048, 'MiB/s']
    origin = written['$seatrial']['Writes']['nightly']
    assert (origin['origin'], str(origin['date']), origin['engine']) == ('baseline', '2026-10-05', 'fio')
    assert '# baseline: 5 sessions, spread within 0.2 %, between 1.5 %' in references.read_text()
    assert 'has nothing to change' in baseline(NIGHTS, '--yes').out
    assert on_site('list', '--profile=nightly').status == 0


def test_comments_and_what_else_stands_there_are_kept(baseline, past, references):
    references.write_text(
        '# ours\n$seatrial:\n  Writes:\n    nightly: {origin: baseline, date: 2026-01-01}  # the old one\n'
        'Writes:\n  $index: [profile, $partition, file_system, layout, num_nodes]\n'
        '  nightly:\n    local:default: {scratch: {default: {1: {\n'
        '      write@64KiB: [90.0, -0.1, 0.1, MiB/s],   # slow month\n'
        '      write@512KiB: [91.0, -0.1, 0.1, MiB/s]}}}}\n'
    )
    past(*range(5))
    before = references.read_text().splitlines()
    baseline(NIGHTS, '--yes')
    after = references.read_text().splitlines()
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    names = ', '.join(f'2026100{day}T020000-00000a' for day in range(1, 6))
    origin = f'origin: baseline, date: 2026-10-05, sessions: [{names}], engine: fio'
    assert [line for _, line in changed] == [
        f'    nightly: {{{origin}}}  # the old one',
        '      write@64KiB: [102.25, -0.048, 0.048, MiB/s],   # slow month',
    ]


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        ({'kernel': '6.2'}, f'kernel: not recorded against 6.2 (from {name(4)} on)'),
        ({'state': '{"mount options": "sync"}'}, 'scratch: settings: not recorded against recorded'),
        ({'profile': 'smoke'}, 'one profile that judges'),
    ],
)
def test_sessions_that_make_no_baseline_are_refused(baseline, past, references, changed, words):
    past(*range(4))
    past(4, **changed)
    done = baseline(NIGHTS, '--yes')
    assert (done.status, done.out) == (64, '')
    assert words in done.err
    assert not references.exists()


@pytest.mark.parametrize('changed', [{'verdict': 'INVALID'}, {'verdict': 'INCOMPLETE'}, {'rules': 'P2 F1'}])
def test_of_a_day_what_cannot_be_used_is_left_out_and_named_and_by_its_name_it_is_refused(baseline, past, changed):
    past(*range(4))
    past(4, **changed)
    done = baseline(NIGHTS)
    assert (done.status, f'left out session {name(4)}' in done.out) == (0, True)
    assert 'baseline of 4 sessions' in done.out
    done = baseline(f'2026-10-01..2026-10-04,{name(4)}', '--yes')
    assert (done.status, name(4) in done.err) == (64, True)


def test_two_nights_are_too_few(baseline, past):
    past(0, 1)
    assert '2 sessions; how far nights differ takes 3 at least' in baseline(name(0), name(1)).err


def test_a_metric_that_one_of_the_nights_lacks_or_that_varies_too_much_gets_none(baseline, past):
    past(0)
    past(1, 2, 3, metrics=('write@64KiB', 'write@128KiB'))
    done = baseline('2026-10-01..2026-10-04')
    assert 'write@128KiB: valid in 3 of 4 sessions' in done.out
    past(0, 1, 3)
    past(2, times=10)
    assert 'write@64KiB: it varies too much for a bound' in baseline('2026-10-01..2026-10-04').out


def test_what_came_from_a_cache_gets_none(baseline, past):
    past(*range(5), cache='cached')
    assert 'it was read from a cache, and no reference is made of that' in baseline(NIGHTS).out


def test_what_the_trials_do_not_measure_any_more_is_refused(baseline, past, references):
    past(*range(5), metrics=('write@3KiB',))
    done = baseline(NIGHTS, '--yes')
    assert (done.status, 'write@3KiB' in done.err, references.exists()) == (64, True, False)


@pytest.mark.parametrize(
    ('columns', 'words'),
    [
        ({'unit': 's', 'better': 'lower'}, 'in B/s and s; name sessions of one unit'),
        ({'times': math.inf}, 'valid in 4 of 5 sessions'),
        ({'times': math.nan}, 'valid in 4 of 5 sessions'),
    ],
)
def test_a_metric_without_one_unit_or_a_number_in_each_session_gets_none(baseline, past, references, columns, words):
    past(*range(4))
    past(4, **columns)
    done = baseline(NIGHTS, '--yes')
    assert (done.status, words in done.out, references.exists()) == (0, True, False)


def test_a_link_and_the_mode_of_the_file_are_kept(baseline, past, references, tmp_path):
    past(*range(5))
    real = tmp_path / 'shared.yaml'
    real.write_text('{}')
    real.chmod(0o664)
    references.symlink_to(real)
    assert baseline(NIGHTS, '--yes').status == 0
    assert (references.is_symlink(), real.stat().st_mode & 0o777) == (True, 0o664)
    assert 'baseline' in real.read_text()


def test_what_somebody_writes_meanwhile_is_not_lost(baseline, past, references, monkeypatch):
    past(*range(5))
    monkeypatch.setattr('seatrial.cli.baseline._judge', lambda *_: references.write_text('# mine'))
    done = baseline(NIGHTS, '--yes')
    assert (done.status, references.read_text()) == (64, '# mine')


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        *(('Writes: [1]\n', ''), ('Writes: {nightly: 1}\n', ''), ('a: [\n', '')),
        ('Writes: &a {x: 1}\nReads: *a\n', 'references.yaml: an alias (*) would change two places at once'),
    ],
)
def test_a_file_of_another_form_is_refused_and_stays(baseline, past, references, text, words):
    past(*range(5))
    references.write_text(text)
    done = baseline(NIGHTS, '--yes')
    assert (done.status, references.read_text()) == (64, text)
    assert 'references.yaml' in done.err and words in done.err
