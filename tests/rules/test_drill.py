"""The search for slow targets, on simulated file systems: it finds what is slow, and names nothing that is not."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.rules import drill

NOISE = 0.03


def names(count):
    return [f'ost{n:04d}' for n in range(count)]


def on_servers(count, per_server):
    return {name: f'10.0.0.{n // per_server + 1}@o2ib' for n, name in enumerate(names(count))}


def search(targets, servers, speeds, seed=1, noise=NOISE, rounds=None, whole=0):
    """The search over targets of which some have a speed below 1, to its end or for so many rounds."""
    rng = random.Random(seed)
    now, launches, asked = drill.begin(targets, servers, whole), 0, []
    while (now_groups := drill.groups(now)) and (rounds is None or now.rounds < rounds):
        asked.append(now_groups)
        figures = {}
        for group in now_groups:
            # A file over several targets waits for the slowest in each of its rounds.
            speed = len(group.targets) * min(speeds.get(name, 1.0) for name in group.targets)
            figures[group.label] = [1000 * speed * rng.gauss(1, noise) for _ in range(drill.REPETITIONS)]
            launches += drill.REPETITIONS
        now = drill.learned(now, now_groups, figures)
    return now, launches, asked


def named_slow(targets, servers, speeds, **how):
    now, _, _ = search(targets, servers, speeds, **how)
    return [component.words for component in drill.slow_components(now, targets)]


# What it finds


@pytest.mark.parametrize(('whole', 'largest'), [(0, 6), (1, 1), (4, 4), (9, 3), (12, 6)])
def test_files_that_lie_on_one_target_each_go_evenly_into_a_group(whole, largest):
    targets = names(12)
    now, _, asked = search(targets, {}, {'ost0009': 0.6}, whole=whole)
    sizes = [len(group.targets) for measured in asked for group in measured]
    assert max(sizes) == largest and not any(whole % size for size in sizes)
    (one,) = drill.slow_components(now, targets)
    assert one.targets == ('ost0009',)


def test_a_slow_server_is_named_as_such():
    slow = dict.fromkeys(names(16)[4:8], 0.75)
    named = named_slow(names(16), on_servers(16, 4), slow)
    assert len(named) == 1 and named[0].startswith('all 4 OSTs of 10.0.0.2@o2ib are ')


@pytest.mark.parametrize('count', [2, 3, 5, 7, 8, 31])
def test_one_slow_target_is_found_by_halves_where_no_server_is_known(count):
    # Of two alone nobody knows which is usual; the slower one is named, with the share.
    named = named_slow(names(count), {}, {f'ost{count - 1:04d}': 0.5})
    assert len(named) == 1 and named[0].startswith(f'ost{count - 1:04d} is ')


def test_two_slow_targets_of_different_servers_are_both_found():
    named = named_slow(names(16), on_servers(16, 4), {'ost0002': 0.5, 'ost0013': 0.6})
    assert sorted(word.split(' ')[0] for word in named) == ['ost0002', 'ost0013']


def test_servers_of_unequal_size_are_compared_over_as_many_targets():
    servers = {**on_servers(8, 4), 'ost0008': 'small', 'ost0009': 'small'}
    _, _, asked = search(names(10), servers, {})
    assert {len(group.targets) for group in asked[0]} == {2}
    assert {name for group in asked[0] for name in group.targets} == set(names(10))
    assert named_slow(names(10), servers, {'ost0003': 0.5})[0].startswith('ost0003')


def test_a_healthy_system_is_said_to_be_one():
    now, _, asked = search(names(16), on_servers(16, 4), {})
    assert len(asked) == 1 and drill.slow_components(now, names(16)) == ()
    assert 'no group of targets is slower' in drill.conclusion(now, names(16), False)


@pytest.mark.parametrize(('servers', 'noise'), [(0, 0.25), (4, NOISE), (5, NOISE), (7, NOISE)])
def test_where_groups_scatter_or_half_or_more_of_the_servers_are_slow_it_stays_undecided(servers, noise):
    slow = dict.fromkeys(names(32)[: 4 * servers], 0.5)
    now, _, _ = search(names(32), on_servers(32, 4), slow, noise=noise)
    summary = drill.conclusion(now, names(32), False)
    assert 'check the network' not in summary
    if servers > 4:
        assert summary.startswith('undecided: ')


def test_slow_groups_that_are_not_followed_are_counted():
    slow = {'ost0000': 0.5, 'ost0009': 0.55, 'ost0018': 0.6}
    now, _, _ = search(names(32), on_servers(32, 4), slow)
    summary = drill.conclusion(now, names(32), False)
    assert 'ost0000 of ' in summary and 'ost0009 of ' in summary
    assert summary.endswith('and 1 more slow group not followed')


def test_the_simulated_searches_find_nearly_all_and_name_nothing_healthy():
    hits = wrong = 0
    for seed in range(200):
        slow = f'ost{seed % 32:04d}'
        named = named_slow(names(32), on_servers(32, 4), {slow: 0.7}, seed=seed, noise=0.05)
        hits += any(word.startswith(slow) for word in named)
        wrong += sum(not word.startswith(slow) for word in named)
        wrong += len(named_slow(names(32), on_servers(32, 4), {}, seed=seed, noise=0.05))
    assert (hits, wrong) == (200, 0)  # as docs/explanation/isolation.md says


# How it goes


@settings(max_examples=60)
@given(count=st.integers(2, 300), per_server=st.integers(1, 9), slow=st.sets(st.integers(0, 299), max_size=4))
def test_every_search_ends_and_its_rounds_are_small_and_of_one_size(count, per_server, slow):
    speeds = {f'ost{n:04d}': 0.5 for n in slow}
    now, _, asked = search(names(count), on_servers(count, per_server), speeds, noise=0.001)
    assert len(asked) <= 16
    assert {name for group in asked[0] for name in group.targets} == set(names(count))
    for measured in asked:
        assert len({len(group.targets) for group in measured}) == 1
        assert len(measured) <= drill.MAX_PARTS * drill.MAX_SUSPECTS * 2 + 1
        assert all(len(set(group.targets)) == len(group.targets) for group in measured)
    assert not now.suspects


def test_later_rounds_have_a_control_that_was_cleared():
    _, _, asked = search(names(16), on_servers(16, 4), {'ost0009': 0.6})
    assert [sum(group.is_control for group in measured) for measured in asked] == [0, 1, 1]
    assert not {'ost0009'} & {name for group in asked[1] if group.is_control for name in group.targets}


def test_a_group_that_could_not_be_measured_is_neither_cleared_nor_slow():
    start = drill.begin(names(4), {})
    after = drill.learned(start, drill.groups(start), {'a': [100.0, 101.0, 99.0], 'b': []})
    assert after.cleared == () and after.suspects == ()


def test_one_target_alone_has_nothing_to_be_compared_with():
    assert drill.groups(drill.begin(names(1), {})) == ()
    assert drill.conclusion(drill.begin(names(1), {}), names(1), False) == 'there are no targets to compare'


def test_a_search_that_runs_out_of_time_says_how_far_it_came():
    now, _, _ = search(names(16), on_servers(16, 4), {'ost0009': 0.5}, rounds=1)
    summary = drill.conclusion(now, names(16), True)
    assert summary.startswith('one or more of ost0008, ost0009, ost0010, ost0011 are ')
    assert summary.endswith('time budget exhausted before the search was done')


# Which metric begins it


def test_the_metric_that_lies_furthest_below_its_bound_is_taken():
    values = {'a': {'write': [90.0, 91.0, 89.0], 'read': [50.0, 51.0, 49.0]}, 'b': {'write': [10.0, 10.1, 9.9]}}
    floors = {'write@a': 100.0, 'read@a': 100.0}
    worst = drill.breach(values, floors, 0.9)
    assert worst is not None and (worst.metric, worst.point, worst.bound) == ('read', 'a', 100.0)


@pytest.mark.parametrize('values', [[90.0, 120.0, 80.0], [99.0], [], [101.0, 102.0]])
def test_what_may_meet_its_bound_begins_nothing(values):
    assert drill.breach({'a': {'write': values}}, {'write@a': 100.0}, 0.9) is None
    assert drill.breach({'a': {'write': [1.0, 1.0, 1.0]}}, {'read@a': 100.0}, 0.9) is None, 'it has no bound'


# Slow targets named by their servers: only where all of a server are slow

SERVERS = {f'ost{n:04d}': f's{n // 4}' for n in range(8)}
TARGETS = list(SERVERS)
MDTS = {'mdt0000': 'a', 'mdt0001': 'a', 'mdt0002': 'b'}
ONE_SERVER = dict.fromkeys(TARGETS, 's')


@pytest.mark.parametrize(
    ('slow', 'tested', 'servers', 'expected'),
    [
        ({'ost0004': 0.2, 'ost0005': 0.3}, TARGETS, SERVERS, ['ost0005 of s1 is 30', 'ost0004 of s1 is 20']),
        ({'ost0000': 0.2}, ['ost0000', *TARGETS[4:6]], SERVERS, ['ost0000 of s0 is 20']),
        ({'ost0004': 0.1, 'ost0005': 0.3}, TARGETS[:6], SERVERS, ['both OSTs of s1 are 20']),
        ({'ost0003': 0.2}, TARGETS, {}, ['ost0003 is 20']),
        ({'mdt0000': 0.2, 'mdt0001': 0.2}, list(MDTS), MDTS, ['both MDTs of a are 20']),
        # the only server has no equals
        ({'ost0000': 0.2, 'ost0001': 0.3}, TARGETS[:2], ONE_SERVER, ['ost0001 of s is 30', 'ost0000 of s is 20']),
    ],
    ids=['some', 'one of one', 'not tested', 'unknown', 'MDTs', 'one server'],
)
def test_a_server_is_named_where_all_of_its_tested_targets_are_slow(slow, tested, servers, expected):
    words = [component.words for component in drill.components(slow, tested, servers)]
    assert words == [f'{component} % slower' for component in expected]
