"""posixops, tasks that take turns to try one guarantee.

All tasks go through a trial in step: the task whose turn it is makes a call and sends the result to all, so that all
take the same decisions. The first task of a pair is task 0. The other task is the first task of another node, or
task 1 if there is no other node, or task 0 itself if it is alone.
"""

import contextlib
import errno
import json
import os
import shutil
import tarfile
import time
from typing import Any, Callable, Dict, Optional, Tuple

from seatrial.engine.barrier import TaskBarrier
from seatrial.model.metric import Fact

ROOT = 'semantics'
LATE_S = 10.0  # seconds until the name of a closed file must appear: empty files of rclone on HDFS need them

Seen = Tuple[Optional[bool], str]
Step = Callable[[], Any]


class Broken(Exception):
    """A step of a trial failed; the message is a clause with the step and the reason. holds: for the trial's Fact."""

    def __init__(self, why: str, holds: Optional[bool] = False) -> None:
        super().__init__(why)
        self.holds = holds


def refused(step: Step, *errnos: int) -> bool:
    """True if the step fails with one of these errors. Raises OSError for any other."""
    try:
        step()
    except OSError as error:
        if error.errno in errnos:
            return True
        raise
    return False


class Turns:
    """A trial from the view of one of its tasks, or of one that only watches."""

    refusals: Tuple[int, ...] = ()  # errnos by which a step may fail, where another one ends the task; none: by all

    def __init__(self, barrier: TaskBarrier, rank: int, directory: str = '') -> None:
        self._barrier, self._rank, self._directory = barrier, rank, directory

    def path(self, name: str = 'f') -> str:
        return f'{self._directory}/{name}'

    def _turn(self, doing: str, steps: Dict[int, Tuple[Step, ...]]) -> Dict[int, Any]:
        """These ranks do their steps; returns each rank's last result. Raises Broken in all tasks if one failed."""
        says = ''
        if self._rank in steps:
            try:
                says = json.dumps({'did': [step() for step in steps[self._rank]][-1]})
            except (OSError, ValueError, tarfile.TarError) as error:
                if self.refusals and getattr(error, 'errno', None) not in self.refusals:
                    raise
                says = json.dumps({'failed': getattr(error, 'strerror', None) or str(error)})
        answers = {rank: json.loads(text) for rank, text in self._barrier.exchange(doing, says).items()}
        for rank in steps:
            if 'failed' in answers[rank]:
                raise self._broken(rank, doing, answers[rank]['failed'])
        return {rank: answers[rank]['did'] for rank in steps}

    def _broken(self, rank: int, doing: str, why: str) -> Broken:
        raise NotImplementedError


class Pair(Turns):
    def __init__(self, barrier: TaskBarrier, rank: int, hosts: Tuple[str, ...]) -> None:
        super().__init__(barrier, rank)
        self._second = next((other for other, host in enumerate(hosts) if host != hosts[0]), min(1, len(hosts) - 1))
        elsewhere = 'on another node' if hosts[self._second] != hosts[0] else 'on the same node'
        self.other_one = f'another task {elsewhere}' if self._second else 'the same task'
        self._opened = contextlib.ExitStack()

    def trial(self, name: str, attempt: Callable[['Pair'], Seen]) -> Fact:
        self._directory = f'{ROOT}/{name}'
        if self._rank == 0:
            os.mkdir(self._directory)
        self._barrier.exchange(f'begin {name}')
        try:
            holds, seen = attempt(self)
        except Broken as error:
            holds, seen = error.holds, str(error)
        try:
            self._turn('close what it had open', dict.fromkeys({0, self._second}, (self._opened.close,)))
        except Broken as error:
            holds, seen = False, f'{seen}; {error}'
        if self._rank == 0:
            _remove(self._directory)
        return Fact(name, holds, seen)

    def keep(self, descriptor: int) -> int:
        """Keep a descriptor until the end of the trial, which closes it."""
        self._opened.callback(os.close, descriptor)
        return descriptor

    def first(self, doing: str, *steps: Step) -> Any:
        """The first task does these steps; returns the last result. Raises Broken in all tasks if one failed."""
        return self._turn(doing, {0: steps})[0]

    def other(self, doing: str, *steps: Step) -> Any:
        """As `first`, by the other task, or by the first task if it is alone."""
        return self._turn(doing, {self._second: steps})[self._second]

    def at_once(self, doing: str, first: Step, other: Step) -> Tuple[Any, Any]:
        """Both do their steps at the same time; returns both results."""
        self._barrier.wait(doing)
        results = self._turn(doing, {0: (first,), self._second: (other,)})
        return results[0], results[self._second]

    def _broken(self, rank: int, doing: str, why: str) -> Broken:
        return Broken(f'{self.other_one if rank else "the first task"} could not {doing}: {why}')


def _remove(directory: str) -> None:
    """Removes a directory, with entries that appear late or are shown wrongly at first. Raises OSError."""
    end = time.monotonic() + LATE_S
    while True:
        try:
            shutil.rmtree(directory)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EISDIR) or time.monotonic() > end:
                raise
        time.sleep(0.1)
