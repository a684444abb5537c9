"""Training reads: simulated accelerators read samples in batches, as the models of MLPerf Storage (v1.0 to v3.0) do.

Sizes, batches, threads, times and the least utilisation are from its configurations for an H100, or a B200 for
retinanet. All samples of a model have the same size here, the mean of its configuration.
"""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import MLPERF
from seatrial.judge.expectations import Sustains
from seatrial.workload.sweep import Sweep, powers_of_two
from seatrial.workload.training import FIRST, UTILISATION, training

ACCELERATORS = Sweep('tasks', powers_of_two(1, 64))


def sustains(model: str, share: float) -> tuple[Sustains, ...]:
    """The rule of the benchmark for a model: an accelerator works for at least this share of its time."""
    words = f'an accelerator works on {model} for {100 * share:.0f} % of its time'
    return (Sustains(id=f'MLPS-{model}', words=words, source=MLPERF, metric=FIRST + UTILISATION, least=share),)


@trial
class TrainingUnet3d(Check):
    """unet3d: files of one large sample."""

    workload = training(146_600_628, batch=7, batch_s=0.323, read_threads=4)
    sweep = ACCELERATORS
    expectations = sustains('unet3d', 0.9)
    every_point = True


@trial
class TrainingResnet50(Check):
    """resnet50: files of 1251 small samples, read in order, like TFRecords."""

    workload = training(114_660, 400, 0.224, 8, samples_per_file=1251, order='contiguous')
    sweep = ACCELERATORS
    expectations = sustains('resnet50', 0.9)
    every_point = True


@trial
class TrainingCosmoflow(Check):
    """cosmoflow: files of one sample, on which the accelerator works for 3.5 ms."""

    workload = training(2_828_486, 1, 0.0035, 4)
    sweep = ACCELERATORS
    expectations = sustains('cosmoflow', 0.7)
    every_point = True


@trial
class TrainingRetinanet(Check):
    """retinanet: small files of one sample."""

    workload = training(322_957, 24, 0.04755, 8)
    sweep = ACCELERATORS
    expectations = sustains('retinanet', 0.85)
    every_point = True
