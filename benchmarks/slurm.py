"""The overhead of Seatrial through Slurm: a sweep as one case, beside a ReFrame case for each of its points.

    python benchmarks/slurm.py [--cases 20] [--sample 20] [--quick]

prints the table of docs/benchmarks.md. It brings up a lab of its own (ci/lab-slurm). There `seatrial run` with cases
of 10 points x 4 repetitions and plain ReFrame with a case for each point run the same command lines in turn.
A stand-in for fio sleeps for 100 ms, makes its file and prints a report, so that all other time is the harness's. The
time of the commands alone is measured after each side, by a shell that runs those of one case. With --sample plain
ReFrame has the points of so many sweeps only, and its figures are scaled up to all of them.
Exit code 1 if the target is missed. --quick shows only that it works.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from harness import (
    QUICK,
    REPOSITORY,
    SITES,
    Scale,
    System,
    a_case_a_point,
    by_point,
    cases_in,
    commands_of,
    machine,
    make_site,
    reframe_version,
    run,
    scratch,
    shell_loop,
    timed,
)

LAB = REPOSITORY / 'ci' / 'lab-slurm'
HERE = System(SITES / 'lab' / 'settings.py', 'lab:compute', 'srun')
FULL = Scale(points=10, repetitions=4, command_s=0.1)
MAX_SHARE = 0.20


class Side(NamedTuple):
    """One of the two ways to measure: cases, launches, wall seconds, and the part of these that the commands take."""

    cases: int
    launches: int
    wall_s: float
    command_s: float

    @property
    def harness_s(self) -> float:
        return self.wall_s - self.command_s

    def scaled(self, factor: float) -> 'Side':
        """The same for `factor` times as many cases that take as long each."""
        return Side(
            round(self.cases * factor), round(self.launches * factor), self.wall_s * factor, self.command_s * factor
        )


@contextmanager
def lab(directory: Path) -> Iterator['dict[str, str]']:
    """A Slurm lab until the block ends; yields the environment in which Slurm's programs reach it."""
    try:
        subprocess.run([LAB, 'up', '--dir', directory], check=True)
        yield {**os.environ, 'SLURM_CONF': str(directory / 'etc' / 'slurm.conf')}
    finally:
        subprocess.run([LAB, 'down', '--dir', directory], check=True)


def bare_launch_s(folder: Path, commands: 'list[tuple[str, list[str]]]') -> float:
    """Mean wall seconds of these commands in a shell that does nothing else."""
    return shell_loop(folder, commands) / len(commands)


def measure(scale: Scale, checks: int, sample: int) -> 'tuple[Side, Side]':
    """Measure both sides in one lab, Seatrial first, because its records have the commands.

    ReFrame has only `sample` of the checks.
    """
    with scratch() as folder, lab(folder / 'lab') as environment:
        site, files = make_site(folder, HERE, scale, checks)
        program = str(Path(sys.executable).with_name('seatrial'))
        wall_s = timed([program, 'run', f'--site={site}', f'--checks={files}'], folder, environment)
        recorded = [commands_of(case) for case in cases_in(folder)]
        near_ours = bare_launch_s(folder / 'near-seatrial', recorded[0])
        # Without the warm-up, which only Seatrial makes.
        lines = by_point(recorded[0], last=scale.repetitions)
        plain_s = a_case_a_point(folder / 'plain', HERE.settings, lines, checks=sample, environment=environment)
        near_plain = bare_launch_s(folder / 'near-reframe', recorded[0])
    ran, plain = sum(len(lines_of) for lines_of in recorded), sample * len(lines) * scale.repetitions
    return (
        Side(len(recorded), ran, wall_s, ran * near_ours),
        Side(sample * len(lines), plain, plain_s, plain * near_plain),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--cases', type=int, default=20, help='of Seatrial; plain ReFrame has 10 for each (%(default)s)'
    )
    parser.add_argument('--sample', type=int, help='sweeps whose points plain ReFrame really has (all)')
    parser.add_argument('--quick', action='store_true', help='one small case, to see that it works')
    options = parser.parse_args()
    scale, cases = (QUICK, 1) if options.quick else (FULL, options.cases)
    sample = min(options.sample or cases, cases)
    ours, measured = measure(scale, cases, sample)
    plain = measured.scaled(cases / sample)
    slurm = subprocess.run(['slurmctld', '-V'], capture_output=True, text=True).stdout.split()[-1]
    print(f'{machine(reframe_version(), f"Slurm {slurm}")}\n')
    sweeps = f'{cases} sweeps of {scale.points} points x {scale.repetitions} repetitions of {scale.command_s:g} s'
    print(
        f'| {sweeps} | cases | launches | wall | commands | harness | harness a case |\n|---|---|---|---|---|---|---|'
    )
    for name, side in (('Seatrial: one case a sweep', ours), ('ReFrame: one case a point', plain)):
        print(f'| {name} | {side.cases} | {side.launches} | {side.wall_s:.1f} s | {side.command_s:.1f} s ', end='')
        print(f'| {side.harness_s:.1f} s | {side.harness_s / side.cases:.2f} s |')
    if sample < cases:
        print(f'\nReFrame: scaled from {measured.cases} cases, which took {measured.wall_s:.1f} s')
    share = ours.harness_s / plain.harness_s
    print(f'\nharness time: {100 * share:.1f} %; the target is at most {100 * MAX_SHARE:.0f} %')
    return 0 if options.quick or share <= MAX_SHARE else 1


if __name__ == '__main__':
    run(main)
