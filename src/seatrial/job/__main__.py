"""`python3 runner.pyz run remove PLAN`: the two steps of a job, inside the allocation, in one process: an interpreter
that starts for the second takes longer than most directories take to remove."""

import contextlib
import sys
import time
from functools import partial
from typing import Callable, List, Optional, TextIO, Tuple

from seatrial.filesystem.base import mounted_from
from seatrial.filesystem.registry import by_type
from seatrial.job.directory.removal import removed, worked_s
from seatrial.job.launch.blocked import Blocked, LeftBehind, patience_s, watched
from seatrial.job.sequence.recorder import AlreadyRecorded, append, records_in
from seatrial.model.atomic_file import keep_from_others
from seatrial.model.owned import shared
from seatrial.model.plan import TrialPlan, read_plan
from seatrial.model.record import FAILED, FINISHED, INTERRUPTED, REFUSED, End, Removal
from seatrial.rules.registry import finding
from seatrial.workload.registry import kept, kind_of

USAGE, UNFINISHED = 64, 13
EXITS = {FINISHED: 0, REFUSED: UNFINISHED, INTERRUPTED: UNFINISHED, FAILED: UNFINISHED}


def main(arguments: List[str]) -> int:
    """Carry out the steps; returns the status of the last. 0: done; 13: not all of it ran, the end record says why;
    64: no valid plan."""
    *steps, path = arguments or ['']
    if not steps or not set(steps) <= {'run', 'remove'}:
        return _refuse('usage: runner.pyz [run] [remove] PLAN')
    try:
        faults = shared(path)  # this node may reach the state directory another way
        if faults:
            raise ValueError(faults[0].why)
        plan = read_plan(path)
        _check_names(plan, 'run' in steps)
    except (OSError, ValueError) as error:
        return _refuse(f'{path}: {error}')
    status = _watched(plan) if 'run' in steps else 0
    return _kept(plan, _remove) if 'remove' in steps else status


def _check_names(plan: TrialPlan, with_engines: bool) -> None:
    """Raises ValueError, with the key, for a name in the plan that is not registered here: nothing is guessed."""
    if not plan.points:
        raise ValueError('points: there are none')
    names: List[Tuple[str, Callable[[str], object], str]] = [('target.type', by_type, plan.target.type)]
    names += [(f'points[{n}].kind', kind_of, point.kind) for n, point in enumerate(plan.points)]
    if with_engines:
        from seatrial.engine.registry import engines_called

        names += [(f'engines[{n}].name', engines_called, engine.name) for n, engine in enumerate(plan.engines)]
    for key, find, name in names:
        try:
            find(name)
        except ValueError as error:
            raise ValueError(f'{key}: {error}') from None


def _watched(plan: TrialPlan) -> int:
    """Run it in a process that is left behind if a call of the target never returns."""
    from seatrial.job.sequence import runner

    blocked, longest_s = Blocked(), patience_s(plan.target.recovery_limit_s)
    job = partial(_kept, plan, lambda plan: _say_end(plan, runner.run(plan, blocked)))
    ended = watched(job, blocked, longest_s, worked_s(plan))
    if not isinstance(ended, LeftBehind):
        return ended
    known = records_in(plan.records).end
    if known is not None:  # only its open directories keep it
        return EXITS[known.reason]
    place = plan.target.path + mounted_from(by_type(plan.target.type), plan.target.path)
    silence = f'{place} has not answered for {ended.seconds:.0f} s: a call of it does not return'
    end = End(REFUSED, finding('P17a', silence).sentence, time.time(), {})

    def refused(plan: TrialPlan) -> int:
        append(plan.records, end)
        return _say_end(plan, end)

    return _kept(plan, refused)


def _kept(plan: TrialPlan, step: Callable[[TrialPlan], int]) -> int:
    """The exit code of a step, or of a failure to write its records."""
    try:
        with contextlib.suppress(OSError):  # the lock refuses a run without state directory, and says why
            keep_from_others(plan.state)
        return step(plan)
    except AlreadyRecorded as error:
        return _refuse(str(error))
    except OSError as error:
        print(f'seatrial: the records {plan.records} cannot be kept: {error}', file=sys.stderr)
        return UNFINISHED


def _say_end(plan: TrialPlan, end: End) -> int:
    _say(f'{plan.case.name}: {end.reason}: {end.why}')
    return EXITS[end.reason]


def _remove(plan: TrialPlan) -> int:
    """Remove the files of a finished run. Those of an interrupted one stay for `seatrial clean` to show first."""
    records = records_in(plan.records)
    if records.end is None or records.end.reason == INTERRUPTED:
        _say('the run did not end by itself; `seatrial clean` shows and removes what it left')
        return EXITS[INTERRUPTED]
    if records.start is None or not records.start.run_directory:
        return 0
    made = records.start.run_directory
    if kept(plan) and records.end.reason == FINISHED:
        _say(f'{made} is kept for other sessions; `seatrial clean` shows and removes it')
        return 0
    damaged = [breach.sentence for sample in records.samples for breach in sample.findings if breach.rule == 'F2']
    if damaged:
        removal = Removal(0, 0, (f'all of it, for {damaged[0]}',), time.time())
    else:
        removal = removed(made, plan.session, (records.start.host, records.start.pid))
    append(plan.records, removal)
    for left in removal.left:
        _say(f'left in {made}: {left}')
    return 0


def _refuse(sentence: str) -> int:
    _say(sentence, sys.stderr)
    return USAGE


def _say(sentence: str, stream: Optional[TextIO] = None) -> None:
    print('seatrial: ' + sentence.encode('ascii', 'backslashreplace').decode('ascii'), file=stream)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
