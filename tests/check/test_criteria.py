"""The criteria of the cases of the sites and checks that come with Seatrial."""

import re
import shutil
from pathlib import Path

import pytest

from builders import all_checks
from seatrial.check.criteria import criteria_of, with_references
from seatrial.check.declared import CheckError, load
from seatrial.check.literature import BELYAKOV, BOITO_2009, CALDERON, FERMILAB_2011, MLPERF, POSIX_2017
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import Session
from seatrial.scheduler.order import beyond_schedule
from seatrial.site.error import SiteError
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.site.references import INDEX
from seatrial.workload.registry import planned_metrics

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'site-config' / 'example-lustre'
CHECKS = all_checks()
EXPECTATIONS = [(check, expectation) for check in CHECKS.values() for expectation in check.expectations]
FILER = '    nodes: [1, 4]\n    profiles: [nightly]\n'  # of a trial of the example over tasks
CHECK = """
import reframe
from seatrial.check.base import Check, trial
from seatrial.judge.expectations import CurveRatio, Insensitive
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

@trial
class Sizes(Check):
    workload = data_access('multiple')
    sweep = Sweep('transfer_size', (1024, 2048))
    expectations = ({},)

@trial
class Tasks(Check):
    workload = data_access('multiple')
    sweep = Sweep('tasks', (1, 2))
"""


def session_of(folder=EXAMPLE, profile='nightly'):
    site = load_site(folder)
    return Session('s', Path('/state/s'), site, PROFILES[profile], site.engine_choices())


@pytest.fixture
def changed(tmp_path):
    """The session of the example after replacing a text in one of its files."""

    def change(name, old, new):
        shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
        text = (EXAMPLE / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new, 1))
        return session_of(tmp_path)

    return change


def number_of(session):
    return sum(map(len, session.references.values()))


@pytest.mark.parametrize(('profile', 'count'), [('nightly', 5), ('acceptance', 0), ('paper', 0), ('smoke', 0)])
@pytest.mark.slow
def test_every_reference_of_the_example_is_of_a_metric_that_is_planned(profile, count):
    session = with_references(session_of(profile=profile), CHECKS)
    number = 0
    for check in CHECKS.values():
        for case in cases_of(session, check):
            references = criteria_of(session, check, case).references
            number += len(references)
            if references:
                planned = planned_metrics(plan_of(session, check, case))
                assert {reference.metric for reference in references} <= set(planned)
    assert number == count


def test_the_nightly_trial_of_the_example_fits_into_its_time_limit():
    session = session_of()
    plans = [plan_of(session, check, case) for check in CHECKS.values() for case in cases_of(session, check)]
    assert plans and beyond_schedule(session.site, 'nightly', plans) == []


def test_the_limit_of_a_site_takes_the_place_of_that_of_the_check(changed):
    session = with_references(changed('trial.yaml', FILER, f'{FILER}    enforce: [{{FN-08a: 1.5}}]\n'), CHECKS)
    tasks = CHECKS['MultipleFilesTasks']
    criteria = [criteria_of(session, tasks, case) for case in cases_of(session, tasks)]
    limits = {expectation.limit for one in criteria for expectation in one.expectations if expectation.id == 'FN-08a'}
    assert limits == {1.5} and all(one.enforced == {'FN-08a'} for one in criteria)


def test_a_trial_enforces_nothing_by_itself():
    session = session_of()
    for check in CHECKS.values():
        assert not any(criteria_of(session, check, case).enforced for case in cases_of(session, check))


def test_a_reference_for_a_quantile_is_given_the_repetitions_that_it_needs(changed):
    def stopping(session):
        session = with_references(session, CHECKS)
        _, case = next(iter(session.references))
        (reference, *_) = criteria_of(session, CHECKS[case.check], case).references
        return reference.statistic, plan_of(session, CHECKS[case.check], case).stopping

    old = 'nightly: {origin: baseline, date: 2026-11-14, engine: ior}'
    statistic, rule = stopping(changed('references.yaml', old, f'{old[:-1]}, statistic: p10}}'))
    assert (statistic, rule.minimum + rule.extra, rule.maximum) == ('p10', 29, 29)
    statistic, rule = stopping(changed('references.yaml', old, f'{old[:-1]}, statistic: minimum}}'))
    assert (statistic, rule.minimum, rule.maximum) == ('minimum', 4, 20)


def test_references_of_a_system_that_this_session_leaves_out_are_valid():
    session = session_of()
    narrow = Session('s', session.folder, session.site, session.profile, session.engines, ('metadata',), 'elsewhere')
    assert number_of(with_references(narrow, CHECKS)) == 5
    assert with_references(session_of(ROOT / 'site-config' / 'local'), CHECKS).references == {}  # it has no such file


def test_every_test_of_the_source_is_declared_and_documented():
    declared = {re.sub(r'\..*', '.*', expectation.id) for _, expectation in EXPECTATIONS}
    page = (ROOT / 'docs' / 'reference' / 'expectations.md').read_text()
    assert sorted(declared) == sorted(re.findall(r'^\| ((?:L09|GP|GV|FN|IN|QF|CN|MLPS)-[\w.*]+) \|', page, re.M))
    assert {id[:6] for id in declared if id.startswith('L09')} == {f'L09-0{number}' for number in range(1, 9)}


@pytest.mark.parametrize(('check', 'expectation'), EXPECTATIONS, ids=lambda value: getattr(value, 'id', None))
def test_an_expectation_has_a_known_source_and_a_clause(check, expectation):
    assert expectation.source in (BELYAKOV, BOITO_2009, CALDERON, FERMILAB_2011, MLPERF, POSIX_2017)
    assert expectation.words[0].islower() and not expectation.words.endswith('.')


@pytest.mark.slow
def test_a_reference_of_metadata_is_checked_against_what_the_trials_measure_in_its_own_unit(changed):
    origin = 'EmptyFiles:\n    nightly: {origin: baseline, date: 2026-11-20, engine: mdtest}'
    rates = """
EmptyFiles:
  $index: [profile, $partition, file_system, layout, num_nodes]
  nightly:
    pelagia:compute: {scratch: {default: {4: {file_create@shared: [40000.0, -0.1, 0.3, ops/s]}}}}
"""
    session = changed('references.yaml', '\n$seatrial:\n', f'\n$seatrial:\n  {origin}\n')
    file = session.site.folder / 'references.yaml'
    file.write_text(file.read_text() + rates)

    def written():
        references = with_references(session, CHECKS).references  # in base units, with the unit that was written
        (reference,) = next(of_case for (_, case), of_case in references.items() if case.check == 'EmptyFiles')
        return reference.metric, reference.unit, reference.value

    assert written() == ('file_create@shared', 'ops/s', 40_000.0)
    file.write_text(file.read_text().replace('40000.0, -0.1, 0.3, ops/s', '40.0, -0.1, 0.3, kIOPS'))
    assert written() == ('file_create@shared', 'kIOPS', 40_000.0)
    file.write_text(file.read_text().replace('kIOPS', 'MiB/s'))
    with pytest.raises(SiteError, match="'MiB/s' is not a unit of the metric; write op/s or kop/s"):
        with_references(session, CHECKS)


AGAIN = "  - checks: ['*']\n    partitions: [pelagia:compute]\n    file_systems: [scratch]\n    nodes: [4]\n"
TWO_CAPS = f'\ntrials:\n{AGAIN}    max_tasks: 8\n{AGAIN}    max_tasks: 4\n'
OF_TASKS = '  SingleFileWholeAccess:\n    nightly: {origin: baseline, '


@pytest.mark.parametrize(
    ('name', 'old', 'new', 'words'),
    [
        # what a trial enforces
        ('trial', FILER, f'{FILER}    enforce: [{{FN-08a: 1}}]\n', 'trials[4].enforce[0]: 1 for FN-08a: '),
        ('trial', FILER, f'{FILER}    enforce: [{{FN-04: 0.9}}]\n', 'trials[4].enforce[0]: 0.9 for FN-04: '),
        ('trial', 'enforce: [L09-02', 'enforce: [L09-2', "; did you mean 'L09-02'?"),
        ('trial', 'enforce: [L09-02', 'enforce: [x', "trials[2].enforce[0]: 'x' is not an expectation of the checks"),
        ('trial', 'enforce: [L09-02', 'enforce: [L09-03', "'L09-03'"),  # of a check that the trial leaves out
        # two trials that fix a case differently
        ('trial', '\ntrials:\n', TWO_CAPS, 'trials[1].max_tasks: differs from trials[0], '),
        # references: a point that the profile leaves out; P12: a number of nodes or tasks that no trial measures
        ('references', 'write@32MiB: [2150.0', 'write@2MiB: [2150.0', "'write@2MiB' is not a metric"),
        ('references', '          16:', '          15:', '15'),
        ('references', OF_TASKS, f'{OF_TASKS}tasks: 64, ', '.tasks: is 64, but SingleFileWholeAccess/'),
    ],
)
def test_what_no_case_can_be_compared_with_is_refused_at_its_place(changed, name, old, new, words):
    with pytest.raises(SiteError) as caught:
        with_references(changed(f'{name}.yaml', old, new), CHECKS)
    assert caught.value.problems[0].startswith(f'{name}.yaml: ')
    assert words in '\n'.join(caught.value.problems)


def test_a_group_of_nodes_has_no_baseline_for_it_is_other_nodes_in_every_session(changed):
    origins = '$seatrial:\n  NodeBandwidth:\n    nightly: {origin: baseline, date: 2026-11-14, tasks: 256}\n'
    session = changed('references.yaml', '$seatrial:\n', origins)
    file = session.site.folder / 'references.yaml'
    case = next(iter(cases_of(session, CHECKS['NodeBandwidth'])))
    keys = ['nightly', case.partition, case.file_system, case.layout, case.nodes]
    lines = ['NodeBandwidth:', f'  $index: [{", ".join(INDEX)}]']
    lines += [f'{"  " * (depth + 1)}{key}:' for depth, key in enumerate(keys)]
    lines += [f'{"  " * (len(keys) + 1)}write@all: [1000.0, -0.1, 0.3, MiB/s]', '']
    file.write_text(file.read_text() + '\n' + '\n'.join(lines))
    assert number_of(with_references(session, CHECKS)) == 6
    file.write_text(file.read_text().replace('write@all:', 'write@group01:'))
    with pytest.raises(SiteError, match='NodeBandwidth.nightly.*write@group01: the groups of a node sweep'):
        with_references(session, CHECKS)


@pytest.mark.parametrize(
    ('expectation', 'words'),
    [
        ("Insensitive(to='tasks', {})", "'tasks' is not the axis of its sweep"),
        ("CurveRatio(of='Szes', {})", "there is no check 'Szes'"),
        ("CurveRatio(of='Tasks', {})", 'Tasks sweeps numbers of tasks, not transfer sizes'),
    ],
)
def test_an_expectation_of_what_its_check_cannot_be_compared_with_is_refused(tmp_path, expectation, words):
    (tmp_path / 'check.py').write_text(CHECK.format(expectation.format("id='X', words='w', source='s'")))
    with pytest.raises(CheckError, match=f'Sizes.expectations: X: {words}'):
        load(tmp_path)
