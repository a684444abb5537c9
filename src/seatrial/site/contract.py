"""contract.yaml: the criteria of a contract of acceptance, in its own words and units. contract.md describes it.
seatrial.check.contract finds the check that measures a criterion; everything else is checked here."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, PlainValidator, ValidationError

from seatrial.judge.criteria import MEAN, MEDIAN, MINIMUM
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import EXAMPLES, UNITS, in_base
from seatrial.site import model, yaml_file
from seatrial.site.error import problem, raise_any
from seatrial.site.load import problem_of
from seatrial.site.references import LARGEST, Date
from seatrial.workload.tree import SUBTREES

CONTRACT_FILE = 'contract.yaml'

ACCESSES: dict[str, dict[str, str]] = {
    'file per process': {'files': 'multiple', 'extent': 'whole', 'order': 'contiguous'},
    'single shared file': {'files': 'single', 'extent': 'segment', 'order': 'contiguous'},
    'single shared file, strided': {'files': 'single', 'extent': 'segment', 'order': 'strided'},
    'whole shared file': {'files': 'single', 'extent': 'whole', 'order': 'contiguous'},
}
"""The ways in which tasks share files, in a contract's words, with the parameters of a point that mean them."""

COUNTS = {  # which attempts decide a criterion
    'all': 'every valid allocation',
    'last': 'the last valid allocations, as many as the criterion asks for',
    'best': 'the best valid allocations, as many as the criterion asks for',
}

BEST = 'best of'

_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z', re.ASCII)
_BOUND = re.compile(r'([0-9][0-9,.]*)\s*([^\s0-9]\S*)?(?:\s+of\s+(\S+))?\Z', re.ASCII)
_NUMBER = re.compile(r'(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?\Z', re.ASCII)
_SPAN = re.compile(r'\s*([0-9]{1,3})\s*-\s*([0-9]{1,3})\s*%\s*\Z', re.ASCII)
_TIMES = re.compile(r'\s*([1-9][0-9]?(?:\.[0-9]{1,2})?)\s*x\s+memory\s*\Z', re.ASCII)
_BEST = re.compile(rf'{BEST} ([1-9][0-9]?)\Z', re.ASCII)


class Bound(NamedTuple):
    written: str  # the text in the contract
    value: float  # the value in the base unit, or the share
    unit: str  # the unit in which it was written
    of: str = ''  # criterion of which it is a percentage


def _label(value: Any) -> Any:
    """text, or number"""
    return str(value) if type(value) is int else value


def _bound(value: Any) -> Bound:
    """quantity, or percentage of another"""
    text = _label(value)
    match = _BOUND.match(text.strip()) if isinstance(text, str) and len(text) <= 80 else None
    if match is None or not _NUMBER.match(match[1]):
        remedy = 'write a number and a unit: 500 GB/s, 300,000 creates/s, 120 s, or 70 % of 4.2.1'
        raise ValueError(f'{show(value)} is not a quantity; {remedy}')
    number, unit, of = match[1].replace(',', ''), match[2] or '', match[3] or ''
    if unit not in UNITS:
        raise ValueError(f'{show(unit)} is not a unit of a metric; {choice(unit, EXAMPLES)}')
    if of and unit != '%':
        raise ValueError(f'{show(value)} is a share of another criterion, which must be in %; write 70 % of {of}')
    amount = in_base(float(number), unit).value
    if not 0 < amount <= LARGEST:
        raise ValueError(f'{show(value)} is out of range; correct the number or the unit')
    return Bound(text.strip(), amount, unit, of)


def _id(value: Any) -> str:
    """as in `4.2.1`"""
    text = _label(value)
    if not isinstance(text, str) or not _ID.match(text):
        raise ValueError(f'{show(value)} is not the number of a criterion; write it as in 4.2.1')
    return text


def _statistic(value: Any) -> str:
    """`mean`, `median`, `minimum`, `best of 5`"""
    if isinstance(value, str) and (value in (MEAN, MEDIAN, MINIMUM) or _BEST.match(value)):
        return value
    raise ValueError(f'{show(value)} is not a statistic; {choice(value, (MEAN, MEDIAN, MINIMUM, f"{BEST} 5"))}')


def _fullness(value: Any) -> tuple[int, int]:
    """range as in `0-10 %`"""
    match = _SPAN.match(value) if isinstance(value, str) else None
    if match is None or not int(match[1]) <= int(match[2]) <= 100:
        raise ValueError(f'{show(value)} is not a range of percentages; write it as in 0-10 %')
    return int(match[1]), int(match[2])


def _times_memory(value: Any) -> float:
    """as in `2x memory`"""
    match = _TIMES.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{show(value)} is not a multiple of the memory of the nodes; write 2x memory')
    return float(match[1])


def _given_value(value: Any) -> Any:
    if value is None:
        raise ValueError('the key has no value; write one, or remove the key')
    return value


Id = Annotated[str, BeforeValidator(_id)]
Quantity = Annotated[Bound | None, PlainValidator(_bound)]
GivenValue = BeforeValidator(_given_value)


class Workload(model.Entry):
    """The workload, as far as a contract defines it. Sizes in bytes."""

    access: Annotated[str | None, BeforeValidator(model.one_of('an access', tuple(ACCESSES)))] = None
    """how tasks share files"""
    transfer_size: Annotated[model.Size | None, GivenValue] = None
    """bytes of a transfer"""
    bytes_per_task: Annotated[model.Size | None, GivenValue] = None
    """without it the profile finds one that no cache holds"""
    interface: Annotated[model.Interface | None, GivenValue] = None
    """the calls by which data are moved"""
    direct: Annotated[model.Truth | None, GivenValue] = None
    """O_DIRECT"""
    queue_depth: Annotated[model.Count | None, GivenValue] = None
    """transfers in flight of each task, of random I/O"""
    directory: Annotated[str | None, BeforeValidator(model.one_of('a directory of files', SUBTREES))] = None
    """for metadata: one directory of all tasks, or one for each"""
    file_size: Annotated[model.AnySize | None, GivenValue] = None
    """for metadata: bytes in each file"""
    files_per_task: Annotated[model.FileCount | None, GivenValue] = None
    """for metadata: files that a task makes"""
    check: Annotated[model.Name | None, GivenValue] = None
    """the class name of the check, where several measure the same"""
    point: Annotated[model.Text | None, BeforeValidator(_label), GivenValue] = None
    """the name of its point: `{check: LargeDirectory, point: 1000000}`"""

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters that a point must have, by their names in a point."""
        parts = {name: getattr(self, key) for key, name in FIELDS.items()} | ACCESSES.get(self.access or '', {})
        return {name: value for name, value in parts.items() if value is not None}


FIELDS = {key: key for key in ('transfer_size', 'interface', 'direct', 'queue_depth')}
FIELDS |= {'directory': 'subtrees', 'file_size': 'bytes_per_file'}
"""Keys of a workload that are parameters of a point, with their names there."""


class Conditions(model.Entry):
    """The conditions for an allocation to count: times in seconds, fullness in percent, bytes in times of memory."""

    seconds: Annotated[model.Seconds | None, GivenValue] = None
    """the shortest timed region that counts; without it that of the profile acceptance"""
    budget: Annotated[model.Seconds | None, GivenValue] = None
    """time after which an allocation starts no new launch; without it 8 h"""
    caches: Annotated[str, BeforeValidator(model.one_of('an answer', ('refused', 'allowed')))] = 'refused'
    """`allowed` leaves rule P16 aside, and the protocol says so"""
    fullness: Annotated[tuple[int, int] | None, BeforeValidator(_fullness)] = None
    """used share of the file system, as `df` has it, when the allocation begins"""
    bytes: Annotated[float | None, BeforeValidator(_times_memory)] = None
    """the least that all files together hold, in times of the memory of the nodes that use them"""
    exclusive: model.Truth = False
    """no other job may use the nodes (`OverSubscribe=NO` of Slurm)"""


class CriterionEntry(model.Entry):
    """One sentence of the contract. What a percentage of another criterion leaves out is as it is there."""

    id: Id = Field(examples=['4.2.1'])
    """its number, as in the contract"""
    text: model.Text = Field(examples=["'At least 500 GB/s write on 200 nodes'"])
    """its sentence"""
    metric: Annotated[model.Text | None, GivenValue] = None
    """its name in a contract's words, below, or the name of any metric of a check"""
    workload: Annotated[Workload | None, GivenValue] = None
    """what it leaves open must be no choice"""
    nodes: Annotated[model.NodeCount | None, GivenValue] = None
    """nodes of the allocation"""
    tasks_per_node: Annotated[model.TaskCount | None, GivenValue] = None
    """without it the most tasks of the partition"""
    partition: Annotated[model.PartitionName | None, GivenValue] = None
    """a partition of `trial.yaml`; needed where it has several"""
    file_system: Annotated[model.Name | None, GivenValue] = None
    """a file system of `trial.yaml`; needed where it has several"""
    layout: Annotated[model.Name | None, GivenValue] = None
    """a layout of `trial.yaml`; without it `default`"""
    engine: Annotated[model.EngineName | None, GivenValue] = None
    """the engine that measures; without it the first of the site that can"""
    at_least: Quantity = None
    """a figure in any unit of the metric (`500 GB/s`, `300,000 creates/s`), or of a criterion (`70 % of 4.2.1`)"""
    at_most: Quantity = None
    """the same (`120 s`, `5 ms`); one of both is needed"""
    statistic: Annotated[str | None, BeforeValidator(_statistic)] = None
    """statistic of the repetitions of an allocation; without it `mean`. `minimum` is its worst launch"""
    allocations: Annotated[model.Count | None, GivenValue] = None
    """the number of valid allocations that decide it; without it 1"""
    conditions: Annotated[Conditions | None, GivenValue] = None
    """conditions under which an allocation counts"""
    state: Annotated[model.Name | None, GivenValue] = None
    """state of the system when it is measured, as `degraded`: `seatrial accept --state degraded`"""
    milestone: Annotated[model.Name | None, GivenValue] = None
    """one of `milestones`"""
    observed: model.Truth = False
    """no check measures it. People observe it and [say so](#waivers-and-remarks)"""

    @property
    def bound(self) -> Bound | None:
        """The bound asked for; None only in an invalid contract."""
        return self.at_least or self.at_most


class Contract(model.Entry):
    """contract.yaml as a whole."""

    version: model.Version = Field(examples=['1'])
    """the form of this file"""
    title: model.Text = Field(examples=['Acceptance of the scratch file system'])
    """title of the contract"""
    date: Date = Field(examples=['2026-06-30'])
    """date of the contract"""
    parties: Annotated[dict[model.Name, model.Text], model.Filled] = Field(
        examples=['{customer: A Computing Centre, supplier: B Ltd}']
    )
    """who signs, by role; each has a line in the protocol"""
    counts: Annotated[str, BeforeValidator(model.one_of('a rule', tuple(COUNTS)))] = 'all'
    """which valid allocations decide a criterion: `all`, the `last`, or the `best`, as many as it asks for"""
    milestones: Annotated[dict[model.Name, model.Text], model.Filled] = Field(default_factory=dict)
    """names with what they are; `seatrial accept --milestone M2`"""
    criteria: Annotated[tuple[CriterionEntry, ...], model.Listed] = Field(
        examples=["[{id: 4.2.1, text: '...', metric: write bandwidth, nodes: 200, at_least: 500 GB/s}]"]
    )
    """the sentences of the contract that have a bound"""


class ContractFile(NamedTuple):
    """The well-formed part of contract.yaml, so that all its faults can be reported at once."""

    # well-formed criteria; a percentage has the values that it leaves out from its other criterion
    contract: Contract
    numbers: Sequence[int]  # numbers of these criteria in the file, from 0
    problems: dict[int, list[str]]  # problems by number of the criterion; REST for other parts

    def all_problems(self) -> list[str]:
        return [line for number in sorted(self.problems) for line in self.problems[number]]


REST = -1


def load_contract(folder: Path) -> Contract | None:
    """The contract of the site in a folder, its criteria in full; None where it has none. Raises SiteError. A missing
    key is only reported; seatrial.check.contract knows possible values."""
    file = read_contract(folder)
    if file is None:
        return None
    lacking = [
        problem(CONTRACT_FILE, place(number, key), 'is missing')
        for number, entry in zip(file.numbers, file.contract.criteria, strict=True)
        for key in ('metric', 'nodes', 'at_least')
        if (entry.bound is None if key == 'at_least' else getattr(entry, key) is None and not entry.observed)
    ]
    raise_any([*file.all_problems(), *lacking])
    return file.contract


def read_contract(folder: Path) -> ContractFile | None:
    """The contract of the site in a folder; None if it has none. Raises SiteError for invalid YAML."""
    path = folder / CONTRACT_FILE
    if not os.path.lexists(path):
        return None
    data = yaml_file.read(path)
    wrong, head, unread = dict[int, list[str]](), set[str](), set[str]()
    try:
        contract = Contract.model_validate(data)
        numbers: Sequence[int] = range(len(contract.criteria))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            keys = detail['loc']
            number = int(keys[1]) if keys[:1] == ('criteria',) and keys[1:] else REST
            if number == REST:
                head.update(map(str, keys[:1]))
            wrong.setdefault(number, []).append(problem_of(detail, CONTRACT_FILE, Contract))
        given = data if isinstance(data, dict) else {}
        rows = given['criteria'] if isinstance(given.get('criteria'), list) else []
        malformed = [rows[number] for number in wrong if number != REST]
        unread = {str(row.get('id', '')) for row in malformed if isinstance(row, dict)}
        numbers = [number for number in range(len(rows)) if number not in wrong]
        sound = {key: given[key] for key in ('counts', 'milestones') if key in given and key not in head}
        entries = tuple(CriterionEntry.model_validate(rows[number]) for number in numbers)
        contract = Contract.model_construct(**sound, criteria=entries)
    by_id = {entry.id: entry for entry in contract.criteria}
    first, whole = dict[str, int](), dict[int, CriterionEntry]()
    for number, entry in zip(numbers, contract.criteria, strict=True):
        faults = list(_contradictions(entry, first, None if 'milestones' in head else contract.milestones))
        first.setdefault(entry.id, number)
        fault = _fault_of_base(entry, by_id, unread)
        if fault is None:
            whole[number] = _in_full(entry, by_id)
        elif fault:
            faults.append((['at_least' if entry.at_least else 'at_most'], fault))
        if faults:
            wrong[number] = [problem(CONTRACT_FILE, place(number, *keys), sentence) for keys, sentence in faults]
    return ContractFile(contract.model_copy(update={'criteria': tuple(whole.values())}), list(whole), wrong)


def place(number: int, *keys: str | int) -> list[str | int]:
    """The keys of a value of criterion `number`, counted from 0."""
    return ['criteria', number, *keys]


def _contradictions(
    entry: CriterionEntry, first: Mapping[str, int], milestones: Mapping[str, str] | None
) -> Iterator[tuple[list[str], str]]:
    """Contradictions between values that are each well formed. first: earlier criteria, with their numbers"""
    if entry.id in first:
        yield ['id'], f'{show(entry.id)} is also the number of criteria[{first[entry.id]}]; give each its own number'
    if entry.milestone is not None and milestones is not None and entry.milestone not in milestones:
        yield ['milestone'], f'{show(entry.milestone)} is not among milestones; {choice(entry.milestone, milestones)}'
    if entry.at_least and entry.at_most:
        yield [], 'at_least and at_most are both set; keep one, and write a range as two criteria'


def _fault_of_base(entry: CriterionEntry, by_id: Mapping[str, CriterionEntry], unread: Collection[str]) -> str | None:
    """The reason why it cannot be a percentage of another criterion; empty if that one is malformed, else None."""
    way = [entry.id]
    while entry.bound and (ahead := entry.bound.of):
        if ahead not in by_id:
            return '' if ahead in unread else f'{show(ahead)} is not a criterion; {choice(ahead, by_id)}'
        if ahead in way:
            return f'is a percentage of itself ({" of ".join([*way, ahead])}); write a quantity in one of them'
        entry = by_id[ahead]
        if entry.observed:
            return f'{show(ahead)} is observed, not measured; name a criterion that is measured'
        way.append(ahead)
    return None


OWN = ('id', 'text', 'at_least', 'at_most', 'state', 'milestone', 'observed')
"""Keys that a percentage of another criterion has by itself; others that it leaves out are as they are there."""


def _in_full(entry: CriterionEntry, by_id: Mapping[str, CriterionEntry]) -> CriterionEntry:
    if entry.bound and entry.bound.of:
        base = _in_full(by_id[entry.bound.of], by_id)
        left_out = [key for key in CriterionEntry.model_fields if key not in OWN and getattr(entry, key) is None]
        entry = entry.model_copy(update={key: getattr(base, key) for key in left_out})
    return entry
