"""What the servers did while a case ran, in the page."""

from dataclasses import replace

import pytest

from seatrial.model.telemetry import Ended, ServerGap, ServerLook, Telemetry, Watch
from seatrial.model.units import BINARY, MIB
from seatrial.report.session.monitors import MOST_LINES, monitored
from seatrial.report.session.page import page

BEGIN = 1795230450.0


def look(second, server='oss1', busy=0.5, **changes):
    rates = {'read': 2.0 * MIB, 'written': MIB, 'received': MIB, 'sent': MIB, 'packets_in': 10.0, 'packets_out': 20.0}
    return ServerLook(BEGIN + second, server, 1.0, 1, busy, 'sda', **rates)._replace(**changes)


@pytest.fixture
def seen(make):
    """The case of a session in which these were seen."""
    plan = make.plan()
    case = make.case(plan, make.records(plan, make.even_rates(plan)))

    def of(looks, gaps=(), seconds=100):
        watch = Watch(BEGIN, 'node1', '', 'no counter', 1.0)
        ended = Ended(BEGIN + seconds)
        return replace(case, telemetry=Telemetry(watch, [], [], [], [], [], ended, 0, tuple(looks), tuple(gaps)))

    return of


def test_a_case_without_monitors_has_none(seen):
    assert monitored(seen([]), BINARY) is None


def test_the_busiest_server_is_first_with_its_disk_and_its_rates(seen):
    looks = [look(n, 'oss1', 0.1) for n in range(1, 101)]
    looks += [look(n, 'oss2', 0.99 if n < 11 else 0.2, read=float(n * MIB)) for n in range(1, 101)]
    first, second = monitored(seen(looks), BINARY)['rows']
    assert (first['server'], first['busy'], first['saturated_s'], second['server']) == ('oss2', 0.99, 10.0, 'oss1')
    assert first['rates']['read'] == (50.5 * MIB, 100 * MIB) and first['packets'] == (30.0, 30.0)
    assert (first['missing'], first['lacking']) == (0.0, False)


@pytest.mark.parametrize(('there', 'lacking'), [(96, False), (94, True)])
def test_more_than_a_twentieth_of_the_samples_missing_is_said(seen, there, lacking):
    (row,) = monitored(seen([look(n) for n in range(1, there + 1)]), BINARY)['rows']
    assert row['lacking'] is lacking and row['missing'] == pytest.approx(1 - there / 100)


def test_a_server_that_never_answered_is_there_with_the_reason(seen, make):
    case = seen([look(n) for n in range(1, 101)], [ServerGap(BEGIN + 1, 'mds1', 'no route')])
    (row,) = (each for each in monitored(case, BINARY)['rows'] if each['server'] == 'mds1')
    assert (row['missing'], row['lacking']) == (1.0, True)
    assert 'no route' in page(make.session(case))


def test_each_of_the_busiest_has_a_line_that_is_broken_where_samples_are_missing(seen):
    looks = [look(n, f'oss{number}', number / 10) for n in (1, 2, 5) for number in range(9)]
    lines = monitored(seen(looks), BINARY)['chart'].parts
    assert [line.label for line in lines] == [
        f'busiest disk of oss{number}' for number in range(8, 8 - MOST_LINES, -1)
    ]
    assert lines[0].strokes[1] == [(BEGIN + 4, 80.0), (BEGIN + 5, 80.0)]
