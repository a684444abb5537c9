"""Compares records with raw output: each engine parses its output again, and the measurements are compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.engine.base import Engine, EngineError, measured
from seatrial.engine.proof import Proof
from seatrial.engine.registry import by_name
from seatrial.job.sequence.recorder import NotAsWritten, kept_launch
from seatrial.model.foreign import NotReadable
from seatrial.model.metric import Measurement
from seatrial.model.plan import TrialPlan
from seatrial.model.record import SAMPLES, Records, Sample
from seatrial.rules import places
from seatrial.rules.case import CaseSeen
from seatrial.rules.contents import PROOF
from seatrial.rules.registry import CASE, findings
from seatrial.workload.words import counted

PROVING = Proof('', 0, 0.0)  # it reads the reports of any proof
OF_THE_RECORD = ('R1', 'R2', 'R3', 'R4', 'R4a')


@dataclass(frozen=True)
class Verified:
    launches: int  # number of launches whose measurement, made again, is the same to the last bit
    broken: tuple[str, ...]  # rules that the record breaks
    figures: tuple[str, ...]  # differences to the output, by line
    unproved: tuple[str, ...]  # launches without output to compare with

    @property
    def contradictions(self) -> tuple[str, ...]:
        return self.broken + self.figures


def verified(plan: TrialPlan, records: Records, directory: Path) -> Verified:
    faults = [finding for finding in findings(CASE, CaseSeen(plan, records)) if finding.rule in OF_THE_RECORD]
    broken = [f'{fault.rule}: {fault.sentence}' for fault in faults if fault.effect == 'invalid']
    figures: list[str] = []
    unproved = [f'{fault.rule}: {fault.sentence}' for fault in faults if fault.effect != 'invalid']
    engine = by_name(records.start.engine, plan.kind) if records.start and records.start.engine else None
    launches = not_kept = 0
    for number, sample in zip(records.lines.samples, records.samples, strict=True):
        if not sample.measurement:
            continue
        where = f'{SAMPLES}, line {number} ({sample.stage} {sample.launch}, repetition {sample.repetition + 1})'
        if engine is None or not sample.raw_digest:
            not_kept += 1
            continue
        try:
            differences = _differences(PROVING if sample.stage == PROOF else engine, directory, sample)
        except (NotAsWritten, NotReadable) as error:
            gone = isinstance(error.__cause__, FileNotFoundError)
            (unproved if gone else figures).append(f'{where}: {error}')
            continue
        figures += [f'{where}: {difference}' for difference in differences]
        launches += not differences
    if not_kept:
        unproved.append(f'{SAMPLES}: the output of {counted(not_kept, "launch", "launches")} was not kept')
    if not (launches or broken or figures or unproved):
        unproved.append('no launch is on record')
    return Verified(launches, tuple(broken), tuple(figures), tuple(unproved))


def _differences(engine: Engine, directory: Path, sample: Sample) -> list[str]:
    """Differences between a measurement and the raw output, in words. Raises NotAsWritten, NotReadable."""
    assert sample.measurement is not None
    raw = kept_launch(str(directory), sample.raw, sample.raw_digest)
    try:
        again = measured(engine, sample.phase, sample.point, raw.command, raw.outcome)
    except (EngineError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A forged output, or the output of another point, fails in ways that engines do not expect.
        return [f'the output gives no figure: {error}']
    if sample.measurement.nodes:
        again = places.by_node(again)
    return [
        f'{name} is {recorded!r} in the record and {anew!r} by the output'
        for name, recorded, anew in _fields(sample.measurement, again)
        if recorded != anew
    ]


def _fields(recorded: Measurement, anew: Measurement) -> Iterator[tuple[str, Any, Any]]:
    """(name, recorded, anew) of each field, those of each metric first; a figure has the name of its metric."""
    for name in dict.fromkeys(metric.name for metric in (*recorded.metrics, *anew.metrics)):
        one, other = recorded.metric(name), anew.metric(name)
        if one is None or other is None:
            yield f'the metric {name}', one and one.value, other and other.value
        else:
            for field, value, again in zip(one._fields, one, other, strict=True):
                yield name if field == 'value' else f'{field} of {name}', value, again
    for field, value, again in zip(recorded._fields, recorded, anew, strict=True):
        if field != 'metrics':
            yield field, value, again
