"""The locks that ci/lock writes: they have all that pyproject.toml asks for, and a hash of every file."""

import re

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

tomllib = pytest.importorskip('tomllib')

LOCKS = {'requirements.txt': (), 'requirements-dev.txt': ('dev',)}
FOR_THE_TREE = ('hatchling', 'editables')
PYTHONS = ('3.10', '3.11', '3.12', '3.13')
MACHINES = ('x86_64', 'aarch64')
LINE = re.compile(r'([\w.-]+)==(\S+)(?: ; (.+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n')


def read(text):
    """Name, version and marker of each distribution in a lock, of which nothing is without a hash."""
    lines = LINE.findall(text)
    assert LINE.sub('', text) == '', 'other lines than those of distributions with their hashes'
    return [(canonicalize_name(name), version, marker and Marker(marker)) for name, version, marker, _ in lines]


def lacking(lock, wanted, python, machine):
    """Which of the requirements have no version in the lock that they allow."""
    where = {'python_version': python, 'python_full_version': f'{python}.0', 'platform_machine': machine}
    there = [(name, version) for name, version, marker in lock if not marker or marker.evaluate(where)]
    assert len(dict(there)) == len(there), 'a distribution has two versions at once'
    asked = [each for each in map(Requirement, wanted) if each.marker is None or each.marker.evaluate(where)]
    return [
        str(each)
        for each in asked
        if not any(
            name == canonicalize_name(each.name) and each.specifier.contains(version) for name, version in there
        )
    ]


@pytest.fixture
def wanted(repository):
    """What pyproject.toml asks for with these extras."""
    project = tomllib.loads((repository / 'pyproject.toml').read_text())

    def of(extras):
        own = project['project']
        more = [each for extra in extras for each in own['optional-dependencies'][extra]]
        return [*own['dependencies'], *more, *project['build-system']['requires'], *FOR_THE_TREE]

    return of


@pytest.mark.parametrize('machine', MACHINES)
@pytest.mark.parametrize('python', PYTHONS)
@pytest.mark.parametrize('name', LOCKS)
def test_a_lock_has_what_pyproject_asks_for(repository, wanted, name, python, machine):
    lock = read((repository / 'ci' / name).read_text())
    assert lacking(lock, wanted(LOCKS[name]), python, machine) == []


def test_what_is_added_and_not_locked_is_seen(repository, wanted):
    lock = read((repository / 'ci' / 'requirements.txt').read_text())
    more = ['rich>=999', 'nonesuch', *wanted(())]
    assert lacking(lock, more, '3.11', 'x86_64') == ['rich>=999', 'nonesuch']


def test_the_two_locks_have_the_same_versions(repository):
    one, both = (set(LINE.findall((repository / 'ci' / name).read_text())) for name in LOCKS)
    assert one <= both
