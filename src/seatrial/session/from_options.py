"""Opens the session that a command line asks for: its site, its cases, and those that are impossible."""

import re
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from seatrial.check.criteria import with_references
from seatrial.check.declared import Declared
from seatrial.check.planning import cases_of, not_applicable
from seatrial.check.session import Session, SessionOptions, new_id, settings_fault
from seatrial.model.plan import Case
from seatrial.model.quoted_value import choice, shell_line
from seatrial.model.quoted_value import show as shown
from seatrial.report.terminal import say
from seatrial.report.words import by_environment
from seatrial.scheduler.partitions import named
from seatrial.site.contract import CONTRACT_FILE
from seatrial.site.error import SiteError, problem, raise_any
from seatrial.site.load import answering, partitions_in
from seatrial.site.model import DEFAULT_LAYOUT, SETTINGS_FILE, TRIAL_FILE, Site
from seatrial.site.profile import ACCEPTANCE, PROFILES
from seatrial.workload.words import by_key, counted, joined

DeclaredCases = Sequence[tuple[Declared, Case]]  # the cases that a session measures, each with its check

_SEVERAL = 'trial.yaml names several systems: choose one of them with --system {}'


class NoCases(SiteError):
    """No trial of the site has cases for the profile."""


def open_session(asked: SessionOptions, declared: Mapping[str, Declared]) -> tuple[Session, DeclaredCases]:
    """The described session and its cases. Raises NoCases, SiteError, UsageError. declared: all its checks"""
    site = answering(asked.site_folder)
    site.check_names({check.name: check.family for check in declared.values()})
    known = {*declared, *(check.family for check in declared.values())}
    for name in asked.only:
        if name not in known:
            raise click.UsageError(f"'{name}' is neither a check nor a family; {choice(name, sorted(known))}")
    existing = sorted({partition.split(':')[0] for partition in site.trial_file.partitions})
    if asked.system is not None and asked.system not in existing:
        raise click.UsageError(f"'{asked.system}' is not a system of trial.yaml; {choice(asked.system, existing)}")
    check_destructive(site, asked.destructive)
    raise_any([state_fault(site)])
    session_id, profile, engines = new_id(), PROFILES[asked.profile], site.engine_choices(asked.engine)
    session = Session(session_id, site.session_folder(session_id), site, profile, engines, asked.only, asked.system)
    session = replace(session, destructive=asked.destructive)
    cases = [(check, case) for check in declared.values() for case in cases_of(session, check)]
    systems = sorted({case.partition.split(':')[0] for _, case in cases})
    if len(systems) > 1:
        raise click.UsageError(_SEVERAL.format('|'.join(systems)))
    missing = (pair for check in declared.values() for pair in not_applicable(session, check).items())
    reasons = by_key((why, case.name) for case, why in missing)
    if not cases:
        refused = ''.join(f'; {len(names)} not applicable: {why}' for why, names in reasons.items())
        why = f'no trial has cases for the profile {asked.profile}{refused}{_other_profiles(session, declared)}'
        raise NoCases([problem(TRIAL_FILE, ['trials'], why)])
    raise_any([settings_fault(site, systems[0])])
    session = with_references(replace(session, system=systems[0], not_applicable=reasons), declared)
    return replace(session, left_out=_left_out(session, declared, {case for _, case in cases})), cases


def check_destructive(site: Site, name: str) -> None:
    """Raises UsageError for a name that is no storage system with actions."""
    known = sorted({site.target(key, DEFAULT_LAYOUT).storage_system for key in site.trial_file.file_systems})
    if name and name not in known:
        wrong = f'--destructive: {shown(name)} is not a storage system of trial.yaml'
        raise click.UsageError(f'{wrong}; {choice(name, known)}')


def installed(name: str) -> str:
    """The program installed with this Python, else the one on the PATH. Raises UsageError."""
    program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if program is None:
        raise click.UsageError(f'{name} is not installed; install Seatrial with its dependencies (pip install)')
    return program


def _other_profiles(session: Session, declared: Mapping[str, Declared]) -> str:
    """The remedy for a profile without cases, as an appendix; empty if no other profile has any."""
    if session.profile is ACCEPTANCE and (session.site.folder / CONTRACT_FILE).exists():
        return f'; seatrial accept measures what {CONTRACT_FILE} asks for'
    others = [replace(session, profile=profile) for profile in PROFILES.values() if profile is not session.profile]
    names = [other.profile.name for other in others if any(cases_of(other, one) for one in declared.values())]
    if not names:
        return ''
    or_add = f'or add {session.profile.name} to the profiles of a trial'
    return f'; there are cases with --profile {joined(names, "or")}, {or_add}'


def state_fault(site: Site) -> str:
    """The reason why ReFrame, which formats the path and locally splits it, cannot use the site's state, or empty."""
    partitions = partitions_in(site.folder / SETTINGS_FILE).values()
    spawned = any(partition.get('scheduler') == 'local' for partition in partitions)
    if '%' not in site.state and not (spawned and re.search(r'[\s\'"\\]', site.state)):
        return ''
    remedy = 'choose a path without blanks, quotes, \\ and %'
    return problem(TRIAL_FILE, ['state'], f'ReFrame cannot start jobs below {site.state}; {remedy}')


def one_system(site: Site, profile: str, system: str | None) -> str | None:
    """The system to use if a profile has several, else None. Raises UsageError."""
    systems = _systems(site, profile)
    if system is not None and system not in systems:
        raise click.UsageError(f"'{system}' is not a system of the profile {profile}; {choice(system, systems)}")
    if len(systems) > 1 and system is None:
        raise click.UsageError(_SEVERAL.format('|'.join(systems)))
    return system if len(systems) > 1 else None


def no_more_systems(site: Site, profile: str) -> None:
    """Raises UsageError for a profile with several systems: one's night would speak for another's."""
    systems = _systems(site, profile)
    if len(systems) > 1:
        several = f'trial.yaml has {profile} for several systems ({", ".join(systems)}), but a schedule is for one'
        raise click.UsageError(f'{several}; make a site folder with its own state for each')


def _systems(site: Site, profile: str) -> list[str]:
    return sorted({partition.partition(':')[0] for partition in named(site, profile)})


def _left_out(session: Session, declared: Mapping[str, Declared], chosen: Collection[Case]) -> list[str]:
    """The reasons why these cases are not an acceptance of the whole system; empty under other profiles."""
    checks = declared.values() if session.profile.name == ACCEPTANCE.name else ()
    whole = replace(session, only=())
    missing = [case for check in checks for case in cases_of(whole, check) if case not in chosen]
    if not missing:
        return []
    referenced = {case for profile, case in session.references if profile == session.profile.name}
    more = f'an acceptance of {session.system} has {counted(len(missing), "more case")}'
    of_them = f'{len(referenced.intersection(missing))} of them with references'
    named = '; '.join(by_environment([case.name for case in missing]))
    return [f'narrowed to {", ".join(session.only)}: {more}, {of_them} ({named})']


def say_not_applicable(screen: Console, session: Session, why: bool = False) -> None:
    """Prints the number of impossible cases, and what an acceptance leaves out. why: lists the cases by reason"""
    number = sum(map(len, session.not_applicable.values()))
    if number and not why:
        asked = 'seatrial', 'list', '--why', '--profile', session.profile.name, '--site', str(session.site.folder)
        say(screen, f'  {counted(number, "case")} cannot run here; for the reasons, run {shell_line(asked)}')
    for reason, names in session.not_applicable.items() if why else ():
        say(screen, f'not applicable: {"; ".join(by_environment(names))}: {reason}')
    say(screen, *(f'not whole: {line}' for line in session.left_out))
