"""A contract through `seatrial accept`: with the real fio, in three jobs of a real Slurm, and in parts of a soak."""

import json
import re
import shutil
import subprocess
from itertools import pairwise

import pytest

import builders
from local_site import BURDEN, LocalSite, check_file, trial
from local_site import CHECK as AWAY
from local_site import CONTRACT as SOAK
from seatrial.job.sequence.recorder import records_in
from seatrial.model.units import duration
from slurm_lab import lab_up, wait_for

TRIAL = trial(engines='[fio]', limits='bytes: 4GiB, inodes: 1000', tasks=1, more='profiles: [smoke]')
CONTRACT = builders.CONTRACT.partition('  - id')[0]
WRITE = """
  - id: '%s'
    text: At least %s write, file per process.
    metric: write bandwidth
    workload: {access: file per process, transfer_size: %s}
    nodes: 1
    at_least: %s
    conditions: {seconds: 1 s, caches: allowed, budget: 5min}
"""
OUTAGE = """
  - {id: '4', text: An outage below two minutes., at_most: 120 s, observed: true}
"""


def criterion(id, bound, transfer_size='1MiB'):
    return WRITE % (id, bound, transfer_size, bound)


def verdicts(output):
    """The verdict of each criterion in the table, by its number."""
    return {id: word for word, id in re.findall(r'^\S ([A-Z]+(?: \(waived\))?) +(\d) +at ', output, re.MULTILINE)}


@pytest.fixture
def site(tmp_path):
    """A site of this machine with a check that writes."""
    (tmp_path / 'checks' / 'access').mkdir(parents=True)
    text = check_file('Write', "'multiple', operations=('write',)", max_relative_error=0.9)
    (tmp_path / 'checks' / 'access' / 'write.py').write_text(text)
    return LocalSite(tmp_path, TRIAL, tmp_path / 'checks')


@pytest.mark.needs('fio')
def test_one_is_met_one_missed_one_undecided_and_one_waived(site, command, tmp_path):
    where = f'--site={site.folder}', f'--checks={site.checks}'
    contract = tmp_path / 'contract.yaml'
    contract.write_text(CONTRACT + criterion('1', '1 MB/s') + criterion('2', '100 TB/s'))
    first = command('accept', *where)
    assert first.status == 10, first.out + first.err
    assert verdicts(first.out) == {'1': 'PASS', '2': 'FAIL'}
    (metric,) = site.cases['Write']['metrics']
    at_its_mean = criterion('3', f'{round(metric["summary"]["mean"])} B/s')
    contract.write_text(contract.read_text() + at_its_mean + OUTAGE)

    waiver = '--waive=4', '--reason=No failover before October.', '--by=J. Kern'
    waived = command('accept', *where, *waiver)
    assert waived.status == 10, waived.out + waived.err
    wanted = {'1': 'PASS', '2': 'FAIL', '3': 'INCONCLUSIVE', '4': 'INCONCLUSIVE (waived)'}
    assert verdicts(waived.out) == wanted
    assert 'a second one shows how allocations differ' in waived.out
    page = (tmp_path / 'state' / 'acceptance' / 'protocol.html').read_text()
    assert 'No failover before October.' in page
    # All three are judged by one allocation, of which there is one session.
    assert site.session.name in page

    bundle = tmp_path / 'acceptance.zip'
    assert command('bundle', where[0], f'--output={bundle}').status == 0
    shutil.rmtree(tmp_path / 'state')
    proved = command('verify', bundle)
    assert proved.status == 0, proved.out + proved.err
    words = re.findall(r'([A-Z]+)  criterion (\d)', proved.out)
    assert words == [('PASS', '1'), ('FAIL', '2'), ('INCONCLUSIVE', '3'), ('INCONCLUSIVE', '4')]


@pytest.fixture
def three_nodes():
    with lab_up(nodes=3) as lab:
        yield lab


@pytest.mark.long
@pytest.mark.needs('sbatch', 'slurmctld', 'munge')
def test_three_allocations_are_three_jobs_on_three_nodes_which_have_no_other_job(three_nodes, stub_fio):
    site = three_nodes.site(stub_fio(('.', {'seconds': 1.1})), tasks=1)
    text = criterion('1', '100 kB/s', '512KiB, bytes_per_task: 1MiB').replace('budget', 'exclusive: true, budget')
    (site.folder / 'contract.yaml').write_text(f'{CONTRACT}{text}    allocations: 3\n')
    three_nodes.heal()
    done = site.seatrial('accept', f'--checks={site.folder / "checks"}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(done.stdout) == {'1': 'PASS'}
    sessions = list(site.state.glob('sessions/*'))
    results = [json.loads((session / 'results.json').read_text()) for session in sessions]
    nodes = sorted(case['host'] for result in results for case in result['cases'])
    assert nodes == ['n1', 'n2', 'n3']
    page = (site.state / 'acceptance' / 'protocol.html').read_text()
    assert all(word in page for word in (*nodes, *(session.name for session in sessions)))


# A soak that no job may last as long as, in parts


PART_S = 6 + 1 + 6


@pytest.mark.long
@pytest.mark.needs('sbatch', 'slurmctld', 'munge')
def test_a_part_that_is_lost_is_made_again_and_all_time_between_the_parts_is_said(plain_slurm, stub_fio):
    site = plain_slurm.site(stub_fio(), tasks=1)
    checks, trial = site.folder / 'checks' / 'scenarios', site.folder / 'trial.yaml'
    checks.mkdir()
    (checks / 'away.py').write_text(AWAY.format(before_s=6, action_s=1, after_s=6))
    trial.write_text(trial.read_text().replace('engines: [', 'engines: [posixops, ') + BURDEN)
    contract = SOAK.format(longer=60, shorter=30, nodes=1).replace('nodes:', 'allocations: 3, nodes:')
    (site.folder / 'contract.yaml').write_text(contract)
    words = 'accept', f'--checks={checks.parent}', '--destructive=scratch'
    plain_slurm.heal()

    first = subprocess.Popen(site.argv(*words), env=site.environment, stdout=subprocess.PIPE, text=True, cwd='/')
    begun = 'sessions/*/cases/*/raw/*.begun.json'
    wait_for('the second part has begun', lambda: first.poll() is not None or len(list(site.state.glob(begun))) > 1)
    plain_slurm.ask('scancel', *plain_slurm.jobs())
    output, _ = first.communicate(timeout=200)
    assert first.returncode == 13 and '1 of 3 allocations valid' in output, output
    assert 'nights:' not in output, output  # a contract is no series of nights

    done = site.seatrial(*words)
    assert '2 met' in done.stdout, done.stdout + done.stderr
    cases = [records_in(str(file.parent)) for file in sorted(site.state.glob('sessions/*/cases/*/samples.jsonl'))]
    assert len({case.start.job for case in cases}) == 4
    valid = [case.samples[-1] for case in cases if case.samples and case.samples[-1].valid]
    unseen_s = sum(then.started - before.started - PART_S for before, then in pairwise(valid))
    page = (site.state / 'acceptance' / 'protocol.html').read_text()
    assert f'{duration(3 * PART_S)} in 3 allocations' in page and f'the {unseen_s:.0f} s between them' in page
