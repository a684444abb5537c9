"""The parts of one Slurm lab: its paths, its settings, its configuration files, and its daemons in order."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
import random
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab.common import PATH, remove_folders

CONTROL = 'ctl'  # the host beside the nodes n1, n2, ...
PACKAGES = {
    'slurm-wlm': ('slurmctld', 'slurmd', 'srun'),
    'munge': ('munged',),
    'mpich': ('mpiexec',),
}
ACCOUNTING_PACKAGES = {
    'slurmdbd': ('slurmdbd',),
    'slurm-wlm-mysql-plugin': ('/usr/lib/*/slurm-wlm/accounting_storage_mysql.so',),
    'mariadb-server-core': ('mariadbd',),
}


class Settings(NamedTuple):
    """The settings that a lab was made with; its marker file holds them."""

    nodes: int
    accounting: bool
    made_directory: bool  # else the directory was there before, and stays
    first_port: int  # slurmctld's; then slurmdbd's, then one for each slurmd
    network: str = ''  # '10.77.1': each node is a kernel with an address of its own; else all are this machine
    memory: str = ''  # of each kernel, as '512M'
    share: str = ''  # folders of this machine that the kernels may write to, divided by ':'

    @property
    def node_names(self) -> list[str]:
        return [f'n{number}' for number in range(1, self.nodes + 1)]

    def address(self, host: str) -> str:
        if not self.network:
            return '127.0.0.1'
        return f'{self.network}.{254 if host == CONTROL else host[1:]}'


class Daemon(NamedTuple):
    host: str
    program: str
    arguments: list[str]
    is_ready: Callable[[], bool]


@dataclass(frozen=True)
class Lab:
    """The paths of one lab, all below its directory."""

    directory: Path

    @property
    def marker(self) -> Path:
        return self.directory / 'seatrial-lab.json'

    @property
    def conf(self) -> Path:
        return self.directory / 'etc' / 'slurm.conf'

    @property
    def daemons_conf(self) -> Path:
        return self.conf.with_name('daemons.conf')

    @property
    def run(self) -> Path:
        return self.directory / 'run'

    @property
    def log(self) -> Path:
        return self.directory / 'log'

    @property
    def state(self) -> Path:
        return self.directory / 'state'

    @property
    def spool(self) -> Path:
        return self.directory / 'spool'

    @property
    def database(self) -> Path:
        return self.directory / 'db'

    @property
    def hosts(self) -> Path:
        """The folder of the hosts files. Its name, from the lab's path, marks the lab even if its files are gone."""
        return self.directory / f'hosts.{hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:16]}'

    @property
    def folders(self) -> list[Path]:
        """All folders that the lab makes in its directory; it makes only the marker beside them."""
        return [self.conf.parent, self.run, self.log, self.state, self.spool, self.database, self.hosts]


def read_settings(lab: Lab) -> Settings | None:
    """The settings of a lab, None if there is none; ValueError if the lab is of another version."""
    try:
        return Settings(**json.loads(lab.marker.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ValueError(f'{lab.marker}: {error}; it is not of this version of the lab') from error


def write_files(lab: Lab, settings: Settings) -> None:
    """Write the files of a new lab; the marker first, so that an unfinished lab can be removed again."""
    lab.marker.write_text(json.dumps(settings._asdict()) + '\n')
    # In root's lab others may submit jobs: they read slurm.conf and connect to the socket of munge.
    lab.directory.chmod(0o755 if os.geteuid() == 0 else 0o700)
    for folder in lab.folders:
        folder.mkdir()
        folder.chmod(0o700 if folder == lab.database else 0o755)
    names = [CONTROL, *settings.node_names]
    lines = [f'{settings.address(name)} {name}' for name in names]
    if not settings.network:
        lines = [f'127.0.0.1 {" ".join(names)}']
    for name in names:
        (lab.hosts / name).write_text('\n'.join([*lines, Path('/etc/hosts').read_text()]))
    write_private(lab.conf.with_name('munge.key'), secrets.token_bytes(128))
    lab.conf.write_text(slurm_conf(lab, settings))
    lab.daemons_conf.write_text(f'Include {lab.conf}\n{LOOPBACK_ONLY}')
    if settings.accounting:
        write_private(lab.conf.with_name('slurmdbd.conf'), slurmdbd_conf(lab, settings).encode())


def remove_files(lab: Lab, settings: Settings) -> list[str]:
    """Remove what the lab has made, and nothing else; returns what is left in the directory."""
    return remove_folders(lab.directory, lab.folders, lab.marker, settings.made_directory)


def free_ports(count: int) -> int:
    """The first of so many ports in a row that are free now, below those that the kernel hands out by itself."""
    for _ in range(1000):
        first = random.randrange(10000, 32000 - count)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(('', port))
            return first
    raise OSError(f'no {count} free ports in a row between 10000 and 32000')


def daemons(lab: Lab, settings: Settings) -> list[Daemon]:
    """All daemons of the lab but the keeper, in the order of starting."""

    def on_port(number: int) -> Callable[[], bool]:
        return lambda: listens(socket.AF_INET, (settings.address(CONTROL), settings.first_port + number))

    def on_socket(path: Path) -> Callable[[], bool]:
        return lambda: listens(socket.AF_UNIX, str(path))

    munge = [
        '--foreground',
        '--force',  # in a user namespace root's directories above the lab look like nobody's, which munged refuses
        f'--key-file={lab.conf.with_name("munge.key")}',
        f'--socket={munge_socket(lab)}',
        f'--pid-file={lab.run}/munged.pid',
        f'--seed-file={lab.run}/munged.seed',
        f'--log-file={lab.log}/munged.log',
    ]
    wanted = [Daemon(CONTROL, 'munged', munge, on_socket(munge_socket(lab)))]
    if settings.accounting:
        # Without grants: the socket lies in a directory that only its user can enter.
        maria = [f'--socket={database_socket(lab)}', f'--pid-file={lab.run}/mariadbd.pid', '--skip-grant-tables']
        wanted += [
            Daemon(CONTROL, 'mariadbd', [*maria_options(lab), *maria], on_socket(database_socket(lab))),
            Daemon(CONTROL, 'slurmdbd', ['-D'], on_port(1)),
        ]
    conf = str(lab.conf if settings.network else lab.daemons_conf)
    wanted.append(Daemon(CONTROL, 'slurmctld', ['-D', '-f', conf], on_port(0)))
    for number, name in enumerate([] if settings.network else settings.node_names):  # a kernel starts its own
        wanted.append(Daemon(name, 'slurmd', ['-D', '-N', name, '-f', conf], on_port(2 + number)))
    return wanted


def daemon_environment(lab: Lab) -> dict[str, str]:
    return {
        'PATH': PATH,
        'LANG': 'C.UTF-8',
        'HOME': os.environ.get('HOME', '/'),
        'USER': user_name(),
        'SLURM_CONF': str(lab.conf),
        'MYSQL_UNIX_PORT': str(database_socket(lab)),  # read by the client library in slurmdbd
    }


def bootstrap(lab: Lab) -> tuple[list[str], str]:
    """The command and its input that make MariaDB's system tables; mariadb-install-db needs a further package."""
    tables = Path('/usr/share/mysql/mysql_system_tables.sql').read_text()
    return ['mariadbd', *maria_options(lab), '--bootstrap'], f'create database mysql;\nuse mysql;\n{tables}'


def registration() -> str:
    """Input for sacctmgr: jobs of urgent cancel those of normal, and onenode limits a job to one node."""
    return f"""\
add cluster lab
add qos urgent preempt=normal priority=1000
add qos onenode maxtresperjob=node=1
add account lab cluster=lab qos=normal,urgent,onenode defaultqos=normal
add user {user_name()} account=lab defaultaccount=lab adminlevel=admin
"""


def write_private(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as file:
        file.write(content)


# The daemons listen at 127.0.0.1 alone. An srun on the machine itself would listen at the address of the machine's
# name, by Debian's installer 127.0.1.1, but the nodes answer to 127.0.0.1.
LOOPBACK_ONLY = 'CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n'


def slurm_conf(lab: Lab, settings: Settings) -> str:
    names, user, port = settings.node_names, user_name(), settings.first_port
    accounting = 'AccountingStorageType=accounting_storage/none'
    if settings.accounting:
        accounting = f"""\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port + 1}
AccountingStoragePass={munge_socket(lab)}
AccountingStorageEnforce=associations,limits,qos
PreemptType=preempt/qos
PreemptMode=CANCEL"""
    nodes = '\n'.join(
        f'NodeName={name} NodeHostname={name} NodeAddr={settings.address(name)} Port={port + 2 + number} '
        'Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=65536'
        for number, name in enumerate(names)
    )
    return f"""\
ClusterName=lab
SlurmctldHost={CONTROL}({settings.address(CONTROL)})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={munge_socket(lab)}
CredType=cred/munge
StateSaveLocation={lab.state}
SlurmdSpoolDir={lab.spool}/%n
SlurmctldPidFile={lab.run}/slurmctld.pid
SlurmdPidFile={lab.run}/slurmd.%n.pid
SlurmctldLogFile={lab.log}/slurmctld.log
SlurmdLogFile={lab.log}/slurmd.%n.log
MailProg=/bin/true

ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmi2
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill

SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=16384
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,batch_sched_delay=0,sched_min_interval=0,bf_interval=5
EnforcePartLimits=ALL
Licenses=seatrial:1
ScronParameters=enable

KillWait=3
ReturnToService=2
SlurmdTimeout=30
InactiveLimit=0

{accounting}

{nodes}
PartitionName=compute Nodes={','.join(names)} Default=YES DefaultTime=00:10:00 MaxTime=04:00:00 State=UP
PartitionName=io Nodes={','.join(names[len(names) // 2 :])} DefaultTime=00:10:00 MaxTime=04:00:00 State=UP
"""


def slurmdbd_conf(lab: Lab, settings: Settings) -> str:
    return f"""\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={settings.first_port + 1}
SlurmUser={user_name()}
AuthType=auth/munge
AuthInfo=socket={munge_socket(lab)}
PidFile={lab.run}/slurmdbd.pid
LogFile={lab.log}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm
"""


def maria_options(lab: Lab) -> list[str]:
    """Options for a small and quick database, whose content ends with the lab."""
    return [
        '--no-defaults',
        f'--datadir={lab.database}',
        f'--tmpdir={lab.database}',  # file names there have the process number, which is the same in every lab
        f'--user={user_name()}',
        '--skip-networking',
        '--skip-log-bin',
        '--performance-schema=OFF',
        '--innodb-buffer-pool-size=16M',
        '--innodb-log-file-size=16M',
        '--innodb-lock-wait-timeout=900',
        '--innodb-flush-log-at-trx-commit=0',
        '--innodb-flush-method=nosync',
    ]


def munge_socket(lab: Lab) -> Path:
    return lab.run / 'munge.socket'


def database_socket(lab: Lab) -> Path:
    return lab.database / 'socket'


def user_name() -> str:
    """The user's name, or its number if it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def listens(family: int, address: str | tuple[str, int]) -> bool:
    with socket.socket(family) as client:
        return client.connect_ex(address) == 0
