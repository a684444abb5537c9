"""Sources and expectations that several checks share."""

from collections.abc import Iterable
from functools import partial

from seatrial.engine.posixops import contention, integrity, limits, semantics
from seatrial.engine.posixops.work import Guarantee
from seatrial.judge.expectations import CurveRatio, Fair, GroupsAlike, GuaranteeHolds, PointRatio

MLPERF = 'MLPerf Storage (v1.0 to v3.0; configurations for H100 and B200)'
BOITO_2009 = 'Boito et al. (WSPPD 2009; Lustre, 4 data servers, 40 clients, Gigabit Ethernet)'
BELYAKOV = 'Belyakov et al. (Lustre on ZFS of the supercomputer Govorun, JINR)'
CALDERON = 'Calderon (On evaluating GPFS, HLRS)'
POSIX_2017 = 'POSIX.1-2017 (IEEE Std 1003.1)'
FERMILAB_2011 = 'Garzoglio and Chadwick (Investigation of storage options, Fermilab, 2011)'

_reading = partial(CurveRatio, metric='read', than='write', source=BOITO_2009)

READ_AGAINST_WRITE = (  # 1.05 to 1.35 is a band that we chose around the source's "~20 %"
    _reading(id='L09-08a', words='reading is faster than writing'),
    _reading(id='L09-08b', lowest=1.05, highest=1.35, words='reading is about a fifth faster than writing'),
)

_fair = partial(Fair, metric='read', source=FERMILAB_2011)
_SLOWEST = 'the slowest of 49 {} that read takes 1.77 times as long as the fastest'
_ON_AVERAGE = 'tasks that read take 1.41 to 1.48 times as long as the fastest on average'
_IN_GROUPS = 'of two groups of clients that read at once one has no more than 5 % less on average'
_BESIDE_SERVERS = 'clients on the machines of the servers have within 15 % of what others have'

FAIRNESS = (
    _fair(id='FN-08a', words=_SLOWEST.format('tasks'), figure='time_ratio', limit=1.77),
    _fair(id='FN-08b', words=_ON_AVERAGE, figure='mean_ratio', limit=1.48),
    _fair(id='FN-08c', words='tasks that read are served alike within 20 %', figure='time_cv', limit=0.20),
    _fair(id='FN-08d', words=_SLOWEST.format('virtual machines'), figure='time_ratio', limit=1.77, between='nodes'),
    GroupsAlike(id='FN-08e', words=_IN_GROUPS, metric='read', limit=1.05, source=FERMILAB_2011),
    GroupsAlike(id='FN-04', words=_BESIDE_SERVERS, limit=1.15, source=FERMILAB_2011),
)

CONTENTION = (
    PointRatio(
        metric='file_create',
        at='private',
        than='shared',
        lowest=1.1,  # chosen: the source gives no figure
        id='GP-03',
        words="tasks that create files get in each other's way in one directory; they should use one each",
        source=CALDERON,
    ),
)


def _hold(test: str, source: str, facts: Iterable[Guarantee]) -> tuple[GuaranteeHolds, ...]:
    made = partial(GuaranteeHolds, source=source)
    return tuple(made(fact=fact.name, id=f'{test}.{fact.name}', words=fact.words) for fact in facts)


GUARANTEES = _hold('FN-15', FERMILAB_2011, semantics.GUARANTEES)
LIMITS = _hold('QF-01', POSIX_2017, limits.LIMITS)
INTEGRITY = _hold('IN-01', POSIX_2017, integrity.WAYS_TO_WRITE)
CONTENDED = {phase: _hold('CN-01', POSIX_2017, [guarantee]) for phase, guarantee in contention.CONTENDED.items()}
"""The guarantee of each phase of contention that has one."""
