"""Asks programs with a deadline, so that nobody hangs with a file system or a scheduler."""

import contextlib
import os
import signal
import subprocess
import time
from typing import IO, List, NamedTuple, Optional, Tuple

POLL_S, MAX_POLL_S = 0.001, 0.01  # most programs end in few milliseconds, and every launch asks one
READ_BYTES = 1 << 20  # more than a pipe holds (pipe(7))
ANSWER_S, MANY = 10.0, 2**63


class Answer(NamedTuple):
    """A probe's answer. exit_status is None if it had not ended by the deadline; its output until then is kept."""

    stdout: str
    exit_status: Optional[int]
    stderr: str = ''


_OPENED = 'stat --file-system -- "$1"; for each; do true <"$each/."; done'
"""Opening asks the server that a directory lies on, where statfs(2) may be answered by another or from memory."""


def unresponsive(path: str, *below: str, mounted_from: str = '') -> Optional[str]:
    """The reason not to touch this path or the directories `below` (no answer within ANSWER_S), or None.
    mounted_from: as filesystem.base.mounted_from says it"""
    answer = ask(['sh', '-c', _OPENED, 'sh', path, *below], ANSWER_S)
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
    """Run a command in a session of its own, its messages in English; None if it is not installed. Past the deadline
    it is left behind, for a process that waits for a dead target can ignore SIGKILL."""
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
        if process.returncode is None:  # the deadline is over, or a signal ends this process
            with contextlib.suppress(OSError):  # ended meanwhile, or another user's by way of sudo
                os.killpg(process.pid, signal.SIGKILL)  # its children too: they are the session that it began
    return Answer(stdout, status, stderr)


def _listen(
    process: 'subprocess.Popen[bytes]', streams: 'Tuple[IO[bytes], IO[bytes]]', end: float
) -> Tuple[Optional[int], List[str]]:
    """The exit status (None: still running) and both outputs, read as they come, lest a full pipe block."""
    for stream in streams:
        os.set_blocking(stream.fileno(), False)
    outputs = [bytearray() for _ in streams]
    pause_s = POLL_S
    while True:
        status = process.poll()  # polled before reading: what an ended process printed is then in the pipe
        for stream, text in zip(streams, outputs):
            text += stream.read(READ_BYTES) or b''  # None where nothing is there yet
        if status is not None or time.monotonic() >= end:
            return status, [text.decode('utf-8', 'replace') for text in outputs]
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_POLL_S)
