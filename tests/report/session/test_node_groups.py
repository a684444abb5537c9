"""Groups of nodes in the report: a row each, with the ratio to the first."""

import pytest

from seatrial.model.plan import NodeGroup
from seatrial.model.units import BINARY, MIB
from seatrial.report.session.node_groups import view
from seatrial.report.session.page import page

GROUPS = (NodeGroup('rack1', ('n1',)), NodeGroup('rack2', ('n2',)))


@pytest.fixture
def evidence(make):
    """Every launch has a task on each of two nodes; that on the second moves half as much in its time."""
    plan = make.plan()._replace(groups=GROUPS)
    records = make.records(plan, make.even_rates(plan, 100.0))
    samples = []
    for sample in records.samples:
        own = sample.measurement.tasks[0]._replace(start_s=0.0, end_s=2.0, bytes_moved=400 * MIB)
        tasks = tuple(
            own._replace(rank=rank, host=f'n{1 + rank}', bytes_moved=own.bytes_moved // (1 + rank)) for rank in (0, 1)
        )
        samples.append(sample._replace(measurement=sample.measurement._replace(tasks=tasks)))
    return make.case(plan, records._replace(samples=samples))


def test_every_group_has_a_row_at_every_point_with_the_ratio_to_the_first(evidence):
    found = view(evidence, BINARY)
    assert (found.first, found.unit.name) == ('rack1', 'MiB/s')
    points = [each for each in evidence.result.metrics if each.groups]
    assert len(found.rows) == 2 * len(points) > 0
    first, second = found.rows[:2]
    assert (first.label, first.rate.name, first.rate.rate.mean / MIB) == ('write at 2MiB', 'rack1', 200.0)
    assert (second.label, second.rate.name, second.rate.over) == ('', 'rack2', pytest.approx(0.5))


def test_the_page_shows_them(make, evidence):
    text = page(make.session(evidence))
    assert '<h4>Groups of nodes</h4>' in text and 'over rack1' in text and '>0.500</td>' in text


def test_without_groups_there_is_no_table(make, evidence):
    plain = make.case(evidence.plan._replace(groups=()), evidence.records)
    assert view(plain, BINARY) is None and 'Groups of nodes' not in page(make.session(plain))
