"""The ReFrame side of a check: what one class body and fifteen declarative lines do not say."""

import contextlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.meta import make_test

from seatrial.check.criteria import criteria_of, with_references
from seatrial.check.darshan import keep_darshan_run
from seatrial.check.declared import CheckError, Declared, declare, declared
from seatrial.check.planning import Unplannable, cases_of, planned
from seatrial.check.session import Session, current, refuse
from seatrial.check.staging import claim_records, job_lines, write_plan, write_runner
from seatrial.job.directory.orphans import become_leader, leader_alive
from seatrial.job.sequence.recorder import RecordReader
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import Expectation
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Case
from seatrial.model.units import duration, in_unit, unit_for
from seatrial.scheduler.job_end import ENDED, Patience, ask_job_state, is_overdue, job_limit_s, limit_wait
from seatrial.scheduler.partitions import SLURM
from seatrial.scheduler.session_jobs import comment_option
from seatrial.site.error import SiteError
from seatrial.site.references import REFERENCES_FILE


class Check(rfm.RunOnlyRegressionTest):
    """A check whose job is Seatrial's runner and whose verdict is read from the runner's own record.

    It declares workload (a template, by a function of seatrial.workload), sweep, expectations and, if it is not 10 %,
    the relative error.

    The same verdict stands under `seatrial run` and under plain `reframe -r`: INVALID and INCOMPLETE are sanity
    failures; FAIL, and INCONCLUSIVE whose message begins with that word, are performance failures; PASS and MEASURED
    pass, and the variable `verdict` of ReFrame's report says which it is. Failures are raised after the performance
    stage, so that the measured values stay in that report.

    ReFrame compares means with references.yaml by itself and keeps what it finds in its report, but does not raise
    it (strict_check): the intervals decide, and they never pass a mean that is out of bounds.
    """

    case = parameter(loggable=True, fmt=lambda case: case.name)
    file_system = variable(str, value='', loggable=True)
    layout = variable(str, value='', loggable=True)
    num_nodes = variable(int, value=0, loggable=True)
    profile = variable(str, value='', loggable=True)
    verdict = variable(str, value='', loggable=True)
    valid_prog_environs = ['*']
    strict_check = False
    max_relative_error = 0.10
    expectations: tuple[Expectation, ...] = ()
    covers: tuple[str, ...] = ()
    every_point = False
    first = False

    @run_after('init')
    def take_case(self) -> None:
        self.trial_session, self.trial_fault = _session(), ''
        self.valid_systems = [self.case.partition]
        self.descr = self.declared.title
        try:
            self.trial_plan = planned(self.trial_session, self.declared, self.case)
        except Unplannable as error:
            self.trial_fault = str(error)
            return
        self.file_system, self.layout, self.num_nodes = self.case.file_system, self.case.layout, self.case.nodes
        self.profile = self.trial_session.profile.name
        self.num_tasks_per_node = max(point.tasks_per_node for point in self.trial_plan.points)
        self.num_tasks = self.num_nodes * self.num_tasks_per_node
        self.time_limit = f'{int(job_limit_s(self.trial_plan))}s'
        self.max_pending_time = f'{int(self.trial_session.site.partition(self.case.partition).queue_limit)}s'

    @run_after('setup')
    def raise_fault(self) -> None:
        # Raised where ReFrame counts it: what cannot be planned must not end as "PASSED Ran 0/0".
        if self.trial_fault:
            raise SanityError(f'INCOMPLETE: {self.trial_fault}')

    @run_before('run')
    def stage(self) -> None:
        # Not earlier: what is raised while ReFrame loads its tests makes them disappear, with exit status 0.
        self.trial_criteria = criteria_of(_checked_session(), self.declared, self.case)
        if not _has_leader():
            raise SanityError('INCOMPLETE: the session has died before the case began')
        self.trial_plan = claim_records(self.trial_plan)
        self.trial_record = RecordReader(self.trial_plan.records)
        plan, runner = write_plan(self.trial_plan), _runner(self.trial_session.folder)
        python = self.trial_session.site.partition(self.case.partition).python
        carry_out, remove = job_lines(python, runner, plan)
        # A job that is told to stop ends when its runner has: a shell that dies first takes the runner with it, and
        # leaves the launch in hand running.
        self.prerun_cmds = ['trap : TERM INT']
        self.executable = carry_out
        self.postrun_cmds = [remove]
        if self.current_partition.scheduler.registered_name in SLURM:
            avoid = self.trial_session.avoid
            exclude = [f'--exclude={",".join(avoid)}'] if avoid else []
            self.job.options = [*self.job.options, comment_option(self.trial_session.id), *exclude]
            limit_wait(self.job, _patience(self))
        # The runner starts every launch itself: its geometry changes from point to point.
        self.job.launcher = getlauncher('local')()

    @run_after('run')
    def ask_of_end(self) -> None:
        scheduler = self.current_partition.scheduler
        if scheduler.registered_name not in SLURM or not self.job.jobid:
            return
        patience, known = _patience(self), ''
        if is_overdue(self.job, patience):
            limits = f'the queue_limit of trial.yaml ({duration(patience.queue_s)}) and its time limit'
            known = f'it was not over when {limits} ({duration(patience.job_s)}) had passed'
            patience = Patience(0.0, 0.0)
        elif self.job.is_cancelling and self.job.state not in ENDED:  # by ReFrame, which does so without a word
            known = f'it waited in the queue for longer than the queue_limit of trial.yaml, {patience.queue_s:.0f} s'
        output = Path(self.stagedir) / self.job.stderr
        ask_job_state(self.trial_record, scheduler.registered_name, self.job.jobid, output, patience, known)
        if not scheduler.finished(self.job):
            # It may still be there, or Slurm may begin it anew. That an ended job cannot be cancelled is no fault.
            with contextlib.suppress(ReframeError):
                self.job.cancel()

    @sanity_function
    def judge(self) -> Any:
        keep_darshan_run(self.trial_plan, self.trial_record.read())
        self.result = judge_case(self.trial_plan, self.trial_record.read(), self.trial_criteria)
        self.verdict = self.result.verdict.value
        return sn.assert_true(True)

    @run_before('performance')
    def take_metrics(self) -> None:
        # ReFrame compares numbers without their units: each stands in the unit of its reference.
        written = {each.metric: each.unit for each in self.trial_criteria.references}
        self.perf_variables = {}
        for each in self.result.metrics:
            if each.summary is not None:
                mean = each.summary.mean
                unit = written.get(each.metric) or unit_for(mean, each.unit, self.trial_session.site.units)
                figure = sn.defer(in_unit(mean, unit))
                self.perf_variables[each.metric] = sn.make_performance_function(figure, unit or 'count')
        if self.result.references:
            session = self.trial_session
            folder = session.site.folder if session.plain else session.folder
            self.reference = {'$ref': str(folder / REFERENCES_FILE)}

    @run_after('performance')
    def raise_verdict(self) -> None:
        said = f'{self.result.verdict.value}: {"; ".join(self.result.reasons[:3])}'
        if self.result.verdict in (Verdict.INVALID, Verdict.INCOMPLETE):
            raise SanityError(said)
        if not self.result.verdict.unopposed:
            raise PerformanceError(said)


def _patience(check: Check) -> Patience:
    queue_s = check.trial_session.site.partition(check.case.partition).queue_limit
    return Patience(queue_s, job_limit_s(check.trial_plan))


def trial(cls: type[Any]) -> type[Any]:
    """Register a check, with one ReFrame case for each case that trial.yaml gives it in this session.

    In place of rfm.simple_test: the number of variants of a ReFrame test is fixed when it is registered. A check
    without cases is not registered; the completeness gate knows of it all the same.
    """
    session = current()
    try:
        cls.declared = declare(cls, Path(inspect.getfile(cls)))
    except CheckError as error:
        if session is None:
            raise
        refuse([str(error)])
    if session is None:
        return cls
    cases = cases_of(session, cls.declared) or _placeholder(session, cls.declared)
    if not cases:
        return cls
    body = {'case': parameter(cases, fmt=lambda case: case.name, loggable=True)}
    made: type[Any] = rfm.simple_test(make_test(cls.__name__, (cls,), body, module=cls.__module__))
    return made


def _placeholder(session: Session, check: Declared) -> list[Case]:
    """For plain ReFrame, where the site has no case at all for the profile: one that fails and says so."""
    if session.plain and not any(session.profile.name in each.profiles for each in session.site.trial_file.trials):
        return [Case(check.name, '*', 'none', 'none', 0)]
    return []


def _session() -> Session:
    session = current()
    assert session is not None, 'a check with cases belongs to a session'
    return session


@cache
def _checked_session() -> Session:
    """The session with its references: plain ReFrame has them checked here, `seatrial run` before it started."""
    session = _session()
    try:
        return with_references(session, declared(), complete=False) if session.plain else session
    except SiteError as error:
        raise ReframeError('; '.join(error.problems)) from None


@cache
def _leader() -> Any:
    return become_leader(_session().site.state, _session().id)


_runner = cache(write_runner)


def _has_leader() -> bool:
    """Whether somebody still waits for the session; of plain ReFrame that is this process."""
    session = _session()
    if session.plain:
        return _leader() is not None
    return leader_alive(session.site.state, session.id) is not None
