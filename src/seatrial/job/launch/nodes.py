"""The nodes of the allocation by their names, whether it shares them, and those that it was not given."""

import os
import re
from typing import Iterator, List, Mapping, Sequence, Tuple

from seatrial.model.ask import ask
from seatrial.model.record import NotTested
from seatrial.rules.places import short

ANSWER_S = 20.0  # slurmctld may be busy or away, and a list of what was not tested is worth no hang
UNKNOWN = 'unknown'


def allocated(environment: Mapping[str, str] = os.environ) -> Tuple[str, ...]:
    """The nodes of this job in Slurm's order; none where Slurm runs no job here. Raises ValueError."""
    return expanded(environment.get('SLURM_JOB_NODELIST', ''))


def expanded(hostlist: str) -> Tuple[str, ...]:
    """('n1', 'n2', 'm07') from 'n[1-2],m07', Slurm's notation (scontrol(1), show hostnames).

    Not asked of scontrol: a thousand jobs that begin need no answer of slurmctld for it. Raises ValueError.
    """
    return tuple(name for piece in _pieces(hostlist) for name in _names(piece))


def not_tested(allocation: Sequence[str], environment: Mapping[str, str] = os.environ) -> Tuple[NotTested, ...]:
    """The other nodes of the job's partition, each with its state and the reason that was given for it.

    Where Slurm does not answer in ANSWER_S there is one row that says so. What the job was given and has lost since
    is said by its launches.
    """
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
    """Slurm's word of this job (scontrol(1), show job): NO where it has its nodes for itself, else OK, YES or USER.

    Empty where Slurm runs no job here, or does not answer in ANSWER_S.
    """
    job = environment.get('SLURM_JOB_ID', '')
    answer = ask(['scontrol', 'show', 'job', job], ANSWER_S) if job else None
    said = re.search(r'(?<!\S)OverSubscribe=(\S+)', answer.stdout) if answer and answer.exit_status == 0 else None
    return said.group(1) if said else ''


def of_sinfo(text: str) -> Tuple[NotTested, ...]:
    """The rows of sinfo -N -o '%N|%T|%E' (sinfo(1)); '*' after a state: the node does not answer.

    What is no row is skipped.
    """
    rows = (line.split('|', 2) for line in text.splitlines())
    return tuple(
        NotTested(row[0].strip(), row[1].strip(), '' if row[2].strip() == 'none' else row[2].strip())
        for row in rows
        if len(row) == 3
    )


def _pieces(hostlist: str) -> Iterator[str]:
    """The parts between commas that stand outside brackets."""
    depth, piece = 0, ''
    for character in hostlist:
        depth += (character == '[') - (character == ']')
        if character == ',' and depth == 0:
            yield piece
            piece = ''
        else:
            piece += character
    if depth:
        raise ValueError(f"'{hostlist}' is no list of nodes: a bracket is not closed")
    if piece:
        yield piece


def _names(piece: str) -> List[str]:
    """Of 'rack[0-1]n[01-03]' all six: the last bracket runs fastest."""
    match = re.match(r'([^\[\]]*)(?:\[([0-9,-]+)\](.*))?\Z', piece)
    if match is None:
        raise ValueError(f"'{piece}' is no list of nodes")
    head, ranges, rest = match.groups()
    if ranges is None:
        return [head]
    tails = _names(rest)
    return [f'{head}{number}{tail}' for number in _numbers(ranges) for tail in tails]


def _numbers(ranges: str) -> Iterator[str]:
    """'007', '008' from '007-008': as many digits as the first has."""
    for each in ranges.split(','):
        match = re.match(r'([0-9]+)(?:-([0-9]+))?\Z', each)
        if match is None:
            raise ValueError(f"'[{ranges}]' is no range of nodes")
        first, last = match.group(1), match.group(2) or match.group(1)
        yield from (f'{number:0{len(first)}d}' for number in range(int(first), int(last) + 1))
