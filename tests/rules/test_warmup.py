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


@pytest.mark.parametrize(('deduplicates', 'rules'), [(True, ['P4a']), (None, ['P4b']), (False, [])])
def test_the_same_data_in_two_places_matter_where_the_back_end_may_keep_them_once(plan, deduplicates, rules):
    declared = plan._replace(target=plan.target._replace(deduplicates=deduplicates))
    assert broken(declared, NOISE, NOISE) == rules
    assert broken(declared, NOISE, os.urandom(65536)) == broken(declared, NOISE) == []


@pytest.mark.parametrize(('deduplicates', 'rules'), [(True, ['P4a']), (None, ['P4b']), (False, [])])
def test_data_that_repeat_where_no_block_was_looked_at_are_the_engines_to_tell(plan, deduplicates, rules):
    declared = plan._replace(target=plan.target._replace(deduplicates=deduplicates))
    found = findings(WARMUP, Warmed(declared, (NOISE, os.urandom(65536)), 'they begin again after 128 MiB'))
    assert [each.rule for each in found] == rules
    assert all('in two places: they begin again after 128 MiB; ' in each.sentence for each in found)


def test_a_site_that_declares_no_compression_may_be_given_zeros(plan):
    declared = plan._replace(target=plan.target._replace(compresses=False))
    assert broken(declared, bytes(65536), NOISE) == []
