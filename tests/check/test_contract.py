"""From the criteria of a contract to what one allocation measures, with the checks that come with Seatrial."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from builders import all_checks, records_of
from seatrial.check.contract import acceptance_tests, contract_session, unmet
from seatrial.check.criteria import criteria_of
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import contract_of, save, saved_references
from seatrial.judge.references import Reference
from seatrial.model.metric import HIGHER
from seatrial.model.plan import Case
from seatrial.model.units import MIB
from seatrial.site.contract import read_contract
from seatrial.site.error import SiteError
from seatrial.site.load import load as load_site
from seatrial.workload.registry import metrics_at, planned_metrics
from seatrial.workload.sweep import examples

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'site-config' / 'example-lustre'
CHECKS = all_checks()
SITE = load_site(EXAMPLE)
HEAD = {'version': 1, 'title': 'Acceptance', 'date': '2026-06-30', 'parties': {'customer': 'Pelagia'}}
WRITE = {
    'id': '1',
    'text': 'At least 500 GB/s write, file per process, 1 MiB, 200 nodes.',
    'metric': 'write bandwidth',
    'workload': {'access': 'file per process', 'transfer_size': '1MiB'},
    'partition': 'pelagia:compute',
    'file_system': 'scratch',
    'layout': 'wide',
    'nodes': 200,
    'at_least': '500 GB/s',
}
TWICE, EMPTY = {'bytes': '2x memory'}, {'directory': 'private', 'file_size': 0}
FIVE = [
    WRITE,
    dict(WRITE, id='2', metric='file create rate', workload=EMPTY, nodes=16, at_least='300,000 creates/s'),
    {**WRITE, 'id': '3', 'nodes': 1, 'at_least': '10 GB/s'},
    {'id': '4', 'text': 'Degraded at least 70 % of healthy.', 'state': 'degraded', 'at_least': '70 % of 1'},
    {'id': '5', 'text': 'An outage below 120 s.', 'metric': 'outage', 'at_most': '120 s', 'observed': True},
]


@pytest.fixture
def resolve(tmp_path):
    def resolve(*criteria, site=SITE, head=HEAD):
        (tmp_path / 'contract.yaml').write_text(yaml.safe_dump({**head, 'criteria': list(criteria)}))
        return acceptance_tests(site, CHECKS, read_contract(tmp_path))

    return resolve


@pytest.fixture
def refused(resolve):
    def refused(*criteria, site=SITE):
        with pytest.raises(SiteError) as error:
            resolve(*criteria, site=site)
        (problem,) = error.value.problems
        return problem

    return refused


def changed(**keys):
    return {key: value for key, value in {**WRITE, **keys}.items() if value is not None}


def of(**keys):
    return {'workload': {**WRITE['workload'], **keys}}


def session_for(criterion):
    return contract_session('s', SITE, criterion.procedure)


def test_the_five_sentences_of_an_administrator_are_what_checks_measure(resolve):
    tests = resolve(*FIVE)
    assert [(test.procedure.case.name, test.metric_name, test.procedure.state) for test in tests[:4]] == [
        ('MultipleFilesTransferSizes/pelagia:compute/scratch/wide/200n', 'write@1MiB', ''),
        ('EmptyFiles/pelagia:compute/scratch/wide/16n', 'file_create@private', ''),
        ('MultipleFilesTransferSizes/pelagia:compute/scratch/wide/1n', 'write@1MiB', ''),
        ('MultipleFilesTransferSizes/pelagia:compute/scratch/wide/200n', 'write@1MiB', 'degraded'),
    ]
    assert tests[4].procedure is None
    assert [test.criterion.bound for test in tests] == [500e9, 300e3, 10e9, 0.7, 120.0]


def test_the_contract_of_the_example_is_valid():
    assert len(acceptance_tests(SITE, CHECKS, read_contract(EXAMPLE))) == 5


def test_an_allocation_measures_the_point_of_the_criterion_and_no_other(resolve):
    for criterion in resolve(*FIVE)[:4]:
        session = session_for(criterion)
        check = CHECKS[criterion.procedure.case.check]
        (case,) = cases_of(session, check)
        plan = plan_of(session, check, case)
        (point,) = plan.points
        assert criterion.metric_name in planned_metrics(plan)
        assert (point.nodes, point.tasks) == (case.nodes, 16 * case.nodes)
        assert plan.sizing.working_set == (plan.kind == 'access')
        assert point.value('transfer_size') in (None, MIB)


def test_criteria_of_one_workload_share_their_allocations(resolve):
    write, read, other = resolve(
        WRITE,
        changed(id='2', metric='read bandwidth'),
        changed(id='3', workload={'access': 'file per process', 'transfer_size': '4MiB'}),
    )
    assert write.procedure == read.procedure != other.procedure


def test_the_session_of_an_allocation_asks_nothing_of_its_figures_and_keeps_its_procedure(resolve, tmp_path):
    _, _, _, degraded, _ = resolve(*FIVE)
    session = session_for(degraded)
    assert session.label == 'degraded'  # by which the history tells it from those in good order
    judged = criteria_of(session, CHECKS['MultipleFilesTransferSizes'], degraded.procedure.case)
    assert (judged.references, judged.of_contract) == ((), True)
    save(replace(session, folder=tmp_path))
    assert contract_of(tmp_path) == degraded.procedure.as_json() == json.loads(json.dumps(session.contract))


def test_the_references_of_an_older_session_are_read(tmp_path):
    case = ['Reads', 'local:default', 'scratch', 'default', 1]
    by = ['contract', '2026-06-30', 'ior', 'mean']
    old = ['acceptance', case, 'read@1MiB', 500.0, 0.0, None, 'GB/s', 500e9, 'higher', *by]
    (tmp_path / 'session.json').write_text(json.dumps({'references': [old]}))
    reference = Reference('read@1MiB', 500e9, 0.0, None, 'GB/s', *by)
    assert saved_references(tmp_path) == {('acceptance', Case(*case)): (reference,)}


def test_a_shorter_time_and_caches_are_what_the_parties_agree(resolve):
    (criterion,) = resolve(changed(conditions={'seconds': '5 s', 'caches': 'allowed', 'budget': '2h'}))
    session = session_for(criterion)
    plan = plan_of(session, CHECKS['MultipleFilesTransferSizes'], criterion.procedure.case)
    assert (plan.stopping.budget_s, plan.sizing.min_s, plan.sizing.working_set) == (7200.0, 5.0, False)
    assert plan.sizing.target_s > 5.0 and 'caches may take part' in session.profile.label


@pytest.mark.parametrize(
    ('keys', 'place', 'words'),
    [
        ({'metric': 'mining'}, 'metric', "no check measures 'mining' here; write one of write bandwidth"),
        ({'metric': 'write bandwith'}, 'metric', "did you mean 'write bandwidth'?"),
        ({'at_least': '5 s'}, 'at_least', 'write GB/s'),
        ({'at_least': '5'}, 'at_least', 'write GB/s'),
        ({'at_least': None, 'at_most': '5 GB/s'}, 'at_most', 'write at_least'),
        ({'layout': 'wild'}, 'layout', "did you mean 'wide'?"),
        ({'file_system': 'scrath'}, 'file_system', "did you mean 'scratch'?"),
        ({'file_system': None}, 'file_system', 'write scratch'),
        ({'partition': None}, 'partition', 'write one of pelagia:compute, pelagia:io'),
        ({'tasks_per_node': 99}, 'tasks_per_node', 'write at most 16'),
        ({'workload': {'access': 'file per process'}}, 'workload.transfer_size', 'write one of 1MiB, 2MiB'),
        ({'workload': {'transfer_size': '1MiB'}}, 'workload.access', 'single shared file, strided'),
        (of(direct=True, queue_depth=7), 'workload.queue_depth', 'write 1'),
        (of(directory='shared'), 'workload.directory', 'remove it'),
        (of(files_per_task=7), 'workload.files_per_task', 'remove it'),
        (of(check='Empty'), 'workload.check', 'write MultipleFilesTransferSizes'),
        (of(bytes_per_task='1TiB'), 'workload', 'limits.bytes'),
        (of(check='EmptyFiles'), 'workload.check', 'MultipleFilesTransferSizes'),
        (of(point='3MiB'), 'workload.point', '1MiB'),
        ({'conditions': {'seconds': '5 s'}}, 'conditions.seconds', 'write at least 60 s'),
        ({'file_system': 'home', 'layout': None, 'nodes': 1}, 'conditions.caches', 'fast_tier_bytes'),
        ({'conditions': {'bytes': '3x memory'}}, 'conditions.bytes', 'write bytes_per_task'),
        ({'conditions': {'bytes': '2x memory', 'caches': 'allowed'}}, 'conditions.bytes', 'write bytes_per_task'),
        ({**of(bytes_per_task='1GiB'), 'conditions': TWICE}, 'conditions.bytes', 'hold 3.12 TiB instead of 100 TiB'),
        ({**FIVE[1], 'conditions': TWICE}, 'conditions.bytes', 'remove it'),
    ],
)
def test_what_cannot_be_measured_is_refused_at_its_place(refused, keys, place, words):
    problem = refused(changed(**keys))
    assert problem.startswith(f'contract.yaml: criteria[0].{place}: ')
    assert words in problem


def test_all_faults_are_reported_at_once_with_remedies_that_work_together(resolve):
    wrong = changed(metric='write bandwith', layout='wid', at_least='5 ms', workload=None)
    others = {**WRITE, 'id': '2', 'nodes': 'many'}, {'id': '3', 'text': 'Of the second.', 'at_least': '70 % of 2'}
    with pytest.raises(SiteError) as error:
        resolve(wrong, *others, head={**HEAD, 'parties': {}})
    places = [re.match(r'contract\.yaml: ([^ ]+): ', problem)[1] for problem in error.value.problems]
    of_first = ['layout', 'metric', 'workload.access', 'workload.transfer_size', 'at_least']
    assert places == ['parties', *(f'criteria[0].{key}' for key in of_first), 'criteria[1].nodes']


@pytest.fixture(scope='module')
def able(tmp_path_factory, pytestconfig):
    """A criterion for every metric that can be measured here by itself, of every kind, with every key that tells. In
    a daily run: one of twelve."""
    in_long_run = pytestconfig.getoption('--long')
    by_metric = {}
    for check in CHECKS.values():
        point = examples(check.sweep, check.workload)[0]
        for metric in () if check.every_point or check.axis.equals else metrics_at(point):
            criterion = changed(metric=metric.name, nodes=4, layout=None, at_least=None)
            criterion['conditions'] = {'caches': 'allowed'}
            unit = {'B/s': 'GB/s', 'op/s': 'op/s', 's': 's'}.get(metric.unit, '')
            criterion['at_least' if metric.better == HIGHER else 'at_most'] = f'1 {unit}'.strip()
            label = next(iter(SITE.trial_file.actions)) if check.workload.actions else point.label
            criterion['workload'] = {'check': check.name, 'point': label}
            by_metric.setdefault((point.kind, metric.name), criterion)
    criteria = list(by_metric.values())[:: 1 if in_long_run else 12]
    refused = problems_in(tmp_path_factory.mktemp('able'), criteria)
    able = [criterion for number, criterion in enumerate(criteria) if number not in refused]
    assert len(able) > (90 if in_long_run else 5)
    return able


def problems_in(folder, criteria):
    """The faults of many criteria, by their places, in portions as large as an error shows."""
    by_number = {}
    for first in range(0, len(criteria), 6):
        part = [{**criterion, 'id': str(number)} for number, criterion in enumerate(criteria[first : first + 6])]
        (folder / 'contract.yaml').write_text(yaml.safe_dump({**HEAD, 'criteria': part}))
        try:
            acceptance_tests(SITE, CHECKS, read_contract(folder))
        except SiteError as error:
            for line in error.problems:
                number = first + int(re.search(r'criteria\[(\d+)\]', line)[1])
                by_number.setdefault(number, []).append(line)
    return by_number


def followed(criterion, line):
    """The criterion after the remedy of the line is applied."""
    keys = re.match(r'contract\.yaml: criteria\[\d+\]([^ ]*): ', line)[1].strip('.')
    advice = re.search(r'as in (\w+): (.+)$', line) or re.search(
        r'(?:write|measured)() (?:one of )?(.+?)(?:, | and \d+ more| \(docs|$)', line
    )
    *above, last = filter(None, [*keys.split('.'), advice[1]])
    mended = json.loads(json.dumps(criterion))
    inner = mended.setdefault(above[0], {}) if above else mended
    inner[last] = yaml.safe_load(advice[2])
    return mended


@pytest.mark.parametrize(
    'keys',
    [['metric'], ['workload', 'check'], ['workload', 'point'], ['workload'], ['nodes'], ['partition'], ['bound']],
    ids='.'.join,
)
@pytest.mark.slow
def test_whatever_key_is_left_out_the_advice_is_followed_in_one_step(able, tmp_path, keys):
    lacking = [json.loads(json.dumps(criterion)) for criterion in able]
    for criterion in lacking:
        inner = criterion if len(keys) == 1 else criterion[keys[0]]
        for key in ('at_least', 'at_most') if keys == ['bound'] else keys[-1:]:
            inner.pop(key, None)
    problems = problems_in(tmp_path, lacking)
    assert problems
    for number, lines in problems.items():
        for line in lines:
            lacking[number] = followed(lacking[number], line)
    assert problems_in(tmp_path, [lacking[number] for number in problems]) == {}


def test_nodes_for_oneself_are_what_slurm_says_of_the_job(resolve):
    (criterion,) = resolve(changed(conditions={'exclusive': True}))
    plan = plan_of(session_for(criterion), CHECKS['MultipleFilesTransferSizes'], criterion.procedure.case)

    def unmet_if(word):
        return unmet(criterion, records_of(plan, [1.0], oversubscribe=word), ())

    assert unmet_if('NO') == ''
    assert 'OverSubscribe=OK for its job, so other jobs may use its nodes; add --exclusive' in unmet_if('OK')
    assert 'nothing about its job' in unmet_if('')


def test_where_slurm_gives_no_nodes_nothing_shows_who_uses_them(resolve, monkeypatch):
    monkeypatch.setattr('seatrial.check.contract.is_slurm', lambda *_: False)
    with pytest.raises(SiteError, match=r'conditions\.exclusive: other jobs may use .* remove it'):
        resolve(changed(conditions={'exclusive': True}))


def test_a_percentage_of_another_dimension_is_refused(refused):
    rate = {**FIVE[1], 'id': '2', 'at_least': '50 % of 1'}
    assert refused(WRITE, rate).startswith('contract.yaml: criteria[1].at_least: ')


def test_a_point_must_be_named_if_nothing_else_distinguishes_it(resolve, refused):
    keys = {'metric': 'stat_first', 'nodes': 1, 'at_least': '100 kop/s', 'workload': {'check': 'LargeDirectory'}}
    problem = refused(changed(**keys))
    assert problem.startswith('contract.yaml: criteria[0].workload.point: ')
    assert '10000, 100000, 1000000' in problem
    (criterion,) = resolve(changed(**{**keys, 'workload': {'check': 'LargeDirectory', 'point': '1000000'}}))
    assert criterion.metric_name == 'stat_first@1000000'


def test_of_a_latency_at_most_is_asked(resolve):
    workload = {'transfer_size': '4KiB', 'queue_depth': 16}
    keys = {'metric': 'p99 of random reads', 'at_least': None, 'at_most': '5 ms', 'statistic': 'minimum'}
    (criterion,) = resolve(changed(workload=workload, **keys))
    assert (criterion.metric_name, criterion.criterion.least) == ('randread_p99@qd16', False)


def test_files_get_as_large_as_the_contract_asks_for(resolve):
    (criterion,) = resolve(changed(conditions={'bytes': '2x memory', 'fullness': '0-10 %'}))
    assert criterion.entry.conditions.bytes == 2.0
    assert criterion.procedure == resolve(WRITE)[0].procedure
