"""Forecasts time, bytes and space of the cases of a session, and finds what exceeds the available."""

import math
import os
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from seatrial.check.pace import CaseTime, Rate, Shown, case_time, shown
from seatrial.filesystem.base import Capacity, type_fault
from seatrial.filesystem.mounts import is_below, mount_of
from seatrial.filesystem.registry import by_type
from seatrial.job.sequence.sizing import MAX_SIZES, ROUNDS, bounds, calibration_points, first_share, step
from seatrial.job.sequence.survey import capacity_for, filling, memory_bytes, min_per_task, to_fullness
from seatrial.model.ask import unresponsive
from seatrial.model.plan import Case, Target, TrialPlan
from seatrial.model.units import MIB, approximate_size, duration, format_size, round_up
from seatrial.rules.before import KEPT_BYTES, KEPT_INODES, Offer, held, offers, peak
from seatrial.scheduler.job_end import job_limit_s
from seatrial.scheduler.partitions import submits, time_limits_s
from seatrial.scheduler.queue import QueueError
from seatrial.site.error import problem, raise_any
from seatrial.site.model import TRIAL_FILE, Site
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of, phase_of, resized, share_words
from seatrial.workload.words import counted

if TYPE_CHECKING:
    import polars as pl

SESSIONS = 20  # newest sessions that are read
EARLIER = 5  # newest of them that measured the case whole: a forecast is their median

UNKNOWN = Capacity(None, None)
NO_RATES: Mapping[str, Rate] = {}
UNSEEN = Shown(NO_RATES, None, None)

SHORT_QUEUE_S = 300.0  # a queue_limit below it is hardly meant so: a number without a unit is in seconds
_Key = tuple[str, Case]  # profile and case
Number = TypeVar('Number', int, float)


@dataclass(frozen=True)
class ForecastRange:
    """A forecast quantity from least to most; None is unknown."""

    least: float
    expected: float | None  # that of earlier sessions, or a time computed from the known speed
    most: float | None

    def plus(self, other: 'ForecastRange') -> 'ForecastRange':
        """The sum of both; unknown where one of them is."""
        expected, most = _sum((self.expected, other.expected)), _sum((self.most, other.most))
        return ForecastRange(self.least + other.least, expected, most)

    def times(self, factor: float) -> 'ForecastRange':
        expected, most = (None if value is None else value * factor for value in (self.expected, self.most))
        return ForecastRange(self.least * factor, expected, most)


NOTHING = ForecastRange(0, 0, 0)


@dataclass(frozen=True)
class Forecast:
    """The forecast of one case. Sizes in bytes, times in seconds."""

    plan: TrialPlan
    repetitions: ForecastRange  # repetitions of each point
    written: ForecastRange  # bytes written by all tasks over the whole case
    read: ForecastRange  # bytes read by all tasks over the whole case
    room: ForecastRange  # bytes that its files take at one time
    inodes: ForecastRange  # inodes that its files take at one time
    wall_s: ForecastRange  # duration of its job, without the queue; most: the job's time limit
    free: Capacity  # free room of the file system, seen from this host
    quota: Capacity  # room left by the quotas, seen from this host
    shares: tuple[int, int]  # the smallest and the largest of a task
    pace: CaseTime  # how its time comes about
    shown: Shown  # speed and noise by earlier sessions, and speeds that a contract promises
    sessions: int  # earlier ones that measured the same, whose times are expected
    allocations: int = 1  # number of allocations, each a session of its own
    criteria: Sequence[str] = ()  # ids of the contract's criteria that they measure

    def over(self, allocations: int, criteria: Sequence[str]) -> 'Forecast':
        """The forecast for several allocations; space on the file system at one time stays the same."""
        together = {name: getattr(self, name).times(allocations) for name in ('written', 'read', 'wall_s')}
        return replace(self, **together, allocations=allocations, criteria=tuple(criteria))

    @property
    def arithmetic(self) -> str:
        """The calculation of the time in words, so that it can be checked by hand."""
        one_s = (self.wall_s.expected or self.wall_s.least) / self.allocations
        words = f'{duration(one_s)} as in earlier sessions' if self.sessions else self.pace.words
        times = f'; x {self.allocations} allocations = {duration(self.allocations * one_s)}'
        return words + (times if self.allocations > 1 else '')

    @property
    def node_hours(self) -> ForecastRange:
        return self.wall_s.times(self.plan.case.nodes / 3600)


class Bytes(NamedTuple):
    """Bytes written and read by some launches; None if only a measurement can tell."""

    written: int | None
    read: int | None


class Earlier(NamedTuple):
    """The time, sizes and launches of a case in one session."""

    wall_s: float
    share: int  # bytes or files of a task
    launches: tuple[tuple[str, str, int | None], ...]  # point, phase and bytes
    directory_bytes: int = 0  # size of directories at most; no file system says in advance how large its own get

    @property
    def repetitions(self) -> Counter[str]:
        first = self.launches[0][1]
        return Counter(label for label, phase, _ in self.launches if phase == first)


def forecasts(
    site: Site, plans: Sequence[TrialPlan], promised: Sequence[Mapping[str, Rate]] = (), history: bool = True
) -> list[Forecast]:
    """The forecast of each case; room that this host cannot see is unknown. Raises OSError. promised: rates of a
    contract for each case, until a session has measured others; history: whether sessions are read"""
    earlier, speeds = _history(site, plans) if history else ({}, {})
    seen = {path: _seen(site, target) for path, target in {plan.target.path: plan.target for plan in plans}.items()}
    quotas = {path: by_type(target.type).quota(target.path) for path, target in seen.items() if target}
    cases = []
    for plan, rates in zip(plans, promised or [{}] * len(plans), strict=True):
        target = seen[plan.target.path]
        free, room = UNKNOWN, 0
        if target:
            here = plan._replace(target=target)
            free, room = capacity_for(here, by_type(target.type)), to_fullness(here)
            plan = filling(plan, room)
        like = earlier.get((plan.profile, plan.case), [])
        quota = quotas.get(plan.target.path, UNKNOWN)
        expected = forecast(plan, like, free, quota, rates, speeds.get((plan.profile, plan.case), UNSEEN))
        least, most = (max(room, value or 0) for value in (expected.room.least, expected.room.most))
        cases.append(replace(expected, room=ForecastRange(least, expected.room.expected, most)))
    return cases


def _seen(site: Site, target: Target) -> Target | None:
    """The target as this host sees it, if it does; for what the first run creates in the state, its parent."""
    path = Path(target.path)
    while is_below(target.path, site.state) and not path.exists():
        path = path.parent
    if unresponsive(str(path)) is not None or not os.access(path, os.X_OK):
        return None
    fault = type_fault(by_type(target.type), mount_of(str(path.resolve())))
    return target._replace(path=str(path)) if fault is None else None


def shortfalls(site: Site, cases: Sequence[Forecast]) -> tuple[list[str], list[str]]:
    """Problems of the site's files: what the cases need and is not available; and notes on what could not be checked.
    For each bound the case that exceeds it most, with the smallest change that makes it fit."""
    worst, notes = dict[tuple[str, str], tuple[int, Forecast, Offer]](), dict[str, None]()
    for forecast in cases:
        partition = forecast.plan.case.partition
        limit_s = site.partition(partition).queue_limit
        if limit_s < SHORT_QUEUE_S and submits(site, partition):
            why = f'{partition}: queue_limit cancels a job that has not begun after {limit_s:g} s'
            notes[f'{why}; if minutes or hours were meant, write 45min or 2h'] = None
        sizing = forecast.plan.sizing
        guessed = sizing.working_set and sizing.pinned is None and not forecast.plan.node_memory
        if guessed and submits(site, partition):
            why = 'the memory of its nodes is not declared, so sizes are computed from the memory of this host'
            notes[f'{partition}: {why}; set memory under partitions in trial.yaml'] = None
            continue
        needs = {'bytes': forecast.room.least + KEPT_BYTES, 'inodes': forecast.inodes.least + KEPT_INODES}
        for offer in offers(forecast.plan.target.limits, forecast.free._asdict(), forecast.quota._asdict()):
            beyond, key = int(needs[offer.what]) - offer.offered, (forecast.plan.target.path, offer.name)
            if beyond > 0 and (key not in worst or beyond > worst[key][0]):
                worst[key] = beyond, forecast, offer
    limits_s = dict[str, float]()
    try:
        limits_s = time_limits_s(site, {forecast.plan.case.partition for forecast in cases})
    except QueueError as error:
        notes[f"the time limits of Slurm's partitions are not known: {error}"] = None
    return [*(_too_large(*row) for row in worst.values()), *_too_long(cases, limits_s)], list(notes)


def measured_bytes(plan: TrialPlan, share: int, repetitions: Mapping[str, int], unknown: int | None = None) -> Bytes:
    """The bytes that the measured launches move, by the share of a task and the repetitions of each point by label.
    unknown: used where only a measurement can tell"""
    repeated = ((point, point.phases * repetitions[point.label]) for point in resized(plan.points, share))
    return _total((Launch(phase, point) for point, phases in repeated for phase in phases), unknown)


def bytes_before(plan: TrialPlan, warm: int, share: int, rounds: int = 1, unknown: int | None = None) -> Bytes:
    """The bytes moved by warm-ups (share `warm`) and by preparing the measured launches (`share`)."""
    kind, first = kind_of(plan.kind), resized(calibration_points(plan)[:1], warm)
    launches = [*kind.preparations(first), *(Launch(phase, first[0]) for phase in plan.phases)]
    return _total([*launches * rounds, *kind.preparations(resized(plan.points, share))], unknown)


def _total(launches: Iterable[Launch], unknown: int | None) -> Bytes:
    ways = zip((0, 0), *(kind_of(point.kind).moved(point, phase) for phase, point in launches), strict=True)
    return Bytes(*(_sum(unknown if value is None else value for value in way) for way in ways))


def _sum(values: Iterable[Number | None]) -> Number | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def forecast(
    plan: TrialPlan,
    earlier: Sequence[Earlier],
    free: Capacity,
    quota: Capacity,
    promised: Mapping[str, Rate] = NO_RATES,
    seen: Shown = UNSEEN,
) -> Forecast:
    """The forecast of a case from earlier sessions that measured the same, and from the space available."""
    rule, memory = plan.stopping, plan.node_memory or memory_bytes()
    lowest, highest = bounds(plan, memory, free)
    highest = max(lowest, highest)
    if not plan.points[0].scales or not lowest:  # the points are as they are, whatever the share of a task
        earlier = [past._replace(share=lowest) for past in earlier]
    like = [past for past in earlier if _is_like(plan, past, lowest)][-EARLIER:]
    usual_times = _median(sum(past.repetitions.values()) / len(past.repetitions) for past in like)
    repetitions = ForecastRange(rule.minimum + rule.extra, usual_times, rule.maximum + rule.extra)
    if rule.fixed:  # a smoke test makes each point once whatever its time budget is
        repetitions = ForecastRange(1, usual_times, rule.minimum)
    few, most = held(plan, min_per_task(plan, memory)), held(plan, highest)
    usual = [held(plan, past.share) for past in like]
    for sizes, past in zip(usual, like, strict=True):
        sizes['bytes'] += past.directory_bytes
    launches = [point for point in plan.points for _ in point.phases]
    block_s = sum(max(plan.sizing.min_s, point.duration_s, sum(point.pauses_s)) for point in launches)
    room, inodes = (
        ForecastRange(few[what], _median(one[what] for one in usual), max(one[what] for one in (few, most, *usual)))
        for what in ('bytes', 'inodes')
    )
    least_s = min(repetitions.least * block_s, max(rule.budget_s, block_s))
    seen = replace(seen, rates={**promised, **seen.rates})
    pace = case_time(plan, lowest, seen.rates, seen.within)
    usual_s = _median(past.wall_s for past in like)
    limit_s = job_limit_s(plan)
    if usual_s is None and pace.known:
        usual_s = min(max(least_s, pace.wall_s), limit_s)
    wall_s = ForecastRange(least_s, usual_s, limit_s)
    of_files = repetitions, *_volumes(plan, (lowest, highest), repetitions, like), room, inodes
    return Forecast(plan, *of_files, wall_s, free, quota, (lowest, highest), pace, seen, len(like))


def _is_like(plan: TrialPlan, earlier: Earlier, lowest: int) -> bool:
    """True if it measured the same points, with the same share of a task if that is fixed."""
    made = {(label, phase) for label, phase, _ in earlier.launches}
    same = made == {(point.label, phase) for point in plan.points for phase in point.phases}
    return same and (earlier.share == lowest if plan.sizing.fixed else earlier.share % step(plan) == 0)


def _volumes(
    plan: TrialPlan, shares: tuple[int, int], repetitions: ForecastRange, like: Sequence[Earlier]
) -> tuple[ForecastRange, ForecastRange]:
    """Bytes written and read, including warm-ups; `most` also includes launches under Darshan and the proof of
    contents. It is unknown where suspects are measured again, or slow targets searched for, while time is left."""
    (lowest, highest), fixed = shares, plan.sizing.fixed
    labels = [point.label for point in plan.points]
    warm = first_share(plan, calibration_points(plan)[0])
    least = dict.fromkeys(labels, int(repetitions.least))
    few = _both(bytes_before(plan, warm, lowest, unknown=0), measured_bytes(plan, lowest, least, unknown=0))
    most = Bytes(None, None)
    if not plan.floors and (plan.stopping.fixed or not plan.axis.equals):
        cap = int(repetitions.most or 0) + bool(plan.darshan)
        proof = held(plan, highest)['bytes'] if kind_of(plan.kind).moves_data else 0
        before = bytes_before(plan, warm if fixed else highest, highest, rounds=1 if fixed else ROUNDS)
        once = _both(before, measured_bytes(plan, highest, dict.fromkeys(labels, cap)))
        most = _both(Bytes(proof, proof), *[once] * (1 if fixed else MAX_SIZES))
    warmed = [bytes_before(plan, warm if fixed else max(warm, past.share), past.share, unknown=0) for past in like]
    usual = [_both(before, _earlier_bytes(plan, past)) for before, past in zip(warmed, like, strict=True)]
    return (
        ForecastRange(few.written or 0, _median(moved.written for moved in usual), most.written),
        ForecastRange(few.read or 0, _median(moved.read for moved in usual), most.read),
    )


def _both(*several: Bytes) -> Bytes:
    return Bytes(*map(_sum, zip(*several, strict=True)))


def _earlier_bytes(plan: TrialPlan, earlier: Earlier) -> Bytes:
    """The bytes of an earlier session; for launches ended by time, as they were counted."""
    exact = measured_bytes(plan, earlier.share, earlier.repetitions)
    sizes = [size for *_, size in earlier.launches if size is not None]
    if None not in exact or len(sizes) < len(earlier.launches):
        return exact
    read = 0.0
    for label, phase, size in earlier.launches:
        does, data = phase_of(plan.points[0], phase), plan.point(label).data
        read += (size or 0) * ((data.read_share or 0.5) if does.mixed else does.reads)
    return Bytes(sum(sizes) - round(read), round(read))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _history(site: Site, plans: Sequence[TrialPlan]) -> tuple[Mapping[_Key, list[Earlier]], Mapping[_Key, Shown]]:
    """The newest sessions of each case: their times and sizes, and its speed and noise. Raises OSError."""
    from seatrial.history.store import ended, folder_of, read

    history = folder_of(site.state)
    rows = read(history, SESSIONS).rows
    by_case = rows.partition_by(Case._fields, as_dict=True)
    there = [plan for plan in plans if plan.case in by_case]
    speeds = {(plan.profile, plan.case): shown(by_case[plan.case], plan.profile) for plan in there}
    return _earlier(rows, {name: ended(history, name) for name in rows['session'].unique()}), speeds


def _earlier(rows: 'pl.DataFrame', ends: Mapping[str, datetime | None]) -> dict[_Key, list[Earlier]]:
    """The time, sizes and launches of each case in each session that measured it whole, oldest first. A case lasts
    from the end of the one before to its last launch, the last one to the end of the session, if known."""
    import polars as pl

    by = ['session', 'session_started', 'profile', *Case._fields]
    launched = pl.col('started') + pl.duration(microseconds=pl.col('seconds').fill_null(0) * 1_000_000)
    whole = (
        rows.filter(pl.col('started').is_not_null() & pl.col('phase').is_not_null())
        .group_by(by)
        .agg(
            launched.max().alias('end'),
            (pl.col('case_verdict') != 'INCOMPLETE').all().alias('whole'),
            pl.coalesce('bytes_per_task', 'files_per_task', pl.lit(0)).max().alias('share'),
            pl.col('directory_bytes').max().fill_null(0),
            pl.struct('repetition', 'point', 'phase', 'bytes_moved').unique(maintain_order=True).alias('launches'),
        )
        .sort('session', 'end')
        .with_columns(begin=pl.col('end').shift(1).over('session').fill_null(pl.col('session_started')))
    )
    last = {row['session']: Case(*(row[name] for name in Case._fields)) for row in whole.iter_rows(named=True)}
    by_case = dict[_Key, list[Earlier]]()
    for row in whole.filter('whole').iter_rows(named=True):
        launches = tuple((launch['point'], launch['phase'], launch['bytes_moved']) for launch in row['launches'])
        case = Case(*(row[name] for name in Case._fields))
        end = ends.get(row['session']) if case == last[row['session']] else None
        wall_s = ((end or row['end']) - row['begin']).total_seconds()
        measured = Earlier(wall_s, row['share'], launches, row['directory_bytes'])
        by_case.setdefault((row['profile'], case), []).append(measured)
    return by_case


def _too_large(beyond: int, forecast: Forecast, offer: Offer) -> str:
    """A message that a case has no room, with what would make it fit: a larger bound, or less for each task."""
    plan, needed = forecast.plan, beyond + offer.offered
    kind, share = kind_of(plan.kind), min_per_task(plan, plan.node_memory or memory_bytes())
    tasks = counted(max(point.tasks for point in plan.points), 'task')
    of_tasks = f'{tasks} with {share_words(kind, share)} each' if share and not plan.points[0].fullness else tasks
    size, bound = (f'{amount} {offer.what}' for amount in (needed, offer.offered))
    more, free = f'inodes: {needed}', counted(beyond, 'inode')
    if offer.what == 'bytes':
        size, bound = f'{approximate_size(needed)} ({needed} B)', approximate_size(offer.offered)
        more, free = f'bytes: {format_size(round_up(needed, MIB))}', format_size(round_up(beyond, MIB))
    of_limits = offer.name.startswith('limits')
    remedies = [f'write {more} there' if of_limits else f'free {free} on {plan.target.path}']
    if smaller := fitting_share(plan, offer):
        key, value = ('bytes_per_task', format_size(smaller)) if kind.moves_data else ('files_per_task', smaller)
        remedies.append(f'{key}: {value} in its {"workload" if plan.contract else "trial"}')
    elif plan.points[0].fullness:
        remedies.append('a smaller fullness in its trial')
    elif plan.contract and plan.sizing.working_set:
        remedies.append('caches: allowed in its conditions')
    else:
        less = 'fewer nodes' if plan.points[0].scales and plan.case.nodes > 1 else 'another check'
        remedies.append(f'{less} in its {"criterion" if plan.contract else "trial"}')
    keys = ['file_systems', plan.case.file_system, *(['limits'] if of_limits else [])]
    sentence = f'{plan.case.name} needs {size} at one time ({of_tasks}), but {offer.name} allows {bound}'
    return problem(TRIAL_FILE, keys, f'{sentence}; {", or ".join(remedies)}')


def fitting_share(plan: TrialPlan, offer: Offer) -> int:
    """The largest share of a task with which the case fits; 0: there is none, or the site cannot choose it."""
    sizing = plan.sizing
    if not plan.points[0].scales or plan.points[0].fullness or (sizing.working_set and sizing.pinned is None):
        return 0
    for granule in (math.lcm(step(plan), MIB) if kind_of(plan.kind).moves_data else 1, step(plan)):
        one, two = peak(plan, granule)[offer.what], peak(plan, 2 * granule)[offer.what]
        if one <= offer.offered and two > one:
            return granule * (1 + (offer.offered - one) // (two - one))
    return 0


def _too_long(cases: Sequence[Forecast], limits_s: Mapping[str, float]) -> list[str]:
    """A message for each partition whose time limit in Slurm is too short, with the case that exceeds it by most."""
    worst = dict[str, tuple[float, TrialPlan]]()
    for forecast in cases:
        limit_s = limits_s.get(forecast.plan.case.partition)
        beyond = job_limit_s(forecast.plan) - limit_s if limit_s is not None else 0.0
        if beyond > worst.get(forecast.plan.case.partition, (0.0, None))[0]:
            worst[forecast.plan.case.partition] = beyond, forecast.plan
    problems = []
    for name, (beyond, plan) in worst.items():
        budget_min = (plan.stopping.budget_s - beyond) // 60
        where = 'conditions' if plan.contract else 'trial'
        fits = f'budget: {budget_min:.0f}min in its {where}, or ' if budget_min > 0 else ''
        if kind_of(plan.kind).once:
            fits = 'a check with less of the load, and allocations in its criterion (docs/how-to/scenarios.md), or '
        sentence = (
            f'the job of {plan.case.name} may take {duration(job_limit_s(plan))} (its budget of '
            f'{duration(plan.stopping.budget_s)}, its last launch, the removal), and Slurm ends it after '
            f'{duration(limits_s[name])}; write {fits}a partition with a longer limit'
        )
        problems.append(problem(TRIAL_FILE, ['partitions', name], sentence))
    return problems


def refuse(site: Site, plans: Sequence[TrialPlan], more: Sequence[str] = ()) -> list[str]:
    """Raises SiteError if the cases do not fit, or for `more` problems; else notes on what could not be checked."""
    problems, notes = shortfalls(site, forecasts(site, plans, history=False))
    raise_any([*problems, *more])
    return notes
