"""A session that real IOR measures: the same cases, points and metrics as with fio, and its own figures untouched."""

import json

import pytest

from local_site import LocalSite, trial

pytestmark = [pytest.mark.needs('ior'), pytest.mark.needs('mpiexec')]

TRIAL = trial('SharedFileStridedTransferSizes, SingleFileWholeAccess', limits='bytes: 4GiB, inodes: 1000')


@pytest.fixture(scope='module')
def sessions(tmp_path_factory):
    """The session folders of the same two checks, measured with each engine."""
    folders = {}
    for engine in ('ior', 'fio'):
        site = LocalSite(tmp_path_factory.mktemp('site'), TRIAL)
        site.run(f'--engine={engine}')
        folders[engine] = site.session
    return folders


def results(folder):
    return json.loads((folder / 'results.json').read_text())


def test_ior_measures_every_metric_and_nothing_is_wrong_with_them(sessions):
    found = results(sessions['ior'])
    assert {case['engine'] for case in found['cases']} == {'ior'}
    assert {case['verdict'] for case in found['cases']} == {'MEASURED'}


@pytest.mark.needs('fio')
def test_the_same_cases_points_and_metrics_come_out_as_with_fio(sessions):
    def planned(folder):
        return [(case['case'], [m['metric'] for m in case['metrics']]) for case in results(folder)['cases']]

    assert planned(sessions['ior']) == planned(sessions['fio'])
