"""The blocks of a run: in which order points are measured, how often, and what the time budget leaves of them."""

import time
from pathlib import Path

import pytest

from seatrial.job.sequence import start
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import StoppingRule
from seatrial.rules import launch
from seatrial.workload.access import data_access

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]

WRITES = data_access('multiple', operations=('write',))
UNTIL_SHORT = StoppingRule(0.10, minimum=2, maximum=4, extra=1, budget_s=600.0)
NOISY = {'seconds': 0.04, 'runtime_ms': [10, 40, 20, 35, 15, 30, 12]}


class Clock:
    """The module time, for the time budget alone: its clock jumps by an hour once so many launches have begun."""

    def __init__(self, log, launches):
        self._log, self._launches = Path(log), launches

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        begun = len(self._log.read_text().splitlines()) if self._log.exists() else 0
        return time.monotonic() + (3600.0 if begun >= self._launches else 0.0)


def blocks_of(ran):
    """The points of each block in the order in which they were measured."""
    blocks = {}
    for sample in ran.measured:
        labels = blocks.setdefault((sample.sizing, sample.block), [])
        if sample.point.label not in labels:
            labels.append(sample.point.label)
    return list(blocks.values())


def test_a_block_holds_every_unfinished_point_once(lab, stub_fio):
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-write@16KiB', NOISY))
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(32, 16, 8), stopping=UNTIL_SHORT))
    assert [sorted(block) for block in blocks_of(ran)] == 3 * [['16KiB', '32KiB', '8KiB']] + [['16KiB']]
    assert all(len(block) == len(set(block)) for block in blocks_of(ran))


def test_the_order_of_the_points_comes_from_the_seed_of_the_plan(lab, stub_fio):
    orders = []
    for check, seed in (('A', 1), ('B', 1), ('C', 2)):
        plan = lab.plan(stub_fio(), check=check, workload=WRITES, values=(64, 32, 16), seed=seed)
        orders.append(blocks_of(lab.run(plan)))
    assert orders[0] == orders[1] != orders[2]
    first, second = orders[0]
    assert first != second, 'it differs between blocks'
    assert lab.records(plan).start.seed == seed


def test_a_converged_point_gets_the_extra_repetitions_that_it_is_owed(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), values=(32,), stopping=UNTIL_SHORT))
    assert ran.counts == {'write@32KiB': 3, 'read@32KiB': 3}
    assert ran.end.stopped == {'32KiB': 'converged'}


def test_a_point_is_repeated_until_both_of_its_operations_are_known(lab, stub_fio):
    # Launches 3, 5, 7, ... are the measured writes: their figures are constant, those of the reads are not.
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'runtime_ms': [10, 10, 40, 40]}))
    ran = lab.run(lab.plan(fio, values=(32,), stopping=UNTIL_SHORT))
    assert ran.counts == {'write@32KiB': 4, 'read@32KiB': 4}
    assert ran.end.stopped == {'32KiB': 'exhausted'}


def test_a_read_that_fails_is_not_repeated_and_the_write_of_its_point_is(lab, stub_fio):
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'fault': 'error-lines'}))
    ran = lab.run(lab.plan(fio, values=(32,), stopping=UNTIL_SHORT))
    assert (ran.counts, ran.end.stopped) == ({'write@32KiB': 3, 'read@32KiB': 1}, {'32KiB': 'converged'})
    assert [metric.verdict for metric in ran.result.metrics] == [Verdict.MEASURED, Verdict.INVALID]


def test_a_write_that_is_too_short_is_made_for_its_read_until_that_is_known(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(launch, 'CLOCK_MIN_S', 0.5)
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'seconds': 0.2}))
    ran = lab.run(lab.plan(fio, values=(32,), stopping=UNTIL_SHORT))
    assert (ran.counts, ran.end.stopped) == ({'write@32KiB': 3, 'read@32KiB': 3}, {'32KiB': 'converged'})
    assert [metric.verdict for metric in ran.result.metrics] == [Verdict.INVALID, Verdict.MEASURED]
    assert [reason[:29] for reason in ran.result.reasons] == ['write@32KiB: INVALID: T19: th']


def test_no_launch_begins_after_the_budget(lab, stub_fio, monkeypatch):
    fio = stub_fio(('', NOISY))
    monkeypatch.setattr(start, 'time', Clock(f'{fio}.log', launches=4))
    rule = UNTIL_SHORT._replace(minimum=4, maximum=8)
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(32, 16), stopping=rule))
    assert (len(ran.records.samples), ran.end.stopped) == (4, {'32KiB': 'budget', '16KiB': 'budget'})
    assert [metric.verdict for metric in ran.result.metrics] == [Verdict.INCONCLUSIVE] * 2
    assert 'budget' in ran.result.reasons[0]


def test_a_profile_without_precision_measures_every_point_once_whatever_the_budget(lab, stub_fio):
    plan = lab.plan(stub_fio())
    ran = lab.run(plan._replace(stopping=plan.stopping._replace(budget_s=0.0)))
    assert set(ran.counts.values()) == {1}
    assert (ran.end.stopped, ran.result.verdict) == ({'32KiB': 'budget', '16KiB': 'budget'}, Verdict.MEASURED)
