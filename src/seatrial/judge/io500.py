"""IO500's score over phases that the checks of one session have measured one by one; not a submission.

By IO500's rules a phase that writes goes on until a stone wall at 300 s, and then until every task has done as much
as the fastest (wear-out). Here all tasks do the same fixed amount, timed up to the last of them, so the rule is kept
where the shortest launch lasted 300 s. Unlike IO500, each check has its own data set, measured several times.

The logarithm of the score is a sum over the phases, each bandwidth with the weight 1/8 and each rate with 1/16. The
logarithm of a mean has the standard error s / (mean sqrt(n)) (delta method). The phases are separate launches: their
variances add up, with the squares of the weights, and the degrees of freedom are Satterthwaite's, rounded down."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatrial.judge.relations import LogMean
from seatrial.judge.statistics import CONFIDENCE, MIN_SAMPLES, MeanInterval, satterthwaite
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.units import GIB
from seatrial.rules.stopping import t_quantile
from seatrial.workload.io500 import BANDWIDTHS, RATES, STONE_WALL_S, geometric_mean, score_of
from seatrial.workload.words import by_key

PHASES: Mapping[str, tuple[str, str]] = {  # which metric of which check is which phase
    'ior_easy_write': ('Io500EasyData', 'write'),
    'ior_easy_read': ('Io500EasyData', 'read'),
    'ior_hard_write': ('Io500HardData', 'write'),
    'ior_hard_read': ('Io500HardData', 'read'),
    'mdtest_easy_write': ('Io500EasyMetadata', 'file_create'),
    'mdtest_easy_stat': ('Io500EasyMetadata', 'file_stat'),
    'mdtest_easy_delete': ('Io500EasyMetadata', 'file_remove'),
    'mdtest_hard_write': ('Io500HardMetadata', 'file_create'),
    'mdtest_hard_stat': ('Io500HardMetadata', 'file_stat'),
    'mdtest_hard_read': ('Io500HardMetadata', 'file_read'),
    'mdtest_hard_delete': ('Io500HardMetadata', 'file_remove'),
    'find': ('Io500Find', 'file_find'),
}
CHECKS = sorted({check for check, _ in PHASES.values()})


@dataclass(frozen=True)
class Io500Score:
    """The score of one place: partition, file system, layout and node count."""

    where: str
    score: float | None  # None where something is missing
    low: float | None  # two-sided interval of `score` at `confidence`
    high: float | None
    bandwidth: float | None  # geometric mean, B/s
    rate: float | None  # geometric mean, op/s
    lacks: tuple[str, ...]  # a clause for each phase that is missing or was not measured by the rules
    confidence: float = CONFIDENCE

    @property
    def sentence(self) -> str:
        head = f'IO500 over the phases of this session ({self.where}), not a submission'
        if self.score is None or self.bandwidth is None or self.rate is None:
            return f'{head}: no score: {"; ".join(self.lacks)}'
        means = f'{self.bandwidth / GIB:.4g} GiB/s, {self.rate / 1000:.4g} kIOPS'
        interval = f'{self.confidence * 100:g} % interval {self.low:.4g} to {self.high:.4g}'
        return f'{head}: score {self.score:.4g}, {interval} ({means})'


def scores_of(cases: Sequence[CaseResult]) -> tuple[Io500Score, ...]:
    """A score for every place at which any of the phases was planned."""
    places = by_key((case.case.name.partition('/')[2], case) for case in cases if case.case.check in CHECKS)
    return tuple(_score(where, {case.case.check: case for case in of_place}) for where, of_place in places.items())


def _score(where: str, cases: Mapping[str, CaseResult]) -> Io500Score:
    lacks = [f'{check} is not in this session' for check in CHECKS if check not in cases]
    means: dict[str, LogMean] = {}
    for phase, (check, metric) in PHASES.items():
        if check not in cases:
            continue
        metrics = [result for result in cases[check].metrics if result.name == metric]
        lacking = filter(None, (_lack(phase, cases[check].engine, result) for result in metrics))
        lack = next(lacking, '' if metrics else 'lacks')
        if lack:
            lacks.append(f'{phase} {lack}')
        else:
            means[phase] = _together([result.summary.interval for result in metrics if result.summary])
    if lacks:
        return Io500Score(where, None, None, None, None, None, tuple(lacks))
    weights = [(means[name], 0.5 / len(names)) for names in (BANDWIDTHS, RATES) for name in names]
    bandwidth, rate = (geometric_mean([math.exp(means[name].log) for name in names]) for names in (BANDWIDTHS, RATES))
    variance, df = satterthwaite([(weight**2 * mean.variance, mean.df) for mean, weight in weights])
    score, factor = score_of(bandwidth, rate), math.exp(t_quantile(CONFIDENCE, df) * math.sqrt(variance))
    return Io500Score(where, score, score / factor, score * factor, bandwidth, rate, ())


def _lack(name: str, engine: str, one: MetricResult) -> str:
    wanted = name.partition('_')[0]  # the engine that IO500's rules require; any program may do the find phase
    if one.verdict in (Verdict.INVALID, Verdict.INCOMPLETE, Verdict.FAIL) or one.summary is None:
        return f'is not valid: {one.why}'
    if wanted not in ('find', engine):
        return f'was measured with {engine}, and not with {wanted}'
    if one.cache in ('cached', 'mixed'):
        return 'was answered by a cache'
    if name.endswith('_write') and one.shortest_s < STONE_WALL_S:
        remedy = 'bytes_per_task' if name in BANDWIDTHS else 'files_per_task'
        return f'lasted {one.shortest_s:.3g} s, and not {STONE_WALL_S} s (raise {remedy})'
    if one.summary.n < MIN_SAMPLES:
        return f'has {one.summary.n} of the {MIN_SAMPLES} samples that an interval needs'
    return ''


def _together(rates: Sequence[MeanInterval]) -> LogMean:
    """The rate of equal shares done one after the other, each at a known rate: find runs at two points."""
    total = sum(1 / rate.mean for rate in rates)
    errors = [rate.log_half_width / t_quantile(rate.confidence, rate.n - 1) for rate in rates]
    parts = [
        ((1 / rate.mean / total) ** 2 * (error * error), rate.n - 1)
        for rate, error in zip(rates, errors, strict=True)
    ]
    return LogMean(math.log(len(rates) / total), *satterthwaite(parts))
