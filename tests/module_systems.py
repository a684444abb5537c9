"""Login shells with a real Lmod or real Environment Modules, for the tests that load modules.

Debian's packages of the two exclude each other. Beside Lmod, the profile of unpacked Environment Modules is named in
SEATRIAL_ENVIRONMENT_MODULES, as ci/environment-modules prints it.
"""

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

PROFILES = {
    'lmod': '/etc/profile.d/lmod.sh',
    'envmod': os.environ.get('SEATRIAL_ENVIRONMENT_MODULES', '/etc/profile.d/modules.sh'),
}
MISSING = {
    'lmod': 'Lmod is not installed (Debian package lmod)',
    'envmod': 'Environment Modules are not there (Debian package environment-modules, or ci/environment-modules)',
}
"""By the name that ReFrame's modules_system has for each."""


@cache
def login(system: str) -> dict[str, str]:
    """The environment of such a shell with nothing loaded; skips the test where the system is not there."""
    profile = Path(PROFILES[system])
    if not profile.is_file():
        pytest.skip(MISSING[system])
    clean = {name: value for name, value in os.environ.items() if 'LMOD' not in name and 'MODULE' not in name}
    argv = ['bash', '-c', '. "$1" && exec env -0', 'bash', str(profile)]
    text = subprocess.run(argv, env=clean, capture_output=True, text=True, check=True, timeout=60).stdout
    return dict(pair.split('=', 1) for pair in text.split('\0') if pair)
