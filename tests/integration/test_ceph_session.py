"""One smoke session on a real CephFS: data in layouts, metadata and semantics, each with the state of the cache."""

import json
import os
import re
import signal

import pytest

from fuse_lab import CEPH
from local_site import LocalSite, executable, trial
from seatrial.job.sequence.recorder import records_in
from seatrial.model.plan import read_plan
from seatrial.rules.case import measured

LAYOUTS = 'StripingSharedFile, OverstripingSharedFile'
METADATA = 'SmallFiles, AttributeCache, PosixSemantics'
ALSO = ', partitions: [local:default], file_systems: [scratch], nodes: [1], budget: 1s'
MORE = f"""\
  - {{checks: [MultipleFilesTransferSizes], layouts: [wide]{ALSO}}}
  - {{checks: [{METADATA}], files_per_task: 50{ALSO}}}
"""
LIMITS = 'bytes: 2GiB, inodes: 100000'

pytestmark = [pytest.mark.needs('ceph-osd', 'ceph-fuse'), pytest.mark.long]  # two minutes: each launch empties caches


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    """The folder of a smoke session that may empty caches, with the streams of the command."""
    place, site = tmp_path_factory.mktemp('ceph') / 'lab', tmp_path_factory.mktemp('site')
    with CEPH.made(place) as mount:
        (mount / 'trials').mkdir()
        layout = 'wide: {stripe_count: 3, stripe_unit: 1MiB, object_size: 8MiB, pool: data}'
        ceph = f'{entry(mount)}, drop_caches: true, layouts: {{{layout}}}'
        local = LocalSite(site, trial(LAYOUTS, scratch=ceph, limits=LIMITS, more='budget: 1s') + MORE)
        done = local.run('--profile=smoke')
        yield local.session, done
        assert not list((mount / 'trials').iterdir())


def entry(mount):
    return f'type: cephfs, path: {mount}/trials, mount: {mount}'


def test_an_osd_that_is_away_refuses_a_case_or_labels_it_and_is_named_by_doctor(tmp_path):
    """The lab's monitors are reached by its own command line alone."""
    place, ceph = tmp_path / 'lab', tmp_path / 'bin' / 'ceph'
    executable(ceph, f'#!/bin/sh\nshift 2; exec {CEPH.script} ceph --dir {place} "$@"\n')
    asking = {**os.environ, 'PATH': f'{ceph.parent}:{os.environ["PATH"]}'}
    with CEPH.made(place, '--replicas=2') as mount:
        (mount / 'trials').mkdir()
        os.kill(int(re.search(r'osd1 +(\d+)', CEPH.run('status', place).stdout).group(1)), signal.SIGKILL)
        assert CEPH.run('ceph', place, 'osd', 'down', '1').returncode == 0
        for more, status, verdict, rule in (
            ('recovery_limit: 60s', 13, 'INCOMPLETE', 'P22: 1 of 4 targets is away: osd.1: down'),
            ('targets_may_be_away: true', 0, 'MEASURED', 'P22a: 1 of 4 targets is away: osd.1: down'),
        ):
            (tmp_path / verdict).mkdir()
            text = trial('MultipleFilesTransferSizes', '', f'{entry(mount)}, {more}', LIMITS, more='budget: 1s')
            site = LocalSite(tmp_path / verdict, text)
            done = site.run('--profile=smoke', environment=asking)
            assert (done.returncode, [case['verdict'] for case in site.cases.values()]) == (status, [verdict])
            assert rule in (site.session / 'results.json').read_text()
            assert 'osd.1: down' in (site.session / 'report' / 'index.html').read_text()
            doctor = site.ask('doctor', environment=asking)
            assert doctor.returncode == (64 if rule.startswith('P22:') else 0)
            assert 'OSDs 3: 0-2; OSD 1 down' in ' '.join(doctor.stdout.split())


def test_every_check_that_fits_ran_and_passed(session):
    folder, done = session
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((folder / 'results.json').read_text())['cases']
    ran = {case['case']['check']: case['verdict'] for case in cases}
    names = ('StripingSharedFile', 'MultipleFilesTransferSizes', 'SmallFiles', 'AttributeCache', 'PosixSemantics')
    assert ran == dict.fromkeys(names, 'MEASURED')


def test_the_striping_checks_have_their_layouts_in_the_words_of_cephfs(session):
    (case,) = session[0].glob('cases/StripingSharedFile+*')
    plan = read_plan(str(case / 'plan.json'))
    samples = [sample for samples in measured(plan, records_in(str(case))).values() for sample in samples]
    layouts = {sample.point.layout.type for sample in samples if not sample.point.layout.is_default}
    assert layouts == {'cephfs'} and all(sample.valid for sample in samples)
    assert plan.left_out == ('all-1MiB',)
