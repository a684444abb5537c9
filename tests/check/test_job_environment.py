"""The environment of a job whose modules are loaded. The real systems: tests/integration/test_modules_session.py."""

import os

import pytest

from seatrial.check.job_environment import NotLoaded, loaded
from seatrial.site.load import Module, Modules

TWO = Modules('lmod', (Module('seatrial/ior/4.0.0', '/opt/a b'), Module('gcc/12')))


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """A command in place of the system's that records its arguments and answers a load with this text."""

    def make(text, variable='LMOD_CMD'):
        (tmp_path / 'text').write_text(text)
        command = tmp_path / 'modulecmd'
        answer = f'[ "$2" != load ] || cat {tmp_path}/text'
        command.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\n{answer}\n')
        command.chmod(0o755)
        monkeypatch.setenv(variable, str(command))
        monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
        return tmp_path / 'calls'

    return make


def test_variables_set_by_modules_exist_only_inside_the_block(answers):
    answers("export SEATRIAL_TEST='two\nlines'; echo noise;")
    before = dict(os.environ)
    with loaded(TWO):
        assert os.environ['SEATRIAL_TEST'] == 'two\nlines'
    assert dict(os.environ) == before


ONE_BY_ONE = ['bash use /opt/a b', 'bash load seatrial/ior/4.0.0', 'bash unuse /opt/a b', 'bash load gcc/12']


@pytest.mark.parametrize('system', ['envmod', 'tmod4'])
def test_each_module_is_looked_for_in_its_own_folder_as_reframe_and_the_job_do(answers, system):
    calls = answers('', variable='MODULES_CMD')
    with loaded(TWO._replace(system=system)):
        assert calls.read_text().splitlines() == ONE_BY_ONE * 2


def test_a_job_under_lmod_keeps_the_folders(answers):
    calls = answers('')
    with loaded(TWO):
        kept = [call for call in ONE_BY_ONE if 'unuse' not in call]
        assert calls.read_text().splitlines() == ONE_BY_ONE + kept


def test_without_modules_nothing_is_asked(answers):
    calls = answers('false')
    with loaded(Modules()):
        assert not calls.exists()


@pytest.mark.parametrize(
    ('words', 'why'),
    [
        (r'The following module(s) are unknown:   "a"\n\nPlease check', 'The following module(s) are unknown: "a"'),
        (r'Lmod says:  These are unknown:   \n  "a"\n\nPlease', 'Lmod says: These are unknown: "a"'),  # narrow
        (r'\nLoading seatrial/ior/4.0.0\n  ERROR: Module evaluation aborted', 'ERROR: Module evaluation aborted'),
        ('', 'no reason'),
    ],
)
def test_a_module_that_does_not_load_is_named_with_the_reason(answers, words, why):
    answers(f"printf '{words}\n' >&2; false")
    with pytest.raises(NotLoaded) as caught, loaded(TWO):
        pass
    assert str(caught.value) == f'seatrial/ior/4.0.0: {why}'


def test_of_several_the_one_that_does_not_load_is_named(answers):
    answers('echo "from $2" >&2; [ $2 != gcc/12 ]')
    with pytest.raises(NotLoaded, match=r'^gcc/12: from gcc/12$'), loaded(TWO):
        pass


@pytest.mark.parametrize(
    ('system', 'problem'),
    [
        ('lmod', 'LMOD_CMD is not set; start a login shell of a host that has lmod'),
        ('envmod', 'MODULES_CMD is not set; start a login shell of a host that has envmod'),
        ('nomod', "modules_system is 'nomod'; write lmod or envmod"),
        ('tmod', "modules_system is 'tmod'; write lmod or envmod"),  # which ReFrame has no modules for
    ],
)
def test_a_missing_modules_system_is_an_error(monkeypatch, system, problem):
    monkeypatch.delenv('LMOD_CMD', raising=False)
    monkeypatch.delenv('MODULES_CMD', raising=False)
    with pytest.raises(NotLoaded, match=problem), loaded(TWO._replace(system=system)):
        pass


def test_environment_modules_that_reframe_would_not_find_are_an_error(answers, monkeypatch):
    answers('', variable='MODULES_CMD')
    monkeypatch.setenv('PATH', '')
    with pytest.raises(NotLoaded, match='modulecmd, by which ReFrame loads'), loaded(TWO._replace(system='envmod')):
        pass
