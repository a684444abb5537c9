"""The engines in order of preference, and which of them carries a case out."""

from typing import Callable, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import AccessEngine, AnyEngine, NamespaceEngine
from seatrial.engine.dd import Dd
from seatrial.engine.fio import Fio
from seatrial.engine.fio_files import FioFiles
from seatrial.engine.ior import Ior
from seatrial.engine.mdtest import Mdtest
from seatrial.engine.posixops import PosixOps
from seatrial.model.namespace import Namespace
from seatrial.model.plan import EngineChoice
from seatrial.model.work import Place, Work

ACCESS_ENGINES: Tuple[AccessEngine, ...] = (Ior(), Fio(), Dd())
NAMESPACE_ENGINES: Tuple[NamespaceEngine, ...] = (Mdtest(), FioFiles(), PosixOps())
NAMES: Tuple[str, ...] = ('ior', 'mdtest', 'fio', 'dd', 'posixops')
"""Every engine once, as a site may name it: fio is one for data and another for files."""


class Choice(NamedTuple):
    """The engine that measures and the path of its program; engine is None and program '' where none can.

    passed_over: for every engine that was preferred, one sentence why it does not measure.
    """

    engine: Optional[AnyEngine]
    program: str
    passed_over: Tuple[str, ...]


def kinds_of(name: str) -> FrozenSet[str]:
    """What an engine of this name measures: 'bytes', 'names' or both."""
    kinds = (('bytes', ACCESS_ENGINES), ('names', NAMESPACE_ENGINES))
    return frozenset(kind for kind, engines in kinds if any(engine.name == name for engine in engines))


def engines_called(name: str) -> List[AnyEngine]:
    """The one or two engines of this name. Raises ValueError with the known names."""
    _check_name(name)
    both: Sequence[AnyEngine] = (*ACCESS_ENGINES, *NAMESPACE_ENGINES)
    return [engine for engine in both if engine.name == name]


def by_name(name: str, workload: Work) -> Optional[AnyEngine]:
    """The engine of that name for such a workload, or None where it is none for it.

    Raises ValueError with the known names.
    """
    _check_name(name)
    kind: Sequence[AnyEngine] = NAMESPACE_ENGINES if isinstance(workload, Namespace) else ACCESS_ENGINES
    return next((engine for engine in kind if engine.name == name), None)


def choose(
    candidates: Sequence[EngineChoice],
    workload: Work,
    points: Sequence[Place],
    which: Callable[[str], Optional[str]],
) -> Choice:
    """The first candidate that is installed and can carry every point out exactly, so that one engine
    measures the whole case. `which` gives the path of a program or None. An unknown name raises ValueError."""
    passed_over: List[str] = []
    for candidate in candidates:
        engine = by_name(candidate.name, workload)
        if engine is None:
            continue
        wanted = engine.programs[0] if candidate.program == candidate.name else candidate.program
        program = which(wanted)
        why = f'not installed ({wanted})' if program is None else _cannot(engine, workload, points)
        if program is not None and why is None:
            return Choice(engine, program, tuple(passed_over))
        passed_over.append(f'{engine.name}: {why}')
    return Choice(None, '', tuple(passed_over))


def _check_name(name: str) -> None:
    if name not in NAMES:
        raise ValueError(f"'{name}' is not an engine; the engines are {', '.join(NAMES)}")


def _cannot(engine: AnyEngine, workload: Work, points: Sequence[Place]) -> Optional[str]:
    for point in points:
        why = engine.cannot(workload, point)
        if why is not None:
            return f'{why} ({point.label})'
    return None
