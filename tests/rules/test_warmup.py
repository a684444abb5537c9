"""P4: the data that an engine writes neither compress nor repeat."""

import os

import pytest

from seatrial.rules.registry import WARMUP, findings
from seatrial.rules.warmup import Warmed

NOISE = os.urandom(65536)


def broken(plan, *blocks):
    return [each.rule for each in findings(WARMUP, Warmed(plan, blocks))]


def test_random_blocks_break_no_rule(plan):
    assert broken(plan, NOISE, os.urandom(65536)) == []


@pytest.mark.parametrize('block', [bytes(65536), b'IOR!' * 16384, NOISE[:32768] + bytes(32768)])
def test_data_that_compress_are_invalid(plan, block):
    assert broken(plan, NOISE, block) == ['P4']


def test_the_same_data_in_two_places_are_invalid(plan):
    assert broken(plan, NOISE, NOISE) == ['P4']


def test_a_site_that_declares_no_compression_is_asked_for_nothing(plan):
    declared = plan._replace(target=plan.target._replace(compresses=False))
    assert broken(declared, bytes(65536), bytes(65536)) == []
