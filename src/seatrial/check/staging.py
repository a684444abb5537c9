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
    """Empty where it is not installed."""
    try:
        return version('darshan')
    except PackageNotFoundError:
        return ''


@cache
def commit_of(package: Path = PACKAGE) -> str:
    """The commit of the checkout whose src/seatrial this is, with '+changes' if files differ, or that an installed
    package was made of. Empty if unknown, in a foreign repository, or without an answer of git."""
    made_of = package / 'COMMIT'  # written by ci/wheel.py
    if made_of.is_file():
        return made_of.read_text().strip()
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
    """The plan with a records directory that no job has used, which is now claimed by its folder of raw output.
    ReFrame repeats a test on request; its record is then a new one, and never the first one judged again."""
    for number in itertools.count(1):
        folder = Path(plan.records if number == 1 else f'{plan.records}~{number}')
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (folder / RAW).mkdir()
            return plan._replace(records=str(folder))
    raise AssertionError('counting has no end')


def write_runner(folder: Path) -> Path:
    """Writes the zipapp that all jobs run into a session's folder; returns it. FileExistsError if it is there."""
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
                # Read by the same Python only, and only if it belongs to this source. Root may have left one that
                # others cannot read, by a umask of 027: then a node compiles the source.
                if os.access(compiled, os.R_OK):
                    archive.write(compiled, f'{name}c')
        unfinished.pop_all()
    return file


def job_line(python: str | None, runner: Path, plan: Path) -> str:
    """The line of the job script that carries the plan out, then removes what it made. python: the interpreter on the
    node; None: the first of PYTHONS that is there and is 3.6 or later. In UTF-8 whatever the node's locale is: Python
    3.6 cannot name a file with other letters under LC_ALL=C. Isolated (-I): no module of the working directory or of
    PYTHONPATH is imported."""
    interpreter = ['sh', '-c', _PROBE, 'seatrial'] if python is None else [python]
    return shell_line(['env', 'LC_ALL=C.UTF-8', *interpreter, '-I', str(runner), 'run', 'remove', str(plan)])
