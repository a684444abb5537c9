"""Stages a job's files for its node: its plan, with the software that made it, and the node rooms as one zipapp."""

import contextlib
import itertools
import json
import os
import zipfile
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import cache_from_source
from pathlib import Path

import seatrial
from seatrial.job.sequence.recorder import RAW
from seatrial.model.ask import ask
from seatrial.model.codec import to_json
from seatrial.model.plan import TrialPlan
from seatrial.model.quoted_value import shell_line
from seatrial.model.record import PLAN

NODE_ROOMS = ('model', 'workload', 'engine', 'filesystem', 'rules', 'job')
RUNNER = 'runner.pyz'
MAIN = 'import sys\nfrom seatrial.job.__main__ import main\n\nsys.exit(main(sys.argv[1:]))\n'
ANSWER_S = 30.0
PACKAGE = Path(seatrial.__file__).parent
# Interpreters that a node is searched for, the usual one first; a minimal RHEL 8 has only its platform-python.
PYTHONS = ('python3', '/usr/libexec/platform-python', *(f'python3.{minor}' for minor in range(14, 5, -1)))
_PROBE = (
    f'for python in {" ".join(PYTHONS)}; do '
    '"$python" -I -c "import sys; sys.exit(sys.version_info < (3, 6))" 2>/dev/null && exec "$python" "$@"; done; '
    'echo "seatrial: no Python of 3.6 or later on $(uname -n); name one in trial.yaml: partitions, python" >&2; '
    'exit 127'
)


@cache
def reframe_version() -> str:
    return version('ReFrame-HPC')


def pydarshan_version() -> str:
    """The version, empty if PyDarshan is not installed."""
    try:
        return version('darshan')
    except PackageNotFoundError:
        return ''


@cache
def commit_of(package: Path = PACKAGE) -> str:
    """The commit of the checkout with this src/seatrial, followed by '+changes' if files differ, or the commit from
    which an installed package was built. Empty if unknown, in another repository, or if git does not answer."""
    file = package / 'COMMIT'  # written by ci/wheel.py
    if file.is_file():
        return file.read_text().strip()
    top = package.parents[1]
    if not (top / '.git').exists() or package != top / 'src' / 'seatrial':
        return ''
    described = ['describe', '--always', '--abbrev=12', '--exclude=*', '--dirty=+changes']
    answer = ask(['git', '-C', str(top), *described], ANSWER_S)
    return answer.stdout.strip() if answer and answer.exit_status == 0 else ''


def write_plan(plan: TrialPlan) -> Path:
    """Writes plan.json into the case's records directory, which it creates; returns the file."""
    folder = Path(plan.records)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / PLAN
    file.write_text(json.dumps(to_json(plan), indent=1) + '\n')
    return file


def claim_records(plan: TrialPlan) -> TrialPlan:
    """The plan with a records directory that no job has used; creating its folder for raw output claims it. A test
    that ReFrame repeats on request so gets a new record, and the first record is not judged twice."""
    for number in itertools.count(1):
        folder = Path(plan.records if number == 1 else f'{plan.records}~{number}')
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (folder / RAW).mkdir()
            return plan._replace(records=str(folder))
    raise AssertionError('counting has no end')


def write_runner(folder: Path) -> Path:
    """Writes the zipapp for all jobs into a session's folder; returns it. Raises FileExistsError if it exists."""
    file = folder / RUNNER
    with file.open('xb') as stream, contextlib.ExitStack() as unfinished, zipfile.ZipFile(stream, 'w') as archive:
        unfinished.callback(file.unlink)
        archive.writestr('__main__.py', MAIN)
        archive.write(PACKAGE / '__init__.py', 'seatrial/__init__.py')
        for room in NODE_ROOMS:
            for source in sorted((PACKAGE / room).rglob('*.py')):
                name = f'seatrial/{source.relative_to(PACKAGE)}'
                archive.write(source, name)
                compiled = cache_from_source(str(source))
                # Only the same version of Python uses it, and only if it matches the source. Root may have written
                # one that others cannot read (umask 027): then the node compiles the source.
                if os.access(compiled, os.R_OK):
                    archive.write(compiled, f'{name}c')
        unfinished.pop_all()
    return file


def job_line(python: str | None, runner: Path, plan: Path) -> str:
    """The line of the job script that runs the plan and then removes the files that it made. python: the interpreter
    on the node; None: the first of PYTHONS on the node from version 3.6 on. The line sets UTF-8, because Python 3.6
    cannot use file names beyond ASCII under LC_ALL=C, and isolation (-I), so that no module of the working directory
    or PYTHONPATH is imported."""
    interpreter = ['sh', '-c', _PROBE, 'seatrial'] if python is None else [python]
    return shell_line(['env', 'LC_ALL=C.UTF-8', *interpreter, '-I', str(runner), 'run', 'remove', str(plan)])
