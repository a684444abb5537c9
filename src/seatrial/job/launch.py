"""One launch: the processes of an engine's command, started on the nodes, timed and waited for."""

import contextlib
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from typing import IO, Callable, Dict, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import Command, Outcome, ProcessTime
from seatrial.model.plan import Launcher
from seatrial.model.workload import Point

WAKE_S = 0.2  # how soon an interruption is noticed while a launch runs
GRACE_S = 10.0  # between SIGTERM and SIGKILL, and after it
RUSAGE_BLOCK = 512  # getrusage(2): ru_inblock counts blocks of 512 B on Linux


class LaunchGivenUp(Exception):
    """The launch did not end inside its limit, or the job was told to stop; says which, and what became of it."""


class Finished(NamedTuple):
    """What a launch left, and the bytes that the block layer fetched for its processes."""

    outcome: Outcome
    read_bytes: int


def launch_argv(launcher: Launcher, point: Point, argv: Tuple[str, ...]) -> List[str]:
    """The argv that starts an MPI program on the point's nodes. Tasks a node are always stated.

    Sources: srun(1) -N, -n, --ntasks-per-node; Hydra mpiexec -n, -ppn; Open MPI mpirun(1) --map-by ppr.
    """
    tasks, per_node = str(point.tasks), str(point.tasks_per_node)
    heads = {
        'local': ['mpiexec', '-n', tasks],
        'srun': ['srun', f'-N{point.nodes}', f'-n{tasks}', f'--ntasks-per-node={per_node}'],
        'hydra': ['mpiexec', '-n', tasks, '-ppn', per_node],
        'openmpi': ['mpirun', '-n', tasks, '--map-by', f'ppr:{per_node}:node'],
    }
    return [*heads[launcher.kind], *launcher.arguments, *argv]


def argvs_of(command: Command, launcher: Launcher, point: Point) -> List[List[str]]:
    """The processes that the runner starts for a command, in the order of their ranks."""
    if command.scope == 'mpi':
        return [launch_argv(launcher, point, command.argvs[0])]
    return [list(argv) for argv in command.argvs]


def carry_out(
    command: Command,
    argvs: List[List[str]],
    raw: str,
    directory: str,
    limit_s: float,
    stopping: Callable[[], bool],
) -> Finished:
    """Run the processes in `directory` and wait for all. Streams go to raw + '.out' and '.err' (with the rank).

    Raises LaunchGivenUp after limit_s seconds or when `stopping` says so. Ending I/O that waits for a file
    system is the last resort: SIGTERM first, SIGKILL after GRACE_S, and a process that survives is left and named.
    """
    for path, text in command.inputs.items():
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(text)
    started = time.monotonic()
    running = _start(argvs, raw, directory, started)
    ended: Dict[int, Tuple[float, int, int]] = {}
    while len(ended) < len(running.processes):
        try:
            rank, end, status, read_bytes = running.ends.get(timeout=WAKE_S)
            ended[rank] = (end, status, read_bytes)
        except queue.Empty:
            late = time.monotonic() - started > limit_s
            if late or stopping():
                left = _end_by_force(running, ended)
                why = f'it did not end within {limit_s:.0f} s' if late else 'the job was told to stop'
                survived = f' and process {left[0]} survived SIGKILL' if left else ''
                raise LaunchGivenUp(f'{why}; it was ended{survived}') from None
    host = socket.gethostname()
    times = [ProcessTime(host, running.starts[rank], ended[rank][0], ended[rank][1]) for rank in range(len(ended))]
    outcome = Outcome(
        tuple(times),
        tuple(_text(path) or '' for path in running.outs),
        tuple(_text(path) or '' for path in running.errs),
        tuple(_text(path) for path in command.outputs),
    )
    _drop_empty(running.outs + running.errs)
    return Finished(outcome, sum(read_bytes for _, _, read_bytes in ended.values()))


class _Running(NamedTuple):
    processes: List['subprocess.Popen[bytes]']
    starts: List[float]
    ends: 'queue.Queue[Tuple[int, float, int, int]]'
    outs: List[str]
    errs: List[str]


def _start(argvs: List[List[str]], raw: str, directory: str, zero: float) -> _Running:
    environment = dict(os.environ, LC_ALL='C')
    many = len(argvs) > 1
    running = _Running([], [], queue.Queue(), [], [])
    for rank, argv in enumerate(argvs):
        suffix = f'.{rank}' if many else ''
        out, err = f'{raw}{suffix}.out', f'{raw}{suffix}.err'
        with open(out, 'wb') as stdout, open(err, 'wb') as stderr:
            running.starts.append(time.monotonic() - zero)
            running.processes.append(_process(argv, directory, environment, stdout, stderr))
        running.outs.append(out)
        running.errs.append(err)
        process = running.processes[rank]
        threading.Thread(target=_wait, args=(process.pid, rank, zero, running.ends), daemon=True).start()
    return running


def _process(
    argv: List[str], directory: str, environment: Dict[str, str], stdout: IO[bytes], stderr: IO[bytes]
) -> 'subprocess.Popen[bytes]':
    return subprocess.Popen(
        argv,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _wait(pid: int, rank: int, zero: float, ends: 'queue.Queue[Tuple[int, float, int, int]]') -> None:
    # wait4 and not Popen.wait: only it tells what the process and its descendants read from storage.
    _, status, usage = os.wait4(pid, 0)
    end = time.monotonic() - zero
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    ends.put((rank, end, code, usage.ru_inblock * RUSAGE_BLOCK))


def _end_by_force(running: _Running, ended: Dict[int, Tuple[float, int, int]]) -> List[int]:
    for number in (signal.SIGTERM, signal.SIGKILL):
        for rank, process in enumerate(running.processes):
            if rank not in ended:
                _signal_group(process.pid, number)
        deadline = time.monotonic() + GRACE_S
        while len(ended) < len(running.processes) and time.monotonic() < deadline:
            try:
                rank, end, status, read_bytes = running.ends.get(timeout=WAKE_S)
                ended[rank] = (end, status, read_bytes)
            except queue.Empty:
                continue
    return [process.pid for rank, process in enumerate(running.processes) if rank not in ended]


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.killpg(pid, number)


def _text(path: str) -> Optional[str]:
    try:
        with open(path, encoding='utf-8', errors='replace') as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def _drop_empty(paths: List[str]) -> None:
    for path in paths:
        if os.path.getsize(path) == 0:
            os.unlink(path)
