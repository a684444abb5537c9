"""`seatrial doctor`: which engine would measure, what is installed, what is missing and how to get it."""

import contextlib
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from stat import S_IRGRP, S_IROTH

import click
from rich.table import Table
from rich.text import Text

import seatrial
from seatrial.check.darshan.library import Program, examined
from seatrial.check.declared import load as load_checks
from seatrial.check.job_environment import NotLoaded, loaded
from seatrial.check.session import settings_fault
from seatrial.check.staging import commit_of, reframe_version
from seatrial.cli.options import checks_option, site_option
from seatrial.engine.base import EngineError
from seatrial.engine.registry import ENGINES, by_name, engines_called, program_of
from seatrial.filesystem.base import Targets, conditions, mounted_from, type_fault
from seatrial.filesystem.mounts import is_below, mount_of
from seatrial.filesystem.posix import IDENTITY
from seatrial.filesystem.registry import by_type, type_of
from seatrial.history.store import folder_of, read
from seatrial.job.directory.rundir import inside
from seatrial.job.launch.processes import launch_argv
from seatrial.job.sequence import provenance
from seatrial.job.sequence.survey import memory_bytes, version_of
from seatrial.model.ask import ANSWER_S, ask, unresponsive
from seatrial.model.foreign import read_json
from seatrial.model.owned import open_to, shared, user_name
from seatrial.model.plan import EngineChoice
from seatrial.model.quoted_value import printable
from seatrial.model.record import build_words, module_of, package_of
from seatrial.model.units import approximate_size
from seatrial.report.terminal import console, say
from seatrial.rules.before import away
from seatrial.rules.registry import finding
from seatrial.scheduler.session_jobs import submits_to_slurm
from seatrial.session.from_options import state_fault
from seatrial.site.load import Modules, load, modules_in
from seatrial.site.model import SETTINGS_FILE, PrecheckEntry, Site
from seatrial.site.profile import PROFILES
from seatrial.workload.registry import KINDS
from seatrial.workload.words import by_key, joined

WRONG = 'wrong'
_MARKS: dict[bool | str | None, tuple[str, str]] = {
    None: ('', ''),
    True: ('+ ok', 'green'),
    False: ('- missing', 'yellow'),
    WRONG: ('x wrong', 'bold red'),
}

Row = tuple[bool | str | None, str, str]
"""True if it is there, WRONG where it is another thing, None for what is merely shown; of what, and in words."""


@click.command()
@checks_option
@site_option
def doctor(site_folder: Path, checks: Sequence[Path]) -> int:
    """Show what this host has: engines, file systems, free space.

    Exit code 64 if something that the site's trials need here is missing or wrong: an engine, a file system, the
    state; or if a setting is not as the site's prechecks say.
    """
    site = load(site_folder)
    asked = {
        check.workload.kind
        for check in load_checks(*checks).values()
        if any(site.cases(check.name, check.family, profile) for profile in PROFILES)
    }
    engines = [row for partitions, modules in _by_modules(site) for row in _engines(site, partitions, modules)]
    file_systems = {name: _file_system_rows(site, name) for name in site.trial_file.file_systems}
    state, commit = _state(site), commit_of()
    own_version = _version(seatrial.__version__, commit, reframe_version())
    systems = dict.fromkeys(name.partition(':')[0] for name in site.trial_file.partitions)
    faults = dict.fromkeys(settings_fault(site, system) for system in systems)
    settings: list[Row] = [(WRONG, 'settings', fault) for fault in faults if fault]
    rows = [
        (True, 'seatrial', own_version),
        *_upgraded(site, own_version, engines),
        (True, 'python', platform.python_version()),
        (True, 'host', f'{platform.node()}, {platform.release()}, {approximate_size(memory_bytes())} memory'),
        (None, 'user', user_name(os.geteuid())),
        (None, 'site', _owned(site.folder)),
        (None, 'checks', ', '.join(map(str, checks))),
        *_place(site),
        *_open_path(),
        *settings,
        *engines,
        *(row for entry_rows in file_systems.values() for row in entry_rows),
        state,
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    for fine, what, text in rows:
        table.add_row(Text(*_MARKS[fine]), what, text)
    screen = console()
    screen.print(table)
    installed = [what.split()[1] for fine, what, _ in engines if fine is True and what.startswith('engine ')]
    first = {kind: next((name for name in installed if by_name(name, kind.name)), None) for kind in KINDS.values()}
    measured = by_key((engine, kind.words) for kind, engine in first.items() if engine)
    would = '; '.join(f'{name}: {joined(words, "and")}' for name, words in measured.items())
    if would:
        unless = 'unless a check asks for what they cannot express'
        say(screen, f'Engines that measure on this host, {unless}: {would}.')
    lacking = [kind for kind, engine in first.items() if engine is None and kind.name in asked]
    for kind in lacking:
        able = joined(list(dict.fromkeys(engine.name for engine in ENGINES if kind.name in engine.kinds)), 'or')
        remedy = f'install {able}, and list it where trial.yaml has engines'
        say(screen, f'No engine measures {kind.words} here; {remedy}.')
    used = {name for trial in site.trial_file.trials for name in trial.file_systems}
    there = [state, *settings, *(file_systems[name][0] for name in used)]
    unlike = any(fine is WRONG for rows in (engines, *(file_systems[name] for name in used)) for fine, *_ in rows)
    return 64 if lacking or unlike or any(fine is not True for fine, *_ in there) else 0


def _version(seatrial: str, commit: str | None, reframe: str | None) -> str:
    return f'{seatrial}{", commit " if commit else ""}{commit or ""}, ReFrame {reframe or "unknown"}'


def _upgraded(site: Site, own_version: str, engines: Sequence[Row]) -> list[Row]:
    """Rows on what has another version than in the newest session of the history, with the version there."""
    columns = ['session', 'seatrial', 'commit', 'reframe', 'engine', 'engine_version']
    if unresponsive(str(site.state)):
        return []
    try:
        measured = read(folder_of(site.state), newest=1, columns=columns).rows
    except OSError:
        return []
    changes = []
    for session, seatrial_, commit, reframe, engine, engine_version in measured.unique(maintain_order=True).rows():
        version = _version(seatrial_, commit, reframe)
        if version != own_version:
            changes.append(f'session {session} had {version}; CHANGELOG.md says what changed')
        texts = [text for _, what, text in engines if what.split()[:2] == ['engine', engine] and ' at ' in text]
        if engine_version and texts and not any(text.startswith(f'{engine_version} at ') for text in texts):
            changes.append(f'{engine} was {engine_version} in session {session}')
    return [(None, '', change) for change in dict.fromkeys(changes)]


def _place(site: Site) -> list[Row]:
    """A row on whether this is a node of a Slurm job: a login node has other programs and mounts."""
    job = os.environ.get('SLURM_JOB_ID')
    if job or not submits_to_slurm(site):
        return [(None, '', f'a node of job {job} of Slurm')] if job else []
    return [(None, '', 'no Slurm job: for what a compute node has, run srun seatrial doctor')]


def _open_path() -> list[Row]:
    """Folders of the PATH into which other users may put programs: they would run as this user."""
    folders = os.environ.get('PATH', os.defpath).split(os.pathsep)
    faults = [f'{path or "."} is another folder in each working directory' for path in folders if path[:1] != '/']
    for folder in folders:
        with contextlib.suppress(OSError):
            faults += [fault.why for fault in shared(folder or '.')]
    return [(WRONG, 'PATH', f'{why}; take it out of the PATH') for why in dict.fromkeys(faults)]


def _by_modules(site: Site) -> list[tuple[list[str], Modules]]:
    """The partitions of the trials, grouped by equal modules and binaries."""
    known = modules_in(site.folder / SETTINGS_FILE)
    programs = {name: tuple(sorted(entry.programs.items())) for name, entry in site.trial_file.partitions.items()}
    groups = by_key(((known[name], of_name), name) for name, of_name in programs.items())
    return [(names, modules) for (modules, _), names in groups.items()]


def _engines(site: Site, partitions: list[str], modules: Modules) -> list[Row]:
    where = _where(site, partitions)
    try:
        with loaded(modules):
            choices = site.on_partition(partitions[0], site.engine_choices())
            rows = [_engine(site, choice, partitions) for choice in choices]
            libraries = list(_libraries(site, choices, partitions))
            names = ', '.join(provenance.loaded_modules(os.environ))
    except NotLoaded as error:
        return [(False, f'modules{where}', str(error))]
    shown = [(True, 'modules', names)] if modules.names else []
    return [*((fine, f'{what}{where}', text) for fine, what, text in [*shown, *rows]), *libraries]


def _where(site: Site, partitions: list[str]) -> str:
    return f' in {", ".join(partitions)}' if len(partitions) < len(site.trial_file.partitions) else ''


def _libraries(site: Site, choices: Sequence[EngineChoice], partitions: list[str]) -> Iterator[Row]:
    """Each Darshan library of these partitions, loaded into the installed engines for data."""
    for library, users in by_key((site.partition(name).darshan, name) for name in partitions).items():
        if library:
            text, faults = examined(library, [program for choice in choices for program in _of_data(choice)])
            yield not faults, f'darshan{_where(site, users)}', text
            yield from ((None, '', fault) for fault in faults)


def _of_data(choice: EngineChoice) -> list[Program]:
    shown = {kind.name for kind in KINDS.values() if kind.by_darshan}
    known = [engine for engine in engines_called(choice.name) if shown.intersection(engine.kinds)]
    return [
        Program(engine.name, program, engine.mpi, tuple(engine.version_argv(program)))
        for engine in known
        if (program := shutil.which(program_of(engine, choice))) is not None
    ]


def _engine(site: Site, choice: EngineChoice, partitions: list[str]) -> Row:
    name = f'engine {choice.name}'
    engine = engines_called(choice.name)[0]
    wanted = program_of(engine, choice)
    program = shutil.which(wanted)
    if program is None:
        return False, name, f'{wanted} is not on the PATH; {engine.how_to_get}'
    of_partitions = map(site.launcher, partitions)
    launchers = {launch_argv(launcher, provenance.ANY_POINT, ())[0]: launcher for launcher in of_partitions}
    missing = sorted(starter for starter in launchers if shutil.which(starter) is None)
    if engine.mpi and missing:
        return False, name, f'{program} needs its launcher: {", ".join(missing)} is not on the PATH'
    try:
        text = f'{version_of(engine, program)} at {program}'
    except EngineError as error:
        return False, name, f'{program}: {error.sentence}'
    build = provenance.build_of(program)
    module = module_of(program, provenance.loaded_modules(os.environ))
    pinned, fault = _against_lock(site, program, build)
    text += f', {build_words(build)}{pinned}{", module " if module else ""}{module}'
    fault = fault or ('' if '/' in wanted else provenance.beside_module(program, os.environ))
    if engine.mpi:
        library = provenance.library_of(program)
        started = [
            provenance.launcher_of(launcher) or f'{starter} (version unknown)'
            for starter, launcher in launchers.items()
        ]
        text += f', {library or "MPI unknown"}, started by {", ".join(started)}'
        fault = fault or next(filter(None, (provenance.of_another_mpi(library, words) for words in started)), '')
    return (WRONG, name, f'{text}: {fault}') if fault else (True, name, text)


def _against_lock(site: Site, program: str, build: str) -> tuple[str, str]:
    """Compares a program with the site's lock for this architecture: ' as in spack.lock', or a clause on what the
    lock pins instead; both are empty where the lock has no such package."""
    file = site.folder / 'spack' / platform.machine() / 'spack.lock'
    specs = read_json(file)['concrete_specs'] if file.is_file() else {}
    for hash_, spec in specs.items():
        if spec['name'] == package_of(program):
            pin = f'spack:{hash_}'
            clause = f'{file} pins {spec["version"]}, {build_words(pin)}'
            return (f' as in {file.name}', '') if build == pin else ('', clause)
    return '', ''


def _file_system(site: Site, name: str, silence: str | None) -> Row:
    entry = site.file_system(name)
    label = f'file system {name}'
    if silence is not None:
        return False, label, silence
    try:
        there = Path(entry.path).is_dir()
    except PermissionError:
        why = f'{user_name(os.geteuid())} may not enter a directory above it; open that, or name another path'
        return False, label, f'{entry.path}: {why}'
    if not there:
        made = is_below(entry.path, site.state)
        return made, label, f'{entry.path} {"is made by the first run" if made else "is not there; make or mount it"}'
    driver, mount = by_type(entry.type), mount_of(os.path.realpath(entry.path))
    fault = type_fault(driver, mount)
    if fault is not None:
        return WRONG, label, f'{entry.path}: {fault}'
    outside = inside(entry.path, entry.mount) if entry.mount else None
    if outside is not None:
        return WRONG, label, f'S1: {finding("S1", outside).sentence}'
    try:
        others = open_to(entry.path)
        if others is not None:
            return WRONG, label, f'S4: {finding("S4", others).sentence}'
        capacity = driver.capacity(entry.path)
    except OSError as error:
        return False, label, f'{entry.path}: {error.strerror}'
    if not os.access(entry.path, os.W_OK | os.X_OK):
        return False, label, f'{entry.path}: no permission to write'
    free = approximate_size(capacity.bytes) if capacity.bytes is not None else 'unknown'
    inodes = f', {capacity.inodes} inodes' if capacity.inodes is not None else ''
    left = driver.quota(entry.path)
    rooms = [] if left.bytes is None else [approximate_size(left.bytes)]
    rooms += [] if left.inodes is None else [f'{left.inodes} inodes']
    quota = f'; the quota leaves {" and ".join(rooms)}' if rooms else ''
    unseen = ''.join(f'; not known: {room.unseen}' for room in (capacity, left) if room.unseen)
    return True, label, f'{entry.type} at {entry.path}, {free} free{inodes}{quota}{unseen}'


def _file_system_rows(site: Site, name: str) -> list[Row]:
    """The file system, notes on its driver, and what this version or this user lacks there."""
    entry = site.file_system(name)
    driver = by_type(entry.type)
    tried = f'tried on {driver.tried}' if driver.tried else f'untried: nobody has measured {entry.type} with it yet'
    silence = unresponsive(entry.path, mounted_from=mounted_from(driver, entry.path))
    rows: list[Row] = [_file_system(site, name, silence), (None, '', f'the driver of {entry.type}: {tried}')]
    rows += [(None, '', driver.no_layout)] if driver.no_layout else []
    if silence is not None and driver.servers_apart:
        rows += _targets(driver.targets(entry.path), name, entry.targets_may_be_away)
    if silence is None and os.access(entry.path, os.X_OK):
        mount = mount_of(os.path.realpath(entry.path))
        if mount and (better := type_of(mount)) not in (None, entry.type):
            rows.append((None, '', f'{mount.description()}: write type: {better}, which knows it better'))
        state = driver.state(entry.path)
        rows.append((None, '', '; '.join(f'{key}: {state[key]}' for key in IDENTITY if key in state)))
        rows += _targets(driver.targets(entry.path), name, entry.targets_may_be_away)
        behaviour = driver.behaviour(entry.path)
        for rule, why in (('P17c', behaviour.gives_up), ('P25', behaviour.local_locks)):
            rows += [(None, '', f'{rule}: {finding(rule, why).sentence}')] if why else []
        cold = driver.cold(entry.path)
        if cold.possible:
            kept = f', but for {cold.kept}' if cold.kept else ''
            rows.append((None, '', f'cold reads, where drop_caches is true: {cold.how}{kept}'))
        lacking = [capability for capability in driver.capabilities(entry.path) if not capability.available]
        rows += [(None, '', f'without {capability.name}: {capability.detail}') for capability in lacking]
    return [*rows, *(_precheck(f'{name}: {what}', precheck) for what, precheck in entry.prechecks.items())]


def _targets(seen: Targets, name: str, may_be_away: bool) -> Iterator[Row]:
    """The targets, the routes to them, and their faults."""
    if text := '; '.join(f'{what} {state}' for what, state in conditions(seen).items()):
        yield None, '', text
    if (lost := away(seen.rows)) and not may_be_away:
        yield WRONG, f'targets of {name}', f'P22: {finding("P22", lost).sentence}'


def _precheck(what: str, asked: PrecheckEntry) -> Row:
    """Compares a setting with the site's decision (Belyakov et al.: settings of pools and kernel modules)."""
    command = ' '.join(asked.command)
    answer = ask(list(asked.command), ANSWER_S)
    if answer is None:
        return WRONG, what, f'not known: {asked.command[0]} is not installed here'
    if answer.exit_status != 0:
        why = f'no answer within {ANSWER_S:.0f} s' if answer.exit_status is None else answer.stderr.strip()
        return WRONG, what, f'not known: {command}: {printable(why) or f"exit status {answer.exit_status}"}'
    values = dict.fromkeys(line.strip() for line in answer.stdout.splitlines() if line.strip())
    if list(values) == [asked.value]:
        return True, what, asked.value
    shown = ' and '.join(map(printable, values)) or 'nothing'
    return WRONG, what, f'{shown}, where {asked.value} is expected: {command}'


def _state(site: Site) -> Row:
    parent = Path(site.state).parent
    fault = state_fault(site) or unresponsive(site.state) or site.unsafe()
    if fault:
        return False, 'state', fault
    if not parent.is_dir():
        return False, 'state', f'{parent} is not there; make it, or correct state in trial.yaml'
    return True, 'state', _owned(Path(site.state)) if Path(site.state).is_dir() else f'{site.state}, not made yet'


def _owned(path: Path) -> str:
    """The path with its owner and who may read it."""
    status = path.stat()
    readers = 'all' if status.st_mode & S_IROTH else 'its group' if status.st_mode & S_IRGRP else 'nobody else'
    return f'{path}, of {user_name(status.st_uid)}, read by {readers}'
