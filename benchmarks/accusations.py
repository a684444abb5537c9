"""Cases of honest sessions on a busy machine that get neither PASS nor MEASURED, and the rules that decide so.

    python benchmarks/accusations.py [--sessions 100] [--quick]

measures smoke sessions of data, metadata and integrity, with each installed set of engines in turn, while other
processes compute on every core and one writes and syncs on the same disk. It prints the figures of benchmarks.md.
Exit code 1 if there is such a case. --quick shows only that it works.
"""

import argparse
import collections
import hashlib
import multiprocessing
import os
import re
import shutil
import sys
from pathlib import Path

from harness import machine, real_session, reframe_version, run, scratch

from seatrial.model.units import MIB

CHECKS = ['MultipleFilesTransferSizes', 'SharedFileStridedTransferSizes', 'EmptyFiles', 'Integrity']
ENGINES = [['fio', 'posixops'], ['ior', 'mdtest', 'posixops']]
SIZES = 'budget: 1s, bytes_per_task: 32MiB, files_per_task: 500'
HONEST = ('PASS', 'MEASURED')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--sessions', type=int, default=100)
    parser.add_argument('--quick', action='store_true', help='one session, to see that it works')
    options = parser.parse_args()
    installed = [engines for engines in ENGINES if all(shutil.which(name) for name in engines if name != 'posixops')]
    verdicts: collections.Counter[str] = collections.Counter()
    rules: collections.Counter[str] = collections.Counter()
    with scratch() as folder:
        start = multiprocessing.get_context('fork').Process
        others = [start(target=compute, daemon=True) for _ in range(os.cpu_count() or 1)]
        others.append(start(target=write_and_sync, args=(folder / 'other',), daemon=True))
        for other_machine in others:
            other_machine.start()
        sessions = 1 if options.quick else options.sessions
        for number in range(sessions):
            place = folder / str(number)
            session = real_session(place, CHECKS, installed[number % len(installed)], 'smoke', SIZES)
            shutil.rmtree(place / 'target')
            print(f'\r{number + 1} of {sessions} sessions', end='', file=sys.stderr, flush=True)
            verdicts.update(case['verdict'] for case in session['cases'])
            for case in session['cases']:
                if case['verdict'] not in HONEST:
                    print(f'{number}: {case["check"]}: {case["verdict"]}: {"; ".join(case["reasons"])}', flush=True)
                    rules.update(re.findall(r'\b([A-Z]\d+[a-z]?): ', ' '.join(case['reasons'])) or ['no rule'])
    print(f'{machine(reframe_version())}\n')
    print('| sessions | engines | cases | accused | by |\n|---|---|---|---|---|')
    accused = sum(count for verdict, count in verdicts.items() if verdict not in HONEST)
    by = ', '.join(f'{rule} {count} times' for rule, count in sorted(rules.items())) or 'none'
    used = ', '.join(dict.fromkeys(name for engines in installed for name in engines))
    print(f'| {sessions} | {used} | {sum(verdicts.values())} | {accused} | {by} |')
    return 1 if accused else 0


def compute() -> None:
    while True:
        hashlib.sha256(bytes(MIB)).hexdigest()


def write_and_sync(file: Path) -> None:
    data = os.urandom(64 * MIB)
    while True:
        with file.open('wb') as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())


if __name__ == '__main__':
    run(main)
