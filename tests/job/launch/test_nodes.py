"""The nodes of an allocation by their names, and those that were not tested."""

import pytest

from seatrial.job.launch import nodes
from seatrial.model.record import NotTested
from transcript import transcripts

SINFO = 'n1|allocated|none\nn2.cluster|allocated|none\nn3|drained*|bad disk | and more\nn4|idle|none\n\ntorn'


def test_without_slurm_no_node_is_known():
    assert nodes.allocated({}) == ()
    assert nodes.allocated({'SLURM_JOB_NODELIST': 'n[3-4]'}) == ('n3', 'n4')


def test_the_rows_of_sinfo_are_read_and_what_is_none_is_skipped():
    assert nodes.of_sinfo(SINFO) == (
        NotTested('n1', 'allocated', ''),
        NotTested('n2.cluster', 'allocated', ''),
        NotTested('n3', 'drained*', 'bad disk | and more'),
        NotTested('n4', 'idle', ''),
    )


def fake(folder, monkeypatch, script, name='sinfo'):
    program = folder / name
    program.write_text(f'#!/bin/sh\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', str(folder), prepend=':')


def test_what_the_job_was_not_given_is_not_tested(tmp_path, monkeypatch):
    (tmp_path / 'said').write_text(SINFO)
    fake(tmp_path, monkeypatch, f'cat {tmp_path}/said')
    found = nodes.not_tested(('n1.cluster', 'n2'), {'SLURM_JOB_PARTITION': 'compute'})
    assert [each.node for each in found] == ['n3', 'n4']
    assert nodes.not_tested(('n1',), {}) == ()


@pytest.mark.parametrize(
    ('script', 'said'),
    [
        ('exec sleep 60', 'sinfo does not answer within'),
        ('echo "sinfo: error: Unable to contact slurm controller" >&2; exit 1', 'Unable to contact slurm controller'),
    ],
)
def test_a_slurm_that_does_not_answer_is_said_and_hangs_nothing(tmp_path, monkeypatch, script, said):
    if 'sleep' in script:
        monkeypatch.setattr(nodes, 'ANSWER_S', 1.0)
    fake(tmp_path, monkeypatch, script)
    (found,) = nodes.not_tested(('n1',), {'SLURM_JOB_PARTITION': 'compute'})
    assert found.node == 'others of compute'
    assert said in found.reason


@pytest.mark.parametrize(
    ('transcript', 'section', 'word'), [('preempted', 'preempted-end', 'NO'), ('cancelled', 'scancel-end', 'OK')]
)
def test_whether_a_job_shares_its_nodes_is_asked_of_slurm(tmp_path, monkeypatch, transcript, section, word):
    lines = transcripts('slurm')[transcript][f'{section}-scontrol.out'].splitlines()
    said = tmp_path / 'said'
    fake(tmp_path, monkeypatch, f'[ "$*" = "show job 7" ] && cat {said}', 'scontrol')
    found = set()
    for number in range(len(lines) + 1):
        said.write_text('\n'.join(lines[:number]))
        found.add(nodes.oversubscribe({'SLURM_JOB_ID': '7'}))
    assert (found, nodes.oversubscribe({})) == ({'', word}, '')
