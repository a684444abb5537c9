"""Stand-ins for tests: modules, programs, tasks that are threads, and files that are written to."""

import contextlib
import os
import threading
import time
from types import SimpleNamespace

from local_site import executable
from seatrial.engine.barrier import Release, TaskBarrier

SOON_S = 20.0
WAIT_S = 60.0  # at most, for what comes at once on a machine that has time


class Altered:
    """A module some of whose names are replaced."""

    def __init__(self, module, **names):
        self._module, self._names = module, names

    def __getattr__(self, name):
        return self._names[name] if name in self._names else getattr(self._module, name)


class Table(TaskBarrier):
    """The barrier of threads."""

    def __init__(self, tasks):
        self.barrier_, self.messages = threading.Barrier(tasks, timeout=SOON_S), {}

    def seat(self, rank):
        return SimpleNamespace(wait=self.wait, exchange=lambda what, says='': self.exchanged(rank, says))

    def wait(self, what):
        self.barrier_.wait()
        return Release(time.monotonic(), 0.0, 0.0)

    def exchanged(self, rank, says):
        if says:
            self.messages[rank] = says
        self.barrier_.wait()
        words = dict(self.messages)
        if self.barrier_.wait() == 0:
            self.messages.clear()
        self.barrier_.wait()
        return words


def in_threads(tasks, act):
    """The result or exception of act(rank, seat at the barrier) for every task; a thread is named by its rank."""
    table, results = Table(tasks), [None] * tasks

    def one(rank):
        try:
            results[rank] = act(rank, table.seat(rank))
        except Exception as error:
            results[rank] = error
            table.barrier_.abort()

    threads = [threading.Thread(target=one, args=(rank,), name=str(rank)) for rank in range(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SOON_S)
    return results


class Kept:
    """Lines that are kept in memory."""

    def __init__(self):
        self.lines = []

    def write(self, value):
        self.lines.append(value)

    def of(self, kind):
        return [line for line in self.lines if isinstance(line, kind)]

    def wait_for(self, kind, number):
        end = time.monotonic() + WAIT_S
        while len(self.of(kind)) < number and time.monotonic() < end:
            time.sleep(0.005)
        assert len(self.of(kind)) >= number, self.lines
        return self.of(kind)


def program(folder, monkeypatch, name, script):
    """A shell script of this name stands before the programs of this machine."""
    executable(folder / name, f'#!/bin/sh\n{script}\n')
    monkeypatch.setenv('PATH', str(folder), prepend=':')


def working_in(directory):
    """Processes whose working directory lies in this one."""
    pids = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            if os.readlink(f'/proc/{name}/cwd').startswith(str(directory)):
                pids.append(int(name))
    return pids
