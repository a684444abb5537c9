"""The sampler reads counters about once a second, and none of its failures changes anything in the run."""

import itertools
import operator
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from builders import SMALL, plan_of
from seatrial.filesystem.base import Driver, Exchanged, Meter, no_meter
from seatrial.filesystem.posix import Posix
from seatrial.job.sequence import telemetry
from seatrial.job.sequence.telemetry import Watching, observed, telemetry_in
from seatrial.model.ask import ask
from seatrial.model.telemetry import AFTER, BEFORE, READ, WRITTEN, Ended, Gap, Look, Pace, Served, Watch
from stand_in import WAIT_S, Kept

READY = Meter('a counter of the test', '', lambda deadline_s: {READ: 1, WRITTEN: 2})


class Counting(Driver):
    """A type with this meter; its counter of a job is the length of the output that it is given."""

    def __init__(self, meter=READY):
        self._meter = meter

    def meter(self, path):
        if isinstance(self._meter, Exception):
            raise self._meter
        return self._meter

    def served(self, text, job):
        return (Served('OST0', 'write_bytes', 1, len(text), job),), ''


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(telemetry, 'INTERVAL_S', 0.01)


@pytest.fixture
def target():
    return plan_of().target


@pytest.fixture
def records(tmp_path):
    (tmp_path / 'raw').mkdir()
    return str(tmp_path)


def counting(*answers):
    """A meter that gives these answers in turn, and the last one again for ever."""
    coming = itertools.chain(answers, itertools.repeat(answers[-1]))

    def look(deadline_s):
        answer = next(coming)
        return answer() if callable(answer) else answer

    return Meter('a counter of the test', '', look)


def watched(meter, kind, number, interval_s=0.01):
    """Stops a sampler once it has written `number` lines of a kind; returns its log and the sampler."""
    log = Kept()
    watching = Watching(meter, log, interval_s)
    log.wait_for(kind, number)
    assert watching.stop()
    return log, watching


def test_it_reads_at_once_and_again_when_it_is_stopped():
    log, _ = watched(READY, Look, 1, 3600.0)
    assert [type(line) for line in log.lines] == [Watch, Look, Look, Ended]
    assert log.of(Look)[0].counters == {READ: 1, WRITTEN: 2}


def late():
    time.sleep(0.3)
    return {READ: 1}


@pytest.mark.parametrize(
    ('fails', 'why'),
    [({}, 'did not answer'), (lambda: [][0], "IndexError('list index"), (late, 'answered after')],
    ids=['silent', 'broken', 'late'],
)
def test_a_reading_without_an_answer_in_time_is_a_gap_and_the_next_reading_counts_again(monkeypatch, fails, why):
    monkeypatch.setattr(telemetry, 'PATIENCE_S', 0.2)
    log, _ = watched(counting({READ: 1}, fails, {READ: 3}), Look, 2)
    assert why in log.of(Gap)[0].why and log.lines.index(log.of(Gap)[0]) < log.lines.index(log.of(Look)[1])
    for clock in ('clock_s', 'time'):
        assert log.of(Look) == sorted(log.of(Look), key=operator.attrgetter(clock))


def test_a_reading_that_hangs_gives_gaps_with_growing_pauses_and_no_second_reading_beside_it(monkeypatch):
    monkeypatch.setattr(telemetry, 'PATIENCE_S', 0.02)
    running, most = [], []

    def look(deadline_s):
        running.append(1)
        most.append(len(running))
        answer = ask([sys.executable, '-c', 'import time; time.sleep(3600)'], deadline_s)
        running.pop()
        return {} if answer is None or answer.exit_status is None else {READ: 1}

    log, _ = watched(Meter('what hangs', '', look), Gap, 4, 0.02)
    gaps = log.of(Gap)[:4]  # the gap at its stop comes without a pause
    assert not log.of(Look) and max(most) == 1
    # The pause from the end of a gap to the start of the next one doubles; a busy machine can only lengthen it.
    ends, begins = ([gap.clock_s + side * gap.cost_s / 2 for gap in gaps] for side in (1, -1))
    apart = [begin - end for end, begin in zip(ends, begins[1:], strict=False)]
    assert all(seconds >= 0.02 * 2 ** (i + 1) - 1e-6 for i, seconds in enumerate(apart))


def test_the_pause_after_gaps_has_an_end(monkeypatch):
    monkeypatch.setattr(telemetry, 'MAX_PAUSE_S', 0.03)
    assert watched(counting({}), Gap, 8)[1]._pause_s == 0.03


def test_costly_readings_are_taken_less_often_and_the_file_has_the_new_interval(monkeypatch):
    monkeypatch.setattr(telemetry, 'DEAR_S', 0.001)
    log, _ = watched(counting(lambda: time.sleep(0.01) or {READ: 1}), Pace, 1)
    pace = log.of(Pace)[0]  # on a busy machine later readings can cost more
    assert pace.interval_s >= 10.0 and 'a reading takes ' in pace.why
    assert sum(isinstance(line, Look) for line in log.lines[: log.lines.index(pace)]) == telemetry.COSTS


def test_one_costly_reading_among_cheap_ones_does_not_change_the_interval(monkeypatch):
    monkeypatch.setattr(telemetry, 'DEAR_S', 30.0)
    log = Kept()
    watching = Watching(READY, log, 1.0)
    for cost_s in (0.1, 100.0, 0.1, 0.2, 100.0, 100.0, 0.1):
        watching._keep_pace(cost_s)
    assert not log.of(Pace)
    watching._keep_pace(100.0), watching._keep_pace(90.0), watching._keep_pace(100.0)
    assert [pace.interval_s for pace in log.of(Pace)] == [3.0]
    watching.stop()


def test_where_nothing_can_be_counted_no_thread_is_started_and_the_reason_is_kept(monkeypatch, target, records):
    log = Kept()
    before = threading.active_count()
    watching = Watching(no_meter('tmpfs keeps its files in memory'), log, 1.0)
    assert threading.active_count() == before and watching.stop()
    assert [line.why_not for line in log.lines] == ['tmpfs keeps its files in memory']
    with observed(target, records, Counting(ValueError('a fault')), {}):
        pass
    assert "ValueError('a fault')" in telemetry_in(records).watch.why_not
    monkeypatch.setattr(threading.Thread, 'start', Mock(side_effect=RuntimeError("can't start new thread")))
    assert Watching(READY, log, 1.0).stop(), 'a user may have no more threads'


def test_a_counter_that_never_answers_is_left_behind(monkeypatch, target, records):
    monkeypatch.setattr(telemetry, 'LAST_S', 0.05)
    for_ever = threading.Event()
    threading.Timer(WAIT_S / 2, for_ever.set).start()  # a run that waited for the counter would get an answer
    with observed(target, records, Counting(counting(lambda: for_ever.wait() and {})), {}):
        pass
    watched = telemetry_in(records)
    for_ever.set()
    assert (watched.looks, watched.gaps, watched.ended) == ([], [], None)
    assert [sizes.when for sizes in watched.rpc_sizes] == [BEFORE]  # a target that does not answer is not asked again


def test_records_that_cannot_be_written_stop_no_run(target, tmp_path):
    with observed(target, str(tmp_path / 'none'), Counting(), {}):
        pass
    assert telemetry_in(str(tmp_path / 'none')) is None


def test_an_error_of_the_body_is_passed_on_and_no_command_runs_after_it(target, records):
    asking = target._replace(telemetry=('true',))
    with pytest.raises(KeyError, match='the run'), observed(asking, records, Counting(), {}):
        raise KeyError('the run')
    watched = telemetry_in(records)
    assert watched.ended is not None
    assert [output.when for output in (*watched.rpc_sizes, *watched.servers)] == [BEFORE, BEFORE]


class TestTheCommandToTheServers:
    def run(self, target, records, *command):
        with observed(target._replace(telemetry=command), records, Counting(), {}):
            pass
        return telemetry_in(records).servers

    def test_it_runs_before_and_after_and_its_output_is_kept_unchanged(self, target, records):
        before, after = self.run(target, records, 'sh', '-c', 'echo counted; echo warned >&2')
        assert [output.when for output in (before, after)] == [BEFORE, AFTER]
        for output in (before, after):
            assert (output.exit_status, output.why_not) == (0, '')
            assert Path(records, 'raw', f'{output.raw}.out').read_text() == 'counted\n'
            assert Path(records, 'raw', f'{output.raw}.err').read_text() == 'warned\n'

    @pytest.mark.parametrize(
        ('command', 'status', 'why'),
        [
            (['/no/such/program'], None, '/no/such/program is not installed on this node'),
            (['sh', '-c', 'echo part; exit 7'], 7, 'it ended with 7'),
            (['sh', '-c', 'echo part; sleep 3600'], None, 'it did not end within'),
        ],
    )
    def test_one_that_fails_is_recorded_with_the_reason(self, target, records, monkeypatch, command, status, why):
        if 'sleep' in command[-1]:
            monkeypatch.setattr(telemetry, 'SERVERS_S', 0.5)
        for output in self.run(target, records, *command):
            assert output.exit_status == status and why in output.why_not
            if status:  # on a busy machine a killed command may not have printed it
                assert Path(records, 'raw', f'{output.raw}.out').read_text() == 'part\n'

    @pytest.mark.parametrize(
        ('script', 'background'),
        [
            ('echo 2.5e6', {BEFORE: 2.5e6, AFTER: 2.5e6}),
            ('echo; echo " 0 "', {BEFORE: 0.0, AFTER: 0.0}),
            ('echo 5 GB/s', {}),
            ('echo nan', {}),
            ('echo -1', {}),
            ('echo 7; exit 1', {}),
        ],
    )
    def test_one_number_and_nothing_else_is_the_background_load(self, target, records, script, background):
        loads = {}
        with observed(target._replace(telemetry=('sh', '-c', script)), records, Counting(), loads):
            pass
        assert loads == background

    def test_the_type_finds_the_counters_of_the_job_in_the_output(self, target, records, monkeypatch):
        monkeypatch.setenv('SLURM_JOB_ID', '4242')
        assert self.run(target, records) == [], 'without a command no program is run'
        for output in self.run(target, records, 'echo', 'abc'):
            assert (output.job, output.counts) == ('4242', (Served('OST0', 'write_bytes', 1, 4, '4242'),))
        monkeypatch.delenv('SLURM_JOB_ID')
        assert {(output.job, output.counts) for output in self.run(target, records, 'echo')[-2:]} == {('', ())}


@pytest.mark.usefixtures('short_launches', 'often')
class TestInARun:
    def run(self, lab, stub_fio, monkeypatch, meter):
        monkeypatch.setattr(Posix, 'meter', lambda self, path: meter)
        monkeypatch.setattr(Posix, 'exchanged', lambda self, path: Exchanged())  # rule T25 has no counters
        return lab.run(lab.plan(stub_fio(), **SMALL))

    def test_it_begins_before_the_first_launch_and_ends_after_the_last(self, lab, stub_fio, monkeypatch):
        ran = self.run(lab, stub_fio, monkeypatch, READY)
        watched = telemetry_in(ran.plan.records)
        launches = ran.records.samples
        assert ran.end.reason == 'finished' and watched.truncated == 0
        assert watched.watch.time <= min(sample.started for sample in launches)
        assert watched.ended.time >= max(sample.started + sample.elapsed_s for sample in launches) - 0.01
        assert watched.looks[-1].clock_s > watched.looks[0].clock_s

    def test_a_launch_in_which_nothing_moved_is_labelled_with_the_silent_target(self, lab, stub_fio, monkeypatch):
        monkeypatch.setattr(telemetry, 'WAIT_S', 1e-9)
        ran = self.run(lab, stub_fio, monkeypatch, READY._replace(waited_for=lambda deadline_s: ONE))
        labels = [label.sentence for label in ran.findings('P17b')]
        assert labels and all(' while no answer came from OST1' in label for label in labels)
        assert all(sample.valid for sample in ran.measured)


ONE, TWO, NONE = frozenset({'OST1'}), frozenset({'OST1', 'OST2'}), frozenset()


@pytest.mark.parametrize(
    ('waits', 'since_s', 'clause'),
    [
        ([NONE, TWO, ONE, ONE, ONE, ONE, ONE], 0.0, 'nothing moved for 5 s, while no answer came from OST1'),
        ([TWO] * 7, 1.0, 'nothing moved for 5 s, while no answer came from OST1, OST2'),
        ([ONE] * 7, 2.0, ''),  # most of the wait was before the launch
        ([ONE, ONE, ONE, NONE, ONE, ONE, ONE], 0.0, ''),
        ([ONE, ONE, ONE, TWO - ONE, TWO - ONE, TWO - ONE, TWO - ONE], 0.0, ''),
    ],
)
def test_the_longest_wait_of_a_launch_is_for_the_same_targets_throughout(waits, since_s, clause):
    assert telemetry.waited([(float(at_s), targets) for at_s, targets in enumerate(waits)], since_s) == clause


def test_targets_are_asked_for_only_while_nothing_moves():
    meter = counting({WRITTEN: 1}, {WRITTEN: 2}, {WRITTEN: 3})._replace(waited_for=lambda deadline_s: ONE)
    assert [targets for _, targets in watched(meter, Look, 5)[1].waits][:5] == [NONE, NONE, NONE, ONE, ONE]


def test_a_truncated_file_is_read_as_far_as_it_goes(target, records):
    with observed(target, records, Counting(), {}):
        pass
    path = Path(records, 'telemetry.jsonl')
    whole = telemetry_in(records)
    path.write_bytes(path.read_bytes()[:-9] + b'\xff\xfe')
    cut = telemetry_in(records)
    assert (cut.truncated, cut.looks, cut.watch) == (1, whole.looks, whole.watch)
