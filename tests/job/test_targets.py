"""Sweeps over targets and layouts through the runner, on a stand-in for Lustre and one for fio.

The stand-in for lfs refuses what a real one refuses and tells the layout of each file; that for fio is as slow as its
orders say, by the label of the point.
"""

import os

import pytest

from lustre_stand import imports, standing
from seatrial.judge.outliers import SLOW, USUAL
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict, judge_case
from seatrial.model.layout import ALL, Component, Layout
from seatrial.model.namespace import Namespace, Trees, on_mdts
from seatrial.model.plan import StoppingRule
from seatrial.model.tree import MetadataTree
from seatrial.model.units import KIB, MIB
from seatrial.model.workload import AccessPattern, Geometry, expand, on_targets, over_layouts, over_osts
from seatrial.report.evidence import CaseEvidence
from seatrial.report.layouts import recommendations
from seatrial.rules.case import measured

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]

SIZE = 64 * KIB
FAST, SLOWER = {'seconds': 0.02}, {'seconds': 0.04}
# Two are the least that can be compared: each launch asks the stand-ins a dozen times.
REPEATED = StoppingRule(0.10, least=2, most=2, extra=0, budget_s=600.0)
WRITES = AccessPattern('multiple', 'whole', operations=('write',))
SERVERS = {f'OST{n:04x}': f'10.0.0.{n // 2}@o2ib' for n in range(4)}
LAYOUTS = (
    Layout(),
    Layout('wide', ALL, MIB),
    Layout('pfl', components=(Component(MIB, stripe_count=1), Component(stripe_count=ALL))),
)


@pytest.fixture
def lustre(lab, tmp_path, monkeypatch):
    """A laboratory whose target lies in the stand-in's mount."""
    with standing(tmp_path, monkeypatch) as stand:
        lab.target = stand.mount / 'trials'
        lab.target.mkdir()
        stand.now(params=imports(SERVERS))
        lab.stand = stand
        yield lab


def on(lab, fio, sweep, **changes):
    """The plan of a sweep over targets or layouts, with two clients."""
    points = tuple(expand(sweep, Geometry(1, 2), SIZE))
    target = {'type': 'lustre', 'path': str(lab.target), 'osts': 4, **changes.pop('target', {})}
    plan = lab.plan(fio, target=target, stopping=REPEATED, workload=WRITES, **changes)
    return plan._replace(axis=sweep.axis, points=points)


def osts(lab, fio, **changes):
    return on(lab, fio, on_targets(over_osts(SIZE, 32 * KIB), range(4)), **changes)


def set_on_directories(lab):
    """The options of every setstripe so far."""
    return [' '.join(words[2:-1]) for words in lab.stand.asked() if words[:2] == ['lfs', 'setstripe']]


def looked_at(lab):
    """How often the layout of a file was read back."""
    return sum(words[:3] == ['lfs', 'getstripe', '-y'] and '-d' not in words for words in lab.stand.asked())


# Targets


def test_each_target_is_measured_by_itself_and_its_layout_is_proved_on_a_file(lustre, stub_fio):
    ran = lustre.run(osts(lustre, stub_fio(('', FAST))))
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.PASS), ran.result.reasons
    assert set(set_on_directories(lustre)) == {'-o 0', '-o 1', '-o 2', '-o 3'}
    writes = [sample for sample in ran.measured if sample.operation == 'write']
    assert len(writes) == 4 * 2 and looked_at(lustre) >= len(writes)
    assert {place.name: place.verdict for place in ran.result.isolation.places} == {
        f'ost{n:04d}': USUAL for n in range(4)
    }


def test_targets_that_are_slow_twice_are_named_and_the_server_that_they_share(lustre, stub_fio):
    ran = lustre.run(osts(lustre, stub_fio(('', FAST), ('@ost000[23]', SLOWER))))
    assert {place.name for place in ran.result.isolation.of(SLOW)} == {'ost0002', 'ost0003'}
    assert ran.records.start.servers['ost0003'] == '10.0.0.1@o2ib'
    assert ran.result.isolation.servers == ('both OSTs of 10.0.0.1@o2ib are 50 % slower',)
    assert (ran.result.verdict, ran.result.reasons[0]) == (Verdict.FAIL, ran.result.isolation.servers[0])


@pytest.mark.parametrize('told', [{'inactive': [3]}, {'df': '311'}], ids=['inactive', 'no create'])
def test_a_target_that_takes_no_files_is_not_tested_and_the_others_are(lustre, stub_fio, told):
    lustre.stand.now(**told)
    ran = lustre.run(osts(lustre, stub_fio(('', FAST))))
    assert ran.end.reason == 'finished'
    assert {sample.point for sample in ran.measured if sample.valid} == {'ost0000', 'ost0001', 'ost0002'}
    (closed,) = [sample for sample in ran.measured if sample.point == 'ost0003']
    assert [(each.rule, each.effect) for each in closed.findings] == [('P5b', 'incomplete')]
    assert ran.result.verdict is Verdict.INCOMPLETE
    assert [each.node for each in ran.result.isolation.not_tested] == ['ost0003']
    assert '-o 3' not in set_on_directories(lustre)


def test_a_target_that_is_retired_on_the_mds_is_not_tested_and_the_others_are(lustre, stub_fio):
    lustre.stand.now(retired=[0])
    ran = lustre.run(osts(lustre, stub_fio(('', FAST))))
    assert {sample.point for sample in ran.measured if sample.valid} == {'ost0001', 'ost0002', 'ost0003'}
    (closed,) = [sample for sample in ran.measured if sample.point == 'ost0000']
    assert [(each.rule, each.effect) for each in closed.findings] == [('P5b', 'incomplete')]
    assert 'ost0000 cannot be tested: ' in closed.findings[0].sentence
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.INCOMPLETE)


def warmed_up_on(ran):
    return [sample.point for sample in ran.records.samples if sample.stage == 'warmup' and sample.valid]


def test_the_size_is_found_on_one_target_alone(lustre, stub_fio):
    assert warmed_up_on(lustre.run(osts(lustre, stub_fio(('', FAST))))) == ['ost0000']


@pytest.mark.parametrize('told', [{'retired': [0]}, {'inactive': [0, 1]}], ids=['retired', 'inactive'])
def test_the_size_is_found_on_the_next_target_where_the_first_is_dead(lustre, stub_fio, told):
    lustre.stand.now(**told)
    ran = lustre.run(osts(lustre, stub_fio(('', FAST))))
    dead = max(next(iter(told.values())))
    assert warmed_up_on(ran) == [f'ost{dead + 1:04d}'] and ran.end.reason == 'finished'


def test_directories_are_placed_on_each_metadata_target(lustre):
    tree = MetadataTree(files_per_directory=20, phases=('create', 'stat', 'remove'))
    sweep = on_mdts(Trees((('files', tree),), 'mdt', scales=True), range(2))
    target = {'type': 'lustre', 'path': str(lustre.target), 'mdts': 2}
    ran = lustre.run(lustre.plan_of_names(Namespace('tree', tree.phases), sweep, files=20, target=target))
    assert ran.end.reason == 'finished', ran.end.why
    asked = [words for words in lustre.stand.asked() if words[:2] == ['lfs', 'mkdir']]
    assert {tuple(words[2:4]) for words in asked} == {('-i', '0'), ('-i', '1')}
    assert {sample.point for sample in ran.measured if sample.valid} == {'mdt0000', 'mdt0001'}, ran.result.reasons


def test_who_may_not_place_directories_is_told_so(lustre):
    lustre.stand.now(root=False, quota='118')
    tree = MetadataTree(files_per_directory=20, phases=('create', 'stat', 'remove'))
    sweep = on_mdts(Trees((('files', tree),), 'mdt', scales=True), range(2))
    target = {'type': 'lustre', 'path': str(lustre.target), 'mdts': 2}
    ran = lustre.run(lustre.plan_of_names(Namespace('tree', tree.phases), sweep, files=20, target=target))
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.INCOMPLETE), ran.end.why
    assert any('P5b: mdt0000 cannot be tested: ' in reason for reason in ran.result.reasons)
    assert any('only root may' in reason for reason in ran.result.reasons)


# Layouts


def test_every_layout_of_a_sweep_is_set_proved_and_recommended_from(lustre, stub_fio):
    plan = on(lustre, stub_fio(('', SLOWER), ('@wide', FAST)), over_layouts(LAYOUTS, SIZE, 32 * KIB))
    plan = plan._replace(stopping=REPEATED._replace(least=3, most=3))  # fewer have no interval
    ran = lustre.run(plan)
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.PASS), ran.result.reasons
    assert {'-c -1 -S 1M', '-E 1M -c 1 -E -1 -c -1'} <= set(set_on_directories(lustre))
    case = CaseEvidence(plan, ran.records, ran.result, measured(plan, ran.records), {}, '', '')
    (found,) = recommendations([case])
    assert [(each.operation, each.best.label) for each in found.choices] == [('write', 'wide')]
    assert found.choices[0].sentence.endswith('; the default has 50 % less')


def test_a_layout_that_the_file_does_not_have_is_invalid_and_the_others_go_on(lustre, stub_fio):
    lustre.stand.now(full=[3])
    plan = on(lustre, stub_fio(('', FAST)), over_layouts((Layout('c1', 1), Layout('c4', 4)), SIZE, 32 * KIB))
    ran = lustre.run(plan)
    verdicts = {each.metric: each.verdict for each in ran.result.metrics if each.operation == 'write'}
    assert verdicts == {'write@c1': Verdict.PASS, 'write@c4': Verdict.INVALID}, ran.result.reasons


def test_a_layout_that_is_not_possible_here_is_refused_before_anything_is_written(lustre, stub_fio):
    plan = on(lustre, stub_fio(), over_layouts((Layout(), Layout('c8', 8)), SIZE, 32 * KIB))
    ran = lustre.run(plan)
    assert ran.end.reason == 'refused' and '8 OSTs are asked for' in ran.end.why
    assert os.listdir(lustre.target) == []


# Drill-down


def drilled(lab, stub_fio, *orders, floors=None, **changes):
    fio = stub_fio(('', FAST), *orders)
    values, stopping = changes.pop('values', (2,)), changes.pop('stopping', REPEATED)
    target = {'type': 'lustre', 'path': str(lab.target), 'osts': 4}
    plan = lab.plan(fio, values=values, target=target, stopping=stopping, profile='nightly', **changes)
    return lab.run(plan._replace(floors=floors if floors is not None else {'write@2objects': 1e6}))


def test_a_figure_that_is_surely_below_its_bound_is_drilled_into(lustre, stub_fio):
    ran = drilled(lustre, stub_fio, ('drill1b', SLOWER), ('drill2b', SLOWER))
    drill = ran.records.drill
    assert ran.end.reason == 'finished' and drill is not None
    assert (drill.metric, drill.bound) == ('write@2objects', 1e6)
    assert [[group.targets for group in round_] for round_ in drill.rounds] == [
        [('ost0000', 'ost0001'), ('ost0002', 'ost0003')],
        [('ost0002',), ('ost0003',), ('ost0000',)],
    ]
    assert drill.sentence == 'ost0003 of 10.0.0.1@o2ib is 50 % slower'
    assert {'-o 0,1', '-o 2,3', '-o 2', '-o 3', '-o 0'} <= set(set_on_directories(lustre))
    # What is drilled is no figure of the case, and leaves nothing.
    assert ran.result.metrics[0].summary.n == 2
    assert ran.records.samples[-1].stage == 'drill'
    assert os.listdir(os.path.join(ran.records.start.run_directory, 'data')) == []


def test_the_component_is_named_in_the_verdict(lustre, stub_fio):
    enough = REPEATED._replace(least=4, most=4, extra=2)  # for a verdict
    slow = ('drill1b', SLOWER), ('drill2a', SLOWER), ('drill2b', SLOWER)
    ran = drilled(lustre, stub_fio, *slow, stopping=enough, workload=WRITES)
    reference = Reference('write@2objects', 1e6, 0.0, None, 'MiB/s', 'baseline', '2026-11-01', 'fio')
    result = judge_case(ran.plan, ran.records, Criteria(references=(reference,)))
    assert result.verdict is Verdict.FAIL
    assert 'drill-down: both OSTs of 10.0.0.1@o2ib are 50 % slower' in result.reasons[0]


def test_a_case_that_meets_its_bounds_is_not_drilled_into(lustre, stub_fio):
    ran = drilled(lustre, stub_fio, floors={'write@2objects': 0.001})
    assert ran.records.drill is None
    assert 'drill' not in {sample.stage for sample in ran.records.samples}


def test_a_file_system_without_targets_is_not_drilled_into(lab, stub_fio):
    plan = lab.plan(stub_fio(('', FAST)), values=(2,), stopping=REPEATED)._replace(floors={'write@2objects': 1e6})
    assert lab.run(plan).records.drill is None


def test_the_read_is_drilled_into_after_a_write_of_its_own(lustre, stub_fio):
    ran = drilled(lustre, stub_fio, floors={'read@2objects': 1e6})
    own = [sample.operation for sample in ran.records.samples if sample.stage == 'drill']
    assert own[:4] == ['write', 'read', 'write', 'read']
