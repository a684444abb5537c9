"""Runs programs with a deadline, so that no caller hangs with a file system or a scheduler."""

import contextlib
import os
import signal
import subprocess
import time
from typing import IO, List, NamedTuple, Optional, Tuple

POLL_S, MAX_POLL_S = 0.001, 0.01  # most programs end in a few milliseconds, and every launch runs one
READ_BYTES = 1 << 20  # more than a pipe holds (pipe(7))
ANSWER_S, MANY = 10.0, 2**63


class Answer(NamedTuple):
    """A program's output. exit_status: None if it did not end by the deadline; its output until then is kept"""

    stdout: str
    exit_status: Optional[int]
    stderr: str = ''


_OPEN = 'stat --file-system -- "$1"; for directory; do true <"$directory/."; done'
"""Opening a directory needs an answer from its server; another server or a cache may answer statfs(2)."""


def unresponsive(path: str, *below: str, mounted_from: str = '') -> Optional[str]:
    """The reason not to access this path or the directories `below` (no answer within ANSWER_S), or None.
    mounted_from: as returned by filesystem.base.mounted_from"""
    answer = ask(['sh', '-c', _OPEN, 'sh', path, *below], ANSWER_S)
    if answer is None or answer.exit_status is not None:
        return None
    return f'{path}: the file system{mounted_from} does not answer within {ANSWER_S:.0f} s; is a server down?'


def free_room(path: str) -> Optional[Tuple[int, int]]:
    """Bytes and inodes that an ordinary user may still use; MANY where inodes are not counted; None: no answer."""
    answer = ask(['stat', '--file-system', '--format=%S %a %c %d', '--', path], ANSWER_S)
    if answer is None or answer.exit_status != 0:
        return None
    block, blocks, inodes, free = map(int, answer.stdout.split())
    return block * blocks, free if inodes else MANY


def ask(argv: List[str], deadline_s: float) -> Optional[Answer]:
    """Run a command in a session of its own, with English messages; None if it is not installed. After the deadline
    it is killed but not awaited, because a process that waits for a dead target can ignore SIGKILL."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=dict(os.environ, LC_ALL='C'),
        )
    except OSError:
        return None
    assert process.stdout is not None and process.stderr is not None
    try:
        with process.stdout as out, process.stderr as err:
            status, (stdout, stderr) = _listen(process, (out, err), time.monotonic() + deadline_s)
    finally:
        if process.returncode is None:  # the deadline has passed, or a signal ends this process
            with contextlib.suppress(OSError):  # it has ended, or runs as another user through sudo
                os.killpg(process.pid, signal.SIGKILL)  # with its children, which are in its session
    return Answer(stdout, status, stderr)


def _listen(
    process: 'subprocess.Popen[bytes]', streams: 'Tuple[IO[bytes], IO[bytes]]', end: float
) -> Tuple[Optional[int], List[str]]:
    """The exit status (None: still running) and both outputs, read as they arrive, so that no full pipe blocks."""
    for stream in streams:
        os.set_blocking(stream.fileno(), False)
    outputs = [bytearray() for _ in streams]
    pause_s = POLL_S
    while True:
        status = process.poll()  # polled before reading: what an ended process printed is then in the pipe
        for stream, text in zip(streams, outputs):
            text += stream.read(READ_BYTES) or b''  # None if there is no output yet
        if status is not None or time.monotonic() >= end:
            return status, [text.decode('utf-8', 'replace') for text in outputs]
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_POLL_S)
