"""Two sites measured in turn: what is compared, and what is not."""

import random
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from click import UsageError

from nights import figures, session
from seatrial.history.store import folder_of, write
from seatrial.judge.verdict import Verdict
from seatrial.session.comparison import in_turn, sides_of
from seatrial.site.load import load

BEGAN = datetime(2026, 11, 1, tzinfo=timezone.utc)
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


def done(sides, measured):
    return in_turn(sides, ROUNDS, 0.05, measured.opened, measured.carry_out)


def families(output):
    return [line.split()[1] for line in output.splitlines() if 'scratch: data write' in line]


def test_what_is_the_same_is_the_same_however_fast_both_get_worse(sides, measured, capsys):
    assert done(sides, measured()) is Verdict.MEASURED
    assert families(capsys.readouterr().out) == ['same']


def test_each_round_has_both_in_random_order(sides, measured):
    sessions = measured()
    done(sides, sessions)
    rounds = [tuple(sessions.labels[number : number + 2]) for number in range(0, 2 * ROUNDS, 2)]
    assert len(rounds) == ROUNDS and {tuple(sorted(pair)) for pair in rounds} == {('a', 'b')}


def test_a_verdict_of_a_session_is_that_of_all(sides, measured):
    sessions = measured(ends=lambda number: (Verdict.FAIL if number == 4 else Verdict.PASS, False))
    assert done(sides, sessions) is Verdict.FAIL


def test_a_stop_ends_the_rounds_and_compares_nothing(sides, measured, capsys):
    sessions = measured(ends=lambda number: (Verdict.MEASURED, number == 4))
    assert done(sides, sessions) is Verdict.INCOMPLETE
    assert len(sessions.labels) == 5 and families(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ('lost', 'verdict', 'compared', 'words'),
    [
        ((2, 7), Verdict.MEASURED, ['same'], ' 4, 4 '),
        (range(2 * ROUNDS), Verdict.INCOMPLETE, [], 'not compared: a side'),
    ],
)
def test_rounds_without_one_of_their_sessions_are_left_out(sides, measured, capsys, lost, verdict, compared, words):
    assert done(sides, measured(lost=lost)) is verdict
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
    done(sides, measured({'b': 0.9}))
    again, unpaired = (command('compare', 'a', 'b', f'--site={site.folder}', *more) for more in (['--paired'], []))
    assert (families(again.out), families(unpaired.out)) == (['worse'], ['undecided'])


def test_sessions_that_do_not_alternate_are_not_paired(site, sides, measured, command):
    done(sides, measured(lost=[4]))
    answer = command('compare', 'a', 'b', '--paired', f'--site={site.folder}')
    assert answer.status == 64 and 'do not alternate' in answer.err


def test_what_ab_says_is_not_said_twice(on_site, site):
    answer = on_site('run', '--ab', f'a={site.folder}', f'b={site.folder}')
    assert answer.status == 64 and 'leave out --site, --label' in answer.err
