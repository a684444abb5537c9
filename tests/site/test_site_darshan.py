"""The Darshan library of a partition: the key of trial.yaml that has one repetition witnessed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.site.model import Site


def test_a_partition_names_its_own_library_and_another_has_none(site_with: Callable[..., Site]) -> None:
    site = site_with('{launcher: srun,', '{darshan: /opt/darshan/lib/libdarshan.so, launcher: srun,')
    assert site.darshan('lab:io') == '/opt/darshan/lib/libdarshan.so'
    assert site.darshan('lab:login') == ''


def test_a_relative_path_is_one_from_the_folder_of_the_site(site_with: Callable[..., Site], folder: Path) -> None:
    site = site_with('{launcher: srun,', '{darshan: lib/libdarshan.so, launcher: srun,')
    assert site.darshan('lab:io') == str(folder / 'lib' / 'libdarshan.so')


@pytest.mark.parametrize('value', ['~/libdarshan.so', '$DARSHAN/lib.so', "''", '3', '[]'])
def test_what_is_no_path_is_refused(problems_with: Callable[..., tuple[str, ...]], value: str) -> None:
    (problem,) = problems_with('{launcher: srun,', f'{{darshan: {value}, launcher: srun,')
    assert 'partitions.lab:io.darshan' in problem
