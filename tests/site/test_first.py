"""The first form of a site: it holds the facts found, and Seatrial and ReFrame can read it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.check.session import settings_fault
from seatrial.model.units import GIB, MIB
from seatrial.site.first import FoundFileSystem, FoundMachine, FoundPartition, as_name, settings_of, trial_of
from seatrial.site.load import configuration_in, load, partitions_in
from seatrial.site.profile import PROFILES

LUSTRE = FoundFileSystem('scratch', 'lustre', '/lustre/trials', '/lustre', 800 * GIB, 10**8, {'mdts': 2, 'osts': 8})
COMPUTE = FoundPartition('compute', 64, 128, 257_000 * MIB, 'compute', 86_400.0)
DEBUG = FoundPartition('debug', 2, 2, 7_000 * MIB, 'debug')
CLUSTER = FoundMachine(
    name='pelagia',
    host='login1',
    system='pelagia',
    partitions=(COMPUTE, DEBUG),
    file_systems=(LUSTRE,),
    engines=('fio', 'dd', 'posixops'),
    missing={'ior': 'from spack-env/ (ior@4.0.0)'},
    modules_system='lmod',
    modules=('ior/4.0.0', 'openmpi/5.0'),
)


@pytest.fixture
def written(tmp_path):
    """The site with these files."""

    def write(cluster):
        (tmp_path / 'settings.py').write_text(settings_of(cluster))
        (tmp_path / 'trial.yaml').write_text(trial_of(cluster))
        return load(tmp_path)

    return write


def alone(**changes):
    """A machine without Slurm."""
    only = FoundPartition('default', 1, 2, 8 * GIB)
    disk = replace(FoundFileSystem('scratch', 'posix', '/scratch/trials', '', 50 * GIB, 10**7), **changes)
    return replace(CLUSTER, system='local', partitions=(only,), file_systems=(disk,), modules=(), modules_system='')


def test_a_cluster_is_a_site_with_its_partitions_file_systems_and_a_first_trial(written, tmp_path):
    site = written(CLUSTER)
    assert {name: entry.memory for name, entry in site.trial_file.partitions.items()} == {
        'pelagia:compute': 257_000 * MIB,
        'pelagia:debug': 7_000 * MIB,
    }
    assert settings_fault(site, 'pelagia') == ''
    debug = partitions_in(tmp_path / 'settings.py')['pelagia:debug']
    assert (debug['scheduler'], debug['access']) == ('slurm', ['--partition=debug', '--exclusive', '--no-requeue'])
    entry = site.file_system('scratch')
    assert (entry.type, entry.mount, entry.osts, entry.mdts) == ('lustre', '/lustre', 8, 2)
    assert (entry.limits.bytes, entry.limits.inodes) == (80 * GIB, 200_000)  # a tenth of what is free
    (trial,) = site.trial_file.trials
    assert (trial.nodes, trial.profiles, trial.bytes_per_task) == ((1, 2), ('first', 'smoke', 'nightly'), None)
    text = (tmp_path / 'settings.py').read_text()
    assert "# 'ior/4.0.0'," in text and "# 'openmpi/5.0'," in text  # none is loaded unasked


def test_each_profile_is_a_mode_of_reframe_here_and_in_the_examples(written, tmp_path, repository):
    written(CLUSTER)
    for file in (tmp_path / 'settings.py', *(repository / 'site-config').glob('*/settings.py')):
        assert [mode['name'] for mode in configuration_in(file)['modes']] == list(PROFILES)


@pytest.mark.parametrize(
    ('free', 'bytes_per_task', 'profiles'),
    [
        ({'free': 50 * GIB}, None, ('first', 'smoke', 'nightly')),
        ({'free': 10 * GIB}, None, ('first', 'smoke')),
        ({'free': GIB}, 48 * MIB, ('first', 'smoke')),
        ({'free_inodes': 10_000}, None, ('first', 'smoke')),
    ],
)
def test_sizes_and_profiles_follow_the_free_space(written, free, bytes_per_task, profiles):
    (trial,) = written(alone(**free)).trial_file.trials
    assert (trial.bytes_per_task, trial.profiles) == (bytes_per_task, profiles)


def test_a_missing_value_is_a_comment_with_the_line_to_write():
    text = trial_of(replace(CLUSTER, unused=['nfs at /home: it does not answer'], no_slurm='no sinfo'))
    lines = [line.strip() for line in text.splitlines()]
    assert '# nfs at /home: it does not answer' in lines
    assert any(line.startswith('#   ior is not on the PATH here: from spack-env/') for line in lines)
    assert any(line.startswith('# No partitions of Slurm: no sinfo.') for line in lines)


@given(st.text(st.sampled_from('aZ0 äΩ𐀀_-#:,&*!|>%@`\'"\\{}[]?=~'), min_size=1, max_size=20))
def test_any_path_is_written_unchanged(tmp_path_factory, name):
    path, folder = f'/lustre/{name}', tmp_path_factory.mktemp('site')
    (folder / 'settings.py').write_text(settings_of(CLUSTER))
    (folder / 'trial.yaml').write_text(trial_of(replace(CLUSTER, file_systems=(replace(LUSTRE, path=path),))))
    assert load(folder).file_system('scratch').path == path


@given(st.text(max_size=60))
def test_any_text_becomes_a_name(text):
    name = as_name(text)
    assert 0 < len(name) <= 32 and name[0].isalpha() and name.replace('-', '').replace('_', '').isalnum()
