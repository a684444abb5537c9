"""The proof of contents at the end of a case (F2): known data are written as by its largest point, and read back.
It is not timed. It takes PROOF_SHARE of the case's time, at least MIN_S; data that take longer are not proved."""

import hashlib
import sys

from seatrial.engine.proof import Proof
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sampling import take
from seatrial.job.sequence.start import DATA, Trial
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Sample
from seatrial.rules.contents import PROOF
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of, resized

PROOF_SHARE = 0.05
MIN_S = 0.5
LAUNCH_SHARE = 0.4  # share of that time for the I/O of each of the two launches; the rest is for their start


def reserved_s(plan: TrialPlan) -> float:
    """Seconds of the time budget that are kept for the proof, which takes no more; 0 for a kind without a proof."""
    return PROOF_SHARE * plan.stopping.budget_s if kind_of(plan.kind).moves_data else 0.0


def prove(trial: Trial) -> None:
    """Write known data, read them back and compare; files that differ are kept. Raises as sampling.take does."""
    plan, records = trial.plan, records_in(trial.plan.records)
    if not kind_of(plan.kind).moves_data or records.sized is None:
        return
    # The largest point with a valid sample; its files have the size of the prepared files.
    labels = {sample.point.label for sample in records.samples if sample.stage == 'measured' and sample.valid}
    points = resized([point for point in plan.points if point.label in labels] or plan.points, records.sized.per_task)
    largest = max(points, key=lambda point: (point.nodes, point.tasks, point.data.transfer_size))
    point = kind_of(plan.kind).as_access(largest)._replace(phases=('write', 'read'))
    taken_s = plan.stopping.budget_s - reserved_s(plan) - trial.left_s()
    limit_s = LAUNCH_SHARE * max(MIN_S, min(reserved_s(plan), PROOF_SHARE * taken_s))
    measurements = [sample.measurement for sample in records.samples if sample.stage in ('prepare', 'measured')]
    rates = (made.bytes_moved / made.seconds for made in measurements if made and made.bytes_moved and made.seconds)
    share = int(limit_s * min(rates, default=0.0)) // point.tasks
    key = hashlib.sha256(f'{plan.session} {plan.case.name}'.encode()).hexdigest()
    proof = Proof(key, min(point.data.transfers, max(1, share // point.data.transfer_size)), limit_s)
    launches = [_take(trial, proof, Launch('write', point))]
    if launches[0].measurement is not None:
        launches.append(_take(trial, proof.reads_back(launches[0].measurement, point), Launch('read', point)))
    if not any(finding.rule == 'F2' for sample in launches for finding in sample.findings):
        trial.setup.run.empty(DATA)


def _take(trial: Trial, proof: Proof, launch: Launch) -> Sample:
    setup = trial.setup._replace(engine=proof)
    return take(trial._replace(setup=setup, program=sys.executable), PROOF, launch, 0)
