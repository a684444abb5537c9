"""The values by which each file of this folder describes its kind of workload to the engine and its tasks."""

import sys
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

from seatrial.engine.base import Outcome
from seatrial.engine.posixops.work import Report, Spec, Work
from seatrial.model.metric import Fact, Measurement
from seatrial.model.point import Point

NEVER = sys.maxsize
ROW = '['  # how the lines of a course begin, which tasks say beside their reports
T = TypeVar('T', bound=Callable[..., object])


class Guarantee(NamedTuple):
    """A guarantee of POSIX or Linux that is tried on a file system."""

    name: str  # its stable id
    words: str  # what holds, for people
    tasks: int  # how many it takes to try it
    source: str  # an interface or a section of POSIX.1-2017 (IEEE Std 1003.1-2017), or a page of the Linux manual
    since: str = '0.1'  # the version of Seatrial that first tried it; outputs of earlier ones have no such fact


def declared(
    rows: List[Guarantee], trials: Dict[str, T], words: str, source: str, tasks: int = 1, since: str = '0.1'
) -> Callable[[T], T]:
    """A decorator that registers the function as the trial of a guarantee of the same name."""

    def enter(trial: T) -> T:
        name = trial.__name__[len('_') :]
        rows.append(Guarantee(name, words, tasks, source, since))
        trials[name] = trial
        return trial

    return enter


class Part(NamedTuple):
    """The code of posixops for one kind of workload."""

    # one task's work in a launch, on its node; returns what it saw. Raises EngineError and OSError
    carry_out: Callable[[Work, Spec], Tuple[Fact, ...]]
    # the metrics that the tasks time, with the operations that all of them together do for each
    planned: Callable[[str, Point], Dict[str, int]] = lambda phase, point: {}
    # guarantees by the name of the phase that tries them, in their order
    facts: Dict[str, Tuple[Guarantee, ...]] = {}  # noqa: RUF012 (a value; nobody changes it)
    # what the rates of what was timed and the tasks' reports come to. Raises EngineError
    measured: Callable[[str, Point, List[Report], Measurement, Outcome], Measurement] = lambda *given: given[3]
    makes: Tuple[str, ...] = ()  # as of Engine
    cannot: Callable[[Point], Optional[str]] = lambda point: None  # as of Engine
    # programs beside the interpreter, by the names of the phases that need any
    needs: Dict[str, Tuple[str, ...]] = {}  # noqa: RUF012
    elsewhere: Callable[[Point, str], bool] = lambda point, phase: False  # Engine.reads_elsewhere
    hosts_from: int = 2  # so many nodes, from which on a task is told where the others run
    directory: Callable[[Point], str] = lambda point: 'tree'  # directory in which the entries of a point lie
    # whether it goes on beside actions: tasks say lines that begin with ROW, and the actions' transcript is read
    course: bool = False
