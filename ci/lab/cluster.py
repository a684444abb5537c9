"""The commands for a lab whose nodes run Slurm: make it, repair it, show its state, break it, end it."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lab import kernels
from lab.agent import answers, run_on
from lab.common import (
    CANNOT,
    FAILED,
    NOT_WELL,
    PATH,
    UNAVAILABLE,
    USAGE,
    TroubleError,
    ended,
    last_lines,
    locked,
    make_directory,
    needs_root,
    parsers,
    provide,
    say,
    say_down,
    signal_number,
)
from lab.keeper import (
    ChildError,
    Process,
    StuckError,
    end_processes,
    enter_network,
    keeper_of,
    processes,
    send,
    start_keeper,
    start_program,
)
from lab.slurm import (
    ACCOUNTING_PACKAGES,
    CONTROL,
    PACKAGES,
    Daemon,
    Lab,
    Settings,
    bootstrap,
    daemon_environment,
    daemons,
    free_ports,
    read_settings,
    registration,
    remove_files,
    write_files,
)

START_S, NUDGE_S, STOP_S = 180.0, 1.0, 20.0
"""START_S: three kernels are up in 7 s on 2 idle processors, and in 42 s beside six programs that compute."""
ASK_S = 60.0
"""Longest wait for an answer in seconds: a busy machine needs many for MariaDB's first tables."""


def main(name: str, description: str, arguments: list[str]) -> int:
    options = parse(name, description.split('\n')[0], arguments)
    os.umask(0o022)  # so that others can read slurm.conf and the hosts files in root's lab
    return ended(lambda: options.do(Lab(usable_directory(options.dir)), options))


def parse(name: str, summary: str, arguments: list[str]) -> argparse.Namespace:
    """The options; exits with 64 where they are wrong."""
    has_kernels = name == 'lab-kernels'
    add, parser = parsers(name, summary)
    to_up = add('up', up, 'make the lab, or repair it')
    default = 3 if has_kernels else 4
    to_up.add_argument('--nodes', type=int, default=0, metavar='N', help=f'how many, 1 to 64 ({default})')
    to_up.add_argument('--install', action='store_true', help='as root: first install missing Debian packages')
    to_up.set_defaults(accounting=False, network='', memory='', share=[])
    if has_kernels:
        to_up.set_defaults(network=kernels.NETWORK)
        to_up.add_argument('--memory', default='512M', help='of each node (%(default)s)')
        to_up.add_argument(
            '--share', type=Path, action='append', metavar='DIR', help='a folder that the nodes may write to'
        )
        to_run = add('run', run, 'a command on a node, or on ctl')
        to_run.add_argument('node')
        to_run.add_argument('words', nargs='+', metavar='-- COMMAND')
    else:
        to_up.add_argument(
            '--accounting', action='store_true', help='with slurmdbd and MariaDB: sacct, QOS, preemption'
        )
    add('down', down, 'end and remove the lab')
    add('status', status, 'one screen; exit code 0 if every node can work')
    add('env', env, f'a line for eval "$(ci/{name} env)"')
    to_signal = add('signal', send_signal, 'send a signal into the lab')
    to_signal.add_argument('signal', help='KILL, STOP, CONT, ...')
    to_signal.add_argument('target', nargs='+', help='slurmctld, n2:slurmd, n2:slurmstepd, n2 (all of it), ...')
    options = parser.parse_args(arguments)
    if options.command == 'up' and options.nodes and not 1 <= options.nodes <= 64:
        parser.error(f'--nodes {options.nodes}: 1 to 64')
    return options


def usable_directory(given: Path) -> Path:
    """The directory's real, absolute name; refused if Slurm could not work with it."""
    directory = given.resolve()
    if not re.fullmatch(r'[A-Za-z0-9_./+-]{2,72}', str(directory)):
        raise TroubleError(
            f'--dir {directory}: at most 72 of A-Z a-z 0-9 _ . / + - (sockets lie in it, slurm.conf names it)', USAGE
        )
    return directory


def shown(settings: Settings) -> str:
    what = 'kernels' if settings.network else f'nodes, {"with" if settings.accounting else "without"} accounting'
    return f'{settings.nodes} {what}'


def up(lab: Lab, options: argparse.Namespace) -> int:
    """Make the lab, or start its dead parts again."""
    began = time.monotonic()
    wanted = Settings(options.nodes, options.accounting, False, 0, options.network, options.memory)
    more = [ACCOUNTING_PACKAGES] if wanted.accounting else []
    if wanted.network:
        needs_root('make taps and a bridge')
        more.append(kernels.PACKAGES)
        wanted = wanted._replace(share=':'.join(map(str, kernels.shared_folders(options.share))))
    provide(
        {name: programs for packages in (PACKAGES, *more) for name, programs in packages.items()}, options.install
    )
    if wanted.network:
        kernels.needs_tun()
    made_directory = make_directory(lab.directory, lab.marker, 0o700)
    with locked(lab.directory):
        settings = read_settings(lab)
        if settings is None or not processes(lab.hosts):
            if settings is not None or end(lab):
                say(f'the lab in {lab.directory} has {"died" if settings else "lost its files"}; making it anew')
            if settings is not None:
                made_directory = settings.made_directory
                remove_files(lab, settings._replace(made_directory=False))
            return up_anew(lab, wanted._replace(made_directory=made_directory), began)
        if wanted.nodes not in (0, settings.nodes) or (wanted.accounting and not settings.accounting):
            raise TroubleError(f'the lab in {lab.directory} is up with {shown(settings)}; take it down first')
        enter(lab, settings)
        started = start_missing(lab, settings)
        wait_for_nodes(lab, settings, is_new=False)
        if started:
            say(f'repaired in {time.monotonic() - began:.1f} s; started again: {", ".join(started)}')
        else:
            say(f'already up: {shown(settings)}')
    return 0


def down(lab: Lab, options: argparse.Namespace) -> int:
    """End every process of the lab, then remove its files."""
    left: list[str] = []
    was_there = False
    with contextlib.suppress(FileNotFoundError), locked(lab.directory):
        was_there = end(lab)
        settings = read_settings(lab)
        if settings is not None:
            was_there, left = True, remove_files(lab, settings)
    if not lab.directory.exists():  # the lab may still run after somebody has deleted its directory
        was_there = end(lab) or was_there
    say_down(lab.directory, was_there, left)
    return 0


def status(lab: Lab, options: argparse.Namespace) -> int:
    """One screen for people."""
    settings, running = read_settings(lab), processes(lab.hosts)
    if settings is None or not running:
        print(f'no lab is up in {lab.directory}')
        return NOT_WELL
    enter(lab, settings)
    print(f'{lab.directory}: {shown(settings)}')
    unfit = []
    for daemon in all_daemons(lab, settings):
        of_daemon = [p for p in running if is_of(p, daemon)]
        state = 'dead' if not of_daemon else 'stopped' if any(p.state == 'T' for p in of_daemon) else 'runs'
        print(f'  {daemon.host:<4} {daemon.program:<10} {state:<8} {" ".join(str(p.pid) for p in of_daemon)}')
        if state != 'runs':
            unfit.append(f'{daemon.host}:{daemon.program} {state}')
    print(f'  {sum(p.program == "slurmstepd" for p in running)} slurmstepd, {len(running)} processes in all')
    if not any(name.startswith(('ctl:munged', 'ctl:slurmctld')) for name in unfit):  # else Slurm cannot be asked
        try:
            print(asked(lab, 'sinfo', '--format=%9P %.5a %.10l %.6D %.12T %N'), end='')
            print(asked(lab, 'squeue', '--format=%.8i %.9P %.12j %.8u %.10T %.10M %.10l %.6D %R'), end='')
            unfit += [f'{name} {state}' for name, state in node_states(lab).items() if not is_fit(state)]
            if settings.accounting and not any('dbd' in name for name in unfit):
                asked(lab, 'sacctmgr', '--noheader', 'list', 'cluster')
                print('accounting answers')
        except TroubleError as trouble:
            unfit.append(str(trouble))
    print(f'not fit for work: {", ".join(unfit)}' if unfit else 'every node is fit for work')
    return NOT_WELL if unfit else 0


def env(lab: Lab, options: argparse.Namespace) -> int:
    """A line for eval in a shell."""
    settings_of(lab)
    print(f'export SLURM_CONF={shlex.quote(str(lab.conf))}')
    return 0


def settings_of(lab: Lab) -> Settings:
    """The settings of a lab that has to be up."""
    settings = read_settings(lab)
    if settings is None or not processes(lab.hosts):
        raise TroubleError(f'no lab is up in {lab.directory}; make it with the command up')
    return settings


def run(lab: Lab, options: argparse.Namespace) -> int:
    """Run a command on a node, with its exit code; on ctl as a process of this machine in the lab's network."""
    settings, environment = settings_of(lab), {**os.environ, 'SLURM_CONF': str(lab.conf)}
    if options.node == CONTROL:
        spaces = [f'--target={keeper_of(lab.hosts)}', '--net', '--uts', '--mount', '--ipc', f'--wd={Path.cwd()}']
        os.execvpe('nsenter', ['nsenter', *spaces, *options.words], environment)
    if options.node not in settings.node_names:
        raise TroubleError(f'{options.node} is no node; there are {CONTROL}, {", ".join(settings.node_names)}', USAGE)
    enter(lab, settings)
    try:
        return run_on(settings.address(options.node), options.words, str(Path.cwd()), environment)
    except OSError as error:
        raise TroubleError(
            f'{options.node} does not answer ({error.strerror or error}); see the command status'
        ) from error


def send_signal(lab: Lab, options: argparse.Namespace) -> int:
    """Send a signal to a program on all hosts, to host:program, or to all that runs on a host."""
    number = signal_number(options.signal)
    running = [p for p in processes(lab.hosts) if not p.is_keeper and (number == signal.SIGKILL or not p.is_traced)]
    chosen = {}
    for target in options.target:
        chosen[target] = [p for p in running if target in (p.host, p.program, f'{p.host}:{p.program}')]
        if not chosen[target]:
            there = ', '.join(sorted({f'{p.host}:{p.program}' for p in running})) or 'nothing'
            raise TroubleError(f'{target}: no such process in the lab; there is {there}')
    for process in {p for of_target in chosen.values() for p in of_target}:
        handle = send(lab.hosts, process, number)
        if handle is not None:
            os.close(handle)
    return 0


def up_anew(lab: Lab, settings: Settings, began: float) -> int:
    """Make a lab in the empty directory; if it does not come up, remove all of it."""
    settings = settings._replace(nodes=settings.nodes or (3 if settings.network else 4))
    try:
        with drawing_ports():
            settings = settings._replace(first_port=free_ports(settings.nodes + 2))
            write_files(lab, settings)
            start_control(lab, settings)
            enter(lab, settings)
            start_missing(lab, settings)
        wait_for_nodes(lab, settings, is_new=True)
    except BaseException:
        end(lab)
        remove_files(lab, settings)
        raise
    say(f'up in {time.monotonic() - began:.1f} s: {shown(settings)}')
    return 0


@contextlib.contextmanager
def drawing_ports() -> Iterator[None]:
    """A lock: one lab of this machine at a time, of any user, draws and binds ports, which look free until then."""
    handle = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def start_control(lab: Lab, settings: Settings) -> None:
    """Make the namespaces, with the keeper in them."""
    of_kernels = ()
    if settings.network:
        of_kernels = functools.partial(kernels.prepare, lab, settings), functools.partial(kernels.nudge, lab)
    try:
        start_keeper(lab.hosts, CONTROL, lab.log / 'keeper.out', *of_kernels)
    except ChildError as error:
        raise TroubleError(
            f'cannot make namespaces here ({error}): this container or kernel forbids it. An ordinary user needs '
            'user namespaces; root needs CAP_SYS_ADMIN; both a /proc without hidden parts',
            CANNOT,
        ) from error


def enter(lab: Lab, settings: Settings) -> None:
    """Put this process into the lab's network for good, where it can reach the daemons."""
    if settings.network:
        enter_network(lab.hosts)


def all_daemons(lab: Lab, settings: Settings) -> list[Daemon]:
    """The daemons of Slurm, and the kernels, in the order of starting."""
    wanted = daemons(lab, settings)
    for name in settings.node_names if settings.network else []:
        is_ready = functools.partial(answers, settings.address(name))
        wanted.append(Daemon(name, kernels.PROGRAM, kernels.arguments(lab, settings, name), is_ready))
    return wanted


def start_missing(lab: Lab, settings: Settings) -> list[str]:
    """Start, in order, the daemons that do not run, and continue stopped ones; returns the names of both."""
    started, awaited, is_new_database = [], [], False
    for daemon in all_daemons(lab, settings):
        of_daemon = [p for p in processes(lab.hosts) if is_of(p, daemon)]
        stopped = [p for p in of_daemon if p.state == 'T']
        for process in stopped:
            send(lab.hosts, process, signal.SIGCONT)
        if stopped or not of_daemon:
            started.append(f'{daemon.host}:{daemon.program}')
        if of_daemon:
            continue
        if daemon.program == 'mariadbd' and not any(lab.database.iterdir()):
            argv, tables = bootstrap(lab)
            asked(lab, *argv, text=tables)
            is_new_database = True
        start(lab, daemon)
        if daemon.host != CONTROL:
            awaited.append(daemon)  # the nodes start side by side
            continue
        wait_until_ready(lab, daemon)
        if daemon.program == 'slurmdbd' and is_new_database:
            asked(lab, 'sacctmgr', '--immediate', text=registration())
    for daemon in awaited:
        wait_until_ready(lab, daemon)
    return started


def is_of(process: Process, daemon: Daemon) -> bool:
    return (process.host, process.program, process.is_traced) == (*daemon[:2], False)


def output_of(lab: Lab, daemon: Daemon) -> Path:
    return lab.log / f'{daemon.program}.{daemon.host}.out'


def start(lab: Lab, daemon: Daemon) -> None:
    argv = [full_path(daemon.program), *daemon.arguments]
    environment = daemon_environment(lab)
    if daemon.program == kernels.PROGRAM:
        environment.update(kernels.environment(lab))
    try:
        start_program(lab.hosts, daemon.host, argv, environment, output_of(lab, daemon))
    except ChildError as error:
        raise TroubleError(f'cannot start {daemon.program} on {daemon.host}: {error}', FAILED) from error


def wait_until_ready(lab: Lab, daemon: Daemon) -> None:
    """Wait until a daemon listens or has died."""
    end_of_wait = time.monotonic() + START_S
    while not daemon.is_ready():
        is_alive = any(is_of(p, daemon) for p in processes(lab.hosts))
        if not is_alive or time.monotonic() > end_of_wait:
            busy = f'(load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors)'
            how = f'does not listen after {START_S:.0f} s {busy}' if is_alive else 'has ended at once'
            text = last_lines(output_of(lab, daemon).read_text(errors='replace'))
            raise TroubleError(f'{daemon.program} on {daemon.host} {how}; it said:\n{text}', FAILED)
        time.sleep(0.02)


def wait_for_nodes(lab: Lab, settings: Settings, is_new: bool) -> None:
    """Wait until every slurmd has answered slurmctld. In an old lab, somebody may have set a node down on purpose."""
    begun = nudged = time.monotonic()
    while True:
        states = node_states(lab)
        silent = [name for name, state in states.items() if is_silent(state) or (is_new and state == 'down')]
        if not silent and len(states) == settings.nodes:
            return
        now = time.monotonic()
        if now > begun + START_S:
            text = last_lines((lab.log / 'slurmctld.log').read_text(errors='replace'))
            raise TroubleError(
                f'no answer from {", ".join(silent)} after {START_S:.0f} s; slurmctld said:\n{text}', FAILED
            )
        if now > nudged + NUDGE_S:  # by itself slurmctld asks lost nodes again only after minutes
            asked(lab, 'scontrol', 'reconfigure')
            nudged = now
        time.sleep(0.05)


def node_states(lab: Lab) -> dict[str, str]:
    """The state of each node as sinfo writes it; "silent" if slurmctld itself has set it down."""
    rows = [line.split('|') for line in asked(lab, 'sinfo', '--noheader', '--Node', '--format=%N|%T|%E').splitlines()]
    return {name: 'silent' if (state, why) == ('down', 'Not responding') else state for name, state, why in rows}


def is_silent(state: str) -> bool:
    return state.endswith('*') or state in ('unknown', 'silent')


def is_fit(state: str) -> bool:
    """True if a node can work. Slurm's suffixes for powering up, planned and so on are no fault, but * is silence."""
    return state.rstrip('~#!%$@^+-') in ('idle', 'allocated', 'mixed', 'completing', 'reserved', 'planned')


def asked(lab: Lab, program: str, *arguments: str, text: str = '') -> str:
    """The output of a program; TroubleError, in a sentence, if it fails or hangs."""
    try:
        done = subprocess.run(
            [full_path(program), *arguments],
            env=daemon_environment(lab),
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=ASK_S,
        )
    except subprocess.TimeoutExpired as error:
        raise TroubleError(f'{program} has had no answer for {ASK_S:.0f} s') from error
    if done.returncode:
        raise TroubleError(f'{program} failed: {last_lines(done.stdout)}')
    return done.stdout


def full_path(program: str) -> str:
    path = shutil.which(program, path=PATH)
    if path is None:
        raise TroubleError(f'{program} is not installed', UNAVAILABLE)
    return path


def end(lab: Lab) -> bool:
    """Kill all of the lab, and Slurm's clients that wait for it from outside; False if nothing was there."""
    try:
        was_there = end_processes(lab.hosts, STOP_S)
    except StuckError as error:
        raise TroubleError(
            f'killed, but these wait in the kernel for something: {error}; try again when it has come', FAILED
        ) from error
    for folder in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            environment = (folder / 'environ').read_bytes().split(b'\0')
            is_client = (folder / 'comm').read_text().strip() in ('srun', 'salloc', 'sbatch', 'sattach')
            if is_client and b'SLURM_CONF=' + os.fsencode(lab.conf) in environment:
                os.kill(int(folder.name), signal.SIGKILL)
    return was_there
