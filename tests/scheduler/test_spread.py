"""Nodes that the next allocation leaves out, by what a sinfo says of the partition."""

import os

import pytest

from seatrial.scheduler.partitions import nodes_to_leave_out
from seatrial.site.load import load

SETTINGS = """
site_configuration = {'systems': [{'name': 'lab', 'hostnames': ['.*'], 'partitions': [
    {'name': 'compute', 'scheduler': 'SCHEDULER', 'launcher': 'local', 'access': [ACCESS], 'environs': ['builtin']},
]}]}
"""
TRIAL = """
version: 1
state: state
file_systems: {scratch: {type: posix, path: state/trials, limits: {bytes: 1GiB, inodes: 9}, records_on_target: true}}
partitions: {lab:compute: {launcher: srun, tasks_per_node: 1}}
trials: [{checks: ['*'], partitions: [lab:compute], file_systems: [scratch], nodes: [1]}]
"""
FOUR = 'n1 compute*\nn2 compute*\nn3 compute*\nn4 compute*\nn5 io\n'


@pytest.fixture
def left_out(tmp_path, monkeypatch):
    """What is left out where sinfo says this, after allocations on these nodes."""

    def ask(said, used, wanted, scheduler='slurm', access='', status=0):
        (tmp_path / 'trial.yaml').write_text(TRIAL)
        (tmp_path / 'settings.py').write_text(SETTINGS.replace('SCHEDULER', scheduler).replace('ACCESS', access))
        (tmp_path / 'sinfo').write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nprintf "{said}"\nexit {status}\n')
        (tmp_path / 'sinfo').chmod(0o755)
        monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
        return nodes_to_leave_out(load(tmp_path), 'lab:compute', used, wanted)

    return ask


def test_all_nodes_of_earlier_allocations_are_left_out_where_there_are_enough(left_out):
    assert set(left_out(FOUR, [('n1',), ('n2',)], 2)) == {'n1', 'n2'}


def test_where_there_are_too_few_those_of_the_latest_allocations_are(left_out):
    assert left_out(FOUR, [('n1',), ('n2',), ('n3',)], 2) == ('n3', 'n2')
    assert left_out(FOUR, [('n1',)], 4) == ()


def test_nodes_of_other_partitions_are_not_counted(left_out, tmp_path):
    assert set(left_out(FOUR, [('n1', 'n2', 'n3', 'n4')], 2)) <= {'n1', 'n2', 'n3', 'n4'}
    assert len(left_out(FOUR, [('n1', 'n2', 'n3', 'n4')], 2)) == 2
    assert left_out('n5 io\n', [('n5',)], 1, access="'--partition=io'") == ()
    assert '--partition=io' in (tmp_path / 'asked').read_text()


def test_without_slurm_or_its_answer_none_is_left_out(left_out):
    assert left_out(FOUR, [('n1',)], 1, scheduler='local') == ()
    assert left_out(FOUR, [('n1',)], 1, status=1) == ()


def test_a_first_allocation_leaves_none_out(left_out):
    assert left_out(FOUR, [], 1) == ()
