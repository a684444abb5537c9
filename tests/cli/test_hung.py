"""Every command where a file system never answers again: it ends by itself, within its documented deadline."""

import subprocess
import sys
from pathlib import Path

import pytest

from fuse_lab import dead

LATEST_S = 240.0
"""Each asks a file system of the site once, for 10 s, a session in each case; the rest is this machine's load."""

SESSION = '20261121T020638-9f3a1c'
WITH_CHECKS = ('report', 'list', 'doctor', 'run')

pytestmark = pytest.mark.slow


@pytest.fixture
def ended(site, past):
    """The exit codes of these commands, all of which began while one of the site's directories was hung."""
    past(SESSION)

    def run(place, *commands):
        begun = {}
        with dead(place):
            for words in commands:
                argv = [Path(sys.executable).with_name('seatrial'), *words.split(), f'--site={site.folder}']
                argv += [f'--checks={site.checks}'] if words in WITH_CHECKS else []
                begun[words] = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            try:
                said = {words: process.communicate(timeout=LATEST_S)[0] for words, process in begun.items()}
            finally:
                for process in begun.values():
                    process.kill()
        return {words: process.returncode for words, process in begun.items()}, said

    return run


def test_a_target_that_is_hung_keeps_no_command(ended, site):
    target = site.folder / 'scratch'
    target.mkdir()
    site.change('path: state/trials', f'path: {target}')
    asking = {'doctor': 64, 'clean': 13, 'run': 13}
    others = {'status': 13, 'history list': 0, 'report': 0, 'list': 0}
    codes, said = ended(target, *asking, *others)
    assert codes == {**asking, **others}, said
    for words in asking:
        assert f'{target}: the file system does not answer' in said[words].replace('\n', ' '), words


def test_a_state_directory_that_is_hung_keeps_no_command(ended, site):
    wanted = {'doctor': 64, 'clean': 13, 'run': 64, 'status': 64, 'history list': 64, 'report': 64, 'list': 64}
    codes, said = ended(site.folder / 'state', *wanted)
    assert codes == wanted, said
    for words in wanted:
        assert f'{site.folder}/state: the file system does not answer' in said[words].replace('\n', ' '), words
