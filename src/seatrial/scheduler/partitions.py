"""The partitions in which a profile's cases run, and their nodes, according to ReFrame's settings and to Slurm."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seatrial.model.quoted_value import printable
from seatrial.model.units import MIB
from seatrial.scheduler.queue import QueueError, asked, seconds_in
from seatrial.site.load import partitions_in
from seatrial.site.model import SETTINGS_FILE, Site

SLURM = ('slurm', 'squeue')  # ReFrame's schedulers that submit to Slurm
ON_THE_SPOT = ('local', 'ssh')  # ReFrame's schedulers that run a case at once, without a job

WANTED = {  # options of sbatch that every job of a case should have, and the effect of a missing one
    '--exclusive': 'other jobs on the nodes would be measured too',
    '--no-requeue': 'a case that Slurm requeues fails, because it has a record already',
}

_SINFO = re.compile(r'(.+?)\*?\|(\d+)\|(\d+)\+?\|(\d+)\+?\|(\S+)')
_PARTITION = re.compile(r'(?:--partition[= ]|-p\s*)(.+)')
_LICENCES = re.compile(r'(?:--licenses[= ]|-L\s*)(.+)')


class Partitions(NamedTuple):
    """Partitions of a profile. submit: True if ReFrame submits a job for each case."""

    submit: bool
    # names, licences: requested from sbatch; exclusive: True if whole nodes are requested
    names: frozenset[str]
    licences: frozenset[str]
    exclusive: bool

    @classmethod
    def of(cls, options: Sequence[str], submit: bool = True) -> 'Partitions':
        licences = [name.partition(':')[0] for name in _asked(_LICENCES, options)]
        return cls(submit, frozenset(_asked(_PARTITION, options)), frozenset(licences), '--exclusive' in options)


class SlurmPartition(NamedTuple):
    """A partition of Slurm, with the values of its smallest nodes; limit_s: None without a limit."""

    name: str
    nodes: int
    cpus: int
    memory: int | None  # bytes of a node; None if unknown: Slurm then reports 1 MiB (slurm.conf(5), RealMemory)
    limit_s: float | None


def slurm_partitions() -> list[SlurmPartition]:
    """The partitions that this user sees: the default one, then the others as sinfo(1) sorts. Raises QueueError."""
    return parse_sinfo(asked('sinfo', '--noheader', '--exact', '--format=%P|%D|%c|%m|%l'))


def parse_sinfo(text: str) -> list[SlurmPartition]:
    """The partitions in lines for one kind of nodes: 'compute*|64|128|257000|1-00:00:00'. Raises QueueError."""
    partitions = dict[str, SlurmPartition]()
    for line in sorted(filter(None, text.splitlines()), key=lambda line: '*|' not in line):
        match = _SINFO.fullmatch(line)
        if match is None:
            raise QueueError(f'sinfo has printed a line that is not understood: {printable(line)}')
        name, limit = match.group(1), match.group(5)
        nodes, cpus = int(match.group(2)), int(match.group(3))
        memory = int(match.group(4)) * MIB if int(match.group(4)) > 1 else None
        before = partitions.get(name, SlurmPartition(name, 0, cpus, memory, seconds_in(limit)))
        smallest = memory and before.memory and min(before.memory, memory)
        partitions[name] = before._replace(nodes=before.nodes + nodes, cpus=min(before.cpus, cpus), memory=smallest)
    return list(partitions.values())


def cluster() -> tuple[str, str]:
    """Name of the cluster and ReFrame's scheduler: 'slurm' with accounting, else 'squeue'. Raises QueueError."""
    config = asked('scontrol', 'show', 'config')
    name = re.search(r'^ClusterName\s*=\s*(\S+)', config, re.MULTILINE)
    accounting = re.search(r'^AccountingStorageType\s*=\s*accounting_storage/slurmdbd', config, re.MULTILINE)
    return name.group(1) if name else 'cluster', 'slurm' if accounting else 'squeue'


def partitions_of(site: Site, profile: str) -> Partitions:
    """The options of sbatch in all partitions that the trials of a profile name."""
    ours = named(site, profile)
    settings = [partition for name, partition in partitions_in(site.folder / SETTINGS_FILE).items() if name in ours]
    submit = any(partition.get('scheduler') not in ON_THE_SPOT for partition in settings)
    return Partitions.of([str(option) for partition in settings for option in partition.get('access') or ()], submit)


def submits(site: Site, partition: str) -> bool:
    """True if the cases of a partition run in jobs; False if they run at once, without a job."""
    return partitions_in(site.folder / SETTINGS_FILE)[partition].get('scheduler') not in ON_THE_SPOT


def is_slurm(site: Site, partition: str) -> bool:
    return partitions_in(site.folder / SETTINGS_FILE)[partition].get('scheduler') in SLURM


def time_limits_s(site: Site, partitions: Iterable[str]) -> dict[str, float]:
    """Slurm's time limit in seconds by partition: the longest, if it names several of Slurm's. Raises QueueError."""
    settings = partitions_in(site.folder / SETTINGS_FILE)
    wanted = {name: settings[name] for name in partitions if settings[name].get('scheduler') in SLURM}
    slurms = {name: set(_asked(_PARTITION, entry.get('access') or ())) for name, entry in wanted.items()}
    limits = {row.name: row.limit_s for row in (slurm_partitions() if wanted else ()) if row.limit_s is not None}
    return {name: max(map(limits.__getitem__, of)) for name, of in slurms.items() if of and of <= limits.keys()}


def missing_options(site: Site, profile: str) -> list[str]:
    """One sentence for each partition of a profile whose jobs lack options of sbatch that WANTED names."""
    settings = partitions_in(site.folder / SETTINGS_FILE)
    return [
        f'{SETTINGS_FILE}: access of {name} lacks {" and ".join(missing)}: {"; ".join(missing.values())}'
        for name in sorted(named(site, profile) & settings.keys())
        if settings[name].get('scheduler') in SLURM
        and (missing := {key: why for key, why in WANTED.items() if key not in (settings[name].get('access') or ())})
    ]


def named(site: Site, profile: str) -> set[str]:
    """The names of a profile's partitions, as 'system:partition'."""
    return {name for trial in site.trial_file.trials if profile in trial.profiles for name in trial.partitions}


def nodes_to_leave_out(site: Site, partition: str, used: Sequence[Sequence[str]], wanted: int) -> tuple[str, ...]:
    """The nodes to exclude: those of the latest allocations (used: oldest first) that leave the wanted number. Nodes
    that are down or drained do not count. Empty if Slurm does not answer, because other nodes are not required."""
    if not used or not is_slurm(site, partition):
        return ()
    settings = partitions_in(site.folder / SETTINGS_FILE)[partition]
    names = Partitions.of([str(option) for option in settings.get('access') or ()]).names
    options = ['--noheader', '--Node', '--responding', '--states=idle,alloc,mix', '--format=%N %P']
    options += [f'--partition={",".join(sorted(names))}'] if names else []
    try:
        rows = [line.split() for line in asked('sinfo', *options).splitlines()]
    except QueueError:
        return ()
    # Without a name the job goes to Slurm's default partition, which sinfo marks with a star.
    nodes = {row[0] for row in rows if len(row) == 2 and (names or row[1].endswith('*'))}
    latest = dict.fromkeys(node for allocation in reversed(used) for node in allocation if node in nodes)
    return tuple(latest)[: max(0, len(nodes) - wanted)]


def _asked(pattern: re.Pattern[str], options: Iterable[str]) -> list[str]:
    return [name for option in options if (match := pattern.match(option)) for name in match.group(1).split(',')]
