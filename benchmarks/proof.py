"""What the proof of contents costs: its share of the time of a nightly case, and what it verifies in that time.

    python benchmarks/proof.py [--budget 600] [--quick]

measures one nightly case of writes and reads with fio, on the disk of this directory, and prints the table of
docs/benchmarks.md. Exit code 1 if the proof takes more than a twentieth. --quick shows only that it works.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness import SITES, cases_in, machine, reframe_version, run, scratch

from seatrial.job.sequence.recorder import records_in
from seatrial.model.units import MIB
from seatrial.rules.contents import PROOF, verified

TARGET = 0.05
CHECK = 'MultipleFilesTransferSizes'
TRIAL = """
version: 1
state: {folder}/state
engines: [{{name: fio, program: {fio}}}]
file_systems:
  target: {{type: posix, path: {folder}/target, records_on_target: true, limits: {{bytes: 8GiB, inodes: 10000}}}}
partitions:
  local:default: {{launcher: local, tasks_per_node: 2}}
trials:
  - {{checks: [{check}], partitions: ['local:default'], file_systems: [target], nodes: [1], budget: {budget}s}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--budget', type=int, default=600, help='seconds of the case; those of the profile nightly')
    parser.add_argument('--quick', action='store_true', help='a smoke test, to see that it works')
    options = parser.parse_args()
    fio = shutil.which('fio')
    if fio is None:
        sys.exit('proof.py: fio is not installed')
    with scratch() as folder:
        (folder / 'target').mkdir()
        shutil.copy(SITES / 'local' / 'settings.py', folder)
        budget = 1 if options.quick else options.budget
        (folder / 'trial.yaml').write_text(TRIAL.format(folder=folder, fio=fio, check=CHECK, budget=budget))
        profile = 'smoke' if options.quick else 'nightly'
        checks = Path(__file__).resolve().parent.parent / 'checks'
        program = Path(sys.executable).with_name('seatrial')
        argv = [program, 'run', f'--site={folder}', f'--checks={checks}', '--engine=fio', f'--profile={profile}']
        environment = {**os.environ, 'TMPDIR': str(folder)}  # where ReFrame leaves a log
        subprocess.run(argv, env=environment, stdout=subprocess.DEVNULL, check=False)
        (case,) = cases_in(folder)
        records = records_in(str(case))
    assert records.start is not None and records.end is not None
    launches = [sample for sample in records.samples if sample.stage == PROOF]
    took_s, whole_s = sum(each.elapsed_s for each in launches), records.end.ended - records.start.started
    rates = [each.measurement.bytes_moved / each.elapsed_s / MIB for each in launches if each.measurement]
    print(f'{machine(reframe_version())}\n')
    print('| budget | case | proof | share | contents | written, compared |\n|---|---|---|---|---|---|')
    print(
        f'| {budget} s | {whole_s:.0f} s | {took_s:.1f} s | {100 * took_s / whole_s:.1f} % | {verified(records)} | '
        f'{", ".join(f"{rate:.0f} MiB/s" for rate in rates)} |'
    )
    return 0 if options.quick or took_s <= TARGET * whole_s else 1


if __name__ == '__main__':
    run(main)
