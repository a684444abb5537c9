"""A session through a real Slurm: data and metadata on one, two and four nodes, all of which took part."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.job.recorder import records_in

LAB = Path(__file__).resolve().parents[2] / 'ci' / 'lab-slurm'
TRIAL = """
version: 1
state: {state}
file_systems:
  disk:
    type: posix
    path: {state}/trials
    records_on_target: true
    limits: {{bytes: 4GiB, inodes: 100000}}
partitions:
  lab:compute:
    launcher: {{kind: srun, arguments: [--mpi=pmi2]}}
    tasks_per_node: 1
  lab:io: {{launcher: srun, tasks_per_node: 1}}
trials:
  - checks: [MultipleFilesObjects, EmptyDirectories]
    partitions: [lab:compute]
    file_systems: [disk]
    nodes: [1, 2, 4]
    budget: 1s
    files_per_client: 50
  - checks: [PosixSemantics]
    partitions: [lab:compute]
    file_systems: [disk]
    nodes: [2]
    budget: 1s
"""

pytestmark = [pytest.mark.needs('slurmctld', 'munged', 'fio')]


@pytest.fixture(scope='module')
def session(tmp_path_factory, request):
    """The folder of a smoke session on the lab's nodes, and what the command said."""
    repository = request.config.rootpath
    lab, site = tmp_path_factory.mktemp('slurm') / 'lab', tmp_path_factory.mktemp('site')
    answer = subprocess.run([LAB, 'up', '--dir', lab], capture_output=True, text=True, timeout=120)
    if answer.returncode == 71:
        pytest.skip(answer.stderr.strip())
    assert answer.returncode == 0, answer.stderr
    try:
        shutil.copy(repository / 'site-config' / 'lab' / 'settings.py', site)
        (site / 'trial.yaml').write_text(TRIAL.format(state=site / 'state'))
        program = shutil.which('seatrial', path=str(Path(sys.executable).parent))
        argv = [program, 'run', f'--site={site}', f'--checks={repository / "checks"}']
        environment = {**os.environ, 'SLURM_CONF': str(lab / 'etc' / 'slurm.conf')}
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, env=environment)
        (folder,) = (site / 'state' / 'sessions').iterdir()
        yield folder, done
        assert list((site / 'state' / 'trials').iterdir()) == []
    finally:
        subprocess.run([LAB, 'down', '--dir', lab], check=True, timeout=120)


def test_it_passes_on_one_two_and_four_nodes(session):
    folder, done = session
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((folder / 'results.json').read_text())['cases']
    ran = [(case['verdict'], case['case']['check'], case['case']['nodes']) for case in cases]
    checks = [(check, nodes) for check in ('EmptyDirectories', 'MultipleFilesObjects') for nodes in (1, 2, 4)]
    assert sorted(ran) == [('PASS', *each) for each in sorted([*checks, ('PosixSemantics', 2)])]


def test_every_node_of_the_allocation_took_part(session):
    folder, _ = session
    for case in (folder / 'cases').iterdir():
        records = records_in(str(case))
        nodes = int(case.name.rpartition('+')[2].removesuffix('n'))
        assert records.start.job, 'the runner knows its Slurm job'
        for sample in records.samples:
            assert len(set(sample.measurement.hosts)) == nodes
            assert set(sample.measurement.hosts) <= {'n1', 'n2', 'n3', 'n4'}


def test_two_clients_on_two_nodes_find_the_promises_of_a_local_disk_kept(session):
    folder, _ = session
    (case,) = (folder / 'cases').glob('PosixSemantics+*')
    facts = [sample.measurement.facts for sample in records_in(str(case)).samples if sample.stage == 'measured']
    assert facts and all(fact.holds is not False for each in facts for fact in each)
