"""What sinfo(1) says of Slurm's partitions."""

import pytest

from seatrial.model.units import MIB
from seatrial.scheduler.partitions import SlurmPartition, parse_sinfo
from seatrial.scheduler.queue import QueueError

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
    [
        ('infinite', None),
        ('n/a', None),
        ('30:00', 1800.0),
        ('12:30:05', 45_005.0),
        ('2-00:00:00', 172_800.0),
        ('0:45', 45.0),
    ],
)
def test_a_time_limit_is_in_seconds_or_there_is_none(limit, seconds):
    assert parse_sinfo(f'p|1|2|3000|{limit}\n')[0].limit_s == seconds


def test_the_default_partition_comes_first_and_what_is_the_least_of_several_is_read():
    assert [(each.name, each.cpus) for each in parse_sinfo(SAID)] == [('debug', 128), ('compute', 64), ('long', 64)]


@pytest.mark.parametrize(
    'said', ['p|1|2|1|30:00\n', 'p|1|2|1|30:00\np|3|2|3000|30:00\n', 'p|3|2|3000|1\np|1|2|1|1\n']
)
def test_memory_that_slurm_was_not_given_is_unknown_and_not_1_mib(said):
    assert parse_sinfo(said)[0].memory is None


def test_what_is_no_line_of_sinfo_is_quoted():
    with pytest.raises(QueueError, match='not understood: compute of 4 nodes'):
        parse_sinfo('compute of 4 nodes\n')
