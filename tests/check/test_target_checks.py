"""The check files of layouts and of isolation: what they ask for is possible, and not applicable without layouts."""

from dataclasses import replace

import pytest

from builders import all_checks
from local_site import write_lab_settings
from seatrial.check.planning import cases_of, not_applicable, plan_of, resolved
from seatrial.check.session import Session
from seatrial.filesystem.lustre.layout import asked
from seatrial.filesystem.lustre.striping import Inventory, impossible
from seatrial.model.plan import Case
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.workload.sweep import layouts_in

TRIAL = """
version: 1
state: state
file_systems:
  disk: {type: posix, path: /srv/disk, limits: {bytes: 64GiB, inodes: 1000000}}
  scratch: {type: lustre, path: /lustre/x, mount: /lustre, limits: {bytes: 64TiB, inodes: 1000000}, osts: 4, mdts: 2}
partitions:
  lab:io: {launcher: local, tasks_per_node: 4}
trials:
  - {checks: [layouts, isolation], partitions: [lab:io], file_systems: [disk, scratch], nodes: [1]}
"""
THERE = Inventory((0, 1, 2, 3), (0, 1), {})
TARGETS = ('OstBandwidth', 'MdtRates')


@pytest.fixture(scope='module')
def checks():
    declared = all_checks()
    return {name: check for name, check in declared.items() if check.family == 'layouts' or name in TARGETS}


@pytest.fixture(scope='module')
def session_of(tmp_path_factory):
    """The session where scratch is of a type, and its entry says this of its targets."""

    def make(type_, targets):
        folder = tmp_path_factory.mktemp(type_)
        text = TRIAL.replace('type: lustre', f'type: {type_}').replace(', osts: 4, mdts: 2', targets)
        (folder / 'trial.yaml').write_text(text)
        write_lab_settings(folder, 'io')
        site = load_site(folder)
        return Session('s1', folder / 'state' / 'sessions' / 's1', site, PROFILES['paper'], site.engine_choices())

    return make


@pytest.fixture(scope='module')
def session(session_of):
    return session_of('lustre', ', osts: 4, mdts: 2')


@pytest.fixture(scope='module')
def on_cephfs(session_of):
    return session_of('cephfs', '')


def on(name, file_system='scratch'):
    return Case(name, 'lab:io', file_system, 'default', 1)


def test_where_no_layout_can_be_set_they_are_shown_as_not_applicable(session, checks):
    for name, declared in checks.items():
        assert cases_of(session, declared) == [on(name)]
        ((case, why),) = not_applicable(session, declared).items()
        assert (case, why[:9]) == (on(name, 'disk'), 'no layout')


def test_what_is_planned_is_possible_on_as_many_targets_as_the_site_has(session, checks):
    for name, declared in checks.items():
        layouts = [asked(point.layout) for point in resolved(session, declared, on(name)).points]
        assert layouts and [impossible(layout, THERE) for layout in layouts if impossible(layout, THERE)] == []


def test_every_layout_check_measures_the_default_in_every_profile(session, checks):
    of_layouts = [(name, declared) for name, declared in checks.items() if declared.family == 'layouts']
    for profile in [profile for profile in PROFILES.values() if not profile.introduces]:
        for name, declared in of_layouts:
            points = resolved(replace(session, profile=profile), declared, on(name)).points
            assert points[0].layout.is_default and len(points) >= 3


def test_the_map_has_every_count_by_every_size(session, checks):
    points = resolved(session, checks['StripeMapSharedFile'], on('StripeMapSharedFile')).points
    asks = {point.layout.asks for point in points[1:]}
    counts, sizes = {count for count, _ in asks}, {size for _, size in asks}
    assert counts == {'c1', 'c2', 'c4', 'c-1'}  # 8 are more than there are
    assert len(asks) == len(counts) * len(sizes) == 16
    assert len(plan_of(session, checks['StripeMapSharedFile'], on('StripeMapSharedFile')).left_out) == 4


def test_small_files_fit_on_the_metadata_target(checks):
    for name in ('DataOnMdtSmallFiles', 'DataOnMdtFullFiles'):
        dom = next(layout for layout in map(asked, layouts_in(checks[name].sweep)) if layout.components)
        assert checks[name].workload.tree.bytes_per_file <= dom.components[0].end


def test_on_cephfs_the_checks_of_plain_stripes_are_planned_in_its_words(on_cephfs, checks):
    for name in ('StripingMultipleFiles', 'StripingSharedFile', 'StripeMapMultipleFiles', 'StripeMapSharedFile'):
        plan = plan_of(on_cephfs, checks[name], on(name))
        assert plan.points[0].layout.is_default and {point.layout.type for point in plan.points[1:]} == {'cephfs'}
        assert plan.left_out and all(label.startswith('all-') for label in plan.left_out)
        assert len(plan.points) + len(plan.left_out) == len(checks[name].sweep.values)
    asks = {point.label: point.layout.asks for point in plan.points}  # a stripe of 16 MiB fills no default object
    assert asks['c2-4MiB'] == ('c2', 'S4M') and asks['c2-16MiB'] == ('c2', 'S16M', 'O16M')


def test_on_cephfs_what_only_lustre_has_is_not_applicable(on_cephfs, checks):
    reasons = {name: not_applicable(on_cephfs, declared).get(on(name)) for name, declared in checks.items()}
    of_lustre = 'Progressive', 'Overstriping', 'DataOnMdt'
    for name, why in reasons.items():
        wanted = 'of lustre' if name.startswith(of_lustre) else 'no target of choice' if name in TARGETS else ''
        assert wanted in (why or '') and bool(why) == bool(wanted), name


def test_on_glusterfs_bricks_and_nothing_else_can_be_chosen(session, session_of, checks):
    on_glusterfs = session_of('glusterfs', ', bricks: 4')
    bricks, on_bricks = all_checks()['BrickBandwidth'], on('BrickBandwidth')
    plan = plan_of(on_glusterfs, bricks, on_bricks)
    assert [point.label for point in plan.points] == [f'brick{n:04d}' for n in range(4)]
    assert {point.layout.type for point in plan.points} == {'glusterfs'} and plan.target.bricks == 4
    why = 'no layout: a volume places each file by the hash of its name, for all users alike'
    assert {not_applicable(on_glusterfs, check)[on(name)] for name, check in checks.items()} == {why}
    assert not_applicable(session, bricks)[on_bricks] == 'no such targets: those of Lustre are OSTs and MDTs'
