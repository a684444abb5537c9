"""The proof of contents at the end of a case: what is launched, which blocks are read, and what follows of them."""

import errno
import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import ONCE
from seatrial.filesystem.mounts import mount_of
from seatrial.filesystem.posix import Posix
from seatrial.job import __main__ as command
from seatrial.job.sequence import proof, start
from seatrial.job.sequence.evidence import BLOCKS_PER_FILE, LARGE_PAGE, MAX_BLOCKS, MAX_FILES, contents
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Launcher
from seatrial.model.units import KIB
from seatrial.rules.contents import BLOCK
from seatrial.workload.access import data_access
from stand_in import program

pytestmark = pytest.mark.usefixtures('short_launches')

SHARED = data_access('single', 'segment', 'strided')
SFWA = data_access('single', operations=('read',))


def small(lab, fio, **changes):
    """A plan of one point that is measured once."""
    return lab.plan(fio, **{'values': (16,), 'stopping': ONCE, **changes})


def proved(ran):
    return [sample for sample in ran.records.samples if sample.stage == 'proof']


@pytest.mark.parametrize('workload', [data_access('multiple'), SHARED, SFWA], ids=['own files', 'shared', 'reads'])
def test_it_is_written_and_read_at_the_end_as_the_largest_point_is(lab, stub_fio, workload):
    ran = lab.run(lab.plan(stub_fio(), workload=workload, tasks=2, stopping=ONCE), proves=True)
    launches = proved(ran)
    assert ran.records.samples[-2:] == launches
    assert [(run.phase, run.point.tasks, run.findings) for run in launches] == [('write', 2, ()), ('read', 2, ())]
    files = '1 file' if workload.data.files == 'single' else '2 files'
    size = '64 KiB' if workload is SFWA else '128 KiB'
    assert ran.result.verified.startswith(f'verified: {size} of {size} in {files}, read by {os.uname().nodename}, ')
    assert ran.result.verdict is Verdict.MEASURED
    assert os.listdir(os.path.join(ran.records.start.run_directory, 'data')) == []


SRUN = """# srun OPTION... PROGRAM...: as many copies as -nN says, each with its rank.
for word; do case $word in -n*) n=${word#-n};; -*) ;; *) break;; esac; shift; done
rank=0
while [ $rank -lt $n ]; do SLURM_PROCID=$rank "$@" & rank=$((rank + 1)); done
wait
"""


def test_in_a_sweep_over_nodes_it_knows_what_each_task_has_written(lab, stub_fio, tmp_path, monkeypatch):
    program(tmp_path, monkeypatch, 'srun', SRUN)
    monkeypatch.setattr(start, 'named_nodes', lambda plan: (os.uname().nodename,))
    ran = lab.run(small(lab, stub_fio(), launcher=Launcher('srun')), proves=True)
    assert {sample.measurement.tasks for sample in ran.records.samples if sample.stage == 'measured'} == {()}
    assert ran.result.verified.startswith('verified: 128 KiB of 128 KiB in 2 files'), ran.result.verified


def test_what_is_too_much_for_its_share_of_the_time_is_proved_in_part(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(proof, 'MIN_S', 1.3)
    plan = small(lab, stub_fio(('measured', {'seconds': 1.0})))
    # 128 KiB/s were measured, and each launch has 0.52 s of 1.3 s: 66 KiB, two of each four transfers.
    ran = lab.run(plan, proves=True)
    assert proved(ran)[0].measurement.bytes_moved == 64 * KIB
    assert ran.result.verified.startswith('verified: 64 KiB of 128 KiB (50 %) in 2 files')


def test_its_share_of_the_time_budget_is_kept_for_it_and_it_takes_no_more(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(proof, 'MIN_S', 0.0)
    plan = small(lab, stub_fio(('measured', {'seconds': 1.0})))
    assert proof.reserved_s(plan) == 0.05 * plan.stopping.budget_s
    # Of 2 s and a start-up each launch has 0.05 s: no transfer of 16 KiB would fit, and one is made all the same.
    assert proved(lab.run(plan, proves=True))[0].measurement.bytes_moved == 2 * 16 * KIB


def spoiled(monkeypatch, how):
    """Lets `how` change the files between the write and the read."""
    engine = proof.Proof.reads_back

    def reads_back(self, written, point):
        how()
        return engine(self, written, point)

    monkeypatch.setattr(proof.Proof, 'reads_back', reads_back)


def test_data_that_differ_fail_the_case_and_stay_where_they_are(lab, stub_fio, monkeypatch):
    plan = small(lab, stub_fio())

    def flip():
        (file,) = lab.target.glob('seatrial-*/data/data.00000001')
        data = bytearray(file.read_bytes())
        data[12345] ^= 4
        file.write_bytes(data)

    spoiled(monkeypatch, flip)
    ran = lab.run(plan, proves=True)
    assert ran.result.verdict is Verdict.FAIL and ran.result.reasons[0].startswith('F2: data.00000001 differs')
    assert ran.result.verified == ''
    lab.write(plan)
    assert command.main(['remove', os.path.join(plan.records, 'plan.json')]) == 0
    (kept,) = lab.target.glob('seatrial-*/data/data.00000001')
    assert kept.stat().st_size == 64 * KIB
    assert any('the file is kept' in label for label in lab.ran(plan).result.labels)


def test_a_file_that_is_gone_or_too_short_is_lost_data(lab, stub_fio, monkeypatch):
    spoiled(monkeypatch, lambda: [os.truncate(file, 1) for file in lab.target.glob('seatrial-*/data/data.*')])
    result = lab.run(small(lab, stub_fio()), proves=True).result
    assert result.verdict is Verdict.FAIL
    assert result.reasons[0].startswith('F2: before the read data.00000000 has 1 B')


def test_a_proof_that_fails_by_itself_is_reported_and_fails_no_case(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(proof, 'sys', type('sys', (), {'executable': '/bin/false'}))
    ran = lab.run(small(lab, stub_fio()), proves=True)
    assert ran.result.verdict is Verdict.MEASURED
    assert ran.result.verified.startswith('not verified: E1: task 0 on ')


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
    apart = [other.offset - block.offset for block, other in pairwise(blocks)]
    assert max([*apart, whole * BLOCK - blocks[-1].offset]) < 2 * BLOCK * -(-whole // BLOCKS_PER_FILE)


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


def needs_cachestat(directory):
    release = tuple(int(number) for number in os.uname().release.split('.')[:2])
    if release < (6, 5) or mount_of(str(directory)).type in ('tmpfs', 'overlay'):
        pytest.skip('cachestat(2) needs Linux 6.5 and a file system on a disk')


def test_a_kernel_that_counts_dirty_pages_shows_data_that_were_not_synced(tmp_path):
    needs_cachestat(tmp_path)
    sizes = {'data': 1 << 20, 'more': 1 << 20}
    written(tmp_path, {'data': 1 << 20})
    with open(tmp_path / 'more', 'wb') as stream:
        stream.write(os.urandom(1 << 20))
    assert contents(str(tmp_path), sizes).unsynced == 0.5
    synced = contents(str(tmp_path), sizes, allocated=True)
    assert (synced.unsynced, synced.counted) == (0.0, True)
    assert not contents(str(tmp_path), sizes).counted  # whoever else may hold data, as a server's client does


@pytest.mark.parametrize(('mib', 'unsynced'), [(16, 0.0), (2, 1.0)])
def test_one_large_page_of_a_larger_file_may_be_left_to_sync(tmp_path, mib, unsynced):
    """A header that a library writes when it closes the file makes all of its page dirty."""
    needs_cachestat(tmp_path)
    size = mib << 20
    with open(tmp_path / 'data', 'wb') as stream:
        stream.write(os.urandom(size))
        os.fsync(stream.fileno())
        os.pwrite(stream.fileno(), os.urandom(min(size, LARGE_PAGE)), 0)
    assert contents(str(tmp_path), {'data': size}).unsynced == unsynced


def test_an_error_of_the_storage_fails_the_case_and_is_not_hidden_by_the_cache(lab, stub_fio, monkeypatch):
    def readv(descriptor, buffers):
        raise OSError(errno.EIO, 'Input/output error')

    monkeypatch.setattr(os, 'readv', readv)
    result = lab.run(small(lab, stub_fio())).result
    assert result.verdict is Verdict.FAIL and result.reasons[0].startswith('F1: ')
