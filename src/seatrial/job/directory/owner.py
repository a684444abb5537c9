"""The maker of a lock or a run directory, as other processes recognise it, and whether it still runs."""

import os
import time
from typing import NamedTuple, Optional, Tuple

from seatrial.model.owned import user_name


class Owner(NamedTuple):
    """A process as others must be able to recognise it."""

    session: str
    uid: int
    owner: str
    host: str
    machine: str  # the boot and the pid namespace in which `pid` means a process; empty where they cannot be known
    pid: int
    pid_start: int  # clock ticks after boot at which the process began, because a pid is used again
    job: str  # the Slurm job, or empty
    time: float  # Unix time at which it made the lock or run directory


def this_owner(session: str) -> Owner:
    uid, pid, job = os.geteuid(), os.getpid(), os.environ.get('SLURM_JOB_ID', '')
    _, pid_start = _process(pid) or ('', 0)
    return Owner(session, uid, user_name(uid), os.uname().nodename, _machine(), pid, pid_start, job, time.time())


def on_this_machine(owner: Owner) -> bool:
    return (owner.host, owner.machine) == (os.uname().nodename, _machine())


def is_of_another_boot(owner: Owner) -> bool:
    """True if a host of this name, usually this one, has been booted since: two hosts may share a name."""
    return bool(owner.machine and _machine()) and (
        owner.host == os.uname().nodename and owner.machine.split()[0] != _machine().split()[0]
    )


def running(owner: Owner) -> Optional[bool]:
    """True if the process runs; None where that is invisible from here: another host, boot or pid namespace."""
    if not owner.machine or not on_this_machine(owner):
        return None
    process = _process(owner.pid)
    if process is None:
        # Another user's processes may be hidden from /proc (hidepid); one's own never are.
        return False if os.geteuid() in (0, owner.uid) else None
    state, start = process
    return start == owner.pid_start and state != 'Z'


def process_start(pid: int) -> Optional[int]:
    """The start of a process that runs here, in clock ticks after boot; None where there is none."""
    process = _process(pid)
    return None if process is None or process[0] == 'Z' else process[1]


def _machine() -> str:
    try:
        with open('/proc/sys/kernel/random/boot_id') as stream:
            return stream.read().strip() + ' ' + os.readlink('/proc/self/ns/pid')
    except OSError:
        return ''


def _process(pid: int) -> Optional[Tuple[str, int]]:
    """State and start time of a process (proc(5), fields 3 and 22 of stat), or None if there is none."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as stream:
            fields = stream.read().rpartition(b')')[2].split()
    except OSError:
        return None
    return (fields[0].decode('ascii'), int(fields[19])) if len(fields) > 19 else None
