"""ci/test, ci/quickstart --offline, ci/bundle, ci/lock and ci/wheel.py: what each of them runs, wants and leaves."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import seatrial
import stand_in
from local_site import executable

PURELIB = sysconfig.get_path('purelib')

NOTES = '#!/bin/sh\necho "${0##*/} $*" >>"$SEATRIAL_NOTES"\n'
LABS = {'glusterd': 'lab-gluster', 'ceph-fuse': 'lab-ceph', 'slurmdbd': 'lab-slurm', 'linux.uml': 'lab-kernels'}
TOOLS = 'sh', 'dirname', 'cat', 'cksum', 'grep', 'mktemp', 'rmdir', 'tail', 'touch'


@pytest.fixture
def ran(repository, tmp_path, monkeypatch):
    """Runs ci/test in a tree whose programs only write down their command lines; returns those."""
    (tmp_path / 'ci').mkdir()
    for name in ('ci/test', 'ci/environment', 'pyproject.toml'):
        shutil.copy(repository / name, tmp_path / name)
    programs, venv = tmp_path / 'bin', tmp_path / '.venv' / 'bin'
    of_folders = {
        programs: ('apt-get', 'dpkg-query'),
        venv: ('ruff', 'mypy', 'python'),
        tmp_path / 'ci': ('environment-modules', *LABS.values()),
    }
    for folder, names in of_folders.items():
        for name in names:
            executable(folder / name, NOTES)
    executable(programs / 'id', '#!/bin/sh\necho 0\n')
    with (tmp_path / 'pyproject.toml').open() as stream:
        sums = subprocess.run(['cksum'], stdin=stream, capture_output=True, text=True).stdout
    (tmp_path / '.venv' / 'seatrial-installed').write_text(f'dev {sums.strip()} {tmp_path}')
    notes = tmp_path / 'notes'
    monkeypatch.setenv('SEATRIAL_NOTES', str(notes))
    for name in TOOLS:
        (programs / name).symlink_to(shutil.which(name))
    (programs / 'python3').symlink_to(sys.executable)
    monkeypatch.setenv('PATH', str(programs))

    def run(*arguments, installed=()):
        for name in installed:
            (programs / name).symlink_to('/bin/true')
        subprocess.run([tmp_path / 'ci' / 'test', *arguments], capture_output=True, check=True, timeout=60)
        return notes.read_text().splitlines()

    return run


def pytest_of(noted):
    """The arguments of pytest that follow the options for its worker processes."""
    (words,) = (line.split() for line in noted if line.startswith('python -m pytest'))
    return words[words.index('--no-loadscope-reorder') + 1 :]


@pytest.mark.parametrize('arguments', ['--fast', 'tests/model', '--fast tests/model -x', '--full tests/model'])
def test_a_run_of_a_part_brings_neither_packages_nor_labs(ran, arguments):
    noted = ran(*arguments.split())
    assert pytest_of(noted) == arguments.replace('--full', '--long').split()
    assert {line.split()[0] for line in noted} == {'ruff', 'mypy', 'python'}


@pytest.mark.parametrize(
    ('arguments', 'pytest_has', 'installed'), [([], [], ()), (['--full'], ['--long'], ('glusterd', 'slurmdbd'))]
)
def test_a_run_of_all_brings_the_packages_and_each_lab_that_lacks_its_program(ran, arguments, pytest_has, installed):
    noted = ran(*arguments, installed=installed)
    assert pytest_of(noted) == pytest_has
    brought = [lab for program, lab in LABS.items() if program not in installed]
    used = [' '.join(line.split()[:2]) for line in noted if line.startswith('lab-')]
    assert used == [f'{lab} {verb}' for lab in brought for verb in ('up', 'down')]
    assert any(line.startswith('apt-get install -y') and ' chromium' in line for line in noted)


# ci/quickstart --offline

PYDARSHAN = 'darshan-3.5.0-cp{0}{1}-cp{0}{1}-manylinux_2_17'.format(*sys.version_info)


README = f'For Python {sys.version_info[0]}.{sys.version_info[1]}.\n'


@pytest.fixture
def tree(repository, tmp_path):
    """A clone with nothing in it but what quickstart reads before it installs anything."""
    locks = (f'ci/{name}' for name in LOCKS)
    for name in ('ci/quickstart', 'ci/environment', *locks, 'pyproject.toml'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(repository / name, tmp_path / name)
    return tmp_path


def quickstart(tree, *arguments):
    return subprocess.run([tree / 'ci/quickstart', *arguments], capture_output=True, text=True, timeout=300)


def test_without_a_wheelhouse_the_mend_is_named(tree):
    done = quickstart(tree, '--offline')
    assert done.returncode == 64
    assert f'{tree}/wheelhouse is not there; make an archive with ci/bundle' in done.stderr
    assert not (tree / '.venv').exists()


@pytest.mark.long
def test_a_python_that_the_wheelhouse_is_not_for_is_named(tree):
    (tree / 'wheelhouse').mkdir()
    (tree / 'wheelhouse' / 'README').write_text('For Python 2.7.\n')
    done = quickstart(tree, '--offline')
    assert done.returncode == 70
    assert f'is not among the versions in {tree}/wheelhouse/README' in done.stderr


@pytest.fixture
def put_python(tmp_path, monkeypatch):
    """Puts a python3 first in PATH that makes an environment by this line of shell."""

    def put(line):
        script = f'[ "$2" = venv ] || exec {sys.executable} "$@"\n{line}'
        stand_in.program(tmp_path, monkeypatch, 'python3', script)

    return put


@pytest.mark.parametrize(
    ('there', 'lock'),
    [
        ('', 'requirements.txt'),
        (f'wheelhouse/{PYDARSHAN}_{platform.machine()}.whl', 'requirements-darshan.txt'),
        (f'wheelhouse/{PYDARSHAN}_vax.whl', 'requirements.txt'),
        ('.venv/seatrial-installed', 'requirements-darshan.txt'),
    ],
    ids=['without PyDarshan', 'with it', 'with that of another machine', 'an environment that had it'],
)
def test_pydarshan_comes_from_a_wheelhouse_that_has_it_and_stays(tree, put_python, there, lock):
    """With a python3 that makes no environment, so that quickstart ends where it names the lock that it wants."""
    for folder in ('wheelhouse', '.venv'):
        (tree / folder).mkdir()
    (tree / 'wheelhouse' / 'README').write_text(README)
    (tree / (there or 'none')).write_text('darshan 4711 42 /home\n')
    put_python('')
    done = quickstart(tree, '--offline')
    assert done.returncode == 70 and f'could not install what ci/{lock} names' in done.stderr, done.stderr


def test_a_package_with_another_hash_than_the_committed_one_is_not_installed(tree, put_python):
    # With the pip of the tests: to unpack another one takes as long as all the rest.
    site = '.venv/lib/python*/site-packages'
    put_python(f'{sys.executable} -m venv --without-pip .venv && echo {PURELIB} >"$(echo {site})/tests.pth"')
    lock = tree / 'ci' / 'requirements.txt'
    lock.write_text('somebody-elses==1.0 --hash=sha256:' + '0' * 64 + '\n')
    (tree / 'wheelhouse').mkdir()
    (tree / 'wheelhouse' / 'README').write_text(README)
    with zipfile.ZipFile(tree / 'wheelhouse' / 'somebody_elses-1.0-py3-none-any.whl', 'w') as wheel:
        wheel.writestr('somebody_elses.py', '')
    done = quickstart(tree, '--offline')
    assert done.returncode == 70
    assert 'DO NOT MATCH THE HASHES' in done.stderr
    assert not list((tree / '.venv').rglob('somebody_elses.py'))


@pytest.mark.long
def test_an_archive_installs_and_measures_without_a_network(repository, tmp_path):
    """Packages come from PyPI once; then nothing can be reached, because the machine has no network any more."""
    alone = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
    if subprocess.run([*alone, 'true'], capture_output=True).returncode:
        pytest.skip('a network namespace with its loopback is not permitted here')
    archive = tmp_path / 'offline.tar'
    argv = [repository / 'ci/bundle', '--darshan', archive]
    made = subprocess.run(argv, capture_output=True, text=True, timeout=1800)
    if made.returncode and 'Could not fetch' in made.stderr:
        pytest.skip('PyPI cannot be reached')
    assert made.returncode == 0, made.stderr
    assert hashlib.sha256(archive.read_bytes()).hexdigest() in made.stderr
    subprocess.run(['tar', '-xpf', archive, '-C', tmp_path], check=True, umask=0)  # as root does
    (home,) = tmp_path.glob('seatrial-*/')
    assert not [path for path in home.rglob('*') if path.stat().st_mode & 0o022]
    argv = [home / 'ci/quickstart', '--offline', 'EmptyDirectories', '--engine=posixops']
    done = subprocess.run([*alone, *argv], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '= MEASURED' in done.stdout and sys.version_info >= (3, 10)
    subprocess.run([home / '.venv/bin/python', '-c', 'import darshan'], check=True, timeout=60)


# The locks that ci/lock writes


LOCKS = {'requirements.txt': (), 'requirements-darshan.txt': ('darshan',), 'requirements-dev.txt': ('dev',)}
FOR_THE_TREE = ('hatchling', 'editables')
PYTHONS = ('3.10', '3.11', '3.12', '3.13')
MACHINES = ('x86_64', 'aarch64')
LINE = re.compile(r'([\w.-]+)==(\S+)(?: ; (.+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n')


def read(text):
    """Name, version and marker of each distribution in a lock, all of which have a hash."""
    lines = LINE.findall(text)
    assert LINE.sub('', text) == '', 'other lines than those of distributions with their hashes'
    return [(canonicalize_name(name), version, marker and Marker(marker)) for name, version, marker, _ in lines]


def lacking(lock, wanted, python, machine):
    """The requirements for which the lock has no version that they allow."""
    where = {'python_version': python, 'python_full_version': f'{python}.0', 'platform_machine': machine}
    there = [(name, version) for name, version, marker in lock if not marker or marker.evaluate(where)]
    assert len(dict(there)) == len(there), 'a distribution has two versions at once'
    asked = [need for need in map(Requirement, wanted) if need.marker is None or need.marker.evaluate(where)]

    def is_there(need):
        versions = [version for name, version in there if name == canonicalize_name(need.name)]
        return any(map(need.specifier.contains, versions))

    return [str(need) for need in asked if not is_there(need)]


@pytest.fixture
def wanted(repository):
    """The requirements in pyproject.toml, with these extras."""
    tomllib = pytest.importorskip('tomllib')
    project = tomllib.loads((repository / 'pyproject.toml').read_text())

    def of(extras):
        metadata = project['project']
        more = [requirement for extra in extras for requirement in metadata['optional-dependencies'][extra]]
        return [*metadata['dependencies'], *more, *project['build-system']['requires'], *FOR_THE_TREE]

    return of


@pytest.mark.parametrize('machine', MACHINES)
@pytest.mark.parametrize('python', PYTHONS)
@pytest.mark.parametrize('name', LOCKS)
def test_a_lock_has_what_pyproject_asks_for(repository, wanted, name, python, machine):
    lock = read((repository / 'ci' / name).read_text())
    assert lacking(lock, wanted(LOCKS[name]), python, machine) == []


@pytest.mark.parametrize('python', PYTHONS)
@pytest.mark.parametrize(
    ('name', 'machine'), [('requirements.txt', 'aarch64'), ('requirements-darshan.txt', 'x86_64')]
)
def test_what_a_bundle_fetches_for_another_python_has_no_marker_that_this_one_would_evaluate(
    repository, wanted, name, machine, python
):
    (program,) = re.findall(r"^THERE='$(.*?)^'$", (repository / 'ci' / 'bundle').read_text(), re.M | re.S)
    argv = [sys.executable, '-c', program, python, machine, repository / 'ci' / name]
    fetched = read(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)
    assert {marker for _, _, marker in fetched} == {''}
    assert lacking(fetched, [*wanted(LOCKS[name]), 'rpds-py'], python, machine) == []


def test_all_locks_have_the_same_versions(repository):
    one, darshan, dev = (set(LINE.findall((repository / 'ci' / name).read_text())) for name in LOCKS)
    assert one <= darshan and one <= dev
    assert {line[:2] for line in darshan} <= {line[:2] for line in dev}  # which has PyDarshan's for x86_64 alone


# The wheel, installed into an empty environment away from the checkout


@pytest.fixture(scope='module')
def installed(repository, tmp_path_factory):
    """Runs a program of the environment in a folder with a site that has measured. Seatrial's dependencies are those
    of the tests, by a .pth file: the one of the tests' Seatrial does not count there (Python's site module)."""
    home = tmp_path_factory.mktemp('wheel')
    python = home / 'environment' / 'bin' / 'python'
    pip = [sys.executable, '-m', 'pip', '--quiet', '--disable-pip-version-check']
    alone = ['--no-index', '--no-deps']
    for argv in (
        [*pip, 'wheel', *alone, '--no-build-isolation', '--wheel-dir', home, repository],
        [sys.executable, '-m', 'venv', '--without-pip', home / 'environment'],
        [*pip, '--python', python, 'install', *alone, home / f'seatrial-{seatrial.__version__}-py3-none-any.whl'],
    ):
        subprocess.run(argv, check=True, timeout=120)
    (folder,) = (home / 'environment' / 'lib').glob('python*/site-packages')
    (folder / 'tests.pth').write_text(PURELIB)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(('SEATRIAL_', 'PYTHON'))}

    def call(program, *arguments):
        argv = [python, program, *arguments] if os.path.isabs(program) else [python.with_name(program), *arguments]
        return subprocess.run(argv, cwd=home, env=environment, capture_output=True, text=True, timeout=300)

    for argv in (['init', 'site'], ['run', '--site=site', '--profile=first', 'SharedLog']):
        done = call('seatrial', *argv)
        assert done.returncode == 0, done.stdout + done.stderr
    return call


@pytest.mark.parametrize(
    ('argv', 'pattern'),
    [
        (['doctor'], r'\+ ok  seatrial .*commit [0-9a-f]{12}'),
        (['list', '--profile=first'], r'SharedLog +appends to a shared log'),
        (['report'], r'index\.html'),
        (['verify'], '^verified  session '),
    ],
)
def test_a_command_works_without_a_checkout(installed, argv, pattern):
    done = installed('seatrial', *argv, '--site=site')
    assert done.returncode == 0, done.stderr
    assert re.search(pattern, done.stdout, re.MULTILINE)


def test_plain_reframe_finds_the_checks_that_came_along_and_those_of_the_site(installed):
    assert installed('seatrial', 'init', '--check', 'ReadBack', 'site').returncode == 0
    reframe = os.path.join(os.path.dirname(sys.executable), 'reframe')
    output = installed(reframe, '-C', 'site/settings.py', '-l').stdout
    assert {'ReadBack', 'SharedLog'} <= set(re.findall(r'^- (\w+)', output, re.MULTILINE))


def test_the_commit_is_told_with_the_version_by_the_module_too(installed):
    output = installed('python', '-m', 'seatrial', '--version').stdout
    words = rf'seatrial, version {re.escape(seatrial.__version__)}, commit [0-9a-f]{{12}}(\+changes)?\n'
    assert re.fullmatch(words, output)
