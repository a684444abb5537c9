"""`seatrial plan` beside what real sessions then move and hold, and `seatrial init` as the way to a first one."""

import contextlib
import json
import os
import subprocess
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from local_site import REPOSITORY, SEATRIAL, LocalSite, trial
from seatrial.check.forecast import bytes_before, measured_bytes
from seatrial.cli.init import init
from seatrial.job.sequence.recorder import records_in
from seatrial.model.plan import read_plan
from seatrial.model.record import PLAN
from seatrial.rules.before import held
from seatrial.site.load import load
from seatrial.workload.registry import kind_of

DATA, METADATA = 'MultipleFilesTasks', 'SmallFiles'
TRIAL = trial(f'{DATA}, {METADATA}', '[fio, posixops]', limits='bytes: 4GiB, inodes: 2000', more='budget: 4s')

pytestmark = [pytest.mark.long, pytest.mark.needs('fio')]


def seatrial(verb, site, *words, environment=None):
    argv = [SEATRIAL, verb, f'--site={site}', f'--checks={REPOSITORY / "checks"}', *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, env=environment)


class Watched(NamedTuple):
    """A case: its forecast, plan and records, and the most that lay on the file system at one time."""

    forecast: dict
    plan: object
    records: object
    most_bytes: int
    most_inodes: int

    def volume(self, *stages):
        """Bytes that launches of these stages have written and read, by what they measured."""
        moved = Counter()
        for sample in self.records.samples:
            kind = kind_of(sample.point.kind)
            if sample.stage in stages and sample.sizing in (0, self.records.sized.number):
                moved['written'] += sample.measurement.bytes_moved * kind.phase(sample.phase).writes
                moved['read'] += sample.measurement.bytes_moved * kind.phase(sample.phase).reads
        return moved['written'], moved['read']


class Watch(threading.Thread):
    """Measures repeatedly how much lies below a folder, case by case, until it is stopped."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.done, self.most = folder, threading.Event(), {}

    def run(self):
        while not self.done.wait(0.01):
            for run_directory in self.folder.glob('seatrial-*'):
                sizes = list(self._sizes(run_directory))
                before = self.most.get(run_directory.name, (0, 0))
                self.most[run_directory.name] = max(before[0], sum(sizes)), max(before[1], len(sizes) + 1)

    def _sizes(self, folder):
        for directory, names, files in os.walk(folder):
            yield from (0 for _ in names)
            for name in files:
                with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
                    yield os.lstat(os.path.join(directory, name)).st_size


@pytest.fixture(scope='module')
def watched(tmp_path_factory):
    """The cases of a smoke session by their checks."""
    site = tmp_path_factory.mktemp('site')
    LocalSite(site, TRIAL)
    by_check = {case['case'].partition('/')[0]: case for case in planned(site)['cases']}
    watch = Watch(site / 'state' / 'trials')
    watch.start()
    try:
        done = seatrial('run', site)
    finally:
        watch.done.set()
        watch.join()
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {}
    for folder in site.glob('state/sessions/*/cases/*'):
        plan, records = read_plan(str(folder / PLAN)), records_in(str(folder))
        most = watch.most[Path(records.start.run_directory).name]
        cases[plan.case.check] = Watched(by_check[plan.case.check], plan, records, *most)
    cases['after'] = planned(site)
    return cases


def planned(site):
    done = seatrial('plan', site, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_bytes_are_predicted_exactly_for_the_share_and_repetitions_that_were_made_and_lie_within_the_range(watched):
    case = watched[DATA]
    per_task, counted = case.records.sized.per_task, Counter()
    for sample in case.records.samples:
        if sample.stage == 'measured' and sample.sizing == case.records.sized.number:
            counted[sample.point.label] += sample.phase == case.plan.phases[0]
    assert tuple(measured_bytes(case.plan, per_task, counted)) == case.volume('measured')
    warm_ups = [sample for sample in case.records.samples if sample.stage == 'warmup']
    shares = {sample.repetition: sample.point.data.bytes_per_task for sample in warm_ups}
    before = [bytes_before(case.plan, share, per_task) for share in shares.values()]
    assert tuple(map(sum, zip(*before, strict=True))) == case.volume('warmup', 'prepare')
    moved = case.volume('warmup', 'prepare', 'measured', 'proof')
    for amount, way in zip(moved, ('bytes_written', 'bytes_read'), strict=True):
        assert case.forecast[way]['least'] <= amount <= case.forecast[way]['most']


@pytest.mark.parametrize('check', [DATA, METADATA])
def test_space_and_inodes_at_one_time_are_predicted_within_5_percent(watched, check):
    case = watched[check]
    wanted = held(case.plan, case.records.sized.per_task)
    assert case.most_bytes == pytest.approx(wanted['bytes'], rel=0.05)
    assert case.most_inodes == wanted['inodes']


def test_after_a_session_there_is_something_to_be_expected_of_every_case(watched):
    for case in watched['after']['cases']:
        wall = case['wall_s']
        assert wall['least'] <= wall['expected'] <= wall['most']
    assert watched['after']['total']['bytes_written']['expected'] > 0


@pytest.mark.needs('slurmctld', 'munged')
def test_from_nothing_to_a_smoke_test_through_slurm(plain_slurm, tmp_path, monkeypatch):
    (tmp_path / 'mountinfo').write_text('22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n')
    plain_slurm.heal()
    with monkeypatch.context() as patched:
        patched.setattr('seatrial.filesystem.mounts.MOUNTINFO', str(tmp_path / 'mountinfo'))
        patched.setenv('SLURM_CONF', plain_slurm.environment['SLURM_CONF'])
        init.main([str(tmp_path / 'mine')], standalone_mode=False)
    partitions = load(tmp_path / 'mine').trial_file.partitions
    assert {name.partition(':')[2] for name in partitions} == {'compute', 'io'}
    for command in (['doctor'], ['run', 'EmptyFiles']):
        done = seatrial(command[0], tmp_path / 'mine', *command[1:], environment=plain_slurm.environment)
        assert done.returncode == 0, done.stdout + done.stderr
