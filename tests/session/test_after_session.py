"""What a session says last, beside its files."""

import io
from types import SimpleNamespace

from rich.console import Console

from seatrial.model.state import Change
from seatrial.report.session.file_systems import FileSystemState
from seatrial.session import after_session


def test_a_setting_that_changed_in_mid_session_is_said_on_the_console(monkeypatch, tmp_path):
    changed = FileSystemState('scratch', {}, [Change('default layout', 'c1.S4M', 'c4.S4M')], [], '')
    steady = FileSystemState('home', {}, [], [], '')
    monkeypatch.setattr(after_session, 'states', lambda cases: [changed, steady])
    for name in ('write_results', 'write_report', 'remember'):
        monkeypatch.setattr(after_session, name, lambda *ignored: None)
    monkeypatch.setattr(after_session, 'evidence_of', lambda *ignored: SimpleNamespace(cases=()))
    session = SimpleNamespace(id='20261123T000000-abcdef', folder=tmp_path, site=SimpleNamespace(state=''), only=())
    screen = Console(file=io.StringIO(), width=400)
    after_session.leave(screen, session, [], SimpleNamespace())
    notes = [line for line in screen.file.getvalue().splitlines() if line.startswith('note: ')]
    assert len(notes) == 1 and 'default layout: c1.S4M, then c4.S4M' in notes[0]
