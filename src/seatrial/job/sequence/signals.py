"""SIGTERM and SIGINT ask a job for an end: what is in hand is ended, and nothing is launched after them."""

import signal
from typing import Any, Optional


class Interrupted(Exception):
    """A signal has asked the job to stop."""


class Signals:
    """Notes the signals from now on, until their former handlers are restored."""

    def __init__(self) -> None:
        self.caught: Optional[int] = None
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}

    def _note(self, number: int, frame: Any) -> None:
        self.caught = number

    def stopping(self) -> bool:
        return self.caught is not None

    def check(self) -> None:
        """Raises Interrupted if one has come."""
        if self.stopping():
            raise Interrupted(self.sentence())

    def sentence(self) -> str:
        return f'interrupted by {signal.Signals(self.caught or 0).name}; `seatrial clean` removes what it left'

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
