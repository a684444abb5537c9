"""Seatrial for Spack: an environment of wheels with Spack's Python, for Spack builds Polars with Rust in hours.

SEATRIAL_WHEELHOUSE in the environment: the wheelhouse/ of an archive of ci/bundle, and nothing is fetched.
"""

import os
from pathlib import Path

from spack.package import Executable, depends_on, license, variant, version
from spack_repo.builtin.build_systems.generic import Package

TOP = Path(__file__).resolve().parents[5]


class Seatrial(Package):
    """Acceptance and regression trials for HPC file systems, as a ReFrame suite."""

    has_code = False  # it is the checkout that this recipe lies in
    license('Apache-2.0')
    version((TOP / 'src' / 'seatrial' / '__init__.py').read_text().split("'")[1])
    variant('engines', default=True, description='IOR, mdtest and fio, which its module then loads too')
    depends_on('python@3.10:3.13', type=('build', 'run'))
    depends_on('ior', type='run', when='+engines')
    depends_on('fio', type='run', when='+engines')

    def install(self, spec, prefix):
        """Every wheel has the hash in ci/requirements.txt. Only the commands go on the PATH, not the Python."""
        environment = Path(prefix.libexec, 'seatrial')
        spec['python'].command('-m', 'venv', str(environment))
        pip = Executable(str(environment / 'bin' / 'pip'))
        wheelhouse = os.environ.get('SEATRIAL_WHEELHOUSE')
        where = ['--no-index', '--find-links', wheelhouse] if wheelhouse else []
        locked = ['--only-binary', ':all:', '--require-hashes', '-r', str(TOP / 'ci' / 'requirements.txt')]
        pip('install', *where, '--no-deps', *locked)
        pip('install', '--no-index', '--no-deps', '--no-build-isolation', str(TOP))
        Path(prefix.bin).mkdir()
        for name in ('seatrial', 'reframe'):
            Path(prefix.bin, name).symlink_to(environment / 'bin' / name)
