"""`seatrial accept`: measure the criteria of a contract, judge them, and write the protocol."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

import seatrial
from seatrial.acceptance.campaign import Campaign, Made, add_remark, missing, promised, protocol_at, write_protocol
from seatrial.check.contract import AcceptanceTest, contract_of_site, contract_session
from seatrial.check.declared import Declared
from seatrial.check.declared import load as load_checks
from seatrial.check.fit import expected_s
from seatrial.check.forecast import forecasts
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import new_id, settings_fault
from seatrial.cli.options import checks_option, destructive_option, fit_option, site_option
from seatrial.job.directory import lock
from seatrial.judge.criteria import UNDECIDED
from seatrial.judge.verdict import EXIT_CODES, WORST_FIRST, Verdict, worst
from seatrial.model.quoted_value import choice
from seatrial.model.units import duration
from seatrial.report.acceptance.protocol import ProtocolRow, counts
from seatrial.report.terminal import LINES, console, fitting, marked, say, table_of
from seatrial.scheduler.partitions import nodes_to_leave_out
from seatrial.session.carry_out import carried_out
from seatrial.session.from_options import check_destructive, state_fault
from seatrial.site.contract import CONTRACT_FILE, Contract
from seatrial.site.error import raise_any
from seatrial.site.load import answering, shipped
from seatrial.site.model import Site
from seatrial.workload.registry import hurts
from seatrial.workload.words import counted

CRITERIA_SHOWN = 9


@click.command()
@click.option('--milestone', help='Only the criteria of this milestone.')
@click.option('--criterion', 'ids', multiple=True, metavar='ID', help='Only this criterion; may be repeated.')
@click.option('--state', default='', help="Of the system now, in the contract's words; without it in good order.")
@click.option('--again', is_flag=True, help='Measure one more allocation of each criterion, even if it is decided.')
@click.option('--judge', 'judge_only', is_flag=True, help='Run nothing: judge what there is, and write the protocol.')
@click.option('--waive', metavar='ID', help='Record that the customer waives this criterion; runs nothing.')
@click.option('--remark', metavar='ID', help='Record a remark on this criterion; runs nothing.')
@click.option('--reason', help='Why, with --waive or --remark.')
@click.option('--by', help='Who says so, with --waive or --remark.')
@fit_option
@destructive_option
@checks_option
@site_option
def accept(
    site_folder: Path,
    checks: Sequence[Path],
    destructive: str,
    milestone: str | None,
    ids: tuple[str, ...],
    state: str,
    again: bool,
    judge_only: bool,
    waive: str | None,
    remark: str | None,
    reason: str | None,
    by: str | None,
    fit_s: float | None,
) -> int:
    """Measure what a contract asks for and has not been measured, judge it, and write the protocol.

    The criteria are those of contract.yaml in the folder of the site. Each allocation is a session of its own; all
    of them stay, and a later one replaces none. Exit codes: 0 every criterion is met, 10 one is missed, 12 one is
    undecided, 13 an allocation could not be measured now. A waiver changes none of them.
    """
    declared = load_checks(*checks)
    site = answering(site_folder)
    check_destructive(site, destructive)
    asked = contract_of_site(site, declared)
    if asked is None:
        sample = shipped('site-config') / 'sample' / CONTRACT_FILE
        raise click.UsageError(f'{site.folder} has no {CONTRACT_FILE}; {sample} is one to copy')
    contract, tests = asked
    campaign = Campaign(Path(site.state), tests)
    chosen = _chosen(contract, tests, milestone, ids)
    note = _note(tests, waive, remark, reason, by)
    if note:
        site.make_directories()
        add_remark(site, *note)
    all_ran = True
    if not (note or judge_only):
        end_s = math.inf if fit_s is None else time.monotonic() + fit_s
        all_ran = _measure(site, declared, campaign, chosen, state, again, destructive, end_s)
    verdict = _judged(site, contract, campaign, chosen)
    return EXIT_CODES[verdict if all_ran else worst([verdict, Verdict.INCOMPLETE])]


def _chosen(
    contract: Contract, tests: Sequence[AcceptanceTest], milestone: str | None, ids: Sequence[str]
) -> list[AcceptanceTest]:
    """The criteria named on the command line. Raises UsageError for names that the contract does not have."""
    known = [test.criterion.id for test in tests]
    for id in ids:
        if id not in known:
            raise click.UsageError(f"{CONTRACT_FILE} has no criterion '{id}'; {choice(id, known)}")
    if milestone is not None and milestone not in contract.milestones:
        remedy = choice(milestone, contract.milestones)
        raise click.UsageError(f"'{milestone}' is no milestone of {CONTRACT_FILE}; {remedy}")
    chosen = [test for test in tests if test.criterion.id in (ids or known)]
    chosen = [test for test in chosen if milestone in (None, test.criterion.milestone)]
    if not chosen:
        raise click.UsageError('no criterion matches both --milestone and --criterion; leave one of them out')
    return chosen


def _note(
    tests: Sequence[AcceptanceTest], waive: str | None, remark: str | None, reason: str | None, by: str | None
) -> tuple[str, bool, str, str] | None:
    id = waive or remark
    if id is None:
        if reason or by:
            raise click.UsageError('--reason and --by need --waive ID or --remark ID')
        return None
    known = [test.criterion.id for test in tests]
    if waive and remark:
        raise click.UsageError('--waive and --remark: write one of them at a time')
    if id not in known:
        raise click.UsageError(f"{CONTRACT_FILE} has no criterion '{id}'; {choice(id, known)}")
    if not reason or not by or not reason.strip() or not by.strip():
        raise click.UsageError(f'give the reason and your name: --reason "..." --by "..." for {id}')
    return id, waive is not None, reason, by


def _measure(
    site: Site,
    declared: Mapping[str, Declared],
    campaign: Campaign,
    chosen: Sequence[AcceptanceTest],
    state: str,
    again: bool,
    destructive: str,
    end_s: float,
) -> bool:
    """Runs a session for each missing allocation that ends before end_s (monotonic clock); whether all ran."""
    screen, tests, all_ran = console(), campaign.tests, True
    states = sorted({test.entry.state for test in tests if test.entry.state})
    if state and state not in states:
        raise click.UsageError(f"no criterion is measured in the state '{state}'; {choice(state, states)}")
    raise_any([state_fault(site)])
    for test in chosen:
        wanted = test.procedure.state if test.procedure else state
        if wanted != state:
            why = f'once the system is {wanted}: seatrial accept --state {wanted}' if wanted else 'without --state'
            say(screen, f'{test.criterion.id}: not now; {why}')
    chosen = [test for test in chosen if test.procedure and test.procedure.state == state]
    for procedure, needed in missing(tests, chosen, campaign.attempts(), again).items():
        asked = [test for test in tests if test.procedure == procedure]
        own_ids = [test.criterion.id for test in asked]
        target, ids = site.target(procedure.case.file_system, procedure.case.layout), ', '.join(own_ids)
        does = hurts(declared[procedure.case.check].workload)
        if does and destructive != target.storage_system:
            remedy = f'if that is meant, seatrial accept --destructive {target.storage_system}'
            say(screen, f'{ids}: not now; it {does} {target.storage_system}; {remedy}')
            continue
        raise_any([settings_fault(site, procedure.case.partition.partition(':')[0])])
        for number in range(needed):
            session = contract_session(new_id(), site, procedure)
            if end_s < math.inf:
                plan = plan_of(session, declared[procedure.case.check], procedure.case)
                wanted_s = expected_s(forecasts(site, [plan], [promised(tests, asked)]))
                left_s = max(0.0, end_s - time.monotonic())
                if wanted_s > left_s:
                    why = f'one takes {duration(wanted_s)}, but only {duration(left_s)} of --fit is left'
                    say(screen, f'{ids}: {counted(needed - number, "allocation")} later: {why}')
                    all_ran = False
                    break
            site.make_directories()
            try:
                held = lock.acquire(site.state, target.storage_system, session.id)
            except lock.LockHeld as error:
                say(screen, f'{ids}: not measured: {error}')
                return False
            with held:
                attempts = campaign.attempts()
                if not again and procedure not in missing(tests, chosen, attempts):
                    break  # another `seatrial accept` has measured it meanwhile
                say(screen, f'{ids}: allocation {number + 1} of {needed} that are missing')
                used = [attempt.nodes for attempt in attempts[own_ids[0]]]
                avoid = nodes_to_leave_out(site, procedure.case.partition, used, procedure.case.nodes)
                session, check = replace(session, avoid=avoid), declared[procedure.case.check]
                measured = [(check, case) for case in cases_of(session, check)]
                result, stop = carried_out(session, measured, destructive)
            if stop or result.verdict is Verdict.INCOMPLETE:
                return False  # the next one would meet the same: no room, no nodes
    return all_ran


def _judged(site: Site, contract: Contract, campaign: Campaign, chosen: Sequence[AcceptanceTest]) -> Verdict:
    """Judges all attempts, prints and writes the protocol; the verdict on the chosen criteria. Raises OSError."""
    page = protocol_at(campaign, contract, Made(seatrial.__version__, site.name, site.units))
    file = write_protocol(campaign.state, page, campaign.tests, site.units)
    rows = [row for row in page.rows if row.criterion.id in {one.criterion.id for one in chosen}]
    screen = console()
    verdict = worst(row.verdict for row in rows)
    screen.print(Text.assemble(marked(verdict), f'  {counts(rows)}'))
    worst_first = sorted(rows, key=lambda row: WORST_FIRST.index(row.verdict))
    shown = worst_first[:CRITERIA_SHOWN] if len(rows) > CRITERIA_SHOWN else rows
    screen.print(_table(shown))
    if len(shown) < len(rows):
        screen.print(f'and {counted(len(rows) - len(shown), "more criterion", "more criteria")}, in the protocol')
    whys = [f'  {row.criterion.id}: {row.outcome.why}' for row in shown if row.outcome.why]
    say(screen, *fitting(whys, LINES - 5 - len(shown)))
    say(screen, *(f'session {name} is left out: {why}' for name, why in campaign.unread.items()))
    say(screen, f'  protocol: {file}')
    say(screen, f'  next:     {_next(rows, campaign.tests)} --site {site.folder}')
    return verdict


def _next(rows: Sequence[ProtocolRow], tests: Sequence[AcceptanceTest]) -> str:
    """The next command: for what is missing, else for what is undecided, else for the bundle."""
    states = {test.criterion.id: test.entry.state for test in tests}
    open_ = [row for row in rows if row.outcome.verdict == UNDECIDED and not row.criterion.observed]
    for row in open_:
        if len(row.outcome.counted) < row.criterion.allocations:
            state = states[row.criterion.id]
            return f'seatrial accept --state {state}' if state else 'seatrial accept'
    if open_:
        return f'seatrial accept --again --criterion {open_[0].criterion.id}'
    for row in rows:
        if row.criterion.observed and not row.remarks:
            return f'seatrial accept --remark {row.criterion.id} --reason "..." --by "..."'
    return 'seatrial bundle --output acceptance.zip'


def _table(rows: Sequence[ProtocolRow]) -> Table:
    table = table_of('verdict', 'criterion', 'wanted', 'measured', 'margin', 'allocations')
    for row in rows:
        mark = Text.assemble(marked(row.verdict), ' (waived)' if row.waived else '')
        table.add_row(mark, row.criterion.id, row.criterion.wanted, row.measured, row.margin, row.allocations)
    return table
