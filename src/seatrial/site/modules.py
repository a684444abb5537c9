"""The modules that ReFrame loads in the jobs of a partition, as settings.py names them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from seatrial.site.error import SiteError, problem
from seatrial.site.load import configuration_in, dictionaries, entries_in
from seatrial.site.model import SETTINGS_FILE

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
    for name, system, partition in entries_in(configuration):
        environments = partition.get('environs') or ['builtin']
        environment = _environment(dictionaries(configuration.get('environments')), environments[0], name)
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
