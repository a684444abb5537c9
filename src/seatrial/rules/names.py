"""Rules for one launch of metadata: are the entries there, and was it work that was timed?"""

from typing import Dict, List, NamedTuple, Optional, Tuple

from seatrial.model.namespace import OPERATIONS
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Finding
from seatrial.model.tree import Entries, TreeMeasurement, TreePoint
from seatrial.rules.launch import hosts, measurable, world_size
from seatrial.rules.registry import NAMES, Check, finding, findings, rule

LOOKING = ('stat', 'read', 'list')
QUANTA = 100  # ticks of the engine's clock in a timed region, at least: one is then 1 %
MOST_WAITING = 0.10


class FileCount(NamedTuple):
    """What was counted below the data directory. files: how many there are of each size in bytes; sizes are None
    where only names were counted, because asking for attributes would have put them into the node's cache."""

    directories: int
    files: int
    sizes: Optional[Dict[int, int]]


class Named(NamedTuple):
    """One launch of metadata as the runner saw it.

    expected: entries that are to be below the data directory after it; None where nothing was counted
    seen:     what is there; None where nothing was counted
    emptied:  whether this node's caches were emptied right before it
    kept:     why they could not be emptied although the site allows it, or why something may have been answered from
              a client's memory all the same; or empty
    elsewhere: whether every client worked on entries that its node had neither made nor seen
    meant:    as in Launched
    """

    plan: TrialPlan
    point: TreePoint
    operation: str
    measurement: TreeMeasurement
    expected: Optional[Entries]
    seen: Optional[FileCount]
    emptied: bool
    kept: str
    elsewhere: bool
    meant: Tuple[str, ...] = ()


def names_findings(named: Named) -> List[Finding]:
    """What the rules of every launch and those of metadata find."""
    shared: List[Tuple[str, Check]] = [('T9', world_size), ('T10', hosts)]
    if named.measurement.rates:
        shared.append(('T12', measurable))
    said = [(id, check(named)) for id, check in shared]
    found = [finding(id, sentence) for id, sentence in said if sentence is not None]
    return found + findings(NAMES, named)


def temperature(named: Named) -> str:
    """Whether names and attributes came from the servers: 'cold', 'cached', 'unknown'; empty where none is asked."""
    if named.operation not in LOOKING:
        return ''
    if named.elsewhere:
        return 'cold'
    if named.emptied:
        return 'unknown' if named.kept else 'cold'
    return 'cached'


@rule(
    'T4',
    'Names and attributes are looked up at the servers, not in the memory of the client that made them',
    NAMES,
    'label',
    'allow drop_caches for the file system in trial.yaml, or use more nodes: 4 are always enough',
    'mdtest -N 1 shifts stat by one node, read by two, removal by three (source, seen)',
)
def looked_up_afresh(named: Named) -> Optional[str]:
    seen = temperature(named)
    if seen == 'unknown':
        return f'labelled unknown: {named.kept}'
    because = f' ({named.kept})' if named.kept else ''
    return f'labelled cached: the node that looks has made the entries{because}' if seen == 'cached' else None


@rule(
    'T17a',
    'After every phase the entries of a tree are there, all of them and no others, each with its bytes',
    NAMES,
    'invalid',
    'something else works in the run directory, or the engine did something else; see its raw output',
    'mdtest -T over a missing tree exits 0 with plausible rates; fio deletes and re-creates files (seen)',
)
def entries_in_full(named: Named) -> Optional[str]:
    if named.expected is None or named.seen is None:
        return None
    wanted, seen, after = named.expected, named.seen, f'after {named.operation}'
    if seen.files != wanted.files:
        return f'{after} there are {seen.files} files, not {wanted.files}'
    directories = wanted.directories + wanted.empties
    if seen.directories != directories:
        return f'{after} there are {seen.directories} directories, not {directories}'
    size = named.point.tree.bytes_per_file
    others = {each: number for each, number in (seen.sizes or {}).items() if each != size}
    if others:
        return f'{after} {sum(others.values())} files have {next(iter(others))} B, not {size} B'
    return None


@rule(
    'T19a',
    'A phase is long against the clock that timed it',
    NAMES,
    'invalid',
    'give the clients more files (files_per_client in trial.yaml)',
    'fio counts whole milliseconds (seen)',
)
def long_against_its_clock(named: Named) -> Optional[str]:
    return None if _may_be_short(named) else _quantised(named)


def _quantised(named: Named) -> Optional[str]:
    for rate in named.measurement.rates:
        if 0 < rate.seconds < QUANTA * named.measurement.clock_s:
            return f'{rate.metric} took {rate.seconds:.4f} s by a clock that counts {named.measurement.clock_s:g} s'
    return None


@rule(
    'T20',
    'A rate is of work, not of waiting for the last client',
    NAMES,
    'invalid',
    'give the clients more files (files_per_client in trial.yaml)',
    'mdtest: 52 files in 0.07 ms of work and 8 ms in the barrier (seen)',
)
def mostly_work(named: Named) -> Optional[str]:
    return None if _may_be_short(named) else _waiting(named)


@rule(
    'T20a',
    'What is too short to be a rate is said to be so, in a smoke test and beside operations timed one by one',
    NAMES,
    'label',
    'a smoke test shows no more than that it works; of single operations the latencies stand',
    'T19a, T20',
)
def no_rate(named: Named) -> Optional[str]:
    return (_quantised(named) or _waiting(named)) if _may_be_short(named) else None


def _may_be_short(named: Named) -> bool:
    return named.plan.stopping.fixed or named.plan.workload == OPERATIONS


def _waiting(named: Named) -> Optional[str]:
    for rate in named.measurement.rates:
        if rate.waiting_share > MOST_WAITING:
            return (
                f'{rate.metric}: for {100 * rate.waiting_share:.0f} % of {rate.seconds:.4f} s '
                'every client was done and waited'
            )
    return None
