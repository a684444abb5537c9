import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.filesystem.lustre.layout import ALL, striped
from seatrial.model.layout import Layout
from seatrial.model.plan import Case, EngineChoice, Launcher, Limits, Monitor
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, KIB, MIB
from seatrial.site.error import SiteError
from seatrial.site.load import load
from seatrial.site.model import Overrides, Site, parse_duration
from seatrial.workload.access import data_access
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.tree import metadata_tree

Build = Callable[..., Site]

TWO_TRIALS = """  - checks: [SharedFile]
    partitions: [lab:io, lab:login]
    file_systems: [scratch]
    layouts: [default, wide]
    nodes: [1]
    profiles: [nightly]
    bytes_per_task: 8GiB
    files_per_task: 500
    budget: 20min
    max_tasks: 3
    direct: false
  - checks: [access]
"""
FIXED = Overrides(bytes_per_task=8 * GIB, files_per_task=500, direct=False, max_tasks=3, budget=1200.0)


def a_case(**changes: object) -> Case:
    return Case('SharedFile', 'lab:io', 'scratch', 'default', 1)._replace(**changes)  # type: ignore[arg-type]


def test_a_trial_gives_cases_for_the_checks_and_families_that_it_names_in_its_profiles(site_with):
    assert site_with().cases('SharedFile', 'access', 'smoke') == [a_case(nodes=1), a_case(nodes=2)]
    assert site_with().cases('ManyFiles', 'metadata', 'smoke') == []
    assert len(site_with('[access]', "['*']").cases('ManyFiles', 'metadata', 'smoke')) == 2
    site = site_with('[access]', '[SharedFile]')
    assert site.cases('SharedFile', 'access', 'smoke') and not site.cases('OwnFiles', 'access', 'smoke')
    site = site_with('nodes: [1, 2]', 'nodes: [1, 2]\n    profiles: [acceptance]')
    assert site.cases('SharedFile', 'access', 'acceptance') and not site.cases('SharedFile', 'access', 'nightly')


@pytest.mark.parametrize(('asked', 'cases'), [("['*']", 0), ("['*', io500]", 2), ('[Io500]', 2)])
def test_a_benchmark_of_hundreds_of_gib_has_to_be_named(site_with, asked, cases):
    assert len(site_with('[access]', asked).cases('Io500', 'io500', 'nightly')) == cases


def test_cases_that_two_trials_give_come_once_and_in_the_order_of_the_file(site_with):
    cases = site_with('  - checks: [access]\n', TWO_TRIALS).cases('SharedFile', 'access', 'nightly')
    assert cases == [
        a_case(),
        a_case(layout='wide'),
        a_case(partition='lab:login'),
        a_case(partition='lab:login', layout='wide'),
        a_case(nodes=2),
    ]


def test_the_trials_that_give_a_case_fix_it_together(site_with):
    site = site_with('  - checks: [access]\n', TWO_TRIALS)
    assert site.overrides(a_case(), 'access', 'nightly') == FIXED
    assert site.overrides(a_case(nodes=2), 'access', 'nightly') == Overrides()  # which another trial gives
    assert site.overrides(a_case(), 'access', 'smoke') == Overrides()  # in which that trial has no part
    more = TWO_TRIALS.replace('    budget: 20min\n', '') + '    budget: 10min\n'
    site = site_with('  - checks: [access]\n', more)
    assert site.overrides(a_case(), 'access', 'nightly') == FIXED.model_copy(update={'budget': 600.0})


def test_an_expectation_is_enforced_if_any_trial_enforces_it(site_with):
    first = TWO_TRIALS.replace('    max_tasks: 3\n', '    max_tasks: 3\n    enforce: [X1]\n')
    site = site_with('  - checks: [access]\n', first + '    enforce: [X2, X1]\n')
    assert site.enforced(a_case(), 'access', 'nightly') == {'X1': None, 'X2': None}
    assert site.enforced(a_case(partition='lab:login', layout='wide'), 'access', 'nightly') == {'X1': None}


def test_a_site_may_choose_the_limit_of_what_it_enforces(site_with):
    site = site_with('nodes: [1, 2]', 'nodes: [1, 2]\n    enforce: [X1, {F1: 1.5}]')
    assert site.enforced(a_case(), 'access', 'nightly') == {'X1': None, 'F1': 1.5}
    site.check_enforced({'SharedFile': ('access', ['X1', 'F1'])}, [], ['F1'])
    with pytest.raises(SiteError, match=r"trials\[0\].enforce\[1\]: 'F1' has no limit that a site can set"):
        site.check_enforced({'SharedFile': ('access', ['X1', 'F1'])}, [], [])


def test_two_trials_with_two_limits_for_one_case_are_refused(site_with):
    first = TWO_TRIALS.replace('    max_tasks: 3\n', '    max_tasks: 3\n    enforce: [{F1: 1.5}]\n')
    site = site_with('  - checks: [access]\n', first + '    enforce: [{F1: 2}]\n')
    with pytest.raises(SiteError, match=r'trials\[1\].enforce: the limit of F1 differs from trials\[0\]'):
        site.check_overrides({'SharedFile': 'access'})


def test_groups_are_lists_of_nodes_in_slurms_notation(site_with):
    site = site_with('tasks_per_node: 4}', "tasks_per_node: 4, groups: {rack1: 'n[01-03]', rack2: 'm7,n04'}}")
    assert site.partition('lab:io').groups == {'rack1': ('n01', 'n02', 'n03'), 'rack2': ('m7', 'n04')}


@pytest.mark.parametrize(('key', 'value'), [('budget', '10min'), ('max_tasks', '4'), ('direct', 'true')])
def test_two_trials_that_fix_a_case_differently_are_refused(site_with, key, value):
    site = site_with('  - checks: [access]\n', f'{TWO_TRIALS}    {key}: {value}\n')
    with pytest.raises(SiteError) as caught:
        site.check_overrides({'SharedFile': 'access'})
    (problem,) = caught.value.problems
    assert problem.startswith(f'trial.yaml: trials[1].{key}: differs from trials[0]')


@pytest.mark.parametrize('line', ['budget: 20min', 'profiles: [smoke]\n    budget: 10min'])
def test_trials_that_agree_or_never_meet_are_none_that_contradict(site_with, line):
    site_with('  - checks: [access]\n', f'{TWO_TRIALS}    {line}\n').check_overrides({'SharedFile': 'access'})
    other = f'{TWO_TRIALS}    budget: 10min\n'
    site_with('  - checks: [access]\n', other).check_overrides({'OwnFiles': 'access', 'Other': 'other'})


def test_an_expectation_that_no_profile_of_its_trial_judges_is_refused(site_with):
    known = {'SharedFile': ('access', ['X1', 'P1'])}
    smoke = 'nodes: [1, 2]\n    profiles: [smoke]\n    enforce: [{}]'
    with pytest.raises(SiteError) as caught:
        site_with('nodes: [1, 2]', smoke.format('X1')).check_enforced(known, ['P1'], [])
    (problem,) = caught.value.problems
    assert problem.startswith("trial.yaml: trials[0].enforce[0]: 'X1' decides nothing in smoke")
    site_with('nodes: [1, 2]', smoke.format('P1')).check_enforced(known, ['P1'], [])
    both = smoke.replace('[smoke]', '[smoke, nightly]')
    site_with('nodes: [1, 2]', both.format('X1')).check_enforced(known, [], [])


# The Darshan library of a partition


def test_a_partition_names_its_own_library_and_another_has_none(site_with, folder):
    site = site_with('{launcher: srun,', '{darshan: /opt/darshan/lib/libdarshan.so, launcher: srun,')
    assert site.partition('lab:io').darshan == '/opt/darshan/lib/libdarshan.so'
    assert site.partition('lab:login').darshan is None
    site = site_with('{launcher: srun,', '{darshan: lib/libdarshan.so, launcher: srun,')
    assert site.partition('lab:io').darshan == str(folder / 'lib' / 'libdarshan.so')


@pytest.mark.parametrize(
    ('wanted', 'tasks_per_node'),
    [
        (Overrides(), 4),
        (Overrides(max_tasks=100), 4),
        (Overrides(max_tasks=7), 3),
        (Overrides(max_tasks=2), 1),
        (Overrides(tasks_per_node=3), 3),
        (Overrides(tasks_per_node=3, max_tasks=4), 2),
    ],
)
def test_the_tasks_of_a_case_are_as_its_trial_wants(site_with, wanted, tasks_per_node):
    assert site_with().allocation(a_case(nodes=2), wanted) == Allocation(2, tasks_per_node)


def test_what_a_trial_fixes_of_data_is_applied_to_data_alone():
    wanted = Overrides(bytes_per_task=MIB, transfer_size=KIB, direct=False, max_tasks=3)
    assert wanted.applied(data_access('multiple')) == {'transfer_size': KIB, 'direct': False}
    for template in (metadata_tree(), listing(1), posix_operations(1, 0), posix_semantics()):
        assert wanted.applied(template) == {}
    assert Overrides().applied(data_access('multiple')) == {}


def test_the_share_that_a_trial_fixes_is_bytes_of_data_and_files_of_metadata():
    wanted = Overrides(bytes_per_task=MIB, files_per_task=50)
    assert (wanted.share(data_access('multiple')), wanted.share(metadata_tree())) == (MIB, 50)
    assert Overrides(bytes_per_task=MIB).share(metadata_tree()) is None
    assert Overrides(files_per_task=50).share(data_access('multiple')) is None


def test_a_target_has_the_values_of_its_entry(site_with):
    keys = """mount: /scratch
    telemetry: [/usr/bin/ssh, oss1, lctl, get_param, 'obdfilter.*.job_stats']
    storage_system: tide
    drop_caches: true
    recovery_limit: 2min
    compresses: true
    fast_tier_bytes: 0
    osts: 32
    monitors: {oss1: [ssh, oss1]}
    limits:"""
    keys, limits = f'{keys} {{keep_bytes: 1TiB, keep_inodes: 5000, bytes: 4GiB,', 'limits: {bytes: 4GiB,'
    target = site_with(limits, keys).target('scratch', 'wide')
    assert (target.name, target.type, target.path) == ('scratch', 'lustre', '/scratch/trials')
    assert (target.mount, target.storage_system) == ('/scratch', 'tide')
    assert target.limits == Limits(4 * GIB, 1000, 1024 * GIB, 5000)
    assert (target.layout, target.recovery_limit_s, target.osts) == (striped('wide', ALL, MIB), 120.0, 32)
    assert (target.drop_caches, target.compresses, target.fast_tier_bytes) == (True, True, 0)
    assert target.monitors == (Monitor('oss1', ('ssh', 'oss1')),)
    assert target.telemetry == ('/usr/bin/ssh', 'oss1', 'lctl', 'get_param', 'obdfilter.*.job_stats')


def test_a_value_missing_from_an_entry_is_unknown_or_follows_from_name_and_type(site_with):
    target = site_with().target('home', 'default')
    assert (target.mount, target.compresses, target.server_cache_bytes, target.fast_tier_bytes) == (None,) * 4
    assert (target.layout, target.telemetry, target.storage_system) == (Layout(), (), 'home')
    assert target.drop_caches is False  # no job may empty the caches of its nodes
    assert (target.recovery_limit_s, site_with().target('scratch', 'wide').recovery_limit_s) == (300.0, 900.0)
    none = site_with('limits:', 'recovery_limit: 0\n    limits:').target('scratch', 'default')
    assert none.recovery_limit_s == 0.0


def test_engines_launchers_interpreters_and_units_are_the_usual_ones_unless_the_site_has_its_own(site_with):
    names = ('iozone', 'bonnie++', 'ior', 'mdtest', 'fio', 'elbencho', 'dd', 'posixops')
    usual = site_with()
    assert usual.engine_choices()[: len(names)] == tuple(EngineChoice(name, name) for name in names)
    assert (usual.launcher('lab:io'), usual.units) == (Launcher('srun'), 'binary')
    assert usual.partition('lab:io').python is None
    chosen = site_with('state:', 'units: decimal\nengines: [fio, {name: ior, program: /opt/ior/bin/ior}]\nstate:')
    assert chosen.engine_choices() == (EngineChoice('fio', 'fio'), EngineChoice('ior', '/opt/ior/bin/ior'))
    assert chosen.units == 'decimal'
    keys = 'python: /usr/bin/python3.6, launcher: {kind: hydra, arguments: [-iface, ib0, -iface]}'
    chosen = site_with('launcher: srun', keys)
    assert chosen.launcher('lab:io') == Launcher('hydra', ('-iface', 'ib0', '-iface'))
    assert chosen.partition('lab:io').python == '/usr/bin/python3.6'


def test_targets_are_counted_or_listed_by_their_numbers(site_with):
    site = site_with('limits:', 'osts: [7, 0, 3]\n    mdts: 2\n    limits:')
    entry, target = site.file_system('scratch'), site.target('scratch', 'default')
    assert (entry.numbers('OST'), entry.numbers('MDT')) == ((0, 3, 7), (0, 1))
    assert (target.osts, target.mdts, target.listed) == (3, 2, ('OST',))
    assert site_with().file_system('scratch').numbers('OST') is None


def test_a_relative_path_starts_at_the_folder_of_trial_yaml(site_with, folder):
    site = site_with('/home/trials', '../trials\n    records_on_target: true')
    assert site.file_system('home').path == str(folder.parent / 'trials')


def test_the_folder_may_be_reached_through_a_link(folder, tmp_path):
    (tmp_path / 'link').symlink_to(folder)
    assert load(tmp_path / 'link').state == str(folder / 'state')


def test_a_name_that_is_neither_check_nor_family_is_named_with_the_nearest(site_with):
    site_with('[access]', "[access, SharedFile, '*']").check_names({'SharedFile': 'access'})
    site = site_with('[access]', '[access, SharedFle]')
    with pytest.raises(SiteError) as caught:
        site.check_names({'SharedFile': 'access'})
    (problem,) = caught.value.problems
    assert problem.startswith("trial.yaml: trials[0].checks[1]: 'SharedFle' ") and "'SharedFile'?" in problem


def test_the_state_directory_is_made_and_trial_paths_inside_it(site_with, folder):
    site_with('    path: /home/trials', '    path: state/deep/trials\n    records_on_target: true').make_directories()
    assert (folder / 'state' / 'deep' / 'trials').is_dir()


@pytest.mark.parametrize(
    ('umask', 'mode', 'made'),
    [(0o022, None, (0o750, 0o640)), (0o002, None, (0o750, 0o640)), (0o022, 0o755, (0o755, 0o644))],
)
def test_others_may_use_the_evidence_no_more_than_the_state_directory(site_with, folder, umask, mode, made):
    site = site_with()
    os.umask(umask)
    if mode is not None:
        (folder / 'state').mkdir(mode)
    site.make_directories()
    (folder / 'state' / 'evidence').touch()
    assert tuple(path.stat().st_mode & 0o777 for path in (folder / 'state', folder / 'state' / 'evidence')) == made


def test_a_state_directory_made_by_another_user_is_refused(site_with, folder, monkeypatch):
    def mkdir(path: Path, **unused: object) -> None:
        os.mkdir(path)
        os.chmod(path, 0o777)

    monkeypatch.setattr(Path, 'mkdir', mkdir)
    with pytest.raises(SiteError, match=r'state: others may write to .*state \(mode 0777\)'):
        site_with().make_directories()


def test_a_trial_path_outside_the_state_directory_is_never_made(site_with, tmp_path):
    site_with('/home/trials', str(tmp_path / 'unmounted')).make_directories()
    assert not (tmp_path / 'unmounted').exists()


def test_a_state_directory_whose_parent_is_missing_or_that_is_a_file_is_not_made(site_with, folder):
    with pytest.raises(SiteError, match=r'trial\.yaml: state: .*missing/state.*: No such file or directory'):
        site_with('state: state', 'state: missing/state').make_directories()
    assert not (folder / 'missing').exists()
    (folder / 'state').touch()
    with pytest.raises(SiteError, match='state: .*File exists'):
        site_with().make_directories()


def test_the_longest_names_still_make_a_file_name(folder):
    part, name, check = 'p' * 32, 'n' * 40, 'C' * 80
    changes = {'    nodes: [1, 2]': '    layouts: [wide]\n    nodes: [1000000]', 'wide': 'w' * 40}
    changes |= {'lab:io': f'{part}:{part}', 'lab:': f'{part}:', 'scratch': name, '[access]': f'[{check}]'}
    text = (folder / 'trial.yaml').read_text()
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / 'trial.yaml').write_text(text)
    settings = (folder / 'settings.py').read_text()
    (folder / 'settings.py').write_text(settings.replace("'lab'", f"'{part}'").replace("'io'", f"'{part}'"))
    (case,) = load(folder).cases(check, 'access', 'smoke')
    assert len(case.slug) < 255


@pytest.mark.parametrize(('text', 'seconds'), [('90s', 90.0), ('1.5h', 5400.0), ('20 min', 1200.0), ('7', 7.0)])
def test_durations_are_read_with_their_unit(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize('text', ['', 's', '-3s', '1:30', '3 days', '1e3', '.5h', '1m', '9' * 30, '٣s', '1h30min'])
def test_text_that_is_not_a_duration_is_refused(text):
    with pytest.raises(ValueError, match='is not a duration; write a number and one of s, min, h'):
        parse_duration(text)


TUNABLE = """state: state
actions:
  away: {{start: [stop], undo: [start], check: ['true'], file_systems: [scratch]}}
  threads: {{start: [set, '{start}'], undo: [set, '8'], check: ['true'], values: {values}, file_systems: [scratch]}}
"""


def test_a_tunable_is_an_action_for_each_of_its_values(site_with):
    site = site_with('state: state', TUNABLE.format(start='n={value}', values="[4, 8, 16], count: [c, '{value}']"))
    assert [action.name for action in site.actions('scratch')] == ['away']
    tunable = site.actions('scratch', tunable=True)
    assert [(action.name, action.start, action.undo) for action in tunable] == [
        (f'threads-{value}', ('set', f'n={value}'), ('set', '8')) for value in (4, 8, 16)
    ]
    assert [action.counting for action in tunable] == [('c', str(n)) for n in (4, 8, 16)]
    assert site.actions('scratch')[0].counting == ()


@pytest.mark.parametrize(
    ('start', 'values'),
    [('4', '[4, 8, 16]'), *(('{value}', values) for values in ('[4, 8]', '[4, 16, 8]', '[4, 8, 8]', '[0, 1, 2]'))],
)
def test_a_tunable_that_makes_no_curve_is_refused(site_with, start, values):
    with pytest.raises(SiteError, match='threads'):
        site_with('state: state', TUNABLE.format(start=start, values=values))


def test_raw_devices_are_paths_below_dev(site_with):
    site = site_with('    layouts:\n', '    devices: [/dev/sdb, /dev/mapper/data]\n    layouts:\n')
    assert site.file_system('scratch').devices == ('/dev/sdb', '/dev/mapper/data')
