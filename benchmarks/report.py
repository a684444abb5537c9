"""The cost of `seatrial report` for a large session: many launches, and a sweep over many nodes.

    python benchmarks/report.py [--launches 100000] [--nodes 2000] [--quick]

writes the records of such a session as its jobs would have, without raw output, and prints wall time, CPU time and
memory of the command as a process of its own. --quick shows only that it works.
"""

import argparse
import math
import random
import sys
from pathlib import Path

from harness import REPOSITORY, SITES, costs, machine, run, scratch

sys.path.append(str(REPOSITORY / 'tests'))

from builders import night, node_plan, plan_of, records_of
from seatrial.check.staging import write_plan
from seatrial.job.sequence.recorder import Recorder
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records
from seatrial.model.units import MIB
from seatrial.workload.sweep import Sweep, powers_of_two
from site_fixtures import SmallSite

SESSION = '20261121T020638-9f3a1c'
SIZES = Sweep('transfer_size', powers_of_two('4KiB', '8MiB'))
REPETITIONS = 20


def leave(folder: Path, plan: TrialPlan, records: Records) -> None:
    """Write plan and records of a case in the folder of its session."""
    plan = plan._replace(records=str(folder / 'cases' / plan.case.check), state=str(folder.parents[1]))
    write_plan(plan)
    recorder = Recorder(plan.records)
    # A launch has the size of the last sizing before it, so the sizing stands behind the warm-up.
    warm = sum(sample.stage == 'warmup' for sample in records.samples)
    samples = [*records.samples[:warm], records.sized, *records.samples[warm:]]
    for line in (records.start, *samples, records.end):
        recorder.write(line)
    recorder.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--launches', type=int, default=100_000)
    parser.add_argument('--nodes', type=int, default=2000)
    parser.add_argument('--quick', action='store_true', help='500 launches and 10 nodes')
    options = parser.parse_args()
    launches, nodes = (500, 10) if options.quick else (options.launches, options.nodes)
    rng, cases = random.Random(2009), math.ceil(launches / (12 * REPETITIONS * 2))
    with scratch() as folder:
        site = SmallSite(folder, SITES / 'local' / 'settings.py', '/bin/true')
        session = folder / 'state' / 'sessions' / SESSION
        for number in range(cases):
            plan = plan_of(sweep=SIZES, case={'check': f'Check{number:03}'}, session=SESSION)
            figures = [rng.gauss(400, 12) * MIB for _ in range(REPETITIONS)]
            leave(session, plan, records_of(plan, figures))
        plan = node_plan(nodes, session=SESSION)
        leave(session, plan, night(plan, lambda host, phase: rng.gauss(400, 12) * MIB))
        print(f'{machine()}: {cases + 1} cases, {launches:,} launches, {nodes:,} nodes\n')
        print('| command | wall | CPU | memory |\n|---|---|---|---|')
        measured = costs('report', f'--site={folder}', f'--checks={site.checks}')
        print(f'| `seatrial report` | {measured.cells} |')
    return 0


if __name__ == '__main__':
    run(main)
