"""The ReFrame side of a check: everything beyond the declarative lines of its class, its variants and their tags."""

import contextlib
import inspect
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import reframe as rfm
import reframe.utility.sanity as sn
from pydantic import ValidationError
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.meta import make_test

from seatrial.check.catalogue import rows_of
from seatrial.check.criteria import criteria_of, with_references
from seatrial.check.darshan.logs import keep_darshan_run
from seatrial.check.declared import CheckError, Declared, declare, declared
from seatrial.check.planning import Unplannable, cases_of, planned
from seatrial.check.session import Session, current, of_profile, refuse
from seatrial.check.staging import RUNNER, claim_records, job_line, write_plan, write_runner
from seatrial.engine.registry import NAMES
from seatrial.job.directory.orphans import become_leader, leader_alive
from seatrial.job.sequence.recorder import RecordReader
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import Expectation
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Case
from seatrial.model.quoted_value import choice, show
from seatrial.model.units import in_unit, unit_for
from seatrial.scheduler.job_end import Patience, Wait, ask_job_state, job_limit_s
from seatrial.scheduler.partitions import SLURM
from seatrial.scheduler.session_jobs import comment_option
from seatrial.site.error import SiteError
from seatrial.site.load import problem_of
from seatrial.site.model import Overrides, Site
from seatrial.site.profile import PROFILES
from seatrial.site.references import REFERENCES_FILE
from seatrial.site.yaml_file import parse
from seatrial.workload.registry import hurts, kind_of, metrics_at
from seatrial.workload.sweep import examples
from seatrial.workload.words import by_key

ENVIRONMENT_PROFILE = 'SEATRIAL_PROFILE'  # for plain ReFrame if neither a mode nor -S names one; unset: all
ENGINE = 'engine'
SETTABLE = (ENGINE, *Overrides.model_fields)  # variables of every check; empty: site, check or profile decides
SKIP, FAIL = 'skip', 'fail'  # of `-S undecided`, for MEASURED (else it passes) and INCONCLUSIVE (else it fails)

DECIDED = {  # variables of ReFrame and of a check that `-S` cannot set, with the alternative
    'valid_systems': 'trial.yaml says on which partitions a case runs; choose cases with -n, -t, -E or --system',
    **dict.fromkeys(
        ('file_system', 'layout', 'num_nodes', 'tags'), 'it belongs to the case; choose cases with -n, -t or -E'
    ),
    'num_tasks': 'set tasks_per_node or max_tasks',
    'num_tasks_per_node': 'set tasks_per_node',
    'time_limit': 'it is computed from the plan; set budget',
    'max_pending_time': 'write queue_limit under partitions of trial.yaml',
    'executable': 'every check starts the runner of Seatrial; set engine',
    **dict.fromkeys(('prerun_cmds', 'postrun_cmds'), 'write prepare_cmds under the partition in settings.py'),
    'reference': 'write references.yaml beside settings.py',
    'perf_variables': 'they are the metrics of the workload',
    'records': 'they are kept in the state directory of trial.yaml',
    'verdict': 'it is the result of the case',
}

_ACCESS_CLASS = re.compile(r'\b[SM]F[WS]A\b')


class Variant(NamedTuple):
    profile: str
    file_system: str
    layout: str
    nodes: int
    partitions: tuple[str, ...]  # system:partition

    def __str__(self) -> str:
        return f'{self.file_system}/{self.layout}/{self.nodes}n/{self.profile}'

    def on(self, check: str, partition: str) -> Case:
        return Case(check, partition, self.file_system, self.layout, self.nodes)


def variants_of(session: Session, declared: Declared) -> list[Variant]:
    """The variants for the session's profile; in plain ReFrame for every profile, selected by tags."""
    by_case = by_key(
        ((profile.name, case.file_system, case.layout, case.nodes), case.partition)
        for profile in (PROFILES.values() if session.plain else (session.profile,))
        for case in cases_of(replace(session, profile=profile), declared)
    )
    return [Variant(*key, tuple(partitions)) for key, partitions in by_case.items()]


def tags_of(declared: Declared) -> set[str]:
    """The tags of all cases of a check: its kind, and the tests of the sources that it covers."""
    point = examples(declared.sweep, declared.workload)[0]
    kind, units = kind_of(point.kind), {measure.unit for measure in metrics_at(point)}
    applies = {
        'data': kind.moves_data or 'B/s' in units,
        'metadata': not kind.moves_data and 'op/s' in units,
        'destructive': hurts(point),
    }
    tags = {tag for tag, true in applies.items() if true}
    return {declared.family, *_ACCESS_CLASS.findall(kind.title_of(point)), *tags, *rows_of(declared)}


def tags_of_case(site: Site, variant: Variant) -> set[str]:
    """The tags of one case: its profile, and its scale in the words of EESSI's test suite."""
    trials = [trial for trial in site.trial_file.trials if not set(trial.partitions).isdisjoint(variant.partitions)]
    whole = variant.nodes == max(number for trial in trials for number in trial.nodes)
    scale = '1_node' if variant.nodes == 1 else f'{variant.nodes}_nodes'
    return {variant.profile, scale, *(['all_nodes'] if whole else [])}


class Check(rfm.RunOnlyRegressionTest):
    """A check whose job is Seatrial's runner and whose verdict is read from the runner's record.

    A subclass declares workload (by a function of seatrial.workload), sweep, expectations and, if it is not 10 %, the
    relative error. `-S` sets the variables of SETTABLE, but not those of DECIDED.

    The verdict is the same under `seatrial run` and plain `reframe -r`: INVALID and INCOMPLETE are sanity failures;
    FAIL and INCONCLUSIVE, with the verdict first in the message, are performance failures; PASS and MEASURED pass,
    and the variable `verdict` in ReFrame's report distinguishes them. If undecided is SKIP or FAIL, a MEASURED or
    INCONCLUSIVE case is skipped or fails, with the reason. All of this is raised after the performance stage, so that
    the measured values stay in that report.

    ReFrame also compares means with references.yaml and keeps the result in its report, but raises no error for it
    (strict_check): the intervals decide, and they never pass a mean that is out of bounds."""

    case = parameter(loggable=True, fmt=Variant.__str__)
    file_system = variable(str, value='', loggable=True)
    layout = variable(str, value='', loggable=True)
    num_nodes = variable(int, value=0, loggable=True)
    profile = variable(str, value=os.environ.get(ENVIRONMENT_PROFILE, ''), loggable=True)
    undecided = variable(str, value='')
    verdict = variable(str, value='', loggable=True)
    records = variable(str, value='', loggable=True)  # the directory of the record, once the case is planned
    valid_prog_environs = ['*']
    strict_check = False
    max_relative_error = 0.10
    expectations: tuple[Expectation, ...] = ()
    covers: tuple[str, ...] = ()
    every_point = False
    first = False

    @run_after('init')
    def take_case(self) -> None:
        _refuse_impossible(self)
        session = of_profile(self.case.profile)
        self.skip_if(session.plain and self.profile not in ('', self.case.profile), 'it belongs to another profile')
        self.valid_systems = list(self.case.partitions)
        self.descr = self.declared.title
        self.tags = self.tags_of_check | tags_of_case(session.site, self.case)
        self.profile, self.file_system, self.layout, self.num_nodes, _ = self.case

    @run_after('setup')
    def plan(self) -> None:
        # --skip-system-check and -P can ask for cases that trial.yaml does not have.
        partition = self.current_partition.fullname
        selected = self.profile, self.file_system, self.layout, self.num_nodes
        if partition not in self.case.partitions or selected != self.case[:4]:
            raise SanityError(f'INCOMPLETE: no trial of trial.yaml has {"/".join(map(str, selected))} on {partition}')
        self.trial_case = self.case.on(self.declared.name, partition)
        try:
            self.trial_session = _with_settings(self)
            if self.trial_session.plain and not self.is_dry_run():  # repetitions depend on references
                self.trial_session = replace(self.trial_session, references=_checked_session(self.profile).references)
            self.trial_plan = planned(self.trial_session, self.declared, self.trial_case)
        except (SiteError, Unplannable) as error:
            raise SanityError(f'INCOMPLETE: {error}') from None
        self.records = self.trial_plan.records
        self.num_tasks_per_node = max(point.tasks_per_node for point in self.trial_plan.points)
        self.num_tasks = self.num_nodes * self.num_tasks_per_node
        self.time_limit = f'{int(job_limit_s(self.trial_plan))}s'
        if self.current_partition.scheduler.registered_name not in SLURM:  # for Slurm, Wait applies the limit
            self.max_pending_time = f'{int(self.trial_session.site.partition(partition).queue_limit)}s'

    @run_before('run')
    def stage(self) -> None:
        if self.is_dry_run():
            self.trial_plan = self.trial_plan._replace(records=self.stagedir)
        else:
            # Not earlier: an error while ReFrame loads its tests drops them silently, with exit status 0.
            self.trial_criteria = criteria_of(_checked_session(self.profile), self.declared, self.trial_case)
            # A process must still lead the session; in plain ReFrame it is this one.
            session = self.trial_session
            key = session.site.state, session.id
            if (_leader(*key) if session.plain else leader_alive(*key)) is None:
                raise SanityError('INCOMPLETE: the session has died before the case began')
            self.trial_plan = claim_records(self.trial_plan)
        self.records = self.trial_plan.records
        self.trial_record = RecordReader(self.records)
        plan = write_plan(self.trial_plan)
        runner = plan.with_name(RUNNER) if self.is_dry_run() else _runner(self.trial_session.folder)
        python = self.trial_session.site.partition(self.trial_case.partition).python
        # On a signal to stop, the shell of the job waits for its runner. A shell that ended first would take the
        # runner with it, and leave the current launch running.
        self.prerun_cmds = ['trap : TERM INT']
        self.executable = job_line(python, runner, plan)
        if self.current_partition.scheduler.registered_name in SLURM:
            avoid = self.trial_session.avoid
            exclude = [f'--exclude={",".join(avoid)}'] if avoid else []
            self.job.options = [*self.job.options, comment_option(self.trial_session.id), *exclude]
            self.job_wait = Wait(self.job, _patience(self))
        # The runner starts every launch itself, because the geometry differs between points.
        self.job.launcher = getlauncher('local')()

    @run_after('run')
    def ask_of_end(self) -> None:
        scheduler = self.current_partition.scheduler
        if scheduler.registered_name not in SLURM or not self.job.jobid:
            return
        wait, job_key = self.job_wait, (scheduler.registered_name, self.job.jobid)
        if wait.passed and not wait.overdue:
            self.cancel_job()
        patience = Patience(0.0, 0.0) if wait.overdue else _patience(self)
        ask_job_state(self.trial_record, *job_key, Path(self.stagedir) / self.job.stderr, patience, wait.passed)
        if not (scheduler.finished(self.job) or self.job.is_cancelling):
            self.cancel_job()  # it may still be queued or running, or be requeued by Slurm

    def cancel_job(self) -> None:
        with contextlib.suppress(ReframeError):  # an ended job cannot be cancelled, which is no fault
            self.job.cancel()

    @sanity_function
    def judge(self) -> Any:
        keep_darshan_run(self.trial_plan, self.trial_record.read())
        self.result = judge_case(self.trial_plan, self.trial_record.read(), self.trial_criteria)
        self.verdict = self.result.verdict.value
        return sn.assert_true(True)

    @run_before('performance')
    def take_metrics(self) -> None:
        if self.is_dry_run():
            return
        # ReFrame compares numbers without units, so every mean is in the unit of its reference.
        units = {reference.metric: reference.unit for reference in self.trial_criteria.references}
        self.perf_variables = {}
        for metric in self.result.metrics:
            if metric.summary is not None:
                mean = metric.summary.mean
                unit = units.get(metric.metric) or unit_for(mean, metric.unit, self.trial_session.site.units)
                figure = sn.defer(in_unit(mean, unit))
                self.perf_variables[metric.metric] = sn.make_performance_function(figure, unit or 'count')
        if self.result.references:
            session = self.trial_session
            folder = session.site.folder if session.plain else session.folder
            self.reference = {'$ref': str(folder / REFERENCES_FILE)}

    @run_after('performance')
    def raise_verdict(self) -> None:
        if self.is_dry_run():
            return
        verdict = self.result.verdict
        message = f'{verdict.value}: {"; ".join(self.result.reasons[:3]) or "valid, and without a pass criterion"}'
        if verdict in (Verdict.INVALID, Verdict.INCOMPLETE):
            raise SanityError(message)
        outcome = self.undecided if verdict in (Verdict.MEASURED, Verdict.INCONCLUSIVE) else ''
        self.skip_if(outcome == SKIP, message)
        if not verdict.unopposed or outcome == FAIL:
            raise PerformanceError(message)


def _patience(check: Check) -> Patience:
    queue_s = check.trial_session.site.partition(check.trial_case.partition).queue_limit
    return Patience(queue_s, job_limit_s(check.trial_plan))


def trial(cls: type[Any]) -> type[Any]:
    """Registers a check with the variants for its cases in trial.yaml; a variant may cover several partitions. It
    replaces rfm.simple_test, because the number of variants of a ReFrame test is fixed when it is registered. A check
    without cases is not registered, but the completeness gate still has it."""
    session = current()
    try:
        cls.declared = declare(cls, Path(inspect.getfile(cls)))
        cls.tags_of_check = tags_of(cls.declared) if session else set()
    except CheckError as error:
        if session is None:
            raise
        refuse([str(error)])
    if session is None:
        return cls
    if not (cases := variants_of(session, cls.declared)):
        return cls
    settable = {name: variable(str, value='', loggable=True) for name in SETTABLE}
    body = {'case': parameter(cases, fmt=Variant.__str__, loggable=True), **settable}
    made: type[Any] = rfm.simple_test(make_test(cls.__name__, (cls,), body, module=cls.__module__))
    return made


def _refuse_impossible(check: Check) -> None:
    """Ends ReFrame if -S or SEATRIAL_PROFILE asks for something impossible, which ReFrame would ignore."""
    if '.nid' in type(check).raw_params:
        refuse(['--distribute: trial.yaml sets the nodes of a case; the checks tagged isolation compare nodes'])
    profile, session = check.profile, of_profile(check.case.profile)
    problems = [
        f'-S {name}: {type(check).__name__} has a fixed value: {why}. For another suite: -S CLASS.{name}=VALUE'
        for name, why in DECIDED.items()
        if _was_set(check, name)
    ]
    asked = {name for trial in session.site.trial_file.trials for name in trial.profiles}
    if session.plain and profile and profile not in asked:
        known = choice(profile, [name for name in PROFILES if name in asked])
        message = f'no trial in trial.yaml has the profile {show(profile)}; {known}'
        problems.append(f'{message} (a mode, -S profile=NAME, or {ENVIRONMENT_PROFILE})')
    if check.undecided not in ('', SKIP, FAIL):
        problems.append(f'-S undecided: {show(check.undecided)} is neither {SKIP} nor {FAIL}')
    try:
        _with_settings(check)
    except SiteError as error:
        problems += error.problems
    if problems:
        refuse(problems)


def _was_set(check: Check, name: str) -> bool:
    """True if the class of a test has a default for this variable that differs from that of Check."""
    here, default = type(check).var_space[name], Check.var_space[name]
    return here.is_defined() and not (default.is_defined() and default == here)


def _with_settings(check: Check) -> Session:
    """The session with the values of `-S` in place of those of every trial. Raises SiteError for an invalid value."""
    session = of_profile(check.case.profile)
    texts = {name: text for name in SETTABLE if (text := getattr(check, name))}
    if not texts or not session.plain:
        return session
    values = {name: parse(text, f'-S {name}') for name, text in texts.items()}
    engine = values.pop(ENGINE, None)
    if engine is not None:
        if engine not in NAMES:
            raise SiteError([f'-S {ENGINE}: {show(engine)} is not an engine; {choice(engine, NAMES)}'])
        session = replace(session, engines=session.site.engine_choices(engine))
    try:
        fixed = Overrides.model_validate(values).model_dump(include=set(values))
    except ValidationError as error:
        raise SiteError([problem_of(detail, '-S', Overrides) for detail in error.errors(include_url=False)]) from None
    trials = [trial.model_copy(update=fixed) for trial in session.site.trial_file.trials]
    return replace(session, site=session.site.with_trials(trials))


@cache
def _checked_session(profile: str) -> Session:
    """The session with its references, checked here in plain ReFrame and before the start by `seatrial run`."""
    session = of_profile(profile)
    try:
        if not session.plain:
            return session
        session.site.make_directories()
        return with_references(session, declared(), complete=False)
    except SiteError as error:
        raise ReframeError('; '.join(error.problems)) from None


_leader, _runner = cache(become_leader), cache(write_runner)
