"""A session through a real Slurm, by srun and by MPICH's mpiexec; nothing of the lab outlives it."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from local_site import REPOSITORY, SEATRIAL
from seatrial.check.verified import verified
from seatrial.job.directory.rundir import path_of
from seatrial.job.sequence.recorder import records_in
from seatrial.model.metric import UNNAMED
from seatrial.model.plan import Case, read_plan
from seatrial.model.record import PLAN
from seatrial.workload.access import writer_of
from slurm_lab import lab_up, traces_of

NOBODY = 65534
# Not IOR: what it reads on a node another has written, and here they have one memory, too fast to be believed (T19).
TRIAL = """
version: 1
state: {state}
engines: [mdtest, fio, posixops]
file_systems:
  disk: {{type: posix, path: {state}/trials, records_on_target: true, limits: {{bytes: 4GiB, inodes: 100000}}}}
  memory: {{type: posix, path: /dev/shm, mount: /dev/shm, limits: {{bytes: 64MiB, inodes: 100000}}}}
partitions:
  lab:compute: {{launcher: {{kind: srun, arguments: [--mpi=pmi2]}}, tasks_per_node: 1}}
  lab:io: {{launcher: hydra, tasks_per_node: 2}}
trials:
  - {{checks: [MultipleFilesTransferSizes], {compute}, nodes: [4], budget: 1s}}
  - {{checks: [EmptyDirectories, PosixSemantics], {compute}, nodes: [2], budget: 1s, files_per_task: 50}}
  - {{checks: [EmptyDirectories], {io}, nodes: [2], budget: 1s, files_per_task: 50}}
"""
PLACES = {
    'compute': 'partitions: [lab:compute], file_systems: [disk]',
    'io': 'partitions: [lab:io], file_systems: [memory]',
}
CASE = ('check', 'partition', 'file_system', 'nodes')

pytestmark = [pytest.mark.needs('slurmctld', 'munged', 'fio')]


class Session(NamedTuple):
    """A smoke session, seen after the lab was taken down; during and left: traces of the lab before and after
    it"""

    folder: Path
    status: int
    output: str
    during: list[str]
    left: list[str]


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    site, kept = tmp_path_factory.mktemp('site'), namespaces_kept()
    with lab_up(nodes=4) as lab:
        shutil.copy(REPOSITORY / 'site-config' / 'lab' / 'settings.py', site)
        (site / 'trial.yaml').write_text(TRIAL.format(state=site / 'state', **PLACES))
        argv = [SEATRIAL, 'run', f'--site={site}', f'--checks={REPOSITORY / "checks"}']
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, env=lab.environment)
        during = traces_of(lab.place)
    (folder,) = (site / 'state' / 'sessions').iterdir()
    left = traces_of(lab.place) + sorted(namespaces_kept() - kept)
    left += map(str, (site / 'state' / 'trials').iterdir())
    runs = [path_of('/dev/shm', folder.name, case['case']['name']) for case in cases_of(folder)]
    left += [run for run in runs if os.path.lexists(run)]
    return Session(folder, done.returncode, done.stdout + done.stderr, during, left)


def namespaces_kept():
    """Mounts that keep a namespace without a process in it."""
    return {line for line in Path('/proc/self/mountinfo').read_text().splitlines() if ' - nsfs ' in line}


def cases_of(folder):
    return json.loads((folder / 'results.json').read_text())['cases']


def samples_of(folder):
    """Every case with its records."""
    for case in cases_of(folder):
        named = Case(**{key: value for key, value in case['case'].items() if key != 'name'})
        yield case['case'], records_in(str(folder / 'cases' / named.slug))


def test_it_passes_on_two_and_four_nodes(session):
    assert session.status == 0, session.output
    ran = [(case['verdict'], *(case['case'][key] for key in CASE)) for case in cases_of(session.folder)]
    compute = [('MultipleFilesTransferSizes', 4), ('EmptyDirectories', 2), ('PosixSemantics', 2)]
    cases = [(check, 'lab:compute', 'disk', nodes) for check, nodes in compute]
    cases.append(('EmptyDirectories', 'lab:io', 'memory', 2))
    assert sorted(ran) == sorted(('MEASURED', *row) for row in cases)


def test_the_launcher_of_each_partition_started_all_tasks_on_every_node_of_the_allocation(session):
    for case, records in samples_of(session.folder):
        assert records.start.job, 'the runner knows its Slurm job'
        allowed = {'n1', 'n2', 'n3', 'n4'} if case['partition'] == 'lab:compute' else {'n3', 'n4'}
        for sample in records.samples:
            # mdtest only counts the nodes.
            named = [host for host in sample.measurement.hosts if not host.startswith(UNNAMED)]
            assert set(named) <= allowed and (named or records.start.engine == 'mdtest')
            assert len(set(sample.measurement.hosts)) == case['nodes']
        starters = {line.split()[0] for sample in records.samples for line in sample.command}
        assert starters == {'srun' if case['partition'] == 'lab:compute' else 'mpiexec'}


def test_every_figure_is_made_again_from_the_raw_output_to_the_last_bit(session):
    for file in session.folder.glob(f'cases/*/{PLAN}'):
        result = verified(read_plan(str(file)), records_in(str(file.parent)), file.parent)
        assert (result.launches > 1, result.contradictions, result.unproved) == (True, (), ())


def test_what_one_node_has_written_another_one_has_verified(session):
    for case, records in samples_of(session.folder):
        proof = {sample.phase: sample for sample in records.samples if sample.stage == 'proof'}
        if case['check'] == 'MultipleFilesTransferSizes':
            writers, readers = ([task.host for task in proof[way].measurement.tasks] for way in ('write', 'read'))
            assert len(set(writers)) == case['nodes']
            point = proof['read'].point
            read = [(host, writers[writer_of(point, rank)]) for rank, host in enumerate(readers)]
            assert all(reader != writer for reader, writer in read)
    sentences = [case['verified'] for case in cases_of(session.folder) if case['verified']]
    assert [sentence.rpartition(', ')[2] for sentence in sentences].count('each part by another than wrote it') == 1


def test_two_tasks_on_two_nodes_find_that_the_guarantees_hold_on_a_local_disk(session):
    (records,) = [records for case, records in samples_of(session.folder) if case['check'] == 'PosixSemantics']
    facts = [sample.measurement.facts for sample in records.samples if sample.stage == 'measured']
    assert facts and all(fact.holds is not False for of_task in facts for fact in of_task)


def test_no_process_mount_namespace_or_file_of_the_lab_is_left(session):
    assert any('mountinfo' in trace for trace in session.during), 'there was something to be found'
    assert session.left == []


# The lab's own site


@pytest.fixture
def clone():
    """A copy of the checkout that an account without rights owns, with an environment that it has made itself."""
    if os.geteuid() != 0:
        pytest.skip('only root can become somebody else; the other tests are an ordinary user here')
    place = Path(tempfile.mkdtemp(prefix='seatrial-clone-'))
    listed = ['git', 'ls-files', '--cached', '--others', '--exclude-standard']
    names = subprocess.run(listed, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for name in names:
        if os.path.lexists(REPOSITORY / name):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, place / name, follow_symlinks=False)
    for path in (place, *place.rglob('*')):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    made = as_nobody(place, '. ci/environment && make_environment', place / 'ci' / 'test')
    if made.returncode:
        shutil.rmtree(place)
        pytest.skip(f'an ordinary user cannot make an environment here: {made.stderr.strip()}')
    yield place
    shutil.rmtree(place)


def as_nobody(place, script, name='sh'):
    """Run a shell script in the clone as its owner."""
    return subprocess.run(
        ['/bin/sh', '-c', script, str(name)],
        cwd=place,
        env={'HOME': str(place / 'home'), 'PATH': '/usr/bin:/bin:/usr/sbin', 'LANG': 'C.UTF-8'},
        capture_output=True,
        text=True,
        timeout=1800,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )


@pytest.mark.long
@pytest.mark.parametrize('accounting', ['', '--accounting'])
def test_an_ordinary_user_passes_the_smoke_test_of_the_labs_own_site(clone, accounting):
    if shutil.which('slurmdbd') is None and accounting:
        pytest.skip('slurmdbd is not installed')
    lab = f'--dir {clone}/home/lab'
    run = '.venv/bin/seatrial run --site site-config/lab --profile smoke'
    done = as_nobody(clone, f'ci/lab-slurm up {accounting} {lab} && eval "$(ci/lab-slurm env {lab})" && {run}')
    down = as_nobody(clone, f'ci/lab-slurm down {lab}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert down.returncode == 0, down.stderr
    assert traces_of(clone) == []
