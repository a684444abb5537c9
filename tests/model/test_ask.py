"""Probes: what they print is had in full, and what hangs is left behind with what it had printed."""

import os
import signal
import time

import pytest

from seatrial.model.ask import ask, free_room, unresponsive

HANGS = 'echo one target; echo and a fault >&2; exec sleep 60'


@pytest.mark.parametrize(
    ('argv', 'deadline_s', 'answer'),
    [
        (['no-such-program-here'], 1.0, None),
        (['sh', '-c', 'echo out; echo err >&2; exit 3'], 5.0, ('out\n', 3, 'err\n')),
        (['sh', '-c', 'yes 0123456 | head -c 1000000'], 30.0, ('0123456\n' * 125_000, 0, '')),
        pytest.param(['sh', '-c', HANGS], 1.0, ('one target\n', None, 'and a fault\n'), marks=pytest.mark.slow),
    ],
    ids=['not installed', 'error', 'more than a pipe holds', 'hangs'],
)
def test_all_that_a_probe_had_printed_by_its_end_or_its_deadline_is_its_answer(argv, deadline_s, answer):
    assert ask(argv, deadline_s) == answer


@pytest.mark.slow
def test_the_children_of_a_probe_that_hangs_end_with_it():
    wait_for_end(int(ask(['sh', '-c', 'sleep 60 & echo $!; wait'], 1.0).stdout))


@pytest.mark.slow
def test_a_probe_ends_with_the_one_who_asked(tmp_path):
    def interrupted(number, frame):
        raise KeyboardInterrupt  # no OSError, which says that a probe could not be started

    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            ask(['sh', '-c', f'echo $$ >{tmp_path}/pid; exec sleep 60'], 60.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_for_end(int((tmp_path / 'pid').read_text()))


def wait_for_end(process):
    for _ in range(1000):
        try:
            with open(f'/proc/{process}/stat') as stream:
                if stream.read().rpartition(')')[2].split()[0] in 'ZX':
                    return
        except FileNotFoundError:
            return
        time.sleep(0.01)
    raise AssertionError(f'{process} still runs')


def test_a_background_child_that_keeps_the_pipe_is_not_waited_for():
    answer = ask(['sh', '-c', 'sleep 60 & echo $!'], 30.0)
    assert answer is not None and answer.exit_status == 0
    os.kill(int(answer.stdout), 9)


def test_messages_are_in_english(monkeypatch):
    monkeypatch.setenv('LC_ALL', 'de_DE.UTF-8')
    assert ask(['sh', '-c', 'printf %s "$LC_ALL"'], 5.0).stdout == 'C'


def test_a_file_system_that_answers_is_not_mute_even_where_the_path_is_missing(tmp_path):
    assert unresponsive(str(tmp_path)) is None and unresponsive(str(tmp_path / 'missing')) is None


def test_the_room_is_what_an_ordinary_user_may_still_use(tmp_path):
    room, status = free_room(str(tmp_path)), os.statvfs(tmp_path)
    assert room is not None
    size = status.f_frsize * status.f_blocks
    assert room[0] == pytest.approx(status.f_frsize * status.f_bavail, abs=0.05 * size)
    if status.f_files:
        assert room[1] == pytest.approx(status.f_ffree, abs=0.05 * status.f_files)
    assert free_room(str(tmp_path / 'missing')) is None
