"""The sites of the Slurm lab: both launchers of MPICH, and ReFrame's scheduler as the lab at hand allows."""

import runpy
from pathlib import Path

import pytest

from seatrial.site.load import load

SITES = Path(__file__).parents[2] / 'site-config'
ACCOUNTING = 'AccountingStorageType=accounting_storage/slurmdbd\n'
NONE = 'AccountingStorageType=accounting_storage/none\n'


def schedulers(conf: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setenv('SLURM_CONF', str(conf))
    settings = runpy.run_path(str(SITES / 'lab' / 'settings.py'))['site_configuration']
    return {partition['scheduler'] for partition in settings['systems'][0]['partitions']}


@pytest.mark.parametrize(('says', 'scheduler'), [(ACCOUNTING, 'slurm'), (NONE, 'squeue')])
def test_the_lab_with_accounting_is_asked_by_sacct(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, scheduler: str
) -> None:
    (tmp_path / 'slurm.conf').write_text(f'ClusterName=lab\n{says}')
    assert schedulers(tmp_path / 'slurm.conf', monkeypatch) == {scheduler}


def test_without_a_lab_the_settings_can_be_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert schedulers(tmp_path / 'gone', monkeypatch) == {'squeue'}


@pytest.mark.parametrize('name', ['lab', 'lab-gluster'])
def test_a_smoke_session_uses_both_ways_of_mpich_to_its_ranks(name: str) -> None:
    site = load(SITES / name)
    used = {part for trial in site.trial_file.trials if 'smoke' in trial.profiles for part in trial.partitions}
    assert {(site.launcher(part).kind, site.launcher(part).arguments) for part in used} == {
        ('srun', ('--mpi=pmi2',)),
        ('hydra', ()),
    }


def test_a_file_system_that_is_not_the_machines_disk_is_refused_where_it_is_not_mounted() -> None:
    for site, name in ((load(SITES / 'lab'), 'memory'), (load(SITES / 'lab-gluster'), 'gluster')):
        entry = site.file_system(name)
        assert entry.mount == entry.path and not entry.path.startswith(site.state)
