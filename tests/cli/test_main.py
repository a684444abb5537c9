"""A fault of a command line, a site or a check is one or two lines, exit status 64, and nothing is made."""

import grp
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import pytest

import seatrial
from fuse_lab import dead
from seatrial.check.session import ENVIRONMENT
from seatrial.cli import list as listing
from seatrial.cli.main import entry
from seatrial.model.owned import user_name
from seatrial.rules.registry import EFFECTS, RULES, all_rules
from seatrial.session import carry_out

COMMANDS = ['run', 'list']


def check_refusal(done, expected, lines=2):
    assert done.status == 64
    assert re.search(expected, done.err), done.err
    assert 'Traceback' not in done.err
    assert all(line.startswith('seatrial: ') for line in done.err.splitlines())
    assert len(done.err.splitlines()) <= lines
    assert done.out == ''


def test_the_version_is_told_and_a_command_that_is_none_refused(command):
    check_refusal(command('rum'), "No such command 'rum'")
    done = command('--version')
    assert (done.status, seatrial.__version__ in done.out) == (0, True)


@pytest.mark.parametrize('how', ['by its name', 'by the environment', 'as the only one'])
def test_a_site_that_administrators_maintain_is_found(command, site, tmp_path, monkeypatch, how):
    monkeypatch.setattr('seatrial.cli.options.SITES', tmp_path)
    if how == 'by the environment':
        monkeypatch.setenv('SEATRIAL_SITE_FOLDER', 'site')
        (tmp_path / 'second').mkdir()
        (tmp_path / 'second' / 'trial.yaml').write_text('')
    monkeypatch.chdir('/')
    done = command('list', f'--checks={site.checks}', *(['--site=site'] if how == 'by its name' else []))
    assert (done.status, ' of site, profile smoke' in done.out) == (0, True)


def test_each_user_of_a_site_may_have_a_state_directory_with_the_own_name(on_site, site):
    site.change('state: state', 'state: state-of-{user}')
    site.change('path: state/trials', 'path: "state-of-{user}/trials"')
    assert f'{site.folder}/state-of-{user_name(os.geteuid())}' in on_site('doctor').out


@pytest.mark.parametrize(
    ('words', 'heavy'),
    [('-h', 'polars pydantic reframe scipy'), ('list --site={0.folder} --checks={0.checks}', 'polars')],
)
def test_help_and_a_list_of_a_smoke_test_do_not_wait_for_libraries_that_they_do_not_use(site, words, heavy):
    code = 'import sys; from seatrial.cli.main import main; main(sys.argv[1:], standalone_mode=False)'
    code = f'{code}; sys.exit(bool(set({heavy.split()}) & set(sys.modules)))'
    assert subprocess.run([sys.executable, '-c', code, *words.format(site).split()]).returncode == 0


def test_what_slurm_tells_is_not_what_the_user_has_made_it_tell(monkeypatch):
    monkeypatch.setattr('sys.argv', ['seatrial', '--version'])
    for name in ('SQUEUE_STATES', 'SACCT_FORMAT', 'SLURM_CONF'):
        monkeypatch.setenv(name, 'own')
    with pytest.raises(SystemExit):
        entry()
    assert [name for name in ('SQUEUE_STATES', 'SACCT_FORMAT', 'SLURM_CONF') if name in os.environ] == ['SLURM_CONF']


@pytest.mark.parametrize('option', ['-h', '--help'])
def test_the_help_names_every_exit_status(command, option):
    done = command(option)
    assert done.status == 0
    named = re.findall(r'\d+ [A-Z]+|64 wrong usage|70 an error|130 interrupted before', ' '.join(done.out.split()))
    verdicts = ['0 PASS', '10 FAIL', '11 INVALID', '12 INCONCLUSIVE', '13 INCOMPLETE']
    assert named == [*verdicts, '64 wrong usage', '70 an error', '130 interrupted before']


@pytest.mark.parametrize('name', [*COMMANDS, 'doctor', 'clean'])
def test_a_site_that_is_not_there_is_named_with_the_remedy(command, name):
    check_refusal(command(name, '--site=nowhere'), 'nowhere: .*name a folder that holds', lines=1)


@pytest.mark.parametrize('name', COMMANDS)
@pytest.mark.parametrize(
    ('word', 'expected'),
    [
        ('Write', "'Write' .*; did you mean 'Writes'\\?"),
        ('--profile=nighty', "'nighty' .* 'first', 'smoke', 'nightly'"),
        ('--engine=fio2', "'fio2' .* 'iozone', 'bonnie..', 'ior', 'mdtest', 'fio', 'elbencho', 'dd', 'posixops'"),
        ('--system=cluster', "'cluster' .*; write local"),
    ],
)
def test_a_word_that_names_nothing_gets_the_nearest_one_or_the_list(on_site, name, word, expected):
    check_refusal(on_site(name, word), expected)


@pytest.fixture
def two_systems(site):
    second = "site_configuration['systems'].append({**site_configuration['systems'][0], 'name': 'other'})\n"
    site.settings.write_text(site.settings.read_text() + second)
    site.change('  local:default: {', '  other:default: {launcher: local, tasks_per_node: 1}\n  local:default: {')
    site.change('partitions: [local:default]', 'partitions: [local:default, other:default]')


@pytest.mark.parametrize('name', COMMANDS)
def test_several_systems_are_a_choice_that_is_asked_for(two_systems, on_site, name):
    check_refusal(on_site(name), 'several systems: choose one of them with --system local|other')
    if name == 'list':
        done = on_site(name, '--system=other')
        assert (done.status, 'local:default' in done.out, 'other:default' in done.out) == (0, False, True)


def test_the_nights_of_several_systems_are_not_mixed(two_systems, site, command, monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')  # no Slurm

    def status(*words):
        return command('status', f'--site={site.folder}', '--profile=smoke', *words)

    check_refusal(status(), 'choose one of them with --system local|other')
    check_refusal(status('--system=third'), "'third' is not a system of the profile smoke")
    assert status('--system=other').status == 13  # nothing has run yet
    remedy = 'make a site folder with its own state for each'
    check_refusal(status('--system=other', '--notify'), remedy)
    check_refusal(command('schedule', f'--site={site.folder}', '--profile=smoke'), remedy)
    assert command('schedule', f'--site={site.folder}', '--profile=smoke', '--remove').status == 0


@pytest.mark.parametrize('name', ['a b', "it's", '50%j', 'back\\slash'])
def test_a_state_below_which_reframe_starts_nothing_is_refused(on_site, site, command, name):
    site.change('state: state', f'state: {json.dumps(name)}')
    check_refusal(on_site('list'), 'trial.yaml: state: ReFrame cannot start jobs below ')
    done = command('doctor', f'--site={site.folder}')
    assert re.search(r'- missing +state +trial.yaml: state: ReFrame', done.out), done.out


@pytest.mark.parametrize('name', COMMANDS)
def test_a_profile_for_which_no_trial_has_cases_is_said(on_site, site, name):
    site.change('nodes: [1]', 'nodes: [1], profiles: [nightly]')
    words = 'trial.yaml: trials: no trial has cases for the profile smoke; there are cases with --profile nightly, '
    check_refusal(on_site(name), words + 'or add smoke to the profiles of a trial', lines=1)


FIXED = 'bytes_per_task: 1MiB'
TRIAL_FAULTS = {
    'an unknown check': ("['*']", '[Wriets]', "trials\\[0\\].checks.*: 'Wriets' is .*; did you mean 'Writes'"),
    'bytes that do not divide': (
        FIXED,
        'bytes_per_task: 1000000',
        ' B a task is not a multiple of the .* 4KiB, 64KiB',
    ),
    'state on the target': (', records_on_target: true', '', 'the state directory .* lies on this file system'),
}


@pytest.mark.parametrize('fault', TRIAL_FAULTS)
@pytest.mark.parametrize('name', COMMANDS)
def test_a_fault_of_trial_yaml_is_one_line_with_file_key_and_remedy(on_site, site, name, fault):
    old, new, expected = TRIAL_FAULTS[fault]
    site.change(old, new)
    if fault == 'state on the target':
        site.change('path: state/trials', f'path: {site.folder}')
    check_refusal(on_site(name), expected, lines=1)
    assert not (site.folder / 'state').exists()


@pytest.mark.parametrize('name', COMMANDS)
@pytest.mark.parametrize(
    ('text', 'expected'),
    [('def broken(\n', 'check.py: SyntaxError'), ('1 / 0\n', 'check.py: line 1: ZeroDivisionError')],
)
def test_a_check_file_that_does_not_import_is_named_and_nothing_runs(on_site, site, name, text, expected):
    # To ReFrame it would be a warning and "Ran 0/0 PASSED".
    site.check.write_text(text)
    check_refusal(on_site(name), expected)
    assert not (site.folder / 'state').exists()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_end_before_anything_was_begun_has_a_status_of_its_own(on_site, site, monkeypatch, number):
    monkeypatch.setattr(carry_out, 'plan_of', lambda *_: os.kill(os.getpid(), number))
    assert (on_site('run').status, (site.folder / 'state').exists()) == (130, False)


@pytest.mark.parametrize('key', ['state', 'path'])
def test_a_path_of_blanks_is_refused(on_site, site, key):
    text = site.trial.read_text()
    site.trial.write_text(re.sub(rf'{key}: [a-z/]+', f'{key}: "  "', text))
    check_refusal(on_site('list'), rf"trial.yaml: .*{key}: '  ' is not a line of text; write one")


def test_an_error_of_our_own_is_said_to_be_one_and_keeps_its_traceback(on_site, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr(listing, 'plan_of', lambda *_: 1 / 0)
    done = on_site('list')
    (kept,) = tmp_path.glob('seatrial-error-*.txt')
    assert (done.status, 'an error of Seatrial itself: ZeroDivisionError' in done.err) == (70, True)
    assert str(kept) in done.err
    assert 'Traceback' in kept.read_text()


OF_MODULES = "'modules': ['seatrial/fio'], 'environs': ["


@pytest.mark.parametrize('name', COMMANDS)
@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ("'environs': [", OF_MODULES, "local: modules are named, and modules_system is 'nomod'; write lmod"),
        (
            "'scheduler': 'local'",
            "'scheduler': 'slrm'",
            "ReFrame refuses it: .*no such scheduler: 'slrm'; did you mean",
        ),
    ],
)
def test_settings_that_reframe_refuses_or_would_not_heed_start_nothing(on_site, site, name, old, new, words):
    site.change(old, new, 'settings.py')
    check_refusal(on_site(name), f'settings.py: {words}', lines=1)
    assert not site.sessions()


# A state directory that others may change

SESSION = '20261121T020638-9f3a1c'
REMEDY = 'name another directory, which Seatrial will make: state: '
OF_STATE = (
    *('run', 'list', 'plan', 'report', 'verify', 'status', 'clean', 'clean --yes', 'trend', 'adopt', 'compare a b'),
    *('history list', f'history show {SESSION}', 'history import x.parquet', 'history export --output x.csv'),
    *('history prune --before 2026-01-01', 'accept --judge', 'annotate 2026-11-21 upgrade', f'baseline {SESSION}'),
    *('schedule', 'schedule --install', 'schedule --remove', 'bundle --output x.zip', 'derive x.darshan --name X'),
)


def others_may_write(site, folder):
    folder.chmod(0o777)


def its_group_may_write(site, folder):
    folder.chmod(0o770)


def another_user_has_it(site, folder):
    if os.geteuid() != 0:
        pytest.skip('only root can give a directory away')
    os.chown(folder, 1234, 1234)


def a_link_of_another_user_leads_there(site, folder):
    another_user_has_it(site, folder)
    os.chown(folder, 0, 0)
    folder.rename(site.folder / 'elsewhere')
    folder.symlink_to(site.folder / 'elsewhere')
    os.lchown(folder, 1234, 1234)


WAYS = [others_may_write, its_group_may_write, another_user_has_it, a_link_of_another_user_leads_there]


@pytest.fixture
def used(site):
    """A state directory with a session in it."""
    folder = site.folder / 'state'
    (folder / 'sessions' / SESSION).mkdir(parents=True)
    return folder


@pytest.fixture
def ask(command, site, used, tmp_path, monkeypatch):
    """A command on the site, in a folder of the test."""
    monkeypatch.chdir(tmp_path)

    def asked(words):
        name, *more = words.split(' ', 1)
        if name == 'history':
            return command(name, *more[0].split(), f'--site={site.folder}')
        extra = [f'--checks={site.checks}'] if name in ('run', 'list', 'plan', 'accept', 'schedule', 'report') else []
        return command(name, f'--site={site.folder}', *extra, *(more[0].split() if more else ()))

    return asked


@pytest.mark.parametrize('words', OF_STATE)
def test_a_state_directory_that_others_may_write_to_is_used_by_no_command(ask, used, words):
    others_may_write(None, used)
    before = sorted(used.rglob('*'))
    done = ask(words)
    assert done.err.startswith(f'seatrial: trial.yaml: state: others may write to {used} (mode 0777), '), done
    assert (done.status, len(done.err.splitlines()), sorted(used.rglob('*'))) == (64, 1, before)


@pytest.mark.parametrize('below', ['', 'sessions', 'locks', 'history', 'schedule'])
@pytest.mark.parametrize('way', WAYS, ids=lambda way: way.__name__)
def test_nor_is_one_whose_folders_others_may_change(ask, site, used, way, below):
    folder = used / below if below else used
    folder.mkdir(exist_ok=True)
    way(site, folder)
    done = ask('run')
    assert (done.status, str(folder) in done.err, site.sessions()) == (64, True, [used / 'sessions' / SESSION]), done


@pytest.mark.parametrize('way', WAYS, ids=lambda way: way.__name__)
def test_nor_a_session_whose_folder_others_may_change(ask, past, site, used, way):
    folder = past(SESSION)
    way(site, folder)
    assert [ask(words).status for words in ('report', 'verify')] == [64, 64]
    assert str(folder) in ask('verify').err


@pytest.mark.parametrize('way', WAYS, ids=lambda way: way.__name__)
def test_doctor_shows_a_state_directory_that_others_may_change_as_missing(on_site, site, used, way):
    way(site, used / 'sessions')
    done = on_site('doctor')
    (line,) = (line for line in done.out.splitlines() if line.split()[2:3] == ['state'])
    assert (done.status, str(used / 'sessions') in line) == (64, True), line


@pytest.fixture
def made_first(site, everybodys, second_user):
    """The state directory of the site, which a second user made before its owner could."""
    site.change('state: state\n', f'state: {everybodys}/state\n')
    assert second_user('mkdir -p state/sessions state/locks state/history state/schedule') == 0
    return everybodys / 'state'


@pytest.mark.parametrize('words', OF_STATE)
def test_one_that_a_second_user_has_made_first_is_used_by_no_command(ask, made_first, words):
    before = sorted(made_first.rglob('*'))
    done = ask(words)
    assert (done.status, str(made_first) in done.err, REMEDY in done.err) == (64, True, True), done
    assert sorted(made_first.rglob('*')) == before


def test_a_runner_that_a_second_user_has_put_into_a_session_is_not_started(ask, made_first, second_user):
    (made_first / 'sessions' / SESSION).mkdir()
    program = 'open("../../../ran", "w")'
    swap = f"cd state/sessions\nmv {SESSION} away\nmkdir {SESSION}\necho '{program}' > {SESSION}/runner.pyz"
    assert second_user(swap) == 0
    assert [ask(words).status for words in ('run', 'report', 'verify', 'clean --yes')] == [64] * 4
    assert not (made_first.parent / 'ran').exists()


def test_what_is_made_where_all_users_may_write_no_second_user_changes(ask, site, everybodys, second_user):
    os.umask(0)
    site.change('state: state\n', f'state: {everybodys}/state\n')
    assert ask('annotate 2026-11-21 upgrade').status == 0
    for line in ('mv state away', 'mv state/history away', 'touch state/history/x', 'mkdir state/sessions'):
        assert second_user(line) != 0, line
    assert ask('history list').status == 0


def test_to_type_what_is_said_is_enough(ask, site, used):
    """Also if others may write to the folder that a link leads to, or to one above that."""
    elsewhere = site.folder / 'above' / 'elsewhere'
    elsewhere.mkdir(mode=0o700, parents=True)
    (used / 'history').symlink_to(elsewhere)
    for folder in (used, used / 'sessions', used / 'sessions' / SESSION, elsewhere, elsewhere.parent):
        others_may_write(site, folder)
    remedy = ask('history list').err.rpartition('type: ')[2]
    assert subprocess.run(['sh', '-c', remedy]).returncode == 0
    assert ask('history list').status == 0


def test_what_is_made_under_a_umask_that_lets_the_group_write_is_not_refused(ask, site):
    os.umask(0o002)
    site.change('state: state\n', 'state: fresh\n')
    assert ask('annotate 2026-11-21 upgrade').status == 0
    modes = {path.stat().st_mode & 0o022 for path in (site.folder / 'fresh', site.folder / 'fresh' / 'history')}
    assert (modes, ask('history list').status) == ({0}, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason='only root makes directories of root')
def test_one_of_root_that_others_may_only_read_is_read(ask, site, used, monkeypatch):
    monkeypatch.setattr(os, 'geteuid', lambda: 1234)
    assert ask('history list').status == 0


@pytest.fixture
def below(site):
    """A state directory two folders below one of the site's, which a link leads to; nobody else can change any."""
    (site.folder / 'above' / 'between').mkdir(parents=True)
    (site.folder / 'links').mkdir()
    (site.folder / 'links' / 'to').symlink_to('../above')
    site.change('state: state\n', 'state: links/to/between/state\n')
    return site.folder / 'above' / 'between' / 'state'


@pytest.mark.parametrize('words', ['run', 'history list'])
def test_one_that_others_may_replace_from_above_is_used_by_no_command(ask, below, words):
    below.mkdir()
    others_may_write(None, below.parents[1])
    done = ask(words)
    assert done.err.startswith(f'seatrial: trial.yaml: state: others may write to {below.parents[1]} (mode 0777), ')
    assert (done.status, len(done.err.splitlines()), os.listdir(below)) == (64, 1, []), done


@pytest.mark.parametrize('way', [others_may_write, its_group_may_write, another_user_has_it])
@pytest.mark.parametrize('name', ['above', 'above/between', 'links'])
def test_every_directory_on_the_way_to_it_is_judged_and_what_is_said_helps(ask, site, below, way, name):
    way(site, site.folder / name)
    done = ask('history list')
    assert (done.status, str(site.folder / name) in done.err) == (64, True), done
    if ', type: ' in done.err:
        assert subprocess.run(['sh', '-c', done.err.rpartition(', type: ')[2]]).returncode == 0
    else:
        site.change('state: links/to/between/state\n', f'state: {done.err.rpartition("state: ")[2]}')
    assert ask('annotate 2026-11-21 upgrade').status == 0


def test_below_a_directory_of_all_with_the_sticky_bit_it_is_used(ask, below):
    below.parents[1].chmod(0o1777)
    assert ask('annotate 2026-11-21 upgrade').status == 0


def test_the_group_that_the_site_names_may_read_it_and_not_write(ask, site, below):
    group = grp.getgrgid(os.getgroups()[-1] if os.geteuid() else 1).gr_name
    site.change('state: links', f'state_group: {group}\nstate: links')
    assert ask('annotate 2026-11-21 upgrade').status == 0
    stats = {path: path.stat() for path in (below, below / 'history')}
    assert {grp.getgrgid(stat.st_gid).gr_name for stat in stats.values()} == {group}
    assert {stat.st_mode & 0o077 for stat in stats.values()} == {0o050}
    assert ask('history list').status == 0


# Code that others may change


IN_CHECKS = ['checks', 'checks/files', 'checks/files/check.py', 'checks/files/__pycache__']


@pytest.mark.parametrize('way', [others_may_write, its_group_may_write, another_user_has_it])
@pytest.mark.parametrize('name', ['', 'settings.py', 'trial.yaml', *IN_CHECKS])
def test_settings_and_checks_that_others_may_change_are_not_executed(on_site, site, way, name):
    (site.checks / 'files' / '__pycache__').mkdir()
    file = site.check if name.startswith('checks') else site.settings
    file.write_text(f'open({str(site.folder / "executed")!r}, "w").close()\n{file.read_text()}')
    way(site, site.folder / name)
    done = on_site('run')
    assert (done.status, str(site.folder / name) in done.err) == (64, True), done
    assert not {'executed', 'state'} & set(os.listdir(site.folder))


def test_what_is_said_of_code_that_others_may_change_is_enough(on_site, site):
    for path in (site.folder, site.settings, site.checks / 'files', site.check):
        path.chmod(0o777)
    for _ in ('the checks', 'the site'):
        done = on_site('list')
        assert subprocess.run(['sh', '-c', done.err.rpartition(', type: ')[2]]).returncode == 0, done
    assert on_site('list').status == 0


def test_a_directory_for_trials_in_the_state_is_looked_at_by_its_own_rule(ask, site, used):
    (used / 'trials').mkdir()
    (used / 'trials').chmod(0o1777)
    assert ask('history list').status == 0


def test_plain_reframe_does_not_use_one_that_others_may_change(site, used):
    others_may_write(site, used)
    argv = [os.path.join(os.path.dirname(sys.executable), 'reframe'), '-C', site.settings, '-c', site.checks, '-R']
    argv += ['-r', f'--prefix={site.folder}/reframe']
    environment = {name: value for name, value in os.environ.items() if name != ENVIRONMENT}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 64, done.stdout + done.stderr
    assert f'trial.yaml: state: others may write to {used} (mode 0777)' in done.stderr


@pytest.mark.parametrize('word', ['T8', 't8'])
def test_a_rule_is_said_with_its_effect_remedy_and_source(command, word):
    done, rule = command('explain', word), RULES['T8']
    words = 'T8', rule.title, rule.when, EFFECTS[rule.effect], rule.remedy, rule.source
    assert (done.status, [text for text in words if text not in done.out]) == (0, [])


def test_all_rules_are_listed_once(command):
    assert sorted(line.split()[0] for line in command('explain').out.splitlines()) == sorted(all_rules())


@pytest.mark.parametrize(
    ('word', 'status', 'words'),
    [
        ('T88', 64, "seatrial: there is no rule 'T88'; did you mean 'T8"),
        ('p16x', 64, "seatrial: there is no rule 'p16x'; did you mean 'P16"),
        *(('MFWA', 0, 'MFWA: '), ('rank', 0, 'task (rank): '), ('fpp', 0, 'MFWA: ')),
    ],
)
def test_a_word_of_the_glossary_is_explained_and_the_nearest_rule_named(command, word, status, words):
    done = command('explain', word)
    assert (done.status, (done.out + done.err).startswith(words)) == (status, True)


# A file system that never answers: each command ends by itself, within its documented deadline

LATEST_S = 240.0
"""Each asks a file system of the site once, a second long, and a session in each case; the rest is load."""

IMPATIENT = 'import seatrial.model.ask as ask; ask.ANSWER_S = 1.0; from seatrial.cli.main import entry; entry()'


@pytest.mark.slow
@pytest.mark.parametrize(
    ('place', 'asking', 'others'),
    [
        ('scratch', {'doctor': 64, 'clean': 13, 'run': 13}, {'status': 13, 'list': 0}),
        pytest.param('state', {'doctor': 64, 'clean': 13, 'run': 64, 'history list': 64}, {}, marks=pytest.mark.long),
    ],
)
def test_a_target_or_a_state_directory_that_is_hung_keeps_no_command(site, past, place, asking, others):
    past(SESSION)
    (site.folder / 'scratch').mkdir()
    site.change('path: state/trials', f'path: {site.folder}/{place if place == "scratch" else "state/trials"}')
    begun = {}
    with dead(site.folder / place):
        for words in (*asking, *others):
            argv = [sys.executable, '-c', IMPATIENT, *words.split(), f'--site={site.folder}']
            argv += [f'--checks={site.checks}'] if words in ('list', 'doctor', 'run') else []
            begun[words] = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            outputs = {words: process.communicate(timeout=LATEST_S)[0] for words, process in begun.items()}
        finally:
            for process in begun.values():
                process.kill()
    assert {words: process.returncode for words, process in begun.items()} == {**asking, **others}, outputs
    for words in asking:
        silent = rf'{site.folder}/{place}: the file system(, mounted from \S+,)? does not answer'
        assert re.search(silent, outputs[words].replace('\n', ' ')), outputs[words]


# The state directory of version 0.1: three sessions, an allocation of a contract, a scheduled trial


@pytest.mark.parametrize(
    ('argv', 'status', 'pattern'),
    [
        (['history', 'list'], 0, '20261128T161758-8f5bf3 .* 20261128T161827-ce35f6 .* 20261128T161930-e4efa1'),
        (['report'], 0, '= MEASURED +session 20261128T161930-e4efa1'),
        (['verify', '20261128T161827-ce35f6'], 0, 'chain of the records ends with 938227df'),
        (['compare', '20261128T161758-8f5bf3', '20261128T161827-ce35f6'], 0, '3 metrics: 3 undecided'),
        (['accept', '--judge'], 0, 'PASS +1 met'),
        (['status', '--profile=nightly'], 13, 'every day at 02:00'),
        (['clean'], 0, 'Nothing is left behind'),
        (['doctor'], 0, 'session 20261128T161930-e4efa1 had 0.1.0, .*; CHANGELOG.md says what changed'),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else '',
)
def test_what_version_0_1_has_left_is_read(command, repository, tmp_path, argv, status, pattern):
    kept = repository / 'tests/transcripts/seatrial/state-0.1.tar.xz'
    subprocess.run(['tar', '-xJf', kept, '--no-same-owner'], cwd=tmp_path, check=True)
    done = command(*argv, '--site', tmp_path / 'site')
    assert done.status == status, done
    assert re.search(pattern, ' '.join(done.out.split()))
