"""What a launch is given beside its point, and what of it is kept; what comes of launches that fail: the runner's."""

import os

import pytest

from seatrial.engine.fio import Fio
from seatrial.filesystem.posix import Posix
from seatrial.job import sampling
from seatrial.model.record import Finding, Sample

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]


def test_every_block_has_a_seed_of_its_own_and_a_repeated_run_has_the_same(lab, stub_fio, monkeypatch):
    given, command = [], Fio.command

    def recorded(self, program, workload, operation, point, raw, seed):
        given.append((os.path.basename(raw), seed))
        return command(self, program, workload, operation, point, raw, seed)

    monkeypatch.setattr(Fio, 'command', recorded)
    ran = lab.run(lab.plan(stub_fio(), seed=41))
    assert given == [(sample.raw, 41 + sample.block) for sample in ran.records.samples]
    assert {sample.block for sample in ran.measured} == {0, 1}


def test_the_raw_output_of_a_launch_is_named_by_its_number_stage_operation_and_point(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), values=(2,)))
    assert [sample.raw for sample in ran.records.samples] == [
        '0001-warmup-write@2objects',
        '0002-warmup-read@2objects',
        '0003-measured-write@2objects',
        '0004-measured-read@2objects',
        '0005-measured-write@2objects',
        '0006-measured-read@2objects',
    ]


def sample(*findings):
    return Sample('prepare', '2objects', 'write', 0, 0, 0, 0.0, 1.0, 4096, (), 0, 'raw', None, '', None, findings)


def test_what_cannot_be_believed_ends_the_run_with_the_first_reason():
    label, invalid = Finding('T4', 'label', 'a label'), Finding('T17', 'invalid', 'a file is short')
    with pytest.raises(sampling.Refused, match='the prepare failed: T17: a file is short'):
        sampling.believed(sample(label, invalid))


def p20a(ran):
    """The labels of the case, what the start record says, and the samples that say it."""
    labels = [label for label in ran.result.labels if label.startswith('P20a: ')]
    told = [sample for sample in ran.records.samples if any(each.rule == 'P20a' for each in sample.findings)]
    return labels, [each for each in ran.records.start.findings if each.rule == 'P20a'], told


def test_connections_that_are_never_seen_are_said_once_a_case(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(Posix, 'unseen', lambda self, before, after: 'osc/*/state: Permission denied')
    ran = lab.run(lab.plan(stub_fio()))
    labels, at_start, samples = p20a(ran)
    assert len(labels) == len(at_start) == 1 and samples == [] and 'Permission denied' in labels[0]
    assert all(sample.valid for sample in ran.measured)


def test_a_look_at_the_connections_that_told_nothing_is_said_of_its_launch(lab, stub_fio, monkeypatch):
    looks = iter(range(10**6))
    monkeypatch.setattr(Posix, 'connections', lambda self, path: next(looks))
    monkeypatch.setattr(Posix, 'unseen', lambda self, before, after: 'lctl did not answer' if before == 7 else '')
    labels, at_start, samples = p20a(lab.run(lab.plan(stub_fio())))
    assert at_start == [] and len(labels) == len(samples) == 1
    assert samples[0].valid and 'lost: lctl did not answer; ' in labels[0]


def test_of_a_type_without_connections_nothing_is_said(lab, stub_fio):
    assert p20a(lab.run(lab.plan(stub_fio()))) == ([], [], [])
