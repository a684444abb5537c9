"""The contents of files after a write: complete, synced, and without data that compress or repeat."""

import os

import pytest

from builders import moved, sample_of
from seatrial.model.record import Finding, Records
from seatrial.rules.contents import BLOCK, PROOF, Block, Contents, Written, verified
from seatrial.rules.registry import WRITTEN, findings


def noise(size=BLOCK):
    return os.urandom(size)


def broken(plan, *blocks, repeats='', seconds=2.0, **of_contents):
    lie = tuple(Block('data', BLOCK * number, block) for number, block in enumerate(blocks))
    contents = Contents(lie, 0.0, 0.0)._replace(**of_contents)
    return [finding.rule for finding in findings(WRITTEN, Written(plan, contents, seconds, repeats))]


def declared(plan, **of_target):
    return plan._replace(target=plan.target._replace(**of_target))


def test_random_blocks_break_no_rule(plan):
    assert broken(plan, noise(), noise(), noise(1000)) == []
    assert broken(plan, noise(), bytes(1), bytes(1)) == [], 'by chance'


@pytest.mark.parametrize('block', [b'IOR!' * 1024, noise(BLOCK // 2) + bytes(BLOCK // 2)])
def test_data_that_compress_are_invalid(plan, block):
    assert broken(plan, noise(), block) == ['P4']


def test_a_transfer_whose_random_words_end_in_zeros_does_not_make_its_file_compressible(plan):
    """As fio's do now and then."""
    weak = b''.join(os.urandom(6) + bytes(2) for _ in range(BLOCK // 8))
    weaker = b''.join(os.urandom(12) + bytes(4) for _ in range(BLOCK // 16))  # to 85 %, as 1 of 131,072 (fio 3.33)
    assert broken(plan, weak) == [] == broken(plan, weaker)
    assert broken(plan, *(noise() for _ in range(15)), weak[::2] + bytes(BLOCK // 2)) == []


def test_zeros_are_no_data_whatever_the_site_declares(plan):
    assert broken(plan, noise(), bytes(BLOCK)) == ['T22', 'P4']
    assert broken(declared(plan, compresses=False), noise(), bytes(BLOCK)) == ['T22']
    assert broken(plan, noise(), missing={'data': 8192}) == ['T22'], 'what has no block on the disk'


@pytest.mark.parametrize(('deduplicates', 'rules'), [(True, ['P4a']), (None, ['P4b']), (False, [])])
def test_the_same_data_in_two_places_matter_where_the_back_end_may_keep_them_once(plan, deduplicates, rules):
    plan, block = declared(plan, deduplicates=deduplicates), noise()
    assert broken(plan, block, noise(), block) == broken(plan, block, repeats='after 128 MiB') == rules
    assert broken(plan, block, noise()) == []


@pytest.mark.parametrize(
    ('changes', 'rules'),
    [
        ({'sync_s': 0.49}, []),
        ({'sync_s': 0.51}, ['T23']),
        ({'sync_s': 3.0, 'again_s': 0.5}, ['T23']),
        ({'sync_s': 3.0, 'again_s': 0.7}, []),
        ({'sync_s': 0.6, 'again_s': 0.55}, []),
        ({'sync_s': 0.4, 'seconds': 0.1}, []),  # a short delay of a busy node
        ({'sync_s': 0.6, 'seconds': 0.1}, ['T23']),
        ({'sync_s': 30.0, 'counted': True}, []),  # a sync of clean files waits for what others write to the disk
        ({'unsynced': 0.06, 'counted': True}, ['T23']),
        # what is still to be written back was not synced, however soon it is
        ({'unsynced': 0.05}, []),
        ({'unsynced': 0.06}, ['T23']),
    ],
    ids=str,
)
def test_a_sync_that_takes_long_once_only_was_not_done_before(plan, changes, rules):
    assert broken(plan, noise(), **changes) == rules


def proof(plan, nodes=1, cache='', share=1.0, hosts=('n1',), **how):
    point = plan.points[0]._replace(nodes=nodes)
    read = moved(point, 1e6, 'read')._replace(hosts=hosts, bytes_moved=int(share * point.bytes_moved))
    sample = sample_of(plan, point, 'read', measurement=read, stage=PROOF, cache=cache, **how)
    return verified(Records(None, None, [sample], None, None, 0))


def test_how_much_content_was_verified_is_said_with_who_read_it_and_how(plan):
    whole = 'verified: 128 MiB of 128 MiB in 2 files, read by '
    assert proof(plan, cache='cold') == f'{whole}n1, past its cache'
    assert proof(plan, cache='cached') == f'{whole}n1, perhaps from its cache'
    assert proof(plan, nodes=2, hosts=('n1', 'n2')) == f'{whole}n1, n2, each part by another than wrote it'
    assert proof(plan, share=0.25, cache='cold').startswith('verified: 32 MiB of 128 MiB (25 %) in 2 files')


@pytest.mark.parametrize(('rule', 'words'), [('E1', 'not verified: E1: why'), ('F2', '')])
def test_a_proof_that_was_none_says_why_unless_a_reason_of_the_case_does(plan, rule, words):
    assert proof(plan, findings=[Finding(rule, 'invalid', 'why')]) == words
    assert verified(Records(None, None, [], None, None, 0)) == '', 'there was no proof'


@pytest.mark.parametrize(('sent', 'rules'), [(None, []), (100, []), (95, []), (94, ['T25']), (10**6, [])])
def test_what_is_said_to_be_written_has_left_the_node(plan, sent, rules):
    written = Written(plan, Contents((), 0.0, 0.0), 2.0, '', 100, sent)
    raised = findings(WRITTEN, written)
    assert [finding.rule for finding in raised] == rules
    assert not raised or '100 B are said to be written on this node, and 94 B left it' in raised[0].sentence
