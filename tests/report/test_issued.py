"""What was issued stands in the report beside what was meant."""

import re

import pytest

from seatrial.model.issued import Done, Issued, Share, Witnessed
from seatrial.model.units import MIB
from seatrial.report.page import page

HEAD = 'What was issued'


@pytest.fixture
def told(make):
    """The page of a session with one case, witnessed like this, as its text without tags."""

    def tell(*launches):
        plan = make.plan()
        rates = {name: [100.0, 101.0, 100.5, 99.5, 100.2, 100.1] for name in plan.metrics}
        records = make.records(plan, rates)._replace(issued=launches)
        html = page(make.session(make.case(plan, records)))
        return ' '.join(re.sub('<[^>]*>', ' ', html).split())

    return tell


def launch(order):
    done = Done('write', 128 * MIB, 64, order, 62, 0.0, 1.0)
    size = 128 * MIB
    seen = Issued(
        2, 2, 2, 2, 'multiple', 'whole', 'posix', False, size, (done,), (Share(2 * MIB, 1.0),), 0, 0.0, False
    )
    return Witnessed('32objects', 'write', 64 * MIB, seen)


def test_every_aspect_stands_beside_what_was_meant(told):
    text = told(launch('contiguous'))
    assert HEAD in text and 'write@32objects clients 2 2 yes' in text
    assert (
        'transfer size 2MiB 2MiB (100 %) yes' in text
        and ' no ' not in text.partition('write@32objects clients')[2].partition('calls')[0]
    )


def test_a_difference_is_marked(told):
    assert 'order contiguous strided (0 % right behind the one before, 100 % anywhere behind it) no' in told(
        launch('strided')
    )


def test_what_could_not_be_seen_says_why(told):
    assert 'write@32objects not witnessed: no log <was> left'.replace('<', '&lt;').replace('>', '&gt;') in told(
        Witnessed('32objects', 'write', 64 * MIB, None, 'no log <was> left')
    )


def test_a_case_without_a_witness_has_no_such_table(told):
    assert HEAD not in told()
