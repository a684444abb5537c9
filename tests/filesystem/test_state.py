"""The state of a file system: settings by name, read by any user, and what of them has changed."""

import os
import re

from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem.mounts import mount_of
from seatrial.filesystem.posix import read_settings
from seatrial.filesystem.registry import TYPES, by_type
from seatrial.model.state import Change, changes

STATES = st.dictionaries(st.sampled_from('abcdef'), st.sampled_from(['1', '2']))


def test_a_value_that_differs_appears_or_goes_is_a_change():
    before, after = {'same': '1', 'other': '1', 'gone': '1'}, {'same': '1', 'other': '2', 'new': '1'}
    assert changes(before, after) == [
        Change('gone', '1', None),
        Change('new', None, '1'),
        Change('other', '1', '2'),
    ]


@given(STATES, STATES)
def test_the_changes_turn_the_state_before_into_the_state_after(before, after):
    result = dict(before)
    for change in changes(before, after):
        if change.after is None:
            del result[change.key]
        else:
            result[change.key] = change.after
    assert result == after


def test_the_state_of_a_directory_names_its_mount_and_options(tmp_path):
    mount = mount_of(os.path.realpath(tmp_path))
    seen = by_type('posix').state(str(tmp_path))
    assert mount is not None and seen['mount options'] == mount.options
    assert seen['mounted'] == f'{mount.source} on {mount.point} type {mount.type}'
    assert seen['client version'] == f'Linux {os.uname().release}'
    assert re.fullmatch(r'\d+', seen['vm dirty_ratio'])


def test_what_moves_by_itself_is_not_in_it(tmp_path):
    driver = by_type('posix')
    before = driver.state(str(tmp_path))
    (tmp_path / 'data').write_bytes(b'x' * 1_000_000)
    os.sync()
    assert changes(before, driver.state(str(tmp_path))) == []


def test_no_type_raises_where_there_is_no_such_directory(tmp_path):
    for name in set(TYPES) - {'lustre'}:
        seen = by_type(name).state(str(tmp_path / 'gone'))
        assert seen and all(isinstance(value, str) for value in seen.values())


def test_a_setting_that_the_kernel_lacks_is_left_out_and_lines_become_one(tmp_path):
    (tmp_path / 'options').write_text('rw\ndelalloc\n')
    assert read_settings('ext4', str(tmp_path), ['options', 'other']) == {'ext4 options': 'rw,delalloc'}


def test_a_setting_that_cannot_be_read_says_why(tmp_path):
    (tmp_path / 'options').mkdir()
    assert read_settings('ext4', str(tmp_path), ['options']) == {'ext4 options': 'unknown: Is a directory'}
