"""Finds the targets that make a case slow: groups are measured against each other, and slow ones divided further.

The first groups are the targets of one server each, because a server or its network is slow more often than a disk;
then suspects are halved. A file striped over a group is as slow as its slowest target, so a group that is as fast as
the others clears all of its members. From the second round on cleared targets are measured beside the suspects: a
suspect all of whose parts are slower than those is slow as a whole. All groups of a round have one size, since a file
over more targets is faster. The result names a component as evidence; the verdict does not depend on it."""

import statistics
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.layout import target_kind
from seatrial.model.plan import metric
from seatrial.rules.outliers import again, alike, scores
from seatrial.rules.stopping import t_interval
from seatrial.workload.words import by_key, counted, listed

REPETITIONS = 4  # launches of each group in a round: they show twice the smallest effect through 5 % noise

MAX_PARTS = 8  # the most parts of one suspect
MAX_SUSPECTS = 2  # the most suspects that one round divides, the slowest ones

MIN_TARGETS = 2  # slow targets, all those of a server, before the server is named in their place

Members = Tuple[str, ...]


class Breach(NamedTuple):
    """A metric whose interval lies below its bound, in base units. high: the interval's upper end."""

    metric: str
    point: str
    bound: float
    high: float


class Group(NamedTuple):
    """Targets to be measured together."""

    label: str
    targets: Members
    is_control: bool  # they are known to be as fast as others


class DrillSearch(NamedTuple):
    """The state of a search. A float beside targets is the share that they are slower."""

    servers: Mapping[str, str]
    suspects: Tuple[Tuple[Members, float], ...]  # groups to be divided; at the beginning all targets, with 0
    cleared: Members = ()  # targets that were in a group as fast as others
    slow: Tuple[Tuple[Members, float], ...] = ()  # targets that are slow and cannot be divided
    lost: Tuple[Members, ...] = ()  # suspects of which no part was slow again
    rounds: int = 0
    unfollowed: int = 0  # slow groups beyond those that one round divides
    alike: bool = False  # the first groups are surely less than the smallest effect apart
    # files of a launch if each lies on one target, for a group takes them evenly; 0: they have stripes
    whole: int = 0


class Component(NamedTuple):
    """A slow server with all of its targets that were tested, or one slow target."""

    server: str  # empty where unknown
    targets: Tuple[str, ...]
    effect: float  # share that it is slower than its equals; of a server the median of its targets

    @property
    def is_server(self) -> bool:
        return len(self.targets) >= MIN_TARGETS

    @property
    def words(self) -> str:
        """'all 4 OSTs of 10.0.0.5@o2ib are 22 % slower', 'ost0003 of 10.0.0.5@o2ib is 35 % slower'."""
        of = f' of {self.server}' if self.server else ''
        if self.is_server:
            every = 'both' if len(self.targets) == MIN_TARGETS else f'all {len(self.targets)}'
            return f'{every} {target_kind(self.targets[0])}s{of} are {100 * self.effect:.0f} % slower'
        return f'{self.targets[0]}{of} is {100 * self.effect:.0f} % slower'


def breach(
    values: Mapping[str, Mapping[str, Sequence[float]]], floors: Mapping[str, float], confidence: float
) -> Optional[Breach]:
    """The metric furthest below its bound; None where all may meet theirs. values: by point, then metric"""
    intervals = [
        Breach(name, point, floors[metric(name, point)], t_interval(figures, confidence).high)
        for point, by_name in values.items()
        for name, figures in by_name.items()
        if len(figures) > 1 and metric(name, point) in floors
    ]
    below = [candidate for candidate in intervals if candidate.high < candidate.bound]
    return min(below, key=lambda candidate: candidate.high / candidate.bound) if below else None


def begin(targets: Sequence[str], servers: Mapping[str, str], whole: int = 0) -> DrillSearch:
    """The search before its first round; targets: those that take new files; whole: as in DrillSearch."""
    ordered = sorted(targets, key=lambda name: (servers.get(name, ''), name))
    return DrillSearch(servers, ((tuple(ordered), 0.0),) if len(ordered) > 1 else (), whole=whole)


def groups(search: DrillSearch) -> Tuple[Group, ...]:
    """The groups of the next round; empty where nothing is left to be divided."""
    parts = [part for suspect, _ in search.suspects for part in _parts(suspect, search.servers)]
    if not parts:
        return ()
    size = next(number for number in range(min(map(len, parts)), 0, -1) if search.whole % number == 0)
    covered = list(dict.fromkeys(chunk for part in parts for chunk in _chunks(part, size)))
    control = search.cleared[:size]
    chosen = [Group(_label(place), part, False) for place, part in enumerate(covered)]
    if len(control) == size:
        chosen.append(Group('control', control, True))
    return tuple(chosen)


def learned(search: DrillSearch, measured: Sequence[Group], figures: Mapping[str, Sequence[float]]) -> DrillSearch:
    """The search after a round: figures of each group by its label, empty where it could not be measured."""
    usable = {label: repetitions for label, repetitions in figures.items() if repetitions}
    suspected = [group.label for group in measured if not group.is_control]
    by_control = any(group.is_control and group.label in usable for group in measured)
    scored = again(suspected, usable) if by_control else scores(usable)
    slow = {score.name: score.effect for score in scored if score.slow}
    as_fast = {score.name for score in scored if not score.slow}
    fast = {name for group in measured if group.label in as_fast for name in group.targets}
    next_: Dict[Members, float] = {}
    slow_targets, lost = list(search.slow), list(search.lost)
    for suspect, _ in search.suspects:
        parts = [group for group in measured if not group.is_control and set(group.targets) <= set(suspect)]
        bad = [group for group in parts if group.label in slow]
        if by_control and bad == parts:
            slow_targets.append((suspect, min(slow[group.label] for group in parts)))
            continue
        if not bad and search.rounds:
            lost.append(suspect)
        for group in bad:
            if len(group.targets) == 1:
                slow_targets.append((group.targets, slow[group.label]))
            else:
                next_[group.targets] = slow[group.label]
    slowest = sorted(next_.items(), key=lambda item: -item[1])
    return search._replace(
        suspects=tuple(slowest[:MAX_SUSPECTS]),
        cleared=tuple(dict.fromkeys([*search.cleared, *sorted(fast)])),
        slow=tuple(dict.fromkeys(slow_targets)),
        lost=tuple(lost),
        rounds=search.rounds + 1,
        unfollowed=search.unfollowed + len(slowest[MAX_SUSPECTS:]),
        alike=search.alike if search.rounds else alike(usable),
    )


def slow_components(search: DrillSearch, targets: Sequence[str]) -> Tuple[Component, ...]:
    """The slow targets, or their server where all targets of one are slow."""
    effects = by_key((name, effect) for members, effect in search.slow for name in members)
    return components({name: min(known) for name, known in effects.items()}, targets, search.servers)


def components(slow: Mapping[str, float], tested: Sequence[str], servers: Mapping[str, str]) -> Tuple[Component, ...]:
    """The slow components, the slowest first; an only server has no equals and is never named. slow: the share by
    which each slow target is slower, by name; tested: all targets measured; servers: of each target, where known."""
    by_server = by_key((servers[name], name) for name in tested if servers.get(name))
    culprits: List[Component] = []
    named: List[str] = []
    for server, members in by_server.items():
        if len(by_server) > 1 and len(members) >= MIN_TARGETS and all(name in slow for name in members):
            culprits.append(Component(server, tuple(members), statistics.median(slow[name] for name in members)))
            named += members
    others = [name for name in slow if name not in named]
    culprits += [Component(servers.get(name, ''), (name,), slow[name]) for name in others]
    return tuple(sorted(culprits, key=lambda component: -component.effect))


def conclusion(search: DrillSearch, targets: Sequence[str], out_of_time: bool) -> str:
    """The result of the search, as a sentence without its end mark."""
    clauses = [component.words for component in slow_components(search, targets)]
    if search.rounds:
        clauses += [
            f'one or more of {listed(members)} are {100 * effect:.0f} % slower' for members, effect in search.suspects
        ]
    if search.unfollowed:
        clauses.append(f'and {counted(search.unfollowed, "more slow group")} not followed')
    if out_of_time:
        return '; '.join([*clauses, 'time budget exhausted before the search was done'])
    if clauses:
        return '; '.join(clauses)
    if search.lost:
        return 'a group of targets seemed slow, and none of its parts did: no target is named'
    if not search.rounds:
        return 'there are no targets to compare'
    if not search.cleared:
        return 'the groups of targets could not be compared, because too few launches on them are valid'
    if not search.alike:
        return 'undecided: no group of targets is slower than most, and they are not shown to be alike'
    return 'no group of targets is slower than the others: check the network, or whether all are slow'


def _parts(suspect: Members, servers: Mapping[str, str]) -> List[Members]:
    """The suspect's targets by server where it has several, else in halves; at most MAX_PARTS."""
    by_server = by_key((servers.get(name, ''), name) for name in suspect)
    parts = [tuple(members) for members in by_server.values()]
    if len(parts) > 1:
        size = min(map(len, parts))
        if sum(len(_chunks(part, size)) for part in parts) <= MAX_PARTS:
            return parts
        return _chunks(suspect, -(-len(suspect) // MAX_PARTS))
    return _chunks(suspect, max(1, len(suspect) // 2))


def _chunks(members: Members, size: int) -> List[Members]:
    """Groups of this size that hold all members; the last shares some with the one before if they do not divide."""
    starts = [*range(0, len(members) - size, size), len(members) - size]
    return [members[start : start + size] for start in starts]


def _label(place: int) -> str:
    return chr(ord('a') + place) if place < 26 else f'{_label(place // 26 - 1)}{_label(place % 26)}'
