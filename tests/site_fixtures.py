"""The command line in this process, and small sites for it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from builders import moved, sample_of, start_of
from local_site import trial
from seatrial.acceptance.bundle import SUMS
from seatrial.check.contract import contract_of_site, contract_session
from seatrial.check.criteria import with_references
from seatrial.check.declared import Declared
from seatrial.check.declared import load as load_checks
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import Session, contract_of, save
from seatrial.check.staging import write_plan
from seatrial.cli.main import entry
from seatrial.engine.base import Outcome, ProcessTime, measured
from seatrial.engine.dd import Dd
from seatrial.job.sequence.recorder import RawLaunch, Recorder
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import End, Sample, Sized, Start
from seatrial.model.units import MIB
from seatrial.rules.case import in_random_order
from seatrial.session.after_session import remember
from seatrial.session.evidence import judged_anew
from seatrial.session.results import write_results
from seatrial.site.load import load as load_site
from seatrial.site.profile import PROFILES

CHECKS = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, powers_of_two


@trial
class Writes(Check):
    \"\"\"Files of their own, over transfer sizes.\"\"\"

    workload = data_access('multiple')
    sweep = Sweep('transfer_size', powers_of_two('64KiB', '512KiB'))


@trial
class Reads(Check):
    \"\"\"One file for all, over transfer sizes.\"\"\"

    workload = data_access('single', operations=('read',))
    sweep = Sweep('transfer_size', (4096, 65536))
"""
METADATA = """
import reframe

from seatrial.check.base import Check, trial
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree


@trial
class Files(Check):
    \"\"\"Files in one directory, and with directories beside them.\"\"\"

    workload = metadata_tree(('create', 'stat', 'remove'), files_per_directory=40, scales=True)
    sweep = Sweep('tree', (('files', {}), ('both', {'empties_per_directory': 40})))


@trial
class Guarantees(Check):
    \"\"\"What POSIX guarantees.\"\"\"

    workload = posix_semantics(tasks=2)
    sweep = Sweep('tree', (('two', {}),))
"""


class Said(NamedTuple):
    """The exit code and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> int:
        """The number of rows of the output on a terminal with 100 columns."""
        return sum(max(1, -(-len(line) // 100)) for line in self.out.splitlines())


class SmallSite:
    """A folder with settings.py, trial.yaml and checks, all of which a test may change."""

    def __init__(self, folder: Path, settings: Path, fio: str) -> None:
        self.folder, self.checks = folder, folder / 'checks'
        self.trial, self.settings = folder / 'trial.yaml', folder / 'settings.py'
        self.check = self.checks / 'files' / 'check.py'
        shutil.copy(settings, folder)
        self.trial.write_text(trial(engines=f'[{{name: fio, program: {fio}}}]', more='bytes_per_task: 1MiB'))
        self.check.parent.mkdir(parents=True)
        self.check.write_text(CHECKS)

    def change(self, old: str, new: str, file: str = 'trial.yaml') -> None:
        """Replace a text that must be there."""
        path = self.folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def add_metadata(self, engines: str = ', {name: posixops, program: ' + sys.executable + '}') -> None:
        """Two checks of metadata, and engines for them."""
        file = self.checks / 'metadata' / 'rates.py'
        file.parent.mkdir()
        file.write_text(METADATA)
        self.change('}]\nfile_systems', f'}}{engines}]\nfile_systems')
        self.change('inodes: 1000}', 'inodes: 10000}')

    def sessions(self) -> list[Path]:
        return list(self.folder.glob('state/sessions/*'))


@pytest.fixture
def site(tmp_path: Path, repository: Path, stub_fio: Callable[..., str]) -> SmallSite:
    folder = tmp_path / 'site'
    folder.mkdir()
    return SmallSite(folder, repository / 'site-config' / 'local' / 'settings.py', stub_fio())


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run `seatrial ARGUMENTS` in this process, as the installed program does."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, 'argv', ['seatrial', *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            entry()
        captured = capsys.readouterr()
        return Said(ended.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def on_site(command: Callable[..., Said], site: SmallSite) -> Callable[..., Said]:
    """Run `seatrial COMMAND --site --checks ARGUMENTS` on the small site."""
    return lambda name, *arguments: command(name, f'--site={site.folder}', f'--checks={site.checks}', *arguments)


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory like /var/tmp: all users may make files in it, and only their owners may rename them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o1777)
        yield Path(name)


@pytest.fixture
def second_user(everybodys: Path) -> Callable[..., int]:
    """Run lines of shell there as the user nobody, who gives everybody all rights to what the lines make; returns
    their exit code."""
    if os.geteuid() != 0:
        pytest.skip('only root can start processes of another user')

    def run(lines: str, given: bytes = b'') -> int:
        argv = ['sh', '-ec', f'umask 0\n{lines}']
        nobody: dict[str, Any] = {'user': 65534, 'group': 65534, 'extra_groups': []}
        return subprocess.run(argv, cwd=everybodys, input=given, stderr=subprocess.DEVNULL, **nobody).returncode

    return run


@pytest.fixture
def past(site: SmallSite) -> Callable[..., Path]:
    """Leave the folder of a session that measured `figure` MiB/s everywhere; returns it.

    proved: with the raw output of its launches; noise: of its repetitions, as a share of the figure
    """

    def make(session_id, *, profile='nightly', figure=2.0, ended=True, proved=False, noise=0.02) -> Path:
        loaded = load_site(site.folder)
        folder = loaded.session_folder(session_id)
        session = Session(session_id, folder, loaded, PROFILES[profile], loaded.engine_choices())
        for declared in load_checks(site.checks).values():
            leave_all_records(session, declared, figure, ended, proved, noise)
        return session.folder

    return make


@pytest.fixture
def remembered(site: SmallSite) -> Callable[..., Path]:
    """Put the session in a folder into the history of the site; more: as for `remember`."""

    def remember_(folder: Path, **more: Any) -> Path:
        loaded = load_site(site.folder)
        return remember(judged_anew(loaded, load_checks(site.checks), folder), loaded.state, **more)

    return remember_


@pytest.fixture
def judged(site: SmallSite) -> Callable[[Path], Path]:
    """Leave what `seatrial run` leaves at the end beside the records in a folder; returns its results.json."""

    def judge(folder: Path) -> Path:
        loaded, checks = load_site(site.folder), load_checks(site.checks)
        evidence = judged_anew(loaded, checks, folder)
        session = Session(folder.name, folder, loaded, PROFILES['nightly'], loaded.engine_choices())
        if not contract_of(folder):
            save(with_references(session, checks))
        return write_results(session, evidence.result)

    return judge


def leave_all_records(
    session: Session, declared: Declared, figure: float, ended: bool = True, proved: bool = False, noise: float = 0.02
) -> None:
    """Leave what the jobs of a check would have, had they measured `figure` MiB/s everywhere."""
    for case in cases_of(session, declared):
        plan = plan_of(session, declared, case)
        # Six repetitions, as where a criterion is asked: tests add references later.
        plan = plan._replace(stopping=session.profile.stopping(declared.max_relative_error, plan.stopping.budget_s))
        write_plan(plan)
        recorder = Recorder(plan.records)
        for record in _records(plan, figure, ended, noise):
            is_proved = (session.contract or proved) and isinstance(record, (Start, Sample))
            recorder.write(_proved(recorder, record) if is_proved else record)
        recorder.close()


def _proved(recorder: Recorder, record: Start | Sample) -> Start | Sample:
    """The record as if dd had measured, and the output that proves it."""
    if isinstance(record, Start):
        return record._replace(engine='dd', version='9.1', program='/usr/bin/dd')
    assert record.measurement is not None
    point, moved_ = record.point, record.measurement
    seconds = moved_.bytes_moved / moved_.metrics[0].value
    blocks = ''.join(f'{point.data.transfers}+0 records {way}\n' for way in ('in', 'out'))
    output = f'{blocks}{point.data.bytes_per_task} bytes (1.0 MB, 1.0 MiB) copied, {seconds:.6f} s, 1 MB/s\n'
    times = (ProcessTime('node1', 0.0, seconds, 0),) * point.tasks
    outcome = Outcome(times, ('',) * point.tasks, (output,) * point.tasks, ())
    launch = RawLaunch(Dd().command('/usr/bin/dd', record.phase, point, f'{recorder.raw}/{record.raw}', 7), outcome)
    measurement = measured(Dd(), record.phase, point, *launch)
    return record._replace(measurement=measurement, raw_digest=recorder.keep(record.raw, launch))


@pytest.fixture
def allocation(site: SmallSite) -> Callable[..., Path]:
    """Leave the folder of a session for a criterion of the site's contract that measured `figure` MiB/s."""

    def make(session_id: str, criterion: str, figure: float) -> Path:
        loaded, checks = load_site(site.folder), load_checks(site.checks)
        asked = contract_of_site(loaded, checks)
        assert asked is not None
        _contract, criteria = asked
        procedure = next(test.procedure for test in criteria if test.criterion.id == criterion)
        assert procedure is not None
        session = contract_session(session_id, loaded, procedure)
        leave_all_records(session, checks[procedure.case.check], figure)
        save(session)
        return session.folder

    return make


def _records(plan: TrialPlan, figure: float, ended: bool, noise: float) -> Iterator[Any]:
    """A warm-up, six repetitions of everything, and the end; by the noise more and less in turn."""
    yield start_of(
        plan,
        host='node1',
        started=1795230454.0,
        program='/usr/bin/fio',
        skipped=('ior: not installed (ior)',),
        run_directory=f'{plan.target.path}/seatrial-s',
        memory_bytes=1 << 34,
        capacity={'used_percent': 20},
    )
    yield _sample(plan, 'warmup', 'read', plan.points[0], 0, figure)
    yield Sized(1, plan.sizing.first, 'fixed by the site or the profile')
    for repetition in range(plan.stopping.minimum + plan.stopping.extra):
        labels = [point.label for point in plan.points]
        for point in map(plan.point, in_random_order(labels, plan.seed, 1, repetition)):
            for phase in plan.phases:
                rate = figure * (1 + noise * (-1) ** repetition)
                yield _sample(plan, 'measured', phase, point, repetition, rate)
    if ended:
        reason = 'fixed' if plan.stopping.fixed else 'converged' if noise < 0.1 else 'budget'
        yield End('finished', 'done', 1795230554.0, {point.label: reason for point in plan.points})


def _sample(plan: TrialPlan, stage: str, phase: str, point: Point, repetition: int, rate: float) -> Sample:
    raw = f'{repetition:04d}-{stage}-{phase}@{point.label}'
    sample = sample_of(
        plan,
        point,
        phase,
        repetition,
        moved(point, rate * MIB, phase),
        stage,
        cache='cold' if phase == 'read' else '',
        started=1795230460.0 + repetition,
    )
    command = f'/usr/bin/fio --output={plan.records}/raw/{raw}.json {plan.records}/raw/{raw}.fio'
    return sample._replace(command=(command,), raw=raw, inputs=(f'{raw}.fio',))


def contents(bundle: Path) -> dict[str, bytes]:
    """The files of a bundle by their names."""
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def bundle_of(file: Path, files: Mapping[str, bytes]) -> None:
    """Make a bundle of these files, but for their sums, which are made anew."""
    files = {name: content for name, content in files.items() if name != SUMS}
    sums = ''.join(f'{hashlib.sha256(content).hexdigest()}  {name}\n' for name, content in files.items())
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in {SUMS: sums.encode(), **files}.items():
            archive.writestr(name, content)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with every key or index in it."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])
