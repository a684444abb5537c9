"""The forecast of `seatrial plan` after one session of history, beside the figures of the next session.

    python benchmarks/forecast.py [--on disk tmpfs slurm gluster nfs] [--tmpfs /dev/shm] [--quick]

runs two sessions of the same cases at each place, asks for the plan between them, and prints the tables of
docs/benchmarks.md. The place disk is the temporary directory. The labs are brought up and taken down
(ci/lab-slurm, ci/lab-gluster, ci/lab-kernels); the last two need root. The trials fix the sizes, so that every launch
moves the same number of bytes. Bytes are as engines count them; no engine counts the content of files in trees, which
is added. Space (as du counts it) and inodes are measured from outside, in the run directories alone. Wall time is
that of `seatrial run`. Exit code 1 if a figure is farther off than the target; 1 MiB of space is allowed for
directories besides. --quick shows only that it works.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from harness import REPOSITORY, SITES, machine, reframe_version, run, scratch

from seatrial.check.forecast import bytes_before, measured_bytes
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sizing import first_share
from seatrial.model.plan import read_plan
from seatrial.model.record import PLAN, Sample
from seatrial.model.units import approximate_size
from seatrial.rules.before import KEPT_BYTES
from seatrial.workload.registry import kind_of

SPACE, TIME = 0.05, 0.2
"""The largest permitted error of the forecast, as a share of the measured figure."""

WATCH_S = 0.02
TRIAL = """
version: 1
state: {state}
engines: [fio, posixops]
file_systems:
  target: {{type: {type}, path: {path}, records_on_target: true, limits: {{bytes: 6GiB, inodes: 50000}}}}
partitions:
  {partition}: {{launcher: {launcher}, tasks_per_node: {tasks}}}
trials:
"""
ENTRY = """
  - {{checks: [{checks}], partitions: ['{partition}'], file_systems: [target], nodes: [{nodes}], budget: 5min,
      {sizes}}}
"""


class Place(NamedTuple):
    """Where sessions run. prefix: of every command; watch: prefix of the command that measures space in `seen`"""

    name: str
    folder: Path
    path: Path
    type: str = 'posix'
    settings: str = 'local'
    partition: str = 'local:default'
    launcher: str = 'local'
    nodes: int = 1
    tasks: int = 2
    bytes_per_task: str = '256MiB'
    files_per_task: int = 1000
    prefix: 'tuple[str, ...]' = ()
    watch: 'tuple[str, ...]' = ()
    seen: 'Path | None' = None
    slurm_conf: str = ''

    def seatrial(self, verb: str, *words: str) -> str:
        """The output of a command. Exit code 11, INVALID, is no error here: the figures themselves do not matter."""
        program = str(Path(sys.executable).with_name('seatrial'))
        argv = [*self.prefix, program, verb, f'--site={self.folder}', f'--checks={REPOSITORY / "checks"}', *words]
        environment = {**os.environ, 'TMPDIR': str(self.folder)}  # where ReFrame leaves a log
        environment |= {'SLURM_CONF': self.slurm_conf} if self.slurm_conf else {}
        done = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, 11):
            sys.exit(f'{self.name}: {verb}: exit status {done.returncode}\n{done.stdout}{done.stderr}')
        return done.stdout


class Row(NamedTuple):
    """A case: expected and measured figures by column. fixed: its bytes were known before; exact: and were right"""

    place: str
    check: str
    expected: 'dict[str, float]'
    made: 'dict[str, float]'
    fixed: bool
    exact: bool


class Wall(NamedTuple):
    """The times of a session, in seconds."""

    place: str
    profile: str
    cases: int
    least_s: float
    expected_s: float
    taken_s: float


def main() -> int:
    if sys.argv[1:2] == ['--watch']:
        return _watch(Path(sys.argv[2]), Path(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--on', nargs='+', choices=[*PLACES], default=[*PLACES], help='the places (all)')
    parser.add_argument('--tmpfs', type=Path, default=Path('/dev/shm'), help='for the place tmpfs (%(default)s)')
    parser.add_argument('--quick', action='store_true', help='one case on the disk, to see that it works')
    options = parser.parse_args()
    rows, walls = list[Row](), list[Wall]()
    for name in ['disk'] if options.quick else options.on:
        with PLACES[name](options.tmpfs) as place:
            for profile, checks in [('smoke', METADATA[:1])] if options.quick else SESSIONS[name]:
                more, wall = _measured(place, profile, checks)
                rows, walls = [*rows, *more], [*walls, wall]
    print(f'{machine(reframe_version())}\n')
    _print_rows(rows)
    _print_walls(walls)
    missed = [row for row in rows if not _met(row)], [wall for wall in walls if abs(_off(*wall[4:])) > TIME]
    return 0 if options.quick or not any(missed) else 1


DATA = ['MultipleFilesTransferSizes', 'SharedFileContiguousTransferSizes']
METADATA = ['SmallFiles', 'EmptyFiles']
MIXED = ['RandomMixed']
SLOW = [('smoke', [DATA[0], METADATA[0]])]
SESSIONS = {
    'disk': [('smoke', [*DATA, *METADATA, *MIXED])],
    'tmpfs': [('smoke', [*DATA, *METADATA]), ('nightly', [DATA[0]])],
    'slurm': [('smoke', [*DATA, *METADATA])],
    'gluster': SLOW,
    'nfs': SLOW,
}


@contextmanager
def _disk(tmpfs: Path) -> 'Iterator[Place]':
    with scratch() as folder:
        yield Place('disk', folder, folder / 'target')


@contextmanager
def _tmpfs(tmpfs: Path) -> 'Iterator[Place]':
    with scratch() as folder, scratch(tmpfs) as target:
        yield Place('tmpfs', folder, target, bytes_per_task='1GiB')


@contextmanager
def _lab(name: str, folder: Path, *options: str) -> 'Iterator[Path]':
    """A lab in a folder of its own, until the block ends."""
    program, directory = REPOSITORY / 'ci' / f'lab-{name}', folder / f'lab-{name}'
    try:
        subprocess.run([program, 'up', '--dir', directory, *options], check=True, stdout=subprocess.DEVNULL)
        yield directory
    finally:
        subprocess.run([program, 'down', '--dir', directory], check=True, stdout=subprocess.DEVNULL)


def _of_slurm(name: str, folder: Path, directory: Path, path: Path, type_: str) -> Place:
    return Place(
        name=name,
        folder=folder,
        path=path,
        type=type_,
        settings='lab',
        partition='lab:compute',
        launcher='{kind: srun, arguments: [--mpi=pmi2]}',
        nodes=2,
        tasks=1,
        slurm_conf=str(directory / 'etc' / 'slurm.conf'),
    )


@contextmanager
def _slurm(tmpfs: Path) -> 'Iterator[Place]':
    with scratch() as folder, _lab('slurm', folder) as directory:
        yield _of_slurm('slurm', folder, directory, folder / 'target', 'posix')


@contextmanager
def _gluster(tmpfs: Path) -> 'Iterator[Place]':
    with ExitStack() as stack:
        folder = stack.enter_context(scratch())
        mount = stack.enter_context(_lab('gluster', folder)) / 'mount'
        directory = stack.enter_context(_lab('slurm', folder))
        yield _of_slurm('gluster', folder, directory, mount / 'target', 'glusterfs')._replace(
            bytes_per_task='64MiB', files_per_task=100
        )


@contextmanager
def _nfs(tmpfs: Path) -> 'Iterator[Place]':
    with scratch() as folder:
        shared = folder / 'shared'
        shared.mkdir()
        with _lab('kernels', folder, f'--share={shared}') as directory:
            on = (str(REPOSITORY / 'ci' / 'lab-kernels'), 'run', f'--dir={directory}')
            place = _of_slurm('nfs', shared, directory, Path('/mnt/nfs'), 'nfs')
            # n1 is the server, which sees the files without NFS; the partition io has its clients.
            served = place._replace(partition='lab:io', seen=Path('/srv/export'), slurm_conf='')
            here = served._replace(prefix=(*on, 'ctl', '--'), watch=(*on, 'n1', '--'))
            yield here._replace(bytes_per_task='16MiB', files_per_task=50)


PLACES = {'disk': _disk, 'tmpfs': _tmpfs, 'slurm': _slurm, 'gluster': _gluster, 'nfs': _nfs}


def _measured(place: Place, profile: str, checks: 'list[str]') -> 'tuple[list[Row], Wall]':
    """Run one session for the history, and a second one, whose figures stand beside the plan for it."""
    _describe(place, checks)
    state = place.folder / 'state'
    place.seatrial('run', f'--profile={profile}')
    earlier = set((state / 'sessions').iterdir())
    plan = json.loads(place.seatrial('plan', f'--profile={profile}', '--json'))
    with _watched(place) as most:
        began = time.monotonic()
        place.seatrial('run', f'--profile={profile}')
        taken_s = time.monotonic() - began
    (second,) = set((state / 'sessions').iterdir()) - earlier
    cases = {case['case'].partition('/')[0]: case for case in plan['cases']}
    rows = [_row(place.name, cases, folder, most) for folder in sorted((second / 'cases').iterdir())]
    wall = plan['total']['wall_s']
    return rows, Wall(place.name, profile, len(cases), wall['least'], wall['expected'] or 0.0, taken_s)


def _describe(place: Place, checks: 'list[str]') -> None:
    """Write the site, with a trial for each family, because the families have different sizes."""
    if place.watch == ():
        place.path.mkdir(mode=0o700, exist_ok=True)
    (place.folder / 'settings.py').write_text((SITES / place.settings / 'settings.py').read_text())
    text = TRIAL.format(state=place.folder / 'state', **place._asdict())
    for family, sizes in (
        (DATA, f'bytes_per_task: {place.bytes_per_task}, transfer_size: 1MiB'),
        (METADATA, f'files_per_task: {place.files_per_task}'),
        (MIXED, 'bytes_per_task: 64MiB'),
    ):
        chosen = ', '.join(check for check in checks if check in family)
        text += ENTRY.format(checks=chosen, sizes=sizes, **place._asdict()) if chosen else ''
    (place.folder / 'trial.yaml').write_text(text)


@contextmanager
def _watched(place: Place) -> 'Iterator[dict[str, list[int]]]':
    """Yields a dict that, after the block, has the most bytes and inodes of each run directory, by its name."""
    stop, most = place.folder / 'stop', dict[str, 'list[int]']()
    stop.unlink(missing_ok=True)
    argv = [*place.watch, sys.executable, __file__, '--watch', str(place.seen or place.path), str(stop)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as watching:
        try:
            yield most
        finally:
            stop.touch()
            most.update(json.loads(watching.communicate()[0] or '{}'))


def _watch(folder: Path, stop: Path) -> int:
    """Measure each run directory every WATCH_S seconds until the file `stop` exists; print the largest sizes."""
    most: dict[str, list[int]] = {}
    while not stop.exists():
        for run_directory in folder.glob('seatrial-*'):
            before = most.get(run_directory.name, [0, 0])
            most[run_directory.name] = [max(pair) for pair in zip(before, _size(run_directory), strict=True)]
        time.sleep(WATCH_S)
    print(json.dumps(most))
    return 0


def _size(folder: Path) -> 'tuple[int, int]':
    """Bytes on the device and inodes of a folder, with all that is below it."""
    size = inodes = 0
    entries = [str(folder)]
    with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
        size, inodes = os.lstat(folder).st_blocks * 512, 1
    for directory in entries:
        with contextlib.suppress(FileNotFoundError), os.scandir(directory) as listing:
            for entry in listing:
                if entry.is_dir(follow_symlinks=False):
                    entries.append(entry.path)
                with contextlib.suppress(FileNotFoundError):
                    size, inodes = size + entry.stat(follow_symlinks=False).st_blocks * 512, inodes + 1
    return size, inodes


def _row(place: str, cases: 'dict[str, Any]', folder: Path, most: 'dict[str, list[int]]') -> Row:
    plan, records = read_plan(str(folder / PLAN)), records_in(str(folder))
    assert records.sized and records.start
    measured = [sample for sample in records.samples if sample.stage != 'proof']
    case, check = cases[plan.case.check], plan.case.check
    repetitions = Counter(
        sample.point.label for sample in measured if sample.stage == 'measured' and sample.phase == plan.phases[0]
    )
    written, read = (sum(way) for way in zip(*map(_moved, measured), strict=True))
    names = ('repetitions', 'bytes_written', 'bytes_read', 'room_bytes', 'room_inodes')
    made = (
        sum(repetitions.values()) / len(repetitions),
        written,
        read,
        *most[Path(records.start.run_directory).name],
    )
    share = records.sized.per_task
    warm = first_share(plan, plan.points[0])
    by_repetition = measured_bytes(plan, share, repetitions)
    before = bytes_before(plan, warm, share)
    fixed = None not in (*by_repetition, *before)
    exact = fixed and [a + b for a, b in zip(by_repetition, before, strict=True)] == [written, read]
    expected = {name: case[name]['expected'] or 0.0 for name in names}
    return Row(place, f'{check} ({plan.profile})', expected, dict(zip(names, made, strict=True)), fixed, exact)


def _moved(sample: Sample) -> 'tuple[float, float]':
    """Bytes that a launch has written and read."""
    point, kind = sample.point, kind_of(sample.point.kind)
    size = sample.measurement.bytes_moved if sample.measurement else 0
    out, into = kind.moved(point, sample.phase)
    if not kind.moves_data:
        return out or 0, into or 0
    if out is None and into is None:
        return size * (1 - point.data.read_share), size * point.data.read_share
    return size * bool(out), size * bool(into)


def _met(row: Row) -> bool:
    pairs = {name: (row.expected[name], row.made[name]) for name in row.made}
    beyond = {name: abs(made - expected) - SPACE * made for name, (expected, made) in pairs.items()}
    fits = beyond['room_bytes'] <= KEPT_BYTES and beyond['room_inodes'] <= 0
    return fits and (row.exact or not row.fixed)


def _off(expected: float, made: float) -> float:
    """The excess of the measured figure over the expected one, as a share of the measured one."""
    return (made - expected) / made if made else float(expected > 0)


def _print_rows(rows: 'list[Row]') -> None:
    print('| place | case | repetitions | bytes written | bytes read | bytes known before | space | inodes |')
    print('|---|---|---|---|---|---|---|---|')
    for row in rows:
        known = ('exactly' if row.exact else 'NOT as planned') if row.fixed else 'no: time ends it'
        cells = (
            *(f'{row.expected["repetitions"]:g}, {row.made["repetitions"]:g}',),
            *(
                f'{_size_in(row.expected[name])}, {_size_in(row.made[name])}'
                for name in ('bytes_written', 'bytes_read')
            ),
            known,
            *(_beside(row, 'room_bytes', _size_in), _beside(row, 'room_inodes', lambda value: f'{value:g}')),
        )
        print(f'| {row.place} | {row.check} | {" | ".join(cells)} |')


def _print_walls(walls: 'list[Wall]') -> None:
    print('\n| place | profile | cases | least | expected | taken | off |\n|---|---|---|---|---|---|---|')
    for wall in walls:
        seconds = ' | '.join(f'{wall_s:.0f} s' for wall_s in (wall.least_s, wall.expected_s, wall.taken_s))
        off = f'{100 * _off(wall.expected_s, wall.taken_s):+.0f} %'
        print(f'| {wall.place} | {wall.profile} | {wall.cases} | {seconds} | {off} |')


def _beside(row: Row, name: str, words: 'Callable[[float], str]') -> str:
    pair = row.expected[name], row.made[name]
    return f'{words(pair[0])}, {words(pair[1])} ({100 * _off(*pair):+.1f} %)'


def _size_in(value: float) -> str:
    return approximate_size(round(value))


if __name__ == '__main__':
    run(main)
