"""Layouts of the data directories: given while they are empty, kept, made anew for another, and proved."""

import itertools
import os

import pytest

from seatrial.engine.base import EngineError
from seatrial.filesystem.base import AS_IT_IS, Driver, Granted, Targets
from seatrial.filesystem.lustre.layout import striped
from seatrial.job.directory import rundir
from seatrial.job.sequence.layouts import Layouts
from seatrial.model.record import TargetRow
from seatrial.model.units import MIB
from seatrial.workload.access import data_access
from seatrial.workload.base import Launch
from seatrial.workload.sweep import AXES
from seatrial.workload.tree import metadata_tree

WIDE, ONE = striped('wide', stripe_count=-1), striped('one', stripe_count=1)
POINT = data_access('multiple', bytes_per_task=MIB)._replace(tasks=1, tasks_per_node=1)
TREE = metadata_tree(files_per_directory=20)._replace(tasks=1, tasks_per_node=1)


FEWER = Granted('all = 7 of 8 OSTs', everywhere=False)
SHARED = Granted('all = 7 of 8 OSTs (the others hold other components of the file)')


class Recording(Driver):
    """A type with layouts that writes down what it is asked, and answers as a test wants."""

    def __init__(self, refuses=None, differs=None, hands_down=True):
        self.hands_down = hands_down
        self.given, self.refuses, self.differs, self.read_back = [], refuses, differs, []
        self.grants, self.made = itertools.repeat(Granted()), []

    def set_layout(self, directory, layout):
        self.given.append(layout.name)
        return self.refuses

    def granted(self, file, layout):
        self.read_back.append((os.path.basename(file), layout.name))
        return Granted(differs=self.differs) if self.differs else next(self.grants)

    def make_files(self, files, layout, inside):
        self.made.append(([os.path.relpath(file, inside) for file in files], layout.name))
        for file in files if self.hands_down else ():
            open(file, 'x').close()
        return None if self.hands_down else self.refuses


def layouts_of(lab, run, driver, layout=AS_IT_IS):
    return Layouts(lab.plan('fio', target={'layout': layout}), driver, run)


def test_a_directory_gets_its_layout_once(lab, run):
    driver = Recording()
    layouts_of(lab, run, driver).give('data', POINT)
    assert driver.given == [], 'the default asks for nothing'
    layouts = layouts_of(lab, run, driver, WIDE)
    layouts.give('data', POINT)
    run.empty('data')
    layouts.give('data', POINT)
    assert driver.given == ['wide']
    assert layouts.findings('data', Launch('write', POINT)) == []
    (lab.target / run.path_of('data') / 'f').write_text('x')
    assert layouts.findings('data', Launch('write', POINT)) == []


def test_for_another_layout_the_directory_is_made_anew(lab, run):
    driver = Recording()
    layouts = layouts_of(lab, run, driver, WIDE)
    before = os.stat(run.path_of('data')).st_mtime_ns
    layouts.give('data', POINT)
    layouts.give('data', POINT._replace(layout=ONE))
    assert driver.given == ['wide', 'one']
    assert os.stat(run.path_of('data')).st_mtime_ns > before
    assert os.stat(run.path_of('data')).st_mode & 0o777 == 0o700


def test_files_are_never_moved_to_another_layout(lab, run):
    layouts = layouts_of(lab, run, Recording(), WIDE)
    layouts.give('data', POINT)
    (lab.target / run.path_of('data') / 'data.0').write_text('x')
    with pytest.raises(rundir.RunDirectoryError, match='not empty'):
        layouts.give('data', POINT._replace(layout=ONE))
    assert os.path.exists(os.path.join(run.path_of('data'), 'data.0'))


def test_what_is_refused_is_a_finding_and_is_asked_for_again(lab, run):
    driver = Recording(refuses='no OST 7')
    layouts = layouts_of(lab, run, driver, WIDE)
    for _ in range(2):
        with pytest.raises(EngineError, match="the layout 'wide' could not be set: no OST 7") as raised:
            layouts.give('data', POINT)
        assert raised.value.rule == 'P5a'
    assert len(driver.given) == 2


@pytest.mark.parametrize(
    ('point', 'phase', 'made'),
    [(POINT, 'write', True), (TREE, 'create', True), (POINT, 'read', False), (TREE, 'stat', False)],
)
def test_a_file_that_was_made_is_read_back(lab, run, point, phase, made):
    driver = Recording(differs='2 stripes, not 4')
    layouts = layouts_of(lab, run, driver, WIDE)
    os.mkdir(os.path.join(run.path_of('data'), 'below'))
    (lab.target / run.path_of('data') / 'below' / 'f').write_text('x')
    raised = layouts.findings('data', Launch(phase, point._replace(layout=ONE)))
    assert driver.read_back == ([('f', 'one')] if made else [])
    assert [(finding.rule, finding.effect) for finding in raised] == ([('P5a', 'invalid')] if made else [])
    assert not made or 'not the layout that was asked for: 2 stripes, not 4' in raised[0].sentence


BOTH_TASKS = POINT._replace(tasks=2, tasks_per_node=2)


def test_before_a_write_the_files_that_it_is_to_make_are_placed(lab, run):
    driver = Recording(hands_down=False)
    layouts = layouts_of(lab, run, driver, WIDE)
    for launch in (Launch('write', BOTH_TASKS), Launch('read', BOTH_TASKS), Launch('create', TREE)):
        layouts.place('data', launch)
    layouts.place('data', Launch('write', POINT._replace(layout=AS_IT_IS)))
    assert driver.made == [(['data.00000000', 'data.00000001'], 'wide')]


@pytest.mark.parametrize(('axis', 'rule'), [('brick', 'P5b'), ('layout', 'P5a')])
def test_files_that_cannot_be_placed_are_a_finding(lab, run, axis, rule):
    plan = lab.plan('fio', target={'layout': WIDE}, axis=AXES[axis])
    layouts = Layouts(plan, Recording(refuses='the server is down', hands_down=False), run)
    with pytest.raises(EngineError, match='the server is down') as raised:
        layouts.place('data', Launch('write', POINT))
    assert raised.value.rule == rule


def written(run, number):
    for index in range(number):
        with open(os.path.join(run.path_of('data'), f'f{index:02}'), 'w'):
            pass


def test_of_many_files_some_are_proved_at_first_and_then_one_after_the_other(lab, run):
    driver = Recording()
    layouts = layouts_of(lab, run, driver, WIDE)
    written(run, 20)
    layouts.findings('data', Launch('write', POINT))
    first = [name for name, _ in driver.read_back]
    assert first == ['f00', 'f02', 'f05', 'f07', 'f10', 'f12', 'f15', 'f17']
    for _ in range(3):
        layouts.findings('data', Launch('write', POINT))
    assert [name for name, _ in driver.read_back[8:]] == ['f08', 'f09', 'f10']
    created = Recording()
    layouts_of(lab, run, created, WIDE).findings('data', Launch('create', TREE))
    of_target = Recording()
    layouts, point = on_target(lab, run, of_target)
    layouts.findings('data', Launch('write', point))
    assert (len(created.read_back), [name for name, _ in of_target.read_back]) == (1, ['f00'])


def test_fewer_targets_than_all_are_a_label_of_every_launch_with_them(lab, run):
    driver = Recording()
    driver.grants = itertools.repeat(FEWER)
    layouts = layouts_of(lab, run, driver, WIDE)
    written(run, 2)
    for phase in ('write', 'read'):
        raised = layouts.findings('data', Launch(phase, POINT))
        assert [(finding.rule, finding.effect) for finding in raised] == [('P5c', 'label')]
        assert 'c-1: all = 7 of 8 OSTs' in raised[0].sentence
    assert layouts.findings('data', Launch('read', POINT._replace(layout=ONE))) == []


@pytest.mark.parametrize(
    ('grants', 'finding', 'words'),
    [
        ((Granted(), FEWER), ('P5a', 'invalid'), ', and in a file before all'),
        ((FEWER, Granted()), ('P5a', 'invalid'), ', and in a file before all'),
        ((SHARED, FEWER), ('P5a', 'invalid'), ', and in a file before all'),
        ((Granted(), SHARED), ('P5c', 'label'), SHARED.targets),
        ((SHARED, Granted()), ('P5c', 'label'), SHARED.targets),
    ],
)
def test_targets_now_more_and_now_fewer_are_invalid_but_where_components_share_them(lab, run, grants, finding, words):
    driver = Recording()
    driver.grants = iter(grants)
    written(run, 2)
    (raised,) = layouts_of(lab, run, driver, WIDE).findings('data', Launch('write', POINT))
    assert (raised.rule, raised.effect) == finding and words in raised.sentence


def on_target(lab, run, driver):
    plan = lab.plan('fio')._replace(axis=AXES['ost'])
    return Layouts(plan, driver, run), POINT._replace(label='ost0003', layout=striped('ost0003', osts=(3,)))


@pytest.mark.parametrize(
    ('row', 'why'),
    [
        ({'active': False}, 'ost0003 cannot be tested: it is not active'),
        ({'takes_objects': False, 'flags': ('full',)}, r'it takes no new files \(full\)'),
        ({'takes_objects': False, 'fault': 'does not answer'}, r'it takes no new files \(does not answer\)'),
        ({'takes_objects': False}, r'it takes no new files \(why is not known\)'),
        ({'bytes_free': MIB}, '1 MiB are to be written, and it has 1 MiB free'),
    ],
)
def test_a_target_that_is_closed_is_not_tested_and_nothing_is_set(lab, run, row, why):
    driver = Recording()
    driver.targets = lambda path: Targets((TargetRow('OST', 3, 'x-OST0003', **{'active': True, **row}),), {})
    layouts, point = on_target(lab, run, driver)
    with pytest.raises(EngineError, match=why) as raised:
        layouts.give('data', point)
    assert (raised.value.rule, driver.given) == ('P5b', [])


def test_the_targets_are_read_once_and_only_for_a_sweep_over_them(lab, run):
    driver, asked = Recording(), []
    rows = (TargetRow('OST', 3, 'x', True, bytes_free=2 * MIB), TargetRow('OST', 2, 'x', False))
    driver.targets = lambda path: asked.append(path) or Targets(rows, {})
    layouts_of(lab, run, driver, WIDE).give('data', POINT)
    assert asked == []
    run.renew('data')
    layouts, point = on_target(lab, run, driver)
    for _ in range(3):
        layouts.give('data', point)
    assert asked == [str(lab.target)] and driver.given[-1] == 'ost0003', 'nothing bad is known of it'


def test_a_target_is_tried_once_and_nothing_is_left_of_it(lab, run):
    driver = Recording()
    layouts, point = on_target(lab, run, driver)
    for _ in range(2):
        layouts.give('data', point)
        layouts.give('data', point._replace(label='ost0001', layout=striped('ost0001', osts=(1,))))
        assert os.listdir(run.path_of('data')) == []
    assert driver.made == [(['tried'], 'ost0003'), (['tried'], 'ost0001')]
