"""What ReFrame's settings say of the partitions that a profile's cases run in."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from seatrial.site.load import partitions_in
from seatrial.site.model import SETTINGS_FILE, Site

ON_THE_SPOT = ('local', 'ssh')
"""ReFrame's schedulers that submit nothing."""

_PARTITION = re.compile(r'(?:--partition[= ]|-p\s*)(.+)')
_LICENCES = re.compile(r'(?:--licenses[= ]|-L\s*)(.+)')


class Partitions(NamedTuple):
    """submit: whether ReFrame submits a job for a case, else it runs them all on the spot.

    names, licences: that sbatch is asked for; exclusive: whether for whole nodes
    """

    submit: bool
    names: frozenset[str]
    licences: frozenset[str]
    exclusive: bool

    @classmethod
    def of(cls, access: Iterable[str], submit: bool = True) -> 'Partitions':
        """What options of sbatch ask for."""
        options = list(access)
        licences = [name.partition(':')[0] for words in _asked(_LICENCES, options) for name in words.split(',')]
        return cls(submit, frozenset(_asked(_PARTITION, options)), frozenset(licences), '--exclusive' in options)


def partitions_of(site: Site, profile: str) -> Partitions:
    """Of all partitions that the trials of a profile name."""
    named = {name for trial in site.trial_file.trials if profile in trial.profiles for name in trial.partitions}
    found = [said for name, said in partitions_in(site.folder / SETTINGS_FILE).items() if name in named]
    submit = any(partition.get('scheduler') not in ON_THE_SPOT for partition in found)
    return Partitions.of([str(option) for partition in found for option in partition.get('access', ())], submit)


def _asked(pattern: re.Pattern[str], options: Iterable[str]) -> list[str]:
    return [match.group(1) for option in options if (match := pattern.match(option))]
