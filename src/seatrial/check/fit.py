"""Cuts a profile down to an available time: what is left out, and the lines of trial.yaml that do so."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import yaml

from seatrial.check.criteria import with_references
from seatrial.check.declared import Declared
from seatrial.check.forecast import Forecast
from seatrial.check.planning import Unplannable
from seatrial.check.session import Session
from seatrial.model.plan import Case
from seatrial.model.units import duration
from seatrial.site.error import SiteError
from seatrial.site.model import CUTS, DEFAULT_LAYOUT, TRIAL_FILE, Site, TrialEntry
from seatrial.site.yaml_file import read
from seatrial.workload.words import counted, listed

REPETITIONS, POINTS, CHECKS = CUTS

Forecasts = Sequence[Forecast]
Attempt = tuple[list[TrialEntry], str]  # trials, and in words what they leave out


class Fitted(NamedTuple):
    """A session cut down to fit."""

    session: Session
    forecasts: Forecasts
    cuts: list[str]  # one sentence for each thing left out
    fits: bool  # whether the rest fits


def expected_s(forecasts: Forecasts) -> float:
    """The expected seconds of all cases, one after the other; the least possible where the speed is unknown."""
    return sum(forecast.wall_s.expected or forecast.wall_s.least for forecast in forecasts)


def fitted(
    session: Session,
    declared: Mapping[str, Declared],
    available_s: float,
    forecasts: Forecasts,
    of: Callable[[Session], Forecasts],
) -> Fitted:
    """The session cut down until it fits, in the order that the site gives; `of` forecasts a session. Raises OSError.
    The rest is planned anew with the changed trials: a cut that makes plans invalid is no remedy."""
    cuts = []
    for cut in session.site.trial_file.cuts:
        if expected_s(forecasts) <= available_s:
            break
        done = ''
        for trials, words in _ATTEMPTS[cut](session, declared, forecasts):
            tried = replace(session, site=session.site.with_trials(trials))
            try:
                tried.site.check_overrides({check.name: check.family for check in declared.values()})
                tried, after = with_references(tried, declared), of(tried)
            except (SiteError, Unplannable):
                continue
            if expected_s(after) < expected_s(forecasts):
                session, forecasts, done = tried, after, words
            if expected_s(forecasts) <= available_s:
                break
        if done:
            cuts.append(f'{done}: then the trials take {duration(expected_s(forecasts))}')
    return Fitted(session, forecasts, cuts, expected_s(forecasts) <= available_s)


def _fewest(session: Session, declared: Mapping[str, Declared], forecasts: Forecasts) -> Iterator[Attempt]:
    trials = list(session.site.trial_file.trials)
    for number, trial in _trials_of_profile(session):
        paces = [forecast.pace for forecast in forecasts if _gives(trial, declared, forecast.plan.case)]
        budget_s = 60.0 * math.ceil(max((pace.fewest_s for pace in paces), default=0.0) / 60)
        known = bool(paces) and all(pace.known for pace in paces)
        if known and budget_s < (trial.budget or session.profile.budget_s):
            trials[number] = trial.model_copy(update={'budget': budget_s})
    yield trials, 'repetitions to the fewest'


def _fewer_points(session: Session, declared: Mapping[str, Declared], forecasts: Forecasts) -> Iterator[Attempt]:
    most = max((len(forecast.plan.points) for forecast in forecasts), default=1)
    for points in range(most - 1, 0, -1):
        trials = list(session.site.trial_file.trials)
        for number, trial in _trials_of_profile(session):
            trials[number] = trial.model_copy(update={'points': min(points, trial.points or points)})
        yield trials, f'{counted(points, "point")} of each sweep'


def _fewer_checks(session: Session, declared: Mapping[str, Declared], forecasts: Forecasts) -> Iterator[Attempt]:
    trials, gone = list(session.site.trial_file.trials), list[str]()
    for number, trial in reversed(_trials_of_profile(session)):
        cases = (forecast.plan.case for forecast in forecasts)
        names = list(dict.fromkeys(case.check for case in cases if _gives(trial, declared, case)))
        while names:
            gone.append(names.pop())
            expected = {expectation.id for name in names for expectation in declared[name].expectations}
            enforced = tuple(item for item in trial.enforce if item.id in expected)
            others = tuple(profile for profile in trial.profiles if profile != session.profile.name)
            left = {'checks': tuple(names), 'enforce': enforced} if names else {'profiles': others, 'enforce': ()}
            trials[number] = trial.model_copy(update=left)
            yield list(trials), f'without {listed(list(reversed(gone)))}'


_ATTEMPTS = {REPETITIONS: _fewest, POINTS: _fewer_points, CHECKS: _fewer_checks}


def _trials_of_profile(session: Session) -> list[tuple[int, TrialEntry]]:
    """The trials of the session's profile, with their places in trial.yaml."""
    trials = enumerate(session.site.trial_file.trials)
    return [(number, trial) for number, trial in trials if session.profile.name in trial.profiles]


def _gives(trial: TrialEntry, declared: Mapping[str, Declared], case: Case) -> bool:
    return trial.gives(case) and trial.asks_for(case.check, declared[case.check].family)


def lines_of(before: Site, after: Site, profile: str) -> list[str]:
    """The lines of trial.yaml with the changed trials of a profile."""
    written = read(before.folder / TRIAL_FILE)['trials']
    lines = []
    pairs = zip(before.trial_file.trials, after.trial_file.trials, strict=True)
    # The last first, so that the numbers of the others stay.
    for number, (old, new) in reversed(list(enumerate(pairs))):
        if old == new:
            continue
        others = [name for name in old.profiles if name != profile]
        rows = [{**written[number], 'profiles': others}] if others else []
        if profile in new.profiles:
            rows.append({**written[number], 'profiles': [profile], **_written(old, new)})
        lines.append(f'# {TRIAL_FILE}: in place of trials[{number}]{"" if rows else " there is nothing"}')
        dumped = (yaml.safe_dump(row, default_flow_style=True, sort_keys=False, width=10**6) for row in rows)
        lines += [f'  - {text}'.rstrip() for text in dumped]
    return lines


def _written(old: TrialEntry, new: TrialEntry) -> dict[str, Any]:
    """The keys that differ, as the file has them."""
    budget_min = None if new.budget is None else round(new.budget / 60)
    enforced = [item.id if item.limit is None else {item.id: item.limit} for item in new.enforce]
    words = {'checks': list(new.checks), 'budget': f'{budget_min}min', 'points': new.points, 'enforce': enforced}
    return {key: value for key, value in words.items() if getattr(new, key) != getattr(old, key)}


def in_no_trial(site: Site, declared: Mapping[str, Declared], cases: Sequence[Case]) -> list[str]:
    """Parts of the site that no case measures, one kind a line."""
    file = site.trial_file
    used = {part: {getattr(case, part) for case in cases} for part in ('partition', 'file_system', 'check')}
    layouts = {(case.file_system, case.layout) for case in cases}
    targets = {(case.file_system, declared[case.check].axis.equals) for case in cases}
    families = {check.family for check in declared.values()} - {declared[name].family for name in used['check']}
    parts = {
        'partitions': [name for name in file.partitions if name not in used['partition']],
        'file systems': [name for name in file.file_systems if name not in used['file_system']],
        'layouts': [
            f'{name} {layout}'
            for name in used['file_system']
            for layout in (DEFAULT_LAYOUT, *file.file_systems[name].layouts)
            if (name, layout) not in layouts
        ],
        'targets one by one': [
            f'{len(numbers)} {kind}s of {name}'
            for name, entry in file.file_systems.items()
            for kind in ('OST', 'MDT')
            if (numbers := entry.numbers(kind)) and (name, kind) not in targets
        ],
        'families': sorted(families),
    }
    return [f'{what}: {", ".join(names)}' for what, names in parts.items() if names]
