"""What becomes of a job that did not end by itself: Slurm is asked, and its answer kept beside the record."""

from pathlib import Path

from seatrial.job.recorder import records_in, write_fate
from seatrial.rules.case import cut_off
from seatrial.site.slurm_job import NO_ANSWER, Fate, fate_of, sentence

SLURM = ('slurm', 'squeue')
"""ReFrame's schedulers that submit to Slurm."""

TAIL_BYTES = 65536


def ask_fate(records: str, scheduler: str, job: str | None, output: Path) -> Fate | None:
    """Ask why a job was cut off and keep the answer; of one that came to its own end nobody is asked.

    output: what the job has printed on its standard error. Returns Slurm's answer, None if it was not asked.
    """
    if scheduler not in SLURM or not job or not cut_off(records_in(records)):
        return None
    fate = fate_of(job, tail(output))
    write_fate(records, said_by_slurm(fate), job)
    return fate


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
