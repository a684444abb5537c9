"""mdtest 4: one MPI launch whose ranks are the clients of a metadata tree. The engine of a site.

What is said here of mdtest was read in the sources of 3.3.0, 4.0.0 and 4.1.0+dev (hpc/ior: src/mdtest.c) and seen
with programs built from them. Everything that it makes lies in `test-dir.0-0` of the working directory, one more
directory than the plan's entries; its last phase, -r, removes that too.

A phase is a launch of its own, so that the entries can be counted between phases. Each launch sleeps for a second
before it starts the clock.

A rate of mdtest is all ranks' operations over the time of the slowest rank and the barrier after it. On short phases
the barrier is all of it: 52 files in 0.07 ms of work and 8 ms of waiting (seen), hence Rate.waiting_share. The rates
of 'Tree creation' and 'Tree removal' count one tree by the clock of the first rank, however many private trees
there are; here they are operations and seconds of all.

The data are random and other in every launch; but the file that rank r makes as its number i has the bytes of the
file that rank r + 1 makes as its number i - 1 (seen), so a back end that removes duplicates keeps one of them.
"""

import hashlib
import re
from decimal import Decimal
from typing import Dict, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import Command, EngineError, Outcome
from seatrial.engine.ior import MOST_BYTES_A_CALL, Complaint, distrusted
from seatrial.engine.ior import complaints as complaints_of_ior
from seatrial.model.tree import TreeMeasurement, TreePoint, entries, tree_fault

CLOCK_S = 1e-6  # gettimeofday(2)
PRINTED = Decimal('0.001')  # rates in the table have three decimals
SHIFT_NODES = 4  # rule T4: -N shifts stat by one node, read by two, removal by three
LONGEST_PATH = 1023  # MAX_PATHLEN is the size of its buffers, which it fills without looking
MOST_DIRECTORIES = 2**31 - 1  # it numbers them with an int
CUT_AT = 1023  # and prints lines through a buffer of 1024 bytes


class Row(NamedTuple):
    """One row of a table, verbatim: of a rate operations a second, of a time seconds, whatever its head says.

    of_ranks: maximum, minimum and mean over the ranks, where --showRankStatistics asked for them.
    """

    operation: str
    maximum: Decimal
    minimum: Decimal
    mean: Decimal
    deviation: Decimal
    of_ranks: Optional[Tuple[Decimal, Decimal, Decimal]] = None

    @property
    def ran(self) -> bool:
        """Whether the phase was run at all: one that was not has zeros and no gap."""
        return any(figure != 0 for figure in (self.maximum, self.minimum, self.mean))


class Table(NamedTuple):
    """One table over all iterations of a test; quantity is 'rate' or 'time'."""

    quantity: str
    iterations: int
    rows: Tuple[Row, ...]


class ProcessRow(NamedTuple):
    """What --print-all-procs adds: the figure of each rank for one operation of one iteration, verbatim."""

    quantity: str
    iteration: int
    operation: str
    figures: Tuple[Decimal, ...]


class Test(NamedTuple):
    """What was run with one number of tasks: `entries` files, directories or each of both, of all tasks together."""

    tasks: int
    entries: int
    kinds: str
    processes: Tuple[ProcessRow, ...]
    tables: Tuple[Table, ...]


class Summary(NamedTuple):
    """All that one launch of mdtest said. nodemap has a 1 for every rank on the first rank's node, else a 0.

    shifted_by: ranks, by -N; opens_only: whether the read phase was told to read no bytes.
    """

    version: str
    tasks: int
    nodes: int
    nodemap: str
    command_line: str
    path: str
    began: str
    finished: str
    shifted_by: Optional[int]
    opens_only: bool
    tests: Tuple[Test, ...]
    complaints: Tuple[Complaint, ...]


class RankRow(NamedTuple):
    """One row of the per-rank file: for each operation that ran, its rate (operations a second) and its seconds.

    rank is None for the row of all ranks, whose seconds include the barrier and those of a rank do not. Its rates
    of 'Directory creation' and 'Directory stat' are the first rank's in 4.0.0 (an array is written past its end).
    """

    rank: Optional[int]
    entries: Optional[int]
    figures: Dict[str, Tuple[float, float]]


class Mdtest:
    """mdtest as an engine of metadata, on any number of nodes."""

    name = 'mdtest'
    programs = ('mdtest',)
    mpi = True

    def cannot(self, point: TreePoint) -> Optional[str]:
        """Why mdtest cannot carry the point out exactly, as half a sentence, or None if it can."""
        tree = point.tree
        if tree_fault(tree) is not None:
            return f'cannot do what contradicts itself: {tree_fault(tree)}'
        if tree.files_per_directory and tree.empties_per_directory not in (0, tree.files_per_directory):
            return 'cannot make other numbers of files and of directories: -I counts both'
        if tree.fsync and not tree.bytes_per_file:
            return 'cannot sync a file to which it writes nothing'
        if tree.bytes_per_file > MOST_BYTES_A_CALL:
            return f'cannot write {tree.bytes_per_file} bytes in one call'
        if tree.branching * entries(tree, 1).directories > MOST_DIRECTORIES:
            return f'cannot number {entries(tree, 1).directories} directories'
        if _longest_path(point) > LONGEST_PATH:
            return f'cannot handle paths of {_longest_path(point)} characters'
        return None

    def version_argv(self, program: str) -> List[str]:
        """The command that finds the version in the program's own text, where 4.0.0 and later have IOR's banner.

        Where they have none it is started, alone and with the API that touches no file: mdtest without arguments
        makes a directory.
        """
        text = 'IOR-[0-9][^ :]*: MPI Coordinated Test of Parallel I/O'
        return ['sh', '-c', f'grep -a -o -m 1 "{text}" "$1" || exec "$1" -a DUMMY -C -F -n 1 -d .', 'sh', program]

    def parse_version(self, text: str) -> str:
        """'4.0.0'; raises EngineError T7 if the text is not mdtest's or its rates are not to be believed."""
        match = re.search(r'IOR-(\S+): MPI Coordinated Test of Parallel I/O|mdtest-(\S+) was launched', text)
        if match is None:
            raise EngineError('T7', 'the program does not say which version of mdtest it is')
        version = match.group(1) or match.group(2)
        _refuse_version(version)
        return version

    def command(self, program: str, phase: str, point: TreePoint, raw: str, seed: int) -> Command:
        """The launch of one phase; it leaves raw + '.csv', the times of the ranks."""
        ranks = raw + '.csv'
        argv = [program, *options_of(phase, point)]
        if phase == 'create' and point.tree.bytes_per_file:
            # Without -G the data begin at the second of the clock, and neighbouring launches share most of them.
            offset = 1 + int(hashlib.sha256(f'{seed} {raw}'.encode()).hexdigest(), 16) % 2**30
            argv += ['--dataPacketType=random', '-G', str(offset)]
        argv += [f'--saveRankPerformanceDetails={ranks}']
        return Command('mpi', (tuple(argv),), {}, (ranks,))

    def measure(self, phase: str, point: TreePoint, command: Command, outcome: Outcome) -> TreeMeasurement:
        """What mdtest said of the launch. Raises EngineError:

        E1 it failed; T8 its exit status is 0, and yet it complained or did not finish; T17 its complaint is that
        entries are not there; T13 something is not where it should be; T7 the version's rates are not to be
        believed; T9, T10 it ran with other tasks or nodes than planned; P15 it did something else, or a phase did
        not run; T1 it was stopped by a stonewall, or its figures contradict each other; T12 it took no time.

        tool_figure: the mean as printed, which of one iteration is the only value. seconds: of the row 'all' in the
        per-rank file, which has eleven digits where the table has three decimals.
        hosts: mdtest counts the nodes and names none.
        """
        said = _complete(outcome)
        _refuse_version(said.version)
        _check_placement(said, point)
        _check_command(said, command)
        table = _only_table(said, phase, point)
        return TreeMeasurement(
            rates=_rates(table, _ranks(command, outcome, point), phase, point),
            world_size=said.tasks,
            hosts=tuple(f'unnamed-{node}' for node in range(1, said.nodes + 1)),
            clock_s=CLOCK_S,
        )


def options_of(phase: str, point: TreePoint) -> Tuple[str, ...]:
    """A phase of a point in mdtest's words, but for the data and what is recorded.

    one directory with N entries:  -n N           a tree:         -z DEPTH -b BRANCHING -I N
    files alone:                   -F             empties alone:  -D
    a tree a client:               -u             B bytes a file: -w B (create), -e B (read)

    On SHIFT_NODES nodes or more every later phase works on entries that its node has neither made nor seen (-N 1,
    which counts nodes). Never in private trees: the directory is shifted by one step more than the name in it, so
    that no entry is found, exit 0 (seen in 4.0.0 and 4.1.0+dev).
    """
    tree = point.tree
    entries_per_directory = str(tree.files_per_directory or tree.empties_per_directory)
    options = ['-a', 'POSIX', '-i', '1', '-d', '.', _PHASES[phase]]
    options += ['-u'] if tree.subtrees == 'private' else []
    options += ['-F'] if not tree.empties_per_directory else ['-D'] if not tree.files_per_directory else []
    options += ['-z', str(tree.depth), '-b', str(tree.branching), '-I'] if tree.depth else ['-n']
    options += [entries_per_directory]
    if tree.bytes_per_file and phase in _BYTES:
        options += [_BYTES[phase], str(tree.bytes_per_file)]
    options += ['-y'] if tree.fsync and phase == 'create' else []
    shifted = tree.subtrees == 'shared' and point.nodes >= SHIFT_NODES and phase != 'create'
    return (*options, '-N', '1') if shifted else tuple(options)


def parse_output(stdout: str) -> Summary:
    """What the standard output says, in the forms of 3.3.0, 4.0.0 and 4.1.0+dev, with -P, -Z and the statistics of
    the ranks. Lines that are none of mdtest's own are passed over: launchers and MPI libraries print there too.

    Raises EngineError: T7 if it is not mdtest's; T8 if it is not whole; T13 if something is not where it should be.
    """
    banner = re.search(r'^mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node\(s\)$', stdout, re.M)
    if banner is None:
        raise EngineError('T7', 'the output does not say which version of mdtest made it')
    finished = re.search(r'^-- finished at (.+) --$', stdout, re.M)
    if finished is None:
        raise EngineError('T8', "mdtest's output has no 'finished': the run did not come to its end")
    shifted = re.search(r'Shifting ranks by (\d+) for each phase', stdout)
    return Summary(
        version=banner.group(1),
        tasks=int(banner.group(2)),
        nodes=int(banner.group(3)),
        nodemap=_field('Nodemap: ([01]+)', stdout),
        command_line=_field('Command line used: (.+)', stdout),
        path=_field('Path *: (.+)', stdout),
        began=_field('-- started at (.+) --', stdout),
        finished=finished.group(1),
        shifted_by=int(shifted.group(1)) if shifted else None,
        opens_only=_OPENS_ONLY in stdout,
        tests=_tests(stdout[: finished.start()]),
        complaints=complaints(stdout),
    )


def parse_ranks(csv_text: str) -> Tuple[RankRow, ...]:
    """The rows of the per-rank file, that of all ranks first. Raises EngineError T8 if a line is not whole."""
    lines = csv_text.splitlines()
    if not csv_text.endswith('\n') or lines[0] != _RANKS_HEADER:
        raise EngineError('T8', f"mdtest's file of the ranks' times is cut short: '{(lines or [''])[-1]}'")
    rows = []
    for line in lines[1:]:
        match = _RANK.match(line)
        fields = match.group(3).split(',')[1:] if match else []
        # A rank's row has no figures of the tree.
        if match is None or len(fields) != 2 * (len(_OPERATIONS) - (0 if match.group(1) == 'all' else 2)):
            raise EngineError('T8', f"mdtest's file of the ranks' times is damaged: '{line}'")
        pairs = zip(_OPERATIONS, fields[0::2], fields[1::2])
        rows.append(
            RankRow(
                rank=None if match.group(1) == 'all' else int(match.group(1)),
                entries=int(match.group(2)) if match.group(2) else None,
                figures={name: (float(rate), float(seconds)) for name, rate, seconds in pairs if rate and seconds},
            )
        )
    return tuple(rows)


def complaints(stdout: str) -> Tuple[Complaint, ...]:
    """The lines in which mdtest says that something is wrong. That empty files are only opened is not wrong."""
    stonewall = [Complaint('T1', line) for line in re.findall('Continue stonewall hit.*', stdout)]
    found = [said.line for said in complaints_of_ior(stdout) if _OPENS_ONLY not in said.line]
    return tuple(stonewall + [Complaint('T17' if _NOT_THERE.search(line) else 'T8', line) for line in found])


_PHASES = {'create': '-C', 'stat': '-T', 'read': '-E', 'remove': '-r'}
_BYTES = {'create': '-w', 'read': '-e'}
_OPENS_ONLY = 'Read bytes is 0, thus, a read test will actually just open/close'
_NOT_THERE = re.compile(
    r'[Uu]nable to (?:stat|open|rename|remove)|(?:open64|unlink|rename)\(.*No such file|unlink\(\)'
)
_HYDRA_ENDING = re.compile(r'TERMINATED WITH THE EXIT STRING: (.+)')

# In the order of the per-rank file.
_OPERATIONS = (
    'Directory creation',
    'Directory stat',
    'Directory read',
    'Directory rename',
    'Directory removal',
    'File creation',
    'File stat',
    'File read',
    'File removal',
    'Tree creation',
    'Tree removal',
)
_METRICS = {
    'directory_create': 'Directory creation',
    'directory_stat': 'Directory stat',
    'directory_remove': 'Directory removal',
    'file_create': 'File creation',
    'file_stat': 'File stat',
    'file_read': 'File read',
    'file_remove': 'File removal',
    'tree_create': 'Tree creation',
    'tree_remove': 'Tree removal',
}
_TREE = {'create': 'Tree creation', 'remove': 'Tree removal'}

_RANKS_HEADER = 'rank,items' + ''.join(f',rate-{name},time-{name}' for name in _OPERATIONS)
_SCIENTIFIC = r'(?:-?\d\.\d{10}e[+-]\d+|inf)'
_RANK = re.compile(rf'(all(?=,\d)|\d+(?=,,)),(\d*)((?:,{_SCIENTIFIC}|,)*)\Z', re.ASCII)

_TEST = re.compile(r'(\d+) tasks, (\d+) (files/directories|files|directories|file)\Z', re.ASCII)
_TITLE = re.compile(r'SUMMARY (rate|time)(?: \(in [^)]+\))?: \(of (\d+) iterations\)\Z', re.ASCII)
_HEAD = re.compile(r'   (?:Operation  |-{9}  )')
_FIGURE = re.compile(r'-?(?:\d+\.\d{3}|inf|nan)\Z', re.ASCII)
_PROCESSES = re.compile(r'Per process result \((rate|time)\):\Z')
_ITERATION = re.compile(r'iteration: (\d+)\Z', re.ASCII)
_PROCESS = re.compile(r'Test (\w+ \w+) ((?:[-+.\de]+|inf|nan)(?:,(?:[-+.\de]+|inf|nan))*)\Z', re.ASCII)


def _longest_path(point: TreePoint) -> int:
    """Characters of the longest path that mdtest can come to, its doubled slashes included."""
    tree, own = point.tree, entries(point.tree, 1)
    rank, directory, entry = (len(str(number)) for number in (point.tasks, own.directories, own.inodes))
    level = len('//mdtest_tree..') + rank + directory
    return len('./test-dir.0-0/') + (tree.depth + 1) * level + len('/file.mdtest..') + rank + entry


def _refuse_version(version: str) -> None:
    why = distrusted(version, 'mdtest rate')
    if why is not None:
        raise EngineError(
            'T7', f'the rates of mdtest {version} are wrong: {why}; install 4.0.0 or later (Spack: ior@4.0.0)'
        )


def _complete(outcome: Outcome) -> Summary:
    """The output of a launch that ended well and complained of nothing."""
    if len(outcome.processes) != 1:
        raise EngineError('T9', f'mdtest is one launch, and {len(outcome.processes)} processes were started')
    stdout, status = outcome.stdouts[0], outcome.exit_status
    said = complaints(stdout)
    if status:
        # The best reason first: an error, any complaint, a line of the launcher.
        lines = [line.strip() for line in outcome.stderrs[0].splitlines() if line.strip()]
        causes = [c.line for c in said if 'ERROR' in c.line or 'failed' in c.line] + [c.line for c in said]
        why = next(iter(causes + lines + _HYDRA_ENDING.findall(stdout)), 'no reason given')
        ending = f'exited with {status}' if status > 0 else f'died of signal {-status}'
        raise EngineError('E1', f"mdtest {ending}: '{why}'")
    if said:
        more = f' and {len(said) - 1} times more of the kind' if len(said) > 1 else ''
        raise EngineError(said[0].rule, f"mdtest exited with 0 and said '{said[0].line}'{more}")
    return parse_output(stdout)


def _field(pattern: str, stdout: str) -> str:
    match = re.search(f'^{pattern}$', stdout, re.M)
    if match is None:
        raise EngineError('T13', f"mdtest's output has no line '{pattern.partition('(')[0].rstrip(' *')}'")
    return match.group(1)


def _tests(stdout: str) -> Tuple[Test, ...]:
    tests: List[Test] = []
    processes, iteration = '', 0
    for line in stdout.splitlines():
        match = _TEST.match(line)
        if match is not None:
            tests.append(Test(int(match.group(1)), int(match.group(2)), match.group(3), (), ()))
        elif not tests or not line:
            continue  # a verbose mdtest heads what it prints on the way like its tables
        elif _TITLE.match(line):
            tests[-1] = _with_table(tests[-1], line)
        elif line.startswith('   ') and not _HEAD.match(line):
            tests[-1] = _with_row(tests[-1], line)
        elif _PROCESSES.match(line):
            processes = line.partition('(')[2].rstrip('):')
        elif processes and _ITERATION.match(line):
            iteration = int(line.partition(' ')[2])
        elif processes and line.startswith('Test '):
            tests[-1] = tests[-1]._replace(processes=tests[-1].processes + (_process(line, processes, iteration),))
    for table in (table for test in tests for table in test.tables):
        if [row.operation for row in table.rows[-2:]] != list(_OPERATIONS[-2:]):
            raise EngineError('T13', f"mdtest's table of the {table.quantity} does not end with the trees")
    return tuple(tests)


def _with_table(test: Test, title: str) -> Test:
    match = _TITLE.match(title)
    assert match is not None
    return test._replace(tables=test.tables + (Table(match.group(1), int(match.group(2)), ()),))


def _with_row(test: Test, line: str) -> Test:
    words = line.replace(':', ' ', 1).split()
    operation, figures = ' '.join(words[:2]), words[2:]
    known = operation in _OPERATIONS and len(figures) in (4, 7) and all(_FIGURE.match(figure) for figure in figures)
    if not known or not test.tables or any(row.operation == operation for row in test.tables[-1].rows):
        raise EngineError('T13', f"mdtest's table has a line that is no row of it: '{line}'")
    numbers = [Decimal(figure) for figure in figures]
    of_ranks = (numbers[0], numbers[1], numbers[2]) if len(numbers) == 7 else None
    row = Row(operation, *numbers[-4:], of_ranks=of_ranks)
    last = test.tables[-1]._replace(rows=test.tables[-1].rows + (row,))
    return test._replace(tables=test.tables[:-1] + (last,))


def _process(line: str, quantity: str, iteration: int) -> ProcessRow:
    match = _PROCESS.match(line)
    if match is None or match.group(1) not in _OPERATIONS:
        raise EngineError('T13', f"mdtest's results of the processes have a line that is no row of them: '{line}'")
    return ProcessRow(quantity, iteration, match.group(1), tuple(Decimal(f) for f in match.group(2).split(',')))
