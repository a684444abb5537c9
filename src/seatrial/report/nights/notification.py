"""Notifications of a scheduled trial: its state on one screen, and news only if there are any."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import polars as pl

from seatrial.judge.compare import BETTER, WORSE
from seatrial.judge.verdict import Verdict
from seatrial.report.nights import nights as verdicts_by_night
from seatrial.report.nights.nights import MISSED, DueRun, Night, Standing, Standings, VerdictKey, difference, in_a_row
from seatrial.report.nights.trend import NEAR, Turn
from seatrial.report.words import chain_words, clean, cut, listed
from seatrial.workload.words import by_key, counted, joined

UNLIKE = 'not the same'  # heads the sentences on what figures were measured with, for whoever compares them
UNCOMPARED = 'none: what is valid is MEASURED, however slow; see docs/reference/references.md'
SHOWN = 4  # lines of one kind at most; the report has the rest


@dataclass(frozen=True)
class TrialWatch:
    """The state of the scheduled trials of a site and profile at a moment."""

    site: str
    profile: str
    now: datetime
    nights: Sequence[Night]  # ended sessions, oldest first
    runs: Sequence[DueRun] = ()  # the last ones that were due
    calendar: str = ''  # when it runs, in words; empty if not scheduled
    following: datetime | None = None  # when it runs next
    queue: str = ''  # Slurm's state of it, or empty
    report: str = ''  # page of the last session, or empty
    criteria: int | None = None  # number in the last session; None if unknown
    chain: str = ''  # the last link of the chain of its records, or empty
    unread: Sequence[str] = ()  # unreadable files of the history since the last session, with the reasons
    rows: pl.DataFrame | None = field(default=None, compare=False)  # of the last session; None if not wanted

    @cached_property
    def standings(self) -> Sequence[Standings]:
        return verdicts_by_night.standings(self.nights)

    @property
    def last(self) -> Night | None:
        return self.nights[-1] if self.nights else None

    @property
    def standing(self) -> Standings:
        return self.standings[-1] if self.nights else {}

    @property
    def missed(self) -> list[datetime]:
        return [run.due for run in self.runs if run.state == MISSED]

    @property
    def verdict(self) -> Verdict:
        """The verdict of the last run; INCOMPLETE if it was missed, or none has ended yet."""
        overdue = bool(self.runs) and self.runs[-1].state == MISSED
        return Verdict.INCOMPLETE if overdue or self.unread or self.last is None else self.last.verdict


class NotifiedChange(NamedTuple):
    """A change of a family of which people were notified."""

    began: datetime  # begin of the first night on the new level
    notified: datetime  # when they were
    file_system: str
    family: str
    verdict: str


class Notified(NamedTuple):
    session: str = ''  # all up to this one
    missed: datetime | None = None  # all misses up to this time
    changes: Sequence[NotifiedChange] = ()


class News(NamedTuple):
    events: tuple[str, ...]  # 'changed', 'trend', 'undecided', 'missed', 'died'
    subject: str
    text: str
    changes: Sequence[NotifiedChange] = ()


def news(
    watch: TrialWatch, notified: Notified, patience: int, faults: Sequence[str] = (), turns: Sequence[Turn] = ()
) -> News | None:
    """The news since the last notification, or None. Lasting conditions are told once. patience: nights in a row
    without valid result, or with a criterion INVALID, after which people are notified; faults: sentences on problems
    around the last run itself; turns: the changes of families that the history shows now"""
    lasting = verdicts_by_night.lasting
    known = [night.session for night in watch.nights]
    index = known.index(notified.session) if notified.session in known else -1
    before: Standings = lasting(watch.standings[index], watch.nights[: index + 1], patience) if index >= 0 else {}
    heads: list[tuple[str, str]] = [('died', fault) for fault in faults]
    missed = _silence(watch.runs, notified.missed)
    if missed:
        heads.append(('missed', f'{counted(len(missed), "run")} missed: {listed([_moment(due) for due in missed])}'))
    if index + 1 < len(known):
        new, ended = difference(before, lasting(watch.standing, watch.nights, patience))
        if new or ended:
            verdicts = [watch.standing[key].verdict.value for key in new]
            parts = [f'{verdicts.count(verdict)} new {verdict}' for verdict in dict.fromkeys(verdicts)]
            heads.append(('changed', ', '.join([*parts, *([f'{len(ended)} cleared'] if ended else [])])))
        without = in_a_row(watch.nights, verdicts_by_night.without_result)
        if without >= patience > without - (len(known) - 1 - index):
            heads.append(('undecided', f'{counted(without, "night")} in a row without a valid result'))
    decided = [turn for turn in turns if turn.change.verdict in (BETTER, WORSE)]
    moved = [turn for turn in decided if not _is_known(turn, notified.changes)]
    heads += [('trend', f'{turn.change.verdict} since {turn.began:%Y-%m-%d}: {turn.subject}') for turn in moved]
    if not heads:
        return None
    subject = f'Seatrial {watch.site} {watch.profile}: {watch.verdict.value}: {"; ".join(head for _, head in heads)}'
    unlike = dict.fromkeys(difference for night in watch.nights[index + 1 :] for difference in night.unlike)
    first = [clean(f'{UNLIKE}: {"; ".join(unlike)}')] if unlike else []
    beside = [clean(f'{turn.file_system}: {turn.family}: {line}') for turn in moved for line in turn.beside]
    text = '\n'.join([*first, *(head for _, head in heads), *beside, '', *aligned(screen(watch, before))])
    return News(
        tuple(dict.fromkeys(event for event, _ in heads)),
        clean(' '.join(subject.split())),
        f'{text}\n',
        [NotifiedChange(turn.began, watch.now, turn.file_system, turn.family, turn.change.verdict) for turn in moved],
    )


def _is_known(turn: Turn, known: Sequence[NotifiedChange]) -> bool:
    """True if people know of this change. Each further night may move its apparent first night; for a small change by
    weeks, but never beyond the night on which it was told. After a change to the other side it is a new one."""
    of_family = [change for change in known if (change.file_system, change.family) == (turn.file_system, turn.family)]
    other_side = [change.began for change in of_family if change.verdict != turn.change.verdict]
    return any(
        change.verdict == turn.change.verdict
        and turn.began < max(change.notified, change.began + timedelta(days=NEAR))
        and not any(change.began < began <= turn.began for began in other_side)
        for change in of_family
    )


def _silence(runs: Sequence[DueRun], notified: datetime | None) -> list[datetime]:
    """The runs missed since the last notification of misses; one silence is told once."""
    missed, known = [], False
    for run in runs:
        known = run.state == MISSED and (known or (notified is not None and run.due <= notified))
        if run.state == MISSED and not known:
            missed.append(run.due)
    return missed


def screen(watch: TrialWatch, before: Standings | None = None) -> list[tuple[str, str]]:
    """The state as lines of (word, text); the word is empty if the previous line continues. before: standings to
    compare with; None: those of the night before the last one"""
    night = watch.last
    lines = [('unread', f'{file}; what it says may be later than the last run below') for file in watch.unread]
    lines += [(UNLIKE, '; '.join(night.unlike))] if night and night.unlike else []
    lines.append(('trial', f'{watch.site}, profile {watch.profile}, {watch.calendar or "not scheduled"}'))
    if night is None:
        lines.append(('last run', 'none has ended yet'))
    else:
        if before is None:
            before = watch.standings[-2] if len(watch.nights) > 1 else {}
        later = f'{watch.verdict.value}: before it ' if watch.unread else ''
        verdicts, began = list(night.cases.values()), _moment(night.began)
        counts = [f'{verdicts.count(verdict)} {verdict.value}' for verdict in Verdict if verdict in verdicts]
        lines += [
            ('last run', f'{began} to {_moment(night.ended).removeprefix(began[:11])}, session {night.session}'),
            ('verdict', f'{later}{night.verdict.value}: {", ".join(counts)}'),
            *([('criteria', UNCOMPARED)] * (watch.criteria == 0)),
            *_list('changed', _changes(watch.nights, before, watch.standing), 'nothing'),
            *_list('stands', [_standing(*group) for group in _by_case(watch.standing)], 'nothing fails'),
            ('in a row', _streak(watch.nights)),
            *([('records', chain_words(watch.chain))] * bool(watch.chain)),
        ]
    if watch.runs or watch.calendar:
        of = f'of the last {counted(len(watch.runs), "run")}'
        which = f': {listed([_moment(due) for due in reversed(watch.missed)])}' if watch.missed else ''
        lines.append(('missed', f'{len(watch.missed) or "none"} {of}{which}' if watch.runs else 'none was due yet'))
        if watch.runs and watch.runs[-1].state in (verdicts_by_night.AWAITED, verdicts_by_night.RUNNING):
            lines.append(('now', f'the run of {_moment(watch.runs[-1].due)} is {watch.runs[-1].state}'))
    if watch.following is not None:
        lines.append(('next run', _moment(watch.following)))
    lines += [(word, text) for word, text in (('Slurm', watch.queue), ('report', watch.report)) if text]
    return [(word, clean(text)) for word, text in lines]


def aligned(lines: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(word) for word, _ in lines)
    return [f'{word:<{width}}  {text}' for word, text in lines]


def _moment(moment: datetime) -> str:
    """The moment in this host's time zone."""
    return f'{moment.astimezone():%Y-%m-%d %H:%M}'


def _changes(nights: Sequence[Night], before: Standings, after: Standings) -> list[str]:
    new, ended = difference(before, after)
    lines = [
        f'new: {standing.verdict.value} {_named(case, keys)}'
        for case, keys, standing in _by_case({key: after[key] for key in new})
    ]
    last = nights[-1].criteria
    for case, keys in by_key((key.case, key) for key in ended).items():
        tested = [key for key in keys if key in last]
        stands = 'passes again' if all(last[key].verdict is Verdict.PASS for key in tested) else 'was measured again'
        lines.append(f'{stands if tested else "not tested any more"}: {_named(case, keys)}')
    return lines


def _by_case(current: Standings) -> list[tuple[str, Sequence[VerdictKey], Standing]]:
    """Criteria of one case with the same standing since the same night, with the standing of the first."""
    groups = by_key(((key.case, standing._replace(why='')), key) for key, standing in current.items())
    return [(case, keys, current[keys[0]]) for (case, _), keys in groups.items()]


def _standing(case: str, keys: Sequence[VerdictKey], standing: Standing) -> str:
    seen = '' if standing.seen else ', not decided since'
    whose = f'{keys[0].name}: ' if len(keys) > 1 else ''
    why = f': {whose}{standing.why}' if standing.why else ''
    return f'{standing.verdict.value} {_named(case, keys)}, since {_moment(standing.since)}{seen}{why}'


def _named(case: str, keys: Sequence[VerdictKey]) -> str:
    names = listed([key.name for key in keys if key.name])
    return ' '.join(part for part in (case or 'the session', names) if part)


def _streak(nights: Sequence[Night]) -> str:
    well, without = (in_a_row(nights, fits) for fits in (verdicts_by_night.passed, verdicts_by_night.without_result))
    if without:
        return f'{counted(without, "night")} without a valid result'
    if well:
        return f'{counted(well, "night")} PASS'
    uncompared = in_a_row(nights, lambda night: night.verdict is Verdict.MEASURED)
    if uncompared:
        return f'{counted(uncompared, "night")} MEASURED, without a pass criterion'
    failed = in_a_row(nights, lambda night: night.verdict is Verdict.FAIL)
    good = list(takewhile(lambda night: night.verdict.unopposed, reversed(nights[: len(nights) - failed])))
    if not good:
        return f'{counted(failed, "night")} FAIL'
    words = joined(list(dict.fromkeys(night.verdict.value for night in good)), 'or')
    return f'{counted(failed, "night")} FAIL, after {counted(len(good), "night")} {words}'


def _list(word: str, lines: Sequence[str], otherwise: str) -> list[tuple[str, str]]:
    shown = cut(lines, SHOWN) or [otherwise]
    return [(word if number == 0 else '', line) for number, line in enumerate(shown)]
