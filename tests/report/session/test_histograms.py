"""What an ageing has filled in, in the page: each class with its share beside the target."""

import builders
from seatrial.model.metric import Histogram
from seatrial.report.session.histograms import histograms
from seatrial.report.session.page import page
from seatrial.workload.ageing import ageing

POINT = ageing(100)._replace(label='aged', tasks=2, tasks_per_node=2)
FOUND = (
    Histogram('directories by depth', '', (1, 2, 3), (1, 2, 1), (0.25, 0.5, 0.25)),
    Histogram('files by size', 'B', (1024, 4096), (30, 12345), (0.1, 0.9)),
)


def case(make, found=FOUND):
    return make.scenarios((POINT, builders.Measurement((), 2, ('n1',), histograms=found)))


def test_each_class_has_its_number_its_share_and_its_target(make):
    depths, sizes = histograms(case(make))
    assert [(row.ends, row.found, row.share, row.target) for row in depths.rows] == [
        ('1', 1, 0.25, 0.25),
        ('2', 2, 0.5, 0.5),
        ('3', 1, 0.25, 0.25),
    ]
    assert [row.ends for row in sizes.rows] == ['to 1 KiB', 'to 4 KiB']


def test_a_launch_that_filled_in_nothing_has_none(make):
    assert histograms(case(make, ())) == []


def test_the_page_shows_them(make):
    text = page(make.session(case(make)))
    assert 'directories by depth' in text and '12\u202f345' in text
    assert 'What was filled in' not in page(make.session(case(make, ())))
