"""The tests of the sources: each is covered by a check, or has a reason why none covers it."""

import subprocess
import sys
from dataclasses import replace

import pytest

from seatrial.check.catalogue import CATALOGUE, covered, rows_of
from seatrial.check.declared import CheckError, load
from seatrial.check.literature import GUARANTEES


@pytest.fixture(scope='module')
def checks(repository):
    return load(repository / 'checks')


def test_every_test_of_the_sources_has_either_checks_or_a_reason(checks):
    said = [(row.id, bool(row.why), by.startswith('no check: ')) for row, by in covered(checks.values())]
    assert [id_ for id_, reasoned, without in said if reasoned != without] == []
    assert len({row.id for row in CATALOGUE}) == len(CATALOGUE) == 53


def test_a_check_covers_what_it_names_and_what_its_expectations_are_of(checks):
    check = replace(checks['MultipleFilesTasks'], covers=('FN-01',))
    assert rows_of(check) == {'FN-01', 'FN-04', 'FN-08', 'L09-03', 'L09-08'}
    assert rows_of(replace(check, expectations=GUARANTEES, covers=())) == {'FN-15'}
    assert rows_of(checks['Integrity']) == set()


def test_a_row_that_there_is_not_is_refused_with_the_check(checks):
    with pytest.raises(CheckError, match="EmptyFiles.covers: 'FN-99' is no test of the sources"):
        covered([replace(checks['EmptyFiles'], covers=('FN-99',))])


def test_the_page_is_up_to_date(repository):
    argv = [sys.executable, str(repository / 'docs' / 'generate_catalogue.py')]
    made = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert made == (repository / 'docs' / 'catalogue.md').read_text(), (
        'python docs/generate_catalogue.py > docs/catalogue.md'
    )
