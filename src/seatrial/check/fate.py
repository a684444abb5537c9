"""What becomes of a job that did not end by itself: Slurm is asked, and its answer kept beside the record."""

import time
from pathlib import Path
from typing import NamedTuple

from seatrial.job.sequence.recorder import records_in, write_fate
from seatrial.rules.case import cut_off
from seatrial.site.slurm_job import NO_ANSWER, Fate, State, fate_of, may_go_on, sentence

SLURM = ('slurm', 'squeue')
"""ReFrame's schedulers that submit to Slurm."""

TAIL_BYTES = 65536

ASK_AGAIN_S = 2.0


class Patience(NamedTuple):
    """Seconds for which a job is waited for that ReFrame takes to have ended: in the queue, and after its begin."""

    queue_s: float
    job_s: float


def ask_fate(
    records: str, scheduler: str, job: str | None, output: Path, patience: Patience, known: str = ''
) -> Fate | None:
    """Ask why a job was cut off and keep the answer; of one that came to its own end nobody is asked.

    Where squeue has failed, because slurmctld or munge was away for a moment, ReFrame 4.10 takes a job to have ended
    that waits or runs (seen): then its end is waited for here.
    output: what the job has printed on its standard error; known: of its end, besides what Slurm knows, or empty
    Returns Slurm's answer, None if it was not asked.
    """
    if scheduler not in SLURM or not job:
        return None
    asked = time.time()
    while True:
        if not cut_off(records_in(records)):
            return None
        fate = fate_of(job, tail(output))
        if not may_go_on(fate) or time.time() >= _latest(records, fate, asked, patience):
            break
        time.sleep(ASK_AGAIN_S)
    write_fate(records, '; '.join(said for said in (known, said_by_slurm(fate)) if said), job)
    return fate


def _latest(records: str, fate: Fate, asked: float, patience: Patience) -> float:
    """When the wait for a job that may go on ends; without an answer it is taken to run, as it may."""
    start = records_in(records).start
    if start is not None:
        return start.started + patience.job_s
    return asked + (patience.queue_s if fate.state is State.PENDING else patience.job_s)


def said_by_slurm(fate: Fate) -> str:
    """'Slurm says: cancelled by alice after 12 s', or why it says nothing."""
    return sentence(fate) if fate.state in NO_ANSWER else f'Slurm says: {sentence(fate)}'


def tail(file: Path) -> str:
    """The last TAIL_BYTES of a text; empty if it cannot be read."""
    try:
        with file.open('rb') as stream:
            stream.seek(max(0, file.stat().st_size - TAIL_BYTES))
            return stream.read().decode(errors='replace')
    except OSError:
        return ''
