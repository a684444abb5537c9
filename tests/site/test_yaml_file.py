import os

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from seatrial.site.error import SiteError
from seatrial.site.yaml_file import MAX_BYTES, MAX_DEPTH, parse, read, with_value

PAIRS = zip('abcdefgh', 'bcdefghi', strict=True)
MULTIPLYING = '\n'.join(['a: &a [x, x]', *(f'{new}: &{new} [{", ".join([f"*{old}"] * 10)}]' for old, new in PAIRS)])
DEEP_BY_ALIASES = '\n'.join(['- &a0 [x]', *(f'- &a{n} [*a{n - 1}]' for n in range(1, 100))])


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(SiteError) as caught:
        parse(text, 'f.yaml')
    return caught.value.problems


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('12', 12),
        ('-3', -3),
        ('+3', 3),
        ('0', 0),
        ('true', True),
        ('false', False),
        ('null', None),
        ('~', None),
        ('a:', {'a': None}),
        ("'12'", '12'),
        ('local:default', 'local:default'),
        ('[a, {b: 1}]', ['a', {'b': 1}]),
        ('{1: a, on: b, ~: c}', {'1': 'a', 'on': 'b', '~': 'c'}),  # keys are always text
        ('{a: &n [1, 2], b: *n}', {'a': [1, 2], 'b': [1, 2]}),
    ],
)
def test_plain_values_are_read(text, value):
    read = parse(text, 'f.yaml')
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    'text',
    ['010', '0x10', '1:30', '20:00', '1_000', '1.5', '.nan', '.inf', '2026-11-20', 'yes', 'No', 'on', 'TRUE', '='],
)
def test_a_scalar_that_yaml_1_1_would_convert_is_text(text):
    assert parse(text, 'f.yaml') == text


def test_a_duplicate_key_is_reported_with_both_lines():
    assert problems_of('a:\n  b: 1\n  c: 2\n  b: 3\n') == ('f.yaml: a.b: is given twice, in lines 2 and 4; keep one',)
    assert 'is given twice, in lines 1 and 1' in problems_of('{1: a, "1": b}')[0]


def test_every_problem_of_the_document_is_collected():
    assert len(problems_of('{a: 1, a: 2, b: !!binary x, c: 9999999999999999999}')) == 3


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('a: [1\nb: 2', "line 2, column 2: expected ',' or ']', but got ':'"),
        ('a:\n\t- b', 'a tab is used for indentation'),
        ('a: *b', "line 1, column 4: found undefined alias 'b'"),
        ('a: [*]', "write '*' in quotes"),
        ('a: b: c', 'line 1, column 5: mapping values are not allowed here'),
        ('a: 1\n---\nb: 2', 'keep one document'),
        ('a: 1\n\x00', r"line 2: the character '\x00' is not allowed"),
        ('a: "\\UFFFFFFFF"', 'is out of range'),
        ('a: "\\uD800"', r"a: '\ud800' has half a character"),
        ('"\\uD800": a', r"['\ud800']: line 1: a key with half a character"),
        ('%YAML 1.' + '9' * 5000 + '\n---\na', 'is out of range'),
        ('? [a]\n: b', 'line 1: a key that is a list or a mapping'),
        ('a: {<<: {b: 1}}', 'a: line 1: << does not merge here'),
        ('a: !!python/object/apply:os.system [ls]', "a: the tag '!!python/object/apply:os.system' in line 1"),
        ('a: !!set {b}', "the tag '!!set'"),
        ('a: !!int 12', "the tag '!!int' in line 1"),
        ('a: !!str b', "the tag '!!str'"),
        ('a: !mine x', "the tag '!mine'"),
        ('a: 1234567890123456789', 'more than 18 digits'),
        ('', 'the file is empty'),
        ('# nothing\n', 'the file is empty'),
        ('a: &a [1, *a]', 'a[1]: an alias (*) is inside the value'),
        (MULTIPLYING, 'more than 20000 values'),
        ('[' * 100_000, f'nested more than {MAX_DEPTH} deep'),
        (DEEP_BY_ALIASES, f'nested more than {MAX_DEPTH} deep, aliases counted'),
    ],
    ids=lambda value: value[:40],
)
def test_text_that_cannot_be_read_is_reported_with_its_place(text, words):
    assert words in problems_of(text)[0]


def test_the_deepest_nesting_allowed_is_read():
    deep = MAX_DEPTH - 1
    assert parse('[' * deep + '1' + ']' * deep, 'f.yaml') is not None


def test_a_byte_that_is_not_utf_8_is_reported_with_its_line(tmp_path):
    file = tmp_path / 'f.yaml'
    file.write_bytes(b'a: 1\nb: \xff\n')
    with pytest.raises(SiteError, match=r'^f\.yaml: line 2: byte 0xff is not UTF-8; save the file as UTF-8$'):
        read(file)


def test_a_byte_order_mark_is_not_part_of_the_first_key(tmp_path):
    file = tmp_path / 'f.yaml'
    file.write_bytes(b'\xef\xbb\xbfa: 1\n')
    assert read(file) == {'a': 1}


def test_an_endless_file_is_not_read_to_its_end(tmp_path):
    file = tmp_path / 'f.yaml'
    with file.open('wb') as stream:
        stream.truncate(MAX_BYTES * 1_000_000)
    with pytest.raises(SiteError, match='more than 128 KiB'):
        read(file)


@pytest.mark.parametrize('make', [os.mkfifo, os.mkdir])
def test_a_pipe_or_directory_is_refused_without_waiting(tmp_path, make):
    make(tmp_path / 'f.yaml')
    with pytest.raises(SiteError, match='not a regular file'):
        read(tmp_path / 'f.yaml')


@given(st.text() | st.text('[]{}:,-?!&*|>\'"%@#\\ \n\tab01x'))
def test_any_text_gives_a_value_or_problems(text):
    try:
        parse(text, 'f.yaml')
    except SiteError as error:
        assert error.problems and all(line.isprintable() for line in error.problems)


FILE = """\
# top
$seatrial:
  A: {nightly: {origin: baseline}}  # mine

A:   # here
  $index: [profile]
  nightly:
    lab:compute: {scratch: {default: {1: {
      a@1: [1.0, -0.1, 0.1, MiB/s],   # one
      b@1: [2.0, -0.1, 0.1, MiB/s],   # two
    }}}}

# tail
B:
  x:
    y: 1  # of y
    z: [1,
        2]
  # below z
"""
NEW = [3.5, -0.2, 0.2, 's']
TWO = '      b@1: [2.0, -0.1, 0.1, MiB/s]'
A_CASE = ('A', 'nightly', 'lab:compute', 'scratch', 'default', 1)


def at(data, keys):
    for key in keys:
        data = data[key]
    return data


def lines(before, after):
    """The lines that only the text before has, and those that only the text after has."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.mark.parametrize(
    ('keys', 'removed', 'added'),
    [
        ((*A_CASE, 'b@1'), [f'{TWO},   # two'], ['      b@1: [3.5, -0.2, 0.2, s],   # two']),
        ((*A_CASE, 'c@1'), [f'{TWO},   # two'], [f'{TWO}, c@1: [3.5, -0.2, 0.2, s],   # two']),
        ((*A_CASE[:3], 'home', 2), ['    }}}}'], ['    }}}, home: {2: [3.5, -0.2, 0.2, s]}}']),
        (('A', 'weekly', 'x'), [], ['  weekly:', '    x: [3.5, -0.2, 0.2, s]']),
        (('B', 'x', 'y'), ['    y: 1  # of y'], ['    y: [3.5, -0.2, 0.2, s]  # of y']),
        (('B', 'x', 'z'), ['    z: [1,', '        2]'], ['    z: [3.5, -0.2, 0.2, s]']),
        (('C',), [], ['C: [3.5, -0.2, 0.2, s]']),
        (('$seatrial', 'D', 'nightly'), [], ['  D:', '    nightly: [3.5, -0.2, 0.2, s]']),
    ],
)
def test_only_the_line_of_the_value_changes(keys, removed, added):
    after = with_value(FILE, keys, NEW)
    assert at(yaml.safe_load(after), keys) == NEW
    assert lines(FILE, after) == (removed, added)


def test_a_value_is_written_at_a_key_without_a_value_and_into_an_empty_file():
    assert with_value('A:\n  b:\n  c: 1\n', ('A', 'b'), NEW) == 'A:\n  b: [3.5, -0.2, 0.2, s]\n  c: 1\n'
    text = with_value('', ('A', 'b', 1), NEW)
    assert text == 'A:\n  b:\n    1: [3.5, -0.2, 0.2, s]\n'
    assert with_value('# only a comment\n', ('A',), 1) == '# only a comment\nA: 1\n'


def test_a_generated_comment_is_replaced_and_any_other_comment_stays():
    first = with_value('A:\n  b: 1\n  c: 2  # of the vendor\n', ('A', 'b'), 3, '# baseline: 5 sessions')
    assert first == 'A:\n  b: 3  # baseline: 5 sessions\n  c: 2  # of the vendor\n'
    second = first.replace('3  ', '4  ').replace('5 s', '6 s')
    assert with_value(first, ('A', 'b'), 4, '# baseline: 6 sessions') == second
    assert '# of the vendor' in with_value(first, ('A', 'c'), 5, '# baseline: 6 sessions')


@pytest.mark.parametrize(('text', 'keys'), [('A: 1\n', ('A', 'b')), ('[1]\n', ('A',)), ('A:\n', ('A', 'b'))])
def test_a_value_inside_something_that_is_not_a_mapping_is_refused(text, keys):
    with pytest.raises(ValueError, match='is not a mapping'):
        with_value(text, keys, 1)


NAMES = st.sampled_from(['a', 'b', 'on', '1', 'lab:io', 'write@1MiB', '$index', "it's", 'x y'])
TREES = st.recursive(st.integers() | st.text(max_size=4), lambda inner: st.dictionaries(NAMES, inner, max_size=4))


VALUES = st.sampled_from([7, 'a, b', '{a: b}', "it's"])


@given(st.dictionaries(NAMES, TREES, max_size=4), st.lists(NAMES, min_size=1, max_size=4), VALUES, st.booleans())
def test_the_value_is_written_and_every_other_value_is_unchanged(data, keys, value, flow):
    text = yaml.safe_dump(data, default_flow_style=flow, sort_keys=False, allow_unicode=True) if data else ''
    data = yaml.safe_load(text) or {}  # PyYAML writes U+0085 as it is and reads it as a line break
    try:
        after = yaml.safe_load(with_value(text, keys, value))
    except ValueError:
        return
    expected = data
    for key in keys[:-1]:
        expected = expected.setdefault(key, {})
    expected[keys[-1]] = value
    assert after == data
