"""Which blocks are looked at: some of every part of every file, as they lie there."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem.mounts import mount_of
from seatrial.filesystem.posix import Posix
from seatrial.job.sequence.contents import BLOCKS_PER_FILE, MAX_BLOCKS, MAX_FILES, contents
from seatrial.judge.verdict import Verdict
from seatrial.rules.contents import BLOCK


def written(tmp_path, sizes):
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(os.urandom(size))
    return contents(str(tmp_path), sizes).blocks


@given(st.integers(1, 40 * BLOCK))
def test_blocks_are_what_lies_in_the_file_one_in_each_of_its_equal_parts(tmp_path_factory, size):
    tmp_path = tmp_path_factory.mktemp('data')
    blocks = written(tmp_path, {'data': size})
    text = (tmp_path / 'data').read_bytes()
    assert all(block.data == text[block.offset : block.offset + BLOCK] for block in blocks)
    whole = -(-size // BLOCK)
    assert len({block.offset for block in blocks}) == len(blocks) == min(BLOCKS_PER_FILE, whole)
    ends = [block.offset for block in blocks[1:]] + [whole * BLOCK]
    assert all(
        end - block.offset < 2 * BLOCK * -(-whole // BLOCKS_PER_FILE) for block, end in zip(blocks, ends, strict=True)
    )


def test_of_many_files_some_are_looked_at_and_an_empty_one_is_not(tmp_path):
    sizes = {f'data.{number:03d}': BLOCK for number in range(MAX_FILES + 20)}
    blocks = written(tmp_path, {**sizes, 'empty': 0})
    assert len({block.file for block in blocks}) == len(blocks) == MAX_FILES
    assert 'empty' not in {block.file for block in blocks}
    large = {f'data.{number:03d}': 8 * BLOCK for number in range(MAX_FILES)}
    assert len(written(tmp_path, large)) == MAX_BLOCKS


def test_a_hole_of_half_a_file_is_always_seen(tmp_path):
    with open(tmp_path / 'data', 'wb') as stream:
        stream.write(os.urandom(1 << 20))
        stream.truncate(1 << 21)
    blocks = contents(str(tmp_path), {'data': 1 << 21}).blocks
    assert sum(not any(block.data) for block in blocks) == BLOCKS_PER_FILE // 2


@pytest.mark.parametrize('hole', [0, BLOCK, 2 * BLOCK])
def test_a_hole_that_no_block_of_the_sample_shows_is_not_allocated(tmp_path, hole):
    if not Posix().behaviour(str(tmp_path)).allocates:
        pytest.skip('the blocks of a file tell what was written on ext and XFS')
    with open(tmp_path / 'data', 'wb') as stream:
        stream.write(os.urandom(64 * BLOCK))
        stream.seek(hole, os.SEEK_CUR)
        stream.write(os.urandom(64 * BLOCK - hole))
    seen = contents(str(tmp_path), {'data': 128 * BLOCK}, allocated=True)
    assert seen.missing == ({'data': hole} if hole > BLOCK else {})


def test_a_kernel_that_counts_dirty_pages_tells_what_was_not_synced(tmp_path):
    release = tuple(int(each) for each in os.uname().release.split('.')[:2])
    if release < (6, 5) or mount_of(str(tmp_path)).type in ('tmpfs', 'overlay'):
        pytest.skip('cachestat(2) needs Linux 6.5 and a file system on a disk')
    sizes = {'data': 1 << 20, 'more': 1 << 20}
    written(tmp_path, {'data': 1 << 20})
    with open(tmp_path / 'more', 'wb') as stream:
        stream.write(os.urandom(1 << 20))
    assert contents(str(tmp_path), sizes).unsynced == 0.5
    synced = contents(str(tmp_path), sizes, allocated=True)
    assert (synced.unsynced, synced.counted) == (0.0, True)
    assert not contents(str(tmp_path), sizes).counted  # whoever else may hold data, as a server's client does


def test_an_error_of_the_storage_fails_the_case_and_is_not_hidden_by_the_cache(lab, stub_fio, monkeypatch):
    def readv(descriptor, buffers):
        raise OSError(errno.EIO, 'Input/output error')

    monkeypatch.setattr(os, 'readv', readv)
    result = lab.run(lab.plan(stub_fio())).result
    assert result.verdict is Verdict.FAIL and result.reasons[0].startswith('F1: ')
