"""Shared parts of labs with a FUSE client: servers in a network of their own, and a mount that the caller sees."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import re
import signal
import socket
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from lab.common import CANNOT, NOT_WELL, PATH, TroubleError

UNMOUNT_S = 20.0


def needs_fuse() -> None:
    """TroubleError if /dev/fuse is missing or may not be opened, as in many containers."""
    try:
        os.close(os.open('/dev/fuse', os.O_RDWR))
    except OSError as error:
        remedy = 'load the module fuse, or give the container --device /dev/fuse --cap-add SYS_ADMIN'
        raise TroubleError(f'/dev/fuse cannot be opened ({error.strerror}); {remedy}', CANNOT) from error


def mount_points() -> list[str]:
    """All mount points, from mountinfo of proc(5) with its escapes undone; no file system is asked."""
    fields = [line.split(' ')[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
    return [re.sub(r'\\([0-7]{3})', lambda match: chr(int(match.group(1), 8)), field) for field in fields]


def unmount(mount: Path, force: bool, client: Callable[[], int | None]) -> None:
    """Unmount it, if it is mounted. Unless forced, TroubleError with the users of a mount in use, which stays."""
    while str(mount) in mount_points():
        try:
            answer = call(['umount', *(['--lazy'] if force else []), str(mount)], UNMOUNT_S)
        except subprocess.TimeoutExpired:
            process = client()
            if process is None:
                raise
            os.kill(process, signal.SIGKILL)  # it answers no more; without it calls fail at once, and umount succeeds
            continue
        if answer.returncode != 0:
            raise TroubleError(f'{answer.stderr.strip()}; used by {users(mount) or "nobody that is seen"}', NOT_WELL)


def users(mount: Path) -> str:
    """Processes with an open file or their working directory below the mount."""
    holders = []
    for process in all_processes():
        place = Path(f'/proc/{process}')
        with contextlib.suppress(OSError):
            links = [str(link.readlink()) for link in (place / 'cwd', *(place / 'fd').iterdir())]
            if any(link == str(mount) or link.startswith(f'{mount}/') for link in links):
                holders.append(f'{process} ({(place / "comm").read_text().strip()})')
    return ', '.join(holders)


def all_processes() -> list[int]:
    return [int(place.name) for place in Path('/proc').iterdir() if place.name.isdigit()]


def words_of(process: int) -> list[str]:
    """The command line of a process. Raises OSError if it has ended, or is another user's."""
    return [os.fsdecode(word) for word in Path(f'/proc/{process}/cmdline').read_bytes().split(b'\0')]


def call(argv: list[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd='/',  # a daemon keeps its working directory
        env={**os.environ, 'PATH': PATH, 'LC_ALL': 'C'},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
    )


def set_address(interface: str, address: ipaddress.IPv4Address) -> None:
    """Give an interface of this network an address and bring it up (netdevice(7)); no program is needed for it."""
    name = interface.encode().ljust(16, b'\0')
    set_ifaddr, set_ifflags, set_netmask = 0x8916, 0x8914, 0x891C
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        for request, value in ((set_ifaddr, address.packed), (set_netmask, b'\xff\0\0\0')):
            fcntl.ioctl(channel, request, name + struct.pack('HH', socket.AF_INET, 0) + value.ljust(12, b'\0'))
        fcntl.ioctl(channel, set_ifflags, name + struct.pack('H', 0x41).ljust(16, b'\0'))  # IFF_UP, IFF_RUNNING
