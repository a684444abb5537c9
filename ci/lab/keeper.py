"""Many hosts on one machine, without leaving anything behind: namespaces below one keeper; as root and as any user.

The keeper is process 1 of a process namespace. All programs that are started here, and whatever they start, live in
that namespace: nothing leaves it, and when the keeper dies the kernel kills the rest. An ordinary user's keeper has a
user namespace too, in which the user has its own number and no rights.

No file with process numbers is needed to find the processes. There is a folder with a hosts file for each host; each
host's mount namespace has its file over /etc/hosts; every process inherits that and shows it in /proc/PID/mountinfo.
The folder's name is therefore the mark of all the processes, and must be one that no other folder has.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    pid: int  # in the caller's process namespace
    host: str
    program: str  # the kernel's name for it: at most 15 characters
    state: str  # R, S, D, T (stopped), ...
    is_keeper: bool
    is_traced: bool  # true for the processes of a kernel that is itself one of these processes


class ChildError(Exception):
    """The error of a child process before its program began, in the words of the child."""


class StuckError(Exception):
    """These were killed, but the kernel does not let them go yet."""


def start_keeper(
    hosts: Path,
    host: str,
    output: Path,
    prepare: Callable[[], None] | None = None,
    tend: Callable[[], None] | None = None,
) -> None:
    """Start the keeper, with the host's name and hosts file; ChildError if the kernel does not let us.

    prepare: first step in the namespaces of a lab with a network of its own, which only root can have.
    tend: called by the keeper at least once a second.
    """

    def make_namespaces() -> None:
        uid, gid = os.geteuid(), os.getegid()
        if uid == 0:
            system('unshare', SPACES | (NEW_NETWORK if prepare else 0))
            return
        system('unshare', NEW_USER | SPACES)
        Path('/proc/self/setgroups').write_text('deny')
        Path('/proc/self/uid_map').write_text(f'{uid} {uid} 1')
        Path('/proc/self/gid_map').write_text(f'{gid} {gid} 1')

    def be_keeper() -> None:
        system('mount', 'none', '/', None, MS_REC | MS_SLAVE, None)  # no mount that is made here is visible outside
        system('mount', 'proc', '/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
        become_host(hosts, host)
        Path('/proc/self/comm').write_text('lab-keeper')
        if prepare:
            prepare()
        os.closerange(3, os.sysconf('SC_OPEN_MAX'))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        while True:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass
            if tend:
                tend()
            signal.sigtimedwait([signal.SIGCHLD], 1.0)

    in_descendant([make_namespaces, be_keeper], output)


def start_program(hosts: Path, host: str, argv: list[str], environment: dict[str, str], output: Path) -> None:
    """Start argv below the keeper on the host of that name; ChildError if it cannot be."""
    keeper = keeper_of(hosts)

    def join_keeper() -> None:
        ours, its, more = Path('/proc/self/ns'), Path(f'/proc/{keeper}/ns'), {'user': NEW_USER, 'net': NEW_NETWORK}
        others = [flag for kind, flag in more.items() if not (ours / kind).samefile(its / kind)]
        system('setns', os.pidfd_open(keeper), SPACES | sum(others))

    def between() -> None:
        """Does nothing. With its parent outside the namespace it has init for its heir; its child has the keeper."""

    def execute() -> None:
        system('unshare', NEW_MOUNTS | NEW_HOST_NAME)
        become_host(hosts, host)
        os.execve(argv[0], argv, environment)

    in_descendant([join_keeper, between, execute], output)


def keeper_of(hosts: Path) -> int:
    """The keeper's process number; ChildError if it has died."""
    keepers = [p.pid for p in processes(hosts) if p.is_keeper]
    if not keepers:
        raise ChildError('its keeper has died')
    return keepers[0]


def enter_network(hosts: Path) -> None:
    """Put this process into the lab's network for good."""
    system('setns', os.pidfd_open(keeper_of(hosts)), NEW_NETWORK)


def processes(hosts: Path) -> list[Process]:
    """All processes with this mark that the user can see."""
    mark = re.compile(rf'/{re.escape(hosts.name)}/(\w+)\S* \S+ ')
    alive = []
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            mounted = mark.findall((folder / 'mountinfo').read_text())
            if not mounted:
                continue
            lines = dict(line.split(':\t', 1) for line in (folder / 'status').read_text().splitlines())
        except (OSError, ValueError):  # it has just ended, or is a zombie
            continue
        is_keeper, is_traced = lines['NSpid'].split()[-1] == '1', lines['TracerPid'] != '0'
        alive.append(Process(int(folder.name), mounted[-1], lines['Name'], lines['State'][0], is_keeper, is_traced))
    return alive


def send(hosts: Path, process: Process, number: signal.Signals) -> int | None:
    """Send a signal to that process and surely no other; returns a handle to wait for, or None if it has ended."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if process.pid not in [p.pid for p in processes(hosts)]:
        os.close(handle)
        return None
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)
    return handle


def end_processes(hosts: Path, limit_s: float) -> bool:
    """Kill the keeper, and with it all processes, and wait until they have ended; False if there was none.

    Raises StuckError where a process waits in the kernel for something and cannot die within the limit.
    """
    running = processes(hosts)
    if not running:
        return False
    end = time.monotonic() + limit_s
    while running:
        # Without a keeper only processes can be left that have entered the namespaces from outside, such as nsenter.
        for process in [p for p in running if p.is_keeper] or running:
            handle = send(hosts, process, signal.SIGKILL)
            if handle is not None:
                select.select([handle], [], [], max(0.0, end - time.monotonic()))
                os.close(handle)
        running = processes(hosts)
        if running and time.monotonic() > end:
            raise StuckError(', '.join(f'{p.pid} {p.program} ({p.state})' for p in running))
    return True


# From <sched.h> and <sys/mount.h>
NEW_MOUNTS, NEW_HOST_NAME, NEW_IPC, NEW_USER, NEW_PIDS = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000
NEW_NETWORK = 0x40000000
SPACES = NEW_MOUNTS | NEW_HOST_NAME | NEW_IPC | NEW_PIDS
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_SLAVE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x80000
LIBC = ctypes.CDLL(None, use_errno=True)


def become_host(hosts: Path, host: str) -> None:
    """Take the host's name, and mount its hosts file, which is the mark."""
    system('mount', str(hosts / host), os.path.realpath('/etc/hosts'), None, MS_BIND, None)
    socket.sethostname(host)


def system(call: str, *arguments: str | int | None) -> None:
    """A system call for which Python 3.10 has no function."""
    if getattr(LIBC, call)(*[a.encode() if isinstance(a, str) else a for a in arguments]) != 0:
        shown = ' '.join([call, *[a for a in arguments if isinstance(a, str)]])
        raise OSError(f'{shown}: {os.strerror(ctypes.get_errno())}')


def in_descendant(steps: list[Callable[[], None]], output: Path) -> None:
    """Fork, do the first step in the child, fork there, and so on; the last step executes a program or runs for ever.

    Returns when the last step has executed a program or closed its descriptors, and the steps between have ended;
    raises ChildError with the error of a step.
    """
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.chdir('/')
            os.umask(0o022)
            log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            descend(steps)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(tell, str(error).encode())
        os._exit(70)
    os.close(tell)
    with os.fdopen(hear, 'rb') as answer:
        error = answer.read().decode()
    os.waitpid(child, 0)
    if error:
        raise ChildError(error)


def descend(steps: list[Callable[[], None]]) -> None:
    steps[0]()
    if len(steps) == 1:
        return
    child = os.fork()
    if child == 0:
        descend(steps[1:])
    elif len(steps) > 2:
        os.waitpid(child, 0)  # this child ends too
    os._exit(0)
