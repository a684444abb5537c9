"""The engines in order of preference, and the choice of one for a case."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import Engine
from seatrial.engine.bonnie import BonnieEngine
from seatrial.engine.dd import Dd
from seatrial.engine.dlio import Dlio
from seatrial.engine.elbencho import Elbencho, ElbenchoFiles
from seatrial.engine.fio.access import Fio, FioDevices
from seatrial.engine.fio.random import FioRandom
from seatrial.engine.fio.reuse import FioBonnie, FioReuse
from seatrial.engine.fio.tree import FioFiles
from seatrial.engine.io500 import Io500Engine
from seatrial.engine.ior import Ior
from seatrial.engine.iozone import Iozone
from seatrial.engine.mdtest import Mdtest
from seatrial.engine.posixops.engine import PosixOps
from seatrial.model.plan import EngineChoice
from seatrial.model.point import Point
from seatrial.workload.registry import fault_of, kind_of
from seatrial.workload.words import joined

ENGINES: Tuple[Engine, ...] = (
    Iozone(),
    BonnieEngine(),
    Ior(),
    Mdtest(),
    Fio(),
    FioReuse(),
    FioBonnie(),
    FioRandom(),
    FioFiles(),
    FioDevices(),
    Elbencho(),
    ElbenchoFiles(),
    Dd(),
    PosixOps(),
    Dlio(),
    Io500Engine(),
)
"""In order of preference: a source's own program, engines with MPI and all patterns, programs of every machine."""

NAMES: Tuple[str, ...] = tuple(dict.fromkeys(engine.name for engine in ENGINES))  # as a site may name them


class Choice(NamedTuple):
    """The engine that measures and the path of its program; engine is None and program '' if no engine can."""

    engine: Optional[Engine]
    program: str
    skipped: Tuple[str, ...]  # a sentence with the reason for each preferred engine that does not measure


def engines_called(name: str) -> List[Engine]:
    if name not in NAMES:
        raise ValueError(f"'{name}' is not an engine; the engines are {', '.join(NAMES)}")
    return [engine for engine in ENGINES if engine.name == name]


def by_name(name: str, kind: str) -> Optional[Engine]:
    """The engine of that name for this kind of workload, or None. Raises ValueError with the known names."""
    return next((engine for engine in engines_called(name) if kind in engine.kinds), None)


def program_of(engine: Engine, choice: EngineChoice) -> str:
    """The program to look for: the site's, or the engine's if the site names none."""
    return engine.programs[0] if choice.program == choice.name else choice.program


def choose(
    candidates: Sequence[EngineChoice],
    points: Sequence[Point],
    which: Callable[[str], Optional[str]],
    unfit: Callable[[Engine], Optional[str]] = lambda engine: None,
) -> Choice:
    """The first candidate that is installed and can carry out every point exactly. `which`: the path of a program or
    None; `unfit`: the reason why an engine is unfit for this file system. Raises ValueError for an unknown name."""
    kind = points[0].kind
    skipped: List[str] = []
    for candidate in candidates:
        engine = by_name(candidate.name, kind)
        if engine is None:
            declining = [other for other in engines_called(candidate.name) if kind in other.declines]
            skipped += [f'{other.name}: {other.declines[kind]}' for other in declining]
            continue
        wanted = program_of(engine, candidate)
        program = which(wanted)
        needed = [wanted, *(name for point in points for name in engine.needs(point))]
        missing = [name for name in needed if which(name) is None]
        why = f'not installed ({missing[0]})' if missing else cannot(engine, points) or unfit(engine)
        if program is not None and why is None:
            return Choice(engine, program, tuple(skipped))
        skipped.append(f'{engine.name}: {why}')
    return Choice(None, '', tuple(skipped))


def why_none(candidates: Sequence[EngineChoice], skipped: Sequence[str]) -> str:
    """The reasons why no candidate measures; without reasons, the kinds that the candidates measure."""
    names = dict.fromkeys(candidate.name for candidate in candidates)
    work = {name: [kind_of(kind).words for engine in engines_called(name) for kind in engine.kinds] for name in names}
    return '; '.join(skipped or [f'{name}: measures {joined(words, "and")} alone' for name, words in work.items()])


def cannot(engine: Engine, points: Sequence[Point]) -> Optional[str]:
    """The reason why an engine cannot carry out one of the points, with that point's label, or None."""
    for point in points:
        fault = fault_of(point)
        why = f'the parameters contradict each other: {fault}' if fault else engine.cannot(point)
        if why is None and point.data is not None and point.data.passes > 1 and not engine.rereads:
            why = 'cannot read a file several times over'
        if why is not None:
            return f'{why} ({point.label})'
    return None
