"""DLIO: the benchmark under MLPerf Storage, as an engine of training reads by its PyTorch loader.

It reads what posixops has written as its format indexed_binary: a file of samples, and beside it short ones with
their offsets and sizes, which lie with links to the data beside the records (dlio_task.py). A sample that was read is
thrown away there as here: what follows, an array of 1 B (record_length_resize), is the same for all. Figures are
DLIO's own of each rank: samples a second with the start of its loader, and utilisation from the end of the first
batch on (compute_metrics_train of its statscounter.py; 2.0.0).
"""

import json
import os
import re
import sys
from typing import Any, Dict, List, Optional, Tuple

from seatrial.engine.base import Command, EngineError, Outcome, ended, first_reason, of_tasks
from seatrial.engine.dlio_task import DatasetLayout
from seatrial.engine.node_program import module_argv
from seatrial.engine.posixops.engine import PosixOps
from seatrial.model.codec import to_json
from seatrial.model.metric import Measurement, Metric, TaskTime, bandwidth, rate
from seatrial.model.point import Point
from seatrial.workload.access import FILE_NAMES, writer_of
from seatrial.workload.registry import phase_of
from seatrial.workload.training import SAMPLES, UTILISATION, batches_of, files_of

TASK = 'seatrial.engine.dlio_task'
BLOCK = 'block1'  # steps of an epoch without a checkpoint: all of them
ROUNDING = 1e-6
CLOCK_S = 1e-6  # resolution of Python's time()

_VERSIONS = (
    'from importlib.metadata import version as v; '
    "print('dlio-benchmark', v('dlio-benchmark'), 'torch', v('torch'), 'mpi4py', v('mpi4py'))"
)


class Dlio(PosixOps):
    """DLIO's processes under the MPI launcher, a rank an accelerator; the files are written by posixops."""

    name = 'dlio'
    kinds = ('training',)
    programs = ('dlio_benchmark',)
    how_to_get = 'pip install dlio-benchmark, as docs/how-to/training.md says, in an environment of its own'
    mpi = True
    makes = FILE_NAMES

    def cannot(self, point: Point) -> Optional[str]:
        readers, ahead, samples = point.data.queue_depth, point.training.prefetch, point.training.samples_per_file
        one, other = sorted((samples, point.training.batch))
        return first_reason(
            (point.data.interface != 'posix', 'cannot read by mmap(2) as here'),
            (other % one, f'drops a last batch that is not full, and files of {samples} samples leave one'),
            (ahead % readers, f'cannot read {ahead} batches ahead by {readers} processes: only multiples'),
        )

    def version_argv(self, program: str) -> List[str]:
        """The program's --version is that of a library, so the interpreter beside it is asked."""
        return [os.path.join(os.path.dirname(program), 'python3'), '-I', '-c', _VERSIONS]

    def parse_version(self, text: str) -> str:
        """'2.0.0, torch 2.4.1, mpi4py 4.0.0'; raises EngineError E1 where one of the three is missing."""
        match = re.match(r'dlio-benchmark (\S+) (torch \S+) (mpi4py \S+)$', text.strip())
        if match is None:
            raise EngineError('E1', 'its Python lacks dlio-benchmark, torch or mpi4py; see docs/how-to/training.md')
        return ', '.join(match.groups())

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """The launch of one phase; DLIO's own files of an epoch lie in raw + '.dlio'."""
        if phase_of(point, phase).makes:
            return super().command(sys.executable, phase, point, raw, seed)
        folder, path = f'{raw}.dlio', f'{raw}.layout.json'
        sources = [file for rank in range(point.tasks) for file in files_of(point, writer_of(point, rank))]
        layout = DatasetLayout(
            f'{folder}/data/train', tuple(sources), point.training.samples_per_file, point.data.transfer_size
        )
        argv = module_argv(sys.executable, TASK, (path, program, *_overrides(point, folder, phase)))
        outputs = tuple(f'{folder}/{rank}_output.json' for rank in range(point.tasks))
        return Command('mpi', (argv,), {path: json.dumps(to_json(layout)) + '\n'}, outputs)

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 failed or cut report; T9 ranks, P15 steps or times not as planned; T1 conflicts."""
        if phase_of(point, phase).makes:
            return super().measure(phase, point, command, outcome)
        if outcome.exit_status:
            raise EngineError('E1', f'DLIO {ended(outcome.exit_status, outcome.stderrs, outcome.stdouts)}')
        ranks = [_rank(text, rank, point) for rank, text in enumerate(outcome.outputs)]
        if len(ranks) != point.tasks:
            raise EngineError('T9', f'{len(ranks)} ranks of DLIO reported, not {point.tasks}')
        share = point.data.bytes_per_task
        tasks = [TaskTime(rank, host, share, 0.0, seconds) for rank, (host, seconds, _) in enumerate(ranks)]
        own_s = tuple(task.seconds for task in tasks)
        seconds, samples = max(own_s), point.bytes_moved // point.data.transfer_size
        shares = [share for _, _, share in ranks]
        metrics = (
            bandwidth(phase, point.bytes_moved, seconds, f'{point.bytes_moved} B in {seconds:.6f} s'),
            rate(phase + SAMPLES, samples, seconds, f'{samples / seconds:.6f}', own_s),
            Metric(phase + UTILISATION, sum(shares) / len(shares), '', seconds=seconds, figure=f'au {shares}'),
        )
        return of_tasks(metrics, tasks, clock_s=CLOCK_S)


def _overrides(point: Point, folder: str, phase: str) -> Tuple[str, ...]:
    """DLIO's settings. It runs on the file system under test, and writes no files of its own there."""
    settings: Dict[str, Any] = {
        'model': 'seatrial',
        'framework': 'pytorch',
        'workflow.generate_data': False,
        'workflow.train': True,
        **dict.fromkeys(('workflow.evaluation', 'workflow.checkpoint', 'workflow.profiling'), False),
        'dataset.data_folder': f'{folder}/data',
        'dataset.format': 'indexed_binary',
        'dataset.num_files_train': point.tasks * len(files_of(point, 0)),
        **dict.fromkeys([f'dataset.num_{what}' for what in ('files_eval', 'subfolders_train', 'subfolders_eval')], 0),
        'dataset.num_samples_per_file': point.training.samples_per_file,
        'dataset.record_length': point.data.transfer_size,
        'dataset.record_length_resize': 1,
        'reader.data_loader': 'pytorch',
        'reader.batch_size': point.training.batch,
        'reader.read_threads': point.data.queue_depth,
        'reader.prefetch_size': point.training.prefetch,
        'reader.file_shuffle': 'off',
        'reader.sample_shuffle': 'seed' if point.data.order == 'random' else 'off',
        'train.epochs': 1,
        'train.computation_time': point.time.think_s,
        'train.seed': int(bool(phase_of(point, phase).warm)),
        'checkpoint.checkpoint_folder': f'{folder}/checkpoints',
        'checkpoint.model_size': 0,
        'checkpoint.layer_parameters': [],
        'output.folder': folder,
    }
    hydra = (f'hydra.run.dir={_value(folder)}', 'hydra.output_subdir=null')
    return (*(f'++workload.{name}={_value(value)}' for name, value in settings.items()), *hydra)


def _value(value: Any) -> str:
    """A value in Hydra's grammar, where a quoted text may have any character but its quote."""
    return "'{}'".format(value.replace("'", "\\'")) if isinstance(value, str) else str(value).lower()


def _rank(text: Optional[str], rank: int, point: Point) -> Tuple[str, float, float]:
    """The host of a rank, the seconds of its epoch, and its utilisation."""
    try:
        report = json.loads(text or '')
        host, epoch = report['hostname'], report['1']
        worked, computed = ([float(step_s) for step_s in epoch[name][BLOCK]] for name in ('proc', 'compute'))
        per_second, percent = (float(epoch[name][BLOCK]) for name in ('throughput', 'au'))
    except (KeyError, TypeError, ValueError, RecursionError):
        raise EngineError('E1', f'rank {rank} of DLIO left no whole report') from None
    steps = len(batches_of(point))
    if len(worked) != steps or computed != [point.time.think_s] * steps:
        raise EngineError('P15', f'rank {rank} made {len(worked)} steps of {computed[:1]} s, not {steps}')
    if per_second <= 0:
        raise EngineError('T12', f'rank {rank} made {per_second} samples a second')
    seconds = steps * point.training.batch / per_second
    if seconds < sum(worked) * (1 - ROUNDING) or not 0 < percent <= 100 * (1 + ROUNDING):
        raise EngineError('T1', f'rank {rank} took {seconds} s for steps of {sum(worked)} s, at {percent} %')
    return str(host).split('.')[0], seconds, percent / 100
