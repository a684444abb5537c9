"""A soak that no job may last as long as: its parts in jobs of a real Slurm, and what no part has seen."""

import subprocess
from itertools import pairwise

import pytest

from local_site import BURDEN, CHECK, CONTRACT
from seatrial.job.sequence.recorder import records_in
from seatrial.model.units import duration
from slurm_lab import wait_for

PART_S = 6 + 1 + 6


@pytest.mark.long
@pytest.mark.needs('sbatch', 'slurmctld', 'munge')
def test_a_part_that_is_lost_is_made_again_and_all_time_between_the_parts_is_said(plain_slurm, stub_fio):
    site = plain_slurm.site(stub_fio(), tasks=1)
    checks, trial = site.folder / 'checks' / 'scenarios', site.folder / 'trial.yaml'
    checks.mkdir()
    (checks / 'away.py').write_text(CHECK.format(before_s=6, action_s=1, after_s=6))
    trial.write_text(trial.read_text().replace('engines: [', 'engines: [posixops, ') + BURDEN)
    contract = CONTRACT.format(longer=60, shorter=30, nodes=1).replace('    nodes:', '    allocations: 3\n    nodes:')
    (site.folder / 'contract.yaml').write_text(contract)
    words = 'accept', f'--checks={checks.parent}', '--destructive=scratch'
    plain_slurm.heal()

    first = subprocess.Popen(site._argv(*words), env=site.environment, stdout=subprocess.PIPE, text=True, cwd='/')
    begun = 'sessions/*/cases/*/raw/*.begun.json'
    wait_for('the second part has begun', lambda: first.poll() is not None or len(list(site.state.glob(begun))) > 1)
    plain_slurm.ask('scancel', *plain_slurm.jobs())
    said, _ = first.communicate(timeout=200)
    assert first.returncode == 13 and '1 of 3 allocations valid' in said, said

    done = site.seatrial(*words)
    assert '2 met' in done.stdout, done.stdout + done.stderr
    cases = [records_in(str(each.parent)) for each in sorted(site.state.glob('sessions/*/cases/*/samples.jsonl'))]
    assert len({each.start.job for each in cases}) == 4
    valid = [each.samples[-1] for each in cases if each.samples and each.samples[-1].valid]
    unseen_s = sum(then.started - each.started - PART_S for each, then in pairwise(valid))
    page = (site.state / 'acceptance' / 'protocol.html').read_text()
    assert f'{duration(3 * PART_S)} in 3 allocations' in page and f'the {unseen_s:.0f} s between them' in page
