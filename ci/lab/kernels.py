"""Nodes that are kernels of their own: Debian's user-mode-linux, with the machine's tree as root, on a bridge."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from lab.common import CANNOT, PATH, USAGE, TroubleError
from lab.keeper import system
from lab.slurm import CONTROL, Lab, Settings

CHECKOUT = Path(__file__).resolve().parents[2]
NETWORK = '10.77.1'
PROGRAM = 'linux.uml'
PACKAGES = {
    'user-mode-linux': (PROGRAM,),
    'nfs-kernel-server': ('rpc.nfsd',),
    'nfs-common': ('mount.nfs',),
    'rpcbind': ('rpcbind',),
    'iproute2': ('ip',),
    'e2fsprogs': ('mkfs.ext4',),
    'fio': ('fio',),
    'kmod': ('insmod',),
    'gcc': ('cc',),
    'libc6-dev': ('/usr/lib/*/crti.o',),
}
DISK_BYTES = 8 << 30


def shared_folders(wanted: list[Path]) -> list[Path]:
    """The folders that nodes may write to; missing ones are made."""
    folders = [CHECKOUT / '.seatrial-lab-kernels', *(folder.resolve() for folder in wanted)]
    for folder in folders:
        if any(sign in str(folder) for sign in ' :,'):
            raise TroubleError(f'--share {folder}: a name without blanks, colons and commas', USAGE)
        # The first is a state directory, which only its owner may write to.
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return folders


def needs_tun() -> None:
    try:
        os.close(os.open('/dev/net/tun', os.O_RDWR))
    except OSError as error:
        remedy = 'load the module tun, or give the container --device /dev/net/tun --cap-add NET_ADMIN'
        raise TroubleError(f'/dev/net/tun cannot be opened ({error.strerror}); {remedy}', CANNOT) from error


def prepare(lab: Lab, settings: Settings) -> None:
    """Make, in the keeper's namespaces, memory for the kernels and a bridge with a tap for each."""
    memory = lab.state / 'memory'
    memory.mkdir()
    system('mount', 'memory', str(memory), 'tmpfs', 0, None)
    ip = ['link add br0 type bridge', f'address add {settings.address(CONTROL)}/24 dev br0', 'link set br0 up']
    ip.append('link set lo up')
    for name in settings.node_names:
        ip += [f'tuntap add {name} mode tap', f'link set {name} master br0', f'link set {name} up']
    for line in ip:
        done = subprocess.run(['ip', *line.split()], env={'PATH': PATH}, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f'ip {line}: {done.stderr.strip()}')


def nudge(lab: Lab) -> None:
    """Called by the keeper: send a timer's signal to each kernel that has begun to handle them.

    Linux 6.1 loses one that comes while it handles another (unblock_signals in its arch/um/os-Linux/signal.c). It
    then requests no more, and its clock and all of its timers stand still until another one comes (observed).
    """
    for file in (lab.state / 'uml').glob('*/pid'):
        with contextlib.suppress(OSError, ValueError):
            pid = int(file.read_text())
            status = dict(line.split(':\t', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines())
            handled = int(status['SigCgt'], 16) >> (signal.SIGALRM - 1) & 1
            if status['Name'] == PROGRAM and handled:
                os.kill(pid, signal.SIGALRM)


def arguments(lab: Lab, settings: Settings, name: str) -> list[str]:
    """The arguments of the kernel that is this node."""
    disk, common = lab.state / f'{name}.disk', lab.state / 'common.disk'
    for file in (disk, common):
        with file.open('ab') as stream:
            stream.truncate(DISK_BYTES)
    parameters = {
        'lab': lab.directory,
        'hosts': lab.hosts,
        'node': name,
        'address': settings.address(name),
        'server': settings.address('n1'),
        'python': os.path.realpath(sys.executable),
        'checkout': CHECKOUT,
        'share': settings.share,
        'ubd0': disk,
        'ubd1cd': common,  # shared by all nodes: no lock, and no search for a copy-on-write header
        # The newer vec0 has been seen to stop after minutes of NFS. Without a hardware address here a node has
        # a new one after each start, which its neighbours have to learn first.
        'eth0': f'tuntap,{name},02:00:00:00:00:{int(name[1:]):02x}',
        'uml_dir': lab.state / 'uml',
        'umid': name,
        'mem': settings.memory,
        'rootfstype': 'hostfs',
        'init': CHECKOUT / 'ci' / 'lab' / 'node',
        'con': 'null',
        'con0': 'null,fd:1',
        'ssl': 'null',
    }
    return ['ro', 'quiet', *[f'{key}={value}' for key, value in parameters.items()]]


def environment(lab: Lab) -> dict[str, str]:
    """The environment of the kernel's process: the place of its memory, and a library if the processor needs it."""
    if ' amx_tile' not in Path('/proc/cpuinfo').read_text():
        return {'TMPDIR': str(lab.state / 'memory')}
    library = lab.state / 'registers.so'
    if not library.exists():
        make = ['cc', '-O1', '-shared', '-fPIC', '-o', str(library), str(Path(__file__).with_name('registers.c'))]
        subprocess.run(make, env={'PATH': PATH}, check=True)
    return {'TMPDIR': str(lab.state / 'memory'), 'LD_PRELOAD': str(library)}
