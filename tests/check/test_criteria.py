"""What the cases of the sites and checks that come with Seatrial are compared with."""

import re
from pathlib import Path

import pytest

from seatrial.check.criteria import criteria_of, with_references
from seatrial.check.declared import CheckError, load
from seatrial.check.literature import BELYAKOV, BOITO_2009, CALDERON, FERMILAB_2011, MLPERF, POSIX_2017
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import Session
from seatrial.judge.expectations import OfPair
from seatrial.model.units import MIB
from seatrial.site.error import SiteError
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES
from seatrial.site.references import INDEX
from seatrial.workload.registry import planned_metrics

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'site-config' / 'example-lustre'
CHECKS = load(ROOT / 'checks')
EXPECTATIONS = [(check, each) for check in CHECKS.values() for each in check.expectations]
DOCUMENTED = re.findall(
    r'^\| ((?:L09|GP|GV|FN|IN|QF|CN|MLPS)-[\w.*]+) \|', (ROOT / 'docs' / 'expectations.md').read_text(), re.MULTILINE
)

FILER = '    nodes: [1, 4]\n    profiles: [nightly]\n'
"""Of a trial of the example over tasks."""

CHECK = """
import reframe
from seatrial.check.base import Check, trial
from seatrial.judge.expectations import AtLeast, Insensitive
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
        for file in EXAMPLE.iterdir():
            if file.is_file():
                (tmp_path / file.name).write_text(file.read_text())
        text = (EXAMPLE / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new, 1))
        return session_of(tmp_path)

    return change


@pytest.fixture
def declaring(tmp_path):
    """Load a check file with this expectation."""

    def declare(expectation):
        (tmp_path / 'access').mkdir()
        (tmp_path / 'access' / 'check.py').write_text(CHECK.format(expectation))
        return load(tmp_path)

    return declare


def number_of(session):
    return sum(map(len, session.references.values()))


@pytest.mark.parametrize(('profile', 'count'), [('nightly', 5), ('acceptance', 0), ('paper', 0), ('smoke', 0)])
def test_every_reference_of_the_example_is_of_a_metric_that_is_planned(profile, count):
    session = with_references(session_of(profile=profile), CHECKS)
    number = 0
    for check in CHECKS.values():
        for case in cases_of(session, check):
            references = criteria_of(session, check, case).references
            number += len(references)
            if references:
                assert {each.metric for each in references} <= set(planned_metrics(plan_of(session, check, case)))
    assert number == count


def test_the_nightly_trial_of_the_example_fits_into_a_night_and_its_time_limit():
    session = session_of()
    plans = [plan_of(session, check, case) for check in CHECKS.values() for case in cases_of(session, check)]
    needed_s = sum(plan.stopping.budget_s for plan in plans)
    assert len(plans) > 40
    assert needed_s <= 12 * 3600 < session.site.trial_file.schedule['nightly'].time_limit


@pytest.mark.parametrize(
    ('limit', 'said'),
    [
        ('FN-08a: 1', '1 for FN-08a: a ratio of times is 1 at least; write more'),
        ('FN-04: 0.9', '0.9 for FN-04: one of the groups always has as much as another; write more than 1'),
        ('L09-03: 2', "'L09-03' has no limit that a site could choose; write its id alone"),
    ],
)
def test_a_limit_that_nothing_can_keep_is_refused_with_its_place(changed, limit, said):
    with pytest.raises(SiteError) as caught:
        with_references(changed('trial.yaml', FILER, f'{FILER}    enforce: [{{{limit}}}]\n'), CHECKS)
    assert list(caught.value.problems) == [f'trial.yaml: trials[4].enforce[0]: {said}']


def test_the_limit_of_a_site_takes_the_place_of_that_of_the_check(changed):
    session = with_references(changed('trial.yaml', FILER, f'{FILER}    enforce: [{{FN-08a: 1.5}}]\n'), CHECKS)
    tasks = CHECKS['MultipleFilesTasks']
    found = [criteria_of(session, tasks, case) for case in cases_of(session, tasks)]
    limits = {each.limit for one in found for each in one.expectations if each.id == 'FN-08a'}
    assert limits == {1.5} and all(one.enforced == {'FN-08a'} for one in found)


def test_a_trial_enforces_nothing_by_itself():
    session = session_of()
    for check in CHECKS.values():
        assert not any(criteria_of(session, check, case).enforced for case in cases_of(session, check))


@pytest.mark.parametrize(
    ('id', 'remedy'), [('L09-2', "did you mean 'L09-02'?"), ('x', 'write one of L09-02, L09-04')]
)
def test_an_id_that_no_check_of_the_trial_has_is_refused(changed, id, remedy):
    with pytest.raises(SiteError) as caught:
        with_references(changed('trial.yaml', 'enforce: [L09-02', f'enforce: [{id}'), CHECKS)
    assert caught.value.problems[0].startswith(
        f"trial.yaml: trials[2].enforce[0]: '{id}' is no expectation of the checks of this trial; {remedy}"
    )


def test_an_id_of_a_check_that_the_trial_leaves_out_is_refused(changed):
    with pytest.raises(SiteError, match='L09-03'):
        with_references(changed('trial.yaml', 'enforce: [L09-02', 'enforce: [L09-03'), CHECKS)


def test_a_point_that_the_profile_leaves_out_can_have_no_reference(changed):
    session = changed('references.yaml', 'write@32MiB: [2150.0', 'write@2MiB: [2150.0')
    with pytest.raises(SiteError, match="'write@2MiB' is no metric that is judged here"):
        with_references(session, CHECKS)


def test_a_reference_for_a_number_of_nodes_that_no_trial_measures_is_refused(changed):
    """P12: what is expected of 16 nodes is never compared with fewer."""
    with pytest.raises(SiteError, match='15'):
        with_references(changed('references.yaml', '          16:', '          15:'), CHECKS)


def test_a_smoke_test_can_have_no_reference(changed):
    session = changed('references.yaml', '  nightly:\n    pelagia:compute:', '  smoke:\n    pelagia:compute:')
    with pytest.raises(SiteError, match="'smoke' is no profile that is judged here; write one of nightly"):
        with_references(session, CHECKS)


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


def test_a_site_without_the_file_has_no_references():
    session = session_of(ROOT / 'site-config' / 'local')
    assert with_references(session, CHECKS).references == {}


def test_references_of_a_system_that_this_session_leaves_out_are_valid():
    session = session_of()
    narrow = Session('s', session.folder, session.site, session.profile, session.engines, ('metadata',), 'elsewhere')
    assert number_of(with_references(narrow, CHECKS)) == 5


def test_the_index_of_the_references_are_attributes_of_a_check():
    base = (ROOT / 'src' / 'seatrial' / 'check' / 'base.py').read_text()
    for name in INDEX:
        assert name == '$partition' or re.search(rf'^    {name} = variable\(', base, re.MULTILINE)


def test_every_test_of_the_source_is_declared_and_documented():
    declared = {re.sub(r'\..*', '.*', each.id) for _, each in EXPECTATIONS}
    assert sorted(declared) == sorted(DOCUMENTED)
    assert {id[:6] for id in declared if id.startswith('L09')} == {f'L09-0{number}' for number in range(1, 9)}


@pytest.mark.parametrize(('check', 'expectation'), EXPECTATIONS, ids=lambda value: getattr(value, 'id', None))
def test_an_expectation_says_what_was_found_and_where(check, expectation):
    assert expectation.source in (BELYAKOV, BOITO_2009, CALDERON, FERMILAB_2011, MLPERF, POSIX_2017)
    assert expectation.words[0].islower() and not expectation.words.endswith('.')


def test_every_class_that_writes_and_reads_compares_the_two():
    # Those of Boito et al.: in isolation and layouts other figures are compared.
    for check in (each for each in CHECKS.values() if each.family == 'access'):
        compares = any(isinstance(each, OfPair) and each.than == 'write' for each in check.expectations)
        assert compares == (check.workload.phases == ('write', 'read'))


def test_an_expectation_of_another_axis_is_refused(declaring):
    with pytest.raises(CheckError, match=r"Sizes.expectations: X: 'tasks' is not the axis of its sweep"):
        declaring("Insensitive(to='tasks', id='X', words='w', source='s')")


def test_a_comparison_with_a_check_that_is_not_there_is_refused(declaring):
    with pytest.raises(CheckError, match="Sizes.expectations: X: there is no check 'Szes'"):
        declaring("AtLeast(of='Szes', id='X', words='w', source='s')")


def test_a_comparison_with_a_check_that_sweeps_something_else_is_refused(declaring):
    with pytest.raises(CheckError, match='Sizes.expectations: X: Tasks sweeps numbers of tasks, not transfer sizes'):
        declaring("AtLeast(of='Tasks', id='X', words='w', source='s')")


def test_a_reference_of_metadata_is_checked_against_what_the_trials_measure_in_its_own_unit(changed):
    wanted = """
$seatrial:
  EmptyFiles:
    nightly: {origin: baseline, date: 2026-11-20, engine: mdtest}
"""
    rates = """
EmptyFiles:
  $index: [profile, $partition, file_system, layout, num_nodes]
  nightly:
    pelagia:compute: {scratch: {default: {4: {file_create@shared: [40000.0, -0.1, 0.3, ops/s]}}}}
"""
    session = changed('references.yaml', '\n$seatrial:\n', wanted)
    file = session.site.folder / 'references.yaml'
    file.write_text(file.read_text() + rates)

    def found():
        references = with_references(session, CHECKS).references
        return [each for (_, case), own in references.items() if case.check == 'EmptyFiles' for each in own]

    assert [(each.metric, each.unit, each.value) for each in found()] == [('file_create@shared', 'ops/s', 40_000.0)]
    file.write_text(file.read_text().replace('40000.0, -0.1, 0.3, ops/s', '40.0, -0.1, 0.3, kIOPS'))
    assert [(each.unit, each.value) for each in found()] == [('kIOPS', 40_000.0)]
    file.write_text(file.read_text().replace('kIOPS', 'MiB/s'))
    with pytest.raises(SiteError, match="'MiB/s' is not a unit of the metric; write op/s or kop/s"):
        with_references(session, CHECKS)


def test_a_case_is_compared_in_base_units_with_what_was_written(changed):
    session = with_references(session_of(), CHECKS)
    check = CHECKS['MultipleFilesTransferSizes']
    written = [each for case in cases_of(session, check) for each in criteria_of(session, check, case).references]
    assert {(each.metric, each.value, each.unit) for each in written if each.metric.startswith('write')} == {
        ('write@32MiB', 2150.0 * MIB, 'MiB/s'),
        ('write@32MiB', 32.5e9, 'GB/s'),
    }


@pytest.fixture
def of_nodes(changed):
    """The session of the example with one reference for its node sweep."""

    def make(metric):
        origins = '$seatrial:\n  NodeBandwidth:\n    nightly: {origin: baseline, date: 2026-11-14}\n'
        session = changed('references.yaml', '$seatrial:\n', origins)
        file = session.site.folder / 'references.yaml'
        case = next(iter(cases_of(session, CHECKS['NodeBandwidth'])))
        keys = ['nightly', case.partition, case.file_system, case.layout, case.nodes]
        lines = ['NodeBandwidth:', f'  $index: [{", ".join(INDEX)}]']
        lines += [f'{"  " * (depth + 1)}{key}:' for depth, key in enumerate(keys)]
        lines += [f'{"  " * (len(keys) + 1)}{metric}: [1000.0, -0.1, 0.3, MiB/s]', '']
        file.write_text(file.read_text() + '\n' + '\n'.join(lines))
        return session

    return make


def test_a_group_of_nodes_has_no_baseline_for_it_is_other_nodes_in_every_session(of_nodes):
    with pytest.raises(SiteError) as caught:
        with_references(of_nodes('write@group01'), CHECKS)
    (said,) = caught.value.problems
    assert said.startswith('references.yaml: NodeBandwidth.nightly.')
    assert 'write@group01: a group of a node sweep is other nodes in every session, so there is no baseline' in said


def test_all_nodes_of_a_node_sweep_together_may_have_a_baseline(of_nodes):
    assert number_of(with_references(of_nodes('write@all'), CHECKS)) == 6


@pytest.fixture
def for_tasks(changed):
    """The session of the example whose baseline says for how many tasks it is; its largest case has 256."""

    def make(said):
        origin = '  SingleFileWholeAccess:\n    nightly: {origin: baseline, '
        return changed('references.yaml', origin, f'{origin}{said}')

    return make


@pytest.mark.parametrize('said', ['', 'tasks: 256, '])
def test_references_may_say_for_how_many_tasks_they_are(for_tasks, said):
    assert number_of(with_references(for_tasks(said), CHECKS)) == 5


def test_references_for_another_number_of_tasks_are_refused(for_tasks):
    with pytest.raises(SiteError) as caught:
        with_references(for_tasks('tasks: 64, '), CHECKS)
    assert list(caught.value.problems) == [
        'references.yaml: $seatrial.SingleFileWholeAccess.nightly.tasks: is 64, and '
        'SingleFileWholeAccess/pelagia:compute/scratch/wide/16n has 256; see tasks_per_node, nodes and max_tasks'
    ]


def test_two_trials_that_fix_a_case_differently_are_refused(changed):
    again = "  - checks: ['*']\n    partitions: [pelagia:compute]\n    file_systems: [scratch]\n    nodes: [4]\n"
    twice = f'trials:\n{again}    max_tasks: 8\n{again}    max_tasks: 4\n'
    with pytest.raises(SiteError, match=r'trials\[1\]\.max_tasks: is not that of trials\[0\], which gives '):
        with_references(changed('trial.yaml', '\ntrials:\n', f'\n{twice}'), CHECKS)
