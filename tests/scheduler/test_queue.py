"""What Slurm's commands say of jobs and partitions, whose answers are bytes."""

import os

import pytest

import stand_in
from seatrial.model.units import MIB
from seatrial.scheduler.partitions import SlurmPartition, nodes_to_leave_out, parse_sinfo
from seatrial.scheduler.queue import QueuedJob, QueueError, crontab, jobs_named, own_jobs
from seatrial.site.load import load


@pytest.fixture
def says(tmp_path, monkeypatch):
    """A program of Slurm that prints these bytes."""

    def make(program, answer, status=0):
        (tmp_path / 'answer').write_bytes(answer)
        stand_in.program(tmp_path, monkeypatch, program, f'cat {tmp_path}/answer\nexit {status}')

    return make


def test_what_is_no_utf8_is_read_all_the_same(says):
    says('squeue', b'12|PENDING|Begin|/srv/Pr\xe4fung.sh\n')
    (job,) = own_jobs('x')
    assert os.fsencode(job.command) == b'/srv/Pr\xe4fung.sh'
    says('scrontab', b'# Pr\xe4fung\n')
    assert os.fsencode(crontab()) == b'# Pr\xe4fung\n'


def test_a_refusal_in_other_letters_can_be_printed(says):
    says('squeue', b'Pr\xe4fung\n', status=1)
    with pytest.raises(QueueError, match='squeue ended with 1: Pr') as caught:
        jobs_named('x')
    str(caught.value).encode('utf-8')


def test_a_line_that_is_no_job_is_none(says):
    says('squeue', b'12|PENDING|Begin|/srv/run.sh x\nsecond line\n\n13|RUNNING|None|/srv/run.sh y\n')
    assert [(job.id, job.command) for job in own_jobs('x')] == [('12', '/srv/run.sh x'), ('13', '/srv/run.sh y')]


def test_the_line_of_the_one_cluster_that_is_asked_is_no_job_and_several_are_refused(says):
    says('squeue', b'CLUSTER: a\n12|PENDING|Begin\n')
    assert jobs_named('x') == [QueuedJob('12', 'PENDING', 'Begin')]
    says('squeue', b'CLUSTER: a\n12|PENDING|Begin\n\nCLUSTER: b\n')
    with pytest.raises(QueueError, match='squeue shows the clusters a, b; name one in SLURM_CLUSTERS'):
        jobs_named('x')


# Partitions


SAID = """\
compute|60|128|257000|1-00:00:00
compute|4|64|515000|1-00:00:00
debug*|2|128|257000+|30:00
long|64|64+|257000|infinite
"""


def test_unlike_nodes_of_a_partition_are_counted_together_and_the_smallest_is_meant():
    assert parse_sinfo(SAID)[1] == SlurmPartition('compute', 64, 64, 257_000 * MIB, 86_400.0)


@pytest.mark.parametrize(
    ('limit', 'seconds'),
    [('infinite', None), ('30:00', 1800.0), ('12:30:05', 45_005.0), ('2-00:00:00', 172_800.0), ('0:45', 45.0)],
)
def test_a_time_limit_is_in_seconds_or_there_is_none(limit, seconds):
    assert parse_sinfo(f'p|1|2|3000|{limit}\n')[0].limit_s == seconds


def test_the_default_partition_comes_first_and_what_is_the_least_of_several_is_read():
    assert [(row.name, row.cpus) for row in parse_sinfo(SAID)] == [('debug', 128), ('compute', 64), ('long', 64)]


@pytest.mark.parametrize('listing', ['p|1|2|1|1\n', 'p|1|2|1|1\np|3|2|3000|1\n', 'p|3|2|3000|1\np|1|2|1|1\n'])
def test_memory_that_slurm_was_not_given_is_unknown_and_not_1_mib(listing):
    assert parse_sinfo(listing)[0].memory is None


def test_what_is_no_line_of_sinfo_is_quoted():
    with pytest.raises(QueueError, match='not understood: compute of 4 nodes'):
        parse_sinfo('compute of 4 nodes\n')


# Nodes that the next allocation leaves out


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

    def ask(shown, used, wanted, scheduler='slurm', access='', status=0):
        (tmp_path / 'trial.yaml').write_text(TRIAL)
        (tmp_path / 'settings.py').write_text(SETTINGS.replace('SCHEDULER', scheduler).replace('ACCESS', access))
        script = f'echo "$@" > {tmp_path}/asked\nprintf "{shown}"\nexit {status}'
        stand_in.program(tmp_path, monkeypatch, 'sinfo', script)
        return nodes_to_leave_out(load(tmp_path), 'lab:compute', used, wanted)

    return ask


def test_those_of_the_latest_allocations_are_left_out_as_far_as_there_are_enough(left_out):
    assert left_out(FOUR, [('n1',), ('n2',)], 2) == ('n2', 'n1')
    assert left_out(FOUR, [('n1',), ('n2',), ('n3',)], 2) == ('n3', 'n2')
    assert left_out(FOUR, [('n1',)], 4) == left_out(FOUR, [], 1) == ()


def test_nodes_of_other_partitions_are_not_counted(left_out, tmp_path):
    assert left_out(FOUR, [('n1', 'n2', 'n3', 'n4')], 2) == ('n1', 'n2')
    assert left_out('n5 io\n', [('n5',)], 1, access="'--partition=io'") == ()
    assert '--partition=io' in (tmp_path / 'asked').read_text()


def test_without_slurm_or_its_answer_none_is_left_out(left_out):
    assert left_out(FOUR, [('n1',)], 1, scheduler='local') == ()
    assert left_out(FOUR, [('n1',)], 1, status=1) == ()
