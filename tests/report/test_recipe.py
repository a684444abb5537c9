import json
import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.report.evidence import Step
from seatrial.report.recipe import DIRECTORY, recipe

RAW = '/state/sessions/s/cases/c/raw'

words = st.text(st.characters(blacklist_categories=('Cs', 'Cc', 'Zl', 'Zp')), max_size=20)


def lines_of(make, *steps, **target):
    return recipe(make.plan(**target), steps, RAW).splitlines()


def step(make, command, inputs=None, links=(), operation='write', stage='measured'):
    plan = make.plan()
    return Step(make.sample(plan, '2objects', operation, 0, 512.0, stage, command=command), inputs or {}, links)


def ran(script, cwd):
    """What a shell makes of the lines."""
    return subprocess.run(
        ['sh'], input=script, cwd=cwd, env={**os.environ, 'HOME': str(cwd)}, capture_output=True, text=True
    )


def test_the_engine_writes_its_reports_elsewhere_than_into_the_records(make):
    text = recipe(make.plan(), [step(make, (f'/usr/bin/fio --output={RAW}/a.json {RAW}/a.fio',))], RAW)
    assert '/usr/bin/fio --output="$raw"/a.json "$raw"/a.fio' in text.splitlines()
    assert RAW not in text


def test_several_processes_run_at_once_and_are_waited_for(make):
    found = lines_of(make, step(make, ('dd if=a', 'dd if=b')))
    at = found.index('dd if=a &')
    assert found[at : at + 3] == ['dd if=a &', 'dd if=b &', 'wait']


def test_the_figure_that_was_measured_stands_beside_the_launch(make):
    assert '# write@2objects; it gave 512 MiB/s' in lines_of(make, step(make, ('true',)))


def test_what_the_kernel_holds_is_dropped_before_a_read_only(make):
    assert not any('nocache' in line for line in lines_of(make, step(make, ('true',))))
    assert any('nocache' in line for line in lines_of(make, step(make, ('true',), operation='read')))


def test_files_and_links_of_the_engine_are_made(make, tmp_path):
    target = tmp_path / 'it is here'
    target.mkdir()
    text = "a $b `c` 'd'\nEND\nlast"
    made = step(make, (f'cp {RAW}/job.fio data',), {'job.fio': text}, [('data.00000001', 'data')])
    done = ran(recipe(make.plan(path=str(target)), [made], RAW), tmp_path)
    assert done.stderr == ''
    assert (target / DIRECTORY / 'data').read_text() == text + '\n'
    assert os.readlink(target / DIRECTORY / 'data.00000001') == 'data'


def test_nothing_runs_where_the_directory_is_there_already(make, tmp_path):
    (tmp_path / DIRECTORY).mkdir()
    done = ran(recipe(make.plan(path=str(tmp_path)), [step(make, ('touch ran',))], RAW) + '\ntouch after', tmp_path)
    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ['after', DIRECTORY]


@given(before=words, after=words, other=words)
def test_a_shell_reads_the_same_words_but_for_the_folder_of_the_reports(make, before, after, other):
    command = shlex.join([f'{before}{RAW}/{after}', other])
    line = next(line for line in recipe(make.plan(), [step(make, (command,))], RAW).splitlines() if '"$raw"/' in line)
    assert shlex.split(line) == [f'{before}$raw/{after}', other]


@pytest.mark.skipif(shutil.which('fio') is None, reason='fio is not installed')
def test_a_real_engine_repeats_a_point_from_these_lines(make, tmp_path):
    job = '[global]\nbs=4096\nsize=65536\n[rank0]\nfilename=data\nrw=write\n'
    fio = shutil.which('fio')
    made = step(make, (f'{fio} --output-format=json --output={RAW}/w.json {RAW}/w.fio',), {'w.fio': job})
    done = ran(recipe(make.plan(path=str(tmp_path)), [made], RAW), tmp_path)
    reports = done.stdout.split(' in ')[1].split('. ')[0]
    assert json.loads((tmp_path / reports / 'w.json').read_text())['jobs'][0]['write']['io_bytes'] == 65536


def test_a_pattern_that_only_reads_says_what_prepares_its_files(make):
    assert any(
        line.startswith('# prepare the files to be read')
        for line in lines_of(make, step(make, ('true',), stage='prepare'))
    )


def test_a_command_that_is_damaged_in_the_record_is_not_run(make):
    found = lines_of(make, step(make, (f"fio '{RAW}/a.json",)))
    assert '# this command is damaged in the record' in found
    assert not any('a.json' in line for line in found)
