"""The elbencho engines: their commands, and what they make of genuine outputs of elbencho 3.1-10."""

import os
import re
import subprocess
import sys

import pytest

from measuring import MFWA, SFSA, SFSA_STRIDED, SFWA, access_point, assert_refused, cuts, option, refused_by
from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.elbencho import Elbencho, ElbenchoFiles, parse_phase
from seatrial.engine.elbencho_task import main
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.base import Entries
from seatrial.workload.tree import metadata_tree
from transcript import transcripts

TRANSCRIPTS = transcripts('elbencho')


def point(workload=MFWA, transfers=64, transfer_size=MIB, **more):
    return access_point(workload, transfers=transfers, transfer_size=transfer_size, **more)


def tree(nodes=1, tasks=2, **more):
    at = metadata_tree(**{'files_per_directory': 2000, 'bytes_per_file': 4096, **more})
    return at._replace(label='flat', nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)


SHARED, PRIVATE = tree(), tree(phases=('create', 'stat', 'remove'), bytes_per_file=0, subtrees='private')
DATA = {
    'files-write': ('write', point()),
    'files-read': ('read', point()),
    'files-direct-write': ('write', point(MFWA.changed(direct=True))),
    'segments-write': ('write', point(SFSA)),
    'segments-read': ('read', point(SFSA)),
    'strided-write': ('write', point(SFSA_STRIDED)),
    'strided-read': ('read', point(SFSA_STRIDED)),
    'whole-read': ('read', point(SFWA, transfers=128)),
    'nodes-write': ('write', point(nodes=2)),
    'nodes-read': ('read', point(nodes=2)),
}
ENTRIES = {
    **{f'shared-{phase}': (phase, SHARED) for phase in SHARED.phases},
    **{f'private-{phase}': (phase, PRIVATE) for phase in PRIVATE.phases},
}
GOOD = {**DATA, **ENTRIES}


def engine_of(at):
    return ElbenchoFiles() if at.kind == 'tree' else Elbencho()


def command_of(phase, at):
    return engine_of(at).command('elbencho', phase, at, '/raw/1', 7)


def measure(name, how=None, hosts=('node1', 'node1'), **changed):
    """The engine's measurement from a transcript; changed: other texts of a process's section, as out0 or json1."""
    texts = TRANSCRIPTS[name]
    phase, at = how or GOOD[name]
    rows = [line.split() for line in texts['times'].splitlines()]
    lives = zip(hosts, rows, strict=False)
    times = tuple(ProcessTime(host, float(start), float(end), int(rc)) for host, (start, end, rc) in lives)
    outputs = (
        tuple(changed.get(f'{section}{n}', texts.get(f'{n}.{section}')) for n in range(len(rows)))
        for section in ('out', 'err', 'json')
    )
    return engine_of(at).measure(phase, at, command_of(phase, at), Outcome(times, *outputs))


refusal = refused_by(measure)
RATE = r'"(?:bytes|entries)\\/s":"'


@pytest.mark.parametrize('name', GOOD)
class TestEveryGoodRun:
    def test_the_commands_are_those_of_the_transcript(self, name):
        argvs = [argv[argv.index('elbencho') :] for argv in command_of(*GOOD[name]).argvs]
        assert ''.join(' '.join(argv) + '\n' for argv in argvs) == TRANSCRIPTS[name]['cmd']

    def test_a_report_that_is_cut_short_and_an_output_before_the_times_of_its_threads_are_refused(self, name):
        whole, out = TRANSCRIPTS[name]['0.json'].rstrip(), TRANSCRIPTS[name]['0.out']
        assert (refusal(name, json0=None).rule, refusal(name, hosts=()).rule) == ('E1', 'T9')
        assert {refusal(name, json0=whole[:length]).rule for length in range(0, len(whole), 41)} == {'E1'}
        assert {refusal(name, out0=text).rule for text in cuts(out.partition('---')[0])} == {'E1'}

    def test_the_time_of_each_task_holds_what_elbencho_timed(self, name):
        reports = [text for section, text in TRANSCRIPTS[name].items() if section.endswith('.json')]
        timed_s = max(parse_phase(report).elapsed_ms / 1000 for report in reports)
        assert timed_s < measure(name).metrics[0].seconds < timed_s + 0.5

    def test_other_sizes_of_the_plan_are_refused(self, name):
        phase, at = GOOD[name]
        other = at.changed(files_per_directory=1999) if at.kind == 'tree' else at.changed(bytes_per_task=MIB)
        assert refusal(name, how=(phase, other)).rule == 'P15'

    @pytest.mark.parametrize(
        ('changes', 'rule'),
        [
            ({r'"phase_type":"\w+"': '"phase_type":"SYNC"'}, 'P15'),
            ({rf'({RATE})(\d)': r'\g<1>9\2'}, 'T1'),
            ({r'(_time_ms":")\d+': r'\g<1>0', rf'({RATE})\d+': r'\g<1>999999999999'}, 'T12'),
        ],
        ids=['another phase', 'another rate', 'too short'],
    )
    def test_a_report_that_contradicts_the_plan_or_itself_is_refused(self, name, changes, rule):
        text = TRANSCRIPTS[name]['0.json']
        for old, new in changes.items():
            text = re.sub(old, new, text)
        assert refusal(name, json0=text).rule == rule
        assert refusal(name, err0='02:24:17.829 WARNING: something is odd\n').rule == 'T8'


@pytest.mark.parametrize('name', DATA)
class TestData:
    def test_the_bandwidth_is_all_bytes_from_the_first_start_to_the_last_end(self, name):
        phase, at = DATA[name]
        measurement = measure(name)
        (metric,) = measurement.metrics
        seconds = max(task.end_s for task in measurement.tasks) - min(task.start_s for task in measurement.tasks)
        assert (metric.name, metric.value) == (phase, pytest.approx(at.bytes_moved / seconds))
        assert measurement.bytes_moved == at.bytes_moved
        assert [task.bytes_moved for task in measurement.tasks] == [at.data.bytes_per_task] * at.tasks
        assert (measurement.fsync, measurement.direct) == (phase == 'write', at.data.direct)

    def test_other_bytes_are_refused(self, name):
        text = re.sub(r'("bytes":")\d+', r'\g<1>1048576', TRANSCRIPTS[name]['0.json'])
        text = re.sub(r'("bytes\\/s":")\d+', r'\g<1>0', text)
        assert refusal(name, json0=text).rule in ('T1', 'T18')

    def test_its_own_figure_is_kept_verbatim(self, name):
        figures = measure(name).metrics[0].figure.split()[1:]
        assert all(f'"bytes\\/s":"{figure}"' in TRANSCRIPTS[name][f'{n}.json'] for n, figure in enumerate(figures))


@pytest.mark.parametrize('name', ENTRIES)
class TestEntries:
    def test_the_rate_is_all_files_from_the_first_start_to_the_last_end(self, name):
        phase, _ = ENTRIES[name]
        (metric,) = measure(name).metrics
        assert (metric.name, metric.operations) == (f'file_{phase}', 4000)
        assert metric.value == pytest.approx(4000 / metric.seconds)

    def test_other_entries_than_planned_are_refused(self, name):
        text = re.sub(r'("entries":")2000', r'\g<1>1000', TRANSCRIPTS[name]['0.json'])
        half = int(re.search(r'"entries\\/s":"(\d+)', text).group(1)) // 2
        text = re.sub(r'("entries\\/s":")\d+', rf'\g<1>{half}', text)
        assert 'did 1000 files' in refusal(name, json0=text).sentence


class TestCommand:
    def test_files_are_each_of_a_process_and_segments_of_threads_of_one(self):
        commands = [command_of('read', at) for at in (point(), point(SFSA))]
        assert [(command.scope, len(command.argvs)) for command in commands] == [('task', 2), ('node', 1)]

    def test_on_two_nodes_a_task_reads_the_file_of_the_next_node(self):
        at = point(tasks=4, nodes=2)
        assert [argv[-1] for argv in command_of('read', at).argvs] == [f'data.{n:08d}' for n in (2, 3, 0, 1)]
        assert Elbencho().reads_elsewhere(at, 'read')

    def test_each_phase_of_a_tree_works_on_what_its_node_has_not_seen(self):
        at = tree(nodes=4, tasks=4)
        owners = [[option(argv, '--rankoffset') for argv in command_of(phase, at).argvs] for phase in at.phases]
        assert [len(set(of_task)) for of_task in zip(*owners, strict=True)] == [4, 4, 4, 4]
        for nodes, elsewhere in ((4, [False, True, True, True]), (2, [False, True, False, False])):
            at = tree(nodes=nodes, tasks=4)
            assert [ElbenchoFiles().reads_elsewhere(at, phase) for phase in at.phases] == elsewhere

    def test_the_directories_are_made_before_and_stay(self):
        at = tree(subtrees='private')
        assert command_of('create', at).directories == ('tree.0', 'tree.1')
        assert command_of('remove', at).directories == ()
        assert ElbenchoFiles().entries(at, 'remove') == Entries(2, 0, 0)


@pytest.mark.parametrize(
    ('at', 'why'),
    [
        (point(MFWA.changed(interface='mpiio')), 'cannot do MPI-IO'),
        (point(MFWA.changed(order='random')), 'cannot read each part of a file once in random order'),
        (point(SFSA, nodes=2), 'cannot share one file between 2 nodes without its service'),
        (point(SFWA, nodes=2), 'cannot share one file between 2 nodes without its service'),
        (point(MFWA.changed(direct=True), transfer_size=6 * KIB), 'cannot move 6144 bytes at a time'),
        (point(transfers=1, transfer_size=2 * GIB), 'cannot move 2147483648 bytes in one call'),
        (tree(depth=2, branching=2), 'cannot make a tree of directories'),
        (tree(empties_per_directory=5), 'cannot stat directories'),
        (tree(fsync=True), 'cannot sync files'),
        (tree(phases=('create', 'find')), 'cannot find files'),
    ],
)
def test_what_it_cannot_do_is_refused_with_its_reason(at, why):
    assert engine_of(at).cannot(at).startswith(why)


@pytest.mark.parametrize(
    ('name', 'how', 'sentence'),
    [
        ('missing-file', ('read', point()), "task 0 on node1: elbencho exited with 1: 'ERROR: Unable to open"),
        ('short-file', ('read', point()), 'Given size to use is larger than detected size. File: data.00000001'),
        ('missing-stat', ('stat', SHARED), 'Path: tree/r0-f0; SysErr: No such file or directory'),
        ('no-space', ('write', point()), 'Path: data.00000000; SysErr: No space left on device'),
        ('file-size-limit', ('write', point()), 'task 0 on node1: elbencho died of signal 25'),
        ('terminated', ('write', point(transfers=2048)), 'task 1 on node1: elbencho exited with 1'),
    ],
)
def test_a_failed_run_is_refused_in_the_words_of_elbencho(name, how, sentence):
    assert_refused(refusal(name, how=how), 'E1', sentence)


class TestFsync:
    """The process around an elbencho that writes, and the use of its report."""

    def test_without_its_report_or_with_a_clock_that_was_set_meanwhile_a_write_is_refused(self):
        out = TRANSCRIPTS['files-write']['0.out']
        assert {refusal('files-write', out0=text).rule for text in cuts(out)} == {'E1'}
        for off_s in (-1.0, 3600.0):
            text = re.sub(r'(?<="ended": )[\d.]+', lambda match, off_s=off_s: str(float(match.group()) + off_s), out)
            assert refusal('files-write', out0=text).rule == 'T1'

    def test_its_end_is_that_of_the_task(self):
        ended = float(re.search(r'"ended": ([\d.]+)', TRANSCRIPTS['files-write']['0.out']).group(1))
        began = parse_phase(TRANSCRIPTS['files-write']['0.json']).began
        assert measure('files-write').tasks[0].seconds == pytest.approx(ended - began)

    def test_it_syncs_the_file_once_the_program_has_ended_well(self, tmp_path, capfd, monkeypatch):
        synced = []
        monkeypatch.setattr(os, 'fsync', lambda descriptor: synced.append(os.fstat(descriptor).st_size))
        path = tmp_path / 'data'
        assert main([str(path), sys.executable, '-c', f'open({str(path)!r}, "w").write("abc")']) == 0
        assert synced == [3]
        assert capfd.readouterr().out.startswith('seatrial: {"seconds": ')

    def test_what_failed_is_not_synced_and_a_failed_fsync_is_the_failure_of_the_task(self, tmp_path, capfd):
        absent = str(tmp_path / 'absent')
        assert (main([absent, 'false']), capfd.readouterr().err) == (1, '')
        assert main([absent, 'true']) == 1
        assert capfd.readouterr().err == f'ERROR: fsync of {absent}: No such file or directory\n'

    def test_a_signal_that_ended_the_program_ends_the_process_around_it(self, tmp_path):
        argv = command_of('write', point()).argvs[0]
        around = [sys.executable, *argv[1 : argv.index('elbencho')], 'sh', '-c', 'kill -9 $$']
        assert subprocess.run(around, cwd=tmp_path, check=False).returncode == -9


def test_on_several_nodes_a_window_begins_with_its_process_and_its_error_is_recorded():
    measurement = measure('nodes-read', hosts=('n1', 'n2'))
    rows = [[float(word) for word in line.split()] for line in TRANSCRIPTS['nodes-read']['times'].splitlines()]
    assert [task.start_s for task in measurement.tasks] == [pytest.approx(row[0] - rows[0][0]) for row in rows]
    untimed_s = [row[1] - row[0] - task.seconds for row, task in zip(rows, measurement.tasks, strict=True)]
    assert measurement.clock_s == pytest.approx(0.001 + max(untimed_s))
    assert measurement.hosts == ('n1', 'n2')
