"""Which engine carries a case out, and what is said of those that do not."""

import pytest

from seatrial.check.declared import load
from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.dd import Dd
from seatrial.engine.fio.access import Fio
from seatrial.engine.fio.random import FioRandom
from seatrial.engine.fio.tree import FioFiles
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.registry import ENGINES, NAMES, by_name, choose, engines_called, why_none
from seatrial.model.plan import EngineChoice
from seatrial.site.model import DEFAULT_ENGINES
from seatrial.workload.access import data_access
from seatrial.workload.interactive import GIT, interactive_use
from seatrial.workload.operations import posix_operations
from seatrial.workload.random import random_access
from seatrial.workload.registry import KINDS, kind_of, phases_of
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import examples
from seatrial.workload.tree import metadata_tree


def placed(workload, label, nodes=1):
    return workload._replace(label=label, nodes=nodes, tasks=2, tasks_per_node=2 // nodes)


READ = placed(data_access('single', operations=('read',), transfer_size=4096, bytes_per_task=8192), '4KiB')
WRITE_AND_READ = placed(data_access('multiple', transfer_size=4096, bytes_per_task=8192), '4KiB')
TWO_NODES = READ._replace(label='2tasks', nodes=2, tasks_per_node=1)
FIO, DD = EngineChoice('fio', 'fio'), EngineChoice('dd', '/opt/dd')
FLAT = placed(metadata_tree(('create', 'stat', 'remove'), files_per_directory=10), 'flat')
BOTH = FLAT.changed(label='both', empties_per_directory=10)


def installed(*programs):
    return lambda program: f'/found/{program}' if program in programs else None


def test_every_engine_is_found_by_its_name_and_each_of_its_kinds():
    for engine in ENGINES:
        assert [by_name(engine.name, kind) for kind in engine.kinds] == [engine] * len(engine.kinds)


def test_no_two_engines_of_a_name_share_a_kind():
    of_all = [(engine.name, kind) for engine in ENGINES for kind in engine.kinds]
    assert len(set(of_all)) == len(of_all)


def test_every_kind_has_an_engine_and_every_engine_a_kind():
    assert {kind for engine in ENGINES for kind in engine.kinds} == set(KINDS)
    assert all(engine.kinds for engine in ENGINES)


def test_the_names_are_those_of_all_engines_and_of_the_sites_once_each():
    assert sorted(NAMES) == sorted({engine.name for engine in ENGINES})
    assert NAMES == DEFAULT_ENGINES


@pytest.mark.parametrize('find', [engines_called, lambda name: by_name(name, 'access')])
def test_an_unknown_name_is_refused_with_the_known_ones(find):
    known = 'iozone, .*, ior, mdtest, fio, elbencho, dd, posixops'
    with pytest.raises(ValueError, match=f"'fi' is not an engine; the engines are {known}"):
        find('fi')


@pytest.mark.parametrize(
    ('candidates', 'points', 'chosen', 'program'),
    [
        ([FIO, DD], [READ], Fio, '/found/fio'),
        ([DD, FIO], [READ], Dd, '/found//opt/dd'),
        ([DD, FIO], [READ, TWO_NODES], Fio, '/found/fio'),
        ([FIO], [FLAT], FioFiles, '/found/fio'),
        (
            [EngineChoice('posixops', 'posixops')],
            [placed(posix_operations(10, 1), 'one')],
            PosixOps,
            '/found/python3',
        ),
    ],
)
def test_the_first_that_can_all_points_is_chosen_with_the_path_that_was_found(candidates, points, chosen, program):
    found = choose(candidates, points, installed('fio', '/opt/dd', 'python3'))
    assert (type(found.engine), found.program) == (chosen, program)


def test_one_that_needs_another_program_is_skipped_with_its_name():
    clones = placed(interactive_use(1, 2, 3, '4KiB', GIT), 'clones')
    trees = placed(interactive_use(1, 2, 3, '4KiB'), 'trees')
    posixops = [EngineChoice('posixops', 'posixops')]
    assert choose(posixops, [clones], installed('python3')).skipped == ('posixops: not installed (git)',)
    assert choose(posixops, [clones], installed('python3', 'git')).program == '/found/python3'
    assert choose(posixops, [trees], installed('python3')).program == '/found/python3'


def test_a_point_that_contradicts_itself_is_for_no_engine():
    both = READ._replace(phases=('write', 'read'))
    why = 'cannot do what contradicts itself: operations: all tasks would write the whole of one file over each other'
    assert choose([FIO], [both], installed('fio')).skipped == (f'fio: {why} (4KiB)',)


def test_a_file_is_read_several_times_over_by_an_engine_that_does_so():
    chosen = choose([DD, FIO], [READ.changed(passes=3)], installed('fio', '/opt/dd'))
    assert (chosen.engine.name, chosen.skipped) == ('fio', ('dd: cannot read a file several times over (4KiB)',))


def test_no_engine_of_data_access_passes_one_transfer_at_a_time_for_several():
    chosen = choose([FIO, DD], [READ.changed(queue_depth=8)], installed('fio', '/opt/dd'))
    assert chosen.engine is None
    assert len(chosen.skipped) == 2 and all('queue_depth' in why for why in chosen.skipped)


def test_an_engine_that_declines_a_kind_is_skipped_with_its_reason():
    deep = [placed(random_access(('randread',), '1GiB', queue_depth=8), 'qd8')]
    chosen = choose([EngineChoice('ior', 'ior'), DD, FIO], deep, installed('ior', 'fio', '/opt/dd'))
    assert isinstance(chosen.engine, FioRandom)
    assert chosen.skipped == ('ior: does not tell how long single transfers took',)


def test_no_engine_declines_what_it_measures():
    for engine in ENGINES:
        assert set(engine.declines) <= set(KINDS) - set(engine.kinds)


# Metadata


ALL = tuple(EngineChoice(name, name) for name in ('ior', 'mdtest', 'fio', 'dd', 'posixops'))


def test_engines_of_another_kind_are_not_said_to_be_skipped():
    assert choose(ALL, [READ], installed()).skipped == (
        'ior: not installed (ior)',
        'fio: not installed (fio)',
        'dd: not installed (dd)',
    )
    assert choose(ALL, [FLAT], installed()).skipped == (
        'mdtest: not installed (mdtest)',
        'fio: not installed (fio)',
        'posixops: not installed (python3)',
    )


def test_a_program_of_the_site_is_taken_before_the_engines_own():
    own = EngineChoice('posixops', '/opt/python3.12')
    assert (
        choose([own], [placed(posix_semantics(), 'probe')], installed('/opt/python3.12')).program
        == '/found//opt/python3.12'
    )
    assert choose([own], [placed(posix_semantics(), 'probe')], installed('python3')).skipped == (
        'posixops: not installed (/opt/python3.12)',
    )


@pytest.mark.parametrize(
    ('candidates', 'points', 'there', 'chosen', 'skipped'),
    [
        ([FIO, DD], [READ], ['/opt/dd'], Dd, ('fio: not installed (fio)',)),
        (
            [DD, FIO],
            [WRITE_AND_READ],
            ['fio', '/opt/dd'],
            Fio,
            ('dd: cannot write incompressible data faster than /dev/urandom gives it (4KiB)',),
        ),
        (
            ALL,
            [FLAT, BOTH],
            ['fio', 'python3'],
            PosixOps,
            ('mdtest: not installed (mdtest)', 'fio: cannot work on directories (both)'),
        ),
    ],
)
def test_one_that_is_not_installed_or_cannot_do_a_point_is_skipped_with_the_reason(
    candidates, points, there, chosen, skipped
):
    found = choose(candidates, points, installed(*there))
    assert (type(found.engine), found.skipped) == (chosen, skipped)


def test_candidates_that_are_for_something_else_say_for_what():
    deep = [placed(random_access(('randread',), '1GiB', queue_depth=8), 'qd8')]
    mdtest = EngineChoice('mdtest', 'mdtest')
    assert choose([DD, mdtest], deep, installed('/opt/dd', 'mdtest')) == (None, '', ())
    assert why_none([DD, DD, mdtest], ()) == 'dd: measures data access alone; mdtest: measures a metadata tree alone'


def test_one_that_is_for_several_kinds_names_all_of_them():
    words = [kind_of(kind).words for kind in PosixOps.kinds]
    assert why_none([EngineChoice('posixops', 'posixops')], ()).endswith(f', {words[-2]} and {words[-1]} alone')


@pytest.fixture(scope='module')
def points(repository):
    """A point of each kind of workload that a check has, for two tasks on one node."""
    checks = load(repository / 'checks').values()
    found = {each.workload.kind: examples(each.sweep, each.workload)[0] for each in checks}
    found['device'] = found['device'].changed(devices=('/dev/sdb', '/dev/sdc'))
    return {kind: placed(point, point.label) for kind, point in found.items()}


CAUSE = 'ERROR: the device is away'


@pytest.mark.parametrize('engine', ENGINES, ids=lambda engine: f'{engine.name} {engine.kinds[0]}')
def test_the_cause_of_a_failed_launch_is_chosen_by_the_same_words_from_every_engine(engine, points):
    point = next(points[kind] for kind in engine.kinds if kind in points)
    phase = phases_of(point)[-1].name
    command = engine.command('/opt/program', phase, point, '/raw/1', 7)
    said = f'WARNING: a network is slow\nnote: see the manual\n{CAUSE}\nthe rest was given up\n'
    processes = tuple(ProcessTime('n1', 0.0, 9.0, 1) for _ in command.argvs)
    nothing = tuple('' for _ in command.argvs)
    outcome = Outcome(processes, nothing, (said,) * len(nothing), tuple('' for _ in command.outputs))
    with pytest.raises(EngineError, match=f"E1: .* exited with 1: '{CAUSE}"):
        engine.measure(phase, point, command, outcome)
