"""Bonnie++: one process writes, updates, reads and seeks in a file of its own, and removes it.

Read in the source of 2.00a and seen with Debian's 2.00a+nmu1. Each timed region ends with fsync(2) and close(2)
(CFileOp::Close). One of less than 0.5 s (MinTime of bonnie.h) is printed as '+++++': too short to measure (T12).

Its data are zeros, with a counter in one byte of each transfer: it measures only where trial.yaml says that the
storage does not compress. With -D only the write is O_DIRECT, so it is never asked for. -x 1 prints the line of
figures (CSV) alone: what stands on stderr is a complaint.
"""

import os
import re
from typing import Dict, List, Optional

from seatrial.engine import base
from seatrial.engine.base import Command, Engine, EngineError, Outcome, check_life, only_process, refuse_failure
from seatrial.engine.fio.process import randseed_of
from seatrial.model.metric import Measurement, Metric, TaskTime, rate
from seatrial.model.point import Point
from seatrial.model.units import KIB, MIB
from seatrial.workload.access import FILE_NAMES
from seatrial.workload.bonnie import SEEKERS, seeks_of

MIN_CHUNK, MAX_CHUNK = 256, MIB
MAX_SIZE = 2**31 - 1  # MiB, and transfers: it counts both in an int
SEEDS = 2**31
CLOCK_S = 1e-6  # gettimeofday(2)

FIELDS = (
    *('format_version', 'bonnie_version', 'name', 'concurrency', 'seed', 'file_size', 'io_chunk_size', 'seeks_meant'),
    *('seekers', 'putc', 'putc_cpu', 'put_block', 'put_block_cpu', 'rewrite', 'rewrite_cpu', 'getc', 'getc_cpu'),
    *('get_block', 'get_block_cpu', 'seeks', 'seeks_cpu', 'num_files', 'max_size', 'min_size', 'num_dirs'),
    *('file_chunk_size', 'seq_create', 'seq_create_cpu', 'seq_stat', 'seq_stat_cpu', 'seq_del', 'seq_del_cpu'),
    *('ran_create', 'ran_create_cpu', 'ran_stat', 'ran_stat_cpu', 'ran_del', 'ran_del_cpu', 'putc_latency'),
    *('put_block_latency', 'rewrite_latency', 'getc_latency', 'get_block_latency', 'seeks_latency'),
    *('seq_create_latency', 'seq_stat_latency', 'seq_del_latency', 'ran_create_latency', 'ran_stat_latency'),
    'ran_del_latency',
)
"""The fields of its line: those of the header that -x 2 prints, and behind io_chunk_size, which is always empty, two
that it lacks: the seeks and their processes (DoReportIO of bon_time.cpp)."""

NAMES = {'write': 'put_block', 'update': 'rewrite', 'read': 'get_block', 'seeks': 'seeks'}
"""Our metrics, and what Bonnie++ calls them; its rewrite reads each transfer and writes it back."""

TOO_SHORT = '+++++'


class BonnieEngine(Engine):
    name = 'bonnie++'
    kinds = ('bonnie',)
    programs = ('bonnie++',)
    how_to_get = 'apt-get install bonnie++, dnf install bonnie++, or from Spack (bonniepp)'
    says_version = re.compile(r'^bonnie\+\+ \[-d.*^Version: (\S+)', re.MULTILINE | re.DOTALL)
    makes = (*FILE_NAMES, r'Bonnie\.\d+')
    compressible = 'writes zeros, with a counter in each transfer'

    def cannot(self, point: Point) -> Optional[str]:
        size, whole, transfers = point.data.transfer_size, point.data.bytes_per_task, point.data.transfers
        is_chunk = size & (size - 1) == 0 and MIN_CHUNK <= size <= MAX_CHUNK
        return base.first_reason(
            (not is_chunk, f'cannot move {size} bytes at a time: its chunks are powers of two, 256 B to 1 MiB'),
            (whole % MIB, f'cannot write {whole} bytes: its files are whole MiB'),
            (max(transfers, whole // MIB) > MAX_SIZE, f'cannot count {transfers} transfers'),
        )

    def version_argv(self, program: str) -> List[str]:
        """It has no option for its version, and prints it with its usage on stderr."""
        return ['sh', '-c', '"$0" -h 2>&1', program]

    def repeats(self, point: Point) -> str:
        """All data are repeated (rule P4b)."""
        return 'zeros, with a counter in each transfer'

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """One process. -n 0: no other files, -f: no single bytes, -r 0: any size; -u: as root it wants a user."""
        size = f'{point.data.bytes_per_task // MIB}:{point.data.transfer_size}:{seeks_of(point)}:{SEEKERS}'
        argv = [program, '-d', '.', '-s', size, '-n', '0', '-f', '-q', '-x', '1', '-r', '0', '-m', 'seatrial']
        argv += ['-z', str(randseed_of(seed, raw) % SEEDS)]
        argv += ['-u', '0'] if os.geteuid() == 0 else []
        return Command('node', (tuple(argv),), {}, ())

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 it failed; T8 it complained; T13 its line is not whole; P15 another file, or other
        seeks, than planned; T1 more time than its process had. The figure: its number, share of a CPU and longest
        latency; a bandwidth counts the bytes of the file once, in an update too."""
        process = only_process('Bonnie++', outcome)
        refuse_failure('Bonnie++', outcome.exit_status, outcome.stderrs)
        fields = parse_run(outcome.stdouts[0])
        size = point.data.bytes_per_task // MIB
        meant = (f'{size // 1024}G' if size % 1024 == 0 else f'{size}M', str(seeks_of(point)), str(SEEKERS))
        had = (fields['file_size'], fields['seeks_meant'], fields['seekers'])
        if had != meant:
            raise EngineError('P15', 'Bonnie++ had {} with {} seeks by {}, not {} with {} by {}'.format(*had, *meant))
        metrics = [_metric(name, fields, point) for name in NAMES]
        timed_s = sum(metric.seconds for metric in metrics)
        check_life('Bonnie++', timed_s, process)
        task = TaskTime(0, process.host, point.bytes_moved, 0.0, timed_s)
        return base.of_tasks(metrics, [task], clock_s=CLOCK_S, fsync=True)


def parse_run(text: str) -> Dict[str, str]:
    """The fields of the line of one launch, by their names. Raises EngineError T13 if it is not whole."""
    lines = text.splitlines()
    values = lines[0].split(',') if len(lines) == 1 and text.endswith('\n') else []
    if len(values) != len(FIELDS):
        raise EngineError('T13', f'Bonnie++ printed no line of {len(FIELDS)} fields')
    fields = dict(zip(FIELDS, values))
    for name in ('seeks_meant', 'seekers'):
        if re.match(r'\d+\Z', fields[name], re.ASCII) is None:
            raise EngineError('T13', f"Bonnie++'s line has '{fields[name]}' where a number of {name} belongs")
    return fields


def _metric(name: str, fields: Dict[str, str], point: Point) -> Metric:
    column = NAMES[name]
    text = fields[column]
    try:
        value = 0.0 if text == TOO_SHORT else float(text)  # KiB/s, or seeks a second
    except ValueError:
        value = -1.0
    if text != TOO_SHORT and not 0 < value < float('inf'):
        raise EngineError('T13', f"Bonnie++'s line has '{text}' as its {column}")
    share, latency = fields[f'{column}_cpu'], fields[f'{column}_latency']
    figure = f'{column} {f"{value:g}" if value else text}, {share} %CP, latency {latency}'
    if name == 'seeks':
        return rate(name, seeks_of(point), seeks_of(point) / value if value else 0.0, figure)
    seconds = point.bytes_moved / (value * KIB) if value else 0.0
    return Metric(name, value * KIB, 'B/s', seconds=seconds, figure=figure)
