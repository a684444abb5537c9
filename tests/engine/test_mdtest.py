"""The mdtest engine: its command lines, and what it makes of genuine outputs of mdtest 3.3.0, 4.0.0 and 4.1.0+dev. In
short-read and verify-fails the files were overwritten before; verify-fails and shifted-private-* have options more
(-X; -N 1)."""

import os
import random
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import assert_refused, cuts, launched, option, refused_by
from seatrial.engine.base import MAX_BYTES_PER_CALL, EngineError, Outcome, ProcessTime
from seatrial.engine.mdtest import Mdtest, complaints, options_of, parse_output, parse_ranks
from seatrial.model.units import KIB
from seatrial.workload import tree as tree_kind
from seatrial.workload.base import Entries
from seatrial.workload.tree import MIN_DIRECTORIES, PHASES, levels_total, metadata_tree, operations
from transcript import transcripts

TRANSCRIPTS = transcripts('mdtest')
OPENS_ONLY = 'Read bytes is 0, thus, a read test will actually just open/close'

PRIVATE = metadata_tree(depth=2, branching=3, files_per_directory=2, bytes_per_file='40KiB', subtrees='private')
SHARED = metadata_tree(files_per_directory=20, empties_per_directory=20)
EMPTIES = metadata_tree(('create', 'stat', 'remove'), 1, 2, empties_per_directory=3)
BARE = metadata_tree(('create', 'remove'), 1, 10, subtrees='private')
SYNCED = metadata_tree(files_per_directory=10, bytes_per_file=3901, fsync=True)
FDTREE_1 = metadata_tree(depth=4, branching=5, files_per_directory=3, bytes_per_file='40KiB', subtrees='private')


def point(tree, tasks=2, nodes=1):
    return tree._replace(nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)


GOOD = {
    f'{which}-{name}-{phase}': (phase, point(tree))
    for which, trees in (
        ('one', {'private': PRIVATE, 'shared': SHARED, 'empties': EMPTIES, 'synced': SYNCED, 'bare': BARE}),
        ('one-main', {'private': PRIVATE, 'shared': SHARED}),
    )
    for name, tree in trees.items()
    for phase in (('create',) if tree.tree.fsync else tree.phases)
}

# Why the others are refused when this was planned: two tasks create 20 files and 20 directories each.
PLANNED = ('create', point(SHARED))
REFUSED = {
    'fail-badflag': ('E1', "exited with 1: 'Error invalid argument: -q"),
    **dict.fromkeys(('fail-enospc', 'fail-enospc2'), ('E1', 'No space left on device')),
    'fail-inodes': ('E1', 'file.mdtest.0.24", 66, 0664) failed. Error: No space left on device'),
    **dict.fromkeys(('fail-nowrite', 'missing-read'), ('E1', 'exited with 255')),
    'crash-srun': ('E1', "exited with 143: 'srun: error: n3: task 1: Segmentation fault'"),
    'werr-missing': ('E1', 'ERROR: unable to stat directory'),
    'werr-noread': ('E1', 'ERROR: Read bytes is 0'),
    'missing-stat': ('T17', 'WARNING: unable to stat directory'),
    'missing-remove': ('T17', 'WARNING: unable to remove directory'),
    'short-read': ('T17', 'WARNING: unable to read file'),
    'shifted-private-stat': ('T17', 'unable to stat directory ./test-dir.0-0/mdtest_tree.0.0/dir.mdtest.1.0'),
    'shifted-private-main-stat': ('T17', 'WARNING: unable to stat directory'),
    'main-U': ('T17', 'rename() of file'),
    'existing-create': ('T8', "tree directory './test-dir.0-0/mdtest_tree.0/'' and 40 other complaints"),
    'verify-fails': ('T8', "exited with 0 and said 'ERROR: verifying the data on read (20 errors)"),
    'v33-refuses': ('T8', 'Error invalid argument: --saveRankPerformanceDetails'),
    'W1': ('T1', 'Continue stonewall hit min: 22411 max: 25590'),
    **dict.fromkeys(('mdwb', 'mdwb-detail'), ('T7', 'does not say which version of mdtest')),
    'v33-P': ('T7', '3.3.0 are wrong: maximum, minimum and mean were taken over the ranks'),
    'v33-create': ('T7', '3.3.0 are wrong'),
    **dict.fromkeys(('wrong-world', 'verify'), ('T9', '1 tasks instead of 2')),
    **dict.fromkeys(('range', 'rankstats', 'stride-N1'), ('T9', '4 tasks instead of 2')),
    'singletons': ('T9', 'ran 2 times with 1 tasks instead of once'),
    # Runs of something else, whole and without a complaint.
    **dict.fromkeys(('D', 'F-w-e', 'I-z-b', 'L', 'P', 'S', 'V2', 'W1-T', 'W1-r', 'Z', 'allprocs', 'y'), ('P15', '')),
    **dict.fromkeys(('basic-n2', 'fail-nI', 'v', 'vv', 'fail-none', 'fail-w-noparse', 'main-P'), ('P15', '')),
    **dict.fromkeys(('phase-C', 'phase-T', 'phase-r', 't-timing', 'werr-ok'), ('P15', '')),
}
NAMES = sorted(name for name, sections in TRANSCRIPTS.items() if 'out' in sections)
UNFINISHED = {name for name, (rule, _) in REFUSED.items() if rule == 'E1'} | {'v33-refuses'}
WHOLE = sorted(set(NAMES) - UNFINISHED - {'mdwb', 'mdwb-detail', 'singletons'})


@pytest.fixture(scope='module', autouse=True)
def trees_of_few_directories_count():
    """The transcripts are of trees of 11 and 13 directories, whose making no case calls a rate."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_kind, 'MIN_DIRECTORIES', 2)
        yield


def text(name, section='out'):
    return TRANSCRIPTS[name].get(section)


def outcome(name, stdout=None, ranks=None, status=None):
    """The outcome of this transcript, with these texts and this status in place of its own."""
    return Outcome(
        (ProcessTime('node1', 0.0, 1.0, int(text(name, 'rc')) if status is None else status),),
        (text(name) if stdout is None else stdout,),
        (text(name, 'err') or '',),
        (text(name, 'csv') if ranks is None else ranks,),
    )


def measure(name, how=None, seen=None, **instead):
    phase, at = how or GOOD.get(name, PLANNED)
    return Mdtest().measure(phase, at, command_of(phase, at), seen or outcome(name, **instead))


refusal = refused_by(measure)


def changed(name, old, new, section='out'):
    """The text of a transcript with one thing in it changed."""
    whole = text(name, section)
    assert old in whole
    return whole.replace(old, new)


def command_of(phase, at, raw='/records/1', seed=7):
    return Mdtest().command('mdtest', phase, at, raw, seed)


def argv_of(*launch, **how):
    return command_of(*launch, **how).argvs[0]


# The command lines


def test_files_are_synced_when_they_are_made_and_never_again():
    # All other options are those of the genuine outputs below, which name them.
    assert [phase for phase in PHASES if '-y' in options_of(phase, point(SYNCED))] == ['create']


@pytest.mark.parametrize(
    ('tree', 'nodes', 'shifted'),
    [*((SHARED, nodes, []) for nodes in (1, 2, 3)), (SHARED, 4, ['stat', 'read', 'remove']), (PRIVATE, 4, [])],
)
def test_on_four_nodes_every_phase_after_creation_is_shifted_by_one_node_and_not_by_its_tasks(tree, nodes, shifted):
    at = point(tree, 8 * nodes, nodes)
    options = {phase: options_of(phase, at) for phase in PHASES}
    assert [phase for phase in PHASES if '-N' in options[phase]] == shifted
    assert all(option(options[phase], '-N') == '1' for phase in shifted)
    assert tree == PRIVATE or [phase for phase in PHASES if Mdtest().reads_elsewhere(at, phase)] == shifted


def test_the_data_do_not_compress_and_are_others_in_every_launch():
    seen = {option(argv_of('create', point(PRIVATE), raw, seed), '-G') for raw in ('/r/1', '/r/2') for seed in (1, 2)}
    assert len(seen) == 4 and '--dataPacketType=random' in argv_of('create', point(PRIVATE))


@given(st.integers(), st.text())
def test_the_seed_of_the_data_is_a_number_that_mdtest_takes_as_it_is(seed, raw):
    assert 0 < int(option(argv_of('create', point(PRIVATE), raw, seed), '-G')) < 2**31


# What it cannot do


@pytest.mark.parametrize(
    'tree', [PRIVATE, SHARED, EMPTIES, BARE, SYNCED, FDTREE_1, SHARED.changed(bytes_per_file=MAX_BYTES_PER_CALL)]
)
def test_it_can_do_the_trees_of_the_sources(tree):
    assert Mdtest().cannot(point(tree, 48, 6)) is None


@pytest.mark.parametrize(
    ('tree', 'why'),
    [
        (SHARED.changed(empties_per_directory=19), 'other numbers of files and of directories'),
        (SHARED._replace(phases=('create', 'find')), 'cannot find files'),
        (SHARED.changed(fsync=True), 'sync a file to which it writes nothing'),
        (SHARED.changed(bytes_per_file=MAX_BYTES_PER_CALL + 1), 'in one call'),
        (SHARED.changed(depth=31, branching=2), 'cannot number 4294967295 directories'),
        (SHARED.changed(depth=70), 'paths of 1'),
    ],
)
def test_it_says_what_it_cannot_do_exactly(tree, why):
    assert why in Mdtest().cannot(point(tree))


# What it leaves, and where it looks


def test_until_they_are_removed_the_entries_lie_in_one_directory_more():
    planned = levels_total(PRIVATE, 2)
    one_more = planned._replace(directories=planned.directories + 1)
    left = {phase: Mdtest().entries(point(PRIVATE), phase) for phase in PHASES}
    assert left == {'create': one_more, 'stat': one_more, 'read': one_more, 'remove': Entries(0, 0, 0)}


# Genuine outputs


@pytest.mark.parametrize('name', GOOD)
def test_the_figures_are_those_of_the_table_to_their_last_digit(name):
    printed = dict(re.findall(r'^   (\w+ \w+) +([\d.]+)', text(name), re.MULTILINE))
    words = {'create': 'creation', 'remove': 'removal'}
    kinds = [(metric.figure, *metric.name.split('_')) for metric in measure(name).metrics]
    measured = {f'{kind.capitalize()} {words.get(phase, phase)}': figure for figure, kind, phase in kinds}
    if not GOOD[name][1].tree.depth:  # a root that stands alone is no metric
        printed = {operation: figure for operation, figure in printed.items() if not operation.startswith('Tree')}
    assert measured == {operation: figure for operation, figure in printed.items() if figure != '0.000'}


@pytest.mark.parametrize('name', GOOD)
def test_the_operations_are_those_of_the_plan_and_no_task_took_longer_than_the_whole(name):
    phase, at = GOOD[name]
    assert {metric.name: metric.operations for metric in measure(name).metrics} == operations(at, phase)
    assert {metric.unit for metric in measure(name).metrics} == {'op/s'}
    for metric in (metric for metric in measure(name).metrics if not metric.name.startswith('tree')):
        assert f'{metric.value:.3f}' == metric.figure
        assert len(metric.task_seconds) == 2
        assert 0 < max(metric.task_seconds) <= metric.seconds
        assert 0 <= metric.idle_share < 1


def test_private_trees_count_all_their_directories_where_mdtest_counts_one_tree(monkeypatch):
    created = measure('one-private-create').metrics[0]
    assert (created.name, created.operations) == ('tree_create', 26)
    assert created.value == pytest.approx(26 / float(text('one-private-create', 'csv').split('\n')[1].split(',')[21]))
    assert float(created.figure) < created.value
    assert (measure('one-private-create').world_size, measure('one-private-create').hosts) == (2, ('unnamed-1',))
    monkeypatch.setattr(tree_kind, 'MIN_DIRECTORIES', MIN_DIRECTORIES)  # of few it is no rate
    assert [metric.name for metric in measure('one-private-create').metrics] == ['file_create']


@pytest.mark.parametrize('name', REFUSED)
def test_a_failure_is_refused_with_its_rule_and_reason(name):
    assert_refused(refusal(name, ranks=text('one-shared-create', 'csv')), *REFUSED[name])


OF_STAT = {'Directory stat', 'File stat'}


@pytest.mark.parametrize(
    ('name', 'fact', 'value'),
    [
        ('v33-P', lambda output: output.rows[0].maximum, Decimal('537.809')),
        ('P', lambda output: output.titles, (('rate', '3'), ('time', '3'))),
        ('v33-P', lambda output: output.titles, (('rate', '3'), ('time', '3'))),
        ('phase-T', lambda output: {row.operation for row in output.rows if row.mean}, OF_STAT),
        ('rankstats', lambda output: output.rows[0].mean, Decimal('1156.391')),
        ('range', lambda output: [run[:2] for run in output.runs], [(1, 50), (2, 100), (3, 150), (4, 200)]),
        ('stride-N1', lambda output: output.shifted_by, 1),
    ],
)
def test_all_values_of_an_output_are_read(name, fact, value):
    assert fact(parse_output(text(name))) == value


def test_the_file_of_the_ranks_has_a_row_for_each_and_one_for_all_with_what_ran():
    rows = parse_ranks(text('rank', 'csv'))
    assert [row.rank for row in rows] == [None, 0, 1, 2, 3, 0, 1, 2, 3]
    assert rows[1].figures['Directory creation'] == (259.36298044, 0.38556003571)
    assert rows[1].figures['Directory read'] == (float('inf'), 0.0)
    assert set(parse_ranks(text('one-shared-stat', 'csv'))[0].figures) == OF_STAT


# Cut short, and tampered with


@pytest.mark.parametrize('name', WHOLE)
def test_an_output_cut_before_its_end_is_refused_and_cut_after_it_has_the_same_values(name):
    whole = text(name)
    for cut in cuts(whole, 10**6 if name == 'one-shared-create' else 20):
        if '-- finished at' in cut:
            assert parse_output(cut) == parse_output(whole)
        else:
            with pytest.raises(EngineError, match='T7|T8'):
                parse_output(cut)


@pytest.mark.parametrize('name', sorted(set(NAMES) - set(GOOD)))
def test_what_is_refused_stays_refused_when_its_output_is_cut(name):
    for cut in cuts(text(name), 20):
        refusal(name, stdout=cut)


@pytest.mark.parametrize('name', ['one-shared-create', 'one-main-private-stat'])
def test_a_file_of_ranks_cut_after_any_line_is_refused(name):
    for cut in cuts(text(name, 'csv')):
        assert refusal(name, ranks=cut).rule in {'T8', 'T9'}


@pytest.mark.parametrize('name', sorted(name for name, (rule, _) in REFUSED.items() if rule == 'E1'))
def test_the_exit_status_decides_when_the_explanation_is_lost_but_for_the_last_words_of_the_launcher(name):
    assert refusal(name, stdout='', ranks=text('one-shared-create', 'csv')).rule == 'E1'
    aborted = 'YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Aborted (signal 6)\n'
    assert 'Aborted (signal 6)' in refusal('one-shared-stat', stdout=aborted, status=6).sentence


@pytest.mark.parametrize(
    ('old', 'new', 'rule', 'words'),
    [
        ('mdtest-4.0.0 was', 'mdtest-3.3.0 was', 'T7', '3.3.0'),
        ('with 2 total', 'with 3 total', 'T9', '3 tasks instead of 2'),
        ('Nodemap: 11', 'Nodemap: 1', 'T9', '1 tasks instead of 2'),
        ('on 1 node', 'on 2 node', 'T10', 'saw 2 nodes with 2 tasks on the first, not 1 with 2'),
        ('Nodemap: 11', 'Nodemap: 10', 'T10', '1 tasks on the first'),
        ("'-n' '20'", "'-n' '10'", 'P15', "mdtest ran with '-a'"),
        (" '-n' '20'", '', 'P15', 'mdtest ran with'),
        ('2 tasks, 40', '2 tasks, 20', 'P15', '2 tasks on 20 files/directories, where 2 tasks on 40'),
        ('2 tasks, 40', '1 tasks, 40', 'P15', 'with 1 tasks on 40'),
        ('files/directories', 'files', 'P15', '40 files, where'),
        ('(of 1 iter', '(of 2 iter', 'P15', 'one table of rates was planned'),
        ('SUMMARY rate', 'SUMMARY time', 'P15', 'one table of rates was planned'),
        ('Nodemap: 11\n', f'Nodemap: 11\nWARNING: {OPENS_ONLY}\n', 'P15', 'mdtest read nothing'),
        ('Nodemap: 11\n', 'Nodemap: 11\nV-0: Shifting ranks by 1 for each phase.\n', 'P15', 'by 1 instead of 0'),
        ('   File creation                   0.000', '   File creation                   1.000', 'P15',
         'File creation was not planned'),
        ('Nodemap: 11\n', '', 'T13', "no line that begins with 'Nodemap'"),
        ('   File stat ', '   File state ', 'T13', 'no row of it'),
        ('   File stat  ', '   File stat  x', 'T13', 'no row of it'),
        ('   Tree removal ', '   Tree creation ', 'T13', 'other rows than its own: '),
        ('   Tree removal', 'Tree removal', 'T13', 'does not end with the trees'),
    ],
)  # fmt: skip
def test_an_output_with_other_values_is_refused(old, new, rule, words):
    assert_refused(refusal('one-shared-stat', stdout=changed('one-shared-stat', old, new)), rule, words)


def row_changed(name, operation, *figures):
    """The output of a transcript with these in place of the four figures of a row."""
    row = f'   {operation} {" ".join(figures)}'
    whole, count = re.subn(rf'^   {operation} .*$', row, text(name), flags=re.MULTILINE)
    assert count == 1
    return whole


@pytest.mark.parametrize(
    ('figures', 'rule', 'words'),
    [
        (('0.000', '0.000', '0.000', '0.000'), 'P15', 'File stat was planned, and did not run'),
        (('inf', 'inf', 'inf', '0.000'), 'T12', 'a rate of Infinity: too short to measure'),
        (('nan', 'nan', 'nan', '0.000'), 'T1', 'differ'),
        (('-5.000', '-5.000', '-5.000', '0.000'), 'T12', 'the clock was set'),
        (('5.000', '4.000', '4.500', '0.000'), 'T1', 'maximum, minimum and mean differ'),
        (('5.000', '5.000', '5.000', '0.500'), 'T1', 'differ'),
        (('5.000', '5.000', '5.000', '0.000'), 'T1', '5.000 a second for 40 in'),
    ],
)
def test_a_figure_that_cannot_be_is_refused(figures, rule, words):
    stdout = row_changed('one-shared-stat', 'File stat', *figures)
    assert_refused(refusal('one-shared-stat', stdout=stdout), rule, words)
    assert refusal('one-shared-stat', ranks=changed('one-shared-stat', '\n1,', '\n0,', 'csv')).rule == 'T9'


def test_a_tree_of_other_directories_or_that_took_the_first_rank_longer_than_all_is_refused():
    stdout = row_changed('one-private-create', 'Tree creation', '5.000', '5.000', '5.000', '0.000')
    ranks = ranks_changed('one-private-create', 'all', 'Tree creation', '5.2000000000e+01', '1.0000000000e+00')
    slow, wide = refusal('one-private-create', stdout=stdout), refusal('one-private-create', ranks=ranks)
    assert 'Tree creation: 5.000 a second for 13 in no more than' in slow.sentence
    assert 'Tree creation: 52.0 directories, not 13 for each rank' in wide.sentence


def ranks_changed(name, rank, operation, rate, seconds):
    """The file of the ranks with these figures of one operation in the row of a rank, or of 'all'."""
    lines = text(name, 'csv').splitlines()
    place = lines[0].split(',').index(f'rate-{operation}')
    for number, line in enumerate(lines):
        fields = line.split(',')
        if fields[0] == rank:
            lines[number] = ','.join([*fields[:place], rate, seconds, *fields[place + 2 :]])
    return '\n'.join(lines) + '\n'


@pytest.mark.parametrize(
    ('rank', 'rate', 'seconds', 'rule', 'words'),
    [
        ('all', '4.0000000000e+01', '1.0000000000e+00', 'T1', 'a second for 40 in 1.0 s'),
        ('all', 'inf', '0.0000000000e+00', 'T12', 'took 0.0 s'),
        ('all', '', '', 'T13', 'lacks File stat'),
        ('1', '', '', 'T13', 'lacks File stat'),
        ('1', 'inf', '0.0000000000e+00', 'T12', 'took 0.0 s'),
        ('1', '1.0000000000e+06', '1.9000000000e-05', 'T1', 'rank 1 did 19.0 of its 20'),
        ('1', '2.0000000000e+01', '1.0000000000e+00', 'T1', 'rank 1 took 1.0 s of'),
        ('1', '2.0e+01', '1.0000000000e+00', 'T8', 'damaged'),
    ],
)
def test_a_file_of_ranks_that_cannot_be_is_refused(rank, rate, seconds, rule, words):
    ranks = ranks_changed('one-shared-stat', rank, 'File stat', rate, seconds)
    assert_refused(refusal('one-shared-stat', ranks=ranks), rule, words)


def test_more_seconds_than_the_launch_lived_are_refused():
    name = 'one-shared-create'
    longest_s = max(metric.seconds for metric in measure(name).metrics)
    seen = outcome(name)._replace(processes=(ProcessTime('node1', 5.0, 5.0 + longest_s / 2, 0),))
    assert_refused(refusal(name, seen=seen), 'T1', ' s: a clock of its nodes is wrong')


@pytest.mark.parametrize(('tasks', 'files', 'share'), [(2, 20, '19 of 40'), (4, 10, '27 of 40')])
def test_files_of_other_ranks_with_the_same_bytes_are_reported(tasks, files, share):
    at = point(metadata_tree(files_per_directory=files, bytes_per_file=5), tasks)
    assert Mdtest().repeats(at) == f'{share} files have the bytes of one that another rank makes'
    assert len({number + rank for number in range(files) for rank in range(tasks)}) == files * tasks - int(share[:2])
    assert Mdtest().repeats(at.changed(bytes_per_file=0)) == Mdtest().repeats(at.changed(tasks=1)) == ''


def test_a_file_of_ranks_that_was_not_written_is_refused_by_its_name():
    seen = outcome('one-shared-stat')._replace(outputs=(None,))
    assert_refused(refusal('one-shared-stat', seen=seen), 'T8', '/records/1.csv')


def test_a_command_line_that_mdtest_cuts_is_compared_as_far_as_it_goes():
    phase, at = GOOD['one-shared-stat']
    raw = '/records/' + 'a' * 2000
    command = command_of(phase, at, raw)
    line = 'Command line used: mdtest' + ''.join(f" '{argument}'" for argument in command.argvs[0][1:])
    stdout = re.sub('Command line used.*', line[:1023], text('one-shared-stat'))
    measured = Mdtest().measure(phase, at, command, outcome('one-shared-stat', stdout=stdout))
    assert measured == measure('one-shared-stat')


@pytest.mark.parametrize(
    ('line', 'rule'),
    [
        ('WARNING: unable to stat file ./test-dir.0-0/mdtest_tree.0/file.mdtest.0.0', 'T17'),
        ('WARNING: unable to open file ./test-dir.0-0/mdtest_tree.0/file.mdtest.0.0', 'T17'),
        ('WARNING: [RANK 000]: unlink() of file "./test-dir.0-0/mdtest_tree.0/file.mdtest.0.0" failed', 'T17'),
        ('WARNING: Unable to remove directory ./test-dir.0-0/mdtest_tree.0/', 'T17'),
        ('WARNING: unable to create file ./test-dir.0-0/mdtest_tree.0/file.mdtest.0.0', 'T8'),
        ('WARNING: unable to write file ./test-dir.0-0/mdtest_tree.0/file.mdtest.0.0', 'T8'),
        ('ERROR: verifying the data on read (20 errors)! Take the performance values with care!', 'T8'),
        ('ior WARNING: unable to stat file ./f.', 'T17'),
        ('Continue stonewall hit min: 1 max: 2 avg: 1.5 ', 'T1'),
    ],
)
def test_a_complaint_beside_a_perfect_table_is_refused_wherever_it_stands(line, rule):
    for stdout in (f'{line}\n' + text('one-shared-stat'), text('one-shared-stat') + f'{line}\n'):
        assert refusal('one-shared-stat', stdout=stdout).rule == rule


@pytest.mark.parametrize('line', [OPENS_ONLY, 'Backend returned error during statfs'])
def test_a_harmless_warning_is_no_complaint(line):
    assert complaints(f'WARNING: {line}\n') == ()


SPREAD = point(SHARED.changed(empties_per_directory=0), 8, 4)


@pytest.mark.parametrize(
    ('nodemap', 'ranks', 'why'),
    [
        # By its tasks in blocks and by one in turn: what is refused is the command line of the transcript.
        ('11000000', 2, 'P15: mdtest ran with'),
        ('10001000', 1, 'P15: mdtest ran with'),
        ('11000000', 1, 'P15: mdtest shifted the ranks by 1 instead of 2'),
        ('10001000', 2, 'P15: mdtest shifted the ranks by 2 instead of 1'),
        ('10100000', 1, 'T10: .*neither in blocks nor in turn: 10100000'),
        ('11100000', 3, 'T10: mdtest saw 4 nodes with 3 tasks on the first'),
    ],
)
def test_a_shift_that_does_not_lead_to_the_next_node_is_refused(nodemap, ranks, why):
    with pytest.raises(EngineError, match=why):
        spread(nodemap, ranks)


def spread(nodemap, ranks):
    """Measure the stat of eight tasks on four nodes, of which no transcript can be had on one machine."""
    stdout = changed('one-shared-stat', 'with 2 total task(s) on 1', 'with 8 total task(s) on 4')
    stdout = stdout.replace('Nodemap: 11\n', f'Nodemap: {nodemap}\nV-0: Shifting ranks by {ranks} for each phase.\n')
    return measure('one-shared-stat', ('stat', SPREAD), stdout=stdout)


@given(st.sampled_from(sorted(GOOD)), st.randoms(use_true_random=False))
def test_an_output_with_a_hole_is_refused_or_has_the_same_values(name, rng: random.Random):
    whole = text(name)
    start, end = sorted(rng.sample(range(len(whole) + 1), 2))
    end = rng.choice([end, min(end, start + 5)])
    try:
        seen = measure(name, stdout=whole[:start] + whole[end:])
    except EngineError:
        return
    assert seen == measure(name)


@given(st.text(), st.text())
def test_any_text_is_refused_and_breaks_nothing(stdout, ranks):
    refusal('one-shared-stat', stdout=stdout, ranks=ranks)


# The program itself


class Ran:
    """The phases of a point on this machine, one launch after the other, and what lay on disk after each."""

    def __init__(self, scratch, tree, tasks=2):
        data = scratch / 'data directory'
        data.mkdir()
        self.at, self.on_disk, self.sizes = point(tree, tasks), {}, {}
        for number, phase in enumerate(tree.phases):
            command = Mdtest().command(shutil.which('mdtest'), phase, self.at, str(scratch / f'raw{number}'), 7)
            Mdtest().measure(phase, self.at, command, launched(command, data, 'mpiexec', '-n', str(tasks)))
            made = [(Path(top), directories, files) for top, directories, files in os.walk(data)]
            self.on_disk[phase] = (sum(len(step[1]) for step in made), sum(len(step[2]) for step in made))
            self.sizes[phase] = {(top / file).stat().st_size for top, _, files in made for file in files}


@pytest.mark.needs('mdtest', 'mpiexec')
def test_the_first_scenario_of_fdtree_is_on_disk_to_the_file(tmp_path):
    ran = Ran(tmp_path, FDTREE_1._replace(phases=('create', 'remove')))
    # mdtest makes all of it in one directory more.
    assert ran.on_disk == {'create': (2 * 781 + 1, 2 * 2343), 'remove': (0, 0)}
    assert ran.sizes['create'] == {40 * KIB}


@pytest.mark.needs('mdtest', 'mpiexec')
def test_a_shared_tree_is_on_disk_to_the_entry_until_it_is_removed(tmp_path):
    ran, planned = Ran(tmp_path, metadata_tree(PHASES, 1, 2, 50, 50, 3901)), (3 + 2 * 3 * 50 + 1, 2 * 3 * 50)
    assert ran.on_disk == {'create': planned, 'stat': planned, 'read': planned, 'remove': (0, 0)}
    assert levels_total(ran.at, 2).files == planned[1]


@pytest.mark.needs('mdtest', 'mpiexec')
def test_the_program_is_asked_for_its_version_without_touching_the_file_system(tmp_path):
    argv = Mdtest().version_argv(shutil.which('mdtest'))
    answer = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    script = tmp_path / 'bin' / 'mdtest'
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {shutil.which("mdtest")} "$@"\n')
    script.chmod(0o755)
    started = subprocess.run(Mdtest().version_argv(str(script)), cwd=tmp_path, capture_output=True, text=True).stdout
    assert Mdtest().parse_version(answer) == Mdtest().parse_version(started)
    assert os.listdir(tmp_path) == ['bin']
