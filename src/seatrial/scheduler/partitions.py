"""What ReFrame's settings say of the partitions that a profile's cases run in."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from seatrial.site.load import partitions_in
from seatrial.site.model import SETTINGS_FILE, Site

SLURM = ('slurm', 'squeue')
"""ReFrame's schedulers that submit to Slurm."""

ON_THE_SPOT = ('local', 'ssh')
"""ReFrame's schedulers that submit nothing."""

WANTED = {
    '--exclusive': 'other jobs on the nodes would be measured too',
    '--no-requeue': 'a case that Slurm begins anew fails, for it has a record already',
}
"""Options of sbatch that every job of a case should have, and what happens without."""

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
    ours = named(site, profile)
    found = [said for name, said in partitions_in(site.folder / SETTINGS_FILE).items() if name in ours]
    submit = any(partition.get('scheduler') not in ON_THE_SPOT for partition in found)
    return Partitions.of([str(option) for partition in found for option in partition.get('access') or ()], submit)


def missing_options(site: Site, profile: str) -> list[str]:
    """What the jobs of a profile's cases should ask Slurm for and do not, a sentence for each partition."""
    found = partitions_in(site.folder / SETTINGS_FILE)
    return [
        f'{SETTINGS_FILE}: access of {name} lacks {" and ".join(missing)}: {"; ".join(missing.values())}'
        for name in sorted(named(site, profile) & found.keys())
        if found[name].get('scheduler') in SLURM
        and (missing := {each: why for each, why in WANTED.items() if each not in (found[name].get('access') or ())})
    ]


def named(site: Site, profile: str) -> set[str]:
    """The partitions that the trials of a profile name, as 'system:partition'."""
    return {name for trial in site.trial_file.trials if profile in trial.profiles for name in trial.partitions}


def _asked(pattern: re.Pattern[str], options: Iterable[str]) -> list[str]:
    return [match.group(1) for option in options if (match := pattern.match(option))]
