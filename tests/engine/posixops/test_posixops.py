"""The posixops engine: what it can, its commands, what is valid of what its tasks say, and who does what."""

import json
import math
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import refused_by
from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.posixops import tree as tree_task
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.semantics import GUARANTEES
from seatrial.engine.posixops.tree import nodes_away, share
from seatrial.engine.posixops.work import POOL_BYTES, Data, Spec, Work, partner, rounded_up
from seatrial.model.metric import Fact
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.operations import FILEOP, posix_operations
from seatrial.workload.registry import metrics_of
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.tree import FIND, PHASES, levels_total, metadata_tree

FILES = metadata_tree(files_per_directory=10, bytes_per_file=100)
DEEP = metadata_tree(depth=2, branching=3, files_per_directory=2, empties_per_directory=1)
OPERATIONS, SEMANTICS = posix_operations(10, 100), posix_semantics()


def point(workload=FILES, tasks=2, nodes=1, label='label'):
    return workload._replace(label=label, nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)


def test_what_it_refuses_and_why():
    at = point(metadata_tree(PHASES, 1361, 1, files_per_directory=1, subtrees='private'))
    made = share(at, 'tree', 1)
    assert len(made.directories[-1] + made.files[-1]) == 4095
    assert PosixOps().cannot(at) is None
    assert PosixOps().cannot(at.changed(depth=1362)) == 'cannot handle paths of 4098 characters'
    for size in (0, 2 * GIB):
        why = f'cannot write and read {size} bytes in one call'
        assert PosixOps().cannot(point(posix_operations(10, size))) == why


def test_a_launch_is_one_process_a_task_that_looks_for_modules_nowhere_and_differs_in_its_rank_alone():
    command = PosixOps().command('/opt/python3', 'stat', point(tasks=3), '/raw/1', 7)
    assert (command.scope, command.outputs, command.own_barrier) == ('task', (), True)
    assert {argv[:3] for argv in command.argvs} == {('/opt/python3', '-I', '-S')}
    assert {argv[:-1] for argv in command.argvs} == {command.argvs[0][:-1]}
    assert [argv[-1] for argv in command.argvs] == ['0', '1', '2']
    assert PosixOps().version_argv('/opt/python3') == ['/opt/python3', '-I', '-S', '--version']


class TestElsewhere:
    @pytest.mark.parametrize(
        ('nodes', 'phases', 'expected'),
        [
            (1, PHASES, []),
            (2, PHASES, ['stat']),  # the read's node has seen in the stat what it reads
            (2, ('create', 'read', 'remove'), ['read']),
            (3, PHASES, ['stat', 'read']),
            (4, PHASES, ['stat', 'read', 'remove']),
            (6, PHASES, ['stat', 'read', 'remove']),
        ],
    )
    def test_a_phase_works_elsewhere_if_its_node_has_neither_made_nor_seen_the_entries(self, nodes, phases, expected):
        at = point(FILES._replace(phases=phases), 2 * nodes, nodes)
        assert [phase for phase in phases if PosixOps().reads_elsewhere(at, phase)] == expected

    @pytest.mark.parametrize(
        ('nodes', 'subtrees', 'phases', 'elsewhere'),
        [
            (2, 'private', ('create', FIND), True),
            (2, 'private', ('create', 'stat', FIND), False),
            (2, 'shared', ('create', FIND), False),
            (1, 'private', ('create', FIND), False),
        ],
    )
    def test_a_search_is_elsewhere_where_its_node_knows_no_directory(self, nodes, subtrees, phases, elsewhere):
        at = point(FILES.changed(phases=phases, subtrees=subtrees), 2 * nodes, nodes)
        assert PosixOps().reads_elsewhere(at, FIND) == elsewhere


class TestPartners:
    @given(st.integers(1, 6), st.integers(1, 4), st.booleans(), st.sampled_from(PHASES))
    def test_every_task_has_a_partner_of_its_own_on_another_node(self, nodes, per_node, cyclic, phase):
        hosts = tuple(f'n{(r % nodes) if cyclic else r // per_node}' for r in range(nodes * per_node))
        away = nodes_away(phase, nodes)
        partners = [partner(rank, hosts, away) for rank in range(len(hosts))]
        assert sorted(partners) == list(range(len(hosts)))
        if nodes > 1 and phase != 'create':
            assert all(hosts[rank] != hosts[other] for rank, other in enumerate(partners))

    def test_tasks_that_are_spread_unevenly_have_none(self):
        with pytest.raises(EngineError, match='T10: .* unevenly over the nodes: 2 on a, 1 on b'):
            partner(0, ('a', 'a', 'b'), 1)

    @pytest.mark.parametrize('subtrees', ['shared', 'private'])
    def test_on_two_nodes_a_task_stats_what_the_other_has_made_and_nothing_is_left(
        self, tmp_path, monkeypatch, subtrees
    ):
        """Both tasks one after the other in this process: alone, a task waits for nobody."""
        monkeypatch.chdir(tmp_path)
        stated = []
        monkeypatch.setattr(tree_task.os, 'stat', lambda path, real=os.stat: (stated.append(path), real(path))[1])
        for phase in PHASES:
            for rank in (0, 1) if phase == 'create' else (1, 0):  # task 0 removes a shared tree, when it is empty
                work = Work(rank, 2)
                work.hosts = ('a', 'b')
                tree_task.carry_out(work, Spec(phase, point(DEEP.changed(subtrees=subtrees), nodes=2)))
        entries = [Path(path).name.split('.')[1] for path in stated if '/f.' in path or '/e.' in path]
        assert entries == ['0'] * 13 * 3 + ['1'] * 13 * 3
        assert list(tmp_path.iterdir()) == []


@given(st.integers(0, 3), st.integers(1, 3), st.integers(0, 3), st.integers(0, 3), st.integers(1, 3))
def test_the_shares_of_all_tasks_are_the_tree(depth, branching, files, empties, tasks):
    for subtrees in ('shared', 'private'):
        tree = metadata_tree(PHASES, depth, branching, files, empties, subtrees=subtrees)
        shares = [share(tree, 'tree', rank) for rank in range(tasks)]
        directories = {directory for task in shares for directory in task.directories}
        made = {directory + name for task in shares for directory in task.directories for name in task.files}
        planned = levels_total(tree, tasks)
        assert (len(directories), len(made)) == (planned.directories, planned.files)
        for place, directory in enumerate(shares[0].directories):
            parent = directory.rpartition('/')[0]
            assert parent in ('', *shares[0].directories[:place]), 'a parent is made before what lies in it'


class TestData:
    @given(st.integers(1, 5000), st.integers(1, 100))
    def test_files_that_fit_into_the_pool_have_no_byte_in_common(self, size, files):
        data = Data(size, files)
        assert b''.join(bytes(data.of(number)) for number in range(files)) == bytes(data._pool)

    @pytest.mark.parametrize('size', [40 * KIB, 2048000, 3 * MIB + 1])
    def test_files_that_do_not_fit_share_no_block_of_512_bytes_with_their_neighbours(self, size):
        data = Data(size, 2 * POOL_BYTES // size + 600)
        starts = [number * data._stride % POOL_BYTES for number in range(512)]
        assert len({start % 512 for start in starts}) == 512
        if size < 3 * MIB:
            assert len({number * data._stride % POOL_BYTES % 4096 for number in range(4096)}) == 4096
        assert all(len(data.of(number)) == size for number in range(600))


@given(st.floats(0, 1e5, allow_subnormal=False))
def test_a_time_is_not_made_shorter_and_at_most_a_hundredth_longer(seconds):
    rounded = rounded_up(seconds)
    assert seconds * 1e9 - 1e-2 <= rounded <= max(seconds * 1e9 * 1.01, seconds * 1e9 + 1)
    assert rounded == 0 or len(str(rounded).rstrip('0')) <= 3


def report_of(rank):
    """The report of one of two tasks that create 10 files each, in one second from rank / 2 on."""
    span = {'start_s': 100.0 + rank / 2, 'end_s': 101.0 + rank / 2}
    timed = {'file_create': {'operations': 10, 'spans': [span], 'nanoseconds': {}}}
    return {'rank': rank, 'tasks': 2, 'host': 'n1', 'uncertainty_s': 0.0, 'timed': timed, 'facts': [], 'failed': None}


GOOD = [report_of(0), report_of(1)]


def outcome(reports, statuses=(0, 0), stderrs=('', '')):
    texts = [report if isinstance(report, str) else json.dumps(report) + '\n' for report in reports]
    times = tuple(ProcessTime('n1', 0.0, 9.0, status) for status in statuses)
    return Outcome(times, tuple(texts), tuple(stderrs), ())


def measure(reports=GOOD, at=None, phase='create', **how):
    at = at or point()
    command = PosixOps().command('python3', phase, at, '/raw/1', 7)
    return PosixOps().measure(phase, at, command, outcome(reports, **how))


def refusal(*reports, **how):
    error = refused_by(measure)(*reports, **how)
    return error.rule, error.sentence


def altered(index=0, **changes):
    """The good reports, one of them changed; a key with two underscores leads into the metric."""
    reports = json.loads(json.dumps(GOOD))
    for key, value in changes.items():
        target = reports[index]
        if key.startswith('timed__'):
            target, key = target['timed']['file_create'], key.split('__')[1]
        target[key] = value
    return reports


def with_spans(*spans):
    """The good reports, with these spans of each task."""
    return [
        {**task, 'timed': {'file_create': {**task['timed']['file_create'], 'spans': list(spans)}}} for task in GOOD
    ]


class TestAGoodRun:
    def test_the_rate_is_over_all_tasks(self):
        (metric,) = measure().metrics
        assert (metric.name, metric.operations, metric.seconds, metric.figure) == ('file_create', 20, 1.5, '13.333')
        assert (metric.value, metric.unit) == (20 / 1.5, 'op/s')
        assert metric.task_seconds == (1.0, 1.0)
        assert metric.idle_share == pytest.approx(1 / 3)
        assert measure().clock_s == 1e-9
        assert measure(GOOD[::-1]) == measure(), 'processes have another order than tasks'

    def test_on_several_the_times_of_two_tasks_are_as_uncertain_as_both_clocks(self):
        reports = altered(0, uncertainty_s=0.002)
        reports[1].update(uncertainty_s=0.001, host='n2')
        measured = measure(reports, point(nodes=2))
        assert (measured.clock_s, measured.hosts) == (pytest.approx(0.003), ('n1', 'n2'))

    def test_rounds_are_added_without_the_time_between_them(self):
        reports = with_spans({'start_s': 100.0, 'end_s': 101.0}, {'start_s': 105.0, 'end_s': 107.0})
        (metric,) = measure(reports).metrics
        assert (metric.seconds, metric.task_seconds) == (3.0, (3.0, 3.0))

    def test_a_task_that_had_nothing_to_do_has_no_time(self):
        reports = altered(1, timed__spans=[None], timed__operations=0)
        reports[0]['timed']['file_create']['operations'] = 20
        (metric,) = measure(reports).metrics
        assert (metric.seconds, metric.task_seconds) == (1.0, ())


class TestWhatIsNotValid:
    @given(st.integers(1, len(json.dumps(GOOD[1])) - 1))
    def test_a_report_that_is_cut_short_anywhere(self, length):
        rule, sentence = refusal([GOOD[0], json.dumps(GOOD[1])[:length]])
        assert rule == 'T8'
        assert sentence.startswith("a task's report is damaged: '{")

    @pytest.mark.parametrize(
        ('changes', 'refused'),
        [
            ({'timed': {}}, ('P15', "task 1 on n1 timed [], not ['file_create']")),
            ({'timed__operations': 9}, ('P15', 'file_create: the tasks did 19 operations, not 20')),
            ({'timed__spans': 2 * GOOD[0]['timed']['file_create']['spans']}, ('T8', None)),
            ({'timed__nanoseconds': {'1000': 9}}, ('T8', 'file_create: 9 of 20 calls have a time')),
        ],
        ids=str,
    )
    def test_a_task_that_did_something_else(self, changes, refused):
        rule, sentence = refusal(altered(1, **changes))
        assert (rule, sentence) == refused or (rule, None) == refused

    @pytest.mark.parametrize(('span', 'rule'), [(None, 'T8'), ({'start_s': 100.0, 'end_s': 100.0}, 'T12')])
    def test_a_round_in_which_nobody_worked_or_no_time_passed(self, span, rule):
        assert refusal(with_spans(span))[0] == rule

    def test_a_report_of_another_form(self):
        texts = ('', '\n', '[]\n', 'null\n', '{"rank": 1}\n', '[' * 100000, 'Traceback:\n')
        assert {refusal([GOOD[0], text])[0] for text in texts} == {'T8'}

    @pytest.mark.parametrize(
        'reports',
        [GOOD[:1], [GOOD[0], GOOD[0]], [GOOD[0], {**GOOD[1], 'rank': 2}], [GOOD[0], {**GOOD[1], 'tasks': 1}]],
    )
    def test_other_tasks_than_planned(self, reports):
        rule, sentence = refusal(reports, statuses=(0,) * len(reports), stderrs=('',) * len(reports))
        assert rule == 'T9'
        assert sentence.endswith('not 0 to 1 of 2')

    @pytest.mark.parametrize(
        ('hosts', 'at', 'words'),
        [
            (('n1', 'n2'), point(), '1 on n1, 1 on n2, not 2 on each of 1 nodes'),
            (('n1', 'n1'), point(nodes=2), '2 on n1, not 1 on each of 2 nodes'),
        ],
    )
    def test_other_nodes_than_planned(self, hosts, at, words):
        reports = [{**report, 'host': host} for report, host in zip(GOOD, hosts, strict=True)]
        assert refusal(reports, at) == ('T10', f'the tasks ran {words}')


class TestATaskThatFailed:
    ABORTED = {'rule': 'E1', 'sentence': 'task 1 on n1 is lost', 'aborted': True}
    OWN = {'rule': 'T17', 'sentence': 'file_stat: No such file or directory: tree/f.1.0', 'aborted': False}

    def test_the_reported_reason_is_that_of_a_task_that_failed_or_died_or_else_that_all_were_aborted(self):
        aborted, other = ({**report, 'failed': self.ABORTED} for report in GOOD)
        failed = {**GOOD[1], 'failed': self.OWN}
        assert refusal([aborted, failed], statuses=(1, 1)) == ('T17', f'task 1 on n1: {self.OWN["sentence"]}')
        assert refusal([aborted, ''], statuses=(1, -9)) == ('E1', 'task 1 on n1 died of signal 9')
        assert refusal([aborted, other], statuses=(1, 1)) == ('E1', 'task 0 on n1: task 1 on n1 is lost')

    def test_one_that_broke_is_quoted(self):
        stderrs = ('', 'Traceback (most recent call last):\n  x\nMemoryError\n')
        refused = refusal([GOOD[0], '{"rank": 1, '], statuses=(0, 1), stderrs=stderrs)
        assert refused == ('E1', "task 1 on n1 exited with 1: 'MemoryError'")


@given(st.lists(st.integers(1, 999), min_size=20, max_size=20))
def test_percentiles_are_the_shortest_times_that_so_many_calls_did_not_exceed(times):
    timed, reports = {'operations': 10, 'spans': [{'start_s': 1.0, 'end_s': 2.0}]}, []
    for report, of_task in zip(GOOD, (times[:10], times[10:]), strict=True):
        of_each = {**timed, 'nanoseconds': Counter(map(str, of_task))}
        reports.append({**report, 'timed': dict.fromkeys(FILEOP, of_each)})
    metrics = measure(reports, point(OPERATIONS), 'fileop').metrics
    expected = {f'p{part}': sorted(times)[math.ceil(part * 20 / 100) - 1] / 1e9 for part in (50, 95, 99)}
    assert metrics[0].percentiles_s == expected
    assert tuple(metric.name for metric in metrics) == FILEOP


def facts_of(holds=True, count=None):
    return [{'name': guarantee.name, 'holds': holds, 'seen': 'seen'} for guarantee in list(GUARANTEES)[:count]]


class TestFacts:
    def of_tasks(self, one, other):
        reports = [{**report, 'timed': {}, 'facts': facts} for report, facts in zip(GOOD, (one, other), strict=True)]
        return {'reports': reports, 'at': point(SEMANTICS), 'phase': 'probe'}

    @pytest.mark.parametrize(('holds', 'number'), [(True, len(GUARANTEES)), (False, 0), (None, 0)])
    def test_the_figure_is_how_many_hold(self, holds, number):
        measured = measure(**self.of_tasks(facts_of(holds), facts_of(holds)))
        assert measured.figures == {'holding': number}
        assert measured.facts == tuple(Fact(guarantee.name, holds, 'seen') for guarantee in GUARANTEES)
        (metric,), (meant,) = measured.metrics, metrics_of(point(SEMANTICS), 'probe')
        assert (metric.name, metric.unit) == (meant.name, meant.unit)

    def test_tasks_that_disagree_are_refused_and_a_guarantee_that_was_left_out_is_missed(self):
        assert refusal(**self.of_tasks(facts_of(), facts_of(False)))[0] == 'T8'
        missed = ('P15', f'only 3 of {len(GUARANTEES)} guarantees were tried')
        assert refusal(**self.of_tasks(facts_of(count=3), facts_of(count=3))) == missed
