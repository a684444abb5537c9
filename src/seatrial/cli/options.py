"""The options that several commands share, and the session that they describe."""

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from seatrial.check.session import DEFAULT_PROFILE, SessionOptions
from seatrial.engine.registry import NAMES
from seatrial.judge.compare import EFFECT
from seatrial.site.load import check_folders
from seatrial.site.model import TRIAL_FILE, parse_duration
from seatrial.site.profile import PROFILES

F = TypeVar('F', bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
THERE = click.Path(path_type=Path, exists=True)
FILE = click.Path(path_type=Path, dir_okay=False)

SITES = Path('/etc/seatrial')  # a folder for each site that a machine's administrators maintain


def _default_site() -> Path:
    """The site of the checkout if there is one, else the only one of the machine."""
    local, sites = Path('site-config/local'), [file.parent for file in SITES.glob(f'*/{TRIAL_FILE}')]
    return sites[0] if len(sites) == 1 and not local.exists() else local


def _site_folder(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    named = SITES / value
    return named if not value.exists() and value.name == str(value) and named.is_dir() else value


site_option = click.option(
    '--site',
    'site_folder',
    type=PATH,
    is_eager=True,
    callback=_site_folder,
    default=_default_site,
    show_default='site-config/local, or the only one in /etc/seatrial',
    envvar='SEATRIAL_SITE_FOLDER',
    show_envvar=True,
    help='Folder of the site (settings.py and trial.yaml), or its name in /etc/seatrial.',
)


checks_option = click.option(
    '--checks',
    type=PATH,
    multiple=True,
    callback=lambda context, _, value: value or tuple(map(Path, check_folders(context.params['site_folder']))),
    help="Folder of check files, instead of Seatrial's and the site's own.",
)


class _Percent(click.FloatRange):
    """A number above 0 and up to 100. A range alone would accept NaN, which is neither below nor above anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if math.isnan(percent := super().convert(value, param, ctx)):
            self.fail(f'{value} is no number; write one above 0 and up to 100', param, ctx)
        return percent


effect_option = click.option(
    '--effect',
    type=_Percent(0, 100, min_open=True),
    default=100 * EFFECT,
    show_default=True,
    help='The smallest change that matters, in per cent.',
)


def profile_option(default: str, text: str) -> Callable[[F], F]:
    return click.option('--profile', type=click.Choice(list(PROFILES)), default=default, show_default=True, help=text)


destructive_option = click.option(
    '--destructive',
    default='',
    metavar='NAME',
    help='Start actions that take servers away (docs/how-to/scenarios.md), of the storage system of this name.',
)


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


fit_option = click.option(
    '--fit',
    'fit_s',
    metavar='TIME',
    callback=_seconds,
    help='Only what fits into this time, as 12h; names what is cut.',
)


def session_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a session, passed to the command as one value."""

    @wraps(function)
    def command(**given: Any) -> Any:
        asked = SessionOptions(**{name: given.pop(name) for name in SessionOptions._fields})
        return function(asked, **given)

    for option in (
        click.argument('only', nargs=-1, metavar='[CHECK]...'),
        click.option('--engine', type=click.Choice(NAMES), help='Measure with this engine and with no other.'),
        click.option('--system', help="One of ReFrame's systems, where trial.yaml names several."),
        destructive_option,
        checks_option,
        profile_option(DEFAULT_PROFILE, 'How much is measured, and what the numbers are good for.'),
        site_option,
    ):
        command = option(command)
    return command
