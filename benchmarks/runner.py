"""The overhead of Seatrial over the commands that it runs, beside a bare shell loop and a ReFrame case per point.

    python benchmarks/runner.py [--rounds 3] [--quick]

prints the table of docs/benchmarks.md. A stand-in for fio sleeps for 100 ms, makes its file and prints a report, so
that all other time is the harness's. Each round measures all sides in turn; the fastest round of each counts, because
other work on the machine only adds time. Exit code 1 if a target is missed. --quick shows only that it works.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from harness import (
    QUICK,
    SITES,
    Reading,
    Scale,
    System,
    a_case_a_point,
    by_point,
    cases_in,
    commands_of,
    machine,
    make_site,
    python,
    reading,
    reframe,
    reframe_version,
    run,
    scratch,
    shell_loop,
    timed,
)

from seatrial.check.staging import RUNNER
from seatrial.model.units import KIB

FULL = Scale(points=12, repetitions=4, command_s=0.1)
HERE = System(SITES / 'local' / 'settings.py', 'local:default', 'local')
SAMPLES = 10_000
MAX_WALL_RATIO, MAX_MEMORY_KIB, MIN_HARNESS_RATIO, MAX_READING_RATIO = 1.05, 30 * KIB, 5.0, 4.0


class Round(NamedTuple):
    """Wall seconds of the same launches: by the runner alone, by a shell, and as ReFrame sessions of three kinds.

    empty: a session with one case that does nothing, which is the least time of ReFrame
    memory_kib: the peak of the runner; read: cost of reading SAMPLES launches, by repeating those of the sweep
    """

    runner: float
    bare: float
    sweep: float
    point: float
    repetition: float
    empty: float
    memory_kib: int
    launches: int
    read: Reading


def one_round(scale: Scale) -> Round:
    """Run the sweep as one case of Seatrial, whose record has the commands, and then these in all other ways."""
    with scratch() as folder:
        site, checks = make_site(folder, HERE, scale)
        settings = site / HERE.settings.name
        sweep = reframe(folder / 'sweep', settings, checks)
        (records,) = cases_in(folder)
        commands = commands_of(records)
        runner, memory_kib = runner_alone(folder, records)
        bare = shell_loop(folder / 'shell', commands)
        lines = by_point(commands)
        point = a_case_a_point(folder / 'point', settings, lines)
        repeat = len(commands) // len(lines)
        once = by_point(commands, last=1)
        repetition = a_case_a_point(folder / 'repetition', settings, once, f'--repeat={repeat}')
        # ReFrame does not run the warm-up, so the time of its commands is added.
        repetition += bare * (len(commands) - repeat * len(lines)) / len(commands)
        empty = a_case_a_point(folder / 'empty', settings, {'none': ['true']}, '--skip-performance-check')
        read = reading(records, SAMPLES)
        return Round(runner, bare, sweep, point, repetition, empty, memory_kib, len(commands), read)


def runner_alone(folder: Path, records: Path) -> 'tuple[float, int]':
    """Wall seconds of the job of a case without ReFrame, and its peak memory in KiB. It writes its own records."""
    again = folder / 'again'
    again.mkdir()
    plan = json.loads((records / 'plan.json').read_text())
    (again / 'plan.json').write_text(json.dumps({**plan, 'records': str(again)}))
    zipapp = records.parents[1] / RUNNER
    seconds = timed([python(folder), str(zipapp), 'run', str(again / 'plan.json')], again)
    return seconds, int((again / 'plan.json.memory').read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--quick', action='store_true', help='one small round, to see that it works')
    options = parser.parse_args()
    scale, number = (QUICK, 1) if options.quick else (FULL, options.rounds)
    rounds = [one_round(scale) for _ in range(number)]
    best = Round(*map(min, zip(*rounds, strict=True)))
    memory_kib, launches, read = max(round.memory_kib for round in rounds), best.launches, best.read
    sweep, point, repetition = (wall - best.bare for wall in (best.sweep, best.point, best.repetition))
    rows = [
        (
            f'runner / bare shell loop: wall time of {launches} launches of {scale.command_s:g} s',
            f'{best.runner:.2f} s / {best.bare:.2f} s = {best.runner / best.bare:.3f}',
            f'at most {MAX_WALL_RATIO}',
            best.runner / best.bare <= MAX_WALL_RATIO,
        ),
        (
            'resident memory of the runner, peak',
            f'{memory_kib / KIB:.1f} MiB',
            f'at most {MAX_MEMORY_KIB // KIB} MiB',
            memory_kib <= MAX_MEMORY_KIB,
        ),
        (
            f'a ReFrame case a point / one case for the sweep: harness time of {launches} launches',
            f'{point:.2f} s / {sweep:.2f} s = {point / sweep:.1f}',
            f'at least {MIN_HARNESS_RATIO:g}',
            point / sweep >= MIN_HARNESS_RATIO,
        ),
        (
            'a ReFrame case a repetition (`--repeat`) / one case for the sweep: the same',
            f'{repetition:.2f} s / {sweep:.2f} s = {repetition / sweep:.1f}',
            f'at least {MIN_HARNESS_RATIO:g}',
            repetition / sweep >= MIN_HARNESS_RATIO,
        ),
        (
            f"reading {read.samples:,} samples / Python's json alone; {read.launch_bytes:,.0f} bytes a launch",
            f'{read.seconds:.2f} s / {read.json_s:.2f} s = {read.seconds / read.json_s:.1f}',
            f'at most {MAX_READING_RATIO:g}',
            read.seconds / read.json_s <= MAX_READING_RATIO,
        ),
    ]
    print(f'{machine(reframe_version())}, fastest of {number} rounds\n')
    print('| what | measured | target | met |\n|---|---|---|---|')
    for what, measured, target, met in rows:
        print(f'| {what} | {measured} | {target} | {"yes" if met else "no"} |')
    print(
        f'\nA ReFrame session of one empty case takes {best.empty:.2f} s; so much is on both sides of both rows '
        'with ReFrame.'
    )
    return 0 if options.quick or all(met for *_, met in rows) else 1


if __name__ == '__main__':
    run(main)
