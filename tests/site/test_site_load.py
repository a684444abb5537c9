from collections.abc import Callable

import pytest
from reframe.utility import import_module_from_file

from seatrial.model.quoted_value import choice, printable
from seatrial.site.error import SHOWN_PROBLEMS, SiteError
from seatrial.site.load import load

Problems = Callable[[str, str], tuple[str, ...]]

TUNABLE_WITHOUT_VALUES = "{start: ['{value}'], undo: [u], check: [c], file_systems: [scratch]}"
# What is replaced in the valid file, by what, and the one problem that must be said.
ONE_PROBLEM = [
    ('version: 1', 'version: 2', 'version: 2 is not a version that this Seatrial reads; write 1'),
    ('version: 1', 'version: true', 'version: true is not a version that this Seatrial reads; write 1'),
    ('version: 1', 'version: 1\nvesion: 1', "vesion: unknown key; did you mean 'version'?"),
    ('version: 1', 'version: 1\n"[key]": 1', "trial.yaml: ['[key]']: unknown key"),  # which is a mark of pydantic's
    ('  home:\n    type:', '  limits:\n    tpe:', "file_systems.limits.tpe: unknown key; did you mean 'type'?"),
    ('version: 1\n', '', 'version: is missing; write version: 1'),
    ('state: state\n', '', 'state: is missing; write state: /home/hpc/seatrial'),
    ('state: state', 'state: ~/state', "state: '~/state': ~ and $ are not expanded; write the path in full"),
    ('state: state', 'state: 7', 'state: 7 is not a line of text'),
    ('state: state', 'state: yes', "state: 'yes' looks like a word or a number and no path; write ./yes"),
    ('state: state', 'state: .inf', "state: '.inf' looks like"),
    ('state: state', 'state: 1e9', "state: '1e9' looks like"),
    ('state: state', 'state: "a\\nb"', r"state: 'a\nb' is not a line of text"),
    ('state:', 'engines: fio\nstate:', "engines: expected a list of values, found 'fio'"),
    ('state:', 'engines: [iro]\nstate:', "engines[0].name: 'iro' is not an engine; did you mean 'ior'?"),
    ('state:', 'engines: [fio, {name: fio}]\nstate:', "engines[1]: 'fio' is listed twice; keep one"),
    ('state:', 'engines: [7]\nstate:', 'engines[0]: expected a mapping, found 7; write {name: ior}'),
    ('state:', 'engines: [{name: ior, program: bin/ior}]\nstate:', "engines[0].program: 'bin/ior' is a relative"),
    ('type: lustre', 'type: lustr', "scratch.type: 'lustr' is not a file system type; did you mean 'lustre'?"),
    ('type: lustre', 'type: [lustre]', 'scratch.type: a list is not a file system type'),
    ('  home:', '  a/b:', "file_systems['a/b']: 'a/b' cannot be a name; write a letter, then letters, digits"),
    ('  home:', '  "a\\tb":', r"file_systems['a\tb']: 'a\tb' cannot be a name"),
    ('  home:', '  on:', "file_systems.on: 'on' cannot be a name"),
    ('  home:', "  '':", "file_systems['']: '' cannot be a name"),
    ('  home:', '  ' + 'x' * 41 + ':', "x' cannot be a name"),
    ('    limits: {bytes: 4GiB, inodes: 1000}\n', '', 'limits: is missing'),
    ('    limits: {bytes: 4GiB', '    limits: {byte: 4GiB, bytes: 4GiB', 'byte: unknown key'),
    ('{bytes: 4GiB, inodes: 1000}', '4GiB', "limits: expected a mapping, found '4GiB'"),
    ('4GiB', '4KB', "limits.bytes: '4KB' is not a size; write a number and one of B, KiB, MiB"),
    ('4GiB', '0', 'limits.bytes: 0 is not a size'),
    ('4GiB', 'true', 'limits.bytes: true is not a size'),
    ('4GiB', '.nan', "limits.bytes: '.nan' is not a size"),
    ('4GiB', '999999999999PiB', 'is not a size; write a number from 1'),
    ('4GiB', '9' * 5000 + 'GiB', f"limits.bytes: '{'9' * 60}...' is not a size; write a number from 1"),
    ('inodes: 1000', 'inodes: 1e3', "limits.inodes: '1e3' is not a number of inodes; write a whole number from 1"),
    ('limits:', 'mount: scratch\n    limits:', "mount: 'scratch' is not a mount point; write an absolute path"),
    ('/scratch/trials', '“/scratch”', 'write an absolute one without further quotes'),
    ('limits:', 'mount: /lustre\n    limits:', "path: '/scratch/trials' is not inside the mount '/lustre'"),
    ('limits:', 'mount:\n    limits:', 'mount: nothing is not a line of text'),
    ('limits:', 'records_on_target: yes\n    limits:', "records_on_target: 'yes' is neither true nor false"),
    ('limits:', 'recovery_limit: 3 days\n    limits:', "recovery_limit: '3 days' is not a duration"),
    ('limits:', 'recovery_limit: 9000h\n    limits:', 'is not a duration here'),
    ('limits:', 'compresses: maybe\n    limits:', "compresses: 'maybe' is not an answer"),
    ('limits:', 'server_cache_bytes: -1\n    limits:', 'server_cache_bytes: -1 is not a size; write a number from 0'),
    ('state: state', 'state: /scratch/trials/state', 'lies on this file system; if that hangs, the records are'),
    ('wide:', 'default:', "layouts.default: 'default' is the name of the layout that exists everywhere; choose"),
    ('{stripe_count: -1, stripe_size: 1MiB}', '{}', "layouts.wide: changes nothing; remove it and use 'default'"),
    ('type: lustre', 'type: gpfs', 'layouts.wide: no layout can be set on gpfs; remove it'),
    ('stripe_count: -1', 'stripecount: -1', "layouts.wide.stripecount: unknown key; did you mean 'stripe_"),
    ('limits:', 'bricks: 2\n    limits:', 'bricks: lustre cannot place files on chosen bricks; remove it'),
    ('type: lustre', 'type: lustre\n    osts: 0', 'osts: 0 is neither a number of targets nor a list; write how'),
    ('type: lustre', 'type: lustre\n    osts: [1, 1]', 'osts: 1 is listed twice; keep one'),
    ('type: lustre', 'type: lustre\n    mdts: [0, -1]', 'mdts: -1 is not the number of a target'),
    ('type: lustre', 'type: lustre\n    osts: true', 'osts: true is neither a number of targets nor a list'),
    ('  lab:login:', '  login:', "partitions.login: 'login' is not a partition; write ReFrame's system:partition"),
    ('  lab:login:', '  lab:logn:', 'partitions.lab:logn: settings.py has no such partition'),
    ('launcher: srun', 'launcher: mpirun', "launcher.kind: 'mpirun' is not a launcher"),
    ('tasks_per_node: 4', 'tasks_per_node: 2000000', 'tasks_per_node: 2000000 is too large for a number of tasks'),
    ('trials:\n', 'trials: []\nx:\n', 'trials: expected a list of values, found an empty list'),
    ('[access]', '[a-b]', "trials[0].checks[0]: 'a-b' is not a check"),
    ('[access]', '[access, access]', "trials[0].checks: 'access' is listed twice; keep one"),
    ('[lab:io]', '[lab:oi]', "trials[0].partitions[0]: 'lab:oi' is not a partition of this file"),
    ('[scratch]', '[scrach]', "file_systems[0]: 'scrach' is not a file system of this file; did you mean 'scratch'?"),
    ('[1, 2]', '[1, -2]', 'trials[0].nodes[1]: -2 is not a node count; write a whole number from 1'),
    ('[1, 2]', '[true]', 'trials[0].nodes[0]: true is not a node count'),
    ('    nodes:', '    layouts: [wid]\n    nodes:', "trials[0].layouts[0]: 'scratch' has no layout 'wid'"),
    ('limits:', 'prechecks: {mount: {command: [zpool, get], value: 1}}\n    limits:', 'prechecks.mount.value: '),
    ('limits:', 'telemetry: [bin/ask]\n    limits:', "telemetry: 'bin/ask' is a relative path"),
    ('state: state', f'state: x\nactions: {{a: {TUNABLE_WITHOUT_VALUES}}}', 'actions.a: values and {value} in start'),
    ('[1, 2]', '[1, 2]\n    enforce: [{F1: wide}]', "'wide' is not a limit of 'F1'; write a number above 0: {FN"),
    ('[1, 2]', '[1, 2]\n    enforce: [{F1: 0}]', "0 is not a limit of 'F1'"),
    ('[1, 2]', '[1, 2]\n    enforce: [{F1: 1.5, F2: 2}]', 'is not a line of text'),
    ('[1, 2]', '[1, 2]\n    enforce: [F1, {F1: 1.5}]', "'F1' is listed twice; keep one"),
    ('node: 4}', "node: 4, groups: {a: 'n[1-2]'}}", 'a single group cannot be compared'),
    ('node: 4}', "node: 4, groups: {a: 'n[1-2', b: n3}}", "'n[1-2' is not a list of nodes; write it as Slurm does"),
    ('node: 4}', "node: 4, groups: {a: '', b: n3}}", "'' is not a list of nodes"),
    ('node: 4}', "node: 4, groups: {a: 'n1;rm', b: n3}}", 'is not a list of nodes'),
    ('node: 4}', "node: 4, groups: {a: 'n[1-3]', b: n3}}", 'n3 is in a and in b; keep one'),
    *(
        ('{launcher: srun,', f'{{darshan: {path}, launcher: srun,', 'partitions.lab:io.darshan: ')
        for path in ('~/libdarshan.so', '$DARSHAN/lib.so', "''", '3', '[]')
    ),
    *(
        ('limits:', f'devices: [{path!r}]\n    limits:', 'is not a device; write a path without colon, as in /dev/')
        for path in ('sdb', '/srv/disk.img', '/dev/../srv/disk.img', '/dev/disk/by-path/pci-0000:00', '/dev/')
    ),
    ('    nodes:', '    fullness: 70\n    nodes:', '70 is not a fullness of a file system; write 1% to 90%'),
    ('    nodes:', '    fullness: 91%\n    nodes:', "'91%' is not a fullness of a file system"),
    ('    nodes:', '    budget: 0\n    nodes:', 'trials[0].budget: 0 is not a duration here; write 1s to 720h'),
    ('    nodes:', '    max_tasks: 1\n    nodes:', 'max_tasks: 1 tasks are fewer than the 2 nodes; write at least 2'),
    ('    nodes:', '    tasks_per_node: 5\n    nodes:', "trials[0].tasks_per_node: 5 is more than 'lab:io' has"),
    ('    nodes:', '    bytes_per_client: 1MiB\n    nodes:', "unknown key; did you mean 'bytes_per_task'?"),
    ('partitions: [lab:io]', 'partitions: [lab:login]', "the launcher of 'lab:login' is local and reaches one node"),
]


@pytest.mark.parametrize('old, new, words', ONE_PROBLEM, ids=[new[:40] or old[:40] for old, new, _ in ONE_PROBLEM])
def test_a_wrong_value_is_named_with_its_file_key_and_remedy(problems_with, old, new, words):
    assert any(line.startswith('trial.yaml: ') and words in line for line in problems_with(old, new))


def test_all_problems_are_reported_at_once(problems_with):
    assert len(problems_with('bytes: 4GiB, inodes: 1000', 'bytes: 4KB, inodes: -1, x: 1')) == 3


def test_all_contradictions_are_reported_at_once(problems_with):
    assert len(problems_with('[scratch]\n    nodes: [1, 2]', '[scrach]\n    nodes: [3]\n    max_tasks: 2')) == 2


def test_another_version_is_the_only_problem_reported(problems_with):
    assert len(problems_with('version: 1\nstate: state', 'version: 2\nfuture: true')) == 1


@pytest.mark.parametrize('text', ['[]', 'a', '7', '"x"'])
def test_a_file_that_is_not_a_mapping_is_refused_with_a_first_line_to_write(folder, text):
    (folder / 'trial.yaml').write_text(text)
    with pytest.raises(SiteError, match='expected the keys of a site, found .*; begin with version: 1'):
        load(folder)


def test_records_on_the_target_are_possible_if_the_site_allows_them(site_with):
    assert site_with('path: /scratch/trials', 'path: state/trials\n    records_on_target: true').state


def test_a_path_that_is_not_a_folder_is_named(tmp_path, folder):
    words = r'no/where: No such file or directory; name a folder that holds settings\.py'
    with pytest.raises(SiteError, match=words):
        load(tmp_path / 'no' / 'where')
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    for path in (tmp_path / 'loop', folder / 'trial.yaml'):
        with pytest.raises(SiteError, match='name a folder'):
            load(path)
    with pytest.raises(SiteError, match=r'a\\x00b: '):  # which no file system takes
        load('a\0b')


@pytest.mark.parametrize('name', ['trial.yaml', 'settings.py'])
def test_a_missing_file_and_a_directory_in_its_place_are_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(SiteError, match=f'^{name}: .*No such file or directory; put the file there$'):
        load(folder)
    (folder / name).mkdir()
    with pytest.raises(SiteError, match=f'^{name}: .*not a regular file; put the file there$'):
        load(folder)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('a = 1\nb = (', 'settings.py: line 2: SyntaxError: '),
        ('a = 1\n\nb = c', "settings.py: line 3: NameError: name 'c' is not defined"),
        ('import no_such_module_anywhere', 'settings.py: line 1: ModuleNotFoundError: '),
        ('raise SystemExit(3)', 'settings.py: line 1: SystemExit: 3'),
        ('raise ValueError("two\\nlines")', r'ValueError: two\nlines'),
        ('def f(): f()\nf()', 'settings.py: line 1: RecursionError: '),
        ('\0', 'settings.py: '),
        ('site_configuration = []', 'settings.py: it defines no dictionary site_configuration'),
        ('site_configuration = {}', 'partitions.lab:login: settings.py has no such partition'),
        ('site_configuration = {"systems": 7}', 'settings.py has no such partition'),
        ('site_configuration = {"systems": [7, {"partitions": [7, {}]}]}', 'settings.py has no such partition'),
    ],
)
def test_settings_that_do_not_work_are_one_line(folder, text, words):
    (folder / 'settings.py').write_text(text)
    with pytest.raises(SiteError) as caught:
        load(folder)
    assert words in caught.value.problems[0] and caught.value.problems[0].isprintable()


def test_settings_that_reframe_has_executed_are_not_executed_again(folder):
    settings = folder / 'settings.py'
    settings.write_text(settings.read_text() + "open(__file__ + '.executed', 'a').write('once')\n")
    (folder.parent / 'link').symlink_to(folder)
    import_module_from_file(str(folder.parent / 'link' / 'settings.py'), load_parents=True)
    assert load(folder).name == 'lab'
    assert (folder / 'settings.py.executed').read_text() == 'once'


# The words of a problem


@pytest.mark.parametrize(
    ('raw', 'safe'), [('\x1b[31m', r'\x1b[31m'), ('\ud800', r'\ud800'), ('a\u2028b', r'a\u2028b'), ('naïve', 'naïve')]
)
def test_control_characters_are_escaped(raw, safe):
    assert printable(raw) == safe


def test_a_flood_of_problems_is_cut():
    error = SiteError([str(number) for number in range(1000)])
    assert len(error.problems) == SHOWN_PROBLEMS
    assert error.problems[-1] == 'there are more problems; correct these first'


def test_where_no_word_is_known_none_is_offered():
    assert choice('x', []) == 'there is none to choose from'
