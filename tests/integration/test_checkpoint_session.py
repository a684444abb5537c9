"""A session of checkpoints and of what users do in small files, with real engines."""

import pytest

from local_site import LocalSite, trial

CHECKS = ('Checkpoint', 'InteractiveUse')
TRIAL = trial(', '.join(CHECKS), limits='bytes: 1GiB, inodes: 10000', more='budget: 1s')
STATE, INTERVAL_S = 105e9, 1800.0

pytestmark = pytest.mark.needs('fio')


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    """The process of a smoke session, its results by check, and its site."""
    site = LocalSite(tmp_path_factory.mktemp('site'), TRIAL)
    return site.run('--profile=smoke'), site.cases, site


def test_every_check_is_measured_with_every_metric(session):
    done, cases, _ = session
    assert done.returncode == 0, done.stdout + done.stderr
    assert {check: case['verdict'] for check, case in cases.items()} == dict.fromkeys(CHECKS, 'MEASURED')
    assert all(metric['values'] for case in cases.values() for metric in case['metrics'])


def test_the_time_of_a_state_follows_from_the_bandwidth_and_the_lost_share_from_the_time(session):
    found = {each['metric']: each for each in session[1]['Checkpoint']['metrics']}
    for variant in ('own', 'shared'):
        writes, reads = found[f'write@{variant}']['values'], found[f'read@{variant}']['values']
        times = [STATE / each for each in writes]
        assert found[f'checkpoint_time@{variant}']['values'] == pytest.approx(times)
        assert found[f'restore_time@{variant}']['values'] == pytest.approx([STATE / each for each in reads])
        lost = [each / (INTERVAL_S + each) for each in times]
        assert found[f'training_lost@{variant}']['values'] == pytest.approx(lost)
        assert found[f'training_lost@{variant}']['better'] == 'lower'


def test_every_figure_is_made_again_from_the_raw_output(session):
    done = session[2].ask('verify')
    assert done.returncode == 0, done.stdout + done.stderr
