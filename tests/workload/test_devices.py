"""Raw devices: how tasks are dealt to them, and what contradicts itself."""

import pytest

from seatrial.workload.devices import bytes_of_each, part_of, raw_devices
from seatrial.workload.registry import fault_of, kind_of

KIND = kind_of('device')
POINT = raw_devices().changed(
    devices=('/dev/sda', '/dev/sdb'), nodes=1, tasks=4, tasks_per_node=4, transfer_size=2**20, bytes_per_task=2**30
)


def test_tasks_are_dealt_to_the_devices_in_turn_and_read_on_from_each_other():
    assert [part_of(POINT, rank) for rank in range(4)] == [
        ('/dev/sda', 0),
        ('/dev/sdb', 0),
        ('/dev/sda', 2**30),
        ('/dev/sdb', 2**30),
    ]
    assert bytes_of_each(POINT) == 2**31


def test_the_files_stay_while_devices_are_read_and_a_device_is_no_file_of_a_cache():
    assert KIND.phase('device').needs and not KIND.phase('device').reads
    assert {file.name[:5] for file in KIND.files(POINT)} == {'data.'}


def test_contents_are_proved_on_files_alone():
    proved = KIND.as_access(POINT)
    assert (proved.kind, proved.phases, proved.data.devices) == ('access', ('write', 'read'), ())
    assert fault_of(proved) is None


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'tasks': 3}, 'tasks: 3 cannot be dealt to 2 devices alike'),
        ({'nodes': 2}, 'nodes: 2; devices are read on one node'),
        ({'direct': False}, 'all with O_DIRECT'),
        ({'phases': ('device',)}, "phases: ['device']; they are write, read, device"),
        ({'interface': 'mpiio'}, 'O_DIRECT is not passed on by MPI-IO'),
    ],
)
def test_what_cannot_be_is_refused(changes, said):
    assert fault_of(POINT) is None
    assert said in fault_of(POINT.changed(**changes))
