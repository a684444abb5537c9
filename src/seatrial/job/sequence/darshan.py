"""A launch under Darshan, which records the I/O that an engine issues (rule P15); its figures never count (3.4)."""

import glob
import json
import os
import time
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import Command
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.workload.registry import kind_of

FOLDER = '.darshan'
PLACE = 'place.json'
DAY_S = 24 * 3600
# Variables by which a Darshan may find the folder of its logs; the last two by --with-log-path-by-env.
LOG_FOLDERS = ('DARSHAN_LOGPATH', 'DARSHAN_LOGDIR', 'DARSHAN_LOG_DIR_PATH')


class Left(NamedTuple):
    """The remains of a launch under Darshan. directory: of the data, as its tasks saw it; links: in it, by name."""

    directory: str
    links: Dict[str, str]
    logs: Tuple[str, ...]


def traced_point(plan: TrialPlan, points: Sequence[Point]) -> Optional[Point]:
    """The point with most tasks, then most transfers; None without Darshan, or if its log shows nothing here."""
    if not plan.darshan or not kind_of(plan.kind).by_darshan:
        return None
    return max(points, key=lambda point: (point.tasks, point.data.transfers))


def under_darshan(command: Command, library: str, raw: str, directory: str) -> Command:
    """The command with Darshan loaded into the engine alone, for one log of an MPI program, or one for each process
    of any other; logs and link targets go to raw + '.darshan'."""
    folder = raw + FOLDER
    for moment in (time.time(), time.time() + DAY_S):  # a Darshan with a folder a day does not make them
        day = time.localtime(moment)
        os.makedirs(os.path.join(folder, str(day.tm_year), str(day.tm_mon), str(day.tm_mday)), exist_ok=True)
    place = os.path.realpath(directory)
    with os.scandir(place) as entries:
        links = {entry.name: os.readlink(entry.path) for entry in entries if entry.is_symlink()}
    with open(os.path.join(folder, PLACE), 'w', encoding='utf-8') as stream:
        json.dump({'directory': place, 'links': links}, stream)
    loaded = ':'.join(filter(None, [library, os.environ.get('LD_PRELOAD')]))
    # No path is excluded: the target's own could be among those that Darshan excludes by itself, as /var and /opt.
    settings = [f'LD_PRELOAD={loaded}', 'DARSHAN_EXCLUDE_DIRS=none']
    if command.scope == 'mpi':
        settings = ['-u', 'DARSHAN_ENABLE_NONMPI', *settings, f'DARSHAN_LOGFILE={folder}/launch.darshan']
    else:
        folders = [f'{name}={folder}' for name in LOG_FOLDERS]
        settings = ['-u', 'DARSHAN_LOGFILE', *settings, *folders, 'DARSHAN_ENABLE_NONMPI=1']
    # The program env sets it, not the launch, so that no launcher and no interpreter is traced too.
    before = ('env', '-u', 'DARSHAN_DISABLE', *settings)
    return command._replace(argvs=tuple((*before, *argv) for argv in command.argvs))


def left_by(raw: str) -> Optional[Left]:
    """The remains of the launch with this prefix of raw output; None if it was not made under Darshan."""
    folder = raw + FOLDER
    try:
        with open(os.path.join(folder, PLACE), encoding='utf-8') as stream:
            place: Any = json.load(stream)
    except (FileNotFoundError, ValueError):
        return None
    logs = glob.glob(os.path.join(glob.escape(folder), '**', '*.darshan'), recursive=True)
    return Left(place['directory'], place['links'], tuple(sorted(logs)))
