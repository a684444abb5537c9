"""Whether all nodes of a case would measure with the same build and MPI, by a launch without I/O (rule P21)."""

import hashlib
import platform
import sys
from typing import Dict, List, Optional

from seatrial.engine.node_program import module_argv
from seatrial.job.launch.placement import said_by_nodes
from seatrial.job.sequence.provenance import ANSWER_S, build_of, library_of, words
from seatrial.model.plan import Launcher
from seatrial.model.record import Finding, Provenance
from seatrial.rules.places import short
from seatrial.rules.registry import finding
from seatrial.workload.words import listed

MARK, SAME = 'seatrial-node', 'same'
MPI, NO_MPI = 'mpi', 'no-mpi'
SHOWN_ANSWERS = 4


def main(arguments: List[str]) -> int:
    """A node's task: program, whether it has MPI, the digest expected; it tells what it has where that differs."""
    program, kind, expected = arguments
    own = Provenance(build_of(program), library_of(program) if kind == MPI else '')
    said = SAME if _digest(own) == expected else _words(own, kind == MPI)
    print(f'{MARK} {platform.node()} {said}', flush=True)
    return 0


def disagreement(launcher: Launcher, nodes: int, program: str, mpi: bool, own: Provenance) -> Optional[Finding]:
    """What is found where a node has another build or MPI than this one's `own`, or None; each node is asked once."""
    argv = module_argv(
        sys.executable, 'seatrial.job.sequence.agreement', (program, MPI if mpi else NO_MPI, _digest(own))
    )
    # A program is read whole, and ldd and the library are asked in turn.
    answers, fault = said_by_nodes(launcher, nodes, MARK, argv, 2 * ANSWER_S)
    if fault is not None:
        return finding('P17', fault)
    others: Dict[str, List[str]] = {}
    for host, answer in sorted(answers.items()):
        if answer != SAME:
            others.setdefault(answer, []).append(host)
    if not others:
        return None
    commonest = sorted(others.items(), key=lambda each: -len(each[1]))
    shown = [f'{answer} on {listed(hosts)}' for answer, hosts in commonest[:SHOWN_ANSWERS]]
    left = [host for _, hosts in commonest[SHOWN_ANSWERS:] for host in hosts]
    rest = [f'still others on {listed(left)}'] if left else []
    here = f'{program} is {_words(own, mpi)} on {short(platform.node())}'
    return finding('P21', f'{here}, and {", ".join([*shown, *rest])}')


def _words(own: Provenance, mpi: bool) -> str:
    build = words(own.build) or 'no file that can be read'
    return f'{build} with {own.mpi or "an MPI that is not known"}' if mpi else build


def _digest(own: Provenance) -> str:
    return hashlib.sha256(f'{own.build} {own.mpi}'.encode('utf-8')).hexdigest()
