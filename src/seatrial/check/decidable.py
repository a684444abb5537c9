"""Checks that the allocations planned for a contract can decide it: margins, and length of timed regions."""

import math
from typing import NamedTuple

from seatrial.check.contract import AcceptanceTest
from seatrial.check.forecast import Forecast
from seatrial.check.pace import NOISE
from seatrial.judge.criteria import BEST, MINIMUM, Criterion
from seatrial.judge.statistics import CONFIDENCE, FAMILY, half_width_between
from seatrial.judge.statistics import NOISE as ASSUMED
from seatrial.model.units import MIB, approximate_size, duration, format_size, quantity, round_up
from seatrial.rules.before import peak
from seatrial.rules.case import STORAGE_MIN_S
from seatrial.rules.stopping import t_quantile
from seatrial.workload.registry import kind_of, resized
from seatrial.workload.words import counted

ABOVE = 1.1  # times the shortest region: launches are sized for somewhat more


class Margin(NamedTuple):
    """Factors of the bound: at or above `met` a figure is surely met, at or below `missed` surely missed."""

    met: float
    missed: float


def margin(criterion: Criterion, noise: float, repetitions: int, criteria: int, assumed: float = ASSUMED) -> Margin:
    """The margin at which the planned allocations decide one of `criteria` criteria. noise: between allocations, or
    between the repetitions of a single one, as a share of the figure; assumed: the least noise between allocations"""
    n = max(criterion.allocations, criterion.planned)
    if criterion.statistic == MINIMUM or (criterion.statistic == BEST and n == 1):
        return Margin(1.0, 1.0)
    strict = 1 - min(1 - CONFIDENCE, 2 * FAMILY / criteria)
    # The ratios of figure to bound at which the interval of the figure just excludes the bound.
    if n > 1:
        met, missed = (math.exp(half_width_between(noise, n, share, assumed)) for share in (CONFIDENCE, strict))
    else:  # as verdict_interval has it: a degree of freedom less, for the stop that waited for a short interval
        quantiles = (t_quantile(share, max(1, repetitions - 2)) for share in (CONFIDENCE, strict))
        met, missed = (1 + quantile * noise / math.sqrt(repetitions) for quantile in quantiles)
    return Margin(met, 1 / missed) if criterion.least else Margin(1 / met, missed)


def decidable(test: AcceptanceTest, forecast: Forecast, criteria: int, nights: float | None = None) -> list[str]:
    """Sentences on what the planned allocations of a criterion can decide, and the reason if none can count. nights:
    the largest noise between nights, if known"""
    criterion = test.criterion
    n = max(criterion.allocations, criterion.planned)
    seen = forecast.shown.between if n > 1 else forecast.shown.within
    noise, known = (NOISE, 'assumed, since none was measured') if seen is None else (seen, '')
    if n > 1 and nights is not None:
        noise, known = max(nights, seen or 0.0), 'the most that the nights of this case show'
    met, missed = margin(criterion, noise, forecast.pace.repetitions, criteria, nights or ASSUMED)
    better, worse = ('above', 'below') if criterion.least else ('below', 'above')
    words = f'a figure {better} {met:.2f} times the bound meets it and one {worse} {missed:.2f} times it misses'
    if met == missed:
        words = 'the figure decides without an interval'
    between = 'allocations' if n > 1 else 'repetitions'
    noises = ', '.join(filter(None, [f'noise between {between} {noise:.0%}', known]))
    line = f'{criterion.id}: with {counted(n, "allocation")} {words} ({noises})'
    return list(filter(None, [line, _too_short(test, forecast)]))


def _too_short(test: AcceptanceTest, forecast: Forecast) -> str:
    plan, rate = forecast.plan, forecast.shown.rates.get(test.metric.name if test.metric else '')
    if rate is None or test.procedure is None or not kind_of(plan.kind).bytes_known:
        return ''
    # If caches may take part, only the contract sets the time (as in unmet); else rule P16 does.
    needed_s = test.procedure.seconds if test.procedure.caches else max(STORAGE_MIN_S, plan.sizing.min_s)
    share, limit = forecast.shares[1], plan.target.limits.bytes
    moved = resized([plan.point(test.procedure.point)], share)[0].bytes_moved
    region_s = moved / rate.value
    if not moved or region_s >= needed_s:
        return ''
    larger = round_up(math.ceil(share * ABOVE * needed_s / region_s), plan.sizing.granule)
    needed = round_up(peak(plan, larger)['bytes'], MIB)
    where = f'bytes: {format_size(needed)} in limits of {plan.target.name}'
    if plan.sizing.pinned is not None:
        where = f'bytes_per_task: {format_size(round_up(larger, MIB))} in its workload, and {where} at least'
    return (
        f'{test.criterion.id}: no allocation can count: moving {approximate_size(moved)}, the most that limits '
        f'({approximate_size(limit)}) and free space allow, takes {region_s:.2g} s at '
        f'{quantity(rate.value, "B/s", "decimal")} ({rate.of}), but {duration(needed_s)} are required; '
        f'to make room for {approximate_size(needed)}, write {where}'
    )
