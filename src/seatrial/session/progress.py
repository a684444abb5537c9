"""The progress of a running session: a moving line on a terminal, else a line for each case that has ended."""

import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.live import Live
from rich.text import Text

from seatrial.job.sequence.recorder import RecordReader
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import CaseResult, Criteria
from seatrial.model.plan import Case, TrialPlan, metric
from seatrial.model.record import NOTHING, Records
from seatrial.model.units import BINARY, duration, quantity
from seatrial.report.terminal import marked
from seatrial.rules.case import cut_off, measured
from seatrial.rules.places import CONFIRM
from seatrial.rules.stopping import t_interval
from seatrial.workload.registry import metrics_of

PLAIN_EVERY_S = 15.0
SILENT_S = 120.0  # seconds without the end of a launch after which a line says so: the launch is long, or hangs
AFTER_LAST_S = 300.0  # seconds that ReFrame may take to end once all cases have: Slurm has KillWait and epilogs


class Cases:
    """Records and verdicts for progress, results, report and history; each is read or computed once."""

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


class Progress:
    """Follows the records of the cases. A terminal keeps lines only of cases that are not well. system: of units"""

    def __init__(self, console: Console, cases: Cases, system: str = BINARY) -> None:
        self._console = console
        self._system = system
        self._cases = cases
        self._waiting = list(cases.plans)
        checks = Counter(plan.case.check for plan in cases.plans)
        self._short = {plan.case.name: plan.case.check for plan in cases.plans if checks[plan.case.check] == 1}
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._said = self._began = self._ended_last = time.monotonic()

    def __enter__(self) -> 'Progress':
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *unused: object) -> None:
        if self._live:
            self._live.stop()

    def look(self, over: bool = False) -> bool:
        """Prints ended cases and the progress of running ones; True if a case is waited for. over: no job is left"""
        cases = self._cases
        begun = [(plan, cases.read(plan)) for plan in self._waiting if cases.readers[plan.case].has_begun()]
        newest = max((records.start.started for _, records in begun if records.start), default=0.0)
        running = []
        for plan, records in begun:
            if records.end is not None and (over or _is_complete(plan, records, newest)):
                self._waiting.remove(plan)
                self._said = self._ended_last = time.monotonic()
                result = cases.judge(plan, records, cases.criteria[plan.case])
                if self._live is None or not result.verdict.unopposed:
                    self._console.print(self._ended(result))
            elif records.end is not None:
                running.append(f'    {plan.case.name}  has ended; waiting for the end of its job')
            elif records.start is not None:
                running.append(running_line(plan, records, time.time(), self._system))
        if not self._waiting:
            running = [f'    all cases have ended; waiting up to {duration(AFTER_LAST_S)} for ReFrame to end']
        if self._live:
            self._live.update(Text(self._moving(running), no_wrap=True, overflow='ellipsis'))
        elif running and time.monotonic() - self._said > PLAIN_EVERY_S:
            self._said = time.monotonic()
            for line in running:
                self._console.print(line)
        return bool(self._waiting)

    def _moving(self, running: list[str]) -> str:
        """The number of ended cases, the time for the others if they are like those, and the first that runs: by its
        check alone where that is unique, for a terminal has no room for more."""
        count = len(self._cases.plans)
        done = count - len(self._waiting)
        a_case_s = (self._ended_last - self._began) / done if done else 0.0
        left_s = a_case_s * len(self._waiting) - (time.monotonic() - self._ended_last)
        left = f'  about {duration(left_s)} left' if done and left_s > 0 else ''
        name, *doing = running[0].strip().split('  ', 1) if running else ['']
        return '  '.join(filter(None, [f'[{done}/{count} done]{left}', self._short.get(name, name), *doing]))

    def _ended(self, result: CaseResult) -> Text:
        count = len(self._cases.plans)
        number = count - len(self._waiting)
        took = f'  {duration(result.duration_s)}' if result.duration_s is not None else ''
        return Text.assemble(f'[{number}/{count}] ', marked(result.verdict), f'  {result.case.name}{took}')


def _is_complete(plan: TrialPlan, records: Records, newest: float) -> bool:
    """True if only a case's end was still expected, or if it began before `newest` (Unix time), and so is over."""
    start = records.start
    if start is None or start.started < newest:
        return True
    if cut_off(records):
        return bool(records.job_state)
    removed = records.removal is not None or not start.run_directory
    return removed and bool(records.issued or not plan.darshan)


def running_line(plan: TrialPlan, records: Records, now: float, system: str = BINARY) -> str:
    """Point, repetition, interval so far, elapsed and expected seconds of a case. system: that of the units"""
    assert records.start is not None
    samples = records.samples[-1:]
    silent_s = now - max([records.start.started, *(sample.started + sample.elapsed_s for sample in samples)])
    failed = [finding.rule for sample in samples if sample.measurement is None for finding in sample.findings]
    since = f' since one failed ({failed[0]})' if failed else ''
    silent = f'; no launch has ended for {duration(silent_s)}{since}' if silent_s > SILENT_S else ''
    return f'    {plan.case.name}  {_doing(plan, records, now - records.start.started, system)}{silent}'


def _doing(plan: TrialPlan, records: Records, elapsed: float, system: str) -> str:
    by_metric = measured(plan, records)
    if not by_metric:
        doing = 'warm-up' if records.sized is None else 'first repetition'
        return f'{doing}  {duration(elapsed)}'
    if records.samples[-1].stage == CONFIRM:
        return f'measuring again what seems slow  {duration(elapsed)}'
    last = next(sample for sample in reversed(records.samples) if sample.stage == 'measured')
    figure = metrics_of(last.point, last.phase)[0]
    name = metric(figure.name, last.point.label)
    values = [sample.figures[figure.name] for sample in by_metric[name] if sample.valid_for(figure.name)]
    interval = t_interval(values, plan.stopping.confidence) if len(values) > 1 else None
    spread = f' +- {100 * interval.half_width / interval.mean:.0f} %' if interval and interval.mean else ''
    shown = f' {quantity(interval.mean, figure.unit, system)}{spread}' if interval else ''
    expected = expected_s(plan, records)
    left = f' of ~{duration(expected)}' if elapsed <= expected else ''  # what was exceeded was no estimate
    return f'{name} #{last.repetition + 1}{shown}  {duration(elapsed)}{left}'


def expected_s(plan: TrialPlan, records: Records) -> float:
    """The least seconds that the case will take if its launches go on as before; within its budget."""
    assert records.start is not None
    done = [sample for sample in records.samples if sample.stage == 'measured']
    before = done[0].started - records.start.started
    launches = len(plan.points) * len(plan.phases) * (plan.stopping.minimum + plan.stopping.extra)
    return min(plan.stopping.budget_s, before + launches * statistics.fmean(sample.elapsed_s for sample in done))
