"""The sites that come with Seatrial, read by Seatrial and by ReFrame itself."""

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_site import login
from seatrial.model.plan import Launcher
from seatrial.site.load import load
from seatrial.site.model import ActionEntry, parse_duration
from seatrial.site.profile import PROFILES
from transcript import transcripts

ROOT = Path(__file__).parents[2]
LOCAL = ROOT / 'site-config' / 'local'
LAB = ROOT / 'site-config' / 'lab'
EXAMPLE = ROOT / 'site-config' / 'example-lustre'
DOCS = (ROOT / 'docs' / 'reference' / 'site-config.md').read_text()


@cache
def reframe_config(settings: Path, system: str) -> Any:
    """The configuration that ReFrame prints after it has validated it."""
    reframe = str(Path(sys.executable).with_name('reframe'))
    argv = [reframe, '-C', str(settings), f'--system={system}', '--show-config']
    with tempfile.TemporaryDirectory() as cwd:
        return json.loads(output_of(argv, settings, cwd))


SCRIPTS = """
import sys

from reframe.core import config, runtime
from reframe.core.schedulers import Job

settings, system = sys.argv[1:]
site = config.load_config(settings)
site.select_subconfig(system)
runtime.init_runtime(site)
for partition in runtime.runtime().system.partitions:
    options = {'script_filename': 'job.sh', 'sched_access': partition.access}
    job = Job.create(partition.scheduler, partition.launcher_type(), 'case', **options)
    job.num_tasks, job.num_tasks_per_node = 12, 4
    job.prepare(['true'])
    print(f'# {partition.name}')
    print(open('job.sh').read())
"""


def job_scripts(settings: Path, system: str) -> dict[str, str]:
    """The script that ReFrame writes for a job of 12 tasks, 4 per node, by partition."""
    with tempfile.TemporaryDirectory() as cwd:
        text = output_of([sys.executable, '-c', SCRIPTS, str(settings), system], settings, cwd)
    _, *parts = re.split(r'^# (\w+)$', text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def output_of(argv: list[str], settings: Path, cwd: str) -> str:
    # The example loads its engines from modules, so ReFrame starts only with Lmod.
    base = login('lmod') if settings.parent == EXAMPLE else os.environ
    environment = {key: value for key, value in base.items() if not key.startswith('RFM_')}
    done = subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_smallest_example_of_the_documentation_loads(tmp_path):
    example = re.search(r'```yaml\n(.*?)```', DOCS, re.DOTALL)
    assert example is not None
    (tmp_path / 'trial.yaml').write_text(example.group(1))
    (tmp_path / 'settings.py').write_text((LOCAL / 'settings.py').read_text())
    assert load(tmp_path).cases('SharedFile', 'access', 'smoke')


@pytest.mark.parametrize('profile', list(PROFILES))
def test_the_documentation_has_the_budget_and_least_time_of_each_profile(profile):
    row = next(line for line in DOCS.splitlines() if line.startswith(f'| `{profile}` '))
    least, budget = row.split('|')[4], row.split('|')[6].replace(' ', '')
    assert parse_duration(budget) == PROFILES[profile].budget_s
    assert least.strip().startswith(f'{PROFILES[profile].effort.min_s:g} s')


def test_the_local_site_writes_only_below_a_folder_that_git_ignores():
    site = load(LOCAL)
    ignored = str(ROOT / '.seatrial')
    assert (site.state, site.file_system('scratch').path) == (ignored, f'{ignored}/trials')


def test_reframe_reads_the_local_site():
    (partition,) = reframe_config(LOCAL / 'settings.py', 'local:default')['systems'][0]['partitions']
    assert (partition['scheduler'], partition['launcher'], partition['max_jobs']) == ('local', 'local', 1)


def test_reframe_reads_the_example_with_the_partitions_that_the_trials_name():
    partitions = reframe_config(EXAMPLE / 'settings.py', 'pelagia')['systems'][0]['partitions']
    assert {f'pelagia:{partition["name"]}' for partition in partitions} == set(load(EXAMPLE).trial_file.partitions)


@pytest.mark.parametrize(('folder', 'system'), [(EXAMPLE, 'pelagia'), (LAB, 'lab')])
def test_reframe_asks_slurm_for_whole_nodes_in_every_partition(folder, system):
    texts = job_scripts(folder / 'settings.py', system)
    assert list(texts) == ['compute', 'io']
    for text in texts.values():
        options = {line.removeprefix('#SBATCH ') for line in text.splitlines() if line.startswith('#SBATCH ')}
        assert {'--nodes=3', '--ntasks=12', '--ntasks-per-node=4', '--exclusive', '--no-requeue'} <= options


@pytest.mark.parametrize(('folder', 'system'), [(LOCAL, 'local:default'), (EXAMPLE, 'pelagia')])
def test_reframe_does_not_log_at_debug(folder, system):
    (logging,) = reframe_config(folder / 'settings.py', system)['logging']
    assert {handler['level'] for handler in logging['handlers'] + logging['handlers$']} == {'info'}


@pytest.mark.parametrize('profile', list(PROFILES))
def test_the_example_has_cases_in_every_profile_and_the_local_site_in_three(profile):
    assert load(EXAMPLE).cases('MultipleFilesTransferSizes', 'access', profile)
    assert len(load(LOCAL).cases('SharedFile', 'access', profile)) == (profile in ('first', 'smoke', 'nightly'))


# The sites of the Slurm lab: both MPICH launchers, and the ReFrame scheduler that the lab's accounting allows

ACCOUNTING = 'AccountingStorageType=accounting_storage/slurmdbd\n'
NO_ACCOUNTING = 'AccountingStorageType=accounting_storage/none\n'


@pytest.mark.parametrize(('line', 'scheduler'), [(ACCOUNTING, 'slurm'), (NO_ACCOUNTING, 'squeue'), (None, 'squeue')])
def test_reframe_uses_sacct_only_in_a_lab_with_accounting(tmp_path, monkeypatch, line, scheduler):
    """None: a host without the lab has no slurm.conf, but the settings can still be read."""
    if line is not None:
        (tmp_path / 'slurm.conf').write_text(f'ClusterName=lab\n{line}')
    monkeypatch.setenv('SLURM_CONF', str(tmp_path / 'slurm.conf'))
    settings = runpy.run_path(str(LAB / 'settings.py'))['site_configuration']
    assert {partition['scheduler'] for partition in settings['systems'][0]['partitions']} == {scheduler}


@pytest.mark.parametrize('name', ['lab', 'lab-gluster'])
def test_a_smoke_session_uses_both_launchers_of_mpich(name):
    site = load(LAB.with_name(name))
    used = {part for trial in site.trial_file.trials if 'smoke' in trial.profiles for part in trial.partitions}
    assert set(map(site.launcher, used)) == {Launcher('srun', ('--mpi=pmi2',)), Launcher('hydra')}


def test_a_lab_file_system_declares_its_mount_so_that_it_is_refused_where_it_is_not_mounted():
    for site, name in ((load(LAB), 'memory'), (load(LAB.with_name('lab-gluster')), 'gluster')):
        entry = site.file_system(name)
        assert entry.mount == entry.path and not entry.path.startswith(site.state)


# The actions to copy from docs/how-to/scenarios.md are valid, and Lustre knows the commands that they run

SCENARIOS = (ROOT / 'docs' / 'how-to' / 'scenarios.md').read_text()
LUSTRE = transcripts('lustre')
ACTIONS = {
    name: entry
    for block in re.findall(r'```yaml\n(actions:.*?)```', SCENARIOS, re.DOTALL)
    for name, entry in yaml.safe_load(block)['actions'].items()
}
COMMANDS = [' '.join(entry[key]) for entry in ACTIONS.values() for key in ('start', 'undo', 'check')]
LUSTRE_COMMANDS = [command for command in COMMANDS if 'lctl ' in command or 'mount' in command]


@pytest.mark.parametrize('name', ACTIONS)
def test_an_action_of_the_page_is_valid_in_trial_yaml(name):
    ActionEntry.model_validate(ACTIONS[name])


@pytest.mark.parametrize('command', LUSTRE_COMMANDS)
def test_a_lustre_command_of_the_page_is_in_the_usage_texts_or_was_seen_to_work(command):
    match = re.search(r'lctl (\w+)((?: -\w+)*) (\S+)', command)
    if match is None:
        seen = ' '.join(LUSTRE['34_failover_during_ior'].values())
        verb = re.search(r'umount /mnt/ost3|mount -t lustre|mountpoint -q', command)
        assert verb is not None and (verb.group() in seen or verb.group().startswith('mountpoint'))
        return
    verb, options, parameter = match.groups()
    usage = next(text for name, text in LUSTRE['61_help_of_lctl'].items() if name.endswith(f'help_{verb}.err'))
    assert f'usage: {verb} ' in usage
    assert all(re.search(rf'[\[|]{option}\b', usage) for option in options.split())
    known = ' '.join(text for name in ('30_deactivated', '31_degraded', '46_state') for text in LUSTRE[name].values())
    known += ' '.join(text for step in LUSTRE.values() for text in step.values() if 'health_check' in text)
    last = parameter.partition('=')[0].rpartition('.')[2]
    assert re.search(rf'\b{last}\b', known)
