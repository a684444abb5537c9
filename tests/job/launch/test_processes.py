"""One launch: how it is started, timed, ended, and what is seen of it."""

import json
import os
import signal

import pytest

from seatrial.engine.barrier import VARIABLE
from seatrial.engine.base import Command
from seatrial.engine.dispatch import place_here
from seatrial.job.directory.rundir import closed_after
from seatrial.job.launch import processes
from seatrial.job.launch.processes import LaunchGivenUp, Processes, carry_out, launch_argv, left_by_mpi, processes_of
from seatrial.model.plan import LAUNCHERS, Launcher
from seatrial.model.point import Point
from stand_in import working_in

POINT = Point('', (), nodes=2, tasks=8, tasks_per_node=4)
SIZE = 4 << 20  # bytes


@pytest.fixture
def place(tmp_path):
    (tmp_path / 'data').mkdir()
    return tmp_path


def run(place, *scripts, outputs=(), inputs=None, limit_s=60.0, stopping=lambda: False):
    """Launch these shell scripts, one process each, in place/data; their streams are in place."""
    argvs = [['/bin/sh', '-c', script] for script in scripts]
    command = Command('task', tuple(map(tuple, argvs)), inputs or {}, tuple(outputs))
    return launched(place, command, Processes(argvs, command.inputs), limit_s, stopping)


def launched(place, command, started, limit_s=60.0, stopping=lambda: False):
    with closed_after(os.open(place / 'data', os.O_RDONLY)) as where:
        return carry_out(command, started, str(place / 'raw'), where, limit_s, stopping)


def written(path):
    """True once the file has the number that a test waits for."""
    return path.exists() and path.read_text().strip().isdigit()


@pytest.mark.parametrize(('lines', 'kept'), [(3, [1, 2, 3]), (20, [1, 2, '[99 bytes are left out]', 19, 20])])
def test_of_a_stream_without_end_its_two_ends_are_read_in_whole_lines(place, monkeypatch, lines, kept):
    # A line is 'line 00001', eleven bytes; one that is cut is left out.
    monkeypatch.setattr(processes, 'MAX_STREAM', 60)
    ran = run(place, f'for n in $(seq {lines}); do printf "line %05d\\n" $n; printf "line %05d\\n" $n >&2; done')
    wanted = ''.join(f'line {part:05}\n' if isinstance(part, int) else f'{part}\n' for part in kept)
    wanted = wanted.replace('99 bytes', f'{11 * lines - 60} bytes')
    assert (ran.outcome.stdouts, ran.outcome.stderrs) == ((wanted,), (wanted,))
    assert (place / 'raw.out').stat().st_size == 11 * lines


def test_it_works_in_the_directory_that_is_open_whatever_its_path_leads_to(place):
    with closed_after(os.open(place / 'data', os.O_RDONLY)) as where:
        (place / 'data').rename(place / 'moved')
        (place / 'data').mkdir()
        argv = ('/bin/sh', '-c', 'echo written > file')
        started = Processes([list(argv)], {})
        carry_out(Command('node', (argv,), {}, ()), started, str(place / 'raw'), where, 60.0, bool)
    assert (os.listdir(place / 'data'), os.listdir(place / 'moved')) == ([], ['file'])


PINNED = {
    'srun': ('srun -N2 -n8 --ntasks-per-node=4 --kill-on-bad-exit=1 NODES --mpi=pmi2 ior', '--nodelist=n3,n1'),
    'hydra': ('mpiexec -n 8 -ppn 4 NODES --mpi=pmi2 ior', '-hosts n3,n1'),
    'openmpi': ('mpirun -n 8 --map-by ppr:4:node NODES --mpi=pmi2 ior', '--host n3:4,n1:4'),
    'local': ('mpiexec -n 8 NODES --mpi=pmi2 ior', ''),
}


@pytest.mark.parametrize('kind', LAUNCHERS)
def test_an_mpi_launch_states_nodes_tasks_and_tasks_a_node_and_can_be_pinned_by_all_but_the_local_launcher(kind):
    launcher, (argv, nodes) = Launcher(kind, ('--mpi=pmi2',)), PINNED[kind]
    assert launch_argv(launcher, POINT, ('ior',)) == argv.replace('NODES', '').split()
    assert launch_argv(launcher, POINT, ('ior',), ('n3', 'n1')) == argv.replace('NODES', nodes).split()


@pytest.mark.parametrize(
    ('kind', 'head'),
    [
        ('srun', 'srun --cpu-bind=none --export=ALL -N1 -n1 --ntasks-per-node=1 --kill-on-bad-exit=1 --nodelist=n3'),
        ('openmpi', 'mpirun --bind-to none -n 1 --map-by ppr:1:node --host n3:1'),
        ('hydra', 'mpiexec -n 1 -ppn 1 -hosts n3'),
    ],
)
def test_one_process_for_all_tasks_of_another_node_goes_there_and_is_bound_to_no_core(kind, head):
    alone = POINT._replace(nodes=1, tasks=4)
    started = processes_of(Command('node', (('fio', 'job'),), {}, ()), Launcher(kind), alone, '/raw', ('n3',))
    assert [argv[: len(head.split())] for argv in started.argvs] == [head.split()]
    assert (started.barrier, started.ranks, started.nodes) == (1, 1, 2)


def test_only_a_program_of_mpi_is_put_under_the_launcher():
    srun = Launcher('srun')
    assert processes_of(Command('mpi', (('ior',),), {}, ()), srun, POINT, '/raw').argvs[0][0] == 'srun'
    assert processes_of(Command('node', (('fio', 'job'),), {}, ()), srun, POINT, '/raw').argvs == [['fio', 'job']]
    alone = POINT._replace(nodes=1, tasks=2, tasks_per_node=2)
    two = Command('task', (('dd', 'a'), ('dd', 'b')), {}, ())
    assert processes_of(two, srun, alone, '/raw') == Processes([['dd', 'a'], ['dd', 'b']], {})


def test_tasks_on_several_nodes_are_started_by_one_launcher_and_begin_together():
    srun, spread = Launcher('srun', ('--mpi=pmi2',)), POINT._replace(nodes=2, tasks=2, tasks_per_node=1)
    started = processes_of(Command('task', (('dd', 'a'), ('dd', 'b')), {}, ()), srun, spread, '/raw')
    head = ['srun', '--export=ALL', '-N2', '-n2', '--ntasks-per-node=1', '--kill-on-bad-exit=1', '--mpi=pmi2']
    assert [argv[: len(head)] for argv in started.argvs] == [head]
    assert (started.barrier, started.ranks, started.nodes) == (2, 2, 2)
    argvs = json.loads(started.inputs['/raw.ranks.json'])
    assert [argv[-4:] for argv in argvs] == [['0', '2', 'dd', 'a'], ['1', '2', 'dd', 'b']]


@pytest.mark.needs('mpiexec')
@pytest.mark.parametrize('scope', ['mpi', 'task'])
@pytest.mark.parametrize('swapped', [False, True])
def test_where_a_launcher_finds_another_directory_by_the_path_nothing_is_started(place, swapping, scope, swapped):
    (place / 'data.copy').mkdir()
    if swapped:
        swapping('mpiexec')
    write = ('sh', '-c', 'echo > file.$$')
    command = Command(scope, (write,) * (1 if scope == 'mpi' else 2), {}, ())
    spread = POINT._replace(tasks=2, tasks_per_node=1)
    finished = launched(place, command, processes_of(command, Launcher('hydra'), spread, str(place / 'raw')))
    outcome = finished.outcome
    assert finished.places == (() if swapped else (place_here(0), place_here(1)))
    right = place / ('data.away' if swapped else 'data')
    wrong = place / ('data' if swapped else 'data.copy')
    assert (len(os.listdir(right)), os.listdir(wrong)) == (0 if swapped else 2, [])
    words = f'seatrial: {wrong} was replaced by another on '
    assert (outcome.exit_status != 0, words in outcome.stderrs[0]) == (swapped, swapped)


def test_it_has_its_inputs_no_terminal_no_language_of_the_user_and_a_session_of_its_own(place, monkeypatch):
    monkeypatch.setenv('LC_ALL', 'de_DE.UTF-8')
    script = 'cat; cat ../job; echo $LC_ALL; pwd -P; cat /proc/$$/stat'
    (output,) = run(place, script, inputs={str(place / 'job'): 'text\n'}).outcome.stdouts
    *lines, stat = output.splitlines()
    assert lines == ['text', 'C', f'{place}/data']
    fields = stat.rpartition(')')[2].split()
    assert int(fields[3]) != os.getsid(0)
    assert fields[4] == '0'


def test_processes_of_this_node_may_use_the_cores_of_the_runner(place):
    ran = run(place, 'grep Cpus_allowed_list /proc/self/status', 'true')
    assert ran.places == (place_here(0), place_here(1))
    assert ran.outcome.stdouts[0].split() == ['Cpus_allowed_list:', ran.places[0].cores]


def test_each_process_has_its_streams_its_exit_status_and_its_outputs(place):
    outputs = (str(place / 'there'), str(place / 'not'))
    scripts = (r"printf 'a\377'; echo text > ../there", 'echo b >&2; exit 3', 'kill -SEGV $$')
    outcome = run(place, *scripts, outputs=outputs).outcome
    assert (outcome.stdouts, outcome.stderrs) == (('a\ufffd', '', ''), ('', 'b\n', ''))
    assert [process.exit_status for process in outcome.processes] == [0, 3, -signal.SIGSEGV]
    assert outcome.outputs == ('text\n', None)
    assert sorted(path.name for path in place.glob('raw*')) == ['raw.0.out', 'raw.1.err']


def test_the_secret_of_a_launch_is_in_no_command_line(place):
    search = 'echo "$secret" | grep -laF -f - /proc/[0-9]*/cmdline'  # which has it on its standard input
    argv = ('/bin/sh', '-c', f'secret="${{{VARIABLE}##*:}}"; echo "${{#secret}}"; {search}')
    command, started = Command('task', (argv,), {}, (), own_barrier=True), Processes([list(argv)], {}, barrier=1)
    assert launched(place, command, started).outcome.stdouts == ('32\n',)


def test_the_times_of_the_processes_count_from_the_first_start(place):
    outcome = run(place, 'sleep 0.1', 'sleep 0.2').outcome
    assert outcome.processes[0].start_s >= 0
    for process, shortest in zip(outcome.processes, (0.1, 0.2), strict=True):
        assert process.end_s - process.start_s >= shortest


def test_bytes_that_storage_gave_to_its_children_are_counted(place):
    if os.major(os.stat(place).st_dev) == 0:
        pytest.skip('the temporary directory lies on no block device')
    with open(place / 'data' / 'file', 'wb') as stream:
        stream.write(os.urandom(SIZE))
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert run(place, 'cat file > /dev/null; true').read_bytes >= SIZE
    assert run(place, 'cat file > /dev/null; true').read_bytes < SIZE


@pytest.mark.parametrize(
    ('scripts', 'stops', 'why'),
    [
        (['true', 'exec sleep 60', 'exec sleep 60'], False, 'it did not end within 0 s'),
        (["trap '' TERM; while :; do sleep 1; done"], False, 'it did not end within 0 s'),
        (['echo $$ > ../pid; exec sleep 60'], True, 'a stop was requested'),
    ],
    ids=['one that ends before', 'it ignores SIGTERM', 'a stop'],
)
def test_all_of_its_processes_are_ended_at_its_limit_or_when_a_stop_is_requested(place, soon, scripts, stops, why):
    stopping = (lambda: written(place / 'pid')) if stops else (lambda: False)
    with pytest.raises(LaunchGivenUp, match=f'{why}; it was ended$'):
        run(place, *scripts, limit_s=60.0 if stops else 0.2, stopping=stopping)
    assert working_in(place / 'data') == []


def test_what_a_launch_that_hangs_at_its_end_has_left_is_read_as_if_it_had_ended_well(place, soon):
    script = 'echo finished; echo figures > ../results; touch ../pid; exec sleep 60'
    command = Command('mpi', (('ior',),), {}, (str(place / 'results'),))
    with pytest.raises(LaunchGivenUp):
        launched(place, command, Processes([['/bin/sh', '-c', script]], {}), stopping=(place / 'pid').exists)
    left = left_by_mpi(command, str(place / 'raw'), 60.0)
    assert (left.exit_status, left.stdouts, left.outputs) == (0, ('finished\n',), ('figures\n',))


def test_a_process_of_another_session_that_it_left_in_the_directory_is_killed_too(place, soon):
    script = "setsid sh -c 'echo $$ > ../pid; exec sleep 60' & trap '' TERM; while :; do sleep 1; done"
    with pytest.raises(LaunchGivenUp, match='it was ended$'):
        run(place, script, stopping=lambda: written(place / 'pid'))
    assert working_in(place / 'data') == []


@pytest.mark.needs('fio')
def test_the_jobs_of_a_real_fio_that_was_killed_are_killed_too(place):
    options = '--name=rank0 --numjobs=2 --rw=write --size=1m --rate=1m --time_based --runtime=60 --eta=never'
    finished = run(place, f'fio {options} & sleep 1; kill -KILL $!; wait $!')
    assert finished.outcome.exit_status == 128 + signal.SIGKILL
    assert working_in(place / 'data') == []


def test_processes_elsewhere_are_none_of_its_business(place, soon):
    script = "cd ..; (setsid sh -c 'echo $$ > pid; exec sleep 60' &); cd data; exec sleep 60"
    with pytest.raises(LaunchGivenUp):
        run(place, script, stopping=lambda: written(place / 'pid'))
    pid = int((place / 'pid').read_text())
    assert os.readlink(f'/proc/{pid}/cwd') == str(place)
    os.kill(pid, signal.SIGKILL)


def test_a_signal_that_reaches_the_engine_first_is_a_stop_and_no_fault_of_the_engine(place):
    asked = iter([False, False, True, True])
    with pytest.raises(LaunchGivenUp, match='a stop was requested'):
        run(place, 'kill -TERM $$', stopping=lambda: next(asked))
    assert run(place, 'kill -TERM $$').outcome.exit_status == -signal.SIGTERM


def test_it_is_not_begun_when_a_stop_has_been_requested(place):
    with pytest.raises(LaunchGivenUp, match='it was not begun'):
        run(place, 'touch ../begun', stopping=lambda: True)
    assert not (place / 'begun').exists()


def test_one_that_survives_is_left_and_named(place, soon, monkeypatch):
    # A process that waits for a dead file system ignores SIGKILL; here none is sent.
    monkeypatch.setattr(os, 'killpg', lambda pid, number: None)
    monkeypatch.setattr(processes, '_kill_all', lambda pids: None)
    with pytest.raises(LaunchGivenUp, match='and process [0-9]+ survived SIGKILL$') as caught:
        run(place, 'exec sleep 60', limit_s=0.2)
    (pid,) = working_in(place / 'data')
    assert f'process {pid} survived' in str(caught.value)
    os.kill(pid, signal.SIGKILL)


def test_processes_that_were_started_before_one_that_cannot_be_are_ended(place, soon):
    argvs = [['/bin/sh', '-c', 'exec sleep 60'], ['/no/such/program']]
    with pytest.raises(FileNotFoundError, match='/no/such/program'):
        launched(place, Command('task', tuple(map(tuple, argvs)), {}, ()), Processes(argvs, {}))
    assert working_in(place / 'data') == []
