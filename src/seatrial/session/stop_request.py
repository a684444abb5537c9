"""The signals that ask a session to stop. Each is answered at once; none ends it before its verdict is left."""

import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console


class StopRequest:
    """Whether a stop was requested. answer: what is said to each signal: what is waited for, how long."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.stop = False


@contextmanager
def stop_requests(screen: Console, answer: str) -> Iterator[StopRequest]:
    """Take the signals while the `with` statement lasts. What the caller ignores stays ignored (nohup)."""
    requested = StopRequest(answer)
    came: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # its put() may interrupt itself

    def note(number: int, frame: FrameType | None) -> None:
        requested.stop = True
        came.put(number)

    def reply() -> None:
        for number in iter(came.get, None):
            screen.print(f'{signal.Signals(number).name}: {requested.answer}', soft_wrap=True)

    replying = threading.Thread(target=reply, name='replies to signals', daemon=True)
    replying.start()
    before = {
        number: signal.signal(number, note)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came.put(None)
        replying.join()
