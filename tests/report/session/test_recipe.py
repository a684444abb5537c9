"""The lines that repeat a point by hand: what was recorded, made again by a shell."""

import json
import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.check.staging import write_runner
from seatrial.engine.dispatch import RANK_VARIABLES
from seatrial.engine.node_program import module_argv
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.start_together import together_argv
from seatrial.model.layout import Layout
from seatrial.model.quoting import shell_line
from seatrial.model.units import BINARY, DECIMAL, MIB
from seatrial.report.evidence import LaunchEvidence
from seatrial.report.session.recipe import DIRECTORY, MAX_LINES, commands, recipe
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

RAW = '/state/sessions/s/cases/c/raw'
RUNNER = '/state/sessions/s/runner.pyz'
FILES = metadata_tree(files_per_directory=10)

words = st.text(st.characters(blacklist_categories=('Cs', 'Cc', 'Zl', 'Zp')), max_size=20)


def step(make, command, inputs=None, phase='write', stage='measured', plan=None, figures=None, **recorded):
    plan = plan or make.plan()
    figures = {phase: 512.0 * MIB} if figures is None and plan.kind == 'access' else figures
    sample = make.sample(plan, plan.points[0].label, phase, 0, figures, stage, recorded.pop('cache', 'cold'), command)
    return LaunchEvidence(sample._replace(inputs=tuple(inputs or ()), **recorded), inputs or {})


def text_of(make, *steps, plan=None, system=BINARY, **target):
    return recipe(plan or make.plan(**target), steps, RAW, system)


def lines_of(make, *steps, **more):
    return text_of(make, *steps, **more).splitlines()


def ran(script, cwd):
    """What a shell makes of the lines."""
    return subprocess.run(
        ['sh'], input=script, cwd=cwd, env={**os.environ, 'HOME': str(cwd)}, capture_output=True, text=True
    )


def test_the_commands_of_a_session_have_each_point_as_it_ran_and_as_it_runs_again(make):
    session = make.varied()
    text = commands(session.cases, BINARY)
    points = sum(len(case.steps) for case in session.cases)
    assert (text.count('\n## as it ran, in /scratch'), text.count('\n## again, ')) == (points, points)
    case = session.cases[0]
    assert text.startswith(f'#### {case.plan.case.name}: bytes per transfer: 32 KiB\n')
    assert case.steps['32KiB'][0].sample.command[0] in text.splitlines()


def test_the_engine_writes_its_reports_elsewhere_than_into_the_records(make):
    text = text_of(make, step(make, (f'/usr/bin/fio --output={RAW}/a.json {RAW}/a.fio',)))
    assert '/usr/bin/fio --output="$raw"/a.json "$raw"/a.fio' in text.splitlines()
    assert RAW not in text


def test_several_processes_run_at_once_and_are_waited_for(make):
    result = lines_of(make, step(make, ('dd if=a', 'dd if=b')))
    at = result.index('dd if=a &')
    assert result[at : at + 3] == ['dd if=a &', 'dd if=b &', 'wait']


@pytest.mark.parametrize(('system', 'text'), [(BINARY, '512 MiB/s'), (DECIMAL, '537 MB/s')])
def test_the_figure_that_was_measured_stands_beside_the_launch(make, system, text):
    assert f'# write@2MiB; it gave {text}' in lines_of(make, step(make, ('true',)), system=system)


def test_what_was_recorded_of_the_environment_is_set(make, tmp_path):
    launch = step(make, ('env',), environment=('LC_ALL=C', "A=it's $here"))
    again = step(make, ('true',), phase='read', environment=('LC_ALL=C', "A=it's $here"))
    text = text_of(make, launch, again, path=str(tmp_path))
    assert text.count('export LC_ALL=C') == 1
    assert "A=it's $here" in ran(text, tmp_path).stdout.splitlines()


def test_what_the_kernel_holds_is_dropped_before_a_read_on_one_node_only(make):
    dropped = 'for file in data*; do dd if="$file" iflag=nocache count=0 status=none; done'
    assert dropped not in lines_of(make, step(make, ('true',)))
    one = step(make, ('true',), phase='read')
    assert dropped in lines_of(make, one)
    many = LaunchEvidence(one.sample._replace(point=one.sample.point._replace(nodes=2)), {})
    assert dropped not in lines_of(make, many)
    assert '# It was cold: no task had seen this before, or the caches were emptied.' in lines_of(make, many)


def test_files_and_links_of_the_engine_are_made(make, tmp_path):
    target = tmp_path / 'it is here'
    target.mkdir()
    text = "a $b `c` 'd'\nEND\nlast"
    made = step(make, (f'cp {RAW}/job.fio data',), {'job.fio': text}, links=(('data.00000001', 'data'),))
    done = ran(text_of(make, made, path=str(target)), tmp_path)
    assert done.stderr == ''
    assert (target / DIRECTORY / 'data').read_text() == text + '\n'
    assert os.readlink(target / DIRECTORY / 'data.00000001') == 'data'


def test_a_file_that_names_the_folder_of_the_reports_names_the_new_one(make, tmp_path):
    text = json.dumps([[f'{RAW}/a.json', 'x'], [f'--output={RAW}/b.json']])
    made = step(make, (f'cat {RAW}/ranks.json',), {'ranks.json': text})
    done = ran(text_of(make, made, path=str(tmp_path)), tmp_path)
    printed, _, after = done.stdout.partition('\nThe reports are in ')
    raw = after.partition('. ')[0]
    assert json.loads(printed) == [[f'{raw}/a.json', 'x'], [f'--output={raw}/b.json']]


def test_nothing_runs_where_the_directory_is_there_already(make, tmp_path):
    (tmp_path / DIRECTORY).mkdir()
    done = ran(text_of(make, step(make, ('touch ran',)), path=str(tmp_path)) + '\ntouch after', tmp_path)
    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ['after', DIRECTORY]


@given(before=words, after=words, other=words)
def test_a_shell_reads_the_same_words_but_for_the_folder_of_the_reports(make, before, after, other):
    command = shlex.join([f'{before}{RAW}/{after}', other])
    line = next(line for line in lines_of(make, step(make, (command,))) if '"$raw"/' in line)
    assert shlex.split(line) == [f'{before}$raw/{after}', other]


@pytest.mark.needs('fio')
def test_a_real_engine_repeats_a_point_from_these_lines(make, tmp_path):
    job = '[global]\nbs=4096\nsize=65536\n[rank0]\nfilename=data\nrw=write\n'
    fio = shutil.which('fio')
    made = step(make, (f'{fio} --output-format=json --output={RAW}/w.json {RAW}/w.fio',), {'w.fio': job})
    done = ran(text_of(make, made, path=str(tmp_path)), tmp_path)
    reports = done.stdout.split(' in ')[1].split('. ')[0]
    assert json.loads((tmp_path / reports / 'w.json').read_text())['jobs'][0]['write']['io_bytes'] == 65536


def test_a_command_that_is_damaged_in_the_record_is_not_run(make):
    result = lines_of(make, step(make, (f"fio '{RAW}/a.json",)))
    assert '# this command is damaged in the record' in result
    assert not any('a.json' in line for line in result)


@pytest.fixture
def trees(make, tmp_path):
    """The plan of a metadata tree of two tasks, on a directory of this test."""
    target = tmp_path / 'target'
    target.mkdir()
    return make.plan('Check', FILES, Sweep('tree', (('shared', {}),)), path=str(target))


def test_directories_are_made_with_all_above_them_before_the_launch(make, trees, tmp_path):
    directories = ("it's", "it's/$a", "it's/$a/b c", 'other')
    touch = f'touch {shlex.quote(directories[2])}/done'
    launch = step(make, (touch,), phase='create', plan=trees, directories=directories)
    done = ran(text_of(make, launch, plan=trees), tmp_path)
    assert done.stderr == ''
    made = tmp_path / 'target' / DIRECTORY
    assert (made / "it's" / '$a' / 'b c' / 'done').exists() and (made / 'other').is_dir()


def test_all_rates_of_a_launch_stand_beside_it(make, trees):
    figures = {'tree_create': 12345.6, 'file_create': 99.5, 'a': 1.0, 'b': 2.0}
    launch = step(make, ('true',), phase='create', plan=trees, figures=figures)
    assert (
        '# create@shared; it gave tree_create 12\u202f300 op/s, file_create 99.5 op/s, a 1.00 op/s, b 2.00 op/s'
        in lines_of(make, launch, plan=trees)
    )


def test_a_cold_stat_says_what_was_done_before_it(make, trees):
    cold, warm = (
        text_of(make, step(make, ('true',), phase='stat', plan=trees, cache=cache), plan=trees)
        for cache in ('cold', 'cached')
    )
    assert '# It was cold' in cold and 'nocache' not in cold
    assert '# It was cold' not in warm


def carried(rank):
    return shell_line(['python3', '-I', '-S', '-c', 'from seatrial.x import main', RUNNER, f'{RAW}/x.json', rank])


def test_a_program_of_the_runner_is_looked_for_before_anything_is_made(make, trees, tmp_path):
    launch = step(make, (carried('0'),), phase='stat', plan=trees)
    assert ran(text_of(make, launch, plan=trees), tmp_path).stdout == (
        f'{RUNNER} is gone, and with it the program that ran\n'
    )
    assert os.listdir(tmp_path / 'target') == []


def test_tasks_of_a_program_with_a_barrier_begin_together_by_hand_as_well(make, trees, tmp_path):
    home = tmp_path / 'home'
    home.mkdir()
    runner = write_runner(home)
    steps = []
    for phase in ('create', 'stat'):
        command = PosixOps().command('python3', phase, trees.points[0], f'{RAW}/{phase}', 1)
        lines = tuple(shell_line([*argv[:5], str(runner), *argv[6:]]) for argv in command.argvs)
        inputs = {os.path.basename(path): text for path, text in command.inputs.items()}
        steps.append(step(make, lines, inputs, phase, plan=trees, barrier=2))
    text = text_of(make, *steps, plan=trees)
    assert '# Without it the tasks do not start.' in text
    done = ran(text, home)
    assert done.stderr == ''
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    assert [(report['tasks'], report.get('failed')) for report in reports] == [(2, None)] * 4
    assert [report['timed']['file_stat']['operations'] for report in reports[2:]] == [10, 10]
    assert sum(len(files) for _, _, files in os.walk(tmp_path / 'target')) == 20


LAUNCHER = """#!/bin/sh
for rank in 0 1; do {variable}=$rank "$@" & done
wait
"""


def test_a_launch_on_two_nodes_is_the_line_of_the_launcher_with_its_barrier(make, tmp_path):
    home, target, launcher = tmp_path / 'home', tmp_path / 'target', tmp_path / 'launcher'
    home.mkdir()
    target.mkdir()
    launcher.write_text(LAUNCHER.format(variable=RANK_VARIABLES[-1]))
    launcher.chmod(0o755)
    runner = str(write_runner(home))
    argvs = [together_argv('python3', rank, 2, ('cp', '/dev/null', f'{RAW}/seen.{rank}')) for rank in range(2)]
    ranks = json.dumps([[*argv[:5], runner, *argv[6:]] for argv in argvs])
    argv = module_argv('python3', 'seatrial.engine.dispatch', (f'{RAW}/x.ranks.json', f'{RAW}/x'))
    line = shell_line([str(launcher), *argv[:5], runner, *argv[6:]])
    plan = make.plan(path=str(target))
    launch = step(make, (line,), {'x.ranks.json': ranks}, barrier=2)
    launch = LaunchEvidence(launch.sample._replace(point=launch.sample.point._replace(nodes=2)), launch.inputs)
    text = text_of(make, launch, plan=plan)
    assert text.startswith('# In an allocation of 2 nodes, on one of them:\n')
    assert '# The runner let 2 tasks begin together: each waits at a barrier until all have' in text
    assert '# To start without it: run what stands behind the number of each task and that of all of them.' in text
    done = ran(text, home)
    assert done.stderr == ''
    raw = done.stdout.split(' in ')[1].split('. ')[0]
    assert sorted(name for name in os.listdir(raw) if name.startswith('seen')) == ['seen.0', 'seen.1']
    assert (home / raw / 'x.0.err').read_text() == ''


def test_a_launch_that_begins_with_a_flood_of_directories_is_not_repeated_by_hand(make, trees):
    directories = tuple(map(str, range(MAX_LINES + 1)))
    launch = step(make, ('fio',), phase='create', plan=trees, directories=directories)
    result = text_of(make, launch, plan=trees)
    assert result.startswith('# This cannot be repeated by hand: 2001 lines')
    assert all(line.startswith('#') for line in result.splitlines())


def test_a_layout_is_asked_for_before_the_launch(make, tmp_path):
    asked = 'echo "It had the layout c-1.S4M. Give it to $PWD, then press return"; read -r _'
    wide = Layout('wide', 'lustre', ('c-1', 'S4M'))
    result = lines_of(make, step(make, ('true',)), layout=wide, path=str(tmp_path))
    assert result.index(asked) < result.index('true')
    assert 'The reports are in' in ran('\n'.join(result), tmp_path).stdout
    plan = make.plan(sweep=Sweep('layout', (Layout(), wide)))
    for point, lines in zip(plan.points, (0, 1), strict=True):
        launch = step(make, ('true',), plan=plan._replace(points=(point,)))
        assert text_of(make, launch, plan=plan).count(asked) == lines


def test_a_workload_that_only_reads_says_what_prepares_its_files(make):
    assert '# prepare what is read or listed' in lines_of(make, step(make, ('true',), stage='prepare'))
