"""Reads a site's folder: all faults are reported before anything starts; and what ReFrame is told in settings.py."""

import os
import runpy
import sys
import traceback
import typing
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

import seatrial
from seatrial.filesystem.base import LayoutError
from seatrial.filesystem.mounts import is_below
from seatrial.filesystem.registry import by_type
from seatrial.model.layout import TARGETS, target_key
from seatrial.model.owned import refusal_of_code
from seatrial.model.quoted_value import choice, show
from seatrial.site import yaml_file
from seatrial.site.error import SHOWN_PROBLEMS, SiteError, problem, raise_any
from seatrial.site.model import (
    DEFAULT_LAYOUT,
    SETTINGS_FILE,
    TRIAL_FILE,
    VERSION,
    FileSystemEntry,
    Site,
    TrialEntry,
    TrialFile,
)

PACKAGE = Path(seatrial.__file__).parent
OWN_CHECKS = 'checks'  # the folder of a site's own check files, if its trial.yaml names none

_LISTS = {'access': "['--partition=compute']", 'environs': "['builtin']"}
"""Keys of a partition that Seatrial reads before ReFrame has checked them."""

_Contradiction = tuple[list[str | int], str]  # keys, and what is wrong there with its remedy


def load(folder: str | os.PathLike[str]) -> Site:
    """The site in a folder with settings.py and trial.yaml. Raises SiteError with every problem. settings.py is
    executed to learn its partitions, and trial.yaml names programs: so nobody else may change either."""
    home = _folder(folder)
    read = [str(home / name) for name in (SETTINGS_FILE, TRIAL_FILE, '__pycache__')]
    raise_any([refusal_of_code(os.fspath(folder), read)])
    trial_file = _trial_file(yaml_file.read(home / TRIAL_FILE), home)
    faults = islice(_contradictions(trial_file, partitions_in(home / SETTINGS_FILE)), SHOWN_PROBLEMS + 1)
    raise_any(problem(TRIAL_FILE, keys, sentence) for keys, sentence in faults)
    return Site(home, trial_file)


def answering(folder: str | os.PathLike[str]) -> Site:
    """The site in a folder, for commands that use the state directory: raises SiteError as Site.check_state too."""
    site = load(folder)
    site.check_state()
    return site


def shipped(name: str) -> Path:
    """A file or folder that lies at the top of the repository, or in the package of a wheel (ci/wheel.py)."""
    installed = PACKAGE / 'shipped'
    return (installed if installed.is_dir() else PACKAGE.parents[1]) / name


def check_folders(site: str | os.PathLike[str]) -> list[str]:
    """The folders of a site's check files: the shipped ones, and `checks` of its trial.yaml. settings.py calls this
    too, so only that key is checked here. Raises SiteError if others may change trial.yaml."""
    home, along = Path(site).resolve(), str(shipped('checks'))
    file = home / TRIAL_FILE
    if not file.exists():
        return [along]
    raise_any([refusal_of_code(os.fspath(site), [str(file)])])
    data, given = yaml_file.read(file), None
    if isinstance(data, dict):
        kind = TrialFile.model_fields['checks'].rebuild_annotation()
        with suppress(ValidationError):  # reported when the site is loaded
            given = TypeAdapter[tuple[str, ...] | None](kind).validate_python(data.get('checks'), context=home)
    if given is None:
        own_checks = home / OWN_CHECKS
        given = (str(own_checks),) if own_checks.is_dir() else ()
    return [along, *given]


def configuration_in(settings: Path) -> dict[Any, Any]:
    """ReFrame's configuration in settings.py. Raises SiteError."""
    configuration = _executed(settings).get('site_configuration')
    if not isinstance(configuration, dict):
        sentence = "it defines no dictionary site_configuration; ReFrame's manual says how to write it"
        raise SiteError([problem(SETTINGS_FILE, [], sentence)])
    for name, _, partition in _entries_in(configuration):
        for key, example in _LISTS.items():
            value = partition.get(key)
            if not (value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))):
                sentence = f"{name}: {key} is not a list of texts; write '{key}': {example}"
                raise SiteError([problem(SETTINGS_FILE, [], sentence)])
    return configuration


def partitions_in(settings: Path) -> dict[str, dict[Any, Any]]:
    """The entry of each partition in settings.py, by 'system:partition'. Raises SiteError."""
    return {name: partition for name, _, partition in _entries_in(configuration_in(settings))}


def _entries_in(configuration: dict[Any, Any]) -> Iterator[tuple[str, dict[Any, Any], dict[Any, Any]]]:
    """Each partition of a configuration: 'system:partition', the entry of the system and its own."""
    for system in _dictionaries(configuration.get('systems')):
        for partition in _dictionaries(system.get('partitions')):
            yield f'{system.get("name")}:{partition.get("name")}', system, partition


def _dictionaries(value: Any) -> list[dict[Any, Any]]:
    """The dictionaries in a list of settings.py; other items are left to ReFrame, which refuses them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _folder(folder: str | os.PathLike[str]) -> Path:
    try:
        home = Path(folder).resolve(strict=True)
        if home.is_dir():
            return home
        reason = 'not a folder'
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        reason = getattr(error, 'strerror', None) or str(error)
    remedy = f'name a folder that holds {SETTINGS_FILE} and {TRIAL_FILE}'
    raise SiteError([problem(os.fspath(folder), [], f'{reason}; {remedy}')])


def _trial_file(data: Any, home: Path) -> TrialFile:
    try:
        return TrialFile.model_validate(data, context=home)
    except ValidationError as error:
        details = error.errors(include_url=False)
    # Another version has other keys: what is said of them would mislead.
    details = [detail for detail in details if detail['loc'] == ('version',)] or details
    raise SiteError([problem_of(detail, TRIAL_FILE, TrialFile) for detail in details[: SHOWN_PROBLEMS + 1]])


def problem_of(detail: ErrorDetails, file: str, root: type[BaseModel], above: tuple[str, ...] = ()) -> str:
    """A finding of pydantic as a problem of a file; `root` is the model of the mapping at the keys `above`."""
    keys, kind, value = list(detail['loc']), detail['type'], detail['input']
    if kind == 'value_error':
        sentence = str(detail['ctx']['error'])
        if keys[-1] == '[key]':  # pydantic's mark that the key itself is meant, not its value
            keys.pop()
    elif kind == 'extra_forbidden':
        sentence = f'unknown key; {choice(keys[-1], _owner(root, keys[:-1]).model_fields)}'
    elif kind == 'missing':
        example = _owner(root, keys[:-1]).model_fields[str(keys[-1])].examples
        sentence = f'is missing; write {keys[-1]}: {example[0] if example else "a value"}'
    elif keys:
        fields = _owner(root, keys).model_fields.items()
        form = ', '.join(f'{name}: {field.examples[0]}' for name, field in fields if field.examples)
        sentence = f'expected a mapping, found {show(value)}; write {{{form}}}'
    else:
        sentence = f'expected the keys of a site, found {show(value)}; begin with version: {VERSION}'
    return problem(file, [*above, *keys], sentence)


def _owner(root: type[BaseModel], keys: list[str | int]) -> type[BaseModel]:
    """The model of the mapping at these keys."""
    model = root
    rest = iter(keys)
    for key in rest:
        annotation = model.model_fields[str(key)].annotation
        model = _model_in(annotation) or model
        if typing.get_origin(annotation) in (dict, tuple):
            next(rest, None)
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in typing.get_args(annotation) if (model := _model_in(part))), None)


def _executed(settings: Path) -> dict[str, Any]:
    yaml_file.regular_file(settings)
    try:
        return _run(str(settings), settings.read_bytes())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SiteError([problem(SETTINGS_FILE, [], _failure(error, settings))]) from None


@cache
def _run(settings: str, content: bytes) -> dict[str, Any]:
    """Executes settings.py once for each content in a process: a second time would register the site's own launchers
    and schedulers twice. Inside ReFrame, ReFrame itself has executed it."""
    path = Path(settings).resolve()
    for module in list(sys.modules.values()):
        file = str(getattr(module, '__dict__', {}).get('__file__') or '')
        if file.endswith(SETTINGS_FILE) and Path(file).resolve() == path:
            return vars(module)
    return runpy.run_path(settings)


def _failure(error: BaseException, settings: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(settings)]
    if isinstance(error, SyntaxError) and error.filename == str(settings):
        lines.append(error.lineno)
    place = f'line {lines[-1]}: ' if lines else ''
    return f'{place}{type(error).__name__}: {error}; it must run by itself as Python'


def _contradictions(file: TrialFile, known: Collection[str]) -> Iterator[_Contradiction]:
    """Contradictions between entries that are each well formed."""
    names = [engine.name for engine in file.engines]
    for i, engine in enumerate(names):
        if engine in names[:i]:
            yield ['engines', i], f'{show(engine)} is listed twice; keep one'
    for name, file_system in file.file_systems.items():
        for keys, sentence in _file_system(file_system, file.state):
            yield ['file_systems', name, *keys], sentence
    for name in file.partitions:
        if name not in known:
            yield ['partitions', name], f'{SETTINGS_FILE} has no such partition; {choice(name, known)}'
    for i, trial in enumerate(file.trials):
        for keys, sentence in _trial(trial, file):
            yield ['trials', i, *keys], sentence


def _file_system(entry: FileSystemEntry, state: str) -> Iterator[_Contradiction]:
    if entry.mount is not None and not is_below(entry.path, entry.mount):
        yield ['path'], f'{show(entry.path)} is not inside the mount {show(entry.mount)}; correct one of them'
    if not entry.records_on_target and is_below(state, entry.mount or entry.path):
        risk = f'the state directory {show(state)} lies on this file system; if that hangs, the records are lost too'
        yield ['path'], f'{risk}; move it, or write records_on_target: true'
    driver = by_type(entry.type)
    for name, settings in entry.layouts.items():
        try:
            layout = driver.layout(name, settings)
        except LayoutError as error:
            yield ['layouts', name, *error.keys], error.sentence
            continue
        if layout.is_default:
            yield ['layouts', name], f"changes nothing; remove it and use '{DEFAULT_LAYOUT}'"
        elif isinstance(entry.osts, int) and layout.targets_needed > entry.osts:
            remedy = 'write fewer, or correct osts'
            yield ['layouts', name], f'needs {layout.targets_needed} OSTs, and there are {entry.osts}; {remedy}'
    if isinstance(entry.storage_targets, int):
        example = 'storage_targets: [1, 2, 3]'
        yield ['storage_targets'], f'BeeGFS numbers its targets itself, and not from 0; list the numbers: {example}'
    for kind in TARGETS:
        if entry.numbers(kind) is not None and kind not in driver.pins:
            yield [target_key(kind)], f'{entry.type} cannot place files on chosen {kind}s; remove it'


def _trial(trial: TrialEntry, file: TrialFile) -> Iterator[_Contradiction]:
    widest = max(trial.nodes)
    for i, name in enumerate(trial.partitions):
        if name not in file.partitions:
            yield ['partitions', i], f'{show(name)} is not a partition of this file; {choice(name, file.partitions)}'
        elif widest > 1 and file.partitions[name].launcher.kind == 'local':
            remedy = 'write [1], or another launcher'
            yield ['nodes'], f'the launcher of {show(name)} is local and reaches one node; {remedy}'
        elif (trial.tasks_per_node or 0) > (most := file.partitions[name].tasks_per_node):
            yield ['tasks_per_node'], f'{trial.tasks_per_node} is more than {show(name)} has; write at most {most}'
    for i, name in enumerate(trial.file_systems):
        if name not in file.file_systems:
            remedy = choice(name, file.file_systems)
            yield ['file_systems', i], f'{show(name)} is not a file system of this file; {remedy}'
            continue
        layouts = [DEFAULT_LAYOUT, *file.file_systems[name].layouts]
        for k, layout in enumerate(trial.layouts):
            if layout not in layouts:
                yield ['layouts', k], f'{show(name)} has no layout {show(layout)}; {choice(layout, layouts)}'
    if trial.max_tasks is not None and trial.max_tasks < widest:
        yield ['max_tasks'], f'{trial.max_tasks} tasks are fewer than the {widest} nodes; write at least {widest}'


# The modules that ReFrame loads in the jobs of a partition, as settings.py names them

NO_MODULES = 'nomod'


class Module(NamedTuple):
    name: str
    path: str = ''  # the only folder in which ReFrame looks for it, before those of MODULEPATH


class Modules(NamedTuple):
    system: str = NO_MODULES  # ReFrame's modules_system
    wanted: tuple[Module, ...] = ()  # modules in the order of loading

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(module.name for module in self.wanted)


def modules_in(settings: Path) -> dict[str, Modules]:
    """The modules of each partition, by 'system:partition': those of its system, its own, and those of its first
    environment (of several, only the first is read here; a trial runs in each). Raises SiteError."""
    configuration = configuration_in(settings)
    modules = {}
    for name, system, partition in _entries_in(configuration):
        environments = partition.get('environs') or ['builtin']
        environment = _environment(_dictionaries(configuration.get('environments')), environments[0], name)
        wanted = tuple(module for owner in (system, partition, environment) for module in _wanted(owner))
        modules[name] = Modules(system.get('modules_system', NO_MODULES), wanted)
    return modules


def _environment(environments: list[dict[Any, Any]], name: str, partition: str) -> dict[Any, Any]:
    """The entry of that name for the partition, else for its system, else for all."""
    for wanted in (partition, partition.partition(':')[0], '*'):
        for environment in environments:
            systems = environment.get('target_systems', ['*'])
            if environment.get('name') == name and isinstance(systems, list) and wanted in systems:
                return environment
    return {}


def _wanted(owner: dict[Any, Any]) -> Iterator[Module]:
    """The modules of an entry: texts, or dictionaries with a name, as in ReFrame. Raises SiteError."""
    entries = owner.get('modules') or ()
    for entry in entries if isinstance(entries, (list, tuple)) else [None]:
        name, path = (entry.get('name'), entry.get('path')) if isinstance(entry, dict) else (entry, None)
        if not isinstance(name, str):
            sentence = f"{owner.get('name')}: modules is not a list of names; write 'modules': ['ior/4.0.0']"
            raise SiteError([problem(SETTINGS_FILE, [], sentence)])
        yield Module(name, path or '')
