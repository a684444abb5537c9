"""posixops, two clients that take turns to try one promise.

All clients go through a trial step by step and in step: the client whose turn it is does something and tells all of
them what came of it, so that all take the same decisions, and no step begins before the one before it has ended.
The first client is client 0. The other one is the first one of another node, or client 1 where there is no other
node, or the first one itself where it is alone.
"""

import json
import os
import shutil
import tarfile
from typing import Any, Callable, Dict, List, Optional, Tuple

from seatrial.engine.barrier import Barrier
from seatrial.model.tree import Fact

ROOT = 'semantics'

Seen = Tuple[Optional[bool], str]
Step = Callable[[], Any]


class Broken(Exception):
    """A step of a trial failed; a clause says which, and why."""


class Pair:
    """The two clients of a trial, as seen by one of them, or by a client that only watches."""

    def __init__(self, barrier: Barrier, client: int, hosts: Tuple[str, ...]) -> None:
        self._barrier, self._client = barrier, client
        self._second = next((other for other, host in enumerate(hosts) if host != hosts[0]), min(1, len(hosts) - 1))
        elsewhere = 'on another node' if hosts[self._second] != hosts[0] else 'on the same node'
        self.other_one = f'another client {elsewhere}' if self._second else 'the same client'
        self._directory = ''
        self._opened: List[int] = []

    def trial(self, name: str, attempt: Callable[['Pair'], Seen]) -> Fact:
        """One promise, tried."""
        self._directory = f'{ROOT}/{name}'
        if self._client == 0:
            os.mkdir(self._directory)
        self._barrier.exchange(f'begin {name}')
        try:
            holds, seen = attempt(self)
        except Broken as error:
            holds, seen = False, str(error)
        try:
            self._turn('close what it had open', dict.fromkeys({0, self._second}, (self._close,)))
        except Broken as error:
            holds, seen = False, f'{seen}; {error}'
        if self._client == 0:
            shutil.rmtree(self._directory)
        return Fact(name, holds, seen)

    def path(self, name: str) -> str:
        """Of a file of this trial."""
        return f'{self._directory}/{name}'

    def keep(self, descriptor: int) -> int:
        """It is closed when the trial has ended."""
        self._opened.append(descriptor)
        return descriptor

    def first(self, doing: str, *steps: Step) -> Any:
        """The first client does these steps; what the last of them returned. Raises Broken in all if one failed."""
        return self._turn(doing, {0: steps})[0]

    def other(self, doing: str, *steps: Step) -> Any:
        """The same of the other client, or of the first where it is alone."""
        return self._turn(doing, {self._second: steps})[self._second]

    def at_once(self, doing: str, first: Step, other: Step) -> Tuple[Any, Any]:
        """What both returned, doing their steps at the same time."""
        self._barrier.wait(doing)
        said = self._turn(doing, {0: (first,), self._second: (other,)})
        return said[0], said[self._second]

    def _close(self) -> None:
        failed: Optional[OSError] = None
        while self._opened:
            try:
                os.close(self._opened.pop())
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def _turn(self, doing: str, steps: Dict[int, Tuple[Step, ...]]) -> Dict[int, Any]:
        says = ''
        if self._client in steps:
            try:
                says = json.dumps({'did': [step() for step in steps[self._client]][-1]})
            except (OSError, ValueError, tarfile.TarError) as error:
                says = json.dumps({'failed': getattr(error, 'strerror', None) or str(error)})
        said = {client: json.loads(text) for client, text in self._barrier.exchange(doing, says).items()}
        for client in steps:
            if 'failed' in said[client]:
                who = self.other_one if client else 'the first client'
                raise Broken(f'{who} could not {doing}: {said[client]["failed"]}')
        return {client: said[client]['did'] for client in steps}
