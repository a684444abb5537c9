"""The reader of fdtree's output, on genuine outputs of fdtree 1.0.2."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.fdtree import parse, read, tree_of
from seatrial.model.tree import Entries, entries

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'fdtree'

TREE = tree_of(3, 10, 2, 3)
LONG = (TRANSCRIPTS / 'long.out').read_text()


def outcome(stdout, stderr='', status=0):
    return Outcome((ProcessTime('node1', 0.0, 1.0, status),), (stdout,), (stderr,), ())


def transcript(name):
    """What a launch left, and the tree of its options."""
    out, err = (TRANSCRIPTS / f'{name}.{extension}' for extension in ('out', 'err'))
    command = (TRANSCRIPTS / f'{name}.cmd').read_text()
    options = dict(re.findall(r'-([ldfs]) (\d+)', command))
    tree = tree_of(*(int(options[letter]) for letter in 'ldfs')) if options else tree_of()
    tree = tree._replace(
        phases=('create',) if ' -C ' in command else ('remove',) if ' -R ' in command else tree.phases
    )
    status = int((TRANSCRIPTS / f'{name}.rc').read_text())
    return tree, outcome(out.read_text(), err.read_text(encoding='utf-8') if err.exists() else '', status)


def refusal(stdout, tree=TREE, **streams):
    with pytest.raises(EngineError) as caught:
        read(tree, outcome(stdout, **streams))
    return caught.value


def cuts(whole):
    """The text cut short after every line but the last."""
    lines = whole.splitlines(keepends=True)
    return [''.join(lines[:count]) for count in range(len(lines))]


def test_the_first_scenario_of_the_source_is_f_3_d_5():
    assert entries(tree_of(directories_per_level=5, files_per_directory=3), 1) == Entries(781, 2343, 0)
    assert tree_of(directories_per_level=5, files_per_directory=3).bytes_per_file == 40960


def test_the_second_scenario_of_the_source_is_l_1_d_1_f_1000_s_500():
    assert entries(tree_of(1, 1, 1000, 500), 1) == Entries(2, 2000, 0)
    assert tree_of(1, 1, 1000, 500).bytes_per_file == 2_048_000


def test_the_tree_of_a_transcript_is_the_one_that_its_options_make():
    said = read(*transcript('run1'))
    assert (said.directories, said.files, said.kib) == (13, 52, 416)
    assert (said.version, said.directory) == ('1.0.2', '/scratch/trial/LEVEL0.vm.2028/')


def test_a_phase_of_less_than_a_second_is_too_short_to_measure_and_no_zero():
    said = read(*transcript('run1'))
    assert [phase.metric for phase in said.phases] == ['tree_create', 'file_create', 'file_remove', 'tree_remove']
    assert {(phase.seconds, phase.per_second, phase.kib_per_second) for phase in said.phases} == {(0, None, None)}


def test_phases_that_take_long_enough_have_rates():
    phases = read(*transcript('long')).phases
    assert [phase.per_second for phase in phases] == [1111, 740, 2222, 1111]
    assert [phase.kib_per_second for phase in phases] == [None, 8888, None, None]
    assert (phases[1].from_s, phases[1].to_s, phases[1].seconds) == (1, 4, 3)
    assert (phases[1].began, phases[1].ended) == ('Sat Nov 21 04:14:26 UTC 2026', 'Sat Nov 21 04:14:29 UTC 2026')


def test_a_directory_that_is_not_there_is_refused_although_fdtree_exits_with_0():
    with pytest.raises(EngineError, match="T8: fdtree exited with 0 and said 'mkdir: cannot create directory"):
        read(*transcript('fail'))


def test_usage_is_refused():
    with pytest.raises(EngineError, match='E1: fdtree exited with 1'):
        read(*transcript('usage'))


def test_usage_is_not_an_output():
    with pytest.raises(EngineError, match='T13'):
        parse(transcript('usage')[1].stdouts[0])


def test_a_tree_that_is_only_created_has_two_phases():
    assert [phase.metric for phase in read(*transcript('create-only')).phases] == ['tree_create', 'file_create']


def test_a_tree_that_is_not_there_to_be_removed_is_refused():
    with pytest.raises(EngineError, match='T8: .*rmdir: failed to remove'):
        read(*transcript('remove-only'))


@pytest.mark.parametrize('name', ['run1', 'long', 'create-only'])
def test_an_output_cut_after_any_line_is_refused(name):
    tree, seen = transcript(name)
    for cut in cuts(seen.stdouts[0]):
        assert refusal(cut, tree).rule == ('T8' if cut else 'T13')


@pytest.mark.parametrize('name', ['fail', 'usage', 'remove-only'])
def test_what_is_refused_stays_refused_when_it_is_cut(name):
    tree, seen = transcript(name)
    for cut in cuts(seen.stdouts[0]):
        with pytest.raises(EngineError):
            read(tree, seen._replace(stdouts=(cut,)))


@pytest.mark.parametrize(
    ('old', 'new', 'rule', 'words'),
    [
        ('= 0, 1, 1', '= 0, 1, 2', 'T1', 'DIRECTORY CREATE'),
        (
            'creates per second      =  740',
            'creates per second      =  741',
            'T1',
            '741 a second for 2222 from 1 to 4 s',
        ),
        ('=  8888', '=  8889', 'T1', 'FILE CREATE'),
        ('= 4, 5, 1', '= 4, 4, 0', 'T1', '2222 a second for 2222 from 4 to 4 s'),
        ('3 directory levels', '4 directory levels', 'P15', 'not (3, 10, 2, 12288)'),
        ('size 12KiB', 'size 4KiB', 'P15', 'made a tree of'),
        ('total of 1111', 'total of 1112', 'T1', 'DIRECTORY CREATE'),
        ('and 26664KiB', 'and 36664KiB', 'T1', 'FILE CREATE'),
        ('\tKiB per second               =  8888\n', '', 'T8', 'FILE CREATE'),
        ('FILE CREATE', 'FILE COPY', 'T8', 'breaks off in a phase'),
        ('fdtree-', 'ftree-', 'T13', 'ftree-1.0.2'),
    ],
)
def test_an_output_that_says_something_else_is_refused(old, new, rule, words):
    assert old in LONG
    refused = refusal(LONG.replace(old, new))
    assert refused.rule == rule
    assert words in refused.sentence


@pytest.mark.parametrize(('old', 'new'), [('total of 13', 'total of 14'), ('and 416KiB', 'and 417KiB')])
def test_numbers_that_the_tree_does_not_come_to_are_refused(old, new):
    tree, seen = transcript('run1')
    refused = refusal(seen.stdouts[0].replace(old, new), tree)
    assert refused.rule == 'T1'
    assert 'in a tree of 13 and 52' in refused.sentence


def test_another_tree_than_planned_is_refused():
    assert refusal(LONG, tree_of()).rule == 'P15'


@given(st.text())
def test_any_text_is_refused_and_breaks_nothing(text):
    refusal(text)
