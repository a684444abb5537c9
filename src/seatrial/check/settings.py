"""Finds what ReFrame would refuse in settings.py before it starts: it reports that only in its own log."""

import re

from seatrial.model.quoted_value import choice
from seatrial.site.error import problem
from seatrial.site.load import configuration_in
from seatrial.site.model import SETTINGS_FILE, Site
from seatrial.site.modules import NO_MODULES, modules_in

SCHEDULERS, LAUNCHERS = ('slurm', 'local'), ('srun', 'mpirun', 'local')
"""The schedulers and launchers of ReFrame that trials use; settings.py may name others."""

MANUAL = 'https://reframe-hpc.readthedocs.io/en/stable/config_reference.html'


def settings_fault(site: Site, system: str) -> str:
    """The reason why ReFrame cannot load the site's settings of a system, with file and remedy, or empty. Raises
    SiteError. It uses ReFrame's own schema and resolution on the executed settings.py. Modules are not checked: a
    login node need not have them."""
    # Here, as in session.current().
    from reframe.core.config import load_config
    from reframe.core.exceptions import ReframeError
    from reframe.core.systems import System

    file = site.folder / SETTINGS_FILE
    configuration = configuration_in(file)
    modules = [of_partition for name, of_partition in modules_in(file).items() if name.partition(':')[0] == system]
    if any(of_partition.wanted and of_partition.system == NO_MODULES for of_partition in modules):
        # ReFrame would load none and say nothing.
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
    unknown = re.search(r"no such (scheduler|launcher): '(.*)'", text)
    if unknown:
        return choice(unknown[2], SCHEDULERS if unknown[1] == 'scheduler' else LAUNCHERS)
    if re.search('environments .* are not defined', text):
        return "describe them under 'environments', or write 'environs': ['builtin']"
    return f'see {MANUAL}'
