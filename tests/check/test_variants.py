"""What ReFrame is told of the cases of a check."""

import pytest

from seatrial.check.declared import load as load_checks
from seatrial.check.session import Session
from seatrial.check.variants import Variant, tags_of, tags_of_case, variants_of
from seatrial.site.load import load
from seatrial.site.profile import PROFILES

EXAMPLE = 'pelagia:compute', 'pelagia:io'


@pytest.fixture(scope='module')
def checks(repository):
    return load_checks(repository / 'checks')


@pytest.fixture(scope='module')
def session(repository, tmp_path_factory):
    """A session of plain ReFrame on the example's site."""
    site = load(repository / 'site-config' / 'example-lustre')
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
    found = [each for each in variants_of(session, checks['Integrity']) if each.file_system == 'scratch']
    assert found[-3:] == [
        Variant('smoke', 'scratch', 'default', 1, EXAMPLE),
        Variant('nightly', 'scratch', 'default', 4, EXAMPLE[:1]),
        Variant('acceptance', 'scratch', 'default', 4, EXAMPLE[:1]),
    ]


@pytest.mark.parametrize(('nodes', 'scale'), [(1, {'1_node'}), (4, {'4_nodes'}), (64, {'64_nodes', 'all_nodes'})])
def test_a_case_is_tagged_by_its_profile_and_its_scale(session, nodes, scale):
    variant = Variant('nightly', 'scratch', 'default', nodes, EXAMPLE[:1])
    assert tags_of_case(session.site, variant) == {'nightly', *scale}
