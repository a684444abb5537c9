"""Probes: what they print is had in full, and what hangs is left behind with what it had printed."""

import os
import signal
import time

import pytest

from seatrial.model.ask import ask, free_room, unresponsive


def test_a_probe_that_hangs_is_left_at_its_deadline():
    assert ask(['sleep', '60'], 0.05) == ('', None, '')


@pytest.mark.slow
def test_what_a_probe_had_printed_before_it_hung_is_used():
    answer = ask(['sh', '-c', 'echo one target; echo and a fault >&2; exec sleep 60'], 1.0)
    assert answer == ('one target\n', None, 'and a fault\n')


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


def test_a_probe_that_is_not_installed_is_none_and_another_answers():
    assert ask(['no-such-program-here'], 1.0) is None
    assert ask(['printf', 'yes'], 5.0) == ('yes', 0, '')


def test_an_exit_status_and_an_error_are_told_apart_from_the_answer():
    assert ask(['sh', '-c', 'echo out; echo err >&2; exit 3'], 5.0) == ('out\n', 3, 'err\n')


def test_more_than_a_pipe_holds_is_read_in_full():
    assert ask(['sh', '-c', 'yes 0123456 | head -c 1000000'], 30.0) == ('0123456\n' * 125_000, 0, '')


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
