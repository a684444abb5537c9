"""The one quoting function: what a real shell makes of its line is the argv, whatever is in it."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.model.quoting import shell_line

WORDS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=30)
HOSTILE = st.sampled_from(
    ['$(id)', '`id`', "'", '"', '\\', '\n', ';', '*', '~', '-n', '', '#', '&&', '!!', '\t', '$HOME']
)


@settings(max_examples=150)
@given(st.lists(WORDS | HOSTILE, min_size=1, max_size=6))
def test_a_shell_passes_every_word_on_unchanged(words):
    line = shell_line(['printf', '%s\\0', *words])
    printed = subprocess.run(['sh', '-c', line], stdout=subprocess.PIPE, check=True).stdout
    assert printed.decode('utf-8').split('\0')[:-1] == words


def test_what_no_argv_can_hold_is_refused():
    with pytest.raises(ValueError, match='NUL'):
        shell_line(['a\0b'])
    with pytest.raises(ValueError, match='empty'):
        shell_line([])
