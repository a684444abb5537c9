"""The session: what `seatrial run` writes is what ReFrame's processes read."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from seatrial.check import session as sessions
from seatrial.check.session import ENVIRONMENT, MANUAL, Session, current, left_out_of, new_id, save, settings_fault
from seatrial.check.staging import commit_of
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
    references = {('nightly', case): (Reference('read', 1e9, -0.1, None, 'GB/s', 'contract', '2026-11-20'),)}
    return Session('s1', tmp_path, site, PROFILES['nightly'], engines, ('Sizes',), 'local', references, avoid=('n1',))


def test_a_saved_session_is_read_as_it_was(session, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(save(session)))
    assert current() == session


def test_outside_seatrial_and_reframe_there_is_none(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert current() is None


def test_names_of_sessions_sort_by_time_and_do_not_collide(monkeypatch):
    times = [sessions.time.gmtime(seconds) for seconds in (0, 0, 86400)]
    monkeypatch.setattr(sessions.time, 'gmtime', iter(times).__next__)
    *first, last = (new_id() for _ in times)
    assert len({*first, last}) == 3 and max(*first, last) == last


def test_why_an_acceptance_is_not_whole_is_kept_for_whoever_judges_it_again(session, tmp_path):
    assert left_out_of(tmp_path) == []
    save(replace(session, left_out=('narrowed to Objects',)))
    assert left_out_of(tmp_path) == ['narrowed to Objects']


def git(folder, *arguments):
    argv = ['git', '-C', folder, '-c', 'user.name=A', '-c', 'user.email=a@b', *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def package(tmp_path):
    """A checkout with the package where it belongs."""
    package = tmp_path / 'src' / 'seatrial'
    package.mkdir(parents=True)
    (package / '__init__.py').write_text('')
    git(tmp_path, 'init', '-q')
    git(tmp_path, 'add', '.')
    git(tmp_path, 'commit', '-q', '-m', 'one')
    git(tmp_path, 'tag', 'v1')
    yield package
    commit_of.cache_clear()


@pytest.mark.needs('git')
@pytest.mark.parametrize(('text', 'words'), [('', ''), ('changed', '+changes')])
def test_a_checkout_is_known_by_its_commit_whatever_its_tags_with_changes_that_are_not_committed(
    package, tmp_path, text, words
):
    (package / '__init__.py').write_text(text)
    assert commit_of(package) == git(tmp_path, 'rev-parse', 'HEAD')[:12] + words


@pytest.mark.needs('git')
def test_a_package_that_lies_in_somebody_elses_repository_has_no_commit(package, tmp_path):
    installed = tmp_path / 'lib' / 'seatrial'
    installed.mkdir(parents=True)
    assert commit_of(installed) == ''
    package.rename(package.with_name('other'))
    assert commit_of(package.with_name('other')) == ''
    (tmp_path / '.git' / 'HEAD').write_text('nonsense')
    assert commit_of(tmp_path / 'src' / 'seatrial') == ''


@pytest.fixture
def fault(tmp_path, repository):
    """What is said of the local site's settings with one text replaced."""

    def said(old='', new='', site='local', system='local'):
        shutil.copytree(repository / 'site-config' / site, tmp_path / 'site')
        file = tmp_path / 'site' / 'settings.py'
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))
        return settings_fault(load(tmp_path / 'site'), system)

    return said


def test_modules_need_not_be_on_the_host_that_asks(fault, monkeypatch):
    monkeypatch.delenv('LMOD_CMD', raising=False)
    assert fault("'modules_system': 'lmod'", "'modules_system': 'lmod'", 'example-lustre', 'pelagia') == ''


@pytest.mark.parametrize(
    ('old', 'new', 'what', 'remedy'),
    [
        ("'scheduler': 'local'", "'scheduler': 'slrm'", "no such scheduler: 'slrm'", "did you mean 'slurm'?"),
        ("'launcher': 'local'", "'launcher': 'srunn'", "no such launcher: 'srunn'", "did you mean 'srun'?"),
        ("['builtin']", "['gnu']", "environments 'gnu' are not defined", "write 'environs': ['builtin']"),
        ("'max_jobs'", "'maxjobs'", "'maxjobs' was unexpected", f'see {MANUAL}'),
        ("'scheduler': 'local'", "'schedulr': 'local'", "'scheduler' is a required property", f'see {MANUAL}'),
    ],
)
def test_what_reframe_refuses_is_said_with_file_and_remedy(fault, old, new, what, remedy):
    problem = fault(old, new)
    assert problem.startswith('settings.py: ReFrame refuses it: ')
    assert what in problem and problem.endswith(remedy)
