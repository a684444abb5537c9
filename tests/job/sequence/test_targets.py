"""Sweeps over targets and layouts through the runner, on stand-ins for Lustre and for fio, as slow as its orders
say."""

import os
import platform

import pytest

from builders import ONCE
from lustre_stand import imports, standing
from seatrial.filesystem.base import Capacity, Exchanged, pinned
from seatrial.filesystem.lustre.driver import Lustre
from seatrial.filesystem.lustre.layout import ALL, progressive, striped
from seatrial.filesystem.registry import by_type
from seatrial.job.sequence import confirm
from seatrial.job.sequence.survey import survey
from seatrial.judge.outliers import SLOW, USUAL
from seatrial.judge.verdict import Verdict
from seatrial.model.layout import Layout
from seatrial.model.plan import EngineChoice, StoppingRule
from seatrial.model.point import Allocation
from seatrial.model.record import REFUSED, Sized
from seatrial.model.units import GIB, KIB, MIB
from seatrial.rules.places import CONFIRM
from seatrial.rules.registry import BEFORE, findings
from seatrial.workload.access import data_access
from seatrial.workload.sweep import AXES, Sweep, SweepSite, expand
from seatrial.workload.tree import metadata_tree
from stand_in import program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('short_launches')]

SIZE = 64 * KIB
FAST, SLOWER = {'seconds': 0.02}, {'seconds': 0.04}
# Two are the least that can be compared: each launch asks the stand-ins a dozen times.
REPEATED = StoppingRule(0.10, minimum=2, maximum=2, extra=0, budget_s=600.0)
WRITES = data_access('multiple', operations=('write',), transfer_size=32 * KIB, bytes_per_task=SIZE)
TREE = metadata_tree(('create', 'remove'), files_per_directory=20, scales=True)
SERVERS = {f'OST{n:04x}': f'10.0.0.{n // 2}@o2ib' for n in range(4)}
LAYOUTS = (
    Layout(),
    striped('wide', ALL, '1MiB'),
    progressive('pfl', {'end': '1MiB', 'stripe_count': 1}, {'stripe_count': ALL}),
)


@pytest.fixture
def lustre(lab, tmp_path, monkeypatch):
    """A laboratory whose target lies in the stand-in's mount."""
    with standing(tmp_path, monkeypatch) as stand:
        lab.target = stand.mount / 'trials'
        lab.target.mkdir()
        stand.now(params=imports(SERVERS))
        # No counter of the stand-in for lctl has what the one for fio writes.
        monkeypatch.setattr(Lustre, 'exchanged', lambda self, path: Exchanged())
        lab.stand = stand
        yield lab


def on(lab, fio, sweep, **changes):
    """The plan of a sweep over targets or layouts, with two tasks."""
    layouts = tuple(pinned(by_type('lustre'), 'OST', number) for number in range(4))
    points = tuple(expand(sweep, changes.pop('workload', WRITES), Allocation(1, 2), SweepSite(layouts)))
    target = {'type': 'lustre', 'path': str(lab.target), 'osts': 4, **changes.pop('target', {})}
    more = {'stopping': REPEATED, **changes}
    return lab.plan(fio, target=target, axis=AXES[sweep.axis], points=points, **more)


def osts(lab, fio, **changes):
    return on(lab, fio, Sweep('ost'), **changes)


def set_on_directories(lab):
    """The options of every setstripe so far."""
    return [' '.join(words[2:-1]) for words in lab.stand.asked() if words[:2] == ['lfs', 'setstripe']]


def read_back(lab):
    """The number of times that the layout of a file was read back."""
    return sum(words[:3] == ['lfs', 'getstripe', '-y'] and '-d' not in words for words in lab.stand.asked())


def warmed_up_on(ran):  # where another's writes delay its sync, it is made again on the next (T23)
    tried = [sample for sample in ran.records.samples if sample.stage == 'warmup']
    return [sample.point.label for sample in tried if 'P5b' not in {finding.rule for finding in sample.findings}][:1]


def test_each_target_is_measured_by_itself_and_its_layout_is_proved_on_a_file(lustre, stub_fio):
    ran = lustre.run(osts(lustre, stub_fio(('', FAST))))
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.PASS), ran.result.reasons
    assert set(set_on_directories(lustre)) == {'-o 0', '-o 1', '-o 2', '-o 3'}
    assert warmed_up_on(ran) == ['ost0000']
    writes = [sample for sample in ran.measured if sample.phase == 'write']
    assert len(writes) == 4 * 2 and read_back(lustre) >= len(writes)
    places = {place.name: place.verdict for place in ran.result.isolation.places}
    assert places == {f'ost{n:04d}': USUAL for n in range(4)}


def test_targets_that_are_slow_twice_are_named_and_the_server_that_they_share(lustre, stub_fio):
    ran = lustre.run(osts(lustre, stub_fio(('', FAST), ('@ost000[23]', SLOWER))))
    assert {place.name for place in ran.result.isolation.of(SLOW)} == {'ost0002', 'ost0003'}
    assert ran.records.start.servers['ost0003'] == '10.0.0.1@o2ib'
    assert ran.result.isolation.servers == ('both OSTs of 10.0.0.1@o2ib are 50 % slower',)
    assert (ran.result.verdict, ran.result.reasons[0]) == (Verdict.FAIL, ran.result.isolation.servers[0])


@pytest.mark.parametrize(('slow', 'made'), [('@no-target', 4), ('@ost0002', 2)])
def test_the_sweep_has_the_time_kept_for_suspects_while_there_are_none(lustre, stub_fio, monkeypatch, slow, made):
    monkeypatch.setattr(confirm, 'kept_share', lambda plan: 1.0)
    rule = REPEATED._replace(minimum=4, maximum=4)
    ran = lustre.run(osts(lustre, stub_fio(('', FAST), (slow, SLOWER)), stopping=rule))
    assert max(ran.counts.values()) == made and ('budget' in ran.end.stopped.values()) == (made < 4)
    assert {place.name for place in ran.result.isolation.of(SLOW)} == ({'ost0002'} if made < 4 else set())


def test_a_second_look_that_is_too_short_is_made_longer_and_not_given_up(lustre, stub_fio, monkeypatch):
    def enlarged(trial, current, seconds):
        return None if seconds else Sized(2, 2 * current.per_task, 'too short')

    monkeypatch.setattr(confirm, 'seconds_of', lambda sample: 0.0 if sample.sizing == 1 else 1.0)
    monkeypatch.setattr(confirm, 'enlarged', enlarged)
    ran = lustre.run(osts(lustre, stub_fio(('', FAST), ('@ost0002', SLOWER))))
    again = [sample for sample in ran.records.samples if sample.stage == CONFIRM]
    assert {(sample.sizing, sample.point.data.bytes_per_task) for sample in again} == {(1, SIZE), (2, 2 * SIZE)}
    assert [sample.sizing for sample in again].count(1) == 1
    assert [place.name for place in ran.result.isolation.of(SLOW)] == ['ost0002']


@pytest.mark.parametrize(
    ('faults', 'dead'),
    [({'inactive': [0, 1]}, [0, 1]), ({'retired': [0]}, [0])],
    ids=['inactive', 'retired on the MDS'],
)
def test_targets_that_take_no_files_are_not_tested_and_the_next_decides_the_size(lustre, stub_fio, faults, dead):
    lustre.stand.now(**faults)
    ran = lustre.run(osts(lustre, stub_fio(('', FAST)), stopping=ONCE))
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.INCOMPLETE)
    names = [f'ost{number:04d}' for number in dead]
    others = [f'ost{number:04d}' for number in range(4) if number not in dead]
    assert {sample.point.label for sample in ran.measured if sample.valid} == set(others)
    closed = {sample.point.label: sample.findings for sample in ran.measured if sample.point.label not in others}
    assert sorted(closed) == sorted(untested.node for untested in ran.result.isolation.not_tested) == names
    for name, raised in closed.items():
        assert [(finding.rule, finding.effect) for finding in raised] == [('P5b', 'incomplete')]
        assert f'{name} cannot be tested: ' in raised[0].sentence
    assert warmed_up_on(ran) == others[:1]


@pytest.mark.parametrize(
    ('may_be_away', 'state', 'rules'),
    [
        (False, {'away': [1]}, ['P22', 'P22a']),
        (True, {'away': [1]}, ['P22a']),
        (False, {'df': '310'}, ['P22a']),  # degraded
        (False, {'inactive': [1]}, []),  # its administrator has taken it out
    ],
)
def test_a_target_that_is_away_refuses_a_case_unless_the_site_allows_it(lustre, stub_fio, may_be_away, state, rules):
    lustre.stand.now(**state)
    target = {'type': 'lustre', 'path': str(lustre.target), 'osts': 4, 'targets_may_be_away': may_be_away}
    seen = survey(lustre.plan(stub_fio(), target=target), None)
    raised = [finding for finding in findings(BEFORE, seen.environment) if finding.rule.startswith('P22')]
    assert [finding.rule for finding in raised] == rules
    assert not rules or 'lustre-OST000' in raised[0].sentence


def test_an_error_of_the_storage_names_the_target_that_the_file_lies_on(lustre, stub_fio):
    failed = 'fio: io_u error on file data.00000000: No such file or directory: write offset=4096, buflen=65536\n'
    fio = stub_fio(('measured-write@ost0002', {'fault': 'exit-1', 'stderr': failed}))
    ran = lustre.run(osts(lustre, fio, stopping=ONCE))
    (failure,) = ran.findings('F1')
    assert (ran.result.verdict, failure.evidence['target']) == (Verdict.FAIL, 'OST 2')
    assert 'ENOENT of data.00000000 of OST 2 on ' in failure.sentence


def test_a_full_target_is_reported_with_its_room_and_not_with_that_of_the_others(lustre, stub_fio, monkeypatch):
    def capacity(self, path, layout=None, files=None):
        return Capacity(7 if layout == pinned(by_type('lustre'), 'OST', 2) else GIB, None)

    monkeypatch.setattr(Lustre, 'capacity', capacity)
    full = 'fio: io_u error on file data.00000000: No space left on device: write offset=0, buflen=65536\n'
    fio = stub_fio(('', FAST), ('@ost0002', {'fault': 'exit-1', 'stderr': full}))
    ran = lustre.run(osts(lustre, fio, stopping=ONCE))
    (reason,) = [reason for reason in ran.result.reasons if 'P9a' in reason]
    assert '; 7 B are left where its files lie' in reason and 'GiB' not in reason


def mdts(lab):
    """The plan of a sweep over both MDTs."""
    layouts = tuple(pinned(by_type('lustre'), 'MDT', number) for number in range(2))
    points = tuple(expand(Sweep('mdt'), TREE, Allocation(1, 2), SweepSite(layouts)))
    target = {'type': 'lustre', 'path': str(lab.target), 'mdts': 2}
    return lab.plan_of_metadata(TREE, Sweep('mdt'), 20, target=target, points=points, stopping=ONCE)


def test_directories_are_placed_on_each_metadata_target(lustre):
    ran = lustre.run(mdts(lustre))
    assert ran.end.reason == 'finished', ran.end.why
    asked = [words for words in lustre.stand.asked() if words[:2] == ['lfs', 'mkdir']]
    assert {tuple(words[2:4]) for words in asked} == {('-i', '0'), ('-i', '1')}
    valid = {sample.point.label for sample in ran.measured if sample.valid}
    assert valid == {'mdt0000', 'mdt0001'}, ran.result.reasons


def test_who_may_not_place_directories_reads_why(lustre):
    lustre.stand.now(root=False, quota='118')
    ran = lustre.run(mdts(lustre))
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.INCOMPLETE), ran.end.why
    assert any('P5b: mdt0000 cannot be tested: ' in reason for reason in ran.result.reasons)
    assert any('only root may' in reason for reason in ran.result.reasons)


@pytest.mark.parametrize(
    ('faults', 'striped_over'), [({}, '-c -1'), ({'df': '311'}, '-o 0,1,2')], ids=['healthy', 'no create']
)
def test_files_of_nodes_lie_on_all_targets_that_take_some(lustre, stub_fio, monkeypatch, faults, striped_over):
    monkeypatch.setenv('SLURM_JOB_NODELIST', platform.node())
    monkeypatch.delenv('SLURM_JOB_PARTITION', raising=False)
    lustre.stand.now(**faults)
    plan = on(lustre, stub_fio(('', FAST)), Sweep('node'), stopping=ONCE)
    alike = tuple(point._replace(layout=by_type('lustre').alike) for point in plan.points)
    ran = lustre.run(plan._replace(points=alike))
    assert ran.end.reason == 'finished', ran.end.why
    assert [sample.findings for sample in ran.measured if not sample.valid] == []
    assert set(set_on_directories(lustre)) == {striped_over} and read_back(lustre) >= 1


def test_every_layout_of_a_sweep_is_set_proved_and_measured(lustre, stub_fio):
    plan = on(lustre, stub_fio(('', SLOWER), ('@wide', FAST)), Sweep('layout', LAYOUTS), stopping=ONCE)
    ran = lustre.run(plan)
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.MEASURED), ran.result.reasons
    assert ran.end.placed == 'MDT 0, new files c1.S4M'
    assert {'-c -1 -S 1M', '-E 1M -c 1 -E -1 -c -1'} <= set(set_on_directories(lustre))
    means = {metric.point: metric.summary.mean for metric in ran.result.metrics}
    assert means['wide'] == pytest.approx(2 * means['default']) == pytest.approx(2 * means['pfl'])


def test_a_layout_that_is_not_possible_here_is_refused_before_anything_is_written(lustre, stub_fio):
    plan = on(lustre, stub_fio(), Sweep('layout', (Layout(), striped('c8', 8))))
    ran = lustre.run(plan)
    assert ran.end.reason == 'refused' and '8 OSTs were requested' in ran.end.why
    assert os.listdir(lustre.target) == []


def test_a_figure_that_is_surely_below_its_bound_is_drilled_into_a_read_after_a_write_of_its_own(lustre, stub_fio):
    fio = stub_fio(('', FAST), ('read@drill1b', SLOWER), ('read@drill2b', SLOWER))
    target = {'type': 'lustre', 'path': str(lustre.target), 'osts': 4}
    plan = lustre.plan(fio, values=(32,), target=target, stopping=REPEATED, profile='nightly')
    ran = lustre.run(plan._replace(floors={'read@32KiB': 1e6 * MIB}))
    drill = ran.records.drill
    assert ran.end.reason == 'finished' and drill is not None
    assert (drill.metric, drill.bound) == ('read@32KiB', 1e6 * MIB)
    phases = [sample.phase for sample in ran.records.samples if sample.stage == 'drill']
    assert phases[:4] == ['write', 'read', 'write', 'read']
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


# A node sweep that cannot be made is refused, and an engine that does not say it is skipped

MFWA = data_access('multiple', transfer_size=KIB, bytes_per_task=64 * KIB)


@pytest.fixture
def sweep(lab, stub_fio):
    """A plan over two nodes; `engines` go before the stand-in for fio."""

    def make(*engines):
        fio = stub_fio()
        points = tuple(expand(Sweep('node'), MFWA, Allocation(2, 1)))
        plan = lab.plan(fio, axis=AXES['node'], points=points)
        return plan._replace(case=plan.case._replace(nodes=2), engines=(*engines, EngineChoice('fio', fio)))

    return make


@pytest.mark.parametrize(
    ('nodelist', 'words'),
    [
        (None, 'SLURM_JOB_NODELIST has 0 of 2; submit it to a Slurm partition'),
        ('n1', 'SLURM_JOB_NODELIST has 1 of 2'),
        ('n[1-', "'n[1-' is not a list of nodes"),
    ],
)
def test_without_the_names_of_its_nodes_it_is_refused(lab, sweep, monkeypatch, nodelist, words):
    monkeypatch.delenv('SLURM_JOB_NODELIST', raising=False)
    if nodelist is not None:
        monkeypatch.setenv('SLURM_JOB_NODELIST', nodelist)
    ran = lab.run(sweep())
    assert ran.end.reason == REFUSED
    assert words in ran.end.why
    assert ran.result.verdict is Verdict.INCOMPLETE
    assert ran.records.samples == []


def test_an_engine_that_does_not_report_where_its_tasks_ran_is_skipped(lab, sweep, monkeypatch, tmp_path):
    program(tmp_path, monkeypatch, 'ior', 'exit 1')
    monkeypatch.setenv('SLURM_JOB_NODELIST', 'n[1-2]')
    monkeypatch.delenv('SLURM_JOB_PARTITION', raising=False)
    ran = lab.run(sweep(EngineChoice('ior', 'ior')))
    assert 'ior: does not say which task ran on which node' in ran.records.start.skipped
    assert ran.records.start.engine == 'fio'
