"""Servers under load: they go away and come back (what it costs users, and whether a byte of theirs is lost), or are
given another number, such as of service threads (which one is best)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import BELYAKOV
from seatrial.judge.expectations import Unimodal
from seatrial.workload.scenario import scenario
from seatrial.workload.sweep import Sweep


@trial
class ServersAwayBriefly(Check):
    """Each action of the site for 10 s under load: throughput before, during and after, outage and recovery."""

    # The source's shorter one of two; before and after are chosen, to have a minute and what a recovery may take.
    workload = scenario(before_s=60, action_s=10, after_s=600)
    sweep = Sweep('action')
    covers = ('FN-13',)


@trial
class ServersAway(Check):
    """Each action of the site for 120 s under load: throughput before, during and after, outage and recovery."""

    workload = scenario(before_s=60, action_s=120, after_s=900)
    sweep = Sweep('action')
    covers = ('FN-13',)


@trial
class Soak(Check):
    """24 hours of load whose content is verified as it goes, with each action of the site six times for 120 s."""

    workload = scenario(before_s=3600, action_s=120, after_s=10680, times=6)
    sweep = Sweep('action')


@trial
class SoakPart(Check):
    """4 hours of Soak, with each action of the site once, for partitions that end longer jobs (scenarios.md)."""

    workload = scenario(before_s=3600, action_s=120, after_s=10680)
    sweep = Sweep('action')


@trial
class Tunable(Check):
    """Each value of a tunable of the site for 30 s under load, six times: its throughput, and which one is best."""

    workload = scenario(before_s=10, action_s=30, after_s=30)
    sweep = Sweep('tunable')
    expectations = (
        Unimodal(
            metric='during',
            id='GV-05',
            words='more service threads help up to a number, and harm beyond it',
            source=BELYAKOV,
        ),
    )
