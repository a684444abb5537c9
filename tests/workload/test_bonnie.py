"""Bonnie's file: what is contradictory, what is on disk, and what is known of its reads."""

import pytest

from seatrial.model.metric import Measurement, bandwidth
from seatrial.model.units import GIB
from seatrial.workload.access import Access
from seatrial.workload.base import UNKNOWN
from seatrial.workload.bonnie import PHASE, SEEKERS, bonnie_file, seeks_of
from seatrial.workload.registry import fault_of, kind_of

POINT = bonnie_file()._replace(label='1MiB', tasks_per_node=1)
KIND = kind_of('bonnie')


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'tasks': 2}, 'tasks'),
        ({'phases': ('write',)}, 'phases'),
        ({'direct': True}, 'phases'),
        ({'files': 'single', 'extent': 'segment'}, 'files'),
        ({'interface': 'mpiio'}, 'files'),
        ({'bytes_per_task': 1}, 'bytes_per_task'),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_field(change, field):
    assert fault_of(POINT) is None
    assert fault_of(POINT.changed(**change)).partition(':')[0] == field


def test_its_file_is_there_while_it_runs_and_not_afterwards():
    assert KIND.footprint([POINT]) == Access().footprint([KIND.as_access(POINT)])
    assert KIND.footprint([POINT]).bytes == 2 * GIB
    assert KIND.files(POINT) == ()
    assert not KIND.phase(PHASE).needs and not KIND.phase(PHASE).makes and not KIND.preparations([POINT])


def test_no_read_of_it_is_known_to_be_cold():
    names = [each.name for each in KIND.metrics(POINT, PHASE)]
    assert {name: KIND.cache_of(name, '') for name in names} == {
        'write': '',
        'update': UNKNOWN,
        'read': UNKNOWN,
        'seeks': UNKNOWN,
    }


def test_a_launch_lasts_as_long_as_its_parts_together():
    measurement = Measurement((bandwidth('write', 10, 2.0, ''), bandwidth('read', 10, 1.0, '')), 1, ('node1',))
    assert (KIND.phase(PHASE).timed_s(measurement), Access().phase('write').timed_s(measurement)) == (3.0, 1.0)


def test_each_transfer_is_sought_once_on_average_and_each_seeker_has_one():
    assert seeks_of(POINT) == POINT.data.transfers
    assert seeks_of(POINT.changed(bytes_per_task=POINT.data.transfer_size)) == SEEKERS
