"""Words of a shell and lists of nodes in Slurm's notation."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.model.hostlist import expanded
from seatrial.model.quoted_value import shell_line

WORDS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=30)
HOSTILE = st.sampled_from(['$(id)', '`id`', *'\'"\\\n;*~#\t', '-n', '', '&&', '!!', '$HOME'])


@settings(max_examples=150)
@given(st.lists(WORDS | HOSTILE, min_size=1, max_size=6))
def test_a_shell_passes_every_word_on_unchanged(words):
    line = shell_line(['printf', '%s\\0', *words])
    printed = subprocess.run(['sh', '-c', line], stdout=subprocess.PIPE, check=True).stdout
    assert printed.decode('utf-8').split('\0')[:-1] == words


@pytest.mark.parametrize(('argv', 'words'), [(['a\0b'], 'NUL'), ([], 'empty')])
def test_what_no_argv_can_hold_is_refused(argv, words):
    with pytest.raises(ValueError, match=words):
        shell_line(argv)


@pytest.mark.parametrize(
    ('hostlist', 'expected'),
    [
        ('n1', 'n1'),
        ('n[1-3]', 'n1 n2 n3'),
        ('n[1-2,07-10],m4', 'n1 n2 n07 n08 n09 n10 m4'),
        ('rack[0-1]n[01-03]', 'rack0n01 rack0n02 rack0n03 rack1n01 rack1n02 rack1n03'),
        ('nid[000998-001001]', 'nid000998 nid000999 nid001000 nid001001'),
        ('a,b[3]c,d', 'a b3c d'),
        ('', ''),
    ],
)
def test_slurms_notation_is_read(hostlist, expected):
    assert expanded(hostlist) == tuple(expected.split())


@pytest.mark.parametrize('wrong', ['n[1-3', 'n]1', 'n[a-b]', 'n[1-2-3]', 'n[]', 'n[1,]', 'n[1-999999999]'])
def test_what_is_no_list_of_nodes_is_refused(wrong):
    with pytest.raises(ValueError, match='nodes'):
        expanded(wrong)


@given(st.lists(st.integers(0, 9999), min_size=1, max_size=30), st.integers(1, 5))
def test_numbers_keep_their_leading_zeros(numbers, digits):
    written = ','.join(f'{number:0{digits}d}' for number in numbers)
    assert expanded(f'n[{written}]') == tuple(f'n{number:0{digits}d}' for number in numbers)
