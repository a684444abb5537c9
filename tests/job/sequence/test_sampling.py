"""The inputs of a launch beside its point, and its record; the runner's reports of launches that fail."""

import os

import pytest

from seatrial.engine.fio.access import Fio
from seatrial.filesystem.base import Lost
from seatrial.filesystem.posix import Posix
from seatrial.job.launch.processes import LaunchGivenUp
from seatrial.job.sequence import sampling
from seatrial.judge.verdict import Verdict
from seatrial.model.units import MIB
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep
from stand_in import program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]


def test_every_block_has_a_seed_of_its_own_and_a_repeated_run_has_the_same(lab, stub_fio, monkeypatch):
    given, command = [], Fio.command

    def recorded(self, program, phase, point, raw, seed):
        given.append((os.path.basename(raw), seed))
        return command(self, program, phase, point, raw, seed)

    monkeypatch.setattr(Fio, 'command', recorded)
    ran = lab.run(lab.plan(stub_fio(), seed=41))
    assert given == [(sample.raw, 41 + sample.block) for sample in ran.records.samples]
    assert {sample.block for sample in ran.measured} == {0, 1}
    for number, sample in enumerate(ran.records.samples, 1):
        assert sample.raw == f'{number:04d}-{sample.stage}-{sample.phase}@{sample.point.label}'
    assert p20a(ran) == ([], [], []), 'a type without connections has no finding'


def test_a_sample_has_its_command_and_the_files_and_directories_that_the_command_needs(lab, stub_fio, monkeypatch):
    fio, command = stub_fio(), Fio.command

    def with_more(self, program, phase, point, raw, seed):
        more = {'links': (('alias', 'data.00000000'),), 'directories': ('below',)} if phase == 'write' else {}
        return command(self, program, phase, point, raw, seed)._replace(**more)

    monkeypatch.setattr(Fio, 'command', with_more)
    monkeypatch.setattr(Fio, 'makes', (*Fio.makes, 'alias', 'below'))
    ran = lab.run(lab.plan(fio, values=(32,)))
    write, read = ran.measured[:2]
    assert write.point == read.point == ran.plan.points[0]
    for sample in (write, read):
        assert sample.directory == os.path.join(ran.records.start.run_directory, 'data')
        assert (sample.environment, sample.barrier) == (('LC_ALL=C',), 0)
        assert sample.inputs == (f'{sample.raw}.fio',)
        assert len(sample.command) == 1 and sample.command[0].startswith(fio)
        assert sample.command[0].endswith(os.path.join(ran.plan.records, 'raw', f'{sample.raw}.fio'))
    assert (write.links, write.directories) == ((('alias', 'data.00000000'),), ('below',))
    assert (read.links, read.directories) == ((), ())


def test_a_launch_of_a_planned_duration_is_ended_after_it_and_sets_no_later_limit(lab, stub_fio, before_launch):
    limits = []
    before_launch(lambda *arguments: limits.append(arguments[-2]))
    workload = random_access(('randread',), 2 * MIB, duration_s=0.05)
    ran = lab.run(lab.plan(stub_fio(), workload=workload, sweep=Sweep('queue_depth', (1, 4)), size=MIB))
    assert ran.end.reason == 'finished' and all(sample.valid for sample in ran.measured)
    (_, first), *others = zip(ran.records.samples, limits, strict=True)
    assert first == 60.0
    before_s = ran.records.samples[0].elapsed_s
    for sample, limit_s in others:
        if sample.phase == 'write':
            assert 60.0 < limit_s <= 60.0 + sampling.LIMIT_FACTOR * before_s
        else:
            assert limit_s == 60.05


@pytest.mark.parametrize('given_up', [False, True])
def test_the_directory_of_a_launch_is_closed_unless_the_launch_was_given_up(lab, stub_fio, before_launch, given_up):
    held = []

    def note(command, processes, raw, where, limit_s, stopping):
        held.append((where, os.fstat(where).st_ino))
        if given_up:
            raise LaunchGivenUp('it did not end')

    before_launch(note)
    lab.run(lab.plan(stub_fio()))
    where, inode = held[0]
    is_open = os.path.exists(f'/proc/self/fd/{where}') and os.fstat(where).st_ino == inode
    assert is_open is given_up


def p20a(ran):
    """The labels of the case, the findings of the start record, and the samples with such a finding."""
    labels = [label for label in ran.result.labels if label.startswith('P20a: ')]
    samples = [sample for sample in ran.records.samples if any(finding.rule == 'P20a' for finding in sample.findings)]
    return labels, [finding for finding in ran.records.start.findings if finding.rule == 'P20a'], samples


def test_connections_that_can_never_be_checked_are_reported_once_a_case(lab, stub_fio, monkeypatch):
    monkeypatch.setattr(Posix, 'lost', lambda *_: Lost(unseen='osc/*/state: Permission denied'))
    ran = lab.run(lab.plan(stub_fio()))
    labels, at_start, samples = p20a(ran)
    assert len(labels) == len(at_start) == 1 and samples == [] and 'Permission denied' in labels[0]
    assert all(sample.valid for sample in ran.measured)


def test_connections_that_could_not_be_checked_once_are_reported_for_that_launch(lab, stub_fio, monkeypatch):
    checks = iter(range(10**6))
    monkeypatch.setattr(Posix, 'connections', lambda self, path: next(checks))
    unseen = Lost(unseen='lctl did not answer')
    monkeypatch.setattr(Posix, 'lost', lambda self, before, after: unseen if before == 7 else Lost(unseen=''))
    labels, at_start, samples = p20a(lab.run(lab.plan(stub_fio())))
    assert at_start == [] and len(labels) == len(samples) == 1
    assert samples[0].valid and 'lost: lctl did not answer; ' in labels[0]


OF_MPI = 'WARNING: There are more than one active ports on host n1, but the default subnet GID prefix was detected'
MPIEXEC = f"""shift 2
"$@" || exit
echo '{OF_MPI}'
case "$*" in *HANGS*) exec sleep 600 ;; esac
"""


@pytest.fixture
def mpi(lab, stub_fio, tmp_path, soon, monkeypatch):
    """Runs fio as if it were an MPI program. hangs: part of the name of launches that work and do not end."""
    command = Fio.command

    def run(hangs):
        (tmp_path / 'bin').mkdir()
        program(tmp_path / 'bin', monkeypatch, 'mpiexec', MPIEXEC.replace('HANGS', hangs))
        monkeypatch.setattr(Fio, 'command', lambda *words: command(*words)._replace(scope='mpi'))
        return lab.run(lab.plan(stub_fio(), launch_limit_s=2.0))

    return run


def test_a_message_of_the_mpi_library_on_its_network_is_a_label_and_fails_nothing(mpi):
    result = mpi('nothing').result
    assert result.verdict is Verdict.MEASURED
    (label,) = (text for text in result.labels if text.startswith('P24: '))
    assert f": the MPI library says: '{OF_MPI}'; " in label


def test_a_launch_that_hangs_at_its_end_is_reported_with_all_its_work_done(mpi):
    why, *_ = mpi('measured-read').result.reasons
    assert 'all its work was done, and its results are whole: only its end did not come, as in MPI_Finalize' in why
