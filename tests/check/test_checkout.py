"""Which commit of Seatrial and which ReFrame plan a session."""

import subprocess

import pytest

from seatrial.check.staging import commit_of, reframe_version

pytestmark = pytest.mark.needs('git')


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


def test_a_checkout_is_known_by_its_commit_whatever_its_tags(package, tmp_path):
    assert commit_of(package) == git(tmp_path, 'rev-parse', 'HEAD')[:12]


def test_changes_that_are_not_committed_are_told(package, tmp_path):
    (package / '__init__.py').write_text('changed')
    assert commit_of(package) == f'{git(tmp_path, "rev-parse", "HEAD")[:12]}+changes'


def test_a_package_that_lies_in_somebody_elses_repository_has_no_commit(package, tmp_path):
    installed = tmp_path / 'lib' / 'seatrial'
    installed.mkdir(parents=True)
    assert commit_of(installed) == ''
    package.rename(package.with_name('other'))
    assert commit_of(package.with_name('other')) == ''


def test_a_repository_that_git_cannot_read_has_no_commit(package, tmp_path):
    (tmp_path / '.git' / 'HEAD').write_text('nonsense')
    assert commit_of(package) == ''


def test_reframe_tells_its_version():
    assert reframe_version().startswith('4.')
