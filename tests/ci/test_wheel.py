"""The wheel, installed into an empty environment away from the checkout: it has all that a site needs."""

import os
import re
import subprocess
import sys
import sysconfig

import pytest

import seatrial

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def installed(repository, tmp_path_factory):
    """Call a program of the environment in a folder with a site that has measured. What Seatrial depends on is that
    of the tests, by a .pth file: the one of their own Seatrial does not count there (Python's site module)."""
    home = tmp_path_factory.mktemp('wheel')
    python = home / 'environment' / 'bin' / 'python'
    pip = [sys.executable, '-m', 'pip', '--quiet', '--disable-pip-version-check']
    alone = ['--no-index', '--no-deps']
    for argv in (
        [*pip, 'wheel', *alone, '--no-build-isolation', '--wheel-dir', home, repository],
        [sys.executable, '-m', 'venv', '--without-pip', home / 'environment'],
        [*pip, '--python', python, 'install', *alone, home / f'seatrial-{seatrial.__version__}-py3-none-any.whl'],
    ):
        subprocess.run(argv, check=True, timeout=120)
    (folder,) = (home / 'environment' / 'lib').glob('python*/site-packages')
    (folder / 'tests.pth').write_text(sysconfig.get_path('purelib'))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(('SEATRIAL_', 'PYTHON'))}

    def call(program, *arguments):
        argv = [python, program, *arguments] if os.path.isabs(program) else [python.with_name(program), *arguments]
        return subprocess.run(argv, cwd=home, env=environment, capture_output=True, text=True, timeout=300)

    for argv in (['init', 'site'], ['run', '--site=site', '--profile=first', 'SharedLog']):
        done = call('seatrial', *argv)
        assert done.returncode == 0, done.stdout + done.stderr
    return call


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (['doctor'], r'\+ ok  seatrial .*commit [0-9a-f]{12}'),
        (['list', '--profile=first'], r'SharedLog +appends to a shared log'),
        (['report'], r'index\.html'),
        (['verify'], '^verified  session '),
    ],
)
def test_a_command_works_without_a_checkout(installed, argv, said):
    done = installed('seatrial', *argv, '--site=site')
    assert done.returncode == 0, done.stderr
    assert re.search(said, done.stdout, re.MULTILINE)


def test_plain_reframe_finds_the_checks_that_came_along_and_those_of_the_site(installed):
    assert installed('seatrial', 'init', '--check', 'ReadBack', 'site').returncode == 0
    reframe = os.path.join(os.path.dirname(sys.executable), 'reframe')
    said = installed(reframe, '-C', 'site/settings.py', '-l').stdout
    assert {'ReadBack', 'SharedLog'} <= set(re.findall(r'^- (\w+)', said, re.MULTILINE))


def test_the_commit_is_told_with_the_version_by_the_module_too(installed):
    said = installed('python', '-m', 'seatrial', '--version').stdout
    assert re.fullmatch(
        rf'seatrial, version {re.escape(seatrial.__version__)}, commit [0-9a-f]{{12}}(\+changes)?\n', said
    )
