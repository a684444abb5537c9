"""Monitors of servers: what their counters come to, and a server that does not answer, dies or comes back."""

import time
from pathlib import Path

from seatrial.job.sequence import monitors
from seatrial.job.sequence.monitors import SECTOR, Counters, ask_servers, counters_of
from seatrial.model.plan import Monitor
from seatrial.model.telemetry import ServerGap, ServerLook
from stand_in import WAIT_S, Kept
from transcript import transcripts

SEEN = transcripts('proc')['four-seconds-of-dd']['out'].splitlines()
STARTS = [number for number, line in enumerate(SEEN) if len(line.split()) == 2]
ROUNDS = [SEEN[start:end] for start, end in zip(STARTS, [*STARTS[1:], len(SEEN)], strict=True)]
FIRST = Counters(0.0, {'sda': 0, 'sdb': 0}, 0, 0, 0, 0, 0, 0)
SECOND = Counters(0.0, {'sda': 300, 'sdb': 900}, 100, 200, 300, 400, 5, 6)


def lines_of(rounds, uptimes):
    """The lines on a server whose rounds come at these times since its boot."""
    kept = []
    summed = monitors._Summed('oss1', kept.append)
    for counters, uptime_s in zip(rounds, uptimes, strict=True):
        summed.add(counters._replace(uptime_s=float(uptime_s)))
    return kept


def gone(number):
    """True if a process has ended, or ends soon."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        try:
            if Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()[0] == 'Z':
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_round_has_the_sums_of_whole_disks_and_real_cards():
    counters = counters_of(ROUNDS[0])
    assert (counters.uptime_s, counters.busy_ms) == (3016.65, {'vda': 387736})
    assert (counters.read, counters.written) == (SECTOR * 237566098, SECTOR * 412582408)
    assert (counters.received, counters.sent) == (4834110183, 4125853)  # of eth0, and not of lo
    assert (counters.packets_in, counters.packets_out) == (93523, 50046)


def test_of_a_round_that_is_cut_short_the_sums_that_there_are_are_whole():
    whole = counters_of(ROUNDS[1])
    cut = [counters_of(ROUNDS[1][:end]) for end in range(len(ROUNDS[1]))]
    assert cut[:14] == [None] * 14  # without a card it has not come to its end
    assert {(counters.read, counters.busy_ms['vda']) for counters in cut[14:]} == {(whole.read, whole.busy_ms['vda'])}
    assert counters_of([*ROUNDS[1][:-1], ROUNDS[1][-1][:30]]) is None


def test_rates_are_those_between_two_rounds_by_the_clock_of_the_server():
    (look,) = lines_of([FIRST, SECOND], [10, 12])
    assert (look.busy, look.disk, look.length_s) == (0.45, 'sdb', 2.0)
    assert look[6:] == (50.0, 100.0, 150.0, 200.0, 2.5, 3.0)


def test_a_server_that_was_booted_meanwhile_begins_anew():
    assert [look.read for look in lines_of([SECOND, FIRST, SECOND], [500, 20, 21])] == [100.0]


def test_after_an_hour_a_line_sums_up_ten_seconds(monkeypatch):
    monkeypatch.setattr(monitors, 'STEPS', ((0.0, 1.0), (float('inf'), 10.0)))
    assert [look.samples for look in lines_of([SECOND] * 22, range(22))] == [9, 9]


def test_this_machine_is_asked_until_it_is_stopped():
    kept = Kept()
    stop = ask_servers((Monitor('here', ('sh', '-c')),), kept.write)
    looks = kept.wait_for(ServerLook, 2)
    assert stop()
    assert {look.server for look in looks} == {'here'} and not kept.of(ServerGap)
    assert all(look.samples == 1 and 0 <= look.busy <= 1 for look in looks)


def test_a_server_that_refuses_is_a_gap_with_its_words_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(monitors, 'RETRY_S', 0.05)
    kept = Kept()
    refusing = Monitor('oss1', ('sh', '-c', 'echo ssh: no route to host >&2; exit 255'))
    stop = ask_servers((refusing, Monitor('oss2', ('/no/such',)), Monitor('oss3', ('sh', '-c'))), kept.write)
    kept.wait_for(ServerLook, 1)
    kept.wait_for(ServerGap, 4)
    assert stop()
    assert {(gap.server, gap.why) for gap in kept.of(ServerGap)} == {
        ('oss1', 'ssh: no route to host'),
        ('oss2', '/no/such: No such file or directory'),
    }


def test_one_that_hangs_is_ended_with_all_that_it_has_started(tmp_path):
    started = tmp_path / 'started'
    hanging = ('sh', '-c', f'sleep 1000 & echo $! >{started}; sleep 1000')
    stop = ask_servers((Monitor('oss1', hanging),), Kept().write)
    end = time.monotonic() + WAIT_S
    while not (started.exists() and started.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    assert stop()
    assert gone(int(started.read_text()))
