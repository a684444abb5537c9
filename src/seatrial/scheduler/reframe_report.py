"""Finds in ReFrame's report why jobs ended that it gave up on before their checks could ask."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from seatrial.job.sequence.recorder import write_job_state
from seatrial.model.foreign import read_json
from seatrial.model.plan import TrialPlan
from seatrial.model.record import PLAN, Records
from seatrial.rules.case import cut_off
from seatrial.scheduler.job_end import said_by_slurm, tail
from seatrial.scheduler.job_state import SILENT, job_state_of, of_sbatch
from seatrial.scheduler.partitions import SLURM

REFRAME, REPORT = 'reframe', 'report.json'  # the folder of ReFrame in that of the session, and its report in it
OUTPUT = 'reframe.out'  # what ReFrame has printed, in the folder of the session
_NAMES = {'name', 'system', 'partition', 'case'}
_STOPPED = re.compile(r'^ERROR: (run session stopped: (?!force exit|cancelled by user).+)$', re.MULTILINE)


def complete_job_states(folder: Path, cases: Sequence[tuple[TrialPlan, Records]]) -> None:
    """Write the state of every job that was cut off and has none yet; once Slurm is silent it is not asked again."""
    tests: dict[str, Mapping[str, Any]] = {}
    with suppress(OSError, ValueError):  # ReFrame may have left no report
        tests = {_case_name(test): test for test in _tests_in(folder / REFRAME / REPORT)}
    gave_up = _STOPPED.findall(tail(folder / OUTPUT))
    stopped = f'ReFrame says: {gave_up[-1]}' if gave_up else ''
    silence = ''
    for plan, records in cases:
        if not cut_off(records) or records.job_state:
            continue
        test = tests.get(plan.case.name, {})
        reasons = [_said_by_reframe(test) or stopped]
        # Where ReFrame was ended, and left no report, the record itself names the job.
        job = str(test.get('jobid') or '') if test else records.start.job if records.start else ''
        if job and (not test or test.get('scheduler') in SLURM):
            if not silence:
                output = Path(str(test.get('stagedir') or '')) / str(test.get('job_stderr') or '')
                job_state = job_state_of(job, tail(output))
                silence = said_by_slurm(job_state) if job_state.state == SILENT else ''
            reasons.append(silence or said_by_slurm(job_state))
        whole = '; '.join(reason for reason in reasons if reason)
        if whole:
            write_job_state(plan.records, whole, job)


def _tests_in(file: Path) -> list[Mapping[str, Any]]:
    """ReFrame's entries of checks of Seatrial. Raises OSError; ValueError where it is no report."""
    try:
        runs = read_json(file)['runs']
        return [test for run in runs for test in run['testcases'] if _NAMES.issubset(test)]
    except (KeyError, TypeError) as error:
        raise ValueError(f'{file} is not a report of ReFrame: {error!r}') from None


def plain_sessions(file: Path, state: str) -> list[tuple[str, list[str]]]:
    """The sessions of plain ReFrame in its report, one a profile, each with the cases that never had a plan, and the
    reasons; nameless where none had one. Raises OSError, ValueError for a file that is no report."""
    names, missing = dict[str, str](), dict[str, list[str]]()
    for test in _tests_in(file):
        profile, records = str(test.get('profile')), Path(str(test.get('records') or ''))
        never = missing.setdefault(profile, [])
        if not (records.is_absolute() and (records / PLAN).is_file()):
            never.append(f'{_case_name(test)}: {_said_by_reframe(test) or "there is no plan of it"}')
        elif records.parent.parent.parent == Path(state) / 'sessions':
            names[profile] = records.parent.parent.name
    return [(names.get(profile, ''), never) for profile, never in missing.items() if never or profile in names]


def _case_name(test: Mapping[str, Any]) -> str:
    """The case of an entry: a check's name in ReFrame begins with its class, and its case ends with the profile. In
    reports of Seatrial before 0.2 the case was Case.name itself: Check/partition/file system/layout/2n."""
    case = str(test['case'])
    if case.count('/') == 4:
        return case
    return f'{str(test["name"]).split()[0]}/{test["system"]}:{test["partition"]}/{case.rpartition("/")[0]}'


def _said_by_reframe(test: Mapping[str, Any]) -> str:
    """ReFrame's reason in one line; cut after the job, where it repeats the check's own words."""
    reason = str(test.get('fail_reason') or '').strip()
    if not reason or test.get('fail_phase') in ('sanity', 'performance'):
        return ''
    refused = of_sbatch(reason)
    if refused is not None:
        return said_by_slurm(refused)
    return f'ReFrame says: {reason.splitlines()[0].removeprefix("sanity error: INCOMPLETE: ")}'
