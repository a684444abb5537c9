"""Rules after each launch: what makes a figure INVALID, what only labels it."""

import pytest

from seatrial.model.record import JobTime
from seatrial.model.workload import FileSpec, files_of
from seatrial.rules.launch import Launched, cache_label, files_fault
from seatrial.rules.registry import LAUNCH, RULES, finding, findings

SIZE = 64 << 20


@pytest.fixture
def write(plan, measurement):
    expected = tuple(files_of(plan.workload, plan.points[0]))
    return Launched(plan, plan.points[0], 'write', measurement, expected, {}, dict(expected), None)


@pytest.fixture
def read(write):
    return write._replace(operation='read', before=dict(write.expected), storage_read_bytes=2 * SIZE)


def broken(launched):
    return [each.rule for each in findings(LAUNCH, launched)]


def changed(launched, **fields):
    return launched._replace(measurement=launched.measurement._replace(**fields))


def test_a_good_write_and_a_cold_read_break_no_rule(write, read):
    assert broken(write) == [] and broken(read) == []


def test_p1_a_write_without_fsync_is_invalid_and_a_read_needs_none(write, read):
    assert broken(changed(write, fsync=False)) == ['P1']
    assert broken(changed(read, fsync=False)) == []


def test_p2_a_read_that_storage_did_not_see_is_labelled_cached(read):
    cached = read._replace(storage_read_bytes=int(0.94 * 2 * SIZE))
    assert broken(cached) == ['P2'] and RULES['P2'].effect == 'label'
    assert cache_label(cached) == 'cached'
    assert cache_label(read._replace(storage_read_bytes=int(0.951 * 2 * SIZE))) == 'cold'


def test_t3_a_read_without_counters_is_labelled_unknown(read):
    assert broken(read._replace(storage_read_bytes=None)) == ['T3'] and RULES['T3'].effect == 'label'
    assert cache_label(read._replace(storage_read_bytes=None)) == 'unknown'


def test_o_direct_in_effect_makes_a_read_cold(read):
    direct = changed(read, direct=True)._replace(storage_read_bytes=None)
    assert cache_label(direct) == 'cold' and broken(direct) == []


def test_a_file_that_two_clients_of_a_node_read_is_fetched_once_and_so_half_cached(read):
    one = (FileSpec('data', SIZE),)
    shared = read._replace(expected=one, before=dict(one), after=dict(one), storage_read_bytes=SIZE)
    assert cache_label(shared) == 'cached'
    assert 'only 50 %' in findings(LAUNCH, shared)[0].sentence


def test_t9_another_world_size_is_invalid(write):
    assert broken(changed(write, world_size=1)) == ['T9']


def test_t10_another_number_of_nodes_is_invalid(write):
    assert broken(changed(write, hosts=('a', 'b'))) == ['T10']


def test_t12_no_time_at_all_is_too_short_and_not_a_zero(write):
    assert broken(changed(write, seconds=0.0)) == ['T12']


@pytest.mark.parametrize('seconds', [0.001, 0.499])
def test_t19_a_short_region_is_invalid_whatever_the_clock(write, seconds):
    assert broken(changed(write, seconds=seconds)) == ['T19']
    assert broken(changed(write, seconds=seconds, clock_s=0.0001)) == ['T19'], 'no engine is exact on a short region'


def test_t19_half_a_second_is_enough(write):
    assert broken(changed(write, seconds=0.5)) == []


def test_t17_files_must_be_in_full_before_a_read_and_after_every_operation(write, read):
    name = read.expected[0].name
    assert broken(read._replace(before={})) == ['T17']
    assert broken(read._replace(before={**read.before, name: 1})) == ['T17']
    assert broken(read._replace(after={})) == ['T17']
    assert broken(write._replace(after={**write.after, 'other': 1})) == ['T17']


def test_t17_names_a_file_and_both_sizes():
    expected = [FileSpec('a', 2), FileSpec('b', 2)]
    assert files_fault(expected, {'a': 2, 'b': 2}) is None
    assert files_fault(expected, {'a': 2, 'b': 1}) == 'b has 1 B, not 2 B'
    assert files_fault(expected, {'a': 2}) == '1 of 2 files are missing (b)'
    assert 'does not know (c)' in (files_fault(expected, {'a': 2, 'b': 2, 'c': 0}) or '')


def test_t18_the_bytes_of_each_client_count_and_not_only_their_sum(write):
    jobs = (JobTime(0, 'h', SIZE + 1, 0.0, 1.0), JobTime(1, 'h', SIZE - 1, 0.0, 1.0))
    assert broken(changed(write, jobs=jobs)) == ['T18']
    assert broken(changed(write, bytes_moved=SIZE)) == ['T18']


def test_a_finding_that_an_engine_raises_has_the_mend_of_its_rule():
    said = finding('T8', 'IOR complained')
    assert said.effect == 'invalid' and said.sentence.startswith('IOR complained; ')
