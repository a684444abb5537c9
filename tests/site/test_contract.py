"""contract.yaml: what an administrator writes, and what is refused with file, key and remedy."""

import pytest

from seatrial.site.contract import CONTRACT_FILE, load_contract
from seatrial.site.error import SiteError

HEAD = """
version: 1
title: Acceptance
date: 2026-06-30
parties: {customer: Pelagia, supplier: Tidewater}
milestones: {M1: one client}
criteria:
"""
WRITE = """
  - id: 4.2.1
    text: At least 500 GB/s write.
    metric: write bandwidth
    workload: {access: file per process, transfer_size: 1MiB}
    nodes: 200
    at_least: 500 GB/s
    allocations: 3
"""
DEGRADED = """
  - {id: 4.2.2, text: Degraded., state: degraded, at_least: 70 % of 4.2.1}
"""


@pytest.fixture
def load(tmp_path):
    def load(*criteria, head=HEAD):
        (tmp_path / CONTRACT_FILE).write_text(head + ''.join(criteria))
        return load_contract(tmp_path)

    return load


@pytest.fixture
def problems(load):
    def problems(*criteria, **head):
        with pytest.raises(SiteError) as error:
            load(*criteria, **head)
        return error.value.problems

    return problems


def test_a_site_without_the_file_has_no_contract(tmp_path):
    assert load_contract(tmp_path) is None


def test_a_quantity_keeps_its_text_beside_its_value(load):
    (criterion,) = load(WRITE).criteria
    assert criterion.bound == ('500 GB/s', 500e9, 'GB/s', '')


@pytest.mark.parametrize(
    ('written', 'value', 'unit'),
    [
        ('300,000 creates/s', 300e3, 'creates/s'),
        ('1.5 GiB/s', 1.5 * 2**30, 'GiB/s'),
        ('2 min', 120.0, 'min'),
        ('120s', 120.0, 's'),
        ('95 %', 0.95, '%'),
        ('12', 12.0, ''),
    ],
)
def test_quantities_are_read_as_people_write_them(load, written, value, unit):
    (criterion,) = load(WRITE.replace('500 GB/s\n', f'{written}\n')).criteria
    assert criterion.bound[1:3] == (pytest.approx(value), unit)


@pytest.mark.parametrize('written', ['fast', '500 Gb', '0.5,5 GB/s', '5,00 GB/s', '0 GB/s', '-1 GB/s', '1e9', 'null'])
def test_text_that_is_not_a_quantity_is_refused(problems, written):
    (problem,) = problems(WRITE.replace('500 GB/s\n', f'{written}\n'))
    assert problem.startswith('contract.yaml: criteria[0]')


def test_a_percentage_takes_missing_keys_from_the_criterion_that_it_refers_to(load):
    first, other = load(WRITE, DEGRADED).criteria
    assert (other.metric, other.nodes, other.workload) == (first.metric, first.nodes, first.workload)
    assert other.allocations == 3
    assert (other.state, other.milestone, other.bound.of) == ('degraded', None, '4.2.1')


def test_numbers_of_criteria_are_text(load):
    criteria = load(WRITE.replace('4.2.1', '4.10'), WRITE.replace('4.2.1', '4.1')).criteria
    assert [criterion.id for criterion in criteria] == ['4.10', '4.1']


@pytest.mark.parametrize(
    ('change', 'place', 'words'),
    [
        (('id: 4.2.1', 'id: [4]'), '.id', 'not the number of a criterion'),
        (('nodes: 200', 'nodes: 0'), '.nodes', 'not a node count'),
        (('    nodes: 200\n', ''), '.nodes', 'is missing'),
        (('    metric: write bandwidth\n', ''), '.metric', 'is missing'),
        (('transfer_size: 1MiB', 'transfer_size:'), '.workload.transfer_size', 'the key has no value'),
        (('file per process', 'file per proces'), '.workload.access', "did you mean 'file per process'?"),
        (('allocations: 3', 'statistic: p99'), '.statistic', 'write one of mean, median'),
        (('allocations: 3', 'milestone: M9'), '.milestone', 'write M1'),
        (('allocations: 3', 'at_most: 5 GB/s'), '', 'are both set'),
        (('at_least: 500 GB/s', 'engine: fio'), '.at_least', 'is missing'),
        (('500 GB/s\n', '70 % of 4.2.9\n'), '.at_least', 'is not a criterion'),
        (('500 GB/s\n', '70 % of 4.2.1\n'), '.at_least', 'percentage of itself'),
        (('500 GB/s\n', '70 GB/s of 4.2.1\n'), '.at_least', 'write 70 % of 4.2.1'),
        (('allocations: 3', 'conditions: {fullness: 80-8 %}'), '.conditions.fullness', 'write it as in 0-10 %'),
        (('allocations: 3', 'conditions: {fullness: 8}'), '.conditions.fullness', 'write it as in 0-10 %'),
        (('allocations: 3', 'conditions: {bytes: 2}'), '.conditions.bytes', 'write 2x memory'),
        (('allocations: 3', 'conditions: {exclusive: maybe}'), '.conditions.exclusive', 'true nor false'),
        (('allocations: 3', 'repetitions: 3'), '.repetitions', 'unknown key'),
    ],
)
def test_a_wrong_criterion_is_refused_at_its_place(problems, change, place, words):
    assert change[0] in WRITE
    (problem,) = problems(WRITE.replace(*change))
    assert problem.startswith(f'contract.yaml: criteria[0]{place}: ')
    assert words in problem


@pytest.mark.parametrize(
    ('first', 'second', 'faulty', 'words'),
    [
        (WRITE, WRITE, ['[1].id'], 'is also the number of criteria[0]'),
        (WRITE.replace('500 GB/s\n', '80 % of 4.2.2\n'), DEGRADED, ['[0].at_least', '[1].at_least'], 'of itself (4'),
        (WRITE.replace('nodes: 200', 'observed: true'), DEGRADED, ['[1].at_least'], 'is observed, not measured'),
    ],
    ids=['a number twice', 'a circle of percentages', 'a percentage of what nobody measures'],
)
def test_criteria_that_contradict_each_other_are_refused(problems, first, second, faulty, words):
    lines = problems(first, second)
    assert [line.split(': ')[1] for line in lines] == [f'criteria{key}' for key in faulty] and words in lines[0]


def test_the_parties_are_named(problems):
    (problem,) = problems(WRITE, head=HEAD.replace('parties: {customer: Pelagia, supplier: Tidewater}\n', ''))
    assert problem.startswith('contract.yaml: parties: is missing')
