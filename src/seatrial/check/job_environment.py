"""The environment that a job has once ReFrame has loaded its modules, for looking programs up as the job will."""

import itertools
import operator
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from seatrial.model.ask import ask
from seatrial.site.load import Module, Modules

LOAD_S = 60.0

# The variables that name the program which makes shell commands to load modules, by modules system.
_COMMANDS = {'lmod': 'LMOD_CMD', 'envmod': 'MODULES_CMD', 'tmod4': 'MODULES_CMD'}
_OF_ENGINES = re.compile(
    r'(?:[\w.-]+/)*(?:ior|mdtest|fio|(openmpi|mpich|mvapich2?|impi|cray-mpich))(?:/[\w.-]+)?', re.I
)
_OF_DARSHAN = re.compile(r'(?:[\w.-]+/)*darshan(?:-runtime)?(?:/[\w.-]+)?', re.I)
# ReFrame 4.10 loads each module itself before it writes the job, and takes its folder away again; the job keeps the
# folder under Lmod alone. The name of each module is written behind a NUL, before the messages of loading it.
_LOAD = r"""
command=$1; keeps=$2; shift 2
run() { eval "$("$command" bash "$@" || echo false)"; }
load_all() {
    while [ $# -gt 0 ]; do
        printf '\0%s\n' "$1" >&2
        [ -z "$2" ] || run use "$2" 2>/dev/null || return
        run load "$1" >&2 || return
        [ -z "$2" ] || [ -n "$keeps" ] || run unuse "$2" 2>/dev/null
        shift 2
    done
}
(keeps=''; load_all "$@") && load_all "$@" && exec env -0
"""


class NotLoaded(Exception):
    """The modules could not be loaded; the message says why."""


@contextmanager
def loaded(modules: Modules) -> Iterator[None]:
    """Gives this process the environment of the job while the block runs. Raises NotLoaded."""
    before = dict(os.environ)
    try:
        os.environ.update(_environment(modules) if modules.wanted else {})
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def available() -> tuple[str, list[str], str]:
    """ReFrame's modules_system of this shell, its modules with engines or MPI, and the last module's libdarshan.so;
    empty without modules. MPI comes first: its module may put a folder such as /usr/bin before those of engines."""
    for system, variable in _COMMANDS.items():
        if os.environ.get(variable):
            answer = ask([os.environ[variable], 'bash', '-t', 'avail'], LOAD_S)
            output = f'{answer.stdout}\n{answer.stderr}' if answer else ''
            # Environment Modules write 'fio/3.37(default)'.
            words = list(dict.fromkeys(word.partition('(')[0] for word in output.split()))
            matches = [match for word in words if (match := _OF_ENGINES.fullmatch(word))]
            names = [match[0] for match in sorted(matches, key=lambda match: match[1] is None)]
            libraries = (_libdarshan(system, word) for word in reversed(words) if _OF_DARSHAN.fullmatch(word))
            return system if names else '', names, next(filter(None, libraries), '')
    return '', [], ''


def _libdarshan(system: str, module: str) -> str:
    """The library in the folders that a module names, as Spack's or EasyBuild's does; empty if it has none."""
    try:
        environment = _environment(Modules(system, (Module(module),)))
    except NotLoaded:
        return ''
    folders = f'{environment.get("DARSHAN_RUNTIME_ROOT", "")}/lib:{environment.get("LD_LIBRARY_PATH", "")}'
    return shutil.which('libdarshan.so', os.R_OK, folders) or ''


def _environment(modules: Modules) -> dict[str, str]:
    system, variable = modules.system, _COMMANDS.get(modules.system)
    if variable is None:
        raise NotLoaded(f"settings.py names modules, and modules_system is '{system}'; write lmod or envmod")
    command, keeps = os.environ.get(variable), 'yes' if system == 'lmod' else ''
    if not command:
        raise NotLoaded(f'{variable} is not set; start a login shell of a host that has {system}')
    if not keeps and shutil.which('modulecmd') is None:
        why = 'modulecmd, by which ReFrame loads modules, is not on the PATH'
        raise NotLoaded(f'{why}; put the folder that has it there')
    argv = ['bash', '-c', _LOAD, 'bash', command, keeps, *(text for module in modules.wanted for text in module)]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=LOAD_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotLoaded(str(error)) from None
    if done.returncode:
        raise NotLoaded(_why(done.stderr.decode(errors='replace')))
    pairs = (pair.partition('=') for pair in done.stdout.decode(errors='surrogateescape').split('\0') if pair)
    return {name: value for name, _, value in pairs}


def _why(stderr: str) -> str:
    """The module that failed, and the first paragraph of the message in one line: Lmod breaks lines for terminals."""
    name, _, text = stderr.rpartition('\0')[2].partition('\n')
    lines = [line.strip() for line in text.splitlines() if not line.startswith('Loading ')]
    paragraph = itertools.takewhile(bool, itertools.dropwhile(operator.not_, lines))
    return f'{name}: {" ".join(" ".join(paragraph).split()) or "no reason"}'
