"""What check files declare, and what is wrong with a check file."""

import pytest

from seatrial.check.declared import CheckError, load
from seatrial.model.namespace import LISTING, SEMANTICS, TREE

CHECK = """
import reframe

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.workload import AccessPattern, Sweep


@trial
class {name}(AccessPatternCheck):
    {doc}
    pattern = AccessPattern({pattern})
    sweep = Sweep('objects', (2, 4), bytes_per_client=1024)
"""


@pytest.fixture
def write(tmp_path):
    def write(path, name='Objects', doc='"""A title.\n\n    More."""', pattern="'multiple', 'whole'"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CHECK.format(name=name, doc=doc, pattern=pattern))
        return tmp_path

    return write


def test_a_check_has_the_name_of_its_class_and_the_family_of_its_folder(write):
    (declared,) = load(write('access/files.py')).values()
    assert (declared.name, declared.family) == ('Objects', 'access')


def test_its_title_is_the_first_line_of_its_docstring(write):
    assert load(write('access/files.py'))['Objects'].title == 'A title.'


def test_its_error_is_ten_per_cent_unless_it_says_otherwise(write):
    assert load(write('access/files.py'))['Objects'].max_relative_error == 0.10
    later = load(write('later/files.py', name='Later', doc='max_relative_error = 0.05'))
    assert later['Later'].max_relative_error == 0.05


def test_every_check_file_below_the_folder_is_read_in_the_order_of_their_paths(write):
    write('b/one.py', name='Second')
    assert list(load(write('a/two.py', name='First'))) == ['First', 'Second']


def test_a_file_whose_name_begins_with_an_underscore_is_no_check_file(write):
    write('access/_base.py', name='Base')
    assert list(load(write('access/files.py'))) == ['Objects']


def test_loading_a_folder_twice_gives_the_same(write):
    folder = write('access/files.py')
    assert load(folder) == load(folder)


def test_a_pattern_that_contradicts_itself_is_an_error_of_its_class(write):
    with pytest.raises(CheckError, match='files.py: Objects.pattern: a file a client has no segments'):
        load(write('access/files.py', pattern="'multiple', 'segment'"))


def test_a_check_that_is_declared_twice_is_an_error_of_the_second_file(write):
    write('a/files.py')
    with pytest.raises(CheckError, match='b/files.py: Objects is declared in another file too'):
        load(write('b/files.py'))


def test_a_file_that_does_not_import_is_an_error_that_names_it(tmp_path):
    (tmp_path / 'broken.py').write_text('import no_such_module\n')
    with pytest.raises(CheckError, match="broken.py: ModuleNotFoundError: No module named 'no_such_module'"):
        load(tmp_path)


def test_a_folder_without_check_files_is_an_error(tmp_path):
    with pytest.raises(CheckError, match='no check files; name the folder that holds them with --checks'):
        load(tmp_path)


# Metadata

METADATA = """
import reframe

from seatrial.check.base import MetadataCheck, trial
from seatrial.judge.expectations import AtLeast, Insensitive, PointAtLeast, Promise
from seatrial.model.namespace import LISTING, OPERATIONS, SEMANTICS, TREE, Namespace, Trees
from seatrial.model.tree import MetadataTree

FILES = MetadataTree(files_per_directory=10)


@trial
class Names(MetadataCheck):
    workload = {workload}
    sweep = Trees({sweep})
    expectations = ({expectations})
"""


@pytest.fixture
def declare(tmp_path):
    """What a check of metadata declares with these words."""

    def declare(workload='TREE', sweep="(('shared', FILES),)", *expectations):
        said = ''.join(f'{each}, ' for each in expectations)
        (tmp_path / 'metadata').mkdir()
        (tmp_path / 'metadata' / 'names.py').write_text(
            METADATA.format(workload=workload, sweep=sweep, expectations=said)
        )
        return load(tmp_path)['Names']

    return declare


@pytest.mark.parametrize(
    ('workload', 'sweep', 'expected'),
    [
        ('TREE', "(('shared', FILES),)", TREE),
        ('LISTING', "(('10', FILES),), tasks=1", LISTING),
        ('SEMANTICS', "(('two', MetadataTree()),), tasks=2", SEMANTICS),
    ],
)
def test_a_check_of_metadata_declares_its_kind_and_its_trees(declare, workload, sweep, expected):
    declared = declare(workload, sweep)
    assert (declared.workload, declared.family, declared.max_relative_error) == (expected, 'metadata', 0.10)
    assert len(declared.sweep.trees) == 1


@pytest.mark.parametrize(
    ('workload', 'sweep', 'fault'),
    [
        ('TREE', "(('t', FILES._replace(phases=('create',))),)", r"its phases are \['create'\], not"),
        ('TREE', "(('t', FILES._replace(depth=-1)),)", 'depth is -1'),
        ("Namespace('tree', ('create', 'remove'))", "(('t', FILES),)", 'its phases are'),
        ('OPERATIONS', "(('t', FILES._replace(empties_per_directory=1)),)", 'wants files in one directory'),
        ('LISTING', "(('t', FILES),), tasks=2", 'one client lists, not 2'),
        ('TREE', "(('good', FILES), ('bad', FILES._replace(branching=0))), tasks=6", 'branching is 0'),
    ],
)
def test_trees_that_contradict_themselves_or_their_kind_are_an_error_of_the_class(declare, workload, sweep, fault):
    with pytest.raises(CheckError, match=f'names.py: Names.sweep: .*{fault}'):
        declare(workload, sweep)


SOURCE = "id='X', words='w', source='s'"


@pytest.mark.parametrize(
    ('expectation', 'fault'),
    [
        (f"PointAtLeast(at='privat', than='shared', {SOURCE})", "there is no point 'privat' in"),
        (f"PointAtLeast(at='shared', than='shared', metric='create', {SOURCE})", "there is no operation 'create' in"),
        (f"AtLeast(metric='file_stat', than='tree_create', {SOURCE})", "there is no operation 'tree_create' in"),
        (f"Insensitive(to='clients', {SOURCE})", "'clients' is not the axis of its sweep, which is 'tree'"),
    ],
)
def test_an_expectation_of_what_a_check_of_metadata_does_not_measure_is_an_error(declare, expectation, fault):
    with pytest.raises(CheckError, match=f'Names.expectations: X: {fault}'):
        declare('TREE', "(('shared', FILES),)", expectation)


@pytest.mark.parametrize(
    ('workload', 'sweep', 'expectation'),
    [
        ('TREE', "(('a', FILES), ('b', FILES))", f"PointAtLeast(at='a', than='b', metric='file_stat', {SOURCE})"),
        ('LISTING', "(('a', FILES),), tasks=1", f"AtLeast(metric='stat_second', than='stat_first', {SOURCE})"),
        (
            'LISTING',
            "(('a', FILES),), tasks=1, pauses_s=(10.0,)",
            f"AtLeast(metric='ls_fourth', than='ls_after_10s', {SOURCE})",
        ),
        ('SEMANTICS', "(('a', FILES),), tasks=2", f"Promise(fact='rename_over', {SOURCE})"),
        ('SEMANTICS', "(('a', FILES),), tasks=2", f"AtLeast(metric='holding', than='holding', {SOURCE})"),
    ],
)
def test_an_expectation_of_what_a_check_of_metadata_measures_is_declared(declare, workload, sweep, expectation):
    assert len(declare(workload, sweep, expectation).expectations) == 1
