"""Calls that the storage failed, in the sentences that the engines make of genuine outputs."""

import pytest

from seatrial.engine.failed_call import FailedCall, failed_call
from transcript import transcripts

FIO = "fio exited with 1: 'fio: io_u error on file data.1: "
MDTEST = 'mdtest exited with 1: \'ERROR: open64("/s/f.2", 66, 0664) failed. Error: No space left on device, (a.c)\''
IOR = "IOR exited with 6: 'WARNING: write(27, 0x7fadafb78000, 622592) failed No space left on device'"


@pytest.mark.parametrize(
    ('sentence', 'found'),
    [
        (FIO + "Input/output error: sync offset=196608, buflen=65536'", ('EIO', 'F1', '', 'data.1')),
        (
            "task 1 on n2: fio exited with 1: 'fio: io_u error on file d.1: Stale file handle: read offset=0'",
            ('ESTALE', 'F1', 'n2', 'd.1'),
        ),
        ("the dd of task 0 exited with 1: 'dd: fsync failed for 'a': Input/output error'", ('EIO', 'F1', '', 'a')),
        ("the dd of task 0 exited with 1: 'dd: error writing 'a': Disk quota exceeded'", ('EDQUOT', 'P9a', '', 'a')),
        (IOR, ('ENOSPC', 'P9a', '', '')),
        (
            MDTEST,
            ('ENOSPC', 'P9a', '', '/s/f.2'),
        ),
        ('task 1 on n2: close: Input/output error', ('EIO', 'F1', 'n2', '')),
        ('task 1 on n2: create: Remote I/O error: calls.1/f.1.0', ('EREMOTEIO', 'F1', 'n2', 'calls.1/f.1.0')),
        ('fio exited with 1; task 0: No space left on device', ('ENOSPC', 'P9a', '', '')),
        ('fio exited with 1; task 0, file data.0: Input/output error', ('EIO', 'F1', '', 'data.0')),
    ],
)
def test_a_call_that_the_storage_failed_is_known_by_its_error(sentence, found):
    assert failed_call(sentence) == FailedCall(*found)


@pytest.mark.parametrize(
    ('tool', 'name', 'section', 'error'),
    [
        ('fio', 'no-space', 'err', 'ENOSPC'),
        ('dd', 'no-space', '0.err', 'ENOSPC'),
        ('ior', 'fail-enospc', 'out', 'ENOSPC'),
        ('mdtest', 'fail-enospc', 'out', 'ENOSPC'),
        ('mdtest', 'fail-inodes', 'out', 'ENOSPC'),
        ('lustre', '31_degraded', None, 'EIO'),
    ],
)
def test_the_form_of_every_engine_is_known_in_genuine_outputs(tool, name, section, error):
    sections = transcripts(tool)[name]
    said = sections[section] if section else next(each for each in sections.values() if 'dd: fsync failed' in each)
    assert failed_call(said).errno == error


@pytest.mark.parametrize(
    'sentence',
    [
        'fio died of signal 11',
        FIO + "Permission denied: write offset=0, buflen=65536'",
        "fio exited with 1: 'fio: pid=7, err=5/file:io_u.c:2215, func=full resid, error=Input/output error'",
        'task 0: Input/output error, which fio also says of a file that is too short',
        "IOR exited with 1: 'srun: error: slurm_receive_msg: Transport endpoint is not connected'",
        "fio left no JSON: 'Input/output error'",
    ],
)
def test_what_is_not_the_storages_fault_is_left_to_the_engine(sentence):
    assert failed_call(sentence) is None
