"""One launch: the processes of an engine's command, started on the nodes, timed and waited for."""

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import Command, Outcome, ProcessTime
from seatrial.engine.dispatch import PLACE, RankPlace, inodes_of, only_in, place_here, places_said
from seatrial.engine.node_program import module_argv
from seatrial.engine.start_together import NO_BARRIER, ran, together_argv
from seatrial.job.directory import rundir
from seatrial.job.launch.barrier import Barrier
from seatrial.model.plan import LAUNCHERS, Launcher
from seatrial.model.point import Point

WAKE_S = 0.2  # s; an interruption is noticed within it while a launch runs
GRACE_S = 10.0  # seconds from SIGTERM to SIGKILL, and after that
ASKED_TOO_S = 2.0  # seconds in which a signal that has ended a process reaches this process too
MAX_STREAM = 8 << 20  # bytes of a stream that are read: its two ends
ENVIRONMENT = {'LC_ALL': 'C'}  # variables of every launch beside the runner's own and the barrier's

RUSAGE_BLOCK = 512  # getrusage(2): ru_inblock counts blocks of 512 B on Linux


class LaunchGivenUp(Exception):
    """A launch did not end inside its limit, or a stop was requested; the message says which, and its outcome."""


class Finished(NamedTuple):
    outcome: Outcome
    read_bytes: int  # fetched by the block layer for its processes
    places: Tuple[RankPlace, ...] = ()  # places of its processes; empty unless all have reported one


def launch_argv(launcher: Launcher, point: Point, argv: Tuple[str, ...], nodes: Tuple[str, ...] = ()) -> List[str]:
    """The argv that starts an MPI program on the point's nodes, these if named; tasks a node are always stated."""
    words = LAUNCHERS[launcher.kind]
    start = words.start.format(nodes=point.nodes, tasks=point.tasks, per_node=point.tasks_per_node)
    slots = ','.join(f'{node}:{point.tasks_per_node}' for node in nodes)
    pin = words.pin.format(names=','.join(nodes), slots=slots) if nodes else ''
    return [*start.split(), *pin.split(), *launcher.arguments, *argv]


class Processes(NamedTuple):
    argvs: List[List[str]]  # one a rank, or one launcher for all of them
    inputs: Dict[str, str]  # files that must exist before: absolute path -> text
    barrier: int = 0  # number of tasks that begin together at the launch's barrier; 0: no barrier
    ranks: int = 0  # ranks with their own streams, if a launcher has started them; 0: the streams are the processes'
    nodes: int = 1  # number of nodes that they run on, with this one
    words: int = 0  # of a program at the argv's end that a launcher starts, once its node has found the directory


def processes_of(
    command: Command, launcher: Launcher, point: Point, raw: str, nodes: Tuple[str, ...] = ()
) -> Processes:
    """A command's processes: here, under the site's launcher, or one a task on the point's nodes, together and with
    their times. `raw` as in carry_out. nodes: by name, if it is to run on these and no others."""
    if command.scope == 'mpi':
        argv = launch_argv(launcher, point, command.argvs[0], nodes)
        return Processes([argv], command.inputs, words=len(command.argvs[0]))
    argvs = [list(argv) for argv in command.argvs]
    if not nodes and (point.nodes == 1 or command.scope != 'task'):
        return Processes(argvs, command.inputs, len(argvs) if command.own_barrier else 0)
    ranks, count = f'{raw}.ranks.json', len(argvs)
    if not command.own_barrier:
        argvs = [list(together_argv(sys.executable, rank, count, tuple(argv))) for rank, argv in enumerate(argvs)]
    placed = point if count == point.tasks else point._replace(tasks=count, tasks_per_node=count)
    dispatch = module_argv(sys.executable, 'seatrial.engine.dispatch', (ranks, raw))
    started, words = launch_argv(launcher, placed, dispatch, nodes), LAUNCHERS[launcher.kind]
    started[1:1] = words.exports.split()  # the barrier is in the environment
    if count < point.tasks:
        started[1:1] = words.unbound.split()  # one process makes all tasks of its node
    inputs = {**command.inputs, ranks: json.dumps(argvs)}
    return Processes([started], inputs, count, count, point.nodes + 1 if nodes else point.nodes)


def carry_out(
    command: Command, processes: Processes, raw: str, directory: int, limit_s: float, stopping: Callable[[], bool]
) -> Finished:
    """Run the processes in `directory`, a descriptor, and wait for all. Streams go to raw + '.out' and '.err' (with
    the rank). Raises RunDirectoryError if the directory does, and LaunchGivenUp after limit_s seconds or on
    `stopping`: SIGTERM first, SIGKILL after GRACE_S; a process that survives is left and named."""
    for path, text in processes.inputs.items():
        Path(path).write_text(text, encoding='utf-8')
    if stopping():
        raise LaunchGivenUp('a stop was requested; it was not begun')
    with rundir.explained(os.readlink(f'/proc/self/fd/{directory}')):
        inodes = inodes_of(directory)
    if processes.words:
        (argv,) = processes.argvs
        checked = only_in(inodes, tuple(argv[-processes.words :]))
        processes = processes._replace(argvs=[[*argv[: -processes.words], *checked]])
    if not processes.barrier:
        finished = _run(_start(processes.argvs, raw, directory, {}), limit_s, stopping, lambda why: None)
        reports: Dict[int, Any] = {}
    else:
        with Barrier(processes.barrier, processes.nodes) as barrier:
            running = _start(processes.argvs, raw, directory, {**barrier.environment, PLACE: inodes})
            finished = _run(running, limit_s, stopping, barrier.abort)
        reports = {} if command.own_barrier else barrier.reports
    outcome = finished.outcome._replace(outputs=tuple(map(_text, command.outputs)))
    if processes.ranks:
        outcome = _by_rank(outcome, raw, processes.ranks, reports)
    if not processes.words and not processes.ranks:
        return finished._replace(outcome=outcome, places=tuple(map(place_here, range(len(processes.argvs)))))
    stdouts, places = places_said(outcome.stdouts)
    hosts = tuple(place.host for place in places) if processes.words else ()
    return finished._replace(outcome=outcome._replace(stdouts=stdouts, hosts=hosts), places=places)


def left_by_mpi(command: Command, raw: str, lived_s: float) -> Outcome:
    """The output of an MPI launch that was given up, as if it had ended well."""
    stdouts, places = places_said((_stream(f'{raw}.out'),))
    process = ProcessTime(socket.gethostname(), 0.0, lived_s, 0)
    outputs = tuple(map(_text, command.outputs))
    return Outcome((process,), stdouts, ('',), outputs, tuple(place.host for place in places))


def _by_rank(outcome: Outcome, raw: str, ranks: int, reports: Dict[int, Any]) -> Outcome:
    """The outcome of ranks that a launcher has started; their times as they report them, else the launcher's."""
    launcher = outcome.processes[0]
    reported = ran(reports)
    first = min((report.called_s - report.uncertainty_s for report in reported.values()), default=0.0)
    times, errs = [], []
    for rank in range(ranks):
        err = _stream(f'{raw}.{rank}.err')
        report, status = reported.get(rank), launcher.exit_status
        if report is not None:
            # The possible difference of two nodes' clocks makes the process longer, never shorter.
            start_s, end_s = report.called_s - report.uncertainty_s, report.ended_s + report.uncertainty_s
            times.append(ProcessTime(report.host, start_s - first, end_s - first, status))
        elif reports and not status:
            times.append(launcher._replace(exit_status=NO_BARRIER))
            err += f'seatrial: rank {rank} has not said when it ran\n'
        else:
            times.append(launcher)
        errs.append(err or (outcome.stderrs[0] if status else ''))  # a launcher that fails says why
    outs = tuple(_stream(f'{raw}.{rank}.out') for rank in range(ranks))
    return outcome._replace(processes=tuple(times), stdouts=outs, stderrs=tuple(errs))


def _run(running: '_Running', limit_s: float, stopping: Callable[[], bool], abort: Callable[[str], None]) -> Finished:
    ended = running.ended
    while len(ended) < len(running.processes):
        try:
            rank, ended_so = running.ends.get(timeout=WAKE_S)
            ended[rank] = ended_so
            if ended_so.status:
                abort(f'process {rank} has failed')  # others would wait for it at the barrier
        except queue.Empty:
            late = time.monotonic() - running.zero > limit_s
            if late or stopping():
                left = _end_by_force(running)
                why = f'it did not end within {limit_s:.0f} s' if late else 'a stop was requested'
                survived = f' and process {left[0]} survived SIGKILL' if left else ''
                raise LaunchGivenUp(f'{why}; it was ended{survived}') from None
    if _asked_to_end(running, stopping):
        raise LaunchGivenUp('a stop was requested; it was ended')
    host = socket.gethostname()
    times = tuple(ProcessTime(host, begun_s, *ended[rank][:2]) for rank, begun_s in enumerate(running.starts))
    outcome = Outcome(times, tuple(map(_stream, running.outs)), tuple(map(_stream, running.errs)), ())
    if outcome.exit_status and _working_in(running.place):
        _kill_all(_working_in(running.place))  # tasks that outlived the engine would disturb the next launch
        _wait_for_all(running)
    for path in running.outs + running.errs:
        if os.path.getsize(path) == 0:
            os.unlink(path)
    return Finished(outcome, sum(end.read_bytes for end in ended.values()))


def _asked_to_end(running: '_Running', stopping: Callable[[], bool]) -> bool:
    """True if the signal that ended a process also asks this job to end: scancel sends it to each in turn."""
    until = time.monotonic() + ASKED_TOO_S
    if not any(end.status in (-signal.SIGTERM, -signal.SIGINT) for end in running.ended.values()):
        return False
    while not stopping() and time.monotonic() < until:
        time.sleep(WAKE_S)
    return stopping()


class _End(NamedTuple):
    at_s: float
    status: int
    read_bytes: int


class _Running(NamedTuple):
    """The processes that work in `place`, by rank. ends: as they come; ended: those that were taken note of."""

    zero: float  # from which starts and ends are counted, in monotonic seconds
    place: int
    processes: List['subprocess.Popen[bytes]']
    starts: List[float]
    ends: 'queue.Queue[Tuple[int, _End]]'
    ended: Dict[int, _End]
    outs: List[str]
    errs: List[str]


def _start(argvs: List[List[str]], raw: str, place: int, variables: Dict[str, str]) -> _Running:
    zero, environment = time.monotonic(), {**os.environ, **ENVIRONMENT, **variables}
    running = _Running(zero, place, [], [], queue.Queue(), {}, [], [])
    try:
        for rank, argv in enumerate(argvs):
            suffix = f'.{rank}' if len(argvs) > 1 else ''
            out, err = f'{raw}{suffix}.out', f'{raw}{suffix}.err'
            with open(out, 'wb') as stdout, open(err, 'wb') as stderr:
                running.starts.append(time.monotonic() - zero)
                process = subprocess.Popen(
                    argv,
                    cwd=_link(place),  # chdir(2) follows it to the directory itself, before descriptors are closed
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
            running.processes.append(process)
            running.outs.append(out)
            running.errs.append(err)
            threading.Thread(target=_wait, args=(process.pid, rank, zero, running.ends), daemon=True).start()
    except OSError:
        _end_by_force(running)
        raise
    return running


def _wait(pid: int, rank: int, zero: float, ends: 'queue.Queue[Tuple[int, _End]]') -> None:
    # wait4 and not Popen.wait: only it tells what the process and its descendants read from storage.
    _, status, usage = os.wait4(pid, 0)
    end = time.monotonic() - zero
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    ends.put((rank, _End(end, code, usage.ru_inblock * RUSAGE_BLOCK)))


def _end_by_force(running: _Running) -> List[int]:
    _signal_groups(running, signal.SIGTERM)
    if _wait_for_all(running):
        _signal_groups(running, signal.SIGKILL)
        _kill_all(_working_in(running.place))
    return _wait_for_all(running)


def _signal_groups(running: _Running, number: int) -> None:
    for rank, process in enumerate(running.processes):
        if rank not in running.ended:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.killpg(process.pid, number)


def _wait_for_all(running: _Running) -> List[int]:
    """Wait until the processes and their children in `place` are gone; returns those that survive GRACE_S."""
    deadline = time.monotonic() + GRACE_S
    while True:
        left = {process.pid for rank, process in enumerate(running.processes) if rank not in running.ended}
        left.update(_working_in(running.place))
        if not left or time.monotonic() > deadline:
            return sorted(left)
        with contextlib.suppress(queue.Empty):
            rank, end = running.ends.get(timeout=WAKE_S)
            running.ended[rank] = end


def still_working(target: str) -> Optional[str]:
    """A sentence that names a process of this user in a run directory below the target, or None."""
    target = os.path.realpath(target)
    for pid, place in _places():
        if place.startswith(os.path.join(target, rundir.PREFIX)):
            return f'process {pid} on this node still works in {place}'
    return None


def _working_in(place: int) -> List[int]:
    """This user's processes that work in `place`, the run's own data directory."""
    directory = os.readlink(_link(place))  # asks nothing of a file system that may be dead
    return [pid for pid, where in _places() if where == directory]


def _link(descriptor: int) -> str:
    """A path to what is open, wherever it lies by now (proc(5))."""
    return f'/proc/self/fd/{descriptor}'


def _places() -> Iterator[Tuple[int, str]]:
    """This user's processes without a terminal, each with its working directory, by /proc, which asks nothing of a
    file system. Neither process groups nor sessions find them: a job of fio is a session of its own (3.33)."""
    for name in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            place = os.readlink(f'/proc/{name}/cwd')
            if os.stat(f'/proc/{name}').st_uid != os.geteuid():
                continue
            with open(f'/proc/{name}/stat', 'rb') as stream:
                terminal = int(stream.read().rpartition(b')')[2].split()[4])
            if terminal == 0:
                yield int(name), place


def _kill_all(pids: List[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, signal.SIGKILL)


def _text(path: str) -> Optional[str]:
    """The text of a file, all of it, for an engine's own file is no use otherwise; None without the file."""
    try:
        return Path(path).read_text('utf-8', 'replace')
    except FileNotFoundError:
        return None


def _stream(path: str) -> str:
    """A process's output, '' without its file; of more than MAX_STREAM bytes both ends: the file has all of it."""
    try:
        with open(path, 'rb') as stream:
            size = os.fstat(stream.fileno()).st_size
            if size <= MAX_STREAM:
                return stream.read().decode('utf-8', 'replace')
            half = MAX_STREAM // 2
            head = stream.read(half).decode('utf-8', 'replace')
            stream.seek(size - half)
            tail = stream.read(half).decode('utf-8', 'replace')
    except FileNotFoundError:
        return ''
    # Whole lines: half a line can say something else than the line.
    begun, ended = head[: head.rfind('\n') + 1], tail[tail.find('\n') + 1 :]
    return f'{begun}[{size - MAX_STREAM} bytes are left out]\n{ended}'
