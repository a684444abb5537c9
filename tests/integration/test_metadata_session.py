"""One session of data and metadata over the disk, the memory and a real GlusterFS, which its report tells apart."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from fuse_lab import GLUSTER
from local_site import REPOSITORY, LocalSite, trial
from seatrial.job.sequence.recorder import records_in
from seatrial.model.plan import read_plan
from seatrial.rules.case import measured

TRIAL = """
version: 1
state: {state}
file_systems:
{file_systems}
partitions:
  local:default: {{launcher: local, tasks_per_node: 2}}
trials:
  - {{checks: [SmallFiles, AttributeCache], file_systems: [gluster], budget: 1s, files_per_task: 50{where}}}
  - {{checks: [AttributeCache], file_systems: [memory], budget: 1s{where}}}
  - {{checks: [layouts], file_systems: [{names}]{where}}}
  - {{checks: [SharedLog], file_systems: [disk], budget: 1s{where}}}
"""
WHERE = ', partitions: [local:default], nodes: [1]'
LIMITS = 'limits: {bytes: 2GiB, inodes: 100000}, records_on_target: true, drop_caches: true'
CASES = ('AttributeCache gluster', 'AttributeCache memory', 'SharedLog disk', 'SmallFiles gluster')

pytestmark = [pytest.mark.needs('glusterd', 'nsenter')]


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    """The folder of a smoke session of metadata checks on three file systems, with the streams of the command."""
    memory = Path('/dev/shm') / f'seatrial-test-{os.getpid()}'
    site = tmp_path_factory.mktemp('site')
    with GLUSTER.made(tmp_path_factory.mktemp('gluster') / 'lab') as mount:
        paths = {'disk': site / 'trials', 'memory': memory, 'gluster': mount / 'trials'}
        try:
            for path in paths.values():
                path.mkdir()
            yield measure(site, paths)
            assert [path for path in paths.values() if any(path.iterdir())] == []
        finally:
            shutil.rmtree(memory, ignore_errors=True)


def measure(site, paths):
    types = {'disk': 'posix', 'memory': 'posix', 'gluster': 'glusterfs'}
    entries = [f'  {name}: {{type: {types[name]}, path: {path}, {LIMITS}}}' for name, path in paths.items()]
    text = TRIAL.format(state=site / 'state', file_systems='\n'.join(entries), names=', '.join(paths), where=WHERE)
    local = LocalSite(site, text, shutil.copytree(REPOSITORY / 'checks', site / 'checks'))
    listing = local.checks / 'metadata' / 'listing.py'
    # Which listing was cold is known after the first ones: of 19 s of pauses only a tenth is left.
    short = listing.read_text().replace('(0.5, 1.0, 2.0, 5.0, 10.0)', '(0.5, 1.0)').replace('after_10s', 'after_1s')
    listing.write_text(short)
    done = local.run()
    return local.session, done


def test_every_check_ran_on_every_file_system_and_is_valid(session):
    folder, done = session
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((folder / 'results.json').read_text())['cases']
    ran = [(f'{case["case"]["check"]} {case["case"]["file_system"]}', case['verdict']) for case in cases]
    assert sorted(ran) == [(case, 'MEASURED') for case in CASES]


def test_in_memory_no_listing_is_called_cold_and_on_glusterfs_the_first_one_is(session):
    folder, _ = session
    caches = {}
    for case in (folder / 'cases').glob('AttributeCache+*'):
        plan = read_plan(str(case / 'plan.json'))
        samples = measured(plan, records_in(str(case)))
        caches[case.name.split('+')[2]] = {sample.cache for of_metric in samples.values() for sample in of_metric}
    assert caches['memory'] == {'cached'} and caches['gluster'] == {'cold'}


NO_LAYOUT = {
    'disk': 'no layout: this file-system type has no layouts to set',
    'gluster': 'no layout: a volume places each file by the hash of its name, for all users alike',
}


@pytest.mark.parametrize(('name', 'why'), NO_LAYOUT.items())
def test_that_there_are_no_layouts_is_seen_in_plan_results_and_report(session, name, why):
    folder, _ = session
    plans = [read_plan(str(file)) for file in (folder / 'cases').glob(f'*+{name}+*/plan.json')]
    assert plans and {plan.target.no_layout for plan in plans} == {why}
    named = json.loads((folder / 'results.json').read_text())['not_applicable'][why]
    assert f'StripingSharedFile/local:default/{name}/default/1n' in named
    page = (folder / 'report' / 'index.html').read_text()
    assert f'SharedFile on local:default/{name}/default/1n' in page and why in page


IN_MEMORY = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree


@trial
class Direct(Check):
    '''With O_DIRECT, which tmpfs takes since Linux 6.6.'''

    workload = random_access(('randread',), working_set='2MiB', direct=True)
    sweep = Sweep('queue_depth', (1,))


@trial
class Stats(Check):
    '''Of so few files that fio counts no more than some milliseconds.'''

    workload = metadata_tree(files_per_directory=100, bytes_per_file=1)
    sweep = Sweep('tree', (('few', {}),))
"""


@pytest.fixture(scope='module')
def memory(tmp_path_factory):
    """The cases of a smoke test by fio in the memory of this machine."""
    home = tmp_path_factory.mktemp('memory')
    (home / 'checks' / 'access').mkdir(parents=True)
    (home / 'checks' / 'access' / 'memory.py').write_text(IN_MEMORY)
    with tempfile.TemporaryDirectory(prefix='seatrial-test-', dir='/dev/shm') as folder:
        text = trial(engines='[fio]', scratch=f'type: posix, path: {folder}', more='files_per_task: 100')
        site = LocalSite(home, text, home / 'checks')
        done = site.run()
        assert done.returncode == 0, done.stdout + done.stderr
        return site.cases


@pytest.mark.needs('fio')
@pytest.mark.long
def test_no_read_of_files_in_memory_is_cold(memory):
    metrics = [metric for case in memory.values() for metric in case['metrics']]
    caches = [metric['cache'] for metric in metrics if metric['name'] in ('randread', 'file_stat')]
    assert caches == ['cached', 'cached']
    assert any('tmpfs keeps its files in memory' in label for label in memory['Direct']['labels'])


@pytest.mark.needs('fio')
def test_a_count_of_clock_ticks_is_no_figure(memory):
    (stat,) = [metric for metric in memory['Stats']['metrics'] if metric['name'] == 'file_stat']
    assert (stat['verdict'], stat['values']) == ('MEASURED', [])
    assert stat['why'].startswith('no figure: it took ')
    assert '; a clock with a resolution of 0.00' in stat['why']
