"""The kinds of workload: each is registered once and answers all that is asked of it."""

import pytest

from builders import all_checks, plan_of
from seatrial.model.action import Planned
from seatrial.model.codec import from_json, to_json
from seatrial.model.metric import HIGHER, LOWER
from seatrial.model.point import PART_OF, PARTS, Point, TreePart
from seatrial.model.units import MIB, UNITS
from seatrial.workload import registry
from seatrial.workload.access import data_access
from seatrial.workload.base import MAX_TASKS, Effort, Kind
from seatrial.workload.checkpoint import checkpoint
from seatrial.workload.contention import contention
from seatrial.workload.listing import listing
from seatrial.workload.random import random_access
from seatrial.workload.registry import KINDS, entries_after, fault_of, form_fault, kind_of, metrics_at, metrics_of
from seatrial.workload.sweep import Sweep, examples
from seatrial.workload.tree import metadata_tree

OF_CHECKS = {name: examples(check.sweep, check.workload)[0] for name, check in all_checks().items()}
POINTS = {point.kind: point for point in reversed(OF_CHECKS.values())}  # of each kind that of the first check of it

FILES = metadata_tree(files_per_directory=10, bytes_per_file=100)._replace(tasks=2)


def written(kind: type) -> set[type]:
    """The kinds of the folder that are made of this one; tests have some of their own."""
    made = {subclass for subclass in kind.__subclasses__() if subclass.__module__.startswith('seatrial.')}
    return made.union(*map(written, made))


def test_every_kind_in_the_folder_is_registered_and_has_a_check_by_which_it_is_tested_here():
    assert {type(kind) for kind in KINDS.values()} == written(Kind)
    assert POINTS.keys() == KINDS.keys()


@pytest.mark.parametrize('call', [kind_of, lambda name: metrics_of(Point(name, ('write',)), 'write')])
def test_a_kind_that_is_not_registered_is_refused_with_those_that_are(call):
    with pytest.raises(registry.UnknownKind, match="'elsewhere' is not a kind of workload; it can be access, che"):
        call('elsewhere')


@pytest.fixture(params=OF_CHECKS)
def point(request):
    return OF_CHECKS[request.param]


@pytest.fixture
def kind(point):
    return kind_of(point.kind)


def test_a_point_of_a_check_of_it_has_no_fault_and_its_parameters_lie_in_parts_and_are_named_once(point, kind):
    assert fault_of(point) is None and set(kind.parameters) <= PART_OF.keys()
    assert len(set(kind.parameters)) == len(kind.parameters)


@pytest.mark.parametrize(
    'point',
    [*OF_CHECKS.values(), listing(10), contention('open', 0, '4KiB', 7)],
    ids=lambda point: f'{point.kind} {point.label}',
)
def test_a_point_with_all_parameters_beside_each_other_is_read_with_the_parts_of_its_kind(point):
    flat = Point.as_earlier(to_json(point))
    assert not flat.keys() & PARTS.keys()
    assert from_json(Point, flat) == point


def test_a_parameter_of_another_kind_is_refused_with_its_field(point, kind):
    others = {name for other in KINDS.values() for name in other.parameters} - set(kind.parameters)
    values = {int: 7, float: 0.5, bool: True, str: 'single', tuple: (1.0,)}
    special = {'actions': (Planned('away', 1.0, 1.0),), 'sizes': (1,), 'devices': ('/dev/sda',)}
    for field in others:
        value = special.get(field, values[type(getattr(PARTS[PART_OF[field]](), field))])
        assert fault_of(point.changed(**{field: value})) == f'{field}: {kind.words} has no such parameter'


def test_its_metrics_have_base_units_and_names_that_break_no_form(point, kind):
    bases = {base for base, _ in UNITS.values()}
    types = metrics_at(point)
    assert types
    assert all(metric.unit in bases and metric.better in (HIGHER, LOWER) for metric in types)
    assert not any(set(metric.name) & set('@: ') for metric in types)
    assert len({metric.name for metric in types}) == len(types)
    assert kind.cache_of(types[0].name, 'cold') == 'cold' and kind.metric_words(types[0].name)


def test_it_says_what_it_does_in_one_sentence_without_its_end_mark(point, kind):
    sentence = kind.sentence([point])
    assert sentence[0].isupper() and not sentence.endswith('.')
    assert kind.totals(point) and kind.words and registry.share_words(kind, 7) and registry.share_words(kind, 0)


@pytest.mark.parametrize(
    ('point', 'words'),
    [
        (POINTS['burst']._replace(tasks=3), 'Of the tasks 1 reads a data set as a training does, while 2 write a ch'),
        (checkpoint('8GiB', 600.0, '1GiB')._replace(tasks=2), 'of its own, as a checkpoint of 8 GiB every 10 min'),
        (contention('append', 1000, '256B')._replace(tasks=4), '4 tasks appends 250 records of 256 B to one file'),
        (contention('lock', 1000)._replace(tasks=2), 'one file 500 times, each held by another before'),
        (contention('open', record='4KiB', open_files=50), '50 files open and writes records of 4 KiB to'),
        (POINTS['device'].changed(devices=('/dev/sda', '/dev/sdb')), 'read /dev/sda and /dev/sdb'),
        (POINTS['operations']._replace(tasks=4), '4 tasks does 15 operations one by one on 216 files of 4 KiB'),
        (random_access(('randrw',), '1GiB', read_share=0.7, queue_depth=8), '(70 % reads) '),
        (random_access(('randread',), '1GiB', queue_depth=8)._replace(tasks=2), ', 8 in flight, for 30 s, with'),
        (listing(891, (0.5, 1.0, 10.0)), ' four times in a row and again after 0.5, 1 and 10 s without a call'),
        (FILES, 'Each of 2 tasks makes, stats, reads and removes 10 files of 100 B in one shared directory'),
    ],
)
def test_the_sentence_has_its_numbers(point, words):
    assert words in kind_of(point.kind).sentence([point])


def test_what_it_has_on_disk_fits_its_footprint(point, kind):
    footprint = kind.footprint([point])
    assert kind.amount(point) > 0 or point.duration_s > 0
    for phase in point.phases:
        assert footprint.inodes >= entries_after(point, phase).inodes
    assert footprint.bytes >= sum(file.size for file in kind.files(point))


@pytest.mark.parametrize('effort', [Effort(), Effort(first_bytes=64 * MIB, target_s=1.0, files=50, phase_s=1.0)])
def test_the_first_share_of_its_sizing_is_one_that_its_points_can_have(point, kind, effort):
    point = kind.adapted(point, effort)
    sizing = kind.sizing([point], effort, None)
    assert sizing.first % sizing.granule == 0
    (new,) = registry.resized([point], sizing.first)
    assert fault_of(new) is None
    assert metrics_at(new) == metrics_at(point)
    assert (new.label, new.tasks, new.phases) == (point.label, point.tasks, point.phases)


@pytest.mark.parametrize(
    ('point', 'fault'),
    [
        (Point('elsewhere', ('read',)), "kind: 'elsewhere' is not a kind of workload; it can be access, checkpoint,"),
        (Point(None, ('read',)), 'kind: str is expected, not null'),
        (POINTS['access']._replace(phases='write'), 'phases: a list is expected, not str'),
        *(
            (POINTS['access']._replace(phases=phases), f'phases: {list(phases)}; data access has write, read, each ')
            for phases in ((), ('write', 'list'), ('write', 'write'))
        ),
        (POINTS['access'].changed(transfer_size='1MiB'), 'data.transfer_size: int is expected, not str'),
        (POINTS['access'].changed(direct=1), 'data.direct: bool is expected, not int'),
        (POINTS['access']._replace(tasks=-1), f'tasks: -1 cannot be; write 1 to {MAX_TASKS}, or 0 for all of the'),
        (POINTS['access']._replace(tasks=MAX_TASKS + 1), f'tasks: {MAX_TASKS + 1} cannot be'),
        (POINTS['access'].changed(queue_depth=2), 'queue_depth: data access has no such parameter'),
        (POINTS['access']._replace(layout='wide'), 'layout: an object is expected, not str'),
        (POINTS['access']._replace(data=None), 'data: missing, and data access has parameters of it'),
        (POINTS['access']._replace(tree=TreePart()), 'tree: data access has no parameters of it'),
    ],
)
def test_what_no_point_of_a_kind_can_have_is_a_sentence_with_its_field(point, fault):
    assert (form_fault(point) or '').startswith(fault)
    assert fault_of(point) == form_fault(point)


@pytest.mark.parametrize(
    ('point', 'phase', 'moved'),
    [
        (POINTS['access'], 'write', (POINTS['access'].bytes_moved, 0)),
        (POINTS['access'], 'read', (0, POINTS['access'].bytes_moved)),
        (POINTS['random'], 'randread', (0, None)),
        (POINTS['random'], 'randrw', (None, None)),
        (FILES, 'create', (2000, 0)),
        (FILES, 'stat', (0, 0)),
        (FILES, 'read', (0, 2000)),
        (POINTS['listing'], 'list', (0, 0)),
        (POINTS['operations'], 'fileop', (None, None)),
        (POINTS['semantics'], 'probe', (None, None)),
    ],
)
def test_a_launch_writes_and_reads_what_is_known_before_it(point, phase, moved):
    assert kind_of(point.kind).moved(point, phase) == moved


def test_the_metrics_of_a_plan_are_those_of_its_points_as_reframe_names_them():
    plan = plan_of(data_access('multiple'), Sweep('transfer_size', (MIB, 2 * MIB)))
    assert registry.planned_metrics(plan) == ['write@1MiB', 'read@1MiB', 'write@2MiB', 'read@2MiB']
