"""From a check and a site to the plan of a case: always the same one, and never more than the site allows."""

import math
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from local_site import write_lab_settings
from nights import figures
from seatrial.check.declared import Declared
from seatrial.check.planning import Unplannable, cases_of, not_applicable, plan_of, resolved
from seatrial.check.session import Session
from seatrial.check.staging import commit_of, pydarshan_version
from seatrial.filesystem.lustre.layout import ALL, LustreLayout, asked, striped
from seatrial.history.store import folder_of, write
from seatrial.job.sequence.confirm import needed
from seatrial.judge.references import BASELINE, Reference
from seatrial.model.plan import Case
from seatrial.model.units import GIB, KIB, MIB
from seatrial.site.load import load
from seatrial.site.profile import PROFILES
from seatrial.workload.access import data_access
from seatrial.workload.devices import raw_devices
from seatrial.workload.interactive import GIT, interactive_use
from seatrial.workload.listing import listing
from seatrial.workload.random import random_access
from seatrial.workload.scenario import scenario
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep, powers_of_two, tasks_by_sizes
from seatrial.workload.tree import metadata_tree
from stand_in import Altered

TRIAL = """
version: 1
state: state
file_systems:
  scratch: {type: lustre, path: /scratch/trials, limits: {bytes: 4GiB, inodes: 1000}, recovery_limit: 15min,
            osts: 4, layouts: {wide: {stripe_count: -1}}}
  home: {type: nfs, path: /home/trials, limits: {bytes: 1GiB, inodes: 1000}}
partitions:
  lab:io: {launcher: srun, tasks_per_node: 8}
  lab:login: {launcher: local, tasks_per_node: 2, programs: {fio: /arm/bin/fio}, darshan: /opt/libdarshan.so}
trials:
  - {checks: [Osts, Mdts, Layouts], partitions: [lab:io], file_systems: [scratch],
     layouts: [default, wide], nodes: [1]}
  - {checks: [Osts], partitions: [lab:io], file_systems: [home], nodes: [1]}
  - {checks: [Fixed], partitions: [lab:io], file_systems: [scratch], nodes: [2], bytes_per_task: 4MiB, budget: 90s}
  - {checks: [files], partitions: [lab:io], file_systems: [scratch], layouts: [default, wide], nodes: [1, 2]}
  - {checks: [Pinned], partitions: [lab:io], file_systems: [scratch], nodes: [2], files_per_task: 77}
  - {checks: [metadata], partitions: [lab:io], file_systems: [scratch], nodes: [2]}
  - {checks: [Tasks], partitions: [lab:login], file_systems: [home], nodes: [1], max_tasks: 2}
"""
MFWA = data_access('multiple')
SIZES = Declared('Sizes', 'files', '', MFWA, Sweep('transfer_size', powers_of_two('64KiB', '1MiB')), 0.10)
FIXED = replace(SIZES, name='Fixed', family='other')
TASKS = Declared('Tasks', 'other', '', MFWA, Sweep('tasks', (1, 2, 4, 8, 16)), 0.05)
NODES = Declared('Nodes', 'files', '', MFWA, Sweep('node'), 0.10)
OSTS = Declared('Osts', 'targets', '', MFWA, Sweep('ost'), 0.10)
FLAT = metadata_tree(files_per_directory=500)
MDTS = Declared('Mdts', 'targets', '', FLAT, Sweep('mdt'), 0.10)
STRIPES = tuple(striped(f'stripes{count}', count) for count in (1, 4, 8))
LAYOUTS = Declared('Layouts', 'targets', '', MFWA, Sweep('layout', STRIPES), 0.10)
HERE = Case('Sizes', 'lab:io', 'scratch', 'default', 2)
FIXED_CASE = Case('Fixed', 'lab:io', 'scratch', 'default', 2)
TASKS_CASE = Case('Tasks', 'lab:login', 'home', 'default', 1)

TWO = Sweep('tree', (('shared', {}), ('few', {'subtrees': 'private'})))
FILES = Declared('Files', 'metadata', '', FLAT._replace(scales=True), TWO, 0.10)
SCENARIO = replace(FILES, name='Scenario', workload=FLAT)
PAIR = Declared('Pair', 'metadata', '', posix_semantics(2), Sweep('tree', (('two', {}),)), 0.10)
LARGE = Sweep('entries', (10_000, 100_000, 1_000_000))
LISTED = Declared('Listed', 'metadata', '', listing(1_000_000), LARGE, 0.10)
PAUSED = Declared('Paused', 'metadata', '', listing(891, (0.5, 10.0)), Sweep('tree', (('891', {}),)), 0.10)


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp('lab')
    (folder / 'trial.yaml').write_text(TRIAL)
    write_lab_settings(folder, 'io', 'login')
    site = load(folder)
    return Session('s1', folder / 'state' / 'sessions' / 's1', site, PROFILES['nightly'], site.engine_choices())


def points_in(session, declared, case):
    """The points of a case as this session would launch them first."""
    return resolved(session, declared, case).points


def test_a_bound_from_below_of_the_case_is_a_floor_of_what_is_better_the_higher_but_not_in_a_smoke_test(session):
    def bound(name, unit, low=-0.1):
        return Reference(f'randread{name}@qd1', 2.0, low, 0.1, unit, BASELINE, '2026-11-20')

    random = replace(SIZES, workload=random_access(('randread',), '2MiB'), sweep=Sweep('queue_depth', (1,)))
    others = [('acceptance', HERE), ('nightly', HERE._replace(nodes=1)), ('smoke', HERE)]
    references = dict.fromkeys(others, (bound('_iops', 'op/s', -0.5),))
    references['nightly', HERE] = bound('_iops', 'op/s'), bound('_p99', 's'), bound('', 'B/s', None)
    nightly = replace(session, references=references)
    assert plan_of(nightly, random, HERE).floors == {'randread_iops@qd1': 1.8}
    assert plan_of(replace(nightly, profile=PROFILES['smoke']), random, HERE).floors == {}


def test_a_family_has_every_combination_that_its_trial_names(session):
    cases = [(case.layout, case.nodes) for case in cases_of(session, SIZES)]
    assert cases == [('default', 1), ('default', 2), ('wide', 1), ('wide', 2)]


def test_a_node_sweep_needs_a_second_node(session):
    assert [case.nodes for case in cases_of(session, NODES)] == [2, 2]
    ((nodes, why),) = {(case.nodes, why) for case, why in not_applicable(session, NODES).items()}
    assert (nodes, why) == (1, 'comparing nodes needs two or more; raise nodes in the trial')


def test_what_needs_a_program_that_this_machine_lacks_is_not_asked_of_it_but_of_nodes(session, monkeypatch):
    clones = interactive_use(1, 2, 3, '4KiB', GIT)
    login = Declared('Tasks', 'other', '', clones, Sweep('tree', (('one', {}),)), 0.10)
    nodes = replace(login, name='Sizes', family='files')
    monkeypatch.setattr('shutil.which', lambda name: None if name == 'git' else f'/found/{name}')
    assert not_applicable(session, login)[TASKS_CASE].startswith('git is not installed on this machine')
    assert HERE in cases_of(session, nodes)
    monkeypatch.setattr('shutil.which', lambda name: f'/found/{name}')
    assert TASKS_CASE in cases_of(session, login)


@pytest.mark.parametrize('profile', ['smoke', 'nightly', 'acceptance'])
def test_a_sweep_over_nodes_or_targets_keeps_all_its_points_in_every_profile(session, profile):
    in_profile = replace(session, profile=PROFILES[profile])
    assert len(points_in(in_profile, OSTS, on('Osts'))) == 4
    points = points_in(in_profile, NODES, HERE._replace(check='Nodes'))
    groups = [(point.label, point.nodes, point.first_node) for point in points]
    assert groups == [('all', 2, 0), ('group01', 1, 0), ('group02', 1, 1)]


def test_the_files_of_nodes_that_are_compared_lie_on_the_same_targets_unless_the_site_says_where(session):
    case = HERE._replace(check='Nodes')
    assert {asked(point.layout) for point in points_in(session, NODES, case)} == {LustreLayout(stripe_count=ALL)}
    for other in (case._replace(layout='wide'), case._replace(file_system='home')):
        assert {point.layout for point in points_in(session, NODES, other)} == {None}


def test_an_isolation_sweep_has_time_for_all_its_places_unless_the_site_says_how_much(session):
    plan = plan_of(session, NODES, HERE._replace(check='Nodes', nodes=64))
    launches = sum(needed('node', 9)) * 2 * 6
    assert plan.stopping.budget_s > launches * plan.sizing.target_s
    assert plan_of(session, replace(NODES, name='Fixed', family='other'), FIXED_CASE).stopping.budget_s == 90.0
    smoke = replace(session, profile=PROFILES['smoke'])
    assert plan_of(smoke, NODES, HERE._replace(check='Nodes')).stopping.budget_s == PROFILES['smoke'].budget_s


def test_a_sweep_over_tasks_uses_parts_of_the_allocation_and_says_what_has_no_room(session):
    planned = resolved(session, TASKS, TASKS_CASE)
    assert [point.tasks for point in planned.points] == [1, 2]
    assert planned.left_out == ('4tasks', '8tasks', '16tasks')
    assert plan_of(session, TASKS, TASKS_CASE).left_out == planned.left_out


def test_a_check_can_ask_for_every_point_where_figures_are_judged_and_is_then_no_part_of_a_smoke_test(session):
    fine = replace(SIZES, sweep=Sweep('transfer_size', powers_of_two('4KiB', '1MiB')), every_point=True)
    for profile in ('nightly', 'acceptance'):
        assert len(points_in(replace(session, profile=PROFILES[profile]), fine, HERE)) == 9
    smoke = replace(session, profile=PROFILES['smoke'])
    assert HERE in cases_of(smoke, SIZES) and cases_of(smoke, fine) == []
    assert not_applicable(smoke, fine)[HERE].startswith('too long for a smoke test')


@pytest.mark.parametrize('profile', ['smoke', 'nightly'])
def test_a_scenario_is_no_part_of_a_test_that_others_would_feel(session, profile):
    takes_away = replace(SIZES, workload=scenario(before_s=10, action_s=10, after_s=10))
    calm = replace(session, profile=PROFILES[profile])
    assert not_applicable(calm, takes_away)[HERE].startswith('disruptive: only with --profile acceptance')


def test_a_sweep_of_which_nothing_fits_is_refused_with_the_reason(session):
    wide = TASKS.sweep._replace(values=(64,))
    with pytest.raises(Unplannable, match='none of 64tasks fits 1 node with 2 tasks each; raise nodes, tasks_per'):
        points_in(session, replace(TASKS, sweep=wide), TASKS_CASE)


def test_files_of_fixed_sizes_that_the_limits_do_not_hold_are_left_out_and_named(session):
    fixed = replace(TASKS, workload=data_access('multiple', operations=('write',), scales=False))
    many = replace(fixed, sweep=tasks_by_sizes((1, 2), ('256MiB', '600MiB', '2GiB')))
    planned = resolved(session, many, TASKS_CASE)
    assert [point.label for point in planned.points] == ['1task-256MiB', '1task-600MiB', '2tasks-256MiB']
    assert planned.left_out == ('1task-2GiB', '2tasks-600MiB', '2tasks-2GiB')
    # Where none fits, all are planned, and refused with the sum.
    planned = resolved(session, replace(fixed, sweep=tasks_by_sizes((1,), ('2GiB',))), TASKS_CASE)
    assert ([point.label for point in planned.points], planned.left_out) == (['1task-2GiB'], ())


RAW = Declared('Raw', 'files', '', raw_devices(), Sweep('transfer_size', (MIB,)), 0.10)
RAW_CASE = Case('Raw', 'lab:io', 'scratch', 'default', 1)


def on_scratch(session, **keys):
    """The session where these keys of scratch have other values."""
    file = session.site.trial_file
    changed = {**file.file_systems, 'scratch': file.file_systems['scratch'].model_copy(update=keys)}
    site = replace(session.site, trial_file=file.model_copy(update={'file_systems': changed}))
    return replace(session, site=site)


def test_as_many_tasks_read_raw_devices_as_can_be_dealt_to_them_alike(session):
    named = on_scratch(session, devices=('/dev/sda', '/dev/sdb', '/dev/sdc'))
    (point,) = plan_of(named, RAW, RAW_CASE).points
    assert (point.data.devices, point.nodes, point.tasks) == (('/dev/sda', '/dev/sdb', '/dev/sdc'), 1, 6)


@pytest.mark.parametrize(
    ('devices', 'nodes', 'why'),
    [
        ((), 1, '(file_systems.scratch.devices)'),
        (('/dev/sda',), 2, 'raw devices are read on one node'),
        ([f'/dev/sd{letter}' for letter in 'abcdefghi'], 1, 'raise tasks_per_node under partitions.lab:io'),
    ],
)
def test_raw_devices_that_cannot_be_read_are_not_applicable_with_the_key(session, devices, nodes, why):
    case, named = RAW_CASE._replace(nodes=nodes), on_scratch(session, devices=devices)
    assert why in not_applicable(named, RAW)[case] and case not in cases_of(named, RAW)


def test_bytes_that_do_not_divide_are_refused_with_check_and_key_but_for_files_that_are_written(session):
    odd = replace(FIXED, workload=random_access(('randread',), '1GiB'), sweep=Sweep('transfer_size', (12 * KIB,)))
    fault = 'bytes_per_task: 4 MiB a task is not a multiple of 3 MiB'
    with pytest.raises(Unplannable, match=f'Fixed/lab:io/scratch/default/2n: {fault}'):
        plan_of(session, odd, FIXED_CASE)
    odd = replace(FIXED, sweep=Sweep('transfer_size', (32 * KIB, 48 * KIB, 80 * KIB)))
    shares = [point.data.bytes_per_task for point in plan_of(session, odd, FIXED_CASE).points]
    assert shares == [4 * MIB, 4080 * KIB, 4080 * KIB]


@pytest.fixture
def written(session, tmp_path):
    """The session on a site with another text."""

    def make(text, profile='nightly'):
        (tmp_path / 'trial.yaml').write_text(text)
        (tmp_path / 'settings.py').write_text((session.site.folder / 'settings.py').read_text())
        return replace(session, site=load(tmp_path), profile=PROFILES[profile])

    return make


@pytest.fixture
def fixing(written):
    """The case of a check where the only trial fixes this for the family."""
    trial = '  - {{checks: [files], partitions: [lab:io], file_systems: [scratch], nodes: [1], {}}}\n'

    def make(fixed, declared=SIZES, profile='nightly'):
        other = written(TRIAL.partition('  - ')[0] + trial.format(fixed), profile)
        (case,) = cases_of(other, declared)
        return resolved(other, declared, case)

    return make


def test_a_transfer_size_of_the_site_is_the_only_point_of_a_sweep_over_it_and_holds_at_all_of_another(fixing):
    planned = fixing('transfer_size: 3MiB')
    assert [(point.label, point.data.transfer_size) for point in planned.points] == [('3MiB', 3 * MIB)]
    assert planned.left_out == () and planned.points[0].data.bytes_per_task % (3 * MIB) == 0
    points = fixing('transfer_size: 64KiB', replace(TASKS, family='files')).points
    assert [(point.data.transfer_size, point.tasks) for point in points] == [(64 * KIB, n) for n in (1, 2, 4, 8)]


def test_the_site_fixes_direct_interface_and_tasks_of_a_node(fixing):
    assert {point.data.direct for point in fixing('direct: true').points} == {True}
    assert {point.data.interface for point in fixing('interface: mpiio').points} == {'mpiio'}
    assert {point.tasks_per_node for point in fixing('tasks_per_node: 3').points} == {3}
    assert {point.tasks for point in fixing('tasks_per_node: 4, max_tasks: 2').points} == {2}


@pytest.mark.parametrize(
    'fixed', ['transfer_size: 64KiB', 'direct: true', 'interface: mpiio', 'bytes_per_task: 1MiB']
)
def test_what_the_site_fixes_of_data_leaves_metadata_alone(fixing, fixed):
    metadata = replace(FILES, family='files')
    assert fixing(fixed, metadata).points == fixing('budget: 90s', metadata).points


@pytest.mark.parametrize('direct', [True, False])
def test_random_io_is_direct_or_cached_as_its_check_says(fixing, direct):
    declared = replace(SIZES, workload=random_access(('randread',), '1GiB', direct=direct))
    points = fixing(f'direct: {str(not direct).lower()}, transfer_size: 64KiB', declared).points
    assert {(point.data.direct, point.data.transfer_size) for point in points} == {(direct, 64 * KIB)}


def test_what_contradicts_itself_with_what_the_site_fixes_is_refused_with_the_field(fixing):
    with pytest.raises(Unplannable, match='direct: O_DIRECT is not passed on .*; correct what its trial fixes'):
        fixing('direct: true, interface: mpiio')


def test_a_size_of_the_source_that_does_not_divide_is_rounded_down(fixing):
    (point,) = fixing('transfer_size: 3MiB', profile='paper').points
    assert point.data.bytes_per_task == 2046 * MIB


def test_the_plan_of_a_case_is_always_the_same_and_another_session_has_another_seed_and_records(session):
    plan = plan_of(session, SIZES, HERE)
    assert plan == plan_of(session, SIZES, HERE)
    other = plan_of(replace(session, id='s2', folder=session.folder.parent / 's2'), SIZES, HERE)
    assert other.seed != plan.seed
    assert Path(plan.records).parent == session.folder / 'cases' != Path(other.records).parent


def test_the_plan_has_what_the_site_the_check_and_this_installation_say(session):
    plan = plan_of(session, SIZES, HERE._replace(layout='wide'))
    assert (plan.commit, plan.reframe[:2], plan.pydarshan) == (commit_of(), '4.', '')
    assert plan_of(session, TASKS, TASKS_CASE).pydarshan == pydarshan_version()
    assert (plan.target.layout, plan.target.limits.bytes) == (striped('wide', ALL), 4 * GIB)
    assert (plan.launcher.kind, plan.state) == ('srun', session.site.state)
    assert plan.launch_limit_s > plan.target.recovery_limit_s == 900.0  # no launch ends inside a recovery
    assert plan_of(session, TASKS, TASKS_CASE).stopping.max_relative_error == 0.05
    assert {(point.nodes, point.tasks) for point in plan.points} == {(2, 16)}


def test_a_smoke_test_repeats_a_fixed_number_of_times(session):
    stopping = plan_of(replace(session, profile=PROFILES['smoke']), SIZES, HERE).stopping
    assert (stopping.fixed, stopping.minimum, stopping.maximum, stopping.extra) == (True, 1, 1, 0)


NIGHTS = tuple(datetime(2026, 11, day, tzinfo=timezone.utc) for day in range(1, 13))


@pytest.mark.parametrize(
    ('profile', 'nights', 'reference', 'expected'),
    [
        ('nightly', 0, False, (3, 0, 0.1)),
        ('nightly', 7, False, (3, 0, 0.1)),
        ('nightly', 12, False, (3, 0, 0.210)),
        ('nightly', 12, True, (4, 2, 0.210)),
        ('acceptance', 12, False, (4, 2, 0.0)),
    ],
)
@pytest.mark.slow
def test_a_night_is_repeated_by_what_nights_differ_by(tmp_path, session, profile, nights, reference, expected):
    # Every other night is better by a factor of e^0.2, and from the ninth on all are half as good.
    for number, began in enumerate(NIGHTS[:nights]):
        level = 1e8 * math.exp(0.2 * (number % 2)) / (1 + number // 8)
        columns = {'check': HERE.check, 'partition': HERE.partition, 'site': session.site.name, 'profile': profile}
        night = figures(began, {'write@64KiB': [level] * 3, 'read@64KiB': [level] * 3}, **columns)
        write(folder_of(tmp_path), began.strftime('%Y%m%dT%H%M%S-00000a'), night)
    session_there = replace(session, site=Altered(session.site, state=str(tmp_path)), profile=PROFILES[profile])
    if reference:
        asked = Reference('write@64KiB', 1e8, -0.1, None, 'B/s', BASELINE, '2026-11-01')
        session_there = replace(session_there, references={(profile, HERE): (asked,)})
    stopping = plan_of(session_there, SIZES, HERE).stopping
    assert (stopping.minimum, stopping.extra, stopping.between) == pytest.approx(expected, abs=0.001)


def case_of(declared):
    return HERE._replace(check=declared.name)


def test_the_tasks_of_a_check_are_spread_over_the_nodes(session):
    (point,) = points_in(session, PAIR, case_of(PAIR))
    assert (point.nodes, point.tasks, point.tasks_per_node) == (2, 2, 1)


@pytest.mark.parametrize('name', ['Scenario', 'Pinned'])
def test_a_scenario_of_a_source_is_carried_out_as_it_is(session, name):
    scenario = replace(SCENARIO, name=name)
    plan = plan_of(session, scenario, case_of(scenario))
    assert plan.sizing.first == 0
    assert {point.tree.files_per_directory for point in plan.points} == {500}


@pytest.mark.parametrize(
    ('profile', 'labels', 'pauses'),
    [
        ('smoke', ['10000'], (0.5,)),
        ('nightly', ['10000', '100000'], (0.5, 10.0)),
        ('paper', ['10000', '100000', '1000000'], (0.5, 10.0)),
    ],
)
def test_a_profile_takes_the_directories_and_pauses_that_it_has_time_for(session, profile, labels, pauses):
    in_profile = replace(session, profile=PROFILES[profile])
    assert [point.label for point in points_in(in_profile, LISTED, case_of(LISTED))] == labels
    assert [point.pauses_s for point in points_in(in_profile, PAUSED, case_of(PAUSED))] == [pauses]


def on(check, layout='default', file_system='scratch'):
    return Case(check, 'lab:io', file_system, layout, 1)


def test_a_sweep_over_targets_that_the_site_lists_has_those(session):
    listed = on_scratch(session, osts=(0, 7), mdts=(3,))
    points = points_in(listed, OSTS, on('Osts'))
    assert [(point.label, asked(point.layout).osts) for point in points] == [('ost0000', (0,)), ('ost0007', (7,))]
    assert plan_of(listed, OSTS, on('Osts')).target.listed == ('OST', 'MDT')
    assert not_applicable(listed, MDTS)[on('Mdts')] == 'comparing MDTs needs two or more; list them in trial.yaml'


def test_an_impossible_case_is_listed_with_the_reason_or_the_remedy(session):
    assert not_applicable(session, OSTS) == {
        on('Osts', 'wide'): "this check sets layouts itself, so it runs only under the layout 'default'",
        on('Osts', file_system='home'): 'no layout: the server decides where a file lies',
    }
    assert not_applicable(session, MDTS)[on('Mdts')].endswith('write mdts: under file_systems.scratch')
    assert not_applicable(session, SIZES) == {}


@pytest.mark.parametrize(
    ('tasks', 'cap', 'expected'),
    [
        (1, '', 'raise tasks_per_node under partitions.lab:login, or nodes of its trial'),
        (2, ', max_tasks: 1', 'or nodes of its trial, or max_tasks of its trial'),
        (2, '', None),
    ],
)
def test_a_case_with_too_few_tasks_has_the_remedy_and_stops_no_other_check(written, tasks, cap, expected):
    login = f'  lab:login: {{launcher: local, tasks_per_node: {tasks}}}\n'
    trials = f'trials:\n  - {{checks: [metadata], partitions: [lab:login], file_systems: [home], nodes: [1]{cap}}}\n'
    narrow = written(TRIAL.partition('  lab:login')[0] + login + trials)
    case = Case('Pair', 'lab:login', 'home', 'default', 1)
    assert expected is None or not_applicable(narrow, PAIR)[case].endswith(expected)
    assert (case in cases_of(narrow, PAIR)) == (expected is None)
    assert points_in(narrow, FILES, case._replace(check='Files'))


def test_a_layout_that_needs_more_targets_than_there_are_is_left_out(session):
    plan = plan_of(session, LAYOUTS, on('Layouts'))
    assert [point.layout.name for point in plan.points] == ['stripes1', 'stripes4']
    assert plan.left_out == ('stripes8',)


def test_a_partition_has_binaries_of_its_own(session):
    plans = plan_of(session, TASKS, TASKS_CASE), plan_of(session, SIZES, HERE)
    assert [dict(plan.engines)['fio'] for plan in plans] == ['/arm/bin/fio', 'fio']


def test_a_coarse_clock_comes_last_where_few_files_are_made(session):
    smoke, case = replace(session, profile=PROFILES['smoke']), Case('Files', 'lab:io', 'scratch', 'default', 1)
    assert [plan_of(of, FILES, case).engines[-1].name for of in (smoke, session)] == ['fio', 'io500']
