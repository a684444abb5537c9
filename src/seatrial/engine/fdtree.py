"""fdtree (Seager and Loewe, LLNL): a reader of its output, for comparing with figures that others took with it.

Seatrial measures fdtree's trees with other engines; `tree_of` says which tree its options make. What is said here was
read in fdtree.bash 1.0.2 and seen with it. Every entry costs it a mkdir or dd process, so its rates are an order
lower than those of a program that calls the file system itself. Its clock counts whole seconds, its rates are whole
numbers rounded down, and 0 for a phase of less than a second. It exits with 0 whatever happened: a missing directory
shows only in what mkdir prints, and a file that was not written shows nowhere, for what dd prints is thrown away.
Each process works in a LEVEL0 directory that bears its host and process number: never in one that others share, and
-R alone never finds its tree.
"""

import re
from typing import Match, NamedTuple, Optional, Tuple

from seatrial.engine.base import EngineError, Outcome
from seatrial.model.tree import MetadataTree, entries

BLOCK = 4096  # bytes that -s counts in


class Phase(NamedTuple):
    """One phase, its times in seconds since fdtree began.

    metric: as in `operations` of the tree. began, ended: as date(1) prints it
    per_second, kib_per_second: None if the phase took less than a second, which is too short to measure (rule T12);
    kib_per_second is None too where fdtree says nothing of it.
    """

    metric: str
    began: str
    ended: str
    from_s: int
    to_s: int
    seconds: int
    per_second: Optional[int]
    kib_per_second: Optional[int]


class Summary(NamedTuple):
    """All that fdtree said: the tree of its options, what it counts in it, and the phases that it ran."""

    version: str
    directory: str
    depth: int
    branching: int
    directories: int
    files_per_directory: int
    kib_per_file: int
    files: int
    kib: int
    phases: Tuple[Phase, ...]


def tree_of(
    levels: int = 4, directories_per_level: int = 10, files_per_directory: int = 10, blocks: int = 10
) -> MetadataTree:
    """The tree that -l, -d, -f and -s (blocks of 4096 bytes) make, with fdtree's own defaults."""
    return MetadataTree(
        depth=levels,
        branching=directories_per_level,
        files_per_directory=files_per_directory,
        bytes_per_file=BLOCK * blocks,
        subtrees='private',
        phases=('create', 'remove'),
    )


def read(tree: MetadataTree, outcome: Outcome) -> Summary:
    """What one fdtree said of the phases of the tree. Raises EngineError:

    E1 it failed; T8 its exit status is 0, and yet it complained or did not finish; T13 the output is not fdtree's;
    P15 it made another tree; T1 its figures contradict each other.
    """
    if outcome.exit_status:
        said = [line.strip() for text in outcome.stderrs + outcome.stdouts for line in text.splitlines()]
        raise EngineError('E1', f"fdtree exited with {outcome.exit_status}: '{next(iter(said), 'no reason given')}'")
    complaint = next((line for text in outcome.stderrs for line in text.splitlines() if line.strip()), None)
    if complaint is not None:
        raise EngineError('T8', f"fdtree exited with 0 and said '{complaint}'")
    summary = parse(outcome.stdouts[0])
    _check_tree(summary, tree)
    planned = [metric for metric in _METRICS.values() if metric.split('_')[1] in tree.phases]
    if [phase.metric for phase in summary.phases] != planned:
        ran = ', '.join(phase.metric for phase in summary.phases)
        raise EngineError('T8', f'fdtree finished {ran or "nothing"}, where {", ".join(planned)} were planned')
    return summary


def parse(stdout: str) -> Summary:
    """What the output says, with the phases that it has.

    Raises EngineError: T13 if it is not fdtree's, T8 if it breaks off or is damaged, T1 if figures contradict each
    other.
    """
    if not stdout.startswith('fdtree-'):
        raise EngineError('T13', f"this is not fdtree's output: '{stdout.partition(chr(10))[0]}'")
    head = _HEAD.match(stdout)
    if head is None:
        raise EngineError('T8', f"fdtree's output breaks off before its first phase: '{_last_line(stdout)}'")
    depth, branching, directories, files_per_directory, kib_per_file, files, kib = map(int, head.groups()[2:])
    phases = []
    position = head.end()
    while position < len(stdout):
        match = _PHASE.match(stdout, position)
        if match is None:
            raise EngineError('T8', f"fdtree's output breaks off in a phase or is damaged: '{_last_line(stdout)}'")
        position = match.end()
        phases.append(_phase(match, directories, files, kib))
    return Summary(
        version=head.group(1),
        directory=head.group(2),
        depth=depth,
        branching=branching,
        directories=directories,
        files_per_directory=files_per_directory,
        kib_per_file=kib_per_file,
        files=files,
        kib=kib,
        phases=tuple(phases),
    )


# In the order of its work.
_METRICS = {
    'DIRECTORY CREATE': 'tree_create',
    'FILE CREATE': 'file_create',
    'FILE REMOVE': 'file_remove',
    'DIRECTORY REMOVE': 'tree_remove',
}
_HEAD = re.compile(
    r'fdtree-(\S+): starting at (.+)\n'
    r'\tcreating/deleting (\d+) directory levels with (\d+) directories at each level\n'
    r'\tfor a total of (\d+) directories\n'
    r'\twith (\d+) files of size (\d+)KiB per directory\n'
    r'\tfor a total of (\d+) files and (\d+)KiB\n',
    re.ASCII,
)
_PHASE = re.compile(
    r'(.+)\n(.+)\n'
    r'((?:DIRECTORY|FILE) (?:CREATE|REMOVE)) TIME IN, OUT, TOTAL *= (\d+), (\d+), (\d+)\n'
    r'\t(?:Directory|File) (?:creates|removals) per second +=  (\d+)\n'
    r'(?:\tKiB per second +=  (\d+)\n)?',
    re.ASCII,
)


def _last_line(text: str) -> str:
    return text.splitlines()[-1]


def _phase(match: Match[str], directories: int, files: int, kib: int) -> Phase:
    metric = _METRICS[match.group(3)]
    from_s, to_s, seconds, per_second = map(int, match.groups()[3:7])
    kib_per_second = None if match.group(8) is None else int(match.group(8))
    if (metric == 'file_create') != (kib_per_second is not None):
        raise EngineError('T8', f"fdtree's output breaks off in a phase or is damaged: '{match.group(3)}'")
    said = (seconds, per_second, kib_per_second or 0)
    done = directories if metric.startswith('tree') else files
    rates = (done // seconds, kib // seconds if metric == 'file_create' else 0) if seconds else (0, 0)
    if said != (to_s - from_s, *rates):
        raise EngineError('T1', f'{match.group(3)}: {per_second} a second for {done} from {from_s} to {to_s} s')
    return Phase(
        metric=metric,
        began=match.group(1),
        ended=match.group(2),
        from_s=from_s,
        to_s=to_s,
        seconds=seconds,
        per_second=per_second if seconds else None,
        kib_per_second=kib_per_second if seconds else None,
    )


def _check_tree(said: Summary, tree: MetadataTree) -> None:
    whole = entries(tree, 1)
    made = (said.depth, said.branching, said.files_per_directory, 1024 * said.kib_per_file)
    planned = (tree.depth, tree.branching, tree.files_per_directory, tree.bytes_per_file)
    if made != planned:
        raise EngineError('P15', f'fdtree made a tree of (levels, directories, files, bytes) {made}, not {planned}')
    if (said.directories, said.files, 1024 * said.kib) != (
        whole.directories,
        whole.files,
        whole.files * tree.bytes_per_file,
    ):
        raise EngineError(
            'T1',
            f'fdtree counts {said.directories} directories and {said.files} files of {said.kib} KiB in a tree of '
            f'{whole.directories} and {whole.files}',
        )
