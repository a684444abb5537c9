"""What spack-env/install asks before and after: exit status 0, or 64 and one line a fault.

check.py spack CORE REPOSITORY LEAST      the folders of Spack and of its package repository
check.py lock SPACK_YAML LOCK SYSTEM      the lock against what is asked for
check.py installed LOCK DATABASE [NAME].. what is installed against the lock
"""

import json
import sys
from pathlib import Path

import yaml

from seatrial.job.sequence.provenance import ANSWER_S, library_of
from seatrial.model.ask import ask
from seatrial.site.spack_env import (
    another_mpi,
    built_without_mpi,
    core_fault,
    faults_of_installation,
    faults_of_lock,
    unable,
)


def faults(what: str, *arguments: str) -> list[str]:
    """The faults of one of the three."""
    if what == 'spack':
        core, repository, least = arguments
        texts = [Path(core, 'lib/spack/spack/__init__.py'), Path(repository, 'repo.yaml')]
        missing = next((text for text in texts if not text.is_file()), None)
        if missing:
            return [f'{missing} is not there; leave --spack and --packages out: what is pinned is fetched']
        major, minor = map(int, least.split('.'))
        fault = core_fault(*(text.read_text() for text in texts), (major, minor))
        return [f'{core}: {fault}; leave --spack and --packages out: what is pinned is fetched'] if fault else []
    if what == 'lock':
        environment, lock, system = arguments
        return faults_of_lock(
            yaml.safe_load(Path(environment).read_text()), json.loads(Path(lock).read_text()), system
        )
    lock, database, *programs = arguments
    fixed, installed = json.loads(Path(lock).read_text()), json.loads(Path(database).read_text())
    return [
        *faults_of_installation(fixed, installed, programs),
        *built_without_mpi(fixed, installed),
        *another_mpi(fixed, installed, library_of),
        *unable(fixed, installed, said_by),
    ]


def said_by(program: str, option: str) -> str:
    """What a program lists of itself; empty where it does not answer."""
    answer = ask([program, option], ANSWER_S)
    return answer.stdout if answer and answer.exit_status == 0 else ''


if __name__ == '__main__':
    try:
        problems = faults(*sys.argv[1:])
    except (OSError, ValueError) as error:
        problems = [str(error)]
    for fault in problems:
        print(f'seatrial: {fault}', file=sys.stderr)
    sys.exit(64 if problems else 0)
