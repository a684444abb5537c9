"""A real Slurm for the tests (ci/lab-slurm), and small sites whose cases run as its jobs."""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from local_site import SEATRIAL, reframe_run, writes

UNAVAILABLE, CANNOT, NOT_ROOT = 69, 71, 77
"""Exit codes of ci/lab-*: packages are missing; this machine lets nobody make namespaces; only root may."""

PROGRAM = Path(__file__).resolve().parent.parent / 'ci' / 'lab-slurm'
NODES = 2
WAIT_S = 300.0
"""For anything that comes within seconds on a machine that has nothing else to do."""

SETTINGS = """
access = {access!r}
partition = {{
    'name': 'compute', 'scheduler': {scheduler!r}, 'launcher': 'local', 'access': access, 'environs': ['builtin'],
    'sched_options': {{'use_nodes_option': True}},
}}
site_configuration = {{
    'systems': [
        {{'name': 'lab', 'hostnames': ['.*'], 'partitions': [partition]}},
    ],
}}
"""
TRIAL = """
version: 1
state: state
engines: [{{name: fio, program: {fio}}}]
file_systems:
  scratch: {{type: posix, path: state/trials, limits: {{bytes: 1GiB, inodes: 1000}}, records_on_target: true}}
partitions:
  lab:compute: {{launcher: {launcher}, tasks_per_node: {tasks}, python: {python}, queue_limit: {queue_limit}}}
trials:
  - {{checks: ['*'], partitions: [lab:compute], file_systems: [scratch], nodes: [{nodes}], bytes_per_task: 1MiB}}
"""
LAUNCH_LIMIT = """
import sys
import seatrial.check.planning as planning
from seatrial.cli.main import entry

planning.LAUNCH_FLOOR_S = float(sys.argv.pop(1))
entry()
"""
"""Runs seatrial with a launch's limit in seconds, its first argument, other than two minutes."""


def wait_for(
    what: str, happened: Callable[[], Any], context: Callable[[], str] = str, seconds: float = WAIT_S
) -> Any:
    """Waits for a true value of `happened` and returns it."""
    end = time.monotonic() + seconds
    while not (result := happened()):
        assert time.monotonic() < end, f'{what}\n{context()}'
        time.sleep(0.2)
    return result


class ScriptedLab:
    """A lab in a place of its own, by one of the scripts ci/lab-*."""

    def __init__(self, program: Path, *options: str) -> None:
        # Not below pytest's own folder: its names are too long for sockets.
        self.place = Path(tempfile.mkdtemp(prefix=program.name.replace('lab', 'seatrial') + '-'))
        self.directory = self.place / 'lab'
        self._program, self._options, self._sites = program, options, 0

    def lab(self, verb: str, *words: str) -> 'subprocess.CompletedProcess[str]':
        argv = [str(self._program), verb, f'--dir={self.directory}', *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=WAIT_S)

    def up(self, *words: str) -> str:
        """Makes the lab, or restarts its dead processes and continues the stopped ones; returns its messages."""
        done = self.lab('up', *self._options, *words)
        if done.returncode in (UNAVAILABLE, CANNOT, NOT_ROOT):
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return done.stderr

    def signal(self, name: str, target: str) -> None:
        done = self.lab('signal', name, target)
        assert done.returncode == 0, done.stderr

    def take_down(self) -> None:
        down = self.lab('down')
        shutil.rmtree(self.place)
        assert down.returncode == 0, down.stderr


class Lab(ScriptedLab):
    """A lab, of two nodes if nobody asks for more: partition compute has all, io the last half."""

    def __init__(self, accounting: bool, nodes: int) -> None:
        super().__init__(PROGRAM, '--nodes', str(nodes), *(['--accounting'] if accounting else []))
        self.environment = {**os.environ, 'SLURM_CONF': str(self.directory / 'etc' / 'slurm.conf')}
        self._nodes = nodes

    def ask(self, *argv: str) -> str:
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode == 0, f'{argv}: {done.stderr}'
        return done.stdout

    def jobs(self) -> list[str]:
        """The numbers of all jobs that have not ended."""
        return self.ask('squeue', '--noheader', '--format=%i').split()

    def heal(self) -> None:
        """Heals the lab: then nothing is in the queue, and all nodes are idle."""
        self.up()
        if self.jobs():
            self.ask('scancel', f'--user={os.geteuid()}')
        for state in set(self.ask('sinfo', '--noheader', '--Node', '--format=%N %T').splitlines()):
            node, _, word = state.partition(' ')
            if re.search('down|drain|fail', word):
                self.ask('scontrol', 'update', f'nodename={node}', 'state=resume')
        idle = ['idle'] * self._nodes
        wait_for('all is well', lambda: not self.jobs() and self._states() == idle, lambda: self.ask('sinfo', '-l'))

    def _states(self) -> list[str]:
        return self.ask('sinfo', '--noheader', '--Node', '--partition=compute', '--format=%T').split()

    def site(self, fio: str, *options: str, **settings: Any) -> 'SlurmSite':
        """A site on this lab whose jobs are submitted with these options too; settings: of SlurmSite."""
        self._sites += 1
        return SlurmSite(self, self.place / str(self._sites) / 'site', fio, options, **settings)


@contextlib.contextmanager
def lab_up(accounting: bool = False, nodes: int = NODES) -> Iterator[Lab]:
    """A lab that is taken down afterwards."""
    made = Lab(accounting, nodes)
    try:
        made.up()
        yield made
    finally:
        made.take_down()


class Ended(NamedTuple):
    """A session that has ended, with its exit status, output and folder."""

    status: int
    output: str
    folder: Path

    @property
    def result(self) -> Any:
        return json.loads((self.folder / 'results.json').read_text())

    @property
    def case(self) -> Any:
        """The only case."""
        (case,) = self.result['cases']
        return case

    @property
    def junit(self) -> str:
        """The elements of the only case in JUnit, each with its message."""
        file = self.folder / 'report' / 'junit.xml'
        assert file.exists(), self.output
        (case,) = ElementTree.parse(file).iter('testcase')
        return ' '.join(f'{element.tag}: {element.get("message")}' for element in case)


class SlurmSite:
    """A site with checks of one point each, whose engine is a stand-in, and its sessions."""

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        fio: str,
        options: tuple[str, ...] = (),
        *,
        scheduler: str = 'squeue',
        nodes: int = 1,
        tasks: int = 2,
        launcher: str = 'local',
        queue_limit: str = '1h',
        launch_limit_s: float = 0.0,
        path: str = '',
        checks: int = 1,
    ) -> None:
        self.lab, self.folder, self.state = lab, folder, folder / 'state'
        self.trials = self.state / 'trials'
        self.environment = {**lab.environment, **({'PATH': path} if path else {})}
        self._launch_limit_s = launch_limit_s
        access = ['--exclusive', '--no-requeue', *options]
        (folder / 'checks' / 'access').mkdir(parents=True)
        for number in range(checks):
            name = f'Write{number or ""}'
            (folder / 'checks' / 'access' / f'{name.lower()}.py').write_text(writes(name))
        (folder / 'settings.py').write_text(SETTINGS.format(access=access, scheduler=scheduler))
        words = {'fio': fio, 'launcher': launcher, 'tasks': tasks, 'nodes': nodes, 'queue_limit': queue_limit}
        (folder / 'trial.yaml').write_text(TRIAL.format(python=sys.executable, **words))

    def seatrial(self, command: str, *arguments: str) -> 'subprocess.CompletedProcess[str]':
        argv = self.argv(command, *arguments)
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=WAIT_S, cwd='/')

    def begin(self, stdout: int | None = None) -> 'Running':
        """Begin a session. stdout: a descriptor, unless its output is to be kept."""
        return Running(self, self.argv('run', f'--checks={self.folder / "checks"}', '--profile=nightly'), stdout)

    def run(self) -> Ended:
        """A whole session."""
        return self.begin().ended()

    def begin_plain(self) -> 'subprocess.Popen[str]':
        """Begin a session of plain ReFrame."""
        self.trials.mkdir(parents=True, exist_ok=True)
        return reframe_run(self.folder, '--nocolor', environment={**self.environment, 'SEATRIAL_PROFILE': 'nightly'})

    def left(self) -> list[str]:
        """The names in the directory where trials write."""
        return sorted(entry.name for entry in self.trials.iterdir()) if self.trials.exists() else []

    def argv(self, command: str, *arguments: str) -> list[str]:
        limited = [sys.executable, '-c', LAUNCH_LIMIT, str(self._launch_limit_s)]
        return [*(limited if self._launch_limit_s else [SEATRIAL]), command, f'--site={self.folder}', *arguments]


class Running:
    """A session while it runs."""

    def __init__(self, site: SlurmSite, argv: list[str], stdout: int | None = None) -> None:
        self.site = site
        self._before = self._folders()
        self._output = site.folder / f'output{len(list(site.folder.glob("output*")))}'
        with self._output.open('w') as stream:
            self.process = subprocess.Popen(
                argv,
                env=site.environment,
                stdout=stream if stdout is None else stdout,
                stderr=stream,
                cwd='/',
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    @functools.cached_property
    def folder(self) -> Path:
        """The folder of the session, which it makes when it begins."""
        wait_for('it has a folder', lambda: self._folders() - self._before, lambda: self.output)
        (folder,) = self._folders() - self._before
        return folder

    def measuring(self, launches: int = 1) -> str:
        """The session's job, once so many measured launches have begun on its site."""

        def begun() -> bool:
            assert self.process.poll() is None, self.output
            return len(list(self.site.state.glob('sessions/*/cases/*/raw/*measured*.fio'))) >= launches

        wait_for('it measures', begun, self._context)
        (job,) = [
            line.split()[0]
            for line in self.site.lab.ask('squeue', '--noheader', '--format=%i %k').splitlines()
            if self.folder.name in line
        ]
        return job

    def recorded(self) -> list[dict[str, Any]]:
        """The lines of the only case's record, so far."""
        files = list(self.folder.glob('cases/*/samples.jsonl'))
        text = files[0].read_text() if files else ''
        return [json.loads(line) for line in text[: text.rfind('\n') + 1].splitlines()]

    def ended(self, seconds: float = WAIT_S) -> Ended:
        wait_for('it ends', lambda: self.process.poll() is not None, self._context, seconds)
        return Ended(self.process.returncode, self.output, self.folder)

    def kill(self) -> None:
        """As a crash of the login node does: seatrial and ReFrame die, and nobody cancels their job."""
        for pid in [*reframes_of(self.folder), self.process.pid]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait(WAIT_S)

    def _folders(self) -> set[Path]:
        return set((self.site.state / 'sessions').glob('*'))

    def _context(self) -> str:
        return f'{self.output}\n{self.site.lab.ask("squeue")}'


def reframes_of(folder: Path) -> list[int]:
    """The processes of ReFrame that work for a session."""
    return [pid for pid, command in commands() if f'--prefix={folder / "reframe"}' in command]


def commands() -> Iterator[tuple[int, str]]:
    """Every process with its command line."""
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / 'cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace')


def order(fio: str, *orders: tuple[str, dict[str, object]]) -> None:
    """Sets the orders of the stand-in from now on; their form is that of make_stub_fio."""
    file = Path(f'{fio}.json')
    file.write_text(json.dumps({**json.loads(file.read_text()), 'orders': orders}))


def traces_of(directory: Path) -> list[str]:
    """Processes and mounts that show the name of the directory anywhere; nothing else may have that name."""
    name = directory.name.encode()
    traces = []
    for process in Path('/proc').glob('[0-9]*'):
        for file in ('cmdline', 'environ', 'mountinfo'):
            with contextlib.suppress(OSError):
                if int(process.name) != os.getpid() and name in (process / file).read_bytes():
                    traces.append(f'{process.name} {(process / "comm").read_text().strip()} by its {file}')
    traces += [line for line in Path('/proc/mounts').read_text().splitlines() if directory.name in line]
    return traces
