"""Passes for scrontab, sbatch, squeue, scancel and scontrol, by the name that it is called by.

Its cluster is cluster.json beside it: whether scrontab is on, the jobs, what the user's scrontab holds, a fault that
every program has, and all calls. What scrontab refuses is what that of Slurm 22.05.8 refuses.
"""

import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
CLUSTER = HERE / 'cluster.json'
REFUSED = re.compile(r'#SCRON (--(no-requeue|begin|requeue|parsable|kill-on-invalid-dep)\b|--signal=B)')


def scrontab(cluster, arguments):
    if not cluster['scrontab']:
        sys.exit('scrontab: fatal: scrontab is disabled on this cluster')
    if arguments == ['-l']:
        if cluster['crontab'] is None:
            print('no crontab for somebody')
            sys.exit(1)
        sys.stdout.write(cluster['crontab'])
        return
    assert arguments == ['-']
    text = sys.stdin.read()
    for line in text.splitlines():
        if REFUSED.match(line):
            print('There are errors in your crontab.')
            sys.exit(f'scrontab: error: Invalid option found in #SCRON line: {line[6:]}')
    cluster['crontab'] = text


def sbatch(cluster, arguments):
    parsable, begin, script, argument = arguments
    assert parsable == '--parsable' and begin.startswith('--begin=') and pathlib.Path(script).is_file()
    name = re.search(r'^#SBATCH --job-name=(.*)$', pathlib.Path(script).read_text(), re.MULTILINE).group(1)
    number = str(cluster['next'])
    cluster['next'] += 1
    cluster['jobs'].append(
        {'id': number, 'name': name, 'state': 'PENDING', 'reason': 'BeginTime', 'command': f'{script} {argument}'}
    )
    print(number)


def squeue(cluster, arguments):
    header, *user, name, form = arguments
    assert header == '--noheader' and user in ([], [f'--user={os.geteuid()}'])
    assert form == '--format=%i|%T|%r' + ('|%o' if user else '')
    shown = ('id', 'state', 'reason', 'command')[: 4 if user else 3]
    states = os.environ.get('SQUEUE_STATES')
    for job in cluster['jobs']:
        if f'--name={job["name"]}' == name and states in (None, job['state']):
            print('|'.join(str(job[key]) for key in shown))


def scancel(cluster, arguments):
    assert arguments[:2] == [f'--user={os.geteuid()}', '--state=PENDING']
    cluster['jobs'] = [job for job in cluster['jobs'] if job['id'] not in arguments[2:] or job['state'] != 'PENDING']


def scontrol(cluster, arguments):
    assert arguments == ['show', 'config']
    print(f'ScronParameters         = {"enable" if cluster["scrontab"] else "(null)"}')


def main():
    program = pathlib.Path(sys.argv[0]).name
    cluster = json.loads(CLUSTER.read_text())
    cluster['calls'].append([program, *sys.argv[1:]])
    CLUSTER.write_text(json.dumps(cluster))
    if cluster['fault']:
        sys.exit(f'{program}: error: {cluster["fault"]}')
    globals()[program](cluster, sys.argv[1:])
    CLUSTER.write_text(json.dumps(cluster))


main()
