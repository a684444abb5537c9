"""A node sweep that cannot be made is refused with the reason, and an engine that does not say it is skipped."""

import pytest

from seatrial.job.sequence import runner
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import EngineChoice
from seatrial.model.point import Allocation
from seatrial.model.units import KIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import AXES, Sweep, expand

MFWA = data_access('multiple', transfer_size=KIB, bytes_per_task=64 * KIB)


@pytest.fixture
def sweep(lab, stub_fio):
    """A plan over two nodes; `engines` go before the stand-in for fio."""

    def make(*engines):
        fio = stub_fio()
        points = tuple(expand(Sweep('node'), MFWA, Allocation(2, 1)))
        plan = lab.plan(fio, axis=AXES['node'], points=points)
        return plan._replace(case=plan.case._replace(nodes=2), engines=(*engines, EngineChoice('fio', fio)))

    return make


@pytest.mark.parametrize(
    ('nodelist', 'said'),
    [
        (None, 'SLURM_JOB_NODELIST has 0 of 2; submit it to a Slurm partition'),
        ('n1', 'SLURM_JOB_NODELIST has 1 of 2'),
        ('n[1-', "'n[1-' is no list of nodes"),
    ],
)
def test_without_the_names_of_its_nodes_it_is_refused(lab, sweep, monkeypatch, nodelist, said):
    monkeypatch.delenv('SLURM_JOB_NODELIST', raising=False)
    if nodelist is not None:
        monkeypatch.setenv('SLURM_JOB_NODELIST', nodelist)
    ran = lab.run(sweep())
    assert ran.end.reason == runner.REFUSED
    assert said in ran.end.why
    assert ran.result.verdict is Verdict.INCOMPLETE
    assert ran.records.samples == []


def test_an_engine_that_does_not_say_where_its_tasks_ran_is_skipped(lab, sweep, monkeypatch, tmp_path):
    ior = tmp_path / 'ior'
    ior.write_text('#!/bin/sh\nexit 1\n')
    ior.chmod(0o755)
    monkeypatch.setenv('SLURM_JOB_NODELIST', 'n[1-2]')
    monkeypatch.delenv('SLURM_JOB_PARTITION', raising=False)
    ran = lab.run(sweep(EngineChoice('ior', str(ior))))
    assert 'ior: does not say which task ran on which node' in ran.records.start.skipped
    assert ran.records.start.engine == 'fio'
