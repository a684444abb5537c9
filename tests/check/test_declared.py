"""What check files declare, and what is wrong with a check file."""

import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.check.declared import CheckError, load
from seatrial.workload.access import data_access
from seatrial.workload.sweep import AXES, Sweep

CHECK = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.judge.expectations import AtLeast, GuaranteeHolds, Insensitive, PointAtLeast
from seatrial.model.layout import Layout
from seatrial.model.point import Point
from seatrial.workload.access import data_access
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep, powers_of_two
from seatrial.workload.tree import metadata_tree

FILES = metadata_tree(files_per_directory=10)
SIZES = Sweep('transfer_size', (1024, 2048))
TREES = Sweep('tree', (('shared', {{}}), ('private', {{'subtrees': 'private'}})))
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
        ("data_access('single', operations=('read',))", "Sweep('tasks', (1, 2))"),
        ("data_access('multiple', operations=('read',))", 'SIZES'),
        ("data_access('multiple')", "Sweep('layout', (Layout(), Layout('wide')))"),
        ("data_access('multiple')", "Sweep('node')"),
        ('FILES', 'TREES'),
        ('metadata_tree()', "Sweep('tree', (('ten', {'files_per_directory': 10}),))"),
        ("metadata_tree(('create', 'stat', 'remove'), files_per_directory=10)", "Sweep('mdt')"),
        ('listing(1)', "Sweep('entries', (10, 20))"),
        ("posix_operations(10, '4KiB')", 'TREES'),
        ('posix_semantics()', "Sweep('tree', (('two', {}),))"),
    ],
)
def test_a_workload_of_any_kind_is_declared_with_a_sweep_over_what_it_has(write, workload, sweep):
    assert len(load(write(workload=workload, sweep=sweep))) == 1


# What is impossible


@pytest.mark.parametrize(
    ('workload', 'sweep', 'fault'),
    [
        # the workload
        ('None', 'SIZES', 'workload: it is missing'),
        ("('access', 'multiple')", 'SIZES', 'workload: it is missing'),
        ("Point('unheard', ('read',))", 'SIZES', "workload.kind: 'unheard' is"),
        ("data_access('multiple', 'segment')", 'SIZES', 'workload.extent: '),
        ("data_access('multiple', tasks='4')", 'SIZES', 'workload.tasks: int is expected, not str'),
        ("data_access('multiple', tasks=-1)", 'SIZES', 'workload.tasks: -1 '),
        ("data_access('multiple').changed(queue_depth=4)", 'SIZES', 'workload.queue_depth: '),
        # the sweep
        ("data_access('multiple')", 'None', 'sweep: it is missing'),
        ("data_access('multiple')", "Sweep('tasks', (0,))", 'sweep: 0 is'),
        # one with the other
        ("data_access('multiple')", "Sweep('transfer_size', (3,))", 'workload.bytes_per_task: '),
        ('FILES', 'SIZES', 'workload.transfer_size: '),
        ('listing(10)', "Sweep('node')", 'workload.tasks: '),
        ("data_access('multiple', operations=('read',))", "Sweep('tasks', (1, 2))", 'workload.operations: '),
        (
            "data_access('single', operations=('read',))",
            "Sweep('layout', (Layout(), Layout('wide')))",
            'workload.operations: ',
        ),
        ("data_access('multiple', operations=('read',))", "Sweep('ost')", 'workload.operations: '),
    ],
)
def test_what_is_impossible_is_an_error_with_file_class_and_field(write, workload, sweep, fault):
    folder = write(workload=workload, sweep=sweep)
    with pytest.raises(CheckError) as caught:
        load(folder)
    assert str(caught.value).startswith(f'{folder}/access/files.py: Sizes.{fault}')


@pytest.mark.parametrize(
    ('more', 'fault'),
    [
        ('max_relative_error = 5', 'max_relative_error: 5 '),
        ('max_relative_error = 1.5', 'max_relative_error: 1.5 '),
        ("expectations = AtLeast(than='read', **SOURCE)", 'expectations: a single one'),
        ("expectations = ('L09-02',)", "expectations: 'L09-02' is none"),
    ],
)
def test_what_decides_it_is_of_the_right_form(write, more, fault):
    with pytest.raises(CheckError) as caught:
        load(write(more=more))
    assert f'files.py: Sizes.{fault}' in str(caught.value)


def test_a_check_that_is_declared_twice_is_an_error_of_the_second_file(write):
    write('a/files.py')
    with pytest.raises(CheckError, match='b/files.py: Sizes is declared in another file too'):
        load(write('b/files.py'))


@pytest.mark.parametrize(
    ('sweep', 'fault'),
    [
        ("Sweep('tasks', (1, 2), transfer_size=4096)", 'in Sizes: TypeError: .*transfer_size'),
        ("Sweep('transfer_size', powers_of_two('1KB', '1MiB'))", "in Sizes: ValueError: '1KB' is not a size; write"),
    ],
)
def test_what_cannot_even_be_written_is_an_error_that_names_line_and_class(write, sweep, fault):
    with pytest.raises(CheckError, match=rf'files.py: line \d+, {fault}'):
        load(write(sweep=sweep))


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        ('import no_such_module\n', "broken.py: line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ('class:\n', r'broken.py: SyntaxError: invalid syntax \(broken.py, line 1\)'),
        (None, 'no check files; '),
    ],
)
def test_a_folder_of_nothing_or_of_what_does_not_load_is_an_error_that_names_it(tmp_path, text, fault):
    if text is not None:
        (tmp_path / 'broken.py').write_text(text)
    with pytest.raises(CheckError, match=fault):
        load(tmp_path)


# Under plain ReFrame, to which an exception is a file to skip, and then "PASSED Ran 0/0"


def test_plain_reframe_ends_with_the_sentence(write, repository, tmp_path):
    folder = write(sweep="Sweep('tasks', (0,))")
    settings = tmp_path / 'site'
    settings.mkdir()
    for name in ('settings.py', 'trial.yaml'):
        text = (repository / 'site-config' / 'local' / name).read_text()
        (settings / name).write_text(text.replace('../../.seatrial', str(tmp_path / 'state')))
    argv = ['-C', str(settings / 'settings.py'), '-c', str(folder / 'access'), '-l']
    reframe = str(Path(sys.executable).parent / 'reframe')
    done = subprocess.run([reframe, *argv], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 64, done.stdout + done.stderr
    assert 'files.py: Sizes.sweep: 0 is not one of the numbers of tasks' in done.stderr


# Expectations


def test_an_expectation_of_what_a_check_does_not_measure_is_an_error(write):
    more = "expectations = (PointAtLeast(at='privat', than='shared', **SOURCE),)"
    with pytest.raises(CheckError, match="Sizes.expectations: X: there is no point 'privat' in"):
        load(write(workload='FILES', sweep='TREES', more=more))


@pytest.mark.parametrize(
    ('workload', 'sweep', 'expectation'),
    [
        ("data_access('multiple')", 'SIZES', "AtLeast(metric='read', than='write', **SOURCE)"),
        ('FILES', 'TREES', "PointAtLeast(at='private', than='shared', metric='file_stat', **SOURCE)"),
        ('listing(10)', 'TREES', "AtLeast(metric='stat_second', than='stat_first', **SOURCE)"),
        ('listing(10, (10.0,))', 'TREES', "AtLeast(metric='ls_fourth', than='ls_after_10s', **SOURCE)"),
        ('posix_semantics()', "Sweep('tree', (('a', {}),))", "GuaranteeHolds(fact='rename_over', **SOURCE)"),
    ],
)
def test_an_expectation_of_what_a_check_measures_is_declared(write, workload, sweep, expectation):
    folder = write(workload=workload, sweep=sweep, more=f'expectations = ({expectation},)')
    assert len(load(folder)['Sizes'].expectations) == 1
