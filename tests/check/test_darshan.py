"""Darshan logs are read in a separate process, and their access patterns are kept beside the records."""

import hashlib
import json
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from builders import moved, plan_of, records_of, sample_of
from seatrial.check.darshan import dump, logs
from seatrial.check.darshan.library import Program, examined
from seatrial.check.darshan.logs import MISSING, LogError, keep_darshan_run, read_logs
from seatrial.job.sequence.darshan import FOLDER, PLACE
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.issued import Record
from seatrial.model.issued import ISSUED
from seatrial.model.plan import Sizing
from seatrial.model.record import SAMPLES, line_of
from seatrial.model.units import KIB, MIB
from seatrial.rules.issued import DARSHAN, issued_findings
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'darshan'
STRIDED = data_access('single', 'segment', 'strided', bytes_per_task=8 * MIB)
SIZES = Sweep('transfer_size', (256 * KIB,))


@pytest.fixture
def pydarshan():
    return pytest.importorskip('darshan', reason='PyDarshan is not installed')


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Replaces the reader of logs with a program of this text."""

    def make(text):
        (tmp_path / 'stand_in.py').write_text(text)
        monkeypatch.setenv('PYTHONPATH', str(tmp_path))
        monkeypatch.setattr(dump, '__name__', 'stand_in')

    return make


@pytest.mark.usefixtures('pydarshan')
def test_genuine_logs_are_read_as_in_the_transcripts():
    names = sorted(file.stem for file in TRANSCRIPTS.glob('*.darshan') if not file.stem.startswith('fio'))
    kept = [json.loads((TRANSCRIPTS / f'{name}.json').read_text()) for name in names]
    logs = read_logs([TRANSCRIPTS / f'{name}.darshan' for name in names])
    assert [(log.version, log.processes, log.partial, log.records) for log in logs] == [
        (log['version'], log['processes'], log['partial'], tuple(Record(*record) for record in log['records']))
        for log in kept
    ]
    assert all(('/', 'ext4') in log.mounts for log in logs)


@pytest.mark.usefixtures('pydarshan')
def test_bytes_through_buffered_streams_are_counted_without_those_of_the_terminal():
    """fio wrote its output and read its job through streams; IOR and mdtest wrote to the terminal alone."""
    logs = read_logs([TRANSCRIPTS / f'{name}.darshan' for name in ('fio-sfsa-strided.1', 'mfwa', 'mdtest')])
    buffered = [(entry.written, entry.read) for log in logs for entry in log.unreplayed if entry.module == 'STDIO']
    assert buffered == [(12577, 480), (0, 0), (0, 0)]


def read_one(limit_s=60.0):
    return read_logs([TRANSCRIPTS / 'mfwa.darshan'], limit_s)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('import sys; sys.exit(3)', 'pip install '),
        ('import os; os.abort()', 'PyDarshan died of SIGABRT'),
        ('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)', 'PyDarshan died of SIGSEGV'),
        ('import sys; sys.exit("a complaint")', 'cannot read it: a complaint'),
        ('import sys; print("Error: failed to read", file=sys.stderr)', 'cannot read it: Error: failed to read'),
        ('print("no JSON")', 'an unexpected answer'),
        ('print("{}")', 'an unexpected answer'),
        ('print(\'{"form": 1}\')', 'form 1'),
        ('', 'reported on 0 logs instead of 1'),
    ],
)
def test_every_failure_of_the_reader_is_one_sentence(stand_in, text, words):
    stand_in(text)
    with pytest.raises(LogError) as caught:
        read_one()
    assert words in str(caught.value) and '\n' not in str(caught.value)


@pytest.mark.slow
def test_a_hanging_reader_is_ended(stand_in):
    stand_in('import time; time.sleep(3600)')
    with pytest.raises(LogError, match='did not end within 1 s'):
        read_one(limit_s=1.0)


def test_without_pydarshan_the_error_has_the_remedy(stand_in, tmp_path):
    (tmp_path / 'darshan.py').write_text('raise ImportError("no module")')
    stand_in(Path(dump.__file__).read_text())
    with pytest.raises(LogError, match=re.escape(MISSING)):
        read_one()


def keep(plan):
    keep_darshan_run(plan, records_in(plan.records))


@pytest.fixture
def case(tmp_path):
    """A case whose Darshan repetition left these logs; returns its plan."""

    def make(engine='fio', **logs):
        sizing = Sizing(8 * MIB, 8 * MIB, 0.8, 0.5)
        plan = plan_of(STRIDED, SIZES, darshan='/opt/libdarshan.so', records=str(tmp_path), sizing=sizing)
        plan = plan._replace(stopping=plan.stopping._replace(fixed=True))  # as in a smoke test: no summary
        records = records_of(plan, [100.0 * MIB] * 6)
        (point,) = plan.points
        samples = [*records.samples]
        for phase, name in logs.items():
            sample = sample_of(plan, point, phase, 0, moved(point, 100.0 * MIB, phase), DARSHAN)
            samples.append(sample._replace(raw=f'0001-{phase}'))
            folder = tmp_path / 'raw' / f'0001-{phase}{FOLDER}' / '2026' / '11' / '21'
            folder.mkdir(parents=True)
            (folder.parents[2] / PLACE).write_text(json.dumps({'directory': '/scratch/trial', 'links': {}}))
            if name:
                (folder / 'ior.darshan').write_bytes((TRANSCRIPTS / f'{name}.darshan').read_bytes())
        written = [records.start._replace(engine=engine), records.sized, *samples, records.end]
        (tmp_path / SAMPLES).write_text(''.join(line_of(record) for record in written))
        return plan

    return make


@pytest.mark.usefixtures('pydarshan')
@pytest.mark.parametrize('order', ['contiguous', 'strided'])
def test_a_case_that_declares_strided_but_runs_contiguous_has_a_finding(case, tmp_path, order):
    plan = case(write=f'sfsa-{order}')
    keep(plan)
    (finding,) = issued_findings(plan, records_in(str(tmp_path)))
    assert ('order: strided meant, contiguous' in finding.sentence) == (order == 'contiguous')
    # The run that wrote the log also read, but this launch declares writes only.
    assert 'operations: write meant, write and read issued' in finding.sentence


def test_a_case_without_a_darshan_run_writes_no_file_and_an_existing_file_stays(case, tmp_path):
    keep(case())
    plan = case(write='')
    keep(plan._replace(darshan=''))
    assert not (tmp_path / ISSUED).exists()
    (tmp_path / ISSUED).write_text('kept')
    keep(plan)
    assert (tmp_path / ISSUED).read_text() == 'kept'


@pytest.mark.parametrize(
    ('engine', 'log', 'why'),
    [
        ('fio', '', 'no log was left; is /opt/libdarshan.so on the node'),
        ('elbencho', 'sfsa-strided', 'threads of one process'),
        ('fio', 'sfsa-strided', 'died of SIGABRT'),
    ],
)
def test_a_launch_without_a_usable_log_has_the_reason(case, tmp_path, stand_in, engine, log, why):
    stand_in('import os; os.abort()')
    keep(case(engine, write=log))
    (launch,) = records_in(str(tmp_path)).issued
    assert launch.issued is None and why in launch.why


def test_a_damaged_file_of_issued_io_is_ignored(case, tmp_path):
    case(write='')
    for text in ('', '{', '[]', '{"launches": [1]}'):
        (tmp_path / ISSUED).write_text(text)
        assert records_in(str(tmp_path)).issued == ()


@pytest.mark.long
@pytest.mark.usefixtures('pydarshan')
def test_the_summary_of_pydarshan_itself_is_beside_the_log(case, tmp_path):
    plan = case(write='sfsa-strided')
    keep(plan._replace(stopping=plan.stopping._replace(fixed=False)))
    (page,) = tmp_path.rglob(logs.SUMMARY)
    assert '</html>' in page.read_text(errors='replace')


def test_a_summary_is_made_beside_the_log_but_not_in_a_smoke_test(case, tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(logs, '_run', lambda argv, limit_s: (commands.append(argv), (0, '', ''))[1])
    plan = case(write='sfsa-strided')
    keep(plan._replace(stopping=plan.stopping._replace(fixed=True)))
    assert not [argv for argv in commands if 'summary' in argv]
    (tmp_path / ISSUED).unlink()
    keep(plan._replace(stopping=plan.stopping._replace(fixed=False)))
    ((*_, log, _, page),) = [argv for argv in commands if 'summary' in argv]
    assert page == log.replace('ior.darshan', logs.SUMMARY)


NO_LIBRARY = 'int nothing;'
DD, RANKS = Program('dd', '/bin/dd', False, ('/bin/dd', '--version')), Program('ior', '/bin/cat', True, ())


@pytest.fixture
def compiled(tmp_path):
    """Compiles a C text to a shared library; options: for the compiler and linker."""

    def make(text, name, *options):
        source, library = tmp_path / f'{name}.c', tmp_path / f'lib{name}.so'
        source.write_text(text)
        subprocess.run(['gcc', '-shared', '-fPIC', '-o', library, source, *options], check=True, timeout=120)
        return library

    return make


PROGRAM = bytearray(Path('/bin/dd').read_bytes()[:20])
PROGRAM[16:18] = b'\x02\x00'  # ET_EXEC: a program that is not position-independent


@pytest.mark.parametrize(
    ('content', 'fault'),
    [
        (None, 'it is not there; install Darshan there, '),
        ('folder', 'it cannot be read: Is a directory; '),
        (b'', 'it is not a shared library; '),
        (b'!<arch>\nlibdarshan.a', 'it is not a shared library; '),
        (bytes(PROGRAM), 'it is not a shared library; '),
    ],
)
def test_a_file_that_is_not_a_library_is_shown_by_its_path_with_the_remedy(tmp_path, content, fault):
    file = tmp_path / 'libdarshan.so'
    if content == 'folder':
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    described, (problem,) = examined(str(file), [DD])
    assert (described, problem.startswith(fault)) == (str(file), True)
    assert 'correct darshan of the partition in trial.yaml' in problem


@pytest.mark.needs('gcc')
def test_a_library_for_another_architecture_is_a_fault(compiled):
    library = compiled(NO_LIBRARY, 'other')
    content = bytearray(library.read_bytes())
    content[18] ^= 0xFF
    library.write_bytes(content)
    (fault,) = examined(str(library), [DD])[1]
    assert fault.startswith('it is built for another architecture than this host has, ')


@pytest.mark.needs('gcc')
def test_a_library_with_a_missing_dependency_is_a_fault_with_every_engine(compiled):
    needs = [f'-L{compiled(NO_LIBRARY, "gone").parent}', '-Wl,--no-as-needed', '-lgone']
    library = compiled('int other;', 'library', *needs)
    library.with_name('libgone.so').unlink()
    described, (fault,) = examined(str(library), [DD, RANKS])
    checksum = hashlib.sha256(library.read_bytes()).hexdigest()
    assert described == f'version unknown at {library}, SHA-256 {checksum[:12]}, without MPI'
    assert fault.startswith('it cannot be loaded into dd, ior: libgone.so is not found; build it here or load ')


NO_SYMBOL = 'extern int ompi_mpi_comm_world; int *world = &ompi_mpi_comm_world;'


@pytest.mark.needs('gcc')
@pytest.mark.parametrize(
    ('text', 'program', 'faults'),
    [
        (NO_SYMBOL, DD, ['it cannot be loaded into dd: .*undefined symbol: ompi_mpi_comm_world; build it here .*']),
        (NO_LIBRARY, DD, ['it leaves no log of dd; let trial.yaml name the libdarshan.so of darshan-runtime']),
        (NO_LIBRARY, RANKS, ['it is built without MPI and leaves no log of ior; build one with the MPI of that']),
        ('int PMPI_Init;', RANKS, []),
    ],
    ids=['ends the engine', 'no Darshan', 'without MPI', 'with MPI'],
)
def test_a_library_that_would_leave_no_log_is_a_fault_with_the_reason(compiled, text, program, faults):
    actual = examined(str(compiled(text, 'library')), [program])[1]
    assert len(actual) == len(faults) and all(map(re.fullmatch, faults, actual)), actual


LEAVES_A_LOG = """
#include <stdlib.h>
__attribute__((constructor)) static void leave_a_log(void) {
    unsetenv("LD_PRELOAD");
    system("cp %s $DARSHAN_LOGPATH/dd.darshan");
}
"""


@pytest.mark.needs('gcc')
def test_a_library_is_shown_with_the_version_in_its_log_and_the_reader_of_the_log(pydarshan, compiled):
    log = TRANSCRIPTS / 'mfwa.darshan'
    described, faults = examined(str(compiled(LEAVES_A_LOG % log, 'darshan')), [DD])
    (read,) = read_logs([log])
    assert described.startswith(f'{read.version} at ')
    assert (described.split(', ')[-1], faults) == (f'read by PyDarshan {pydarshan.__version__}', [])


@pytest.mark.needs('gcc')
def test_a_missing_reader_of_logs_is_one_fault_for_all_engines(compiled, stand_in, monkeypatch):
    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr('seatrial.check.staging.version', not_installed)
    stand_in(f'raise SystemExit({dump.MISSING})')
    library = compiled(LEAVES_A_LOG % (TRANSCRIPTS / 'mfwa.darshan'), 'darshan')
    described, faults = examined(str(library), [DD, DD._replace(engine='fio')])
    assert (described.startswith('version unknown at '), faults) == (True, [MISSING])


@pytest.mark.needs('gcc', 'mpicc')
def test_a_darshan_for_another_mpi_leaves_no_log(tmp_path, compiled, mpicc, monkeypatch):
    source = tmp_path / 'rank.c'
    source.write_text('#include <mpi.h>\nint PMPI_Init(int *n, char ***a) { return MPI_Initialized(n); }\n')
    library = tmp_path / 'libdarshan.so'
    mpicc('-shared', '-fPIC', '-o', library, source)
    loads = {str(library): 'MPI A 1', RANKS.path: 'MPI B 2'}
    monkeypatch.setattr('seatrial.check.darshan.library.library_of', loads.get)
    (fault,) = examined(str(library), [RANKS])[1]
    assert fault == 'it is built for MPI A 1, and not for ior, which loads MPI B 2; build one with the MPI of that'
