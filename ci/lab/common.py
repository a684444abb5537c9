"""Shared parts of the labs: exit codes, messages, packages, and the one directory that each lab is in."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

NOT_WELL, USAGE, UNAVAILABLE, FAILED, CANNOT, NOT_ROOT = 1, 64, 69, 70, 71, 77
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


class TroubleError(Exception):
    """A fault and its remedy, in words for people, with the exit code."""

    def __init__(self, text: str, code: int = NOT_WELL) -> None:
        super().__init__(text)
        self.code = code


class Parser(argparse.ArgumentParser):
    """Parses the options; exits with 64 if they are wrong."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        say(message)
        sys.exit(USAGE)


def say(text: str) -> None:
    print(f'{Path(sys.argv[0]).name}: {text}', file=sys.stderr)


def ended(command: Callable[[], int]) -> int:
    """Run a command; returns its exit code, after a sentence on stderr if it has failed."""
    try:
        return command()
    except TroubleError as trouble:
        say(str(trouble))
        return trouble.code
    except subprocess.TimeoutExpired as late:
        say(f'{late.cmd[0]} did not end within {late.timeout:.0f} s')
        return FAILED
    except (OSError, ValueError) as error:
        say(str(error))
        return FAILED
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def parsers(name: str, summary: str) -> tuple[Callable[..., argparse.ArgumentParser], Parser]:
    """A function that adds the parser of a verb, with --dir, and the parser of all verbs."""
    cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    common = Parser(add_help=False)
    common.add_argument('--dir', type=Path, default=cache / f'seatrial-{name}', help='all of the lab (%(default)s)')
    parser = Parser(prog=name, description=summary)
    commands = parser.add_subparsers(dest='command', required=True)

    def add(verb: str, do: Callable[..., int], help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(verb, parents=[common], help=help)
        made.set_defaults(do=do)
        return made

    return add, parser


def needs_root(why: str) -> None:
    if os.geteuid() != 0:
        raise TroubleError(f'only root may {why}; type it with sudo', NOT_ROOT)


def missing_packages(packages: dict[str, tuple[str, ...]]) -> list[str]:
    """The Debian packages of which a program or a file is missing."""

    def is_there(program: str) -> bool:
        return any(Path('/').glob(program[1:])) if program[0] == '/' else shutil.which(program, path=PATH) is not None

    return [package for package, programs in packages.items() if not all(map(is_there, programs))]


def provide(packages: dict[str, tuple[str, ...]], install: bool) -> None:
    """Make sure that all programs are installed; as root, with `install`, install the missing ones."""
    missing = missing_packages(packages)
    if missing and install and os.geteuid() == 0:
        install_packages(missing)
        missing = missing_packages(packages)
    if missing:
        raise TroubleError(f'not installed; please type: sudo apt-get install {" ".join(missing)}', UNAVAILABLE)


def install_packages(missing: list[str]) -> None:
    """apt-get install, with no service started."""
    policy, environment = Path('/usr/sbin/policy-rc.d'), {**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}
    is_own_policy = not policy.exists()
    if is_own_policy:  # Debian's packages run it before they start a service: 101 forbids that
        policy.write_text('#!/bin/sh\nexit 101\n')
        policy.chmod(0o755)
    try:
        for step in (['update'], ['install', '-y', '--no-install-recommends', *missing]):
            apt = ['apt-get', '-q', '-o', 'DPkg::Lock::Timeout=300', *step]
            done = subprocess.run(
                apt,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.returncode:  # without a new list of packages the next step may still succeed
                say(f'{shlex.join(apt)} failed:\n{last_lines(done.stdout)}')
    finally:
        if is_own_policy:
            policy.unlink()


def make_directory(directory: Path, marker: Path, mode: int = 0o777) -> bool:
    """Make the lab's directory; True if it was missing. One with files in it that are not of a lab is refused."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode)
        return True
    if not directory.is_dir() or directory.stat().st_uid != os.geteuid():
        raise TroubleError(f'--dir {directory}: not a directory of yours', USAGE)
    if not marker.exists() and any(directory.iterdir()):
        raise TroubleError(f'--dir {directory}: there are files in it that are not of a lab', USAGE)
    return False


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """A lock of the lab's directory: only one command at a time changes a lab."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not directory.is_dir() or not os.path.samestat(os.fstat(handle), directory.stat()):
            raise FileNotFoundError(f'another command has just removed {directory}; try again')
        yield
    finally:
        os.close(handle)


def remove_folders(directory: Path, folders: list[Path], marker: Path, made_directory: bool) -> list[str]:
    """Remove what the lab has made, and nothing else; returns what is left in the directory."""
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
    marker.unlink(missing_ok=True)
    left = sorted(path.name for path in directory.iterdir())
    if made_directory and not left:
        directory.rmdir()
    return left


def say_down(directory: Path, was_there: bool, left: list[str]) -> None:
    say('down' if was_there else f'no lab in {directory}')
    if left:
        say(f'in {directory} there are files that are not of the lab, and stay: {", ".join(left)}')


def signal_number(name: str) -> signal.Signals:
    number = getattr(signal, 'SIG' + name.upper().removeprefix('SIG'), None)
    if not isinstance(number, signal.Signals):
        raise TroubleError(f'{name} is no signal; write KILL, STOP, CONT, TERM, ...', USAGE)
    return number


def wait_for(condition: Callable[[], object], text: str, limit_s: float, log: Path) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TroubleError(f'{text} within {limit_s:.0f} s; look into {log}', FAILED)
        time.sleep(0.05)


def last_lines(text: str) -> str:
    return '\n'.join(text.strip().splitlines()[-8:])
