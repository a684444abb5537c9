"""`seatrial accept`: its verdicts, its protocol and its refusals. No session is run here."""

import json
import math
import re
import shutil
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import chained
from nights import figures as night_of
from nights import session as name_of
from seatrial.acceptance import campaign
from seatrial.check.contract import contract_of_site
from seatrial.check.declared import load as load_checks
from seatrial.check.session import save
from seatrial.cli import accept
from seatrial.history.store import folder_of, write
from seatrial.job.directory import lock
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import Verdict
from seatrial.site.load import load
from site_fixtures import leave_all_records

CONTRACT = """
version: 1
title: Acceptance of scratch
date: 2026-06-30
parties: {customer: Pelagia, supplier: Tidewater}
milestones: {M1: first, M2: second}
criteria:
  - id: '1.1'
    text: At least 100 MiB/s write.
    metric: write bandwidth
    workload: &files {access: file per process, transfer_size: 64KiB, bytes_per_task: 1MiB}
    nodes: 1
    at_least: 100 MiB/s
    conditions: {caches: allowed}
    milestone: M1
  - id: '1.2'
    text: At least 1 GB/s write with larger transfers, in two allocations.
    metric: write bandwidth
    workload: {access: file per process, transfer_size: 128KiB, bytes_per_task: 1MiB}
    nodes: 1
    at_least: 1 GB/s
    conditions: {caches: allowed}
    allocations: 2
    milestone: M2
  - {id: '1.3', text: Degraded., state: degraded, at_least: 70 % of 1.1, milestone: M2}
  - {id: '1.4', text: An outage below two minutes., at_most: 120 s, observed: true, milestone: M2}
"""
FIRST, SECOND, THIRD = (f'2026112{number}T020638-9f3a1c' for number in (0, 1, 2))


@pytest.fixture
def contract(site):
    file = site.folder / 'contract.yaml'
    file.write_text(CONTRACT)
    return file


@pytest.fixture
def measured(monkeypatch):
    """Replaces a run: a session leaves its records. `begun`: checks, points and states; `ends`: its verdict."""
    verdict = SimpleNamespace(ends=Verdict.PASS, stop=False, beside=lambda: None, begun=[])

    def carried_out(session, cases, destructive):
        ((declared, case),) = cases
        verdict.begun.append((case.check, session.points, session.contract['state']))
        session.folder.mkdir(parents=True)
        save(session)
        if verdict.ends is not Verdict.INCOMPLETE:
            leave_all_records(session, declared, 200.0)
        verdict.beside()
        return SimpleNamespace(verdict=verdict.ends), verdict.stop

    monkeypatch.setattr(accept, 'carried_out', carried_out)
    return verdict


@pytest.fixture
def page(site):
    return lambda: (site.folder / 'state' / 'acceptance' / 'protocol.html').read_text()


def row(done, id):
    """The line of a criterion in the table."""
    (line,) = [line for line in done.out.splitlines() if re.match(rf'. [A-Z]+( \(waived\))? +{re.escape(id)} ', line)]
    return line


def test_a_site_without_a_contract_is_refused_with_the_remedy(on_site):
    done = on_site('accept', '--judge')
    assert (done.status, 'contract.yaml' in done.err) == (64, True)
    assert 'site-config/sample' in done.err


def test_every_criterion_is_judged_by_the_allocations_that_were_made_for_it(on_site, contract, allocation):
    allocation(FIRST, '1.1', 200.0)
    allocation(SECOND, '1.2', 200.0)
    allocation(THIRD, '1.2', 202.0)
    done = on_site('accept', '--judge')
    assert (done.status, row(done, '1.1')[:6], row(done, '1.2')[:6]) == (10, '+ PASS', 'x FAIL')
    assert '+100 %' in row(done, '1.1')
    assert '2 of 2' in row(done, '1.2')
    assert '1 met, 1 missed, 2 undecided' in done.out
    # The exit code is that of the criteria that are asked for.
    assert on_site('accept', '--judge', '--milestone=M1').status == 0
    assert on_site('accept', '--judge', '--criterion=1.4').status == 12


def test_of_many_missed_criteria_25_rows_of_a_terminal_say_the_worst(on_site, contract, allocation, page):
    more = "  - {{id: '2.{0}', text: More., metric: write bandwidth, workload: *files, nodes: 1, at_least: {0} GB/s,"
    rest = ' conditions: {caches: allowed}, milestone: M2}\n'
    contract.write_text(CONTRACT + ''.join(more.format(number) + rest for number in range(1, 31)))
    allocation(FIRST, '1.1', 200.0)
    done = on_site('accept', '--judge')
    lines = done.out.splitlines()
    assert (done.status, done.rows <= 25, max(len(line) for line in lines[:-2]) <= 100) == (10, True, True)
    assert lines[0] == 'x FAIL  1 met, 30 missed, 3 undecided'
    assert [line.split()[:3] for line in lines[2:11]] == [['x', 'FAIL', f'2.{number}'] for number in range(1, 10)]
    assert lines[11] == 'and 25 more criteria, in the protocol'
    assert '2.30' in page()


NIGHTS = [datetime(2026, 11, day, tzinfo=timezone.utc) for day in range(1, 9)]


@pytest.fixture
def nights(site):
    """Leave nights of the contract's case, of which every other one is faster by e to this power."""

    def leave(differ):
        for number, began in enumerate(NIGHTS):
            level = 1e9 * math.exp(differ * (number % 2))
            case = {'check': 'Writes', 'partition': 'local:default', 'file_system': 'scratch', 'nodes': 1}
            night = night_of(began, {'write@128KiB': [level] * 3}, **case)
            write(folder_of(site.folder / 'state'), name_of(began), night)

    return leave


@pytest.mark.parametrize(
    ('differ', 'figures_of', 'verdict', 'noise'),
    [(0.02, (1000.0, 1100.0), 'PASS', '0.019'), (0.5, (1400.0, 1500.0), 'INCONCLUSIVE', '0.482')],
)
def test_allocations_are_taken_to_differ_by_what_the_nights_before_them_have_shown_at_most(
    on_site, command, contract, allocation, nights, page, site, differ, figures_of, verdict, noise
):
    nights(differ)
    planned = on_site('plan', '--profile=acceptance').out
    assert f'(noise between allocations {float(noise):.0%}, the most that the nights of this case show)' in planned
    for name, figure in zip((FIRST, SECOND), figures_of, strict=True):
        allocation(name, '1.2', figure)
    shutil.rmtree(site.folder / 'state' / 'history')  # who has the bundle does not have it
    assert row(on_site('accept', '--judge', '--criterion=1.2'), '1.2').split()[1] == verdict
    assert f'are taken to differ by {noise} at least' in page()
    bundle = site.folder / 'bundle.zip'
    assert command('bundle', f'--site={site.folder}', f'--output={bundle}').status == 0
    assert command('verify', bundle).status == 0


def begun_for(folder, **values):
    """Changes session.json: the session was begun for these values of a procedure."""
    content = json.loads((folder / 'session.json').read_text())
    content['contract'].update(values)
    (folder / 'session.json').write_text(json.dumps(content))


def test_a_noise_that_no_history_shows_is_named_and_its_allocation_left_out(on_site, contract, allocation):
    folder = allocation(FIRST, '1.1', 200.0)
    begun_for(folder, noise=-0.1)
    done = on_site('accept', '--judge', '--criterion=1.1')
    assert (done.status, f'{folder}: its files contradict each other' in done.out) == (12, True)
    assert "noise is '-0.1'" in done.out


def test_a_percentage_is_judged_in_its_own_state_alone(on_site, contract, allocation):
    allocation(FIRST, '1.1', 200.0)
    assert on_site('accept', '--judge', '--criterion=1.3').status == 12
    allocation(SECOND, '1.3', 300.0)
    done = on_site('accept', '--judge', '--criterion=1.3')
    assert (done.status, row(done, '1.3')[:6]) == (0, '+ PASS')
    assert '1 of 1' in row(on_site('accept', '--judge'), '1.1')


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('transfer_size: 64KiB', 'transfer_size: 256KiB', '0 of 1'),  # another procedure has no attempt
        ('at_least: 100 MiB/s', 'at_least: 300 MiB/s', 'x FAIL'),  # and another bound has the same ones
    ],
)
def test_allocations_are_those_of_their_procedure_whatever_its_bound(on_site, contract, allocation, old, new, words):
    allocation(FIRST, '1.1', 200.0)
    contract.write_text(CONTRACT.replace(old, new))
    assert words in row(on_site('accept', '--judge'), '1.1')


def raw_output_gone(folder):
    for file in folder.glob('cases/*/raw/*'):
        file.unlink()


def test_a_figure_without_its_raw_output_meets_nothing(on_site, contract, allocation, page):
    folder = allocation(FIRST, '1.1', 200.0)
    assert on_site('accept', '--judge', '--criterion=1.1').status == 0
    raw_output_gone(folder)
    done = on_site('accept', '--judge', '--criterion=1.1')
    assert (done.status, '0 of 1' in row(done, '1.1')) == (12, True)
    assert 'not proved by its raw output: samples.jsonl' in page()
    allocation(SECOND, '1.1', 200.0)
    assert on_site('accept', '--judge', '--criterion=1.1').status == 0
    # One that misses does so without its raw output.
    shutil.rmtree(folder.parent)
    raw_output_gone(allocation(FIRST, '1.1', 20.0))
    assert on_site('accept', '--judge', '--criterion=1.1').status == 10


@pytest.mark.parametrize(
    ('conditions', 'status', 'words'),
    [
        ('fullness: 0-20 %', 0, '0 to 20 % full at the beginning'),
        ('fullness: 30-40 %', 12, 'the file system was 20 % full; 30 to 40 % are required'),
        ('seconds: 1 s', 12, 'its shortest timed region lasted 0.0098 s, but 1 s are required'),
        ('bytes: 2x memory', 12, 'its files held 0.00012x the memory of the nodes, but 2x is required'),
    ],
)
def test_an_allocation_counts_under_its_conditions(on_site, contract, allocation, page, conditions, status, words):
    contract.write_text(CONTRACT.replace('caches: allowed', f'caches: allowed, {conditions}', 1))
    allocation(FIRST, '1.1', 200.0)
    assert on_site('accept', '--judge', '--criterion=1.1').status == status
    assert words in page()


def rewritten(folder, change):
    """Replaces the lines of the record of an allocation by those that `change` returns, linked anew."""
    (file,) = folder.glob('cases/*/samples.jsonl')
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    for record in kept:
        record.pop('chain')
    file.write_text(chained(json.dumps(record, separators=(',', ':')) + '\n' for record in change(kept)))


@pytest.mark.parametrize('reason', [None, 'interrupted', 'failed'])
def test_an_allocation_that_was_ended_early_or_still_runs_does_not_count(on_site, contract, allocation, page, reason):
    def cut(kept):
        (end,) = [number for number, line in enumerate(kept) if line['record'] == 'end']
        last = {**kept[end], 'reason': reason, 'why': 'scancel, after a good look'}
        return kept[:end] + [last] * (reason is not None)

    rewritten(allocation(FIRST, '1.1', 200.0), cut)
    done = on_site('accept', '--judge', '--criterion=1.1')
    assert (done.status, '0 of 1' in row(done, '1.1')) == (12, True)
    assert ('scancel, after a good look' if reason else 'no end record') in page()


def test_how_full_it_was_has_to_be_known(on_site, contract, allocation):
    contract.write_text(CONTRACT.replace('caches: allowed', 'caches: allowed, fullness: 0-20 %', 1))
    rewritten(allocation(FIRST, '1.1', 200.0), lambda kept: [{**kept[0], 'capacity': {}}, *kept[1:]])
    assert on_site('accept', '--judge', '--criterion=1.1').status == 12


def test_where_the_time_budget_left_too_few_repetitions_the_remedy_is_said(on_site, contract, allocation):
    def few(kept):
        lines = [record for record in kept if not (record['record'] == 'sample' and record['repetition'] > 1)]
        lines[-1]['stopped'] = dict.fromkeys(lines[-1]['stopped'], 'budget')
        return lines

    rewritten(allocation(FIRST, '1.1', 200.0), few)
    output = on_site('accept', '--judge', '--criterion=1.1').out
    assert 'raise budget in its conditions' in ' '.join(output.split())


@pytest.mark.parametrize('session', [SECOND, FIRST])
def test_a_copy_of_an_allocation_is_no_second_one(on_site, contract, allocation, page, session):
    folder = allocation(FIRST, '1.2', 2000.0)
    if session == FIRST:
        (case,) = folder.glob('cases/*')
        shutil.copytree(case, case.with_name('another'))
    else:
        shutil.copytree(folder, folder.with_name(session))
    assert '1 of 2' in row(on_site('accept', '--judge'), '1.2')
    assert f'its records are those of {FIRST}/cases' in page()


@pytest.mark.parametrize(
    ('id', 'key', 'value'), [('1.3', 'state', 'degraded'), ('1.1', 'seconds', 300.0), ('1.1', 'noise', 0.01)]
)
def test_an_allocation_counts_for_what_it_was_planned_for(on_site, contract, allocation, page, id, key, value):
    """session.json names the purpose of an allocation, but is no part of the chain of the records."""
    begun_for(allocation(FIRST, '1.1', 200.0), **{key: value})
    conditions = 'caches: allowed, seconds: 300 s' if key == 'seconds' else 'caches: allowed'
    contract.write_text(CONTRACT.replace('caches: allowed', conditions))
    assert on_site('accept', '--judge', f'--criterion={id}').status == 12
    assert 'it was planned for other conditions than its session.json has' in page()


def test_a_waiver_is_kept_with_its_name_and_turns_no_fail_green(on_site, contract, allocation, site, page):
    allocation(FIRST, '1.1', 10.0)
    done = on_site('accept', '--waive=1.1', '--reason=Repaired in August.', '--by=J. Kern', '--criterion=1.1')
    assert done.status == 10
    assert '(waived)' in row(done, '1.1')
    (line,) = (site.folder / 'state' / 'acceptance' / 'remarks.jsonl').read_text().splitlines()
    kept = {'criterion': '1.1', 'waives': True, 'text': 'Repaired in August.', 'by': 'J. Kern'}
    assert kept.items() <= json.loads(line).items()
    assert 'by J. Kern' in page()


def test_the_protocol_names_the_records_as_verify_does(on_site, command, site, contract, allocation, page):
    allocation(FIRST, '1.1', 200.0)
    on_site('accept', '--judge')
    output = command('verify', f'--site={site.folder}').out
    assert re.search('chain of the records ends with ([0-9a-f]{64})', output)[1] in page()


def test_remarks_are_appended(on_site, contract, page):
    for text in ('Seen: 75 s.', 'Seen again: 80 s.'):
        assert on_site('accept', '--remark=1.4', f'--reason={text}', '--by=J. Kern').status == 12
    assert page().index('Seen: 75 s.') < page().index('Seen again: 80 s.')


def test_a_report_of_an_allocation_asks_for_no_criterion_of_the_site(on_site, contract, allocation):
    folder = allocation(FIRST, '1.1', 200.0)
    assert on_site('report', FIRST).status == 0
    assert 'give it a contract' not in (folder / 'report' / 'index.html').read_text()


def test_one_session_is_run_for_each_allocation_that_is_missing(on_site, contract, measured):
    done = on_site('accept')
    assert measured.begun == [('Writes', ('64KiB',), ''), ('Writes', ('128KiB',), ''), ('Writes', ('128KiB',), '')]
    assert '1 of 1' in row(done, '1.1')
    assert '2 of 2' in row(done, '1.2')
    assert '1.3: not now; once the system is degraded: seatrial accept --state degraded' in done.out
    measured.begun.clear()
    on_site('accept')
    assert measured.begun == []


@pytest.fixture
def judged(monkeypatch):
    """The session of every judgement of records, in order."""
    judged = []

    def counting(plan, *given):
        judged.append(plan.session)
        return judge_case(plan, *given)

    monkeypatch.setattr(campaign, 'judge_case', counting)
    return judged


def test_each_allocation_is_judged_once_however_many_are_measured(on_site, contract, measured, judged, site):
    contract.write_text(CONTRACT.replace('allocations: 2', 'allocations: 5'))
    on_site('accept')
    assert sorted(judged) == sorted(folder.name for folder in site.sessions()) and len(judged) == 6


@pytest.fixture
def attempts(site, contract, allocation):
    """The attempts at 1.1 of a campaign that has looked once; the first one has the folder `attempts.folder`."""
    loaded = load(site.folder)
    _, tests = contract_of_site(loaded, load_checks(site.checks))
    one = campaign.Campaign(Path(loaded.state), tests)
    folder = allocation(FIRST, '1.1', 200.0)
    attempted = SimpleNamespace(folder=folder, now=lambda: one.attempts()['1.1'])
    assert [attempt.why_not for attempt in attempted.now()] == ['']
    return attempted


def test_an_allocation_is_judged_again_when_a_file_of_it_has_changed(attempts):
    (file,) = attempts.folder.glob('cases/*/samples.jsonl')
    file.write_text(file.read_text().replace('"host":"node1"', '"host":"node22"', 1))
    assert 'R4' in attempts.now()[0].why_not
    shutil.copytree(file.parent, file.parent.with_name('another'))
    assert len(attempts.now()) == 2
    (attempts.folder / 'session.json').unlink()
    assert attempts.now() == []


def test_an_allocation_whose_job_has_not_ended_is_read_each_time(attempts, judged):
    (file,) = attempts.folder.glob('cases/*/samples.jsonl')
    file.write_text(''.join(line for line in file.read_text().splitlines(True) if '"record":"end"' not in line))
    assert attempts.now() == attempts.now()
    assert len(judged) == 2


@pytest.mark.parametrize(
    ('asked', 'figures', 'next_'),
    [
        (('--criterion=1.2',), {}, 'seatrial accept'),
        (('--criterion=1.2',), {'1.2': (980.0, 950.0)}, 'seatrial accept --again --criterion 1.2'),
        (('--criterion=1.3',), {'1.1': (200.0,)}, 'seatrial accept --state degraded'),
        (('--criterion=1.4',), {}, 'seatrial accept --remark 1.4 --reason "..." --by "..."'),
        (('--milestone=M1',), {'1.1': (200.0,)}, 'seatrial bundle --output acceptance.zip'),
    ],
)
def test_it_ends_with_the_protocol_and_the_next_command(on_site, site, contract, allocation, asked, figures, next_):
    sessions = iter((FIRST, SECOND, THIRD))
    for criterion, values in figures.items():
        for figure in values:
            allocation(next(sessions), criterion, figure)
    protocol, last = on_site('accept', '--judge', *asked).out.splitlines()[-2:]
    assert protocol.startswith('  protocol: ')
    assert last == f'  next:     {next_} --site {site.folder}'


def test_in_another_state_its_criteria_alone_are_measured(on_site, contract, measured):
    done = on_site('accept', '--state=degraded')
    assert measured.begun == [('Writes', ('64KiB',), 'degraded')]
    assert '1.1: not now; without --state' in done.out


def test_again_adds_an_allocation_of_each_that_is_chosen(on_site, contract, measured):
    on_site('accept', '--milestone=M1')
    done = on_site('accept', '--milestone=M1', '--again')
    assert len(measured.begun) == 2
    assert '2 (1 needed)' in row(done, '1.1')


def test_criteria_of_the_same_procedure_share_their_sessions(on_site, contract, measured, site):
    alike = CONTRACT.replace('transfer_size: 128KiB', 'transfer_size: 64KiB')
    contract.write_text(alike.replace('metric: write', 'metric: read', 1))
    on_site('accept')
    assert measured.begun == [('Writes', ('64KiB',), '')] * 2


@pytest.mark.parametrize('fault', [{'ends': Verdict.INCOMPLETE}, {'stop': True}])
def test_a_session_that_cannot_run_or_was_asked_to_stop_ends_the_campaign_for_now(on_site, contract, measured, fault):
    vars(measured).update(fault)
    assert on_site('accept').status == 13
    assert len(measured.begun) == 1


def test_what_does_not_fit_into_the_time_is_named_and_not_begun(on_site, contract, measured):
    done = on_site('accept', '--milestone=M2', '--fit=1s')
    assert (done.status, measured.begun) == (13, [])
    assert re.search(r'1\.2: 2 allocations later: one takes .*, but only 1 s of --fit is left', done.out)
    on_site('accept', '--milestone=M2', '--fit=12h')
    assert measured.begun == [('Writes', ('128KiB',), '')] * 2


def test_of_two_at_once_the_second_begins_nothing(on_site, contract, measured, site):
    (site.folder / 'state').mkdir()
    with lock.acquire(load(site.folder).state, 'scratch', 'another'):
        done = on_site('accept', '--milestone=M1')
    assert (done.status, measured.begun, site.sessions()) == (13, [], [])
    assert '1.1: not measured: storage system scratch is held by session another' in done.out


def test_what_another_one_has_measured_meanwhile_is_not_measured_again(on_site, contract, measured, allocation):
    measured.beside = lambda: allocation(FIRST, '1.2', 2000.0)
    assert '2 of 2' in row(on_site('accept', '--criterion=1.2'), '1.2')
    assert len(measured.begun) == 1


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--criterion=1.9'], "did you mean '1.4'?"),
        (['--milestone=M9'], 'M1'),
        (['--waive=1.9', '--reason=x', '--by=y'], 'no criterion'),
        (['--waive=1.1', '--reason=x'], '--by'),
        (['--waive=1.1', '--reason=x', '--by= '], '--by'),
        (['--reason=x'], '--waive ID'),
        (['--waive=1.1', '--remark=1.1', '--reason=x', '--by=y'], 'one of them'),
        (['--state=broken'], 'degraded'),
        (['--milestone=M1', '--criterion=1.2'], 'no criterion matches both'),
    ],
)
def test_what_is_not_in_the_contract_is_refused_before_anything_runs(on_site, contract, site, arguments, words):
    done = on_site('accept', *arguments)
    assert (done.status, words in done.err) == (64, True)
    assert site.sessions() == []


def test_a_damaged_file_of_remarks_is_named(on_site, contract, site):
    folder = site.folder / 'state' / 'acceptance'
    folder.mkdir(parents=True)
    (folder / 'remarks.jsonl').write_text('{"criterion": "1.1"\n')
    done = on_site('accept', '--judge')
    assert (done.status, 'remarks.jsonl: line 1' in done.err) == (64, True)
