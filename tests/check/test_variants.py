"""What ReFrame is told of the cases of a check, and what -S may change of them."""

import pytest

from seatrial.check.declared import load as load_checks
from seatrial.check.planning import plan_of
from seatrial.check.session import Session
from seatrial.check.variants import Variant, tags_of, tags_of_case, variants_of, with_set
from seatrial.site.error import SiteError
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
    assert found == [
        Variant('smoke', 'scratch', 'default', 1, EXAMPLE),
        Variant('nightly', 'scratch', 'default', 4, EXAMPLE[:1]),
        Variant('acceptance', 'scratch', 'default', 4, EXAMPLE[:1]),
    ]


@pytest.mark.parametrize(('nodes', 'scale'), [(1, {'1_node'}), (4, {'4_nodes'}), (64, {'64_nodes', 'all_nodes'})])
def test_a_case_is_tagged_by_its_profile_and_its_scale(session, nodes, scale):
    variant = Variant('nightly', 'scratch', 'default', nodes, EXAMPLE[:1])
    assert tags_of_case(session.site, variant) == {'nightly', *scale}


def test_what_is_set_is_fixed_as_by_a_trial(session, checks):
    values = {'transfer_size': '256KiB', 'bytes_per_task': '1MiB', 'budget': '9s', 'engine': 'fio', 'direct': ''}
    check = checks['MultipleFilesTransferSizes']
    variant = next(each for each in variants_of(session, check) if each.profile == 'smoke')
    plan = plan_of(with_set(session, values), check, variant.on(check.name, EXAMPLE[0]))
    (point,) = plan.points
    measured = (
        point.transfer_size,
        point.bytes_per_task,
        plan.stopping.budget_s,
        [each.name for each in plan.engines],
    )
    assert measured == (262144, 1048576, 9.0, ['fio'])


@pytest.mark.parametrize(
    ('name', 'value', 'sentence'),
    [
        ('budget', '6x', "-S: budget: '6x' is not a duration; write a number"),
        ('engine', 'iorr', "-S engine: 'iorr' is not an engine; did you mean 'ior'?"),
        ('max_tasks', '0', '-S: max_tasks: 0 is not a number of tasks; write a whole number from 1'),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_can(session, name, value, sentence):
    with pytest.raises(SiteError) as caught:
        with_set(session, {name: value})
    assert str(caught.value).startswith(sentence)
