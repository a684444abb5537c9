"""Notifications of a scheduled trial: runs the site's command when there is news, and always exports figures for
monitoring. Nothing here changes a verdict: failures are only reported."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from seatrial.engine.base import ending
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.nights.standing import Past, object_in, past_of
from seatrial.report.nights.notification import News, Notified, NotifiedChange, TrialWatch, news
from seatrial.report.openmetrics import openmetrics
from seatrial.report.terminal import say
from seatrial.scheduler.series import file_of, metrics_file, put, series_of
from seatrial.site.model import Site

DEADLINE_S = 60.0  # time for the site's command: a mail or a call of a web service; the job waits for it
KILLED_S = 5.0
SHOWN_LINES = 3


def send_notification(screen: Console, site: Site, watch: TrialWatch, faults: Sequence[str] = ()) -> Past | None:
    """Exports the state and sends news, if any. What could not be sent is sent the next time. Returns the nights that
    were read. faults: sentences on problems around the last run"""
    try:
        put(metrics_file(site, watch.profile), openmetrics(watch))
    except OSError as error:
        say(screen, f'no metrics were exported: {error.filename}: {error.strerror}')
    notified = _notified(site, watch.profile)
    try:
        past = past_of(site, watch.profile)
    except Exception as error:  # people are told of a night that failed whatever the history holds
        say(screen, f'changes of level are not known: {error!r}')
        past = None
    patience = site.schedule(watch.profile).inconclusive_nights
    message = news(watch, notified, patience, faults, past.trend.turns if past and past.trend else ())
    fault = None
    if message is not None:
        say(screen, message.subject)
        fault = _send(site.trial_file.notify, message, _facts(watch, message))
        if fault:
            say(screen, f'no notification was sent: {fault}')
    changes = [*notified.changes, *(message.changes if message and not fault else ())]
    _remember(screen, site, watch, notified._replace(changes=changes), bool(faults), fault)
    return past


def news_lock(site: Site, profile: str) -> Path:
    """The lock for sending notifications, held from reading the state until what was sent is saved."""
    return file_of(series_of(site, profile), '.notify.lock')


def _file(site: Site, profile: str) -> Path:
    return file_of(series_of(site, profile), '.notified.json')


def _notified(site: Site, profile: str) -> Notified:
    """The notifications sent so far; empty without a file."""
    data = object_in(_file(site, profile))
    with suppress(KeyError, TypeError, ValueError):
        changes = [
            NotifiedChange(datetime.fromisoformat(began), datetime.fromisoformat(when), *words)
            for began, when, *words in data.get('changes', ())
        ]
        missed = datetime.fromisoformat(data['missed']) if data['missed'] else None
        return Notified(data['session'], missed, changes)
    return Notified()


def unsent(site: Site, profile: str) -> str:
    return str(object_in(_file(site, profile)).get('fault') or '')


def _facts(watch: TrialWatch, message: News) -> dict[str, str]:
    verdicts = [standing.verdict for standing in watch.standing.values()]
    return {
        'SEATRIAL_EVENTS': ' '.join(message.events),
        'SEATRIAL_SUBJECT': message.subject,
        'SEATRIAL_SITE': watch.site,
        'SEATRIAL_PROFILE': watch.profile,
        'SEATRIAL_VERDICT': watch.verdict.value,
        'SEATRIAL_EXIT_CODE': str(EXIT_CODES[watch.verdict]),
        'SEATRIAL_SESSION_ID': watch.last.session if watch.last else '',
        'SEATRIAL_FAILING': str(verdicts.count(Verdict.FAIL)),
        'SEATRIAL_MISSED': str(len(watch.missed)),
        'SEATRIAL_REPORT': watch.report,
    }


def _send(command: Sequence[str], message: News, environment: dict[str, str]) -> str | None:
    """Runs the site's command; returns the reason why no notification was sent, or None. Text and output go through
    files, because a grandchild that keeps a pipe open would keep this process waiting."""
    if not command:
        return 'trial.yaml names no command in notify'
    with tempfile.TemporaryFile('w+') as text, tempfile.TemporaryFile('w+', errors='replace') as output:
        text.write(message.text)
        text.seek(0)
        try:
            streams: dict[str, Any] = {'stdin': text, 'stdout': output, 'stderr': output}
            whole = {**os.environ, **environment}
            process = subprocess.Popen(command, env=whole, start_new_session=True, **streams)
        except OSError as error:
            return f'{command[0]}: {error.strerror}'
        try:
            status = process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(KILLED_S)
            return f'{command[0]} has not ended after {DEADLINE_S:.0f} s, and was killed'
        if status == 0:
            return None
        output.seek(0)
        lines = [line.strip() for line in output.read().splitlines() if line.strip()]
        shown = '; '.join(lines[-SHOWN_LINES:])
        for word in filter(lambda word: len(word) > 3, command[1:]):  # an address can be a secret, and is repeated
            shown = shown.replace(word, '...')
        return f'{command[0]} {ending(status)}: {shown or "it said nothing"}'


def _remember(
    screen: Console, site: Site, watch: TrialWatch, notified: Notified, died: bool, fault: str | None
) -> None:
    """Saves what was sent. A run that died is notified as that, and not again as missed."""
    known, missed, changes = notified
    if fault is None:
        known = watch.last.session if watch.last else known
        times = [*watch.missed, *(run.due for run in watch.runs[-1:] if died), *([missed] if missed else [])]
        missed = max(times, default=None)
    data = {
        'session': known,
        'missed': missed.isoformat() if missed else None,
        'changes': [(change.began.isoformat(), change.notified.isoformat(), *change[2:]) for change in changes],
        'fault': fault,
    }
    try:
        put(_file(site, watch.profile), json.dumps(data) + '\n')
    except OSError as error:
        say(screen, f'the same notification may be sent again: {error.filename}: {error.strerror}')
