"""CPU time of `seatrial accept` without its sessions, for each of many allocations of a contract and for one.

    python benchmarks/acceptance.py [--allocations 50] [--rounds 3] [--quick]

prints the table of docs/benchmarks.md. Sessions are simulated: each leaves its records and raw output at once,
and the time for that is not counted. All numbers of allocations are tried in turn in one process, and of each number
the fastest round counts. Exit code 1 if the target is missed. --quick shows only that it works.
"""

import argparse
import contextlib
import io
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness import REPOSITORY, SITES, machine, run, scratch

sys.path.append(str(REPOSITORY / 'tests'))

from seatrial.check.session import save
from seatrial.cli import accept
from seatrial.judge.verdict import EXIT_CODES, Verdict
from site_fixtures import SmallSite, leave_all_records

MAX_RATIO = 1.2
"""The most time that an allocation among many may take, as a multiple of the time of a single one."""

CONTRACT = """
version: 1
title: Acceptance of scratch
date: 2026-06-30
parties: {customer: Pelagia, supplier: Tidewater}
criteria:
  - id: '1'
    text: At least 100 MiB/s write.
    metric: write bandwidth
    workload: {access: file per process, transfer_size: 64KiB, bytes_per_task: 1MiB}
    nodes: 1
    at_least: 100 MiB/s
    conditions: {caches: allowed}
    allocations: """


def accept_s(folder: Path, allocations: int, *options: str) -> float:
    """CPU seconds of `seatrial accept` on a new site, without the time in which its sessions leave records."""
    folder.mkdir()
    site, made_s = SmallSite(folder, SITES / 'local' / 'settings.py', '/bin/true'), [0.0]
    (folder / 'contract.yaml').write_text(f'{CONTRACT}{allocations}\n')

    def leave_session(session: Any, cases: Any, *unused: object) -> tuple[SimpleNamespace, bool]:
        began = time.process_time()
        ((declared, _),) = cases
        session.folder.mkdir(parents=True)
        save(session)
        leave_all_records(session, declared, 200.0)
        made_s[0] += time.process_time() - began
        return SimpleNamespace(verdict=Verdict.PASS), False

    accept.carried_out = leave_session
    argv = [f'--site={folder}', f'--checks={site.checks}', *options]
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = accept.accept.main(argv, standalone_mode=False)
    seconds = time.process_time() - began - made_s[0]
    expected = Verdict.INCONCLUSIVE if options else Verdict.PASS
    assert status == EXIT_CODES[expected], printed.getvalue()
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--allocations', type=int, default=50)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--quick', action='store_true', help='three allocations in one round')
    options = parser.parse_args()
    most, rounds = (3, 1) if options.quick else (options.allocations, options.rounds)
    numbers = sorted({1, max(1, most // 5), most})
    judged_s: dict[int, float] = {}
    with scratch() as folder:
        accept_s(folder / 'first', 1)  # imports
        for place in range(rounds):
            # The time without any session, in which the site, the checks and the contract are read.
            start_s = accept_s(folder / f'{place}-none', 1, '--judge')
            for number in numbers:
                own_s = accept_s(folder / f'{place}-{number}', number) - start_s
                judged_s[number] = min(own_s, judged_s.get(number, own_s))
    print(f'{machine()}, fastest of {rounds} rounds\n')
    print('| allocations | CPU | an allocation | times one |\n|---|---|---|---|')
    for number, seconds in judged_s.items():
        print(f'| {number} | {seconds:.2f} s | {1000 * seconds / number:.0f} ms | {seconds / judged_s[1]:.1f} |')
    ratio = judged_s[most] / most / judged_s[1]
    print(f'\nAn allocation among {most} takes {ratio:.2f} times as long as one alone; at most {MAX_RATIO}.')
    return 0 if options.quick or ratio <= MAX_RATIO else 1


if __name__ == '__main__':
    run(main)
