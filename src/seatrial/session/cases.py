"""The cases of a running session: each record is read once, and each verdict computed once."""

from collections.abc import Mapping, Sequence

from seatrial.job.sequence.recorder import RecordReader
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import CaseResult, Criteria
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.record import NOTHING, Records


class Cases:
    """The records and verdicts from which progress, results, report and history are made."""

    def __init__(self, plans: Sequence[TrialPlan], criteria: Mapping[Case, Criteria]) -> None:
        self.plans, self.criteria = plans, criteria
        self.readers = {plan.case: RecordReader(plan.records) for plan in plans}
        self.fault = ''
        self._read: dict[Case, Records] = {}
        self._judged: dict[Case, tuple[Records, Criteria, CaseResult]] = {}

    def read(self, plan: TrialPlan) -> Records:
        """All records by now; if the state directory answers with an error, those read before. A case that had not
        ended by then is INCOMPLETE if nothing more can be read; `fault` says why."""
        try:
            self._read[plan.case] = self.readers[plan.case].read()
        except OSError as error:
            self.fault = f'{error.filename or plan.records}: {error.strerror}'
        return self._read.get(plan.case, NOTHING)

    def recorded(self) -> list[tuple[TrialPlan, Records]]:
        self.fault = ''
        return [(plan, self.read(plan)) for plan in self.plans]

    def judge(self, plan: TrialPlan, records: Records, criteria: Criteria) -> CaseResult:
        """As judge_case, computed again only if its records or criteria have changed."""
        known = self._judged.get(plan.case)
        if known is None or known[:2] != (records, criteria):
            known = self._judged[plan.case] = records, criteria, judge_case(plan, records, criteria)
        return known[2]
