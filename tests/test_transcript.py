"""A transcript is read as it was written, whatever a tool may have printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript import sections, write

AWKWARD = [
    '',
    '\n',
    'a',
    'a\n',
    'a\n\nb\r\n',
    '\t\xff\0\x1b[0m',
    '=== out\n',
    '\\=== out',
    '\\',
    '\\\\ a\n',
    '\udcff\n',
]
TORN = '\\ No newline at end of file'


@pytest.fixture(scope='module')
def again(tmp_path_factory):
    path = tmp_path_factory.mktemp('transcript') / 'written.txt'

    def write_and_read(texts):
        sections.cache_clear()
        write(path, texts)
        return dict(sections(path))

    return write_and_read


@given(
    st.lists(
        st.lists(st.sampled_from([*AWKWARD, TORN, f'{TORN}\n', f'\n{TORN}\n']) | st.text()).map(''.join), max_size=3
    )
)
def test_every_text_is_read_as_it_was_written(again, texts):
    named = {f'{number}.out': text for number, text in enumerate(texts)}
    assert again(named) == named


def test_a_text_needs_no_escape_unless_a_line_begins_as_a_heading_or_an_escape(tmp_path):
    write(tmp_path / 'a.txt', {'cmd': 'ls\n', 'out': 'a === b\n=== c\n\\d\n', 'err': 'torn'})
    assert (tmp_path / 'a.txt').read_text() == (
        f'=== cmd\nls\n=== out\na === b\n\\=== c\n\\\\d\n=== err\ntorn\n{TORN}\n'
    )


def test_what_is_not_in_utf_8_keeps_its_bytes(tmp_path):
    (tmp_path / 'a.txt').write_bytes(b'=== out\n\xff\xe4\r\n')
    write(tmp_path / 'b.txt', dict(sections(tmp_path / 'a.txt')))
    assert (tmp_path / 'b.txt').read_bytes() == b'=== out\n\xff\xe4\r\n'


def test_a_file_that_begins_with_no_section_is_none(tmp_path):
    (tmp_path / 'a.txt').write_text('ls\n')
    with pytest.raises(AssertionError, match='begins with no section'):
        sections(tmp_path / 'a.txt')
