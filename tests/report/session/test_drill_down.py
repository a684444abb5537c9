"""The drill-down in the report: what each group gave, and the component in the reason of the FAIL."""

import pytest

from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.record import Drill, DrillGroup
from seatrial.model.units import BINARY, MIB
from seatrial.report.figures import Unit
from seatrial.report.session.drill_down import view
from seatrial.report.session.page import page

NAMES = tuple(f'ost{n:04d}' for n in range(4))
ROUNDS = (
    (DrillGroup('a', NAMES[:2], (100.0 * MIB, 102.0 * MIB)), DrillGroup('b', NAMES[2:], (50.0 * MIB, 52.0 * MIB))),
    (DrillGroup('a', NAMES[2:3], ()), DrillGroup('control', NAMES[:1], (60.0 * MIB, 64.0 * MIB))),
)
SERVERS = {'ost0000': 'oss1@o2ib', 'ost0001': 'oss1@o2ib', 'ost0002': 'oss2@o2ib'}


@pytest.fixture
def evidence(make):
    plan = make.plan()
    records = make.records(plan, make.even_rates(plan, 100.0))
    drill = Drill('write@2MiB', 900.0 * MIB, ROUNDS, 'all 2 OSTs of oss2@o2ib are 49 % slower')
    records = records._replace(start=records.start._replace(servers=SERVERS), drill=drill)
    reference = Reference('write@2MiB', 1000.0 * MIB, -0.1, None, 'MiB/s', 'baseline', '2026-11-01', 'fio')
    return make.case(plan, records, Criteria(references=(reference,)))


def test_every_group_of_every_round_has_a_row(evidence):
    shown = view(evidence, BINARY)
    found = shown.rows
    assert shown.unit == Unit('MiB/s')
    assert [(row.number, row.group, row.mean / MIB) for row in found] == [
        (1, 'a', 101.0),
        (1, 'b', 51.0),
        (2, 'a', 0.0),
        (2, 'control', 62.0),
    ]
    assert [row.servers for row in found] == ['oss1@o2ib', 'oss2@o2ib', 'oss2@o2ib', 'oss1@o2ib']
    assert found[1].share == pytest.approx(51 / 101) and found[0].share == 1.0


def test_without_a_drill_down_nothing_is_shown(make, evidence):
    assert view(make.case(evidence.plan, evidence.records._replace(drill=None)), BINARY) is None


def test_the_component_stands_in_the_reason_of_the_fail(evidence):
    (failing,) = [each for each in evidence.result.metrics if each.metric == 'write@2MiB']
    assert failing.verdict is Verdict.FAIL
    assert failing.why.endswith('; drill-down: all 2 OSTs of oss2@o2ib are 49 % slower')
    assert any('oss2@o2ib' in reason for reason in evidence.result.reasons)


def test_a_metric_that_does_not_fail_is_not_explained(make, evidence):
    again = make.case(evidence.plan, evidence.records)
    assert not any('drill-down' in each.why for each in again.result.metrics)


def test_the_page_shows_the_numbers(make, evidence):
    html = page(make.session(evidence))
    assert 'write@2MiB is below 900 MiB/s: all 2 OSTs' in html
    assert 'Drill-down' in html and 'ost0002, ost0003' in html and 'all 2 OSTs of oss2@o2ib are 49 % slower' in html
