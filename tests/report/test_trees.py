import pytest

from seatrial.model.namespace import LISTING, OPERATIONS, SEMANTICS, TREE, Namespace, Trees
from seatrial.model.tree import MetadataTree
from seatrial.model.units import KIB
from seatrial.report import trees, words

FILES = MetadataTree(files_per_directory=1000)
PRIVATE = FILES._replace(subtrees='private')
SMALL = MetadataTree(4, 5, 3, 0, 40 * KIB, 'private', ('create', 'remove'))
MANY = MetadataTree(1, 1, 1000, 0, 2_048_000, 'shared', ('create', 'remove'))
EMPTIES = MetadataTree(empties_per_directory=1000, phases=('create', 'stat', 'remove'))
ENDS = Namespace('tree', ('create', 'remove'))
PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)


def listing(*sizes, **more):
    return Trees(tuple((str(n), MetadataTree(files_per_directory=n)) for n in sizes), tasks=1, **more)


@pytest.mark.parametrize(
    ('workload', 'sweep', 'clients', 'sentence'),
    [
        (
            TREE,
            Trees((('shared', FILES._replace(bytes_per_file=3901)),)),
            8,
            'Each of 8 clients makes, stats, reads and removes 1000 files of 3901 B in one shared directory.',
        ),
        (
            TREE,
            Trees((('shared', FILES), ('private-4KiB', PRIVATE._replace(bytes_per_file=4096)))),
            8,
            'Each of 8 clients makes, stats, reads and removes 1000 files (empty or of 4 KiB) '
            'in one shared directory or in a directory of its own.',
        ),
        (
            TREE,
            Trees((('one', FILES),)),
            1,
            'One client makes, stats, reads and removes 1000 empty files in one directory.',
        ),
        (
            Namespace('tree', EMPTIES.phases),
            Trees((('shared', EMPTIES),)),
            2,
            'Each of 2 clients makes, stats and removes 1000 empty directories in one shared directory.',
        ),
        (
            TREE,
            Trees((('both', FILES._replace(empties_per_directory=10)),)),
            2,
            'Each of 2 clients makes, stats, reads and removes 1000 empty files and 10 empty directories '
            'in one shared directory.',
        ),
        (
            ENDS,
            Trees((('private', SMALL),)),
            48,
            'Each of 48 clients makes and removes 2343 files of 40 KiB in a tree of 781 directories of its own.',
        ),
        (
            ENDS,
            Trees((('shared', MANY),)),
            6,
            'Each of 6 clients makes and removes 2000 files of 2000 KiB in one shared tree of 2 directories.',
        ),
        (
            OPERATIONS,
            Trees((('shared', FILES._replace(bytes_per_file=4096)),)),
            2,
            'Each of 2 clients does 15 operations one by one on 1000 files of 4 KiB in one shared directory.',
        ),
        (
            LISTING,
            listing(891, pauses_s=PAUSES),
            4,
            'One client lists a directory of 891 files with all attributes, four times in a row '
            'and again after 0.5, 1, 2, 5 and 10 s without a call.',
        ),
        (
            LISTING,
            listing(10_000, 1_000_000, axis='entries'),
            4,
            'One client lists directories of 10\u202f000 to 1\u202f000\u202f000 files twice, '
            'each time first the names and then the attributes of all.',
        ),
        (
            SEMANTICS,
            Trees((('two-clients', MetadataTree()),), tasks=2),
            4,
            'What POSIX promises is tried by 2 clients on one node, one promise after the other.',
        ),
    ],
)
def test_what_a_metadata_case_does_is_told_in_a_sentence(make, workload, sweep, clients, sentence):
    assert words.workload(make.plan(pattern=workload, sweep=sweep, clients=clients)) == sentence


def test_one_client_has_no_directory_of_its_own_beside_a_shared_one(make):
    plan = make.plan(pattern=TREE, sweep=Trees((('shared', FILES), ('private', PRIVATE))), clients=1)
    assert words.workload(plan).endswith('1000 empty files in one directory.')


def test_numbers_are_those_of_the_sizing(make):
    sweep = Trees((('shared', FILES),), scales=True)
    said = words.workload(make.plan(pattern=TREE, sweep=sweep), 23_000)
    assert 'removes 23\u202f000 empty files in one' in said


def test_trees_that_are_not_flat_are_never_sized(make):
    said = words.workload(make.plan(pattern=ENDS, sweep=Trees((('private', SMALL),))), 23_000)
    assert '2343 files of 40 KiB' in said


@pytest.mark.parametrize(
    ('tree', 'clients', 'said'),
    [
        (SMALL, 2, '4686 files of 40 KiB in 1562 directories (183 MiB)'),
        (MANY, 6, '12\u202f000 files of 2000 KiB in 2 directories (22.9 GiB)'),
        (FILES, 8, '8000 empty files in 1 directory'),
        (PRIVATE, 8, '8000 empty files in 8 directories'),
        (EMPTIES, 2, '2000 directories in 1 directory'),
    ],
)
def test_what_is_on_disk_is_told_to_the_file(make, tree, clients, said):
    plan = make.plan(pattern=ENDS, sweep=Trees((('x', tree),)), clients=clients)
    assert trees.totals(plan.points[0]) == said


@pytest.mark.parametrize(
    ('metric', 'label', 'tick'),
    [
        ('ls_first', '1st listing', '1st'),
        ('ls_fourth', '4th listing', '4th'),
        ('ls_after_0.5s', 'after 0.5 s', '0.5 s'),
        ('names_second', 'names, 2nd time', 'names,'),
        ('stat_first', 'attributes, 1st time', 'attributes,'),
        ('file_create', 'file_create', 'file_create'),
        ('stat', 'stat', 'stat'),
    ],
)
def test_a_metric_has_a_label_and_a_listing_a_tick(metric, label, tick):
    assert (trees.metric_label(metric), trees.listing_tick(metric)) == (label, tick)
