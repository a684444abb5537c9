"""The barrier of a launch's tasks: both of its sides, with threads and processes as guests, and what ends it."""

import errno
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from seatrial.engine import barrier as guests
from seatrial.engine import start_together
from seatrial.engine.barrier import VARIABLE, BarrierError, clock_identity, join
from seatrial.engine.start_together import ran, together_argv
from seatrial.job.launch import barrier as coordinator
from seatrial.job.launch.barrier import Barrier

SOON_S = 120.0  # what must happen has happened by then, or the test fails


@pytest.fixture
def meet(monkeypatch):
    """Hold a barrier whose tasks are functions: meet(do0, do1, ...) gives what each returned or raised."""

    def hold(*tasks, barrier=None, numbers=None):
        barrier = barrier or Barrier(len(tasks))
        came = list(numbers or range(len(tasks)))
        results = [None] * len(tasks)

        def take_part(index):
            try:
                with join(came[index], barrier._tasks, f'n{index}') as met:
                    results[index] = tasks[index](met)
            except Exception as error:
                results[index] = error

        with barrier:
            monkeypatch.setenv(VARIABLE, barrier.environment[VARIABLE])
            threads = [threading.Thread(target=take_part, args=(index,), daemon=True) for index in range(len(tasks))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(SOON_S)
            assert not any(thread.is_alive() for thread in threads), 'a task waits for ever'
        return results

    return hold


def until(happened):
    end = time.monotonic() + SOON_S
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def once(happened, act):
    """Do something beside the test as soon as something has happened."""
    threading.Thread(target=lambda: (until(happened), act()), daemon=True).start()


def stays(met):
    met.wait('begin')


def dies(met):
    raise RuntimeError('killed')


class TestTogether:
    def test_nobody_begins_before_the_last_one_has_come_or_before_the_agreed_moment(self, meet):
        came = []

        def task(met, delay_s):
            time.sleep(delay_s)
            came.append(time.monotonic())
            return met.wait('begin').at_s, time.monotonic()

        begun = meet(*[functools.partial(task, delay_s=delay_s) for delay_s in (0.0, 0.1, 0.05)])
        assert len({at_s for at_s, _ in begun}) == 1
        assert all(max(came) <= at_s <= now_s for at_s, now_s in begun)

    def test_they_can_meet_many_times(self, meet):
        heard = meet(*[lambda met: [met.exchange(str(number), str(number)) for number in range(50)]] * 2)
        assert heard == [[{0: str(number), 1: str(number)} for number in range(50)]] * 2

    def test_the_text_of_one_task_reaches_all_and_no_text_reaches_none(self, meet):
        long = 'n\xe4chster' + 300_000 * 'x'
        heard = meet(*[lambda met, text=text: met.exchange('talk', text) for text in ('one', '', long)])
        assert heard == [{0: 'one', 2: long}] * 3

    def test_a_report_is_left_with_the_coordinator(self, meet):
        barrier = Barrier(2)
        meet(lambda met: met.leave({'took': 1.5}), lambda met: None, barrier=barrier)
        assert barrier.reports == {0: {'took': 1.5}, 1: None}

    def test_one_task_needs_no_barrier(self, monkeypatch):
        monkeypatch.delenv(VARIABLE, raising=False)
        with join(0, 1, 'n') as met:
            assert met.wait('begin').uncertainty_s == 0
            assert met.exchange('talk', 'alone') == {0: 'alone'}
            assert met.exchange('talk') == {}


class TestWhatEndsABarrier:
    """Every other task gets the reason at once."""

    def test_a_task_that_is_lost(self, meet):
        results = meet(stays, dies, stays)
        assert [str(results[index]) for index in (0, 2)] == ['task 1 on n1 is lost'] * 2

    def test_a_task_that_has_left_or_leaves_while_others_wait(self, meet):
        left, waited_for = Barrier(2), Barrier(2)

        def waits(met):
            until(lambda: left.reports)
            met.wait('begin')

        before = meet(waits, lambda met: met.leave(), barrier=left)[0]
        assert str(before) == 'task 1 has left, and task 0 on n0 waits for it'
        meanwhile = meet(stays, lambda met: until(lambda: waited_for._coming), barrier=waited_for)[0]
        assert str(meanwhile) == 'task 1 on n1 has left, and task 0 on n0 waits for it'

    @pytest.mark.parametrize('other', [lambda met: met.wait('write'), lambda met: met.exchange('read')])
    def test_tasks_that_are_about_to_do_different_things(self, meet, other):
        errors = meet(lambda met: met.wait('read'), other)
        assert all(' is about to ' in str(error) for error in errors)

    @pytest.mark.parametrize('numbers', [[1, 1], [0, 2]])
    def test_a_task_that_comes_twice_or_was_not_invited(self, meet, numbers):
        errors = meet(stays, stays, numbers=numbers)
        assert all('came twice, or was not invited' in str(error) for error in errors)

    def test_a_task_of_another_launch(self, monkeypatch):
        with Barrier(2) as barrier:
            monkeypatch.setenv(VARIABLE, barrier.environment[VARIABLE])
            with pytest.raises(BarrierError, match='task 0 on n is one of 3, and 2 were invited'):
                join(0, 3, 'n')

    def test_a_task_that_does_not_come(self, meet, monkeypatch):
        monkeypatch.setattr(coordinator, 'CHECK_S', 0.05)
        barrier = Barrier(2)

        def waits(met):
            barrier._patience_s = 0.1
            met.wait('begin')

        assert str(meet(waits, barrier=barrier)[0]) == 'task 1 did not come within 0 s'

    def test_the_runner_that_says_so(self, meet):
        barrier = Barrier(2)
        once(lambda: barrier._coming, lambda: (barrier.abort('task 1 has failed'), barrier.abort('again')))
        assert str(meet(stays, barrier=barrier)[0]) == 'task 1 has failed'

    def test_a_task_that_comes_later_gets_the_reason_too(self, meet, monkeypatch):
        with Barrier(2) as barrier:
            monkeypatch.setenv(VARIABLE, barrier.environment[VARIABLE])
            barrier.abort('task 1 has failed')
            with pytest.raises(BarrierError, match='task 1 has failed'), join(0, 2, 'n') as met:
                met.wait('begin')

    def test_the_end_of_the_launch(self, monkeypatch):
        with Barrier(2) as barrier:
            monkeypatch.setenv(VARIABLE, barrier.environment[VARIABLE])
            met = join(0, 2, 'n')
        words = 'the launch has ended|the coordinator is gone, or refused the token'
        with pytest.raises(BarrierError, match=words), met:
            met.wait('begin')


def beside(meet, act):
    """A task says that it is fine after a stranger's act at the port, and another hears it."""

    def task(met):
        port = int(os.environ[VARIABLE].rsplit(':', 2)[1])
        with socket.create_connection(('127.0.0.1', port), SOON_S) as stranger:
            act(stranger)
        return met.exchange('talk', 'fine')

    assert meet(task, lambda met: met.exchange('talk'))[1] == {0: 'fine'}


class TestStrangers:
    """Nobody without the token has a say, and nothing that they send disturbs the others."""

    @pytest.mark.parametrize(
        'sent',
        [
            b'',
            b'GET / HTTP/1.1\r\n\r\n',
            b'{}\n',
            b'[]\n',
            b'1\n',
            b'{"token": 1}\n',
            b'{"token": "\\u00e9"}\n',
            b'{"token": "0123456789abcdef0123456789abcdef", "rank": 0, "tasks": 2, "host": "n"}\n',
            b'{"ping": true}\n',
            b'[' * 3000 + b'\n',
            b'x' * 100_000,
            b'\xff\xfe\n',
        ],
    )
    def test_they_get_no_answer_and_the_barrier_goes_on(self, meet, sent):
        def intrude(stranger):
            try:
                stranger.sendall(sent)
                stranger.shutdown(socket.SHUT_WR)
                assert stranger.recv(100) == b''
            except OSError as error:
                # Thrown out before it had finished; shutdown says ENOTCONN then, which is no ConnectionError.
                assert error.errno in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN), error

        beside(meet, intrude)

    def test_a_silent_connection_is_not_kept(self, meet, monkeypatch):
        monkeypatch.setattr(coordinator, 'CHECK_S', 0.05)
        monkeypatch.setattr(coordinator, 'STRANGER_S', 0.1)

        beside(meet, lambda stranger: stranger.recv(100))

    @pytest.mark.parametrize('number', [errno.ECONNABORTED, errno.EPROTO, errno.EPERM])
    def test_who_has_gone_before_being_let_in_changes_nothing(self, meet, number):
        barrier = AtTheDoor(2, number)
        assert meet(*[lambda met: met.exchange('talk', 'fine')] * 2, barrier=barrier) == [{0: 'fine', 1: 'fine'}] * 2
        assert barrier.refused

    @pytest.mark.parametrize('number', [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
    def test_where_no_more_connections_can_be_accepted_the_others_get_the_reason(self, meet, number):
        errors = meet(stays, stays, barrier=AtTheDoor(2, number))
        message = f'no more tasks can be let in: {os.strerror(number)}'
        assert [str(error) for error in errors] == [message] * 2

    def test_a_wrong_token_is_refused(self, monkeypatch):
        with Barrier(2) as barrier:
            right = barrier.environment[VARIABLE]
            monkeypatch.setenv(VARIABLE, right[:-1] + ('0' if right[-1] != '0' else '1'))
            with pytest.raises(BarrierError, match='refused the token'):
                join(0, 2, 'n')

    def test_a_member_that_sends_nonsense_is_lost(self, meet):
        def nonsense(met):
            met._connection.sendall(b'{"come": 1}\n')
            met._answer()

        assert str(meet(nonsense, stays)[1]) == 'task 0 on n0 is lost'


class TestWhereItIs:
    @pytest.mark.parametrize(
        ('nodes', 'listens', 'address'), [(1, '127.0.0.1', '127.0.0.1'), (2, '0.0.0.0', socket.gethostname())]
    )
    def test_only_on_several_nodes_it_listens_to_others_and_is_found_by_its_name(self, nodes, listens, address):
        with Barrier(2, nodes=nodes) as barrier, Barrier(2) as other:
            assert barrier._listener.getsockname()[0] == listens
            assert barrier.environment[VARIABLE].startswith(f'{address}:')
            tokens = {one.environment[VARIABLE].rsplit(':', 1)[1] for one in (barrier, other)}
            argv = argvs_of(1, 'true')[0]
        assert len(tokens) == 2 and all(len(token) == 32 and token not in ' '.join(argv) for token in tokens)

    @pytest.mark.parametrize('value', ['', 'nonsense', 'host:port:token'])
    def test_without_a_barrier_several_tasks_do_not_begin(self, monkeypatch, value):
        monkeypatch.setenv(VARIABLE, value)
        with pytest.raises(BarrierError, match='2 tasks cannot begin together: SEATRIAL_BARRIER names no barrier'):
            join(0, 2, 'n')

    def test_a_coordinator_that_is_not_there(self, monkeypatch):
        with Barrier(2) as barrier:
            monkeypatch.setenv(VARIABLE, barrier.environment[VARIABLE])
        with pytest.raises(BarrierError, match='cannot be joined: Connection refused'):
            join(0, 2, 'n')


class TestSilence:
    def test_a_silent_coordinator_is_given_up(self, monkeypatch):
        monkeypatch.setattr(guests, 'SILENCE_S', 0.1)
        with socket.socket() as unresponsive:
            unresponsive.bind(('127.0.0.1', 0))
            unresponsive.listen(1)
            monkeypatch.setenv(VARIABLE, f'127.0.0.1:{unresponsive.getsockname()[1]}:token')
            with pytest.raises(BarrierError, match='the coordinator has said nothing for 0 s'):
                join(0, 2, 'n')

    def test_while_others_are_waited_for_the_coordinator_is_heard_and_the_wait_goes_on(self, meet, monkeypatch):
        monkeypatch.setattr(coordinator, 'HEARTBEAT_S', 0.05)
        monkeypatch.setattr(coordinator, 'CHECK_S', 0.05)
        beats = []
        line_in = guests._Connected._line

        def heard(connected):
            line = line_in(connected)
            if b'beat' in line:
                beats.append(line)
            return line

        monkeypatch.setattr(guests._Connected, '_line', heard)

        def late(met):
            until(lambda: len(beats) >= 3)
            return met.exchange('talk', 'late')

        assert meet(lambda met: met.exchange('talk'), late) == [{1: 'late'}] * 2


class TestClocks:
    def test_two_processes_of_this_node_have_the_same(self):
        argv = [sys.executable, '-c', 'from seatrial.engine.barrier import clock_identity; print(clock_identity())']
        assert subprocess.check_output(argv, text=True).strip() == clock_identity()

    def test_where_it_is_another_the_offset_is_found_within_its_uncertainty(self, meet, monkeypatch):
        ahead = SimpleNamespace(monotonic=lambda: time.monotonic() + 1000.0)
        monkeypatch.setattr(coordinator, 'time', ahead)
        monkeypatch.setattr(coordinator, 'clock_identity', lambda: 'another')
        now = time.monotonic()
        for release in meet(*[lambda met: met.wait('begin')] * 2):
            assert now < release.at_s < now + SOON_S, "it is a time of the task's clock"
            assert abs(release.offset_s - 1000.0) <= release.uncertainty_s
            assert 0 < release.uncertainty_s < 1.0


class AtTheDoor(Barrier):
    """Its first accept() fails with this error."""

    def __init__(self, tasks, number):
        super().__init__(tasks)
        self.number, self.refused = number, False

    def _admit(self):
        real = self._listener
        if not self.refused:
            self.refused = True
            self._listener = SimpleNamespace(accept=self._fail)
        try:
            super()._admit()
        finally:
            self._listener = real

    def _fail(self):
        raise OSError(self.number, os.strerror(self.number))


def start(argvs):
    """The processes of a launch, with a barrier: their exit statuses and streams, and the coordinator's reports."""
    with Barrier(len(argvs)) as barrier:
        how = {'env': {**os.environ, 'LC_ALL': 'C', **barrier.environment}, 'text': True}
        how.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes = [subprocess.Popen(argv, **how) for argv in argvs]
        streams = [process.communicate(timeout=SOON_S) for process in processes]
    return [process.returncode for process in processes], streams, barrier.reports


def argvs_of(tasks, *argv):
    return [together_argv(sys.executable, rank, tasks, argv) for rank in range(tasks)]


SHIFTED = ('unshare', '--time', '--monotonic', '1000', '--boottime', '1000', '--fork')


@pytest.mark.needs('unshare')
def test_the_times_of_a_process_with_another_clock_are_converted_to_the_coordinators():
    if subprocess.run([*SHIFTED, 'true'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('this user may not make time namespaces')
    argvs = argvs_of(2, 'true')
    argvs[1] = (*SHIFTED, *argvs[1])
    before = time.monotonic()
    runs = ran(start(argvs)[2])
    assert runs[0].uncertainty_s == 0 < runs[1].uncertainty_s
    assert before - runs[1].uncertainty_s <= runs[1].called_s <= time.monotonic() + runs[1].uncertainty_s


class TestStartingOtherPrograms:
    def test_they_run_with_their_own_streams_and_report_when(self):
        statuses, streams, reports = start(argvs_of(2, 'sh', '-c', 'echo out; echo err >&2'))
        assert (statuses, streams) == ([0, 0], [('out\n', 'err\n')] * 2)
        for run in ran(reports).values():
            assert run.host == socket.gethostname()
            assert run.called_s <= run.started_s <= run.ended_s <= time.monotonic()

    def test_none_of_them_runs_before_all_wrappers_are_there(self, tmp_path):
        argvs = argvs_of(2, 'sh', '-c', f'ls {tmp_path}')
        begin = tmp_path / 'begun'
        argvs[1] = ('sh', '-c', 'sleep 0.3; touch "$0"; exec "$@"', str(begin), *argvs[1])
        _, streams, _ = start(argvs)
        assert [out for out, _ in streams] == ['begun\n'] * 2

    @pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
    def test_a_signal_is_passed_on(self, number):
        assert start(argvs_of(1, 'sh', '-c', f'kill -{int(number)} $$'))[0] == [-number]

    def test_a_program_that_is_not_there(self):
        statuses, streams, _ = start(argvs_of(1, '/nowhere/fio'))
        assert statuses == [start_together.NOT_STARTED]
        assert streams[0][1] == 'seatrial: task 0 cannot start /nowhere/fio: No such file or directory\n'

    def test_where_a_wrapper_is_killed_the_others_start_nothing(self):
        argvs = argvs_of(2, 'echo', 'started')
        argvs[1] = (sys.executable, '-c', KILLED_AFTER_JOINING)
        statuses, streams, _ = start(argvs)
        assert statuses == [start_together.NO_BARRIER, -signal.SIGKILL]
        assert streams[0] == ('', 'seatrial: task 0 did not start echo: task 1 on n is lost\n')


KILLED_AFTER_JOINING = """
import os, signal
from seatrial.engine.barrier import join
join(1, 2, 'n')
os.kill(os.getpid(), signal.SIGKILL)
"""
