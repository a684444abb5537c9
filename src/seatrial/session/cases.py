"""The cases of a session that is carried out: the record of each is read once, and its verdict computed once."""

from collections.abc import Mapping, Sequence

from seatrial.job.sequence.recorder import Reader
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import CaseResult, Criteria
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.record import Records


class Cases:
    """They are the same for all who ask: what follows them, the results, the report and the history."""

    def __init__(self, plans: Sequence[TrialPlan], criteria: Mapping[Case, Criteria]) -> None:
        self.plans, self.criteria = plans, criteria
        self._readers = {plan.case: Reader(plan.records) for plan in plans}
        self._judged: dict[Case, tuple[Records, Criteria, CaseResult]] = {}

    def has_begun(self, plan: TrialPlan) -> bool:
        """Whether its job has left a record; costs one stat."""
        return self._readers[plan.case].has_begun()

    def records_of(self, plan: TrialPlan) -> Records:
        """All that is on record by now. Raises OSError."""
        return self._readers[plan.case].read()

    def judge(self, plan: TrialPlan, records: Records, criteria: Criteria) -> CaseResult:
        """As judge_case does, and again only where its records or criteria are others than last time."""
        known = self._judged.get(plan.case)
        if known is None or known[:2] != (records, criteria):
            known = self._judged[plan.case] = records, criteria, judge_case(plan, records, criteria)
        return known[2]
