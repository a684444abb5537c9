"""`seatrial derive`: from a log to a check file and its entry, or one line of why not."""

import ast
from pathlib import Path

import pytest

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'darshan'
STRIDED = TRANSCRIPTS / 'sfsa-strided.darshan'


@pytest.fixture
def derive(command, site):
    """Run `seatrial derive` on the small site."""
    return lambda *arguments: command('derive', f'--site={site.folder}', *arguments)


@pytest.fixture
def pydarshan():
    return pytest.importorskip('darshan', reason='PyDarshan is not installed')


@pytest.mark.usefixtures('pydarshan')
def test_the_check_goes_into_a_new_file_and_the_entry_to_the_terminal(derive, tmp_path):
    file = tmp_path / 'derived' / 'climate.py'
    said = derive(str(STRIDED), '--name=Climate', f'--output={file}')
    assert said.status == 0, said.err
    classes = [node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
    assert classes == ['Climate'] and "order='strided'" in file.read_text()
    assert '  - checks: [Climate]' in said.out and 'bytes_per_task: 8MiB' in said.out
    again = derive(str(STRIDED), f'--output={file}')
    assert again.status == 64 and 'File exists' in again.err


@pytest.mark.usefixtures('pydarshan')
def test_without_a_file_both_go_to_the_terminal_and_no_name_of_the_run_does(derive):
    said = derive(str(STRIDED), '--operation=read')
    assert 'class ReplayedApplication(' in said.out and "operations=('read',)" in said.out
    assert not any(word in said.out for word in ('scratch/trial', '/opt/ior', 'ior -a'))


@pytest.mark.usefixtures('pydarshan')
@pytest.mark.parametrize(
    ('content', 'said'),
    [
        (b'no log\n', 'it is no Darshan log, or a damaged one'),
        (STRIDED.read_bytes()[:-30], 'it is no Darshan log, or a damaged one'),
        ((TRANSCRIPTS / 'mdtest.darshan').read_bytes(), 'no bytes are moved in it'),
    ],
)
def test_what_cannot_be_derived_is_one_line(derive, tmp_path, content, said):
    (tmp_path / 'x.darshan').write_bytes(content)
    found = derive(str(tmp_path / 'x.darshan'))
    assert (found.status, found.out) == (64, '')
    assert said in found.err and str(tmp_path / 'x.darshan') in found.err and found.err.count('\n') == 1


def test_a_log_that_is_not_there_is_one_line(derive, tmp_path):
    found = derive(str(tmp_path / 'x.darshan'))
    assert found.status == 64 and 'No such file' in found.err and found.err.count('\n') == 1


@pytest.mark.parametrize('name', ['climate', 'Cli mate', '1A', 'A' * 41, 'A_B', ''])
def test_a_name_that_no_check_can_have_is_refused(derive, name):
    found = derive(str(STRIDED), f'--name={name}')
    assert found.status == 64 and 'is no name of a check' in found.err


@pytest.mark.usefixtures('pydarshan')
def test_logs_of_many_programs_become_one_ageing(derive):
    said = derive('--ageing', '--name=Aged', *map(str, sorted(TRANSCRIPTS.glob('sfsa-*.darshan'))))
    assert said.status == 0 and 'workload = ageing(' in said.out and 'class Aged(' in said.out


@pytest.mark.usefixtures('pydarshan')
def test_an_ageing_without_a_name_is_not_called_a_replay(derive):
    said = derive('--ageing', str(STRIDED))
    assert 'class AgedAsLogs(' in said.out and 'Replayed' not in said.out


@pytest.mark.parametrize('more', [(str(STRIDED),), ('--ageing', '--operation=read')])
def test_what_is_of_a_replay_and_what_of_an_ageing_is_not_mixed(derive, more):
    assert derive(str(STRIDED), *more).status == 64
