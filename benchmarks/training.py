"""Agreement of DLIO and posixops in samples per second where they read the same data set in turn.

    python benchmarks/training.py --on /dev/shm --on /mnt/slow [--dlio PROGRAM] [--rounds 4] [--quick]

writes a data set with posixops in each of the directories, and lets both engines read it in turn, after its pages are
dropped from the cache. It prints the table of benchmarks.md, without DLIO where that is not installed. Exit code 1
if the two are further apart than 10 %. --quick reads a few kilobytes, to see that it works.
"""

import argparse
import os
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from harness import machine, scratch

from seatrial.engine.base import Engine, measured
from seatrial.engine.dlio import Dlio
from seatrial.engine.posixops.engine import PosixOps
from seatrial.filesystem.caches import forget
from seatrial.job.launch.processes import carry_out, processes_of
from seatrial.model.metric import Measurement
from seatrial.model.plan import Launcher
from seatrial.model.point import Point
from seatrial.workload.training import FIRST, SAMPLES, UTILISATION, training

AGREE = 0.1
LIMIT_S = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--on', action='append', type=Path, help='a directory; several can be given')
    parser.add_argument('--dlio', default='dlio_benchmark', help='the program of DLIO')
    parser.add_argument('--rounds', type=int, default=4)
    parser.add_argument('--quick', action='store_true', help='a few kilobytes, to see that it works')
    options = parser.parse_args()
    # unet3d of checks/ai/training.py, with smaller samples.
    size, batch_s, batches = (1000, 0.01, 3) if options.quick else (8 * 2**20, 0.323, 28)
    point = training(size, 7, batch_s, 4, bytes_per_task=batches * 7 * size)
    point = point._replace(label='1task', tasks=1, tasks_per_node=1)
    engines: list[tuple[Engine, str]] = [(PosixOps(), sys.executable)]
    dlio = shutil.which(options.dlio)
    engines += [(Dlio(), dlio)] if dlio else []
    print(machine())
    print('| on | engine | samples/s | over posixops | utilisation |')
    print('|---|---|---|---|---|')
    apart = [rows(target, point, engines, options.rounds) for target in options.on or [None]]
    return int(max(apart) > AGREE)


def rows(target: Path | None, point: Point, engines: list[tuple[Engine, str]], rounds: int) -> float:
    """Measure engines in a directory and print their rows; returns the largest relative distance from posixops."""
    by_engine: dict[str, list[Measurement]] = {engine.name: [] for engine, _ in engines}
    with scratch(target) as folder, scratch() as raw:
        launch(*engines[0], 'write', point, folder, raw)
        for number in range(rounds):
            for engine, program in engines:
                for file in folder.iterdir():
                    forget(str(file))
                raw_folder = raw / f'{number}-{engine.name}'
                raw_folder.mkdir()
                by_engine[engine.name].append(launch(engine, program, FIRST, point, folder, raw_folder))
    samples, shares = (mean_of(by_engine, FIRST + name) for name in (SAMPLES, UTILISATION))
    ratios = {name: samples(name) / samples('posixops') for name in by_engine}
    for name, ratio in ratios.items():
        print(
            f'| {target or "scratch"} | {name} | {samples(name):.1f} | {ratio:.3f} | {shares(name):.3f} |', flush=True
        )
    return max(abs(ratio - 1) for ratio in ratios.values())


def mean_of(by_engine: dict[str, list[Measurement]], metric: str) -> Callable[[str], float]:
    """A function that returns the mean of a metric for an engine's name."""
    return lambda engine: statistics.mean(measurement.figures[metric] for measurement in by_engine[engine])


def launch(engine: Engine, program: str, phase: str, point: Point, data: Path, raw: Path) -> Measurement:
    """One launch, in the directory of the data."""
    prefix = str(raw / phase)
    command = engine.command(program, phase, point, prefix, 1)
    where = os.open(data, os.O_RDONLY)
    try:
        processes = processes_of(command, Launcher(), point, prefix)
        done = carry_out(command, processes, prefix, where, LIMIT_S, lambda: False)
    finally:
        os.close(where)
    return measured(engine, phase, point, command, done.outcome)


if __name__ == '__main__':
    sys.exit(main())
