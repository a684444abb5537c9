"""`ci/quickstart --offline`: what it says where something is missing, and the whole way (long)."""

import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def tree(repository, tmp_path):
    """A clone with nothing in it but what quickstart reads before it installs anything."""
    for name in ('ci/quickstart', 'ci/environment', 'ci/requirements.txt', 'pyproject.toml'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(repository / name, tmp_path / name)
    return tmp_path


def quickstart(tree, *arguments):
    return subprocess.run([tree / 'ci/quickstart', *arguments], capture_output=True, text=True, timeout=300)


def test_without_a_wheelhouse_the_mend_is_named(tree):
    done = quickstart(tree, '--offline')
    assert done.returncode == 64
    assert f'{tree}/wheelhouse is not there; make an archive with ci/bundle' in done.stderr
    assert not (tree / '.venv').exists()


def test_a_python_that_the_wheelhouse_is_not_for_is_named(tree):
    (tree / 'wheelhouse').mkdir()
    (tree / 'wheelhouse' / 'README').write_text('For Python 2.7.\n')
    done = quickstart(tree, '--offline')
    assert done.returncode == 70
    assert f'is not among the versions in {tree}/wheelhouse/README' in done.stderr


@pytest.mark.long
def test_an_archive_installs_and_measures_without_a_network(repository, tmp_path):
    """Packages come from PyPI once; then nothing can be reached, because the machine has no network any more."""
    alone = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
    if subprocess.run([*alone, 'true'], capture_output=True).returncode:
        pytest.skip('a network namespace with its loopback is not permitted here')
    archive = tmp_path / 'offline.tar'
    made = subprocess.run([repository / 'ci/bundle', archive], capture_output=True, text=True, timeout=1800)
    if made.returncode and 'Could not fetch' in made.stderr:
        pytest.skip('PyPI cannot be reached')
    assert made.returncode == 0, made.stderr
    subprocess.run(['tar', '-xf', archive, '-C', tmp_path], check=True)
    (home,) = tmp_path.glob('seatrial-*/')
    argv = [home / 'ci/quickstart', '--offline', 'EmptyDirectories', '--engine=posixops']
    done = subprocess.run([*alone, *argv], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '= MEASURED' in done.stdout and sys.version_info >= (3, 10)
