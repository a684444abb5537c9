"""The session: what `seatrial run` writes is what ReFrame's processes read."""

from dataclasses import replace

import pytest

from seatrial.check import session as sessions
from seatrial.check.session import ENVIRONMENT, Session, current, left_out_of, new_id, save
from seatrial.judge.references import Reference
from seatrial.model.plan import Case, EngineChoice
from seatrial.site.load import load
from seatrial.site.profile import PROFILES


@pytest.fixture(autouse=True)
def forgotten():
    """Each process has one session; each of these tests has its own."""
    sessions.current.cache_clear()
    yield
    sessions.current.cache_clear()


@pytest.fixture
def session(repository, tmp_path):
    site = load(repository / 'site-config' / 'local')
    engines = (EngineChoice('fio', '/opt/fio'),)
    case = Case('Sizes', 'local:default', 'scratch', 'default', 1)
    own = {('nightly', case): (Reference('read', 1e9, -0.1, None, 'GB/s', 'contract', '2026-11-20'),)}
    return Session('s1', tmp_path, site, PROFILES['nightly'], engines, ('Sizes',), 'local', own, avoid=('n1',))


def test_a_saved_session_is_read_as_it_was(session, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(save(session)))
    assert current() == session


def test_outside_seatrial_and_reframe_there_is_none(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert current() is None


def test_names_of_sessions_sort_by_time_and_do_not_collide(monkeypatch):
    names = []
    for seconds in (0, 0, 86400):
        now = sessions.time.gmtime(seconds)
        monkeypatch.setattr(sessions.time, 'gmtime', lambda now=now: now)
        names.append(new_id())
        monkeypatch.undo()
    assert len(set(names)) == 3
    assert sorted(names)[2] == names[2]


def test_a_session_lies_in_the_state_directory_of_its_site(session):
    assert str(session.site.session_folder('s1')) == f'{session.site.state}/sessions/s1'


def test_why_an_acceptance_is_not_whole_is_kept_for_whoever_judges_it_again(session, tmp_path):
    assert left_out_of(tmp_path) == []
    save(replace(session, left_out=('narrowed to Objects',)))
    assert left_out_of(tmp_path) == ['narrowed to Objects']
