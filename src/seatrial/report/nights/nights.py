"""The nights of a scheduled trial: the verdicts of each session, failures with their first night, and missed runs. A
criterion that failed stays among the failing until a night passes it, or no longer judges it: a night that could not
decide has fixed nothing. INVALID and INCOMPLETE ones leave as soon as they have been measured again."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import polars as pl

from seatrial.history.provenance import CASE, differing, facts_of
from seatrial.history.rows import OF_ONE_SESSION
from seatrial.judge.relations import FAILS, HOLDS
from seatrial.judge.verdict import Verdict, worst
from seatrial.model.plan import Case
from seatrial.workload.words import by_key

START_GRACE = timedelta(hours=2)  # a run that begins later is missed; longer than the queue of a small partition
EARLY = timedelta(minutes=2)  # a run may begin so long before its time: clocks of controller and nodes differ


class VerdictKey(NamedTuple):
    case: str  # its name, or empty for what belongs to the session
    name: str  # metric or enforced expectation; empty for everything else that the case (the session) was judged by


class Judged(NamedTuple):
    verdict: Verdict
    why: str = ''


class Night(NamedTuple):
    """One session that ended. Times have a time zone."""

    session: str
    began: datetime
    ended: datetime  # end of its last launch
    verdict: Verdict
    cases: Mapping[str, Verdict]  # verdicts of its cases, by their names
    criteria: Mapping[VerdictKey, Judged]  # all that were judged, passed ones too
    unlike: Sequence[str] = ()  # sentences on what it measured with, where that differs from the night before


class Standing(NamedTuple):
    """A criterion that is FAIL, INVALID or INCOMPLETE."""

    verdict: Verdict
    why: str
    since: datetime  # the first night of that
    seen: bool = True  # True if the last night itself had this verdict


Standings = Mapping[VerdictKey, Standing]


class Unfinished(NamedTuple):
    """A session that began and has left no row in the history."""

    session: str
    began: datetime
    alive: bool  # True if it has a heartbeat


class DueRun(NamedTuple):
    due: datetime
    state: str  # 'done', 'running', 'waited for' or 'missed'


DONE, RUNNING, AWAITED, MISSED = 'done', 'running', 'waited for', 'missed'


def nights(
    tables: Iterable[pl.DataFrame],
    site: str,
    profile: str,
    enforced: Callable[[str], Mapping[VerdictKey, Judged]] = lambda session: {},
    system: str | None = None,
) -> list[Night]:
    """The sessions of a site and profile, oldest first, without those restricted to named checks. tables: rows of the
    history, those of earlier sessions first; none is kept; enforced: the expectations that were criteria of a session
    (enforced_in), which the history does not have; system: only its rows, if a site has several"""
    of_system = pl.lit(True) if system is None else pl.col('partition').str.starts_with(f'{system}:')
    past: list[Night] = []
    before = None
    for rows in tables:
        chosen = whole(rows, site, profile).filter(of_system).sort('session_started', 'session', maintain_order=True)
        for (session,), table in chosen.group_by('session', maintain_order=True):
            facts = facts_of(table)
            unlike = differing(before, facts) if before is not None else ()
            past.append(_night(str(session), table, enforced(str(session)), tuple(unlike)))
            before = facts
    return past


OF_WHOLE = ('site', 'profile', 'selection')  # the columns by which `whole` chooses


def whole(rows: pl.DataFrame, site: str, profile: str) -> pl.DataFrame:
    """The rows of the sessions of a site and profile that were not restricted to named checks."""
    of_all = pl.col('selection').fill_null('') == ''
    return rows.filter((pl.col('site') == site) & (pl.col('profile') == profile) & of_all)


def enforced_in(results: Mapping[str, Any]) -> dict[VerdictKey, Judged]:
    """The enforced expectations in a results.json. Raises KeyError or TypeError if it has not a session's results."""
    owned = [('', results['relations']), *((case['case']['name'], case['expectations']) for case in results['cases'])]
    return {
        VerdictKey(case, f'{expectation["id"]} {expectation["subject"]}'): Judged(
            {HOLDS: Verdict.PASS, FAILS: Verdict.FAIL}.get(expectation['relation']['verdict'], Verdict.INCONCLUSIVE),
            expectation['relation']['sentence'],
        )
        for case, expectations in owned
        for expectation in expectations
        if expectation['enforced']
    }


def criteria_in(results: Mapping[str, Any]) -> int:
    """The number of criteria of a session: references, expectations, and compared sweeps. Raises as enforced_in."""
    references = sum(len(case['references']) for case in results['cases'])
    swept = sum(case['isolation'] is not None and not case['unjudged'] for case in results['cases'])
    return references + swept + len(enforced_in(results))


def standings(past: Iterable[Night]) -> list[dict[VerdictKey, Standing]]:
    """The criteria that are not well after each of the nights."""
    after_each: list[dict[VerdictKey, Standing]] = []
    before: dict[VerdictKey, Standing] = {}
    for night in past:
        now = {key: _standing(judged, night.began, before.get(key)) for key, judged in night.criteria.items()}
        before = {key: standing for key, standing in now.items() if standing is not None}
        after_each.append(before)
    return after_each


def lasting(current: Standings, past: Sequence[Night], patience: int) -> dict[VerdictKey, Standing]:
    """The standings to notify people of after the last night: INVALID only after `patience` nights in a row."""
    return {
        key: standing
        for key, standing in current.items()
        if standing.verdict is not Verdict.INVALID or sum(night.began >= standing.since for night in past) >= patience
    }


def difference(before: Standings, after: Standings) -> tuple[list[VerdictKey], list[VerdictKey]]:
    """The criteria that are new or have another verdict now, and those that are well again or no longer tested."""
    new = [key for key, standing in after.items() if key not in before or before[key].verdict != standing.verdict]
    return new, [key for key in before if key not in after]


def in_a_row(past: Sequence[Night], fits: Callable[[Night], bool]) -> int:
    return len(list(takewhile(fits, reversed(past))))


def passed(night: Night) -> bool:
    return night.verdict is Verdict.PASS


def without_result(night: Night) -> bool:
    """True if it is neither valid throughout nor a FAIL."""
    return not (night.verdict.unopposed or night.verdict is Verdict.FAIL)


def runs(
    due: Sequence[datetime],
    following: datetime,
    now: datetime,
    ended: Collection[datetime],
    begun: Iterable[Unfinished],
) -> list[DueRun]:
    """The state of each due run. due: ascending, all past; following: the next one; ended: when ended sessions began.
    A session belongs to the run that was due last when it began. While a session runs, the last run is not missed."""
    alive = [session.began for session in begun if session.alive]
    due_runs = []
    for this, after in pairwise([*due, following]):
        first, last = this - EARLY, after - EARLY
        if any(first <= began < last for began in ended):
            state = DONE
        elif any(first <= began < last for began in alive) or (alive and after == following):
            state = RUNNING
        else:
            state = AWAITED if after == following and now < this + START_GRACE else MISSED
        due_runs.append(DueRun(this, state))
    return due_runs


def _night(session: str, rows: pl.DataFrame, enforced: Mapping[VerdictKey, Judged], unlike: Sequence[str]) -> Night:
    began = rows['session_started'][0]
    verdict = Verdict(rows['session_verdict'][0])
    cases: dict[str, Verdict] = {}
    criteria: dict[VerdictKey, Judged] = {}
    for *case, case_verdict, criterion, metric_verdict, why in _judged(rows).iter_rows():
        key, one = VerdictKey(Case(*case).name, criterion), Judged(Verdict(metric_verdict), why)
        cases[key.case] = Verdict(case_verdict)
        before = criteria.get(key)
        if before is None or worst([before.verdict, one.verdict]) is not before.verdict:
            criteria[key] = one
    criteria.update(enforced)
    by_case = by_key((key.case, judged.verdict) for key, judged in criteria.items())
    criteria.update((VerdictKey(name, ''), _rest(of_case, by_case[name])) for name, of_case in cases.items())
    between = [judged.verdict for key, judged in enforced.items() if not key.case]
    criteria[VerdictKey('', '')] = _rest(verdict, [*cases.values(), *between])
    lasted = pl.duration(microseconds=(pl.col('seconds').fill_null(0.0) * 1e6).cast(pl.Int64))
    ends = rows.select((pl.col('started') + lasted).max()).item()
    return Night(session, began, ends or began, verdict, cases, criteria, unlike)


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    """Everything judged, once each: case, the case's verdict, criterion, verdict, why. The groups of a node sweep are
    other nodes every night: only all of them together are one criterion."""
    why = pl.col('metric_why').fill_null('')
    return rows.select(
        *CASE,
        'case_verdict',
        pl.when(OF_ONE_SESSION).then(pl.col('operation') + '@groups').otherwise('metric').alias('criterion'),
        'metric_verdict',
        pl.when(OF_ONE_SESSION & (why != '')).then(pl.col('point') + ': ' + why).otherwise(why).alias('why'),
    ).unique(maintain_order=True)


def _rest(whole: Verdict, parts: Sequence[Verdict]) -> Judged:
    """The verdict apart from its parts; INCONCLUSIVE if they explain it."""
    if whole.unopposed:
        return Judged(whole)
    return Judged(Verdict.INCONCLUSIVE if worst(parts) is whole else whole)


def _standing(judged: Judged, night: datetime, before: Standing | None) -> Standing | None:
    """The standing of a criterion after a night; None if it is well."""
    if judged.verdict.unopposed:
        return None
    if before is not None and before.verdict is Verdict.FAIL and judged.verdict is not Verdict.FAIL:
        return before._replace(seen=False)
    if judged.verdict is Verdict.INCONCLUSIVE:
        return None
    goes_on = before is not None and before.verdict is judged.verdict
    return Standing(judged.verdict, judged.why, before.since if before and goes_on else night)
