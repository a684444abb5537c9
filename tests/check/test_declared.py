"""The declarations of check files, the tags of their cases, and the tests of the sources that they cover."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders import all_checks
from seatrial.check.base import Variant, tags_of, tags_of_case, variants_of
from seatrial.check.catalogue import CATALOGUE, covered, rows_of
from seatrial.check.declared import CheckError, load
from seatrial.check.literature import GUARANTEES
from seatrial.check.session import Session
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.workload.access import data_access
from seatrial.workload.sweep import AXES, Sweep

CHECK = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.judge.expectations import CurveRatio
from seatrial.model.layout import Layout
from seatrial.model.point import Point
from seatrial.workload.access import data_access
from seatrial.workload.listing import listing
from seatrial.workload.sweep import Sweep, powers_of_two
from seatrial.workload.tree import metadata_tree

FILES = metadata_tree(files_per_directory=10)
SIZES = Sweep('transfer_size', (1024, 2048))
SOURCE = {{'id': 'X', 'words': 'w', 'source': 's'}}


@trial
class {name}(Check):
    {doc}
    workload = {workload}
    sweep = {sweep}
    {more}
"""
TITLE = '"""A title.\n\n    More."""'


@pytest.fixture
def write(tmp_path):
    """Write a check file; returns the folder."""

    def write(
        path='access/files.py', workload="data_access('multiple')", sweep='SIZES', more='', name='Sizes', doc=TITLE
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CHECK.format(name=name, doc=doc, workload=workload, sweep=sweep, more=more))
        return tmp_path

    return write


def test_a_check_has_the_name_of_its_class_and_the_family_of_its_folder(write):
    (declared,) = load(write()).values()
    assert (declared.name, declared.family, declared.title) == ('Sizes', 'access', 'A title.')
    assert (declared.workload, declared.sweep) == (data_access('multiple'), Sweep('transfer_size', (1024, 2048)))
    assert (declared.axis, declared.max_relative_error) == (AXES['transfer_size'], 0.10)


def test_every_check_file_below_the_folder_is_read_in_the_order_of_their_paths(write):
    write('b/one.py', name='Second')
    write('a/_base.py', name='Base')  # no check file
    assert list(load(write('a/two.py', name='First'))) == ['First', 'Second']


@pytest.mark.parametrize(
    ('workload', 'sweep'),
    [
        ("data_access('multiple', operations=('read',))", 'SIZES'),
        ('metadata_tree()', "Sweep('tree', (('ten', {'files_per_directory': 10}),))"),
    ],
)
def test_a_workload_that_the_sweep_makes_possible_is_declared(write, workload, sweep):
    assert len(load(write(workload=workload, sweep=sweep))) == 1


READ_ONLY = 'workload.operations: '


@pytest.mark.parametrize(
    ('workload', 'sweep', 'fault'),
    [
        # the workload
        ('None', 'SIZES', 'workload: it is missing'),
        ("('access', 'multiple')", 'SIZES', 'workload: it is missing'),
        ("Point('unheard', ('read',))", 'SIZES', "workload.kind: 'unheard' is"),
        ("data_access('multiple', 'segment')", 'SIZES', 'workload.extent: '),
        ("data_access('multiple', tasks='4')", 'SIZES', 'workload.tasks: int is expected, not str'),
        # the sweep
        ("data_access('multiple')", 'None', 'sweep: it is missing'),
        ("data_access('multiple')", "Sweep('tasks', (0,))", 'sweep: 0 is'),
        # one with the other
        ("data_access('multiple')", "Sweep('transfer_size', (3,))", 'workload.bytes_per_task: '),
        ('FILES', 'SIZES', 'workload.transfer_size: '),
        ('listing(10)', "Sweep('node')", 'workload.tasks: '),
        ("data_access('multiple', operations=('read',))", "Sweep('tasks', (1, 2))", READ_ONLY),
        ("data_access('single', operations=('read',))", "Sweep('layout', (Layout(), Layout('w')))", READ_ONLY),
        ("data_access('multiple', operations=('read',))", "Sweep('ost')", READ_ONLY),
    ],
)
def test_what_is_impossible_is_an_error_with_file_class_and_field(write, workload, sweep, fault):
    folder = write(workload=workload, sweep=sweep)
    with pytest.raises(CheckError, match=re.escape(f'{folder}/access/files.py: Sizes.{fault}')):
        load(folder)


WRONG_TYPE = "Sweep('tasks', (1, 2), transfer_size=4096)"
WRONG_SIZE = "Sweep('transfer_size', powers_of_two('1KB', '1MiB'))"


@pytest.mark.parametrize(
    ('given', 'fault'),
    [
        ({'more': 'max_relative_error = 5'}, 'Sizes.max_relative_error: 5 '),
        ({'more': 'max_relative_error = 1.5'}, 'Sizes.max_relative_error: 1.5 '),
        ({'more': "expectations = CurveRatio(than='read', **SOURCE)"}, 'Sizes.expectations: expected a tuple'),
        ({'more': "expectations = ('L09-02',)"}, "Sizes.expectations: 'L09-02' is not one"),
        ({'sweep': WRONG_TYPE}, r'line \d+, in Sizes: TypeError: .*transfer_size'),
        ({'sweep': WRONG_SIZE}, r"line \d+, in Sizes: ValueError: '1KB' is not a size; write"),
    ],
)
def test_what_decides_it_is_of_the_right_form_and_what_cannot_even_be_written_names_line_and_class(
    write, given, fault
):
    with pytest.raises(CheckError, match=f'files.py: {fault}'):
        load(write(**given))


def test_a_check_that_is_declared_twice_is_an_error_of_the_second_file(write):
    write('a/files.py')
    with pytest.raises(CheckError, match='b/files.py: Sizes is declared in another file too'):
        load(write('b/files.py'))


def test_a_folder_without_check_files_is_an_error(tmp_path):
    with pytest.raises(CheckError, match='no check files; '):
        load(tmp_path)


# To plain ReFrame an exception is a file to skip, and then it says "PASSED Ran 0/0"
@pytest.mark.slow
def test_plain_reframe_ends_with_the_sentence(write, repository, tmp_path):
    folder = write(sweep="Sweep('tasks', (0,))")
    (tmp_path / 'site').mkdir()
    for file in (repository / 'site-config' / 'local').glob('*.*'):
        text = file.read_text().replace('../../.seatrial', str(tmp_path / 'state'))
        (tmp_path / 'site' / file.name).write_text(text)
    argv = ['-C', str(tmp_path / 'site' / 'settings.py'), '-c', str(folder / 'access'), '-l']
    reframe = str(Path(sys.executable).parent / 'reframe')
    done = subprocess.run([reframe, *argv], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 64, done.stdout + done.stderr
    assert 'files.py: Sizes.sweep: 0 is not one of the numbers of tasks' in done.stderr


EXAMPLE = 'pelagia:compute', 'pelagia:io'


@pytest.fixture(scope='module')
def checks():
    return all_checks()


@pytest.fixture(scope='module')
def session(repository, tmp_path_factory):
    """A session of plain ReFrame on the example's site."""
    site = load_site(repository / 'site-config' / 'example-lustre')
    folder = tmp_path_factory.mktemp('session')
    return Session('s1', folder, site, PROFILES['smoke'], site.engine_choices(), plain=True)


@pytest.mark.parametrize(
    ('check', 'tags'),
    [
        ('EmptyFiles', {'metadata', 'FN-11', 'GP-03'}),
        ('SharedFileStridedTasks', {'access', 'data', 'SFSA', 'L09-07', 'L09-08'}),
        ('SingleFileWholeAccess', {'access', 'data', 'SFWA', 'L09-01'}),
        ('Io500', {'io500', 'data'}),
        ('AgedTrees', {'ageing', 'data', 'metadata', 'FS-07'}),
        ('FullOfInodes', {'limits', 'destructive'}),
        ('Integrity', {'integrity'}),
    ],
)
def test_a_check_is_tagged_by_what_it_does_and_by_the_tests_that_it_covers(checks, check, tags):
    assert tags_of(checks[check]) == tags


def test_a_case_of_several_partitions_is_one_variant_of_each_profile(session, checks):
    variants = [variant for variant in variants_of(session, checks['Integrity']) if variant.file_system == 'scratch']
    assert variants[-3:] == [
        Variant('smoke', 'scratch', 'default', 1, EXAMPLE),
        Variant('nightly', 'scratch', 'default', 4, EXAMPLE[:1]),
        Variant('acceptance', 'scratch', 'default', 4, EXAMPLE[:1]),
    ]


@pytest.mark.parametrize(('nodes', 'scale'), [(1, {'1_node'}), (4, {'4_nodes'}), (64, {'64_nodes', 'all_nodes'})])
def test_a_case_is_tagged_by_its_profile_and_its_scale(session, nodes, scale):
    variant = Variant('nightly', 'scratch', 'default', nodes, EXAMPLE[:1])
    assert tags_of_case(session.site, variant) == {'nightly', *scale}


def test_every_test_of_the_sources_has_either_checks_or_a_reason(checks):
    rows = [(row.id, bool(row.why), by.startswith('no check: ')) for row, by in covered(checks.values())]
    assert [id_ for id_, reasoned, without in rows if reasoned != without] == []
    assert len({row.id for row in CATALOGUE}) == len(CATALOGUE) == 53


def test_a_check_covers_what_it_names_and_what_its_expectations_are_of(checks):
    check = replace(checks['MultipleFilesTasks'], covers=('FN-01',))
    assert rows_of(check) == {'FN-01', 'FN-04', 'FN-08', 'L09-03', 'L09-08'}
    assert rows_of(replace(check, expectations=GUARANTEES, covers=())) == {'FN-15'}
    assert rows_of(checks['Integrity']) == set()


def test_a_row_that_there_is_not_is_refused_with_the_check(checks):
    with pytest.raises(CheckError, match="EmptyFiles.covers: 'FN-99' is no test of docs/reference/catalogue.md"):
        covered([replace(checks['EmptyFiles'], covers=('FN-99',))])
