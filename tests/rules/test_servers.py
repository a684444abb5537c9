"""Slow targets named by their servers: only where all of a server's are slow."""

from seatrial.rules.servers import components

SERVERS = {f'ost{n:04d}': f'10.0.0.{n // 4}@o2ib' for n in range(8)}
TARGETS = list(SERVERS)


def words(slow, tested=TARGETS, servers=SERVERS):
    return [each.words for each in components(slow, tested, servers)]


def test_a_server_of_which_all_targets_are_slow_is_named_in_their_place():
    slow = {'ost0004': 0.20, 'ost0005': 0.25, 'ost0006': 0.22, 'ost0007': 0.22}
    assert words(slow) == ['all 4 OSTs of 10.0.0.1@o2ib are 22 % slower']


def test_targets_of_which_others_of_the_server_are_not_slow_are_named_each():
    slow = {'ost0004': 0.20, 'ost0005': 0.35}
    assert words(slow) == [
        'ost0005 of 10.0.0.1@o2ib is 35 % slower',
        'ost0004 of 10.0.0.1@o2ib is 20 % slower',
    ]


def test_a_server_with_one_target_says_no_more_than_the_target():
    assert words({'ost0000': 0.2}, ['ost0000', 'ost0004', 'ost0005']) == ['ost0000 of 10.0.0.0@o2ib is 20 % slower']


def test_targets_that_were_not_tested_do_not_keep_a_server_from_being_named():
    slow = {'ost0004': 0.2, 'ost0005': 0.2}
    assert words(slow, [*TARGETS[:6]]) == ['both OSTs of 10.0.0.1@o2ib are 20 % slower']


def test_the_only_server_is_not_named_because_it_has_no_equals():
    one = dict.fromkeys(TARGETS, '0@lo')
    assert words({'ost0000': 0.2, 'ost0001': 0.3}, ['ost0000', 'ost0001'], one) == [
        'ost0001 of 0@lo is 30 % slower',
        'ost0000 of 0@lo is 20 % slower',
    ]


def test_without_a_mapping_the_targets_are_named_alone():
    assert words({'ost0003': 0.2}, servers={}) == ['ost0003 is 20 % slower']


def test_metadata_targets_are_called_so():
    servers = {'mdt0000': 'a', 'mdt0001': 'a', 'mdt0002': 'b'}
    assert words({'mdt0000': 0.2, 'mdt0001': 0.2}, list(servers), servers) == ['both MDTs of a are 20 % slower']


def test_nothing_slow_names_nothing():
    assert words({}) == []
