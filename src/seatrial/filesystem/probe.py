"""Commands that ask a file system something, and must not hang with it."""

import subprocess
import time
from typing import List, NamedTuple, Optional

POLL_S = 0.01


class Answer(NamedTuple):
    """What a probe printed; exit_status is None if it had not ended by the deadline."""

    stdout: str
    exit_status: Optional[int]


ANSWER_S = 10.0


def mute(path: str) -> Optional[str]:
    """Why nothing should be asked of the file system of this path: it does not answer in ANSWER_S; or None.

    What is merely missing answers. The look is made by a process that can be left behind.
    """
    answer = ask(['stat', '--file-system', '--', path], ANSWER_S)
    if answer is not None and answer.exit_status is None:
        return f'{path}: the file system does not answer within {ANSWER_S:.0f} s; is a server down?'
    return None


def ask(argv: List[str], deadline_s: float) -> Optional[Answer]:
    """Run a short command in a session of its own; None if it is not installed.

    A process that waits for a dead target can ignore SIGKILL, so it is polled and, past the deadline, left.
    """
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    end = time.monotonic() + deadline_s
    while process.poll() is None and time.monotonic() < end:
        time.sleep(POLL_S)
    if process.returncode is None:
        process.kill()
        return Answer('', None)
    assert process.stdout is not None
    with process.stdout as stream:
        return Answer(stream.read().decode('utf-8', 'replace'), process.returncode)
