"""Raw devices beside the file system that lies on them, where the site names them; they are only ever read."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import FERMILAB_2011
from seatrial.judge.expectations import CurveRatio
from seatrial.judge.relations import NO_LEAST
from seatrial.workload.devices import raw_devices
from seatrial.workload.sweep import Sweep


@trial
class RawDevices(Check):
    """A file a task, and then the bare devices by as many tasks: what the file system has of all of them together."""

    workload = raw_devices()
    sweep = Sweep('transfer_size', ('1MiB', '16MiB'))
    expectations = (
        CurveRatio(
            metric='read',
            than='device',
            lowest=NO_LEAST,
            highest=1.0,
            id='FN-18',
            words='a file system reads 0.31 times as fast as its three devices together',
            source=FERMILAB_2011,
        ),
    )
