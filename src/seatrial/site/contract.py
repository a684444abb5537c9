"""contract.yaml: what a contract of acceptance asks for, in its own words and units. docs/contract.md describes it.

Whether a check measures what a criterion asks for is looked up in seatrial.check.contract; all else is checked here.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, PlainValidator, ValidationError

from seatrial.judge.criteria import MEAN, MEDIAN, MINIMUM
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import EXAMPLES, UNITS, in_base
from seatrial.site import yaml_file
from seatrial.site.error import SHOWN_PROBLEMS, SiteError, problem, raise_any
from seatrial.site.load import said
from seatrial.site.model import (
    AnySize,
    Count,
    EngineName,
    Entry,
    FileCount,
    Filled,
    Interface,
    Listed,
    Name,
    NodeCount,
    PartitionName,
    Seconds,
    Size,
    TaskCount,
    Text,
    Truth,
    Version,
    one_of,
)
from seatrial.site.references import LARGEST, Date
from seatrial.workload.tree import SUBTREES

CONTRACT_FILE = 'contract.yaml'

ACCESSES: dict[str, dict[str, str]] = {
    'file per process': {'files': 'multiple', 'extent': 'whole', 'order': 'contiguous'},
    'single shared file': {'files': 'single', 'extent': 'segment', 'order': 'contiguous'},
    'single shared file, strided': {'files': 'single', 'extent': 'segment', 'order': 'strided'},
    'whole shared file': {'files': 'single', 'extent': 'whole', 'order': 'contiguous'},
}
"""How tasks share files, in a contract's words: the parameters of a point that mean it."""

COUNTS = {
    'all': 'every valid allocation',
    'last': 'the last valid allocations, as many as the criterion asks for',
    'best': 'the best valid allocations, as many as the criterion asks for',
}
"""Which attempts decide a criterion."""

BEST = 'best of'

_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z', re.ASCII)
_BOUND = re.compile(r'([0-9][0-9,.]*)\s*([^\s0-9]\S*)?(?:\s+of\s+(\S+))?\Z', re.ASCII)
_NUMBER = re.compile(r'(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?\Z', re.ASCII)
_SPAN = re.compile(r'\s*([0-9]{1,3})\s*-\s*([0-9]{1,3})\s*%\s*\Z', re.ASCII)
_TIMES = re.compile(r'\s*([1-9][0-9]?(?:\.[0-9]{1,2})?)\s*x\s+memory\s*\Z', re.ASCII)
_BEST = re.compile(rf'{BEST} ([1-9][0-9]?)\Z', re.ASCII)


class Bound(NamedTuple):
    """What is asked for. written: as it stands in the contract; unit: the one that it was written in.

    value: in the base unit of the unit; of a percentage the share; of: the criterion that it is a percentage of
    """

    written: str
    value: float
    unit: str
    of: str = ''


def _bound(value: Any) -> Bound:
    """quantity, or percentage of another"""
    text = str(value) if type(value) is int else value
    match = _BOUND.match(text.strip()) if isinstance(text, str) and len(text) <= 80 else None
    if match is None or not _NUMBER.match(match[1]):
        remedy = 'write a number and a unit: 500 GB/s, 300,000 creates/s, 120 s, or 70 % of 4.2.1'
        raise ValueError(f'{show(value)} is no quantity; {remedy}')
    number, unit, of = match[1].replace(',', ''), match[2] or '', match[3] or ''
    if unit not in UNITS:
        raise ValueError(f'{show(unit)} is not a unit of a metric; {choice(unit, EXAMPLES)}')
    if of and unit != '%':
        raise ValueError(f'{show(value)} is a part of another criterion in {unit or "no unit"}; write 70 % of {of}')
    found = in_base(float(number), unit).value
    if not 0 < found <= LARGEST:
        raise ValueError(f'{show(value)} is nothing, or more than any file system has; correct number or unit')
    return Bound(text.strip(), found, unit, of)


def _id(value: Any) -> str:
    """as in `4.2.1`"""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not _ID.match(text):
        raise ValueError(f'{show(value)} is not the number of a criterion; write it as in 4.2.1')
    return text


def _statistic(value: Any) -> str:
    """`mean`, `median`, `minimum`, `best of 5`"""
    if isinstance(value, str) and (value in (MEAN, MEDIAN, MINIMUM) or _BEST.match(value)):
        return value
    raise ValueError(f'{show(value)} is no statistic; {choice(value, (MEAN, MEDIAN, MINIMUM, f"{BEST} 5"))}')


def _fullness(value: Any) -> tuple[int, int]:
    """range as in `0-10 %`"""
    match = _SPAN.match(value) if isinstance(value, str) else None
    if match is None or not int(match[1]) <= int(match[2]) <= 100:
        raise ValueError(f'{show(value)} is no range of percent; write it as in 0-10 %')
    return int(match[1]), int(match[2])


def _times_memory(value: Any) -> float:
    """as in `2x memory`"""
    match = _TIMES.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{show(value)} is no multiple of the memory of the nodes; write it as in 2x memory')
    return float(match[1])


def _said(value: Any) -> Any:
    if value is None:
        raise ValueError('nothing stands here; write a value, or take the key out')
    return value


Id = Annotated[str, BeforeValidator(_id)]
Quantity = Annotated[Bound | None, PlainValidator(_bound)]
Said = BeforeValidator(_said)


class Workload(Entry):
    """What tasks do, as far as a contract says it. Sizes in bytes."""

    access: Annotated[str | None, BeforeValidator(one_of('an access', tuple(ACCESSES)))] = None
    """how tasks share files"""
    transfer_size: Annotated[Size | None, Said] = None
    """bytes of a transfer"""
    bytes_per_task: Annotated[Size | None, Said] = None
    """without it the profile finds one that no cache holds"""
    interface: Annotated[Interface | None, Said] = None
    """the calls by which data are moved"""
    direct: Annotated[Truth | None, Said] = None
    """O_DIRECT"""
    queue_depth: Annotated[Count | None, Said] = None
    """transfers in flight of each task, of random I/O"""
    directory: Annotated[str | None, BeforeValidator(one_of('a directory of files', SUBTREES))] = None
    """of metadata: whether tasks share one"""
    file_size: Annotated[AnySize | None, Said] = None
    """of metadata: bytes in each file"""
    files_per_task: Annotated[FileCount | None, Said] = None
    """of metadata"""
    check: Annotated[Name | None, Said] = None
    """the class name of the check, where several measure the same"""
    point: Annotated[Text | None, Said] = None
    """the name of its point: `{check: LargeDirectory, point: '1000000'}`"""

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters that a point must have, by their names there."""
        own = {field: getattr(self, key) for key, field in FIELDS.items()}
        return {name: value for name, value in own.items() if value is not None} | ACCESSES.get(self.access or '', {})


FIELDS = {key: key for key in ('transfer_size', 'interface', 'direct', 'queue_depth')}
FIELDS |= {'directory': 'subtrees', 'file_size': 'bytes_per_file'}
"""Keys of a workload that are parameters of a point, with their names there."""


class Conditions(Entry):
    """Under what an allocation counts. Times in seconds, fullness in percent, bytes in times of the memory."""

    seconds: Annotated[Seconds | None, Said] = None
    """the shortest timed region; an allocation with a shorter one does not count. Without it that of the profile
    acceptance"""
    budget: Annotated[Seconds | None, Said] = None
    """after it an allocation starts no new launch; without it 8 h. The time limit of the partition has to hold it"""
    caches: Annotated[str, BeforeValidator(one_of('an answer', ('refused', 'allowed')))] = 'refused'
    """`allowed` where the parties want what applications see: rule P16 is left aside, and the protocol says so"""
    fullness: Annotated[tuple[int, int] | None, BeforeValidator(_fullness)] = None
    """of the file system, as `df` has it, when the allocation begins"""
    bytes: Annotated[float | None, BeforeValidator(_times_memory)] = None
    """the least that all files together hold, in times of the memory of the nodes that use them"""
    exclusive: Truth = False
    """no other job may use the nodes, as Slurm itself says of the job (`OverSubscribe=NO`); refused elsewhere than on
    Slurm"""


class CriterionEntry(Entry):
    """One sentence of the contract. What a percentage of another criterion leaves out is as it is there."""

    id: Id = Field(examples=['4.2.1'])
    """its number, as in the contract"""
    text: Text = Field(examples=["'At least 500 GB/s write on 200 nodes'"])
    """its sentence"""
    metric: Annotated[Text | None, Said] = None
    """in a contract's words, below, or the name of any metric of a check"""
    workload: Annotated[Workload | None, Said] = None
    """what it leaves open must be no choice"""
    nodes: Annotated[NodeCount | None, Said] = None
    """of the allocation"""
    tasks_per_node: Annotated[TaskCount | None, Said] = None
    """without it the most tasks of the partition"""
    partition: Annotated[PartitionName | None, Said] = None
    """of `trial.yaml`; needed where it has several"""
    file_system: Annotated[Name | None, Said] = None
    """of `trial.yaml`; needed where it has several"""
    layout: Annotated[Name | None, Said] = None
    """of `trial.yaml`; without it `default`"""
    engine: Annotated[EngineName | None, Said] = None
    """that measures; without it the first of the site that can"""
    at_least: Quantity = None
    """in any unit of the metric (`500 GB/s`, `300,000 creates/s`), or of another criterion (`70 % of 4.2.1`)"""
    at_most: Quantity = None
    """the same (`120 s`, `5 ms`); one of both is needed"""
    statistic: Annotated[str | None, BeforeValidator(_statistic)] = None
    """of the repetitions of an allocation; without it `mean`. `minimum` is its worst launch"""
    allocations: Annotated[Count | None, Said] = None
    """how many have to be valid before it is decided; without it 1"""
    conditions: Annotated[Conditions | None, Said] = None
    """under what an allocation counts"""
    state: Annotated[Name | None, Said] = None
    """of the system when it is measured, as `degraded`: `seatrial accept --state degraded`"""
    milestone: Annotated[Name | None, Said] = None
    """one of `milestones`"""
    observed: Truth = False
    """no check measures it. People observe it and [say so](#waivers-and-remarks)"""

    @property
    def bound(self) -> Bound:
        """What it asks for; checked_contract has made sure that it is one of both."""
        bound = self.at_least or self.at_most
        assert bound is not None
        return bound


class Contract(Entry):
    """contract.yaml as a whole."""

    version: Version = Field(examples=['1'])
    """the form of this file"""
    title: Text = Field(examples=['Acceptance of the scratch file system'])
    """of the contract"""
    date: Date = Field(examples=['2026-06-30'])
    """of the contract"""
    parties: Annotated[dict[Name, Text], Filled] = Field(examples=['{customer: A Computing Centre, supplier: B Ltd}'])
    """who signs, by role; each has a line in the protocol"""
    counts: Annotated[str, BeforeValidator(one_of('a rule', tuple(COUNTS)))] = 'all'
    """which valid allocations decide a criterion: `all`, the `last`, or the `best`, as many as it asks for"""
    milestones: Annotated[dict[Name, Text], Filled] = Field(default_factory=dict)
    """names with what they are; `seatrial accept --milestone M2`"""
    criteria: Annotated[tuple[CriterionEntry, ...], Listed] = Field(
        examples=["[{id: 4.2.1, text: '...', metric: write bandwidth, nodes: 200, at_least: 500 GB/s}]"]
    )
    """the sentences of the contract that have a bound"""


def load_contract(folder: Path) -> Contract | None:
    """The contract of the site in a folder, its criteria in full; None where it has none. Raises SiteError."""
    file = folder / CONTRACT_FILE
    if not os.path.lexists(file):
        return None
    try:
        contract = Contract.model_validate(yaml_file.read(file))
    except ValidationError as error:
        found = error.errors(include_url=False)[: SHOWN_PROBLEMS + 1]
        raise SiteError([said(detail, CONTRACT_FILE, Contract) for detail in found]) from None
    problems = list(_contradictions(contract))
    raise_any(problems)
    by_id = {each.id: each for each in contract.criteria}
    return contract.model_copy(update={'criteria': tuple(_in_full(each, by_id) for each in contract.criteria)})


def place(number: int, *keys: str | int) -> list[str | int]:
    """The keys of a value of the criterion with this number, from 0."""
    return ['criteria', number, *keys]


def _contradictions(contract: Contract) -> Iterator[str]:
    """What is wrong between values that are each well formed."""
    seen: dict[str, int] = {}
    by_id = {each.id: each for each in contract.criteria}
    for number, each in enumerate(contract.criteria):
        if each.id in seen:
            sentence = f'{show(each.id)} is the number of criteria[{seen[each.id]}] too; give it one of its own'
            yield problem(CONTRACT_FILE, place(number, 'id'), sentence)
        seen.setdefault(each.id, number)
        if each.milestone is not None and each.milestone not in contract.milestones:
            sentence = (
                f'{show(each.milestone)} is not among milestones; {choice(each.milestone, contract.milestones)}'
            )
            yield problem(CONTRACT_FILE, place(number, 'milestone'), sentence)
        for keys, sentence in _alone(each):
            yield problem(CONTRACT_FILE, place(number, *keys), sentence)
        for keys, sentence in _of_another(each, by_id):
            yield problem(CONTRACT_FILE, place(number, *keys), sentence)


def _alone(each: CriterionEntry) -> Iterator[tuple[list[str], str]]:
    """What is wrong with a criterion by itself."""
    if (each.at_least is None) == (each.at_most is None):
        how = 'neither at_least nor at_most is' if each.at_least is None else 'at_least and at_most are both'
        yield [], f'{how} written; write one of them, and a range as two criteria'
        return
    if each.bound.of or each.observed:
        return
    for key, example in (('metric', 'write bandwidth'), ('nodes', '200')):
        if getattr(each, key) is None:
            yield [key], f'is missing; write {key}: {example}'


def _of_another(each: CriterionEntry, by_id: Mapping[str, CriterionEntry]) -> Iterator[tuple[list[str], str]]:
    """What is wrong with a percentage of another criterion."""
    bound = each.at_least or each.at_most
    if bound is None or not bound.of:
        return
    key = 'at_least' if each.at_least else 'at_most'
    way, ahead = [each.id], bound.of
    while ahead:
        if ahead not in by_id:
            yield [key], f'{show(ahead)} is the number of no criterion; {choice(ahead, by_id)}'
            return
        if ahead in way:
            yield [key], f'is a percentage of itself ({" of ".join([*way, ahead])}); write a quantity in one of them'
            return
        if by_id[ahead].observed:
            yield [key], f'{show(ahead)} is observed and not measured; take a percentage of one that is measured'
            return
        way.append(ahead)
        further = by_id[ahead].at_least or by_id[ahead].at_most
        ahead = further.of if further else ''


OWN = ('id', 'text', 'at_least', 'at_most', 'state', 'milestone', 'observed')
"""Keys that a percentage of another criterion has by itself; others that it leaves out are as they are there."""


def _in_full(each: CriterionEntry, by_id: Mapping[str, CriterionEntry]) -> CriterionEntry:
    if each.bound.of:
        base = _in_full(by_id[each.bound.of], by_id)
        left_out = [key for key in CriterionEntry.model_fields if key not in OWN and getattr(each, key) is None]
        each = each.model_copy(update={key: getattr(base, key) for key in left_out})
    return each
