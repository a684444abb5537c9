"""Which nodes the next of several allocations leaves out, so that together they are on different ones."""

from collections.abc import Sequence

from seatrial.scheduler.partitions import Partitions, is_slurm
from seatrial.scheduler.queue import QueueError, asked
from seatrial.site.load import partitions_in
from seatrial.site.model import SETTINGS_FILE, Site


def nodes_to_leave_out(site: Site, partition: str, used: Sequence[Sequence[str]], wanted: int) -> tuple[str, ...]:
    """Of the nodes of earlier allocations, oldest first, as many as leave the wanted number: the latest ones.

    Nodes that are down or drained are not counted. None without Slurm, or where it does not answer: to have different
    nodes is no condition.
    """
    if not used or not is_slurm(site, partition):
        return ()
    said = partitions_in(site.folder / SETTINGS_FILE)[partition]
    names = Partitions.of(map(str, said.get('access') or ())).names
    options = [f'--partition={",".join(sorted(names))}'] if names else []
    try:
        text = asked(
            'sinfo', '--noheader', '--Node', '--responding', '--states=idle,alloc,mix', '--format=%N %P', *options
        )
    except QueueError:
        return ()
    rows = [line.split() for line in text.splitlines()]
    # Without a name the job goes to Slurm's default partition, which has a star.
    nodes = {row[0] for row in rows if len(row) == 2 and (names or row[1].endswith('*'))}
    latest = dict.fromkeys(node for each in reversed(used) for node in each if node in nodes)
    return tuple(latest)[: max(0, len(nodes) - wanted)]
