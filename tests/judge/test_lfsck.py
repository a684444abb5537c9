"""What the times of a file-system check say of each other."""

import os
import resource
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.lfsck import line, linear, share
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED


@given(st.floats(1, 100), st.floats(1e-4, 1e-2), st.lists(st.integers(1, 10**7), min_size=4, max_size=9, unique=True))
def test_a_line_is_found_through_its_own_points(start, each, counts):
    found = line(counts, [start + each * count for count in counts])
    assert found is not None
    assert found.seconds_each == pytest.approx(each, rel=1e-6)
    assert found.low <= found.seconds_each <= found.high


def test_the_source_s_sizes_at_a_steady_rate_are_linear():
    inodes = [400_000, 900_000, 1_400_000, 1_900_000, 2_300_000]
    assert linear(inodes, [82, 178, 284, 379, 461]).verdict == HOLDS
    assert linear(inodes, [300, 82, 410, 75, 290]).verdict == FAILS


def test_three_sizes_or_one_decide_nothing():
    assert linear([1, 2, 3], [10, 20, 30]).verdict == UNDECIDED
    assert linear([1] * 5, [10, 20, 30, 40, 50]).verdict == UNDECIDED
    assert linear([1, 2, 3, 4], [10] * 4).verdict == UNDECIDED


@pytest.mark.parametrize(
    ('part', 'whole', 'limits', 'verdict'),
    [
        (130, 500, {'most': 0.5}, HOLDS),
        (400, 500, {'least': 0.7}, HOLDS),
        (300, 500, {'least': 0.7}, FAILS),
        (25, 50, {'most': 0.5}, UNDECIDED),
        (1, 9, {'most': 0.5}, UNDECIDED),
    ],
)
def test_a_share_holds_where_whole_seconds_can_show_it(part, whole, limits, verdict):
    assert share(part, whole, **limits).verdict == verdict


@pytest.mark.needs('mkfs.ext4')
def test_e2fsck_takes_longer_for_more_inodes():
    """The same relation on a check that every machine has: files in an image, looked at and never repaired."""
    counts, seconds = [], []
    with tempfile.TemporaryDirectory(dir='/dev/shm') as place:
        tree, image = Path(place) / 'tree', Path(place) / 'image'
        for number in range(4):
            for part in range(5 * 3**number):  # a directory of thousands would take mkfs minutes
                (tree / f'{number}.{part}').mkdir(parents=True)
                for name in range(100):
                    (tree / f'{number}.{part}' / str(name)).touch()
            image.write_bytes(b'')
            os.truncate(image, 64 << 20)
            subprocess.run(['mkfs.ext4', '-q', '-F', '-N', '32768', '-d', tree, image], check=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run(['e2fsck', '-f', '-n', image], check=True, capture_output=True)
            counts.append(sum(len(files) for _, _, files in os.walk(tree)))
            seconds.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    found = line(counts, seconds)
    assert found is not None and found.seconds_each > 0
