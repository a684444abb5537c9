"""A small laboratory for the runner: a target among other people's files, a state directory, and plans for both."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from builders import plan_of
from seatrial.job.directory.rundir import RunDirectory, create
from seatrial.job.launch import processes
from seatrial.job.sequence import runner, sampling
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import CaseResult
from seatrial.model.codec import to_json
from seatrial.model.plan import EngineChoice, Limits, Sizing, StoppingRule, TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import End, Finding, Records
from seatrial.model.units import GIB, KIB
from seatrial.rules import launch as launch_rules
from seatrial.rules.case import measured
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

SESSION = '20261121T020638-9f3a1c'
MFWA = data_access('multiple')
SIZE = 64 * KIB  # bytes a task


class Ran(NamedTuple):
    """The result of a plan that was carried out."""

    plan: TrialPlan
    end: End
    records: Records
    result: CaseResult

    @property
    def measured(self):
        return [sample for sample in self.records.samples if sample.stage == 'measured']

    def findings(self, rules: str) -> list[Finding]:
        """The findings of all launches whose rule begins with these letters."""
        raised = [finding for sample in self.records.samples for finding in sample.findings]
        return [finding for finding in raised if finding.rule.startswith(rules)]

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples of each metric that count."""
        return {name: len(samples) for name, samples in measured(self.plan, self.records).items()}


class Laboratory:
    """base/target is what is tested; beside and in it lie things that are nobody's business."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.target, self.state = base / 'shared' / 'target', base / 'state'
        self.session = self.state / 'sessions' / SESSION
        others, neighbour = self.target / 'others', base / 'shared' / 'neighbour'
        strange = self.target / 'seatrial-20260101T000000-000000-00000000'  # no run directory, though named like one
        for folder in (others, neighbour, strange, self.session, self.state / 'locks'):
            folder.mkdir(parents=True)
        files = {self.target: 'precious', others: 'data', strange: 'data', neighbour: 'precious', self.state: 'note'}
        for folder, name in files.items():
            (folder / name).write_text(name)
        (self.target / 'link').symlink_to('../neighbour')

    def plan(self, fio: str, **changes) -> TrialPlan:
        """Two tasks with a file each, two points, two fixed repetitions; `values`: transfer sizes in KiB."""
        values, workload = changes.pop('values', (32, 16)), changes.pop('workload', MFWA)
        tasks, size = changes.pop('tasks', 2), changes.pop('size', SIZE)
        sweep = changes.pop('sweep', Sweep('transfer_size', tuple(value * KIB for value in values)))
        target = {'path': str(self.target), 'limits': Limits(GIB, 10000), 'telemetry': (), 'records_on_target': True}
        plan = plan_of(
            workload.changed(bytes_per_task=size),
            sweep,
            tasks,
            case={'check': changes.pop('check', 'Check')},
            target={**target, 'compresses': False, **changes.pop('target', {})},
            session=SESSION,
            profile='smoke',
            engines=(EngineChoice('fio', fio),),
            state=str(self.state),
            stopping=StoppingRule(0.10, minimum=2, maximum=2, extra=0, budget_s=600.0, fixed=True),
            sizing=Sizing(size, size, 0.0, 0.0, pinned=size),
            seed=7,
        )
        records = self.session / 'cases' / plan.case.slug
        records.mkdir(parents=True, exist_ok=True)
        return plan._replace(records=str(records), **changes)

    def plan_of_metadata(self, workload: Point, sweep: Sweep, files: int = 0, **changes) -> TrialPlan:
        """Two tasks, unless the workload has others, that posixops launches; `files`: of each in trees that scale."""
        engines, sizing = (EngineChoice('posixops', sys.executable),), Sizing(files, 1, 0, 0, pinned=files or None)
        fields = {'check': 'Metadata', 'engines': engines, 'sizing': sizing, 'size': 0, **changes}
        return self.plan('', workload=workload, sweep=sweep, **fields)

    def run(self, plan: TrialPlan, proves: bool = False) -> Ran:
        """Carry the plan out in this process; without the proof of contents unless a test wants it."""
        with pytest.MonkeyPatch.context() as patch:
            if not proves:
                patch.setattr(runner, 'prove', lambda trial: None)
            runner.run(plan)
        return self.ran(plan)

    def ran(self, plan: TrialPlan) -> Ran:
        records = records_in(plan.records)
        assert records.end is not None, 'no end record'
        return Ran(plan, records.end, records, judge_case(plan, records))

    def surroundings(self) -> dict[str, tuple[object, ...]]:
        """Inode, mode, owner, time and content, by path, of everything that no run may touch."""
        made = (os.path.join(self.target, f'seatrial-{SESSION}'), str(self.session), str(self.state / 'locks'))
        changing = {str(self.target), str(self.state), str(self.session.parent)}
        seen = {}
        for directory, directories, files in os.walk(self.base):
            paths = {name: os.path.join(directory, name) for name in directories}
            directories[:] = [name for name in directories if not paths[name].startswith(made)]
            if directory == str(self.base):
                directories[:] = [name for name in directories if name in ('shared', 'state')]
                continue
            for path in [directory, *(os.path.join(directory, name) for name in files)]:
                status = os.lstat(path)
                content = Path(path).read_bytes() if stat.S_ISREG(status.st_mode) else b''
                time = 0 if path in changing else status.st_mtime_ns
                seen[path] = (status.st_ino, status.st_mode, status.st_uid, time, content)
        return seen

    def write(self, plan: TrialPlan) -> str:
        """The plan as a file, for `runner.pyz run PLAN`."""
        path = Path(plan.records) / 'plan.json'
        path.write_text(json.dumps(to_json(plan)))
        return str(path)

    def left(self) -> list[str]:
        return [name for name in os.listdir(self.target) if SESSION in name]

    def locks(self) -> list[str]:
        return os.listdir(self.state / 'locks')


@pytest.fixture(scope='session')
def laboratory() -> type[Laboratory]:
    return Laboratory


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    return Laboratory(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    """A run directory with its data directory."""
    made = create(str(tmp_path), SESSION, 'Check', ('data',), (r'[^/]*',))
    made.make('data')
    yield made
    made.close()


@pytest.fixture
def before_launch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    """Has this called before every launch of the runner, with what carry_out is given."""

    def begin_with(act: Callable[..., object]) -> None:
        carry_out = sampling.carry_out
        monkeypatch.setattr(sampling, 'carry_out', lambda *arguments: (act(*arguments), carry_out(*arguments))[1])

    return begin_with


@pytest.fixture
def ended() -> int:
    """The pid of a process that has ended."""
    child = subprocess.Popen([sys.executable, '-c', ''])
    child.wait()
    return child.pid


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that was given up is killed sooner than on a real system."""
    monkeypatch.setattr(processes, 'GRACE_S', 0.5)
    monkeypatch.setattr(processes, 'WAKE_S', 0.02)


@pytest.fixture
def short_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of milliseconds count: what rule T19 says of them is tested by itself."""
    monkeypatch.setattr(launch_rules, 'CLOCK_MIN_S', 0.0)
    monkeypatch.setattr('seatrial.model.metric.LONG_S', 0.0)
