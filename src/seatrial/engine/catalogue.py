"""The engines of data access in order of preference, and which of them carries a case out."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import Engine
from seatrial.engine.dd import Dd
from seatrial.engine.fio import Fio
from seatrial.engine.ior import Ior
from seatrial.model.plan import EngineChoice
from seatrial.model.workload import AccessPattern, Point

ENGINES: Tuple[Engine, ...] = (Ior(), Fio(), Dd())


class Choice(NamedTuple):
    """The engine that measures and the path of its program; engine is None and program '' where none can.

    passed_over: for every engine that was preferred, one sentence why it does not measure.
    """

    engine: Optional[Engine]
    program: str
    passed_over: Tuple[str, ...]


def by_name(name: str) -> Engine:
    """The engine of that name; raises ValueError with the known names."""
    found = next((engine for engine in ENGINES if engine.name == name), None)
    if found is None:
        raise ValueError(f"'{name}' is not an engine; the engines are {', '.join(e.name for e in ENGINES)}")
    return found


def choose(
    candidates: Sequence[EngineChoice],
    pattern: AccessPattern,
    points: Sequence[Point],
    which: Callable[[str], Optional[str]],
) -> Choice:
    """The first candidate that is installed and can carry every point out exactly, so that one engine
    measures the whole case. `which` gives the path of a program or None. An unknown name raises ValueError."""
    passed_over: List[str] = []
    for candidate in candidates:
        engine, program = by_name(candidate.name), which(candidate.program)
        why = f'not installed ({candidate.program})' if program is None else _cannot(engine, pattern, points)
        if program is not None and why is None:
            return Choice(engine, program, tuple(passed_over))
        passed_over.append(f'{engine.name}: {why}')
    return Choice(None, '', tuple(passed_over))


def _cannot(engine: Engine, pattern: AccessPattern, points: Sequence[Point]) -> Optional[str]:
    for point in points:
        why = engine.cannot(pattern, point)
        if why is not None:
            return f'{why} ({point.label})'
    return None
