"""IOR 4: one MPI launch whose ranks are the tasks. The engine of a site.

Read in the sources of 3.3.0, 4.0.0 and 4.1.0+dev (hpc/ior) and seen with programs built from them. Offsets follow
LANL's mpi_io_test: segment * tasks * block + rank * block + i * transfer in a shared file, segment * block + i *
transfer in a file a rank. A write unlinks a file of the same name before the clock starts (without -E).

HDF5 has a dataset of each segment (aiori-HDF5.c): contiguous files and segments alone. NCMPI refuses -F and -z,
ignores -C, and cannot write 4 GiB past a task's first offset, where it defines its variable again (aiori-NCMPI.c).
With both, -e comes to fsync(2) (strace: IOR 4.0.0, HDF5 1.10.8, PnetCDF 1.12.3).

The data are `-l random`, other for ranks, launches and offsets. They repeat every 128 MiB of a file, for the seeds of
rand_r(3) are then alike (update_write_memory_pattern in utilities.c; rule P4a). They are made inside the timed
region, at about 5,000 MiB/s a core: 1,145 MiB/s become 918 (one rank on tmpfs, medians of 12 launches; rule P4c).
Other types compress to a fifth or less, `-l incompressible` to one word.
"""

import hashlib
import json
import re
from decimal import Decimal
from math import gcd
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Pattern, Tuple

from seatrial.engine import base
from seatrial.engine.base import EngineError
from seatrial.engine.failed_call import failed_calls
from seatrial.model.metric import LOWER, UNNAMED, Measurement, Metric, TaskTime, bandwidth
from seatrial.model.point import Point
from seatrial.model.units import MIB, approximate_size
from seatrial.workload.access import OPENING, file_name, numbered_file, shared_whole
from seatrial.workload.base import READ, WRITE
from seatrial.workload.registry import phase_of, phases_of

PRINTED_S = Decimal('0.0001')  # the times in the summary have four decimals; the clock is gettimeofday(2)
RANK_SLACK = 1e-6  # the rows of the ranks have eleven digits (saveRankPerformanceDetailsCSV)
LEFT_APART_S = 0.1  # ranks of one node left the barrier up to 0.03 s apart, four of them to a core (seen with 4.0.0)
LEFT_APART_SHARE = 0.1
SEEDS = 2**27  # seeds of rand_r(3) in glibc that differ: it multiplies, and takes bits 16 to 26
WORD = 8  # IOR's own unit: block and transfer are multiples of it
NCMPI_INT = 2**32  # its NCMPI casts an offset less the first one to int
DIRECT = '--posix.odirect'


class Complaint(NamedTuple):
    """A line in which IOR says that something is wrong, and the validity rule that it breaks."""

    rule: str
    line: str


class IorSummary(NamedTuple):
    """All output of one launch of IOR."""

    command_line: str
    machine: str  # host name of the first rank, the only one that IOR prints
    setup: Dict[str, Any]  # keys as in setup_of
    nodes: int  # counted by shared memory
    tasks: int
    tasks_per_node: int  # counted on the first rank's node
    # rows of the repetitions, and of all together, by IOR's own names; s, MiB/s and MiB exactly as printed
    results: Tuple[Dict[str, Any], ...]
    totals: Tuple[Dict[str, Any], ...]


class RankTime(NamedTuple):
    """One row of the per-rank file: seconds and B/s, with and without open and close."""

    access: str
    rank: int
    with_open_s: float
    transfer_s: float
    with_open_throughput: float
    throughput: float


class Ior(base.Engine):
    name = 'ior'
    kinds = ('access', 'checkpoint', 'reuse')
    declines = {'random': 'does not report how long single transfers took'}  # noqa: RUF012
    programs = ('ior',)
    how_to_get = 'from spack-env/ (ior@4.0.0)'
    says_version = re.compile(r'IOR-(\S+): MPI Coordinated Test of Parallel I/O')
    without_version = 'T7'
    oldest = (4, 0, 0)
    too_old = (
        'IOR {} has neither data that do not compress nor times of the ranks; '
        'install 4.0.0 or later (Spack: ior@4.0.0)'
    )
    mpi = True
    names_hosts = False
    keeps_files = False  # it removes existing files unless given -E (IOR.c, TestIoSys)
    data_rate = 5000.0 * MIB

    def cannot(self, point: Point) -> Optional[str]:
        """Random order is exact in whole files alone: in a shared one -z gives ranks unequal numbers of offsets."""
        data = point.data
        if any(phase.mixed for phase in phases_of(point)):
            return 'cannot read and write back in place'
        if data.transfer_size % WORD:
            return f'cannot move {data.transfer_size} bytes at a time: it moves multiples of {WORD}'
        if data.collective and data.extent == 'whole':
            return 'cannot open a whole file collectively: with -F every task opens its file alone'
        if data.interface == 'hdf5' and (data.order != 'contiguous' or shared_whole(point)):
            return 'cannot go through HDF5 in any other way than contiguous files and segments'
        if data.interface == 'netcdf' and (data.extent == 'whole' or data.order == 'random'):
            return 'cannot go through NetCDF in any other way than segments of one file, contiguous or strided'
        if data.interface == 'netcdf' and data.transfers > NCMPI_INT // gcd(NCMPI_INT, _step(point)):
            return "cannot write NetCDF to 4 GiB past a task's first byte: it defines its variable again, and fails"
        if data.order == 'random' and data.extent == 'segment':
            return 'cannot keep the tasks to their segments in random order: -z deals the offsets out unequally'
        if data.order == 'random' and data.transfers < 2:
            return 'cannot shuffle a single transfer'
        return base.immovable(point)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """True with -C, whether the ranks fill node after node or go round them; see setup_of."""
        return phase_of(point, phase).reads and bool(setup_of(point, phase)['reorderTasks'])

    def repeats(self, point: Point) -> str:
        """A clause that says after how many bytes a task's seeds repeat, of which 27 bits count."""
        share = point.data.bytes_per_task
        after = SEEDS // gcd(SEEDS, _step(point)) * point.data.transfer_size
        again = f'the data of a task begin again after {approximate_size(after)}'
        return f'{again}, and it writes {approximate_size(share)}' if share > after else ''

    def version_argv(self, program: str) -> List[str]:
        """Finds the version in the program's own text, for IOR has no option for it and MPI may need a launcher. Only
        a script around IOR is started, alone and with the API that touches no file."""
        return version_in(program, f'-a DUMMY -w -b {WORD} -t {WORD}')

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> base.Command:
        """The launch of a phase; leaves raw + '.json' and '.csv'. Raises EngineError P11 for a path IOR would cut."""
        outputs = (raw + '.json', raw + '.csv')
        _check_paths(program, raw)
        setup = setup_of(point, phase)
        argv = [program, '-a', setup['api'], '-i', '1', '-k']
        writes = setup['writeFile']
        argv += ['-w', '-e', '-l', 'random', '-G', str(hashed(seed, raw, 2**31 - 1))] if writes else ['-r']
        argv += ['-E'] if setup['useExistingTestFile'] else []
        argv += ['-F'] if setup['filePerProc'] else []
        argv += ['-c'] if setup['collective'] else []
        argv += [DIRECT] if point.data.direct else []
        argv += ['-C'] if setup['reorderTasks'] else []
        # The order of a read is another than that of the write: a file system that writes to a log laid the file
        # out in the order of the write.
        argv += ['-z', f'--random-offset-seed={hashed(seed, phase, 2**30)}'] if setup['randomOffset'] else []
        for option, key in (('-b', 'blockSize'), ('-t', 'transferSize'), ('-s', 'segmentCount')):
            argv += [option, str(setup[key])]
        argv += ['-o', 'data', '-O', 'summaryFormat=JSON', '-O', f'summaryFile={outputs[0]}']
        argv += ['-O', f'saveRankPerformanceDetailsCSV={outputs[1]}']
        readers = range(point.tasks if shared_whole(point) else 0)
        links = tuple((numbered_file(rank), file_name(point, rank)) for rank in readers)
        return base.Command('mpi', (tuple(argv),), {}, outputs, links)

    def measure(self, phase: str, point: Point, command: base.Command, outcome: base.Outcome) -> Measurement:
        """Raises EngineError: E1 it failed; T8 it complained and exited with 0, or did not finish; T13 the summary
        lacks something; T7 its version; T9, T10 other tasks or nodes than planned; P15 it did something else; T1
        other bytes than planned, figures that contradict each other, or more time than it had; T12 no time.

        The figure: bwMiB as printed, with four decimals. The seconds are those of the bandwidth, within the printed
        time: first open to last close by the nodes' own clocks, which IOR does not compare (ReduceIterResults). Where
        these differ the region is too long, and never shorter than the longest rank's time; all leave one barrier
        right before, so the excess tells how far they are apart. For the same reason each task starts at 0.

        hosts: as the ranks have said; else the first rank's, as IOR names it, and unnamed-2 and so on. direct: by the
        command line that IOR was given, of which an unknown option ends it.
        """
        _refuse_failure(outcome)
        summary_text, ranks_text = outcome.outputs
        if summary_text is None or ranks_text is None:
            missing = command.outputs[0 if summary_text is None else 1]
            raise EngineError('T8', f'IOR exited with 0 and did not write {missing}')
        summary = parse_summary(summary_text)
        access = WRITE if phase_of(point, phase).writes else READ
        result, total = _only_run(summary, access)
        check_placement('IOR', point, summary.tasks, summary.nodes, summary.tasks_per_node)
        stonewall_s = _take(summary.setup, 'deadlineForStonewall', int)
        if stonewall_s:
            raise EngineError('T1', f'IOR was stopped by a stonewall of {stonewall_s} s')
        for key, meant in setup_of(point, phase).items():
            done = _take(summary.setup, key, type(meant))
            if done != meant:
                raise EngineError('P15', f'IOR ran with {key} {done} instead of {meant}')
        direct = DIRECT in summary.command_line.split()
        if direct != point.data.direct:
            how = 'not planned, and IOR ran with it' if direct else 'planned, and IOR ran without it'
            raise EngineError('P15', f'{DIRECT} was {how}')
        seconds = _seconds(result, total, point)
        _check_figures(result, total, point)
        ranks = parse_ranks(ranks_text)
        _check_ranks(ranks, access, point, seconds)
        base.check_life('IOR', seconds, outcome.processes[0])
        known = len(outcome.hosts) == point.tasks and len(set(outcome.hosts)) == point.nodes
        named = (summary.machine,) * point.tasks if point.nodes == 1 else outcome.hosts if known else ()
        share, fsync = point.data.bytes_per_task, bool(summary.setup['fsync'])
        tasks = [TaskTime(r.rank, named[r.rank] if named else '', share, 0.0, r.with_open_s) for r in ranks]
        metrics = [bandwidth(phase, point.bytes_moved, seconds, str(result['bwMiB']))]
        metrics += [_opening(phase, result, seconds)] if point.data.opening else []
        measurement = base.of_tasks(metrics, tasks, clock_s=float(PRINTED_S), fsync=fsync, direct=direct)
        counted = (summary.machine, *(f'{UNNAMED}{node}' for node in range(2, point.nodes + 1)))
        return measurement._replace(hosts=tuple(dict.fromkeys(named)) or counted)


def setup_of(point: Point, phase: str) -> Dict[str, Any]:
    """A phase of a point by the names in IOR's summary. Sizes in bytes, flags 0 or 1. Raises ValueError for a write
    of a whole file by all tasks.

    A whole file a task:             -F -b BYTES -t TRANSFER
    a segment, contiguous:           -b BYTES -t TRANSFER -s 1
    a segment, strided:              -b TRANSFER -t TRANSFER -s TRANSFERS
    the whole of one file (read):    as a file a task, over a link a task to the one file

    A read on several nodes is shifted by one (-C), but not with NCMPI: no node reads what it wrote (rule T3).
    """
    data = point.data
    does = phase_of(point, phase)
    linked, write = shared_whole(point), does.writes
    if linked and write:
        raise ValueError('IOR cannot write the whole of one file from all tasks')
    return {
        'api': {'posix': 'POSIX', 'mpiio': 'MPIIO', 'hdf5': 'HDF5', 'netcdf': 'NCMPI'}[data.interface],
        'filePerProc': int(data.extent == 'whole'),
        'collective': int(data.collective),
        'randomOffset': int(data.order == 'random'),
        'reorderTasks': int(not write and point.nodes > 1 and not linked and data.interface != 'netcdf'),
        'writeFile': int(write),
        'readFile': int(not write),
        'fsync': int(write),
        'segmentCount': _segments(point),
        'blockSize': data.bytes_per_task // _segments(point),
        'transferSize': data.transfer_size,
        'useExistingTestFile': int(write and does.needs),
        **dict.fromkeys(('keepFile', 'repetitions'), 1),
        **dict.fromkeys(('reorderTasksRandom', 'checkWrite', 'checkRead', 'fsyncperwrite'), 0),
    }


def refuse_exit(program: str, outcome: base.Outcome, reported: Tuple[Complaint, ...]) -> None:
    """Raises EngineError E1 if the launch failed, with the best reason: error, complaint or launcher's line."""
    if not outcome.exit_status:
        return
    # Open MPI's account of a crash begins with neither the signal nor the task: srun has both in one line.
    crashes = [line for text in outcome.stderrs for line in _SRUN_CRASH.findall(text)]
    endings = [line for text in outcome.stdouts for line in _HYDRA_ENDING.findall(text)]
    cause = base.cause_in((*(complaint.line for complaint in reported), *outcome.stderrs), outcome.stdouts)
    why = next(filter(None, [*crashes, cause, *endings]), 'no reason given')
    raise EngineError('E1', f"{program} {base.ending(outcome.exit_status)}: '{why}'")


def check_placement(program: str, point: Point, tasks: int, nodes: int, on_first: int) -> None:
    """Raises EngineError: T9 for other tasks than planned; T10 for other nodes, or other tasks on the first one."""
    if tasks != point.tasks:
        raise EngineError('T9', f'{program} ran with {tasks} tasks instead of {point.tasks}')
    if (nodes, on_first) != (point.nodes, point.tasks_per_node):
        seen = f'{nodes} nodes with {on_first} tasks on the first'
        raise EngineError('T10', f'{program} saw {seen}, not {point.nodes} with {point.tasks_per_node}')


def version_in(program: str, options: str) -> List[str]:
    """The argv that finds IOR's version in the text of a program, or else starts it with these options."""
    text = 'IOR-[0-9][^ :]*: MPI Coordinated Test of Parallel I/O'
    return ['sh', '-c', f'grep -a -o -m 1 "{text}" "$1" || exec "$1" {options}', 'sh', program]


def hashed(seed: int, salt: str, below: int) -> int:
    """A number from 1 to below - 1: IOR takes 0 for "choose one yourself"."""
    return 1 + int(hashlib.sha256(f'{seed} {salt}'.encode()).hexdigest(), 16) % (below - 1)


def parse_summary(json_text: str) -> IorSummary:
    """Raises EngineError: T8 not whole, T7 version too old, T13 something is missing, P15 not one test."""
    try:
        data = json.loads(json_text, parse_float=Decimal)
    except ValueError as error:
        raise EngineError('T8', f"IOR's summary is cut short or damaged: {error}") from error
    if not isinstance(data, dict) or 'Finished' not in data:
        raise EngineError('T8', "IOR's summary has no 'Finished': the run did not come to its end")
    Ior().usable(_take(data, 'Version', str))
    tests = _take(data, 'tests', list)
    if len(tests) != 1:
        raise EngineError('P15', f'one test was planned, and IOR made {len(tests)}')
    options = _take(tests[0], 'Options', dict)
    return IorSummary(
        command_line=_take(data, 'Command line', str),
        machine=_take(data, 'Machine', str).partition(' ')[2].split(' ')[0],  # behind the system's name
        setup=_take(tests[0], 'Parameters', dict),
        nodes=_take(options, 'nodes', int),
        tasks=_take(options, 'tasks', int),
        tasks_per_node=_take(options, 'clients per node', int),
        results=tuple(_row(row, _OF_RESULT) for row in _take(tests[0], 'Results', list)),
        totals=tuple(_row(row, _OF_TOTAL) for row in _take(data, 'summary', list)),
    )


def parse_ranks(csv_text: str) -> Tuple[RankTime, ...]:
    """The rows of the per-rank file. Raises EngineError T8 if a line is not whole."""
    rows = rows_of_ranks('IOR', csv_text, _RANKS_HEADER, _RANK)
    return tuple(RankTime(access, int(rank), *map(float, numbers)) for access, rank, *numbers in rows)


def rows_of_ranks(program: str, csv_text: str, header: str, form: Pattern[str]) -> Iterator[Tuple[Any, ...]]:
    """The groups of each line behind the header of a per-rank file. Raises EngineError T8 if one is not whole."""
    lines = csv_text.splitlines()
    if not csv_text.endswith('\n') or lines[0] != header:
        raise EngineError('T8', f"{program}'s file of the ranks' times is cut short: '{(lines or [''])[-1]}'")
    for line in lines[1:]:
        match = form.match(line)
        if match is None:
            raise EngineError('T8', f"{program}'s file of the ranks' times is damaged: '{line}'")
        yield match.groups()


def complaints(stdout: str) -> Tuple[Complaint, ...]:
    """The lines in which IOR says that something is wrong, without three harmless warnings: a file that is there
    already, an unknown size of the file system, and NCMPI that opens for reading, too; nor what Open MPI says."""
    lines = (match.group(0).strip() for match in _COMPLAINT.finditer(base.OF_MPI.sub('', stdout)))
    return tuple(
        Complaint(next((rule for rule, pattern in _COMPLAINT_RULES if pattern.search(line)), 'T8'), line)
        for line in lines
        if not _HARMLESS.match(line)
    )


_RANKS_HEADER = 'access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput'
_NUMBER = r'(-?\d\.\d{10}e[+-]\d+|inf)'
_RANK = re.compile(r'(write|read),(\d+),' + ','.join([_NUMBER] * 4) + r'\Z', re.ASCII)

_COMPLAINT = re.compile(
    r'(?:WARNING: |ERROR: |Error invalid argument|Unrecognized parameter|FAILED |[Ii]ncorrect data on ).*'
)
_OF_RESULT: Dict[str, type] = {
    'access': str,
    **dict.fromkeys(('totalTime', 'bwMiB', 'iops', 'blockKiB', 'xferKiB', 'openTime', 'wrRdTime'), Decimal),
}
_OF_TOTAL: Dict[str, type] = {
    'operation': str,
    'numTasks': int,
    'repetitions': int,
    **dict.fromkeys(('bwMaxMIB', 'bwMinMIB', 'bwMeanMIB', 'bwStdMIB', 'MeanTime', 'xsizeMiB'), Decimal),
}
_HARMLESS = re.compile(
    r'WARNING: (?:The file ".*" exists already and will be (?:overwritten|deleted)|'
    r"Backend (?:returned error during|doesn't implement) statfs|File write only not implemented in NCMPI)\Z"
)
_SRUN_CRASH = re.compile(
    r'^srun: error: \S+: tasks? \S+: (?:Segmentation fault|Bus error|Aborted|Illegal instruction).*', re.MULTILINE
)
_HYDRA_ENDING = re.compile(r'TERMINATED WITH THE EXIT STRING: (.+)')
_COMPLAINT_RULES = (
    ('T1', re.compile(r'aggregate file size|aggregate bytes moved|deadlineForStonewalling')),
    ('T9', re.compile(r'More tasks requested|running with \d+ tasks')),
)


def _check_paths(program: str, raw: str) -> None:
    # IOR scans what follows -O into 1024 bytes, splits it at commas, and copies its arguments into the JSON unquoted.
    if re.search(r'[,#\s"\\]', raw) or re.search(r'["\\]', program):
        quoted = f'neither that path nor {program} may have a quote or a backslash'
        split = 'and the path no comma, # or white space; choose another directory for the records'
        raise EngineError('P11', f'IOR cannot write to {raw}: {quoted}, {split}')
    if len(raw) > 1000:
        raise EngineError('P11', f'IOR cannot write to {raw}: it cuts paths of more than 1000 characters')


def _segments(point: Point) -> int:
    """Blocks of each task in the file (-s)."""
    return point.data.transfers if point.data.order == 'strided' else 1


def _step(point: Point) -> int:
    return point.data.transfer_size * (point.tasks if point.data.order == 'strided' else 1)


def _refuse_failure(outcome: base.Outcome) -> None:
    base.only_process('IOR', outcome)
    status = outcome.exit_status
    reported = complaints('\n'.join(outcome.stdouts))
    # A fault of the data is the better reason; but an abort can lose the line that explains it.
    data = next((complaint for complaint in reported if 'ncorrect data' in complaint.line), None)
    if data is not None or (reported and not status):
        complaint = data or next((fault for fault in reported if any(failed_calls(fault.line))), reported[0])
        raise EngineError(complaint.rule, f"IOR exited with {status} and said '{complaint.line}'")
    refuse_exit('IOR', outcome, reported)


def _row(data: Any, forms: Dict[str, type]) -> Dict[str, Any]:
    """Fields of a row; IOR quotes a number that JSON cannot have."""
    row = data if isinstance(data, dict) else {}
    infinite = {key: Decimal('inf') for key, form in forms.items() if form is Decimal and row.get(key) == 'inf'}
    return {key: _take({**row, **infinite}, key, form) for key, form in forms.items()}


def _take(data: Any, key: str, kind: type) -> Any:
    value = data.get(key) if isinstance(data, dict) else None
    if type(value) is not kind:
        raise EngineError('T13', f"IOR's summary has no '{key}' where {kind.__name__} is expected")
    return value


def _only_run(summary: IorSummary, phase: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    if len(summary.results) != 1 or len(summary.totals) != 1:
        rows = ', '.join(row['access'] for row in summary.results) or 'none'
        raise EngineError('P15', f"one {phase} was planned, and IOR's results are {rows}")
    result, total = summary.results[0], summary.totals[0]
    if {result['access'], total['operation']} != {phase}:
        raise EngineError('P15', f'one {phase} was planned, and IOR reports a {result["access"]}')
    return result, total


def _seconds(result: Dict[str, Any], total: Dict[str, Any], point: Point) -> float:
    """The timed region: first open to last close. Raises EngineError T1 for bytes or a time that cannot be."""
    half = PRINTED_S / 2
    planned_mib = Decimal(point.bytes_moved) / MIB
    if abs(total['xsizeMiB'] - planned_mib) > half:
        raise EngineError('T1', f'IOR moved {total["xsizeMiB"]} MiB where {planned_mib} MiB were planned')
    mib_s, time_s = result['bwMiB'], result['totalTime']
    if total['bwMeanMIB'] != mib_s:
        raise EngineError('T1', f'IOR reports {mib_s} MiB/s and, of this one value, a mean of {total["bwMeanMIB"]}')
    if not (0 < mib_s < Decimal('inf') and time_s >= 0):
        raise EngineError(
            'T12', f'IOR measured {mib_s} MiB/s in {time_s} s: too short to measure, or its clock was set'
        )
    if not (mib_s - half) * (time_s - half) <= planned_mib <= (mib_s + half) * (time_s + half):
        raise EngineError('T1', f'IOR reports {mib_s} MiB/s for {planned_mib} MiB in {time_s} s')
    return float(min(max(planned_mib / mib_s, time_s - half), time_s + half))


def _opening(phase: str, result: Dict[str, Any], seconds: float) -> Metric:
    """IOR's openTime, from the first open to the last, as a share of the region. Raises EngineError T1 if longer."""
    if not 0 <= result['openTime'] <= result['totalTime'] + PRINTED_S:
        raise EngineError('T1', f'IOR reports {result["openTime"]} s of opening in {result["totalTime"]} s')
    share = min(float(result['openTime']) / seconds, 1.0)
    return Metric(phase + OPENING, share, '', LOWER, seconds, figure=str(result['openTime']))


def _check_figures(result: Dict[str, Any], total: Dict[str, Any], point: Point) -> None:
    """Compares figures that IOR gives twice, to half of the fourth decimal. Raises EngineError T1."""
    half, kib, transfers = PRINTED_S / 2, Decimal(1024), point.tasks * point.data.transfers
    claims: Tuple[Tuple[str, Any, Any], ...] = (
        ('tasks', total['numTasks'], point.tasks),
        ('repetitions', total['repetitions'], 1),
        ('a maximum of MiB/s', total['bwMaxMIB'], result['bwMiB']),
        ('a minimum of MiB/s', total['bwMinMIB'], result['bwMiB']),
        ('a deviation of', total['bwStdMIB'], 0),
        ('a mean time of s', total['MeanTime'], result['totalTime']),
    )
    for what, figure, meant in claims:
        if figure != meant:
            raise EngineError('T1', f'IOR reports {what} {figure}, where it is {meant}')
    for what, printed, size in (
        ('block', result['blockKiB'], point.data.bytes_per_task // _segments(point)),
        ('transfer', result['xferKiB'], point.data.transfer_size),
    ):
        if abs(printed - size / kib) > half:
            raise EngineError('T1', f'IOR reports a {what} of {printed} KiB, where it is {size / kib} KiB')
    iops, moving_s = result['iops'], result['wrRdTime']
    low, high = ((iops + sign * half) * (moving_s + sign * half) for sign in (-1, 1))
    if not low <= transfers <= high:
        raise EngineError('T1', f'IOR reports {iops} transfers a second for {transfers} in {moving_s} s')


def _check_ranks(ranks: Tuple[RankTime, ...], phase: str, point: Point, seconds: float) -> None:
    if [(rank.access, rank.rank) for rank in ranks] != [(phase, rank) for rank in range(point.tasks)]:
        raise EngineError('T9', f'IOR recorded the times of {len(ranks)} ranks, not 0 to {point.tasks - 1} in order')
    share = point.data.bytes_per_task
    for rank in ranks:
        if not 0 < rank.with_open_s <= seconds + float(PRINTED_S):
            raise EngineError('T1', f'rank {rank.rank} took {rank.with_open_s} s of {seconds:.4f} s in all')
        for rate, time_s in ((rank.with_open_throughput, rank.with_open_s), (rank.throughput, rank.transfer_s)):
            if abs(rate * time_s - share) > RANK_SLACK * share:
                raise EngineError('T1', f'rank {rank.rank} reports {rate:.6g} B/s for {share} B in {time_s} s')
    # The times of a rank are by one clock, and the region is by those of all nodes.
    longest_s = max(rank.with_open_s for rank in ranks)
    apart_s = seconds - longest_s
    if point.nodes > 1 and apart_s > max(LEFT_APART_S, LEFT_APART_SHARE * longest_s):
        claim = f'IOR reports {seconds:.3f} s, but its longest rank took {longest_s:.3f} s'
        apart = f'the clocks of the nodes are up to {apart_s:.3f} s apart; keep them together (chronyd, ntpd)'
        raise EngineError('T1', f'{claim}: {apart}')
