import json
import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.check.staging import write_runner
from seatrial.engine.posixops import PosixOps
from seatrial.model.layout import Layout
from seatrial.model.namespace import LISTING, TREE, Trees
from seatrial.model.quoting import shell_line
from seatrial.model.tree import MetadataTree
from seatrial.model.workload import over_layouts
from seatrial.report.evidence import Step
from seatrial.report.recipe import DIRECTORY, MOST_LINES, recipe

RAW = '/state/sessions/s/cases/c/raw'
RUNNER = '/state/sessions/s/cases/c/runner.pyz'
TREES = Trees((('shared', MetadataTree(files_per_directory=10)),))
CACHE = Trees((('3', MetadataTree(files_per_directory=3)),), tasks=1, pauses_s=(0.5,))

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
        line.startswith('# prepare what is read or listed')
        for line in lines_of(make, step(make, ('true',), stage='prepare'))
    )


def test_a_command_that_is_damaged_in_the_record_is_not_run(make):
    found = lines_of(make, step(make, (f"fio '{RAW}/a.json",)))
    assert '# this command is damaged in the record' in found
    assert not any('a.json' in line for line in found)


def names_plan(make, workload=TREE, sweep=TREES, clients=2, **target):
    return make.plan(pattern=workload, sweep=sweep, clients=clients, **target)


def names_step(make, plan, operation, command, cache='', figures=None, **more):
    label = plan.points[0].label
    sample = make.sample(plan, label, operation, 0, figures, command=command, cache=cache)
    return Step(sample, **{'inputs': {}, 'links': (), **more})


def carried(client, operation='create'):
    return shell_line(['python3', '-I', '-S', '-c', 'from seatrial.x import main', RUNNER, f'{RAW}/x.json', client])


def launch(plan, operation, runner, python='python3'):
    """The step of a real launch of posixops from this file of a runner."""
    command = PosixOps().command(python, plan.workload, operation, plan.points[0], f'{RAW}/{operation}', 1)
    lines = tuple(shell_line([*argv[:5], str(runner), *argv[6:]]) for argv in command.argvs)
    return lines, {os.path.basename(path): text for path, text in command.inputs.items()}


def test_directories_are_made_with_all_above_them_before_the_launch(make, tmp_path):
    target = tmp_path / 'target'
    target.mkdir()
    plan = names_plan(make, path=str(target))
    directories = ("it's", "it's/$a", "it's/$a/b c", 'other')
    step = names_step(make, plan, 'create', (f'touch {shlex.quote(directories[2])}/done',), directories=directories)
    done = ran(recipe(plan, [step], RAW), tmp_path)
    assert done.stderr == ''
    assert (target / DIRECTORY / "it's" / '$a' / 'b c' / 'done').exists()
    assert (target / DIRECTORY / 'other').is_dir()


def test_a_launch_without_directories_makes_none(make):
    plan = names_plan(make)
    assert 'mkdir -p' not in recipe(plan, [names_step(make, plan, 'create', ('mdtest -C',))], RAW)


def test_the_rates_of_a_launch_stand_beside_it(make):
    plan = names_plan(make)
    step = names_step(make, plan, 'create', ('true',), figures={'tree_create': 12345.6, 'file_create': 99.5})
    assert '# create@shared; it gave tree_create 12346, file_create 99.5 ops/s' in recipe(plan, [step], RAW)


def test_a_cold_look_says_what_was_done_before_it(make):
    plan = names_plan(make)
    cold, warm = (names_step(make, plan, 'stat', ('true',), cache=cache) for cache in ('cold', 'cached'))
    assert '# It was cold' in recipe(plan, [cold], RAW)
    assert '# It was cold' not in recipe(plan, [warm], RAW)
    assert 'nocache' not in recipe(plan, [cold], RAW)


def test_a_program_of_the_runner_is_looked_for_before_anything_is_made(make, tmp_path):
    plan = names_plan(make, LISTING, CACHE, 1, path=str(tmp_path))
    done = ran(recipe(plan, [names_step(make, plan, 'list', (carried('0'),))], RAW), tmp_path)
    assert done.stdout == f'{RUNNER} is gone, and with it the program that ran\n'
    assert os.listdir(tmp_path) == []


def test_the_clients_of_a_runner_meet_by_hand_as_well(make, tmp_path):
    home, target = tmp_path / 'home', tmp_path / 'target'
    home.mkdir()
    target.mkdir()
    runner = write_runner(home)
    plan = names_plan(make, path=str(target))
    steps = []
    for operation in ('create', 'stat'):
        lines, inputs = launch(plan, operation, runner)
        steps.append(names_step(make, plan, operation, lines, inputs=inputs))
    done = ran(recipe(plan, steps, RAW), home)
    assert done.stderr == ''
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    assert [(report['clients'], report['failed']) for report in reports] == [(2, None)] * 4
    assert [report['timed']['file_stat']['operations'] for report in reports[2:]] == [10, 10]
    assert sum(len(files) for _, _, files in os.walk(target)) == 20


@pytest.mark.parametrize('lines', [(carried('0'),), (carried('0'), carried('1'), carried('2'))])
def test_clients_that_meet_on_several_nodes_are_not_repeated_by_hand(make, lines):
    plan = names_plan(make)
    found = recipe(plan, [names_step(make, plan, 'stat', lines)], RAW)
    assert found.startswith('# This cannot be repeated by hand: its clients begin together')
    assert all(line.startswith('#') for line in found.splitlines())


def test_a_launch_that_begins_with_a_flood_of_directories_is_not_repeated_by_hand(make):
    plan = names_plan(make)
    step = names_step(make, plan, 'create', ('fio',), directories=tuple(map(str, range(MOST_LINES + 1))))
    assert recipe(plan, [step], RAW).startswith('# This cannot be repeated by hand: 2001 lines')


def test_a_layout_is_asked_for_before_the_launch(make, tmp_path):
    asked = 'echo "It had the layout c-1.S4M. Give it to $PWD, then press return"; read -r _'
    wide = Layout('wide', -1, 4 << 20)
    found = lines_of(make, step(make, ('true',)), layout=wide, path=str(tmp_path))
    assert found.index(asked) < found.index('true')
    assert 'The reports are in' in ran('\n'.join(found), tmp_path).stdout
    plan = make.plan(sweep=over_layouts((Layout(), wide), 1 << 26, 1 << 20))
    for label, lines in (('default', 0), ('wide', 1)):
        own = Step(make.sample(plan, label, 'write', 0, 512.0, command=('true',)), {}, ())
        assert recipe(plan, [own], RAW).count(asked) == lines
