"""GlusterFS under load while a brick stands still, dies and comes back, or never does: outage, errors, every byte."""

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from fuse_lab import GLUSTER
from local_site import CHECK, CONTRACT, PROBE, STALLS_S, LocalSite, end_job, metrics_of, trial, until_acted

pytestmark = [pytest.mark.long, pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')]
ACTIONS = """
actions:
  brick:
    start: [sh, {folder}/start]
    undo: [sh, {folder}/undo]
    check: [sh, {folder}/check]
    file_systems: [scratch]
    timeout: 60s
"""
BRICK = """
file=$(find {bricks} -path '*/.glusterfs' -prune -o -path '*/data/course.0' -print | head -1)
brick=${{file#{bricks}/}}; brick=${{brick%%/*}}
number=$(pgrep -f -- "--volfile-id {volume}[.].*-bricks-$brick ")
"""
STOP, CONT, KILL = (f'kill -{name} $number' for name in ('STOP', 'CONT', 'KILL'))
BACK = '{lab} gluster --dir {directory} volume start {volume} force'
WHOLE = '{lab} status --dir {directory}'
ASKED = ('--profile=acceptance', '--destructive=scratch')
PING_TIMEOUT_S = 10
FILES = 16  # of the probe: no brick of four is without one, but once in a hundred times


class Volume(NamedTuple):
    directory: Path
    mount: Path
    name: str

    @property
    def entry(self):
        """That of a trial.yaml."""
        return f'type: glusterfs, path: {self.mount / "trials"}, mount: {self.mount}'


def volume_in(directory, *words):
    with GLUSTER.made(directory, *words) as mount:
        name = GLUSTER.run('gluster', directory, 'volume', 'list').stdout.strip()
        timeout = ('volume', 'set', name, 'network.ping-timeout', str(PING_TIMEOUT_S))
        if words:
            assert GLUSTER.run('gluster', directory, *timeout).returncode == 0
            # A client that is mounted already waits for the 42 s from before once more.
            assert GLUSTER.run('signal', directory, 'KILL', 'client').returncode == 0
            GLUSTER.up(directory, *words)
        (mount / 'trials').mkdir()
        yield Volume(directory, mount, name)


@pytest.fixture(scope='module')
def distributed(tmp_path_factory):
    """A file is on one of four bricks."""
    yield from volume_in(tmp_path_factory.mktemp('gluster') / 'lab')


@pytest.fixture(scope='module')
def replicated(tmp_path_factory):
    """A file is on two of four bricks; the client gives one up after PING_TIMEOUT_S."""
    yield from volume_in(tmp_path_factory.mktemp('gluster') / 'lab', '--replica=2')


def site_on(volume, folder, start, undo, check, **course):
    """A site whose action is of these commands, on the brick that has the first task's file."""
    checks = folder / 'checks' / 'scenarios'
    checks.mkdir(parents=True)
    (checks / 'away.py').write_text(CHECK.format(before_s=6, **course))
    home = folder / 'site'
    home.mkdir()
    words = {'lab': GLUSTER.script, 'directory': volume.directory, 'volume': volume.name, 'folder': home}
    for name, text in (('start', BRICK + start), ('undo', undo), ('check', check)):
        (home / name).write_text(text.format(bricks=volume.directory / 'bricks', **words))
    shorter, longer = course['action_s'] - 2, course['action_s'] + 20
    (home / 'contract.yaml').write_text(CONTRACT.format(shorter=shorter, longer=longer, nodes=1))
    text = trial('Away', scratch=volume.entry, tasks=4) + ACTIONS.format(folder=home)
    return LocalSite(home, text, checks.parent)


def accepted(site):
    return site.ask('accept', f'--checks={site.checks}', '--destructive=scratch')


@contextlib.contextmanager
def probed(volume, folder):
    """Meanwhile somebody else works on each brick of the volume; yields what says how long he had to wait."""
    done, place = folder / 'done', volume.mount / 'trials' / f'probe-{folder.name}'
    place.mkdir()
    argv = [sys.executable, '-c', PROBE, str(done), str(place), str(FILES)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)

    def ended():
        done.touch()
        output, _ = process.communicate(timeout=100)
        return float(output)

    try:
        yield ended
    finally:
        done.touch()
        process.wait(timeout=100)
        shutil.rmtree(place)


@pytest.mark.parametrize('action_s', [10, 30])
@pytest.mark.parametrize('death', ['stands still', 'dies'])
def test_a_brick_is_away_as_long_as_for_anybody_else_and_every_byte_is_there(distributed, tmp_path, death, action_s):
    """A client waits for one that stands still; one that has died is an error at once (ENOTCONN)."""
    start, undo = (STOP, BRICK + CONT) if death == 'stands still' else (KILL, BACK)
    site = site_on(distributed, tmp_path, start, undo, WHOLE, action_s=action_s, after_s=30)
    with probed(distributed, tmp_path) as truth:
        done = accepted(site)
        truth_s = truth()
    assert ('1 met' in done.stdout, '1 missed' in done.stdout) == (True, True), done.stdout + done.stderr
    figures = {name: metric.value for name, metric in metrics_of(site.session).items()}
    assert action_s - 2 < truth_s - 1 <= figures['outage'] <= truth_s + STALLS_S
    assert figures['verified'] > 50
    errors = metrics_of(site.session)['errors'].figure
    assert errors == '0' if death == 'stands still' else 'ENOTCONN: ' in errors


def test_a_brick_that_never_comes_back_is_a_failure_of_the_storage(distributed, tmp_path):
    site = site_on(distributed, tmp_path, KILL, 'true', 'test -d {directory}', action_s=5, after_s=50)
    try:
        done = site.run(*ASKED)
    finally:
        assert GLUSTER.run('up', distributed.directory).returncode == 0
    assert done.returncode == 10 and 'F1: load@brick: ENOTCONN' in done.stdout, done.stdout


@pytest.mark.parametrize(('start', 'action_s', 'waits_s'), [(KILL, 10, 0), (STOP, 25, PING_TIMEOUT_S - 1)])
def test_a_replica_that_dies_or_stands_still_for_good_costs_nobody_an_operation(
    replicated, tmp_path, start, action_s, waits_s
):
    """One that stands still is given up after the ping timeout. It is not let go on in the load: one that came back
    after 40 s has been seen to answer with what it had before."""
    site = site_on(replicated, tmp_path, start, 'true', 'test -d {directory}', action_s=action_s, after_s=40)
    try:
        done = accepted(site)
    finally:
        assert GLUSTER.run('up', replicated.directory).returncode == 0
    assert '2 met' in done.stdout, done.stdout + done.stderr
    figures = {name: metric.value for name, metric in metrics_of(site.session).items()}
    assert (figures['errors'], figures['verified'] > 50) == (0, True)
    assert waits_s <= figures['outage'] < action_s


def test_a_brick_that_a_killed_session_leaves_dead_is_brought_back_by_clean(distributed, tmp_path):
    site = site_on(distributed, tmp_path, KILL, BACK, WHOLE, action_s=30, after_s=20)
    session = site.begin(*ASKED, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    entry = site.folder / 'state' / 'actions' / 'scratch.json'
    until_acted(entry, session)
    time.sleep(3)
    session.send_signal(signal.SIGKILL)
    session.wait()
    try:
        assert 'dead' in GLUSTER.run('status', distributed.directory).stdout
        assert site.ask('clean').stdout.startswith('the action brick on scratch is still in effect')
        undone = site.ask('clean', '--yes')
        assert 'undone: scratch' in undone.stdout and not entry.exists(), undone.stdout
        assert 'dead' not in GLUSTER.run('status', distributed.directory).stdout
    finally:
        end_job(site.folder)


def test_a_brick_that_is_away_before_a_case_refuses_it_and_is_named_everywhere(distributed, tmp_path):
    limits, more = 'bytes: 2GiB, inodes: 1000', 'budget: 1s'
    site = LocalSite(tmp_path, trial('MultipleFilesTransferSizes', '', distributed.entry, limits, more=more))
    assert GLUSTER.run('signal', distributed.directory, 'KILL', 'brick4').returncode == 0
    try:
        until = time.monotonic() + 60
        while site.ask('doctor').returncode == 0 and time.monotonic() < until:
            time.sleep(0.5)  # the client has not noticed yet
        doctor = ' '.join(site.ask('doctor').stdout.split())
        assert 'bricks 4: 0-3; brick 3 10.77.0.1:/run/bricks/4 not connected' in doctor
        assert 'x wrong targets of scratch P22: 1 of 4 targets is away' in doctor
        assert site.run('--profile=smoke').returncode == 13
        (case,) = site.cases.values()
        assert case['verdict'] == 'INCOMPLETE' and 'P22: 1 of 4 targets is away' in str(case['reasons'])
        assert '/run/bricks/4 not connected' in (site.session / 'report' / 'index.html').read_text()
    finally:
        GLUSTER.up(distributed.directory)
