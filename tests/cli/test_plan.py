"""`seatrial plan`: time and space of the cases; what does not fit is refused by `list`, `run` and `schedule` too."""

import json
import os
import re
import shutil
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import CONTRACT
from local_site import BURDEN, CHECK
from seatrial.check.session import began
from seatrial.filesystem.base import Capacity
from seatrial.filesystem.nfs import Nfs
from seatrial.filesystem.posix import Posix
from seatrial.model.units import GIB, MIB
from seatrial.site.yaml_file import parse
from stand_in import program

ROOT = Path(__file__).parents[2]

LAST_LAUNCH = 1795230465
"""Unix time: the sixth repetition of a session of `past`."""


@pytest.fixture
def planned(on_site):
    """The output of `plan --json` for every case by the name of its check, and for all cases under ''."""

    def plan(*arguments, status=0):
        done = on_site('plan', '--json', *arguments)
        assert done.status == status, done.err
        content = json.loads(done.out)
        return {case['case'].partition('/')[0]: case for case in content['cases']} | {'': content}

    return plan


def span(least, expected, most):
    return {'least': least, 'expected': expected, 'most': most}


def test_bytes_are_those_of_warm_up_repetitions_and_at_most_the_proof(planned):
    # Two tasks with 1 MiB each: a warm-up, a repetition of 3 points, and a proof of contents.
    moved = span(8 * MIB, None, (2 + 6 + 2) * MIB)
    cases = planned()
    assert (cases['Writes']['bytes_written'], cases['Writes']['bytes_read']) == (moved, moved)
    room = cases['Writes']['room_bytes'], cases['Writes']['room_inodes']
    assert room == (span(2 * MIB, None, 2 * MIB), span(6, None, 6))  # of the files in their run directory
    # What is only read is written first: one file of 1 MiB for the warm-up and one for both points, of which both
    # tasks read all.
    assert (cases['Reads']['bytes_written']['least'], cases['Reads']['bytes_read']['least']) == (2 * MIB, 6 * MIB)


def test_where_a_warm_up_decides_the_most_is_what_the_limits_allow(planned, site):
    site.change(', bytes_per_task: 1MiB', '')
    room = planned()['Writes']['room_bytes']
    assert (room['least'], GIB - 32 * MIB <= room['most'] < GIB) == (256 * MIB, True)


TREES = """
import reframe
from seatrial.check.base import Check, trial
from seatrial.workload.ageing import ageing
from seatrial.workload.sweep import Sweep

@trial
class Trees(Check):
    workload = ageing(400, keep=True)
    sweep = Sweep('tree', (('aged', {}),))
"""


def test_trees_to_a_fullness_are_made_once_and_take_what_is_left_until_then(planned, site, on_site, monkeypatch):
    blocks = {'f_frsize': 4096, 'f_blocks': 40_000, 'f_bfree': 36_000, 'f_bavail': 36_000}
    there = SimpleNamespace(**blocks, f_files=10**6, f_favail=10**5, f_flag=0)
    monkeypatch.setattr(os, 'statvfs', lambda path: there)
    site.add_metadata()
    (site.checks / 'metadata' / 'trees.py').write_text(TREES)
    site.change('bytes_per_task: 1MiB', 'bytes_per_task: 1MiB, fullness: 20%')
    trees = planned('Trees', '--profile=nightly')['Trees']
    assert (trees['room_bytes'], trees['repetitions']) == (span(4000 * 4096, None, 4000 * 4096), span(1, None, 1))
    site.change('bytes: 1GiB', 'bytes: 8MiB')
    done = on_site('plan', 'Trees')
    assert done.status == 64 and 'write bytes: 17MiB there, or a smaller fullness in its trial' in done.err


def test_the_time_of_all_cases_is_added_up_and_held_against_the_nodes(planned):
    cases = planned()
    wall = cases['']['total']['wall_s']
    assert wall['most'] == sum(cases[name]['wall_s']['most'] for name in ('Writes', 'Reads'))
    assert cases['']['total']['node_hours']['most'] == pytest.approx(wall['most'] / 3600)


SESSION = '20261121T020638-9f3a1c'


def test_what_earlier_sessions_took_is_what_is_expected(planned, past, remembered):
    remembered(past(SESSION))
    case = planned('--profile=nightly')['Writes']
    assert (case['repetitions']['expected'], case['room_bytes']['expected']) == (6, 2 * MIB)
    # The warm-up, then six repetitions of four points, with 2 MiB each.
    assert case['bytes_written']['expected'] == 50 * MIB


@pytest.mark.parametrize(
    ('ended', 'expected_s'),
    [
        (None, LAST_LAUNCH - began(SESSION).timestamp()),
        (began(SESSION) + timedelta(hours=2), 7200.0),  # with what it took after its last launch
    ],
)
def test_cases_that_follow_each_other_took_what_the_session_did_together(
    planned, past, remembered, ended, expected_s
):
    remembered(past(SESSION), ended=ended)
    whole_s = planned('--profile=nightly')['']['total']['wall_s']['expected']
    assert whole_s == pytest.approx(expected_s, abs=2.0)


def test_the_table_has_every_case_and_the_totals(on_site):
    output = on_site('plan').out
    assert re.search(r'Writes/local:default/scratch/default/1n +3 +1 +8 MiB \.\. 10 MiB +8 MiB', output)
    assert re.search(r'^writes in all: 10 MiB \.\. ', output, re.MULTILINE)


TOO_LARGE = (
    r'file_systems.scratch.limits: Writes/\S+ needs 3 MiB \(3145728 B\) at one time \(2 tasks with 1 MiB each\), '
    'but limits.bytes allows 2 MiB; write bytes: 3MiB there, or bytes_per_task: 512KiB in its trial$'
)
TOO_MANY = r'Reads/\S+ needs 11 inodes at one time .*, but limits.inodes allows 9 inodes; write inodes: 11 there'


@pytest.mark.parametrize('name', ['plan', 'list', 'run', 'schedule'])
@pytest.mark.parametrize(
    ('old', 'new', 'sentence', 'remedies'),
    [
        ('bytes: 1GiB', 'bytes: 2MiB', TOO_LARGE, ['bytes: 2MiB -> 3MiB', 'bytes_per_task: 1MiB -> 512KiB']),
        ('inodes: 1000', 'inodes: 9', TOO_MANY, ['inodes: 9 -> 11']),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy_that_helps(on_site, site, name, old, new, sentence, remedies):
    site.change(old, new)
    done = on_site(name, '--profile=nightly')
    assert (done.status, site.sessions()) == (64, [])
    assert re.search(f'^seatrial: trial.yaml: .*{sentence}', done.err, re.MULTILINE), done.err
    for remedy in remedies if name == 'plan' else ():
        key, wrong, right = re.split(': | -> ', remedy)
        site.change(f'{key}: {wrong}', f'{key}: {right}')
        assert on_site('plan', '--profile=nightly').status == 0
        site.change(f'{key}: {right}', f'{key}: {wrong}')


@pytest.mark.parametrize(
    ('asked', 'offered', 'sentence'),
    [
        ('capacity', Capacity(2 * MIB, None), r'but free space allows 2 MiB; free 1MiB on \S+, or bytes_per_task: '),
        ('capacity', Capacity(None, 4), r'but the number of free inodes allows 4 inodes; free 7 inodes on '),
        ('quota', Capacity(2 * MIB, None), r'but the quota of user and group allows 2 MiB; free 1MiB on '),
    ],
)
def test_what_is_free_and_the_quota_are_bounds_too(on_site, site, monkeypatch, asked, offered, sentence):
    monkeypatch.setattr(Posix, asked, lambda *_: offered)
    done = on_site('plan')
    assert done.status == 64
    assert re.search(f'file_systems.scratch: .*{sentence}', done.err), done.err


def test_a_file_system_that_is_not_seen_from_here_is_left_to_the_node(planned, site):
    site.change('path: state/trials', 'path: /nowhere/seatrial')
    assert planned()['']['problems'] == []


def test_what_lies_on_another_type_here_is_not_taken_for_the_file_system(planned, site, tmp_path, monkeypatch):
    (tmp_path / 'mnt').mkdir()
    site.change('type: posix, path: state/trials', f'type: nfs, path: {tmp_path}/mnt')
    monkeypatch.setattr(Posix, 'capacity', lambda *_: pytest.fail('it was asked'))
    monkeypatch.setattr(Nfs, 'capacity', lambda *_: Capacity(0, 0))
    assert planned()['']['problems'] == []


@pytest.fixture
def sinfo(site, tmp_path, monkeypatch):
    """The jobs of the site are Slurm's, whose sinfo(1) prints this."""

    def prints(line):
        program(tmp_path / 'slurm', monkeypatch, 'sinfo', f"echo '{line}'; [ '{line}' ]")
        options = ['--partition=compute', '--exclusive', '--no-requeue']
        site.change("'scheduler': 'local'", f"'scheduler': 'slurm', 'access': {options}", 'settings.py')

    return prints


def test_a_job_that_outlasts_its_partition_is_refused(on_site, site, sinfo):
    sinfo('compute|4|2|7000|20:00')
    done = on_site('plan', '--profile=nightly')
    assert (done.status, done.err.count('\n')) == (64, 1)
    sentence = r'the job of Writes/\S+ may take 22 min .* ends it after 20 min; write budget: 8min in its trial, or '
    assert re.search(rf'partitions\.local:default: {sentence}', done.err), done.err
    site.change('bytes_per_task: 1MiB', 'bytes_per_task: 1MiB, budget: 8min')
    assert on_site('plan', '--profile=nightly').status == 0


def test_a_scenario_that_outlasts_its_partition_is_not_told_to_have_less_time(on_site, site, sinfo):
    sinfo('compute|4|2|7000|20:00')
    site.check.write_text(CHECK.format(before_s=600, action_s=5, after_s=600))
    site.trial.write_text(site.trial.read_text().replace('engines: [', 'engines: [posixops, ') + BURDEN)
    done = on_site('plan', '--profile=acceptance', '--destructive=scratch', 'Away')
    assert done.status == 64 and 'allocations in its criterion' in done.err and 'budget:' not in done.err


def test_each_value_of_a_tunable_is_planned_as_often_as_a_verdict_needs_and_only_by_name(on_site, site):
    check = CHECK.format(before_s=5, action_s=5, after_s=5).replace("Sweep('action')", "Sweep('tunable')")
    site.check.write_text(check)
    values = BURDEN.replace("start: ['true']", "start: [set, '{value}'], values: [4, 8, 16]")
    site.trial.write_text(site.trial.read_text().replace('engines: [', 'engines: [posixops, ') + values)
    done = on_site('plan', '--profile=acceptance', '--destructive=scratch', 'Away')
    assert done.status == 0, done.err
    assert re.search(r'^Away/\S+ +3 +6 ', done.out, re.MULTILINE)
    assert [f'set {value}' in done.out for value in (4, 8, 16)] == [True] * 3
    without = on_site('plan', '--profile=acceptance', 'Away')
    assert 'set 4' not in without.out and '--destructive scratch' in without.out + without.err


def test_without_an_answer_of_slurm_its_limits_and_a_bare_unit_are_noted(on_site, site, sinfo):
    sinfo('')
    site.change('tasks_per_node: 2', 'tasks_per_node: 2, queue_limit: 45')
    done = on_site('plan')
    note = "note: the time limits of Slurm's partitions are not known: sinfo ended with 1"
    assert (done.status, note in done.out) == (0, True)
    assert 'queue_limit cancels a job that has not begun after 45 s; if minutes or hours were' in done.out


def test_the_memory_of_the_nodes_decides_what_an_acceptance_needs(planned, site):
    site.change(', bytes_per_task: 1MiB', '')
    site.change('tasks_per_node: 2', 'tasks_per_node: 2, memory: 64GiB')
    cases = planned('--profile=acceptance', status=64)
    assert 128 * GIB <= cases['Writes']['room_bytes']['least'] < 129 * GIB
    assert 'needs 128 GiB' in cases['']['problems'][0]


def test_memory_that_nobody_declares_refuses_nothing_and_is_asked_for(planned, site, sinfo):
    sinfo('compute|4|2|7000|infinite')
    site.change(', bytes_per_task: 1MiB', '')
    whole = planned('--profile=acceptance')['']
    assert 'the memory of its nodes is not declared' in whole['notes'][0]


@pytest.fixture
def wrong_contract(site):
    criterion = "{id: '1', text: Fast., metric: outage, nodes: 1, at_most: 120 s}"
    head = 'version: 1\ntitle: T\ndate: 2026-06-30\nparties: {customer: P}\n'
    (site.folder / 'contract.yaml').write_text(f'{head}criteria: [{criterion}, {{id: [2], text: Slow.}}]\n')


def test_a_contract_that_is_wrong_is_told_whole_by_who_asks_for_it(on_site, wrong_contract):
    for arguments in (('plan', '--profile=acceptance'), ('accept', '--judge')):
        done = on_site(*arguments)
        assert done.status == 64
        assert 'criteria[0].metric: no check measures' in done.err and 'criteria[1].id: ' in done.err


@pytest.mark.parametrize('name', ['plan', 'list', 'status'])
def test_what_does_without_a_wrong_contract_goes_on_and_says_so_in_one_line(command, site, wrong_contract, name):
    checks = [] if name == 'status' else ['--checks', site.checks]
    done = command(name, '--site', site.folder, *checks)
    assert done.status in (0, 13), done.err
    assert len(re.findall(r'contract.yaml is wrong in \d place', done.out)) == 1


def test_outside_a_checkout_the_checks_are_the_installed_ones(command, site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "did you mean 'PosixSemantics'" in command('plan', '--site', site.folder, 'PosixSemantic').err
    assert 'no check files' in command('plan', '--site', site.folder, '--checks', 'checks').err


@pytest.fixture
def contract(site):
    """Three allocations of one point, on a site whose trials have no acceptance."""
    site.change('nodes: [1], bytes', 'nodes: [1], profiles: [smoke, nightly], bytes')
    file = site.folder / 'contract.yaml'
    file.write_text(f'{CONTRACT}    allocations: 3\n')
    return file


def of_contract(cases):
    return [case for case in cases['']['cases'] if case['criteria']]


def test_an_acceptance_takes_what_its_contract_still_asks_for(planned, contract, allocation):
    (asked,) = of_contract(planned('--profile=acceptance'))
    assert (asked['criteria'], asked['allocations'], asked['points']) == (['1'], 3, ['64KiB'])
    # In each allocation a warm-up and six repetitions, of two tasks with 1 MiB each; at one time those of one.
    assert (asked['bytes_written']['least'], asked['room_bytes']['least']) == (3 * 14 * MIB, 2 * MIB)
    allocation('20261120T020638-9f3a1c', '1', 200.0)
    (asked,) = of_contract(planned('--profile=acceptance'))
    assert asked['allocations'] == 2


def test_under_another_profile_and_of_another_check_it_is_not_counted(planned, on_site, contract):
    smoke = planned('--profile=smoke')
    assert of_contract(smoke) == [] and any('contract.yaml' in note for note in smoke['']['notes'])
    assert on_site('plan', '--profile=acceptance', 'Reads').status == 64


def test_a_contract_that_does_not_fit_is_refused_with_its_own_remedy(on_site, site, contract):
    site.change('bytes: 1GiB', 'bytes: 1GiB, keep_bytes: 1000TiB')
    done = on_site('plan', '--profile=acceptance')
    assert (done.status, 'free space less limits.keep_bytes' in done.err) == (64, True)
    assert 'another check in its criterion' in done.err


def test_a_contract_that_allows_no_caches_may_allow_them_to_fit(on_site, site, contract):
    site.change('limits: {bytes: 1GiB', 'server_cache_bytes: 0, fast_tier_bytes: 0, limits: {bytes: 4GiB')
    site.change('tasks_per_node: 2', 'tasks_per_node: 2, memory: 64GiB')
    contract.write_text(contract.read_text().replace('caches: allowed, ', '').replace(', bytes_per_task: 1MiB', ''))
    done = on_site('plan', '--profile=acceptance')
    assert done.status == 64
    assert 'or caches: allowed in its conditions' in done.err, done.err


@pytest.mark.parametrize('name', ['run', 'list'])
def test_a_site_whose_acceptance_is_its_contract_is_told_what_measures_it(on_site, contract, name):
    done = on_site(name, '--profile=acceptance')
    assert (done.status, 'seatrial accept measures what contract.yaml asks for' in done.err) == (64, True)


@pytest.fixture
def pelagia(tmp_path, command, monkeypatch):
    """`seatrial plan` on the example with 200 nodes, 64 OSTs and a contract of 200 GB/s, on a host without Slurm."""
    folder = tmp_path / 'pelagia'
    shutil.copytree(ROOT / 'site-config' / 'example-lustre', folder)
    (tmp_path / 'bin').mkdir()
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'))
    for name, old, new in (
        ('trial.yaml', 'state: /admin/seatrial/pelagia', f'state: {tmp_path}/state'),
        ('trial.yaml', 'osts: 32', 'osts: 64'),
        ('trial.yaml', 'bytes: 48TiB', 'bytes: 150TiB'),
        ('trial.yaml', 'nodes: [64]\n    profiles: [acceptance]', 'nodes: [200]\n    profiles: [acceptance]'),
        ('contract.yaml', 'nodes: 64\n    at_least: 60 GB/s', 'nodes: 200\n    at_least: 200 GB/s'),
    ):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    def plan(*arguments):
        done = command('plan', '--site', folder, '--checks', ROOT / 'checks', '--json', *arguments)
        assert done.status == 0, done.err
        return json.loads(done.out)

    plan.trial = folder / 'trial.yaml'
    return plan


def test_the_time_of_a_contract_is_bytes_over_its_rate_times_what_is_repeated(pelagia):
    content = pelagia('--profile=acceptance', '--fit=12h')
    (asked,) = (case for case in content['cases'] if case['criteria'] == ['4.2.1'])
    # Twice the memory of the nodes and the servers' caches, in whole GiB of each of 3200 tasks.
    per_task = -(-(2 * 200 * 256 + 4096) // 3200 // 1) * GIB
    launch_s = 3200 * per_task / 200e9
    assert asked['wall_s']['expected'] == pytest.approx(3 * 8 * 2 * launch_s, rel=0.03)
    assert content['total']['wall_s']['expected'] <= 12 * 3600


def with_lines(trial, lines):
    """Replaces trials of the file by the printed lines, as a user would paste them, from the top down."""
    head, _, rest = trial.read_text().partition('\ntrials:\n')
    entries, below, end = rest.partition('\n# Units of the figures')
    trials = parse(entries, trial.name)
    for line in lines:
        place = re.match(r'# trial.yaml: in place of trials\[(\d+)\]', line)
        if place:
            number = int(place[1])
            del trials[number]
        else:
            trials.insert(number, *parse(line, trial.name))
            number += 1
    trial.write_text(f'{head}\ntrials: {json.dumps(trials)}\n{below}{end}')


@pytest.mark.slow
def test_the_lines_for_what_was_cut_give_the_plan_that_was_shown(pelagia):
    first = pelagia('--profile=acceptance', '--fit=16h')
    assert first['cuts'] and first['trials']
    with_lines(pelagia.trial, first['trials'])
    again = pelagia('--profile=acceptance', '--fit=16h')
    assert again['trials'] == []
    assert sorted(case['case'] for case in again['cases']) == sorted(case['case'] for case in first['cases'])
    assert again['total']['wall_s'] == first['total']['wall_s']


def test_a_site_says_in_which_order_it_is_cut(pelagia):
    pelagia.trial.write_text(pelagia.trial.read_text() + 'cuts: [checks]\n')
    content = pelagia('--profile=acceptance', '--fit=16h')
    assert not any('point' in cut for cut in content['cuts']) and any('without' in cut for cut in content['cuts'])


def test_what_no_case_measures_is_named(pelagia):
    lines = pelagia('--profile=acceptance')['in_no_trial']
    named = {what: names.split(', ') for what, _, names in (line.partition(': ') for line in lines)}
    assert named['partitions'] == ['pelagia:io'] and named['file systems'] == ['home']
    assert named['targets one by one'] == ['64 OSTs of scratch', '4 MDTs of scratch']
    assert 'scratch rack2' in named['layouts'] and 'isolation' in named['families']


def test_a_limit_that_makes_regions_too_short_is_told_with_what_is_needed(planned, contract, past, remembered):
    remembered(past(SESSION))
    assert not any('needed' in criterion for criterion in planned('--profile=acceptance')['']['criteria'])
    contract.write_text(contract.read_text().replace('caches: allowed', 'caches: allowed, seconds: 5 s'))
    margin, short = planned('--profile=acceptance')['']['criteria']
    assert 'with 3 allocations a figure above 1.35 times the bound meets it' in margin
    # The 2 MiB take a second at the 2 MiB/s that were seen; a tenth more than five of them are wanted, in whole MiB.
    assert 'no allocation can count' in short and 'bytes_per_task: 6MiB' in short
