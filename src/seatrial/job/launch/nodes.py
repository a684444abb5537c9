"""The nodes of the allocation by their names, whether it shares them, those that it was not given; and this one's."""

import glob
import os
import re
from typing import Mapping, Sequence, Tuple

from seatrial.model.ask import ask
from seatrial.model.hostlist import expanded
from seatrial.model.record import NotTested
from seatrial.rules.places import short

ANSWER_S = 20.0  # slurmctld may be busy or away, and a list of what was not tested is worth no hang
UNKNOWN = 'unknown'


def allocated(environment: Mapping[str, str] = os.environ) -> Tuple[str, ...]:
    """The nodes of this job in Slurm's order; none where Slurm runs no job here. Raises ValueError."""
    return expanded(environment.get('SLURM_JOB_NODELIST', ''))


def not_tested(allocation: Sequence[str], environment: Mapping[str, str] = os.environ) -> Tuple[NotTested, ...]:
    """The partition's other nodes, with state and reason; one row that says so where Slurm is silent for ANSWER_S."""
    partition = environment.get('SLURM_JOB_PARTITION', '')
    if not partition:
        return ()
    argv = ['sinfo', '--Node', '--noheader', f'--partition={partition}', '--format=%N|%T|%E']
    answer = ask(argv, ANSWER_S)
    if answer is None or answer.exit_status != 0:
        said = answer.stderr.strip().splitlines()[:1] if answer else ['sinfo is not installed']
        why = said[0] if said else f'sinfo does not answer within {ANSWER_S:.0f} s'
        return (NotTested(f'others of {partition}', UNKNOWN, why),)
    own = {short(name) for name in allocation}
    return tuple(each for each in of_sinfo(answer.stdout) if short(each.node) not in own)


def oversubscribe(environment: Mapping[str, str] = os.environ) -> str:
    """Slurm's word of this job (scontrol show job): NO, OK, YES or USER; empty without Slurm or an answer."""
    job = environment.get('SLURM_JOB_ID', '')
    answer = ask(['scontrol', 'show', 'job', job], ANSWER_S) if job else None
    said = re.search(r'(?<!\S)OverSubscribe=(\S+)', answer.stdout) if answer and answer.exit_status == 0 else None
    return said.group(1) if said else ''


def numa(devices: str = '/sys/devices/system/node') -> Tuple[str, ...]:
    """The cores of each NUMA node of this host, as the kernel lists them; nothing where it has none to tell."""
    found = {}
    for path in glob.glob(f'{devices}/node[0-9]*/cpulist'):
        with open(path) as stream:
            found[int(path.split('/node')[-1].partition('/')[0])] = stream.read().strip()
    return tuple(found[number] for number in sorted(found))


def of_sinfo(text: str) -> Tuple[NotTested, ...]:
    """The rows of sinfo -N -o '%N|%T|%E' (sinfo(1)); '*': the node does not answer. Other lines are skipped."""
    rows = (line.split('|', 2) for line in text.splitlines())
    return tuple(
        NotTested(row[0].strip(), row[1].strip(), '' if row[2].strip() == 'none' else row[2].strip())
        for row in rows
        if len(row) == 3
    )
