"""Files that are written whole or not at all."""

import os

import pytest

from seatrial.model.atomic_file import write_whole


def test_it_is_there_and_nothing_else(tmp_path):
    write_whole(tmp_path / 'a.json', 'ä\n')
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [('a.json', 'ä\n'.encode())]


def test_where_there_is_no_room_the_file_is_named_and_stays_as_it_was(tmp_path):
    file = tmp_path / 'a.json'
    file.write_text('old')
    (tmp_path / f'.a.json.{os.getpid()}.tmp').symlink_to('/dev/full')
    with pytest.raises(OSError, match='No space left on device') as caught:
        write_whole(file, 'new')
    assert caught.value.filename == str(file)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [('a.json', 'old')]
