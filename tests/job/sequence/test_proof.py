"""The proof of contents at the end of a case: what is launched, how much, and what becomes of data that differ."""

import os

import pytest

from seatrial.job import __main__ as command
from seatrial.job.sequence import proof, start
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Launcher
from seatrial.model.units import KIB
from seatrial.workload.access import data_access
from stand_in import program

pytestmark = pytest.mark.usefixtures('short_launches')

SHARED = data_access('single', 'segment', 'strided')
SFWA = data_access('single', operations=('read',))


def proved(ran):
    return [sample for sample in ran.records.samples if sample.stage == 'proof']


@pytest.mark.parametrize('workload', [data_access('multiple'), SHARED, SFWA], ids=['own files', 'shared', 'reads'])
def test_it_is_written_and_read_at_the_end_as_the_largest_point_is(lab, stub_fio, workload):
    ran = lab.run(lab.plan(stub_fio(), workload=workload, tasks=2), proves=True)
    launches = proved(ran)
    assert ran.records.samples[-2:] == launches
    assert [(each.phase, each.point.tasks, each.findings) for each in launches] == [('write', 2, ()), ('read', 2, ())]
    files = '1 file' if workload.files == 'single' else '2 files'
    size = '64 KiB' if workload is SFWA else '128 KiB'
    assert ran.result.verified.startswith(f'verified: {size} of {size} in {files}, read by {os.uname().nodename}, ')
    assert ran.result.verdict is Verdict.MEASURED
    assert os.listdir(os.path.join(ran.records.start.run_directory, 'data')) == []


SRUN = """# srun OPTION... PROGRAM...: as many copies as -nN says, each with its rank.
for word; do case $word in -n*) n=${word#-n};; -*) ;; *) break;; esac; shift; done
rank=0
while [ $rank -lt $n ]; do SLURM_PROCID=$rank "$@" & rank=$((rank + 1)); done
wait
"""


def test_in_a_sweep_over_nodes_whose_tasks_are_not_kept_it_knows_what_each_has_written(
    lab, stub_fio, tmp_path, monkeypatch
):
    program(tmp_path, monkeypatch, 'srun', SRUN)
    monkeypatch.setattr(start, 'named_nodes', lambda plan: (os.uname().nodename,))
    ran = lab.run(lab.plan(stub_fio(), tasks=2, launcher=Launcher('srun')), proves=True)
    assert {each.measurement.tasks for each in ran.records.samples if each.stage == 'measured'} == {()}
    assert ran.result.verified.startswith('verified: 128 KiB of 128 KiB in 2 files'), ran.result.verified


def test_what_is_too_much_for_its_share_of_the_time_is_proved_in_part_and_the_share_is_said(
    lab, stub_fio, monkeypatch
):
    monkeypatch.setattr(proof, 'MIN_S', 1.3)
    plan = lab.plan(stub_fio(('measured', {'seconds': 1.0})), tasks=2, values=(16,))
    # 128 KiB/s were measured, and each launch has 0.52 s of 1.3 s: 66 KiB, two of each four transfers.
    ran = lab.run(plan, proves=True)
    assert proved(ran)[0].measurement.bytes_moved == 64 * KIB
    assert ran.result.verified.startswith('verified: 64 KiB of 128 KiB (50 %) in 2 files')


def test_its_share_of_the_time_budget_is_kept_for_it_and_it_takes_no_more_of_what_the_case_took(
    lab, stub_fio, monkeypatch
):
    monkeypatch.setattr(proof, 'MIN_S', 0.0)
    plan = lab.plan(stub_fio(('measured', {'seconds': 1.0})), tasks=2, values=(16,))
    assert proof.reserved_s(plan) == 0.05 * plan.stopping.budget_s
    # Of 4 s and a start-up each launch has 0.1 s: no transfer of 16 KiB would fit, and one is made all the same.
    assert proved(lab.run(plan, proves=True))[0].measurement.bytes_moved == 2 * 16 * KIB


def spoiled(monkeypatch, how):
    """What the tasks are launched with makes the files so between the write and the read."""
    engine = proof.Proof.reads_back

    def reads_back(self, written, point):
        how()
        return engine(self, written, point)

    monkeypatch.setattr(proof.Proof, 'reads_back', reads_back)


def test_data_that_differ_fail_the_case_and_stay_where_they_are(lab, stub_fio, monkeypatch):
    plan = lab.plan(stub_fio(), tasks=2)

    def flip():
        (file,) = lab.target.glob('seatrial-*/data/data.00000001')
        data = bytearray(file.read_bytes())
        data[12345] ^= 4
        file.write_bytes(data)

    spoiled(monkeypatch, flip)
    ran = lab.run(plan, proves=True)
    assert ran.result.verdict is Verdict.FAIL and ran.result.reasons[0].startswith('F2: data.00000001 differs')
    assert ran.result.verified == ''
    lab.write(plan)
    assert command.main(['remove', os.path.join(plan.records, 'plan.json')]) == 0
    (kept,) = lab.target.glob('seatrial-*/data/data.00000001')
    assert kept.stat().st_size == 64 * KIB
    assert any('the file is kept' in label for label in lab.judged(plan).labels)


def test_a_file_that_is_gone_or_too_short_is_lost_data(lab, stub_fio, monkeypatch):
    spoiled(monkeypatch, lambda: [os.truncate(file, 1) for file in lab.target.glob('seatrial-*/data/data.*')])
    result = lab.run(lab.plan(stub_fio()), proves=True).result
    assert result.verdict is Verdict.FAIL
    assert result.reasons[0].startswith('F2: before the read data.00000000 has 1 B')


def test_a_proof_that_fails_by_itself_is_said_and_fails_nothing(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(proof, 'sys', type('sys', (), {'executable': '/bin/false'}))
    ran = lab.run(lab.plan(stub_fio()), proves=True)
    assert ran.result.verdict is Verdict.MEASURED
    assert ran.result.verified.startswith('not verified: E1: task 0 on ')
