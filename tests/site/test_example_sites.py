"""The sites that come with Seatrial, read by Seatrial and by ReFrame itself."""

import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from local_site import login
from seatrial.site.load import load
from seatrial.site.model import parse_duration
from seatrial.site.profile import PROFILES

ROOT = Path(__file__).parents[2]
LOCAL = ROOT / 'site-config' / 'local'
LAB = ROOT / 'site-config' / 'lab'
EXAMPLE = ROOT / 'site-config' / 'example-lustre'
DOCS = (ROOT / 'docs' / 'site-config.md').read_text()


@cache
def reframe_says(settings: Path, system: str) -> Any:
    """The configuration as ReFrame has validated and understood it."""
    argv = [
        str(Path(sys.executable).with_name('reframe')),
        '-C',
        str(settings),
        f'--system={system}',
        '--show-config',
    ]
    with tempfile.TemporaryDirectory() as cwd:
        return json.loads(said(argv, settings, cwd))


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


def scripts(settings: Path, system: str) -> dict[str, str]:
    """The script that ReFrame makes for a job of twelve tasks, four a node, in each of the partitions."""
    with tempfile.TemporaryDirectory() as cwd:
        text = said([sys.executable, '-c', SCRIPTS, str(settings), system], settings, cwd)
    _, *parts = re.split(r'^# (\w+)$', text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def said(argv: list[str], settings: Path, cwd: str) -> str:
    # The example takes its engines from modules, and ReFrame starts with Lmod alone then.
    shell = login('lmod') if settings.parent == EXAMPLE else os.environ
    environment = {key: value for key, value in shell.items() if not key.startswith('RFM_')}
    done = subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_smallest_example_of_the_documentation_loads(tmp_path: Path) -> None:
    example = re.search(r'```yaml\n(.*?)```', DOCS, re.DOTALL)
    assert example is not None
    (tmp_path / 'trial.yaml').write_text(example.group(1))
    (tmp_path / 'settings.py').write_text((LOCAL / 'settings.py').read_text())
    assert load(tmp_path).cases('SharedFile', 'access', 'smoke')


@pytest.mark.parametrize('profile', list(PROFILES))
def test_the_documentation_has_the_budget_and_least_time_of_each_profile(profile: str) -> None:
    row = next(line for line in DOCS.splitlines() if line.startswith(f'| `{profile}` '))
    least, budget = row.split('|')[4], row.split('|')[6].replace(' ', '')
    assert parse_duration(budget) == PROFILES[profile].budget_s
    assert least.strip().startswith(f'{PROFILES[profile].effort.min_s:g} s')


@pytest.mark.parametrize('profile', list(PROFILES))
def test_the_example_has_cases_in_every_profile(profile: str) -> None:
    assert load(EXAMPLE).cases('MultipleFilesTransferSizes', 'access', profile)


@pytest.mark.parametrize('profile', ['smoke', 'nightly'])
def test_the_local_site_has_one_case_a_check(profile: str) -> None:
    assert len(load(LOCAL).cases('SharedFile', 'access', profile)) == 1


@pytest.mark.parametrize('profile', ['acceptance', 'paper'])
def test_the_local_site_claims_no_more_than_it_can_show(profile: str) -> None:
    assert load(LOCAL).cases('SharedFile', 'access', profile) == []


def test_the_local_site_keeps_to_what_git_ignores() -> None:
    site = load(LOCAL)
    ignored = str(ROOT / '.seatrial')
    assert (site.state, site.file_system('scratch').path) == (ignored, f'{ignored}/trials')


def test_reframe_reads_the_local_site() -> None:
    (partition,) = reframe_says(LOCAL / 'settings.py', 'local:default')['systems'][0]['partitions']
    assert (partition['scheduler'], partition['launcher'], partition['max_jobs']) == ('local', 'local', 1)


def test_reframe_reads_the_example_with_the_partitions_that_the_trials_name() -> None:
    partitions = reframe_says(EXAMPLE / 'settings.py', 'pelagia')['systems'][0]['partitions']
    assert {f'pelagia:{partition["name"]}' for partition in partitions} == set(load(EXAMPLE).trial_file.partitions)


def test_reframe_can_be_held_to_one_partition_of_the_example() -> None:
    (partition,) = reframe_says(EXAMPLE / 'settings.py', 'pelagia:io')['systems'][0]['partitions']
    assert partition['name'] == 'io'


@pytest.mark.parametrize(('folder', 'system'), [(EXAMPLE, 'pelagia'), (LAB, 'lab')])
def test_reframe_asks_slurm_for_whole_nodes_in_every_partition(folder: Path, system: str) -> None:
    found = scripts(folder / 'settings.py', system)
    assert list(found) == ['compute', 'io']
    for text in found.values():
        options = {line.removeprefix('#SBATCH ') for line in text.splitlines() if line.startswith('#SBATCH ')}
        assert {'--nodes=3', '--ntasks=12', '--ntasks-per-node=4', '--exclusive', '--no-requeue'} <= options


@pytest.mark.parametrize(('folder', 'system'), [(LOCAL, 'local:default'), (EXAMPLE, 'pelagia')])
def test_reframe_does_not_log_at_debug(folder: Path, system: str) -> None:
    (logging,) = reframe_says(folder / 'settings.py', system)['logging']
    assert {handler['level'] for handler in logging['handlers'] + logging['handlers$']} == {'info'}
