"""A transcript has what a tool printed, byte for byte."""

import pytest

from transcript import sections

TORN = b'\\ No newline at end of file\n'


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        (b'', ''),
        (b'\n', '\n'),
        (b'a\n\nb\r\n', 'a\n\nb\r\n'),
        (b'a\n' + TORN, 'a'),
        (b'\n\\' + TORN, '\n' + TORN.decode()),
        (b'a === b\n\\=== c\n\\\\d\n', 'a === b\n=== c\n\\d\n'),
        (b'\t\xff\xe4\0\x1b[0m\r\n', '\t\udcff\udce4\0\x1b[0m\r\n'),
    ],
)
def test_a_text_is_read_as_it_was_printed(tmp_path, body, text):
    (tmp_path / 'a.txt').write_bytes(b'=== cmd\nls\n=== out\n' + body + b'=== rc\n0\n')
    assert dict(sections(tmp_path / 'a.txt')) == {'cmd': 'ls\n', 'out': text, 'rc': '0\n'}


def test_a_file_that_begins_with_no_section_is_none(tmp_path):
    (tmp_path / 'a.txt').write_text('ls\n')
    with pytest.raises(AssertionError, match='begins with no section'):
        sections(tmp_path / 'a.txt')
