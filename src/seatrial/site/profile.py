"""Profiles: how much is measured, and what the numbers are good for afterwards."""

from dataclasses import dataclass
from math import lcm

from seatrial.model.namespace import Trees
from seatrial.model.plan import Sizing, StoppingRule
from seatrial.model.tree import MetadataTree, entries
from seatrial.model.units import GIB, MIB, format_size, round_up
from seatrial.model.workload import PLACES, Sweep

ALIGNMENT = 4096
"""Bytes. Objects of an automatic size are multiples of it: O_DIRECT wants whole blocks, 4 KiB nearly everywhere."""

ISOLATION_S = 10.0
"""Seconds. Targets and nodes are compared with each other and decide no bandwidth: five minutes each buy nothing."""

LEAST_GRANULE = 16 * MIB
"""Bytes. Twice what 2048 objects of 4 KiB need, the finest point of Boito et al. (2009)."""


@dataclass(frozen=True)
class Profile:
    """A profile of trials. Sizes in bytes a client, times in seconds.

    points:       of every sweep, evenly spread; 0 is all of them
    label:        one sentence for the head of a report: what the numbers may be used for
    budget_s:     time after which a case starts no new launch, where the site sets none
    first_bytes:  of the first warm-up, from which the runner sizes the measured launches; 0: the source's own
                  bytes, used as they are
    target_s:     what the shortest timed region should last; 0: bytes are not adapted
    min_s:        a timed region below it is not believed
    working_set:  whether twice the clients' memory and the declared caches must be exceeded (rule P16)
    repetitions:  fixed number of repetitions; 0: the stopping rule decides
    files:        of a client in each flat tree, at first; 0: the source's own number, used as it is
    phase_s:      what the shortest phase of a tree should last; 0: the number of files is not adapted
    tree_bytes:   a client's bytes in a tree at most: fewer files in each directory else; 0 is no limit
    entries:      of a single directory that is listed, at most; larger ones are left out; 0 is no limit
    pause_s:      the longest pause before a listing; longer ones are left out; 0 is no limit
    """

    name: str
    label: str
    points: int
    budget_s: float
    first_bytes: int
    target_s: float
    min_s: float
    working_set: bool = False
    repetitions: int = 0
    files: int = 0
    phase_s: float = 0.0
    tree_bytes: int = 0
    entries: int = 0
    pause_s: float = 0.0

    def stopping(self, max_relative_error: float, budget_s: float | None = None) -> StoppingRule:
        """The stopping rule of a case; budget_s (seconds) is the site's own, None takes the profile's."""
        budget = self.budget_s if budget_s is None else budget_s
        if self.repetitions:
            return StoppingRule(
                max_relative_error,
                least=self.repetitions,
                most=self.repetitions,
                extra=0,
                budget_s=budget,
                fixed=True,
            )
        return StoppingRule(max_relative_error, budget_s=budget)

    def trees(self, sweep: Trees) -> Trees:
        """The trees of a sweep that this profile takes, as large as it wants them."""
        trees = [(label, self._shrunk(tree)) for label, tree in sweep.trees]
        if sweep.axis == 'entries' and self.entries:
            trees = [(label, tree) for label, tree in trees if tree.files_per_directory <= self.entries]
        pauses = tuple(pause for pause in sweep.pauses_s if not self.pause_s or pause <= self.pause_s)
        return sweep._replace(trees=tuple(trees), pauses_s=pauses)

    def tree_sizing(self, sweep: Trees, pinned: int | None = None) -> Sizing:
        """How many files a client puts into a flat tree that scales; `pinned` is the site's own number.

        0 files are those of the plan.
        """
        if not sweep.scales:
            return Sizing(0, 1, 0.0, 0.0)
        if pinned is not None or not self.files:
            return Sizing(pinned or 0, 1, 0.0, 0.0, pinned=pinned)
        return Sizing(self.files, 1, self.phase_s, self.phase_s / 4)

    def _shrunk(self, tree: MetadataTree) -> MetadataTree:
        size = entries(tree, 1).directories * tree.bytes_per_file
        if not self.tree_bytes or not size:
            return tree
        return tree._replace(files_per_directory=max(1, min(tree.files_per_directory, self.tree_bytes // size)))

    def sizing(self, sweep: Sweep, pinned: int | None = None) -> Sizing:
        """How many bytes a client moves; `pinned` (bytes) is the site's own number and holds in every profile.

        first_bytes are a multiple of the granule, and a multiple of the granule divides by every value of the
        sweep. Raises ValueError where bytes that may not be adapted do not.
        """
        divisor = _divisor(sweep)
        if pinned is not None or not self.first_bytes:
            first = sweep.bytes_per_client if pinned is None else pinned
            if first % divisor:
                raise ValueError(
                    f'{format_size(first)} a client is not a multiple of {format_size(divisor)}, '
                    f'which the values of the {sweep.axis} sweep need'
                )
            granule = divisor
        else:
            step = divisor * ALIGNMENT if sweep.axis in ('objects', 'clients') else divisor
            granule = round_up(LEAST_GRANULE, step)
            first = round_up(self.first_bytes, granule)
        if sweep.axis in PLACES:
            return Sizing(first, granule, min(self.target_s, ISOLATION_S), SMOKE.min_s, False, pinned)
        return Sizing(first, granule, self.target_s, self.min_s, self.working_set, pinned)


SMOKE = Profile(
    'smoke',
    'smoke test: shows that everything works, says nothing about performance',
    points=3,
    # Sixteen cases in three minutes; every point is measured once whatever the budget says.
    budget_s=7.0,
    first_bytes=128 * MIB,
    # fio's clock has whole milliseconds (rule T19): 0.5 s is the least, and 0.8 s leaves room for the scatter.
    target_s=0.8,
    min_s=0.5,
    # The least that the stopping rule of Boito et al. (2009) asks for.
    repetitions=4,
    files=500,
    tree_bytes=128 * MIB,
    entries=10_000,
    pause_s=1.0,
)
NIGHTLY = Profile(
    'nightly',
    'nightly: comparable with other nights of this system; caches may take part, so it decides no acceptance',
    points=5,
    # 5 points x 2 operations x 6 repetitions x 5 s are 5 minutes; as much again for warm-up and preparation.
    budget_s=600.0,
    first_bytes=128 * MIB,
    target_s=5.0,
    min_s=0.5,
    files=1000,
    phase_s=1.0,
    tree_bytes=GIB,
    entries=100_000,
)
ACCEPTANCE = Profile(
    'acceptance',
    'acceptance: timed regions of 5 minutes over more data than the caches hold (rule P16)',
    points=5,
    # 5 points x 2 operations x 6 repetitions x 330 s are 5.5 hours.
    budget_s=8 * 3600.0,
    first_bytes=GIB,
    # IO500 and rule P16 ask for 300 s; 10 % more, so that a faster repetition still lasts as long.
    target_s=330.0,
    min_s=300.0,
    working_set=True,
    files=10_000,
    # The shortest phase, most often stat: creating as many lasts minutes, as IO500 asks.
    phase_s=30.0,
)
PAPER = Profile(
    'paper',
    "paper: the source's own sizes, for comparison with its figures and never for acceptance",
    points=0,
    # 13 points (Boito et al. 2009, 1 KiB to 4 MiB) x 6 repetitions x 2 operations x 90 s.
    budget_s=4 * 3600.0,
    first_bytes=0,
    target_s=0.0,
    min_s=0.5,
)

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (SMOKE, NIGHTLY, ACCEPTANCE, PAPER)}
"""Every profile by its name, from the shortest to the longest."""


def _divisor(sweep: Sweep) -> int:
    if sweep.transfer_size:
        return sweep.transfer_size
    return sweep.objects if sweep.axis == 'clients' else lcm(*sweep.values)
