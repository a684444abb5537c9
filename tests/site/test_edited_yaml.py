"""One value of a YAML file is put in place, and nothing else of it changes."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from seatrial.site.edited_yaml import with_value

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
A_CASE = ('A', 'nightly', 'lab:compute', 'scratch', 'default', 1)


def at(data, keys):
    for key in keys:
        data = data[key]
    return data


def lines(before, after):
    """The lines that are in one text alone: without, and with."""
    one, other = before.splitlines(), after.splitlines()
    return [line for line in one if line not in other], [line for line in other if line not in one]


@pytest.mark.parametrize(
    ('keys', 'without', 'with_'),
    [
        (
            (*A_CASE, 'b@1'),
            ['      b@1: [2.0, -0.1, 0.1, MiB/s],   # two'],
            ['      b@1: [3.5, -0.2, 0.2, s],   # two'],
        ),
        (
            (*A_CASE, 'c@1'),
            ['      b@1: [2.0, -0.1, 0.1, MiB/s],   # two'],
            ['      b@1: [2.0, -0.1, 0.1, MiB/s], c@1: [3.5, -0.2, 0.2, s],   # two'],
        ),
        ((*A_CASE[:3], 'home', 2), ['    }}}}'], ['    }}}, home: {2: [3.5, -0.2, 0.2, s]}}']),
        (('A', 'weekly', 'x'), [], ['  weekly:', '    x: [3.5, -0.2, 0.2, s]']),
        (('B', 'x', 'y'), ['    y: 1  # of y'], ['    y: [3.5, -0.2, 0.2, s]  # of y']),
        (('B', 'x', 'z'), ['    z: [1,', '        2]'], ['    z: [3.5, -0.2, 0.2, s]']),
        (('C',), [], ['C: [3.5, -0.2, 0.2, s]']),
        (('$seatrial', 'D', 'nightly'), [], ['  D:', '    nightly: [3.5, -0.2, 0.2, s]']),
    ],
)
def test_only_the_line_of_the_value_changes(keys, without, with_):
    after = with_value(FILE, keys, NEW)
    assert at(yaml.safe_load(after), keys) == NEW
    assert lines(FILE, after) == (without, with_)


def test_a_file_is_begun_and_gone_on_with():
    text = with_value('', ('A', 'b', 1), NEW)
    assert text == 'A:\n  b:\n    1: [3.5, -0.2, 0.2, s]\n'
    assert with_value('# only a comment\n', ('A',), 1) == '# only a comment\nA: 1\n'


def test_a_key_without_a_value_gets_one():
    assert with_value('A:\n  b:\n  c: 1\n', ('A', 'b'), NEW) == 'A:\n  b: [3.5, -0.2, 0.2, s]\n  c: 1\n'


def test_its_own_comment_is_replaced_and_another_one_stays():
    first = with_value('A:\n  b: 1\n  c: 2  # of the vendor\n', ('A', 'b'), 3, '# baseline: 5 sessions')
    assert first == 'A:\n  b: 3  # baseline: 5 sessions\n  c: 2  # of the vendor\n'
    assert with_value(first, ('A', 'b'), 4, '# baseline: 6 sessions') == first.replace('3  ', '4  ').replace(
        '5 s', '6 s'
    )
    assert '# of the vendor' in with_value(first, ('A', 'c'), 5, '# baseline: 6 sessions')


@pytest.mark.parametrize(('text', 'keys'), [('A: 1\n', ('A', 'b')), ('[1]\n', ('A',)), ('A:\n', ('A', 'b'))])
def test_what_is_no_mapping_is_refused_with_its_place(text, keys):
    with pytest.raises(ValueError, match='is no mapping'):
        with_value(text, keys, 1)


NAMES = st.sampled_from(['a', 'b', 'on', '1', 'lab:io', 'write@1MiB', '$index', "it's", 'x y'])
TREES = st.recursive(st.integers() | st.text(max_size=4), lambda inner: st.dictionaries(NAMES, inner, max_size=4))


@given(st.dictionaries(NAMES, TREES, max_size=4), st.lists(NAMES, min_size=1, max_size=4), st.booleans())
def test_the_value_is_there_and_all_else_is_as_before(data, keys, flow):
    text = yaml.safe_dump(data, default_flow_style=flow, sort_keys=False, allow_unicode=True) if data else ''
    data = yaml.safe_load(text) or {}  # PyYAML writes U+0085 as it is and reads it as a line break
    try:
        after = yaml.safe_load(with_value(text, keys, 7))
    except ValueError:
        return
    expected = data
    for key in keys[:-1]:
        expected = expected.setdefault(key, {})
    expected[keys[-1]] = 7
    assert after == data
