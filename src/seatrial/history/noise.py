"""The noise between the nights of a profile, from the history."""

import math
from functools import cache
from pathlib import Path
from statistics import NormalDist

import polars as pl

from seatrial.history.provenance import CASE
from seatrial.history.store import folder_of, readable, summaries
from seatrial.model.plan import Case

NIGHTS = 30
"""The newest sessions that are asked."""

LEAST = 8
"""Fewer nights do not show how much they differ."""

OF_MEDIAN = 1 / (math.sqrt(2) * NormalDist().inv_cdf(0.75))
"""The standard deviation over the median of |difference of two values|, where noise is normal."""


@cache
def night_noise(state: str | Path, site: str, profile: str) -> dict[Case, float]:
    """The noise between sessions of the profile by case: standard deviation of logarithms, about a relative one.

    For each metric it comes from the median difference between successive nights, which no single change of level
    moves (von Neumann, Annals of Mathematical Statistics 12, 1941, with a median); for the case it is the median over
    its metrics. Cases with fewer than LEAST nights are left out. Empty if the history cannot be read.
    """
    metric = (*CASE, 'metric', 'cache')
    columns = ('session', 'site', 'profile', 'metric_verdict', 'steers', 'value', *metric)
    try:
        tables = list(readable(summaries(folder_of(state), NIGHTS, columns), []))
    except OSError:
        return {}
    if not tables:
        return {}
    counts = (pl.col('site') == site) & (pl.col('profile') == profile) & (pl.col('metric_verdict') != 'INVALID')
    noise = (
        pl.concat(tables)
        .filter(counts, pl.col('steers').fill_null(True), pl.col('value') > 0)
        .sort('session')
        .group_by(metric)
        .agg(pl.col('value').log().diff().drop_nulls().abs().alias('steps'))
        .filter(pl.col('steps').list.len() >= LEAST - 1)
        .group_by(CASE)
        .agg(pl.col('steps').list.median().median().mul(OF_MEDIAN).alias('noise'))
    )
    return {Case(*(row[name] for name in CASE)): row['noise'] for row in noise.iter_rows(named=True)}
