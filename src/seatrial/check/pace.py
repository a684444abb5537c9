"""The expected time of a case: bytes over known speed, and the repetitions that the noise asks for."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.units import approximate_size, duration, quantity
from seatrial.rules.stopping import expected_repetitions
from seatrial.workload.registry import kind_of, metrics_of, resized
from seatrial.workload.words import counted

if TYPE_CHECKING:
    import polars as pl

NOISE = 0.10  # between repetitions, assumed without an earlier session, as a share of their mean
SHOWS_NOISE = 3  # repetitions, or sessions, from which on their scatter is believed


class Rate(NamedTuple):
    """The speed of a metric, in its base unit."""

    value: float
    of: str  # its origin, for people


@dataclass(frozen=True)
class Shown:
    """Speed and noise of a case in earlier sessions. Noise as a share of the mean."""

    rates: Mapping[str, Rate]  # rates of the newest session, by the name of the metric
    within: float | None  # noise between repetitions, the median of all metrics; None if there were too few
    between: float | None  # noise between sessions of the same profile; None like `within`


@dataclass(frozen=True)
class Launches:
    number: int
    size: int | None  # bytes; None if a duration is aimed at
    rate: Rate | None
    seconds: float

    @property
    def words(self) -> str:
        number = f'{counted(self.number, "launch", "launches")} of '
        if self.rate is None or self.size is None:
            return f'{number}{self.seconds:.0f} s'
        speed = quantity(self.rate.value, 'B/s', 'decimal')
        return f'{number}{approximate_size(self.size)} at {speed} ({self.rate.of}), {self.seconds:.0f} s each'


@dataclass(frozen=True)
class CaseTime:
    """The time of a case, step by step."""

    known: bool  # whether any time is: of what is fixed in its size, and whose speed nobody knows, none is
    launches: Sequence[Launches]
    warm_ups: int  # repetitions that the warm-ups are worth
    repetitions: int
    fewest: int  # repetitions that the rule allows
    noise: float
    budget_s: float

    @property
    def block_s(self) -> float:
        """Seconds of one repetition of all points."""
        return sum(launch.number * launch.seconds for launch in self.launches)

    @property
    def wall_s(self) -> float:
        """Seconds of the whole case; the budget ends it, except for the running launch."""
        return min((self.warm_ups + self.repetitions) * self.block_s, max(self.budget_s, self.block_s))

    @property
    def fewest_s(self) -> float:
        return (self.warm_ups + self.fewest) * self.block_s

    @property
    def words(self) -> str:
        if not self.known:
            return 'its duration is unknown, because its speed is'
        one = ' + '.join(launch.words for launch in self.launches)
        warm = f'{counted(self.warm_ups, "warm-up")} and ' if self.warm_ups else ''
        times = f'{warm}{counted(self.repetitions, "repetition")}'
        whole = (self.warm_ups + self.repetitions) * self.block_s
        end = f', ended by its budget after {duration(self.wall_s)}' if self.wall_s < whole else ''
        return f'{one} = {self.block_s:.0f} s a repetition; x {times} = {duration(whole)}{end}'


def case_time(plan: TrialPlan, share: int, rates: Mapping[str, Rate], noise: float | None) -> CaseTime:
    """The time of a case whose tasks have this share. A launch lasts as long as its bytes take, but at least as long
    as the profile aims at; at unknown speed exactly so long."""
    points = resized(plan.points, share)
    counts = Counter(_launch(plan, point, phase, rates) for point in points for phase in point.phases)
    rule, noise = plan.stopping, NOISE if noise is None else noise
    fewest = rule.minimum if rule.fixed else rule.minimum + rule.extra
    return CaseTime(
        not plan.sizing.fixed or all(rate or seconds > plan.sizing.min_s for _, rate, seconds in counts),
        [Launches(number, *launch) for launch, number in counts.items()],
        0 if plan.sizing.fixed or kind_of(plan.kind).once else 1,
        expected_repetitions(rule, noise),
        fewest,
        noise,
        rule.budget_s,
    )


def _launch(
    plan: TrialPlan, point: Point, phase: str, rates: Mapping[str, Rate]
) -> tuple[int | None, Rate | None, float]:
    sizing = plan.sizing
    least_s = max(sizing.min_s if sizing.fixed else sizing.target_s, point.duration_s, sum(point.pauses_s))
    names = [measure.name for measure in metrics_of(point, phase) if measure.unit == 'B/s']
    size = sum(filter(None, kind_of(point.kind).moved(point, phase)))
    if not names or not size or not rates or point.duration_s:
        return None, None, least_s
    # A metric without a rate gets the first known one: reading is taken to be as fast as writing.
    rate = next((rates[name] for name in names if name in rates), next(iter(rates.values())))
    taken_s = size / rate.value
    # If the size is not fixed, a task moves as many more bytes as the launch needs to last.
    return (size, rate, taken_s) if sizing.fixed or taken_s >= least_s else (None, None, least_s)


def shown(rows: 'pl.DataFrame', profile: str) -> Shown:
    """Speed and noise of a case by its rows of the history."""
    import polars as pl

    valid = rows.filter(pl.col('valid').fill_null(False), pl.col('value') > 0)
    grouped = valid.group_by('session', 'profile', 'metric', 'operation', 'unit')
    by = grouped.agg(mean=pl.col('value').mean(), std=pl.col('value').std(), n=pl.len())
    newest = by.filter(pl.col('session') == pl.col('session').max(), pl.col('unit') == 'B/s')
    rates = newest.group_by('operation').agg(pl.col('mean').max()).sort('operation', descending=True)
    enough = by.filter(pl.col('n') >= SHOWS_NOISE).select((pl.col('std') / pl.col('mean')).median())
    of_profile = by.filter(pl.col('profile') == profile).group_by('metric')
    logs = of_profile.agg(std=pl.col('mean').log().std(), n=pl.len())
    between = logs.filter(pl.col('n') >= SHOWS_NOISE).select(pl.col('std').median())
    return Shown({name: Rate(value, 'seen') for name, value in rates.iter_rows()}, enough.item(), between.item())
