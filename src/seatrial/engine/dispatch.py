"""A launcher starts this program for every rank, with one argv; it becomes the process of its rank, as in a file."""

import contextlib
import functools
import json
import os
import re
import sys
import time
from typing import List, NamedTuple, Sequence, Tuple

RANK_VARIABLES = ('OMPI_COMM_WORLD_RANK', 'PMIX_RANK', 'PMI_RANK', 'SLURM_PROCID')
"""Variables of Open MPI, PMIx, MPICH's Hydra and srun(1); the first that is there counts. srun's is the last: other
launchers reach the nodes by srun, one process a node, whose variables their ranks inherit (seen with Hydra 4.0 and
Slurm 22.05: four ranks on two nodes had the SLURM_PROCID 0, 0, 1, 1)."""

NO_RANK, NOT_THERE, NOT_STARTED = 64, 71, 127
HEARD_S = 1  # seconds from the last words of a rank to its end: srun 22.05 ended the step and lost them (seen)
PLACE = 'SEATRIAL_PLACE'  # the inodes of the launch's directory, as in inodes_of; a launcher finds it by its path

_MARKER = '../.seatrial-run.json'
_RANK_HERE = 'seatrial-rank'
_SAID = re.compile(rf'^{_RANK_HERE} (\d+) (\S+) ?(\S*)\n', re.MULTILINE)
_ALLOWED = 'Cpus_allowed_list:'
_RANK = functools.reduce(lambda rest, name: f'${{{name}-{rest}}}', reversed(RANK_VARIABLES), '')
_IF_THE_SAME = (
    f'there=$(echo $(stat -c %i . {_MARKER} 2>/dev/null)); [ "$there" = "$1" ] && shift && '
    'read -r node </proc/sys/kernel/hostname && '
    f'while read -r key cores && [ "$key" != {_ALLOWED} ]; do :; done </proc/self/status && '
    f'echo "{_RANK_HERE} {_RANK} $node $cores" && exec "$@"; '
    f'echo "seatrial: $(pwd) was replaced by another on $(uname -n)" >&2; sleep {HEARD_S}; exit {NOT_THERE}'
)


def inodes_of(directory: int) -> str:
    """The inodes of an open data directory, and of the marker above it: together they identify it on all nodes."""
    inodes = [os.fstat(directory).st_ino]
    with contextlib.suppress(FileNotFoundError):
        inodes.append(os.stat(_MARKER, dir_fd=directory, follow_symlinks=False).st_ino)
    return ' '.join(map(str, inodes))


def only_in(inodes: str, argv: Tuple[str, ...]) -> Tuple[str, ...]:
    """The argv that runs `argv` in the directory with these inodes, and does nothing in another one. It is a shell,
    which starts within 2 ms and reads no file that nodes share; it first prints its rank and place (places_said)."""
    return ('sh', '-c', _IF_THE_SAME, 'seatrial', inodes, *argv)


class RankPlace(NamedTuple):
    rank: int
    host: str
    cores: str  # that it may use, as the kernel lists them ('0-3,8'); empty: not said

    @property
    def line(self) -> str:
        return f'{_RANK_HERE} {self.rank} {self.host} {self.cores}\n'


def place_here(rank: int) -> RankPlace:
    """The place of this process, and of those that it starts or becomes."""
    with open('/proc/self/status') as stream:
        allowed = [line.split()[1] for line in stream if line.startswith(_ALLOWED)]
    return RankPlace(rank, os.uname().nodename, ''.join(allowed))


def places_said(stdouts: Sequence[str]) -> Tuple[Tuple[str, ...], Tuple[RankPlace, ...]]:
    """The programs' outputs without places, and the place of each rank; no places unless every rank printed one."""
    printed = [words for stdout in stdouts for words in _SAID.findall(stdout)]
    places = sorted(RankPlace(int(rank), host, cores) for rank, host, cores in printed)
    whole = [place.rank for place in places] == list(range(len(places)))
    return tuple(_SAID.sub('', stdout) for stdout in stdouts), tuple(places) if whole else ()


def main(arguments: List[str]) -> int:
    """`arguments`: the file with the argvs by rank, and the prefix of the files for streams. Returns if it fails."""
    path, prefix = arguments
    ranks = [os.environ[name] for name in RANK_VARIABLES if name in os.environ]
    if not ranks:
        print(f'seatrial: the launcher sets no rank: none of {", ".join(RANK_VARIABLES)}', file=sys.stderr)
        return NO_RANK
    here = os.open('.', os.O_RDONLY)
    if os.environ.get(PLACE, '') not in ('', inodes_of(here)):
        print(f'seatrial: {os.getcwd()} was replaced by another on {os.uname().nodename}', file=sys.stderr)
        sys.stderr.flush()
        time.sleep(HEARD_S)
        return NOT_THERE
    os.close(here)
    with open(path, encoding='utf-8') as stream:
        argvs = json.load(stream)
    rank = int(ranks[0])
    if rank >= len(argvs):
        print(f'seatrial: rank {rank} of {len(argvs)}: the launcher has started too many', file=sys.stderr)
        return NO_RANK
    for descriptor, suffix in ((1, 'out'), (2, 'err')):
        file = os.open(f'{prefix}.{rank}.{suffix}', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    os.write(1, place_here(rank).line.encode('ascii'))
    try:
        os.execvp(argvs[rank][0], argvs[rank])
    except OSError as error:
        print(f'seatrial: {argvs[rank][0]} cannot be started: {error.strerror}', file=sys.stderr)
        return NOT_STARTED
