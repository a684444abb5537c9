"""Limits for lines of Python and for tracked files, which fall with every change of the structure."""

import subprocess

SOURCE_LINES, TEST_LINES, FILES = 50_000, 56_000, 737


def tracked(repository, *paths):
    listed = subprocess.run(
        ['git', 'ls-files', '-z', *paths], cwd=repository, capture_output=True, check=True, text=True
    )
    return [repository / name for name in listed.stdout.split('\0') if name]


def lines(files):
    return sum(len(file.read_bytes().splitlines()) for file in files if file.suffix == '.py')


def test_the_library_has_no_more_lines_than_it_may(repository):
    assert lines(tracked(repository, 'src')) <= SOURCE_LINES


def test_the_tests_have_no_more_lines_than_they_may(repository):
    assert lines(tracked(repository, 'tests')) <= TEST_LINES


def test_there_are_no_more_files_than_there_may_be(repository):
    assert len(tracked(repository, '.', ':!tests/transcripts')) <= FILES
