"""`seatrial compare`, also of sites that `run --ab` has measured in turn; `seatrial trend`: when families changed."""

import json
import random
import re
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from click import UsageError

from beegfs_stand import BeeGfsStand, state
from nights import figures, session
from seatrial.filesystem.registry import by_type
from seatrial.history.store import folder_of, write
from seatrial.judge.verdict import Verdict
from seatrial.session.comparison import in_turn, sides_of
from seatrial.site.load import load

BEGAN = datetime(2026, 10, 1, 2, 0, tzinfo=timezone.utc)
NIGHT = [100e6, 100.1e6, 99.9e6, 100.2e6, 99.8e6, 100e6]


def name(day):
    return session(BEGAN + timedelta(days=day))


def leave(site, day, metrics, **columns):
    """Put a night with these samples into the history of the site."""
    write(site.folder / 'state' / 'history', name(day), figures(BEGAN + timedelta(days=day), metrics, **columns))


@pytest.fixture
def past(site):
    """Put a night into the history of the site."""

    def make(day, times=1.0, **columns):
        leave(site, day, {'write@1MiB': [times * (1 + 0.002 * day) * rate for rate in NIGHT]}, **columns)

    return make


@pytest.fixture
def upgraded(past):
    """Three nights before and three after, which are slower and on another mount."""
    for day in range(3):
        past(day, state='{"mounted": "tmpfs on /scratch type tmpfs"}', label='before')
        past(day + 3, times=0.5, state='{"mounted": "/dev/a on /scratch type ext4"}', label='after')


def test_what_differs_is_said_before_any_figure(compare, upgraded):
    done = compare('before', 'after')
    lines = [' '.join(line.split()) for line in done.out.splitlines()]
    assert lines[:4] == [
        f'before before: 3 sessions, {name(0)} to {name(2)}',
        f'after after: 3 sessions, {name(3)} to {name(5)}',
        'Not measured with the same:',
        'scratch: mounted: tmpfs on /scratch type tmpfs against /dev/a on /scratch type ext4',
    ]
    assert lines[5].startswith('x worse scratch: data write 0.503')
    assert lines[-1] == '1 metric: 1 worse'
    assert done.status == 0


OFFLINE = {'storage_target_state': state(2, 'Offline / Good')}


def test_an_absent_target_is_said_first(compare, past, monkeypatch, tmp_path):
    stand = BeeGfsStand(tmp_path, tmp_path, monkeypatch)
    for day, label, changed in ((0, 'before', {}), (1, 'after', OFFLINE)):
        stand.now(**changed)
        past(day, state=json.dumps(by_type('beegfs').state(str(tmp_path))), label=label)
    lines = [' '.join(line.split()) for line in compare('before', 'after').out.splitlines()]
    words = 'scratch: storage targets: 3: 1-3 against 3: 1-3; storage target 2 offline'
    assert lines[2] == 'Not measured with the same:' and words in lines


def test_of_many_metrics_that_changed_25_rows_of_a_terminal_have_the_worst(compare, site):
    for day in range(6):
        slower = {number: (1 + 0.002 * day) * (1 - 0.01 * number * (day > 2)) for number in range(60)}
        metrics = {f'write@{number}KiB': [times * value for value in NIGHT] for number, times in slower.items()}
        metrics |= {f'read@{number}KiB': NIGHT for number in range(60) if day < 3}
        leave(site, day, metrics, state=json.dumps({'mounted': 'x' * 90 * day}))
    done = compare('2026-10-01..2026-10-03', '2026-10-04..2026-10-06')
    worse = re.findall(r'^x worse  (\S+) .*write@(\d+)KiB: 95.6 to', done.out, re.MULTILINE)
    assert (done.rows <= 25, worse[0], worse == sorted(worse), len(worse) > 9) == (True, ('0.412', '59'), True, True)
    assert f'and {55 - len(worse)} more, in --json and --html' in done.out


@pytest.mark.parametrize(
    ('loads', 'line'),
    [
        ((5, 8, 90, 95), 'load of the first node when cases began: 5 to 8 % against 90 to 95 %'),
        ((5, 80, 8, 90), ''),
        ((None, None, 90, 95), ''),
    ],
)
def test_nodes_that_were_busier_on_one_side_are_named(compare, past, loads, line):
    for day, percent in enumerate(loads):
        past(day, load_percent=percent, label='before' if day < 2 else 'after')
    lines = [text.strip() for text in compare('before', 'after').out.splitlines()]
    assert [text for text in lines if text.startswith('load of')] == ([line] if line else [])


def test_a_change_for_the_worse_fails_where_that_is_asked_for(compare, upgraded):
    assert compare('before', 'after', '--fail-on', 'worse').status == 10
    assert compare('after', 'before', '--fail-on', 'worse').status == 0


@pytest.mark.parametrize(
    ('wanted', 'days'),
    [
        ('latest', [5]),
        ('2026-10-02', [1]),
        ('2026-10-02..2026-10-04', [1, 2, 3]),
        ('before', [0, 1, 2]),
        (f'{name(1)},{name(2)}', [1, 2]),
        (f'{name(0)}, after', [0, 3, 4, 5]),
        ('20261003', [2]),
    ],
)
def test_sessions_are_named_by_name_label_or_date(compare, upgraded, past, wanted, days):
    past(-5)
    content = json.loads(compare(name(-5), wanted, '--json').out)
    assert content['after']['sessions'] == [name(day) for day in days]


@pytest.mark.parametrize(
    ('sides', 'words'),
    [
        (('before', 'never'), "no session in the history has the label 'never'"),
        (('before', '2025-01-01'), "the history has no session of '2025-01-01'"),
        (('before', '2026'), "'2026' is the beginning of 6 sessions"),
        (('before', f'{name(2)},{name(3)}'), f'session {name(2)} is on both sides'),
        (('before', 'after', '--profile=smoke'), 'no session of that --profile'),
        (('before', 'after', '--effect=0'), '--effect'),
        (('before', 'after', '--effect=nan'), 'nan is no number'),
        (('2026-10-06..2026-10-04', 'after'), 'write 2026-10-04..2026-10-06'),
        (('before,', 'after'), 'empty session name'),
    ],
)
def test_what_cannot_be_compared_is_refused(compare, upgraded, sides, words):
    done = compare(*sides)
    assert (done.status, done.out) == (64, '')
    assert words in done.err


def test_sessions_of_several_profiles_are_refused_until_one_is_chosen(compare, upgraded, past):
    past(6, profile='smoke')
    days = '2026-10-04..2026-10-07'
    assert 'choose one with --profile' in compare('before', days).err
    assert json.loads(compare('before', days, '--profile=nightly', '--json').out)['counts']['worse'] == 1


@pytest.mark.parametrize(('times', 'worse'), [(1.0, 0), (0.5, 1)], ids=['drift alone', 'and a drop'])
def test_a_drift_over_the_sessions_is_seen_before_the_upgrade_is_blamed(compare, past, times, worse):
    for day in range(10):
        past(day, times=(times if day > 4 else 1.0) * 0.7 ** (day / 9))
    sides = '2026-10-01..2026-10-05', '2026-10-06..2026-10-10'
    assert json.loads(compare(*sides, '--json').out)['counts']['worse'] == worse
    text = ' '.join(compare(*sides).out.split())
    assert ('Drift: scratch: data write also changed from session to session' in text) == (not worse)
    assert ('them alternately: seatrial run --ab' in text) == (not worse)


def test_a_smaller_effect_can_be_asked_for(compare, past):
    for day in range(4):
        past(day)
        past(day + 10, times=0.96)
    sides = '2026-10-01..2026-10-04', '2026-10-11..2026-10-14'
    assert json.loads(compare(*sides, '--json').out)['counts']['same'] == 1
    assert json.loads(compare(*sides, '--effect=1', '--json').out)['counts']['worse'] == 1


def test_the_page_is_written_where_it_is_asked_for(compare, upgraded, tmp_path):
    done = compare('before', 'after', '--html', tmp_path / 'change.html')
    assert f'page: {tmp_path}/change.html' in done.out
    assert '/dev/a on /scratch type ext4' in (tmp_path / 'change.html').read_text()
    assert 'name another file' in compare('before', 'after', '--html', tmp_path / 'no' / 'x.html').err


@pytest.mark.parametrize('label', ['latest', '2026', 'a b', 'x,y'])
def test_a_label_that_could_be_something_else_is_refused(command, site, label):
    done = command('run', f'--site={site.folder}', f'--checks={site.checks}', f'--label={label}')
    assert (done.status, 'is no label' in done.err) == (64, True)
    assert site.sessions() == []


@pytest.fixture
def pools(past):
    """Three configurations with a night each; the second is the fastest."""
    for day, times in enumerate((1.0, 2.0, 0.5)):
        past(day, times=times, label=f'pool{day}')


def test_of_several_configurations_one_is_chosen_and_what_is_unknown_of_it_is_said(compare, pools):
    done = compare('pool0', 'pool1', 'pool2', '--require=capacity>=2TB', '--maximise=write', '--capacity=pool2=1.5TB')
    assert done.status == 0
    lines = [' '.join(line.split()) for line in done.out.splitlines()]
    assert lines[0] == 'configuration capacity duration read write full'
    assert [line.split()[0] for line in lines[1:4]] == ['pool0', 'pool1', 'pool2']
    assert 'pool2 misses capacity>=2TB' in lines
    assert 'read: not measured for any configuration' in lines
    assert lines[-2:] == [
        'chosen for write: pool1',
        'BUT whether pool1 meets capacity>=2TB is unknown: it has no such figure',
    ]


def test_bandwidth_is_shown_against_fullness_which_wins_nothing(compare, past):
    for day, full in enumerate((50, 75, 77, None)):
        past(day, label=f'full{str(full)[0]}', used_percent=full)
    done = compare('full5', 'full7', 'fullN')
    rows = [' '.join(line.split()) for line in done.out.splitlines()[1:4]]
    assert [re.search(r'MiB/s (.*)', row)[1] for row in rows] == ['50 %', '75 to 77 %', 'not recorded']
    assert 'full:' not in done.out
    content = json.loads(compare('full5', 'full7', 'fullN', '--json').out)
    assert content['used_percent'] == {'full5': [50], 'full7': [75, 77], 'fullN': []}
    assert compare('full5', 'full7', 'fullN', '--maximise=full').status == 64


def test_the_choice_is_json_in_base_units(compare, pools):
    content = json.loads(compare('pool0', 'pool1', 'pool2', '--json').out)
    columns = content['columns']
    assert content['configurations']['pool1']['write'] == pytest.approx(2.004 * 100e6)
    assert (columns['write']['winner'], columns['capacity'], content['choice']) == ('pool1', None, None)


@pytest.mark.parametrize(
    'words',
    [
        *('pool0', 'pool0 pool0', 'pool0 pool1 pool2 --fail-on=worse', 'pool0 pool1 --require=capacity>=2TB'),
        'pool0 pool1 --require=beauty>=2 --maximise=write',
        *('pool0 pool1 --capacity=other=2TB', 'pool0 pool1 --capacity=pool0=2h'),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(compare, pools, words):
    done = compare(*words.split())
    assert (done.status, done.out) == (64, '')


def test_a_damaged_file_is_said_beside_the_json(compare, upgraded, site):
    (site.folder / 'state' / 'history' / '20261004T030000-bad000.parquet').write_text('damaged')
    done = compare('before', '2026-10-04..2026-10-06', '--json')
    assert 'it is cut short or damaged' in done.err
    assert json.loads(done.out)['after']['sessions'] == [name(3), name(4), name(5)]


@pytest.fixture
def month(site):
    """Twenty nights, of which the second ten have half of the writes and another kernel."""
    for day in range(20):
        level, kernel = (50e6, '6.2') if day >= 10 else (100e6, '6.1')
        leave(site, day, {'write@1MiB': [level * (1 + 0.01 * (day % 3))] * 3}, kernel=kernel)


def test_a_change_is_said_with_its_night_size_metrics_and_suspect(trend, month):
    first = name(10)
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
        leave(site, day, {'write@1': [1e8 + day % 2] * 3})
    assert trend().out.splitlines()[-1] == 'no change'


# Two sites measured in turn: what is compared, and what is not

ROUNDS = 6


@dataclass(frozen=True)
class Opened:
    id: str
    label: str = ''


class Measured:
    """In place of sessions: each leaves figures that fall from session to session, times that of its side."""

    def __init__(self, state, speed, ends=lambda number: (Verdict.MEASURED, False), lost=()):
        self.state, self.speed, self.ends, self.lost = state, speed, ends, lost
        self.labels, self.rng = [], random.Random(7)

    def opened(self, folder):
        return Opened(session(BEGAN + timedelta(hours=len(self.labels)))), ()

    def carry_out(self, opened, cases):
        number = len(self.labels)
        self.labels.append(opened.label)
        level = 1e8 * 0.8 ** (number // 2) * self.speed.get(opened.label, 1.0)
        values = [level * self.rng.gauss(1, 0.01) for _ in range(6)]
        if number not in self.lost:
            began = BEGAN + timedelta(hours=number)
            write(folder_of(self.state), opened.id, figures(began, {'write@1': values}, label=opened.label))
        verdict, stop = self.ends(number)
        return SimpleNamespace(verdict=verdict), stop


@pytest.fixture
def sides(site):
    return {'a': site.folder, 'b': site.folder}


@pytest.fixture
def measured(sides):
    return lambda speed=None, **others: Measured(load(sides['a']).state, speed or {}, **others)


def in_rounds(sides, measured):
    return in_turn(sides, ROUNDS, 0.05, measured.opened, measured.carry_out)


def families(output):
    return [line.split()[1] for line in output.splitlines() if 'scratch: data write' in line]


def test_what_is_the_same_is_the_same_however_fast_both_get_worse(sides, measured, capsys):
    assert in_rounds(sides, measured()) is Verdict.MEASURED
    assert families(capsys.readouterr().out) == ['same']


def test_each_round_has_both_in_random_order(sides, measured):
    sessions = measured()
    in_rounds(sides, sessions)
    rounds = [tuple(sessions.labels[number : number + 2]) for number in range(0, 2 * ROUNDS, 2)]
    assert len(rounds) == ROUNDS and {tuple(sorted(pair)) for pair in rounds} == {('a', 'b')}


def test_a_verdict_of_a_session_is_that_of_all(sides, measured):
    sessions = measured(ends=lambda number: (Verdict.FAIL if number == 4 else Verdict.PASS, False))
    assert in_rounds(sides, sessions) is Verdict.FAIL


def test_a_stop_ends_the_rounds_and_compares_nothing(sides, measured, capsys):
    sessions = measured(ends=lambda number: (Verdict.MEASURED, number == 4))
    assert in_rounds(sides, sessions) is Verdict.INCOMPLETE
    assert len(sessions.labels) == 5 and families(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ('lost', 'verdict', 'compared', 'words'),
    [
        ((2, 7), Verdict.MEASURED, ['same'], ' 4, 4 '),
        (range(2 * ROUNDS), Verdict.INCOMPLETE, [], 'not compared: a side'),
    ],
)
def test_rounds_without_one_of_their_sessions_are_left_out(sides, measured, capsys, lost, verdict, compared, words):
    assert in_rounds(sides, measured(lost=lost)) is verdict
    output = capsys.readouterr().out
    assert families(output) == compared and words in output


@pytest.mark.parametrize('written', [('a', 'b={}'), ('=x', 'b={}'), ('a={}', 'a={}'), ('latest={}', 'b={}')])
def test_what_is_no_side_is_refused(site, written):
    with pytest.raises(UsageError):
        sides_of([side.format(site.folder) for side in written])


def test_sides_with_other_histories_are_refused(site, tmp_path, command):
    other = shutil.copytree(site.folder, tmp_path / 'other')
    answer = command('run', '--ab', f'a={site.folder}', f'b={other}')
    assert answer.status == 64 and 'set the same state in both trial.yaml' in answer.err


def test_rounds_that_were_measured_can_be_compared_again(site, sides, measured, command):
    in_rounds(sides, measured({'b': 0.9}))
    again, unpaired = (command('compare', 'a', 'b', f'--site={site.folder}', *more) for more in (['--paired'], []))
    assert (families(again.out), families(unpaired.out)) == (['worse'], ['undecided'])


def test_sessions_that_do_not_alternate_are_not_paired(site, sides, measured, command):
    in_rounds(sides, measured(lost=[4]))
    answer = command('compare', 'a', 'b', '--paired', f'--site={site.folder}')
    assert answer.status == 64 and 'do not alternate' in answer.err


def test_what_ab_says_is_not_said_twice(on_site, site):
    answer = on_site('run', '--ab', f'a={site.folder}', f'b={site.folder}')
    assert answer.status == 64 and 'leave out --site, --label' in answer.err
