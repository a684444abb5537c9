"""Public Darshan logs, replayed: the table of docs/darshan.md.

`python benchmarks/replays.py DARSHAN_LIBRARY FOLDER...`: each log below the folders is refused, or becomes a check.
Each check is run once for all logs of one pattern, on this machine with at most 4 tasks, and the log of the replay
is compared with that of each application (`seatrial derive --check`). Needs ior or fio on the PATH and a
Darshan that is built for the MPI of IOR.
"""

import contextlib
import hashlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from seatrial.check.darshan.logs import LogError, read_logs
from seatrial.check.darshan.part import Underivable
from seatrial.check.derived import Derived, check_text, compared, replayed_in, shape_of
from seatrial.model.units import MIB, format_size
from seatrial.workload.access import name_of
from seatrial.workload.words import counted

REPOSITORY = Path(__file__).resolve().parents[1]
SEATRIAL = Path(sys.executable).with_name('seatrial')
TASKS, BYTES, TRANSFERS = 4, 64 * MIB, 4  # limits of a replay; but each task makes TRANSFERS at least
OF_LIBRARY = 16 * MIB  # least bytes of a task: many beside those that HDF5 writes at close
SITE = """
version: 1
state: state
engines: [ior, fio]
file_systems:
  scratch: {{type: posix, path: state/trials, records_on_target: true, limits: {{bytes: 8GiB, inodes: 1000}}}}
partitions:
  local:default: {{launcher: local, tasks_per_node: {tasks}, darshan: {library}}}
trials:
  - {{checks: [Replayed], partitions: [local:default], file_systems: [scratch], nodes: [1], max_tasks: {tasks},
     bytes_per_task: {share}}}
"""


def replayed(derived: Derived, library: str, folder: Path) -> Path:
    """Run the check in a session; returns the folder of its case."""
    point = derived.point
    (folder / 'checks' / 'derived').mkdir(parents=True)
    (folder / 'checks' / 'derived' / 'replayed.py').write_text(check_text(derived, 'Replayed'))
    (folder / 'settings.py').write_text((REPOSITORY / 'site-config' / 'local' / 'settings.py').read_text())
    most = max(TRANSFERS, BYTES // point.data.transfer_size) * point.data.transfer_size
    least = OF_LIBRARY if point.data.interface in ('hdf5', 'netcdf') else 0
    share = format_size(max(least, min(point.data.bytes_per_task, most)))
    text = SITE.format(tasks=min(TASKS, point.tasks), library=library, share=share)
    (folder / 'trial.yaml').write_text(text)
    argv = [SEATRIAL, 'run', f'--site={folder}', f'--checks={folder / "checks"}', '--profile=smoke']
    answer = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False).stdout
    cases = sorted(folder.glob('state/**/cases/*'))
    if not cases:
        raise Underivable(f'the replay did not run: {answer.strip()[-200:]}')
    return cases[0]


def outcome(log: Path, library: str, replays: dict[object, list]) -> str:
    """The outcome for a log, in words that are the same for all logs of one kind."""
    try:
        derived = shape_of(read_logs([log])[0])
    except (LogError, Underivable) as error:
        return 'refused: ' + re.sub(r'\d[\d.]*', 'N', re.split(r'[:(]', str(error))[0]).strip()
    if derived.point not in replays:
        with (
            tempfile.TemporaryDirectory(prefix='seatrial-replays-') as folder,
            contextlib.suppress(Underivable, LogError),
        ):
            replays[derived.point] = replayed_in(replayed(derived, library, Path(folder)))
    pattern = f'{name_of(derived.point)}, {derived.point.data.interface}'
    if derived.point not in replays:
        return f'accepted, not replayed here: {pattern}'
    rows = compared(derived.part, replays[derived.point])
    differs = ', '.join(what for what, *_, verdict in rows if verdict == 'differs')
    scaled = ' (scaled)' if any(row[3] == 'scaled' for row in rows) else ''
    return f'replayed, {"differs in " + differs if differs else "all within 5 %"}{scaled}: {pattern}'


def main(library: str, folders: list[str]) -> None:
    logs = {
        hashlib.sha256(log.read_bytes()).hexdigest(): log
        for folder in folders
        for log in sorted(Path(folder).rglob('*.darshan'))
        if log.is_file() and log.name != 'Makefile.darshan'
    }
    replays: dict[object, list] = {}
    outcomes = Counter(outcome(log, library, replays) for log in logs.values())
    print(f'| of {counted(len(logs), "log")} | |\n|---|---|')
    for words, number in sorted(outcomes.items()):
        print(f'| {words} | {number} |')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
