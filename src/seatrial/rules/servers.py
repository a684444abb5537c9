"""Groups slow targets by server: if all targets of a server are slow, the server or its network is."""

import statistics
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from seatrial.model.layout import target_kind

MIN_TARGETS = 2  # of a server, all slow, before it is named in their place; one alone says nothing of it


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


def components(slow: Mapping[str, float], tested: Sequence[str], servers: Mapping[str, str]) -> Tuple[Component, ...]:
    """The slow components, the slowest first; an only server has no equals and is never named. slow: the share by
    which each slow target is slower, by name; tested: all targets measured; servers: of each target, where known."""
    by_server: Dict[str, List[str]] = {}
    for name in tested:
        if servers.get(name):
            by_server.setdefault(servers[name], []).append(name)
    found: List[Component] = []
    named: List[str] = []
    for server, own in by_server.items():
        if len(by_server) > 1 and len(own) >= MIN_TARGETS and all(name in slow for name in own):
            found.append(Component(server, tuple(own), statistics.median(slow[name] for name in own)))
            named += own
    found += [Component(servers.get(name, ''), (name,), effect) for name, effect in slow.items() if name not in named]
    return tuple(sorted(found, key=lambda each: -each.effect))
