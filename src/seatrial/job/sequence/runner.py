"""The job on the node: it carries a trial plan out and records the evidence. It decides no verdict."""

import contextlib
import errno
import itertools
import os
import platform
import time
import traceback
from typing import Any, Dict, Iterator, NamedTuple, Optional

from seatrial.engine.failed_call import FailedCall
from seatrial.filesystem.registry import by_type
from seatrial.job.directory import lock, rundir
from seatrial.job.directory.orphans import keep_heartbeat
from seatrial.job.launch.blocked import Blocked
from seatrial.job.launch.processes import LaunchGivenUp
from seatrial.job.sequence import start
from seatrial.job.sequence.blocks import measure
from seatrial.job.sequence.confirm import measure_again
from seatrial.job.sequence.drill import drill_down
from seatrial.job.sequence.evidence import of_failed_call
from seatrial.job.sequence.layouts import TRIED, Layouts, without_closed
from seatrial.job.sequence.proof import prove, reserved_s
from seatrial.job.sequence.recorder import Recorder
from seatrial.job.sequence.sizing import by_warm_up
from seatrial.job.sequence.start import ENTRIES, Interrupted, Refused, Signals, Trial
from seatrial.job.sequence.telemetry import observed
from seatrial.model.plan import TrialPlan
from seatrial.model.record import FAILED, FINISHED, INTERRUPTED, REFUSED, End, Finding
from seatrial.rules.launch import rule_of_errno
from seatrial.workload.registry import kept, kind_of


class _Job(NamedTuple):
    """A run's inputs; ended: further fields of its end record, filled in on the way."""

    plan: TrialPlan
    recorder: Recorder
    signals: Signals
    blocked: Blocked
    ended: Dict[str, Any]


def run(plan: TrialPlan, blocked: Optional[Blocked] = None) -> End:
    """Carry the plan out; always leaves an end record. blocked: the watching process's. Raises AlreadyRecorded."""
    job = _Job(plan, Recorder(plan.records), Signals(), blocked or Blocked(), {'stopped': {}, 'background': {}})
    recorder, signals = job.recorder, job.signals
    try:
        _guarded(job)
        reason, why = FINISHED, 'no launch was left that the plan asks for and its budget allows'
    except Interrupted as error:
        reason, why = INTERRUPTED, str(error)
    except (Refused, lock.LockError, rundir.RunDirectoryError, LaunchGivenUp) as error:
        # A signal also reaches the programs of the job; their silence is then no reason to refuse it.
        if signals.stopping():
            reason, why = INTERRUPTED, signals.sentence()
        elif isinstance(error, LaunchGivenUp):
            reason, why = FAILED, f'a launch was given up: {error}'
        else:
            reason, why = REFUSED, str(error)
    except OSError as error:
        reason, why = FAILED, f'the job could not go on: {error}'
    except Exception as error:
        with open(os.path.join(recorder.raw, 'runner-error.txt'), 'w') as stream:
            traceback.print_exc(file=stream)
        reason, why = FAILED, f'an error of Seatrial itself: {error!r}; see raw/runner-error.txt and report it'
    end = End(reason, why, time.time(), **job.ended)
    recorder.write(end)
    recorder.sync()
    recorder.close()
    signals.restore()
    return end


def _guarded(job: _Job) -> None:
    """Hold the lock of the storage system, and renew the session's heartbeat, while the plan is carried out."""
    plan = job.plan
    try:
        held = lock.acquire(plan.state, plan.target.storage_system, plan.session)
    except lock.LockHeld as error:
        start.begin(plan, job.recorder, start.examined(plan, str(error)), '')
        raise AssertionError('a held lock refuses the run') from error
    with held, contextlib.ExitStack() as alive:
        alive.callback(keep_heartbeat(plan.state, plan.session).stop)
        try:
            _carry_out(job, held)
        except rundir.RunDirectoryError as error:
            job.ended['findings'] = tuple(_of_storage(job, error))
            raise


def _of_storage(job: _Job, error: rundir.RunDirectoryError) -> Iterator[Finding]:
    """Findings if a call of the job itself failed on the storage. A read-only one may always have been so."""
    name = errno.errorcode.get(error.errno or 0, '')
    if rule_of_errno(name, error.on_descriptor) == 'F1' and ('placed' in job.ended or name != 'EROFS'):
        target = error.target or by_type(job.plan.target.type).behind(job.plan.target.path, '', None)
        failed = FailedCall(name, error.on_descriptor, platform.node(), error.path)
        yield of_failed_call(failed, error.why, target)


def _carry_out(job: _Job, held: lock.Lock) -> None:
    plan = job.plan
    begun = _begun(job, held)
    trial = begun._replace(deadline=begun.deadline - reserved_s(plan))
    driver = trial.setup.driver
    job.ended['placed'] = driver.placed(trial.setup.run.path)
    with observed(plan.target, job.recorder.directory, driver, job.ended['background']) as waited:
        trial = trial._replace(waited=waited if kind_of(plan.kind).moves_data else trial.waited)
        measure(trial, by_warm_up(trial), job.ended['stopped'])
        if plan.axis.equals and not plan.stopping.fixed:
            measure_again(trial)
        drill_down(trial)
        prove(trial)
    job.ended['state'] = driver.state(plan.target.path)


def _begun(job: _Job, held: lock.Lock) -> Trial:
    """The trial with its start recorded and its run directory made; Refused where it must not begin."""
    plan, seen = job.plan, start.examined(job.plan, None)
    job.signals.check()
    place = plan.target.path, plan.session, plan.case.name
    chosen = start.begin(plan, job.recorder, seen, rundir.path_of(*place))
    start.prove_launcher(plan, chosen)
    run_directory = rundir.create(*place, ENTRIES, (*chosen.engine.makes, TRIED), kept(plan), plan.state)
    setup = start.setup_of(plan, chosen, run_directory)
    plan = without_closed(plan, setup.driver)
    return Trial(
        plan=plan,
        recorder=job.recorder,
        signals=job.signals,
        held=held,
        blocked=job.blocked,
        program=chosen.program,
        seen=seen,
        setup=setup,
        layouts=Layouts(plan, setup.driver, run_directory),
        deadline=time.monotonic() + plan.stopping.budget_s,
        counter=itertools.count(1),
        rates=[],
        beside_s={},
        nodes=start.named_nodes(plan),
    )
