"""Checkpoints of a training: all tasks write its state at once, and read it back to resume."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.burst import burst
from seatrial.workload.checkpoint import checkpoint
from seatrial.workload.sweep import Sweep
from seatrial.workload.training import training


@trial
class Checkpoint(Check):
    """One file per task and one shared file: state of llama3-8b in MLPerf Storage 2.0, 105 GB, every 30 minutes."""

    # Of its 8 processes; 30 minutes are chosen.
    first = True
    workload = checkpoint(state=105_000_000_000, interval_s=1800.0, bytes_per_task='12516MiB')
    sweep = Sweep('variant', (('own', {}), ('shared', {'files': 'single', 'extent': 'segment'})))


@trial
class CheckpointBesideTraining(Check):
    """Half of the tasks train as on cosmoflow, the others write a checkpoint: the loss of both."""

    workload = burst(training(2_828_486, batch=1, batch_s=0.0035, read_threads=4))
    sweep = Sweep('variant', (('both', {}),))
    every_point = True
