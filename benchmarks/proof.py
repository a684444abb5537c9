"""The cost of the proof of contents: its share of the time of a nightly case, and the contents that it verifies.

    python benchmarks/proof.py [--budget 600] [--quick]

measures one nightly case of writes and reads with fio, on the disk of this directory, and prints the table of
docs/benchmarks.md. Exit code 1 if the proof takes more than 5 % of the case's time. --quick shows only that it works.
"""

import argparse

from harness import cases_in, machine, real_session, reframe_version, run, scratch

from seatrial.job.sequence.recorder import records_in
from seatrial.model.units import MIB
from seatrial.rules.contents import PROOF, verified

TARGET = 0.05
CHECK = 'MultipleFilesTransferSizes'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--budget', type=int, default=600, help='seconds of the case; those of the profile nightly')
    parser.add_argument('--quick', action='store_true', help='a smoke test, to see that it works')
    options = parser.parse_args()
    with scratch() as folder:
        budget = 1 if options.quick else options.budget
        real_session(folder, [CHECK], ['fio'], 'smoke' if options.quick else 'nightly', f'budget: {budget}s')
        (case,) = cases_in(folder)
        records = records_in(str(case))
    assert records.start is not None and records.end is not None
    launches = [sample for sample in records.samples if sample.stage == PROOF]
    took_s, whole_s = sum(launch.elapsed_s for launch in launches), records.end.ended - records.start.started
    rates = [launch.measurement.bytes_moved / launch.elapsed_s / MIB for launch in launches if launch.measurement]
    print(f'{machine(reframe_version())}\n')
    print('| budget | case | proof | share | contents | written, compared |\n|---|---|---|---|---|---|')
    print(
        f'| {budget} s | {whole_s:.0f} s | {took_s:.1f} s | {100 * took_s / whole_s:.1f} % | {verified(records)} | '
        f'{", ".join(f"{rate:.0f} MiB/s" for rate in rates)} |'
    )
    return 0 if options.quick or took_s <= TARGET * whole_s else 1


if __name__ == '__main__':
    run(main)
