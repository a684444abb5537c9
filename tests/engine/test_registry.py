"""The engine that carries a case out, the reasons of the engines that do not, and the versions that can."""

import pytest

from builders import all_checks
from seatrial import __version__
from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.bonnie import BonnieEngine
from seatrial.engine.dd import Dd
from seatrial.engine.dlio import Dlio
from seatrial.engine.elbencho import Elbencho
from seatrial.engine.fio.access import Fio
from seatrial.engine.fio.random import FioRandom
from seatrial.engine.fio.tree import FioFiles
from seatrial.engine.io500 import Io500Engine
from seatrial.engine.ior import Ior
from seatrial.engine.iozone import Iozone
from seatrial.engine.mdtest import Mdtest
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.registry import ENGINES, by_name, choose, engines_called, why_none
from seatrial.model.plan import EngineChoice
from seatrial.workload.access import data_access
from seatrial.workload.interactive import GIT, interactive_use
from seatrial.workload.operations import posix_operations
from seatrial.workload.random import random_access
from seatrial.workload.registry import KINDS, kind_of, phases_of
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import examples
from seatrial.workload.tree import metadata_tree
from transcript import transcripts


def placed(workload, label, nodes=1):
    return workload._replace(label=label, nodes=nodes, tasks=2, tasks_per_node=2 // nodes)


READ = placed(data_access('single', operations=('read',), transfer_size=4096, bytes_per_task=8192), '4KiB')
WRITE_AND_READ = placed(data_access('multiple', transfer_size=4096, bytes_per_task=8192), '4KiB')
TWO_NODES = READ._replace(label='2tasks', nodes=2, tasks_per_node=1)
FIO, DD = EngineChoice('fio', 'fio'), EngineChoice('dd', '/opt/dd')
POSIXOPS = EngineChoice('posixops', 'posixops')
FLAT = placed(metadata_tree(('create', 'stat', 'remove'), files_per_directory=10), 'flat')
BOTH = FLAT.changed(label='both', empties_per_directory=10)


def installed(*programs):
    return lambda program: f'/found/{program}' if program in programs else None


def test_every_engine_is_found_by_its_name_and_each_of_its_kinds_and_declines_no_other():
    for engine in ENGINES:
        assert engine.kinds and [by_name(engine.name, kind) for kind in engine.kinds] == [engine] * len(engine.kinds)
        assert set(engine.declines) <= set(KINDS) - set(engine.kinds)


def test_every_kind_has_an_engine():
    assert {kind for engine in ENGINES for kind in engine.kinds} == set(KINDS)


@pytest.mark.parametrize('find', [engines_called, lambda name: by_name(name, 'access')])
def test_an_unknown_name_is_refused_with_the_known_ones(find):
    known = 'iozone, .*, ior, mdtest, fio, elbencho, dd, posixops'
    with pytest.raises(ValueError, match=f"'fi' is not an engine; the engines are {known}"):
        find('fi')


CLONES, TREES = (placed(interactive_use(1, 2, 3, '4KiB', *does), 'label') for does in ((GIT,), ()))
PROBE, DEEP = placed(posix_semantics(), 'probe'), placed(random_access(('randread',), '1GiB', queue_depth=8), 'qd8')
SITE_PYTHON, IOR = EngineChoice('posixops', '/opt/python3'), EngineChoice('ior', 'ior')


@pytest.mark.parametrize(
    ('candidates', 'points', 'there', 'chosen', 'program'),
    [
        ([FIO, DD], [READ], ['fio', '/opt/dd'], Fio, 'fio'),
        ([DD, FIO], [READ], ['fio', '/opt/dd'], Dd, '/opt/dd'),
        ([DD, FIO], [READ, TWO_NODES], ['fio', '/opt/dd'], Fio, 'fio'),
        ([FIO], [FLAT], ['fio'], FioFiles, 'fio'),
        ([POSIXOPS], [placed(posix_operations(10, 1), 'one')], ['python3'], PosixOps, 'python3'),
        ([POSIXOPS], [CLONES], ['python3', 'git'], PosixOps, 'python3'),
        ([POSIXOPS], [TREES], ['python3'], PosixOps, 'python3'),
        ([SITE_PYTHON], [PROBE], ['/opt/python3', 'python3'], PosixOps, '/opt/python3'),
    ],
)
def test_the_first_that_can_all_points_is_chosen_with_its_program(candidates, points, there, chosen, program):
    choice = choose(candidates, points, installed(*there))
    assert (type(choice.engine), choice.program) == (chosen, f'/found/{program}')


SLOW, FILES = 'cannot write incompressible data faster than /dev/urandom gives it', 'cannot work on directories'
CONTRARY = (
    'fio: the parameters contradict each other: operations: all tasks would write the whole of one file over each'
)
ALL = tuple(EngineChoice(name, name) for name in ('ior', 'mdtest', 'fio', 'dd', 'posixops'))
BESIDE = ['ior', 'fio', '/opt/dd']


@pytest.mark.parametrize(
    ('candidates', 'points', 'there', 'chosen', 'skipped'),
    [
        ([FIO, DD], [READ], ['/opt/dd'], Dd, ('fio: not installed (fio)',)),
        ([DD, FIO], [WRITE_AND_READ], BESIDE, Fio, (f'dd: {SLOW} (4KiB)',)),
        ([DD, FIO], [READ.changed(passes=3)], BESIDE, Fio, ('dd: cannot read a file several times over (4KiB)',)),
        ([IOR, DD, FIO], [DEEP], BESIDE, FioRandom, ('ior: does not report how long single transfers took',)),
        ([FIO], [READ._replace(phases=('write', 'read'))], BESIDE, None, (f'{CONTRARY} other (4KiB)',)),
        ([POSIXOPS], [CLONES], ['python3'], None, ('posixops: not installed (git)',)),
        ([SITE_PYTHON], [PROBE], ['python3'], None, ('posixops: not installed (/opt/python3)',)),
        (ALL, [FLAT, BOTH], ['fio', 'python3'], PosixOps, ('mdtest: not installed (mdtest)', f'fio: {FILES} (both)')),
    ],
)
def test_one_that_is_not_installed_or_cannot_do_a_point_is_skipped(candidates, points, there, chosen, skipped):
    choice = choose(candidates, points, installed(*there))
    assert (choice.engine and type(choice.engine), choice.skipped) == (chosen, skipped)


def test_no_engine_of_data_access_passes_one_transfer_at_a_time_for_several():
    chosen = choose([FIO, DD], [READ.changed(queue_depth=8)], installed('fio', '/opt/dd'))
    assert chosen.engine is None
    assert len(chosen.skipped) == 2 and all('queue_depth' in why for why in chosen.skipped)


def test_candidates_for_other_kinds_are_refused_with_their_kinds():
    mdtest = EngineChoice('mdtest', 'mdtest')
    assert choose([DD, mdtest], [DEEP], installed('/opt/dd', 'mdtest')) == (None, '', ())
    assert why_none([DD, DD, mdtest], ()) == 'dd: measures data access alone; mdtest: measures a metadata tree alone'


def test_one_that_is_for_several_kinds_names_all_of_them():
    words = [kind_of(kind).words for kind in PosixOps.kinds]
    assert why_none([POSIXOPS], ()).endswith(f', {words[-2]} and {words[-1]} alone')


@pytest.fixture(scope='module')
def points():
    """A point of each kind of workload that a check has, for two tasks on one node."""
    by_kind = {check.workload.kind: examples(check.sweep, check.workload)[0] for check in all_checks().values()}
    by_kind['device'] = by_kind['device'].changed(devices=('/dev/sdb', '/dev/sdc'))
    return {kind: placed(point, point.label) for kind, point in by_kind.items()}


CAUSE = 'ERROR: the device is away'
LESSER = f"""WARNING: There was an error initializing an OpenFabrics device.
note: see the manual
srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)
srun: lua: welcome to the cluster
{74 * '-'}
srun: error: n1: task 0: Exited with exit code 1
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
"""


@pytest.mark.parametrize('engine', ENGINES, ids=lambda engine: f'{engine.name} {engine.kinds[0]}')
def test_the_cause_of_a_failed_launch_is_chosen_by_the_same_words_from_every_engine(engine, points):
    point = next(points[kind] for kind in engine.kinds if kind in points)
    phase = phases_of(point)[-1].name
    command = engine.command('/opt/program', phase, point, '/raw/1', 7)
    stderr = f'{LESSER}{CAUSE}\nthe rest was given up\n'
    processes = tuple(ProcessTime('n1', 0.0, 9.0, 1) for _ in command.argvs)
    nothing = tuple('' for _ in command.argvs)
    outcome = Outcome(processes, nothing, (stderr,) * len(nothing), tuple('' for _ in command.outputs))
    with pytest.raises(EngineError, match=f"E1: .* exited with 1: '{CAUSE}"):
        engine.measure(phase, point, command, outcome)


# Versions

BANNER = 'IOR-{}: MPI Coordinated Test of Parallel I/O\n'
LAUNCHED = 'mdtest-{} was launched with 1\n'
ELBENCHO, MDTEST_33 = transcripts('elbencho')['version']['out'], transcripts('mdtest')['v33-create']['out']
OTHER_PYTHONS = ('', 'pyenv: python3: command not found\n')
OTHER_DDS = ('', 'dd (uutils coreutils) 0.2.2\n', 'BusyBox v1.35\n')
OLD_IO500S = ('isc20_v4', 'isc21_v2', 'sc24_v1', 'scc21')


@pytest.mark.parametrize(
    ('engine', 'text', 'version'),
    [
        *((Ior(), BANNER.format(version), version) for version in ('4.0.0', '4.0.0rc1', '4.1.0+dev', '5.0')),
        *((Mdtest(), BANNER.format(version), version) for version in ('4.0.0', '4.1.0+dev', '5.0')),
        *((Mdtest(), LAUNCHED.format(version), version) for version in ('4.0.0', '4.1.0+dev', '5.0')),
        (Elbencho(), ELBENCHO, '3.1-10'),
        (Fio(), transcripts('fio')['version']['out'], '3.33'),
        (Fio(), 'fio-3.36-17-gb9d3\n', '3.36-17-gb9d3'),
        *((FioFiles(), f'fio-{version}\n', version) for version in ('3.27', '3.100', '4.0', '3.36-17-gb9d3')),
        *((PosixOps(), f'Python {v}\n', f'{__version__}, Python {v}') for v in ('3.6.8', '3.13.0rc2', '4.0.0')),
        (BonnieEngine(), transcripts('bonnie++')['usage']['out'], '2.00a'),
        (Dd(), transcripts('dd')['version']['out'], '9.1'),
        (Dlio(), 'dlio-benchmark 2.0.0 torch 2.15.0 mpi4py 4.1.2\n', '2.0.0, torch 2.15.0, mpi4py 4.1.2'),
        *((Io500Engine(), f'io500-{v}\n', v) for v in ('isc25', 'sc25_v1', 'dev-17-g0a1b2c', 'isc26_v2-26-g02091c')),
        (Iozone(), transcripts('iozone')['version']['out'], '3.471'),
    ],
)
def test_the_version_is_read_from_the_output_of_the_program(engine, text, version):
    assert engine.parse_version(text) == version


@pytest.mark.parametrize(
    ('engine', 'text', 'why'),
    [
        *((Ior(), BANNER.format(v), r'T7: IOR \d.*ior@4\.0\.0') for v in ('3.3.0', '3.3.0+dev', '3.0', '2.10.3')),
        (Mdtest(), MDTEST_33, r'T7: .* 3\.3\.0 are wrong: .*PRs 312 and 336.*ior@4\.0\.0'),
        *((engine, text, 'T7') for engine in (Ior(), Mdtest()) for text in ('', 'Synopsis ior\n', 'fio-3.33\n')),
        *((Elbencho(), ELBENCHO.replace('3.1-10', v), '^T7: .*use 3.0-37') for v in ('3.0-3', '3.0-35')),
        (Elbencho(), transcripts('elbencho')['bad-option']['err'], 'is not the version of elbencho'),
        (Fio(), 'ior-4.0.0\n', 'is not the version of fio'),
        *((FioFiles(), f'fio-{v}\n', f'T7: fio {v} has no engine') for v in ('2.99', '3.1', '3.26', '3.26-11-gd1ef')),
        *((PosixOps(), f'Python {version}\n', 'is too old') for version in ('3.5.10', '2.7.18')),
        *((PosixOps(), text, 'is not the version of python3') for text in OTHER_PYTHONS),
        (BonnieEngine(), 'Version: 2.00a', 'is not the version of bonnie'),
        *((Dd(), text, 'is not the version of dd') for text in OTHER_DDS),
        (Dlio(), '', 'its Python lacks dlio-benchmark, torch'),
        *((Io500Engine(), f'io500-{v}\n', f'^T7: IO500 {v} has no ior-rnd4K') for v in OLD_IO500S),
        (Io500Engine(), '', 'is not the version of io500'),
        (Iozone(), transcripts('iozone')['version-3.489']['out'], '^T7: IOzone 3.489 writes zeros into half of each'),
        (Iozone(), 'iozone', 'is not the version of iozone'),
    ],
)
def test_a_version_that_cannot_be_used_and_another_program_are_refused(engine, text, why):
    with pytest.raises(EngineError, match=why):
        engine.parse_version(text)
