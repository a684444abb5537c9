"""What check files declare, and what is wrong with a check file."""

import pytest

from seatrial.check.declared import CheckError, load

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
