"""The state of a site's scheduled trials, from history, sessions, schedule and Slurm; all nights of a profile."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from seatrial.check.session import FILE, PAGE, REPORT, RESULTS, began, session_folders
from seatrial.history import store
from seatrial.job.directory.lock import STALE_S
from seatrial.job.directory.orphans import heartbeat_of
from seatrial.judge.compare import EFFECT
from seatrial.model.foreign import NotReadable, read_json
from seatrial.report.comparison.before_after import COMPARED, compact
from seatrial.report.nights import nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.page import year_page
from seatrial.report.nights.trend import GATHERED, Nights, Trend, gathered
from seatrial.report.nights.trend import trend as trend_of
from seatrial.scheduler.series import Scheduled, page_file, put, queue_words, removed_s, scheduled, series_of
from seatrial.site.calendar import Calendar
from seatrial.site.model import Site

RUNS_SHOWN = 14
SESSIONS_READ = 60  # newest sessions; then four times as many, until they hold RUNS_SHOWN nights

# In the environment of a session: the process that started it writes the page, after the notification.
LATER = 'SEATRIAL_PAGE_OF_NIGHTS_LATER'


def watch_of(site: Site, profile: str, system: str | None = None) -> TrialWatch:
    """The state of a profile's scheduled trials now, for one system if the site has several."""
    now = datetime.now().astimezone()
    past, skipped = _past(site, profile, system)
    series = series_of(site, profile)
    plan = scheduled(series)
    ended = {night.session: night.began for night in past}
    calendar, since = _calendar(site, profile, plan, ended, now)
    due = calendar.between(max(since, now - timedelta(days=7 * RUNS_SHOWN)), now)[-RUNS_SHOWN:] if calendar else []
    following = calendar.after(now)[0] if calendar else None
    last = past[-1].session if past else ''
    results = object_in(site.session_folder(last) / RESULTS) if past else {}
    # The profile of an unreadable session is unknown, so all after the last night count: names sort by time.
    begun, damaged = _unfinished(site, profile, ended, system)
    unread = [f'{file.file}: {file.why}' for file in skipped if file.file.stem > last]
    unread += [why for session, why in damaged if session > last]
    page = site.session_folder(past[-1].session) / REPORT / PAGE if past else None
    criteria = None
    with suppress(KeyError, TypeError):
        criteria = nights.criteria_in(results)
    return TrialWatch(
        site=site.name,
        profile=profile,
        now=now,
        nights=past,
        runs=nights.runs(due, following, now, ended.values(), begun) if following else [],
        calendar=calendar.words if calendar else '',
        following=following,
        queue=queue_words(series) if plan else '',
        report=str(page) if page and page.is_file() else '',
        unread=unread,
        criteria=criteria,
        chain=str(results.get('chain', '')),
        rows=store.read(store.folder_of(site.state), named=[last]).rows if past else None,
    )


def _missed(site: Site, profile: str, ended: Mapping[str, datetime]) -> list[datetime]:
    """All missed runs of a profile, as far as its schedule is known. ended: begin of ended sessions, oldest first"""
    now = datetime.now().astimezone()
    calendar, since = _calendar(site, profile, scheduled(series_of(site, profile)), ended, now)
    if calendar is None:
        return []
    due, begun = calendar.between(since, now), _unfinished(site, profile, ended, None)[0]
    due_runs = nights.runs(due, calendar.after(now)[0], now, ended.values(), begun)
    return [run.due for run in due_runs if run.state == nights.MISSED]


def _calendar(
    site: Site, profile: str, plan: Scheduled | None, ended: Mapping[str, datetime], now: datetime
) -> tuple[Calendar | None, datetime]:
    if plan is not None:
        return plan.calendar, datetime.fromtimestamp(plan.since).astimezone()
    since = next(iter(ended.values()), now)
    removed = removed_s(series_of(site, profile))
    disabled = removed is not None and all(began.timestamp() < removed for began in ended.values())
    if profile in site.trial_file.schedule and not disabled:  # started by other means than `seatrial schedule`
        return site.schedule(profile).calendar, since
    return None, since


def _past(site: Site, profile: str, system: str | None) -> tuple[list[nights.Night], list[store.Skipped]]:
    """The last nights of the trial, from the newest sessions only, and the files that cannot be read."""
    folder, newest = store.folder_of(site.state), SESSIONS_READ
    while True:
        skipped: list[store.Skipped] = []
        tables = store.readable(store.one_by_one(folder, newest), skipped)
        past = nights.nights(tables, site.name, profile, lambda session: _enforced(site, session), system)
        if len(past) >= RUNS_SHOWN or newest >= len(store.sessions_in(folder)):
            return past, skipped
        newest *= 4


def _enforced(site: Site, session: str) -> dict[nights.VerdictKey, nights.Judged]:
    """Enforced expectations of a session, which the history lacks; empty without its folder: the case decides."""
    with suppress(KeyError, TypeError):
        return nights.enforced_in(object_in(site.session_folder(session) / RESULTS))
    return {}


def object_in(file: Path) -> Mapping[str, Any]:
    """The JSON object in a file; empty if there is none, or it cannot be read."""
    try:
        data = read_json(file)
    except (OSError, NotReadable):
        return {}
    return data if isinstance(data, dict) else {}


def _unfinished(
    site: Site, profile: str, ended: Collection[str], system: str | None
) -> tuple[list[nights.Unfinished], list[tuple[str, str]]]:
    """Unfinished sessions, and unreadable ones with the reason. ended: the sessions that ended, oldest first"""
    unfinished, unread = [], []
    first = next(iter(ended), '')
    for folder in session_folders(site.state):
        session = folder.name
        if session in ended or session < first or not store.SESSION.fullmatch(session):
            continue
        try:
            data = read_json(folder / FILE)
            asked = (data['profile'], Path(data['site']), data['only'])
            if asked == (profile, site.folder, []) and system in (None, data.get('system')):
                unfinished.append(nights.Unfinished(session, began(session), _beats(site, session)))
        except FileNotFoundError:
            continue  # the session is being created
        except (OSError, NotReadable) as error:
            unread.append((session, str(error)))
        except (KeyError, TypeError):
            unread.append((session, f'{folder / FILE} is no session'))
    return unfinished, unread


def _beats(site: Site, session: str) -> bool:
    try:
        return time.time() - Path(heartbeat_of(site.state, session)).stat().st_mtime < STALE_S
    except OSError:
        return False


class Past(NamedTuple):
    """All nights of a profile, without sessions that ran only named checks."""

    trend: Trend | None
    annotations: Sequence[store.Annotation]
    skipped: Sequence[store.Skipped]  # files that could not be read
    nights: Nights


def past_of(site: Site, profile: str, effect: float = EFFECT) -> Past:
    """Reads the nights of a profile from the history of a site. Raises OSError."""
    folder, skipped = store.folder_of(site.state), list[store.Skipped]()

    def tables() -> Iterator[pl.DataFrame]:
        for table in store.readable(store.summaries(folder, columns=(*nights.OF_WHOLE, *GATHERED)), skipped):
            if (rows := nights.whole(table, site.name, profile)).height:
                yield rows.select(GATHERED)

    def rows_of(names: Sequence[str]) -> pl.DataFrame:
        history = store.read(folder, named=names, kept=compact, columns=COMPARED)
        skipped.extend(file for file in history.skipped if file not in skipped)
        return history.rows

    past = gathered(tables(), rows_of)
    notes, no_lines = store.annotations(site.state)
    trend = trend_of(past, site.false_notifications, effect, site.units, notes) if past.began.height else None
    return Past(trend, notes, [*skipped, *no_lines], past)


def write_year(site: Site, profile: str, watch: TrialWatch | None = None, past: Past | None = None) -> Path:
    """Writes the page of a profile; returns the file. Raises OSError. watch, past: if they are known already"""
    past = past or past_of(site, profile)
    ended = dict(past.nights.began.select('session', 'session_started').iter_rows())
    reported = [session.name for session in session_folders(site.state)]
    watch, missed = watch or watch_of(site, profile), _missed(site, profile, ended)
    file = page_file(site, profile)
    put(file, year_page(watch, past.nights, past.trend, past.annotations, missed, reported, site.units))
    return file
