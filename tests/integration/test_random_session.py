"""Sessions with real engines: random I/O, checkpoints and small files, IOR; and nights beside another load."""

import os
import re
import subprocess

import pytest

from local_site import LocalSite, ext4_image, trial
from seatrial.job.sequence.recorder import records_in
from seatrial.model.plan import read_plan
from seatrial.model.record import PLAN
from seatrial.model.units import MIB
from seatrial.rules.case import measured
from seatrial.workload.registry import kind_of, planned_metrics

RANDOM = ('RandomReadQueueDepths', 'RandomTransferSizes', 'RandomMixed', 'RandomReadCached', 'SkimReads')
CHECKS = (*RANDOM, 'Checkpoint', 'InteractiveUse')
SHARE = 16 * MIB  # of a task


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    """The process of a smoke session, its results by check, and its folder."""
    home = tmp_path_factory.mktemp('site')
    try:
        os.close(os.open(home, os.O_RDWR | os.O_TMPFILE | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f'{home} has no O_DIRECT: {error.strerror}')
    more = f'bytes_per_task: {SHARE}, budget: 1s'
    text = trial(', '.join(CHECKS), '[ior, fio, posixops]', limits='bytes: 1GiB, inodes: 10000', more=more)
    site = LocalSite(home, text)
    return site.run('--profile=smoke'), site.cases, site.session


@pytest.mark.long
@pytest.mark.needs('fio')
class TestWithTheRealFio:
    def test_every_check_passes_with_every_metric(self, session):
        done, cases, _ = session
        assert done.returncode == 0, done.stdout + done.stderr
        assert {check: case['verdict'] for check, case in cases.items()} == dict.fromkeys(CHECKS, 'MEASURED')
        metrics = [metric for case in cases.values() for metric in case['metrics']]
        # What its few bytes take less than 100 ticks of fio's clock for is no figure.
        assert all(metric['values'] or metric['why'].startswith('no figure: ') for metric in metrics)

    def test_a_rate_is_in_operations_a_second_and_a_tail_latency_in_seconds(self, session):
        _, cases, _ = session
        named = {metric['name']: metric for check in RANDOM for metric in cases[check]['metrics']}
        for way in ('randread', 'randwrite', 'randrw_read', 'randrw_write'):
            figures = [named[f'{way}{end}'] for end in ('', '_iops', '_p99')]
            assert [figure['unit'] for figure in figures] == ['B/s', 'op/s', 's']
            assert [figure['better'] for figure in figures] == ['higher', 'higher', 'lower']
            assert 0 < named[f'{way}_p50']['values'][0] <= named[f'{way}_p99']['values'][0] < 60

    def test_a_working_set_that_is_read_over_and_over_through_the_page_cache_is_not_cold(self, session):
        metrics = session[1]['RandomReadCached']['metrics']
        # On a busy disk the time of a launch can end before its files were read once: then they are cold.
        cached = [metric for metric in metrics if metric['cache'] in ('cached', 'unknown', 'mixed')]
        assert cached and all('says nothing about storage' in metric['not_storage'] for metric in cached)

    def test_a_task_that_thinks_waits_for_a_part_of_the_time(self, session):
        by_metric = {metric['metric']: metric['values'] for metric in session[1]['SkimReads']['metrics']}
        for variant in ('own', 'several'):
            assert all(0 < share < 1 for share in by_metric[f'randread_waiting@{variant}'])
            # A transfer of 64 KiB every 5 ms and more.
            assert all(value < 2 * 200 for value in by_metric[f'randread_iops@{variant}'])

    def test_every_launch_has_its_point_in_full_and_lasted_its_time(self, session):
        folders = [folder for folder in session[2].glob('cases/*') if folder.name.split('+')[0] in RANDOM]
        assert folders
        for case in folders:
            plan = read_plan(str(case / PLAN))
            for samples in measured(plan, records_in(str(case))).values():
                for sample in samples:
                    assert sample.point == kind_of('random').resized(plan.point(sample.point.label), SHARE)
                    assert sample.point.data.working_set == 2 * SHARE
                    assert sample.measurement.seconds >= sample.point.duration_s - sample.measurement.clock_s


@pytest.mark.needs('ior', 'mpiexec')
def test_ior_measures_every_metric_that_the_plan_has_and_nothing_is_wrong_with_them(tmp_path):
    checks = 'SharedFileStridedTransferSizes, SingleFileWholeAccess'
    site = LocalSite(tmp_path, trial(checks, limits='bytes: 4GiB, inodes: 1000'))
    site.run('--engine=ior')
    for case in site.cases.values():
        assert (case['engine'], case['verdict']) == ('ior', 'MEASURED')
        (folder,) = site.session.glob(f'cases/{case["case"]["check"]}+*')
        planned = planned_metrics(read_plan(str(folder / PLAN)))
        assert [metric['metric'] for metric in case['metrics'] if metric['values']] == planned


# Trees that are kept from one session for another


SCRATCH = 'type: posix, path: mount/trials, records_on_target: true'
MORE = 'files_per_task: 100, budget: 1s'
TRIAL = trial('EmptyFiles', '[posixops]', SCRATCH, 'bytes: 200MiB, inodes: 20000', more=MORE)
TRIAL += '  - {checks: [KeptTrees], partitions: [local:default], file_systems: [scratch], nodes: [1], fullness: 70%}'
STEPS = """set -e
mount -o loop {image} {point}
mkdir -p {point}/trials
{run} --label=fresh EmptyFiles > {home}/fresh.out
{run} KeptTrees > {home}/cut.out 2>&1 &
session=$!
until ls {point}/trials/seatrial-*/data/aged.0/d3 > {home}/ways.out 2>&1; do sleep 0.1; done
kill -TERM $session
if wait $session; then exit 1; fi
df --output=pcent {point} > {home}/part.out
{run} KeptTrees > {home}/kept.out
touch {point}/trials/precious
{run} --label=aged EmptyFiles > {home}/aged.out &
session=$!
until ls {home}/state/locks/*.json > {home}/locks.out 2>&1; do sleep 0.1; done
if {clean} --yes > {home}/meanwhile.out; then exit 1; fi
ls {point}/trials > {home}/stayed.out
wait $session
{clean} --yes > {home}/clean.out
ls {point}/trials > {home}/left.out
"""


@pytest.mark.long
@pytest.mark.needs('unshare', 'mkfs.ext4', 'losetup')
def test_fresh_and_aged_are_compared_and_what_aged_it_goes_only_afterwards(tmp_path):
    site = LocalSite(tmp_path, TRIAL)
    point, image = tmp_path / 'mount', ext4_image(tmp_path / 'image', 256)
    point.mkdir()
    if subprocess.run(['unshare', '--mount', 'mount', '-o', 'loop', image, point]).returncode:
        pytest.skip('this host lets nobody mount a file as a disk')
    run = ' '.join(site.argv('run', f'--checks={site.checks}'))
    clean = ' '.join(site.argv('clean'))
    script = STEPS.format(image=image, point=point, home=tmp_path, run=run, clean=clean)
    done = subprocess.run(['unshare', '--mount', 'sh', '-c', script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr

    def output_of(name):
        return (tmp_path / f'{name}.out').read_text()

    assert 'may measure beside it' in output_of('meanwhile') and 'removed' not in output_of('meanwhile')
    stayed = output_of('stayed').split()
    assert 'precious' in stayed and any(name.startswith('seatrial-') for name in stayed)
    assert output_of('clean').count('removed ') == 2 and output_of('left').split() == ['precious']
    compared = site.ask('compare', 'fresh', 'aged')
    full = re.search(r'scratch: (\d+) % full against (\d+) %', compared.stdout)
    part = int(re.search(r'\d+', output_of('part'))[0])
    # To the largest file of both tasks, which is 3 % of the file system each.
    assert full and int(full[1]) < 5 < part < 60 and 64 <= int(full[2]) <= 71, compared.stdout + compared.stderr
