"""Random I/O in a run: its files are written once and read in full, and what is too short or incomplete is invalid.

A stand-in for fio is launched (tests/stubs/fio.py).
"""

import pytest

from seatrial.engine.fio.random import FioRandom
from seatrial.judge.verdict import Verdict
from seatrial.model.units import MIB
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep

pytestmark = pytest.mark.slow

DEPTHS = Sweep('queue_depth', (1, 4))


def random_plan(lab, fio, phases=('randread',), duration_s=0.05, **how):
    workload = random_access(phases, 2 * MIB, duration_s=duration_s, **how)
    return lab.plan(fio, workload=workload, sweep=DEPTHS, size=MIB)


def launched(ran):
    return [(sample.stage, sample.phase) for sample in ran.records.samples]


@pytest.mark.usefixtures('short_launches')
class TestARun:
    def test_its_files_are_written_before_the_warm_up_and_before_all_points_and_never_again(self, lab, stub_fio):
        ran = lab.run(random_plan(lab, stub_fio(), ('randread', 'randwrite')))
        once, points, repetitions = ['randread', 'randwrite'], 2, 2
        assert launched(ran) == [
            ('prepare', 'write'),
            *(('warmup', phase) for phase in once),
            ('prepare', 'write'),
            *(('measured', phase) for phase in once * points * repetitions),
        ]
        assert ran.result.verdict is Verdict.MEASURED

    def test_its_preparation_is_no_figure_and_its_points_have_all_of_theirs(self, lab, stub_fio):
        ran = lab.run(random_plan(lab, stub_fio(), ('randrw',), read_share=0.7))
        ways = [f'randrw_{way}{each}' for way in ('read', 'write') for each in ('', '_iops', '_latency', '_p99')]
        assert set(ran.counts) > {f'{metric}@{label}' for metric in ways for label in ('qd1', 'qd4')}
        assert set(ran.counts.values()) == {2}

    @pytest.mark.parametrize(('direct', 'cache'), [(True, {'cold'}), (False, {'cached', 'unknown'})])
    def test_what_is_read_directly_is_cold_and_nothing_else_is(self, lab, stub_fio, direct, cache):
        """P2: the stand-in reads what this node has written a moment ago."""
        plan = random_plan(lab, stub_fio(), direct=direct)
        ran = lab.run(plan._replace(points=plan.points[:1]))
        assert ran.measured and {sample.cache for sample in ran.measured} <= cache

    def test_what_it_writes_has_no_cache_and_must_be_synced(self, lab, stub_fio, monkeypatch):
        """P1."""
        plan = random_plan(lab, stub_fio(), ('randwrite',))
        measure = FioRandom.measure

        def unsynced(self, phase, point, command, outcome):
            return measure(self, phase, point, command, outcome)._replace(fsync=phase == 'write')

        monkeypatch.setattr(FioRandom, 'measure', unsynced)
        ran = lab.run(plan)
        assert {sample.cache for sample in ran.records.samples} == {''}
        assert (ran.end.reason, 'P1: ' in ran.end.why) == ('refused', True)

    def test_files_without_data_of_their_own_are_never_read(self, lab, stub_fio):
        """T22: random reads over sparse files are answered without the storage."""
        ran = lab.run(random_plan(lab, stub_fio(('prepare-write', {'fault': 'zeros'}))))
        assert launched(ran) == [('prepare', 'write')]
        assert (ran.end.reason, 'T22: ' in ran.end.why, ran.result.verdict) == ('refused', True, Verdict.INCOMPLETE)

    def test_a_file_that_has_lost_a_byte_makes_its_launch_invalid_and_the_next_one_is_not_made(self, lab, stub_fio):
        """T17: fio would remove the file."""
        fio = stub_fio(('measured-randread@qd1', {'fault': 'cut-file'}))
        ran = lab.run(random_plan(lab, fio))
        after = next(sample for sample in ran.measured if sample.point.label == 'qd1')
        assert [each.rule for each in after.findings if each.effect == 'invalid'] == ['T17']
        assert 'after the randread data.00000001 has 1048575 B, not 1048576 B' in after.findings[0].sentence
        for sample in ran.measured[ran.measured.index(after) + 1 :]:
            assert (sample.measurement, sample.findings[0].rule) == (None, 'T17')
            assert sample.findings[0].sentence.startswith('before the randread ')
        assert ran.result.verdict is Verdict.INVALID


def test_a_launch_that_is_too_short_for_its_clock_is_invalid(lab, stub_fio):
    """T19: fio counts whole milliseconds."""
    plan = random_plan(lab, stub_fio())
    ran = lab.run(plan._replace(stopping=plan.stopping._replace(fixed=False)))
    assert {each.rule for sample in ran.measured for each in sample.findings if each.effect == 'invalid'} == {'T19'}
    assert ran.result.verdict is Verdict.INVALID


def test_one_that_ends_before_its_time_is_invalid(lab, stub_fio):
    """T1: half of the time that was asked for."""
    fio = stub_fio(('measured', {'seconds': 0.3}))
    ran = lab.run(random_plan(lab, fio, duration_s=0.6))
    assert {sample.findings[0].rule for sample in ran.measured} == {'T1'}
