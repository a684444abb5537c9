"""A small valid site for the tests of this room, and variations of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.site.error import SiteError
from seatrial.site.load import load
from seatrial.site.model import Site

SETTINGS = """
site_configuration = {'systems': [{'name': 'lab', 'hostnames': ['.*'], 'partitions': [
    {'name': 'login', 'scheduler': 'local', 'launcher': 'local'},
    {'name': 'io', 'scheduler': 'slurm', 'launcher': 'srun'},
]}]}
"""
TRIAL = """
version: 1
state: state
file_systems:
  scratch:
    type: lustre
    path: /scratch/trials
    limits: {bytes: 4GiB, inodes: 1000}
    layouts:
      wide: {stripe_count: -1, stripe_size: 1MiB}
  home:
    type: nfs
    path: /home/trials
    limits: {bytes: 1GiB, inodes: 1000}
partitions:
  lab:login: {launcher: local, tasks_per_node: 2}
  lab:io: {launcher: srun, tasks_per_node: 4}
trials:
  - checks: [access]
    partitions: [lab:io]
    file_systems: [scratch]
    nodes: [1, 2]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a valid site in it."""
    home = tmp_path / 'lab'
    home.mkdir()
    (home / 'settings.py').write_text(SETTINGS)
    (home / 'trial.yaml').write_text(TRIAL)
    return home


@pytest.fixture
def site_with(folder: Path) -> Callable[..., Site]:
    """A function that gives the site with the first `old` in its trial.yaml replaced by `new`."""

    def build(old: str = '', new: str = '') -> Site:
        assert old in TRIAL
        (folder / 'trial.yaml').write_text(TRIAL.replace(old, new, 1))
        return load(folder)

    return build


@pytest.fixture
def problems_with(site_with: Callable[..., Site]) -> Callable[..., tuple[str, ...]]:
    """The problems of that site."""

    def build(old: str, new: str) -> tuple[str, ...]:
        with pytest.raises(SiteError) as caught:
            site_with(old, new)
        return caught.value.problems

    return build
