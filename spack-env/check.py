"""Checks that spack-env/install makes before and after: exit status 0, or 64 and one line for each fault.

check.py spack CORE REPOSITORY LEAST      the folders of Spack and of its package repository
check.py lock SPACK_YAML LOCK SYSTEM      the lock against what is asked for
check.py externals LOCK [NAME]..          that the site's externals are on this host
check.py installed LOCK DATABASE [NAME].. what is installed against the lock
check.py linked LOCK DATABASE             what the programs load beside what the lock has; a caveat, and no fault
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from spack_faults import (
    another_mpi,
    built_without_mpi,
    core_fault,
    faults_of_installation,
    faults_of_lock,
    missing_externals,
    not_locked,
    unable,
)

from seatrial.job.sequence.provenance import ANSWER_S, library_of
from seatrial.model.ask import ask


def faults(what: str, *arguments: str) -> list[str]:
    """The faults of one of these."""
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
    if what == 'externals':
        lock, *programs = arguments
        absent = [database for database in upstreams(lock) if not database.is_file()]
        return [
            *(f'upstreams in site.yaml: {file} is not there; name the install_tree of a Spack' for file in absent),
            *missing_externals(json.loads(Path(lock).read_text()), programs),
        ]
    lock, database, *programs = arguments
    fixed, installed = json.loads(Path(lock).read_text()), all_installed(lock, database)
    if what == 'linked':
        return not_locked(fixed, installed, lambda program: said_by('readelf', '-d', program))
    return [
        *faults_of_installation(fixed, installed, programs),
        *built_without_mpi(fixed, installed),
        *another_mpi(fixed, installed, library_of),
        *unable(fixed, installed, said_by),
    ]


def upstreams(lock: str) -> list[Path]:
    """The databases of other installations that the site.yaml beside a lock lets Spack use."""
    site = Path(lock).with_name('site.yaml')
    named = (yaml.safe_load(site.read_text()) or {}).get('upstreams') or {}
    return [Path(entry['install_tree'], '.spack-db', 'index.json') for entry in named.values()]


def all_installed(lock: str, database: str) -> Mapping[str, Any]:
    """The database of this prefix, with the records of its upstreams; there is none where these have everything."""
    installs: dict[str, Any] = {}
    for file in [*upstreams(lock), Path(database)]:
        if file.is_file():
            records = json.loads(file.read_text())['database']['installs']
            installs.update({hash_: record for hash_, record in records.items() if record['installed']})
    return {'database': {'installs': installs}}


def said_by(*command: str) -> str:
    """The standard output of a command; empty if it does not answer or fails."""
    answer = ask(list(command), ANSWER_S)
    return answer.stdout if answer and answer.exit_status == 0 else ''


if __name__ == '__main__':
    try:
        problems = faults(*sys.argv[1:])
    except (OSError, ValueError) as error:
        problems = [str(error)]
    for fault in problems:
        print(f'seatrial: {fault}', file=sys.stderr)
    sys.exit(64 if problems else 0)
