"""`python3 runner.pyz run|remove PLAN`: the two steps of a job, inside the allocation."""

import json
import sys
from typing import List

from seatrial.job import rundir, runner
from seatrial.job.recorder import AlreadyRecorded, append, records_in
from seatrial.model.codec import FormError, from_json
from seatrial.model.plan import SCHEMA, TrialPlan

USAGE, UNFINISHED = 64, 13
EXITS = {runner.FINISHED: 0, runner.REFUSED: UNFINISHED, runner.INTERRUPTED: UNFINISHED, runner.FAILED: UNFINISHED}


def main(arguments: List[str]) -> int:
    """Carry out one step. 0: done; 13: not all of it ran, the end record says why; 64: no such plan."""
    if len(arguments) != 2 or arguments[0] not in ('run', 'remove'):
        return _refuse('usage: runner.pyz run|remove PLAN')
    try:
        plan = read_plan(arguments[1])
    except (OSError, ValueError) as error:
        return _refuse(f'{arguments[1]}: {error}')
    try:
        return _run(plan) if arguments[0] == 'run' else _remove(plan)
    except AlreadyRecorded as error:
        return _refuse(str(error))
    except OSError as error:
        print(f'seatrial: the records {plan.records} cannot be kept: {error}', file=sys.stderr)
        return UNFINISHED


def read_plan(path: str) -> TrialPlan:
    """The plan in this file. Raises FormError for any other form or schema, OSError if it cannot be read."""
    with open(path, encoding='utf-8') as stream:
        data = json.load(stream)
    if isinstance(data, dict) and data.get('schema') != SCHEMA:
        raise FormError(f'schema: {data.get("schema")} is not {SCHEMA}, which this runner reads')
    return from_json(TrialPlan, data)


def _run(plan: TrialPlan) -> int:
    end = runner.run(plan)
    print(f'seatrial: {plan.case.name}: {end.reason}: {end.why}')
    return EXITS[end.reason]


def _remove(plan: TrialPlan) -> int:
    """Remove what a finished run made. What an interrupted one left stays for `seatrial clean` to show first."""
    records = records_in(plan.records)
    if records.end is None or records.end.reason == runner.INTERRUPTED:
        print('seatrial: the run did not end by itself; `seatrial clean` shows and removes what it left')
        return EXITS[runner.INTERRUPTED]
    if records.start is None or not records.start.run_directory:
        return 0
    removal = rundir.remove(records.start.run_directory, plan.session)
    append(plan.records, removal)
    for left in removal.left:
        print(f'seatrial: left in {records.start.run_directory}: {left}')
    return 0


def _refuse(sentence: str) -> int:
    print(f'seatrial: {sentence}', file=sys.stderr)
    return USAGE


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
