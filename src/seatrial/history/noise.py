"""The noise between the nights of a profile, from the history."""

import math
from functools import cache
from pathlib import Path
from statistics import NormalDist

import polars as pl

from seatrial.history.provenance import CASE
from seatrial.history.rows import SUMMARY
from seatrial.history.store import folder_of, readable, summaries
from seatrial.model.plan import Case

NIGHTS = 30  # the newest sessions that are read
LEAST = 8  # fewer nights do not show how much they differ
SURE = 0.95  # confidence of the upper bound of the noise
OF_MEDIAN = 1 / (math.sqrt(2) * NormalDist().inv_cdf(0.75))
"""The standard deviation over the median of |difference of two values|, where noise is normal."""


@cache
def night_noise(state: str | Path, site: str, profile: str) -> dict[Case, float]:
    """The noise between sessions of the profile by case: standard deviation of logarithms, about a relative one. For
    each metric it comes from the median difference between successive nights, which no single change of level moves
    (von Neumann, Annals of Mathematical Statistics 12, 1941, with a median); for the case it is the median over its
    metrics. Cases with fewer than LEAST nights are left out. Empty if the history cannot be read."""
    steps = pl.col('logs').list.diff(null_behavior='drop').list.eval(pl.element().abs())
    return _by_case(_nights(state, site, profile), steps.list.median().median().mul(OF_MEDIAN))


@cache
def noise_bound(state: str | Path, site: str, profile: str) -> dict[Case, float]:
    """The upper bound of the noise between sessions of the profile by case, as `night_noise`: the largest of its
    metrics, each by the upper end of a one-sided 95 % interval of the standard deviation. A change of level makes it
    larger. The quantile of chi-square is that of Wilson and Hilferty (PNAS 17, 1931)."""
    df = pl.col('logs').list.len() - 1.0
    chi_square = df * (1 - 2 / (9 * df) + NormalDist().inv_cdf(1 - SURE) * (2 / (9 * df)).sqrt()) ** 3
    return _by_case(_nights(state, site, profile), (pl.col('logs').list.std() * (df / chi_square).sqrt()).max())


def _nights(state: str | Path, site: str, profile: str) -> pl.DataFrame:
    """The logarithms of each metric that steers in the newest sessions, oldest first; without those of few nights."""
    metric = (*CASE, 'metric', 'cache')
    columns = ('session', 'site', 'profile', 'metric_verdict', 'steers', 'value', *metric)
    try:
        tables = list(readable(summaries(folder_of(state), NIGHTS, columns), []))
    except OSError:
        tables = []
    counts = (pl.col('site') == site) & (pl.col('profile') == profile) & (pl.col('metric_verdict') != 'INVALID')
    return (
        pl.concat(tables or [pl.DataFrame(schema={name: SUMMARY[name] for name in SUMMARY if name in columns})])
        .filter(counts, pl.col('steers').fill_null(True), pl.col('value') > 0)
        .sort('session')
        .group_by(metric)
        .agg(pl.col('value').log().alias('logs'))
        .filter(pl.col('logs').list.len() >= LEAST)
    )


def _by_case(nights: pl.DataFrame, noise: pl.Expr) -> dict[Case, float]:
    by_case = nights.group_by(CASE).agg(noise.alias('noise'))
    return {Case(*(row[name] for name in CASE)): row['noise'] for row in by_case.iter_rows(named=True)}
