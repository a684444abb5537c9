"""Profiles: how much is measured, and what the figures may be used for."""

from dataclasses import dataclass

from seatrial.model.plan import StoppingRule
from seatrial.model.point import Axis
from seatrial.model.units import GIB, MIB
from seatrial.workload.base import Effort

ISOLATION_S = 10.0  # seconds: targets and nodes are compared with each other and decide no bandwidth
MIN_S = 0.5  # seconds: one of fio's milliseconds is 0.2 % of it; rule T19 asks for a fifth of this


@dataclass(frozen=True)
class Profile:
    name: str
    label: str  # one sentence for the head of a report: what the numbers may be used for
    points: int  # points of every sweep, evenly spread; 0 is all of them
    budget_s: float  # seconds after which a case starts no new launch, if the site sets none
    effort: Effort  # how much each launch does
    repetitions: int = 0  # fixed number of repetitions; 0: the stopping rule decides
    # assumed noise between its sessions (a share) until the history shows it; 0: they are not nights
    between: float = 0.0
    disturbs: bool = False  # True if it may have actions: scheduled and smoke profiles may not
    introduces: bool = False  # True if it has only the checks that declare themselves `first`

    @property
    def judges(self) -> bool:
        """True if its figures are compared with anything: a smoke test has too few repetitions."""
        return not self.repetitions

    def stopping(self, max_relative_error: float, budget_s: float | None = None) -> StoppingRule:
        """The stopping rule of a case. budget_s: the site's own, in seconds; None takes the profile's"""
        budget = self.budget_s if budget_s is None else budget_s
        if self.repetitions:
            fixed = self.repetitions
            return StoppingRule(max_relative_error, fixed, fixed, extra=0, budget_s=budget, fixed=True)
        return StoppingRule(max_relative_error, budget_s=budget)

    def effort_for(self, axis: Axis) -> Effort:
        """The effort of a launch in a sweep over this axis."""
        if not axis.equals:
            return self.effort
        target_s = min(self.effort.target_s, ISOLATION_S)
        return self.effort._replace(target_s=target_s, min_s=min(self.effort.min_s, MIN_S), working_set=False)


FIRST = Profile(
    'first',
    'first look: a few checks of data and metadata, in a minute; --profile smoke runs all checks',
    points=1,
    budget_s=5.0,
    effort=Effort(
        first_bytes=64 * MIB, target_s=0.7, min_s=MIN_S, files=200, tree_bytes=32 * MIB, entries=1000, pause_s=1.0
    ),
    # The fewest that have an interval.
    repetitions=3,
    introduces=True,
)
SMOKE = Profile(
    'smoke',
    'smoke test: every check once, to show that it works; one repetition a point says nothing about performance',
    points=3,
    # Thirty cases in three minutes.
    budget_s=7.0,
    # min_s is 100 ticks of fio's clock (rule T19); target_s is above it by the share of the first look, for scatter.
    effort=Effort(
        first_bytes=128 * MIB, target_s=0.14, min_s=0.1, files=500, tree_bytes=128 * MIB, entries=10_000, pause_s=1.0
    ),
    # So that every point is seen to work rather than one of them several times: none of its figures has an interval.
    repetitions=1,
)
NIGHTLY = Profile(
    'nightly',
    'nightly: comparable with other nights of this system; caches may take part, so it decides no acceptance',
    points=5,
    # 5 points x 2 operations x 6 repetitions x 5 s are 5 minutes; as much again for warm-up and preparation.
    budget_s=600.0,
    between=0.10,
    effort=Effort(
        first_bytes=128 * MIB, target_s=5.0, min_s=MIN_S, files=1000, phase_s=1.0, tree_bytes=GIB, entries=100_000
    ),
)
ACCEPTANCE = Profile(
    'acceptance',
    'acceptance: timed regions of 5 minutes over more data than the caches hold (rule P16)',
    points=5,
    # 5 points x 2 operations x 6 repetitions x 330 s are 5.5 hours.
    budget_s=8 * 3600.0,
    # IO500 and rule P16 ask for 300 s; target_s is 10 % more, so that a faster repetition still lasts as long.
    # phase_s is of the shortest phase, most often stat: creating as many lasts minutes, as IO500 asks.
    effort=Effort(first_bytes=GIB, target_s=330.0, min_s=300.0, working_set=True, files=10_000, phase_s=30.0),
    disturbs=True,
)
PAPER = Profile(
    'paper',
    "paper: the source's own sizes, for comparison with its figures and never for acceptance",
    points=0,
    # 13 points (Boito et al. 2009, 1 KiB to 4 MiB) x 6 repetitions x 2 operations x 90 s.
    budget_s=4 * 3600.0,
    effort=Effort(min_s=MIN_S),
    disturbs=True,
)

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (FIRST, SMOKE, NIGHTLY, ACCEPTANCE, PAPER)}
"""Every profile by its name, from the shortest to the longest."""
