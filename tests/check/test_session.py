"""The session that `seatrial run` writes and ReFrame's processes read."""

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
def without_cached_session():
    """A process reads its session once; every test here needs a new one."""
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


def test_a_process_outside_seatrial_and_reframe_has_no_session(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert current() is None


def test_session_names_sort_by_time_and_are_unique(monkeypatch):
    times = [sessions.time.gmtime(seconds) for seconds in (0, 0, 86400)]
    monkeypatch.setattr(sessions.time, 'gmtime', iter(times).__next__)
    *first, last = (new_id() for _ in times)
    assert len({*first, last}) == 3 and max(*first, last) == last


def test_a_saved_session_keeps_the_reasons_for_an_incomplete_acceptance(session, tmp_path):
    assert left_out_of(tmp_path) == []
    save(replace(session, left_out=('narrowed to Objects',)))
    assert left_out_of(tmp_path) == ['narrowed to Objects']


def git(folder, *arguments):
    argv = ['git', '-C', folder, '-c', 'user.name=A', '-c', 'user.email=a@b', *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def package(tmp_path):
    """A Git checkout with the package in src/seatrial."""
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
@pytest.mark.parametrize(('text', 'mark'), [('', ''), ('changed', '+changes')])
def test_a_checkout_with_tags_has_its_commit_and_a_mark_of_uncommitted_changes(package, tmp_path, text, mark):
    (package / '__init__.py').write_text(text)
    assert commit_of(package) == git(tmp_path, 'rev-parse', 'HEAD')[:12] + mark


@pytest.mark.needs('git')
def test_a_package_inside_another_repository_has_no_commit(package, tmp_path):
    installed = tmp_path / 'lib' / 'seatrial'
    installed.mkdir(parents=True)
    assert commit_of(installed) == ''
    package.rename(package.with_name('other'))
    assert commit_of(package.with_name('other')) == ''
    (tmp_path / '.git' / 'HEAD').write_text('nonsense')
    assert commit_of(tmp_path / 'src' / 'seatrial') == ''


@pytest.fixture
def fault(tmp_path, repository):
    """Returns the fault that ReFrame finds in a site's settings after one text is replaced."""

    def fault_after(old='', new='', site='local', system='local'):
        shutil.copytree(repository / 'site-config' / site, tmp_path / 'site')
        file = tmp_path / 'site' / 'settings.py'
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))
        return settings_fault(load(tmp_path / 'site'), system)

    return fault_after


def test_settings_with_modules_are_valid_on_a_host_without_lmod(fault, monkeypatch):
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
def test_settings_that_reframe_refuses_are_reported_with_file_and_remedy(fault, old, new, what, remedy):
    problem = fault(old, new)
    assert problem.startswith('settings.py: ReFrame refuses it: ')
    assert what in problem and problem.endswith(remedy)
