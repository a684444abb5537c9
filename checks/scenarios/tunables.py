"""A number that servers are given, such as of their service threads: which one is best under load."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import BELYAKOV
from seatrial.judge.expectations import Unimodal
from seatrial.workload.scenario import scenario
from seatrial.workload.sweep import Sweep


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
