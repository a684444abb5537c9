"""Site commands that take servers away and back (Action), when they run (Planned), and their outcome (Step)."""

import json
from typing import NamedTuple, Optional, Tuple

from seatrial.model.codec import from_json, to_json

START, UNDO, COUNT = 'start', 'undo', 'count'
MAX_STEPS = 360  # the most steps of a course: a drawing has no room for more
BEGUN, TRANSCRIPT = '.begun.json', '.actions.jsonl'  # suffixes of a launch's files: its load began, its actions


class Action(NamedTuple):
    """An entry of `actions` in trial.yaml."""

    name: str
    start: Tuple[str, ...]  # like the other two an argv, run on the login side
    undo: Tuple[str, ...]
    check: Tuple[str, ...]  # exits with 0 while the storage is healthy
    timeout_s: float  # time after which a start, check or undo is killed, with its whole process group
    counting: Tuple[str, ...] = ()  # an argv that changes nothing and prints a number that only rises, as of messages


class Planned(NamedTuple):
    """A planned action, in seconds since the load began. An empty name stands for every action of the site."""

    name: str
    at_s: float
    for_s: float


class Begun(NamedTuple):
    time: float  # Unix time at which the load of a launch began
    host: str  # the host whose clock that is


class Step(NamedTuple):
    """A start, an undo or a count that has ended, in seconds since the load began, by the clock of the login side."""

    action: str
    step: str
    begun_s: float
    ended_s: float
    why: str  # what went wrong, as a clause; empty where it exited with 0
    counted: Optional[int] = None  # the rise of a count since before the start; None where nobody knows


class Transcript(NamedTuple):
    """The steps of a launch's actions, as far as they are known."""

    skew_s: float  # how far the clocks of node and login side can be apart
    steps: Tuple[Step, ...]
    complete: bool  # True if the end of all of them is recorded


class Window(NamedTuple):
    """An action from the beginning of its start to the end of its undo, in seconds since the load began."""

    name: str
    start_s: float
    end_s: float
    back_s: Optional[float] = None  # when throughput was back; None if that was not seen
    counted: Optional[int] = None  # the rise of its count
    uncounted: str = ''  # why that is unknown; both are empty for an action without a count


class Course(NamedTuple):
    """The throughput of all tasks of a scenario together, in at most MAX_STEPS steps of whole seconds."""

    step_s: int
    mean: Tuple[int, ...]  # B/s of each step
    lowest: Tuple[int, ...]  # B/s of the lowest second in each step, or of a minute without rows for its seconds
    failed: Tuple[int, ...]  # numbers of the steps in which calls failed
    wanted: float  # B/s from which the throughput counts as back
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
