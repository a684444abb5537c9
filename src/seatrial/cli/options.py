"""The options that several commands share, and the session that they describe."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from seatrial.check.criteria import with_references
from seatrial.check.declared import Declared
from seatrial.check.declared import load as load_checks
from seatrial.check.planning import cases_of
from seatrial.check.session import DEFAULT_PROFILE, Session, folder_of, new_id
from seatrial.engine.catalogue import NAMES
from seatrial.model.plan import Case, EngineChoice
from seatrial.site.error import choice
from seatrial.site.load import load as load_site
from seatrial.site.model import Site
from seatrial.site.profile import PROFILES

F = TypeVar('F', bound=Callable[..., Any])


def site_option(function: F) -> F:
    """--site: the folder with settings.py and trial.yaml."""
    return click.option(
        '--site',
        'site_folder',
        type=click.Path(path_type=Path),
        default=Path('site-config/local'),
        show_default=True,
        help='Folder of the site: settings.py and trial.yaml.',
    )(function)


def checks_option(function: F) -> F:
    """--checks: the folder of the check files."""
    return click.option(
        '--checks',
        type=click.Path(path_type=Path),
        default=Path('checks'),
        show_default=True,
        help='Folder of the check files.',
    )(function)


def session_options(function: F) -> F:
    """What chooses the cases of a session."""
    for option in (
        click.argument('only', nargs=-1, metavar='[CHECK]...'),
        click.option('--engine', type=click.Choice(NAMES), help='Measure with this engine.'),
        click.option('--system', help="One of ReFrame's systems, where trial.yaml names several."),
        checks_option,
        click.option(
            '--profile',
            type=click.Choice(list(PROFILES)),
            default=DEFAULT_PROFILE,
            show_default=True,
            help='How much is measured, and what the numbers are good for.',
        ),
        site_option,
    ):
        function = option(function)
    return function


def open_session(
    site_folder: Path, profile: str, checks: Path, system: str | None, engine: str | None, only: tuple[str, ...]
) -> tuple[Session, list[tuple[Declared, Case]]]:
    """The session that the options describe and its cases. Raises SiteError, CheckError or UsageError."""
    declared = load_checks(checks)
    site = load_site(site_folder)
    site.check_names({each.name: each.family for each in declared.values()})
    known = {*declared, *(each.family for each in declared.values())}
    for name in only:
        if name not in known:
            raise click.UsageError(f"'{name}' is no check and no family; {choice(name, sorted(known))}")
    existing = sorted({partition.split(':')[0] for partition in site.trial_file.partitions})
    if system is not None and system not in existing:
        raise click.UsageError(f"'{system}' is no system of trial.yaml; {choice(system, existing)}")
    session_id = new_id()
    session = Session(
        session_id,
        folder_of(site, session_id),
        site,
        PROFILES[profile],
        _engines(site, engine),
        only,
        system,
        engine=engine or '',
    )
    cases = [(each, case) for each in declared.values() for case in cases_of(session, each)]
    systems = sorted({case.partition.split(':')[0] for _, case in cases})
    if len(systems) > 1:
        raise click.UsageError(
            f'trial.yaml names several systems: choose one of them with --system {"|".join(systems)}'
        )
    if not cases:
        raise click.UsageError(f'{site_folder}/trial.yaml: no trial has cases for the profile {profile} here')
    return with_references(replace(session, system=systems[0]), declared), cases


def _engines(site: Site, engine: str | None) -> tuple[EngineChoice, ...]:
    """Those of the site, and the one that was named if it is not among them."""
    choices = site.engine_choices()
    if engine is None or any(each.name == engine for each in choices):
        return choices
    return (EngineChoice(engine, engine), *choices)
