"""The order to Slurm to run a profile regularly: a scrontab entry, or a script whose jobs queue the next ones."""

import json
import math
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from rich.console import Console

from seatrial.model.plan import TrialPlan
from seatrial.model.quoted_value import shell_line
from seatrial.model.units import duration
from seatrial.scheduler import queue, series
from seatrial.scheduler.job_end import job_limit_s
from seatrial.scheduler.partitions import Partitions, partitions_of
from seatrial.site.calendar import Calendar
from seatrial.site.error import problem
from seatrial.site.model import TRIAL_FILE, Site, calendar_of

LEAD_S = 600.0  # between deadline of the session and time limit: for the running launch, report and notifications
CASE_S = 60.0  # added to the limit for each case: for ReFrame, the queue of an idle partition, the runner's start
FORMS = ('scrontab', 'sbatch')


@dataclass(frozen=True)
class Order:
    """An order to Slurm. text: the block of the scrontab, or the script; notes: advice for people."""

    form: str
    calendar: Calendar
    text: str
    notes: tuple[str, ...]


def with_block(crontab: str, marks: tuple[str, str], block: str) -> str:
    """The crontab with this block in place of the old one, or added. Raises ValueError for an unpaired mark."""
    lines = crontab.splitlines(keepends=True)
    marked = [number for number, line in enumerate(lines) if line.rstrip('\n') in marks]
    if not marked:
        missing = '\n' if block and crontab and not crontab.endswith('\n') else ''
        return crontab + missing + block
    if [lines[number].rstrip('\n') for number in marked] != list(marks):
        raise ValueError(f"the scrontab has '{marks[0]}' or its END twice or alone; correct it with scrontab -e")
    return ''.join([*lines[: marked[0]], block, *lines[marked[1] + 1 :]])


def order_of(
    site: Site, profile: str, plans: Sequence[TrialPlan], command: Sequence[str], form: str | None, at: str | None
) -> Order:
    """The order to run these plans. at: replaces the time of the schedule; form: None for the form that this
    Slurm supports; command: without --deadline. Raises QueueError; ValueError if the job can never run."""
    entry, partitions = site.schedule(profile), partitions_of(site, profile)
    calendar = calendar_of(at, entry.days) if at else entry.calendar
    limit_s = entry.time_limit or sum(job_limit_s(plan) + CASE_S for plan in plans) + LEAD_S
    deadline_s = max(limit_s - LEAD_S, limit_s / 2)
    command = [*command, f'--deadline={deadline_s // 60:.0f}min']
    path = series.series_of(site, profile)
    options = [
        *entry.access,
        f'--job-name={series.job_name(path)}',
        '--dependency=singleton',
        f'--time={-(-limit_s // 60):.0f}',
        *([f'--licenses={entry.licence}'] if entry.licence else []),
        *_geometry(site, partitions, plans),
        f'--chdir={_quoted(str(site.state))}',
        f'--output={_quoted(str(series.file_of(path, ".log")))}',
        '--open-mode=append',
    ]
    form = form or ('scrontab' if queue.has_scrontab() else 'sbatch')
    if form == 'scrontab':
        begin, end = _marks(site, profile)
        entry_line = f'{calendar.cron} exec {shell_line(command)}'
        lines = [begin, *(f'#SCRON {option}' for option in options), entry_line, end]
    else:
        lines = _script(site, profile, calendar, options, command)
    text = ''.join(f'{line}\n' for line in lines)
    if not all(line.isprintable() for line in text.splitlines()):
        raise ValueError(f'{site.folder}: a path that cannot be printed cannot stand in a script')
    return Order(form, calendar, text, tuple(_notes(site, profile, partitions, calendar, limit_s)))


def beyond_schedule(site: Site, profile: str, plans: Sequence[TrialPlan]) -> list[str]:
    """A problem of trial.yaml if the cases of a scheduled profile can take longer than its job."""
    entry = site.trial_file.schedule.get(profile)
    if entry is None or not entry.time_limit or _budgets_s(plans) <= entry.time_limit:
        return []
    enough_min = math.ceil((_budgets_s(plans) + LEAD_S) / 60)
    sentence = (
        f'the budgets of its cases add up to {duration(_budgets_s(plans))}, more than '
        f'{duration(entry.time_limit)}; write time_limit: {enough_min}min, or lower the budgets of the trials'
    )
    return [problem(TRIAL_FILE, ['schedule', profile, 'time_limit'], sentence)]


def overlapping(site: Site, profile: str, plans: Sequence[TrialPlan]) -> list[str]:
    """A sentence if the cases of a scheduled profile can reach into its next run."""
    entry = site.trial_file.schedule.get(profile)
    if entry is None or _budgets_s(plans) <= (period_s := _shortest_period_s(entry.calendar)):
        return []
    return [
        f'the budgets of the cases add up to {duration(_budgets_s(plans))}, but a run is due every '
        f'{duration(period_s)}, so the next one waits; lower the budgets of the trials, or name fewer days'
    ]


def _budgets_s(plans: Sequence[TrialPlan]) -> float:
    return sum(plan.stopping.budget_s for plan in plans)


def _shortest_period_s(calendar: Calendar) -> float:
    moments = calendar.after(datetime.now().astimezone(), 8)
    return min((after - before).total_seconds() for before, after in pairwise(moments))


def _quoted(value: str) -> str:
    """A value quoted for a line of Slurm options. Raises ValueError for a path that --output cannot name."""
    if '\\' in value:
        remedy = 'choose another folder for state'
        raise ValueError(f'{value}: Slurm writes no output below a path with a backslash; {remedy}')
    return value if re.fullmatch(r'[\w./%+-]+', value) else '"' + value.replace('"', '\\"') + '"'


def _geometry(site: Site, partitions: Partitions, plans: Sequence[TrialPlan]) -> list[str]:
    if partitions.submit:
        return ['--nodes=1', '--ntasks=1']
    tasks = max(site.partition(plan.case.partition).tasks_per_node for plan in plans)
    return [f'--nodes={max(plan.case.nodes for plan in plans)}', f'--ntasks-per-node={tasks}', '--exclusive']


def _notes(site: Site, profile: str, partitions: Partitions, calendar: Calendar, limit_s: float) -> list[str]:
    """Advice for the user who enables the order. Raises ValueError for an order that could never run."""
    entry = site.schedule(profile)
    notes = []
    if not entry.time_limit:
        notes.append(
            f'time limit {duration(limit_s)}: the sum of the budgets and longest launches of the cases, '
            'without waiting in the queue; time_limit in the schedule of trial.yaml sets another'
        )
    if limit_s > _shortest_period_s(calendar):
        notes.append('the time limit is longer than the time between two runs: a run waits for the one before it')
    if not partitions.submit:
        return notes
    if entry.licence and {word.partition(':')[0] for word in entry.licence.split(',')} & partitions.licences:
        raise ValueError(
            f'the job holds the licence {entry.licence}, so its cases would wait for it for ever; remove it from '
            'access in settings.py'
        )
    of_job = Partitions.of(entry.access)
    shared = sorted(partitions.names & of_job.names)
    if partitions.exclusive and (shared or not of_job.names):
        where = f'partition {shared[0]}' if shared else 'the default partition'
        notes.append(
            f'the job takes a core of {where}, so a case that needs all of its nodes exclusively would never start; '
            'in the schedule of trial.yaml, name a partition with other nodes in access'
        )
    return notes


def _marks(site: Site, profile: str) -> tuple[str, str]:
    return f'# BEGIN seatrial {profile} of {site.folder}', f'# END seatrial {profile} of {site.folder}'


def _script(site: Site, profile: str, calendar: Calendar, options: list[str], command: Sequence[str]) -> list[str]:
    return [
        '#!/bin/sh',
        f'# Seatrial: {profile} of {site.folder}, {calendar.words}',
        '# seatrial schedule --install submits it; the argument is the time at which the job is due. Each job keeps',
        f'# the next {series.AHEAD} in the queue; seatrial schedule --remove ends that.',
        *(f'#SBATCH {option}' for option in options),
        '#SBATCH --no-requeue',
        '#SBATCH --export=HOME,LANG,PATH',
        f'exec {shell_line([*command, f"--series={series.series_of(site, profile)}"])} --due="$1"',
    ]


def install(screen: Console, site: Site, profile: str, order: Order) -> None:
    site.make_directories()
    path = series.series_of(site, profile)
    with series.alone(series.file_of(path, series.QUEUE_LOCK)):
        before = series.scheduled(path)
        if before is not None and before.form != order.form:
            _take_out(screen, site, profile, before.form)
        if order.form == 'scrontab':
            added = _change_scrontab(site, profile, order.text)
            changed = ['the entry was added to the scrontab; no other line was changed'] if added else []
        else:
            script = series.file_of(path, series.SCRIPT)
            if not script.is_file() or script.read_text(encoding='utf-8') != order.text:
                series.put(script, order.text)
                queue.cancel_pending(series.waiting(path))
            changed = series.keep_in_queue(path, order.calendar, datetime.now().astimezone())
        if before is None or (before.calendar, before.form) != (order.calendar, order.form):
            record = {'calendar': order.calendar, 'since': time.time(), 'form': order.form}
            series.put(series.file_of(path, '.json'), json.dumps(record) + '\n')
        series.file_of(path, series.REMOVED).unlink(missing_ok=True)
    for line in changed or [f'already enabled by {order.form}; nothing was changed']:
        screen.print(line, soft_wrap=True)
    screen.print(f'  next run: {order.calendar.after(datetime.now().astimezone())[0]:%Y-%m-%d %H:%M}')
    screen.print(f'  log:      {series.file_of(path, ".log")}', soft_wrap=True)
    screen.print(f'  metrics:  {series.metrics_file(site, profile)}', soft_wrap=True)


def _change_scrontab(site: Site, profile: str, block: str) -> bool:
    """Replaces the old block with this one; True if that changes the scrontab."""
    old = queue.crontab()
    new = with_block(old, _marks(site, profile), block)
    if new != old:
        queue.write_crontab(new)
    return new != old


def remove(screen: Console, site: Site, profile: str) -> None:
    """Takes the order out of Slurm, even if its record is lost and only Slurm has it."""
    path = series.series_of(site, profile)
    with series.alone(series.file_of(path, series.QUEUE_LOCK)):
        before = series.scheduled(path)
        removed = [_take_out(screen, site, profile, form) for form in ([before.form] if before else _forms())]
        series.file_of(path, '.json').unlink(missing_ok=True)
        if before is None and not any(removed):
            screen.print(f'nothing is enabled for {site.name}, profile {profile}')
            return
        series.put(series.file_of(path, series.REMOVED), '')
    screen.print('disabled; the history, the log and the metrics are kept')


def _forms() -> list[str]:
    if shutil.which('squeue') is None:
        return []
    return list(FORMS) if queue.has_scrontab() else ['sbatch']


def _take_out(screen: Console, site: Site, profile: str, form: str) -> bool:
    """Takes an order of this form out of Slurm; True if there was one."""
    if form == 'scrontab':
        removed = _change_scrontab(site, profile, '')
        if removed:
            screen.print('the entry was removed from the scrontab; no other line was changed')
        return removed
    path = series.series_of(site, profile)
    jobs = series.waiting(path)
    queue.cancel_pending(jobs)
    series.file_of(path, series.SCRIPT).unlink(missing_ok=True)
    for job in jobs:
        screen.print(f'job {job.id} was removed from the queue')
    return bool(jobs)
