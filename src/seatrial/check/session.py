"""The session that the checks belong to: one `seatrial run`, or one run of plain ReFrame. And faults for
which ReFrame would refuse settings.py, found before it starts: it reports them only in its log."""

import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from datetime import datetime, timezone
from functools import cache, partial, partialmethod
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from seatrial.judge.references import Reference, References
from seatrial.model.foreign import NotReadable, read_json
from seatrial.model.plan import Case, EngineChoice
from seatrial.model.quoted_value import choice
from seatrial.site.error import SiteError, problem
from seatrial.site.load import NO_MODULES, configuration_in, load, modules_in
from seatrial.site.model import SETTINGS_FILE, TRIAL_FILE, Site, TrialEntry
from seatrial.site.profile import PROFILES, Profile
from seatrial.site.references import REFERENCES_FILE, references_file

ENVIRONMENT = 'SEATRIAL_SESSION'
DEFAULT_PROFILE = 'smoke'
SESSIONS = 'sessions'  # folder in the state directory with a folder for each session
FILE, RESULTS, REPORT, PAGE = 'session.json', 'results.json', 'report', 'index.html'
"""Names in the folder of a session; the last is the first page of its report."""


@dataclass(frozen=True)
class Session:
    id: str
    folder: Path
    site: Site
    profile: Profile
    engines: tuple[EngineChoice, ...]  # that of --engine, which no other may replace; else the site's, the best first
    only: tuple[str, ...] = ()  # names of checks or families that it is restricted to; empty: all
    system: str | None = None
    references: References = field(default_factory=dict)  # in all profiles, checked by criteria.with_references
    plain: bool = False  # whether it is a run of plain ReFrame, without `seatrial run` around it.
    not_applicable: Mapping[str, Sequence[str]] = field(default_factory=dict)  # impossible cases, by the reason
    left_out: Sequence[str] = ()  # reasons why an acceptance is not that of the whole system
    label: str = ''  # its name in the history; empty: its id alone
    points: tuple[str, ...] = ()  # labels of the only points that are measured; empty: those of the profile
    avoid: tuple[str, ...] = ()  # nodes that its jobs leave out
    contract: Mapping[str, Any] = field(default_factory=dict)  # procedure with its only trial (check.contract)
    destructive: str = ''  # storage system that its actions may hit, as it was typed; empty: none


class SessionOptions(NamedTuple):
    site_folder: Path
    profile: str
    checks: Sequence[Path]
    system: str | None = None
    engine: str | None = None
    only: tuple[str, ...] = ()
    destructive: str = ''  # storage system that its actions may hit


def new_id() -> str:
    """A session name that sorts by time and does not collide: 20261121T020638-9f3a1c."""
    return f'{time.strftime("%Y%m%dT%H%M%S", time.gmtime())}-{secrets.token_hex(3)}'


def began(session_id: str) -> datetime:
    """The time at which a session of this name began, in UTC. Raises ValueError for a name not made by new_id."""
    return datetime.strptime(session_id.partition('-')[0], '%Y%m%dT%H%M%S').replace(tzinfo=timezone.utc)


def references_of(session: Session, case: Case) -> tuple[Reference, ...]:
    return session.references.get((session.profile.name, case), ())


def save(session: Session) -> Path:
    """Writes the session and a copy of its references for ReFrame's processes; returns the file."""
    file = session.folder / FILE
    data = {field.name: getattr(session, field.name) for field in fields(session) if field.name not in _NOT_SAVED}
    data |= {'site': str(session.site.folder), 'profile': session.profile.name}
    by_case = session.references.items()
    data['references'] = [[*key, *astuple(reference)] for key, of_case in by_case for reference in of_case]
    if (references := references_file(session.site.folder)) is not None:
        shutil.copyfile(references, session.folder / REFERENCES_FILE)
    file.write_text(json.dumps(data, indent=1) + '\n')
    return file


def session_folders(state: str | Path) -> list[Path]:
    """Everything in the sessions folder of a state directory, oldest first. Raises OSError."""
    folder = Path(state) / SESSIONS
    return sorted(folder.iterdir()) if folder.exists() else []


def contract_of(folder: Path) -> dict[str, Any]:
    """The procedure of a contract that a session was begun for; empty without one. Raises NotReadable, OSError."""
    return dict(_saved_value(folder, 'contract', dict))


def contract_digest(procedure: Mapping[str, Any]) -> str:
    """A digest that ties a plan, and so the records, to the procedure in session.json; empty without one."""
    return hashlib.sha256(json.dumps(procedure, sort_keys=True).encode()).hexdigest() if procedure else ''


def saved_references(folder: Path) -> References:
    """The references that a session was begun with. Raises NotReadable, OSError."""
    try:
        return _references(_saved_value(folder, 'references') or ())
    except (TypeError, ValueError):
        raise NotReadable(f'{folder / FILE}: its references cannot be read; restore it from a backup') from None


def not_applicable_of(folder: Path) -> dict[str, list[str]]:
    """The impossible cases listed in session.json; empty if there are none."""
    return dict(_saved_value(folder, 'not_applicable', dict))


def left_out_of(folder: Path) -> list[str]:
    return list(_saved_value(folder, 'left_out', list))


def _saved_value(folder: Path, key: str, kind: type[Any] = object) -> Any:
    try:
        data = read_json(folder / FILE)
    except FileNotFoundError:
        data = {}
    if not isinstance(data, dict):
        raise NotReadable(f'{folder / FILE} is no session')
    value = data.get(key)
    return value if isinstance(value, kind) else kind()


@cache
def current() -> Session | None:
    """The session that this process works for; None outside `seatrial run` and ReFrame. Plain ReFrame gets a session
    for the site whose settings it reads, perhaps beside those of other suites, and one for each further profile."""
    if ENVIRONMENT in os.environ:
        file = Path(os.environ[ENVIRONMENT])
        data = json.loads(file.read_text())
        values = {key: _FROM_JSON.get(key, _plain)(value) for key, value in data.items()}
        session = Session(folder=file.parent, **values)
        if not session.contract:
            return session
        return replace(session, site=session.site.with_trials([TrialEntry.model_validate(session.contract['trial'])]))
    # Imported here: ReFrame takes longer to load than all other modules, and most commands need none of it.
    from reframe.core.exceptions import ReframeFatalError
    from reframe.core.runtime import runtime

    try:
        sources = [source for source in runtime().site_config.sources if source != '<builtin>']
    except ReframeFatalError:
        return None
    folders = [Path(source).absolute().parent for source in sources]  # sites may share one by symbolic links
    try:
        site = load(next((folder for folder in reversed(folders) if (folder / TRIAL_FILE).exists()), folders[-1]))
        site.check_state()
        session_id = new_id()
        folder = site.session_folder(session_id)
    except SiteError as error:
        refuse(error.problems)
    _limit_lock_of_results(runtime().get_option('storage/0/sqlite_conn_timeout'))
    return Session(session_id, folder, site, PROFILES[DEFAULT_PROFILE], site.engine_choices(), plain=True)


def _limit_lock_of_results(seconds: float) -> None:
    """Limits ReFrame 4.10's endless wait for its results database; then ReFrame reports why it stores nothing."""
    from reframe.utility.osext import ReadWriteFileLock

    def limited(acquire: Callable[..., bool], lock: Any, **words: Any) -> bool:
        if acquire(lock, **{**words, 'timeout': seconds}):
            return True
        raise TimeoutError(f'another process has locked {lock.path} for {seconds:g} s (sqlite_conn_timeout)')

    for name in ('acquire_read_lock', 'acquire_write_lock'):
        setattr(ReadWriteFileLock, name, partialmethod(partial(limited, getattr(ReadWriteFileLock, name))))


@cache
def of_profile(profile: str) -> Session:
    """The current session; in plain ReFrame the session of this profile."""
    session = current()
    assert session is not None, 'a check with cases belongs to a session'
    if not session.plain or profile == session.profile.name:
        return session
    session_id = new_id()
    return replace(session, id=session_id, folder=session.site.session_folder(session_id), profile=PROFILES[profile])


def refuse(problems: Sequence[str]) -> NoReturn:
    """Ends a process of ReFrame that cannot begin; an exception would make it skip the file and pass with no test."""
    for sentence in problems:
        print(f'seatrial: {sentence}', file=sys.stderr)
    sys.exit(os.EX_USAGE)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _references(saved: Sequence[Any]) -> References:
    references: dict[tuple[str, Case], tuple[Reference, ...]] = {}
    for profile, case, *values in saved:
        if len(values) > 10:  # older sessions also have the value as it was written, and the better direction
            metric, _, low, high, unit, value, _, *by = values
            values = [metric, value, low, high, unit, *by]
        key = profile, Case(*case)
        references[key] = (*references.get(key, ()), Reference(*values))
    return references


_NOT_SAVED = ('folder', 'plain', 'label')  # where the file lies, and what concerns no process that reads it
_FROM_JSON: Mapping[str, Callable[[Any], Any]] = {  # readers of the fields whose values JSON does not have
    'site': load,
    'profile': PROFILES.__getitem__,
    'engines': lambda saved: tuple(EngineChoice(*row) for row in saved),
    'references': _references,
}
SCHEDULERS, LAUNCHERS = ('slurm', 'local'), ('srun', 'mpirun', 'local')  # those of ReFrame that trials use
MANUAL = 'https://reframe-hpc.readthedocs.io/en/stable/config_reference.html'


def settings_fault(site: Site, system: str) -> str:
    """The reason why ReFrame's own schema and resolution cannot load the site's settings of a system, with file and
    remedy, or empty. Raises SiteError. Modules are not checked: a login node need not have them."""
    # Imported here, as in current().
    from reframe.core.config import load_config
    from reframe.core.exceptions import ReframeError
    from reframe.core.systems import System

    file = site.folder / SETTINGS_FILE
    configuration = configuration_in(file)
    modules = [of_partition for name, of_partition in modules_in(file).items() if name.partition(':')[0] == system]
    if any(of_partition.wanted and of_partition.system == NO_MODULES for of_partition in modules):
        # ReFrame would load no module and report nothing.
        sentence = f"{system}: modules are named, and modules_system is '{NO_MODULES}'; write lmod or envmod"
        return problem(SETTINGS_FILE, [], sentence)
    config = load_config()
    try:
        config.update_config(configuration, SETTINGS_FILE)
        config.validate()
        config.select_subconfig(system)
        config.add_sticky_option('systems/modules_system', 'nomod')  # else ReFrame asks modules for their version
        System.create(config)
    except (ReframeError, AttributeError, KeyError, TypeError) as error:
        text = str(error) if isinstance(error, ReframeError) else f'{type(error).__name__}: {error}'
        text = text.replace(f': `<builtin>`, `{SETTINGS_FILE}`', '')
        return problem(SETTINGS_FILE, [], f'ReFrame refuses it: {text}; {_remedy(text)}')
    return ''


def _remedy(text: str) -> str:
    if unknown := re.search(r"no such (scheduler|launcher): '(.*)'", text):
        return choice(unknown[2], SCHEDULERS if unknown[1] == 'scheduler' else LAUNCHERS)
    if re.search('environments .* are not defined', text):
        return "describe them under 'environments', or write 'environs': ['builtin']"
    return f'see {MANUAL}'
