"""Which engine carries a case out, and what is said of those that do not."""

import pytest

from seatrial.engine.catalogue import (
    ACCESS_ENGINES,
    NAMES,
    NAMESPACE_ENGINES,
    by_name,
    choose,
    engines_called,
    kinds_of,
)
from seatrial.engine.dd import Dd
from seatrial.engine.fio import Fio
from seatrial.engine.fio_files import FioFiles
from seatrial.engine.posixops import PosixOps
from seatrial.model.namespace import LISTING, OPERATIONS, SEMANTICS, TREE, Namespace
from seatrial.model.plan import EngineChoice
from seatrial.model.tree import MetadataTree, TreePoint
from seatrial.model.workload import AccessPattern, Point
from seatrial.site.model import DEFAULT_ENGINES

WRITE_AND_READ = AccessPattern('multiple', 'whole')
READ = AccessPattern('single', 'whole', operations=('read',))
POINT = Point('4KiB', 1, 2, 2, 8192, 4096, 2)
TWO_NODES = Point('2clients', 2, 2, 1, 8192, 4096, 2)
FIO, DD = EngineChoice('fio', 'fio'), EngineChoice('dd', '/opt/dd')
PHASES = ('create', 'stat', 'remove')
FILES = Namespace('tree', PHASES)
FLAT = TreePoint('flat', 1, 2, 2, MetadataTree(files_per_directory=10, phases=PHASES))
BOTH = FLAT._replace(label='both', tree=FLAT.tree._replace(empties_per_directory=10))


def installed(*programs):
    return lambda program: f'/found/{program}' if program in programs else None


def test_every_engine_is_found_by_its_name_and_what_it_measures():
    assert [by_name(engine.name, READ) for engine in ACCESS_ENGINES] == list(ACCESS_ENGINES)
    assert [by_name(engine.name, TREE) for engine in NAMESPACE_ENGINES] == list(NAMESPACE_ENGINES)


@pytest.mark.parametrize('engines', [ACCESS_ENGINES, NAMESPACE_ENGINES])
def test_no_two_engines_of_a_kind_share_a_name(engines):
    assert len({engine.name for engine in engines}) == len(engines)


def test_the_names_are_those_of_all_engines_and_of_the_sites_once_each():
    engines = (*ACCESS_ENGINES, *NAMESPACE_ENGINES)
    assert sorted(NAMES) == sorted({engine.name for engine in engines})
    assert NAMES == DEFAULT_ENGINES


@pytest.mark.parametrize(
    ('name', 'kinds'),
    [
        ('ior', {'bytes'}),
        ('dd', {'bytes'}),
        ('mdtest', {'names'}),
        ('posixops', {'names'}),
        ('fio', {'bytes', 'names'}),
    ],
)
def test_an_engine_measures_bytes_or_names_and_fio_both(name, kinds):
    assert kinds_of(name) == kinds


@pytest.mark.parametrize('name', NAMES)
def test_a_name_stands_for_an_engine_of_each_kind_that_it_measures(name):
    engines = engines_called(name)
    assert len(engines) == len(kinds_of(name))
    assert {engine.name for engine in engines} == {name}


@pytest.mark.parametrize('workload', [TREE, OPERATIONS, LISTING, SEMANTICS])
@pytest.mark.parametrize('name', ['ior', 'dd'])
def test_an_engine_of_bytes_is_none_for_names(name, workload):
    assert by_name(name, workload) is None


@pytest.mark.parametrize('name', ['mdtest', 'posixops'])
def test_an_engine_of_names_is_none_for_bytes(name):
    assert by_name(name, READ) is None


@pytest.mark.parametrize('find', [engines_called, lambda name: by_name(name, READ), lambda name: by_name(name, TREE)])
def test_an_unknown_name_is_refused_with_the_known_ones(find):
    with pytest.raises(ValueError, match="'fi' is not an engine; the engines are ior, mdtest, fio, dd, posixops"):
        find('fi')


def test_the_first_that_can_is_chosen_with_the_path_that_was_found():
    chosen = choose([FIO, DD], READ, [POINT], installed('fio', '/opt/dd'))
    assert isinstance(chosen.engine, Fio)
    assert (chosen.program, chosen.passed_over) == ('/found/fio', ())


def test_the_order_of_the_candidates_decides():
    chosen = choose([DD, FIO], READ, [POINT], installed('fio', '/opt/dd'))
    assert isinstance(chosen.engine, Dd)


def test_one_that_is_not_installed_is_passed_over_by_name():
    chosen = choose([FIO, DD], READ, [POINT], installed('/opt/dd'))
    assert isinstance(chosen.engine, Dd)
    assert chosen.passed_over == ('fio: not installed (fio)',)


def test_one_that_cannot_is_passed_over_with_its_reason_and_the_point():
    chosen = choose([DD, FIO], WRITE_AND_READ, [POINT], installed('fio', '/opt/dd'))
    assert isinstance(chosen.engine, Fio)
    assert chosen.passed_over == ('dd: cannot write incompressible data faster than /dev/urandom gives it (4KiB)',)


def test_one_point_that_an_engine_cannot_do_is_enough_to_pass_it_over():
    chosen = choose([DD], READ, [POINT, TWO_NODES], installed('/opt/dd'))
    assert [why for why in chosen.passed_over if why.startswith('dd: ') and why.endswith('(2clients)')]


def test_where_none_can_no_engine_is_chosen_and_every_reason_is_kept():
    chosen = choose([FIO, DD], WRITE_AND_READ, [POINT], installed('/opt/dd'))
    assert (chosen.engine, chosen.program, len(chosen.passed_over)) == (None, '', 2)


def test_an_unknown_candidate_is_an_error_and_is_not_skipped():
    with pytest.raises(ValueError, match='is not an engine'):
        choose([EngineChoice('fi', 'fio'), FIO], READ, [POINT], installed('fio'))


# Names


ALL = tuple(EngineChoice(name, name) for name in NAMES)


def test_engines_of_another_kind_are_not_said_to_be_passed_over():
    assert choose(ALL, READ, [POINT], installed()).passed_over == (
        'ior: not installed (ior)',
        'fio: not installed (fio)',
        'dd: not installed (dd)',
    )
    assert choose(ALL, FILES, [FLAT], installed()).passed_over == (
        'mdtest: not installed (mdtest)',
        'fio: not installed (fio)',
        'posixops: not installed (python3)',
    )


def test_the_name_fio_is_another_engine_for_files():
    assert isinstance(choose([FIO], FILES, [FLAT], installed('fio')).engine, FioFiles)


def test_an_engine_that_is_part_of_seatrial_is_where_its_interpreter_is():
    chosen = choose(ALL, OPERATIONS, [FLAT._replace(tree=FLAT.tree._replace(bytes_per_file=1))], installed('python3'))
    assert isinstance(chosen.engine, PosixOps)
    assert chosen.program == '/found/python3'


def test_a_program_of_the_site_is_taken_before_the_engines_own():
    own = EngineChoice('posixops', '/opt/python3.12')
    assert choose([own], SEMANTICS, [FLAT], installed('/opt/python3.12')).program == '/found//opt/python3.12'
    assert choose([own], SEMANTICS, [FLAT], installed('python3')).passed_over == (
        'posixops: not installed (/opt/python3.12)',
    )


def test_one_engine_measures_all_points_of_a_metadata_case():
    chosen = choose(ALL, FILES, [FLAT, BOTH], installed('fio', 'python3'))
    assert isinstance(chosen.engine, PosixOps)
    assert chosen.passed_over == ('mdtest: not installed (mdtest)', 'fio: cannot work on directories (both)')
