"""The drill-down of a case as a table: what each group of targets gave in each round."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.model.record import DrillGroup, Records
from seatrial.report import words


@dataclass(frozen=True)
class Row:
    """One group of one round. mean, least, most: of its figures, None where none is valid.

    share: of the fastest in the round; where: the servers of its targets, as far as they are known
    """

    number: int
    group: str
    targets: str
    where: str
    mean: float | None
    least: float | None
    most: float | None
    share: float | None


def rows(records: Records) -> list[Row]:
    """Every group of the drill-down in the order of its rounds; none where there was no drill-down."""
    if records.drill is None:
        return []
    servers = records.start.servers if records.start else {}
    return [
        _row(
            number,
            group,
            max((statistics.fmean(each.figures) for each in round_ if each.figures), default=0.0),
            servers,
        )
        for number, round_ in enumerate(records.drill.rounds, 1)
        for group in round_
    ]


def _row(number: int, group: DrillGroup, fastest: float, servers: dict[str, str]) -> Row:
    mean = statistics.fmean(group.figures) if group.figures else None
    return Row(
        number=number,
        group=group.label,
        targets=_listed(group.targets),
        where=_listed(list(dict.fromkeys(servers[name] for name in group.targets if name in servers))),
        mean=mean,
        least=min(group.figures, default=None),
        most=max(group.figures, default=None),
        share=mean / fastest if mean is not None and fastest else None,
    )


def _listed(names: Sequence[str]) -> str:
    return words.listed(names, 8)
