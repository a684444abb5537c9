"""What Darshan saw of a launch, as it is kept."""

import json

import pytest

from seatrial.model.codec import from_json, to_json
from seatrial.model.issued import MIXED, DarshanLaunch, DarshanRun, Done, Issued, Share
from seatrial.model.units import KIB, MIB
from seatrial.workload.access import data_access

POINT = data_access('single', 'segment', 'strided', bytes_per_task=MIB)._replace(label='64KiB', tasks=2)


def issued(*orders):
    return Issued(
        processes=2,
        tasks=2,
        opened=1,
        files=1,
        sharing='single',
        extent='segment',
        interface='posix',
        collective=False,
        size=2 * MIB,
        done=tuple(Done('write', 2 * MIB, 32, order, 30, 0.0, 1.0) for order in orders),
        sizes=(Share(64 * KIB, 1.0),),
        alignment=0,
        misaligned=0.0,
        partial=False,
    )


@pytest.mark.parametrize(
    ('orders', 'order'),
    [
        (('strided', 'strided'), 'strided'),
        (('strided', ''), 'strided'),
        (('strided', 'contiguous'), MIXED),
        ((MIXED,), MIXED),
        (('',), ''),
        ((), ''),
    ],
)
def test_the_order_is_the_one_that_all_operations_have(orders, order):
    assert issued(*orders).order == order


def test_a_run_comes_back_from_its_json_with_what_could_not_be_seen():
    run = DarshanRun(
        (
            DarshanLaunch('write', POINT, issued('strided')),
            DarshanLaunch('read', POINT, None, 'no log was left'),
        )
    )
    assert from_json(DarshanRun, json.loads(json.dumps(to_json(run)))) == run
