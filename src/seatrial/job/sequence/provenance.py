"""The software of a job on its node: the build of the program, its MPI, the loaded modules. A launch
without I/O shows whether all nodes of a case have the same (rule P21)."""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import sys
from typing import List, Mapping, Optional, Tuple

from seatrial.engine.node_program import module_argv
from seatrial.job.launch.placement import answers_of_nodes
from seatrial.job.launch.processes import launch_argv
from seatrial.model.ask import ask
from seatrial.model.foreign import read_json
from seatrial.model.plan import Launcher
from seatrial.model.point import Point
from seatrial.model.record import Finding, Provenance, build_words, module_of, package_of
from seatrial.rules.places import short
from seatrial.rules.registry import finding
from seatrial.workload.words import by_key, listed

ANSWER_S = 30.0
BLOCK = 1 << 20
LONGEST_VALUE = 200  # characters

MARK, SAME = 'seatrial-node', 'same'
MPI, NO_MPI = 'mpi', 'no-mpi'
SHOWN_ANSWERS = 4
ANY_POINT = Point('', (), tasks=1, tasks_per_node=1)

# The line of ldd(1) with the library of MPI's C functions, not those for C++ and Fortran beside it.
_LIBRARY = re.compile(r'^\s*libmpi(?!\w*(?:cxx|mpifh|usempi|fort))\w*\.so\S* => (/\S+)', re.M)

# The version that a rank gets too: MPI 3.1, section 8.1.1; allowed before MPI_Init. 8192 is the longest of any MPI.
_ASK_LIBRARY = """
import ctypes, sys
version, length = ctypes.create_string_buffer(8192), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(version, ctypes.byref(length))
print(version.value.decode())
"""

# Variables of ld.so(8), ROMIO, IOR (hints.c), Cray MPICH (intro_mpi(3)), Open MPI and Darshan.
_CHANGES_IO = re.compile(r'LD_PRELOAD\Z|.*ROMIO|IOR_HINT__|MPICH_MPIIO_|OMPI_MCA_|DARSHAN_')

# In the order of trial: the name that is kept, and the output that shows it. Genuine answers: tests/transcripts/mpi.
_VERSIONS = (
    ('Intel MPI', re.compile(r'Intel\(R\) MPI Library.*?(?:, Version )?(\d{4}\.\S+)')),
    ('Cray MPICH', re.compile(r'CRAY MPICH version (\S+)')),
    ('Open MPI', re.compile(r'(?:Open MPI v|\((?:Open MPI|OpenRTE)\) )([^\s,]+)')),
    ('MPICH', re.compile(r'MPICH Version:\s*(\S+)')),
    ('Hydra', re.compile(r'HYDRA build details:\s*Version:\s*(\S+)')),
    ('Slurm', re.compile(r'^slurm(?:-wlm)? (\S+)')),
)
_LIKE_MPICH = ('MPICH', 'Cray MPICH', 'Intel MPI', 'Hydra')  # each of these launchers starts each of these libraries


def provenance(program: str, mpi: bool, launcher: Optional[Launcher], darshan: str = '') -> Provenance:
    """mpi: it is linked with MPI; launcher: of its ranks, or None; darshan: the partition's library or ''."""
    return Provenance(
        build=build_of(program),
        mpi=library_of(program) if mpi else '',
        launcher=launcher_of(launcher) if launcher else '',
        modules=loaded_modules(os.environ),
        environment=inherited(os.environ),
        darshan=build_of(darshan) if darshan else '',
    )


def inherited(environment: Mapping[str, str]) -> Tuple[str, ...]:
    """Variables of an environment that change the I/O of ranks which inherit it, beyond the plan."""
    variables = sorted(item for item in environment.items() if _CHANGES_IO.match(item[0]))
    return tuple(f'{name}={value}' if len(value) <= LONGEST_VALUE else name for name, value in variables)


def loaded_modules(environment: Mapping[str, str]) -> Tuple[str, ...]:
    return tuple(name for name in environment.get('LOADEDMODULES', '').split(':') if name)


def beside_module(program: str, environment: Mapping[str, str]) -> str:
    """A sentence if the program on the PATH is another one than that of the module loaded for it; or empty. Spack's
    modules name the root of a package in IOR_ROOT, EasyBuild's in EBROOTIOR."""
    module, name = module_of(program, loaded_modules(environment)), package_of(program).upper()
    root = environment.get(f'{name}_ROOT') or environment.get(f'EBROOT{name}', '')
    ways = ((os.path.abspath(program), os.path.abspath(root)), (os.path.realpath(program), os.path.realpath(root)))
    if not module or not root or any(os.path.commonpath(way) == way[1] for way in ways):
        return ''
    return f'the module {module} has its program in {root}, and {program} is found before it'


def build_of(program: str) -> str:
    """'spack:HASH' of a program's installation (.spack/spec.json), else its 'sha256:HEX'; empty: unreadable."""
    path = os.path.realpath(program)
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        spec = read_json(os.path.join(os.path.dirname(os.path.dirname(path)), '.spack', 'spec.json'))
        return 'spack:{}'.format(spec['spec']['nodes'][0]['hash'])
    digest = hashlib.sha256()
    try:
        with open(path, 'rb') as program_file:
            for block in iter(lambda: program_file.read(BLOCK), b''):
                digest.update(block)
    except OSError:
        return ''
    return f'sha256:{digest.hexdigest()}'


def library_of(program: str) -> str:
    """The MPI library that a rank of this program loads, with the version that it reports; empty: unknown."""
    linked = ask(['ldd', program], ANSWER_S)
    library = _LIBRARY.search(linked.stdout) if linked else None
    if library is None:
        return ''
    answer = ask([sys.executable, '-c', _ASK_LIBRARY, library.group(1)], ANSWER_S)
    return version_of_output(answer.stdout if answer else '')


def launcher_of(launcher: Launcher) -> str:
    """The program that starts the ranks, with its version; empty: unknown."""
    program = shutil.which(launch_argv(launcher, ANY_POINT, ())[0])
    answer = ask([program, '--version'], ANSWER_S) if program else None
    return version_of_output(answer.stdout if answer else '')


def of_another_mpi(library: str, launcher: str) -> str:
    """A clause if this launcher is of another MPI than the library that its ranks load: they would not find each
    other, and each would run alone (rule T9). Empty also where one of the two is unknown, or is Slurm."""
    sides = sorted((library, launcher), key=lambda words: words.startswith('Open MPI'))
    if not sides[0].startswith(_LIKE_MPICH) or not sides[1].startswith('Open MPI'):
        return ''
    return f'ranks with {library} do not find each other under {launcher}; put the launcher of that MPI on the PATH'


def version_of_output(text: str) -> str:
    """'Open MPI 4.1.4', from the text of an MPI library or a launcher; else its first line, or empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    matches = ((name, pattern.search(text)) for name, pattern in _VERSIONS)
    first = next((f'{name} {match.group(1)}' for name, match in matches if match), None)
    return first or (lines[0] if lines else '')


def main(arguments: List[str]) -> int:
    """A node's task. arguments: program, kind (MPI or not), expected digest; it prints a provenance that differs."""
    program, kind, expected = arguments
    here = Provenance(build_of(program), library_of(program) if kind == MPI else '')
    answer = SAME if _digest(here) == expected else _words(here, kind == MPI)
    print(f'{MARK} {platform.node()} {answer}', flush=True)
    return 0


def disagreement(launcher: Launcher, nodes: int, program: str, mpi: bool, software: Provenance) -> Optional[Finding]:
    """A finding if a node's build or MPI differs from this node's `software`, or None; each node is asked once."""
    argv = module_argv(sys.executable, __name__, (program, MPI if mpi else NO_MPI, _digest(software)))
    # A node reads the whole program, and then asks ldd and the library.
    answers, fault = answers_of_nodes(launcher, nodes, MARK, argv, 2 * ANSWER_S)
    if fault is not None:
        return finding('P17', fault)
    others = by_key((answer, host) for host, answer in sorted(answers.items()) if answer != SAME)
    if not others:
        return None
    commonest = sorted(others.items(), key=lambda item: -len(item[1]))
    shown = [f'{answer} on {listed(hosts)}' for answer, hosts in commonest[:SHOWN_ANSWERS]]
    left = [host for _, hosts in commonest[SHOWN_ANSWERS:] for host in hosts]
    shown += [f'still others on {listed(left)}'] if left else []
    here = f'{program} is {_words(software, mpi)} on {short(platform.node())}'
    return finding('P21', f'{here}, and {", ".join(shown)}')


def _words(software: Provenance, mpi: bool) -> str:
    build = build_words(software.build) or 'no file that can be read'
    return f'{build} with {software.mpi or "an MPI that is not known"}' if mpi else build


def _digest(software: Provenance) -> str:
    return hashlib.sha256(f'{software.build} {software.mpi}'.encode('utf-8')).hexdigest()
