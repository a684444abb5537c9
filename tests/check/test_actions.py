"""Actions of a session: nothing starts that is not in the journal, and whatever ends it, the undo runs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders import plan_of
from seatrial.check import action_journal
from seatrial.check.action_journal import ActionError, Journal, entries, undone
from seatrial.check.actions import Conductor, action_lines, not_allowed
from seatrial.job.directory import orphans
from seatrial.job.directory.owner import process_start
from seatrial.model.action import Action, Begun, Planned, transcript_of
from seatrial.model.codec import to_json
from seatrial.workload.scenario import scenario
from seatrial.workload.sweep import Sweep

SESSION = '20261121T020638-9f3a1c'
# A harness that dies in the middle of a start.
KILLED = """
import sys
from seatrial.check.action_journal import Journal
from seatrial.model.action import Action
state, session, *start = sys.argv[1:]
action = Action('away', tuple(start), ('touch', state + '/back'), ('test', '-e', state + '/back'), 30.0)
journal = Journal(state, session, 'scratch')
journal.begin(action)
journal.start(action)
"""


def action(tmp_path, **changes):
    """One that takes a file away and brings it back."""
    up = str(tmp_path / 'up')
    Path(up).touch()
    return Action('away', ('rm', up), ('touch', up), ('test', '-e', up), 5.0)._replace(**changes)


def plan(tmp_path, an_action, for_s=0.3):
    load, records = scenario(before_s=5, action_s=1, after_s=5), tmp_path / 'records'
    (records / 'raw').mkdir(parents=True)
    made = plan_of(load, Sweep('action'), records=str(records), actions=(an_action,))
    return made._replace(points=(load.changed(label='away', actions=(Planned('away', 0.3, for_s),)),))


def conducted(tmp_path, an_action, until=lambda record: record.complete, **more):
    """The transcript of the action on a load that begins now, and the urgent lines."""
    lines, launch = [], tmp_path / 'records' / 'raw' / '0001-measured-load@away'
    written = Path(f'{launch}.actions.jsonl')
    with Conductor(str(tmp_path), SESSION, [plan(tmp_path, an_action, **more)], lines.append):
        Path(f'{launch}.begun.json').write_text(json.dumps(to_json(Begun(time.time(), 'n1'))))
        end = time.monotonic() + 30
        while time.monotonic() < end:
            record = transcript_of(written.read_text()) if written.exists() else None
            if record and until(record):
                break
            time.sleep(0.05)
    return transcript_of(written.read_text()), lines


def test_a_check_that_takes_long_makes_no_start_late(tmp_path, monkeypatch):
    """It begins as long before the start as it took, and again."""
    waited = []
    monkeypatch.setattr(Conductor, '_reached', lambda _, time_s: waited.append(time_s) or True)
    slow = action(tmp_path, check=('sh', '-c', f'sleep 0.5; test -e {tmp_path}/up'))
    conducted(tmp_path, slow)
    check, start, undo = waited
    assert start - check >= 1.0 and undo - start == pytest.approx(0.3)


def test_an_action_is_started_in_its_time_and_undone(tmp_path):
    record, lines = conducted(tmp_path, action(tmp_path))
    assert [(step.step, step.why) for step in record.steps] == [('start', ''), ('undo', '')]
    assert record.steps[0].begun_s >= 0.3 and record.steps[1].begun_s >= 0.6
    assert not lines and not list(entries(tmp_path)) and (tmp_path / 'up').exists()


def test_a_stop_undoes_it_at_once(tmp_path):
    record, _ = conducted(tmp_path, action(tmp_path), lambda record: record.steps, for_s=3600)
    assert [step.step for step in record.steps] == ['start', 'undo']
    assert (tmp_path / 'up').exists() and not list(entries(tmp_path))


def test_a_start_that_fails_or_does_not_end_is_undone_too(tmp_path):
    (tmp_path / 'late').mkdir()
    for folder, start, why in ((tmp_path, ('false',), 'exited'), (tmp_path / 'late', ('sleep', '60'), 'within 1 s')):
        an_action = action(folder, start=start, timeout_s=1.0)
        record, lines = conducted(folder, an_action)
        assert [step.step for step in record.steps] == ['start', 'undo']
        assert why in record.steps[0].why and why in lines[0]


def test_a_failed_undo_is_reported_and_stays_in_the_journal(tmp_path):
    fails = ('sh', '-c', 'echo no such target >&2; exit 3')
    record, lines = conducted(tmp_path, action(tmp_path, undo=fails, timeout_s=1.0))
    assert 'no such target' in record.steps[1].why
    assert any('NOT UNDONE' in line for line in lines)
    (left,) = entries(tmp_path)
    assert left.entry.action.name == 'away'
    with pytest.raises(ActionError, match='is still in effect'):
        Journal(str(tmp_path), 'another', 'scratch').begin(left.entry.action)
    with pytest.raises(ActionError, match='seatrial clean --yes'):
        Conductor(str(tmp_path), 'another', [plan_of(actions=(left.entry.action,))], lines.append).__enter__()


def test_nothing_is_started_on_storage_that_is_not_healthy(tmp_path):
    an_action = action(tmp_path)
    (tmp_path / 'up').unlink()
    with pytest.raises(ActionError, match='not healthy'):
        Conductor(str(tmp_path), SESSION, [plan(tmp_path, an_action)], print).__enter__()
    assert not (tmp_path / 'actions').exists()


def test_what_is_conducted_is_the_storage_system_that_was_typed(tmp_path):
    planned = plan(tmp_path, action(tmp_path))
    assert not_allowed([planned], 'scratch') == [] == not_allowed([plan_of()], '')
    for typed in ('', 'home', 'SCRATCH'):
        assert '--destructive scratch' in not_allowed([planned], typed)[0]
    (line,) = action_lines(planned)
    assert f'start: rm {tmp_path}/up' in line and f'undo: touch {tmp_path}/up' in line


def counting(tmp_path, command):
    """A count of messages in a log: two at first, and three more after every start."""
    log, up = tmp_path / 'log', tmp_path / 'up'
    log.write_text('slow I/O\n' * 2)
    start = ('sh', '-c', f'rm {up}; for i in 1 2 3; do echo slow I/O >>{log}; done')
    return action(tmp_path, start=start, counting=('sh', '-c', command.format(log=log)))


def test_by_how_much_the_count_rose_in_the_action_is_in_the_transcript(tmp_path):
    an_action = counting(tmp_path, 'echo of the log:; grep -c slow {log}')
    record, lines = conducted(tmp_path, an_action)
    steps = [(step.step, step.counted, step.why) for step in record.steps]
    assert steps == [('start', None, ''), ('undo', None, ''), ('count', 3, '')]
    assert not lines and not list(entries(tmp_path))
    (line,) = action_lines(plan(tmp_path / 'other', an_action))
    assert 'count: sh -c' in line


@pytest.mark.parametrize(
    ('command', 'why'),
    [
        ('echo no such log >&2; exit 2', 'exited with 2: no such log'),
        ('echo 3; exit 1', 'exited with 1'),
        ('cat /dev/null {log}.none || true', "printed '' last"),
        ('echo 5; echo 5 messages', "printed '5 messages' last"),
        ('echo -5', "printed '-5' last"),
        ('echo $((10 - $(grep -c slow {log})))', 'fell from 8 to 5'),
        ('test -e {log}.second && exit 7; touch {log}.second; echo 2', 'exited with 7'),
    ],
)
def test_a_count_without_a_number_is_unknown_but_the_action_is_undone(tmp_path, command, why):
    record, lines = conducted(tmp_path, counting(tmp_path, command))
    assert [(step.step, step.why) for step in record.steps[:2]] == [('start', ''), ('undo', '')]
    assert record.steps[2].counted is None and why in record.steps[2].why
    assert any(why in line for line in lines)
    assert (tmp_path / 'up').exists() and not list(entries(tmp_path))


def test_a_count_that_hangs_is_given_less_time_than_its_action(tmp_path, monkeypatch):
    monkeypatch.setattr(action_journal, 'ANSWER_S', 0.2)
    number, why = action_journal.count_of(action(tmp_path, counting=('sleep', '60'), timeout_s=3600.0))
    assert number is None and 'within 0.2 s' in why


def test_an_undo_waits_for_its_session_and_ends_a_start_that_outlives_it(tmp_path):
    """Killed with SIGKILL while its start runs: that start would go on."""
    argv = [sys.executable, '-c', KILLED, str(tmp_path), SESSION, 'sh', '-c', f'echo $$ > {tmp_path}/pid; sleep 60']
    harness = subprocess.Popen(argv)
    while not (tmp_path / 'pid').exists() or not (tmp_path / 'pid').read_text():
        time.sleep(0.05)
    (entry,) = entries(tmp_path)
    assert undone(str(tmp_path), entry)  # it is at work
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    pid = int((tmp_path / 'pid').read_text())
    assert process_start(pid)
    leader = Path(orphans.leader_of(str(tmp_path), SESSION))
    leader.parent.mkdir(parents=True, exist_ok=True)
    leader.write_text(json.dumps(to_json(entry.entry.owner)))
    assert undone(str(tmp_path), entry) == ''
    assert (tmp_path / 'back').exists() and not list(entries(tmp_path))
    assert process_start(pid) is None


def test_what_another_could_have_planted_is_named_and_never_run(tmp_path):
    journal = Journal(str(tmp_path), SESSION, 'scratch')
    mark = tmp_path / 'ran'
    journal.begin(action(tmp_path, undo=('touch', str(mark)), check=('true',)))
    journal.leave()
    folder = tmp_path / 'actions'
    text = (folder / 'scratch.json').read_text()
    os.link(folder / 'scratch.json', folder / 'home.json')  # two names
    (folder / 'link.json').symlink_to(folder / 'scratch.json')
    (folder / 'other.json').write_text(text)  # of scratch, by what it says
    (folder / 'open.json').write_text(text.replace('"scratch"', '"open"'))
    (folder / 'open.json').chmod(0o666)
    (folder / 'cut.json').write_text(text[:40])
    (folder / 'dir.json').mkdir()
    os.mkfifo(folder / 'pipe.json')
    by_name = {entry.path.stem: entry for entry in entries(tmp_path)}
    assert set(by_name) == {'scratch', 'home', 'link', 'other', 'open', 'cut', 'dir', 'pipe'}
    for entry in by_name.values():
        assert entry.entry is None and entry.why and str(entry.path) in entry.description()
        assert undone(str(tmp_path), entry) == entry.why
    assert not mark.exists()
