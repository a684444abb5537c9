"""A launch under Darshan: how the engine is started, and what its launch leaves for others to read."""

import json
import os
import time
from pathlib import Path

import pytest

from builders import FLAT, FLAT_TREE, MFWA, ONCE, SMALL, plan_of
from seatrial.engine.base import Command
from seatrial.job.sequence import blocks
from seatrial.job.sequence.darshan import FOLDER, PLACE, Left, left_by, traced_point, under_darshan
from seatrial.job.sequence.start import DATA
from seatrial.judge.verdict import Verdict
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

pytestmark = pytest.mark.slow

LIBRARY = '/opt/darshan/lib/libdarshan.so'
SFWA = data_access('single', operations=('read',))


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A directory that an engine works in, and the prefix of a launch's raw output."""
    monkeypatch.delenv('LD_PRELOAD', raising=False)
    (tmp_path / 'data').mkdir()
    (tmp_path / 'raw').mkdir()
    return str(tmp_path / 'data'), str(tmp_path / 'raw' / '0007-darshan-read@32KiB')


def started(scope, places, argvs=(('engine', '-x'),)):
    directory, raw = places
    return under_darshan(Command(scope, argvs, {}, ()), LIBRARY, raw, directory).argvs


def settings_of(argv):
    return dict(word.split('=', 1) for word in argv if '=' in word)


def test_an_mpi_program_leaves_one_log_of_a_known_name(places):
    (argv,) = started('mpi', places)
    assert argv[0] == 'env' and argv[-2:] == ('engine', '-x')
    settings = settings_of(argv)
    assert settings['LD_PRELOAD'] == LIBRARY
    assert settings['DARSHAN_LOGFILE'] == f'{places[1]}{FOLDER}/launch.darshan'
    assert 'DARSHAN_ENABLE_NONMPI' not in settings
    # What the user's environment says of it does not count.
    assert argv[1:3] == ('-u', 'DARSHAN_DISABLE') and 'DARSHAN_ENABLE_NONMPI' in argv


@pytest.mark.parametrize('scope', ['node', 'task'])
def test_every_process_of_another_program_leaves_its_own_log_beside_what_is_loaded(places, monkeypatch, scope):
    monkeypatch.setenv('LD_PRELOAD', '/opt/other.so')
    argvs = started(scope, places, (('dd', 'if=a'), ('dd', 'if=b')))
    assert [argv[-2:] for argv in argvs] == [('dd', 'if=a'), ('dd', 'if=b')]
    for settings in map(settings_of, argvs):
        assert settings['DARSHAN_ENABLE_NONMPI'] == '1' and settings['LD_PRELOAD'] == f'{LIBRARY}:/opt/other.so'
        assert settings['DARSHAN_LOGPATH'] == places[1] + FOLDER
        assert 'DARSHAN_LOGFILE' not in settings


def test_the_folder_of_today_is_there_for_a_darshan_that_wants_one(places):
    started('node', places)
    now = time.localtime()
    yesterday = time.localtime(time.time() - 24 * 3600)  # should midnight be now
    days = [Path(places[1] + FOLDER, *(str(part) for part in day[:3])) for day in (now, yesterday)]
    assert any(day.is_dir() for day in days)


def test_links_are_noted_with_what_they_lead_to_and_logs_found_in_the_folder_and_in_those_of_the_days(places):
    directory, raw = places
    Path(directory, 'data').touch()
    os.symlink('data', Path(directory, 'data.00000000'))
    started('node', places)
    folder = Path(raw + FOLDER)
    day = next(folder.glob('*/*/*'))
    for file in (folder / 'a.darshan', day / 'b.darshan', folder / 'c.darshan_partial'):
        file.touch()
    logs = (str(day / 'b.darshan'), str(folder / 'a.darshan'))
    assert left_by(raw) == Left(os.path.realpath(directory), {'data.00000000': 'data'}, logs)


@pytest.mark.parametrize('text', [None, '', '{"directory"'])
def test_a_launch_without_a_note_of_its_place_was_not_made_under_darshan(places, text):
    if text is not None:
        Path(places[1] + FOLDER).mkdir()
        Path(places[1] + FOLDER, PLACE).write_text(text)
    assert left_by(places[1]) is None


def test_the_point_with_most_tasks_and_then_most_transfers_is_traced_if_there_is_a_library_and_a_pattern():
    by_size = plan_of(darshan=LIBRARY)
    assert traced_point(by_size, by_size.points).label == '16MiB'
    by_tasks = plan_of(MFWA, Sweep('tasks', (1, 2)), darshan=LIBRARY)
    assert traced_point(by_tasks, by_tasks.points).label == '2tasks'
    assert traced_point(plan_of(), by_size.points) is None
    metadata = plan_of(FLAT, FLAT_TREE, darshan=LIBRARY)
    assert traced_point(metadata, metadata.points) is None


def stages(ran):
    return [sample.stage for sample in ran.records.samples]


@pytest.mark.usefixtures('short_launches')
class TestRunner:
    """The stand-in for fio is run; a library that is not there is ignored by ld.so, which says so on stderr."""

    def test_the_darshan_run_comes_last_once_for_every_phase(self, lab, stub_fio):
        ran = lab.run(lab.plan(stub_fio(), darshan=LIBRARY))
        assert stages(ran)[-2:] == ['darshan', 'darshan'] and stages(ran).count('darshan') == 2
        last = [(sample.point.label, sample.phase) for sample in ran.records.samples[-2:]]
        assert last == [('16KiB', 'write'), ('16KiB', 'read')]
        assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.MEASURED)
        assert all(len(metric.values) == 2 for metric in ran.result.metrics), 'its figures count nowhere'
        assert os.listdir(Path(ran.records.start.run_directory, DATA)) == []
        commands = {sample.stage: sample.command[0] for sample in ran.records.samples}
        assert f'LD_PRELOAD={LIBRARY}' in commands['darshan'] and 'env' not in commands['measured'].split()
        raw = Path(ran.plan.records, 'raw')
        assert json.loads((raw / f'{ran.records.samples[-1].raw}{FOLDER}' / PLACE).read_text())
        waits = {'startdelay=' in file.read_text() for file in raw.glob('*-darshan-*.fio')}
        assert waits == {True}, 'the engine is given the job that can be traced'

    def test_links_of_an_engine_stand_before_its_darshan_run_is_started(self, lab, stub_fio):
        ran = lab.run(lab.plan(stub_fio(), workload=SFWA, darshan=LIBRARY, **SMALL))
        assert stages(ran)[-1] == 'darshan' and ran.records.samples[-1].measurement is not None

    @pytest.mark.parametrize(('library', 'budget_s'), [('', 600.0), (LIBRARY, 0.0)])
    def test_without_a_library_or_time_there_is_none(self, lab, stub_fio, library, budget_s):
        budget = ONCE._replace(minimum=2, maximum=2, budget_s=budget_s, fixed=False)
        ran = lab.run(lab.plan(stub_fio(), darshan=library, values=(32,), stopping=budget))
        assert 'darshan' not in stages(ran)
        assert library or not any(label.startswith('P15a') for label in ran.result.labels)

    @pytest.mark.parametrize(('silence', 'end'), [(None, 'finished'), ('it does not answer', 'failed')])
    def test_one_that_hangs_is_ended_and_the_figures_stand_if_the_file_system_answers(
        self, lab, stub_fio, monkeypatch, silence, end
    ):
        monkeypatch.setattr(blocks, 'unresponsive', lambda path: silence)
        fio = stub_fio(('darshan-write', {'fault': 'hang'}))
        ran = lab.run(lab.plan(fio, darshan=LIBRARY, launch_limit_s=1.0, **SMALL))
        assert (ran.end.reason, stages(ran).count('darshan')) == (end, 1)
        assert ran.result.verdict is (Verdict.INCOMPLETE if silence else Verdict.MEASURED)
        assert silence or any(label.startswith('P15a') for label in ran.result.labels)
