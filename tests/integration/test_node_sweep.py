"""Node sweeps in a real Slurm, of a healthy system and of one with a slow node: exactly that one is named."""

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from builders import node_plan
from local_site import executable
from seatrial.check.staging import job_line, write_plan, write_runner
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.case import judge_case
from seatrial.judge.outliers import SLOW, USUAL
from seatrial.judge.verdict import Verdict
from seatrial.model.hostlist import expanded
from seatrial.model.plan import EngineChoice, Launcher, Sizing, StoppingRule
from seatrial.model.record import NotTested
from seatrial.model.units import GIB, MIB
from slurm_lab import lab_up

pytestmark = [pytest.mark.long, pytest.mark.needs('slurmctld', 'munged', 'fio')]

HEALTHY, ILL, SLOW_NODE = ('n1', 'n2', 'n3', 'n4'), ('n5', 'n6', 'n7', 'n8'), 'n7'
# A task's bytes, and MiB/s: eight seconds, of which a busy machine's skew is little.
SIZE, RATE, SLOW_RATE = 64 * MIB, 8, 5
DEADLINE_S = 1800.0
WRAPPER = """#!/bin/sh
# Nodes share one machine here, so their speed is set; and taken out of the report, where it would be found (P15).
[ "$1" = --version ] && exec {fio} --version
rate={rate}m; [ "$(uname -n)" = {slow} ] && rate={slow_rate}m
{fio} --rate=$rate "$@" || exit
for word; do case $word in --output=*) exec sed -i '/^ *"rate" : /d' "${{word#--output=}}";; esac; done
"""


@pytest.fixture(scope='module')
def slurm():
    """The environment of a Slurm of nine nodes, one of which is drained."""
    with lab_up(nodes=9) as lab:
        lab.ask('scontrol', 'update', 'nodename=n9', 'state=drain', 'reason=bad disk')
        yield lab.environment


class Sweep:
    """A node sweep as a job of the lab on these nodes."""

    def __init__(self, environment, folder, fio, target, nodes):
        self.environment, self.folder = environment, folder
        (folder / 'state' / 'sessions').mkdir(parents=True)
        (folder / 'state' / 'locks').mkdir()
        roomy = node_plan().target.limits._replace(bytes=GIB)
        self.plan = node_plan(
            4,
            target={'path': str(target), 'records_on_target': True, 'limits': roomy},
            engines=(EngineChoice('fio', str(fio)),),
            launcher=Launcher('srun', ('--mpi=pmi2',)),
            records=str(folder / 'records'),
            state=str(folder / 'state'),
            sizing=Sizing(SIZE, MIB, 0.0, 0.5, pinned=SIZE),
            stopping=StoppingRule(0.5, minimum=3, maximum=3, extra=0, budget_s=DEADLINE_S),
        )
        (folder / 'state' / 'sessions' / self.plan.session).mkdir()
        line = job_line(sys.executable, write_runner(folder), write_plan(self.plan))
        script = folder / 'job.sh'
        script.write_text(f'#!/bin/bash\n{line}\n')
        argv = ['sbatch', '--wait', '--nodes=4', f'--nodelist={",".join(nodes)}', '--exclusive', '--time=40']
        argv += [f'--output={folder / "job.out"}', str(script)]
        self._job = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL)

    def ended(self):
        """The plan, what was recorded, and the verdict."""
        assert self._job.wait(DEADLINE_S) == 0, (self.folder / 'job.out').read_text()
        records = records_in(self.plan.records)
        return self.plan, records, judge_case(self.plan, records)


@pytest.fixture(scope='module')
def sweeps(slurm, tmp_path_factory):
    """The healthy sweep and the other one, which have ended."""
    folder = tmp_path_factory.mktemp('sweeps')
    program = shlex.quote(shutil.which('fio'))
    text = WRAPPER.format(fio=program, slow=SLOW_NODE, slow_rate=SLOW_RATE, rate=RATE)
    fio = executable(folder / 'fio', text)
    targets = [Path(tempfile.mkdtemp(prefix='seatrial-sweep-', dir='/dev/shm')) for _ in range(2)]
    pairs = zip(targets, (HEALTHY, ILL), strict=True)
    both = [Sweep(slurm, folder / nodes[0], fio, target, nodes) for target, nodes in pairs]
    yield {name: session.ended() for name, session in zip(('healthy', 'ill'), both, strict=True)}
    left = [path for target in targets for path in target.iterdir()]
    for target in targets:
        shutil.rmtree(target)
    assert left == []


def test_a_healthy_system_passes_and_no_node_is_named(sweeps):
    _, _, result = sweeps['healthy']
    assert (result.reasons, result.verdict) == ((), Verdict.PASS)
    assert [place.verdict for place in result.isolation.places] == [USUAL] * 4


@pytest.mark.parametrize('hostlist', ['n[1-2,07-10],m4', 'rack[0-1]n[01-03]', 'nid[000998-001001]'])
def test_scontrol_reads_a_list_of_nodes_as_the_runner_does(slurm, hostlist):
    argv = ['scontrol', 'show', 'hostnames', hostlist]
    output = subprocess.run(argv, env=slurm, capture_output=True, text=True, check=True, timeout=60).stdout
    assert tuple(output.split()) == expanded(hostlist)


def test_every_launch_ran_on_the_nodes_that_were_meant(sweeps):
    plan, records, _ = sweeps['healthy']
    meant = {point.label: HEALTHY[point.first_node : point.first_node + point.nodes] for point in plan.points}
    measured = [sample for sample in records.samples if sample.stage == 'measured']
    assert {sample.point.label for sample in measured} == {'all', 'group01', 'group02', 'group03', 'group04'}
    for sample in measured:
        hosts = meant[sample.point.label]
        assert sample.measurement.hosts == hosts
        assert [(node.host, node.tasks) for node in sample.measurement.nodes] == [(host, 1) for host in hosts]


def test_a_drained_node_is_listed_as_not_tested_with_the_reason(sweeps):
    _, records, result = sweeps['healthy']
    assert [entry.node for entry in records.start.not_tested] == [*ILL, 'n9']
    assert records.start.not_tested[-1] == NotTested('n9', 'drained', 'bad disk')
    assert any(label.endswith('n9 (drained: bad disk)') for label in result.labels)


def test_exactly_the_slow_node_is_named_and_the_case_fails(sweeps):
    _, _, result = sweeps['ill']
    assert result.verdict is Verdict.FAIL, result.reasons
    verdicts = {place.name: place.verdict for place in result.isolation.places}
    assert verdicts == {**dict.fromkeys(ILL, USUAL), SLOW_NODE: SLOW}
    assert result.reasons[0].startswith(f'node {SLOW_NODE} is slow: write ')


def test_it_was_measured_again_beside_another_node_as_often_as_the_controls(sweeps):
    _, records, _ = sweeps['ill']
    again = [sample for sample in records.samples if sample.stage == 'confirm']
    assert sorted(sample.point.label for sample in again) == ['again01'] * 3 + ['again02'] * 3
    together = {sample.measurement.hosts for sample in again}
    assert {len(hosts) for hosts in together} == {2}
    assert sorted(host for hosts in together for host in hosts) == list(ILL)
