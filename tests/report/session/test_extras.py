"""Tables that only some cases have: groups of nodes, what was filled in, the drill-down, what was issued; and
commands.txt."""

import re

import pytest

from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.issued import DarshanLaunch, Done, Issued, Share
from seatrial.model.metric import Histogram
from seatrial.model.plan import NodeGroup
from seatrial.model.point import Point
from seatrial.model.record import Drill, DrillGroup
from seatrial.model.units import BINARY, MIB
from seatrial.report.session.page import page
from seatrial.report.session.summary import commands

NAMES = tuple(f'ost{n:04d}' for n in range(4))
ROUNDS = (
    (DrillGroup('a', NAMES[:2], (100.0 * MIB, 102.0 * MIB)), DrillGroup('b', NAMES[2:], (50.0 * MIB, 52.0 * MIB))),
    (DrillGroup('a', NAMES[2:3], ()), DrillGroup('control', NAMES[:1], (60.0 * MIB, 64.0 * MIB))),
)
SERVERS = {'ost0000': 'oss1@o2ib', 'ost0001': 'oss1@o2ib', 'ost0002': 'oss2@o2ib'}
FILLED = (
    Histogram('directories by depth', '', (1, 2, 3), (1, 2, 1), (0.25, 0.5, 0.25)),
    Histogram('files by size', 'B', (1024, 4096), (30, 12345), (0.1, 0.9)),
)


@pytest.fixture
def rows_of(make):
    """The text of each row of the first table below a heading; None where the page has no such heading."""

    def rows(case, heading):
        _, there, after = page(make.session(case)).partition(f'<h4>{heading}</h4>')
        table_rows = re.findall('<tr>(.*?)</tr>', after.partition('</table>')[0].partition('<tbody>')[2], re.DOTALL)
        texts = [' '.join(re.sub('<[^>]*>', ' ', row).replace('\u2013', '-').split()) for row in table_rows]
        return texts if there else None

    return rows


def even(make, **start):
    plan = make.plan()
    return plan, make.records(plan, make.even_rates(plan, 100.0), **start)


def test_every_group_of_nodes_has_a_row_with_the_ratio_to_the_first(make, rows_of):
    plan, records = even(make)
    samples = []
    for sample in records.samples:
        task = sample.measurement.tasks[0]._replace(start_s=0.0, end_s=2.0, bytes_moved=400 * MIB)
        tasks = (task._replace(rank=0, host='n1'), task._replace(rank=1, host='n2', bytes_moved=200 * MIB))
        samples.append(sample._replace(measurement=sample.measurement._replace(tasks=tasks)))
    plan = plan._replace(groups=(NodeGroup('rack1', ('n1',)), NodeGroup('rack2', ('n2',))))
    records = records._replace(samples=samples)
    first, second, *others = rows_of(make.case(plan, records), 'Groups of nodes')
    assert first == 'write at 2MiB rack1 1 1 200 200 - 200 - -'
    assert second.startswith('rack2 1 1 100 ') and ' 0.500 ' in second and len(others) == 10
    assert rows_of(make.case(plan._replace(groups=()), records), 'Groups of nodes') is None


def test_each_class_that_was_filled_in_has_its_share_beside_the_target(make, rows_of):
    def rows(*histograms):
        plan, records = even(make)
        made = [(sample, sample.measurement._replace(histograms=histograms)) for sample in records.samples]
        filled = [sample._replace(measurement=measurement) for sample, measurement in made]
        return rows_of(make.case(plan, records._replace(samples=filled)), 'What was filled in')

    assert rows(FILLED[0]) == ['1 1 25 % 25 %', '2 2 50 % 50 %', '3 1 25 % 25 %']
    assert rows(FILLED[1]) == ['to 1 KiB 30 0.2 % 10 %', 'to 4 KiB 12 345 100 % 90 %']
    assert rows() is None


def test_every_group_of_a_drill_down_has_a_row_and_the_component_stands_in_the_reason_of_the_fail_alone(
    make, rows_of
):
    drill = Drill('write@2MiB', 900.0 * MIB, ROUNDS, 'all 2 OSTs of oss2@o2ib are 49 % slower')
    plan, records = even(make, servers=SERVERS)
    reference = Reference('write@2MiB', 1000.0 * MIB, -0.1, None, 'MiB/s', 'baseline', '2026-11-01', 'fio')
    drilled = make.case(plan, records._replace(drill=drill), Criteria(references=(reference,)))
    assert rows_of(drilled, 'Drill-down') == [
        '1 a ost0000, ost0001 oss1@o2ib 101 100 - 102 100 %',
        '1 b ost0002, ost0003 oss2@o2ib 51.0 50.0 - 52.0 50 %',
        '2 a ost0002 oss2@o2ib - - -',
        '2 control ost0000 oss1@o2ib 62.0 60.0 - 64.0 100 %',
    ]
    assert 'write@2MiB is below 900 MiB/s: all 2 OSTs of oss2@o2ib' in page(make.session(drilled))
    assert rows_of(make.case(plan, records), 'Drill-down') is None
    (failing,) = [metric for metric in drilled.result.metrics if metric.metric == 'write@2MiB']
    assert failing.verdict is Verdict.FAIL
    assert failing.why.endswith('; drill-down: all 2 OSTs of oss2@o2ib are 49 % slower')
    met = make.case(plan, drilled.records)
    assert not any('drill-down' in metric.why for metric in met.result.metrics)


def issued(make, *launches):
    plan, records = even(make)
    point = next(sample.point for sample in records.samples if sample.point.label == '32MiB')
    return make.case(plan, records._replace(issued=tuple(launch._replace(point=point) for launch in launches)))


def darshan(order):
    """A launch of which Darshan saw all that was meant, in this order."""
    size = 128 * MIB
    done, share = Done('write', size, 4, order, 2, 0.0, 1.0), Share(32 * MIB, 1.0)
    seen = Issued(2, 2, 2, 2, 'multiple', 'whole', 'posix', False, size, (done,), (share,), 0, 0.0, False)
    return DarshanLaunch('write', Point('access', ('write',)), seen)


def test_what_was_issued_stands_beside_what_was_meant_with_every_difference(make, rows_of):
    rows = rows_of(issued(make, darshan('contiguous')), 'What was issued')
    assert rows[0] == 'write@32MiB tasks 2 2 yes' and 'transfer size 32MiB 32MiB (100 %) yes' in rows
    rows = rows_of(issued(make, darshan('strided')), 'What was issued')
    assert 'order contiguous strided (0 % right behind the one before, 100 % anywhere behind it) no' in rows
    lost = DarshanLaunch('write', Point('access', ('write',)), None, 'no log <was> left')
    assert rows_of(issued(make, lost), 'What was issued') == ['write@32MiB no Darshan log: no log &lt;was&gt; left']
    assert rows_of(issued(make), 'What was issued') is None


def test_commands_have_each_point_with_its_launches_as_they_ran_and_what_they_gave(make):
    session = make.varied()
    case = session.cases[0]
    launch = case.launches['32KiB'][0]
    lines = commands(session.cases, BINARY).splitlines()
    assert lines[0] == f'#### {case.plan.case.name}: bytes per transfer: 32 KiB'
    assert lines[1].startswith(f'# {launch.launch}; it gave ')
    assert lines[2:6] == [f'cd {launch.directory}', 'export LC_ALL=C', *launch.command, '']
    assert sum(line.startswith('#### ') for line in lines) == sum(len(one.launches) for one in session.cases)
