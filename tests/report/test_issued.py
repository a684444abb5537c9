"""What was issued stands in the report beside what was meant."""

import re

import pytest

from seatrial.model.issued import DarshanLaunch, Done, Issued, Share
from seatrial.model.point import Point
from seatrial.model.units import MIB
from seatrial.report.session.page import page

HEAD = 'What was issued'
POINT = Point('access', ('write',))  # in whose place the case's own is put


@pytest.fixture
def told(make):
    """The page of a session with one case and these launches under Darshan, as its text without tags."""

    def tell(*launches):
        plan = make.plan()
        records = make.records(plan, make.even_rates(plan))
        point = next(each.point for each in records.samples if each.point.label == '32MiB')
        issued = tuple(each._replace(point=point) for each in launches)
        records = records._replace(issued=issued)
        html = page(make.session(make.case(plan, records)))
        return ' '.join(re.sub('<[^>]*>', ' ', html).split())

    return tell


def launch(order):
    done = Done('write', 128 * MIB, 4, order, 2, 0.0, 1.0)
    size = 128 * MIB
    seen = Issued(
        2, 2, 2, 2, 'multiple', 'whole', 'posix', False, size, (done,), (Share(32 * MIB, 1.0),), 0, 0.0, False
    )
    return DarshanLaunch('write', POINT, seen)


def test_every_aspect_stands_beside_what_was_meant(told):
    text = told(launch('contiguous'))
    assert HEAD in text and 'write@32MiB tasks 2 2 yes' in text
    assert (
        'transfer size 32MiB 32MiB (100 %) yes' in text
        and ' no ' not in text.partition('write@32MiB tasks')[2].partition('calls')[0]
    )


def test_a_difference_is_marked(told):
    assert 'order contiguous strided (0 % right behind the one before, 100 % anywhere behind it) no' in told(
        launch('strided')
    )


def test_what_could_not_be_seen_says_why(told):
    assert 'write@32MiB no Darshan log: no log <was> left'.replace('<', '&lt;').replace('>', '&gt;') in told(
        DarshanLaunch('write', POINT, None, 'no log <was> left')
    )


def test_a_case_without_a_darshan_run_has_no_such_table(told):
    assert HEAD not in told()
