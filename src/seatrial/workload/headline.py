"""The few figures that a storage system is spoken of by, whichever kinds of workload show them."""

from typing import NamedTuple, Tuple


class HeadlineFigure(NamedTuple):
    """name: as results.json has it; words: as people read it.

    metric, unit: of all metrics of this name in this base unit the best one is meant
    beside: the metric of the same point that is shown with it, with the words for it; empty: none
    """

    name: str
    words: str
    metric: str
    unit: str
    beside: Tuple[str, str] = ('', '')


HEADLINE = (
    HeadlineFigure('write', 'best write', 'write', 'B/s'),
    HeadlineFigure('read', 'best read', 'read', 'B/s'),
    HeadlineFigure('random_read', 'random reads', 'randread_iops', 'op/s', ('randread_p99', 'p99')),
    HeadlineFigure('create', 'file creates', 'file_create', 'op/s'),
    HeadlineFigure('stat', 'file stats', 'file_stat', 'op/s'),
)
