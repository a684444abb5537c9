"""Site commands that take servers away and back (Action), when they run (Planned), and their outcome (Step)."""

import json
from typing import NamedTuple, Optional, Tuple

from seatrial.model.codec import from_json, to_json

START, UNDO, COUNT = 'start', 'undo', 'count'
MAX_STEPS = 360  # of a course: more than a drawing has room for would be of no use in the record

BEGUN, TRANSCRIPT = '.begun.json', '.actions.jsonl'
"""Suffixes of a launch's raw output: its load has begun; the transcript of its actions."""


class Action(NamedTuple):
    """An entry of `actions` in trial.yaml."""

    name: str
    # start, undo, check: argvs, run on the login side; check exits with 0 while the storage is healthy
    start: Tuple[str, ...]
    undo: Tuple[str, ...]
    check: Tuple[str, ...]
    # after which a start or a check is killed, with its whole process group; an undo is given as long
    timeout_s: float
    # an argv that changes nothing; its last line is a whole number that only rises, of messages in a log, say
    counting: Tuple[str, ...] = ()


class Planned(NamedTuple):
    """A planned action, in seconds since the load began. An empty name stands for every action of the site."""

    name: str
    at_s: float
    for_s: float


class Begun(NamedTuple):
    """The load of a launch has begun."""

    time: float  # in Unix time
    host: str  # whose clock that is


class Step(NamedTuple):
    """A start, an undo or a count that has ended, in seconds since the load began, by the clock of the login side."""

    action: str
    step: str
    begun_s: float
    ended_s: float
    why: str  # what went wrong, as a clause; empty where it exited with 0
    counted: Optional[int] = None  # of a count, by how much it rose since before the start; None where nobody knows


class Transcript(NamedTuple):
    """The steps of a launch's actions, as far as they are known."""

    skew_s: float  # how far the clocks of node and login side can be apart
    steps: Tuple[Step, ...]
    complete: bool  # whether whoever conducts has said that all of them are over


class Window(NamedTuple):
    """An action as it took place, from the beginning of its start to the end of its undo."""

    name: str
    start_s: float
    end_s: float
    # when throughput was back, all in seconds since the load began; None where nobody saw that
    back_s: Optional[float] = None
    counted: Optional[int] = None  # by how much its count rose
    uncounted: str = ''  # why nobody knows that; neither where it has none


class Course(NamedTuple):
    """The throughput of all tasks of a scenario together, in at most MAX_STEPS steps of whole seconds."""

    step_s: int
    # mean, lowest: B/s of each step, and of the lowest second in it (or of a minute without rows for its seconds)
    mean: Tuple[int, ...]
    lowest: Tuple[int, ...]
    failed: Tuple[int, ...]  # steps in which calls failed, by their numbers
    wanted: float  # B/s at which it counts as back
    windows: Tuple[Window, ...]


def line_of_step(step: Step) -> str:
    return json.dumps(to_json(step)) + '\n'


def transcript_of(text: str) -> Optional[Transcript]:
    """The transcript in a text, up to its first damaged line; None where even its first line is damaged."""
    skew_s: Optional[float] = None
    steps, complete = [], False
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            if 'skew_s' in entry:
                skew_s = float(entry['skew_s'])
            elif 'complete' in entry:
                complete = True
            else:
                steps.append(from_json(Step, entry))
        except (ValueError, TypeError):
            break
    return None if skew_s is None else Transcript(skew_s, tuple(steps), complete)
