"""The line of a running case, and the signals that tell a session to stop."""

import builtins
import io
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from rich.console import Console

from builders import FLAT, FLAT_TREE, plan_of, records_of
from seatrial.job.sequence.recorder import Recorder, append, write_job_state
from seatrial.judge.verdict import Criteria
from seatrial.model.codec import to_json
from seatrial.model.issued import ISSUED, DarshanLaunch, DarshanRun
from seatrial.model.record import Removal
from seatrial.model.units import MIB
from seatrial.rules.registry import finding
from seatrial.session import progress as progress_module
from seatrial.session.carry_out import stop_requests
from seatrial.session.progress import Cases, Progress, expected_s, running_line
from seatrial.workload.registry import planned_metrics
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep

BOTH = plan_of(FLAT.changed(empties_per_directory=1000), FLAT_TREE)


def so_far(plan, figures, launches=None):
    """The record of a job that still runs, after so many launches."""
    records = records_of(plan, figures)
    return records._replace(samples=records.samples[:launches], end=None)


@pytest.mark.parametrize(('sized', 'words'), [(False, 'warm-up'), (True, 'first repetition')])
def test_before_a_launch_is_measured_it_warms_up_and_then_begins(sized, words):
    records = so_far(BOTH, [5000.0], 3)
    records = records if sized else records._replace(sized=None)
    assert running_line(BOTH, records, 30.0).endswith(f'Check/lab:io/scratch/default/1n  {words}  30 s')


def test_a_launch_of_data_is_shown_with_its_bandwidth():
    line = running_line(plan_of(), so_far(plan_of(), [100.0 * MIB] * 2), 30.0)
    assert '  read@32MiB #2 100 MiB/s +- 0 %  30 s of ~' in line


def test_a_launch_of_metadata_is_shown_with_the_first_of_its_rates():
    rates = {**{name: [1.0, 1.0] for name in planned_metrics(BOTH)}, 'directory_remove@flat': [4000.0, 6000.0]}
    assert '  directory_remove@flat #2 5000 op/s +- 126 %  ' in running_line(BOTH, so_far(BOTH, rates), 30.0)
    once = so_far(BOTH, [5000.0])  # which has no interval yet
    assert '  directory_remove@flat #1  30 s of ~' in running_line(BOTH, once, 30.0)
    assert ' of ~' not in running_line(BOTH, once, 1e5)  # an expected time that is exceeded


def test_a_mean_of_nothing_has_no_spread():
    plan = plan_of(posix_semantics(tasks=2), Sweep('tree', (('two', {}),)))
    assert running_line(plan, so_far(plan, [0.0, 0.0]), 30.0).endswith('  holding@two #2 0  30 s')


def test_a_second_measurement_is_shown():
    plan = plan_of()
    records = so_far(plan, [100.0])
    records.samples.append(records.samples[-1]._replace(stage='confirm'))
    assert running_line(plan, records, 30.0).endswith('  measuring again what seems slow  30 s')


@pytest.mark.parametrize(('launches', 'waits_s'), [(0, 119.0), (0, 121.0), (2, 119.0), (2, 121.0)])
def test_a_launch_that_may_hang_is_told(launches, waits_s):
    records = so_far(plan_of(), [100.0 * MIB] * 2, launches)
    last = records.samples[-1] if launches else None
    since = last.started + last.elapsed_s if last else records.start.started
    line = running_line(plan_of(), records, since + waits_s)
    assert line.endswith('; no launch has ended for 2 min') is (waits_s > 120)


def test_after_a_launch_that_failed_a_hanging_removal_is_no_launch_that_lasts():
    records = so_far(plan_of(), [100.0 * MIB] * 2)
    records.samples[-1] = records.samples[-1]._replace(measurement=None, findings=(finding('F1', 'read: ECOMM'),))
    assert 'no launch has ended for 2.8 h since one failed (F1)' in running_line(plan_of(), records, 1e4)


@pytest.fixture
def followed(tmp_path, monkeypatch):
    """So many cases without a record; `judged` lists the case of every judgement."""
    judged, judge_case = [], progress_module.judge_case

    def counting(plan, *given):
        judged.append(plan.case)
        return judge_case(plan, *given)

    monkeypatch.setattr(progress_module, 'judge_case', counting)

    def follow(count, **changes):
        folders = [tmp_path / str(number) for number in range(count)]
        plans = [plan_of(records=str(folder), case={'check': folder.name}, **changes) for folder in folders]
        for folder in folders:
            folder.mkdir()
        return Cases(plans, {plan.case: Criteria() for plan in plans})

    follow.judged = judged
    return follow


def leave(plan, reason='finished', started=1.0, run_directory='/scratch/seatrial-s'):
    records = records_of(plan, [100.0 * MIB] * 6, started=started, run_directory=run_directory)
    recorder = Recorder(plan.records)
    for entry in (records.start, records.sized, *records.samples, records.end._replace(reason=reason)):
        recorder.write(entry)
    recorder.close()


def printed(cases, over=False):
    """The text that one look at the cases prints."""
    screen = Console(file=io.StringIO(), width=200)
    with Progress(screen, cases) as progress:
        progress.look(over)
    return screen.file.getvalue()


def test_a_look_at_a_thousand_waiting_cases_opens_no_file(followed, monkeypatch):
    cases = followed(1000)
    with monkeypatch.context() as closed:
        for module, name in ((builtins, 'open'), (io, 'open'), (os, 'open')):
            closed.setattr(module, name, lambda *given, **unused: pytest.fail(f'{given} is opened'))
        assert printed(cases) == ''


def its_log_is_read(plan):
    seen = DarshanRun((DarshanLaunch('write', plan.points[0], None, 'no log was left'),))
    (Path(plan.records) / ISSUED).write_text(json.dumps(to_json(seen)))


@pytest.mark.parametrize(
    ('planned', 'left', 'last'),
    [
        ({}, {}, lambda plan: append(plan.records, Removal(1, 1, (), 9.0))),
        ({}, {'reason': 'interrupted'}, lambda plan: write_job_state(plan.records, 'Slurm says: cancelled', '7')),
        ({'darshan': '/opt/libdarshan.so'}, {'run_directory': ''}, its_log_is_read),
    ],
    ids=['its files are removed', 'it is known why it was cut off', 'its log is read'],
)
def test_a_case_is_said_and_judged_once_nothing_more_comes_of_it(followed, planned, left, last):
    cases = followed(2, **planned)
    plan = cases.plans[0]
    leave(plan, **left)
    assert printed(cases) == ''
    last(plan)
    assert '[1/2] ' in printed(cases)
    assert cases.judge(*cases.recorded()[0], Criteria()).case == plan.case
    assert followed.judged == [plan.case]


def test_a_case_whose_files_nobody_removes_is_said_when_the_next_one_has_begun(followed):
    cases = followed(2)
    first, second = cases.plans
    leave(first)
    assert printed(cases) == ''
    leave(second, started=2.0)
    assert printed(cases).startswith('[1/2] ')


def test_once_no_job_is_waited_for_every_case_that_ended_is_said(followed):
    cases = followed(1)
    leave(*cases.plans)
    assert '[1/1] ' in printed(cases, over=True)


def test_once_all_cases_have_ended_it_is_said_what_is_still_waited_for(followed):
    screen = Console(file=io.StringIO(), width=200, force_terminal=True)
    with Progress(screen, followed(0)) as progress:
        progress.look()
        progress._live.refresh()
    assert 'all cases have ended; waiting up to 5 min for ReFrame to end' in screen.file.getvalue()


def test_the_line_that_moves_on_a_terminal_has_done_left_and_the_check_that_runs(followed):
    cases = followed(2)
    first, second = cases.plans
    leave(first, run_directory='')
    recorder = Recorder(second.records)
    recorder.write(records_of(second, [], started=time.time()).start)
    recorder.close()
    screen = Console(file=io.StringIO(), width=100, force_terminal=True)
    with Progress(screen, cases) as progress:
        progress._began -= 100  # the first case took so long
        progress.look()
        progress._live.refresh()
        shown = screen.file.getvalue()
        progress._began, progress._ended_last = progress._began - 40, progress._ended_last - 40
        later = progress._moving([])
    assert re.search(r'\[1/2 done\]  about (9|10)\d s left  1  warm-up  \d+ s', shown), shown
    assert re.search(r'about [56]\d s left$', later), later


@pytest.mark.parametrize(('plan', 'launches'), [(BOTH, 4), (plan_of(), 4)])
def test_the_time_to_come_counts_launches_and_not_metrics(plan, launches):
    records = so_far(plan, [5000.0])
    repetitions = plan.stopping.minimum + plan.stopping.extra
    assert expected_s(plan, records) == repetitions * launches * records.samples[0].elapsed_s


NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def heeded():
    """The signals have their default action; a shell that starts the tests in the background ignores them."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def screen():
    return Console(file=io.StringIO(), width=200, highlight=False, markup=False)


@pytest.mark.parametrize('number', NUMBERS)
def test_a_signal_tells_it_to_stop_and_is_answered_as_of_the_moment_and_afterwards_all_is_as_before(screen, number):
    before = [signal.getsignal(number) for number in NUMBERS]
    with stop_requests(screen, 'first') as requested:
        requested.answer = 'it waits, 90 s at most'
        assert not requested.stop
        os.kill(os.getpid(), number)
        assert requested.stop
    assert screen.file.getvalue() == f'{number.name}: it waits, 90 s at most\n'
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_every_signal_is_answered_while_something_else_is_waited_for(screen):
    with stop_requests(screen, 'it waits'):
        for count in (1, 2, 3):
            os.kill(os.getpid(), signal.SIGINT)
            end = time.monotonic() + 60.0
            while screen.file.getvalue().count('\n') < count:  # this thread prints nothing
                assert time.monotonic() < end
                time.sleep(0.01)
    assert screen.file.getvalue() == 3 * 'SIGINT: it waits\n'


def test_what_the_caller_ignores_stays_ignored(screen):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_requests(screen, 'x') as requested:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not requested.stop
    finally:
        signal.signal(signal.SIGHUP, before)
