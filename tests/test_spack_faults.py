"""Locks and installations of Spack against spack-env/spack.yaml: genuine ones, and some with one fault each."""

import copy
import json

import pytest
import yaml
from spack_faults import (
    another_mpi,
    asked,
    built_without_mpi,
    core_fault,
    faults_of_installation,
    faults_of_lock,
    missing_externals,
)


@pytest.fixture
def environment(repository):
    return yaml.safe_load((repository / 'spack-env' / 'spack.yaml').read_text())


@pytest.fixture
def lock(repository):
    return json.loads((repository / 'spack-env' / 'spack.lock').read_text())


@pytest.fixture
def database(repository):
    """The database of an upstream, with the packages that were installed beside it."""
    folder = repository / 'tests' / 'transcripts' / 'spack'
    upstream, ours = (json.loads((folder / f'{name}.json').read_text()) for name in ('upstream', 'index'))
    upstream['database']['installs'].update(ours['database']['installs'])
    return upstream


def spec_of(lock, name):
    (spec,) = [spec for spec in lock['concrete_specs'].values() if spec['name'] == name]
    return spec


def test_every_program_is_asked_for_in_one_exact_version(environment):
    programs = {program.name: program for program in asked(environment)}
    assert programs['ior'].version == '4.0.0'
    assert programs['ior'].variants == {'hdf5': False, 'ncmpi': False}


@pytest.mark.parametrize(
    ('specs', 'require', 'words'),
    [
        ('ior@4.0.0', ['@=4.0.0'], 'ior: its version is not pinned'),
        ('ior', ['@=4.0.0'], 'ior: its version is not pinned'),
        ('ior@=4.0.0', [], 'ior: its version is not pinned'),
        ('ior@=4.0.0', ['@=3.3.0'], 'ior: specs has @=4.0.0, and packages requires @=3.3.0'),
    ],
)
def test_a_version_that_is_not_exact_or_stands_there_differently_is_refused(specs, require, words):
    with pytest.raises(ValueError, match=words):
        asked({'spack': {'specs': [specs], 'packages': {'ior': {'require': require}}}})


def test_require_may_be_a_single_text_and_variants_have_values():
    (program,) = asked({'spack': {'specs': ['a@=1_2 x=y'], 'packages': {'a': {'require': '@=1_2+b~c-d'}}}})
    assert (program.version, program.variants) == ('1_2', {'x': 'y', 'b': True, 'c-d': False})


def test_the_lock_of_the_reference_platform_is_what_is_asked_for(environment, lock):
    assert faults_of_lock(environment, lock, 'debian12') == []


def test_the_lock_was_made_with_the_commit_that_is_pinned(repository, lock):
    pinned = (repository / 'spack-env' / 'pinned').read_text().splitlines()
    assert f'spack_commit={lock["spack"]["commit"]}' in pinned


def test_the_reference_platform_is_debian_with_mpich_and_the_plainest_target(lock):
    roots = [lock['concrete_specs'][root['hash']] for root in lock['roots']]
    assert {tuple(spec['arch'].values()) for spec in roots} == {('linux', 'debian12', 'x86_64')}
    assert spec_of(lock, 'mpich')['external']['path'] == '/usr'


def test_no_folder_of_any_one_machine_is_in_the_lock(repository):
    text = (repository / 'spack-env' / 'spack.lock').read_text()
    everywhere = {'/usr', '/usr/bin/gcc', '/usr/bin/g++', '/usr/bin/gfortran'}
    assert {word for word in text.split('"') if word.startswith('/')} <= everywhere


def test_another_version_in_the_lock_is_told(repository, environment):
    other = json.loads((repository / 'tests' / 'transcripts' / 'spack' / 'darshan-3.4.7.lock').read_text())
    assert faults_of_lock(environment, other) == [
        'fio: libaio is False in the lock, and spack.yaml asks for True',
        'darshan-runtime is 3.4.7 in the lock, and spack.yaml asks for 3.4.6',
        'darshan-util is 3.4.7 in the lock, and spack.yaml asks for 3.4.6',
    ]


@pytest.mark.parametrize(
    ('name', 'key', 'change', 'fault'),
    [
        ('ior', 'parameters', {'hdf5': True}, 'ior: hdf5 is True in the lock, and spack.yaml asks for False'),
        ('mpich', 'external', None, "mpich@4.0.2 would be built by Spack; mpi is always the site's, as an external"),
    ],
)
def test_another_variant_and_an_mpi_that_spack_would_build_are_told(environment, lock, name, key, change, fault):
    spec = spec_of(lock, name)
    before = spec.pop(key)
    spec.update({key: {**before, **change}} if change else {})
    assert faults_of_lock(environment, lock) == [fault]


def test_a_program_that_is_not_in_the_lock_and_one_too_many_are_told(environment, lock):
    lock['roots'] = [root for root in lock['roots'] if not root['spec'].startswith('fio')]
    environment['spack']['specs'].remove('ior@=4.0.0')
    assert faults_of_lock(environment, lock) == [
        'fio@=3.37 is not in the lock',
        'ior is in the lock, but spack.yaml does not list it',
    ]


def test_the_lock_of_another_system_is_told(environment, lock):
    (fault,) = faults_of_lock(environment, lock, 'rocky9')
    assert fault.startswith('the lock was made for debian12, and this is rocky9')


def test_what_was_installed_from_the_lock_is_what_it_fixes(lock, database):
    assert faults_of_installation(lock, database, ['ior', 'fio', 'darshan-runtime']) == []


def test_what_is_not_installed_is_told_with_what_it_needs(lock, database):
    faults = faults_of_installation(lock, database)
    assert 'iozone@3_506/hkrq7uf is not installed' in faults
    assert 'boost@1.74.0/yy3vdqv is not installed' in faults
    assert not any('ior@' in fault for fault in faults)


def test_what_was_needed_for_building_alone_may_be_gone(lock, database):
    installs = database['database']['installs']
    gone = [hash_ for hash_, record in installs.items() if record['spec']['name'] in ('autoconf', 'gcc', 'gmake')]
    assert len(gone) == 3
    for hash_ in gone:
        del installs[hash_]
    assert faults_of_installation(lock, database, ['ior']) == []


@pytest.mark.parametrize(
    ('key', 'value', 'words'),
    [('version', '3.3.0', 'version'), ('parameters', {}, 'variants'), ('package_hash', 'x', 'source hash')],
)
def test_what_was_installed_otherwise_is_told(lock, database, key, value, words):
    records = copy.deepcopy(database)
    (record,) = [record for record in records['database']['installs'].values() if record['spec']['name'] == 'ior']
    record['spec'][key] = value
    assert faults_of_installation(lock, records, ['ior']) == [
        f'ior@4.0.0/l7f4hbh: its {words} as installed is not that of the lock'
    ]


def test_an_installation_that_was_removed_again_is_none(lock, database):
    for record in database['database']['installs'].values():
        record['installed'] = record['spec']['name'] != 'gcc-runtime'
    assert faults_of_installation(lock, database, ['ior']) == ['gcc-runtime@12.2.0/yopu2al is not installed']


def test_a_program_that_the_lock_does_not_have_is_told(lock, database):
    (fault,) = faults_of_installation(lock, database, ['io500'])
    assert fault.startswith('io500 is not in the lock; it has bonniepp, darshan-runtime,')


@pytest.mark.parametrize(('symbols', 'count'), [(b'MPI_Init\0', 0), (b'open\0', 1)], ids=['with MPI', 'without'])
def test_a_darshan_that_found_no_mpi_is_told_with_the_mend(lock, database, tmp_path, symbols, count):
    (tmp_path / 'lib').mkdir()
    (tmp_path / 'lib' / 'libdarshan.so').write_bytes(b'\x7fELF' + symbols)
    (record,) = [
        record for record in database['database']['installs'].values() if record['spec']['name'] == 'darshan-runtime'
    ]
    record['path'] = str(tmp_path)
    faults = built_without_mpi(lock, database)
    assert len(faults) == count
    assert all('packages.darshan-runtime.require' in fault for fault in faults)


def test_a_darshan_that_is_wanted_without_mpi_needs_none(lock, database, tmp_path):
    (tmp_path / 'lib').mkdir()
    (tmp_path / 'lib' / 'libdarshan.so').write_bytes(b'')
    for record in database['database']['installs'].values():
        record['path'] = str(tmp_path)
    spec_of(lock, 'darshan-runtime')['parameters']['mpi'] = False
    assert built_without_mpi(lock, database) == []


@pytest.mark.parametrize(('library', 'faults'), [('MPICH 4.0.2', 0), ('', 0), ('Open MPI 4.1.4', 2)])
def test_what_is_linked_with_another_mpi_than_the_locks_is_told(lock, database, tmp_path, library, faults):
    (tmp_path / 'bin').mkdir()
    for record in database['database']['installs'].values():
        record['path'] = str(tmp_path)
    asked_of = []

    def mpi_of(file):
        asked_of.append(file)
        return library

    assert another_mpi(lock, database, mpi_of) == [] and asked_of == []
    programs = [tmp_path / 'bin' / name for name in ('ior', 'mdtest')]
    for program in programs:
        program.write_bytes(b'')
    problems = another_mpi(lock, database, mpi_of)
    assert asked_of == [str(program) for program in programs]
    assert len(problems) == faults
    assert all(f'{library}, and the lock says mpich' in fault for fault in problems)


# Spack itself

CORE = '__version__ = "1.0.0.dev0"\nspack_version = __version__\npackage_api_version = (2, 0)\n'
OF_API_3 = CORE.replace('(2, 0)', '(3, 0)')
REPOSITORY = 'repo:\n  namespace: builtin\n  api: v2.0\n'


@pytest.mark.parametrize(
    ('core', 'repository', 'words'),
    [
        (CORE, REPOSITORY, ''),
        (CORE.replace('1.0.0.dev0', '1.2.3').replace('(2, 0)', '(2, 4)'), REPOSITORY, ''),
        (CORE.replace('1.0.0.dev0', '0.23.1'), REPOSITORY, 'it is Spack 0.23, and 1.0 or later is needed'),
        (CORE, REPOSITORY.replace('v2.0', 'v2.2'), 'it has package API 2.0, and the package repository needs 2.2'),
        (OF_API_3, REPOSITORY, 'it has package API 3.0, and the package repository needs 2.0'),
        ('__version__ = "1.0.0"\n', REPOSITORY, 'it has no package API, and the package repository needs 2.0'),
        (CORE, 'repo:\n  namespace: builtin\n', 'the package repository does not tell its package API in repo.yaml'),
        ('', REPOSITORY, 'it does not print its version; is it Spack?'),
    ],
)
def test_a_spack_is_refused_for_its_version_or_package_api(core, repository, words):
    assert core_fault(core, repository, (1, 0)) == words


def test_externals_are_looked_for_below_their_prefix_and_only_those_of_the_programs(lock, tmp_path):
    for spec in lock['concrete_specs'].values():
        spec.pop('external', None)
    spec_of(lock, 'zlib')['external'] = {'path': str(tmp_path), 'extra_attributes': {}}
    spec_of(lock, 'gcc')['external'] = {'path': '/', 'extra_attributes': {'compilers': {'c': str(tmp_path / 'gcc')}}}
    assert [fault.split()[0] for fault in missing_externals(lock, ['fio'])] == ['gcc@12.2.0', 'zlib@1.2.13']
    (tmp_path / 'gcc').touch()
    assert missing_externals(lock, ['ior']) == []
