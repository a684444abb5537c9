"""The committed sample: a real bundle that proves itself, and in which every verdict can be seen."""

import random
import re
import shutil
import zipfile

import pytest

from seatrial.acceptance.bundle import unpacked


@pytest.fixture
def sample(repository):
    return repository / 'reports' / 'sample.zip'


def test_it_verifies(sample, command):
    said = command('verify', sample)
    assert said.status == 0, f'{said.out}\nci/sample --again makes its pages of today'


def test_it_has_sessions_of_every_verdict_and_criteria_met_missed_undecided_and_waived(sample):
    page = zipfile.ZipFile(sample).read('index.html').decode()
    criteria, _, sessions = page.partition('id="allocations"')
    found = set(re.findall('badge v-([a-z]+)', sessions))
    assert {'pass', 'fail', 'invalid', 'inconclusive', 'measured'} <= found
    assert {'met', 'missed', 'undecided', 'waived'} <= set(
        re.findall(r'\b(?:met|missed|undecided|waived)\b', criteria)
    )


@pytest.mark.parametrize('edits', [10, pytest.param(200, marks=pytest.mark.long)])
def test_one_edited_digit_is_found_wherever_it_is(sample, tmp_path, edits):
    copy, rng = tmp_path / 'copy', random.Random(17)
    zipfile.ZipFile(sample).extractall(copy)
    files = sorted(each for each in copy.rglob('*') if each.is_file() and each.stat().st_size)
    for file in rng.choices(files, k=edits):
        whole = file.read_bytes()
        digits = [place for place, byte in enumerate(whole) if chr(byte).isdigit()] or [0]
        place = rng.choice(digits)
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        scratch = tmp_path / 'scratch'
        scratch.mkdir()
        assert unpacked(copy, scratch, None), file
        file.write_bytes(whole)
        shutil.rmtree(scratch)
