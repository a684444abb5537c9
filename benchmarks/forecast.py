"""What `seatrial plan` expects after one session of history, beside what the next session then takes.

    python benchmarks/forecast.py [--quick]

runs two smoke sessions of the same checks in the temporary directory, asks for the plan between them, and prints the
table of docs/benchmarks.md. Exit code 1 if the wall time is not within a fifth. --quick shows only that it works.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from harness import REPOSITORY, machine, real_session, reframe_version, run, scratch, timed

from seatrial.job.sequence.recorder import records_in
from seatrial.model.units import approximate_size
from seatrial.workload.registry import kind_of

TARGET = 0.2
CHECKS = [
    'MultipleFilesTransferSizes',
    'SharedFileContiguousTransferSizes',
    'RandomMixed',
    'SmallFiles',
    'EmptyFiles',
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='one check of metadata, to see that it works')
    options = parser.parse_args()
    with scratch() as folder:
        real_session(
            folder, CHECKS[-1:] if options.quick else CHECKS, ['fio', 'posixops'], 'smoke', 'layouts: [default]'
        )
        first = set((folder / 'state' / 'sessions').iterdir())
        command = [str(Path(sys.executable).with_name('seatrial')), 'plan', f'--site={folder}']
        own = [f'--checks={REPOSITORY / "checks"}', '--profile=smoke']
        said = subprocess.run([*command, *own, '--json'], stdout=subprocess.PIPE, check=True).stdout
        plan = json.loads(said)
        took_s = timed([command[0], 'run', command[2], *own], folder)
        (second,) = set((folder / 'state' / 'sessions').iterdir()) - first
        moved = {folder.name.partition('+')[0]: _moved(folder) for folder in (second / 'cases').iterdir()}
    print(f'{machine(reframe_version())}\n')
    print('| case | writes: expected, made | reads: expected, made |\n|---|---|---|')
    for case in plan['cases']:
        check = case['case'].partition('/')[0]
        ways = (
            f'{approximate_size(case[key]["expected"] or 0)}, {approximate_size(size)}'
            for key, size in zip(('bytes_written', 'bytes_read'), moved[check], strict=True)
        )
        print(f'| {check} | {" | ".join(ways)} |')
    expected_s = plan['total']['wall_s']['expected']
    ratio = took_s / expected_s
    print(f'\nwall time: {expected_s:.0f} s expected, {took_s:.0f} s taken: {ratio:.2f}')
    return 0 if options.quick or abs(ratio - 1) <= TARGET else 1


def _moved(folder: Path) -> 'tuple[float, float]':
    """Bytes that the launches of a case have written and read, but those of the proof."""
    written = read = 0.0
    for sample in records_in(str(folder)).samples:
        point, kind = sample.point, kind_of(sample.point.kind)
        out, into = kind.moved(point, sample.phase)
        size = sample.measurement.bytes_moved if sample.measurement else 0
        if sample.stage == 'proof':
            continue
        if out is None and into is None:
            written, read = written + size * (1 - point.read_share), read + size * point.read_share
        else:
            written += size if out is None else out
            read += size if into is None else into
    return written, read


if __name__ == '__main__':
    run(main)
