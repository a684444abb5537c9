"""A session that real IOR measures: the same cases, points and metrics as with fio, and its own figures untouched."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.job.sequence.recorder import records_in
from seatrial.model.plan import read_plan
from seatrial.model.record import PLAN
from seatrial.model.units import MIB
from seatrial.rules.case import measured

pytestmark = [pytest.mark.needs('ior'), pytest.mark.needs('mpiexec')]

TRIAL = """
version: 1
state: state
file_systems:
  scratch:
    type: posix
    path: state/trials
    limits: {bytes: 4GiB, inodes: 1000}
    records_on_target: true
partitions:
  local:default: {launcher: local, tasks_per_node: 2}
trials:
  - checks: [SharedFileStridedTransferSizes, SingleFileWholeAccess]
    partitions: [local:default]
    file_systems: [scratch]
    nodes: [1]
"""


@pytest.fixture(scope='module')
def sessions(tmp_path_factory, request):
    """The session folders of the same two checks, measured with each engine."""
    site = tmp_path_factory.mktemp('site')
    repository = request.config.rootpath
    shutil.copy(repository / 'site-config' / 'local' / 'settings.py', site)
    (site / 'trial.yaml').write_text(TRIAL)
    program = shutil.which('seatrial', path=str(Path(sys.executable).parent))
    folders = {}
    for engine in ('ior', 'fio'):
        argv = [program, 'run', f'--site={site}', f'--checks={repository / "checks"}', f'--engine={engine}']
        before = set((site / 'state' / 'sessions').glob('*'))
        subprocess.run(argv, stdout=subprocess.PIPE, timeout=300)
        (folders[engine],) = set((site / 'state' / 'sessions').glob('*')) - before
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


def test_the_samples_are_iors_own_figures_to_the_last_digit(sessions):
    compared = 0
    for case in sorted((sessions['ior'] / 'cases').iterdir()):
        plan = read_plan(str(case / PLAN))
        for samples in measured(plan, records_in(str(case))).values():
            for sample in samples:
                text = (case / 'raw' / f'{sample.raw}.json').read_text()
                result = json.loads(text, parse_float=str)['tests'][0]['Results'][0]
                (metric,) = sample.measurement.metrics
                assert metric.figure == result['bwMiB']
                assert f'{metric.value / MIB:.4f}' == f'{float(result["bwMiB"]):.4f}'
                compared += 1
    assert compared >= 3 * 2 + 3, 'every point at least once'
