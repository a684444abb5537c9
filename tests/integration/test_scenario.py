"""A server that is away for some seconds under load, on a disk that fsfreeze(8) stops: measured and undone."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from random import Random

import pytest

from local_site import CHECK, CONTRACT, STALLS_S, LocalSite, end_job, ext4_image, metrics_of, trial, until_acted
from seatrial.engine.posixops.scenario_figures import row_of
from seatrial.model.action import transcript_of

pytestmark = [pytest.mark.long, pytest.mark.needs('mkfs.ext4', 'fsfreeze')]
ACTIONS = """
actions:
  freeze:
    start: [fsfreeze, -f, {mnt}]
    undo: [fsfreeze, -u, {mnt}]
    check: [touch, {mnt}/healthy]
    file_systems: [scratch]
    timeout: 5s
"""
ASKED = ('--profile=acceptance', '--destructive=scratch')


@pytest.fixture
def site(tmp_path):
    """Whose file system is an ext4 of its own."""
    if os.geteuid():
        pytest.skip('only root may mount and freeze')
    image, mnt = ext4_image(tmp_path / 'image', 300), tmp_path / 'mnt'
    mnt.mkdir()
    if subprocess.run(['mount', '-o', 'loop', image, mnt]).returncode:
        pytest.skip('no loop device can be mounted here')
    folder, checks = tmp_path / 'site', tmp_path / 'checks' / 'scenarios'
    folder.mkdir()
    checks.mkdir(parents=True)
    (checks / 'away.py').write_text(CHECK.format(before_s=6, action_s=4, after_s=15))
    (folder / 'contract.yaml').write_text(CONTRACT.format(longer=8, shorter=1, nodes=1))
    text = trial('Away', '', f'type: posix, path: {mnt}, recovery_limit: 10s', 'bytes: 200MiB, inodes: 1000')
    try:
        yield LocalSite(folder, text + ACTIONS.format(mnt=mnt), checks.parent)
    finally:
        subprocess.run(['fsfreeze', '-u', mnt], stderr=subprocess.DEVNULL)
        for _ in range(50):
            if subprocess.run(['umount', mnt]).returncode == 0:
                break
            time.sleep(0.2)


def test_the_outage_is_that_of_the_action_and_decides_the_criteria(site):
    done = site.ask('accept', f'--checks={site.checks}', '--destructive=scratch')
    assert done.returncode == 10, done.stdout + done.stderr
    assert '1 met' in done.stdout and '1 missed' in done.stdout
    (file,) = site.session.glob('cases/*/raw/*.actions.jsonl')
    start, undo = transcript_of(file.read_text()).steps
    metrics = metrics_of(site.session)
    shortest_s, longest_s = undo.begun_s - start.ended_s, undo.ended_s - start.begun_s
    assert shortest_s - 1 <= metrics['outage'].value <= longest_s + STALLS_S
    assert metrics['errors'].value == 0 and metrics['verified'].value > 50
    assert not list((site.folder / 'state' / 'actions').iterdir())


def test_half_an_hour_of_load_is_verified_and_every_second_of_it_is_known(site):
    (site.checks / 'scenarios' / 'away.py').write_text(CHECK.format(before_s=600, action_s=30, after_s=1170))
    (site.folder / 'contract.yaml').write_text(CONTRACT.format(longer=35, shorter=25, nodes=1))
    argv = site.argv('accept', f'--checks={site.checks}', '--destructive=scratch')
    done = subprocess.run(argv, capture_output=True, text=True, timeout=3000)
    assert ('1 met' in done.stdout, '1 missed' in done.stdout) == (True, True), done.stdout + done.stderr
    metrics = metrics_of(site.session)
    assert 29 <= metrics['outage'].value <= 30 + STALLS_S and metrics['errors'].value == 0
    assert metrics['verified'].value > 2 * 1800  # at least one a second and task
    tasks = sorted(site.session.glob('cases/*/raw/*measured-load*.out'))
    assert len(tasks) == 2
    for task in tasks:
        *lines, verified, _ = task.read_text().splitlines()
        rows = [row_of(line) for line in lines]
        assert verified.startswith('["verified"')
        known = {second for row in rows for second in range(int(row.at_s), math.ceil(row.at_s + row.length_s))}
        known |= {n for row in rows for start, end in row.gaps for n in range(int(start), math.ceil(end))}
        assert known >= set(range(1800))
    assert 'svg class="curve wide"' in (site.session / 'report' / 'index.html').read_text()


def test_what_a_killed_session_leaves_is_undone_by_clean(site):
    session = site.begin(*ASKED, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    entry = site.folder / 'state' / 'actions' / 'scratch.json'
    until_acted(entry, session)
    session.send_signal(signal.SIGKILL)
    session.wait()
    shown = site.ask('clean')
    assert shown.returncode == 13
    assert shown.stdout.startswith('the action freeze on scratch is still in effect')
    assert site.run(*ASKED).returncode == 13
    undone = site.ask('clean', '--yes')
    assert 'undone: scratch' in undone.stdout and not entry.exists()
    end_job(site.folder)


def test_a_stop_in_the_middle_undoes_it(site):
    session = site.begin(*ASKED, stdout=subprocess.PIPE, text=True)
    entry = site.folder / 'state' / 'actions' / 'scratch.json'
    until_acted(entry, session)
    session.send_signal(signal.SIGTERM)
    output, _ = session.communicate(timeout=200)
    assert not entry.exists() and session.returncode in (11, 13), output
    assert subprocess.run(['fsfreeze', '-u', site.folder.parent / 'mnt'], stderr=subprocess.DEVNULL).returncode


def test_nothing_starts_without_the_name(site):
    """Command lines and site files at random: no action is ever started, whatever they come to."""
    # In one process: 500 of them would start as many interpreters.
    code = """
import json, sys
from click.testing import CliRunner
from seatrial.check import actions, action_journal
from seatrial.cli.main import main
def never(*_): raise SystemExit('STARTED')
action_journal.Journal.begin = actions.Conductor._conduct = never
import seatrial.session.carry_out as run
reached = []
def _reframe(session, checks, plans, *_): reached.extend(plan.actions for plan in plans)
run._reframe = _reframe
for site, argv in json.load(sys.stdin):
    open(argv[1].partition('=')[2] + '/trial.yaml', 'w').write(site)
    result = CliRunner().invoke(main, argv)
    assert 'STARTED' not in result.output, argv
assert not any(reached), reached
print('none')
"""
    rng, text = Random(19), (site.folder / 'trial.yaml').read_text()
    words = ('--destructive', '--destructive=', '--destructive=Scratch', '--destructive=freeze', '--destructive=yes')
    more = (*words, 'Away', 'scenarios', '--system=local', '--engine=posixops', '--profile=paper', '--profile=smoke')
    lines = []
    for _ in range(500):
        verb = rng.choice(('run', 'plan', 'accept', 'run', 'schedule', 'clean', 'list'))
        argv = [verb, f'--site={site.folder}', *rng.sample(more, rng.randrange(4))]
        argv += [f'--checks={site.checks}', '--profile=acceptance'][: rng.randrange(3)]
        changed = text.replace('checks: [Away]', 'checks: ' + rng.choice(('[Away]', '["*"]', '[scenarios]')))
        if rng.random() < 0.3:
            changed = changed.replace('scratch', rng.choice(['yes-man', 'frost', 'Away']))
        if rng.random() < 0.2:
            cut = rng.randrange(len(changed))
            changed = changed[:cut] + changed[cut + rng.randrange(8) :]
        lines.append((changed, argv))
    streams = {'input': json.dumps(lines), 'capture_output': True, 'text': True}
    done = subprocess.run([sys.executable, '-c', code], **streams, timeout=600, cwd=site.folder)
    assert done.stdout.strip().endswith('none'), done.stdout[-2000:] + done.stderr[-3000:]
