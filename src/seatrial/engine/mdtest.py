"""mdtest 4: one MPI launch whose ranks are the tasks of a metadata tree. The engine of a site.

Read in the sources of 3.3.0, 4.0.0 and 4.1.0+dev (hpc/ior: src/mdtest.c) and seen with programs built from them. All
that it makes lies in `test-dir.0-0`, one more directory than the plan's, which its last phase, -r, removes. A phase
is a launch of its own, so that entries can be counted between them.

A rate is all ranks' operations over the time of the slowest rank and the barrier after it, which on short phases is
all of it: 52 files in 0.07 ms of work and 8 ms of waiting (seen), hence Metric.idle_share. 'Tree creation' and 'Tree
removal' count one tree by the first rank's clock; here they are operations and seconds of all.

The data are random and other in every launch, but file i of rank r has the bytes of file i - 1 of rank r + 1 (seen).
They are made inside the timed region: of 2 MB a file on tmpfs they cost a fifth of the rate, of 40 KiB nothing.
"""

import re
from decimal import Decimal
from typing import Dict, List, NamedTuple, Optional, Tuple

from seatrial.engine import base
from seatrial.engine.base import MAX_BYTES_PER_CALL, Command, Engine, EngineError, Outcome, check_life, only_process
from seatrial.engine.ior import Complaint, check_placement, hashed, refuse_exit, rows_of_ranks, version_in
from seatrial.engine.ior import complaints as complaints_of_ior
from seatrial.model.metric import UNNAMED, Measurement, Metric, rate
from seatrial.model.point import Point
from seatrial.workload.base import FIND, READ, Entries
from seatrial.workload.registry import does, phase_of
from seatrial.workload.tree import levels_total, operations
from seatrial.workload.words import counted

CLOCK_S = 1e-6  # gettimeofday(2)
PRINTED = Decimal('0.001')  # rates in the table have three decimals
SHIFT_NODES = 4  # rule T4: -N shifts stat by one node, read by two, removal by three
MAX_PATH = 1023  # MAX_PATHLEN is the size of its buffers, which it fills without a check
MAX_DIRECTORIES = 2**31 - 1  # it numbers them with an int
CUT_AT = 1023  # and prints lines through a buffer of 1024 bytes


class MdtestRow(NamedTuple):
    """One row of a table, verbatim: operations a second where it is one of rates."""

    operation: str
    maximum: Decimal
    minimum: Decimal
    mean: Decimal
    deviation: Decimal


class MdtestSummary(NamedTuple):
    """The output of one launch of mdtest. nodemap has a 1 for every rank on the first rank's node, else a 0."""

    version: str
    tasks: int
    nodes: int
    nodemap: str
    command_line: str
    shifted_by: Optional[int]  # ranks, by -N
    opens_only: bool  # whether the read phase reads no bytes by its options
    runs: Tuple[Tuple[int, int, str], ...]  # number of tasks, entries of all tasks, and their kinds
    titles: Tuple[Tuple[str, str], ...]  # titles of the tables: 'rate' or 'time', and number of iterations
    rows: Tuple[MdtestRow, ...]  # rows of all tables


class RankRow(NamedTuple):
    """One row of the per-rank file."""

    # None: all ranks, with the barrier in the seconds; in 4.0.0 some of its rates are the first rank's
    rank: Optional[int]
    figures: Dict[str, Tuple[float, float]]  # rate (op/s) and seconds of each operation that ran


class Mdtest(Engine):
    name = 'mdtest'
    kinds = ('tree',)
    programs = ('mdtest',)
    how_to_get = 'from spack-env/ (it comes with ior@4.0.0)'
    says_version = re.compile(r'(?:IOR|mdtest)-(\S+)(?:: MPI Coordinated Test of Parallel I/O| was launched)')
    without_version = 'T7'
    oldest = (3, 3, 1)
    too_old = (
        'the rates of mdtest {} are wrong: maximum, minimum and mean were taken over the ranks and not over the '
        "iterations, and a rank's rate counted the barrier (hpc/ior PRs 312 and 336); install 4.0.0 or later "
        '(Spack: ior@4.0.0)'
    )
    mpi = True
    makes = (r'test-dir\.\d+-\d+', r'mdtest_tree(\.\d+)+', r'(file|dir)\.mdtest\.\d+\.\d+')
    names_hosts = False

    def cannot(self, point: Point) -> Optional[str]:
        tree, directories, longest = point.tree, levels_total(point, 1).directories, _longest_path(point)
        unlike = tree.files_per_directory and tree.empties_per_directory not in (0, tree.files_per_directory)
        return base.first_reason(
            (does(point, FIND), 'cannot find files: IO500 has another program for that'),
            (unlike, 'cannot make other numbers of files and of directories: -I counts both'),
            (tree.fsync and not tree.bytes_per_file, 'cannot sync a file to which it writes nothing'),
            (tree.bytes_per_file > MAX_BYTES_PER_CALL, f'cannot write {tree.bytes_per_file} bytes in one call'),
            (tree.branching * directories > MAX_DIRECTORIES, f'cannot number {directories} directories'),
            (longest > MAX_PATH, f'cannot handle paths of {longest} characters'),
        )

    def repeats(self, point: Point) -> str:
        """A file's seed is its number and its rank together, so there are as many seeds as sums of the two."""
        files = levels_total(point, point.tasks).files
        if not point.tree.bytes_per_file or point.tasks == 1 or not files:
            return ''
        twice = files - (files // point.tasks + point.tasks - 1)
        return f'{twice} of {files} files have the bytes of one that another rank makes' if twice > 0 else ''

    def version_argv(self, program: str) -> List[str]:
        """Finds the version in the program's own text, which 4.0.0 and later have. An older one is started, alone and
        with the API that touches no file: mdtest without arguments makes a directory."""
        return version_in(program, '-a DUMMY -C -F -n 1 -d .')

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """The launch of one phase; it leaves raw + '.csv', the times of the ranks."""
        ranks = raw + '.csv'
        argv = [program, *options_of(phase, point)]
        if phase_of(point, phase).makes and point.tree.bytes_per_file:
            # Without -G the data begin at the second of the clock, and neighbouring launches share most of them.
            argv += ['--dataPacketType=random', '-G', str(hashed(seed, raw, 2**30 + 1))]
        argv += [f'--saveRankPerformanceDetails={ranks}']
        return Command('mpi', (tuple(argv),), {}, (ranks,))

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        return '-N' in options_of(phase, point)

    def entries(self, point: Point, phase: str) -> Entries:
        """The plan's entries, in a directory of mdtest's own, which the last phase removes."""
        planned = super().entries(point, phase)
        return planned if phase_of(point, phase).removes else planned._replace(directories=planned.directories + 1)

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 it failed; T8 it complained and exited with 0, or did not finish; T17 entries are
        not there; T13 something is missing; T7 the version's rates are not valid; T9, T10 other tasks or nodes than
        planned; P15 it did something else, or a phase did not run; T1 a stonewall, figures that contradict each
        other, or more time than it had; T12 no time.

        The figure: the mean as printed, of one iteration. The seconds: of the row 'all' in the per-rank file, which
        has eleven digits; each time is by one rank's own clock (updateResult). hosts: nodes are counted, not named.
        """
        only_process('mdtest', outcome)
        stdout = outcome.stdouts[0]
        reported = complaints(stdout)
        refuse_exit('mdtest', outcome, reported)
        if reported:
            worst = next((complaint for complaint in reported if complaint.rule != 'T8'), reported[0])
            more = f' and {counted(len(reported) - 1, "other complaint")}' if len(reported) > 1 else ''
            raise EngineError(worst.rule, f"mdtest exited with 0 and said '{worst.line}'{more}")
        output = parse_output(stdout)
        self.usable(output.version)
        tasks = output.tasks if output.tasks != point.tasks else len(output.nodemap)
        check_placement('mdtest', point, tasks, output.nodes, output.nodemap.count('1'))
        _check_shift(output, phase, point)
        # Its own account of its arguments; the program may be another one, behind a script.
        arguments = ''.join(f" '{argument}'" for argument in command.argvs[0][1:])
        program = output.command_line.partition(" '")[0]
        if output.command_line != (program + arguments)[: CUT_AT - len('Command line used: ')]:
            raise EngineError('P15', f'mdtest ran with {output.command_line[len(program) :].strip() or "no options"}')
        _check_table(output, phase, point)
        rates = _rates(output.rows, _ranks(command, outcome, point), phase, point)
        for metric in rates:
            check_life('mdtest', metric.seconds, outcome.processes[0])
        hosts = tuple(f'{UNNAMED}{node}' for node in range(1, output.nodes + 1))
        return Measurement(rates, world_size=output.tasks, hosts=hosts, clock_s=CLOCK_S)


def options_of(phase: str, point: Point) -> Tuple[str, ...]:
    """A phase of a point in mdtest's words, except for the data and the records.

    one directory with N entries:  -n N           a tree:         -z DEPTH -b BRANCHING -I N
    files alone:                   -F             empties alone:  -D
    a tree a task:                 -u             B bytes a file: -w B (create), -e B (read)

    On SHIFT_NODES nodes or more later phases work on entries that their node has neither made nor seen (-N 1 counts
    nodes); never in private trees, where no entry would be found, exit 0 (seen in 4.0.0 and 4.1.0+dev).
    """
    tree = point.tree
    files, empties, size = tree.files_per_directory, tree.empties_per_directory, tree.bytes_per_file
    options = ['-a', 'POSIX', '-i', '1', '-d', '.', _PHASES[phase]]
    options += ['-u'] if tree.subtrees == 'private' else []
    options += ['-F'] if not empties else ['-D'] if not files else []
    options += ['-z', str(tree.depth), '-b', str(tree.branching), '-I'] if tree.depth else ['-n']
    options += [str(files or empties)]
    act = phase_of(point, phase)
    options += ['-w' if act.makes else '-e', str(size)] if size and act.moves else []
    options += ['-y'] if tree.fsync and act.makes else []
    shifted = tree.subtrees == 'shared' and point.nodes >= SHIFT_NODES and act.needs
    return (*options, '-N', '1') if shifted else tuple(options)


def parse_output(stdout: str) -> MdtestSummary:
    """The standard output of 3.3.0, 4.0.0 or 4.1.0+dev, among lines of launchers and MPI libraries. Raises
    EngineError: T7 if it is not mdtest's; T8 if it is not whole; T13 if something is missing."""
    banners = re.findall(r'^mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node\(s\)$', stdout, re.M)
    if not banners:
        raise EngineError('T7', 'the output does not say which version of mdtest made it')
    version, tasks, nodes = banners[0]
    if len(banners) > 1:
        raise EngineError('T9', f'mdtest ran {len(banners)} times with {tasks} tasks instead of once with all')
    finished = re.search(r'^-- finished at .+ --$', stdout, re.M)
    if finished is None:
        raise EngineError('T8', "mdtest's output has no 'finished': the run did not come to its end")
    whole = stdout[: finished.start()]
    parts = _TITLE.split(whole)
    lines = [line for body in parts[3::3] for line in body.splitlines() if line.startswith('   ')]
    shifted = re.search(r'Shifting ranks by (\d+) for each phase', stdout)
    return MdtestSummary(
        version=version,
        tasks=int(tasks),
        nodes=int(nodes),
        nodemap=_field('Nodemap', stdout),
        command_line=_field('Command line used', stdout),
        shifted_by=int(shifted.group(1)) if shifted else None,
        opens_only=_OPENS_ONLY in stdout,
        runs=tuple((int(ran_by), int(entries), kinds) for ran_by, entries, kinds in _RUN.findall(whole)),
        titles=tuple(zip(parts[1::3], parts[2::3])),
        rows=tuple(_row(line) for line in lines if not _HEAD.match(line)),
    )


def parse_ranks(csv_text: str) -> Tuple[RankRow, ...]:
    """The rows of the per-rank file, that of all ranks first. Raises EngineError T8 if a line is not whole."""
    rows = []
    for of_all, rank, of_rank in rows_of_ranks('mdtest', csv_text, _RANKS_HEADER, _RANK):
        fields = (of_all or of_rank).split(',')[1:]
        pairs = zip(_OPERATIONS, fields[0::2], fields[1::2])
        figures = {name: (float(rate), float(seconds)) for name, rate, seconds in pairs if rate and seconds}
        rows.append(RankRow(int(rank) if rank else None, figures))
    return tuple(rows)


def complaints(stdout: str) -> Tuple[Complaint, ...]:
    """Lines in which mdtest reports a fault. Empty files that are only opened are none."""
    stonewall = [Complaint('T1', line) for line in re.findall('Continue stonewall hit.*', stdout)]
    lines = [fault.line for fault in complaints_of_ior(stdout) if not fault.line.startswith(_OPENS_ONLY)]
    return tuple(stonewall + [Complaint('T17' if _NOT_THERE.search(line) else 'T8', line) for line in lines])


_TOO_SHORT = 'too short to measure, or the clock was set'
_PHASES = {'create': '-C', 'stat': '-T', 'read': '-E', 'remove': '-r'}
_OPENS_ONLY = 'WARNING: Read bytes is 0, thus, a read test will actually just open/close'
_NOT_THERE = re.compile(r'[Uu]nable to (?:stat|open|read|rename|remove) |(?:unlink|rename)\(\) of file ')

_OPERATIONS = (  # the columns of the per-rank file
    *(f'Directory {act}' for act in ('creation', 'stat', 'read', 'rename', 'removal')),
    *(f'File {act}' for act in ('creation', 'stat', 'read', 'removal')),
    *('Tree creation', 'Tree removal'),
)

_ACTS = {'create': 'creation', 'remove': 'removal'}
_TREE = {'create': 'Tree creation', 'remove': 'Tree removal'}

_RANKS_HEADER = 'rank,items' + ''.join(f',rate-{name},time-{name}' for name in _OPERATIONS)
_FIELD = r'(?:,(?:-?\d\.\d{10}e[+-]\d\d\d?|inf)?)'
# A rate and a time of each operation; a rank's row has none of the tree.
_RANK = re.compile(rf'(?:all,\d+({_FIELD}{{22}})|(\d+),({_FIELD}{{18}}))\Z', re.ASCII)

_RUN = re.compile(r'^(\d+) tasks, (\d+) (files/directories|files|directories|file)$', re.M | re.ASCII)
_TITLE = re.compile(r'^SUMMARY (rate|time)(?: \(in [^)]+\))?: \(of (\d+) iterations\)$', re.M | re.ASCII)
_HEAD = re.compile(r'   (?:Operation|-{9})  ')
_FIGURE = re.compile(r'-?(?:\d+\.\d{3}|inf|nan)\Z', re.ASCII)


def _operation(metric: str) -> str:
    entry, act = metric.split('_')
    return f'{entry.capitalize()} {_ACTS.get(act, act)}'


def _longest_path(point: Point) -> int:
    """Characters of the longest path that mdtest can use, its doubled slashes included."""
    entries = levels_total(point, 1)
    rank, directory, entry = (len(str(number)) for number in (point.tasks, entries.directories, entries.inodes))
    level = len('//mdtest_tree..') + rank + directory
    return len('./test-dir.0-0/') + (point.tree.depth + 1) * level + len('/file.mdtest..') + rank + entry


def _field(name: str, stdout: str) -> str:
    match = re.search(f'^{name} *:? (.+?)$', stdout, re.M)
    if match is None:
        raise EngineError('T13', f"mdtest's output has no line that begins with '{name}'")
    return match.group(1)


def _row(line: str) -> MdtestRow:
    words = line.replace(':', ' ', 1).split()
    operation, figures = ' '.join(words[:2]), words[2:]
    if operation not in _OPERATIONS or len(figures) not in (4, 7) or not all(map(_FIGURE.match, figures)):
        raise EngineError('T13', f"mdtest's table has a line that is no row of it: '{line}'")
    return MdtestRow(operation, *map(Decimal, figures[-4:]))  # the figures of --showRankStatistics stand before these


def _check_shift(output: MdtestSummary, phase: str, point: Point) -> None:
    """A shift by ranks is one by nodes only if ranks are dealt to the nodes in blocks or in turn."""
    planned = None
    if '-N' in options_of(phase, point):
        block = '1' * point.tasks_per_node + '0' * (point.tasks - point.tasks_per_node)
        in_turn, nodemap = ('1' + '0' * (point.nodes - 1)) * point.tasks_per_node, output.nodemap
        if nodemap not in (block, in_turn):
            raise EngineError('T10', f'the tasks are dealt to the nodes neither in blocks nor in turn: {nodemap}')
        planned = point.tasks_per_node if nodemap == block else 1
    if output.shifted_by != planned:
        raise EngineError('P15', f'mdtest shifted the ranks by {output.shifted_by or 0} instead of {planned or 0}')


def _check_table(output: MdtestSummary, phase: str, point: Point) -> None:
    if len(output.runs) != 1 or output.titles != (('rate', '1'),):
        raise EngineError('P15', f'one table of rates was planned, and mdtest printed {len(output.titles)} others')
    in_order = [row.operation for row in output.rows]
    if in_order != [name for name in _OPERATIONS if name in in_order]:
        raise EngineError('T13', f"mdtest's table has other rows than its own: {', '.join(in_order)}")
    if in_order[-2:] != list(_TREE.values()):
        raise EngineError('T13', "mdtest's table of the rate does not end with the trees")
    there = levels_total(point, point.tasks)
    kinds = '/'.join(['files'] * bool(there.files) + ['directories'] * bool(there.empties)) or 'files'
    due = (point.tasks, there.files or there.empties, kinds)
    if output.runs[0] != due:
        form = 'mdtest worked with {} tasks on {} {}, where {} tasks on {} {} were planned'
        raise EngineError('P15', form.format(*output.runs[0], *due))
    reads = READ in phase_of(point, phase).does
    if output.opens_only != (reads and not point.tree.bytes_per_file):
        raise EngineError('P15', 'mdtest read nothing' if output.opens_only else 'mdtest read what was to be opened')
    planned = {_operation(metric) for metric in operations(point, phase)}
    # A phase that was not run has a row of zeros.
    ran = {row.operation for row in output.rows if row.maximum or row.minimum or row.mean}
    for operation in _OPERATIONS:
        if operation in planned - ran:
            raise EngineError('P15', f'{operation} was planned, and did not run: its rate is 0.000')
        if operation in ran - planned - {_TREE.get(phase)}:
            raise EngineError('P15', f'{operation} was not planned, and mdtest reports its rate')


def _ranks(command: Command, outcome: Outcome, point: Point) -> Tuple[RankRow, ...]:
    text = outcome.outputs[0]
    if text is None:
        raise EngineError('T8', f'mdtest exited with 0 and did not write {command.outputs[0]}')
    ranks = parse_ranks(text)
    if [row.rank for row in ranks] != [None, *range(point.tasks)]:
        raise EngineError(
            'T9', f'mdtest recorded the times of {len(ranks) - 1} ranks, not of 0 to {point.tasks - 1} in order'
        )
    return ranks


def _rates(table: Tuple[MdtestRow, ...], ranks: Tuple[RankRow, ...], phase: str, point: Point) -> Tuple[Metric, ...]:
    rows = {row.operation: row for row in table}
    rates = []
    for metric, number in operations(point, phase).items():
        operation = _operation(metric)
        row = rows[operation]
        if {row.maximum, row.minimum, row.mean} != {row.mean} or row.deviation:
            raise EngineError('T1', f'{operation} has one value, and its maximum, minimum and mean differ')
        if not row.mean.is_finite() or row.mean < 0:
            raise EngineError('T12', f'{operation} has a rate of {row.mean}: {_TOO_SHORT}')
        seconds = _seconds(ranks[0], operation)
        of_tree = operation in _TREE.values()
        task_seconds = () if of_tree else tuple(_seconds(rank, operation) for rank in ranks[1:])
        if of_tree:
            _check_tree(row, ranks[0], seconds, point)
        elif abs(float(row.mean) - number / seconds) > _slack(row):
            raise EngineError('T1', f'{operation}: {row.mean} a second for {number} in {seconds} s')
        share = number // point.tasks
        for of_rank, task_s in zip(ranks[1:], task_seconds):
            done = of_rank.figures[operation][0] * task_s
            if abs(done - share) > 1e-6 * share:
                raise EngineError('T1', f'{operation}: rank {of_rank.rank} did {done:.1f} of its {share}')
            if task_s > seconds + CLOCK_S:
                raise EngineError('T1', f'{operation}: rank {of_rank.rank} took {task_s} s of {seconds} s in all')
        rates.append(rate(metric, number, seconds, str(row.mean), task_seconds))
    return tuple(rates)


def _seconds(row: RankRow, operation: str) -> float:
    if operation not in row.figures:
        raise EngineError('T13', f"mdtest's file of the ranks' times lacks {operation}")
    seconds = row.figures[operation][1]
    if seconds <= 0:
        raise EngineError('T12', f'{operation} took {seconds} s: {_TOO_SHORT}')
    return seconds


def _slack(row: MdtestRow) -> float:
    """The error of a printed rate, which the per-rank file has to eleven digits."""
    return float(PRINTED) / 2 + 1e-9 * float(row.mean)


def _check_tree(row: MdtestRow, of_all: RankRow, seconds: float, point: Point) -> None:
    """The table has one tree, by the first rank's clock; the per-rank file one for each rank, even if shared."""
    one_tree = levels_total(point, 1).directories
    if float(row.mean) + _slack(row) < one_tree / seconds:
        raise EngineError('T1', f'{row.operation}: {row.mean} a second for {one_tree} in no more than {seconds} s')
    counted = of_all.figures[row.operation][0] * seconds
    if abs(counted - point.tasks * one_tree) > 1e-6 * counted:
        raise EngineError('T1', f'{row.operation}: {counted:.1f} directories, not {one_tree} for each rank')
