"""`seatrial schedule`: its output, enabling and disabling, and the work of a scheduled job."""

import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_site import executable
from nights import plain, wait_until_opened
from nights import session as session_of
from seatrial.cli import schedule as schedule_module
from seatrial.history.store import write
from seatrial.nights import scheduled_job as night_module
from seatrial.nights import standing
from seatrial.scheduler.order import with_block
from seatrial.scheduler.series import QUEUE_LOCK, alone, file_of, job_name
from seatrial.site.calendar import DAYS, Calendar

PROGRAMS = ('scrontab', 'sbatch', 'squeue', 'scancel', 'scontrol')
TITLE = 'seatrial-site-nightly'
HOUR = (datetime.now().hour + 12) % 24
AT, LATER = f'--at={HOUR:02d}:00', f'--at={(HOUR + 1) % 24:02d}:00'
"""Far from now, so that no run falls due in the course of a test."""


@dataclasses.dataclass
class Cluster:
    """The stand-in for Slurm, and its current state."""

    file: Path

    def __getitem__(self, key):
        return json.loads(self.file.read_text())[key]

    def set(self, **values):
        self.file.write_text(json.dumps({**json.loads(self.file.read_text()), **values}))

    def calls(self, program):
        return [call[1:] for call in self['calls'] if call[0] == program]


@pytest.fixture
def cluster(tmp_path, repository, monkeypatch):
    """Slurm without scrontab, unless `cluster.set(scrontab=True)`."""
    folder = tmp_path / 'slurm'
    source = (repository / 'tests' / 'stubs' / 'slurm.py').read_text()
    for program in PROGRAMS:
        executable(folder / program, f'#!{sys.executable} -IS\n{source}')
    made = Cluster(folder / 'cluster.json')
    empty = {'scrontab': False, 'jobs': [], 'crontab': None, 'fault': '', 'next': 7, 'calls': []}
    made.file.write_text(json.dumps(empty))
    monkeypatch.setenv('PATH', f'{folder}:{os.environ["PATH"]}')
    return made


@pytest.fixture
def submits(site):
    """The site, whose ReFrame submits jobs."""
    access = "'access': ['--partition=compute', '--exclusive']"
    site.change("'scheduler': 'local'", f"'scheduler': 'slurm', {access}", 'settings.py')
    return site


def directives(text, mark):
    return [line.removeprefix(f'{mark} ') for line in text.splitlines() if line.startswith(mark)]


def next_due(count=2, hour=HOUR):
    return [f'{due:%Y-%m-%dT%H:%M:%S}' for due in Calendar(hour, 0).after(datetime.now().astimezone(), count)]


def series(site):
    """The path that identifies the scheduled trial of a site, which `--series` takes."""
    return site.folder / 'state' / 'schedule' / TITLE


def job(site, due):
    """The arguments of a job of the script."""
    return '--now', f'--series={series(site)}', f'--due={due}'


def dues(cluster):
    """When the jobs in the queue are due, in the order of their numbers."""
    return [job['command'].split()[-1] for job in sorted(cluster['jobs'], key=lambda job: int(job['id']))]


def record(site):
    return json.loads(series(site).with_suffix('.json').read_text())


def add_to_trial(site, text):
    """Append a line to trial.yaml."""
    site.trial.write_text(f'{site.trial.read_text()}{text}\n')


# What is printed


def test_the_script_is_the_allocation_of_the_cases_and_a_small_job_where_reframe_submits(request, on_site, cluster):
    options = directives(on_site('schedule').out, '#SBATCH')
    assert {'--nodes=1', '--ntasks-per-node=2', '--exclusive'} <= set(options)
    submits = request.getfixturevalue('submits')
    options = directives(on_site('schedule').out, '#SBATCH')
    name = f'--job-name={job_name(series(submits))}'
    assert {'--nodes=1', '--ntasks=1', '--no-requeue', '--dependency=singleton', name} <= set(options)
    # Two cases, each with its budget of 600 s, launches of 120 s, 600 s to remove and 60 s to start; 600 s to tell.
    assert '--exclusive' not in options and '--time=56' in options


def test_the_script_is_one_for_a_shell_and_runs_this_seatrial(on_site, submits, cluster, seatrial):
    text = on_site('schedule').out
    assert not (submits.folder / 'state').exists() and {call[0] for call in cluster['calls']} <= {'scontrol'}
    assert text.startswith('#!/bin/sh\n')
    assert subprocess.run(['sh', '-n'], input=text, text=True).returncode == 0
    argv = shlex.split(text.splitlines()[-1])
    assert argv[:3] == ['exec', seatrial, 'schedule']
    options = {f'--series={series(submits)}', '--due=$1', '--now'}
    assert options | {f'--site={submits.folder}', f'--checks={submits.checks}', '--profile=nightly'} <= set(argv)


def test_sites_of_the_same_name_have_jobs_of_different_names(on_site, submits, cluster, tmp_path):
    other = tmp_path / 'other' / 'site'
    shutil.copytree(submits.folder, other)
    options = [directives(on_site('schedule', *more).out, '#SBATCH') for more in ((), (f'--site={other}',))]
    assert len({option for of_site in options for option in of_site if 'job-name' in option}) == 2


@pytest.mark.parametrize(
    ('name', 'chdir', 'output'),
    [
        ('a state', '"{}/a state"', '"{}/a state/schedule/{}.log"'),
        ("it's", '"{}/it\'s"', '"{}/it\'s/schedule/{}.log"'),
        ('a "state"', '"{}/a \\"state\\""', '"{}/a \\"state\\"/schedule/{}.log"'),
    ],
)
def test_a_path_stands_in_the_script_as_slurm_reads_it(on_site, submits, cluster, name, chdir, output):
    submits.change('state: state', f'state: {json.dumps(name)}')
    options = directives(on_site('schedule').out, '#SBATCH')
    folder = submits.folder
    assert {f'--chdir={chdir.format(folder)}', f'--output={output.format(folder, TITLE)}'} <= set(options)


def test_where_slurm_has_scrontab_its_entry_is_printed(on_site, submits, cluster):
    cluster.set(scrontab=True)
    text = on_site('schedule', '--at=23:05').out
    assert text.splitlines()[-2].startswith('5 23 * * * exec ')
    assert '--due' not in text
    assert '--dependency=singleton' in directives(text, '#SCRON')


def test_the_site_says_how_its_job_is_submitted(on_site, submits, cluster):
    nightly = 'at: 20:30, days: [sat], access: [--partition=admin], licence: tide, time_limit: 90min'
    add_to_trial(submits, f'schedule: {{nightly: {{{nightly}}}}}')
    text = on_site('schedule', '--as=scrontab').out
    options = directives(text, '#SCRON')
    assert {'--partition=admin', '--licenses=tide', '--time=90'} <= set(options)
    assert '30 20 * * 6 exec' in text
    assert '--deadline=80min' in text


def test_a_short_limit_leaves_half_of_it_to_the_session(on_site, submits, cluster):
    submits.change('bytes_per_task: 1MiB', 'bytes_per_task: 1MiB, budget: 4min')
    add_to_trial(submits, 'schedule: {nightly: {time_limit: 8min}}')
    assert '--deadline=4min' in on_site('schedule').out


@pytest.mark.parametrize(
    ('entry', 'warning'),
    [
        ('', 'would never start'),  # the job sits on the nodes of its cases
        ("access: ['--partition=admin,compute']", 'a core of partition compute'),
        ('access: [--partition=admin]', ''),
        ('access: [--partition=admin], time_limit: 25h', 'longer than the time between two runs'),
    ],
)
def test_people_are_warned_of_a_job_in_the_way_of_cases_or_the_next_run(on_site, submits, cluster, entry, warning):
    add_to_trial(submits, f'schedule: {{nightly: {{{entry}}}}}')
    output = on_site('schedule').err
    assert warning in output if warning else 'would never start' not in output


@pytest.mark.parametrize(
    ('state', 'words'),
    [
        ("'back\\slash'", 'a path with a backslash; choose another folder for state'),  # Slurm would drop it
        ('state', 'the job holds the licence tide, so its cases would wait for it for ever'),
    ],
)
def test_what_slurm_would_not_take_as_it_is_meant_is_refused(on_site, submits, cluster, state, words):
    submits.change("'--exclusive'", "'--licenses=tide:1'", 'settings.py')
    submits.change('state: state', f'state: {state}')
    add_to_trial(submits, 'schedule: {nightly: {licence: tide}}')
    done = on_site('schedule')
    assert (done.status, done.out, words in done.err) == (64, '', True), done.err


@pytest.mark.parametrize(
    ('entry', 'expected'),
    [
        ('{at: 25:00}', "at: '25:00' is"),
        ('{days: [monday]}', "days[0]: 'monday' is not a day; did you mean 'mon'?"),
        ('{access: [-p admin]}', "access[0]: '-p admin' is"),
        ('{licence: two words}', "licence: 'two words' is"),
        ('{inconclusive_nights: 0}', 'inconclusive_nights: 0 is'),
        ('{hour: 2}', 'hour: unknown key'),
    ],
)
def test_a_fault_of_the_schedule_is_one_line_with_its_place_and_remedy(on_site, submits, entry, expected):
    add_to_trial(submits, f'schedule: {{nightly: {entry}}}')
    done = on_site('schedule', '--as=sbatch')
    assert (done.status, f'schedule.nightly.{expected}' in done.err) == (64, True), done.err


# Installing the script


def test_two_jobs_are_put_into_the_queue_for_the_next_two_nights_once(on_site, submits, cluster):
    done = on_site('schedule', '--install', AT)
    assert done.status == 0, done.err
    script = submits.folder / 'state' / 'schedule' / f'{TITLE}.sbatch'
    assert [job['command'] for job in cluster['jobs']] == [f'{script} {due}' for due in next_due()]
    assert [call[1] for call in cluster.calls('sbatch')] == [f'--begin={due}' for due in next_due()]
    assert script.read_text() == on_site('schedule', AT).out
    assert record(submits)['form'] == 'sbatch'
    before = (cluster['jobs'], record(submits))
    assert 'nothing was changed' in on_site('schedule', '--install', AT).out
    assert (cluster['jobs'], record(submits)) == before
    on_site('schedule', '--install', LATER)  # which replaces the jobs that wait
    assert dues(cluster) == next_due(hour=(HOUR + 1) % 24)
    assert record(submits)['calendar'][:2] == [(HOUR + 1) % 24, 0]


def test_a_run_that_was_taken_out_does_not_wait_for_the_one_of_the_next_night(on_site, submits, cluster):
    # singleton: a job waits for every one with a lower number.
    on_site('schedule', '--install', AT)
    cluster.set(jobs=cluster['jobs'][1:])
    on_site('schedule', '--install', AT)
    assert dues(cluster) == next_due()


def test_a_job_that_is_held_back_by_slurm_keeps_its_place(on_site, submits, cluster):
    on_site('schedule', '--install', AT)
    first, _ = cluster['jobs']
    late = {**first, 'command': f'{first["command"].split()[0]} 2020-01-01T02:00:00'}
    cluster.set(jobs=[late])
    on_site('schedule', '--install', AT)
    assert dues(cluster) == ['2020-01-01T02:00:00', next_due()[0]]


def test_the_cluster_that_the_user_has_chosen_is_asked(on_site, submits, cluster, monkeypatch, tmp_path):
    monkeypatch.setenv('SLURM_CLUSTERS', 'deep')
    monkeypatch.setenv('SLURM_NTASKS', '7')
    squeue = tmp_path / 'slurm' / 'squeue'
    squeue.write_text(f'#!/bin/sh\necho "$SLURM_CLUSTERS,$SLURM_NTASKS" > {tmp_path}/seen\n')
    on_site('schedule', '--install', AT)
    assert (tmp_path / 'seen').read_text() == 'deep,\n'


def test_one_installation_waits_for_the_other(submits, cluster, seatrial):
    (submits.folder / 'state').mkdir()
    lock = file_of(series(submits), QUEUE_LOCK)
    argv = [seatrial, 'schedule', f'--site={submits.folder}', f'--checks={submits.checks}', '--install', AT]
    with alone(lock):
        other = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        wait_until_opened(other, lock)
        time.sleep(1.0)  # without the lock it would be done by now
        assert cluster.calls('squeue') == cluster.calls('sbatch') == []
    assert 'is in the queue for' in other.communicate(timeout=300)[0]
    assert dues(cluster) == next_due()


def test_a_job_that_runs_is_left_alone(on_site, submits, cluster):
    on_site('schedule', '--install', AT)
    first, second = cluster['jobs']
    cluster.set(jobs=[{**first, 'state': 'RUNNING'}, second])
    on_site('schedule', '--install', LATER)
    assert cluster['jobs'][0] == {**first, 'state': 'RUNNING'}


def test_jobs_of_others_and_of_other_sites_are_left_alone(on_site, submits, cluster):
    common = {'name': job_name(series(submits)), 'state': 'PENDING', 'reason': 'x', 'command': '/a/b 1'}
    others = [{**common, 'id': '1', 'uid': os.geteuid() + 1}, {**common, 'id': '2', 'uid': os.geteuid()}]
    cluster.set(jobs=others)
    on_site('schedule', '--install', AT)
    on_site('schedule', '--install', LATER)
    on_site('schedule', '--remove')
    assert cluster['jobs'] == others


def test_jobs_whose_argument_was_lost_do_not_pile_up(on_site, submits, cluster):
    on_site('schedule', '--install', AT)
    cluster.set(jobs=[{**job, 'command': job['command'].split()[0]} for job in cluster['jobs']])
    on_site('schedule', '--install', AT)
    assert len(cluster['jobs']) == 2


def test_removing_takes_the_jobs_out_and_leaves_log_and_metrics(on_site, submits, cluster):
    on_site('schedule', '--install', AT)
    log = submits.folder / 'state' / 'schedule' / f'{TITLE}.log'
    log.write_text('evidence')
    assert on_site('schedule', '--remove').status == 0
    assert (cluster['jobs'], log.read_text()) == ([], 'evidence')
    assert 'nothing is enabled' in on_site('schedule', '--remove').out


def test_status_announces_no_run_of_what_was_removed_until_it_is_enabled_again(on_site, submits, cluster, command):
    add_to_trial(submits, "schedule: {nightly: {at: '02:00'}}")
    on_site('schedule', '--install')
    on_site('schedule', '--remove')
    output = command('status', f'--site={submits.folder}').out
    assert ('profile nightly, not scheduled' in output, 'next run' in output) == (True, False)
    on_site('schedule', '--install')
    assert 'next run' in command('status', f'--site={submits.folder}').out


@pytest.mark.parametrize('form', ['sbatch', 'scrontab'])
def test_what_is_in_force_without_a_record_is_taken_out_all_the_same(on_site, submits, cluster, form):
    cluster.set(scrontab=form == 'scrontab', crontab='# mine\n')
    on_site('schedule', '--install', AT)
    for file in series(submits).parent.iterdir():
        file.unlink()
    done = on_site('schedule', '--remove')
    assert (done.status, cluster['jobs'], cluster['crontab']) == (0, [], '# mine\n')


def test_without_slurm_nothing_is_in_force_and_nothing_can_be(on_site, submits, monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    done = on_site('schedule', '--remove')
    assert (done.status, 'nothing is enabled' in done.out) == (0, True)
    done = on_site('schedule', '--install', AT)
    assert (done.status, 'squeue is not on the PATH' in done.err) == (64, True)
    assert on_site('schedule', '--as=scrontab').out.startswith('# BEGIN seatrial nightly of ')
    assert on_site('schedule', '--as=sbatch', '--at=2 am').status == 64


def test_what_slurm_refuses_is_said_in_its_words_and_is_not_in_force(on_site, submits, cluster):
    cluster.set(fault='Invalid account')
    done = on_site('schedule', '--install', '--as=sbatch')
    assert (done.status, 'Invalid account' in done.err) == (64, True)
    assert not (submits.folder / 'state' / 'schedule' / f'{TITLE}.json').exists()


def test_the_entry_is_added_to_the_scrontab_once_and_every_other_line_stays(on_site, submits, cluster):
    mine = '# mine\n#SCRON --time=5\n0 5 * * * /bin/true'
    cluster.set(scrontab=True, crontab=mine)
    assert on_site('schedule', '--install').status == 0
    assert cluster['crontab'] == f'{mine}\n{on_site("schedule").out}'
    assert record(submits)['form'] == 'scrontab'
    # Slurm submits every entry of a scrontab anew when it is written.
    assert 'nothing was changed' in on_site('schedule', '--install').out
    assert cluster.calls('scrontab').count(['-']) == 1
    # What Slurm has disabled is put back, and removing the entry gives the scrontab back.
    whole = cluster['crontab']
    begin, *entry, end = whole[len(mine) + 1 :].splitlines()
    disabled = '\n'.join([mine, begin, *(f'#DISABLED: {line}' for line in entry), end, ''])
    cluster.set(crontab=disabled)
    on_site('schedule', '--install')
    assert cluster['crontab'] == whole
    assert on_site('schedule', '--remove').status == 0
    assert cluster['crontab'].rstrip('\n') == mine


def test_another_time_replaces_the_entry_in_its_place(on_site, submits, cluster):
    cluster.set(scrontab=True, crontab='# first\n')
    on_site('schedule', '--install')
    cluster.set(crontab=f'{cluster["crontab"]}# last\n')
    on_site('schedule', '--install', '--at=03:00')
    lines = cluster['crontab'].splitlines()
    assert (lines[0], lines[-1]) == ('# first', '# last')
    assert [line.split(' exec')[0] for line in lines if ' exec ' in line] == ['0 3 * * *']


def test_the_other_form_takes_the_place_of_the_first(on_site, submits, cluster):
    on_site('schedule', '--install')
    cluster.set(scrontab=True)
    on_site('schedule', '--install')
    assert (cluster['jobs'], 'exec' in cluster['crontab']) == ([], True)
    on_site('schedule', '--install', '--as=sbatch')
    assert (len(cluster['jobs']), cluster['crontab']) == (2, '')


def test_a_truncated_entry_is_refused(on_site, submits, cluster):
    cluster.set(scrontab=True)
    on_site('schedule', '--install')
    truncated = ''.join(cluster['crontab'].splitlines(keepends=True)[:-1])
    cluster.set(crontab=truncated)
    done = on_site('schedule', '--install')
    assert (done.status, 'correct it with scrontab -e' in done.err) == (64, True)
    assert cluster['crontab'] == truncated


# What the job does

SESSION = """
import json, pathlib, signal, sys, time
sys.path[:0] = {path!r}
from datetime import datetime, timezone
orders = json.loads(pathlib.Path(__file__ + '.json').read_text())
asked = []
if orders['ends_when_asked']:
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(__file__ + '.environment').write_text(json.dumps(dict(__import__('os').environ)))
pathlib.Path(__file__ + '.argv').write_text(json.dumps(sys.argv[1:]))
end = time.monotonic() + orders['lasts']
while time.monotonic() < end and not asked:
    time.sleep(0.01)
if orders['killed']:
    __import__('os').kill(__import__('os').getpid(), signal.SIGKILL)
if orders['verdict']:
    import nights
    from seatrial.history.store import write
    now = datetime.now(timezone.utc).replace(microsecond=0)
    state = pathlib.Path(orders['state'])
    state.mkdir(exist_ok=True)
    write(state / 'history', nights.session(now), nights.plain(now, 'INCOMPLETE' if asked else orders['verdict']))
sys.exit(13 if asked else orders['status'])
"""


@pytest.fixture
def session(site, tmp_path, repository, monkeypatch):
    """Sets what a stand-in for `seatrial run` does; returns its path, beside which it writes its arguments."""
    path = [str(repository / 'tests'), str(repository / 'src')]
    program = executable(tmp_path / 'seatrial', f'#!{sys.executable}\n{SESSION.format(path=path)}')
    monkeypatch.setattr(schedule_module, 'installed', lambda name: str(program))
    monkeypatch.setattr(night_module, 'POLL_S', 0.01)

    def to(verdict='PASS', status=0, **more):
        usual = {'lasts': 0.0, 'killed': False, 'ends_when_asked': True}
        orders = {'state': str(site.folder / 'state'), 'verdict': verdict, 'status': status, **usual, **more}
        Path(f'{program}.json').write_text(json.dumps(orders))
        return program

    return to


@pytest.fixture
def notified(site, tmp_path):
    """Have the site send notifications; returns those that were sent."""
    file = tmp_path / 'notified'
    command = f'[/bin/sh, -c, "echo $SEATRIAL_EVENTS: $SEATRIAL_SUBJECT >> {file}"]'
    add_to_trial(site, f'notify: {command}')
    return lambda: file.read_text().splitlines() if file.exists() else []


def left(program, what):
    return json.loads(Path(f'{program}.{what}').read_text())


def in_force(site):
    """Puts the schedule in force, as --install would have done yesterday."""
    folder = site.folder / 'state' / 'schedule'
    folder.mkdir(parents=True, exist_ok=True)
    kept = {'calendar': [HOUR, 0, list(DAYS)], 'since': time.time() - 86400, 'form': 'sbatch'}
    (folder / f'{TITLE}.json').write_text(json.dumps(kept))
    (folder / f'{TITLE}.sbatch').write_text(f'#!/bin/sh\n#SBATCH --job-name={job_name(series(site))}\n')


def test_the_job_runs_a_session_ends_as_it_did_and_notifies_with_figures_and_page(on_site, site, session, notified):
    program = session('FAIL', 10)
    assert on_site('schedule', '--now').status == 10
    assert left(program, 'argv') == ['run', f'--site={site.folder}', f'--checks={site.checks}', '--profile=nightly']
    assert notified() == ['changed: Seatrial site nightly: FAIL: 1 new FAIL']
    assert (site.folder / 'state' / 'metrics' / f'{TITLE}.prom').is_file()
    assert (site.folder / 'state' / 'reports' / f'{TITLE}.html').is_file()
    assert standing.LATER in left(program, 'environment')  # the session itself leaves the page alone


@pytest.mark.parametrize('status', [64, 70, None])
def test_a_session_that_left_nothing_or_was_killed_is_a_notification(on_site, session, notified, site, status):
    (site.folder / 'state').mkdir()
    session(verdict='', status=status or 0, killed=status is None)
    assert on_site('schedule', '--now').status == (status or 13)
    (line,) = notified()
    assert line.startswith('died: Seatrial site nightly: INCOMPLETE: seatrial run of ')
    assert (f'exited with {status} and' if status else 'died of signal 9') in line


def test_the_verdict_of_a_former_night_is_not_taken_for_that_of_a_session_that_died(on_site, site, session, notified):
    yesterday = datetime.now(timezone.utc) - timedelta(days=1)
    (site.folder / 'state').mkdir()
    write(site.folder / 'state' / 'history', session_of(yesterday), plain(yesterday, 'PASS'))
    session(verdict='', status=70)
    on_site('schedule', '--now')
    assert notified()[0].startswith('died: ')


def test_at_the_deadline_the_session_is_asked_to_end_and_has_a_verdict(on_site, session, notified):
    session(lasts=60)
    assert on_site('schedule', '--now', '--deadline=1s').status == 13
    assert notified() == ['changed: Seatrial site nightly: INCOMPLETE: 1 new INCOMPLETE']


def test_a_session_that_does_not_end_is_killed_and_a_notification(on_site, session, notified, site, monkeypatch):
    (site.folder / 'state').mkdir()
    monkeypatch.setattr(night_module, 'STOP_S', 0.5)
    session(lasts=60, ends_when_asked=False)
    assert on_site('schedule', '--now', '--deadline=1s').status == 13
    assert 'died of signal 9' in notified()[0]


@pytest.mark.parametrize(
    'number',
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGINT, signal.SIGHUP))],
)
def test_a_signal_that_ends_the_job_is_passed_on_and_people_are_notified(on_site, session, notified, number):
    program = session(lasts=60)

    def end():
        while not Path(f'{program}.argv').exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=end)
    thread.start()
    assert on_site('schedule', '--now').status == 13
    thread.join()
    assert len(notified()) == 1


@pytest.mark.parametrize('step', ['partitions_of', 'news_lock'], ids=['before the session', 'after the session'])
def test_a_signal_beside_the_session_keeps_back_no_notification(on_site, session, notified, monkeypatch, step):
    act = getattr(night_module, step)
    monkeypatch.setattr(night_module, step, lambda *words: (os.kill(os.getpid(), signal.SIGTERM), act(*words))[1])
    session('FAIL', 10, lasts=60 if step == 'partitions_of' else 0)
    assert on_site('schedule', '--now').status == (13 if step == 'partitions_of' else 10)
    assert len(notified()) == 1


JOB = {f'SLURM_{name}' for name in ('CONF', 'JOB_ID', 'MEM_PER_NODE', 'NTASKS', 'EXPORT_ENV')}


@pytest.mark.parametrize(
    ('kind', 'passed_on'), [('submits', {'SLURM_CONF', 'SLURM_JOB_ID'}), ('site', JOB - {'SLURM_EXPORT_ENV'})]
)
def test_what_the_cases_hear_of_the_job_they_run_in(request, on_site, session, monkeypatch, kind, passed_on):
    request.getfixturevalue(kind)
    for name in JOB:
        monkeypatch.setenv(name, '1')
    program = session()
    on_site('schedule', '--now')
    assert {name for name in left(program, 'environment') if name.startswith('SLURM_')} == passed_on


def test_a_job_of_the_script_puts_the_successors_that_it_lacks_into_the_queue(on_site, site, session, cluster):
    in_force(site)
    session()
    due, *successors = next_due(3)
    assert on_site('schedule', *job(site, due)).status == 0
    # It began a little early by this host's clock: its own time is not among them.
    assert dues(cluster) == successors
    before = cluster['jobs']
    on_site('schedule', *job(site, due))
    assert cluster['jobs'] == before
    cluster.set(jobs=before[1:])
    on_site('schedule', *job(site, due))
    assert dues(cluster) == successors


@pytest.mark.parametrize('broken', ['trial', 'settings'])
def test_a_fault_of_the_sites_files_does_not_end_the_series(on_site, site, session, cluster, broken):
    in_force(site)
    session()
    getattr(site, broken).write_text('not: [one')
    due, *successors = next_due(3)
    assert (on_site('schedule', *job(site, due)).status, dues(cluster)) == (64, successors)


def test_a_script_that_others_may_change_is_not_submitted_again(on_site, submits, cluster):
    on_site('schedule', '--install')
    cluster.set(jobs=[])
    series(submits).parent.chmod(0o777)
    done = on_site('schedule', *job(submits, next_due()[0]))
    assert (done.status, cluster['jobs']) == (64, []), done


def test_a_full_log_ends_neither_series_nor_session(on_site, site, session, cluster, notified, monkeypatch):
    in_force(site)
    session('FAIL', 10)
    with open('/dev/full', 'w') as full:
        monkeypatch.setattr(sys, 'stdout', full)
        assert on_site('schedule', *job(site, next_due(1)[0])).status == 10
    assert dues(cluster) == next_due(3)[1:]
    assert len(notified()) == 1


def test_a_job_that_was_taken_out_of_force_has_no_successors(on_site, site, session, cluster):
    session()
    assert (on_site('schedule', *job(site, next_due()[0])).status, cluster['jobs']) == (0, [])


def test_a_job_without_successors_measures_and_people_are_notified(on_site, site, session, cluster, notified):
    in_force(site)
    cluster.set(fault='Unable to contact slurm controller')
    program = session()
    assert on_site('schedule', *job(site, next_due()[0])).status == 0
    assert left(program, 'argv')[0] == 'run'
    words = 'died: Seatrial site nightly: PASS: the next runs could not be put into the queue'
    assert notified()[0].startswith(words)


def test_a_job_so_late_that_the_next_one_is_due_leaves_it_to_that(on_site, site, session, cluster):
    in_force(site)
    program = session()
    late = datetime.now() - timedelta(days=1, hours=13)
    assert on_site('schedule', *job(site, f'{late:%Y-%m-%dT%H:%M:%S}')).status == 13
    assert not Path(f'{program}.argv').exists()


def test_a_job_whose_argument_was_lost_measures_all_the_same(on_site, site, session, cluster):
    in_force(site)
    program = session()
    assert on_site('schedule', *job(site, '')).status == 0
    assert left(program, 'argv')[0] == 'run'


lines = st.lists(st.text(st.characters(blacklist_categories=['Cs', 'Cc', 'Zl', 'Zp']), max_size=8), max_size=6)
MARKS = ('# BEGIN it', '# END it')
BLOCK = '# BEGIN it\n0 2 * * * run\n# END it\n'


@given(lines, lines)
def test_no_other_line_of_a_scrontab_is_ever_changed(before, after):
    mine = ''.join(f'{line}\n' for line in before + after)
    installed = with_block(mine, MARKS, BLOCK)
    assert installed == mine + BLOCK
    moved = ''.join(f'{line}\n' for line in before) + BLOCK + ''.join(f'{line}\n' for line in after)
    assert with_block(moved, MARKS, BLOCK) == moved
    assert with_block(moved, MARKS, '') == with_block(installed, MARKS, '') == mine


@pytest.mark.parametrize('name', ['schedule', 'list', 'plan'])
def test_a_time_limit_below_the_budgets_is_refused_with_one_that_suffices(on_site, submits, cluster, name):
    add_to_trial(submits, 'schedule: {nightly: {time_limit: 8min}}')
    done = on_site(name, '--profile=nightly')
    assert done.status == 64
    assert re.search('trial.yaml: schedule.nightly.time_limit: .* write time_limit: 30min', done.err), done.err
    submits.change('time_limit: 8min', 'time_limit: 30min')
    assert on_site(name, '--profile=nightly').status == 0
